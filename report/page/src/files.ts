// Files that the page writes.

import type { Json, JsonObject } from "./contract";
import { object } from "./fields";

/** Rows of one width as CSV (RFC 4180), with a heading. */
export function csv(heading: string[], rows: (string | number | null)[][]): string {
  return [heading, ...rows.map(guard)].map((cells) => cells.map(cell).join(",") + "\r\n").join("");

  function guard(cells: (string | number | null)[]): (string | number | null)[] {
    return cells.map((c) => (typeof c === "string" && isFormula(c) ? "'" + c : c));
  }
}

/** Whether a spreadsheet could run the text: docs/formats.md, Formulas. */
function isFormula(text: string): boolean {
  return /^[=+\-@＝＋－＠\t\r\n]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
}

function cell(value: string | number | null): string {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

export function jsonl(rows: JsonObject[]): string {
  return rows.map((r) => JSON.stringify(r) + "\n").join("");
}

/**
 * Records as CSV with the columns that erreval's own CSV has: dotted names for objects, labels joined by "; ", all other
 * lists as JSON. Texts that could run as formulas get an apostrophe, and "erreval.apostrophe" names their columns.
 */
export function csvOfRecords(records: Json[]): string {
  const names = new Map<string, number>();
  const flat = records.map((record) => {
    const cells = new Map<string, string>();
    flatten("", record, cells);
    for (const name of cells.keys()) if (!names.has(name)) names.set(name, names.size);
    return cells;
  });
  const heading = [...names.keys()];
  const guarded = flat.map((cells) => heading.filter((name) => isFormula(cells.get(name) ?? "")));
  const marks = guarded.some((g) => g.length > 0);
  return csv(
    marks ? [...heading, "erreval.apostrophe"] : heading,
    flat.map((cells, i) => {
      const row = heading.map((name) => cells.get(name) ?? "");
      return marks ? [...row, guarded[i]!.join("; ")] : row;
    }),
  );
}

const keptAsJson = new Set(["runs"]);

function flatten(name: string, value: Json, out: Map<string, string>): void {
  const nested = object(value);
  if (nested && (name === "" || Object.keys(nested).length > 0)) {
    for (const [key, v] of Object.entries(nested)) flatten(name === "" ? key : `${name}.${key}`, v, out);
    return;
  }
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (Array.isArray(value)) {
    const plain = !keptAsJson.has(last) && value.every((v) => typeof v === "string" && !v.includes("; "));
    out.set(name, plain ? value.join("; ") : JSON.stringify(value));
  } else if (value === null) out.set(name, "");
  else out.set(name, typeof value === "string" ? value : JSON.stringify(value));
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
