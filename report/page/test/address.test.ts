import { describe, expect, test } from "vitest";
import { knownFilter, readAddress, readSort, writeAddress, writeSort, type State } from "../src/address";
import { parts, use, withOnly, withRange, withSearch, withUse } from "../src/filters";
import { isEmpty, LocalSource } from "../src/local";
import type { Filter } from "../src/contract";
import { firstView } from "../src/state";
import { sample } from "./sample";

const catalog = sample(40).catalog;

describe("the address", () => {
  test.each<State>([
    { view: "overview", filter: {}, params: {} },
    { view: "rows", filter: { search: "a & b = c#d" }, params: { sort: "-score.fluency", from: "50" } },
    {
      view: "errors",
      filter: {
        facets: { label: { any: ["Vague", "A&B=C"], all: ["No Error"], none: ["+ %"], only: true }, "column.x.y": { any: [""] } },
        ranges: { "score.fluency": { min: 0.5, max: 3 }, "probability.Vague": { max: -1e-9 } },
      },
      params: { "t.label": "-share:so:me" },
    },
  ])("comes back as it was: %j", (state) => {
    expect(readAddress(writeAddress(state))).toEqual(state);
  });

  test("of something else is the overview", () => {
    expect(readAddress("#view=nothing&min.score.fluency=abc&max.score.fluency=")).toEqual({ view: "overview", filter: {}, params: {} });
    expect(readAddress("")).toEqual({ view: "overview", filter: {}, params: {} });
    expect(readAddress("", "compare").view).toBe("compare");
    expect(readAddress("#view=rows", "compare").view).toBe("rows");
  });

  test("of none is Compare where there are verdicts alone", () => {
    const { catalog } = sample(20);
    const only = (begin: string) => ({ ...catalog, facets: catalog.facets.filter((f) => f.key.startsWith(begin)) });
    const verdicts = { ...catalog, facets: [{ key: "verdict.Overall", title: "Overall", multi: false, values: [{ name: "A" }] }] };
    expect([firstView(verdicts), firstView(catalog), firstView(only("run"))]).toEqual(["compare", "overview", "overview"]);
  });

  test("of the view that rows had opens the row in the list", () => {
    expect(readAddress("#view=row&row=9&sort=-id")).toEqual({ view: "rows", filter: {}, params: { row: "9", sort: "-id" } });
  });

  test("names a key such as __proto__ without harm", () => {
    const { filter } = readAddress("#view=rows&any.__proto__=x&any.constructor=y");
    expect(Object.getPrototypeOf(filter)).toBe(Object.prototype);
    expect(knownFilter(filter, catalog)).toEqual({ filter: {}, unknown: ["__proto__", "constructor"] });
  });

  test("says what is not here", () => {
    const asked: Filter = { facets: { label: { any: ["Vague", "Gone"] }, nowhere: { any: ["x"] } }, ranges: { lost: { min: 1 } }, search: "a" };
    expect(knownFilter(asked, catalog)).toEqual({ filter: { facets: { label: { any: ["Vague"] } }, search: "a" }, unknown: ["Error: Gone", "nowhere", "lost"] });
  });

  test("an order", () => {
    for (const s of [{ key: "row" }, { key: "id" }, { key: "score.fluency", descending: true }]) expect(readSort(writeSort(s))).toEqual(s);
  });
});

describe("filters", () => {
  test("a value is used in one way", () => {
    let f = withUse({}, "label", "Vague", "any");
    f = withUse(f, "label", "Vague", "none");
    f = withUse(f, "label", "Other", "all");
    expect(f).toEqual({ facets: { label: { none: ["Vague"], all: ["Other"] } } });
    expect(use(f, "label", "Vague")).toBe("none");
    expect(withUse(withUse(f, "label", "Vague", undefined), "label", "Other", undefined)).toEqual({});
  });

  test("parts say what is set, and take it away", () => {
    let f: Filter = withSearch(withRange(withOnly(withUse({}, "label", "Vague", "any"), "label", true), "score.fluency", { min: 2 }), "words");
    const shown = parts(f, catalog);
    expect(shown.map((p) => [p.facet, p.how, p.value])).toEqual([["", "search", "words"], ["Error", "any", "Vague"], ["Error", "only", ""], ["fluency", "range", "2 …"]]);
    for (let left = shown; left.length > 0; left = parts(f, catalog)) f = left[0]!.without;
    expect(isEmpty(f)).toBe(true);
  });

  test("a search without words and a range without ends choose all", async () => {
    const source = new LocalSource(sample(40));
    for (const f of [{ search: " ?! " }, { facets: { label: {} } }]) {
      expect(isEmpty(f)).toBe(true);
      expect((await source.rows({ filter: f, sort: { key: "row" }, offset: 0, limit: 1 })).total).toBe(40);
    }
  });
});

describe("a sample", () => {
  test("unfiltered answers are those of all rows", async () => {
    const data = sample(40);
    data.catalog.sample = { rows: 40, of: 90_000, seed: 1 };
    const answer = { total: 90_000, columns: [], values: [] };
    data.answers = [{ counts: { filter: {}, facet: "label" }, answer }];
    const source = new LocalSource(data);
    expect(await source.counts({ filter: {}, facet: "label" })).toBe(answer);
    expect((await source.counts({ filter: {}, facet: "label", by: "run" })).total).toBe(40);
    expect((await source.counts({ filter: { search: "" }, facet: "label" })).total).toBe(90_000);
    expect((await source.counts({ filter: { facets: { run: { any: ["found.jsonl"] } } }, facet: "label" })).total).toBe(20);
  });

  test("what is not there is named", async () => {
    const source = new LocalSource(sample(40));
    await expect(source.counts({ filter: {}, facet: "nothing" })).rejects.toThrow('"nothing"');
    await expect(source.counts({ filter: {}, facet: "run", by: "label" })).rejects.toThrow("several values");
    await expect(source.row({ n: 40 })).rejects.toThrow("no row 40");
    await expect(source.histogram({ filter: { ranges: { gone: { min: 1 } } }, measure: "severity" })).rejects.toThrow('"gone"');
  });
});

test("outputs of runs stand beside each other where they belong together", async () => {
  const data = sample(16); // two runs of two inputs, each by four systems
  const lines = async () => (await new LocalSource(data).outputs({ by: "run", filter: {}, offset: 0, limit: 100 })).rows.map((l) => l.map((r) => r.n));
  const all = await lines();
  expect(all).toEqual(Array.from({ length: 8 }, (_, i) => [i, i + 8]));
  data.rows.pair![15] = 8;
  expect(await lines()).toEqual([...all.slice(0, 7), [7], [15]]);
});
