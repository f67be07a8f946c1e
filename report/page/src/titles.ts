// How what the catalogue has is shown: titles, where several stand beside each other, and colours.

import type { Facet, Measure, Value } from "./contract";
import { texts } from "./texts";

/** A measure's title where others stand beside it: a probability is called after an error, as its label is. */
export function measureTitle(m: Measure): string {
  return m.key.startsWith("probability.") ? texts.probabilityOf(m.title) : m.title;
}

/** A facet's title where others stand beside it: verdicts are called after what they are about. */
export function facetTitle(f: Facet): string {
  return f.key.startsWith("verdict.") ? texts.verdictOn(f.title) : f.title;
}

/** Verdicts that judge both texts alike are coloured as good and bad; one for a side is neither. */
const verdictTones: Record<string, string> = { both_good: "none", both_bad: "found" };

/** The class that colours a value: "none", "found" or "unknown" by its role, "side" for a verdict for one side. */
export function toneOf(facet: Facet, v: Value): string {
  return v.role ?? (facet.key.startsWith("verdict.") ? verdictTones[v.name] ?? "side" : "found");
}
