import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { readSort, writeSort } from "../address";
import type { Catalog, Filter, RowSummary } from "../contract";
import { download } from "../files";
import { number } from "../format";
import { ShareTable } from "../shares";
import { findings, scoresOf, useAsk, usePage } from "../state";
import { texts } from "../texts";
import { facetTitle, measureTitle } from "../titles";
import { Answer, Card, Export, Fold, Scroll, Select, Tag, useRoving } from "../ui";

export const pageSize = 50;

export function Rows() {
  const page = usePage();
  const { catalog, state } = page;
  const choices = findings(catalog);
  const facet = choices.find((f) => f.key === state.params["facet"]) ?? choices[0];
  return (
    <>
      <List />
      {facet && page.filtered && (
        <Fold title={texts.rowsView.comparisonTitle}>
          {choices.length > 1 && (
            <div class="choices">
              <Select label={texts.issues.choose} value={facet.key} options={choices.map((f) => ({ value: f.key, title: facetTitle(f) }))} onChange={(v) => page.set({ facet: v })} />
            </div>
          )}
          <ShareTable facet={facet} id="sides" without={certain(state.filter, facet.key)} />
        </Fold>
      )}
    </>
  );
}

/** Values that every row of a filter has, or none: their shares say nothing. */
function certain(filter: Filter, facet: string): string[] {
  const { any = [], all = [], none = [] } = filter.facets?.[facet] ?? {};
  return [...(any.length === 1 ? any : []), ...all, ...none];
}

/** The place of a list in the address: where it begins. */
function begins(text: string | undefined): number {
  const n = Number(text ?? 0);
  return Number.isSafeInteger(n) && n > 0 ? n : 0;
}

function List() {
  const page = usePage();
  const { catalog, state } = page;
  const sort = readSort(state.params["sort"]);
  const offset = begins(state.params["from"]);
  const asked = useAsk("rows", [state.filter, sort, offset], (s, signal) => s.rows({ filter: state.filter, sort, offset, limit: pageSize }, signal));
  const order = [
    { value: "row", title: texts.rowsView.sortFile }, { value: "id", title: texts.rowsView.id },
    ...catalog.facets.map((f) => ({ value: f.key, title: facetTitle(f) })), ...catalog.measures.map((m) => ({ value: m.key, title: measureTitle(m) })),
  ];
  const by = (key: string, descending: boolean) => page.set({ sort: writeSort({ key, descending }), from: "" });
  const save = async (format: "csv" | "jsonl") => {
    download(`rows.${format}`, await page.source.export({ filter: state.filter, sort, format }));
  };
  return (
    <Card title={texts.rowsView.caption} tools={
      <>
        <Select label={texts.rowsView.sort} value={sort.key} options={order} onChange={(key) => by(key, sort.descending ?? false)} />
        <label class="check"><input type="checkbox" checked={sort.descending ?? false} onChange={(e) => by(sort.key, e.currentTarget.checked)} /> {texts.rowsView.descending}</label>
        <Export caption={texts.rowsView.exportRecords} save={(f) => void save(f)} />
      </>
    }>
      <Answer of={asked}>
        {(answer) => (
          <>
            <RowTable rows={answer.rows} />
            <Pager offset={offset} total={answer.total} onGo={(from) => page.set({ from: from > 0 ? String(from) : "" })} />
          </>
        )}
      </Answer>
    </Card>
  );
}

export function Pager({ offset, total, onGo, step = pageSize }: { offset: number; total: number; onGo: (from: number) => void; step?: number }) {
  return (
    <div class="pager">
      <button type="button" disabled={offset === 0} onClick={() => onGo(Math.max(0, offset - step))}>{texts.rowsView.previous}</button>
      <span role="status">{texts.rowsView.page(offset + 1, Math.min(total, offset + step), total)}</span>
      <button type="button" disabled={offset + step >= total} onClick={() => onGo(offset + step)}>{texts.rowsView.next}</button>
    </div>
  );
}

/** Numbers that a list has columns for: scores, else those that rows are sorted or filtered by. */
function numbersOf(catalog: Catalog, named: string[]): Catalog["measures"] {
  const scores = scoresOf(catalog).slice(0, 8);
  const others = catalog.measures.filter((m) => named.includes(m.key) && !scores.includes(m));
  return [...others, ...scores];
}

function RowTable({ rows }: { rows: RowSummary[] }) {
  const page = usePage();
  const { catalog, state } = page;
  const sort = readSort(state.params["sort"]);
  const table = useRef<HTMLTableElement>(null);
  useRoving(table);
  const found = findings(catalog).filter((f) => !f.key.startsWith("verdict.") || f.key === sort.key);
  const shown = found.filter((f) => rows.some((r) => r.facets[f.key]?.length));
  const system = catalog.facets.find((f) => f.key === "system");
  const asked = [sort.key, ...Object.keys(state.filter.ranges ?? {})];
  const measures = numbersOf(catalog, asked).filter((m) => asked.includes(m.key) || rows.some((r) => r.measures[m.key] !== undefined));
  const open = (n: number) => page.href({ view: "row", params: { row: String(n), ...(state.params["sort"] ? { sort: state.params["sort"] } : {}) } });
  const last = useRef(state.params["at"]);
  useEffect(() => {
    // from a row back to the list: the focus is where it was
    const at = last.current && table.current?.querySelector<HTMLElement>(`a[data-row="${Number(last.current)}"]`);
    if (at) at.focus();
    last.current = undefined;
  }, []);
  // most: the first click begins with the most
  const heading = (title: string, key: string, as: { numeric?: boolean; most?: boolean } = {}) => {
    const numeric = as.numeric ?? false;
    const most = as.most ?? numeric;
    const here = sort.key === key;
    return (
      <th scope="col" class={numeric ? "numeric" : ""} aria-sort={here ? (sort.descending ? "descending" : "ascending") : "none"}>
        <button type="button" class="sort" title={texts.table.sort(title)}
          onClick={() => page.set({ sort: here && (sort.descending ?? false) !== most ? "" : writeSort({ key, descending: here ? !sort.descending : most }), from: "" })}>
          {title}<span class="arrow" aria-hidden="true">{here ? (sort.descending ? "▼" : "▲") : ""}</span>
        </button>
      </th>
    );
  };
  return (
    <Scroll label={texts.rowsView.caption}>
      <table ref={table} class="rows">
        <caption class="hidden">{texts.rowsView.caption}</caption>
        <thead>
          <tr>
            {heading(texts.rowsView.id, "id")}
            <th scope="col">{catalog.fields.find((f) => f.judged)?.name ?? texts.rowsView.text}</th>
            {shown.map((f) => <Fragment key={f.key}>{heading(facetTitle(f), f.key, { most: f.multi })}</Fragment>)}
            {system && heading(system.title, "system")}
            {catalog.runs.length > 1 && heading(texts.rowsView.run, "run")}
            {measures.map((m) => <Fragment key={m.key}>{heading(measureTitle(m), m.key, { numeric: true })}</Fragment>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r.n}>
              <th scope="row"><a href={open(r.n)} data-row={r.n}>{r.id}</a></th>
              <td class="text">{r.text}</td>
              {shown.map((f) => <td key={f.key}><Tags row={r} facet={f.key} /></td>)}
              {system && <td>{(r.facets["system"] ?? []).map((v) => system.values[v]?.name ?? "").join(", ")}</td>}
              {catalog.runs.length > 1 && <td>{catalog.runs[r.run]?.name}</td>}
              {measures.map((m) => <td key={m.key} class="numeric">{number(r.measures[m.key])}</td>)}
            </tr>
          ))}
          {rows.length === 0 && <tr><td class="empty" colSpan={3 + shown.length + measures.length}>{page.filtered ? texts.filter.nothing : texts.table.empty}</td></tr>}
        </tbody>
      </table>
    </Scroll>
  );
}

export function Tags({ row, facet }: { row: RowSummary; facet: string }) {
  const { catalog } = usePage();
  const f = catalog.facets.find((x) => x.key === facet);
  return (
    <span class="tags">
      {(row.facets[facet] ?? []).map((place) => {
        const v = f?.values[place];
        return v && <Tag key={v.name} name={v.name} role={v.role} />;
      })}
    </span>
  );
}

