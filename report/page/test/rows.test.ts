import { expect, test } from "vitest";
import type { Facet, RowSummary } from "../src/contract";
import { nearest } from "../src/views/rows";

const facet: Facet = { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Red" }, { name: "Blue" }, { name: "untagged", role: "unknown" }] };

function near(labels: number[], [none, red, blue]: (number | undefined)[]): string {
  const measures = Object.fromEntries(Object.entries({ "No Error": none, Red: red, Blue: blue }).flatMap(([name, p]) => (p === undefined ? [] : [[`probability.${name}`, p]])));
  return nearest({ facets: { label: labels }, measures } as unknown as RowSummary, facet);
}

test("the likeliest error is said of a row without any, where No Error is not likely", () => {
  expect(near([0], [0.3, 0.2, 0.31])).toBe("nearest: Blue 0.31");
  expect(near([0], [0, 0.004, 0])).toBe("nearest: Red 0.00");
  for (const [labels, p] of [[[0], [0.5, 0.6, 0.1]], [[0], [0.3, 0.3, 0.1]], [[0], [undefined, 0.4]], [[0], [0.3]], [[1], [0.3, 0.6]], [[3], [0.1, 0.4]], [[], [0.1, 0.4]]] as const) {
    expect(near([...labels], [...p]), JSON.stringify([labels, p])).toBe("");
  }
});
