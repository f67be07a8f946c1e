import preact from "@preact/preset-vite";
import { readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const here = dirname(fileURLToPath(import.meta.url));

/** Plot writes a style element into each picture, which the page's policy refuses; its rules stand in page.css. */
const withoutStyleElements: Plugin = {
  name: "plot-without-style-elements",
  transform(code, id) {
    if (!/@observablehq\/plot\/src\/plot\.js$/.test(id)) return null;
    const out = code.replace(/svg\.append\("style"\)\.text\(\s*`[^`]*`\s*\)/, "svg");
    if (out === code) this.error(`${id} writes its style otherwise: look at it, and at .plot in style.css`);
    return out;
  },
};

/** Plot knows maps, colour schemes, dates, tips and legends; the page has none, and they are a quarter of it. Whoever calls one is told. */
const unused = ["d3-geo", "d3-scale-chromatic", "d3-time", "d3-time-format"];
const unusedFiles = /@observablehq\/plot\/src\/(marks\/tip|interactions\/pointer|legends\/(ramp|swatches))\.js$/;
const withoutUnused: Plugin = {
  name: "without-unused",
  enforce: "pre",
  resolveId(id, importer) {
    const path = importer && id.startsWith(".") ? join(dirname(importer), id) : id;
    return unused.includes(path) || unusedFiles.test(path) ? "\0" + path : null;
  },
  async load(id) {
    if (!id.startsWith("\0") || !(unused.includes(id.slice(1)) || unusedFiles.test(id))) return null;
    const names = Object.keys((await import(id.slice(1))) as object);
    const missing = `function missing() { throw new Error(${JSON.stringify(`${basename(id.slice(1))} is left out of the page: vite.config.ts`)}); }`;
    return `${missing}\n${names.map((n) => `export ${emptyOf(n)};`).join("\n")}`;
  },
};

/** What Plot takes from them when it is loaded is empty, all else a function that says that it is missing. */
function emptyOf(name: string): string {
  if (name.startsWith("scheme")) return `const ${name} = []`;
  return name === "geoTransform" ? `const ${name} = () => ({})` : `{ missing as ${name} }`;
}

/** The pattern of comments in markdown-to-jsx would begin one in the script of a report file; written so, it is the same. */
const withoutComments: Plugin = {
  name: "without-comments",
  generateBundle(_, bundle) {
    for (const file of Object.values(bundle)) if (file.type === "chunk") file.code = file.code.replaceAll("<!--", "<!\\x2d-");
  },
};

const allowed = ["ISC", "MIT"];

/** The licences of the packages that are in the bundle, beside it. */
function licences(): Plugin {
  const packages = new Set<string>();
  return {
    name: "licences",
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        for (const [id, module] of Object.entries(file.modules)) {
          const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
          if (name && module.renderedLength > 0) packages.add(name);
        }
      }
      const texts = [...packages].sort().map((name) => {
        const dir = join(here, "node_modules", name);
        const about = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as { version: string; license: string };
        const file = readdirSync(dir).find((f) => /^licen[cs]e/i.test(f));
        if (!file || !allowed.includes(about.license)) this.error(`${name}: look at its licence, ${about.license}, and at docs/licences.md`);
        return `${name} ${about.version} (${about.license})\n\n${readFileSync(join(dir, file!), "utf8").trim()}\n`;
      });
      this.emitFile({ type: "asset", fileName: "LICENCES.txt", source: texts.join("\n" + "-".repeat(80) + "\n\n") });
    },
  };
}

export default defineConfig({
  resolve: { alias: { react: "preact" } }, // of markdown-to-jsx, which needs createElement alone
  plugins: [preact({ devToolsEnabled: false, prefreshEnabled: false, reactAliasesEnabled: false }), withoutUnused, withoutStyleElements, withoutComments, licences()],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "erreval", fileName: () => "page.js", cssFileName: "page" },
  },
  test: {
    include: process.env["SHOTS"] ? ["browser/shots.ts"] : ["test/*.test.ts", "browser/*.test.ts"],
    environment: "node",
    server: { deps: { inline: ["markdown-to-jsx"] } }, // so that its "react" is the alias above
    maxWorkers: 3,
    testTimeout: 60_000,
  },
});
