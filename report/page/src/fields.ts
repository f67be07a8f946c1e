// Texts of rows: fields in records, and the words that are searched.

import type { Catalog, Field, Json, JsonObject } from "./contract";

/** The text of a value: of lists and of {"text": …} the first one, as everywhere in erreval. "" if there is none. */
export function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return textOf(value[0]);
  if (value && typeof value === "object") return textOf(value["text"]);
  return "";
}

export function object(value: Json | undefined): JsonObject | undefined {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : undefined;
}

/** The value of a column; a dotted name reaches into objects where there is no such column. */
export function column(record: Json, name: string): Json | undefined {
  const row = object(record);
  if (!row) return undefined;
  if (Object.hasOwn(row, name)) return row[name];
  let value: Json | undefined = row;
  for (const part of name.split(".")) {
    const next: JsonObject | undefined = object(value);
    if (!next || !Object.hasOwn(next, part)) return undefined;
    value = next[part];
  }
  return value;
}

export function fieldText(catalog: Catalog, run: number, record: Json, field: Field): string {
  return textOf(column(record, catalog.runs[run]?.columns?.[field.name] ?? field.name));
}

/** The first n characters (code points) of a text. */
export function beginning(text: string, n: number): string {
  if (text.length <= n) return text;
  return Array.from(text.slice(0, 2 * n)).slice(0, n).join("");
}

/** Lower case, letter by letter: a sigma at the end of a word is a sigma. */
export function fold(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ").replaceAll("i̇", "i");
}

const word = /[\p{L}\p{N}]+/gu;
const wordCharacter = /[\p{L}\p{N}]$/u;

/** The words of a search, in lower case. */
export function words(search: string): string[] {
  return fold(search).match(word) ?? [];
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
