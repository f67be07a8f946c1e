// Every control of every view, on every kind of file: nothing may break the page.

import { rmSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kinds, sampleOf } from "../test/sample";
import { at, folder, launch, makeFile, openPage, settle, viewNames } from "./driver";

let browser: Browser;

beforeAll(async () => {
  browser = await launch();
}, 240_000);

afterAll(async () => {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Uses each control in the main part once, and each choice of a list forwards and backwards, so that each follows upon more
 * and upon fewer values. What was used stays in force for the next. The controls used.
 */
async function useAll(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const used = new Set<string>();
    const settled = async () => {
      for (let frame = 0; frame < 2 || (frame < 200 && document.querySelector(".waiting, [aria-busy=true]")); frame++) {
        await new Promise((done) => requestAnimationFrame(done));
      }
      // What a view throws is caught by the page, which shows it in the view's place.
      const failure = document.querySelector(":is(main, aside) .failure");
      if (failure) throw new Error(`after ${[...used].at(-1)}: ${failure.textContent}`);
    };
    const name = (e: Element) => `${e.tagName} ${e.getAttribute("aria-label") ?? (e as HTMLInputElement).labels?.[0]?.textContent ?? e.textContent}`.replace(/\d+/g, "#").slice(0, 80);
    for (let next: Element | undefined; used.size < 300; ) {
      next = [...document.querySelectorAll(":is(main, aside) :is(select, input, summary, button)")]
        .find((e) => e.id !== "close-row" && !used.has(name(e)) && !(e as HTMLButtonElement).disabled && e.getClientRects().length > 0);
      if (!next) break;
      const label = name(next);
      used.add(label);
      if (next instanceof HTMLSelectElement) {
        const values = [...next.options].map((o) => o.value);
        for (const value of [...values, ...values.reverse()]) {
          const select = [...document.querySelectorAll(":is(main, aside) select")].find((e) => name(e) === label) as HTMLSelectElement | undefined;
          if (!select) break;
          select.value = value;
          select.dispatchEvent(new Event("change", { bubbles: true }));
          await settled();
        }
      } else if (next instanceof HTMLInputElement && next.type !== "checkbox" && next.type !== "radio") {
        for (const text of ["2", ""]) {
          next.value = text;
          next.dispatchEvent(new Event("input", { bubbles: true }));
          next.dispatchEvent(new Event("change", { bubbles: true }));
          await settled();
        }
      } else (next as HTMLElement).click();
      await settled();
    }
    return [...used];
  });
}

describe.each(kinds)("%s", (kind) => {
  test.each([1, 2] as const)("%i file(s)", async (files) => {
    const file = makeFile(`${kind}-${files}.html`, sampleOf(kind, files));
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    try {
      const { page, faults } = await openPage(context, file);
      let controls = 0;
      for (const view of viewNames) {
        await page.goto(at(file, view, view === "rows" ? "&row=9" : ""));
        await settle(page);
        controls += (await useAll(page)).length;
        expect(await page.locator("main h1").count(), `${view} is still there`).toBe(1);
        expect(faults, view).toEqual([]);
      }
      expect(controls).toBeGreaterThan(40);
    } finally {
      await context.close();
    }
  }, 240_000);
});
