// Texts of judges, which write Markdown, as elements. No markup of theirs is taken over, and no attribute: of what the
// library finds, these elements alone are made, so that a text can neither load, link nor run anything.

import { compiler } from "markdown-to-jsx";
import { h, type ComponentChildren } from "preact";

const shown = new Set(["p", "strong", "em", "del", "ul", "ol", "li", "code", "pre", "blockquote", "br", "hr", "table", "thead", "tbody", "tr", "th", "td"]);
const headings = /^h[1-6]$/;
const longest = 8000; // characters; the library can take the square of their number

function element(tag: unknown, props: { key?: unknown; alt?: unknown } | null, ...children: ComponentChildren[]) {
  const attributes = typeof props?.key === "string" || typeof props?.key === "number" ? { key: props.key } : {};
  if (tag === "img") return h("span", attributes, typeof props?.alt === "string" ? props.alt : "");
  if (typeof tag === "string" && headings.test(tag)) return h("p", { ...attributes, class: "heading" }, children);
  return h(typeof tag === "string" && shown.has(tag) ? tag : "span", attributes, children);
}

export function Markdown({ text }: { text: string }) {
  if (text.length <= longest) {
    try {
      const made: unknown = compiler(text, { createElement: element as never, disableParsingRawHTML: true, disableAutoLink: true, forceBlock: true, wrapper: "div" });
      return <div class="markdown">{made as ComponentChildren}</div>;
    } catch {
      // as it stands
    }
  }
  return <>{text}</>;
}
