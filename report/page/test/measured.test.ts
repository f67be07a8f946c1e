import { expect, test } from "vitest";
import type { Section } from "../src/contract";
import { bySubject, linesOf } from "../src/views/measured";

const placed = (...all: [string, string?][]) => all.map(([title, run], i) => ({ s: { view: "measured", title, ...(run ? { run } : {}) } as Section, i }));

test("sections on one subject stand together, one a run", () => {
  const groups = (all: ReturnType<typeof placed>) => bySubject(all).map((g) => g.map((p) => p.i));
  expect(groups(placed(["F1", "a"], ["Curve"], ["F1", "b"], ["Curve"], ["F1", "c"]))).toEqual([[0, 2, 4], [1], [3]]);
  expect(groups(placed(["Lift", "a"], ["Lift", "a"], ["Lift", "b"]))).toEqual([[0, 2], [1]]);
  expect(groups([])).toEqual([]);
});

test("a figure has a cell for each table, with its interval", () => {
  const a = [["precision", 0.5, 0.4, 0.6], ["recall", null, null, null]];
  const b = [["recall", 1, 0.9, 1], ["F1", 0.7, 0.6, 0.8]];
  expect(linesOf([a, b], 1, true)).toEqual([
    { name: "precision", cells: [{ value: 0.5, low: 0.4, high: 0.6 }, undefined] },
    { name: "recall", cells: [{ value: null, low: null, high: null }, { value: 1, low: 0.9, high: 1 }] },
    { name: "F1", cells: [undefined, { value: 0.7, low: 0.6, high: 0.8 }] },
  ]);
  expect(linesOf([a], 1, false)[0]!.cells[0]).toEqual({ value: 0.5, low: null, high: null });
});
