// What the tests in a browser share: the browser, report files, places of the page.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import type { Data } from "../src/contract";
import { LocalSource } from "../src/local";

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
  const file = join(folder, name);
  const { records, ...rows } = data.rows;
  const lines = [{ ...data, rows: { ...rows, records: [] } }, ...records].map((line) => JSON.stringify(line));
  writeFileSync(file, pagefile([data.catalog.title], lines.join("\n")));
  return pathToFileURL(file).href;
}

function pagefile(args: string[], input = ""): Buffer {
  if (!made) {
    made = join(folder, "pagefile");
    run("go", ["build", "-o", made, "./scripts/pagefile"]);
  }
  return run(made, args, input).stdout;
}

let program: string | undefined;

function built(): string {
  if (!program) {
    program = join(folder, "erreval");
    run("go", ["build", "-o", program, "./cmd/erreval"]);
  }
  return program;
}

/** What erreval prints. */
export function erreval(args: string[]): string {
  return run(built(), args).stdout.toString();
}

/** Starts erreval serve over files; its address, with the token. */
export async function errevalServe(files: string[]): Promise<{ address: string; stop: () => Promise<void> }> {
  const server = spawn(built(), ["serve", "--no-open", "--quiet", ...files], { cwd: root });
  const ended = new Promise<void>((done) => server.on("exit", () => done()));
  const address = await new Promise<string>((found, failed) => {
    server.stdout.once("data", (line: Buffer) => found(line.toString().trim()));
    void ended.then(() => failed(new Error("erreval serve ended")));
  });
  return { address, stop: () => (server.kill("SIGTERM"), ended) };
}

export interface Served {
  address: string; // with the token
  asked: string[]; // paths, in order
  /** Answers later by so many milliseconds. */
  slow: number;
  broken: boolean; // answers nothing
  stop(): Promise<void>;
}

/** Serves the page with its policy, and answers from data as erreval serve does; only with the token. */
export async function serve(data: Data): Promise<Served> {
  const [policy, ...rest] = pagefile([]).toString().split("\n");
  const files = new Map([["/page.js", "text/javascript"], ["/page.css", "text/css"]]);
  const source = new LocalSource(data);
  const token = "a secret/of this run";
  const served: Served = { address: "", asked: [], slow: 0, broken: false, stop: () => new Promise((done) => {
    server.closeAllConnections();
    server.close(() => done());
  }) };
  const answer = async (path: string, body: string): Promise<[number, string]> => {
    try {
      if (path === "/view/catalog") return [200, JSON.stringify(source.catalog())];
      const kind = path.slice("/view/".length) as "counts" | "histogram" | "rows" | "row" | "pairs" | "outputs" | "export";
      const found = await source[kind](JSON.parse(body) as never);
      return [200, found instanceof Blob ? await found.text() : JSON.stringify(found)];
    } catch (e) {
      return [400, JSON.stringify({ error: (e as Error).message })];
    }
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      const path = request.url ?? "";
      served.asked.push(path);
      response.setHeader("Content-Security-Policy", policy!);
      const type = files.get(path);
      if (served.broken) response.destroy();
      else if (path === "/") response.setHeader("Content-Type", "text/html").end(rest.join("\n"));
      else if (type) response.setHeader("Content-Type", type).end(readFileSync(join(root, "report/page/dist", path)));
      else if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end();
      else void answer(path, body).then(([status, text]) => setTimeout(() => response.writeHead(status).end(text), served.slow));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  served.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/#token=${encodeURIComponent(token)}`;
  return served;
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
    if (!/^(file|data|blob):/.test(r.url()) && new URL(r.url()).origin !== new URL(address).origin) faults.push(`request: ${r.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  });
  await page.goto(address);
  await page.waitForSelector("main h1");
  return { page, faults };
}

/** Waits until what was done is shown, and every question answered. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let frame = 0; frame < 3; frame++) await new Promise((done) => requestAnimationFrame(done));
  });
  await page.waitForFunction(() => !document.querySelector(".waiting, [aria-busy=true]"));
}

export const viewNames = ["overview", "errors", "rows", "outputs", "compare", "measured"] as const;

/** The address of a view in a report file. */
export function at(file: string, view: string, more = ""): string {
  return `${file}#view=${view}${more}`;
}
