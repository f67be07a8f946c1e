// Shares of a run beside those of the others: every figure is counted by hand.

import { expect, test } from "vitest";
import type { Catalog, Filter } from "../src/contract";
import { LocalSource } from "../src/local";
import { linesOf } from "../src/shares";
import type { Page } from "../src/state";

// A row each: places of No Error, Red, Blue, untagged; and of Red, Blue, for which it was not judged.
const rows: { run: number; labels: number[]; left?: number[] }[] = [
  { run: 0, labels: [0] }, { run: 0, labels: [1] }, { run: 0, labels: [1, 2] }, { run: 0, labels: [3] },
  { run: 0, labels: [0], left: [1] },
  { run: 1, labels: [0] }, { run: 1, labels: [2] }, { run: 1, labels: [2], left: [0] }, { run: 1, labels: [0], left: [0, 1] },
  { run: 2, labels: [1] }, { run: 2, labels: [0] },
];
const catalog: Catalog = {
  format: 1, title: "", build: "test", rows: rows.length, task: "t@1", fields: [], measures: [], sections: [], notes: [],
  runs: ["old", "new", "newest"].map((name, run) => ({
    name, command: "identify", rows: rows.filter((r) => r.run === run).length, rejected: 0, facts: [],
  })),
  facets: [
    { key: "run", title: "Run", multi: false, values: [{ name: "old" }, { name: "new" }, { name: "newest" }] },
    {
      key: "label", title: "Error", multi: true,
      values: [{ name: "No Error", role: "none" }, { name: "Red" }, { name: "Blue" }, { name: "untagged", role: "unknown" }],
    },
    { key: "not_judged", title: "Not judged", multi: true, values: [{ name: "Red" }, { name: "Blue" }] },
  ],
};
const source = new LocalSource({ catalog, rows: {
  run: rows.map((r) => r.run), id: rows.map((_, i) => `r${i}`), group: rows.map((_, i) => i), input: rows.map((_, i) => i), measures: {},
  facets: { run: rows.map((r) => [r.run]), label: rows.map((r) => r.labels), not_judged: rows.map((r) => r.left ?? []) },
  records: rows.map((_, i) => ({ id: `r${i}` })),
} });

/** Of each value: its share in a run, and in the other runs that a filter leaves. */
async function against(run: string, filter: Filter = {}) {
  const facet = catalog.facets[1]!;
  const whole = await source.counts({ filter: {}, facet: "label" });
  const sides = await source.counts({ filter: {}, facet: "label", by: "run" });
  const lines = linesOf(facet, whole, undefined, undefined, sides, run, { catalog, state: { filter } } as Page);
  return lines.map((l) => [l.value.name, l.other, l.now, l.trend?.value]);
}

test("a run stands against all others, each error of the rows that were judged for it", async () => {
  // old: 4 rows were looked at, 3 of them for Blue; new and newest: 6, of them 4 for Red and 5 for Blue
  const want = [["No Error", 2 / 4, 3 / 6], ["Red", 2 / 4, 1 / 4], ["Blue", 1 / 3, 2 / 5]] as const;
  const got = await against("old");
  want.forEach(([name, other, now], i) => {
    expect(got[i]!.slice(0, 3)).toEqual([name, other, now]);
    expect(got[i]![3]).toBeCloseTo(now - other, 12);
  });
  expect(got[3]).toEqual(["untagged", undefined, undefined, undefined]);
});

test("a filter by run chooses the others", async () => {
  for (const run of [{ any: ["old", "newest"] }, { any: ["newest"] }, { none: ["new"] }]) {
    expect((await against("old", { facets: { run } })).slice(0, 3).map((l) => l.slice(0, 3))).toEqual([
      ["No Error", 2 / 4, 1 / 2], ["Red", 2 / 4, 1 / 2], ["Blue", 1 / 3, 0],
    ]);
  }
  // no other run is left, and there is nothing to compare
  expect((await against("old", { facets: { run: { any: ["old"] } } })).map((l) => l[3])).toEqual([undefined, undefined, undefined, undefined]);
});
