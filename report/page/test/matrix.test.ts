// What the overview says of a matrix of systems.

import { expect, test } from "vitest";
import type { Counts, Facet, Histogram, Measure, Pairs, Source } from "../src/contract";
import { firstOf, headsOf, linesOf, pairsOf, resultOf, runIn } from "../src/views/matrix";

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

test("nobody is surely best where far more of its rows have no score", () => {
  const parts = scores([5, 5.9, 4], 1);
  const marked = (missing: number, lost = 0) => {
    parts.columns[1]!.missing = missing;
    const figures = { facet: undefined, by, found: undefined, measures: [measure], scores: [{ whole: scores([5], 1), parts }], lost };
    const lines = linesOf(figures, headsOf(figures));
    return [lines.filter((l) => l.cells[0]!.best).map((l) => l.name), resultOf(undefined, headsOf(figures), lines)] as const;
  };
  expect(marked(2)[0]).toEqual(["b"]);
  expect(marked(4)[1]).toMatch(/, not surely more than a, as 4 of 44 rows of b have no score\.$/); // 4/44 of the span of 9 is more than 0.9 − 0.45
  expect(marked(0, 2)[0]).toEqual(["b"]);
  expect(marked(0, 4)[1]).toMatch(/, not surely more than a, as 4 lines were rejected, and may be of b\.$/);
  expect(marked(20)[0]).toEqual([]);
  expect(marked(20)[1]).toMatch(/, not surely more than a, as 20 of 60 rows of b have no score\.$/);
});

test("systems of several runs are compared within a run", () => {
  const runs: Facet = { ...by, key: "system_run", values: ["a · 1", "b · 1", "a · 2"].map((name) => ({ name })) };
  const figures = { facet: undefined, by: runs, found: undefined, measures: [measure], scores: [{ whole: scores([5], 1), parts: scores([5.5, 5, 5.4], 1) }] };
  const lines = linesOf(figures, headsOf(figures));
  expect(lines.filter((l) => l.cells[0]!.best).map((l) => l.name)).toEqual(["a · 1"]); // a · 2 is nearer, and the same system
  expect(lines.slice(1).map((l) => runIn(runs, l))).toEqual([" · 1", " · 2", " · 1"]);
});

test("the rows without an error are a question of its own, of rows for the same inputs where the systems share these", async () => {
  const facet: Facet = { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Vague" }] };
  const column = (name: string) => ({ name, rows: 40, groups: 40, squares: 40 });
  const cell = (rows: number) => ({ rows, squares: rows, products: rows });
  const found = { whole: { total: 80, columns: [{ ...column(""), rows: 80 }], values: [{ name: "No Error", cells: [cell(54)] }, { name: "Vague", cells: [cell(26)] }] },
    parts: { total: 80, columns: [column("a"), column("b")], values: [{ name: "No Error", cells: [cell(31), cell(23)] }, { name: "Vague", cells: [cell(9), cell(17)] }] } };
  const figures = { facet, by: { ...by, values: by.values.slice(0, 2) }, found, measures: [], scores: [] };
  // of 40 pairs a alone is right in 9, b alone in 1: Bonett and Price's p is 0.020; of rows taken as different it is above 0.05
  const pairs = { pairs: 40, paired: 40, alone_a: 0, alone_b: 0, missed_a: 0, missed_b: 0, unknown: 0, changed: 10, groups: 40, squares: 40, measures: [], rows: [],
    values: [{ name: "No Error", both: 22, only_a: 9, only_b: 1, neither: 8, squares: 10, products: -8 },
      { name: "Vague", both: 8, only_a: 1, only_b: 9, neither: 22, squares: 10, products: 8 }] } as Pairs;
  const asked: unknown[] = [];
  const source = { pairs: (q: unknown) => { asked.push(q); return Promise.resolve(pairs); } } as unknown as Source;
  const asMap = await pairsOf(source, {}, figures);
  const pair = asMap?.get("b");
  expect(asked).toEqual([{ a: { facet: "system", value: "a" }, b: { facet: "system", value: "b" }, filter: {}, facet: "label", offset: 0, limit: 0 }]);
  const said = (of: typeof figures & { pairs?: Map<string, Pairs> }) => resultOf(facet, headsOf(of), linesOf(of, headsOf(of)));
  expect(said(figures)).toMatch(/not surely more than b\.$/);
  expect(said({ ...figures, pairs: asMap! })).not.toContain("surely");
  expect(said({ ...figures, pairs: new Map([["b", { ...pairs, values: pairs.values.map((v) => ({ ...v, both: 0, neither: 0 })) }]]) })).toContain("not surely"); // of 10 pairs
  const some = { ...pairs, alone_a: 10, alone_b: 12 }; // for inputs of their own, or of which the other has more rows
  expect(said({ ...figures, pairs: new Map([["b", some]]) })).not.toContain("surely");
  expect(said({ ...figures, pairs: new Map([["b", { ...some, missed_a: 10, missed_b: 12 }]]) })).toContain("as rows have no partner");
  expect(said({ ...figures, pairs: new Map([["b", { ...some, missed_a: 2, missed_b: 2 }]]) })).toContain("as rows have no partner"); // 2/40 twice is more than what is sure
  expect(said({ ...figures, pairs: new Map([["b", { ...some, alone_a: 41, alone_b: 42 }]]) })).toContain("as rows have no partner");
  const marked = (pair: Pairs) => linesOf({ ...figures, pairs: new Map([["b", pair]]) }, headsOf(figures)).filter((l) => l.cells[1]!.best).map((l) => l.name);
  expect(marked(pair!)).toEqual(["a"]);
  expect(marked({ ...pair!, values: [pair!.values[0]!, { ...pair!.values[1]!, only_a: 9, only_b: 1, products: -8 }] })).toEqual([]); // the contrary of all rows
  const worse = { ...pair!, values: [{ ...pair!.values[0]!, only_a: 1, only_b: 9, products: 8 }, pair!.values[1]!] };
  expect(said({ ...figures, pairs: new Map([["b", worse]]) })).toMatch(/but of rows for the same input b has more\.$/);
});

test("systems that were not judged for the same errors are not compared by rows without one", () => {
  const facet: Facet = { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Off Target" }] };
  const column = (name: string, rows = 40) => ({ name, rows, groups: rows, squares: rows });
  const cell = (rows: number, of = 40) => ({ rows, squares: rows, products: rows, of: { rows: of, groups: of, squares: of } });
  const said = (judged: number) => {
    const found = { whole: { total: 80, columns: [column("", 80)], values: [{ name: "No Error", cells: [cell(60, 80)] }, { name: "Off Target", cells: [cell(20, 40 + judged)] }] },
      parts: { total: 80, columns: [column("a"), column("b")], values: [{ name: "No Error", cells: [cell(40), cell(20)] }, { name: "Off Target", cells: [cell(0, judged), cell(20)] }] } };
    const figures = { facet, by: { ...by, values: by.values.slice(0, 2) }, found, measures: [], scores: [] };
    const heads = headsOf(figures);
    const lines = linesOf(figures, heads);
    return `${lines[1]!.cells[0]!.best === true} ${resultOf(facet, heads, lines)}`;
  };
  expect(said(0)).toMatch(/^false Best: a, .*, but that is no comparison with b: rows were not judged alike for Off Target\. /);
  expect(said(35)).toMatch(/^false .* no comparison/);
  expect(said(37)).toMatch(/^true Best: a, [^:]*\. Some rows/);
});

test("of systems without a good row none is best", () => {
  const facet: Facet = { key: "issue", title: "Issue", multi: true, values: [{ name: "Without issue", role: "none" }, { name: "Rude" }] };
  const column = (name: string, rows: number) => ({ name, rows, groups: rows, squares: rows });
  const cell = (rows: number) => ({ rows, squares: rows, products: rows });
  const said = (good: number) => {
    const found = { whole: { total: 80, columns: [column("", 80)], values: [{ name: "Without issue", cells: [cell(good)] }, { name: "Rude", cells: [cell(80 - good)] }] },
      parts: { total: 80, columns: [column("a", 40), column("b", 40)], values: [{ name: "Without issue", cells: [cell(good), cell(0)] }, { name: "Rude", cells: [cell(40 - good), cell(40)] }] } };
    const figures = { facet, by: { ...by, values: by.values.slice(0, 2) }, found, measures: [], scores: [] };
    return resultOf(facet, headsOf(figures), linesOf(figures, headsOf(figures)));
  };
  expect(said(0)).toBe("No system has a row without issue.");
  expect(said(30)).toMatch(/^Best: a, 75\.0 % without issue/);
});

test("the first sentence says what was not judged in all rows", () => {
  const facet: Facet = { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Vague" }, { name: "Off Target" }] };
  const base = { rows: 40, groups: 40, squares: 40 };
  const cell = (rows: number, of = base) => ({ rows, squares: rows, products: rows, of });
  const whole = (of: typeof base): Counts => ({ total: 40, columns: [{ name: "", ...base }], values: [{ name: "No Error", cells: [cell(30)] },
    { name: "Vague", cells: [cell(10)] }, { name: "Off Target", cells: [cell(2, of)] }] });
  const said = (of: typeof base) => {
    const figures = { facet, by: { ...by, values: by.values.slice(0, 1) }, found: { whole: whole(of), parts: whole(of) }, measures: [], scores: [] };
    return resultOf(facet, headsOf(figures), linesOf(figures, headsOf(figures)));
  };
  expect(said(base)).toMatch(/^75\.0 % without error \([^)]*\)\.$/);
  expect(said({ rows: 8, groups: 8, squares: 8 })).toMatch(/\)\. Some rows were not judged for: Off Target\.$/);
});

test("what to fix first is on most rows, or on most by severity", () => {
  const facet = (severities: (number | undefined)[]): Facet => ({ key: "issue", title: "Issue", multi: true, values: [
    { name: "No Issue", role: "none" }, ...severities.map((severity, i) => ({ name: `issue ${i}`, ...(severity === undefined ? {} : { severity }) })),
  ] });
  const counts = (name: string, issues: number[]): Counts => ({ total: 100, columns: [{ name, rows: 100, groups: 100, squares: 100 }],
    values: [50, ...issues].map((rows, i) => ({ name: String(i), cells: [{ rows, squares: rows, products: rows }] })) });
  const first = (of: Facet, issues = [30, 20]) => {
    const figures = { facet: of, by: { ...by, values: by.values.slice(0, 1) }, found: { whole: counts("", issues), parts: counts("a", issues) }, measures: [], scores: [] };
    const heads = headsOf(figures);
    return firstOf(of, heads, linesOf(figures, heads)[0]!);
  };
  expect(first(facet([undefined, undefined]))).toEqual({ value: "issue 0", text: expect.stringMatching(/^Fix first: issue 0, 30\.0 % \(\d+\.\d–\d+\.\d\)\.$/) as string });
  expect(first(facet([undefined, undefined]), [20, 20])).toBeUndefined();
  expect(first(facet([2, 3]))).toBeUndefined(); // 30 % of severity 2 weigh as much as 20 % of 3
  expect(first(facet([1, 2]))).toEqual({ value: "issue 1", text: expect.stringMatching(/^Fix first: issue 1, 20\.0 % \(.*\), of severity 2\.00\.$/) as string });
});
