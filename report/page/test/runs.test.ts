import { expect, test } from "vitest";
import type { Run } from "../src/contract";
import { whatDiffers } from "../src/views/overview";

const run = (name: string, thresholds: Record<string, number>, model: string): Run => ({
  name, command: "identify", rows: 2, rejected: 0, thresholds, facts: [{ name: "Model", value: model }, { name: "Took", value: name }],
});

test("what differs between runs is what chose their results", () => {
  const runs = [run("a", { Vague: 0.3, Incomplete: 0.5 }, "m@1"), run("b", { Vague: 0.6, Incomplete: 0.5 }, "m@1"), run("c", {}, "m@2")];
  expect(runs.map(whatDiffers(runs))).toEqual(["Model m@1, Vague ≥ 0.3, Incomplete ≥ 0.5", "Model m@1, Vague ≥ 0.6, Incomplete ≥ 0.5", "Model m@2"]);
  expect(runs.slice(0, 1).map(whatDiffers([runs[0]!, { ...runs[0]!, name: "again" }]))).toEqual(["nothing that the records tell"]);
});
