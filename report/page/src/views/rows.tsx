import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { readSort, writeSort } from "../address";
import type { Facet, Field, Filter, RowSummary, Value } from "../contract";
import { RoleNone } from "../contract";
import { listedText } from "../fields";
import { download } from "../files";
import { number } from "../format";
import { ShareTable } from "../shares";
import { facetOf, findings, scoresOf, useAsk, usePage, type Page } from "../state";
import { texts } from "../texts";
import { facetTitle, measureTitle, toneOf } from "../titles";
import { Answer, Card, Export, Fold, RowId, Scroll, Select, useRoving } from "../ui";

const pageSize = 50;

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
export function begins(text: string | undefined): number {
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
      <button type="button" data-go="previous" disabled={offset === 0} onClick={() => onGo(Math.max(0, offset - step))}>{texts.rowsView.previous}</button>
      <span role="status">{texts.rowsView.page(offset + 1, Math.min(total, offset + step), total)}</span>
      <button type="button" data-go="next" disabled={offset + step >= total} onClick={() => onGo(offset + step)}>{texts.rowsView.next}</button>
    </div>
  );
}

/** A column that the list of rows may have. */
interface Choice {
  key: string;
  title: string;
  usual: boolean; // shown where no columns are chosen
  sorts: boolean;
  most?: boolean; // the first click begins with the most
  class?: "text" | "numeric";
  cell: (row: RowSummary) => ComponentChildren;
}

const mostScores = 8; // that are shown where no columns are chosen

/** Fields, what was found, where rows come from, numbers. */
function choicesOf({ catalog, state }: Page, rows: RowSummary[]): Choice[] {
  const asked = [readSort(state.params["sort"]).key, ...Object.keys(state.filter.ranges ?? {})];
  const found = findings(catalog);
  const origin = ["system", "run"].flatMap((key) => facetOf(catalog, key) ?? []).filter((f) => f.key !== "run" || catalog.runs.length > 1);
  const others = catalog.facets.filter((f) => !found.includes(f) && !["system", "run", "system_run"].includes(f.key));
  const scores = scoresOf(catalog);
  const has = (f: Facet) => rows.some((r) => r.facets[f.key]?.length);
  const facet = (f: Facet, usual: boolean): Choice => ({
    key: f.key, title: facetTitle(f), usual, sorts: true, most: f.multi,
    cell: (r) => (found.includes(f) ? <Tags row={r} facet={f.key} /> : namesOf(r, f)),
  });
  return [
    ...[...catalog.fields].sort((a, b) => Number(b.judged) - Number(a.judged)).map((f): Choice => ({
      key: `field.${f.name}`, title: f.name, usual: f.judged, sorts: false, class: "text", cell: (r) => listedText(r, f),
    })),
    ...found.map((f) => facet(f, has(f) && (!f.key.startsWith("verdict.") || asked.includes(f.key)))),
    ...origin.map((f) => facet(f, true)), ...others.map((f) => facet(f, false)),
    ...[...catalog.measures.filter((m) => !scores.includes(m)), ...scores].map((m): Choice => ({
      key: m.key, title: measureTitle(m), sorts: true, most: true, class: "numeric", cell: (r) => number(r.measures[m.key]),
      usual: asked.includes(m.key) || (scores.indexOf(m) >= 0 && scores.indexOf(m) < mostScores && rows.some((r) => r.measures[m.key] !== undefined)),
    })),
  ];
}

function RowTable({ rows }: { rows: RowSummary[] }) {
  const page = usePage();
  const { params } = page.state;
  const table = useRef<HTMLTableElement>(null);
  useRoving(table);
  const choices = choicesOf(page, rows);
  const chosen = params["cols"]?.split("\n");
  const shown = choices.filter((c) => chosen?.includes(c.key) ?? c.usual);
  return (
    <>
      <Chooser choices={choices} shown={shown} />
      <Scroll label={texts.rowsView.caption}>
        <table ref={table} class="rows">
          <caption class="hidden">{texts.rowsView.caption}</caption>
          <thead>
            <tr>
              <Heading of={{ key: "id", title: texts.rowsView.id, sorts: true }} />
              {shown.map((c) => <Heading key={c.key} of={c} />)}
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.n}>
                <th scope="row"><RowId of={r} /></th>
                {shown.map((c) => <td key={c.key} class={c.class}>{c.cell(r)}</td>)}
              </tr>
            ))}
            {rows.length === 0 && <tr><td class="empty" colSpan={1 + shown.length}>{page.filtered ? texts.filter.nothing : texts.table.empty}</td></tr>}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function Heading({ of }: { of: Pick<Choice, "key" | "title" | "sorts" | "class" | "most"> }) {
  const page = usePage();
  const { key, title, most = false } = of;
  if (!of.sorts) return <th scope="col">{title}</th>;
  const sort = readSort(page.state.params["sort"]);
  const here = sort.key === key;
  const next = here && (sort.descending ?? false) !== most ? "" : writeSort({ key, descending: here ? !sort.descending : most });
  return (
    <th scope="col" class={of.class} aria-sort={here ? (sort.descending ? "descending" : "ascending") : "none"}>
      <button type="button" class="sort" title={texts.table.sort(title)} onClick={() => page.set({ sort: next, from: "" })}>
        {title}<span class="arrow" aria-hidden="true">{here ? (sort.descending ? "▼" : "▲") : ""}</span>
      </button>
    </th>
  );
}

/** Chooses columns, which stand in the address. */
function Chooser({ choices, shown }: { choices: Choice[]; shown: Choice[] }) {
  const page = usePage();
  const put = (c: Choice, on: boolean) => {
    const keys = choices.filter((x) => (x === c ? on : shown.includes(x))).map((x) => x.key);
    page.set({ cols: keys.join("\n") }, true);
  };
  return (
    <details class="chooser">
      <summary>{texts.rowsView.columns}</summary>
      <div class="choices">
        {choices.map((c) => (
          <label key={c.key} class="check"><input type="checkbox" checked={shown.includes(c)} onChange={(e) => put(c, e.currentTarget.checked)} /> {c.title}</label>
        ))}
        {page.state.params["cols"] && <button type="button" onClick={() => page.set({ cols: "" }, true)}>{texts.rowsView.usual}</button>}
      </div>
    </details>
  );
}

/** Fields of a row, with their names. */
export function Texts({ of, fields }: { of: RowSummary; fields: Field[] }) {
  return <>{fields.map((f) => <span key={f.name} class="field" title={of.fields[f.name]}><span class="sub">{f.name}</span> {listedText(of, f)}</span>)}</>;
}

/** The names of a row's values of a facet. */
export function namesOf(row: RowSummary, facet: Facet): string {
  return (row.facets[facet.key] ?? []).map((v) => facet.values[v]?.name ?? "").join("; ");
}

/** The likeliest error of a row that has none, though No Error is not likely; as the table that erreval identify prints. */
export function nearest(row: RowSummary, facet: Facet): string {
  const p = (v: Value | undefined) => row.measures[`probability.${v?.name}`] ?? -1;
  const [place, ...more] = row.facets[facet.key] ?? [];
  const right = facet.values[place ?? -1];
  if (right?.role !== RoleNone || more.length > 0 || p(right) < 0 || p(right) >= 0.5) return "";
  const best = facet.values.reduce((a, b) => (p(b) > p(a) ? b : a), right);
  return best === right ? "" : texts.nearest(best.name, p(best));
}

/** What a label does not say: that an error is near, or was not looked for. */
function Doubts({ row, facet }: { row: RowSummary; facet: Facet }) {
  const marks = facetOf(usePage().catalog, "not_judged");
  const left = marks && namesOf(row, marks);
  const doubts = [nearest(row, facet), left && texts.notJudged(left)].filter(Boolean);
  return <>{doubts.map((d) => <span key={d} class="sub">{d}</span>)}</>;
}

export function Tags({ row, facet }: { row: RowSummary; facet: string }) {
  const { catalog } = usePage();
  const f = catalog.facets.find((x) => x.key === facet);
  return (
    <span class="tags">
      {(row.facets[facet] ?? []).map((place) => {
        const v = f?.values[place];
        return v && <span key={v.name} class={`tag ${toneOf(f, v)}`}>{v.name}</span>;
      })}
      {f?.key === "label" && <Doubts row={row} facet={f} />}
    </span>
  );
}

