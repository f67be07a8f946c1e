import type { Counts, Facet, Histogram, Run } from "../contract";
import { RoleNone, RoleUnknown } from "../contract";
import { HistogramPicture } from "../charts";
import { count, number } from "../format";
import { drill, Pooled, rowsOfRole } from "../shares";
import { columnsOf, facetOf, findings, scoresOf, useAsk, usePage, type Page } from "../state";
import { texts } from "../texts";
import { facetTitle } from "../titles";
import { Answer, Card, DataTable, Select, type Column } from "../ui";
import { withCondition } from "../filters";
import { firstOf, headsOf, linesOf, Matrix, mostPictures, pairsOf, resultOf, runIn, type Both, type Figures, type Line } from "./matrix";

export function Overview() {
  const page = usePage();
  const { catalog, state } = page;
  const choices = findings(catalog);
  const byChoices = columnsOf(catalog);
  const facet = choices.find((f) => f.key === state.params["facet"]) ?? choices[0];
  const several = (key: string) => byChoices.find((f) => f.key === key && f.values.length > 1);
  const chosen = byChoices.find((f) => f.key === state.params["by"]);
  const measures = scoresOf(catalog);
  const asked = useAsk(`matrix ${facet?.key ?? ""} ${chosen?.key ?? ""}`, state.filter, async (s, signal): Promise<Figures & { runs: string[] } | null> => {
    const looked = facet && (await s.counts({ filter: {}, facet: facet.key, by: "run" }, signal)).columns;
    const runs = catalog.runs.filter((r, i) => (looked ? looked.some((c) => c.name === r.name && c.rows > 0) : measures.some((m) => m.runs.includes(i)))).map((r) => r.name);
    const by = chosen ?? defaultBy(page, runs, several);
    if (!by || (!facet && measures.length === 0)) return null;
    const both = async <T,>(ask: (also: { by?: string }) => Promise<T>): Promise<Both<T>> => {
      const [whole, parts] = await Promise.all([ask({}), ask({ by: by.key })]);
      return { whole, parts };
    };
    const [found, ...scores] = await Promise.all([
      facet && both((also) => s.counts({ filter: state.filter, facet: facet.key, ...also }, signal)),
      ...measures.map((m) => both((also) => s.histogram({ filter: state.filter, measure: m.key, ...also }, signal))),
    ] as const);
    const figures = { facet, by, found, measures, scores, runs, lost: rejectedOf(catalog.runs) };
    return { ...figures, pairs: await pairsOf(s, state.filter, figures, signal) };
  });
  return (
    <>
      <Answer of={asked}>
        {(figures) => {
          if (!figures) return <p class="note">{texts.overview.noFacet}</p>;
          const heads = headsOf(figures);
          const lines = linesOf(figures, heads);
          const most = lines.slice(1).reduce((a, b) => (b.rows > a.rows ? b : a), lines[1] ?? lines[0]!);
          const comparable = lines.filter((l, i) => i === 0 || runIn(figures.by, l) === runIn(figures.by, most));
          const runsApart = comparable.length < lines.length;
          const found = resultOf(figures.facet, heads, comparable);
          const result = found && runsApart ? texts.overview.inRun(runIn(figures.by, most).replace(" · ", "")) + found : found;
          const first = figures.facet && firstOf(figures.facet, heads, lines[0]!);
          const columns = figures.facet?.title ?? texts.overview.scores;
          const same = lines.length === 2 && lines[1]!.rows === lines[0]!.rows; // one system, or none
          const title = same ? columns : texts.overview.matrix(columns, figures.by.title);
          const tells = (key: string) => figures.by.key === key || figures.by.key === "system_run";
          const pooled = !tells("system") && several("system");
          return (
            <>
              {(result || first) && <p class="result">{result} {first && <a href={drill(page, {}, facet!.key, first.value)}>{first.text}</a>} {facet && <SeeAny facet={facet} whole={lines[0]!} />}</p>}
              {figures.found && facet && texts.overview.finder[facet.key] && (
                <p class="note">{texts.overview.finder[facet.key]}{!facetOf(catalog, "gold") && texts.overview.unchecked}.</p>
              )}
              <Card title={title} help={`${pooled ? `${texts.overview.pooled} ` : ""}${texts.overview.matrixHelp} ${texts.intervals(page.catalog.fields.find((f) => f.group)?.name)}`} tools={
                <>
                  {choices.length > 1 && <Select label={texts.overview.facet} value={facet!.key} options={choices.map(option)} onChange={(v) => page.set({ facet: v })} />}
                  {byChoices.length > 1 && <Select label={texts.overview.by} value={figures.by.key} options={byChoices.map(option)} onChange={(v) => page.set({ by: v })} />}
                </>
              }>
                {!tells("run") && <Pooled runs={figures.runs} />}
                <Matrix of={figures} heads={heads} lines={same ? lines.slice(0, 1) : lines} caption={title} />
              </Card>
            </>
          );
        }}
      </Answer>
      <Totals />
      {asked.data && measures.length > 0 && <Distribution of={asked.data} />}
      <Runs runs={catalog.runs} />
    </>
  );
}

/** The way to all rows in which something was found. */
function SeeAny({ facet, whole }: { facet: Facet; whole: Line }) {
  const page = usePage();
  const clean = whole.cells[0];
  const rows = facet.values[0]?.role === RoleNone && clean?.sums ? clean.sums.rows - clean.rows : 0;
  const what = texts.overview.any[facet.key];
  if (!what || rows === 0) return null;
  const was = page.state.filter.facets?.[facet.key];
  const any = facet.values.filter((v) => !v.role && (!was?.any || was.any.includes(v.name))).map((v) => v.name);
  return <a href={page.href({ view: "rows", filter: withCondition(page.state.filter, facet.key, { ...was, any }), params: {} })}>{texts.overview.seeAny(rows, what)}</a>;
}

/** Runs, or the systems of each run, stand beside each other, since rows that two of them have must not be pooled. */
function defaultBy({ catalog }: Page, looked: string[], several: (key: string) => Facet | undefined): Facet | undefined {
  const runs = looked.length > 1 ? several("system_run") ?? several("run") : undefined;
  return runs ?? several("system") ?? columnsOf(catalog)[0];
}

function option(f: Facet) {
  return { value: f.key, title: facetTitle(f) };
}

function rejectedOf(runs: Run[]): number {
  return runs.reduce((n, r) => n + r.rejected, 0);
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
        const figures: { title: string; all: string; part?: string | undefined }[] = [
          { title: texts.overview.rowsOf, all: count(catalog.rows), part: runs && count(runs.total) },
          { title: texts.overview.runs, all: count(catalog.runs.length), part: runs && count(runs.values.filter((v) => v.cells[0]!.rows > 0).length) },
        ];
        const system = facetOf(catalog, "system");
        if (system) {
          const used = (c: Counts | undefined) => c && count(c.values.filter((v, i) => system.values[i]!.role !== RoleUnknown && v.cells[0]!.rows > 0).length);
          figures.push({ title: texts.overview.systems, all: used(of("system", all))!, part: part && used(of("system", part)) });
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
        figures.push({ title: texts.overview.rejected, all: count(rejectedOf(catalog.runs)) });
        return (
          <dl class="totals">
            {figures.filter((f) => f.all !== "0").map((f) => (
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

/** How the values of a score are spread: of each system where they are few, else of all rows. */
function Distribution({ of }: { of: Figures }) {
  const page = usePage();
  const place = Math.max(0, of.measures.findIndex((m) => m.key === page.state.params["measure"]));
  const chosen = of.measures[place]!;
  const { whole, parts } = of.scores[place]!;
  const systems = parts.columns.filter((c) => c.rows > 0).length;
  const shown = systems > 0 && systems <= mostPictures ? parts : whole;
  const behind = useAsk(`behind ${chosen.key} ${of.by.key}`, page.filtered, async (s, signal) =>
    page.filtered ? s.histogram({ filter: {}, measure: chosen.key, ...(shown === parts ? { by: of.by.key } : {}) }, signal) : undefined);
  const title = texts.overview.distribution(chosen.title);
  return (
    <Card title={title} tools={of.measures.length > 1 && (
      <Select label={texts.overview.measure} value={chosen.key} options={of.measures.map((m) => ({ value: m.key, title: m.title }))} onChange={(v) => page.set({ measure: v })} />
    )}>
      {page.filtered && (
        <ul class="legend">
          <li><span class="swatch front" aria-hidden="true" />{texts.filtered}</li>
          <li><span class="swatch back" aria-hidden="true" />{texts.all}</li>
        </ul>
      )}
      <HistogramPicture label={title} of={shown} behind={page.filtered && shown.columns.length === behind.data?.columns.length ? behind.data : undefined} />
      <p class="help">{texts.overview.evaluated(whole.columns[0]!.rows, whole.columns[0]!.missing)}</p>
      <details class="figures"><summary>{texts.measured.figures}</summary><Bins of={shown} title={chosen.title} /></details>
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
  const differing = runs.length > 1 ? whatDiffers(runs) : undefined;
  const columns: Column<Run>[] = [
    { key: "name", title: texts.overview.file, value: (r) => r.name, show: (r) => <a href={page.href({ view: "rows", filter: { facets: { run: { any: [r.name] } } }, params: {} })}>{r.name}</a> },
    ...(differing ? [{ key: "differs", title: texts.overview.differs, value: differing, show: (r: Run) => <span class="text">{differing(r)}</span> }] : []),
    { key: "command", title: texts.overview.command, value: (r) => r.command },
    { key: "rows", title: texts.overview.rowsOf, numeric: true, value: (r) => r.rows, show: (r) => count(r.rows) },
    { key: "rejected", title: texts.overview.rejected, numeric: true, value: (r) => r.rejected, show: (r) => count(r.rejected) },
    ...names.map((n): Column<Run> => ({ key: `f.${n}`, title: n, value: (r) => r.facts.find((f) => f.name === n)?.value ?? null })),
  ];
  return <Card title={texts.overview.runs}><DataTable id="runs" caption={texts.overview.runs} hideCaption columns={columns} rows={runs} /></Card>;
}

/** What chose the results and is not the same in all runs: command, model, taxonomy, judge, thresholds. */
export function whatDiffers(runs: Run[]): (r: Run) => string {
  const settings = (r: Run) => new Map([
    [texts.overview.command, r.command],
    ...r.facts.filter((f) => settingFacts.has(f.name)).map((f) => [f.name, f.value] as const),
    ...Object.entries(r.thresholds ?? {}).map(([label, p]) => [`${label} ≥`, String(p)] as const),
  ]);
  const all = runs.map(settings);
  const names = [...new Set(all.flatMap((s) => [...s.keys()]))].filter((n) => new Set(all.map((s) => s.get(n))).size > 1);
  return (r) => {
    const own = settings(r);
    return names.flatMap((n) => own.has(n) ? [`${n} ${own.get(n)!}`] : []).join(", ") || texts.overview.nothingDiffers;
  };
}

const settingFacts = new Set(["Model", "Taxonomy", "Judge", "Build"]);
