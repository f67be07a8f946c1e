// stats.json is what scipy and statsmodels say: stats.py. The figures of shares are those that internal/stats is tested with.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  apartMeans, apartShares, criticalT, effectiveSize, holm, incompleteBeta, mean, pairedMeans, pairedShares, partMinusAll, share, type Difference, type GroupSums, type Interval,
} from "../src/stats";

interface Ends {
  low: number;
  high: number;
}

const read = (...path: string[]) => JSON.parse(readFileSync(join(import.meta.dirname, ...path), "utf8")) as unknown;
const known = read("stats.json") as {
  means: ({ n: number; sum: number; squares: number; value: number } & Ends)[];
  holm: { ps: number[]; corrected: number[] }[];
  quantiles: { p: number; df: number; t: number }[];
  betas: { a: number; b: number; x: number; value: number }[];
};

interface Sums {
  groups: number;
  sum: number;
  rows: number;
  sum_squares: number;
  row_squares: number;
  products: number;
}

const shares = read("../../../internal/stats/testdata/shares.json") as {
  shares: ({ of: Sums } & Interval)[];
  means: ({ of: Sums } & Difference)[];
  paired: ({ only_a: number; change: Sums } & Difference)[];
  apart: ({ a: Sums; b: Sums } & Difference)[];
  apart_means: ({ a: Sums; b: Sums } & Difference)[];
};

const sumsOf = (s: Sums): GroupSums => ({ ...s, sumSquares: s.sum_squares, rowSquares: s.row_squares });

function ends(got: Interval | undefined, want: Ends, digits = 9): void {
  expect(got!.low).toBeCloseTo(want.low, digits);
  expect(got!.high).toBeCloseTo(want.high, digits);
}

function same(got: Difference | undefined, want: Difference): void {
  expect(got!.value).toBeCloseTo(want.value, 12);
  ends(got, want);
  expect(Math.log(got!.p)).toBeCloseTo(Math.log(want.p), 8);
}

/** Rows that stand alone. */
const alone = (rows: number, of: number): GroupSums => ({ groups: of, sum: rows, rows: of, sumSquares: rows, rowSquares: of, products: rows });

test("shares and their differences", () => {
  expect(shares.shares.length + shares.paired.length + shares.apart.length).toBeGreaterThan(18);
  for (const s of shares.shares) ends(share(sumsOf(s.of)), s);
  for (const p of shares.paired) same(pairedShares(p.only_a, sumsOf(p.change)), p);
  for (const d of shares.apart) same(apartShares(sumsOf(d.a), sumsOf(d.b)), d);
  for (const m of shares.means) same(pairedMeans(sumsOf(m.of)), m);
  for (const d of shares.apart_means) same(apartMeans(sumsOf(d.a), sumsOf(d.b)), d);
});

test("a group is one observation, and a share of 0 has as many as its groups are worth", () => {
  const one: GroupSums = { groups: 1, sum: 3, rows: 10, sumSquares: 9, rowSquares: 100, products: 30 };
  expect(effectiveSize(one, 0.21)).toBe(1);
  expect(share(one)).toEqual({ value: 0.3, low: 0, high: 1 });
  expect(pairedShares(0, one)).toEqual({ value: 0.3, low: -1, high: 1, p: 1 });
  expect(effectiveSize({ groups: 2, sum: 0, rows: 10, sumSquares: 0, rowSquares: 50, products: 0 }, 0)).toBe(2);
  expect(share(alone(0, 0))).toBeUndefined();
});

test("a part minus all is the part minus the rest, by the rest's size", () => {
  const [part, rest, all] = [alone(80, 200), alone(120, 260), alone(200, 460)];
  const got = partMinusAll(part, all)!;
  const apart = apartShares(rest, part)!;
  expect(got.value).toBeCloseTo(80 / 200 - 200 / 460, 12);
  // the design effect of all rows, that stand alone, is n/(n-1), and the rest has their degrees of freedom
  ends(got, { low: (260 / 460) * apart.low, high: (260 / 460) * apart.high }, 3);
  expect(got.p).toBeCloseTo(apart.p, 2);
  expect(partMinusAll(alone(3, 10), alone(3, 10))).toEqual({ value: 0, low: 0, high: 0, p: 1 });
  expect(partMinusAll(alone(0, 0), alone(3, 10))).toBeUndefined();
});

test("Student's interval of a mean", () => {
  const of = (n: number, sum: number, squares: number) => mean({ groups: n, sum, rows: n, sumSquares: squares, rowSquares: n, products: sum });
  for (const m of known.means) {
    const got = of(m.n, m.sum, m.squares)!; // each in a group of its own
    expect(got.value).toBeCloseTo(m.value, 9);
    ends(got, m, 7);
  }
  for (const m of shares.means) {
    const got = mean(sumsOf(m.of))!;
    expect(got.value).toBeCloseTo(m.value, 9);
    ends(got, m, 9);
  }
  expect(of(1, 3, 9)).toEqual({ value: 3, low: NaN, high: NaN });
  expect(of(0, 0, 0)).toBeUndefined();
});

test("Holm's correction", () => {
  for (const h of known.holm) {
    const got = holm(h.ps);
    expect(got).toHaveLength(h.corrected.length);
    got.forEach((p, i) => expect(p).toBeCloseTo(h.corrected[i]!, 12));
  }
});

test("distributions", () => {
  for (const q of known.quantiles) expect(criticalT(2 * (1 - q.p), q.df) / q.t).toBeCloseTo(1, 8);
  for (const b of known.betas) expect(Math.abs(incompleteBeta(b.a, b.b, b.x) - b.value)).toBeLessThan(1e-9);
});

test("one group tells nothing: no difference from it is sure", () => {
  const of = (sum: number, rows: number, groups: number) => ({ groups, sum, rows, sumSquares: sum, rowSquares: (rows * rows) / groups, products: (sum * rows) / groups });
  for (const [a, b] of [[of(1, 40, 1), of(40, 40, 40)], [of(3, 40, 40), of(0, 1, 1)], [of(1, 1, 1), of(0, 1, 1)]] as const) {
    expect(apartShares(a, b)!.p).toBe(1);
  }
});
