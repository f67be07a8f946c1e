// The matrix of the overview: a line for each system, a column for each error and each score. "erreval stats" prints it.

import type { Counts, Facet, Filter, Histogram, Measure, Pairs, Source, Value } from "../contract";
import { RoleNone, RoleUnknown } from "../contract";
import { Spark } from "../charts";
import { count, number, numberInterval, percent, shareInterval } from "../format";
import { drill, numberSums, sums } from "../shares";
import { usePage } from "../state";
import { apartMeans, apartShares, holm, mean, pairedMeans, share, type Difference, type GroupSums, type Interval } from "../stats";
import { texts } from "../texts";
import { toneOf } from "../titles";
import { DataTable, type Column } from "../ui";
import { arePaired, mostlyPaired, valueLines } from "./compare";

/** What is said of all rows, and of those of each system. */
export interface Both<T> {
  whole: T;
  parts: T;
}

export interface Figures {
  facet: Facet | undefined;
  by: Facet;
  found: Both<Counts> | undefined; // of the facet
  measures: Measure[];
  scores: Both<Histogram>[]; // of the measures
  lost?: number; // lines that were rejected
  pairs?: Map<string, Pairs> | undefined; // of the system that is best by the first column and others, by their names
}

interface Cell {
  rows: number; // that have it
  of: Interval | undefined;
  sums?: GroupSums; // of a share, or a mean
  best?: boolean; // surely better than the second best
  paired?: boolean; // compared with the second best by rows for the same input
  against?: string; // the system that has more of them by rows for the same input
  unknown?: number; // the system's rows of which it is not known
  unsure?: string; // why nothing is sure: of far more rows of one system it is not known
  bins?: number[];
}

interface Head {
  key: string;
  title: string;
  value?: Value; // of the facet; without it a score
  tone?: string; // of the value
  span: number; // between a row's least and greatest value
  cell: (system: number) => Cell; // below 0 that of all rows
}

export interface Line {
  name: string;
  system: number;
  rows: number;
  few: boolean; // so few groups that the figures say little
  cells: Cell[];
}

const all = -1;
const fewGroups = 20; // as report.FewGroups
const mostPaired = 8; // systems that the best is compared with by pairs
const mostUneven = 0.1; // likewise
const mostIssues = 12; // as in the matrix that is printed
const mostIntervals = 8; // columns beside which each cell has room for its interval
export const mostPictures = 4; // systems whose histograms are drawn one below the other

/** The columns: rows without an error, errors, rows that were not looked at if there are any, scores. */
export function headsOf({ facet, found, measures, scores }: Figures): Head[] {
  const values = (facet?.values ?? []).map((value, place) => ({ value, place }));
  const rows = (place: number) => sums(found!.whole, place).sum;
  const errors = values.filter(({ value }) => !value.role);
  if (facet?.key === "issue") errors.sort((a, b) => rows(b.place) - rows(a.place)).splice(mostIssues);
  const shown = [
    ...values.filter(({ value }) => value.role === RoleNone), ...errors,
    ...values.filter(({ value, place }) => value.role === RoleUnknown && rows(place) > 0),
  ];
  return [
    ...shown.map(({ value, place }): Head => ({
      key: `v${place}`, title: value.name, value, tone: toneOf(facet!, value), span: 1,
      cell: (system) => {
        const s = system === all ? sums(found!.whole, place) : sums(found!.parts, place, system);
        const unknown = values.reduce((n, v) => (v.value.role === RoleUnknown ? n + (system === all ? sums(found!.whole, v.place) : sums(found!.parts, v.place, system)).sum : n), 0);
        return value.role === RoleUnknown ? { rows: s.sum, of: undefined } : { rows: s.sum, of: share(s), sums: s, unknown };
      },
    })),
    ...measures.map((m, i): Head => ({
      key: m.key, title: m.title, span: m.high - m.low,
      cell: (system) => {
        const c = system === all ? scores[i]!.whole.columns[0]! : scores[i]!.parts.columns[system]!;
        const s = numberSums(c.sum, c.rows, c);
        return { rows: c.rows, of: mean(s), sums: s, bins: c.counts, unknown: c.missing };
      },
    })),
  ];
}

/** All rows, then the systems, the best first; those of few groups come last. */
export function linesOf(of: Figures, heads: Head[]): Line[] {
  const looked = (system: number) => {
    const counted = system === all ? of.found?.whole.columns[0] : of.found?.parts.columns[system];
    const scored = system === all ? of.scores[0]?.whole.columns[0] : of.scores[0]?.parts.columns[system];
    return counted ?? { rows: scored?.rows ?? 0, groups: fewGroups };
  };
  const most = Math.max(0, ...of.by.values.map((_, i) => looked(i).groups));
  const line = (name: string, system: number): Line => ({
    name, system, rows: looked(system).rows, cells: heads.map((h) => h.cell(system)),
    few: system !== all && of.by.values.length > 2 && most >= fewGroups / 2 && looked(system).groups < Math.min(fewGroups, Math.ceil(most / 2)),
  });
  const best = (l: Line) => l.cells[0]?.of?.value ?? -Infinity;
  const systems = of.by.values.map((v, i) => line(v.name, i)).filter((l) => l.rows > 0 || l.cells.some((c) => c.rows > 0));
  systems.sort((a, b) => Number(a.few) - Number(b.few) || best(b) - best(a) || 0);
  const whole = line(texts.overview.whole, all);
  const known = systems.filter((l) => !l.few);
  for (const run of new Set(known.map((l) => runIn(of.by, l)))) markBest(of, heads, whole, known.filter((l) => runIn(of.by, l) === run));
  return [whole, ...systems];
}

/** The run of a system's line where lines are systems of several runs: systems are compared within a run. */
export function runIn(by: Facet, l: Line): string {
  return by.key === "system_run" ? l.name.slice(l.name.lastIndexOf(" · ")) : "";
}

/** Compares the rows of the system that is best by the first column, where that is the rows without an error, with those of others. */
export async function pairsOf(s: Source, filter: Filter, of: Figures, signal?: AbortSignal): Promise<Figures["pairs"]> {
  const heads = headsOf(of);
  if (!of.facet || heads[0]?.tone !== "none" || !["run", "system"].includes(of.by.key)) return undefined;
  const [a, ...others] = linesOf(of, heads).slice(1).filter((l) => !l.few && l.cells[0]!.of).map((l) => ({ facet: of.by.key, value: l.name }));
  const facet = of.facet.key;
  const pairs = await Promise.all(others.slice(0, mostPaired).map(async (b) =>
    [b.value, await s.pairs({ a: a!, b, filter, facet, offset: 0, limit: 0 }, signal)] as const));
  return pairs.length > 0 ? new Map(pairs) : undefined;
}

/** What pairs of rows say of a column of a system and the best by the first column: its value less that of the best; undefined where few have a partner. */
function pairedIn(of: Figures, h: Head, i: number, best: Line, other: Line): Difference | undefined {
  const pair = of.pairs?.get(other.name);
  const m = pair?.measures.find((m) => m.key === h.key);
  const l = !pair ? undefined : h.value ? valueLines(pair, of.facet!).find((l) => l.name === h.value!.name)
    : m && { rows: m.pairs, difference: pairedMeans(numberSums(m.sum_b - m.sum_a, m.pairs, m)) };
  if (!l?.difference || !arePaired(pair!)) return undefined;
  const rows = Math.min(best.cells[i]!.sums!.rows, other.cells[i]!.sums!.rows) * pair!.paired / (pair!.paired + Math.min(pair!.alone_a, pair!.alone_b));
  if (l.rows < mostlyPaired * rows) return undefined;
  return l.difference;
}

/**
 * Marks the best system of a column where it is better than the second best, by Holm's correction for the columns. The
 * rows without an error are a question of its own. Systems are compared by pairs where many rows have a partner.
 */
function markBest(of: Figures, heads: Head[], whole: Line, systems: Line[]): void {
  const first = systems.find((l) => l.cells[0]?.of);
  const tested = heads.flatMap((h, i) => {
    const clean = h.tone === "none";
    if (h.tone === "side") return []; // of which more is neither better nor worse
    if (whole.cells[i]!.rows === 0 && !clean) return [];
    const test = h.value ? apartShares : apartMeans;
    const high = clean || !h.value; // more is better
    const known = systems.filter((l) => l.cells[i]!.of && l.cells[i]!.sums);
    known.sort((a, b) => (high ? -1 : 1) * (a.cells[i]!.of!.value - b.cells[i]!.of!.value));
    const [best, second] = known;
    const paired = best && second && best === first ? pairedIn(of, h, i, best, second) : undefined;
    const d = paired ?? (best && second && test(second.cells[i]!.sums!, best.cells[i]!.sums!));
    if (!d) return [];
    let p = d.p;
    const cell = best!.cells[i]!;
    const nearest = Math.max(d.low, -d.high); // to 0
    if (paired) {
      cell.paired = true;
      const { missed_a, missed_b } = of.pairs!.get(second!.name)!; // which may be unlike the others: `stats` takes means
      if (turns(missed_a / best!.rows + missed_b / second!.rows, h, nearest)) {
        p = 1;
        cell.unsure = texts.overview.unpaired;
      }
    } else if (best === first && of.pairs?.has(second!.name)) { // what all rows say may be owed to the inputs of one system
      p = 1;
      cell.unsure = texts.overview.unpaired;
    } else if (clean && uneven(heads, whole, best!, second!)) return [];
    const contrary = best !== first ? undefined : known.slice(1).find((l, k) => { // rows for the same input say the contrary of all rows
      const d = pairedIn(of, h, i, best!, l);
      return d && (k === 0 || d.p < 0.05) && (high ? d.value > 0 : d.value < 0);
    });
    const unsure = moreUnknown(h, i, best!, second!, nearest, of.lost ?? 0);
    if (unsure) {
      cell.unsure = unsure;
      p = 1;
    }
    if (!clean) return [{ best: cell, p, against: contrary !== undefined }];
    if (contrary) cell.against = contrary.name;
    cell.best = p < 0.05 && !contrary;
    return [];
  });
  holm(tested.map((t) => t.p)).forEach((p, i) => (tested[i]!.best.best = p < 0.05 && !tested[i]!.against));
}

/** Whether so many rows of the better system could turn a difference, were they the worst. */
const turns = (share: number, h: Head, nearest: number) => nearest > 0 && share > 0 && share * h.span >= nearest;

/** As report.setUnknown: of which of two systems far more rows are not known, such as those that a judge refused; or so many more of the best that it is not better if they are the worst. Lines that were rejected may be its. */
function moreUnknown(h: Head, i: number, best: Line, second: Line, nearest: number, lost: number): string {
  const [a, b] = [best, second].map((l) => {
    const n = l.cells[i]!.unknown ?? 0;
    const of = n + (h.value ? l.rows : l.cells[i]!.rows);
    return { n, of, name: l.name, share: n / Math.max(1, of) };
  });
  const more = a!.share - b!.share;
  if (Math.abs(more) <= mostUneven && !turns(more, h, nearest))
    return turns((a!.n + lost) / (a!.of + lost) - b!.share, h, nearest) ? texts.overview.lost(lost, best.name) : "";
  const most = more > 0 ? a! : b!;
  return texts.overview.unknownRows(most.n, most.of, most.name, !h.value);
}

/** The errors that one of two systems was judged for in more of its rows: it may have fewer rows without error for that alone. */
function uneven(heads: Head[], whole: Line, a: Line, b: Line): string {
  const judged = (l: Line, i: number) => l.cells[i]!.sums!.rows / Math.max(1, l.rows);
  return heads.filter((h, i) => h.value && !h.value.role && whole.cells[i]!.rows > 0 && Math.abs(judged(a, i) - judged(b, i)) > mostUneven).map((h) => h.title).join(", ");
}

/** Which system is best by the first column, in a sentence; "" without one. */
export function resultOf(facet: Facet | undefined, heads: Head[], lines: Line[]): string {
  const first = heads[0];
  const value = (l: Line) => l.cells[0]!.of!.value;
  const known = lines.slice(1).filter((l) => l.cells[0]?.of && !l.few);
  if (!first || known.length === 0 || (first.value && first.value.role !== RoleNone)) return "";
  const best = known.filter((l) => value(l) === value(known[0]!));
  const text = texts.overview.figure(figureText(first, best[0]!.cells[0]!.of!), nameOf(facet, first), intervalText(first, best[0]!.cells[0]!.of!));
  const next = best.length === 1 && !best[0]!.cells[0]!.best ? known[1] : undefined;
  const apart = known.filter((l, i) => uneven(heads, lines[0]!, best[0]!, l) && !(i === 1 && best[0]!.cells[0]!.paired));
  const against = best[0]!.cells[0]!.against;
  const unsure = (against ? texts.overview.against(against) : next && !apart.includes(next) ? texts.overview.unsure(next.name) + (best[0]!.cells[0]!.unsure ?? "") : "") +
    (apart.length > 0 && best.length === 1 ? texts.overview.uneven(apart.map((l) => l.name).join(", "), uneven(heads, lines[0]!, best[0]!, apart[0]!)) : "");
  const few = lines.slice(1).filter((l) => l.few && l.cells[0]?.of).map((l) => l.name);
  const left = heads.filter((h, i) => h.value && !h.value.role && lines[0]!.cells[i]!.sums!.rows < lines[0]!.rows).map((h) => h.title);
  const alone = `${best[0]!.rows < lines[0]!.rows ? `${best[0]!.name}: ` : ""}${text}`; // of a part of the rows, whose it is
  const several = first.value && lines[0]!.cells[0]!.of?.value === 0 ? texts.overview.noneGood(nameOf(facet, first)) : texts.overview.best(best[0]!.name, best.length - 1, text) + unsure + (few.length > 0 ? texts.overview.few(few.join(", ")) : "");
  const result = known.length > 1 ? several : alone;
  return `${result}.${left.length > 0 ? ` ${texts.overview.notJudged(left.join(", "))}` : ""}`;
}

/** What to fix first: the error, or issue, on most rows; where severities are known, by rows times severity. */
export function firstOf(facet: Facet, heads: Head[], whole: Line): { value: string; text: string } | undefined {
  const what = texts.overview.commonest[facet.key];
  const weighed = facet.values.some((v) => !v.role && (v.severity ?? null) !== null);
  const found = heads.flatMap((h, i) => {
    const of = whole.cells[i]!.of;
    const weight = (of?.value ?? 0) * (weighed ? h.value?.severity ?? 0 : 1);
    return h.value && !h.value.role && of && of.value > 0 ? [{ h, of, weight }] : [];
  }).sort((a, b) => b.weight - a.weight);
  const [most, next] = found;
  if (!what || !most || (next && most.weight - next.weight < 1e-9)) return undefined; // of equals none is first
  const severity = weighed ? texts.overview.severity(most.h.value!.severity ?? 0) : "";
  return { value: most.h.value!.name, text: `${what}: ${most.h.title}, ${percent(most.of.value)} (${shareInterval(most.of)})${severity}.` };
}

function nameOf(facet: Facet | undefined, h: Head): string {
  return h.value ? texts.overview.without[facet!.key] ?? h.title : texts.overview.meanOf(h.title);
}

function figureText(h: Head, of: Interval | undefined): string {
  return h.value ? percent(of?.value) : number(of?.value);
}

function intervalText(h: Head, of: Interval): string {
  return h.value ? shareInterval(of) : numberInterval(of);
}

export function Matrix({ of, heads, lines, caption }: { of: Figures; heads: Head[]; lines: Line[]; caption: string }) {
  const page = usePage();
  const errors = heads.map((h, i) => (h.value && !h.value.role ? i : -1)).filter((i) => i >= 0);
  const most = Math.max(0.0001, ...lines.flatMap((l) => errors.map((i) => l.cells[i]!.of?.value ?? 0)));
  const address = (l: Line, h?: Head) => drill(page, l.system === all ? {} : { facets: { [of.by.key]: { any: [l.name] } } }, h?.value && of.facet!.key, h?.value?.name);
  const columns: Column<Line>[] = [
    { key: "name", title: of.by.title, value: (l) => l.name, show: (l) => <a href={address(l)}>{l.name}</a> },
    { key: "rows", title: texts.overview.looked, numeric: true, value: (l) => l.rows, show: (l) => count(l.rows) },
    ...heads.flatMap((h, i): Column<Line>[] => {
      const cell = (l: Line) => l.cells[i]!;
      if (h.value?.role === RoleUnknown) {
        return [{ key: h.key, title: h.title, numeric: true, value: (l) => cell(l).rows, show: (l) => <a class="heat-cell" href={address(l, h)}>{count(cell(l).rows)}</a> }];
      }
      return [
        {
          key: h.key, title: h.title, numeric: true, value: (l) => cell(l).of?.value ?? null,
          show: (l) => <CellOf head={h} cell={cell(l)} most={most} href={address(l, h)} spark={lines.length - 1 > mostPictures} />,
        },
        ...(["low", "high"] as const).map((end): Column<Line> => ({
          key: `${h.key} ${end}`, title: `${h.title}: ${texts.issues[end]}`, value: (l) => (Number.isFinite(cell(l).of?.[end]) ? cell(l).of![end] : null), show: "hidden",
        })),
        ...(h.value ? [] : [{ key: `${h.key} n`, title: `${h.title}: ${texts.issues.count}`, value: (l: Line) => cell(l).rows, show: "hidden" as const }]),
      ];
    }),
  ];
  return (
    <div class={`heat matrix ${heads.length > mostIntervals ? "dense" : ""}`}>
      <DataTable id="matrix" caption={caption} hideCaption columns={columns} rows={lines} rank={(l) => Math.min(0, l.system)} />
    </div>
  );
}

function CellOf({ head, cell, most, href, spark }: { head: Head; cell: Cell; most: number; href: string; spark: boolean }) {
  if (!cell.of) return <span class="heat-cell zero">–</span>;
  const interval = intervalText(head, cell.of);
  const figure = <><span class={cell.best ? "value strong" : "value"}>{figureText(head, cell.of)}</span>{interval && <span class="sub">{interval}</span>}</>;
  const title = `${texts.rows(cell.rows)}${interval && `; ${interval}`}`;
  if (!head.value) return <span class="heat-cell" title={title}>{spark && cell.bins && <Spark counts={cell.bins} />}{figure}</span>;
  const strength = head.tone === "found" ? 8 + (47 * cell.of.value) / most : 40 * cell.of.value;
  const kind = cell.rows === 0 && head.tone !== "none" ? "zero" : head.tone;
  return <a class={`heat-cell ${kind}`} href={href} title={title} style={{ "--v": `${cell.rows === 0 ? 0 : strength}%` }}>{figure}</a>;
}
