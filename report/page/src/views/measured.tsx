import type { Section, TableCell } from "../contract";
import { ViewMeasured } from "../contract";
import { number, percent } from "../format";
import { ChartOf, Grid, SectionCard } from "../sections";
import { usePage } from "../state";
import { texts } from "../texts";
import { Card, DataTable, Select, type Column } from "../ui";

interface Placed {
  s: Section;
  i: number; // in the catalogue
}

export function Measured() {
  const page = usePage();
  const all = page.catalog.sections.map((s, i) => ({ s, i })).filter(({ s }) => s.view === ViewMeasured);
  if (all.length === 0) return <p class="note">{texts.measured.none}</p>;
  const runs = [...new Set(all.map(({ s }) => s.run ?? ""))].filter((r) => r !== "");
  const run = runs.includes(page.state.params["run"] ?? "") ? page.state.params["run"]! : "";
  const groups = bySubject(all.filter(({ s }) => run === "" || !s.run || s.run === run));
  return (
    <>
      <p class="help">{texts.measured.ownRows}</p>
      {runs.length > 1 && (
        <div class="choices">
          <Select label={texts.measured.run} value={run} onChange={(v) => page.set({ run: v })}
            options={[{ value: "", title: texts.measured.allRuns }, ...runs.map((r) => ({ value: r, title: r }))]} />
        </div>
      )}
      {groups.length > 3 && <Contents of={groups.map(([{ s, i }]) => ({ title: s.title, id: `section-${i}` }))} />}
      {groups.map((g) => (g.length > 1 ? <Together key={g[0].i} of={g} /> : <SectionCard key={g[0].i} of={g[0].s} id={`section-${g[0].i}`} />))}
    </>
  );
}

/** Sections on one subject, of several runs, in the order of their first ones. */
export function bySubject(all: Placed[]): [Placed, ...Placed[]][] {
  const groups = new Map<string, [Placed, ...Placed[]]>();
  for (const p of all) {
    const key = p.s.run ? `of runs ${p.s.title}` : `${p.i}`;
    const group = groups.get(key);
    if (group && group.every(({ s }) => s.run !== p.s.run)) group.push(p);
    else groups.set(group ? `${p.i}` : key, [p]);
  }
  return [...groups.values()];
}

/** One subject of several runs: a table with a column a run, pictures beside each other, and the tables as they are. */
function Together({ of }: { of: [Placed, ...Placed[]] }) {
  const [{ s, i }] = of;
  const id = `section-${i}`;
  const shared = (s.notes ?? []).filter((n) => of.every((o) => o.s.notes?.includes(n)));
  const notes = [...shared, ...of.flatMap((o) => (o.s.notes ?? []).filter((n) => !shared.includes(n)).map((n) => `${o.s.run}: ${n}`))];
  const below = of.some((o) => o.s.chart?.kind === "matrix");
  return (
    <Card title={s.title} id={id} help={of.map((o) => o.s.run).join(" · ")}>
      {notes.length > 0 && <div class="notes">{notes.map((n, k) => <p key={k} class="note">{n}</p>)}</div>}
      {of.some((o) => o.s.chart) && (
        <div class={below ? "beside below" : "beside"}>
          {of.map((o) => o.s.chart && <figure key={o.i}><figcaption>{o.s.run}</figcaption><ChartOf section={o.s} id={`section-${o.i}`} /></figure>)}
        </div>
      )}
      <ByRun of={of} id={id} />
      {of.map((o) => o.s.table && (
        <details key={o.i} class="figures">
          <summary>{texts.measured.allOf(o.s.run ?? "")}</summary>
          <Grid id={`section-${o.i}`} caption={`${o.s.title}: ${o.s.run}`} columns={o.s.table.columns} rows={o.s.table.rows} />
        </details>
      ))}
    </Card>
  );
}

interface Line {
  name: string;
  cells: ({ value: TableCell; low: TableCell; high: TableCell } | undefined)[]; // one a run
}

/** A figure of tables with the same columns, one with an interval at first; the first column says what it is of. */
function ByRun({ of, id }: { of: Placed[]; id: string }) {
  const page = usePage();
  const tables = of.map((o) => o.s.table);
  const columns = tables[0]?.columns ?? [];
  const titles = JSON.stringify(columns);
  if (columns[0]?.kind !== "text" || tables.some((t) => JSON.stringify(t?.columns) !== titles)) return null;
  const interval = (at: number) => columns[at + 1]?.title === "from";
  const figures = columns.map((c, at) => ({ ...c, at })).filter((c) => c.kind !== "text" && c.title !== "from" && c.title !== "to");
  const differs = (at: number) => new Set(tables.map((t) => JSON.stringify(t!.rows.map((r) => r[at])))).size > 1;
  const asked = page.state.params[`${id}.by`];
  const figure = figures.find((c) => c.title === asked) ?? figures.find((c) => interval(c.at)) ?? figures.find((c) => differs(c.at)) ?? figures[0];
  if (!figure) return null;
  const lines = linesOf(tables.map((t) => t!.rows), figure.at, interval(figure.at));
  const shown = (v: TableCell) => (typeof v !== "number" ? "–" : figure.kind === "share" ? percent(v) : number(v));
  const made: Column<Line>[] = [
    { key: "name", title: columns[0].title, value: (l) => l.name },
    ...of.map((o, k): Column<Line> => ({
      key: `run${k}`, title: o.s.run ?? "", numeric: true,
      value: (l) => (typeof l.cells[k]?.value === "number" ? l.cells[k].value : null),
      show: ({ cells: { [k]: c } }) => <>{shown(c?.value ?? null)}{typeof c?.low === "number" && <span class="sub">{shown(c.low)} to {shown(c.high)}</span>}</>,
    })),
  ];
  const caption = `${of[0]!.s.title}: ${figure.title}`;
  return (
    <DataTable id={`${id}.runs`} caption={caption} hideCaption columns={made} rows={lines} tools={figures.length > 1 && (
      <Select label={texts.measured.figure} value={figure.title} onChange={(v) => page.set({ [`${id}.by`]: v })} options={figures.map((c) => ({ value: c.title, title: c.title }))} />
    )} />
  );
}

/** What the tables' first columns name, with the figure of each table, and its interval in the two columns behind it. */
export function linesOf(tables: TableCell[][][], at: number, interval: boolean): Line[] {
  const names = [...new Set(tables.flatMap((rows) => rows.map((r) => String(r[0] ?? ""))))];
  return names.map((name) => ({
    name,
    cells: tables.map((rows) => {
      const r = rows.find((row) => String(row[0] ?? "") === name);
      return r && { value: r[at] ?? null, low: interval ? (r[at + 1] ?? null) : null, high: interval ? (r[at + 2] ?? null) : null };
    }),
  }));
}

/** Buttons, not links: the address behind # says what is shown. */
function Contents({ of }: { of: { title: string; id: string; run?: string | undefined }[] }) {
  return (
    <nav class="contents" aria-label={texts.measured.contents}>
      <ul>
        {of.map((s) => (
          <li key={s.id}>
            <button type="button" onClick={() => document.getElementById(s.id)?.scrollIntoView()}>{s.title}{s.run && <span class="sub"> {s.run}</span>}</button>
          </li>
        ))}
      </ul>
    </nav>
  );
}
