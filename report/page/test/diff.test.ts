// diff.json is what the terminal says of two runs of report/view/testdata/runs, as far as it is compared here:
// erreval diff tagged.jsonl strict.csv --json

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Data } from "../src/contract";
import { LocalSource } from "../src/local";
import { sums } from "../src/shares";
import { valueLines } from "../src/views/compare";

const readData = () => JSON.parse(readFileSync(join(import.meta.dirname, "../../view/testdata/columns.json"), "utf8")) as Data;

test("the page says of two runs what erreval diff says", async () => {
  const source = new LocalSource(readData());
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

test("rows of runs are paired as the program found them to belong together", async () => {
  const data = readData();
  const run = { name: "", command: "", rows: 2, rejected: 0, facts: [] };
  const pairs = await new LocalSource({
    catalog: { ...data.catalog, runs: [{ ...run, name: "a" }, { ...run, name: "b" }], measures: [], rows: 4,
      facets: [{ key: "run", title: "Run", multi: false, values: [{ name: "a" }, { name: "b" }] }, { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Vague" }] }] },
    rows: { run: [0, 0, 1, 1], id: ["1", "1", "1", "1"], group: [0, 0, 0, 0], input: [0, 0, 0, 0], pair: [0, 1, 1, 2], facets: { run: [[0], [0], [1], [1]], label: [[0], [1], [1], [0]] }, measures: {}, records: [] },
  }).pairs({ a: { facet: "run", value: "a" }, b: { facet: "run", value: "b" }, filter: {}, facet: "label", offset: 0, limit: 0 });
  expect([pairs.pairs, pairs.changed, pairs.alone_a, pairs.alone_b]).toEqual([1, 0, 1, 1]);
});

test("several rows of two systems for one input are paired in the order of their ids, not of the file", async () => {
  const data = readData();
  const of = async (id: string[]) => (await new LocalSource({
    catalog: { ...data.catalog, measures: [], rows: 4,
      facets: [{ key: "system", title: "System", multi: false, values: [{ name: "a" }, { name: "b" }] }, { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Vague" }] }] },
    rows: { run: [0, 0, 0, 0], id, group: [0, 0, 0, 0], input: [0, 0, 0, 0], facets: { system: [[0], [0], [1], [1]], label: [[0], [1], [0], [1]] }, measures: {}, records: [] },
  }).pairs({ a: { facet: "system", value: "a" }, b: { facet: "system", value: "b" }, filter: {}, facet: "label", offset: 0, limit: 0 })).changed;
  expect([await of(["1", "2", "3", "4"]), await of(["2", "1", "3", "4"])]).toEqual([0, 2]);
});

test("what is left of a group is paired where both systems have as many", async () => {
  const data = readData();
  const of = async (system: number[][]) => {
    const pairs = await new LocalSource({
      catalog: { ...data.catalog, measures: [], rows: 5,
        facets: [{ key: "system", title: "System", multi: false, values: [{ name: "a" }, { name: "b" }] }, { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }] }] },
      rows: { run: [0, 0, 0, 0, 0], id: ["1", "2", "3", "4", "5"], group: [0, 0, 0, 0, 1], input: [0, 1, 2, 3, 4], facets: { system, label: [[0], [0], [0], [0], [0]] }, measures: {}, records: [] },
    }).pairs({ a: { facet: "system", value: "a" }, b: { facet: "system", value: "b" }, filter: {}, facet: "label", offset: 0, limit: 0 });
    return [pairs.pairs, pairs.alone_a, pairs.alone_b, pairs.missed_a, pairs.missed_b];
  };
  expect(await of([[0], [0], [1], [1], [1]])).toEqual([2, 0, 1, 0, 0]);
  expect(await of([[0], [0], [0], [1], [1]])).toEqual([0, 3, 2, 3, 1]);
});

test("rows of two systems that are alone in a group are a pair, whatever a third has there", async () => {
  const data = readData();
  const pairs = await new LocalSource({
    catalog: { ...data.catalog, measures: [], rows: 5,
      facets: [{ key: "system", title: "System", multi: false, values: [{ name: "a" }, { name: "b" }, { name: "c" }] }, { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }] }] },
    rows: { run: [0, 0, 0, 0, 0], id: ["1", "2", "3", "4", "5"], group: [0, 0, 0, 0, 1], input: [0, 1, 2, 2, 3], facets: { system: [[0], [1], [2], [2], [0]], label: [[0], [0], [0], [0], [0]] }, measures: {}, records: [] },
  }).pairs({ a: { facet: "system", value: "a" }, b: { facet: "system", value: "b" }, filter: {}, facet: "label", offset: 0, limit: 0 });
  expect([pairs.pairs, pairs.alone_a, pairs.alone_b]).toEqual([1, 1, 0]);
});

test("a share is of the rows that were judged for the error", async () => {
  const facets = [
    { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Vague" }] },
    { key: "not_judged", title: "Not judged", multi: true, values: [{ name: "Vague" }] },
  ];
  const source = new LocalSource({
    catalog: { ...readData().catalog, facets, measures: [], rows: 4 },
    rows: { run: [0, 0, 0, 0], id: ["a", "b", "c", "d"], group: [0, 1, 2, 2], input: [0, 1, 2, 3], facets: { label: [[1], [0], [0], [0]], not_judged: [[], [], [0], []] }, measures: {}, records: [] },
  });
  const counts = await source.counts({ filter: {}, facet: "label" });
  // of a, b and d; c, which is in the group of d, was not judged
  expect(sums(counts, 1)).toEqual({ groups: 3, sum: 1, rows: 3, sumSquares: 1, rowSquares: 3, products: 1 });
  expect(sums(counts, 0)).toEqual({ groups: 3, sum: 3, rows: 4, sumSquares: 5, rowSquares: 6, products: 5 });
});
