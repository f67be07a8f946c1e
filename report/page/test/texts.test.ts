import { gzipSync } from "node:zlib";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { beginning, column, fold, hasWord, listedText, textOf, words } from "../src/fields";
import { csv, jsonl } from "../src/files";
import { number, percent, points, pValue, shortened } from "../src/format";
import { quotes, segments } from "../src/highlight";
import { LocalSource } from "../src/local";
import { wrapped } from "../src/charts";
import { fileName, sortRows } from "../src/ui";
import { texts } from "../src/texts";
import { byCategory, toggled } from "../src/views/label";
import { sample } from "./sample";

describe("CSV", () => {
  test("quotes what has to be", () => {
    expect(csv(["a", "b"], [["x,y", 'say "so"'], ["two\nlines", null], [1.5, ""]])).toBe('a,b\n"x,y","say ""so"""\n"two\nlines",\n1.5,\n');
  });

  test.each(["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠a", "-.5", "=cmd|' /C calc'!A0"])("guards a formula: %j", (text) => {
    const cell = csv(["a"], [[text]]).slice("a\n".length);
    expect(cell.replace(/^"/, "")[0]).toBe("'");
  });

  test.each(["-1.5", "+3", "-2e-5", "3", "-0.5", "plain"])("leaves a number and plain text: %s", (text) => {
    expect(csv(["a"], [[text]])).toBe(`a\n${text}\n`);
  });

  test("guards headings too", () => {
    expect(csv(["=1+1"], [["a"]])).toBe("'=1+1\na\n");
  });

  test("numbers are as Go writes them", () => {
    const rows = [0, -1.5, 1e-4, 1.5e-5, 123456, 1e6, 12345678.5, -3e-9].map((x) => [x]);
    expect(csv(["x"], rows)).toBe("x\n0\n-1.5\n0.0001\n1.5e-05\n123456\n1e+06\n1.23456785e+07\n-3e-09\n");
  });

  test("rows have the columns of the catalogue", async () => {
    const text = await (await new LocalSource(sample(4)).export({ filter: {}, sort: { key: "row" }, format: "csv" })).text();
    const [heading, first] = text.split("\n");
    expect(heading).toBe("run,id,output,source,person,system,label,issue,gold,unscored,truncated,column.genre,probability.Incomplete,probability.Grammar Error," +
      "probability.Vague,probability.Factual Error,probability.Off Target Answer,score.fluency,score.coherence,score.faithfulness,severity,column.words");
    expect(first).toMatch(/^found\.jsonl,item-1-baseline,The lighthouse at Carrow Point was built in 1820 by Thomas Ferrand/);
  });

  test("JSON Lines", () => {
    expect(jsonl([{ a: "\n" }, { b: null }])).toBe('{"a":"\\n"}\n{"b":null}\n');
  });
});

describe("marks", () => {
  test("stand at whole words, in any case and spacing", () => {
    expect(segments("Built  in 1868, rebuilt in 1868a.", [{ text: "built in 1868", kind: "q" }])).toEqual([
      { text: "Built  in 1868", kinds: ["q"] }, { text: ", rebuilt in 1868a.", kinds: [] },
    ]);
  });

  test("stand beside what a model did not read, counted in characters", () => {
    expect(segments("😀 a b c", [{ text: "b", kind: "q" }], [2, 5])).toEqual([
      { text: "😀 ", kinds: ["unread"] }, { text: "a ", kinds: [] }, { text: "b", kinds: ["q"] }, { text: " c", kinds: ["unread"] },
    ]);
    expect(segments("a b", [], [0, 99])).toEqual([{ text: "a b", kinds: [] }]);
  });

  test("overlap", () => {
    expect(segments("a b c", [{ text: "a b", kind: "x" }, { text: "b c", kind: "y" }])).toEqual([
      { text: "a ", kinds: ["x"] }, { text: "b", kinds: ["x", "y"] }, { text: " c", kinds: ["y"] },
    ]);
  });

  test.each([["(a+)+$", "x (a+)+$ y"], ["\\d [z] {2} | ^ . * ?", "so: \\d [z] {2} | ^ . * ? end"], ["a-b/c", "a-b/c"]])("take text as text: %s", (mark, text) => {
    expect(segments(text, [{ text: mark, kind: "k" }]).some((s) => s.text === mark && s.kinds.length === 1)).toBe(true);
  });

  test("the segments are the text, whatever is marked", () => {
    for (const text of ["", "aaa", "ß İ 𝔘 ς", "<b>x</b>"]) {
      expect(segments(text, [{ text: "a", kind: "k" }, { text: " ", kind: "e" }, { text: "i̇", kind: "l" }]).map((s) => s.text).join("")).toBe(text);
    }
  });

  test("quotes of an explanation", () => {
    expect(quotes('It says "one two" and “three”, not ‘four’ or "x".')).toEqual(["one two", "three", "four"]);
  });
});

describe("texts of rows", () => {
  test("of values", () => {
    expect([textOf("a"), textOf(3), textOf(null), textOf(undefined), textOf(true), textOf([]), textOf(["x", "y"]), textOf({ text: ["z"] }), textOf({ a: 1 })])
      .toEqual(["a", "3", "", "", "", "", "x", "z", ""]);
    expect(textOf([[[["deep"]]]])).toBe("");
  });

  test("columns may be dotted", () => {
    expect(column({ "a.b": 1, a: { b: 2 } }, "a.b")).toBe(1);
    expect(column({ a: { b: 2 } }, "a.b")).toBe(2);
    expect(column({ a: 1 }, "toString")).toBeUndefined();
    expect(column({ a: 1 }, "__proto__.x")).toBeUndefined();
  });

  test("words begin words, in any case", () => {
    expect(words("Über-groß ΤΈΛΟΣ, x9")).toEqual(["über", "groß", "τέλοσ", "x9"]);
    const text = fold("Der Übergroße, ΤΈΛΟΣ");
    expect([hasWord(text, "überg"), hasWord(text, "große"), hasWord(text, "τέλοσ"), hasWord(text, "er")]).toEqual([true, false, true, false]);
    expect(beginning("𝔘𝔙𝔚", 2)).toBe("𝔘𝔙");
    const lines = (text: string, letters: number, most: number) => wrapped(text, (line) => line.length <= letters, most);
    expect(lines("abcdef", 4, 1)).toBe("abc…");
    expect(lines("Off Target Answer", 10, 2)).toBe("Off Target\nAnswer");
    expect(lines("Unnecessary Copy from Passage", 14, 2)).toBe("Unnecessary\nCopy from Pas…");
    expect(lines("seq2seq-large · tagged.jsonl", 9, 3)).toBe("seq2seq-\nlarge ·\ntagged.j…");
  });
});

describe("the data of a file", () => {
  const data = sample(30);

  const pack = (text: string) => gzipSync(text).toString("base64").replace(/(.{76})/g, "$1\n");
  const { records, ...rows } = data.rows;
  const head = pack(JSON.stringify({ ...data, rows: { ...rows, records: [] } }));

  test("come back, with their records as they were", async () => {
    const source = await LocalSource.decode(head, pack(records.map((r) => JSON.stringify(r)).join("\n")));
    expect((await source.rows({ filter: {}, sort: { key: "row" }, offset: 0, limit: 1000 })).total).toBe(30);
    for (let n = 0; n < 30; n++) expect((await source.row({ n })).record).toEqual(records[n]);
  });

  test("that are cut short are refused, records when they are asked for", async () => {
    await expect(LocalSource.decode(head.slice(0, 400), "")).rejects.toThrow(texts.errors.data);
    const source = await LocalSource.decode(head, head.slice(0, 400));
    expect((await source.counts({ filter: {}, facet: "run" })).total).toBe(30);
    await expect(source.row({ n: 0 })).rejects.toThrow(texts.errors.data);
    await expect(source.counts({ filter: { search: "bridge" }, facet: "run" })).rejects.toThrow(texts.errors.data);
  });
});

describe("numbers", () => {
  test("as people read them", () => {
    expect([number(0.12345), number(3), number(2.345), number(-1234.6), number(null), number(12345), number(0.00001)]).toEqual(["0.123", "3", "2.35", "−1,235", "–", "12,345", "1.0e−5"]);
    expect([percent(0.0625), percent(0.1875), points(0.0625)]).toEqual(["6.2 %", "18.8 %", "+6.2"]); // as Go's %.1f
    expect([percent(0.1234), percent(undefined), points(0.01), points(-0.01), points(0.00004), pValue(0.0004), pValue(0.0456)])
      .toEqual(["12.3 %", "–", "+1.0", "−1.0", "±0.0", "< 0.001", "0.046"]);
  });
});

test("rows without a value come last, either way", () => {
  const by = { key: "x", title: "x", value: (r: number | null) => r };
  expect(sortRows([3, null, 1, 2], by, false)).toEqual([1, 2, 3, null]);
  expect(sortRows([3, null, 1, 2], by, true)).toEqual([3, 2, 1, null]);
  expect(sortRows([3, null, 1, 2], by, true, (r) => (r === 1 ? 0 : 1))).toEqual([1, 3, 2, null]);
});

test("names of files have no signs", () => {
  expect(fileName("Error / Issue: <b>=1</b>")).toBe("error-issue-b-1-b");
  expect(fileName("../../etc/passwd")).toBe("etc-passwd");
  expect(fileName("?")).toBe("table");
});

test("the label of right rows stands alone", () => {
  const labels = [{ name: "Vague", category: "Form", definition: "" }, { name: "OK", definition: "", no_error: true }, { name: "Typo", category: "Form", definition: "" }];
  const [vague, ok, typo] = labels;
  expect([...toggled(labels, new Set(["Vague"]), ok!)]).toEqual(["OK"]);
  expect([...toggled(labels, new Set(["OK"]), vague!)]).toEqual(["Vague"]);
  expect([...toggled(labels, new Set(["Vague"]), typo!)]).toEqual(["Vague", "Typo"]);
  expect([...toggled(labels, new Set(["Vague", "Typo"]), vague!)]).toEqual(["Typo"]);
  expect(byCategory(labels).map(([c, l]) => [c, l.map((x) => x.name)])).toEqual([["Form", ["Vague", "Typo"]], ["", ["OK"]]]);
});

test("no source makes markup or program of text", () => {
  const folder = join(import.meta.dirname, "../src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((f) => /\.tsx?$/.test(f));
  expect(files.length).toBeGreaterThan(15);
  for (const f of files) {
    expect(readFileSync(join(folder, f), "utf8"), f).not.toMatch(/innerHTML|outerHTML|dangerouslySet|insertAdjacent|document\.write|\beval\b|new Function|srcdoc/i);
  }
});

describe("what lists shorten", () => {
  test("long ids keep both ends, in whole characters", () => {
    expect(shortened("a".repeat(24))).toBe("a".repeat(24));
    expect(shortened("\u{1F600}".repeat(30))).toBe(`${"\u{1F600}".repeat(13)}…${"\u{1F600}".repeat(10)}`);
  });

  test("texts that may be cut say so", async () => {
    const row = (await new LocalSource(sample(4)).rows({ filter: {}, sort: { key: "row" }, offset: 0, limit: 1 })).rows[0]!;
    const field = (name: string, judged: boolean) => ({ name, definition: "", judged });
    expect(row.fields["source"]).toHaveLength(200);
    expect(listedText(row, field("source", false))).toBe(`${row.fields["source"]}…`);
    expect(listedText(row, field("person", false))).toBe("Thomas Ferrand");
    expect(listedText(row, field("output", true))).toBe(row.text);
    expect(listedText(row, field("lost", false))).toBe("");
  });
});
