// Results that were worked out before: tables and pictures.

import type { Cell, Section, TableCell } from "./contract";
import { ForestPicture, LinesPicture } from "./charts";
import { count, number, percent } from "./format";
import { texts } from "./texts";
import { Card, DataTable, Scroll, type Column } from "./ui";

export function SectionCard({ of, id }: { of: Section; id: string }) {
  return <Card title={of.title} id={id}><SectionBody of={of} id={id} /></Card>;
}

export function SectionBody({ of, id }: { of: Section; id: string }) {
  return (
    <>
      {of.run && <p class="help">{texts.measured.run}: {of.run}</p>}
      {of.notes && of.notes.length > 0 && <div class="notes">{of.notes.map((n, i) => <p key={i} class="note">{n}</p>)}</div>}
      {of.chart && <ChartOf section={of} id={id} />}
      {of.table && <Grid id={id} caption={of.title} columns={of.table.columns} rows={of.table.rows} />}
    </>
  );
}

export function Grid({ id, caption, columns, rows }: { id: string; caption: string; columns: { title: string; kind: string }[]; rows: TableCell[][] }) {
  const decimals = columns.map((_, i) => decimalsOf(rows.map((r) => r[i] ?? null)));
  const made: Column<TableCell[]>[] = columns.map((c, i) => ({
    key: String(i), title: c.title, numeric: c.kind !== "text",
    value: (r) => {
      const v = r[i] ?? null;
      return typeof v === "boolean" ? String(v) : v;
    },
    show: (r) => {
      const v = r[i] ?? null;
      if (v === null) return "–";
      if (typeof v !== "number") return String(v);
      return c.kind === "share" ? percent(v) : decimals[i] === undefined ? number(v) : decimals[i] === 0 ? count(v) : v.toFixed(decimals[i]).replace("-", "−");
    },
  }));
  return <DataTable id={id} caption={caption} hideCaption columns={made} rows={rows} />;
}

/** As many decimals for all numbers of a column, where they are of one size. */
function decimalsOf(values: TableCell[]): number | undefined {
  const numbers = values.filter((v) => typeof v === "number");
  const most = Math.max(0, ...numbers.map(Math.abs));
  const least = Math.min(...numbers.filter((n) => n !== 0).map(Math.abs));
  if (numbers.every(Number.isInteger) || most >= 1000 || least < 0.0005) return undefined;
  return most <= 1 ? 3 : 2;
}

export function ChartOf({ section, id }: { section: Section; id: string }) {
  const chart = section.chart!;
  switch (chart.kind) {
    case "matrix":
      return <Matrix caption={section.title} row={chart.y ?? ""} column={chart.x} cells={chart.cells ?? []} line={chart.line ?? undefined} diagonal={chart.diagonal ?? false} />;
    case "forest":
      return (
        <>
          <ForestPicture label={section.title} of={chart} />
          {!section.table && (
            <Figures>
              <Grid id={`${id}.f`} caption={`${section.title}: ${chart.x}`}
                columns={[texts.chart.group, texts.chart.point, texts.chart.value, texts.chart.low, texts.chart.high].map((title, i) => ({ title, kind: i < 2 ? "text" : "number" }))}
                rows={(chart.points ?? []).map((p) => [p.group ?? "", p.name, p.value, p.low, p.high])} />
            </Figures>
          )}
        </>
      );
    case "lines":
      return (
        <>
          <LinesPicture label={section.title} of={chart} />
          {!section.table && (
            <Figures>
              <Grid id={`${id}.f`} caption={section.title}
                columns={[texts.chart.line, chart.x, chart.y ?? texts.chart.value, texts.chart.low, texts.chart.high].map((title, i) => ({ title, kind: i < 1 ? "text" : "number" }))}
                rows={(chart.series ?? []).flatMap((s) => s.points.map((p) => [s.name, ...p]))} />
            </Figures>
          )}
        </>
      );
    default:
      return null;
  }
}

function Figures({ children }: { children: preact.ComponentChildren }) {
  return <details class="figures"><summary>{texts.measured.figures}</summary>{children}</details>;
}

/**
 * Cells in a colour as they are far from zero; with a line, in two colours as they are above and below it. On a diagonal of
 * hits they have a colour and a scale of their own.
 */
function Matrix({ caption, row, column, cells, line, diagonal }: {
  caption: string; row: string; column: string; cells: Cell[]; line: number | undefined; diagonal: boolean;
}) {
  const rows = [...new Set(cells.map((c) => c.row))];
  const columns = [...new Set(cells.map((c) => c.column))];
  const values = new Map(cells.map((c) => [c.row + "\u0000" + c.column, c.value]));
  const size = (v: number) => Math.abs(v - (line ?? 0));
  const isHit = (c: { row: string; column: string }) => diagonal && c.row === c.column;
  const largest = (some: Cell[]) => Math.max(0, ...some.map((c) => (c.value === null ? 0 : size(c.value)))) || 1;
  const most = { hits: largest(cells.filter(isHit)), others: largest(cells.filter((c) => !isHit(c))) };
  const side = (v: number) => (v < (line ?? 0) ? "below" : line === undefined ? "" : "above");
  return (
    <Scroll label={caption}>
      <table class={diagonal ? "heat hits" : "heat"}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr><th scope="col" class="corner">{row && <>{row} <span aria-hidden="true">↓</span> </>}{column} <span aria-hidden="true">→</span></th>{columns.map((c) => <th key={c} scope="col" class="numeric">{c}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((r) => (
            <tr key={r}>
              <th scope="row">{r}</th>
              {columns.map((c) => {
                const v = values.get(r + "\u0000" + c) ?? null;
                if (v === null) return <td key={c} class="numeric cell">–</td>;
                const hit = isHit({ row: r, column: c });
                const names = hit ? "hit" : v === 0 && diagonal ? "zero" : side(v);
                return <td key={c} class={`numeric cell ${names}`} style={{ "--v": `${(40 * size(v)) / (hit ? most.hits : most.others)}%` }}>{number(v)}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
