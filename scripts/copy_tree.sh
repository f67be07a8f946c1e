#!/usr/bin/env bash
# Copies the files that git tracks or would add, as they are now: scripts/copy_tree.sh TARGET
set -euo pipefail
target=$1
cd "$(dirname "$0")/.."
mkdir -p "$target"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [ ! -e "$file" ] || printf '%s\0' "$file" # a deleted file is still listed
done | xargs -0 cp --parents -t "$target"
