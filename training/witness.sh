#!/usr/bin/env bash
# erreval beside torch: imports compared with the logits that transformers gives, each within `models import --verify`'s tolerance.
#   training/witness.sh CHECKPOINT ROWS OUT [PYTHON]
# CHECKPOINT is the fine-tuned model as Hugging Face's (export.py --hf), compared as fp32 on the first 256 of ROWS; then comes RoBERTa-base in
# its true size with random weights (random_roberta.py) in all precisions. References stay in OUT, what is large goes again: 2 GB meanwhile.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
usage="usage: witness.sh CHECKPOINT ROWS OUT [PYTHON]"
checkpoint=${1:?$usage}
rows=${2:?$usage}
out=${3:?$usage}
python=${4:-python3}
samples=$root/testdata/samples/questions.jsonl
[ -d "$checkpoint" ] || { echo "$checkpoint is missing: make model makes it (export.py --hf)" >&2; exit 2; }
mkdir -p "$out"
work=$(mktemp -d "$out/witness-XXXXXX")
trap 'rm -rf "$work"' EXIT

record() { "$python" "$here/record_logits.py" "$@" 2> "$work/log" || { cat "$work/log" >&2; return 1; }; }
compare() { # NAME CHECKPOINT PRECISION import's flags
  echo "== $1, $3, beside torch's fp32"
  "$root/bin/erreval" models import "$2" --precision "$3" --labels taxonomy --verify "$out/$1.json" -o "$work/model" --overwrite --quiet "${@:4}" > "$work/report"
  grep -E '^(self-check|verified)' "$work/report"
}

record "$checkpoint" "$rows" --segments 0,1,0 --limit 256 -o "$out/fine-tuned.json"
compare fine-tuned "$checkpoint" fp32 --segments 0,1,0

"$python" "$here/random_roberta.py" "$work/roberta-base" "$samples" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
record "$work/roberta-base" "$samples" --join text -o "$out/roberta-base.json"
for precision in fp32 fp16 int8; do compare roberta-base "$work/roberta-base" $precision --join text; done
