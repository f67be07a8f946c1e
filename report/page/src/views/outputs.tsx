// What each system made of each input: inputs are lines, systems or runs are columns.

import { useRef } from "preact/hooks";
import type { Facet, Field, RowSummary } from "../contract";
import { differing, listedText } from "../fields";
import { isShown } from "../filters";
import { shortened } from "../format";
import { Pooled, runsOfSystems } from "../shares";
import { facetOf, findings, useAsk, usePage } from "../state";
import { texts } from "../texts";
import { facetTitle } from "../titles";
import { Answer, Card, RowLink, Scroll, Select, useRoving } from "../ui";
import { begins, namesOf, Pager, Tags, Texts } from "./rows";

const size = 20;

export function Outputs() {
  const page = usePage();
  const { catalog, state: { params, filter } } = page;
  const sides = ["system", "run"].flatMap((key) => facetOf(catalog, key) ?? []);
  const several = sides.filter((f) => f.values.length > 1);
  const by = sides.find((f) => f.key === params["by"]) ?? several[0] ?? facetOf(catalog, "run")!;
  const choices = findings(catalog);
  const facet = choices.find((f) => f.key === params["facet"]) ?? choices[0];
  const differ = facet && params["differ"] ? facet.key : "";
  const from = begins(params["from"]);
  const asked = useAsk(`outputs ${by.key}`, [filter, differ, from], (s, signal) =>
    s.outputs({ by: by.key, filter, differ, offset: from, limit: size }, signal));
  const put = (params: Record<string, string>) => page.set({ ...params, from: "" });
  const option = (f: Facet) => ({ value: f.key, title: facetTitle(f) });
  return (
    <Card title={texts.outputs.by(by.title)} help={texts.outputs.how[by.key]!} tools={
      <>
        {several.length > 1 && <Select label={texts.outputs.columns} value={by.key} options={sides.map(option)} onChange={(v) => put({ by: v })} />}
        {facet && choices.length > 1 && (
          <Select label={texts.outputs.facet} value={facet.key} options={choices.map(option)} onChange={(v) => put({ facet: v })} />
        )}
        {facet && (
          <label class="check">
            <input type="checkbox" checked={differ !== ""} onChange={(e) => put({ differ: e.currentTarget.checked ? "1" : "" })} /> {texts.outputs.differ}
          </label>
        )}
      </>
    }>
      <Answer of={asked}>
        {(answer) => (
          <>
            {by.key === "system" && <Pooled runs={runsOfSystems(catalog)} />}
            {answer.without > 0 && <p class="note">{texts.outputs.without(answer.without, by.title)}</p>}
            <Lines of={answer.rows} by={by} facet={facet} />
            <Pager offset={from} step={size} total={answer.total} onGo={(n) => page.set({ from: n > 0 ? String(n) : "" })} />
          </>
        )}
      </Answer>
    </Card>
  );
}

function Lines({ of, by, facet }: { of: RowSummary[][]; by: Facet; facet: Facet | undefined }) {
  const page = usePage();
  const { catalog, state } = page;
  const table = useRef<HTMLTableElement>(null);
  useRoving(table);
  const condition = state.filter.facets?.[by.key] ?? {};
  const columns = by.values.map((v, place) => ({ name: v.name, place })).filter(({ name }) => isShown(name, condition));
  const judged = catalog.fields.find((f) => f.judged);
  const origin = ["system", "run"].flatMap((key) => facetOf(catalog, key) ?? []).filter((f) => f.key !== by.key && f.values.length > 1);
  const nothing = state.params["differ"] ? texts.outputs.none : page.filtered ? texts.filter.nothing : texts.table.empty;
  const blank = of.length * columns.length - of.flat().length;
  const cell = (r: RowSummary, own: Field[]) => (
    <>
      <Texts of={r} fields={own} />
      <RowLink n={r.n}>{(judged && listedText(r, judged)) || texts.row.empty}</RowLink>
      {facet && <Tags row={r} facet={facet.key} />}
      {origin.map((f) => <span key={f.key} class="sub">{namesOf(r, f)}</span>)}
    </>
  );
  return (
    <>
      <div class="matrix outputs">
        <Scroll label={texts.outputs.by(by.title)}>
          <table ref={table}>
            <caption class="hidden">{texts.outputs.by(by.title)}</caption>
            <thead><tr><th scope="col">{texts.outputs.input}</th>{columns.map((c) => <th key={c.place} scope="col">{c.name}</th>)}</tr></thead>
            <tbody>
              {of.map((rows, i) => {
                const own = differing(catalog, rows);
                return (
                  <tr key={i}>
                    <th scope="row"><Input of={rows[0]!} without={own} /></th>
                    {columns.map(({ place }) => {
                      const row = rows.find((r) => r.facets[by.key]?.[0] === place);
                      return <td key={place}>{row ? cell(row, own) : <span class="hidden">{texts.outputs.missing}</span>}</td>;
                    })}
                  </tr>
                );
              })}
              {of.length === 0 && <tr><td class="empty" colSpan={1 + columns.length}>{nothing}</td></tr>}
            </tbody>
          </table>
        </Scroll>
      </div>
      {blank > 0 && <p class="help">{texts.outputs.blank(blank)}</p>}
    </>
  );
}

/** What rows of a line have in common: the field that groups them first; without other fields the id. */
function Input({ of, without }: { of: RowSummary; without: Field[] }) {
  const { catalog } = usePage();
  const fields = catalog.fields.filter((f) => !f.judged && of.fields[f.name] && !without.includes(f)).sort((a, b) => Number(b.group ?? false) - Number(a.group ?? false));
  if (fields.length === 0) return <span title={of.id}>{shortened(of.id)}</span>;
  return <Texts of={of} fields={fields} />;
}
