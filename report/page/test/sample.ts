// Data of a report file, as erreval report would write it, of rows made up: equal for equal sizes.

import type { Catalog, Columns, Data, Json, JsonObject, Value } from "../src/contract";

const types = ["Incomplete", "Grammar Error", "Vague", "Factual Error", "Off Target Answer"];
const issueNames = [
  "Gives a figure that the source does not have", "Leaves out the condition of the claim", "Repeats the sentence before",
  "Names the wrong person", "Ends in the middle of a sentence",
];
const systems = ["baseline", "large", "large-tuned", "few-shot"];
const dimensions = ["fluency", "coherence", "faithfulness"];
const places = ["the lighthouse at Carrow Point", "the mill of Aldmouth", "the bakery in Lindau", "the bridge over the Senn"];
const people = ["Thomas Ferrand", "Margaret Ovens", "Ines Calder", "Jonas Reuter"];

/** Pseudo-random numbers below 1 (mulberry32). */
export function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Rows of two runs over the same items: the second run has the first one's ids, and finds less. */
export function sample(size = 240): Data {
  const half = Math.floor(size / 2);
  const next = random(19);
  const value = (name: string, role?: string): Value => (role ? { name, role } : { name });
  const columns: Columns = {
    run: [], id: [], group: [], input: [], pair: [],
    facets: { run: [], system: [], label: [], issue: [], gold: [], unscored: [], truncated: [], "column.genre": [] },
    measures: {}, records: [],
  };
  for (const t of types) columns.measures[`probability.${t}`] = [];
  for (const d of dimensions) columns.measures[`score.${d}`] = [];
  columns.measures["severity"] = [];
  columns.measures["column.words"] = [];
  for (let i = 0; i < half * 2; i++) {
    const run = i < half ? 0 : 1;
    const item = i % half;
    const system = item % systems.length;
    const input = Math.floor(item / systems.length);
    const person = people[input % people.length]!;
    const place = places[Math.floor(input / people.length) % places.length]!;
    const year = 1820 + (input * 37) % 190;
    const id = `item-${input + 1}-${systems[system]}`;
    const untagged = next() < 0.03;
    const rate = [0.34, 0.22, 0.14, 0.26][system]! * (run === 0 ? 1 : 0.75);
    const probabilities = types.map(() => (next() < rate / 1.6 ? 0.5 + next() / 2 : next() ** 3 * 0.5));
    const labels = untagged ? [] : types.map((_, k) => k).filter((k) => probabilities[k]! >= 0.5);
    const issues = run === 0 ? (next() < 0.06 ? "unassigned" : issueNames.map((_, k) => k).filter((k) => next() < 0.16 / (1 + k / 2))) : undefined;
    const quote = `built in ${year}`;
    const source = `Of ${place} it is known that it was ${quote} by ${person}, after a long dispute over the ground. ` +
      `The records of the parish name ${person} as the owner until ${year + 34}. Visitors can see it from May to September.`;
    const output = `${place[0]!.toUpperCase()}${place.slice(1)} was ${quote} by ${person}${labels.length > 0 ? ", as everybody knows, in some way" : ""}.`;
    const score = (d: number) => (untagged || next() < 0.04 ? null : Math.max(1, Math.min(5, Math.round((4.6 - 1.1 * labels.length - 0.3 * d + next() - 0.5) * 4) / 4)));
    const scores = dimensions.map((_, d) => score(d));
    const severity = Array.isArray(issues) && issues.length > 0 ? 1 + Math.floor(next() * 3) : null;
    const none = types.length; // places of No Error and the like
    columns.run.push(run);
    columns.id.push(id);
    columns.group.push(input);
    columns.input.push(input);
    columns.pair!.push(item);
    columns.facets["run"]!.push([run]);
    columns.facets["system"]!.push([system]);
    columns.facets["label"]!.push(untagged ? [none + 1] : labels.length > 0 ? labels.map((k) => k + 1) : [0]);
    columns.facets["issue"]!.push(issues === undefined ? [] : issues === "unassigned" ? [issueNames.length + 1] : issues.length > 0 ? issues.map((k) => k + 1) : [0]);
    columns.facets["gold"]!.push(input < 12 ? (labels.length > 0 && next() < 0.8 ? [labels[0]! + 1] : [0]) : []);
    const missing = scores.map((s, d) => (s === null ? d + 1 : -1)).filter((d) => d >= 0);
    columns.facets["unscored"]!.push(missing.length > 0 ? missing : [0]);
    columns.facets["truncated"]!.push(untagged ? [] : next() < 0.05 ? [1] : [0]);
    columns.facets["column.genre"]!.push([input % 3]);
    types.forEach((t, k) => columns.measures[`probability.${t}`]!.push(untagged ? null : Math.round(probabilities[k]! * 1e4) / 1e4));
    dimensions.forEach((d, k) => columns.measures[`score.${d}`]!.push(scores[k]!));
    columns.measures["severity"]!.push(severity);
    columns.measures["column.words"]!.push(output.split(" ").length);
    const record: JsonObject = {
      id, system: systems[system]!, source, output, person, genre: ["history", "travel", "trade"][input % 3]!, words: output.split(" ").length,
      diagnosis: untagged ? { status: "untagged", reason: "empty output", model: "tagger@2", taxonomy: "summaries@1" } : {
        labels: labels.length > 0 ? labels.map((k) => types[k]!) : ["No Error"],
        probabilities: Object.fromEntries(types.map((t, k) => [t, probabilities[k]!])), model: "tagger@2", taxonomy: "summaries@1",
      },
      scores: Object.fromEntries(dimensions.map((d, k): [string, Json] => [d, scores[k] === null ? { status: "unscored", reason: "refused" } : {
        value: scores[k]!, runs: [
          { judge: "judge-large", mode: "vanilla", value: Math.min(5, scores[k]! + 0.25), explanation: `The summary says “${quote}”, as the source does.` },
          { judge: "judge-large", mode: "error-aware", value: scores[k]!, explanation: "The errors shown are there.", errors_shown: labels.map((l) => types[l]!) },
        ],
      }])),
    };
    if (issues !== undefined) {
      record["issues"] = issues === "unassigned" ? { status: "unassigned", reason: "no answer" } : issues.length === 0 ? { status: "no_issue" } : {
        status: "assigned", ids: issues.map((k) => `i${k}`), analysis: `The output gives ${issueNames[issues[0]!]!.toLowerCase().replace("gives ", "")}.`, quote, severity: severity!,
      };
    }
    columns.records.push(record);
  }
  const inRun = (k: number) => columns.run.filter((r) => r === k).length;
  const catalog: Catalog = {
    format: 1, title: "Summaries of parish records", build: "0.9.0-test", rows: size - (size % 2), task: "summaries@1",
    runs: [
      {
        name: "found.jsonl", command: "discover", rows: inRun(0), rejected: 2,
        facts: [{ name: "model", value: "tagger@2" }, { name: "judge", value: "judge-large" }, { name: "calls", value: "482" }, { name: "cost", value: "$ 1.27" }],
      },
      { name: "tuned.jsonl", command: "score", rows: inRun(1), rejected: 0, facts: [{ name: "model", value: "tagger@2" }, { name: "judge", value: "judge-large" }, { name: "calls", value: "240" }] },
    ],
    fields: [
      { name: "output", definition: "The summary that a system wrote.", judged: true },
      { name: "source", definition: "The text that was summed up.", judged: false },
      { name: "person", definition: "Whom the summary is about.", judged: false },
    ],
    facets: [
      { key: "run", title: "Run", multi: false, values: [value("found.jsonl"), value("tuned.jsonl")] },
      { key: "system", title: "System", multi: false, values: systems.map((s) => value(s)) },
      { key: "label", title: "Error", multi: true, values: [value("No Error", "none"), ...types.map((t) => value(t)), value("untagged", "unknown")] },
      {
        key: "issue", title: "Issue", multi: true, values: [
          value("No Issue", "none"),
          ...issueNames.map((name, k): Value => ({
            name, note: `Rows in which the output ${name.toLowerCase()}.`, severity: 1.4 + k * 0.3, stability: 0.92 - k * 0.11,
            related: k < 2 ? [{ name: types[3 - k]!, rows: 9 - k, phi: 0.31 - k * 0.1 }] : [],
            examples: [`The year is not the one of the source (“built in ${1857 + k}”).`, "The owner is left out."],
          })),
          value("unassigned", "unknown"),
        ],
      },
      { key: "gold", title: "People's labels", multi: true, values: [value("No Error", "none"), ...types.map((t) => value(t))] },
      { key: "unscored", title: "Without a score", multi: true, values: [value("scored", "none"), ...dimensions.map((d) => value(d))] },
      { key: "truncated", title: "Cut texts", multi: true, values: [value("whole", "none"), value("source")] },
      { key: "column.genre", title: "genre", multi: false, values: [value("history"), value("travel"), value("trade")] },
    ],
    measures: [
      ...types.map((t) => ({ key: `probability.${t}`, title: t, low: 0, high: 1, threshold: 0.5, runs: [0, 1] })),
      ...dimensions.map((d) => ({ key: `score.${d}`, title: d, low: 1, high: 5, step: 0.25, runs: [0, 1] })),
      { key: "severity", title: "Severity", low: 1, high: 3, step: 1, runs: [0] },
      { key: "column.words", title: "words", low: 8, high: 22, runs: [0, 1] },
    ],
    sections: sections(),
    notes: ["found.jsonl: 2 lines are no rows, see found.jsonl.rejected.jsonl"],
  };
  return { catalog, rows: columns };
}

function sections(): Catalog["sections"] {
  return [
    {
      view: "compare", title: "Rating of systems by error type", summary: "Types by which one system ranks first alone: 0 of 5.", notes: ["Bradley-Terry strengths of 480 verdicts; intervals of 95 % over items."],
      chart: {
        kind: "forest", x: "strength", line: 0,
        points: types.flatMap((group, t) => systems.map((name, s) => ({ group, name, value: (s - 1.5) * 0.4 + t * 0.05, low: (s - 1.5) * 0.4 - 0.3, high: (s - 1.5) * 0.4 + 0.35 }))),
      },
    },
    {
      view: "compare", title: "Wins of the row against the column",
      chart: { kind: "matrix", x: "loser", y: "winner", line: 0.5, cells: systems.flatMap((row, i) => systems.map((column, j) => ({ row, column, value: i === j ? null : 0.5 + (i - j) / 8 }))) },
    },
    {
      view: "compare", title: "Bias of judges", summary: "The longer text wins 58 %.", table: {
        columns: [{ title: "Judge", kind: "text" }, { title: "Bias", kind: "text" }, { title: "Share", kind: "share" }, { title: "p", kind: "number" }],
        rows: [["judge-large", "prefers the first text", 0.531, 0.041], ["judge-large", "prefers the longer text", 0.582, 0.003], ["judge-small", "prefers the first text", null, null]],
      },
    },
    {
      view: "measured", title: "Per label against people", run: "found.jsonl", table: {
        columns: [{ title: "Label", kind: "text" }, { title: "Precision", kind: "share" }, { title: "Recall", kind: "share" }, { title: "F1", kind: "number" }, { title: "Rows", kind: "number" }],
        rows: types.map((t, i) => [t, 0.5 + i * 0.08, 0.4 + i * 0.1, 0.45 + i * 0.09, 40 - 6 * i]),
      },
    },
    {
      view: "measured", title: "Confusion", run: "found.jsonl",
      chart: { kind: "matrix", x: "found", y: "people", diagonal: true, cells: types.flatMap((row, i) => types.map((column, j) => ({ row, column, value: i === j ? 20 - 2 * i : (i + j) % 4 }))) },
    },
    {
      view: "measured", title: "Calibration", run: "found.jsonl", chart: {
        kind: "lines", x: "probability", y: "share of rows with the error", diagonal: true,
        series: types.slice(0, 3).map((name, s) => ({ name, points: [0.05, 0.2, 0.4, 0.6, 0.8, 0.95].map((x): [number, number, number, number] => [x, x ** (1 + s * 0.25), Math.max(0, x ** (1 + s * 0.25) - 0.08), Math.min(1, x ** (1 + s * 0.25) + 0.08)]) })),
      },
    },
    {
      view: "measured", title: "Learning curve", run: "tuned.jsonl",
      chart: { kind: "lines", x: "rows labelled", y: "micro-F1", series: [{ name: "held-out rows", points: [[0, 0.52, 0.48, 0.56], [100, 0.58, 0.54, 0.62], [200, 0.63, 0.59, 0.67], [400, 0.66, 0.62, 0.7]] }] },
    },
    { view: "issues", title: "How rows were grouped", run: "found.jsonl", table: { columns: [{ title: "Figure", kind: "text" }, { title: "Value", kind: "number" }], rows: [["orders", 4], ["agreement of orders", 0.71]] } },
  ];
}

/** What files hold, by the command that made them. */
export const kinds = ["tagged", "scored", "discovered", "compared", "refined"] as const;

/** A small file of a kind, or two of them: what the others add to sample is left out. */
export function sampleOf(kind: (typeof kinds)[number], files: 1 | 2): Data {
  const { catalog, rows } = sample(80) as { catalog: Catalog; rows: Columns };
  const also = {
    tagged: /^(probability\.|truncated)/, scored: /^(score\.|unscored|probability\.)/, discovered: /^(issue|severity)/,
    compared: /^verdict\./, refined: /^(gold|probability\.)/,
  }[kind];
  const kept = (key: string) => /^(run|system|label|column\.)/.test(key) || also.test(key);
  const verdicts = ["A", "B", "both_good", "unjudged"];
  rows.facets["verdict.Overall"] = rows.id.map((_, i) => [i % verdicts.length]);
  const verdict = { key: "verdict.Overall", title: "Overall", multi: false, values: verdicts.map((name) => (name === "unjudged" ? { name, role: "unknown" } : { name })) };
  const places = rows.run.map((run, i) => ({ run, i })).filter(({ run }) => run < files).map(({ i }) => i);
  const pick = <T>(of: T[]): T[] => places.map((i) => of[i]!);
  const pickAll = <T>(of: Record<string, T[]>) => Object.fromEntries(Object.entries(of).filter(([key]) => kept(key)).map(([key, list]) => [key, pick(list)]));
  const views: Partial<Record<typeof kind, string>> = { compared: "compare", refined: "measured" };
  const runs = catalog.runs.slice(0, files);
  return {
    catalog: {
      ...catalog, title: `${files} ${kind}`, rows: places.length, runs,
      facets: [...catalog.facets, verdict].filter((f) => kept(f.key)).map((f) => (f.key === "run" ? { ...f, values: f.values.slice(0, files) } : f)),
      measures: catalog.measures.filter((m) => kept(m.key)).map((m) => ({ ...m, runs: m.runs.filter((r) => r < files) })),
      sections: catalog.sections.filter((s) => s.view === views[kind] && (!s.run || runs.some((r) => r.name === s.run))),
    },
    rows: {
      run: pick(rows.run), id: pick(rows.id), group: pick(rows.group), input: pick(rows.input), pair: pick(rows.pair!),
      facets: pickAll(rows.facets), measures: pickAll(rows.measures), records: pick(rows.records),
    },
  };
}
