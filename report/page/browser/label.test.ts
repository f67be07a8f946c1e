// Rows are marked on the page of erreval serve itself.

import { createRequire } from "node:module";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { texts } from "../src/texts";
import { errevalServe, folder, launch, openPage, settle } from "./driver";

let browser: Browser;
const file = join(folder, "marked.jsonl");
const marks = () => readFileSync(`${file}.marks.jsonl`, "utf8").trim().split("\n").map((l) => JSON.parse(l) as { id: string; labels: string[] | null; notes: string });

beforeAll(async () => {
  browser = await launch();
  writeFileSync(file, ["a", "b"].map((id) => JSON.stringify({ id, question: `Who built ${id}?`, answer: "Oke", passage: "Oke built it." }) + "\n").join(""));
}, 240_000);

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

const said = (page: Page, text: string) => page.waitForSelector(`form.label [role=status]:has-text("${text}")`);
const checked = (page: Page) => page.locator("form.label label:has(:checked)").allTextContents();

test("a row is marked, found marked by the next start, changed, and its mark taken away", async () => {
  const first = await errevalServe([file]);
  const context = await browser.newContext({ viewport: { width: 1300, height: 900 } });
  let { page, faults } = await openPage(context, `${first.address}&view=row&row=0`);
  await page.waitForSelector("form.label");
  await page.click('form.label button[type="submit"]');
  await said(page, texts.label.none);
  await page.check('form.label label:has-text("No Error") input');
  await page.check('form.label label:has-text("Vague") input');
  expect(await checked(page)).toEqual(["Vague"]);
  await page.fill("form.label textarea", "Built <b>what</b>?");
  await page.click('form.label button[type="submit"]');
  await said(page, texts.label.saved);
  expect(marks()).toMatchObject([{ id: "a", labels: ["Vague"], notes: "Built <b>what</b>?" }]);
  await page.check('form.label label:has-text("Grammar Error") input'); // what follows is not saved
  await said(page, texts.label.unsaved);
  await page.uncheck('form.label label:has-text("Grammar Error") input');
  await page.click('form.label button[type="submit"]');
  await said(page, texts.label.saved);
  await page.waitForSelector('table.rows tr:has(a[data-row="0"]) .mark');
  expect(await page.locator("table.rows .mark").count()).toBe(1);
  await page.click('main a[data-row="1"]');
  await page.waitForSelector('.row-title h2:text-is("b")');
  await page.waitForSelector("form.label");
  expect(await checked(page)).toEqual([]);
  expect(faults).toEqual([]);
  await first.stop();

  const second = await errevalServe([file]);
  ({ page, faults } = await openPage(context, `${second.address}&view=row&row=0`));
  await page.waitForSelector("form.label");
  await settle(page);
  expect(await checked(page)).toEqual(["Vague"]);
  expect(await page.inputValue("form.label textarea")).toBe("Built <b>what</b>?");
  expect(await page.locator("table.rows .mark").count()).toBe(1);
  await page.click("#filter-toggle");
  await page.check(`.filterpanel label:has-text("${texts.filter.marked}") input`);
  await page.waitForFunction(() => document.querySelectorAll("table.rows tbody th a").length === 1);
  expect(await page.textContent(".chosen")).toContain("1 of 2 rows");
  await page.click(".chip:not(.clear)");
  await page.waitForFunction(() => document.querySelectorAll("table.rows tbody th a").length === 2);
  await page.click("#filter-toggle");
  await page.uncheck('form.label label:has-text("Vague") input');
  await page.check('form.label label:has-text("Off Topic") input');
  await page.click('form.label button[type="submit"]');
  await said(page, texts.label.saved);
  expect(marks().at(-1)).toMatchObject({ labels: ["Off Topic"] });
  await page.click(`form.label button:text-is("${texts.label.remove}")`);
  await said(page, texts.label.removed);
  expect(await checked(page)).toEqual([]);
  await page.waitForFunction((name) => ![...document.querySelectorAll("form.label button")].some((b) => b.textContent === name), texts.label.remove);
  await settle(page); // the lists are asked again after a mark, and an answer that fails takes the form's place
  await second.stop();
  expect(readFileSync(`${file}.marks.jsonl`, "utf8")).toBe("");
  await page.check('form.label label:has-text("Vague") input');
  await page.click('form.label button[type="submit"]');
  await said(page, "Not saved: erreval serve does not answer");
  expect(faults.filter((f) => !f.includes("ERR_CONNECTION_REFUSED"))).toEqual([]);
  await context.close();
}, 240_000);

test("axe-core finds nothing in the form, which fits narrow screens", async () => {
  const server = await errevalServe([file]);
  const context = await browser.newContext({ viewport: { width: 390, height: 800 }, bypassCSP: true }); // axe is a script of its own
  const { page } = await openPage(context, `${server.address}&view=row&row=0`);
  await page.waitForSelector("form.label");
  await settle(page);
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve("axe-core/axe.min.js") });
  const found = await page.evaluate(async () => (await (window as unknown as { axe: { run: () => Promise<{ violations: { id: string }[] }> } }).axe.run()).violations);
  expect(found.map((v) => v.id)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await context.close();
  await server.stop();
}, 240_000);
