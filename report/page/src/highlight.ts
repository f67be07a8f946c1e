// Places of a text that are marked: quotes, and the texts of other fields.

export interface Mark {
  text: string;
  kind: string;
}

export interface Segment {
  text: string;
  kinds: string[]; // none where the text is plain
}

const letter = /[\p{L}\p{N}]/u;

/** What a model did not read of a text. */
export const unread = "unread";

/** The places between the parts that were read. Parts are counted in characters, places in UTF-16 as JavaScript does. */
export function gaps(text: string, read: number[]): [number, number][] {
  const at = [0];
  for (const c of text) at.push(at.at(-1)! + c.length);
  const ends = [0, ...read.map((n) => at[Math.min(n, at.length - 1)]!), text.length];
  const out: [number, number][] = [];
  for (let i = 0; i + 1 < ends.length; i += 2) if (ends[i]! < ends[i + 1]!) out.push([ends[i]!, ends[i + 1]!]);
  return out;
}

/**
 * Cuts a text at the marks that stand in it as whole words, in any case, and at the parts that a model read of it, if it did not
 * read all. The segments together are the text.
 */
export function segments(text: string, marks: Mark[], read?: number[]): Segment[] {
  const cover: { from: number; to: number; kind: string }[] = [];
  if (read) for (const [from, to] of gaps(text, read)) cover.push({ from, to, kind: unread });
  for (const mark of marks) {
    for (const [from, to] of places(text, mark.text)) cover.push({ from, to, kind: mark.kind });
  }
  const cuts = [...new Set([0, text.length, ...cover.flatMap((c) => [c.from, c.to])])].sort((a, b) => a - b);
  const out: Segment[] = [];
  for (let i = 0; i + 1 < cuts.length; i++) {
    const from = cuts[i]!;
    const to = cuts[i + 1]!;
    const kinds = [...new Set(cover.filter((c) => c.from <= from && to <= c.to).map((c) => c.kind))];
    const last = out.at(-1);
    if (last && last.kinds.join() === kinds.join()) last.text += text.slice(from, to);
    else out.push({ text: text.slice(from, to), kinds });
  }
  return out;
}

/** Where the words stand. Any white space is equal to any other; ends of words are kept. */
function places(text: string, wanted: string): [number, number][] {
  const words = wanted.trim().split(/\s+/u).filter((w) => w !== "");
  if (words.length === 0) return [];
  const pattern = new RegExp(words.map((w) => w.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("\\s+"), "giu");
  const out: [number, number][] = [];
  for (const m of text.matchAll(pattern)) {
    if (out.length >= 200) break; // of a text that repeats itself
    const to = m.index + m[0].length;
    const before = Array.from(text.slice(Math.max(0, m.index - 2), m.index)).at(-1) ?? "";
    const after = Array.from(text.slice(to, to + 2))[0] ?? "";
    const opens = letter.test(before) && letter.test(Array.from(m[0])[0]!);
    const closes = letter.test(after) && letter.test(Array.from(m[0]).at(-1)!);
    if (!opens && !closes) out.push([m.index, to]);
  }
  return out;
}

/** What stands in quotation marks, of some length. */
export function quotes(text: string): string[] {
  return [...text.matchAll(/"([^"\n]{3,300})"|“([^”\n]{3,300})”|‘([^’\n]{3,300})’/gu)].map((m) => (m[1] ?? m[2] ?? m[3])!);
}
