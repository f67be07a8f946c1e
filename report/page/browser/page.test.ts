// The page in Chromium, as a report file that is opened from disk with the network cut.

import { createRequire } from "node:module";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Catalog, Columns, Data } from "../src/contract";
import { number, percent } from "../src/format";
import { texts } from "../src/texts";
import { kinds, sample, sampleOf } from "../test/sample";
import { LocalSource } from "../src/local";
import { at, erreval, folder, launch, makeFile, openPage, serve, settle, viewNames } from "./driver";
import { payloads } from "./payloads";

let browser: Browser;
let file: string;

beforeAll(async () => {
  browser = await launch();
  file = makeFile("report.html", sample(240));
}, 240_000);

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** Opens an address with the network cut, and does something; at the end nothing may have gone wrong. */
async function visit(address: string, act: (page: Page) => Promise<void>, options: BrowserContextOptions = {}): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  try {
    const { page, faults } = await openPage(await cut(context), address);
    await settle(page);
    await act(page);
    expect(faults).toEqual([]);
  } finally {
    await context.close();
  }
}

async function cut(context: BrowserContext): Promise<BrowserContext> {
  await context.setOffline(true);
  await context.route(/^(?!file:|data:|blob:)/, (route) => route.abort());
  return context;
}

const heading = (page: Page) => page.textContent("main h1");
const query = (page: Page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

describe("views", () => {
  test("each opens by mouse", () => visit(file, async (page) => {
    for (const [i, name] of ["Overview", "Errors and issues", "Rows", "Outputs", "Compare", "Measured"].entries()) {
      await page.click(`header nav a:text-is("${name}")`);
      await settle(page);
      expect(await heading(page)).toBe(name);
      expect(query(page).get("view")).toBe(viewNames[i]);
      await page.waitForFunction((n) => document.title.startsWith(n), name);
    }
  }));

  test("each opens by key, and by Tab and Enter", () => visit(file, async (page) => {
    for (const [i, name] of viewNames.entries()) {
      await page.keyboard.press(String(i + 1));
      await settle(page);
      expect(query(page).get("view")).toBe(name);
    }
    await page.keyboard.press("1");
    await page.reload();
    await settle(page);
    await page.keyboard.press("Tab");
    expect(await page.textContent(":focus")).toBe("Skip to the content");
    for (let i = 0; i < 30 && (await page.textContent(":focus")) !== "Compare"; i++) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await settle(page);
    expect(await heading(page)).toBe("Compare");
  }));

  test("show what they are for", () => visit(file, async (page) => {
    const shown = async (view: string) => {
      await page.goto(at(file, view));
      await settle(page);
      return (await page.textContent("main"))!;
    };
    expect(await shown("overview")).toMatch(/Error by Run[\s\S]*What differs/); // two runs of the same rows
    await page.goto(at(file, "overview", "&by=system"));
    await page.waitForSelector('.result:has-text("Best: large-tuned")'); // the former answer stands until the new one is there
    expect(await page.textContent("main")).toMatch(/Best: large-tuned[\s\S]*Error by System[\s\S]*large-tuned[\s\S]*Distribution of fluency[\s\S]*\$ 1\.27/);
    expect(await shown("errors")).toMatch(/No Error[\s\S]*untagged[\s\S]*No Issue[\s\S]*unassigned[\s\S]*How rows were grouped/);
    expect(await shown("rows")).toMatch(/item-1-baseline/);
    expect(await shown("compare")).toMatch(/Wins of the row[\s\S]*How sure is this\?[\s\S]*Paired shares[\s\S]*Pairs that differ/);
    await page.click("summary:has-text('How sure is this?')");
    await page.waitForSelector('main :text("Rating of systems")');
    // a part is closed, with its result beside its title
    expect(await page.locator(".fold .fold").evaluateAll((parts) => parts.map((p) => [p.textContent, (p as HTMLDetailsElement).open]))).toEqual([
      ["Rating of systems by error type Types by which one system ranks first alone: 0 of 5.", false],
      ["Bias of judges The longer text wins 58 %.", false],
    ]);
    await page.click("summary:has-text('Bias of judges')");
    await page.waitForSelector('main td:text("prefers the longer text")');
    expect(await page.textContent("main")).toMatch(/How sure is this\?[\s\S]*Rating of systems[\s\S]*Bias of judges[\s\S]*Paired shares/);
    expect(await shown("outputs")).toMatch(/Outputs by System[\s\S]*large-tuned[\s\S]*source[\s\S]*was built in/);
    expect(await shown("measured")).toMatch(/Per label against people[\s\S]*Confusion[\s\S]*Calibration[\s\S]*Learning curve/);
    expect(await page.locator("svg.plot path").count()).toBeGreaterThan(3);
  }));
});

/** Twelve rows of two systems: what is counted of them can be counted by hand. */
function dozen(): Data {
  const labels = [[0], [1], [1, 2], [2], [0], [3], [1], [2, 1], [0], [3], [1], [0]];
  const system = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1];
  const score = [3, 1, 1.5, 2, 3, null, 2, 1, 3, null, 2.5, 2];
  const columns: Columns = {
    run: labels.map(() => 0), id: labels.map((_, i) => `r${i}`), group: labels.map((_, i) => i), input: labels.map((_, i) => i % 6),
    facets: { run: labels.map(() => [0]), system: system.map((s) => [s]), label: labels }, measures: { "score.clarity": score },
    records: labels.map((_, i) => ({ id: `r${i}`, text: i < 6 ? `the heron number ${i}` : `a Heronry, number ${i}`, system: system[i]! })),
  };
  const catalog: Catalog = {
    format: 1, title: "A dozen", build: "test", rows: 12, task: "t@1",
    runs: [{ name: "dozen.jsonl", command: "identify", rows: 12, rejected: 0, facts: [] }], fields: [{ name: "text", definition: "", judged: true }],
    facets: [
      { key: "run", title: "Run", multi: false, values: [{ name: "dozen.jsonl" }] }, { key: "system", title: "System", multi: false, values: [{ name: "one" }, { name: "two" }] },
      { key: "label", title: "Error", multi: true, values: [{ name: "No Error", role: "none" }, { name: "Red" }, { name: "Blue" }, { name: "untagged", role: "unknown" }] },
    ],
    measures: [{ key: "score.clarity", title: "Clarity", low: 1, high: 3, runs: [0] }], sections: [], notes: [],
  };
  return { catalog, rows: columns };
}

/** The figures of a line of the matrix, as they are shown: rows that were looked at, then each column. */
async function lineOf(page: Page, name: string): Promise<string[]> {
  return page.evaluate((n) => {
    const line = [...document.querySelectorAll(".matrix tbody tr")].find((tr) => tr.querySelector("th")!.textContent === n)!;
    return [...line.querySelectorAll("td")].map((td) => (td.querySelector(".value") ?? td).textContent!);
  }, name);
}

const names = (page: Page) => page.locator(".matrix tbody th").allTextContents();

/** Rows of so many systems, the first of which has an error least often. */
function many(systems: number): Data {
  const data = dozen();
  const types = ["Red", "Blue", "Off Target Answer", "Factual Error", "Incomplete", "Vague", "Grammar Error", "Duplication", "Wrong Language", "Unnatural", "Contradiction"];
  const place = Array.from({ length: 40 * systems }, (_, i) => Math.floor(i / 40));
  data.catalog.rows = place.length;
  data.catalog.facets[1]!.values = Array.from({ length: systems }, (_, s) => ({ name: `seq2seq-large-${s}` }));
  data.catalog.facets[2]!.values = [{ name: "No Error", role: "none" }, ...types.map((name) => ({ name }))];
  data.rows = {
    run: place.map(() => 0), id: place.map((_, i) => `r${i}`), group: place.map((_, i) => i), input: place.map((_, i) => i % 40),
    facets: { run: place.map(() => [0]), system: place.map((s) => [s]), label: place.map((s, i) => [i % 40 <= s ? 1 + ((i % 40) % types.length) : 0]) },
    measures: { "score.clarity": place.map((s) => 3 - s / systems) }, records: place.map((_, i) => ({ id: `r${i}` })),
  };
  return data;
}

/** The dozen with a second run: of the same rows with their labels, or of others in which nothing was looked for. */
function dozenAgain(same: boolean): Data {
  const data = dozen();
  const { catalog, rows } = data;
  const old = rows.id.map((_, i) => i);
  catalog.rows = 24;
  catalog.runs.push({ ...catalog.runs[0]!, name: "again.jsonl", command: same ? "identify" : "compare" });
  catalog.facets[0]!.values.push({ name: "again.jsonl" });
  for (const i of old) {
    rows.run.push(1);
    rows.id.push(same ? rows.id[i]! : `pair ${i}`);
    rows.group.push(same ? i : 50 + i);
    rows.input.push(same ? rows.input[i]! : 50 + i);
    rows.facets["run"]!.push([1]);
    for (const key of ["system", "label"]) rows.facets[key]!.push(same ? rows.facets[key]![i]! : []);
    rows.measures["score.clarity"]!.push(null);
    rows.records.push({ ...(rows.records[i] as object), id: rows.id.at(-1)! });
  }
  rows.pair = rows.run.map((_, i) => (same ? i % old.length : i));
  if (same) {
    catalog.facets.push({
      key: "system_run", title: "System and run", multi: false,
      values: catalog.runs.flatMap((r) => ["one", "two"].map((s) => ({ name: `${s} · ${r.name}` }))),
    });
    rows.facets["system_run"] = rows.run.map((r, i) => [2 * r + rows.facets["system"]![i]![0]!]);
  }
  return data;
}

describe("the overview", () => {
  test("says the answer first, of the rows that are chosen", () => visit(makeFile("dozen.html", dozen()), async (page) => {
    // counted by hand: 2 of 5 rows are without error in both systems; Red in 5 of 10
    expect(await page.textContent(".result")).toMatch(/^Best: one and 1 other, 40\.0 % without error \(\d+\.\d–\d+\.\d\)\. Fix first: Red, 50\.0 % \(\d+\.\d–\d+\.\d\)\. See the 6 rows with errors$/);
    await page.evaluate(() => (location.hash = "#view=overview&none.label=Blue"));
    await settle(page);
    // without rows 2, 3 and 7: 2 of 3 rows, and 2 of 4
    expect(await page.textContent(".result")).toMatch(/^Best: one, 66\.7 % without error .* Fix first: Red, 42\.9 % \(.*\)\. See the 3 rows with errors$/);
    expect(await page.evaluate(() => document.querySelector("main .result, main .card")!.className)).toBe("result");
    await page.click(".result a");
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r1", "r6", "r10"]);
    await page.evaluate(() => (location.hash = "#view=overview&none.label=Blue"));
    await settle(page);
    await page.click(".result a:last-child");
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r1", "r6", "r10"]);
  }));

  test("has systems as lines where one run alone has labels", () => visit(makeFile("beside.html", dozenAgain(false)), async (page) => {
    expect(await names(page)).toEqual(["All", "one", "two"]);
    expect(await page.textContent(".result")).toMatch(/^Best: one /);
    expect(await page.textContent("main")).not.toContain("counted together");
  }));

  test("says that the rows of several runs are counted together, and leads to one of them", () => visit(makeFile("again.html", dozenAgain(true)), async (page) => {
    expect((await names(page)).slice(1).toSorted()).toEqual(["one · again.jsonl", "one · dozen.jsonl", "two · again.jsonl", "two · dozen.jsonl"]);
    const said = page.locator('.note:has-text("The rows of 2 runs are counted together")');
    expect(await said.count()).toBe(0);
    for (const view of ["overview", "outputs", "compare"]) {
      await page.evaluate((hash) => (location.hash = hash), at("", view, "&by=system&a=system%3Aone&b=system%3Atwo"));
      await said.waitFor();
      await said.locator('a:text-is("again.jsonl")').click();
      await said.waitFor({ state: "detached" });
      expect(query(page).getAll("any.run"), view).toEqual(["again.jsonl"]);
      if (view === "overview") expect((await lineOf(page, "All"))[0]).toBe("10");
    }
  }));

  test("has one line where there is one system", () => visit(makeFile("single.html", many(1)), async (page) => {
    expect(await names(page)).toEqual(["All"]);
    expect(await page.textContent("#content .card h2")).toBe("Error");
  }));

  test("shows where the table of runs goes on", () => {
    const data = dozen();
    data.catalog.runs[0]!.facts = Array.from({ length: 12 }, (_, i) => ({ name: `What is known, part ${i}`, value: `2026-11-23T18:00:${10 + i}.000000Z` }));
    return visit(makeFile("facts.html", data), async (page) => {
      expect(await page.locator('[aria-label^="Runs,"]').evaluate((box) => [box.scrollWidth > box.clientWidth, getComputedStyle(box).backgroundImage !== "none"])).toEqual([true, true]);
    }, { viewport: { width: 1300, height: 900 } });
  });

  test("leaves out tiles whose figure is zero", () => visit(makeFile("dozen.html", dozen()), async (page) => {
    expect(await page.locator(".totals dt").allTextContents()).toEqual(["Rows", "Runs", "Systems", "Untagged"]);
  }));

  test("has one matrix, all rows first, the best system above, and opens the rows of a cell", () => visit(makeFile("many.html", many(6)), async (page) => {
    expect(await names(page)).toEqual(["All", ...Array.from({ length: 6 }, (_, s) => `seq2seq-large-${s}`)]);
    expect((await lineOf(page, "seq2seq-large-2")).slice(0, 4)).toEqual(["40", "92.5 %", "2.5 %", "2.5 %"]);
    expect((await lineOf(page, "All")).at(-1)).toBe("2.58");
    expect(await page.locator(".matrix .zero").count()).toBe(50); // each system has one type of error more than the one above
    expect(await page.locator(".spark").count()).toBe(7); // histograms are for few systems
    await page.click(".matrix tr:has-text('seq2seq-large-2') .found >> nth=1");
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r81"]);
  }));

  test("sorts by any column, and keeps all rows above", () => visit(makeFile("many.html", many(6)), async (page) => {
    const systems = Array.from({ length: 6 }, (_, s) => `seq2seq-large-${s}`);
    for (const [column, first] of [["Clarity", systems], ["System", systems], ["No Error", systems]] as const) {
      await page.click(`.matrix thead button:has-text("${column}")`);
      await settle(page);
      expect(await names(page), column).toEqual(["All", ...first]);
      await page.click(`.matrix thead button:has-text("${column}")`);
      await settle(page);
      expect(await names(page), column).toEqual(["All", ...first.toReversed()]);
    }
  }));

  test("15 systems by 11 errors fit 1,300 pixels", () => visit(makeFile("fifteen.html", many(15)), async (page) => {
    expect(await page.evaluate(() => document.querySelector(".matrix .scroll")!.scrollWidth)).toBeLessThanOrEqual(
      await page.evaluate(() => document.querySelector(".matrix .scroll")!.clientWidth));
  }, { viewport: { width: 1300, height: 900 } }));

  test.each([1300, 768, 390])("60 systems scroll without losing the names, at %i pixels", (width) => visit(makeFile("sixty.html", many(60)), async (page) => {
    expect(await page.locator(".matrix tbody tr").count()).toBe(61);
    const places = () => page.evaluate(() => [".matrix .scroll", ".matrix thead th:nth-child(3)", ".matrix tbody tr:last-child th"].map((s) => {
      const { left, top } = document.querySelector(s)!.getBoundingClientRect();
      return [Math.round(left), Math.round(top)];
    }));
    await page.evaluate(() => document.querySelector(".matrix .scroll")!.scrollTo(10_000, 10_000));
    const [box, head, name] = await places();
    expect(name![0]).toBe(box![0]);
    expect(head![1]).toBe(box![1]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }, { viewport: { width, height: 800 } }));

  test("has the figures of erreval stats", async () => {
    interface Share { label?: string; dimension?: string; share?: number; mean?: number }
    interface System { name: string; without_error: Share; labels: Share[]; scores?: Share[] }
    for (const name of ["found.jsonl", "scored.jsonl"]) {
      const stats = JSON.parse(erreval(["stats", `report/view/testdata/runs/${name}`, "--json"])) as { systems: System[]; all: System };
      const report = join(folder, `${name}.html`);
      erreval(["report", `report/view/testdata/runs/${name}`, "-o", report, "--quiet"]);
      await visit(pathToFileURL(report).href, async (page) => {
        const heads = (await page.locator(".matrix thead th").allTextContents()).slice(2).map((h) => h.toLowerCase());
        for (const system of [{ ...stats.all, name: "All" }, ...stats.systems]) {
          const shown = new Map((await lineOf(page, system.name)).slice(1).map((text, i) => [heads[i]!, text]));
          expect(shown.get("no error"), system.name).toBe(percent(system.without_error.share));
          for (const l of system.labels) expect(shown.get(l.label!.toLowerCase()), `${system.name}: ${l.label}`).toBe(percent(l.share));
          for (const s of system.scores ?? []) expect(shown.get(s.dimension!.replaceAll("_", " ")), `${system.name}: ${s.dimension}`).toBe(number(s.mean));
        }
        expect(stats.systems.length).toBeGreaterThan(1);
      });
    }
  }, 240_000);
});

describe("filters", () => {
  // counted by hand in dozen(): labels Red in rows 1 2 6 7 10, Blue in 2 3 7, No Error in 0 4 8 11, untagged 5 9
  test.each([
    ["any of", "&any.label=Red", [1, 2, 6, 7, 10]],
    ["any of two", "&any.label=Red&any.label=Blue", [1, 2, 3, 6, 7, 10]],
    ["all of", "&all.label=Red&all.label=Blue", [2, 7]],
    ["none of", "&none.label=Red&none.label=untagged", [0, 3, 4, 8, 11]],
    ["only these", "&any.label=Red&only.label=1", [1, 6, 10]],
    ["no error", "&any.label=No+Error", [0, 4, 8, 11]],
    ["system", "&any.system=two&any.label=Blue", [7]],
    ["range", "&min.score.clarity=1.5&max.score.clarity=2.5", [2, 3, 6, 10, 11]],
    ["search", "&q=heronry", [6, 7, 8, 9, 10, 11]],
    ["search for beginnings", "&q=HERON+num+3", [3]],
    ["nothing", "&any.label=Red&none.label=Red", []],
  ] as [string, string, number[]][])("%s", async (_, filter, rows) => {
    await visit(at(makeFile("dozen.html", dozen()), "rows", filter), async (page) => {
      expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(rows.map((r) => `r${r}`));
      expect(await page.textContent(".chosen")).toContain(`${rows.length} of 12 rows`);
    });
  });

  test("all rows and filtered rows stand side by side, with the difference", () => visit(at(makeFile("dozen.html", dozen()), "errors", "&any.system=two"), async (page) => {
    const cells = (name: string) => page.locator(`tr:has(th a:text-is("${name}")) >> css=td`).allTextContents();
    // Red: 5 of 10 tagged rows; of system two 3 of 5. Blue: 3 of 10 and 1 of 5
    expect((await cells("Red")).map((c) => c.slice(0, 6))).toEqual(["5", "50.0 %", "3", "60.0 %", "+10.0−"].map((c) => c.slice(0, 6)));
    expect((await cells("Blue")).map((c) => c.slice(0, 6))).toEqual(["3", "30.0 %", "1", "20.0 %", "−10.0−"]);
    expect((await cells("untagged")).slice(0, 3)).toEqual(["2", "–", "1"]);
  }));

  test("a list of rows stands above their comparison, which is folded and leaves out what the filter says", () => visit(at(makeFile("dozen.html", dozen()), "rows", "&any.label=Red"), async (page) => {
    expect(await page.evaluate(() => document.querySelector("main .card")!.querySelectorAll("table.rows").length)).toBe(1);
    expect(await page.locator("main .fold table").count()).toBe(0);
    await page.click(".fold summary");
    await settle(page);
    expect(await page.locator(".fold tbody th a").allTextContents()).toEqual(["No Error", "Blue", "untagged"]);
  }));

  test("are set by mouse in the panel, and taken away", () => visit(at(makeFile("dozen.html", dozen()), "rows"), async (page) => {
    await page.click("#filter-toggle");
    await page.click('button[aria-label="Error any of Red"]');
    await page.click('button[aria-label="System none of one"]');
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r6", "r7", "r10"]);
    await page.click("summary:has-text('Scores, probabilities')");
    await page.fill('input[aria-label="Clarity: at least"]', "2");
    await page.keyboard.press("Tab");
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r6", "r10"]);
    await page.click('a[aria-label="Remove: Error any of Red"]');
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r6", "r8", "r10", "r11"]);
    await page.click(".chip.clear");
    await settle(page);
    expect(await page.locator("table.rows tbody th a").count()).toBe(12);
  }));

  test.each([1280, 390])("can be set in the middle of a long list, at %i pixels", (width) => visit(at(file, "rows"), async (page) => {
    await page.evaluate(() => scrollTo(0, 1500));
    await page.click("#filter-toggle");
    await page.waitForSelector(".filterpanel");
    expect(await page.evaluate(() => scrollY)).toBeGreaterThan(1000);
    const box = await page.locator(".filterpanel .use").first().boundingBox();
    expect(box!.y).toBeGreaterThan(0);
    expect(box!.y).toBeLessThan(800);
  }, { viewport: { width, height: 800 } }));

  test("are set by keyboard: / searches, f opens the panel", () => visit(at(makeFile("dozen.html", dozen()), "rows"), async (page) => {
    await page.keyboard.press("/");
    await page.keyboard.type("heronry");
    await page.waitForFunction(() => document.querySelectorAll("table.rows tbody th a").length === 6);
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
    await page.focus('button[aria-label="Error all of Blue"]');
    await page.keyboard.press("Space");
    await settle(page);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r7"]);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#filter-panel", { state: "detached" });
  }));

  test("that the address names and the file lacks are said", () => visit(at(file, "rows", "&any.label=Gone&min.score.fluency=4"), async (page) => {
    expect(await page.textContent("main [role=alert]")).toContain("Error: Gone");
    expect(await page.locator(".chips a").count()).toBe(2);
  }));
});

describe("the address", () => {
  test("back and forward go through what was shown", () => visit(at(file, "overview"), async (page) => {
    await page.click('header nav a:text-is("Rows")');
    await settle(page);
    await page.click("#filter-toggle");
    await page.click('button[aria-label="Error any of Vague"]');
    await settle(page);
    const vague = await page.textContent(".chosen");
    await page.click("table.rows tbody th a >> nth=1");
    await settle(page);
    expect(await page.locator(".drawer").count()).toBe(1);
    await page.goBack();
    await page.waitForSelector(".drawer", { state: "detached" });
    expect([query(page).get("view"), await page.textContent(".chosen")]).toEqual(["rows", vague]);
    await page.goBack();
    await settle(page);
    expect(query(page).get("any.label")).toBeNull();
    await page.goBack();
    await settle(page);
    expect(await heading(page)).toBe("Overview");
    for (let i = 0; i < 3; i++) await page.goForward();
    await settle(page);
    expect([query(page).get("view"), query(page).get("any.label")]).toEqual(["rows", "Vague"]);
    expect(await page.locator(".drawer").count()).toBe(1);
  }));

  test("a copied address shows the same", async () => {
    const address = at(file, "errors", "&any.system=large&facet=label&t.label=-share%3Ae");
    await visit(address, async (page) => {
      expect(await page.locator("main tbody tr th a").allTextContents()).not.toHaveLength(0);
      expect(await page.locator("th[aria-sort=descending]").count()).toBe(1);
      expect(await page.inputValue(".tools input")).toBe("e");
      expect(page.url()).toBe(address);
    });
  });
});

test("what was measured of several runs has a column a run, and hits on the diagonal", () => {
  const data = sample(240);
  const of = (run: string) => data.catalog.sections.filter((s) => s.view === "measured" && s.run === "found.jsonl").map((s) => ({ ...s, run }));
  data.catalog.sections.push(...of("tuned.jsonl"));
  return visit(at(makeFile("runs.html", data), "measured"), async (page) => {
    const card = (title: string) => page.locator(`section.card:has(h2:text-is("${title}"))`);
    expect(await card("Per label against people").locator("> .datatable thead th").allTextContents()).toEqual(["Label", "found.jsonl", "tuned.jsonl"]);
    expect(await card("Confusion").locator("table.hits").count()).toBe(2);
    expect(await card("Confusion").locator("table.hits >> nth=0").locator("td.hit").count()).toBe(await card("Confusion").locator("table.hits >> nth=0").locator("tbody tr").count());
    await page.selectOption(`section.card:has(h2:text-is("Per label against people")) > .datatable select`, "Rows");
    await page.waitForSelector("td:text-is(\"40\")");
    await page.selectOption(".choices select", "tuned.jsonl");
    await page.waitForFunction(() => document.querySelectorAll("table.hits").length === 1);
  });
});

describe("tables", () => {
  test("sort, search and export what they show", () => visit(at(file, "errors", "&facet=label"), async (page) => {
    await page.click('th button:has-text("Share")');
    await settle(page);
    const shares = (await page.locator("main tbody tr:not([class]) .figure .value").allTextContents()).map((t) => Number.parseFloat(t));
    expect(shares).toEqual(shares.toSorted((a, b) => b - a));
    expect(shares.length).toBe(5);
    await page.click('th button:has-text("Share")');
    await settle(page);
    expect((await page.locator("main tbody tr:not([class]) .figure .value").allTextContents()).map((t) => Number.parseFloat(t))).toEqual(shares.toReversed());
    await page.goto(at(file, "errors", "&facet=issue&t.issue=%3Aperson"));
    await settle(page);
    expect(await page.locator("main tbody tr th a").allTextContents()).toEqual(["Names the wrong person"]);
    const [csv] = await Promise.all([page.waitForEvent("download"), page.click('main button:text-is("CSV")')]);
    expect(csv.suggestedFilename()).toBe("issue.csv");
    const lines = readFileSync(await csv.path(), "utf8").split("\n");
    expect(lines[0]).toBe("Issue,Rows,Share,low,high,Severity,Stability,Stands with,Examples");
    expect(lines[1]).toMatch(/^Names the wrong person,\d+,0\.\d+,0\.\d+,0\.\d+,2\.\d+,0\.\d+,,/);
    expect(lines).toHaveLength(3);
    const [jsonl] = await Promise.all([page.waitForEvent("download"), page.click('main button:text-is("JSONL")')]);
    expect(JSON.parse(readFileSync(await jsonl.path(), "utf8"))).toMatchObject({ Issue: "Names the wrong person", Stability: expect.any(Number) as number });
  }));

  test("the records of a filter are exported in their order", () => visit(at(makeFile("dozen.html", dozen()), "rows", "&any.label=Red&sort=-score.clarity"), async (page) => {
    const [jsonl] = await Promise.all([page.waitForEvent("download"), page.click('button[aria-label="Export as JSONL: Export records"]')]);
    const rows = readFileSync(await jsonl.path(), "utf8").trim().split("\n").map((l) => JSON.parse(l) as { id: string });
    expect(rows.map((r) => r.id)).toEqual(["r10", "r6", "r2", "r1", "r7"]);
    expect(rows[0]).toEqual({ id: "r10", text: "a Heronry, number 10", system: 1 });
    const [csv] = await Promise.all([page.waitForEvent("download"), page.click('button[aria-label="Export as CSV: Export records"]')]);
    expect(readFileSync(await csv.path(), "utf8").split("\n").slice(0, 3)).toEqual([
      "run,id,text,system,label,score.clarity", 'dozen.jsonl,r10,"a Heronry, number 10",two,Red,2.5', 'dozen.jsonl,r6,"a Heronry, number 6",two,Red,2',
    ]);
  }));

  test("are walked through by keys, with one stop of Tab", () => visit(at(file, "rows"), async (page) => {
    const here = () => page.textContent(":focus");
    await page.keyboard.press("j");
    const first = await here();
    await page.keyboard.press("ArrowDown");
    const second = await here();
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    expect(await here()).toBe(second);
    await page.keyboard.press("Home");
    expect(await here()).toBe(first);
    await page.keyboard.press("End");
    expect(await page.locator("table.rows tbody tr:last-child :focus").count()).toBe(1);
    expect(await page.locator('table.rows tbody [tabindex="0"]').count()).toBe(1);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".drawer h2");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".drawer", { state: "detached" });
    expect(await page.locator("table.rows tbody tr:last-child :focus").count()).toBe(1);
  }));

  test("have the columns that are chosen, which stand in the address", () => visit(at(makeFile("dozen.html", dozen()), "rows"), async (page) => {
    const heads = () => page.locator("table.rows thead th").allTextContents();
    expect(await heads()).toEqual(["Id", "text", "Error", "System", "Clarity"]);
    await page.click(".chooser summary");
    await page.uncheck('.chooser label:has-text("System") input');
    await page.uncheck('.chooser label:has-text("Clarity") input');
    await page.waitForFunction(() => document.querySelectorAll("table.rows thead th").length === 3);
    expect(query(page).get("cols")).toBe("field.text\nlabel");
    await page.reload();
    await settle(page);
    expect(await heads()).toEqual(["Id", "text", "Error"]);
    await page.click(".chooser summary");
    await page.click('.chooser button:text-is("The usual ones")');
    await page.waitForFunction(() => document.querySelectorAll("table.rows thead th").length === 5);
    expect(query(page).get("cols")).toBeNull();
  }));

  test("show both ends of a long id, and all of it as a title", () => {
    const data = dozen();
    data.rows.id[1] = "sha256-of-a-row-without-an-id-0123456789abcdef";
    return visit(at(makeFile("ids.html", data), "rows"), async (page) => {
      const link = page.locator("table.rows tbody th a").nth(1);
      expect([await link.textContent(), await link.getAttribute("title")]).toEqual(["sha256-of-a-r…6789abcdef", data.rows.id[1]]);
    });
  });

  test("say beside a label that an error is near, or was not looked for", () => {
    const data = dozen();
    data.catalog.measures.push(...["No Error", "Red"].map((t) => ({ key: `probability.${t}`, title: t, low: 0, high: 1, runs: [0] })));
    data.catalog.facets.push({ key: "not_judged", title: "Not judged", multi: true, values: [{ name: "Blue" }] });
    data.rows.measures["probability.No Error"] = data.rows.id.map(() => 0.25);
    data.rows.measures["probability.Red"] = data.rows.id.map((_, i) => (i === 4 ? 0.1 : 0.31));
    data.rows.facets["not_judged"] = data.rows.id.map((_, i) => (i === 1 ? [0] : []));
    const file = makeFile("doubts.html", data);
    return visit(at(file, "rows"), async (page) => {
      const tags = () => page.locator("main .tags").allTextContents();
      expect((await tags()).slice(0, 5)).toEqual(["No Errornearest: Red 0.31", "Rednot judged: Blue", "RedBlue", "Blue", "No Error"]);
      await page.goto(at(file, "outputs"));
      await settle(page);
      expect((await tags()).slice(0, 3)).toEqual(["No Errornearest: Red 0.31", "Red", "Rednot judged: Blue"]);
    });
  });

  test("pages of the list follow each other", () => visit(at(file, "rows"), async (page) => {
    await page.click('button:text-is("Next page")');
    await settle(page);
    expect(await page.textContent(".pager")).toContain("51–100 of 240");
    expect(query(page).get("from")).toBe("50");
  }));
});

describe("a row", () => {
  const id = (page: Page) => page.textContent(".row-title h2");
  const opened = (page: Page, of: string) => page.waitForSelector(`.drawer h2:text-is("${of}")`);

  test("opens beside its list, follows the keys in it, and is closed by Esc", () => visit(at(makeFile("dozen.html", dozen()), "rows", "&any.label=Red&sort=-score.clarity"), async (page) => {
    await page.click("table.rows tbody th a >> nth=0");
    await opened(page, "r10");
    const [list, drawer] = await Promise.all(["main", ".drawer"].map(async (s) => (await page.locator(s).boundingBox())!));
    expect(list!.x + list!.width).toBeLessThanOrEqual(drawer!.x);
    for (const [key, of] of [["j", "r6"], ["ArrowDown", "r2"], ["k", "r6"], ["End", "r7"]] as const) {
      await page.keyboard.press(key);
      await opened(page, of);
      expect(await page.textContent(":focus")).toBe(of);
    }
    await page.focus(".drawer button:has-text('Copy id for a batch')");
    await page.keyboard.press("k"); // the list is moved through from the row too
    await opened(page, "r1");
    expect(await page.getAttribute("main a[aria-current=true]", "data-row")).toBe("1");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".drawer", { state: "detached" });
    expect([query(page).get("row"), await page.textContent(":focus")]).toEqual([null, "r1"]);
  }));

  test("follows into the next page of its list, and back", () => visit(at(file, "rows", "&row=49"), async (page) => {
    const ids = sample(240).rows.id;
    await page.keyboard.press("j");
    await opened(page, ids[50]!);
    expect([query(page).get("from"), query(page).get("row")]).toEqual(["50", "50"]);
    await page.keyboard.press("k");
    await opened(page, ids[49]!);
    expect(query(page).get("from")).toBeNull();
  }));

  test("is opened by an address of the view that rows had", () => visit(`${file}#view=row&row=9`, async (page) => {
    expect([await heading(page), await id(page)]).toEqual(["Rows", sample(240).rows.id[9]]);
  }));

  test("stands over its list where there is no room beside it", () => visit(at(file, "rows"), async (page) => {
    await page.click("table.rows tbody th a >> nth=0");
    await opened(page, sample(240).rows.id[0]!);
    expect(await page.locator(".drawer").boundingBox()).toMatchObject({ x: 0, width: 390 });
    expect(await page.getAttribute(":focus", "id")).toBe("close-row");
    await page.keyboard.press("j");
    await opened(page, sample(240).rows.id[1]!);
    await page.keyboard.press("Enter"); // the focus is still where it closes
    await page.waitForSelector(".drawer", { state: "detached" });
  }, { viewport: { width: 390, height: 800 } }));

  test("marks quotes and words of other fields, and shows what is known of it", () => visit(at(file, "rows", "&row=9"), async (page) => {
    const marks = await page.locator(".fields mark").allTextContents();
    expect(marks.some((m) => m.startsWith("built in "))).toBe(true);
    for (const width of [1280, 800, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const shown = await page.locator(".fields mark.field").evaluateAll((all) => [...new Set(all.map((m) => getComputedStyle(m).display))]);
      expect(shown, `at ${width} pixels`).toEqual(["inline"]); // in the line that it stands in
    }
    const text = (await page.textContent(".drawer"))!;
    expect(text).toMatch(/Probabilities against thresholds[\s\S]*Raw record/);
    for (const part of ["judge-large", "vanilla", "error-aware", "The summary says", "tuned.jsonl", "Copy id for a batch"]) expect(text).toContain(part);
    await page.click("summary:text-is('Raw record')");
    expect(JSON.parse((await page.textContent("pre"))!)).toMatchObject({ id: expect.any(String) as string, output: expect.any(String) as string });
  }));
});

describe("outputs", () => {
  // in dozen() system two has row i+6 where one has row i; 3, 5 and 9 with 11 decide nothing: 5 and 9 are untagged
  const cells = (page: Page) => page.locator(".outputs tbody tr").evaluateAll((lines) => lines.map((tr) => [...tr.querySelectorAll("td a")].map((a) => a.getAttribute("data-row")).join()));

  test("of one input stand in a line, and can be those that differ alone", () => visit(at(makeFile("dozen.html", dozen()), "outputs"), async (page) => {
    expect(await page.locator(".outputs thead th").allTextContents()).toEqual(["Input", "one", "two"]);
    expect(await cells(page)).toEqual(["0,6", "1,7", "2,8", "3,9", "4,10", "5,11"]);
    expect(await page.textContent(".outputs tbody tr:nth-child(2) td:nth-child(3)")).toBe("a Heronry, number 7BlueRed");
    await page.check('label:has-text("only where they differ") input');
    await page.waitForFunction(() => document.querySelectorAll(".outputs tbody tr").length === 4);
    expect([await cells(page), query(page).get("differ")]).toEqual([["0,6", "1,7", "2,8", "4,10"], "1"]);
  }));

  test("have the fields beside them that differ between the outputs of a line, and so have pairs", () => {
    const data = dozen();
    data.catalog.fields.push({ name: "passage", definition: "", judged: false, group: true }, { name: "answer", definition: "", judged: false });
    data.rows.records.forEach((r, i) => Object.assign(r as object, { passage: `The heron ${i % 6}`, answer: i === 7 ? "a fish" : "a frog" }));
    const file = makeFile("answers.html", data);
    return visit(at(file, "outputs"), async (page) => {
      const line = (n: number) => page.locator(`.outputs tbody tr:nth-child(${n}) > *`).allTextContents();
      expect(await line(1)).toEqual(["passage The heron 0answer a frog", "the heron number 0No Error", "a Heronry, number 6Red"]);
      expect(await line(2)).toEqual(["passage The heron 1", "answer a frogthe heron number 1Red", "answer a fisha Heronry, number 7BlueRed"]);
      await page.goto(at(file, "compare", "&a=system%3Aone&b=system%3Atwo"));
      await settle(page);
      const pairs = await page.locator("section:has(h2:text('Pairs that differ')) tbody tr").allTextContents();
      expect(pairs[1]).toMatch(/answer a frogthe heron number 1.*answer a fisha Heronry, number 7/);
      expect(pairs[0]).not.toContain("answer");
    });
  });

  test("that are not there are blank, and said to be", () => {
    const data = dozen();
    data.rows.input[3] = 90;
    return visit(at(makeFile("blank.html", data), "outputs", "&any.label=untagged"), async (page) => {
      expect(await cells(page)).toEqual(["5,11", "9"]);
      expect(await page.textContent(".outputs tbody tr:nth-child(2) td")).toBe("no output");
      expect(await page.textContent("main")).toContain("1 cell without an output");
    });
  });

  test("have the columns that a filter leaves, and lines in which it holds for one of them", () => visit(at(makeFile("many.html", many(6)), "outputs", "&none.system=seq2seq-large-0&any.label=Red"), async (page) => {
    // system s has Red in row 40 s of input 0, and from system 0 on of inputs up to s in other types; Red again at input 11
    expect(await page.locator(".outputs thead th").count()).toBe(6);
    expect(await cells(page)).toEqual([[40, 80, 120, 160, 200].join()]);
  }));

  test("of runs stand beside each other", () => visit(at(file, "outputs", "&by=run"), async (page) => {
    expect(await page.locator(".outputs thead th").allTextContents()).toEqual(["Input", "found.jsonl", "tuned.jsonl"]);
    expect((await cells(page)).slice(0, 2)).toEqual(["0,120", "1,121"]);
    await page.click('button:text-is("Next page")');
    await settle(page);
    expect((await cells(page))[0]).toBe("20,140");
  }));

  test("of one system are one column", () => visit(at(makeFile("one.html", sampleOf("tagged", 1)), "outputs", "&any.system=large"), async (page) => {
    expect(await page.locator(".outputs thead th").allTextContents()).toEqual(["Input", "large"]);
  }));

  test("open their rows, which follow the keys", () => visit(at(makeFile("dozen.html", dozen()), "outputs"), async (page) => {
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    for (const [key, of] of [["", "r0"], ["ArrowRight", "r6"], ["j", "r7"], ["ArrowLeft", "r1"], ["k", "r0"]] as const) {
      if (key) await page.keyboard.press(key);
      await page.waitForSelector(`.drawer h2:text-is("${of}")`);
    }
    await page.keyboard.press("Escape");
    await page.waitForSelector(".drawer", { state: "detached" });
  }));

  test.each([1300, 390])("of 60 systems scroll without losing the inputs, at %i pixels", (width) => visit(at(makeFile("sixty.html", many(60)), "outputs"), async (page) => {
    expect(await page.locator(".outputs thead th").count()).toBe(61);
    const places = () => page.evaluate(() => [".outputs .scroll", ".outputs thead th:nth-child(3)", ".outputs tbody tr:last-child th"].map((s) => {
      const { left, top } = document.querySelector(s)!.getBoundingClientRect();
      return [Math.round(left), Math.round(top)];
    }));
    await page.evaluate(() => document.querySelector(".outputs .scroll")!.scrollTo(10_000, 10_000));
    const [box, head, input] = await places();
    expect([input![0], head![1]]).toEqual(box);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }, { viewport: { width, height: 800 } }));
});

describe("a comparison", () => {
  test("counts pairs of two systems as by hand", () => visit(at(makeFile("dozen.html", dozen()), "compare", "&a=system%3Aone&b=system%3Atwo"), async (page) => {
    // pairs of row i and i+6; 3-9 and 5-11 have an untagged side. Red: 1 and 7 both; 0-6 and 4-10 only two; 2-8 only one
    const cells = (name: string) => page.locator(`tr:has(th a:text-is("${name}")) >> css=td`).allTextContents();
    expect((await cells("Red")).slice(3, 7)).toEqual(["1", "1", "2", "0"]);
    expect((await cells("No Error")).slice(3, 7)).toEqual(["0", "2", "1", "1"]);
    expect(await page.textContent("main")).toContain("6 pairs; 4 differ; 2 not looked at");
    await page.click('main tr a:text-is("Blue")');
    await settle(page);
    // Blue: row 2 has it and 8 not; 7 has it and 1 not
    expect(await page.locator("section:has(h2:text('Pairs that differ in Blue')) tbody tr").count()).toBe(2);
  }));

  test("lists the pairs in which one side alone has an error, and goes there", () => visit(at(makeFile("dozen.html", dozen()), "compare", "&a=system%3Aone&b=system%3Atwo"), async (page) => {
    const ids = () => page.locator("#pairs tbody th").allTextContents();
    const number = (title: string) => page.click(`button[title="Pairs that differ in Red: only ${title}"]`);
    for (const [side, rows] of [["A", ["r2"]], ["B", ["r0", "r4"]]] as const) {
      await number(side);
      await page.waitForSelector(`#pairs h2:text-is("Pairs that differ in Red: only ${side}")`);
      await settle(page);
      expect(await ids()).toEqual(rows);
      expect(await page.locator("#pairs h2").evaluate((h) => h.getBoundingClientRect().bottom < innerHeight)).toBe(true);
    }
    await page.click('button:text-is("Swap A and B")');
    await page.waitForSelector('#pairs h2:text-is("Pairs that differ in Red: only A")');
    await settle(page);
    expect(await ids()).toEqual(["r6", "r10"]);
    await page.click('button:text-is("Show all that differ")');
    await settle(page);
    expect((await ids()).length).toBe(4);
  }, { viewport: { width: 1280, height: 500 } }));

  test("starts with sides that have pairs", () => visit(at(makeFile("beside.html", dozenAgain(false)), "compare"), async (page) => {
    expect(await page.locator(".choices select").evaluateAll((all) => all.map((s) => (s as HTMLSelectElement).value))).toEqual(["system:one", "system:two"]);
    expect(await page.textContent("main")).toContain("6 pairs; 4 differ");
  }));
});

/** Every view, with its filter panel open, on a telephone. */
async function narrow(file: string, filter: string): Promise<void> {
  await visit(file, async (page) => {
    await page.click("#filter-toggle");
    for (const view of viewNames) {
      await page.evaluate((hash) => (location.hash = hash), at("", view, filter));
      await settle(page);
      await openAll(page);
      expect(await cutParts(page), view).toEqual([]);
    }
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true))); // of the panel
    expect(await cutParts(page)).toEqual([]);
    await page.evaluate((hash) => (location.hash = hash), at("", "rows", `${filter}&row=9`));
    await page.waitForSelector(".drawer h2");
    await openAll(page);
    expect(await cutParts(page)).toEqual([]);
    expect(await page.evaluate(() => document.querySelector(".drawer")!.scrollWidth)).toBeLessThanOrEqual(390);
  }, { viewport: { width: 390, height: 800 } });
}

/** Opens what is folded, and what is folded in that. */
async function openAll(page: Page): Promise<void> {
  for (let depth = 0; depth < 2; depth++) {
    await page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("main details, .drawer details").forEach((d) => (d.open = true)));
    await settle(page);
  }
}

/** What stands beyond the window, or beyond a box that hides what it has no room for; but not what can be scrolled to. */
function cutParts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const edges = (e: Element): [number, number] | undefined => {
      for (let p = e.parentElement; p; p = p.parentElement) {
        const overflow = getComputedStyle(p).overflowX;
        if (overflow === "auto" || overflow === "scroll") return undefined;
        const { left, right } = p.getBoundingClientRect();
        if (overflow !== "visible") return [left, right];
      }
      return [0, innerWidth];
    };
    return [...document.querySelectorAll("body *:not(.hidden, .hidden *, .skip)")].flatMap((e) => {
      const { left, right, width, height } = e.getBoundingClientRect();
      const [from, to] = edges(e) ?? [-Infinity, Infinity];
      return width > 0 && height > 0 && (left < from - 1 || right > to + 1) ? [`${e.tagName} ${e.textContent.slice(0, 60)}`] : [];
    });
  });
}

describe("looks", () => {
  test("both themes follow the system, and the switch", async () => {
    const paper = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const colours: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await visit(file, async (page) => {
        const system = await paper(page);
        const other = colorScheme === "light" ? "dark" : "light";
        await page.check(`.theme label:has-text("${other}") input`);
        await page.waitForFunction((t) => document.documentElement.dataset["theme"] === t, other);
        colours.push(system, await paper(page));
      }, { colorScheme });
    }
    expect(colours[0]).toBe(colours[3]);
    expect(colours[1]).toBe(colours[2]);
    expect(colours[0]).not.toBe(colours[1]);
  });

  test("no view is cut at 390 pixels", () => narrow(file, "&any.label=Vague&any.label=Factual+Error&min.score.fluency=1"));

  test.each(kinds)("no view of %s files is cut at 390 pixels", async (kind) => {
    for (const files of [1, 2] as const) await narrow(makeFile(`narrow-${kind}-${files}.html`, sampleOf(kind, files)), "");
  });

  test("printed, the controls are gone", () => visit(file, async (page) => {
    await page.emulateMedia({ media: "print" });
    expect(await page.isVisible("header nav")).toBe(false);
    expect(await page.isVisible("main table")).toBe(true);
    expect((await page.pdf()).length).toBeGreaterThan(10_000);
    await page.goto(at(file, "rows", "&row=9"));
    await page.waitForSelector(".drawer h2");
    expect([await page.isVisible("main"), await page.isVisible("#close-row"), await page.isVisible(".drawer .fields")]).toEqual([false, false, true]);
  }));

  test("? lists the keys, Esc closes the list", () => visit(file, async (page) => {
    await page.keyboard.press("?");
    await settle(page);
    expect(await page.textContent("dialog")).toContain("an open row follows");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
  }));
});

describe("axe-core finds nothing serious", () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  interface Finding {
    id: string;
    impact: string;
    nodes: { html: string; failureSummary: string }[];
  }
  test.each(["light", "dark"] as const)("in the %s theme", async (colorScheme) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme, bypassCSP: true });
    const page = await context.newPage();
    const found: string[] = [];
    const check = async (name: string) => {
      await settle(page);
      const violations = await page.evaluate(async () => (await (window as unknown as { axe: { run: () => Promise<{ violations: Finding[] }> } }).axe.run()).violations);
      for (const v of violations) {
        if (v.impact === "serious" || v.impact === "critical") found.push(`${name}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 150)} ${n.failureSummary.slice(0, 300)}`).join(" | ")}`);
      }
    };
    await page.goto(file);
    await page.waitForSelector("main h1");
    await page.addScriptTag({ content: axe });
    for (const view of viewNames) {
      await page.evaluate((hash) => (location.hash = hash), at("", view, view === "overview" || view === "rows" ? "" : "&any.label=Vague&none.system=few-shot"));
      await check(view);
    }
    for (const view of ["rows", "outputs"]) {
      await page.evaluate((hash) => (location.hash = hash), at("", view, "&row=9"));
      await page.waitForSelector(".drawer h2");
      await check(`${view} with a row`);
    }
    await page.click("#filter-toggle");
    await page.keyboard.press("?");
    await check("panel and keys");
    await context.close();
    expect(found).toEqual([]);
  }, 120_000);
});

describe("what strangers wrote", () => {
  test("nothing of 40 payloads runs, anywhere", async () => {
    const data = poisoned();
    const context = await cut(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
    const ran: string[] = [];
    await context.exposeFunction("evil", () => ran.push("evil"));
    const { page, faults } = await openPage(context, makeFile("poisoned.html", data));
    const see = async (hash: string) => {
      await page.evaluate((h) => (location.hash = h), hash);
      await page.waitForFunction((h) => location.hash === h, hash);
      await settle(page);
    };
    const name = (i: number) => encodeURIComponent(payloads[i]!);
    await page.click("#filter-toggle");
    for (const summary of await page.locator(".filterpanel summary").all()) await summary.click();
    await see(`#view=measured&any.label=${name(0)}&none.system=${name(1)}&q=${name(2)}`);
    await page.click("#filter-toggle");
    for (const [v, view] of viewNames.entries()) {
      for (let i = v; i < payloads.length; i += 21) {
        await see(`#view=${view}&any.label=${name(i)}&q=${name(i)}&facet=label&t.label=${name(i)}%3A${name(i)}&a=run%3A${name(i)}&trend=${name(i)}&run=${name(i)}`);
        if (i === v) for (const summary of await page.locator("main summary").all()) await summary.click();
      }
      await see(`#view=${view}`);
    }
    for (let i = 0; i < payloads.length; i++) await see(`#view=rows&row=${i}${i % 9 === 0 ? `&sort=${name(i)}` : ""}`);
    await see("#view=rows&row=5");
    expect(await page.textContent(".row-title h2")).toBe(payloads[5]);
    expect(await page.textContent(".fields .judged dd")).toBe(payloads[5]);
    expect(ran).toEqual([]);
    expect(faults).toEqual([]);
    expect(await page.locator(":is(main, aside) :is(img, iframe, object, embed, script, style, link, form, video, [onerror])").count()).toBe(0);
    await context.close();
  }, 240_000);
});

/** Every name and text is a payload. */
function poisoned(): Data {
  const n = payloads.length;
  const p = (i: number) => payloads[i % n]!;
  const named = (role?: string) => payloads.map((name, i) => ({ name, note: name, examples: [name], related: [{ name, rows: 1, phi: 0.1 }], ...(role && i === 0 ? { role } : {}) }));
  const each = payloads.map((_, i) => [i]);
  const facets = ["run", "system", "label", "issue", "gold", "unscored", "truncated", `verdict.${p(5)}`, ...payloads.map((x) => `column.${x}`)];
  const measures = [...payloads.map((x) => `probability.${x}`), ...payloads.slice(0, 12).map((x) => `score.${x}`), `column.${p(3)}`];
  const catalog: Catalog = {
    format: 1, title: p(1), build: p(2), rows: n, task: p(3),
    runs: payloads.map((name) => ({ name, command: name, rows: 1, rejected: 1, thresholds: { [name]: 0.5 }, columns: { x: "y" }, facts: payloads.slice(0, 5).map((f) => ({ name: f, value: name })) })),
    fields: payloads.slice(0, 6).map((x, i) => ({ name: i === 0 ? "text" : x, definition: x, judged: i === 0 })),
    facets: facets.map((key, i) => ({ key, title: p(i), multi: ["label", "issue", "gold", "unscored", "truncated"].includes(key), values: named(key === "label" || key === "issue" ? "none" : undefined) })),
    measures: measures.map((key, i) => ({ key, title: p(i), low: 0, high: 1, threshold: 0.5, runs: payloads.map((_, run) => run) })),
    sections: (["compare", "measured", "issues"] as const).flatMap((view) => [
      { view, title: p(4), run: p(5), notes: payloads, table: { columns: payloads.map((title) => ({ title, kind: "text" })), rows: [payloads, payloads.toReversed()] } },
      { view, title: p(6), chart: { kind: "forest", x: p(7), line: 0, points: payloads.map((name, i) => ({ group: p(i >> 3), name, value: 0.5, low: 0.1, high: 0.9 })) } },
      { view, title: p(8), chart: { kind: "lines", x: p(9), y: p(10), diagonal: true, series: payloads.map((name) => ({ name, points: [[0, 0, 0, 0], [1, 1, 0.9, 1]] as [number, number, number, number][] })) } },
      { view, title: p(11), chart: { kind: "matrix", x: p(12), y: p(13), cells: payloads.map((row, i) => ({ row, column: p(i + 1), value: i })) } },
    ]),
    notes: payloads,
  };
  return {
    catalog,
    rows: {
      run: payloads.map((_, i) => i), id: [...payloads], group: payloads.map((_, i) => i), input: payloads.map((_, i) => i >> 1),
      facets: Object.fromEntries(facets.map((f) => [f, each])), measures: Object.fromEntries(measures.map((m) => [m, payloads.map((_, i) => i / n)])),
      records: payloads.map((x, i) => ({
        id: x, text: x, ...Object.fromEntries(payloads.map((name) => [name, x])), [p(1)]: p(i + 1), y: x,
        diagnosis: { status: x, reason: x, labels: [x], probabilities: { [x]: 1 } },
        scores: { [x]: { value: i, runs: [{ judge: x, mode: x, explanation: `“${x}”`, errors_shown: [x], reason: x, status: x, planted: x }] } },
        issues: { status: x, analysis: x, quote: x, reason: x, evaluation: x, ids: [x] }, verdicts: { [x]: { value: x, runs: [{ judge: x, mode: x, order: x, explanation: x }] } },
      })),
    },
  };
}

describe("served", () => {
  test("the page asks with the token of its address, which it hides", async () => {
    const served = await serve(sample(240));
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const { page, faults } = await openPage(context, `${served.address}&view=rows&any.label=Vague`);
    await settle(page);
    expect(page.url()).toBe(`${served.address.split("#")[0]!}#view=rows&any.label=Vague`);
    const local = await new LocalSource(sample(240)).rows({ filter: { facets: { label: { any: ["Vague"] } } }, sort: { key: "row" }, offset: 0, limit: 50 });
    expect(await page.textContent(".chosen")).toContain(`${local.total} of 240 rows`);
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(local.rows.map((r) => r.id));
    for (const view of viewNames) {
      await page.evaluate((v) => (location.hash = `#view=${v}&row=3`), view);
      await settle(page);
      expect(await page.locator(".failure").count(), view).toBe(0);
    }
    const [file] = await Promise.all([page.waitForEvent("download"), page.evaluate(() => (location.hash = "#view=rows")).then(() => page.click('button[aria-label="Export as JSONL: Export records"]'))]);
    expect(readFileSync(await file.path(), "utf8").trim().split("\n")).toHaveLength(240);
    await page.reload();
    await settle(page);
    expect(await heading(page)).toBe("Rows");
    expect(new Set(served.asked)).toEqual(new Set(["/", "/page.js", "/page.css", "/view/catalog", "/view/counts", "/view/histogram", "/view/rows", "/view/row", "/view/pairs", "/view/outputs", "/view/export"]));
    expect(faults).toEqual([]);
    await context.close();
    await served.stop();
  });

  test("without the token the page asks for it", async () => {
    const served = await serve(dozen());
    const context = await browser.newContext();
    const { page, faults } = await openPage(context, served.address.split("#")[0]!);
    await page.fill("form.token input", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector('form.token [role="alert"]');
    await page.fill("form.token input", decodeURIComponent(served.address.split("#token=")[1]!));
    await page.click("form.token button");
    await settle(page);
    expect(await heading(page)).toBe("Overview");
    await page.reload();
    await settle(page);
    expect(await heading(page)).toBe("Overview");
    expect(faults.filter((f) => !f.includes("401"))).toEqual([]);
    await context.close();
    await served.stop();
  });

  test("what fails says what to do, and is tried again", async () => {
    const served = await serve(dozen());
    const context = await browser.newContext();
    const other = await context.newPage();
    await other.goto(served.address.split("#")[0]!);
    expect(await other.textContent("[role=alert]")).toContain("Open the address that erreval serve printed");
    const { page } = await openPage(context, served.address);
    await settle(page);
    served.broken = true;
    await page.click('header nav a:text-is("Rows")');
    await page.waitForSelector(".failure");
    expect(await page.textContent(".failure")).toContain("erreval serve does not answer");
    served.broken = false;
    await page.click('.failure button:text-is("Try again")');
    await page.waitForFunction(() => document.querySelectorAll("table.rows tbody th a").length === 12);
    await page.waitForFunction(() => document.querySelectorAll(".failure").length === 0);
    await context.close();
    await served.stop();
  });

  test("an answer that is overtaken is not shown", async () => {
    const served = await serve(dozen());
    const context = await browser.newContext();
    const { page, faults } = await openPage(context, `${served.address}&view=rows`);
    await settle(page);
    const cancelled = page.waitForEvent("requestfailed");
    served.slow = 10_000;
    await page.evaluate(() => (location.hash = "#view=rows&any.label=Blue"));
    await page.waitForFunction(() => document.querySelector(".chips"));
    served.slow = 0;
    await page.evaluate(() => (location.hash = "#view=rows&any.label=Red"));
    await page.waitForFunction(() => document.querySelectorAll("table.rows tbody th a").length === 5);
    expect((await cancelled).postData()).toContain("Blue");
    expect(await page.locator("table.rows tbody th a").allTextContents()).toEqual(["r1", "r2", "r6", "r7", "r10"]);
    expect(faults).toEqual([]);
    await context.close();
    await served.stop();
  });
});

test("20,000 rows: time until the first view answers", async () => {
  const data = sample(20_000);
  const local = new LocalSource(data);
  const ways = [{}, { by: "run" }, { by: "system" }];
  data.answers = await Promise.all(ways.flatMap((by) => [ // as report writes them
    ...data.catalog.facets.map(async (f) => {
      const counts = { filter: {}, facet: f.key, ...by };
      return { counts, answer: await local.counts(counts) };
    }),
    ...data.catalog.measures.map(async (m) => {
      const histogram = { filter: {}, measure: m.key, ...by };
      return { histogram, answer: await local.histogram(histogram) };
    }),
  ]));
  const large = makeFile("large.html", data);
  const context = await cut(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
  const { page, faults } = await openPage(context, large);
  await settle(page);
  const ready = await page.evaluate(() => performance.now());
  const timed = async (act: () => Promise<unknown>) => {
    const begun = performance.now();
    await act();
    await settle(page);
    return Math.round(performance.now() - begun);
  };
  const filter = await timed(() => page.evaluate(() => (location.hash = "#view=errors&any.label=Vague")));
  const search = await timed(() => page.evaluate(() => (location.hash = "#view=rows&q=bridge+ferrand")));
  expect(await page.textContent(".chosen")).toContain("of 20,000 rows");
  expect(faults).toEqual([]);
  console.log(`20,000 rows, file of ${(readFileSync(new URL(large)).length / 1e6).toFixed(1)} MB: first view after ${Math.round(ready)} ms, filter ${filter} ms, search ${search} ms`);
  await context.close();
}, 240_000);

describe("unusual data", () => {
  test("a sample says so, and shows the figures of all rows", async () => {
    const data = dozen();
    data.catalog = { ...data.catalog, rows: 90_000, sample: { rows: 12, of: 90_000, seed: 7 } };
    const columns = [{ name: "", rows: 80_000, groups: 80_000, squares: 80_000 }];
    const cell = (rows: number) => [{ rows, squares: rows, products: rows }];
    data.answers = [{ counts: { filter: {}, facet: "label" }, answer: { total: 90_000, columns, values: [{ name: "No Error", cells: cell(40_000) }, { name: "Red", cells: cell(30_000) }, { name: "Blue", cells: cell(20_000) }, { name: "untagged", cells: cell(10_000) }] } }];
    const file = makeFile("sampled.html", data);
    await visit(at(file, "errors"), async (page) => {
      expect(await page.textContent(".sample")).toContain("sample of 12 of 90,000 rows (seed 7)");
      expect(await page.textContent('tr:has(th a:text-is("Red"))')).toContain("30,00037.5 %");
      await page.goto(at(file, "errors", "&any.system=two"));
      await settle(page);
      // 37.5 % of all rows, 3 of 5 in the sample's system two; the difference is the sample's: 3 of 5 less 5 of 10
      const red = await page.locator('tr:has(th a:text-is("Red")) >> css=td').allTextContents();
      expect(red.map((c) => c.slice(0, 6))).toEqual(["30,000", "37.5 %", "3", "60.0 %", "+10.0−"]);
      expect(await page.textContent(".chosen")).toContain("6 of 12 rows chosen (50.0 %), of the sample");
    });
  });

  test("long names do not widen the page", async () => {
    const data = sample(40);
    const long = (text: string, i: number) => `${text}${"m".repeat(150)}${i}`;
    data.catalog.facets.forEach((f) => f.values.forEach((v, i) => (v.name = long(v.name, i))));
    data.catalog.runs.forEach((r, i) => (r.name = data.catalog.facets[0]!.values[i]!.name));
    data.catalog.measures.forEach((m, i) => (m.title = long(m.title, i)));
    data.catalog.sections.forEach((s, i) => (s.title = long(s.title, i)));
    data.catalog.title = data.rows.id[9] = long("t", 0);
    await narrow(makeFile("long.html", data), `&any.system=${data.catalog.facets[1]!.values[0]!.name}`);
  });

  test("no rows, no labels, nothing to compare: each view says so", async () => {
    const data = dozen();
    const none: Data = {
      catalog: { ...data.catalog, rows: 0, facets: data.catalog.facets.slice(0, 1), measures: [] },
      rows: { run: [], id: [], group: [], input: [], facets: { run: [] }, measures: {}, records: [] },
    };
    const file = makeFile("empty.html", none);
    await visit(file, async (page) => {
      const shown = async (hash: string) => {
        await page.evaluate((h) => (location.hash = h), hash);
        await settle(page);
        return (await page.textContent("main"))!;
      };
      for (const view of viewNames) expect(await shown(`#view=${view}`)).not.toContain(texts.errors.title);
      expect(await shown("#view=compare")).toContain(texts.compare.none);
      await shown("#view=rows&row=9");
      expect(await page.textContent(".drawer")).toContain("there is no row 9");
    });
  });

  test("data that were cut short are said to be", async () => {
    const whole = makeFile("whole.html", dozen());
    const path = new URL(whole);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(/(id="data">.{400}).*?</s, "$1<"));
    const page = await browser.newPage();
    await page.goto(whole);
    await page.waitForSelector("[role=alert]");
    expect(await page.textContent("main")).toContain("it may have been cut short");
    await page.close();
  });
});
