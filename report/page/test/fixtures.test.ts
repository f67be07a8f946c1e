// The same questions as report/view is asked, over the same rows: both answer alike.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Data } from "../src/contract";
import { LocalSource } from "../src/local";

const folder = join(import.meta.dirname, "../../view/testdata");
const text = readFileSync(join(folder, "columns.json"), "utf8");
const queries = JSON.parse(readFileSync(join(folder, "queries/all.json"), "utf8")) as {
  kind: "counts" | "histogram" | "rows" | "row" | "pairs" | "outputs"; query: never; answer: unknown;
}[];
const source = new LocalSource(JSON.parse(text) as Data);

test("there are questions of every kind", () => {
  expect(new Set(queries.map((q) => q.kind))).toEqual(new Set(["counts", "histogram", "rows", "row", "pairs", "outputs"]));
});

describe("answers are those of report/view", () => {
  queries.forEach((q, i) => {
    test(`${i} ${q.kind} ${JSON.stringify(q.query).slice(0, 150)}`, async () => {
      near(await source[q.kind](q.query), q.answer, "");
    });
  });
});

/** Equal but for the last digits of sums. */
function near(got: unknown, want: unknown, at: string): void {
  if (typeof got === "number" && typeof want === "number") {
    expect(Math.abs(got - want), `${at}: ${got}, want ${want}`).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(want)));
  } else if (got !== null && want !== null && typeof got === "object" && typeof want === "object") {
    expect(Object.keys(got).sort(), at).toEqual(Object.keys(want).sort());
    for (const key of Object.keys(want)) near((got as Record<string, unknown>)[key], (want as Record<string, unknown>)[key], `${at}.${key}`);
  } else expect(got, at).toEqual(want);
}
