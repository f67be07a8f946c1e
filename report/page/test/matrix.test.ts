// What the overview says of a matrix of systems.

import { expect, test } from "vitest";
import type { Counts, Facet, Histogram, Measure } from "../src/contract";
import { firstOf, headsOf, linesOf, resultOf, runIn } from "../src/views/matrix";

const by: Facet = { key: "system", title: "System", multi: false, values: ["a", "b", "c"].map((name) => ({ name })) };
const measure: Measure = { key: "score.x", title: "x", low: 0, high: 9, runs: [0] };

/** Scores of 40 rows a system, each in a group of its own, with this mean and variance. */
function scores(means: number[], variance: number): Histogram {
  const rows = 40;
  return { edges: [0, 9], columns: means.map((m, i) => ({
    name: by.values[i]?.name ?? "", rows, missing: 0, sum: m * rows, counts: [rows],
    groups: rows, squares: rows * (m * m + variance), row_squares: rows, products: m * rows,
  })) };
}

test("a score is marked as best where it is surely better than the second best", () => {
  const marked = (means: number[]) => {
    const figures = { facet: undefined, by, found: undefined, measures: [measure], scores: [{ whole: scores([5], 1), parts: scores(means, 1) }] };
    const heads = headsOf(figures);
    const lines = linesOf(figures, heads);
    return [lines.filter((l) => l.cells[0]!.best).map((l) => l.name), resultOf(undefined, heads, lines)] as const;
  };
  // standard error of a difference: sqrt(2/39) = 0.226; t of 78 degrees of freedom at 95 %: 1.99, so 0.45
  expect(marked([5, 5.5, 4])[0]).toEqual(["b"]);
  expect(marked([5, 5.4, 4])[0]).toEqual([]);
  expect(marked([5, 5.4, 4])[1]).toMatch(/^Best: b, .*, not surely more than a\.$/);
});

test("systems of several runs are compared within a run", () => {
  const runs: Facet = { ...by, key: "system_run", values: ["a · 1", "b · 1", "a · 2"].map((name) => ({ name })) };
  const figures = { facet: undefined, by: runs, found: undefined, measures: [measure], scores: [{ whole: scores([5], 1), parts: scores([5.5, 5, 5.4], 1) }] };
  const lines = linesOf(figures, headsOf(figures));
  expect(lines.filter((l) => l.cells[0]!.best).map((l) => l.name)).toEqual(["a · 1"]); // a · 2 is nearer, and the same system
  expect(lines.slice(1).map((l) => runIn(runs, l))).toEqual([" · 1", " · 2", " · 1"]);
});

test("what to fix first is on most rows, or on most by severity", () => {
  const facet = (severities: (number | undefined)[]): Facet => ({ key: "issue", title: "Issue", multi: true, values: [
    { name: "No Issue", role: "none" }, ...severities.map((severity, i) => ({ name: `issue ${i}`, ...(severity === undefined ? {} : { severity }) })),
  ] });
  const counts = (name: string): Counts => ({ total: 100, columns: [{ name, rows: 100, groups: 100, squares: 100 }],
    values: [50, 30, 20].map((rows, i) => ({ name: String(i), cells: [{ rows, squares: rows, products: rows }] })) });
  const first = (of: Facet) => {
    const figures = { facet: of, by: { ...by, values: by.values.slice(0, 1) }, found: { whole: counts(""), parts: counts("a") }, measures: [], scores: [] };
    const heads = headsOf(figures);
    return firstOf(of, heads, linesOf(figures, heads)[0]!);
  };
  expect(first(facet([undefined, undefined]))).toEqual({ value: "issue 0", text: expect.stringMatching(/^Fix first: issue 0, 30\.0 % \(\d+\.\d–\d+\.\d\)\.$/) as string });
  expect(first(facet([1, 2]))).toEqual({ value: "issue 1", text: expect.stringMatching(/^Fix first: issue 1, 20\.0 % \(.*\), of severity 2\.00\.$/) as string });
});
