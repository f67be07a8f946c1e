// The filter: a search and what is set, above every view; and a panel in which it is set.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Facet, Measure } from "./contract";
import { parts, use, withMarked, withOnly, withCondition, withRange, withSearch, withUse, type How } from "./filters";
import { count } from "./format";
import { findings, useAsk, usePage } from "./state";
import { texts } from "./texts";
import { Select } from "./ui";
import { facetTitle, measureTitle } from "./titles";

export const searchId = "search";

export function FilterBar({ open, onToggle, children }: { open: boolean; onToggle: () => void; children: ComponentChildren }) {
  const page = usePage();
  const { filter } = page.state;
  const chosen = useAsk("chosen", filter, async (s, signal) => (page.filtered ? s.counts({ filter, facet: "run" }, signal) : undefined));
  const shown = parts(filter, page.catalog);
  const runs = page.catalog.runs;
  const onRuns = filter.facets?.["run"]?.any ?? [];
  const run = onRuns.length === 1 ? onRuns[0]! : "";
  const total = page.source.sampled() && page.filtered ? page.catalog.sample!.rows : page.catalog.rows;
  const [typed, setTyped] = useState(filter.search ?? "");
  const sent = useRef(filter.search ?? "");
  useEffect(() => {
    // back and forward change the search, too
    if ((filter.search ?? "") !== sent.current) {
      sent.current = filter.search ?? "";
      setTyped(sent.current);
    }
  }, [filter.search]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => {
      const begun = sent.current === "";
      sent.current = typed;
      page.go({ filter: withSearch(filter, typed) }, !begun);
    }, 150);
    return () => clearTimeout(timer);
  }, [typed, filter]);
  return (
    <div class="filterbar" role="search">
      <div class="filterline">
        <input id={searchId} type="search" value={typed} placeholder={texts.filter.search} aria-label={`${texts.filter.search}. ${texts.filter.searchHelp}`}
          title={texts.filter.searchHelp} onInput={(e) => setTyped(e.currentTarget.value)} />
        {runs.length > 1 && (
          <Select label={texts.filter.run} value={run} options={[{ value: "", title: texts.filter.everyRun }, ...runs.map((r) => ({ value: r.name, title: r.name }))]}
            onChange={(v) => page.go({ filter: withCondition(filter, "run", v === "" ? {} : { any: [v] }) })} />
        )}
        <button type="button" id="filter-toggle" aria-expanded={open} aria-controls="filter-panel" onClick={onToggle}>{open ? texts.filter.close : texts.filter.open}</button>
        <span class={page.filtered ? "chosen active" : "chosen"} role="status">
          {page.filtered && chosen.data ? `${texts.filter.shown(chosen.data.total, total)}${page.source.sampled() ? `, ${texts.ofSample}` : ""}` : texts.rows(page.catalog.rows)}
        </span>
      </div>
      {shown.length > 0 && (
        <ul class="chips" aria-label={texts.filter.active}>
          {shown.map((p) => {
            const how = p.how === "search" ? texts.filter.search_ : texts.filter[p.how];
            const words = [p.facet, how, p.value].filter(Boolean).join(" ");
            return (
              <li key={words}>
                <a class={p.how === "none" ? "chip without" : "chip"} href={page.href({ filter: p.without })} aria-label={texts.filter.remove(words)} title={texts.filter.remove(words)}>
                  {p.facet && <span class="sub">{p.facet}</span>} <span class="how">{how}</span> {p.value} <span aria-hidden="true">×</span>
                </a>
              </li>
            );
          })}
          <li><a class="chip clear" href={page.href({ filter: {} })}>{texts.filter.clear}</a></li>
        </ul>
      )}
      {children}
    </div>
  );
}

export function FilterPanel({ onClose }: { onClose: () => void }) {
  const page = usePage();
  const { catalog, state } = page;
  const used = (key: string) => state.filter.facets?.[key] !== undefined;
  const first = findings(catalog);
  const facets = [...first, ...catalog.facets.filter((f) => !first.includes(f))].filter((f) => f.values.length > 1 || used(f.key));
  return (
    <section id="filter-panel" class="filterpanel" aria-label={texts.filter.title}>
      <div class="filterpanel-head">
        <h2>{texts.filter.title}</h2>
        {catalog.labels && (
          <label class="check"><input type="checkbox" checked={state.filter.marked ?? false} onChange={(e) => page.go({ filter: withMarked(state.filter, e.currentTarget.checked) })} /> {texts.filter.marked}</label>
        )}
        {page.filtered && <a class="button" href={page.href({ filter: {} })}>{texts.filter.clear}</a>}
        <button type="button" onClick={onClose}>{texts.filter.close}</button>
      </div>
      <div class="facets">
        {facets.map((f, i) => <FacetFilter key={f.key} facet={f} open={i === 0 || f.key === "system" || used(f.key)} />)}
        {catalog.measures.length > 0 && (
          <details class="facet" open={Object.keys(state.filter.ranges ?? {}).length > 0}>
            <summary>{texts.filter.numbers}</summary>
            <div class="ranges">{catalog.measures.map((m) => <RangeFilter key={m.key} measure={m} />)}</div>
          </details>
        )}
      </div>
    </section>
  );
}

const most = 60; // values shown before a search is asked for

function FacetFilter({ facet, open }: { facet: Facet; open: boolean }) {
  const page = usePage();
  const { filter } = page.state;
  const [search, setSearch] = useState("");
  const [shownOpen, setOpen] = useState(open);
  const counts = useAsk(`filter ${facet.key}`, shownOpen, async (s, signal) => (shownOpen ? s.counts({ filter: {}, facet: facet.key }, signal) : undefined));
  const values = facet.values.map((v, i) => ({ v, i })).filter(({ v }) => v.name.toLowerCase().includes(search.toLowerCase()));
  const shown = values.filter(({ v }, i) => i < most || use(filter, facet.key, v.name));
  const hows: How[] = facet.multi ? ["any", "all", "none"] : ["any", "none"];
  const only = filter.facets?.[facet.key]?.only ?? false;
  return (
    <details class="facet" open={shownOpen} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{facetTitle(facet)}{filter.facets?.[facet.key] && <span class="badge">{texts.filter.set}</span>}</summary>
      {facet.values.length > 12 && (
        <input type="search" value={search} placeholder={texts.filter.values} aria-label={`${texts.filter.values}: ${facet.title}`} onInput={(e) => setSearch(e.currentTarget.value)} />
      )}
      <ul>
        {shown.map(({ v, i }) => {
          const used = use(filter, facet.key, v.name);
          return (
            <li key={v.name} class={v.role ? `role-${v.role}` : ""}>
              <span class="uses" role="group" aria-label={`${facetTitle(facet)}: ${v.name}`}>
                {hows.map((how) => (
                  <button key={how} type="button" class={`use ${how}`} aria-pressed={used === how} aria-label={`${facetTitle(facet)} ${texts.filter[how]} ${v.name}`}
                    onClick={() => page.go({ filter: withUse(filter, facet.key, v.name, used === how ? undefined : how) })}>{texts.filter[how]}</button>
                ))}
              </span>
              <span class="name">{v.name}</span>
              <span class="sub">{counts.data ? count(counts.data.values[i]!.cells[0]!.rows) : ""}</span>
            </li>
          );
        })}
      </ul>
      {values.length > shown.length && <p class="help">{texts.filter.more(values.length - shown.length)}</p>}
      {facet.multi && (
        <label class="check">
          <input type="checkbox" checked={only} onChange={(e) => page.go({ filter: withOnly(filter, facet.key, e.currentTarget.checked) })} />{" "}
          {texts.filter.only} <span class="sub">{texts.filter.onlyHelp}</span>
        </label>
      )}
    </details>
  );
}

function RangeFilter({ measure }: { measure: Measure }) {
  const page = usePage();
  const { filter } = page.state;
  const range = filter.ranges?.[measure.key] ?? {};
  const id = useId();
  const put = (end: "min" | "max", text: string) => {
    const n = text.trim() === "" ? undefined : Number(text);
    if (n !== undefined && !Number.isFinite(n)) return;
    const { [end]: _, ...rest } = range;
    page.go({ filter: withRange(filter, measure.key, n === undefined ? rest : { ...rest, [end]: n }) });
  };
  const step = measure.step ?? "any";
  const field = (end: "min" | "max", label: string, placeholder: number) => (
    <input type="number" step={step} value={range[end] ?? ""} placeholder={String(placeholder)} aria-label={`${measureTitle(measure)}: ${label}`}
      onInput={(e) => put(end, e.currentTarget.value)} />
  );
  return (
    <div class="range" role="group" aria-labelledby={id}>
      <span id={id} class="name">{measureTitle(measure)}</span>
      {field("min", texts.filter.at, measure.low)}<span aria-hidden="true">–</span>{field("max", texts.filter.most, measure.high)}
    </div>
  );
}
