import { expect, test } from "vitest";
import type { Facet, PairsQuery, Source } from "../src/contract";
import { firstSides } from "../src/views/compare";

const facet: Facet = { key: "label", title: "Error", multi: true, values: [] };
const side = (facet: string, value: string) => ({ side: { facet, value }, title: value, key: `${facet}:${value}` });
const sides = [...["x", "y", "z"].map((v) => side("run", v)), side("system", "one"), side("system", "two")];

/** What a comparison starts with, where sides have so many pairs, and so many of which nothing is known. */
async function start(of: Record<string, [pairs: number, unknown: number]>) {
  const asked: string[] = [];
  const pairs = (q: PairsQuery) => {
    const key = `${q.a.value} ${q.b.value}`;
    asked.push(key);
    const [pairs, unknown] = of[key] ?? [0, 0];
    return Promise.resolve({ pairs, unknown });
  };
  const found = await firstSides({ pairs } as unknown as Source, sides, facet);
  return [found.map((s) => s.side.value).join(" "), asked.length];
}

test("a comparison starts with the first sides that have pairs with labels: runs of the same rows, else systems", async () => {
  expect(await start({ "x y": [5, 2], "one two": [9, 0] })).toEqual(["x y", 1]);
  expect(await start({ "y z": [1, 0] })).toEqual(["y z", 3]);
  expect(await start({ "x z": [7, 7], "one two": [9, 0] })).toEqual(["one two", 4]);
  expect(await start({})).toEqual(["one two", 4]);
});
