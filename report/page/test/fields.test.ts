// Texts of fields in records: along a path, and out of conversations, as dataset/chat.go takes them.

import { describe, expect, test } from "vitest";
import type { Catalog, Json } from "../src/contract";
import { column, fieldTexts } from "../src/fields";

const asks = { role: "user", content: [{ type: "text", text: "Who built it?" }, { type: "image_url", image_url: { url: "x" } }] };
const says = { role: "assistant", content: "A mason." };

describe("column", () => {
  test.each<[string, Json, string, Json | undefined]>([
    ["of its name", { "a.0": 1, a: [2] }, "a.0", 1],
    ["in a list", { a: [{ b: "x" }] }, "a.0.b", "x"],
    ["beyond a list", { a: [1] }, "a.1", undefined],
    ["no place", { a: [1] }, "a.length", undefined],
  ])("%s", (_, record, name, want) => expect(column(record, name)).toBe(want));
});

describe("conversations", () => {
  const texts = (messages: Json, judged: boolean) => {
    const field = { name: "f", definition: "", judged };
    return fieldTexts({ runs: [{ columns: { f: "messages" } }] } as unknown as Catalog, 0, { messages }, field);
  };
  test.each<[string, Json, boolean, string]>([
    ["the response", [asks, says], true, "A mason."],
    ["what it answers", [asks, says], false, "Who built it?"],
    ["several turns", [{ role: "user", content: "Hello." }, says, asks, says], false,
      "Who built it?\n\nThe whole conversation:\nuser: Hello.\nassistant: A mason.\nuser: Who built it?"],
    ["no response", [asks], true, ""],
    ["no conversation", ["first", "second"], true, "first"],
  ])("%s", (_, messages, judged, want) => expect(texts(messages, judged)).toEqual([want]));
});
