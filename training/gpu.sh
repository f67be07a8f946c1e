#!/usr/bin/env bash
# On a machine with a GPU: trains the default model's recipe with five times the steps and three seeds at a time, keeps the best
# by `tune`, then times RoBERTa's sizes on CUDA (docs/performance.md). It ends within ten minutes.
#   training/gpu.sh DATA BASE OUT [START]
# DATA is data.py's folder with simulated.jsonl, BASE the encoder's, START a checkpoint of restore.py to go on from.
# In the environment: PYTHON (with torch and transformers), DEVICE (cuda), STEPS (of phase A and B), MINUTES (of both at most),
# SIZES (of RoBERTa: base, large, tiny; empty times none), COUNT (rows of a timing), TRAIN (further options of train.py).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
erreval=$(dirname "$here")/bin/erreval
usage="usage: gpu.sh DATA BASE OUT [START]"
data=${1:?$usage} base=${2:?$usage} out=${3:?$usage} start=${4:-}
python=${PYTHON:-python3} device=${DEVICE:-cuda}
read -ra steps <<< "${STEPS:-10000 10000}"
read -ra minutes <<< "${MINUTES:-3 3}"
read -ra more <<< "${TRAIN:-}"
mkdir -p "$out"
[ -s "$out/taxonomy.json" ] || "$erreval" taxonomy show question-generation --json > "$out/taxonomy.json"

runs=()
for seed in 1 2 3; do
  "$python" "$here/train.py" --base "$base" --data "$data" --taxonomy "$out/taxonomy.json" --out "$out/seed$seed" --seed $seed --device "$device" \
    --steps "${steps[@]}" --minutes "${minutes[@]}" --eval-minutes 1 ${start:+--init "$start"} "${more[@]}" > "$out/seed$seed.log" 2>&1 &
  runs+=($!)
done
for i in 0 1 2; do wait "${runs[$i]}" || { echo "seed $((i + 1)) failed:" >&2; tail -n 5 "$out/seed$((i + 1)).log" >&2; exit 1; }; done

# The best look of all seeds; its checkpoint is what that seed kept.
"$python" - "$out" << 'PY'
import json, pathlib, shutil, sys
out = pathlib.Path(sys.argv[1])
looks = [(r["score"], seed, r) for seed in (1, 2, 3) for r in map(json.loads, open(out / f"seed{seed}" / "log.jsonl")) if r.get("phase") == "B" and "score" in r]
for seed in (1, 2, 3):
    print(f"seed {seed}: tune score", max(score for score, s, _ in looks if s == seed), "after", max(r["step"] for _, s, r in looks if s == seed), "steps of phase B")
score, seed, r = max(looks, key=lambda x: x[0])
shutil.copy(out / f"seed{seed}" / "best_B.pt", out / "best.pt")
print(json.dumps({"best": f"seed {seed}", "score": score, **{p: {k: r[p][k] for k in ("micro", "macro", "mean_auc")} for p in ("real", "quiz", "written")}}))
PY

# Random weights run as fast as trained ones.
sizes=${SIZES-base large}
[ -z "$sizes" ] || [ "$device" != cuda ] || "$erreval" setup --cuda --quiet > /dev/null
for size in $sizes; do
  "$python" "$here/random_roberta.py" "$out/roberta-$size" "$(dirname "$here")/testdata/samples/questions.jsonl" --size "$size" > /dev/null 2>&1
  "$erreval" models import "$out/roberta-$size" --precision fp16 --labels taxonomy --join text -o "$out/roberta-$size-fp16" --overwrite --quiet
  rm -rf "$out/roberta-$size"
  echo "== RoBERTa-$size, fp16, $device"
  "$erreval" bench --device "$device" --model "$out/roberta-$size-fp16" --compare --json ${COUNT:+--count "$COUNT"} | tee "$out/bench-$size.json"
done
