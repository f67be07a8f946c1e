// The page: opens its source, shows the view that the address names, listens to keys.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { knownFilter, readAddress, views, writeAddress, type State, type View } from "./address";
import { Format, type Source } from "./contract";
import { FilterBar, FilterPanel, searchId } from "./filterpanel";
import { LocalSource } from "./local";
import { keepToken, RemoteSource, takeToken, TokenError } from "./remote";
import { firstView, makePage, PageContext, type Page } from "./state";
import { texts } from "./texts";
import { move, reach } from "./ui";
import { Compare } from "./views/compare";
import { Errors } from "./views/errors";
import { Measured } from "./views/measured";
import { Overview } from "./views/overview";
import { Outputs } from "./views/outputs";
import { closeId, Drawer } from "./views/row";
import { Rows } from "./views/rows";

export function App({ block }: { block: HTMLElement | null }) {
  const [source, setSource] = useState<Source>();
  const [error, setError] = useState("");
  const [locked, setLocked] = useState(false);
  const start = () => open(block).then((s) => {
    const { format } = s.catalog();
    if (format === Format) setSource(s);
    else setError(texts.errors.format(format));
  }, (e: unknown) => {
    setLocked(e instanceof TokenError);
    setError(e instanceof Error ? e.message : String(e));
  });
  useEffect(() => void start(), [block]);
  if (locked && !source) return <Locked message={error} onToken={(token) => {
    keepToken(token);
    setError("");
    void start();
  }} />;
  if (error) return <main><div class="failure" role="alert"><p><strong>{texts.errors.title}.</strong> {error}</p></div></main>;
  if (!source) return <main aria-busy="true"><p class="waiting" role="status">{texts.reading}</p></main>;
  return <Shell source={source} />;
}

/** Asks for the token of a server that was opened without it. */
function Locked({ message, onToken }: { message: string; onToken: (token: string) => void }) {
  const [token, setToken] = useState("");
  return (
    <main>
      <form class="token" onSubmit={(e) => {
        e.preventDefault();
        onToken(token.trim());
      }}>
        <h1>{texts.token.title}</h1>
        <p role="alert">{message}</p>
        <label>{texts.token.label} <input type="password" autocomplete="off" required value={token} onInput={(e) => setToken(e.currentTarget.value)} /></label>
        <button type="submit">{texts.token.open}</button>
      </form>
    </main>
  );
}

async function open(block: HTMLElement | null): Promise<Source> {
  if (!block) return RemoteSource.open(takeToken());
  if (typeof DecompressionStream === "undefined") throw new Error(texts.errors.browser);
  const [data, records] = [block, document.getElementById("records")].map((b) => {
    b?.remove(); // its text is large, and is needed once
    return b?.textContent ?? "";
  });
  const local = await LocalSource.decode(data!, records!);
  setTimeout(() => void local.prepareSearch().catch(() => undefined), 1000); // who asks for a text is told
  return local;
}

function Shell({ source }: { source: Source }) {
  const catalog = source.catalog();
  const read = () => {
    const asked = readAddress(location.hash, firstView(catalog));
    const { filter, unknown } = knownFilter(asked.filter, catalog);
    return { state: { ...asked, filter }, unknown };
  };
  const [{ state, unknown }, setShown] = useState(read);
  const [panel, setPanel] = useState(false);
  const [keys, setKeys] = useState(false);
  useEffect(() => {
    const onChange = () => setShown(read());
    addEventListener("hashchange", onChange);
    addEventListener("popstate", onChange);
    return () => {
      removeEventListener("hashchange", onChange);
      removeEventListener("popstate", onChange);
    };
  }, [source]);
  const go = (next: State, replace = false) => {
    const address = writeAddress(next);
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    setShown({ state: next, unknown: [] });
  };
  const page = useMemo(() => makePage(source, state, go), [source, state]);
  const title = useRef<HTMLHeadingElement>(null);
  const view = useRef(state.view);
  useEffect(() => {
    document.title = `${texts.views[state.view]} – ${catalog.title || texts.product}`;
    if (view.current !== state.view && !document.querySelector("dialog[open]")) {
      view.current = state.view;
      if (!document.activeElement || !document.getElementById("content")?.contains(document.activeElement)) title.current?.focus();
      scrollTo(0, 0);
    }
  }, [state.view]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
      const target = e.target instanceof HTMLElement ? e.target : null;
      const typing = target?.matches("input:not([type=checkbox]), select, textarea") ?? false;
      if (e.key === "Escape") {
        if (typing) target?.blur();
        else if (panel) {
          setPanel(false);
          document.getElementById("filter-toggle")?.focus();
        } else if (!keys) document.getElementById(closeId)?.click();
        return;
      }
      if (typing || keys) return;
      if (press(e.key, page, { panel: () => setPanel(!panel), keys: () => setKeys(true) })) e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [page, panel, keys]);
  return (
    <PageContext.Provider value={page}>
      <a class="skip" href="#content" onClick={(e) => {
        e.preventDefault();
        title.current?.focus();
      }}>{texts.skip}</a>
      <header>
        <div class="head">
          <p class="title"><span class="product">{texts.product}</span> <span class="name" title={catalog.title}>{catalog.title}</span></p>
          <div class="head-tools"><ThemeSwitch /><button type="button" onClick={() => setKeys(true)}>{texts.keys.open}</button></div>
        </div>
        <nav aria-label={texts.nav}>
          <ul>
            {views.map((v) => (
              <li key={v}><a href={page.href({ view: v })} aria-current={v === state.view ? "page" : undefined}>{texts.views[v]}</a></li>
            ))}
          </ul>
        </nav>
        <FilterBar open={panel} onToggle={() => setPanel(!panel)}>
          {panel && <FilterPanel onClose={() => {
            setPanel(false);
            document.getElementById("filter-toggle")?.focus();
          }} />}
        </FilterBar>
      </header>
      <main id="content">
        <h1 ref={title} tabIndex={-1}>{texts.views[state.view]}</h1>
        {catalog.sample && <p class="note sample">{texts.sample(catalog.sample.rows, catalog.sample.of, catalog.sample.seed)}</p>}
        {unknown.length > 0 && <p class="note" role="alert">{texts.errors.unknown(unknown)}</p>}
        <Guard key={state.view}><ViewOf view={state.view} /></Guard>
      </main>
      {state.params["row"] !== undefined && <Drawer />}
      <footer>
        {catalog.notes.length > 0 && (
          <details open={catalog.notes.length < 4}><summary>{texts.notes}</summary><ul>{catalog.notes.map((n, i) => <li key={i}>{n}</li>)}</ul></details>
        )}
        <p class="sub">{[catalog.task, `${texts.product} ${catalog.build}`].filter(Boolean).join(" · ")}</p>
      </footer>
      {keys && <Keys onClose={() => setKeys(false)} />}
    </PageContext.Provider>
  );
}

/** Does what a key stands for; whether it stands for anything. */
function press(key: string, page: Page, open: { panel: () => void; keys: () => void }): boolean {
  const view = views[Number(key) - 1];
  if (view) {
    page.go({ view });
    return true;
  }
  switch (key) {
    case "/":
      document.getElementById(searchId)?.focus();
      return true;
    case "?":
      open.keys();
      return true;
    case "f":
      open.panel();
      return true;
    case "j":
    case "k":
      return walk(key, page);
    case "ArrowDown":
    case "ArrowUp":
    case "ArrowLeft":
    case "ArrowRight":
      return page.state.params["row"] !== undefined && !document.activeElement?.closest("aside") && walk(key, page);
    default:
      return false;
  }
}

/** From outside of a list: moves from the row that is open to another one, or reaches the list. */
function walk(key: string, page: Page): boolean {
  const open = document.querySelector<HTMLElement>('main tbody a[aria-current="true"]');
  const stop = open ?? document.querySelector<HTMLElement>('main tbody [data-roving="here"]');
  const table = stop?.closest("table");
  if (!stop || !table) return false;
  if (open) return move(table, stop, key, page);
  reach(table, stop, page);
  return true;
}

function ViewOf({ view }: { view: View }) {
  switch (view) {
    case "overview":
      return <Overview />;
    case "errors":
      return <Errors />;
    case "rows":
      return <Rows />;
    case "outputs":
      return <Outputs />;
    case "compare":
      return <Compare />;
    case "measured":
      return <Measured />;
  }
}

/** A fault in one view leaves the page. */
class Guard extends Component<{ children: ComponentChildren }, { message: string }> {
  override state = { message: "" };
  static override getDerivedStateFromError(e: unknown) {
    return { message: e instanceof Error ? e.message : String(e) };
  }
  override render() {
    return this.state.message ? <div class="failure" role="alert"><p><strong>{texts.errors.title}.</strong> {this.state.message}</p></div> : this.props.children;
  }
}

const themes = ["auto", "light", "dark"] as const;
const themeKey = "erreval-theme";

function ThemeSwitch() {
  const [theme, setTheme] = useState(() => themes.find((t) => t === stored()) ?? "auto");
  useEffect(() => {
    document.documentElement.dataset["theme"] = theme;
    try {
      localStorage.setItem(themeKey, theme);
    } catch {
      // kept for this page alone
    }
  }, [theme]);
  return (
    <fieldset class="theme">
      <legend class="hidden">{texts.theme.label}</legend>
      {themes.map((t) => (
        <label key={t}><input type="radio" name="theme" checked={theme === t} onChange={() => setTheme(t)} /><span>{texts.theme[t]}</span></label>
      ))}
    </fieldset>
  );
}

function stored(): string | null {
  try {
    return localStorage.getItem(themeKey);
  } catch {
    return null;
  }
}

function Keys({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const from = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (from instanceof HTMLElement) from.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="keys-title" onClose={onClose}>
      <h2 id="keys-title">{texts.keys.title}</h2>
      <dl class="keys">{texts.keys.list.map(([key, what]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <button type="button" onClick={() => dialog.current?.close()}>{texts.keys.close}</button>
    </dialog>
  );
}
