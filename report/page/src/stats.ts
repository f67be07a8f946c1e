// Intervals and tests from the sums of the contract. All intervals are of 95 %. test/stats.json is what scipy and
// statsmodels say (test/stats.py); test/stats.test.ts compares.

export interface Interval {
  value: number;
  low: number;
  high: number;
}

const z = 1.959963984540054; // normal quantile of 0.975

/** Sums over groups: y rows of n have a value; squares Σ y², products Σ y·n, groupSquares Σ n². */
export interface ShareSums {
  rows: number; // Σ y
  squares: number;
  products: number;
  of: number; // Σ n
  groups: number;
  groupSquares: number;
}

/**
 * The number of independent rows that would tell as much: n/deff, where deff is the clustered variance of the share by
 * that of independent rows, at least 1 (Kish 1965; the variance is that of a ratio of
 * sums over groups, by G/(G−1)). Of a share of 0 or 1 nothing is known of the clustering: n²/Σn².
 */
export function effectiveSize(s: ShareSums): number {
  const n = s.of;
  if (n <= 0) return 0;
  const p = s.rows / n;
  if (p <= 0 || p >= 1) return s.groupSquares > 0 ? (n * n) / s.groupSquares : n;
  if (s.groups < 2) return 1; // one group is one observation
  const residuals = Math.max(0, s.squares - 2 * p * s.products + p * p * s.groupSquares);
  const clustered = (residuals * (s.groups / (s.groups - 1))) / (n * n);
  const deff = Math.max(1, clustered / ((p * (1 - p)) / n));
  return n / deff;
}

/** Wilson's interval (1927) of a share p of n rows; n may be an effective size. Undefined without rows. */
export function wilson(p: number, n: number): Interval | undefined {
  if (!(n > 0)) return undefined;
  const denominator = 1 + (z * z) / n;
  const centre = (p + (z * z) / (2 * n)) / denominator;
  const half = (z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n))) / denominator;
  return { value: p, low: p <= 0 ? 0 : Math.max(0, centre - half), high: p >= 1 ? 1 : Math.min(1, centre + half) };
}

export function share(s: ShareSums): Interval | undefined {
  return s.of > 0 ? wilson(s.rows / s.of, effectiveSize(s)) : undefined;
}

/** Newcombe's interval (1998, method 10) of a − b, two shares of different rows with their Wilson intervals. */
export function newcombe(a: Interval, b: Interval): Interval {
  const value = a.value - b.value;
  return {
    value,
    low: value - Math.hypot(a.value - a.low, b.high - b.value),
    high: value + Math.hypot(a.high - a.value, b.value - b.low),
  };
}

/**
 * The share among the filtered rows minus that among all, which they are a part of: (1−w)(p_filtered − p_rest), with w
 * the filtered rows' part of all; Newcombe's interval of effective sizes. Undefined where either is empty; exactly 0
 * where the filter chooses all.
 */
export function partMinusAll(part: ShareSums, all: ShareSums): Interval | undefined {
  if (!(part.of > 0) || !(all.of > 0)) return undefined;
  const w = part.of / all.of;
  if (w >= 1) return { value: 0, low: 0, high: 0 };
  const rest = all.of - part.of;
  const design = effectiveSize(all) / all.of; // a filter may split groups, so the sums of the rest are not known
  const inPart = share(part);
  const outside = wilson(Math.max(0, all.rows - part.rows) / rest, rest * design);
  if (!inPart || !outside) return undefined;
  const d = newcombe(inPart, outside);
  return { value: (1 - w) * d.value, low: (1 - w) * d.low, high: (1 - w) * d.high };
}

/** A mean with Student's interval, of n numbers with their sum and sum of squares. No interval below two numbers. */
export function mean(n: number, sum: number, squares: number): Interval | undefined {
  if (n < 1) return undefined;
  const value = sum / n;
  if (n < 2) return { value, low: NaN, high: NaN };
  const variance = Math.max(0, (squares - n * value * value) / (n - 1));
  const half = tQuantile(0.975, n - 1) * Math.sqrt(variance / n);
  return { value, low: value - half, high: value + half };
}

/** McNemar's exact test (1947), two-sided: may as many pairs change one way as the other? b and c are the changed pairs. */
export function mcnemar(b: number, c: number): number {
  const n = b + c;
  if (n === 0) return 1;
  const k = Math.min(b, c);
  return Math.min(1, 2 * incompleteBeta(n - k, k + 1, 0.5));
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

/** The difference of a paired share (b − a), from discordant pairs of n, with the adjusted Wald interval of Bonett and Price (2012). */
export function pairedDifference(onlyA: number, onlyB: number, n: number): Interval | undefined {
  if (n <= 0) return undefined;
  const value = (onlyB - onlyA) / n;
  const p12 = (onlyA + 1) / (n + 2);
  const p21 = (onlyB + 1) / (n + 2);
  const centre = p21 - p12;
  const half = z * Math.sqrt((p12 + p21 - centre * centre) / (n + 2));
  return { value, low: Math.max(-1, centre - half), high: Math.min(1, centre + half) };
}

/** Quantile of Student's t, by bisection of its distribution function. */
export function tQuantile(p: number, df: number): number {
  if (p < 0.5) return -tQuantile(1 - p, df);
  let low = 0;
  let high = 1;
  while (tDistribution(high, df) < p) high *= 2;
  for (let i = 0; i < 200 && high - low > 1e-13 * high; i++) {
    const middle = (low + high) / 2;
    if (tDistribution(middle, df) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function tDistribution(t: number, df: number): number {
  const tail = 0.5 * incompleteBeta(df / 2, 0.5, df / (df + t * t));
  return t >= 0 ? 1 - tail : tail;
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
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + even * d;
    c = 1 + even / c;
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    if (Math.abs(c) < tiny) c = tiny;
    sum *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 + odd * d;
    c = 1 + odd / c;
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    if (Math.abs(c) < tiny) c = tiny;
    const step = d * c;
    sum *= step;
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return front * sum;
}

/** Lanczos' approximation (g = 7, 9 terms), with Stirling's series where it is better. */
function logGamma(x: number): number {
  if (x > 50) {
    const r = 1 / (x * x);
    return (x - 0.5) * Math.log(x) - x + 0.9189385332046727 + (1 / 12 - (1 / 360 - (1 / 1260) * r) * r) / x;
  }
  const g = [
    0.9999999999998099, 676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406,
    12.507343278686905, -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  let sum = g[0]!;
  for (let i = 1; i < 9; i++) sum += g[i]! / (x - 1 + i);
  const t = x + 6.5;
  return 0.9189385332046727 + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}
