// Titles of what the catalogue has, where several stand beside each other.

import type { Facet, Measure } from "./contract";
import { texts } from "./texts";

/** A measure's title where others stand beside it: a probability is called after an error, as its label is. */
export function measureTitle(m: Measure): string {
  return m.key.startsWith("probability.") ? texts.probabilityOf(m.title) : m.title;
}

/** A facet's title where others stand beside it: verdicts are called after what they are about. */
export function facetTitle(f: Facet): string {
  return f.key.startsWith("verdict.") ? texts.verdictOn(f.title) : f.title;
}
