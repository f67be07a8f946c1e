// Files that the page writes.

import type { Json, JsonObject } from "./contract";
import { object } from "./fields";

type Cell = string | number | null;

/** Rows of one width as CSV (RFC 4180), with a heading. What could run as a formula gets an apostrophe in front. */
export function csv(heading: string[], rows: Cell[][]): string {
  return table([heading, ...rows].map((cells) => cells.map((c) => (typeof c === "string" ? guard(c) : c))));
}

function table(rows: Cell[][]): string {
  return rows.map((cells) => cells.map(cell).join(",") + "\r\n").join("");
}

/** Whether a spreadsheet could run the text: docs/formats.md, Formulas. */
function isFormula(text: string): boolean {
  return /^[=+\-@＝＋－＠\t\r\n]/.test(text) && !/^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

function guard(text: string): string {
  return isFormula(text) ? "'" + text : text;
}

function cell(value: Cell): string {
  const text = value === null ? "" : String(value);
  return /[",\r\n\0]|^\ufeff/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

export function jsonl(rows: JsonObject[]): string {
  return rows.map((r) => JSON.stringify(r) + "\n").join("");
}

const apostrophe = "erreval.apostrophe";

/**
 * Records as CSV with the columns that erreval's own CSV has (docs/formats.md, dataset/flat.go), so that it reads them
 * again: dotted names for diagnosis, scores and issues, names joined by "; ", all else as JSON. Where a text got an
 * apostrophe, the last column lists the row's columns that did.
 */
export function csvOfRecords(records: Json[]): string {
  const names = new Map<string, number>();
  const flat = records.map((record) => {
    const cells = flatten(record);
    for (const name of cells.keys()) if (!names.has(name)) names.set(name, names.size);
    return cells;
  });
  const heading = [...names.keys()];
  const guarded = flat.map((cells) => heading.filter((name) => {
    const v = cells.get(name);
    return typeof v === "string" && isFormula(v);
  }));
  const marks = guarded.some((g) => g.length > 0) || heading.some(isFormula);
  const rows = flat.map((cells, i) => {
    const row = heading.map((name): Cell => {
      const v = cells.get(name);
      return v === undefined || v === null ? null : typeof v === "string" ? guard(v) : JSON.stringify(v);
    });
    return marks ? [...row, guarded[i]!.length > 0 ? JSON.stringify(guarded[i]) : ""] : row;
  });
  return table([marks ? [...heading.map((h) => (isFormula(h.replace(/^'+/, "")) ? "'" + h : h)), apostrophe] : heading, ...rows]);
}

function flatten(record: Json): Map<string, Json> {
  const out = new Map<string, Json>();
  for (const [name, value] of Object.entries(object(record) ?? {})) {
    const parts = name === "diagnosis" ? diagnosisParts(value) : name === "scores" ? scoreParts(value) : name === "issues" ? issueParts(value) : undefined;
    if (parts) for (const [key, part] of parts) out.set(`${name}.${key}`, part);
    else out.set(name, name === "labels" ? (joined(value) ?? value) : value);
  }
  return out;
}

/** Names as one text, unless that could not be undone. */
function joined(value: Json | undefined): string | undefined {
  const plain = Array.isArray(value) && value.every((v) => typeof v === "string" && v !== "" && !v.includes(";") && v.trim() === v);
  return plain ? value.join("; ") : undefined;
}

type Parts = [string, Json][];

/** The parts of a nested column, or nothing where one has another shape: then the column is one cell of JSON. */
function partsOf(value: Json, partOf: (key: string, value: Json) => Parts | undefined): Parts | undefined {
  const entries = Object.entries(object(value) ?? {});
  const parts = entries.map(([key, v]) => partOf(key, v));
  return entries.length > 0 && parts.every((p) => p !== undefined) ? parts.flat() : undefined;
}

function diagnosisParts(value: Json): Parts | undefined {
  const parts = partsOf(value, (key, v) => {
    if (key === "labels" || key === "not_judged") {
      const names = joined(v);
      return names === undefined ? undefined : [[key, names]];
    }
    if (key === "probabilities" || key === "truncated") {
      return partsOf(v, (name, n) => (typeof n === "number" ? [[`${key}.${name}`, n]] : undefined));
    }
    return ["model", "taxonomy", "status", "reason"].includes(key) && typeof v === "string" && v !== "" ? [[key, v]] : undefined;
  });
  return parts?.length === 1 && parts[0]![1] === "" ? undefined : parts;
}

function scoreParts(value: Json): Parts | undefined {
  return partsOf(value, (dimension, of) => (dimension === "" || dimension.includes(".") ? undefined : partsOf(of, (key, v) => {
    const fits = key === "value" ? typeof v === "number" : key === "status" || key === "reason" ? typeof v === "string" && v !== "" : typeof v === "object" && v !== null;
    return fits ? [[`${dimension}.${key}`, v]] : undefined;
  })));
}

function issueParts(value: Json): Parts | undefined {
  return partsOf(value, (key, v) => {
    if (key === "ids") return joined(v) ? [[key, joined(v)!]] : undefined;
    if (key === "severity" || key === "score") return typeof v === "number" ? [[key, v]] : undefined;
    const known = ["status", "reason", "analysis", "quote", "evaluation", "evidence"].includes(key);
    return known && typeof v === "string" && v !== "" ? [[key, v]] : undefined;
  });
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
