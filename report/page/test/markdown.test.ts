import type { VNode } from "preact";
import { expect, test } from "vitest";
import { payloads } from "../browser/payloads";
import { Markdown } from "../src/markdown";

/** The elements of a tree, and what text they hold; attributes but keys and classes are a fault. */
function read(node: unknown): string {
  if (Array.isArray(node)) return node.map(read).join("");
  if (node === null || node === undefined || typeof node === "boolean") return "";
  if (typeof node !== "object") return String(node);
  const { type, props } = node as VNode<Record<string, unknown>>;
  const { children, class: _, ...others } = props;
  expect(others).toEqual({});
  if (typeof type === "string") tags.add(type);
  const inside = read(children);
  return typeof type !== "string" || type === "span" || type === "div" ? inside : `<${type}>${inside}</${type}>`;
}

const tags = new Set<string>();
const shown = (text: string) => read(Markdown({ text }));

test("what judges write is shown as they mean it", () => {
  expect(shown("# Verdict\n\nIt **invents** a *date*:\n\n- `1902`\n- never")).toBe(
    "<p>Verdict</p><p>It <strong>invents</strong> a <em>date</em>:</p><ul><li><code>1902</code></li><li>never</li></ul>");
  expect(shown("1. one\n2. two")).toBe("<ol><li>one</li><li>two</li></ol>");
  expect(shown("| a | b |\n|---|---|\n| 1 | 2 |")).toContain("<thead><tr><th> a </th><th> b </th></tr></thead>");
  expect(shown("plain text")).toBe("<p>plain text</p>");
  expect(shown("[a page](https://example.org) and ![a picture](https://example.org/x.png)")).toBe("<p>a page and a picture</p>");
});

test("no text makes other elements, or attributes", () => {
  for (const text of [...payloads, ...payloads.map((p) => `[${p}](${p})`), ...payloads.map((p) => `- [x] ${p}\n> ${p}\n\n![${p}](${p})`),
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "<a href='javascript:alert(1)'>x</a>",
    "[x]: javascript:alert(1)\n\n[x][x] [^1]\n\n[^1]: <iframe src=x>", "<div style='position:fixed'>x</div>", "---\n<!-- --><style>*{}</style>"]) {
    shown(text);
  }
  const expected = new Set(["div", "span", "p", "strong", "em", "del", "ul", "ol", "li", "code", "pre", "blockquote", "br", "hr", "table", "thead", "tbody", "tr", "th", "td"]);
  expect([...tags].filter((t) => !expected.has(t))).toEqual([]);
});

test("texts made to be slow are read in time, and long ones stand as they are", () => {
  const begun = performance.now();
  for (const part of ["*", "_", "[", "![", "(", "`", "|", "- ", "> ", "<a ", "1. ", "\\", "~~", "* *", "[^", "\n\n", " \n", "**a *", "|a|\n|-|\n", "<b>"]) shown(part.repeat(8000 / part.length));
  expect(performance.now() - begun).toBeLessThan(10_000);
  expect(shown("*a* ".repeat(2001))).toBe("*a* ".repeat(2001));
}, 120_000);
