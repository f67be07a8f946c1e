// A Source of the rows in a report file, answered in memory.

import type {
  Catalog, Condition, CountBase, CountCell, Counts, CountsQuery, Data, ExportFormat, Facet, Filter, Histogram, HistogramQuery, Json, Measure,
  Outputs, OutputsQuery, PairMeasure, Pairs, PairsQuery, PairValue, RowDetail, RowQuery, RowSummary, RowsPage, RowsQuery, Side, Sort, Source,
} from "./contract";
import { RoleNone, RoleUnknown } from "./contract";
import { unpack } from "./decode";
import { csv } from "./files";
import { beginning, fieldTexts, fold, hasWord, summaryLength, words } from "./fields";
import { texts } from "./texts";

export class LocalSource implements Source {
  private readonly facets = new Map<string, Facet>();
  private readonly measures = new Map<string, Measure>();
  private readonly size: number;
  private readonly answers = new Map<string, unknown>();
  private readonly lists = new Map<string, Int32Array>(); // filter and sort to rows in order
  private searchable: string[] | undefined;
  private byGroup: Int32Array | undefined; // rows
  private records: string[] = [];
  private loading: Promise<void> | undefined;

  constructor(
    private readonly data: Data,
    /** The records of a file, a line each: most of its text, and the first view needs none. */
    private readonly readRecords = async () => data.rows.records.map((r) => JSON.stringify(r)).join("\n"),
  ) {
    this.size = data.rows.run.length;
    for (const f of data.catalog.facets) this.facets.set(f.key, f);
    for (const m of data.catalog.measures) this.measures.set(m.key, m);
    for (const a of data.answers ?? []) {
      if (a.counts) this.answers.set(countsKey(a.counts), a.answer);
      if (a.histogram) this.answers.set(histogramKey(a.histogram), a.answer);
    }
  }

  /** Of the data blocks: gzip in base64. */
  static async decode(data: string, records: string): Promise<LocalSource> {
    const read = (block: string) => unpack(block).catch(() => Promise.reject(new Error(texts.errors.data)));
    return new LocalSource(JSON.parse(await read(data)) as Data, () => read(records));
  }

  /** Unpacks the records; what shows or searches texts waits for it. */
  private loadRecords(): Promise<void> {
    return (this.loading ??= this.readRecords().then((text) => void (this.records = text.split("\n"))));
  }

  private async loadSearched(filter: Filter): Promise<void> {
    if (words(filter.search ?? "").length > 0) await this.loadRecords();
  }

  private record(r: number): Json {
    return JSON.parse(this.records[r]!) as Json;
  }

  catalog(): Catalog {
    return this.data.catalog;
  }

  sampled(): boolean {
    return this.data.catalog.sample !== undefined;
  }

  async counts(q: CountsQuery): Promise<Counts> {
    await this.loadSearched(q.filter);
    if (isEmpty(q.filter)) {
      const known = this.answers.get(countsKey(q));
      if (known) return known as Counts;
    }
    const facet = this.facet(q.facet);
    const { names, columnOf } = this.columns(q.by);
    const places = this.places(facet);
    const unjudged = this.unjudged(facet);
    const unknown = facet.values.map((v) => v.role === RoleUnknown);
    const columns = names.map((name) => ({ name, rows: 0, groups: 0, squares: 0 }));
    const values = facet.values.map((v) => ({ name: v.name, cells: names.map((): CountCell => ({ rows: 0, squares: 0, products: 0 })) }));
    const known = new Tally(names.length); // of a group, by column
    const found = new Tally(names.length * values.length); // likewise, by value and column
    const left = new Tally(names.length * values.length);
    const cellAt = (at: number) => ({ v: Math.floor(at / names.length), c: at % names.length });
    let total = 0;
    this.eachByGroup(q.filter, (r) => {
      total++;
      const c = columnOf(r);
      if (c === undefined) return;
      for (const v of places[r]!) found.add(v * names.length + c);
      if (places[r]!.every((v) => unknown[v])) return;
      known.add(c);
      for (const v of unjudged(r)) left.add(v * names.length + c);
    }, () => {
      found.each((at, y) => {
        const { v, c } = cellAt(at);
        const cell = values[v]!.cells[c]!;
        cell.rows += y;
        if (unknown[v]) return;
        cell.squares += y * y;
        cell.products += y * (known.of[c]! - left.of[at]!);
      });
      left.each((at, some) => {
        const { v, c } = cellAt(at);
        leave((values[v]!.cells[c]!.of ??= { rows: 0, groups: 0, squares: 0 }), known.of[c]!, some);
      });
      known.each((c, n) => leave(columns[c]!, n, n));
      for (const tally of [found, left, known]) tally.clear();
    });
    for (const { cells } of values) for (const [c, cell] of cells.entries()) if (cell.of) cell.of = less(columns[c]!, cell.of);
    return { total, columns, values };
  }

  async histogram(q: HistogramQuery): Promise<Histogram> {
    await this.loadSearched(q.filter);
    if (isEmpty(q.filter)) {
      const known = this.answers.get(histogramKey(q));
      if (known) return known as Histogram;
    }
    const m = this.measure(q.measure);
    const { names, columnOf } = this.columns(q.by);
    const numbers = this.numbers(m);
    const { run } = this.data.rows;
    const edges = edgesOf(m);
    const bins = edges.length - 1;
    const first = edges[0]!;
    const stepped = edges[bins]! !== m.high || first !== m.low;
    const columns = names.map((name) => ({ name, rows: 0, missing: 0, sum: 0, counts: new Array<number>(bins).fill(0), ...noSums() }));
    const counts = new Tally(names.length); // of a group
    const sums = new Float64Array(names.length);
    this.eachByGroup(q.filter, (r) => {
      const place = columnOf(r);
      if (place === undefined) return;
      const c = columns[place]!;
      const x = numbers[r];
      if (x === null || x === undefined) {
        if (m.runs.includes(run[r]!)) c.missing++;
        return;
      }
      c.rows++;
      c.sum += x;
      counts.add(place);
      sums[place]! += x;
      const bin = stepped ? Math.floor((x - first) / m.step!) : m.high > m.low ? Math.floor(((x - m.low) / (m.high - m.low)) * bins) : 0;
      c.counts[Math.min(bins - 1, Math.max(0, bin))]!++;
    }, () => {
      counts.each((c, n) => {
        addGroup(columns[c]!, sums[c]!, n);
        sums[c] = 0;
      });
      counts.clear();
    });
    return { edges, columns };
  }

  async rows(q: RowsQuery): Promise<RowsPage> {
    await this.loadRecords();
    const list = this.list(q.filter, q.sort);
    const page = list.subarray(q.offset, q.offset + q.limit);
    return { total: list.length, rows: Array.from(page, (r) => this.summary(r)) };
  }

  async row(q: RowQuery): Promise<RowDetail> {
    await this.loadRecords();
    if (!(q.n >= 0 && q.n < this.size)) throw new Error(`there is no row ${q.n}`);
    return { row: this.summary(q.n), record: this.record(q.n), partners: this.partners(q.n) };
  }

  async pairs(q: PairsQuery): Promise<Pairs> {
    await (q.limit > 0 ? this.loadRecords() : this.loadSearched(q.filter)); // figures alone need no texts
    const facet = this.facet(q.facet);
    const a = this.side(q.a);
    const b = this.side(q.b);
    if (q.a.facet !== q.b.facet || q.a.value === q.b.value) throw new Error("compare two runs, or two systems");
    const wanted = q.value ? this.place(facet, q.value) : -1;
    const { id, input, group, pair } = this.data.rows;
    const runs = q.a.facet === "run";
    if (!runs) for (const rows of [a, b]) rows.sort((x, y) => compareCodePoints(id[x]!, id[y]!)); // whatever the order of the file
    const all: [number, number][] = [];
    const paired = new Set<number>();
    const left = (rows: number[]) => rows.filter((r) => !paired.has(r));
    const join = (by: ArrayLike<number>) => { // the first with the first: of more on one side, chance would choose
      const others = grouped(left(b), by);
      for (const [key, rows] of grouped(left(a), by)) {
        const of = others.get(key);
        if (of?.length !== rows.length) continue;
        rows.forEach((r, i) => all.push([r, of[i]!]));
        for (const r of [...rows, ...of]) paired.add(r);
      }
    };
    join(runs ? pair! : input);
    if (!runs) join(group);
    const missed = (rows: number[], others: number[]) => {
      const of = grouped(others, group);
      return left(rows).filter((r) => of.has(group[r]!)).length;
    };
    all.sort(([x], [y]) => x - y);
    const chosen = this.flags(q.filter);
    const pairs = all.filter(([x, y]) => chosen[x] || chosen[y]);
    const places = this.places(facet);
    const isUnknown = facet.values.map((v) => v.role === RoleUnknown);
    const values = facet.values.map((v): PairValue => ({ name: v.name, both: 0, only_a: 0, only_b: 0, neither: 0, squares: 0, products: 0 }));
    const groups = new Map<number, { n: number; d: Float64Array; left: Float64Array }>(); // pairs, and by value only_b less only_a, not judged
    const unjudged = this.unjudged(facet);
    let unknown = 0;
    const changed: [number, number][] = [];
    const known = (r: number) => places[r]!.some((v) => !isUnknown[v]);
    for (const [x, y] of pairs) {
      if (!known(x) || !known(y)) {
        unknown++;
        continue;
      }
      const id = this.data.rows.group[x]!;
      let g = groups.get(id);
      if (!g) groups.set(id, (g = { n: 0, d: new Float64Array(values.length), left: new Float64Array(values.length) }));
      g.n++;
      const left = [...new Set([...unjudged(x), ...unjudged(y)])];
      // rows that were not judged for the same errors do not compare as rows without one: one may be so for that alone
      if (left.length > Math.min(unjudged(x).length, unjudged(y).length)) facet.values.forEach((v, i) => { if (v.role === RoleNone) left.push(i); });
      const inA = places[x]!;
      const inB = places[y]!;
      let differs = false;
      values.forEach((v, i) => {
        if (left.includes(i)) {
          g!.left[i]!++;
          return;
        }
        const one = inA.includes(i);
        const two = inB.includes(i);
        g!.d[i]! += Number(two) - Number(one);
        if (one && two) v.both++;
        else if (one) v.only_a++;
        else if (two) v.only_b++;
        else v.neither++;
        if (one !== two && (wanted < 0 || wanted === i) && (!q.only || one === (q.only === "a"))) differs = true;
      });
      if (differs) changed.push([x, y]);
    }
    const base = { rows: 0, groups: 0, squares: 0 };
    for (const { n, d, left } of groups.values()) {
      leave(base, n, n);
      values.forEach((v, i) => {
        v.squares += d[i]! ** 2;
        v.products += d[i]! * (n - left[i]!);
        if (left[i]! > 0) leave((v.of ??= { rows: 0, groups: 0, squares: 0 }), n, left[i]!);
      });
    }
    for (const v of values) if (v.of) v.of = less(base, v.of);
    const measures: PairMeasure[] = this.data.catalog.measures.map((m) => {
      const numbers = this.numbers(m);
      const sums = { key: m.key, pairs: 0, sum_a: 0, sum_b: 0 };
      const changes = new MeanSums();
      for (const [x, y] of pairs) {
        const one = numbers[x];
        const two = numbers[y];
        if (one === null || one === undefined || two === null || two === undefined) continue;
        sums.pairs++;
        sums.sum_a += one;
        sums.sum_b += two;
        changes.add(this.data.rows.group[x]!, two - one);
      }
      return { ...sums, ...changes.sums() };
    });
    return {
      pairs: pairs.length,
      paired: all.length,
      alone_a: a.length - all.length,
      alone_b: b.length - all.length,
      missed_a: missed(a, b),
      missed_b: missed(b, a),
      unknown,
      changed: changed.length,
      groups: base.groups,
      squares: base.squares,
      values: values.filter((_, i) => !isUnknown[i]),
      measures: measures.filter((m) => m.pairs > 0),
      rows: changed.slice(q.offset, q.offset + q.limit).map(([x, y]) => [this.summary(x), this.summary(y)]),
    };
  }

  async outputs(q: OutputsQuery): Promise<Outputs> {
    await this.loadRecords();
    if (q.by !== "run" && q.by !== "system") throw new Error("columns of outputs are runs or systems");
    const own = q.filter.facets?.[q.by];
    const shown = this.flags(own ? { facets: { [q.by]: own } } : {});
    const chosen = this.flags(q.filter);
    const differ = this.differ(q.differ);
    const columns = this.places(this.facet(q.by));
    const rows = this.outputLines(q.by).map((line) => line.filter((r) => shown[r]))
      .filter((line) => line.some((r) => chosen[r]) && differ(line));
    return {
      total: rows.length,
      without: this.select(q.filter).filter((r) => columns[r]!.length === 0).length,
      rows: rows.slice(q.offset, q.offset + q.limit).map((line) => line.map((r) => this.summary(r))),
    };
  }

  /** Rows that stand beside each other as the columns of a facet, in the order of the lines' first rows. */
  private outputLines(by: string): number[][] {
    const { id, input, pair } = this.data.rows;
    const keys = by === "run" ? (pair ?? id) : input;
    const columns = this.places(this.facet(by));
    const taken = new Map<string, number>(); // rows by key and column
    const of = new Map<string | number, number[][]>(); // lines by key
    const lines: number[][] = [];
    for (let r = 0; r < this.size; r++) {
      const column = columns[r]![0];
      if (column === undefined) continue;
      const key = keys[r]!;
      const place = `${column} ${key}`;
      const nth = taken.get(place) ?? 0;
      taken.set(place, nth + 1);
      const known = of.get(key) ?? [];
      if (nth === known.length) {
        known.push([]);
        lines.push(known[nth]!);
        of.set(key, known);
      }
      known[nth]!.push(r);
    }
    return lines;
  }

  /** Whether rows differ in a facet, of those of which it is known; without a facet any do. */
  private differ(key: string | undefined): (line: number[]) => boolean {
    if (!key) return () => true;
    const facet = this.facet(key);
    const places = this.places(facet);
    const known = (r: number) => places[r]!.some((v) => facet.values[v]!.role !== RoleUnknown);
    return (line) => new Set(line.filter(known).map((r) => places[r]!.toSorted().join())).size > 1;
  }

  async export(q: { filter: Filter; sort: Sort; format: ExportFormat }): Promise<Blob> {
    await this.loadRecords();
    const list = this.list(q.filter, q.sort);
    if (q.format === "csv") return new Blob([this.table(list)], { type: "text/csv" });
    return new Blob(Array.from(list, (r) => this.records[r]! + "\n"), { type: "application/jsonl" });
  }

  /** What a table of rows shows, with the texts whole, in the columns of report/view's export. */
  private table(list: Int32Array): string {
    const { facets, fields, measures, runs } = this.data.catalog;
    const shown = facets.filter((f) => f.key !== "run" && f.key !== "system_run"); // which another column says
    const rows = Array.from(list, (r) => {
      const s = this.summary(r);
      const values = shown.map((f) => (s.facets[f.key] ?? []).map((place) => f.values[place]!.name).join("; "));
      const whole = fields.map((f) => fieldTexts(this.data.catalog, s.run, this.record(r), f).join(" | "));
      return [runs[s.run]!.name, s.id, ...whole, ...values, ...measures.map((m) => s.measures[m.key] ?? null)];
    });
    return csv(["run", "id", ...fields.map((f) => f.name), ...shown.map((f) => f.key), ...measures.map((m) => m.key)], rows);
  }

  /** Makes what the first search needs, so that it does not wait. */
  async prepareSearch(): Promise<void> {
    await this.loadRecords();
    this.searchTexts();
  }

  private facet(key: string): Facet {
    const f = this.facets.get(key);
    if (!f) throw new Error(`there is no facet "${key}"`);
    return f;
  }

  private measure(key: string): Measure {
    const m = this.measures.get(key);
    if (!m) throw new Error(`there is no measure "${key}"`);
    return m;
  }

  /** The columns of a facet, or one of all rows. */
  private columns(key: string | undefined): { names: string[]; columnOf: (r: number) => number | undefined } {
    if (!key) return { names: [""], columnOf: () => 0 };
    const by = this.facet(key);
    if (by.multi) throw new Error(`${key} has several values a row`);
    const places = this.places(by);
    return { names: by.values.map((v) => v.name), columnOf: (r) => places[r]![0] };
  }

  /** The places of values of a facet for which a row was not judged. */
  private unjudged(f: Facet): (r: number) => number[] {
    const marks = f.key === "label" ? this.facets.get("not_judged") : undefined;
    if (!marks) return () => [];
    const place = marks.values.map((v) => f.values.findIndex((x) => x.name === v.name));
    const rows = this.places(marks);
    return (r) => rows[r]!.flatMap((v) => (place[v]! < 0 ? [] : place[v]!));
  }

  /** Calls visit for the rows that a filter chooses, group by group, and end behind each group. */
  private eachByGroup(filter: Filter, visit: (r: number) => void, end: () => void): void {
    const { group } = this.data.rows;
    const chosen = this.flags(filter);
    this.byGroup ??= Int32Array.from(group.keys()).sort((a, b) => group[a]! - group[b]! || a - b);
    let last = -1;
    for (const r of this.byGroup) {
      if (!chosen[r]) continue;
      if (group[r] !== last) end();
      last = group[r]!;
      visit(r);
    }
    end();
  }

  private places(f: Facet): number[][] {
    return this.data.rows.facets[f.key] ?? new Array<number[]>(this.size).fill([]);
  }

  private numbers(m: Measure): (number | null)[] {
    return this.data.rows.measures[m.key] ?? [];
  }

  private side(s: Side): number[] {
    const f = this.facet(s.facet);
    if (f.key !== "run" && f.key !== "system") throw new Error("sides are runs or systems");
    const place = this.place(f, s.value);
    const places = this.places(f);
    const rows: number[] = [];
    for (let r = 0; r < this.size; r++) if (places[r]!.includes(place)) rows.push(r);
    return rows;
  }

  private place(f: Facet, name: string): number {
    const place = f.values.findIndex((v) => v.name === name);
    if (place < 0) throw new Error(`${f.key} has no value "${name}"`);
    return place;
  }

  private summary(r: number): RowSummary {
    const { catalog, rows } = this.data;
    const run = rows.run[r]!;
    const record = this.record(r);
    const beginnings = catalog.fields.map((f) => ({ ...f, text: beginning(fieldTexts(catalog, run, record, f).join(" | "), summaryLength) }));
    const facets: Record<string, number[]> = {};
    for (const f of catalog.facets) {
      const places = this.places(f)[r]!;
      if (places.length > 0) facets[f.key] = places;
    }
    const measures: Record<string, number> = {};
    for (const m of catalog.measures) {
      const x = this.numbers(m)[r];
      if (x !== null && x !== undefined) measures[m.key] = x;
    }
    return {
      n: r, id: rows.id[r]!, run, facets, measures, text: beginnings.find((f) => f.judged)?.text ?? "",
      fields: Object.fromEntries(beginnings.filter((f) => !f.judged && f.text !== "").map((f) => [f.name, f.text])),
    };
  }

  /** Rows of other runs that belong together with it, then of other systems on the same input. */
  private partners(n: number): RowSummary[] {
    const { pair, input } = this.data.rows;
    const system = this.facets.get("system");
    const systems = system ? this.places(system) : undefined;
    const others: number[] = [];
    const same: number[] = [];
    for (let r = 0; r < this.size; r++) {
      if (r === n) continue;
      if (pair && pair[r] === pair[n]) others.push(r);
      else if (systems && input[r] === input[n] && differ(systems[r]![0], systems[n]![0])) same.push(r);
    }
    return [...others, ...same].slice(0, mostPartners).map((r) => this.summary(r));
  }

  private searchTexts(): string[] {
    if (!this.searchable) {
      const { catalog, rows } = this.data;
      this.searchable = Array.from({ length: this.size }, (_, r) => {
        const record = this.record(r);
        return fold([rows.id[r]!, ...catalog.fields.flatMap((f) => fieldTexts(catalog, rows.run[r]!, record, f))].join("\n"));
      });
    }
    return this.searchable;
  }

  /** 1 for each row that is chosen. */
  private flags(filter: Filter): Uint8Array {
    const chosen = new Uint8Array(this.size);
    for (const r of this.select(filter)) chosen[r] = 1;
    return chosen;
  }

  private select(filter: Filter): Int32Array {
    return this.list(filter, { key: "row" });
  }

  private list(filter: Filter, by: Sort): Int32Array {
    const sort = by.key === "" ? { ...by, key: "row" } : by;
    const key = JSON.stringify([filter, sort.key, sort.descending ?? false]);
    const known = this.lists.get(key);
    if (known) return known;
    const list = this.order(sort.key === "row" && !sort.descending ? this.choose(filter) : this.list(filter, { key: "row" }), sort);
    if (this.lists.size > 20) this.lists.delete(this.lists.keys().next().value!);
    this.lists.set(key, list);
    return list;
  }

  private choose(filter: Filter): Int32Array {
    const tests: ((r: number) => boolean)[] = [];
    for (const [key, condition] of Object.entries(filter.facets ?? {})) tests.push(this.conditionTest(this.facet(key), condition));
    for (const [key, range] of Object.entries(filter.ranges ?? {})) {
      const numbers = this.numbers(this.measure(key));
      const low = range.min ?? -Infinity;
      const high = range.max ?? Infinity;
      tests.push((r) => {
        const x = numbers[r];
        return x !== null && x !== undefined && x >= low && x <= high;
      });
    }
    if (filter.marked) tests.push(() => false); // a file keeps none
    const wanted = words(filter.search ?? "");
    if (wanted.length > 0) {
      const searched = this.searchTexts();
      tests.push((r) => wanted.every((w) => hasWord(searched[r]!, w)));
    }
    const out = new Int32Array(this.size);
    let n = 0;
    for (let r = 0; r < this.size; r++) if (tests.every((t) => t(r))) out[n++] = r;
    return out.slice(0, n);
  }

  private conditionTest(facet: Facet, c: Condition): (r: number) => boolean {
    const places = this.places(facet);
    const any = new Set((c.any ?? []).map((v) => this.place(facet, v)));
    const all = (c.all ?? []).map((v) => this.place(facet, v));
    const none = new Set((c.none ?? []).map((v) => this.place(facet, v)));
    const allowed = new Set([...any, ...all]);
    return (r) => {
      const values = places[r]!;
      if (any.size > 0 && !values.some((v) => any.has(v))) return false;
      if (!all.every((v) => values.includes(v))) return false;
      if (values.some((v) => none.has(v))) return false;
      return !c.only || values.every((v) => allowed.has(v));
    };
  }

  private order(list: Int32Array, sort: Sort): Int32Array {
    const sign = sort.descending ? -1 : 1;
    if (sort.key === "row") return sign > 0 ? list : list.slice().reverse();
    if (sort.key === "id") {
      const ids = this.data.rows.id;
      return list.slice().sort((x, y) => (ids[x] === ids[y] ? x - y : sign * compareCodePoints(ids[x]!, ids[y]!)));
    }
    const number = this.sortNumber(sort.key);
    const keys = new Float64Array(this.size).fill(NaN);
    for (const r of list) keys[r] = number(r) ?? NaN;
    return list.slice().sort((x, y) => {
      const one = keys[x]!;
      const two = keys[y]!;
      if (Number.isNaN(one) || Number.isNaN(two)) return Number(Number.isNaN(one)) - Number(Number.isNaN(two)) || x - y;
      return sign * (one - two) || x - y;
    });
  }

  private sortNumber(key: string): (r: number) => number | null | undefined {
    const m = this.measures.get(key);
    if (m) {
      const numbers = this.numbers(m);
      return (r) => numbers[r];
    }
    const f = this.facets.get(key);
    if (!f) throw new Error(`there is no measure or facet "${key}"`);
    const places = this.places(f);
    if (!f.multi) return (r) => places[r]![0];
    const counts = f.values.map((v) => v.role !== RoleNone && v.role !== RoleUnknown);
    return (r) => places[r]!.filter((v) => counts[v]).length;
  }
}

const mostPartners = 100;

/** Whether both are known and not the same. */
function differ(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** 20 equal bins, or one a value where a step gives no more than 21. */
function edgesOf(m: Measure): number[] {
  if (m.step && m.step > 0) {
    const values = Math.round((m.high - m.low) / m.step) + 1;
    if (values <= 21) return Array.from({ length: values + 1 }, (_, i) => m.low + (i - 0.5) * m.step!);
  }
  if (!(m.high > m.low)) return [m.low, m.high];
  return Array.from({ length: 21 }, (_, i) => m.low + ((m.high - m.low) * i) / 20);
}

export function isEmpty(f: Filter): boolean {
  if (f.marked || words(f.search ?? "").length > 0) return false;
  if (Object.values(f.ranges ?? {}).some((r) => r.min !== undefined || r.max !== undefined)) return false;
  return Object.values(f.facets ?? {}).every((c) => !c.any?.length && !c.all?.length && !c.none?.length && !c.only);
}

function countsKey(q: CountsQuery): string {
  return JSON.stringify([q.facet, q.by ?? ""]);
}

function histogramKey(q: HistogramQuery): string {
  return JSON.stringify([q.measure, q.by ?? ""]);
}

function compareCodePoints(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // surrogates stand for characters above all others
    const high = (c: number) => (c >= 0xd800 && c <= 0xdfff ? c + 0x10000 : c);
    return high(x) - high(y);
  }
  return a.length - b.length;
}

/** Counts things by number, and knows which were counted since it was cleared. */
class Tally {
  readonly of: Int32Array;
  private readonly touched: number[] = [];

  constructor(size: number) {
    this.of = new Int32Array(size);
  }

  add(at: number): void {
    if (this.of[at]!++ === 0) this.touched.push(at);
  }

  each(visit: (at: number, n: number) => void): void {
    for (const at of this.touched) visit(at, this.of[at]!);
  }

  clear(): void {
    for (const at of this.touched) this.of[at] = 0;
    this.touched.length = 0;
  }
}

/** Adds up what is less where some of the n rows of a group are left out, or what there is where these are all. */
function leave(base: CountBase, n: number, some: number): void {
  base.rows += some;
  base.groups += Number(some === n);
  base.squares += n * n - (n - some) ** 2;
}

function less(all: CountBase, left: CountBase): CountBase {
  return { rows: all.rows - left.rows, groups: all.groups - left.groups, squares: all.squares - left.squares };
}

function noSums() {
  return { groups: 0, squares: 0, row_squares: 0, products: 0 };
}

/** Adds a group to MeanSums of the contract. */
function addGroup(to: ReturnType<typeof noSums>, sum: number, n: number): void {
  to.groups++;
  to.squares += sum * sum;
  to.row_squares += n * n;
  to.products += sum * n;
}

/** Adds up numbers by group, as MeanSums of the contract. */
class MeanSums {
  private readonly groups = new Map<number, [sum: number, n: number]>();

  add(group: number, x: number): void {
    const [sum, n] = this.groups.get(group) ?? [0, 0];
    this.groups.set(group, [sum + x, n + 1]);
  }

  sums() {
    const out = noSums();
    for (const [sum, n] of this.groups.values()) addGroup(out, sum, n);
    return out;
  }
}

/** Rows by their key, as of a group. */
function grouped(rows: number[], group: ArrayLike<number>): Map<number, number[]> {
  const of = new Map<number, number[]>();
  for (const r of rows) {
    const known = of.get(group[r]!);
    if (known) known.push(r);
    else of.set(group[r]!, [r]);
  }
  return of;
}
