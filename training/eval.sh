#!/usr/bin/env bash
# The figures of the card: tags the labelled rows with erreval and compares with their labels.
#   training/eval.sh DATA MODEL OUT    (DATA: data.py's output; MODEL: a model directory, or "default")
set -euo pipefail
erreval=$(cd "$(dirname "$0")/.." && pwd)/bin/erreval
data=${1:?usage: eval.sh DATA MODEL OUT}
model=${2:?usage: eval.sh DATA MODEL OUT}
out=${3:?usage: eval.sh DATA MODEL OUT}
mkdir -p "$out"
# The same rows without their answers: what the model says then of the other errors.
for split in tune test; do
  python3 -c 'import json, sys
for line in sys.stdin: print(json.dumps({**json.loads(line), "answer": ""}))' < "$data/${split}_real.jsonl" > "$out/${split}_bare.rows.jsonl"
  "$erreval" identify "$out/${split}_bare.rows.jsonl" -o "$out/${split}_bare.jsonl" --model "$model" --overwrite --quiet
done
for kind in real quiz written llm; do
  auc=()
  [ "$kind" = quiz ] && auc=(--auc accepted)
  for split in tune test; do
    name=${split}_$kind
    "$erreval" identify "$data/$name.jsonl" -o "$out/$name.jsonl" --model "$model" --overwrite --quiet
    "$erreval" meta labels "$out/$name.jsonl" "${auc[@]}" --confusion --json > "$out/$name.json"
    "$erreval" meta labels "$out/$name.jsonl" "${auc[@]}" --confusion --markdown > "$out/$name.md"
    echo "== $split, $kind"; cat "$out/$name.md"
  done
done
