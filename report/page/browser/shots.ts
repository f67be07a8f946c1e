// Pictures of every view in both themes: make page-test SHOTS=FOLDER.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { test } from "vitest";
import { sample } from "../test/sample";
import { at, folder, launch, makeFile, openPage, settle, viewNames } from "./driver";

test("pictures", async () => {
  const shots = process.env["SHOTS"]!;
  mkdirSync(shots, { recursive: true });
  const browser = await launch();
  const file = makeFile("shots.html", sample(960));
  for (const theme of ["light", "dark"] as const) {
    for (const width of [1300, 768, 390]) {
      const context = await browser.newContext({ colorScheme: theme, viewport: { width, height: 900 } });
      const shoot = async (name: string, address: string, before?: (page: Page) => Promise<void>) => {
        const { page } = await openPage(context, address);
        await settle(page);
        await before?.(page);
        await page.screenshot({ path: join(shots, `${name}-${theme}-${width}.png`), fullPage: !address.includes("row=") }); // what is open beside has the window's height
        await page.close();
      };
      for (const view of viewNames) await shoot(view, at(file, view));
      const filter = "&any.label=Vague&any.label=Factual+Error&none.system=few-shot&min.score.fluency=2";
      await shoot("overview-filtered", at(file, "overview", filter));
      await shoot("errors-filtered", at(file, "errors", filter + "&trend=tuned.jsonl"));
      await shoot("rows-filtered", at(file, "rows", filter));
      await shoot("row", at(file, "rows", "&row=9"));
      await shoot("columns", at(file, "rows", "&cols=field.output%0Afield.source%0Alabel%0Aprobability.Vague"), (page) => page.click(".chooser summary"));
      await shoot("outputs-differ", at(file, "outputs", "&differ=1&by=run"));
      await shoot("outputs-row", at(file, "outputs", "&row=9"));
      await shoot("panel", at(file, "rows", filter), (page) => page.click("#filter-toggle"));
      await context.close();
    }
  }
  await browser.close();
  rmSync(folder, { recursive: true });
}, 600_000);
