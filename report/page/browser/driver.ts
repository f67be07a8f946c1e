// What the tests in a browser share: the browser, report files, places of the page.

import { spawnSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import type { Data } from "../src/contract";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
export const folder = mkdtempSync(join(tmpdir(), "erreval-page-"));

export function findBrowser(): string {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    const found = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
    if (found !== "") return found;
  }
  throw new Error("no Chromium is installed; on Debian: apt-get install chromium");
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: findBrowser(), args: ["--no-sandbox"] });
}

let made: string | undefined;

/** Writes data as a report file by the program that erreval report writes it with; its address. */
export function makeFile(name: string, data: Data): string {
  if (!made) {
    made = join(folder, "pagefile");
    run("go", ["build", "-o", made, "./scripts/pagefile"]);
  }
  const file = join(folder, name);
  const { stdout } = run(made, [data.catalog.title], JSON.stringify(data));
  writeFileSync(file, stdout);
  return pathToFileURL(file).href;
}

function run(command: string, args: string[], input = ""): { stdout: Buffer } {
  const done = spawnSync(command, args, { cwd: root, input, maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")}: ${done.stderr.toString()}`);
  return { stdout: done.stdout };
}

/** A page whose faults are kept: of the policy, of the program, dialogs, and whatever it asks of the network. */
export async function openPage(context: BrowserContext, address: string): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("dialog", (d) => {
    faults.push(`dialog: ${d.message()}`);
    void d.dismiss();
  });
  page.on("pageerror", (e) => faults.push(`error: ${e.message}`));
  page.on("console", (m) => {
    if (m.type() === "error") faults.push(`console: ${m.text()}`);
  });
  page.on("request", (r) => {
    if (!/^(file|data|blob):/.test(r.url())) faults.push(`request: ${r.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  });
  await page.goto(address);
  await page.waitForSelector("main h1");
  return { page, faults };
}

/** Waits until every question is answered. */
export async function settle(page: Page): Promise<void> {
  await page.waitForFunction(() => !document.querySelector(".waiting, [aria-busy=true]"));
}

export const viewNames = ["overview", "errors", "rows", "compare", "row", "measured"] as const;

/** The address of a view in a report file. */
export function at(file: string, view: string, more = ""): string {
  return `${file}#view=${view}${view === "row" ? "&row=9" : ""}${more}`;
}
