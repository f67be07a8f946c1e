// Files that the page writes.

import type { JsonObject } from "./contract";

type Cell = string | number | null;

/** Rows of one width as CSV, with a heading, as report/view writes it. What could run as a formula gets an apostrophe in front. */
export function csv(heading: string[], rows: Cell[][]): string {
  return [heading, ...rows].map((cells) => cells.map(cell).join(",") + "\n").join("");
}

/** Whether a spreadsheet could run the text: docs/formats.md, Formulas. */
function isFormula(text: string): boolean {
  return /^[=+\-@＝＋－＠\t\r\n]/.test(text) && !/^\+?-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

function cell(value: Cell): string {
  const plain = value === null ? "" : typeof value === "number" ? decimal(value) : value;
  const text = isFormula(plain) ? "'" + plain : plain;
  return /[",\r\n]|^\s|^\\\.$/u.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/** As Go writes the shortest decimal that means the number. */
function decimal(x: number): string {
  const [digits, exponent] = x.toExponential().split("e") as [string, string];
  const e = Number(exponent);
  if (x === 0 || (e >= -4 && e < 6)) return String(x);
  return `${digits}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`;
}

export function jsonl(rows: JsonObject[]): string {
  return rows.map((r) => JSON.stringify(r) + "\n").join("");
}

/** Gives a file to the person. */
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
