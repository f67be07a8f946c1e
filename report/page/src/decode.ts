// Reading the data block of a report file.

import type { Data, Json } from "./contract";

/** The bytes of base64 text; white space is passed over. */
export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> {
  const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** Records are parsed one by one when they are needed: most of a report's text is in them, and the first view needs none. */
export interface Records {
  readonly length: number;
  at(i: number): Json;
  text(i: number): string;
}

/**
 * Splits the text of Data. Records are its last part, and most of it; they are looked for when the first is needed. A text
 * in which they are not the last part is parsed whole.
 */
export function parseData(text: string): { data: Data; records: Records } {
  // Inside of texts a quotation mark is escaped, so this stands for a key alone; the first such key with a list is ours,
  // because no other in Data has this name, and records of users come after it.
  const key = '"records":[';
  const start = text.indexOf(key);
  const end = /\]\s*\}\s*\}\s*$/.exec(text.slice(-20));
  if (start >= 0 && end) {
    const behind = Math.max(0, text.length - 20) + end.index;
    try {
      const data = JSON.parse(text.slice(0, start + key.length) + text.slice(behind)) as Data;
      return { data, records: new LazyRecords(text, start + key.length, data.rows.run.length) };
    } catch (e) {
      if (!(e instanceof SyntaxError)) throw e;
    }
  }
  const data = JSON.parse(text) as Data;
  return { data, records: listRecords(data.rows.records) };
}

export function listRecords(all: Json[]): Records {
  return { length: all.length, at: (i) => all[i] ?? null, text: (i) => JSON.stringify(all[i] ?? null) };
}

class LazyRecords implements Records {
  private places: { starts: number[]; ends: number[] } | undefined;

  constructor(
    private readonly source: string,
    private readonly from: number,
    readonly length: number,
  ) {}

  text(i: number): string {
    this.places ??= splitList(this.source, this.from);
    return this.source.slice(this.places.starts[i], this.places.ends[i]);
  }

  at(i: number): Json {
    return JSON.parse(this.text(i)) as Json;
  }
}

const quote = 34;
const backslash = 92;

/** Where the elements of a list begin and end; from is behind its bracket. */
function splitList(text: string, from: number): { starts: number[]; ends: number[] } {
  const starts: number[] = [];
  const ends: number[] = [];
  let depth = 0;
  let begun = -1;
  for (let i = from; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case quote: {
        if (begun < 0) begun = i;
        for (;;) {
          i = text.indexOf('"', i + 1);
          if (i < 0) throw new SyntaxError("a text does not end");
          let slashes = 0;
          while (text.charCodeAt(i - 1 - slashes) === backslash) slashes++;
          if (slashes % 2 === 0) break;
        }
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        if (begun < 0) begun = i;
        depth++;
        break;
      case 0x7d: // }
        depth--;
        break;
      case 0x5d: // ]
        if (depth === 0) {
          if (begun >= 0) {
            starts.push(begun);
            ends.push(i);
          }
          return { starts, ends };
        }
        depth--;
        break;
      case 0x2c: // ,
        if (depth === 0) {
          starts.push(begun);
          ends.push(i);
          begun = -1;
        }
        break;
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        break;
      default:
        if (begun < 0) begun = i;
    }
  }
  throw new SyntaxError("the list does not end");
}
