// What every part of the page needs: the source, what is shown, and how to change it.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { writeAddress, type State, type View } from "./address";
import type { Catalog, Facet, Filter, Source } from "./contract";
import { RoleUnknown } from "./contract";
import { isEmpty } from "./local";

export interface Page {
  source: Source;
  catalog: Catalog;
  state: State;
  /** Whether a filter is set. */
  filtered: boolean;
  /** The address of a changed state. */
  href(change: Partial<State>): string;
  /** Goes there; replace leaves no step in the history, as while a search is typed. */
  go(change: Partial<State>, replace?: boolean): void;
  /** Changes parameters of the view; "" removes one. */
  set(params: Record<string, string>, replace?: boolean): void;
}

export const PageContext = createContext<Page | undefined>(undefined);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("usePage outside of the page");
  return page;
}

export interface Asked<T> {
  data?: T;
  error?: string;
  waiting: boolean;
}

/**
 * Asks the source whenever what is asked or the part changes. What was asked before is cancelled. The answer about another
 * part, such as other rows, is shown until the new one comes; that to another question never, since its values are others.
 */
export function useAsk<T>(what: string, part: unknown, ask: (source: Source, signal: AbortSignal) => Promise<T>): Asked<T> {
  const { source } = usePage();
  const [again, setAgain] = useState(0);
  const key = `${what} ${JSON.stringify(part)} ${again}`;
  const [answer, setAnswer] = useState<{ what: string; key: string; data?: T; error?: string }>({ what: "", key: "" });
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    const control = new AbortController();
    latest.current(source, control.signal).then(
      (data) => control.signal.aborted || setAnswer({ what, key, data }),
      (e: unknown) => control.signal.aborted || setAnswer({ what, key, error: e instanceof Error ? e.message : String(e) }),
    );
    return () => control.abort();
  }, [source, key]);
  useEffect(() => {
    const retry = () => setAgain((n) => n + 1);
    addEventListener("erreval-retry", retry);
    return () => removeEventListener("erreval-retry", retry);
  }, []);
  const { what: question, key: of, ...rest } = answer;
  return question === what ? { ...rest, waiting: of !== key } : { waiting: true };
}

export function makePage(source: Source, state: State, go: Page["go"]): Page {
  const merged = (change: Partial<State>): State => ({
    view: change.view ?? state.view,
    filter: change.filter ?? state.filter,
    params: change.params ?? (change.view && change.view !== state.view ? {} : change.filter ? withoutPlace(state.params) : state.params),
  });
  return {
    source,
    catalog: source.catalog(),
    state,
    filtered: !isEmpty(state.filter),
    href: (change) => writeAddress(merged(change)),
    go: (change, replace) => go(merged(change), replace),
    set: (params, replace) => {
      const next = { ...state.params };
      for (const [k, v] of Object.entries(params)) {
        if (v === "") delete next[k];
        else next[k] = v;
      }
      go({ ...state, params: next }, replace);
    },
  };
}

/** Another filter has another first page. */
function withoutPlace(params: Record<string, string>): Record<string, string> {
  const { from: _, ...rest } = params;
  return rest;
}

/** A filter that all rows of the source fit, and that is not answered from figures of rows that a sample lacks. */
export function everyRow(catalog: Catalog): Filter {
  return { facets: { run: { any: catalog.runs.map((r) => r.name) } } };
}

/** The view that files open on: comparisons of systems, where there is nothing else. */
export function firstView(catalog: Catalog): View {
  const found = findings(catalog);
  return found.length > 0 && found.every((f) => f.key.startsWith("verdict.")) ? "compare" : "overview";
}

/** Facets whose values are found in rows, most telling first: errors, issues, people's labels, verdicts. */
export function findings(catalog: Catalog): Facet[] {
  const rank = (f: Facet) => {
    const at = ["label", "issue", "gold"].indexOf(f.key);
    return at >= 0 ? at : f.key === "verdict.Overall" ? 3 : f.key.startsWith("verdict.") ? 4 : -1;
  };
  return catalog.facets.filter((f) => rank(f) >= 0).sort((a, b) => rank(a) - rank(b));
}

/**
 * Facets that can be columns: one value a row, and few enough to see. Where the file holds a sample, figures of all rows are
 * there for runs and systems.
 */
export function columnsOf(catalog: Catalog, most = 200): Facet[] {
  const answered = (f: Facet) => !catalog.sample || ["run", "system", "system_run"].includes(f.key);
  const known = (f: Facet) => f.values.filter((v) => v.role !== RoleUnknown).length;
  return catalog.facets.filter((f) => answered(f) && !f.multi && !f.key.startsWith("verdict.") && known(f) > 0 && f.values.length <= most);
}

/** The scores of dimensions; of results of CLEAR, which have none, the judge's score. */
export function scoresOf(catalog: Catalog): Catalog["measures"] {
  const own = catalog.measures.filter((m) => m.key.startsWith("score."));
  const byCLEAR = (run: number) => catalog.runs[run]?.facts.some((f) => f.name === "Made by" && f.value === "CLEAR") ?? false;
  return own.length > 0 ? own : catalog.measures.filter((m) => m.key === "column.score" && m.runs.some(byCLEAR));
}

export function facetOf(catalog: Catalog, key: string): Facet | undefined {
  return catalog.facets.find((f) => f.key === key);
}
