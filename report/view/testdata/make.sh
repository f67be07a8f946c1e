#!/bin/sh
# Makes the records in runs/ that the view is tested with: outputs of the commands over some of testdata/samples, with a
# row that is not tagged, one that is cut, lines that are no rows, an unscored and an unassigned row. Run it in the root of
# a checkout with erreval and withjudge (go build ./scripts/withjudge) on the PATH; then
# go test ./report/view -update.
set -eu
out=report/view/testdata/runs
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"
export OPENAI_API_KEY=none

# Four passages, a little shorter than they are; a row without a question, one with a long passage, and one in Greek.
jq -c 'select(.id | test("^(carrow|sourdough|seastar|rovers)-")) | .passage |= (.[:260]) | .reviewer =
  (if (.id | test("[135]$")) then "ann" else "ben" end) | .minutes = ((.question | length) / 20 | floor)' \
  testdata/samples/questions_gold.jsonl > "$work/base.jsonl"
{
  cat "$work/base.jsonl"
  jq -nc '{id: "blank-1", system: "llm", passage: "A passage.", answer: "one", question: ""}'
  jq -nc '{id: "long-1", system: "llm", passage: ("The keepers rowed to Aldmouth for bread. " * 90), answer: "bread",
    question: "What did they row to <b>Aldmouth</b> for?", reviewer: "ann"}'
  jq -nc '{id: "greek-1", system: "few-shot-small", passage: "Ο φάρος χτίστηκε το 1868. ΤΈΛΟΣ.", answer: "1868",
    question: "Πότε χτίστηκε ο φάρος;", labels: ["No Error"]}'
} > "$work/rows.jsonl"

incomplete() { "$@" || [ $? -eq 3 ]; } # rows that are untagged, unscored or unassigned
incomplete erreval identify "$work/rows.jsonl" -o "$out/tagged.jsonl" --quiet
# A row that the identifier could not look at, as language models leave some.
jq -c 'if .id == "blank-1" then .diagnosis |= {model, taxonomy, status: "untagged", reason: "refused"} else . end' \
  "$out/tagged.jsonl" > "$work/tagged.jsonl"
cp "$work/tagged.jsonl" "$out/tagged.jsonl"
incomplete erreval identify "$work/rows.jsonl" -o "$out/strict.csv" --threshold 0.75 --quiet
incomplete erreval score "$out/tagged.jsonl" -o "$out/scored.jsonl" --quiet
jq -c 'select(.id | test("^(carrow|rovers|blank)-"))' "$out/tagged.jsonl" > "$work/few.jsonl"
incomplete withjudge erreval score "$work/few.jsonl" -o "$out/judged.jsonl" --judge scripted --mode both --plant 0.2 --quiet

# Sentences that somebody wrote about the rows, with quotes and severities, sorted into issues without a model.
jq -c 'if .labels == null then . elif .labels == ["No Error"] then .issues = {status: "no_issue"} else .issues = {
  status: "assigned", ids: ["x"], analysis: ("The question has the fault " + .labels[0] + "."),
  quote: (.question | split(" ") | .[:3] | join(" ")), severity: ((.question | length) % 3 + 1)} end' \
  "$out/tagged.jsonl" > "$work/sentences.jsonl"
incomplete erreval discover "$work/sentences.jsonl" -o "$out/found.jsonl" --analysis recorded --grouping offline \
  --vectors none --threshold 0.7 --quiet
# Grouping without a model says nothing about stability, and the view shows it.
jq '.issues |= [to_entries[] | .value + {stability: (1 - .key / 10)}]' "$out/found.jsonl.issues.json" > "$work/list"
mv "$work/list" "$out/found.jsonl.issues.json"

# One output of each system on a passage, in pairs; then as a judge would leave some.
jq -c -s 'group_by([.system, .passage]) | .[] | .[0] | select(.question != "")' "$out/tagged.jsonl" |
  jq -c 'select(.id | test("^(carrow|sourdough|seastar)"))' > "$work/systems.jsonl"
incomplete erreval compare "$work/systems.jsonl" --system system --pair-by passage --taxonomy question-generation \
  --types "Factual Error,Vague,Off Target Answer,Overall" -o "$out/pairs.jsonl" --quiet
jq -c 'if .id | test("seastar") then .verdicts["Factual Error"] = {status: "unjudged", reason: "inconsistent"} else . end' \
  "$out/pairs.jsonl" > "$work/pairs.jsonl"
cp "$work/pairs.jsonl" "$out/pairs.jsonl"
# Rows without a record, of two systems on the same inputs; one is not tagged, one is there twice, and some were not
# judged for an error.
jq -c 'select(.id | test("^carrow-[1-4]$")) | del(.labels) | .flag = (.id == "carrow-1") | .kind = "=1+1" | .,
  (.id += "-b" | .system = "other" | .kind = "<i>plain</i>" | .question = "What about \(.answer)?" |
   .diagnosis = {labels: ["Vague"], model: "somebody@1", taxonomy: "question-generation@1.1"} |
   if (.id | test("-[23]-")) then .diagnosis.not_judged = ["Off Target Answer", "Factual Error"] else . end |
   if .id == "carrow-4-b" then del(.diagnosis) else . end)' "$out/tagged.jsonl" > "$out/twins.jsonl"
tail -n 1 "$out/twins.jsonl" >> "$out/twins.jsonl"
rm -f "$out"/*.journal "$out"/*.pairs.jsonl
{
  echo 'this is no row'
  echo '{"id": "broken"'
} >> "$out/tagged.jsonl"
ls -l "$out"
