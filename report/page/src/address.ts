// What is shown, as the part of the address behind #: it can be sent, and back and forward go through it.

import type { Catalog, Condition, Filter, Sort } from "./contract";

export const views = ["overview", "errors", "rows", "outputs", "compare", "measured"] as const;
export type View = (typeof views)[number];

export interface State {
  view: View;
  filter: Filter;
  params: Record<string, string>; // of the view: what is sorted, chosen, opened
}

const lists = ["any", "all", "none"] as const;

export function writeAddress(s: State): string {
  const out = new URLSearchParams();
  out.set("view", s.view);
  for (const [key, c] of Object.entries(s.filter.facets ?? {})) {
    for (const list of lists) for (const value of c[list] ?? []) out.append(`${list}.${key}`, value);
    if (c.only) out.set(`only.${key}`, "1");
  }
  for (const [key, r] of Object.entries(s.filter.ranges ?? {})) {
    if (r.min !== undefined) out.set(`min.${key}`, String(r.min));
    if (r.max !== undefined) out.set(`max.${key}`, String(r.max));
  }
  if (s.filter.search) out.set("q", s.filter.search);
  if (s.filter.marked) out.set("marked", "1");
  for (const [key, value] of Object.entries(s.params)) if (value !== "") out.set(key, value);
  return "#" + out.toString();
}

/** What an address says; first is the view of one that names none. */
export function readAddress(hash: string, first: View = "overview"): State {
  const state: State = { view: first, filter: {}, params: {} };
  const facets = new Map<string, Condition>();
  const ranges = new Map<string, { min?: number; max?: number }>();
  const entry = <T>(map: Map<string, T>, key: string, empty: T): T => {
    const known = map.get(key);
    if (known) return known;
    map.set(key, empty);
    return empty;
  };
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    const dot = name.indexOf(".");
    const kind = dot < 0 ? name : name.slice(0, dot);
    const key = name.slice(dot + 1);
    if (name === "view") state.view = views.find((v) => v === value) ?? (value === "row" ? "rows" : "overview"); // a row had a view of its own
    else if (name === "q") state.filter.search = value;
    else if (name === "marked") state.filter.marked = true;
    else if (dot > 0 && (kind === "any" || kind === "all" || kind === "none")) {
      const c = entry<Condition>(facets, key, {});
      c[kind] = [...(c[kind] ?? []), value];
    } else if (dot > 0 && kind === "only") entry<Condition>(facets, key, {}).only = true;
    else if (dot > 0 && (kind === "min" || kind === "max")) {
      if (value.trim() !== "" && Number.isFinite(Number(value))) entry(ranges, key, {} as { min?: number; max?: number })[kind] = Number(value);
    } else state.params[name] = value;
  }
  if (facets.size > 0) state.filter.facets = Object.fromEntries(facets);
  if (ranges.size > 0) state.filter.ranges = Object.fromEntries(ranges);
  return state;
}

export function readSort(text: string | undefined): Sort {
  if (!text) return { key: "row" };
  return text.startsWith("-") ? { key: text.slice(1), descending: true } : { key: text };
}

export function writeSort(s: Sort): string {
  return s.key === "row" && !s.descending ? "" : (s.descending ? "-" : "") + s.key;
}

/** The filter without what the catalogue does not have, and the names of that. */
export function knownFilter(filter: Filter, catalog: Catalog): { filter: Filter; unknown: string[] } {
  const unknown: string[] = [];
  const out: Filter = {};
  for (const [key, c] of Object.entries(filter.facets ?? {})) {
    const facet = catalog.facets.find((f) => f.key === key);
    if (!facet) {
      unknown.push(key);
      continue;
    }
    const known: Condition = {};
    for (const list of lists) {
      const values = (c[list] ?? []).filter((v) => facet.values.some((x) => x.name === v) || (unknown.push(`${facet.title}: ${v}`), false));
      if (values.length > 0) known[list] = values;
    }
    if (c.only) known.only = true;
    if (Object.keys(known).length > 0) (out.facets ??= {})[key] = known;
  }
  for (const [key, r] of Object.entries(filter.ranges ?? {})) {
    if (catalog.measures.some((m) => m.key === key)) (out.ranges ??= {})[key] = r;
    else unknown.push(key);
  }
  if (filter.search) out.search = filter.search;
  if (filter.marked && catalog.labels) out.marked = true;
  return { filter: out, unknown };
}
