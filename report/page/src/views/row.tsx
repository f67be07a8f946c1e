import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { RoleNone } from "../contract";
import type { Catalog, Field, Json, JsonObject, RowDetail, RowSummary } from "../contract";
import { columnOf, fieldTexts, object, textOf } from "../fields";
import { number } from "../format";
import { quotes, segments, unread, type Mark } from "../highlight";
import { facetOf, findings, useAsk, usePage } from "../state";
import { texts } from "../texts";
import { facetTitle } from "../titles";
import { Answer, Card, DataTable, Scroll, type Column } from "../ui";
import { Markdown } from "../markdown";
import { LabelForm } from "./label";
import { Tags } from "./rows";

export const closeId = "close-row";

/** The row that the address names, beside the list that it was opened from; over it where there is no room beside. */
export function Drawer() {
  const page = usePage();
  const text = page.state.params["row"] ?? "";
  const n = /^\d+$/.test(text) ? Number(text) : -1;
  const asked = useAsk("row", n, (s, signal) => s.row({ n }, signal));
  const inList = () => document.querySelector<HTMLElement>(`main a[data-row="${n}"]`);
  useEffect(() => {
    if (matchMedia(narrow).matches) document.getElementById(closeId)?.focus();
    inList()?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, []);
  const close = () => {
    inList()?.focus();
    page.set({ row: "" });
  };
  return (
    <aside class="drawer" aria-label={texts.row.title}>
      <button type="button" id={closeId} aria-label={texts.row.close} title={texts.row.close} onClick={close}>×</button>
      <Answer of={asked}>{(detail) => <Detail of={detail} />}</Answer>
    </aside>
  );
}

const narrow = "(max-width: 900px)"; // as in the style

function Detail({ of }: { of: RowDetail }) {
  const { catalog } = usePage();
  const { row, record } = of;
  const marks = marksOf(catalog, row, record);
  const issue = object(object(record)?.["issues"]);
  const diagnosis = object(object(record)?.["diagnosis"]);
  return (
    <>
      <div class="row-title">
        <h2>{row.id}</h2>
        <p class="sub">{[catalog.runs[row.run]?.name, valueOf(catalog, row, "system")].filter(Boolean).join(" · ")}</p>
        <p class="buttons">
          <Copy label={texts.row.copyId} text={row.id} />
        </p>
      </div>
      <Card title={texts.row.fields}><Fields run={row.run} record={record} marks={marks} /></Card>
      {issue && <Issue of={issue} />}
      <LabelForm key={row.n} n={row.n} />
      {diagnosis && textOf(diagnosis["reason"]) !== "" && <Card title={texts.row.reason}><p>{textOf(diagnosis["reason"])}</p></Card>}
      <Probabilities row={row} />
      <Card title={texts.row.labels}><Labels rows={[row, ...of.partners]} /></Card>
      <Scores of={of} />
      <Verdicts record={record} />
      <Others record={record} run={row.run} />
      <Card title={texts.row.raw} tools={<Copy label={texts.row.copyRaw} text={JSON.stringify(record)} />}>
        <details><summary>{texts.row.raw}</summary><Scroll label={texts.row.raw}><pre>{JSON.stringify(record, null, 2)}</pre></Scroll></details>
      </Card>
    </>
  );
}

export function Copy({ label, text }: { label: string; text: string }) {
  const [done, setDone] = useState("");
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(""), 2000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = () => {
    const clipboard = navigator.clipboard as Clipboard | undefined;
    if (!clipboard) return setDone(texts.row.copyFailed);
    clipboard.writeText(text).then(() => setDone(texts.row.copied), () => setDone(texts.row.copyFailed));
  };
  return <button type="button" onClick={copy}><span role="status">{done || label}</span></button>;
}

export function valueOf(catalog: Catalog, row: RowSummary, facet: string): string {
  const place = row.facets[facet]?.[0];
  return place === undefined ? "" : (facetOf(catalog, facet)?.values[place]?.name ?? "");
}

const shortest = 2; // a text of fewer characters stands everywhere
const longest = 300;

/** What is marked in the texts: quotes of the analysis and of judges, and whole texts of short fields in the others. */
function marksOf(catalog: Catalog, row: RowSummary, record: Json): { quotes: string[]; fields: { field: Field; text: string }[] } {
  const fields = catalog.fields.flatMap((field) => fieldTexts(catalog, row.run, record, field).map((text) => ({ field, text: text.trim() })));
  const found: string[] = [];
  const issue = object(object(record)?.["issues"]);
  for (const finding of [issue, object(issue?.["other"])]) {
    if (!finding) continue;
    found.push(textOf(finding["quote"]), ...quotes(textOf(finding["analysis"])), ...quotes(textOf(finding["evaluation"])));
  }
  for (const column of ["scores", "verdicts"]) {
    for (const entry of Object.values(object(object(record)?.[column]) ?? {})) {
      for (const run of runsOf(entry)) found.push(...quotes(textOf(run["explanation"])));
    }
  }
  return {
    quotes: [...new Set(found.map((q) => q.trim()).filter((q) => q.length >= shortest))],
    fields: fields.filter(({ text, field }) => !field.judged && text.length >= shortest && text.length <= longest),
  };
}

function runsOf(entry: Json | undefined): JsonObject[] {
  const runs = object(entry)?.["runs"];
  return Array.isArray(runs) ? runs.map(object).filter((r) => r !== undefined) : [];
}

const sideNames = ["A", "B"];

function Fields({ run, record, marks }: { run: number; record: Json; marks: ReturnType<typeof marksOf> }) {
  const { catalog } = usePage();
  const used = new Set<string>();
  const read = object(object(object(record)?.["diagnosis"])?.["read"]);
  const shown = catalog.fields.flatMap((field) => {
    const all = fieldTexts(catalog, run, record, field);
    return (all.length > 0 ? all : [""]).map((text, i) => ({ field, text, name: all.length > 1 ? `${field.name} ${sideNames[i]}` : field.name }));
  }).map(({ field, text, name }) => {
    const wanted: Mark[] = [
      ...marks.quotes.map((q) => ({ text: q, kind: "quote" })),
      ...marks.fields.filter((f) => f.field !== field && f.text.length < text.length).map((f) => ({ text: f.text, kind: `field:${f.field.name}` })),
    ];
    const parts = segments(text, wanted, places(read?.[field.name]));
    for (const p of parts) for (const k of p.kinds) used.add(k);
    return { field, text, name, parts };
  });
  const kinds = ["quote", ...catalog.fields.map((f) => `field:${f.name}`), unread].filter((k) => used.has(k));
  return (
    <>
      <dl class="fields">
        {shown.sort((a, b) => Number(b.field.judged) - Number(a.field.judged)).map(({ field, text, name, parts }) => (
          <div key={name} class={field.judged ? "judged" : ""}>
            <dt title={field.definition}>{name}{field.judged && <span class="badge">{texts.row.judged}</span>}</dt>
            <dd>
              {text === "" ? <span class="sub">{texts.row.empty}</span> : parts.map((p, i) =>
                <Marked key={i} kinds={p.kinds}>{p.text}</Marked>)}
            </dd>
          </div>
        ))}
      </dl>
      {kinds.length > 0 && (
        <p class="help">
          {texts.row.marks}{" "}
          {kinds.map((k, i) => (
            <span key={k}>{i > 0 && ", "}<Marked kinds={[k]}>{kindTitle(k)}</Marked></span>
          ))}
        </p>
      )}
    </>
  );
}

/** Where a model read, if it says so. */
function places(of: Json | undefined): number[] | undefined {
  return Array.isArray(of) ? of.filter((n) => typeof n === "number") : undefined;
}

function Marked({ kinds, children }: { kinds: string[]; children: ComponentChildren }) {
  const marks = kinds.filter((k) => k !== unread).map((k) => (k === "quote" ? "quote" : "field"));
  const text = marks.length > 0 ? <mark class={marks.join(" ")}>{children}</mark> : <>{children}</>;
  return kinds.includes(unread) ? <span class="unread">{text}</span> : text;
}

function kindTitle(kind: string): string {
  if (kind === unread) return texts.row.unread;
  return kind === "quote" ? texts.row.quote : texts.row.markOf(kind.slice("field:".length));
}

/** Labels of this row and of the same row elsewhere, beside each other. */
function Labels({ rows }: { rows: RowSummary[] }) {
  const page = usePage();
  const { catalog } = page;
  const facets = findings(catalog).filter((f) => rows.some((r) => r.facets[f.key]?.length));
  const open = (n: number) => page.href({ params: { ...page.state.params, row: String(n) } });
  const one = rows[0]!;
  const columns: Column<RowSummary>[] = [
    {
      key: "run", title: texts.rowsView.run, value: (r) => catalog.runs[r.run]?.name ?? "",
      show: (r) => <>{r === one ? <strong>{catalog.runs[r.run]?.name}</strong> : <a href={open(r.n)}>{catalog.runs[r.run]?.name}</a>}{r === one && rows.length > 1 && <span class="sub">{texts.row.thisRow}</span>}</>,
    },
    ...(rows.some((r) => r.facets["system"]?.length) ? [{ key: "system", title: facetOf(catalog, "system")?.title ?? "", value: (r: RowSummary) => valueOf(catalog, r, "system") }] : []),
    ...facets.map((f): Column<RowSummary> => ({
      key: f.key, title: facetTitle(f), value: (r) => (r.facets[f.key] ?? []).map((v) => f.values[v]?.name ?? "").join("; "), show: (r) => <Tags row={r} facet={f.key} />,
    })),
    ...(rows.length > 1 ? [{ key: "text", title: texts.rowsView.text, value: (r: RowSummary) => r.text, show: (r: RowSummary) => <span class="text">{r.text}</span> }] : []),
  ];
  return <DataTable id="labels" caption={rows.length > 1 ? texts.row.others : texts.row.labels} hideCaption columns={columns} rows={rows} most={20} />;
}

function Probabilities({ row }: { row: RowSummary }) {
  const { catalog } = usePage();
  const thresholds = catalog.runs[row.run]?.thresholds ?? {};
  const labels = new Set((row.facets["label"] ?? []).map((place) => facetOf(catalog, "label")?.values[place]?.name));
  const clean = facetOf(catalog, "label")?.values.find((v) => v.role === RoleNone)?.name;
  const ownThreshold = (type: string) => (Object.hasOwn(thresholds, type) ? thresholds[type]! : null);
  const lines = catalog.measures.filter((m) => m.key.startsWith("probability.") && row.measures[m.key] !== undefined)
    .map((m) => ({ title: m.title, found: labels.has(m.key.slice("probability.".length)), clean: m.key === `probability.${clean}`, p: row.measures[m.key]!, threshold: ownThreshold(m.key.slice("probability.".length)) }));
  if (lines.length === 0) return null;
  type Line = (typeof lines)[number];
  const columns: Column<Line>[] = [
    { key: "name", title: texts.issues.value, value: (l) => l.title, show: (l) => <span class={l.found ? "strong" : ""}>{l.title}</span> },
    {
      key: "p", title: texts.row.probability, numeric: true, value: (l) => l.p,
      show: (l) => (
        <span class="figure">
          <span class={`bar probability ${l.found ? (l.clean ? "none" : "found") : ""}`} style={{ "--at": `${100 * l.p}%`, "--threshold": `${100 * (l.threshold ?? 0)}%` }} aria-hidden="true">
            <span class="fill" />{l.threshold !== null && <span class="threshold" />}
          </span>
          <span class="value">{l.p < 0.0005 ? "< 0.001" : l.p.toFixed(3)}</span>
        </span>
      ),
    },
    { key: "t", title: texts.row.threshold, numeric: true, value: (l) => l.threshold, show: (l) => number(l.threshold) },
    { key: "found", title: texts.row.found, value: (l) => (l.found ? texts.row.found : ""), show: "hidden" },
  ];
  return <Card title={texts.row.probabilities}><DataTable id="probabilities" caption={texts.row.probabilities} hideCaption columns={columns} rows={lines} most={100} /></Card>;
}

interface Judgement {
  name: string;
  total: string;
  run: JsonObject;
}

/** One line a judgement, and one for what no judge gave. */
function judgements(record: Json, column: string): Judgement[] {
  return Object.entries(object(object(record)?.[column]) ?? {}).flatMap(([name, entry]) => {
    const set = object(entry) ?? {};
    const total = shownValue(set["value"]) || [textOf(set["status"]), textOf(set["reason"])].filter(Boolean).join(": ");
    const runs = runsOf(entry);
    return runs.length > 0 ? runs.map((run) => ({ name, total, run })) : [{ name, total, run: {} }];
  });
}

function shownValue(v: Json | undefined): string {
  return typeof v === "number" ? number(v) : textOf(v);
}

function list(v: Json | undefined): string {
  return Array.isArray(v) ? v.map((x) => textOf(x)).join("; ") : shownValue(v);
}

function Scores({ of }: { of: RowDetail }) {
  const { catalog } = usePage();
  const all = judgements(of.record, "scores");
  if (all.length === 0) return null;
  const title = (name: string) => catalog.measures.find((m) => m.key === `score.${name}`)?.title ?? name;
  const scale = (name: string) => {
    const m = catalog.measures.find((x) => x.key === `score.${name}`);
    return m ? `${number(m.low)}–${number(m.high)}` : "";
  };
  return <Judgements title={texts.row.scores} id="scores" of={all} name={(j) => <>{title(j.name)} <span class="sub">{scale(j.name)}</span></>} plain={(j) => title(j.name)} head={texts.row.dimension} value={texts.row.score} />;
}

function Verdicts({ record }: { record: Json }) {
  const all = judgements(record, "verdicts");
  if (all.length === 0) return null;
  return <Judgements title={texts.row.verdicts} id="verdicts" of={all} name={(j) => j.name} plain={(j) => j.name} head={texts.issues.value} value={texts.row.verdict} />;
}

function Judgements({ title, id, of, name, plain, head, value }: {
  title: string; id: string; of: Judgement[]; name: (j: Judgement) => preact.ComponentChildren; plain: (j: Judgement) => string; head: string; value: string;
}) {
  const text = (key: string, heading: string): Column<Judgement> => ({ key, title: heading, value: (j) => list(j.run[key]) || null });
  const optional = [
    text("order", texts.row.order), text("repeat", texts.row.repeat), text("planted", texts.row.planted), text("uncertainty", texts.row.uncertainty),
    text("errors_shown", texts.row.shown), text("reason", texts.row.reason),
    { ...text("explanation", texts.row.explanation), show: (j: Judgement) => <Markdown text={list(j.run["explanation"])} /> },
  ].filter((c) => of.some((j) => c.value(j)));
  const columns: Column<Judgement>[] = [
    { key: "name", title: head, value: plain, show: name },
    { key: "total", title: value, numeric: true, value: (j) => j.total || null },
    text("judge", texts.row.judge), text("mode", texts.row.mode),
    { key: "value", title: `${texts.row.judge}: ${value}`, numeric: true, value: (j) => shownValue(j.run["value"]) || textOf(j.run["status"]) || null },
    ...optional,
  ];
  return <Card title={title}><DataTable id={id} caption={title} hideCaption columns={columns} rows={of} /></Card>;
}

function Issue({ of }: { of: JsonObject }) {
  const findingsOf = [of, object(of["other"])].filter((f) => f !== undefined);
  const lines = findingsOf.flatMap((f) => (["status", "analysis", "quote", "severity", "score", "reason", "evidence", "evaluation"] as const)
    .map((key) => ({ key, value: shownValue(f[key]) })).filter((l) => l.value !== "" && l.value !== "0"));
  const title: Record<string, string> = {
    status: texts.row.status, analysis: texts.row.issue, quote: texts.row.quoted, severity: texts.row.severity, score: texts.row.score,
    reason: texts.row.reason, evidence: texts.row.evidence, evaluation: texts.row.explanation,
  };
  if (lines.length <= 1) return null;
  return (
    <Card title={texts.row.issue}>
      <dl class="fields">{lines.map((l, i) => <div key={i}><dt>{title[l.key]}</dt><dd>{l.key === "quote" ? <mark class="quote">{l.value}</mark> : l.key === "analysis" || l.key === "evaluation" ? <Markdown text={l.value} /> : l.value}</dd></div>)}</dl>
    </Card>
  );
}

const shownElsewhere = new Set(["id", "diagnosis", "scores", "issues", "verdicts", "system"]);
/** Columns of CLEAR's that its finding, in the column issues, says too. */
const inFinding = new Set(["question_id", "score", "evaluation_text", "evaluation_summary", "recurring_issues", "recurring_issues_str"]);

/** Columns that no other part shows. */
function Others({ record, run }: { record: Json; run: number }) {
  const { catalog } = usePage();
  const fields = new Set(catalog.fields.flatMap((f) => [columnOf(catalog, run, f), `${f.name}_a`, `${f.name}_b`]));
  const isCLEAR = object(record)?.["recurring_issues_str"] !== undefined && object(record)?.["issues"] !== undefined;
  const hidden = (name: string) => shownElsewhere.has(name) || fields.has(name) || (isCLEAR && inFinding.has(name));
  const lines = Object.entries(object(record) ?? {}).filter(([name]) => !hidden(name))
    .map(([name, value]) => ({ name, value: typeof value === "string" ? value : JSON.stringify(value) }));
  if (lines.length === 0) return null;
  const columns: Column<(typeof lines)[number]>[] = [
    { key: "name", title: texts.row.column, value: (l) => l.name },
    { key: "value", title: texts.row.value, value: (l) => l.value, show: (l) => <span class="text">{l.value.length > 2000 ? l.value.slice(0, 2000) + "…" : l.value}</span> },
  ];
  return <Card title={texts.row.other}><DataTable id="other" caption={texts.row.other} hideCaption columns={columns} rows={lines} /></Card>;
}
