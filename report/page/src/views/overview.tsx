import type { Counts, Facet, Histogram, Measure, Run } from "../contract";
import { RoleNone, RoleUnknown } from "../contract";
import { HistogramPicture, Spark } from "../charts";
import { count, number, percent } from "../format";
import { HeatMap, rowsOfRole, sums } from "../shares";
import { columnsOf, facetOf, findings, useAsk, usePage } from "../state";
import { mean, share, type Interval } from "../stats";
import { texts } from "../texts";
import { facetTitle } from "../titles";
import { Answer, Card, DataTable, Select, type Column } from "../ui";

export function Overview() {
  const page = usePage();
  const { catalog, state } = page;
  const choices = findings(catalog);
  const byChoices = columnsOf(catalog);
  const facet = choices.find((f) => f.key === state.params["facet"]) ?? choices[0];
  const several = (key: string) => byChoices.find((f) => f.key === key && f.values.length > 1);
  const by = byChoices.find((f) => f.key === state.params["by"]) ?? several("system") ?? several("run") ?? byChoices[0];
  const scores = catalog.measures.filter((m) => m.key.startsWith("score."));
  return (
    <>
      <Totals />
      {facet && by ? (
        <Card title={texts.overview.heat(facet.title, by.title)} help={`${texts.overview.heatHelp} ${texts.intervals}`} tools={
          <>
            {choices.length > 1 && <Select label={texts.overview.facet} value={facet.key} options={choices.map(option)} onChange={(v) => page.set({ facet: v })} />}
            {byChoices.length > 1 && <Select label={texts.overview.by} value={by.key} options={byChoices.map(option)} onChange={(v) => page.set({ by: v })} />}
          </>
        }>
          <Heat facet={facet} by={by} />
        </Card>
      ) : <p class="note">{texts.overview.noFacet}</p>}
      {scores.length > 0 && <Scores measures={scores} by={by} />}
      <Runs runs={catalog.runs} />
    </>
  );
}

function option(f: Facet) {
  return { value: f.key, title: facetTitle(f) };
}

function Totals() {
  const page = usePage();
  const { catalog } = page;
  const { filter } = page.state;
  const keys = ["label", "issue", "unscored", "truncated", "system"].filter((k) => facetOf(catalog, k));
  const asked = useAsk("totals", filter, async (s, signal) => {
    const all = await Promise.all(keys.map((facet) => s.counts({ filter: {}, facet }, signal)));
    const part = page.filtered ? await Promise.all(keys.map((facet) => s.counts({ filter, facet }, signal))) : undefined;
    const runs = part ? await s.counts({ filter, facet: "run" }, signal) : undefined;
    return { all, part, runs };
  });
  return (
    <Answer of={asked}>
      {({ all, part, runs }) => {
        const of = (key: string, from: Counts[]) => from[keys.indexOf(key)];
        const figures: { title: string; all: string; part?: string | undefined; href?: string }[] = [
          { title: texts.overview.rowsOf, all: count(catalog.rows), part: runs && count(runs.total), href: page.href({ view: "rows" }) },
          { title: texts.overview.runs, all: count(catalog.runs.length), part: runs && count(runs.values.filter((v) => v.cells[0]!.rows > 0).length) },
        ];
        const system = facetOf(catalog, "system");
        if (system) {
          const used = (c: Counts | undefined) => c && count(c.values.filter((v, i) => system.values[i]!.role !== RoleUnknown && v.cells[0]!.rows > 0).length);
          figures.push({ title: texts.overview.systems, all: used(of("system", all))!, part: part && used(of("system", part)) });
        }
        for (const [key, title] of [["label", texts.overview.clean], ["issue", noneTitle(facetOf(catalog, "issue"))]] as const) {
          const facet = facetOf(catalog, key);
          const place = facet?.values.findIndex((v) => v.role === RoleNone) ?? -1;
          if (!facet || place < 0) continue;
          const s = (c: Counts | undefined) => c && percent(share(sums(c, place))?.value);
          figures.push({ title, all: s(of(key, all))!, part: part && s(of(key, part)) });
        }
        for (const [key, title] of [["label", texts.overview.untagged], ["issue", texts.overview.unassigned]] as const) {
          const facet = facetOf(catalog, key);
          if (!facet) continue;
          const n = (c: Counts | undefined) => c && count(rowsOfRole(facet, c, RoleUnknown));
          figures.push({ title, all: n(of(key, all))!, part: part && n(of(key, part)) });
        }
        for (const [key, title] of [["unscored", texts.overview.unscored], ["truncated", texts.overview.truncated]] as const) {
          if (!facetOf(catalog, key)) continue;
          const without = facetOf(catalog, key)!.values.findIndex((v) => v.role === RoleNone);
          const n = (c: Counts | undefined) => c && count(c.columns[0]!.rows - (c.values[without]?.cells[0]!.rows ?? 0));
          figures.push({ title, all: n(of(key, all))!, part: part && n(of(key, part)) });
        }
        const rejected = catalog.runs.reduce((n, r) => n + r.rejected, 0);
        figures.push({ title: texts.overview.rejected, all: count(rejected) });
        return (
          <dl class="totals">
            {figures.map((f) => (
              <div key={f.title}>
                <dt>{f.title}</dt>
                <dd>
                  <span class="big">{f.part ?? f.all}</span>
                  {f.part !== undefined && <span class="sub">{texts.all}: {f.all}</span>}
                </dd>
              </div>
            ))}
          </dl>
        );
      }}
    </Answer>
  );
}

function noneTitle(f: Facet | undefined): string {
  return f?.values.find((v) => v.role === RoleNone)?.name ?? "";
}

function Heat({ facet, by }: { facet: Facet; by: Facet }) {
  const page = usePage();
  const { filter } = page.state;
  const asked = useAsk(`heat ${facet.key} ${by.key}`, filter, async (s, signal) => {
    const [columns, whole] = await Promise.all([
      s.counts({ filter, facet: facet.key, by: by.key }, signal), s.counts({ filter, facet: facet.key }, signal),
    ]);
    return { columns, whole };
  });
  return <Answer of={asked}>{(counts) => <HeatMap facet={facet} by={by} counts={counts} id="heat" />}</Answer>;
}

interface ScoreLine {
  name: string;
  cells: (Histogram["columns"][number] & { mean: Interval | undefined })[];
}

function Scores({ measures, by }: { measures: Measure[]; by: Facet | undefined }) {
  const page = usePage();
  const { filter, params } = page.state;
  const chosen = measures.find((m) => m.key === params["measure"]) ?? measures[0]!;
  const asked = useAsk(`scores ${by?.key ?? ""}`, filter, (s, signal) => Promise.all(measures.map(async (m) => {
    const query = { filter, measure: m.key };
    const [whole, parts] = await Promise.all([s.histogram(query, signal), by ? s.histogram({ ...query, by: by.key }, signal) : undefined]);
    return { measure: m, whole, parts };
  })));
  const behind = useAsk(`behind ${chosen.key} ${by?.key ?? ""}`, page.filtered, async (s, signal) =>
    page.filtered ? s.histogram({ filter: {}, measure: chosen.key, ...(by ? { by: by.key } : {}) }, signal) : undefined);
  return (
    <Card title={texts.overview.scores} help={texts.overview.scoresHelp}>
      <Answer of={asked}>
        {(answers) => {
          const lines: ScoreLine[] = [];
          const line = (name: string, of: (a: (typeof answers)[number]) => Histogram["columns"][number]): ScoreLine => ({
            name, cells: answers.map((a) => {
              const c = of(a);
              return { ...c, mean: mean(c.rows, c.sum, c.squares) };
            }),
          });
          if (by) {
            by.values.forEach((v, i) => {
              const l = line(v.name, (a) => a.parts!.columns[i]!);
              if (l.cells.some((c) => c.rows + c.missing > 0)) lines.push(l);
            });
          }
          lines.push(line(texts.overview.whole, (a) => a.whole.columns[0]!));
          const columns: Column<ScoreLine>[] = [
            { key: "name", title: by?.title ?? "", value: (l) => l.name },
            ...measures.flatMap((m, i): Column<ScoreLine>[] => [
              {
                key: m.key, title: m.title, numeric: true, value: (l) => l.cells[i]!.mean?.value ?? null,
                show: (l) => {
                  const c = l.cells[i]!;
                  return (
                    <span class="score">
                      <Spark counts={c.counts} />
                      <span class="value">{number(c.mean?.value)}</span>
                      <span class="sub">{c.mean && !Number.isNaN(c.mean.low) ? `${number(c.mean.low)}–${number(c.mean.high)}` : ""}</span>
                      {c.missing > 0 && <span class="sub unknown">{texts.overview.missing}: {count(c.missing)}</span>}
                    </span>
                  );
                },
              },
              { key: `${m.key} n`, title: `${m.title}: ${texts.issues.count}`, value: (l) => l.cells[i]!.rows, show: "hidden" },
              { key: `${m.key} missing`, title: `${m.title}: ${texts.overview.missing}`, value: (l) => l.cells[i]!.missing, show: "hidden" },
            ]),
          ];
          const answer = answers.find((a) => a.measure.key === chosen.key)!;
          const shown = answer.parts?.columns.some((c) => c.rows > 0) ? answer.parts : answer.whole;
          return (
            <>
              <DataTable id="scores" caption={texts.overview.scores} hideCaption columns={columns} rows={lines} rank={(l) => Number(l === lines.at(-1))} />
              <div class="card-head inner">
                <h3>{texts.overview.distribution(chosen.title)}</h3>
                <div class="card-tools">
                  {measures.length > 1 && (
                    <Select label={texts.overview.measure} value={chosen.key} options={measures.map((m) => ({ value: m.key, title: m.title }))} onChange={(v) => page.set({ measure: v })} />
                  )}
                </div>
              </div>
              {page.filtered && (
                <ul class="legend">
                  <li><span class="swatch front" aria-hidden="true" />{texts.filtered}</li>
                  <li><span class="swatch back" aria-hidden="true" />{texts.all}</li>
                </ul>
              )}
              <HistogramPicture label={texts.overview.distribution(chosen.title)} of={shown} behind={page.filtered && shown.columns.length === behind.data?.columns.length ? behind.data : undefined} />
              <p class="help">{texts.overview.evaluated(answer.whole.columns[0]!.rows)}; {texts.overview.missing.toLowerCase()}: {count(answer.whole.columns[0]!.missing)}.</p>
              <details class="figures"><summary>{texts.measured.figures}</summary><Bins of={shown} title={chosen.title} /></details>
            </>
          );
        }}
      </Answer>
    </Card>
  );
}

function Bins({ of, title }: { of: Histogram; title: string }) {
  const bins = of.edges.slice(0, -1).map((from, i) => ({ from, to: of.edges[i + 1]!, i }));
  const columns: Column<(typeof bins)[number]>[] = [
    { key: "bin", title: texts.overview.bin, value: (b) => `${number(b.from)} … ${number(b.to)}` },
    ...of.columns.map((c, k): Column<(typeof bins)[number]> => ({
      key: `c${k}`, title: c.name || texts.issues.count, numeric: true, value: (b) => c.counts[b.i]!,
    })),
  ];
  return <DataTable id="bins" caption={texts.overview.distribution(title)} hideCaption columns={columns} rows={bins} />;
}

function Runs({ runs }: { runs: Run[] }) {
  const page = usePage();
  const names = [...new Set(runs.flatMap((r) => r.facts.map((f) => f.name)))];
  const columns: Column<Run>[] = [
    { key: "name", title: texts.overview.file, value: (r) => r.name, show: (r) => <a href={page.href({ view: "rows", filter: { facets: { run: { any: [r.name] } } }, params: {} })}>{r.name}</a> },
    { key: "command", title: texts.overview.command, value: (r) => r.command },
    { key: "rows", title: texts.overview.rowsOf, numeric: true, value: (r) => r.rows, show: (r) => count(r.rows) },
    { key: "rejected", title: texts.overview.rejected, numeric: true, value: (r) => r.rejected, show: (r) => count(r.rejected) },
    ...names.map((n): Column<Run> => ({ key: `f.${n}`, title: n, value: (r) => r.facts.find((f) => f.name === n)?.value ?? null })),
  ];
  return <Card title={texts.overview.runs}><DataTable id="runs" caption={texts.overview.runs} hideCaption columns={columns} rows={runs} /></Card>;
}
