#!/usr/bin/env bash
# Runs what the documents tell a user to type: every ```sh block of the pages below, page by page, each
# in a copy of the tree of its own. Other blocks (```text, ```json) are not run. The reader's own file
# mine.jsonl is played by the samples.
set -euo pipefail

cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for page in README.md docs/getting-started.md docs/evaluation.md docs/reading.md docs/long-runs.md docs/ci.md docs/models.md; do
  copy=$tmp/$(basename "$page" .md)
  scripts/copy_tree.sh "$copy"
  cp testdata/samples/questions.jsonl "$copy/mine.jsonl"
  awk '/^```sh$/ {inside = 1; next} /^```/ {inside = 0} inside' "$page" >"$tmp/commands.sh"
  [ -s "$tmp/commands.sh" ] || { echo "$page has no \`\`\`sh block"; exit 1; }
  echo "-- $page: $(grep -c . "$tmp/commands.sh") lines"
  # Later pages take for granted that erreval is on PATH.
  case $page in README.md | docs/getting-started.md) ;; *) make -s -C "$copy" setup ;; esac
  environment=()
  case $page in # models that a page imports must not take the place of the user's
    docs/models.md) environment=(ERREVAL_ORT_LIB="$("$copy/bin/erreval" setup --quiet)" ERREVAL_CACHE="$tmp/cache") ;;
  esac
  (cd "$copy" && env "${environment[@]}" PATH="$copy/bin:$PATH" bash -eux -o pipefail "$tmp/commands.sh") || { echo "$page: a command fails (above)"; exit 1; }
done
