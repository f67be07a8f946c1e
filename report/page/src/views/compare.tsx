import type { Facet, PairMeasure, PairValue, Pairs, RowSummary, Side, Source } from "../contract";
import { RoleNone, ViewCompare } from "../contract";
import { differing } from "../fields";
import { count, number, pValue, percent, signed } from "../format";
import { SectionBody, SectionCard } from "../sections";
import { Difference, numberSums, Pooled, runsOfSystems } from "../shares";
import { facetOf, findings, useAsk, usePage, type Page } from "../state";
import { holm, pairedMeans, pairedShares, type Difference as Tested } from "../stats";
import { texts } from "../texts";
import { facetTitle, measureTitle } from "../titles";
import { Answer, Card, DataTable, Fold, RowId, Select, type Column } from "../ui";
import { whatDiffers } from "./overview";
import { begins, namesOf, Pager, Tags, Texts } from "./rows";

const size = 25;

export function Compare() {
  const page = usePage();
  const sides = sidesOf(page);
  const sections = page.catalog.sections.map((s, i) => ({ s, i })).filter(({ s }) => s.view === ViewCompare);
  const folded = sections.filter(({ s }) => s.summary);
  return (
    <>
      {sides.length < 2 && sections.length === 0 && <p class="note">{texts.compare.none}</p>}
      {sections.filter(({ s }) => !s.summary).map(({ s, i }) => <SectionCard key={i} of={s} id={`section-${i}`} />)}
      {folded.length > 0 && (
        <Fold title={texts.compare.sure}>
          {folded.map(({ s, i }) => <Fold key={i} title={s.title} result={s.summary}><SectionBody of={s} id={`section-${i}`} /></Fold>)}
        </Fold>
      )}
      {sides.length >= 2 && <Start sides={sides} />}
    </>
  );
}

interface Choice {
  side: Side;
  title: string;
  key: string;
}

const none = { value: "", only: "", from: "" }; // of a list

/** Runs, where there are several, and systems. */
function sidesOf(page: Page): Choice[] {
  const pairsOnly = new Set(page.catalog.runs.filter((r) => r.command === "compare").map((r) => r.name));
  return ["run", "system"].flatMap((key) => {
    const facet = facetOf(page.catalog, key);
    const known = facet?.values.filter((v) => v.role === undefined) ?? [];
    const rows = known.filter((v) => !pairsOnly.has(v.name)); // pairs have no partner among rows
    const values = rows.length < 2 ? known : rows;
    return values.length < 2 ? [] : values.map((v) => ({ side: { facet: key, value: v.name }, title: `${facet!.title}: ${v.name}`, key: `${key}:${v.name}` }));
  });
}

const mostTries = 20; // of each kind of sides

/**
 * The first two sides that have pairs of which something is known: two files may be of other rows, or one without labels.
 * Where none have any, systems.
 */
export async function firstSides(source: Pick<Source, "pairs">, sides: Choice[], facet: Facet, signal?: AbortSignal): Promise<Choice[]> {
  let of = sides;
  for (const kind of new Set(sides.map((s) => s.side.facet))) {
    of = sides.filter((s) => s.side.facet === kind);
    const tries = of.flatMap((a, i) => of.slice(i + 1).map((b): [Choice, Choice] => [a, b])).slice(0, mostTries);
    for (const [a, b] of tries) {
      const { pairs, unknown } = await source.pairs({ a: a.side, b: b.side, filter: {}, facet: facet.key, offset: 0, limit: 0 }, signal);
      if (pairs > unknown) return [a, b];
    }
  }
  return of;
}

/** Finds what to begin with, where the address does not say. */
function Start({ sides }: { sides: Choice[] }) {
  const page = usePage();
  const { params } = page.state;
  const facets = findings(page.catalog);
  const facet = facets.find((f) => f.key === params["facet"]) ?? facets[0];
  const asked = useAsk("start", [facet?.key, params["a"] === undefined], async (s, signal) =>
    facet && params["a"] === undefined ? firstSides(s, sides, facet, signal) : []);
  return <Answer of={asked}>{(first) => <PairsOf sides={sides} first={first} facets={facets} facet={facet} />}</Answer>;
}

function PairsOf({ sides, first, facets, facet }: { sides: Choice[]; first: Choice[]; facets: Facet[]; facet: Facet | undefined }) {
  const page = usePage();
  const { params, filter } = page.state;
  const a = sides.find((s) => s.key === params["a"]) ?? first[0] ?? sides[0]!;
  const same = sides.filter((s) => s.side.facet === a.side.facet && s.key !== a.key);
  const b = same.find((s) => s.key === (params["b"] ?? first[1]?.key)) ?? same[0]!;
  const value = facet?.values.find((v) => v.name === params["value"])?.name ?? "";
  const only = value && (params["only"] === "a" || params["only"] === "b") ? params["only"] : "";
  const from = begins(params["from"]);
  const asked = useAsk(`pairs ${JSON.stringify([a.side, b.side, facet?.key])}`, [value, only, filter, from], async (s, signal) =>
    facet && s.pairs({ a: a.side, b: b.side, filter, facet: facet.key, ...(value ? { value } : {}), ...(only ? { only } : {}), offset: from, limit: size }, signal));
  const option = (s: { key: string; title: string }) => ({ value: s.key, title: s.title });
  return (
    <>
      <div class="choices">
        <Select label={texts.compare.a} value={a.key} options={sides.map(option)} onChange={(v) => page.set({ a: v, b: "", ...none })} />
        <Select label={texts.compare.b} value={b.key} options={same.map(option)} onChange={(v) => page.set({ a: a.key, b: v, ...none })} />
        <button type="button" onClick={() => page.set({ a: b.key, b: a.key, only: only && (only === "a" ? "b" : "a"), from: "" })}>{texts.compare.swap}</button>
        {facet && facets.length > 1 && (
          <Select label={texts.compare.facet} value={facet.key} options={facets.map((f) => ({ value: f.key, title: facetTitle(f) }))}
            onChange={(v) => page.set({ a: a.key, b: b.key, facet: v, ...none })} />
        )}
      </div>
      <p class="help">{texts.compare.how}</p>
      {a.side.facet === "run" && <Settings a={a.side.value} b={b.side.value} />}
      {a.side.facet === "system" && <Pooled runs={runsOfSystems(page.catalog)} />}
      <Answer of={asked}>
        {(pairs) => pairs && facet && (
          <>
            <p class="note">
              {texts.compare.summary(pairs.pairs, pairs.changed, pairs.unknown)}.{" "}
              {texts.compare.alone("A", pairs.alone_a)}; {texts.compare.alone("B", pairs.alone_b)}.
            </p>
            {pairs.pairs > 0 && (
              <>
                {!arePaired(pairs) && <p class="note sample">{texts.compare.few}</p>}
                <Values pairs={pairs} facet={facet} sure={arePaired(pairs)} />
                {pairs.measures.some((m) => m.pairs > 0) && <Measures pairs={pairs} sure={arePaired(pairs)} />}
                <Changed pairs={pairs} facet={facet} value={value} only={only} from={from} />
              </>
            )}
          </>
        )}
      </Answer>
    </>
  );
}

/** What two runs were made with that differs, and so may be what changed. */
function Settings({ a, b }: { a: string; b: string }) {
  const { catalog } = usePage();
  const runs = [a, b].flatMap((name) => catalog.runs.filter((r) => r.name === name));
  if (runs.length < 2) return null;
  const differing = whatDiffers(runs);
  const [one, other] = runs.map(differing);
  return one === other ? null : <p class="note sample">{texts.compare.settings(one!, other!)}</p>;
}

/** Of either system's rows for inputs of both. */
export const mostlyPaired = 0.9;
const pairedFrom = 0.5; // of the rows of the smaller one, as report.pairedFrom

/** Whether the pairs of two systems say what their rows do: those for inputs of which one has more rows are in none. */
export function arePaired({ paired, alone_a, alone_b, missed_a, missed_b }: Pairs): boolean {
  return paired >= mostlyPaired * (paired + Math.max(missed_a, missed_b)) && paired >= pairedFrom * (paired + Math.min(alone_a, alone_b));
}

interface ValueLine extends PairValue {
  rows: number; // pairs
  holm: number; // of a value that says that nothing was found, p itself: it is a question of its own
  difference: Tested | undefined;
}

export function valueLines(pairs: Pairs, facet: Facet): ValueLine[] {
  const isNone = (name: string) => facet.values.find((v) => v.name === name)?.role === RoleNone;
  const lines = pairs.values.map((v): ValueLine => {
    const rows = v.both + v.only_a + v.only_b + v.neither;
    const difference = pairedShares(v.only_a, {
      groups: (v.of ?? pairs).groups, sum: v.only_b - v.only_a, rows, sumSquares: v.squares, rowSquares: (v.of ?? pairs).squares, products: v.products,
    });
    return { ...v, rows, difference, holm: difference?.p ?? 1 };
  });
  const found = lines.filter((l) => l.difference && l.neither < l.rows && !isNone(l.name));
  holm(found.map((l) => l.holm)).forEach((p, i) => (found[i]!.holm = p));
  return lines;
}

function Values({ pairs, facet, sure }: { pairs: Pairs; facet: Facet; sure: boolean }) {
  const page = usePage();
  const role = (name: string) => facet.values.find((v) => v.name === name)?.role;
  const lines = valueLines(pairs, facet).map((l) => (sure ? l : { ...l, difference: undefined }));
  const widest = Math.max(0, ...lines.flatMap((l) => (l.difference ? [Math.abs(l.difference.low), Math.abs(l.difference.high)] : [])));
  const shareA = (l: ValueLine) => (l.rows > 0 ? (l.both + l.only_a) / l.rows : null);
  const shareB = (l: ValueLine) => (l.rows > 0 ? (l.both + l.only_b) / l.rows : null);
  const plain = (key: string, title: string, value: (l: ValueLine) => number): Column<ValueLine> => ({ key, title, numeric: true, value, show: (l) => count(value(l)) });
  /** The pairs of one side alone are listed by a click on their number. */
  const alone = (l: ValueLine, n: number, only: "a" | "b") => {
    const title = texts.compare.changedIn(l.name, only);
    return n > 0 ? <button type="button" class="sort" title={title} aria-label={`${count(n)}: ${title}`} onClick={() => {
      page.set({ ...none, value: l.name, only });
      toList();
    }}>{count(n)}</button> : "0";
  };
  const columns: Column<ValueLine>[] = [
    {
      key: "name", title: facet.title, value: (l) => l.name,
      show: (l) => <a href={page.href({ params: { ...page.state.params, ...none, value: l.name } })} title={texts.compare.changedIn(l.name)} onClick={toList}>{l.name}</a>,
    },
    { key: "a", title: texts.compare.share("A"), numeric: true, value: shareA, show: (l) => percent(shareA(l)) },
    { key: "b", title: texts.compare.share("B"), numeric: true, value: shareB, show: (l) => percent(shareB(l)) },
    { key: "d", title: texts.compare.difference, numeric: true, value: (l) => l.difference?.value ?? null, show: (l) => <Difference of={l.difference} most={widest} clear={l.holm < 0.05} /> },
    { key: "d.low", title: `${texts.compare.difference} ${texts.issues.low}`, value: (l) => l.difference?.low ?? null, show: "hidden" },
    { key: "d.high", title: `${texts.compare.difference} ${texts.issues.high}`, value: (l) => l.difference?.high ?? null, show: "hidden" },
    plain("both", texts.compare.both, (l) => l.both),
    { ...plain("only_a", texts.compare.only("A"), (l) => l.only_a), show: (l) => alone(l, l.only_a, "a") },
    { ...plain("only_b", texts.compare.only("B"), (l) => l.only_b), show: (l) => alone(l, l.only_b, "b") },
    plain("neither", texts.compare.neither, (l) => l.neither),
    { key: "p", title: texts.compare.p, help: texts.compare.pHelp, numeric: true, value: (l) => l.difference?.p ?? null, show: (l) => (l.difference ? pValue(l.difference.p) : "–") },
    { key: "holm", title: texts.compare.holm, help: texts.compare.holmHelp, numeric: true, value: (l) => (l.difference ? l.holm : null), show: (l) => <Corrected of={l} /> },
  ];
  return (
    <Card title={texts.compare.caption} help={`${texts.compare.p}: ${texts.compare.pHelp}; ${texts.compare.holm}: ${texts.compare.holmHelp}.`}>
      <DataTable id="values" caption={texts.compare.caption} hideCaption columns={columns} rows={lines} rank={(l) => (role(l.name) === RoleNone ? 0 : 1)}
        class={(l) => (role(l.name) ? `role-${role(l.name)}` : "")} />
    </Card>
  );
}

interface MeasureLine extends PairMeasure {
  difference: Tested | undefined;
  holm: number;
}

function Measures({ pairs, sure }: { pairs: Pairs; sure: boolean }) {
  const page = usePage();
  const title = (key: string) => {
    const m = page.catalog.measures.find((x) => x.key === key);
    return m ? measureTitle(m) : key;
  };
  const lines = pairs.measures.filter((m) => m.pairs > 0).map((m): MeasureLine => {
    const difference = sure && m.pairs >= mostlyPaired * pairs.pairs ? pairedMeans(numberSums(m.sum_b - m.sum_a, m.pairs, m)) : undefined;
    return { ...m, difference, holm: difference?.p ?? 1 };
  });
  const tested = lines.filter((l) => l.difference);
  holm(tested.map((l) => l.holm)).forEach((p, i) => (tested[i]!.holm = p));
  const columns: Column<MeasureLine>[] = [
    { key: "name", title: texts.compare.number, value: (l) => title(l.key) },
    { key: "pairs", title: texts.compare.pairs, numeric: true, value: (l) => l.pairs, show: (l) => count(l.pairs) },
    { key: "a", title: texts.compare.mean("A"), numeric: true, value: (l) => l.sum_a / l.pairs, show: (l) => number(l.sum_a / l.pairs) },
    { key: "b", title: texts.compare.mean("B"), numeric: true, value: (l) => l.sum_b / l.pairs, show: (l) => number(l.sum_b / l.pairs) },
    {
      key: "d", title: texts.compare.difference, numeric: true, value: (l) => l.difference?.value ?? null,
      show: (l) => l.difference && (
        <span class={l.holm < 0.05 ? "figure clear" : "figure"}>
          <span class="value">{signed(l.difference.value)}</span>
          <span class="sub">{Number.isNaN(l.difference.low) ? "" : `${signed(l.difference.low)} to ${signed(l.difference.high)}`}</span>
        </span>
      ),
    },
    { key: "d.low", title: `${texts.compare.difference} ${texts.issues.low}`, value: (l) => l.difference?.low ?? null, show: "hidden" },
    { key: "d.high", title: `${texts.compare.difference} ${texts.issues.high}`, value: (l) => l.difference?.high ?? null, show: "hidden" },
    { key: "holm", title: texts.compare.holm, help: texts.compare.numbersHelp, numeric: true, value: (l) => (l.difference ? l.holm : null), show: (l) => <Corrected of={l} /> },
  ];
  return <Card title={texts.compare.measures}><DataTable id="numbers" caption={texts.compare.measures} hideCaption columns={columns} rows={lines} /></Card>;
}

/** The corrected p of a line; none where nothing was tested. */
function Corrected({ of }: { of: { difference: Tested | undefined; holm: number } }) {
  return of.difference ? <span class={of.holm < 0.05 ? "strong" : ""}>{pValue(of.holm)}</span> : <>–</>;
}

const listId = "pairs";

function toList(): void {
  document.getElementById(listId)?.scrollIntoView();
}

function Changed({ pairs, facet, value, only, from }: { pairs: Pairs; facet: Facet; value: string; only: string; from: number }) {
  const page = usePage();
  type Pair = [RowSummary, RowSummary];
  const text = (pair: Pair, of: RowSummary) => <span class="text"><Texts of={of} fields={differing(page.catalog, pair)} />{of.text}</span>;
  const columns: Column<Pair>[] = [
    { key: "id", title: `${texts.rowsView.id} A`, value: ([a]) => a.id, show: ([a]) => <RowId of={a} /> },
    { key: "ta", title: `${texts.rowsView.text} A`, value: ([a]) => a.text, show: (p) => text(p, p[0]) },
    { key: "va", title: `${facet.title} A`, value: ([a]) => namesOf(a, facet), show: ([a]) => <Tags row={a} facet={facet.key} /> },
    { key: "idb", title: `${texts.rowsView.id} B`, value: ([, b]) => b.id, show: ([, b]) => <RowId of={b} /> },
    { key: "tb", title: `${texts.rowsView.text} B`, value: ([, b]) => b.text, show: (p) => text(p, p[1]) },
    { key: "vb", title: `${facet.title} B`, value: ([, b]) => namesOf(b, facet), show: ([, b]) => <Tags row={b} facet={facet.key} /> },
  ];
  const title = value ? texts.compare.changedIn(value, only) : texts.compare.changed;
  return (
    <Card id={listId} title={title} tools={value !== "" && <button type="button" onClick={() => page.set(none)}>{texts.compare.showAll}</button>}>
      {pairs.changed === 0 ? <p class="note">{texts.compare.nothing}</p> : (
        <>
          <DataTable id="changed" caption={title} hideCaption columns={columns} rows={pairs.rows} part={pairs.changed > pairs.rows.length} />
          <Pager offset={from} total={pairs.changed} step={size} onGo={(n) => page.set({ from: n > 0 ? String(n) : "" })} />
        </>
      )}
    </Card>
  );
}
