#!/usr/bin/env bash
# The loop of docs/refinement.md on the sample rows, and the model of docs/discover.md, trained truly: the pages' lines are run in copies of the
# tree, by a tiny encoder made on the spot.
#   training/e2e_loop.sh OUT [PYTHON]
# PYTHON has torch and transformers. OUT has the pages with what the lines print. With RECORD=1 the pages and
# testdata/refine/recorded, which CI replays, are replaced. Weights differ between machines and versions of torch, and with them the rows that are chosen and the figures.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: e2e_loop.sh OUT [PYTHON]}
python=$(command -v "${2:-python3}")
mkdir -p "$out"
out=$(cd "$out" && pwd)
pages="refinement discover" recorded=testdata/refine/recorded
export XDG_CONFIG_HOME="$out/config" # what the pages trust
export OMP_NUM_THREADS=1 # the order of sums
for page in $pages; do
  tree=$out/$page
  rm -rf "$tree"
  "$root/scripts/copy_tree.sh" "$tree"
  mkdir -p "$tree/bin"
  cp "$root/bin/erreval" "$tree/bin"
  cd "$tree"
  rm -rf $recorded
  if [ "$page" = refinement ]; then
    "$python" training/tiny_encoder.py bert encoder testdata/refine/start.jsonl 16 400 1 2>/dev/null
  else # the same encoder: its tokenizer is recorded once
    cp -r "$out/refinement/encoder" .
    cp -r "$out/refinement/$recorded" $recorded
  fi
  sed -i "s|^trainer: .*|trainer: ['$python', testdata/refine/recorded.py, --record, training/finetune.py]|" testdata/refine/*.yaml
  PATH="$tree/bin:$PATH" scripts/page_output.sh "docs/$page.md" >"$out/$page.md"
  sed -i "s|runs as trainer: .*|runs as trainer: python3 testdata/refine/recorded.py|" "$out/$page.md"
done
sed -n '/^## The loop on the sample rows/,/^## The workspace/p' "$out/refinement.md" | sed '$d'
sed -n '/^### A model that finds them/,/^## Without/p' "$out/discover.md" | sed '$d'
echo "trained truly: $(find $recorded -name result.json | wc -l) models; $(du -sh --apparent-size $recorded | cut -f1) of checkpoints"
if [ "${RECORD:-}" ]; then
  rm -rf "${root:?}/$recorded"
  cp -r $recorded "$root/$recorded"
  for page in $pages; do cp "$out/$page.md" "$root/docs"; done
  echo "recorded anew: $recorded and the pages $pages"
fi
