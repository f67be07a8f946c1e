// Parts that the views are made of.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { RowSummary } from "./contract";
import { csv, download, jsonl } from "./files";
import { shortened } from "./format";
import { usePage, type Asked, type Page } from "./state";
import type { Interval } from "./stats";
import { texts } from "./texts";

/** What was asked, when it is there; else that it is awaited, or why it failed. */
export function Answer<T>({ of, children }: { of: Asked<T>; children: (data: T) => ComponentChildren }) {
  if (of.error !== undefined && !of.waiting) return <Failure message={of.error} />;
  if (of.data === undefined) return <p class="waiting" role="status">{texts.working}</p>;
  return <div class={of.waiting ? "answer stale" : "answer"} aria-busy={of.waiting}>{children(of.data)}</div>;
}

function Failure({ message }: { message: string }) {
  const page = usePage();
  return (
    <div class="failure" role="alert">
      <p><strong>{texts.errors.title}.</strong> {message}</p>
      <p class="buttons">
        <button type="button" onClick={() => dispatchEvent(new Event("erreval-retry"))}>{texts.errors.retry}</button>
        {page.filtered && <button type="button" onClick={() => page.go({ filter: {} })}>{texts.errors.clear}</button>}
      </p>
    </div>
  );
}

export interface Column<R> {
  key: string;
  title: string;
  help?: string;
  numeric?: boolean;
  /** What is sorted, searched and exported. */
  value: (row: R) => string | number | null;
  /** What is shown; without it the value, and "hidden" only exports it. */
  show?: ((row: R) => ComponentChildren) | "hidden";
}

interface TableProps<R> {
  id: string; // unique in the view; its order and search stand in the address
  caption: string;
  columns: Column<R>[];
  rows: R[];
  hideCaption?: boolean;
  rank?: (row: R) => number; // rows of a lower rank stay above, however they are sorted
  class?: (row: R) => string;
  most?: number;
  tools?: ComponentChildren;
  part?: boolean; // rows are those of one of several pages, which is not all that a search or a file would stand for
}

/** A table that sorts, searches, exports what it shows, and is walked through by arrow keys. */
export function DataTable<R>(props: TableProps<R>) {
  const { id, caption, columns, rows } = props;
  const page = usePage();
  const [every, setEvery] = useState(false);
  const { key, descending, search } = readTable(page.state.params[`t.${id}`]);
  const put = (change: { key?: string; descending?: boolean; search?: string }) => {
    const next = { key, descending, search, ...change };
    const empty = next.key === "" && next.search === "";
    page.set({ [`t.${id}`]: empty ? "" : `${next.descending ? "-" : ""}${next.key}:${next.search}` }, change.search !== undefined);
  };
  const wanted = search.toLowerCase();
  const found = wanted === "" ? rows : rows.filter((r) => columns.some((c) => String(c.value(r) ?? "").toLowerCase().includes(wanted)));
  const sorted = sortRows(found, columns.find((c) => c.key === key), descending, props.rank);
  const most = props.most ?? 200;
  const shown = every ? sorted : sorted.slice(0, most);
  const visible = columns.filter((c) => c.show !== "hidden");
  const table = useRef<HTMLTableElement>(null);
  useRoving(table);
  const heading = (c: Column<R>) => c.title;
  const cells = () => sorted.map((r) => columns.map((c) => c.value(r)));
  const save = (format: "csv" | "jsonl") => {
    const name = `${fileName(caption)}.${format}`;
    if (format === "csv") download(name, new Blob([csv(columns.map(heading), cells())], { type: "text/csv" }));
    else {
      const lines = cells().map((values) => Object.fromEntries(columns.map((c, i) => [heading(c), values[i] ?? null])));
      download(name, new Blob([jsonl(lines)], { type: "application/jsonl" }));
    }
  };
  const cycle = (c: Column<R>) => {
    const begins = c.numeric ?? false; // the largest first
    if (key !== c.key) put({ key: c.key, descending: begins });
    else if (descending === begins) put({ descending: !begins });
    else put({ key: "", descending: false });
  };
  return (
    <div class="datatable">
      <div class="tools">
        {props.tools}
        {!props.part && (rows.length > 7 || search !== "") && (
          <input type="search" value={search} placeholder={texts.table.searchShort} aria-label={texts.table.search(caption)}
            onInput={(e) => put({ search: e.currentTarget.value })} />
        )}
        {!props.part && <span class="count">{texts.table.shown(found.length, rows.length)}</span>}
        {!props.part && <Export caption={caption} save={save} />}
      </div>
      <Scroll label={caption}>
        <table ref={table}>
          <caption class={props.hideCaption ? "hidden" : ""}>{caption}</caption>
          <thead>
            <tr>
              {visible.map((c) => (
                <th key={c.key} scope="col" class={c.numeric ? "numeric" : ""} aria-sort={key === c.key ? (descending ? "descending" : "ascending") : "none"}>
                  <button type="button" class="sort" title={c.help ?? texts.table.sort(c.title)} onClick={() => cycle(c)}>
                    {c.title}<span class="arrow" aria-hidden="true">{key === c.key ? (descending ? "▼" : "▲") : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((r, i) => (
              <tr key={i} class={props.class?.(r) || undefined}>
                {visible.map((c, j) => {
                  const content = typeof c.show === "function" ? c.show(r) : c.value(r);
                  const names = c.numeric ? "numeric" : "";
                  return j === 0 ? <th key={c.key} scope="row" class={names}>{content}</th> : <td key={c.key} class={names}>{content}</td>;
                })}
              </tr>
            ))}
            {shown.length === 0 && <tr><td colSpan={visible.length} class="empty">{texts.table.empty}</td></tr>}
          </tbody>
        </table>
      </Scroll>
      {shown.length < sorted.length && <button type="button" onClick={() => setEvery(true)}>{texts.table.more(sorted.length)}</button>}
    </div>
  );
}

function readTable(text: string | undefined): { key: string; descending: boolean; search: string } {
  const colon = text?.indexOf(":") ?? -1;
  const order = text === undefined ? "" : colon < 0 ? text : text.slice(0, colon);
  return {
    key: order.replace(/^-/, ""), descending: order.startsWith("-"),
    search: colon < 0 || text === undefined ? "" : text.slice(colon + 1),
  };
}

const collator = new Intl.Collator("en", { numeric: true });

/** A value as text, without the star of those that stand out. */
const unmarked = (value: string | number) => String(value).replace(/^\*/, "");

/** Rows without a value come last. */
export function sortRows<R>(rows: R[], by: Column<R> | undefined, descending: boolean, rank: (row: R) => number = () => 0): R[] {
  const sign = descending ? -1 : 1;
  return rows.map((row, place) => ({ row, place, value: by?.value(row) ?? null })).sort((a, b) => {
    const pinned = rank(a.row) - rank(b.row);
    if (pinned !== 0 || !by) return pinned || a.place - b.place;
    if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null) || a.place - b.place;
    const order = typeof a.value === "number" && typeof b.value === "number" ? a.value - b.value : collator.compare(unmarked(a.value), unmarked(b.value));
    return sign * order || a.place - b.place;
  }).map((x) => x.row);
}

export function Export({ caption, save }: { caption: string; save: (format: "csv" | "jsonl") => void }) {
  return (
    <span class="export">
      <button type="button" aria-label={texts.table.export(texts.table.csv, caption)} onClick={() => save("csv")}>{texts.table.csv}</button>
      <button type="button" aria-label={texts.table.export(texts.table.jsonl, caption)} onClick={() => save("jsonl")}>{texts.table.jsonl}</button>
    </span>
  );
}

export function fileName(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "table";
}

/** What is wide scrolls by itself, so that the page does not. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return <div class="scroll" role="region" aria-label={texts.table.scroll(label)} tabIndex={0}>{children}</div>;
}

const stopsOf = (root: HTMLElement) => [...root.querySelectorAll<HTMLElement>("tbody a, tbody button, tbody summary")];

/** One stop of the tabulator key for the body of a table; arrows, j and k, Home and End move in it. */
export function useRoving(table: { current: HTMLTableElement | null }): void {
  const page = usePage();
  const latest = useRef(page);
  latest.current = page;
  useEffect(() => {
    const root = table.current;
    if (!root) return;
    const stops = stopsOf(root);
    const here = stops.find((s) => s.dataset["roving"] === "here") ?? stops.find((s) => s.ariaCurrent === "true") ?? stops[0];
    for (const s of stops) mark(s, s === here);
    const turned = root.dataset["turned"];
    if (turned === undefined || root.closest('[aria-busy="true"]')) return;
    delete root.dataset["turned"];
    const stop = stops.at(turned === "next" ? 0 : -1);
    if (stop) reach(root, stop, page);
  });
  useEffect(() => {
    const root = table.current;
    if (!root) return;
    const onKey = (e: KeyboardEvent) => {
      const from = e.target instanceof Element ? e.target.closest<HTMLElement>("a, button, summary") : null;
      const inside = from && root.tBodies[0]?.contains(from) && !e.ctrlKey && !e.metaKey && !e.altKey;
      if (!inside || !move(root, from, e.key, latest.current)) return;
      e.preventDefault();
      e.stopPropagation();
    };
    const onFocus = (e: FocusEvent) => {
      const at = e.target instanceof Element ? e.target.closest<HTMLElement>("tbody a, tbody button, tbody summary") : null;
      if (at) for (const s of stopsOf(root)) mark(s, s === at);
    };
    root.addEventListener("keydown", onKey);
    root.addEventListener("focusin", onFocus);
    return () => {
      root.removeEventListener("keydown", onKey);
      root.removeEventListener("focusin", onFocus);
    };
  }, []);
}

function mark(stop: HTMLElement, here: boolean): void {
  stop.tabIndex = here ? 0 : -1;
  stop.dataset["roving"] = here ? "here" : "";
}

/** Goes to a stop of a table. If a row is open beside it, that of the stop is opened; the focus stays in an open row. */
export function reach(root: HTMLTableElement, stop: HTMLElement, page: Page): void {
  for (const s of stopsOf(root)) mark(s, s === stop);
  stop.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (!document.activeElement?.closest("aside")) stop.focus();
  const row = stop.dataset["row"];
  if (row !== undefined && page.state.params["row"] !== undefined) page.set({ row }, true);
}

/** Moves from a stop of a table as a key says, at its ends to another page; whether the key says so. */
export function move(root: HTMLTableElement, from: HTMLElement, key: string, page: Page): boolean {
  const next = step(root, from, key);
  if (next) {
    reach(root, next, page);
    return true;
  }
  const turn = key === "j" || key === "ArrowDown" ? "next" : key === "k" || key === "ArrowUp" ? "previous" : "";
  const button = root.closest(".card")?.querySelector<HTMLButtonElement>(`.pager [data-go="${turn}"]:enabled`);
  if (!button) return false;
  root.dataset["turned"] = turn; // the answer is awaited
  button.click();
  return true;
}

function step(root: HTMLTableElement, from: HTMLElement, key: string): HTMLElement | undefined {
  const lines = [...root.querySelectorAll("tbody tr")].map((tr) => [...tr.querySelectorAll<HTMLElement>("a, button, summary")]).filter((l) => l.length > 0);
  const y = lines.findIndex((l) => l.includes(from));
  const x = lines[y]?.indexOf(from) ?? 0;
  const column = (stop: HTMLElement) => stop.closest<HTMLTableCellElement>("td, th")!.cellIndex;
  const distance = (stop: HTMLElement) => Math.abs(column(stop) - column(from)); // where cells are blank
  const at = (line: HTMLElement[] | undefined) => line?.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  switch (key) {
    case "ArrowDown":
    case "j":
      return at(lines[y + 1]);
    case "ArrowUp":
    case "k":
      return at(lines[y - 1]);
    case "ArrowRight":
      return lines[y]?.[x + 1];
    case "ArrowLeft":
      return lines[y]?.[x - 1];
    case "Home":
      return at(lines[0]);
    case "End":
      return at(lines.at(-1));
    default:
      return undefined;
  }
}

/** Opens a row beside the list that it stands in. */
export function RowLink({ n, children, title }: { n: number; children: ComponentChildren; title?: string }) {
  const page = usePage();
  const { params } = page.state;
  const row = String(n);
  return <a href={page.href({ params: { ...params, row } })} data-row={row} aria-current={params["row"] === row ? "true" : undefined} title={title}>{children}</a>;
}

/** A row's id, which opens the row: of a long one both ends. */
export function RowId({ of }: { of: RowSummary }) {
  return <><RowLink n={of.n} title={of.id}>{shortened(of.id)}</RowLink>{of.marked && <span class="mark" role="img" aria-label={texts.label.isMarked} title={texts.label.isMarked}> ✎</span>}</>;
}

/** A share as a bar with its interval. The figures stand beside it. */
export function Bar({ of, most, tone }: { of: Interval | undefined; most: number; tone: string }) {
  const x = (p: number) => `${Math.max(0, Math.min(100, (100 * p) / (most || 1)))}%`;
  if (!of) return <span class="bar" aria-hidden="true" />;
  const whole = { "--from": x(of.low), "--to": x(of.high), "--at": x(of.value) };
  return <span class={`bar ${tone}`} style={whole} aria-hidden="true"><span class="fill" /><span class="range" /></span>;
}

/** A difference as a bar from the middle, with its interval. */
export function DifferenceBar({ of, most }: { of: Interval | undefined; most: number }) {
  if (!of || !(most > 0)) return null;
  const x = (d: number) => `${Math.max(0, Math.min(100, 50 + (50 * d) / most))}%`;
  const style = { "--from": x(of.low), "--to": x(of.high), "--at": x(of.value) };
  return <span class="difference-bar" style={style} aria-hidden="true"><span class="range" /><span class="dot" /></span>;
}

export function Select({ label, value, options, onChange }: {
  label: string; value: string; options: { value: string; title: string }[]; onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <span class="select">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map((o) => <option key={o.value} value={o.value} selected={o.value === value}>{o.title}</option>)}
      </select>
    </span>
  );
}

export function Card({ title, id, help, children, tools }: {
  title: string; id?: string; help?: string; children: ComponentChildren; tools?: ComponentChildren;
}) {
  const heading = useId();
  return (
    <section class="card" aria-labelledby={heading} {...(id ? { id } : {})}>
      <div class="card-head">
        <h2 id={heading}>{title}</h2>
        {tools && <div class="card-tools">{tools}</div>}
      </div>
      {help && <p class="help">{help}</p>}
      {children}
    </section>
  );
}

/** A card that opens when it is asked for, and asks nothing before; with its result in a sentence it is a part of one. */
export function Fold({ title, result, children }: { title: string; result?: string | undefined; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="card fold" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{result ? <><h3>{title}</h3> <span class="note">{result}</span></> : <h2>{title}</h2>}</summary>
      {open && children}
    </details>
  );
}
