import { useEffect, useState } from "preact/hooks";
import { plot } from "@observablehq/plot";
import type { Source } from "./contract";
import { LocalSource } from "./local";
import { RemoteSource, takeToken } from "./remote";

export function App({ block }: { block: HTMLElement | null }) {
  const [source, setSource] = useState<Source>();
  const [error, setError] = useState("");
  useEffect(() => {
    const opened = block ? LocalSource.decode(block.textContent ?? "") : RemoteSource.open(takeToken());
    opened.then(setSource, (e: Error) => setError(e.message));
  }, [block]);
  if (error) return <main><p role="alert">{error}</p></main>;
  if (!source) return <main aria-busy="true">Reading the rows …</main>;
  return <main><h1>{source.catalog().title}</h1><p>{source.catalog().rows} rows {typeof plot}</p></main>;
}
