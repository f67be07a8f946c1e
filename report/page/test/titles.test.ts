// How values are coloured.

import { expect, test } from "vitest";
import type { Facet } from "../src/contract";
import { toneOf } from "../src/titles";

test("verdicts have the colour of errors only where both texts are bad", () => {
  const tones = (key: string, values: Facet["values"]) => values.map((v) => toneOf({ key, title: "", multi: false, values }, v));
  const verdicts = ["A", "B", "both_good", "both_bad"].map((name) => ({ name }));
  expect(tones("verdict.Overall", [...verdicts, { name: "unjudged", role: "unknown" }])).toEqual(["side", "side", "none", "found", "unknown"]);
  expect(tones("label", [{ name: "No Error", role: "none" }, { name: "both_good" }])).toEqual(["none", "found"]);
});
