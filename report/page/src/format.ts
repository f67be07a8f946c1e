// Numbers as people read them.

import type { Interval } from "./stats";

const whole = new Intl.NumberFormat("en");

/** One decimal; a tie is rounded to the even digit, as in the terminal. */
const tenths = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1, useGrouping: false, roundingMode: "halfEven" });

export function count(n: number): string {
  return whole.format(n);
}

/** A share as a percentage with one decimal. */
export function percent(p: number | null | undefined): string {
  return p === null || p === undefined || Number.isNaN(p) ? "–" : `${tenths.format(100 * p)} %`;
}

/** A difference of shares, in percentage points. */
export function points(d: number): string {
  const text = tenths.format(Math.abs(100 * d));
  return (text === "0.0" ? "±" : d > 0 ? "+" : "−") + text;
}

/** Three significant digits, without an exponent where it can be avoided. */
export function number(x: number | null | undefined): string {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (Number.isInteger(x)) return Math.abs(x) >= 10_000 ? count(x) : String(x).replace("-", "−");
  const size = Math.abs(x);
  const text = size < 0.0001 ? x.toExponential(1) : size < 1 ? x.toFixed(3) : size < 100 ? x.toFixed(2) : count(Math.round(x));
  return text.replace("-", "−");
}

export function signed(x: number): string {
  return (x > 0 ? "+" : "") + number(x);
}

/** "" below two numbers, of which there is none. */
export function numberInterval(i: Interval): string {
  return Number.isNaN(i.low) ? "" : `${number(i.low)}–${number(i.high)}`;
}

export function shareInterval(i: Interval): string {
  return `${tenths.format(100 * i.low)}–${tenths.format(100 * i.high)}`;
}

export function pValue(p: number): string {
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

const longestId = 24;

/** A name that tells rows apart, of which a long one keeps both ends. */
export function shortened(id: string): string {
  const letters = Array.from(id);
  return letters.length <= longestId ? id : `${letters.slice(0, 13).join("")}…${letters.slice(-10).join("")}`;
}
