// Pictures by Observable Plot. Each has the same figures in a table beside it; texts are text nodes.

import { areaY, axisY, dot, line, link, plot, rectY, ruleX, ruleY, type PlotOptions } from "@observablehq/plot";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Chart, Histogram, Point } from "./contract";
import { number, percent } from "./format";
import { texts } from "./texts";

const series = ["var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)", "var(--s5)", "var(--s6)", "var(--s7)", "var(--s8)"];

function colour(i: number): string {
  return series[i % series.length]!;
}

/** Draws what options make of the width that there is. */
function Picture({ label, draw, most }: { label: string; draw: (width: number) => PlotOptions; most: number }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!place.current || width === 0) return;
    const picture = plot({ className: "plot", width: Math.min(width, most), ...draw(Math.min(width, most)) });
    for (const part of picture.querySelectorAll("[aria-label], [aria-description]")) {
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    }
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", `${label}. ${texts.chart.alternative}`);
    place.current.replaceChildren(picture);
  });
  return <div class="picture" ref={place} />;
}

interface Bin {
  name: string;
  from: number;
  to: number;
  share: number;
  rows: number;
}

/** Shares of rows by bin; all rows stand paler behind the filtered ones. */
export function HistogramPicture({ label, of, behind }: { label: string; of: Histogram; behind?: Histogram | undefined }) {
  const columns = of.columns.map((c, i) => ({ name: c.name, i })).filter(({ i }) => of.columns[i]!.rows > 0 || (behind?.columns[i]?.rows ?? 0) > 0);
  const binsOf = (h: Histogram): Bin[] => columns.flatMap(({ name, i }) => {
    const c = h.columns[i]!;
    return c.counts.map((rows, b) => ({ name, from: h.edges[b]!, to: h.edges[b + 1]!, share: c.rows > 0 ? rows / c.rows : 0, rows }));
  });
  const several = columns.length > 1 || (columns[0]?.name ?? "") !== "";
  const bars = (h: Histogram, fill: string, inset: number) => rectY(binsOf(h), {
    x1: "from", x2: "to", y: "share", fill, insetLeft: inset, insetRight: inset, ...(several ? { fy: "name" } : {}),
    title: (d: Bin) => `${number(d.from)} … ${number(d.to)}: ${d.rows} (${percent(d.share)})`,
  });
  return (
    <Picture label={label} most={1100} draw={(width) => ({
      height: several ? 40 + 74 * columns.length : 220,
      marginLeft: 44, marginRight: several ? Math.min(170, width * 0.3) : 16, marginBottom: 34,
      x: { label: null, domain: [of.edges[0]!, of.edges.at(-1)!] },
      y: { label: null, grid: true, tickFormat: (p: number) => `${Math.round(100 * p)}%`, ticks: 3 },
      ...(several ? { fy: { label: null, padding: 0.25, domain: columns.map((c) => c.name), tickFormat: (d: string) => wrapped(d, within(Math.min(170, width * 0.3)), 3) } } : {}),
      marks: [
        ...(behind ? [bars(behind, "var(--faint)", 0.75)] : []),
        bars(of, "var(--s1)", behind ? 2.5 : 0.75),
        ruleY([0], { stroke: "var(--line-strong)" }),
      ],
    })} />
  );
}

/** Points with intervals, one below the other, in groups. */
export function ForestPicture({ label, of }: { label: string; of: Chart }) {
  const points = (inGroups(of.points ?? [])).map((p, i) => ({ ...p, key: String(i) }));
  const groups = [...new Set(points.map((p) => p.group ?? ""))];
  const names = [...new Set(points.map((p) => p.name))];
  const grouped = groups.length > 1 || groups[0] !== "";
  type Placed = Point & { key: string };
  const ranged = points.filter((p) => p.low !== null && p.high !== null);
  const title = (p: Placed) => `${p.group ? p.group + ": " : ""}${p.name}: ${number(p.value)} (${number(p.low)} to ${number(p.high)})`;
  const facet = grouped ? { fy: (p: Placed) => p.group ?? "" } : {};
  return (
    <>
      {grouped && names.length > 1 && names.length <= series.length && <Legend names={names} />}
      <Picture label={label} most={900} draw={(width) => {
        const left = Math.min(Math.max(90, ...names.map((n) => 12 + widthOf(n))), width * 0.36);
        const right = Math.min(190, width * 0.3);
        const wraps = !names.every(within(left));
        return {
          height: 50 + (wraps ? 30 : 20) * names.length * groups.length + 8 * groups.length,
          marginLeft: left, marginRight: grouped ? right : 16, marginBottom: 36,
          x: { label: of.x, labelAnchor: "center", grid: true },
          y: { label: null, domain: names },
          ...(grouped ? { fy: { label: null, domain: groups, tickFormat: (d: string) => wrapped(d, within(right), Math.min(3, names.length)) } } : {}),
          marks: [
            ...(of.line === null || of.line === undefined ? [] : [ruleX([of.line], { stroke: "var(--line-strong)", strokeDasharray: "4 3" })]),
            axisY({ tickFormat: (d: string) => wrapped(d, within(left), 2), tickSize: 0 }),
            link(ranged, { x1: "low", x2: "high", y1: "name", y2: "name", strokeWidth: 2, stroke: (p: Placed) => tone(p, names, grouped), ...facet }),
            dot(points.filter((p) => p.value !== null), { x: "value", y: "name", r: 4, fill: (p: Placed) => tone(p, names, grouped), title, ...facet }),
          ],
        };
      }} />
    </>
  );
}

/** Points by group, or where groups have different points below each other, with the group in the name. */
function inGroups(points: Point[]): Point[] {
  const lines = new Set(points.map((p) => p.group ?? "")).size * new Set(points.map((p) => p.name)).size;
  if (lines <= 1.5 * points.length) return points;
  return points.map(({ group, ...p }) => (group ? { ...p, name: `${group}: ${p.name}` } : p));
}

function tone(p: Point, names: string[], grouped: boolean): string {
  return grouped && names.length <= series.length ? colour(names.indexOf(p.name)) : colour(0);
}

/** Lines with their bands; the diagonal is where a line should be. */
export function LinesPicture({ label, of }: { label: string; of: Chart }) {
  const all = of.series ?? [];
  const points = all.flatMap((s, i) => s.points.map(([x, y, low, high]) => ({ name: s.name, i, x, y, low, high })));
  type P = (typeof points)[number];
  const xs = points.map((p) => p.x);
  const ends: [number, number] = [Math.min(0, ...xs), Math.max(1, ...xs)];
  return (
    <>
      {all.length > 1 && <Legend names={all.map((s) => s.name)} />}
      <Picture label={label} most={640} draw={(width) => ({
        height: Math.min(of.diagonal ? width : 320, 420),
        marginLeft: 52, marginBottom: 40, marginTop: 20, marginRight: 16,
        x: { label: of.x, labelAnchor: "center", grid: true, ...(of.diagonal ? { domain: ends } : {}) },
        y: { label: of.y ?? null, grid: true, ...(of.diagonal ? { domain: ends } : {}) },
        marks: [
          ...(of.diagonal ? [line([[ends[0], ends[0]], [ends[1], ends[1]]], { stroke: "var(--line-strong)", strokeDasharray: "4 3" })] : []),
          areaY(points, { x: "x", y1: "low", y2: "high", z: "i", fill: (p: P) => colour(p.i), fillOpacity: 0.15 }),
          line(points, { x: "x", y: "y", z: "i", stroke: (p: P) => colour(p.i), strokeWidth: 2 }),
          dot(points, {
            x: "x", y: "y", r: 3.5, fill: (p: P) => colour(p.i),
            title: (p: P) => `${p.name}: ${number(p.x)} → ${number(p.y)}${p.low === p.high ? "" : ` (${number(p.low)} to ${number(p.high)})`}`,
          }),
        ],
      })} />
    </>
  );
}

function Legend({ names }: { names: string[] }) {
  return (
    <ul class="legend">
      {names.map((name, i) => <li key={name}><span class="swatch" style={{ background: colour(i) }} aria-hidden="true" />{name}</li>)}
    </ul>
  );
}

/** A histogram of a few pixels, for a cell of a table that says the same in numbers. */
export function Spark({ counts }: { counts: number[] }) {
  const most = Math.max(1, ...counts);
  const width = 4 * counts.length;
  return (
    <svg class="spark" width={width} height={20} viewBox={`0 0 ${width} 20`} aria-hidden="true" focusable="false">
      {counts.map((n, i) => {
        const h = n === 0 ? 0 : Math.max(1, (18 * n) / most);
        return <rect key={i} x={4 * i} y={19 - h} width={3} height={h} />;
      })}
      <rect x={0} y={19} width={width} height={1} class="base" />
    </svg>
  );
}

let pen: CanvasRenderingContext2D | undefined;

/** The pixels that a text takes in a picture (.plot in style.css). */
function widthOf(text: string): number {
  pen ??= document.createElement("canvas").getContext("2d")!;
  pen.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** Whether a text has room beside an axis, in a margin of so many pixels. */
const within = (margin: number) => (text: string) => widthOf(text) <= margin - 8;

/** A text on lines that fit, broken between words where that can be; what a last line has no room for is cut. */
export function wrapped(text: string, fits: (line: string) => boolean, lines: number): string {
  const all = Array.from(text.trim());
  const start = (n: number) => all.slice(0, n).join("");
  const end = lines > 1 ? "" : "…";
  if (fits(start(all.length))) return start(all.length);
  let most = all.length - 1;
  while (most > 1 && !fits(start(most) + end)) most--;
  if (lines <= 1) return start(most) + end;
  const word = all[most] === " " ? most : all.slice(0, most).findLastIndex((c) => " -_".includes(c)) + 1;
  const at = word || most;
  return `${start(at).trim()}\n${wrapped(all.slice(at).join(""), fits, lines - 1)}`;
}
