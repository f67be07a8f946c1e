// Texts of rows: fields in records, and the words that are searched.

import type { Catalog, Field, Json, JsonObject, RowSummary } from "./contract";

/** The text of a value: of lists the first one, of {"text": …} that, three levels deep. "" if there is none. */
export function textOf(value: Json | undefined): string {
  let v = value;
  for (let level = 0; level < 4; level++) {
    if (typeof v === "string") return v;
    if (typeof v === "number") return String(v);
    v = Array.isArray(v) ? v[0] : object(v)?.["text"];
  }
  return "";
}

export function object(value: Json | undefined): JsonObject | undefined {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
}

/** The value of a column; a dotted name reaches into objects and lists where there is no such column. */
export function column(record: Json, name: string): Json | undefined {
  const row = object(record);
  if (!row) return undefined;
  if (Object.hasOwn(row, name)) return row[name];
  let value: Json | undefined = row;
  for (const part of name.split(".")) {
    if (Array.isArray(value)) {
      value = /^\d+$/.test(part) ? value[Number(part)] : undefined;
      continue;
    }
    const next: JsonObject | undefined = object(value);
    if (!next || !Object.hasOwn(next, part)) return undefined;
    value = next[part];
  }
  return value;
}

/** The column that a run has for a field. */
export function columnOf(catalog: Catalog, run: number, field: Field): string {
  const columns = catalog.runs[run]?.columns;
  return columns && Object.hasOwn(columns, field.name) ? columns[field.name]! : field.name;
}

/**
 * The text of a field in a conversation (dataset/chat.go): of the judged field the last turn of the assistant, of another
 * the turns before that, the user's last one first. undefined where the value is no conversation.
 */
function chatText(value: Json, judged: boolean): string | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const turns = value.map((turn) => ({ role: object(turn)?.["role"], text: said(object(turn)?.["content"]) }));
  if (!turns.every((turn) => typeof turn.role === "string")) return undefined;
  const response = turns.findLastIndex((turn) => turn.role === "assistant");
  if (judged) return turns[response]?.text ?? "";
  const before = response < 0 ? turns : turns.slice(0, response);
  const last = before.findLast((turn) => turn.role === "user")?.text;
  if (before.length === 1 && last !== undefined) return last;
  return [...(last === undefined ? [] : [last, "", "The whole conversation:"]), ...before.map((turn) => `${turn.role}: ${turn.text}`)].join("\n");
}

/** What a turn says: its text, or those of its parts. */
function said(content: Json | undefined): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.map((part) => object(part)?.["text"]).filter((text) => typeof text === "string" && text !== "").join("\n");
}

/** The texts of a field: one, or in pairs that of either side; none where the row has no such column. */
export function fieldTexts(catalog: Catalog, run: number, record: Json, field: Field): string[] {
  const one = column(record, columnOf(catalog, run, field));
  if (one !== undefined) return [chatText(one, field.judged) ?? textOf(one)];
  return [`${field.name}_a`, `${field.name}_b`].map((name) => column(record, name)).filter((v) => v !== undefined).map(textOf);
}

/** The characters that a list has of a field (report/view's maxText). */
export const summaryLength = 200;

/** A field of a row in a list, with a sign where it may be cut. */
export function listedText(row: RowSummary, field: Field): string {
  const text = field.judged ? row.text : row.fields[field.name] ?? "";
  return Array.from(text).length < summaryLength ? text : `${text}…`;
}

/** The fields besides the judged one that are not the same in all rows. */
export function differing(catalog: Catalog, rows: RowSummary[]): Field[] {
  return catalog.fields.filter((f) => !f.judged && new Set(rows.map((r) => r.fields[f.name] ?? "")).size > 1);
}

/** The first n characters (code points) of a text. */
export function beginning(text: string, n: number): string {
  if (text.length <= n) return text;
  return Array.from(text.slice(0, 2 * n)).slice(0, n).join("");
}

/** Lower case, code point by code point; a sigma at the end of a word is a sigma. */
export function fold(text: string): string {
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  let out = "";
  for (const c of text) {
    const lower = c.toLowerCase();
    out += lower === "ς" ? "σ" : lower.length > 1 ? String.fromCodePoint(lower.codePointAt(0)!) : lower;
  }
  return out;
}

const word = /[\p{L}\p{N}]+/gu;
const wordCharacter = /[\p{L}\p{N}]$/u;

const longest = 64; // code points of a word that are looked at

/** The words of a search, folded. */
export function words(search: string): string[] {
  return (search.match(word) ?? []).map((w) => fold(beginning(w, longest)));
}

/** Whether a word of a folded text begins with w, itself folded. */
export function hasWord(text: string, w: string): boolean {
  for (let i = text.indexOf(w); i >= 0; i = text.indexOf(w, i + 1)) {
    if (i === 0) return true;
    const before = text.charCodeAt(i - 1);
    if (before < 128) {
      const letter = (before >= 97 && before <= 122) || (before >= 48 && before <= 57) || (before >= 65 && before <= 90);
      if (!letter) return true;
    } else if (!wordCharacter.test(text.slice(Math.max(0, i - 2), i))) return true;
  }
  return false;
}
