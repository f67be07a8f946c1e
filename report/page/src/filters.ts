// Changes of filters. None changes what it is given.

import { facetTitle, measureTitle } from "./titles";
import type { Catalog, Condition, Filter, Range } from "./contract";

export type How = "any" | "all" | "none";
const hows: How[] = ["any", "all", "none"];

/** How the filter uses a value of a facet. */
export function use(filter: Filter, facet: string, value: string): How | undefined {
  const c = filter.facets?.[facet];
  return hows.find((how) => c?.[how]?.includes(value));
}

/** Uses a value in one way, or not at all. */
export function withUse(filter: Filter, facet: string, value: string, how: How | undefined): Filter {
  const old = filter.facets?.[facet] ?? {};
  const c: Condition = {};
  for (const h of hows) {
    const values = (old[h] ?? []).filter((v) => v !== value);
    if (h === how) values.push(value);
    if (values.length > 0) c[h] = values;
  }
  if (old.only) c.only = true;
  return withCondition(filter, facet, c);
}

export function withOnly(filter: Filter, facet: string, only: boolean): Filter {
  const { only: _, ...rest } = filter.facets?.[facet] ?? {};
  return withCondition(filter, facet, only ? { ...rest, only } : rest);
}

export function withCondition(filter: Filter, facet: string, c: Condition): Filter {
  const { [facet]: _, ...others } = filter.facets ?? {};
  const facets = Object.keys(c).length > 0 ? { ...others, [facet]: c } : others;
  const { facets: __, ...rest } = filter;
  return Object.keys(facets).length > 0 ? { ...rest, facets } : rest;
}

export function withRange(filter: Filter, measure: string, range: Range): Filter {
  const { [measure]: _, ...others } = filter.ranges ?? {};
  const open = range.min === undefined && range.max === undefined;
  const ranges = open ? others : { ...others, [measure]: range };
  const { ranges: __, ...rest } = filter;
  return Object.keys(ranges).length > 0 ? { ...rest, ranges } : rest;
}

export function withSearch(filter: Filter, search: string): Filter {
  const { search: _, ...rest } = filter;
  return search === "" ? rest : { ...rest, search };
}

export function withMarked(filter: Filter, marked: boolean): Filter {
  const { marked: _, ...rest } = filter;
  return marked ? { ...rest, marked } : rest;
}

/** A part of a filter in words, and the filter without it. */
export interface Part {
  facet: string; // title
  how: How | "only" | "range" | "search" | "marked";
  value: string;
  without: Filter;
}

export function parts(filter: Filter, catalog: Catalog): Part[] {
  const out: Part[] = [];
  if (filter.search) out.push({ facet: "", how: "search", value: filter.search, without: withSearch(filter, "") });
  if (filter.marked) out.push({ facet: "", how: "marked", value: "", without: withMarked(filter, false) });
  for (const [key, c] of Object.entries(filter.facets ?? {})) {
    const known = catalog.facets.find((f) => f.key === key);
    const facet = known ? facetTitle(known) : key;
    for (const how of hows) {
      for (const value of c[how] ?? []) out.push({ facet, how, value, without: withUse(filter, key, value, undefined) });
    }
    if (c.only) out.push({ facet, how: "only", value: "", without: withOnly(filter, key, false) });
  }
  for (const [key, r] of Object.entries(filter.ranges ?? {})) {
    const measure = catalog.measures.find((m) => m.key === key);
    const title = measure ? measureTitle(measure) : key;
    const value = `${r.min ?? ""} … ${r.max ?? ""}`.trim();
    out.push({ facet: title, how: "range", value, without: withRange(filter, key, {}) });
  }
  return out;
}

/** Whether a condition on a facet of one value a row leaves a value's rows. */
export function isShown(name: string, { any = [], all = [], none = [] }: Condition = {}): boolean {
  return (any.length === 0 || any.includes(name)) && all.every((v) => v === name) && !none.includes(name);
}
