#!/usr/bin/env bash
# The loop of docs/refinement.md on the sample rows, trained truly: its lines are run in a copy of the tree, by a tiny encoder made on the spot.
#   training/e2e_loop.sh OUT [PYTHON]
# PYTHON has torch and transformers. OUT/refinement.md is the page with what the lines print. With RECORD=1 the page and testdata/refine/recorded, which
# CI replays, are replaced. Weights differ between machines and versions of torch, and with them the rows that are chosen and the figures.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: e2e_loop.sh OUT [PYTHON]}
python=$(command -v "${2:-python3}")
mkdir -p "$out"
out=$(cd "$out" && pwd)
tree=$out/tree page=docs/refinement.md recorded=testdata/refine/recorded
rm -rf "$tree"
"$root/scripts/copy_tree.sh" "$tree"
mkdir -p "$tree/bin"
cp "$root/bin/erreval" "$tree/bin"
cd "$tree"
rm -rf $recorded
export XDG_CONFIG_HOME="$out/config" # what the page trusts
export OMP_NUM_THREADS=1 # the order of sums
"$python" training/tiny_encoder.py bert encoder testdata/refine/start.jsonl 16 400 1 2>/dev/null
sed -i "s|^trainer: .*|trainer: ['$python', testdata/refine/recorded.py, --record, training/finetune.py]|" testdata/refine/refine.yaml
PATH="$tree/bin:$PATH" scripts/page_output.sh $page >"$out/refinement.md"
sed -n '/^## The loop on the sample rows/,/^## The workspace/p' "$out/refinement.md" | sed '$d'
echo "trained truly: $(find $recorded -name result.json | wc -l) models; $(du -sh --apparent-size $recorded | cut -f1) of checkpoints"
if [ "${RECORD:-}" ]; then
  rm -rf "${root:?}/$recorded"
  cp -r $recorded "$root/$recorded"
  cp "$out/refinement.md" "$root/$page"
  echo "recorded anew: $recorded and $page"
fi
