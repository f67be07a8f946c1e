// Intervals and tests from the sums of the contract, as internal/stats/shares.go computes them. All intervals are of 95 %.
// Both are tested with what scipy and statsmodels say (internal/stats/testdata/shares.json).

export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** p is that the difference is not 0, two-sided: below 0.05 exactly where the interval excludes 0. */
export interface Difference extends Interval {
  p: number;
}

const alpha = 0.05;

/** Sums over groups: y is the sum of a group's n values, such as the number of its rows that have an error. */
export interface GroupSums {
  groups: number;
  sum: number; // Σ y
  rows: number; // Σ n
  sumSquares: number; // Σ y²
  rowSquares: number; // Σ n²
  products: number; // Σ y·n
}

/** A share with the number of independent rows that would tell as much, and of groups. */
interface Sized {
  value: number;
  size: number;
  groups: number;
}

/**
 * The number of independent rows of a variance that would tell as much of the mean: n/deff, where deff is the variance
 * of the mean between groups by that of independent rows, at least 1 (Kish 1965). Where no row differs from another it
 * follows from how alike a group's rows are, for which 1 is the safe guess.
 */
export function effectiveSize(s: GroupSums, variance: number, alike = 1): number {
  const n = s.rows;
  if (variance <= 0) return n / (1 + (s.rowSquares / n - 1) * alike);
  if (s.groups < 2) return 1; // one group is one observation
  return n / Math.max(1, varianceOf(s) / (variance / n));
}

/** The variance of the mean between at least two groups. */
function varianceOf(s: GroupSums): number {
  const m = s.sum / s.rows;
  const residuals = Math.max(0, s.sumSquares - 2 * m * s.products + m * m * s.rowSquares);
  return (residuals * (s.groups / (s.groups - 1))) / (s.rows * s.rows);
}

/** Where no row differs from another, the rows that s is compared with tell how alike a group's rows are. */
function sized(s: GroupSums, other?: GroupSums): Sized | undefined {
  if (!(s.rows > 0)) return undefined;
  const p = s.sum / s.rows;
  return { value: p, size: effectiveSize(s, p * (1 - p), other && correlation(other, p)), groups: s.groups };
}

/** Of two rows of a group, and of one row more of a group that is all alike, by the pairs of rows that are both unlike p, which is 0 or 1; 1 without any. */
function correlation(s: GroupSums, p: number): number {
  const all = s.rows;
  const m = s.rowSquares / all;
  const [y, products, squares] = p < 1 ? [s.sum, s.products, s.sumSquares] : [all - s.sum, s.rowSquares - s.products, s.rowSquares - 2 * s.products + s.sumSquares];
  const q = (y + 1) / (all + 1);
  const r = ((squares + m - y - 1) / (products + m - y - 1) - q) / (1 - q);
  return Number.isNaN(r) ? 1 : Math.max(0, r);
}

/** Wilson's interval (1927) of the effective number of rows, with Student's t of the groups. */
function wilson({ value: p, size: n, groups }: Sized, miss: number): Interval {
  const t = criticalT(miss, groups - 1);
  if (t === Infinity) return { value: p, low: 0, high: 1 };
  const denominator = 1 + (t * t) / n;
  const centre = (p + (t * t) / (2 * n)) / denominator;
  const half = (t * Math.sqrt((p * (1 - p)) / n + (t * t) / (4 * n * n))) / denominator;
  return { value: p, low: p <= 0 ? 0 : Math.max(0, centre - half), high: p >= 1 ? 1 : Math.min(1, centre + half) };
}

/** A share with its interval; undefined without rows. */
export function share(s: GroupSums): Interval | undefined {
  const of = sized(s);
  return of && wilson(of, alpha);
}

/** The difference b − a of two shares of different rows: Newcombe's interval (1998, method 10). */
export function apartShares(a: GroupSums, b: GroupSums): Difference | undefined {
  const one = sized(a, b);
  const two = sized(b, a);
  return one && two && apart(one, two);
}

const leastP = 1e-12; // stands for all below

function apart(a: Sized, b: Sized): Difference {
  const value = b.value - a.value;
  const most = -Math.log(leastP);
  const left = (x: number) => (value > 0 ? newcombe(a, b, Math.exp(-x)).low : -newcombe(a, b, Math.exp(-x)).high); // to 0
  const p = !(left(0) > 0) ? 1 : left(most) > 0 ? leastP : Math.exp(-root(0, most, left)); // one group tells nothing
  return { ...newcombe(a, b, alpha), p };
}

function newcombe(a: Sized, b: Sized, miss: number): Interval {
  const x = wilson(a, miss);
  const y = wilson(b, miss);
  const value = y.value - x.value;
  return { value, low: value - Math.hypot(y.value - y.low, x.high - x.value), high: value + Math.hypot(y.high - y.value, x.value - x.low) };
}

/**
 * The share among the filtered rows minus that among all, which they are a part of: (1−w)(p_filtered − p_rest), with w
 * the filtered rows' part of all. Undefined where either is empty; exactly 0 where the filter chooses all.
 */
export function partMinusAll(part: GroupSums, all: GroupSums): Difference | undefined {
  const chosen = sized(part);
  const whole = sized(all);
  if (!chosen || !whole) return undefined;
  const w = part.rows / all.rows;
  if (w >= 1) return { value: 0, low: 0, high: 0, p: 1 };
  const rest = all.rows - part.rows;
  // A filter may split groups, so the sums of the rest are not known: it has the design effect of all.
  const d = apart({ value: Math.max(0, all.sum - part.sum) / rest, size: (rest * whole.size) / all.rows, groups: all.groups }, chosen);
  return { value: (1 - w) * d.value, low: (1 - w) * d.low, high: (1 - w) * d.high, p: d.p };
}

/**
 * The difference b − a of two shares of the same rows, of which onlyA have it in a alone; the values of change are 1
 * where only b has it, −1 where only a has it: the adjusted Wald interval (Bonett and Price 2012).
 */
export function pairedShares(onlyA: number, change: GroupSums): Difference | undefined {
  const n = change.rows;
  if (!(n > 0)) return undefined;
  const value = change.sum / n;
  const a = onlyA / n;
  const b = a + value;
  const size = effectiveSize(change, a + b - value * value);
  const p12 = (a * size + 1) / (size + 2);
  const p21 = (b * size + 1) / (size + 2);
  const centre = p21 - p12;
  const deviation = Math.sqrt((p12 + p21 - centre * centre) / (size + 2));
  const half = criticalT(alpha, change.groups - 1) * deviation;
  const p = change.groups < 2 ? 1 : 2 * tTail(Math.abs(centre) / deviation, change.groups - 1);
  return { value, low: Math.max(-1, centre - half), high: Math.min(1, centre + half), p };
}

/** A mean with Student's interval of the variance between groups. No interval with fewer than two groups. */
export function mean(s: GroupSums): Interval | undefined {
  if (!(s.rows > 0)) return undefined;
  const value = s.sum / s.rows;
  if (s.groups < 2) return { value, low: NaN, high: NaN };
  const half = criticalT(alpha, s.groups - 1) * Math.sqrt(varianceOf(s));
  return { value, low: value - half, high: value + half };
}

/** The difference of two means of the same rows, of which s sums each row's: Student's test, as of `mean`. */
export function pairedMeans(s: GroupSums): Difference | undefined {
  const of = mean(s);
  const error = s.groups < 2 ? 0 : Math.sqrt(varianceOf(s));
  return of && { ...of, p: error > 0 ? 2 * tTail(Math.abs(of.value) / error, s.groups - 1) : 1 };
}

/** The difference b − a of two means of different rows, by the test of Welch (1947); undefined where nothing tells how far they spread. */
export function apartMeans(a: GroupSums, b: GroupSums): Difference | undefined {
  if (a.groups < 2 || b.groups < 2) return undefined;
  const [x, y] = [varianceOf(a), varianceOf(b)];
  if (x + y === 0) return undefined;
  const df = (x + y) ** 2 / (x ** 2 / (a.groups - 1) + y ** 2 / (b.groups - 1));
  const value = b.sum / b.rows - a.sum / a.rows;
  const half = criticalT(alpha, df) * Math.sqrt(x + y);
  return { value, low: value - half, high: value + half, p: 2 * tTail(Math.abs(value) / Math.sqrt(x + y), df) };
}

/** Holm's corrected p-values (1979), in the order given. */
export function holm(ps: number[]): number[] {
  const order = ps.map((_, i) => i).sort((i, j) => ps[i]! - ps[j]!);
  const corrected = new Array<number>(ps.length);
  let most = 0;
  order.forEach((index, rank) => {
    most = Math.max(most, Math.min(1, ps[index]! * (ps.length - rank)));
    corrected[index] = most;
  });
  return corrected;
}

/** How many standard errors an interval reaches that misses with this probability, on both sides together; infinite without degrees of freedom. */
export function criticalT(miss: number, df: number): number {
  if (df < 1) return Infinity;
  const above = (x: number) => Math.log(Math.max(2 * tTail(Math.expm1(x), df), Number.MIN_VALUE) / miss);
  let high = 1;
  while (above(high) > 0) high *= 2;
  return Math.expm1(root(0, high, above));
}

/** The probability that Student's t is above t, which is 0 or more. */
function tTail(t: number, df: number): number {
  return 0.5 * incompleteBeta(df / 2, 0.5, df / (df + t * t));
}

/** Where f, which falls from 0 or more at low to 0 or less at high, is 0: by false position, in its variant of Illinois. */
function root(low: number, high: number, f: (x: number) => number): number {
  let atLow = f(low);
  let atHigh = f(high);
  let last = 0;
  let x = low;
  for (let i = 0; i < 100; i++) {
    x = (low * atHigh - high * atLow) / (atHigh - atLow);
    const at = f(x);
    if (Math.abs(at) < 1e-12) break;
    if (at > 0) [low, atLow] = [x, at];
    else [high, atHigh] = [x, at];
    if (at > 0 && last > 0) atHigh /= 2;
    else if (at < 0 && last < 0) atLow /= 2;
    last = at;
  }
  return x;
}

/** The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction. */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  const tiny = 1e-300;
  let c = 1;
  let d = 1 - ((a + b) * x) / (a + 1);
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let sum = d;
  for (let m = 1; m <= 100_000; m++) {
    let step = 1;
    for (const next of [(m * (b - m)) / (a + 2 * m - 1), (-(a + m) * (a + b + m)) / (a + 2 * m + 1)]) {
      const term = (next * x) / (a + 2 * m);
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      if (Math.abs(c) < tiny) c = tiny;
      step = d * c;
      sum *= step;
    }
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return front * sum;
}

/** Stirling's series. */
function logGamma(x: number): number {
  if (x < 50) return logGamma(x + 1) - Math.log(x);
  const r = 1 / (x * x);
  return (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + (1 / 12 - (1 / 360 - (1 / 1260) * r) * r) / x;
}
