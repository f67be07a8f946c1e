// Shares of rows by value, in tables beside those of a filter.

import { useMemo } from "preact/hooks";
import type { Catalog, Counts, Facet, Filter, Value } from "./contract";
import { RoleNone, RoleUnknown } from "./contract";
import { isShown, withCondition, withUse } from "./filters";
import { count, number, percent, points, shareInterval } from "./format";
import { everyRow, facetOf, useAsk, usePage, type Page } from "./state";
import { apartShares, holm, partMinusAll, share, type Difference as Tested, type GroupSums, type Interval } from "./stats";
import { texts } from "./texts";
import { toneOf } from "./titles";
import { Answer, Bar, DataTable, DifferenceBar, type Column } from "./ui";

export function sums(c: Counts, value: number, column = 0): GroupSums {
  const cell = c.values[value]!.cells[column]!;
  const of = cell.of ?? c.columns[column]!;
  return { groups: of.groups, sum: cell.rows, rows: of.rows, sumSquares: cell.squares, rowSquares: of.squares, products: cell.products };
}

/** Sums of numbers, of which a histogram or pairs have the squares. */
export function numberSums(sum: number, rows: number, of: { groups: number; squares: number; row_squares: number; products: number }): GroupSums {
  return { groups: of.groups, sum, rows, sumSquares: of.squares, rowSquares: of.row_squares, products: of.products };
}

/** The value of a role that rows of a column have, and its rows. */
export function rowsOfRole(facet: Facet, c: Counts, role: string): number {
  return facet.values.reduce((n, v, i) => n + (v.role === role ? c.values[i]!.cells.reduce((m, cell) => m + cell.rows, 0) : 0), 0);
}

interface Line {
  value: Value;
  place: number;
  all: GroupSums;
  of: Interval | undefined; // of all rows
  rows: number;
  filtered?: GroupSums;
  part?: Interval | undefined;
  difference?: Tested | undefined;
  trend?: Tested | undefined;
  other?: number | undefined; // share in the run of the trend
  now?: number | undefined; // share in the other runs
}

/** The rows of the filter that is set, in another one's place where both name a facet; with a value of a facet. */
export function drill(page: Page, also: Filter, facet = "", value = ""): string {
  const filter = { ...page.state.filter, ...also, facets: { ...page.state.filter.facets, ...also.facets } };
  return page.href({ view: "rows", filter: facet ? withUse(filter, facet, value, "any") : filter, params: {} });
}

/** Says that rows of several runs are added up, which runs over the same rows should not be, with the way to one of them. */
export function Pooled({ runs }: { runs: string[] }) {
  const page = usePage();
  const shown = runs.filter((name) => isShown(name, page.state.filter.facets?.["run"]));
  if (shown.length < 2) return null;
  const alone = (name: string) => page.href({ filter: withCondition(page.state.filter, "run", { any: [name] }) });
  return <p class="note">{texts.pooled(shown.length)}{shown.map((name, i) => <span key={name}>{i > 0 && ","} <a href={alone(name)}>{name}</a></span>)}</p>;
}

/** The runs of which several have systems. */
export function runsOfSystems(catalog: Catalog): string[] {
  const both = facetOf(catalog, "system_run")?.values ?? [];
  return catalog.runs.map((r) => r.name).filter((name) => both.some((v) => v.name.endsWith(` · ${name}`)));
}

export function ShareTable({ facet, id, trend, detail, without = [] }: { facet: Facet; id: string; trend?: string; detail?: boolean; without?: string[] }) {
  const page = usePage();
  const { filter } = page.state;
  const all = useAsk(`all ${facet.key}`, "", (s, signal) => s.counts({ filter: {}, facet: facet.key }, signal));
  const part = useAsk(`part ${facet.key}`, filter, async (s, signal) => {
    if (!page.filtered) return undefined;
    const chosen = await s.counts({ filter, facet: facet.key }, signal);
    // A filter is answered from the sample, and so is what it is a part of.
    const whole = s.sampled() ? await s.counts({ filter: everyRow(page.catalog), facet: facet.key }, signal) : undefined;
    return { chosen, whole };
  });
  const sides = useAsk(`trend ${facet.key} ${trend ?? ""}`, filter, async (s, signal) =>
    trend ? s.counts({ filter: withCondition(filter, "run", {}), facet: facet.key, by: "run" }, signal) : undefined);
  return (
    <Answer of={all}>
      {(whole) => {
        const lines = linesOf(facet, whole, part.data?.chosen, part.data?.whole, sides.data, trend, page).filter((l) => !without.includes(l.value.name));
        return <Lines facet={facet} id={id} lines={lines} filtered={part.data?.chosen} trend={sides.data && trend ? trend : ""} detail={detail ?? false} whole={whole} />;
      }}
    </Answer>
  );
}

/** The lines of a table of shares: of all rows, of those of a filter, and of a run beside the others that are chosen. */
export function linesOf(facet: Facet, whole: Counts, part: Counts | undefined, sample: Counts | undefined, sides: Counts | undefined, trend: string | undefined, page: Page): Line[] {
  const old = sides && trend ? page.catalog.runs.findIndex((r) => r.name === trend) : -1;
  return facet.values.map((value, place) => {
    const unknown = value.role === RoleUnknown;
    const all = sums(whole, place);
    const line: Line = { value, place, all, rows: all.sum, of: unknown ? undefined : share(all) };
    if (part) {
      line.filtered = sums(part, place);
      if (!unknown) {
        line.part = share(line.filtered);
        line.difference = partMinusAll(line.filtered, sums(sample ?? whole, place));
      }
    }
    if (sides && old >= 0 && !unknown) {
      const before = sums(sides, place, old);
      const others = sides.columns.map((_, i) => i).filter((i) =>
        i !== old && sides.columns[i]!.rows > 0 && isShown(sides.columns[i]!.name, page.state.filter.facets?.["run"]));
      const after = addSums(others.map((i) => sums(sides, place, i)));
      line.trend = apartShares(before, after);
      if (line.trend) [line.other, line.now] = [before.sum / before.rows, after.sum / after.rows];
    }
    return line;
  });
}

/** Of several runs together, whose groups are counted apart. */
function addSums(parts: GroupSums[]): GroupSums {
  const total: GroupSums = { groups: 0, sum: 0, rows: 0, sumSquares: 0, rowSquares: 0, products: 0 };
  for (const p of parts) for (const key of Object.keys(total) as (keyof GroupSums)[]) total[key] += p[key];
  return total;
}

function Lines({ facet, id, lines, filtered, trend, detail, whole }: {
  facet: Facet; id: string; lines: Line[]; filtered: Counts | undefined; trend: string; detail: boolean; whole: Counts;
}) {
  const page = usePage();
  const highest = Math.max(0.01, ...lines.filter((l) => l.value.role !== RoleUnknown).flatMap((l) => [l.of?.high ?? 0, l.part?.high ?? 0]));
  const widest = Math.max(0, ...lines.flatMap((l) => [l.difference, l.trend]).flatMap((d) => (d ? [Math.abs(d.low), Math.abs(d.high)] : [])));
  const looked = whole.columns[0]?.rows ?? 0;
  const has = (test: (v: Value) => boolean) => detail && facet.values.some(test);
  const columns = useMemo(() => {
    const clear = { difference: settled(lines, (l) => l.difference), trend: settled(lines, (l) => l.trend) };
    const out: Column<Line>[] = [
      {
        key: "name", title: facet.title, value: (l) => l.value.name,
        show: (l) => (
          <>
            <a href={drill(page, {}, facet.key, l.value.name)} title={l.value.note ?? texts.issues.drill(l.value.name)}>{l.value.name}</a>
            {l.value.role === RoleUnknown && <span class="badge">{texts.unknown}</span>}
            {l.value.note && detail && <span class="sub">{l.value.note}</span>}
          </>
        ),
      },
      { key: "rows", title: filtered ? `${texts.all}` : texts.issues.count, numeric: true, value: (l) => l.rows, show: (l) => count(l.rows) },
      {
        key: "share", title: texts.issues.share, numeric: true, value: (l) => l.of?.value ?? null,
        show: (l) => <Figure of={l.of} most={highest} tone={toneOf(facet, l.value)} />,
      },
      { key: "low", title: texts.issues.low, numeric: true, value: (l) => l.of?.low ?? null, show: "hidden" },
      { key: "high", title: texts.issues.high, numeric: true, value: (l) => l.of?.high ?? null, show: "hidden" },
    ];
    if (filtered) {
      out.push(
        { key: "f.rows", title: texts.filtered, numeric: true, value: (l) => l.filtered?.sum ?? null, show: (l) => count(l.filtered?.sum ?? 0) },
        {
          key: "f.share", title: `${texts.issues.share} (${texts.filtered.toLowerCase()})`, numeric: true, value: (l) => l.part?.value ?? null,
          show: (l) => <Figure of={l.part} most={highest} tone={`${toneOf(facet, l.value)} part`} />,
        },
        { key: "f.low", title: `${texts.filtered} ${texts.issues.low}`, numeric: true, value: (l) => l.part?.low ?? null, show: "hidden" },
        { key: "f.high", title: `${texts.filtered} ${texts.issues.high}`, numeric: true, value: (l) => l.part?.high ?? null, show: "hidden" },
        {
          key: "difference", title: texts.difference, numeric: true, value: (l) => l.difference?.value ?? null,
          show: (l) => <Difference of={l.difference} most={widest} clear={clear.difference.has(l)} />,
        },
        { key: "d.low", title: `${texts.difference} ${texts.issues.low}`, numeric: true, value: (l) => l.difference?.low ?? null, show: "hidden" },
        { key: "d.high", title: `${texts.difference} ${texts.issues.high}`, numeric: true, value: (l) => l.difference?.high ?? null, show: "hidden" },
      );
    }
    if (trend) {
      out.push(
        { key: "before", title: trend, numeric: true, value: (l) => l.other ?? null, show: (l) => percent(l.other) },
        { key: "now", title: texts.issues.trendNow, numeric: true, value: (l) => l.now ?? null, show: (l) => percent(l.now) },
        {
          key: "trend", title: texts.issues.trendOf(trend), numeric: true, value: (l) => l.trend?.value ?? null,
          show: (l) => <Difference of={l.trend} most={widest} clear={clear.trend.has(l)} />,
        },
      );
    }
    if (has((v) => v.severity !== undefined && v.severity !== null)) {
      const byScore = has((v) => (v.severity ?? 1) < 1); // other severities begin at 1
      out.push({ key: "severity", title: byScore ? texts.issues.severityByScore : texts.issues.severity, help: texts.issues.severityHelp(byScore), numeric: true, value: (l) => l.value.severity ?? null, show: (l) => l.value.severity?.toFixed(2) ?? "–" });
    }
    if (has((v) => v.stability !== undefined && v.stability !== null)) {
      out.push({ key: "stability", title: texts.issues.stability, help: texts.issues.stabilityHelp, numeric: true, value: (l) => l.value.stability ?? null, show: (l) => l.value.stability?.toFixed(2) ?? "–" });
    }
    if (has((v) => (v.related?.length ?? 0) > 0)) {
      out.push({
        key: "related", title: texts.issues.related, help: texts.issues.relatedHelp, value: (l) => l.value.related?.map((r) => r.name).join("; ") ?? null,
        show: (l) => l.value.related?.map((r) => <span key={r.name} class="related">{r.name} <span class="sub">φ {number(r.phi)}, {count(r.rows)}</span></span>),
      });
    }
    if (has((v) => (v.examples?.length ?? 0) > 0)) {
      out.push({
        key: "examples", title: texts.issues.examples, value: (l) => l.value.examples?.join(" | ") ?? null,
        show: (l) => (l.value.examples?.length ?? 0) > 0 && (
          <details><summary>{texts.issues.examples} ({l.value.examples!.length})</summary><ul class="examples">{l.value.examples!.map((e, i) => <li key={i}>{e}</li>)}</ul></details>
        ),
      });
    }
    return out;
  }, [lines]);
  return (
    <>
      <DataTable id={id} caption={facet.title} hideCaption columns={columns} rows={lines} rank={(l) => order(l.value)}
        class={(l) => (l.value.role ? `role-${l.value.role}` : "")} />
      <p class="help">
        {texts.issues.lookedAt(looked)}{filtered && `; ${texts.filtered.toLowerCase()}: ${texts.issues.lookedAt(filtered.columns[0]?.rows ?? 0)}`}.{" "}
        {lines.filter((l) => l.value.role !== RoleUnknown && l.all.rows < looked).map((l) => `${texts.issues.notJudged(l.value.name, looked - l.all.rows)} `)}
        {texts.intervals(page.catalog.fields.find((f) => f.group)?.name)}
      </p>
    </>
  );
}

export function Figure({ of, most, tone }: { of: Interval | undefined; most: number; tone: string }) {
  if (!of) return <span class="figure">–</span>;
  return (
    <span class="figure">
      <Bar of={of} most={most} tone={tone} />
      <span class="value">{percent(of.value)}</span>
      <span class="sub">{shareInterval(of)}</span>
    </span>
  );
}

/** The lines whose difference is not 0, by Holm's correction for all of them. */
function settled(lines: Line[], of: (l: Line) => Tested | undefined): Set<Line> {
  const tested = lines.filter(of);
  const corrected = holm(tested.map((l) => of(l)!.p));
  return new Set(tested.filter((_, i) => corrected[i]! < 0.05));
}

export function Difference({ of, most, clear }: { of: Interval | undefined; most: number; clear: boolean }) {
  if (!of) return <span class="figure">–</span>;
  return (
    <span class={clear ? "figure clear" : "figure"}>
      <DifferenceBar of={of} most={most} />
      <span class="value">{points(of.value)}</span>
      <span class="sub">{points(of.low)} to {points(of.high)}</span>
    </span>
  );
}

function order(v: Value): number {
  return v.role === RoleNone ? 0 : v.role === RoleUnknown ? 2 : 1;
}

