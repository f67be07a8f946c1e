// stats.json is what scipy and statsmodels say: stats.py.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  effectiveSize, holm, incompleteBeta, mcnemar, mean, newcombe, pairedDifference, partMinusAll, share, tQuantile, wilson, type Interval, type ShareSums,
} from "../src/stats";

interface Ends {
  low: number;
  high: number;
}

const known = JSON.parse(readFileSync(join(import.meta.dirname, "stats.json"), "utf8")) as {
  shares: ({ sums: ShareSums; size: number } & Ends)[];
  wilson: ({ p: number; n: number } & Ends)[];
  differences: ({ k1: number; n1: number; k2: number; n2: number } & Ends)[];
  means: ({ n: number; sum: number; squares: number; value: number } & Ends)[];
  mcnemar: { b: number; c: number; p: number }[];
  holm: { ps: number[]; corrected: number[] }[];
  paired: ({ a: number; b: number; n: number; value: number } & Ends)[];
  quantiles: { p: number; df: number; t: number }[];
  betas: { a: number; b: number; x: number; value: number }[];
};

function ends(got: Interval | undefined, want: Ends, digits = 9): void {
  expect(got!.low).toBeCloseTo(want.low, digits);
  expect(got!.high).toBeCloseTo(want.high, digits);
}

/** Rows that stand alone. */
const alone = (rows: number, of: number): ShareSums => ({ rows, squares: rows, products: rows, of, groups: of, groupSquares: of });

test("Wilson's interval", () => {
  for (const w of known.wilson) ends(wilson(w.p, w.n), w);
  expect(wilson(0.5, 0)).toBeUndefined();
});

test("a share's interval is corrected for groups", () => {
  for (const s of known.shares) {
    expect(effectiveSize(s.sums)).toBeCloseTo(s.size, 7);
    ends(share(s.sums), s);
  }
});

test("a group is one observation, and a share of 0 has as many as its groups are worth", () => {
  expect(effectiveSize({ rows: 3, squares: 9, products: 30, of: 10, groups: 1, groupSquares: 100 })).toBe(1);
  expect(effectiveSize({ rows: 0, squares: 0, products: 0, of: 10, groups: 2, groupSquares: 50 })).toBe(2);
  expect(share(alone(0, 0))).toBeUndefined();
});

test("Newcombe's interval of a difference", () => {
  for (const d of known.differences) ends(newcombe(wilson(d.k1 / d.n1, d.n1)!, wilson(d.k2 / d.n2, d.n2)!), d);
});

test("a part minus all is the part minus the rest, by the rest's size", () => {
  for (const d of known.differences) {
    const got = partMinusAll(alone(d.k1, d.n1), alone(d.k1 + d.k2, d.n1 + d.n2))!;
    const w = d.n1 / (d.n1 + d.n2);
    expect(got.value).toBeCloseTo(d.k1 / d.n1 - (d.k1 + d.k2) / (d.n1 + d.n2), 12);
    // the design effect of all rows, that stand alone, is n/(n-1)
    ends(got, { low: (1 - w) * d.low, high: (1 - w) * d.high }, 1);
  }
  expect(partMinusAll(alone(3, 10), alone(3, 10))).toEqual({ value: 0, low: 0, high: 0 });
  expect(partMinusAll(alone(0, 0), alone(3, 10))).toBeUndefined();
});

test("Student's interval of a mean", () => {
  for (const m of known.means) {
    const got = mean(m.n, m.sum, m.squares)!;
    expect(got.value).toBeCloseTo(m.value, 9);
    ends(got, m, 7);
  }
  expect(mean(1, 3, 9)).toEqual({ value: 3, low: NaN, high: NaN });
  expect(mean(0, 0, 0)).toBeUndefined();
});

test("McNemar's exact test", () => {
  for (const m of known.mcnemar) expect(mcnemar(m.b, m.c) / m.p).toBeCloseTo(1, 8);
});

test("Holm's correction", () => {
  for (const h of known.holm) {
    const got = holm(h.ps);
    expect(got).toHaveLength(h.corrected.length);
    got.forEach((p, i) => expect(p).toBeCloseTo(h.corrected[i]!, 12));
  }
});

test("the interval of a paired difference", () => {
  for (const p of known.paired) {
    const got = pairedDifference(p.a, p.b, p.n)!;
    expect(got.value).toBeCloseTo(p.value, 12);
    ends(got, p);
  }
});

test("distributions", () => {
  for (const q of known.quantiles) expect(tQuantile(q.p, q.df) / q.t).toBeCloseTo(1, 8);
  for (const b of known.betas) expect(Math.abs(incompleteBeta(b.a, b.b, b.x) - b.value)).toBeLessThan(1e-9);
});
