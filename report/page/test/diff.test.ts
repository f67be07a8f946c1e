// diff.json is what the terminal says of two runs of report/view/testdata/runs, as far as it is compared here:
// erreval diff tagged.jsonl strict.csv --json

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Data } from "../src/contract";
import { LocalSource } from "../src/local";
import { parseData } from "../src/decode";
import { valueLines } from "../src/views/compare";

test("the page says of two runs what erreval diff says", async () => {
  const { data, records } = parseData(readFileSync(join(import.meta.dirname, "../../view/testdata/columns.json"), "utf8"));
  const source = new LocalSource(data as Data, records);
  const terminal = JSON.parse(readFileSync(join(import.meta.dirname, "diff.json"), "utf8")) as {
    label: string; difference: number; low: number; high: number; p: number; p_holm: number;
  }[];
  const side = (value: string) => ({ facet: "run", value });
  const pairs = await source.pairs({ a: side("tagged.jsonl"), b: side("strict.csv"), filter: {}, facet: "label", offset: 0, limit: 0 });
  const lines = valueLines(pairs, source.catalog().facets.find((f) => f.key === "label")!);
  expect(lines).toHaveLength(terminal.length);
  lines.forEach((l, i) => {
    const want = terminal[i]!;
    const got = [l.difference!.value, l.difference!.low, l.difference!.high, l.difference!.p, l.holm];
    [want.difference, want.low, want.high, want.p, want.p_holm].forEach((x, k) => expect(got[k], `${l.name} ${k}`).toBeCloseTo(x, 5)); // six digits are printed
  });
});
