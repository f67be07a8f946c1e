// report/view/contract.go in TypeScript: what a name means stands there. test/fixtures.test.ts holds both together.

export const Format = 1;

export interface Catalog {
  format: number;
  title: string;
  build: string;
  rows: number;
  sample?: Sample;
  task: string;
  runs: Run[];
  fields: Field[];
  facets: Facet[];
  measures: Measure[];
  sections: Section[];
  notes: string[];
  labels?: Label[];
}

export interface Label {
  name: string;
  category?: string;
  definition: string;
  no_error?: boolean;
}

export interface Sample {
  rows: number;
  of: number;
  seed: number;
}

export interface Run {
  name: string;
  command: string;
  columns?: Record<string, string>;
  rows: number;
  rejected: number;
  thresholds?: Record<string, number>;
  facts: Fact[];
}

export interface Fact {
  name: string;
  value: string;
}

export interface Field {
  name: string;
  definition: string;
  judged: boolean;
  group?: boolean;
}

export const RoleNone = "none";
export const RoleUnknown = "unknown";

export interface Facet {
  key: string;
  title: string;
  multi: boolean;
  values: Value[];
}

export interface Value {
  name: string;
  note?: string;
  role?: string;
  severity?: number | null;
  stability?: number | null;
  related?: Related[];
  examples?: string[];
}

export interface Related {
  name: string;
  rows: number;
  phi: number | null;
}

export interface Measure {
  key: string;
  title: string;
  low: number;
  high: number;
  step?: number;
  runs: number[];
}

export interface Filter {
  facets?: Record<string, Condition>;
  ranges?: Record<string, Range>;
  search?: string;
  marked?: boolean;
}

export interface Condition {
  any?: string[];
  all?: string[];
  none?: string[];
  only?: boolean;
}

export interface Range {
  min?: number;
  max?: number;
}

export interface Sort {
  key: string;
  descending?: boolean;
}

export interface CountsQuery {
  filter: Filter;
  facet: string;
  by?: string;
}

export interface Counts {
  total: number;
  columns: CountColumn[];
  values: CountValue[];
}

export interface CountColumn extends CountBase {
  name: string;
}

export interface CountBase {
  rows: number;
  groups: number;
  squares: number;
}

export interface CountValue {
  name: string;
  cells: CountCell[];
}

export interface CountCell {
  rows: number;
  squares: number;
  products: number;
  of?: CountBase;
}

export interface HistogramQuery {
  filter: Filter;
  measure: string;
  by?: string;
}

export interface Histogram {
  edges: number[];
  columns: HistogramColumn[];
}

export interface HistogramColumn {
  name: string;
  rows: number;
  missing: number;
  sum: number;
  counts: number[];
  groups: number;
  squares: number;
  row_squares: number;
  products: number;
}

export interface RowsQuery {
  filter: Filter;
  sort: Sort;
  offset: number;
  limit: number;
}

export interface RowsPage {
  total: number;
  rows: RowSummary[];
}

export interface RowSummary {
  n: number;
  id: string;
  run: number;
  text: string;
  fields: Record<string, string>;
  facets: Record<string, number[]>;
  measures: Record<string, number>;
  marked?: boolean;
}

export interface RowQuery {
  n: number;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface RowDetail {
  row: RowSummary;
  record: Json;
  partners: RowSummary[];
}

export interface OutputsQuery {
  filter: Filter;
  by: string;
  differ?: string;
  offset: number;
  limit: number;
}

export interface Outputs {
  total: number;
  without: number;
  rows: RowSummary[][];
}

export interface Side {
  facet: string;
  value: string;
}

export interface PairsQuery {
  a: Side;
  b: Side;
  filter: Filter;
  facet: string;
  value?: string;
  only?: "a" | "b";
  offset: number;
  limit: number;
}

export interface Pairs {
  pairs: number;
  paired: number;
  alone_a: number;
  alone_b: number;
  missed_a: number;
  missed_b: number;
  unknown: number;
  changed: number;
  groups: number;
  squares: number;
  values: PairValue[];
  measures: PairMeasure[];
  rows: [RowSummary, RowSummary][];
}

export interface PairValue {
  name: string;
  both: number;
  only_a: number;
  only_b: number;
  neither: number;
  of?: CountBase;
  squares: number;
  products: number;
}

export interface PairMeasure {
  key: string;
  pairs: number;
  sum_a: number;
  sum_b: number;
  groups: number;
  squares: number;
  row_squares: number;
  products: number;
}

export interface Section {
  view: string;
  title: string;
  run?: string;
  notes?: string[];
  summary?: string;
  table?: Table;
  chart?: Chart;
}

export type TableCell = string | number | boolean | null;

export interface Table {
  columns: Column[];
  rows: TableCell[][];
}

export interface Column {
  title: string;
  kind: string;
}

export interface Chart {
  kind: string;
  x: string;
  y?: string;
  line?: number | null;
  diagonal?: boolean;
  points?: Point[];
  cells?: Cell[];
  series?: Series[];
}

export interface Point {
  group?: string;
  name: string;
  value: number | null;
  low: number | null;
  high: number | null;
}

export interface Cell {
  row: string;
  column: string;
  value: number | null;
}

export interface Series {
  name: string;
  points: [number, number, number, number][];
}

export type ExportFormat = "jsonl" | "csv";

/** Source answers questions about rows. Unknown facets, values, measures and rows are errors that name them. */
export interface MarkQuery {
  n: number;
  labels: string[] | null;
  notes: string;
  /** `time` of the mark that it replaces; a newer one is not replaced. */
  seen?: string;
}

export interface Marked {
  labels: string[] | null;
  notes: string;
  time?: string;
}

export interface Source {
  catalog(): Catalog;
  /** Whether an unfiltered answer is of all rows while a filtered one is of the sample. */
  sampled(): boolean;
  counts(q: CountsQuery, signal?: AbortSignal): Promise<Counts>;
  histogram(q: HistogramQuery, signal?: AbortSignal): Promise<Histogram>;
  rows(q: RowsQuery, signal?: AbortSignal): Promise<RowsPage>;
  row(q: RowQuery, signal?: AbortSignal): Promise<RowDetail>;
  pairs(q: PairsQuery, signal?: AbortSignal): Promise<Pairs>;
  outputs(q: OutputsQuery, signal?: AbortSignal): Promise<Outputs>;
  /** What a person says of a row, and saying it; only where the catalogue has labels. */
  marked?(n: number, signal?: AbortSignal): Promise<Marked>;
  mark?(q: MarkQuery): Promise<Marked>;
  /** The records that the filter chooses, as a file. */
  export(q: { filter: Filter; sort: Sort; format: ExportFormat }): Promise<Blob>;
}

export interface Data {
  catalog: Catalog;
  answers?: Answer[];
  rows: Columns;
}

export interface Answer {
  counts?: CountsQuery;
  histogram?: HistogramQuery;
  answer: unknown;
}

export interface Columns {
  run: number[];
  id: string[];
  group: number[];
  input: number[];
  pair?: number[]; // equal numbers are rows of several runs that belong together; none of one run
  facets: Record<string, number[][]>;
  measures: Record<string, (number | null)[]>;
  records: Json[];
}

export const ViewCompare = "compare";
export const ViewMeasured = "measured";
export const ViewIssues = "issues";
