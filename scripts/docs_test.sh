#!/usr/bin/env bash
# Runs what the documents tell a new user to type: every ```sh block of README.md and of
# docs/getting-started.md, page by page, in a copy of the tree. Other blocks (```text, ```console) are
# not run. README's own file of questions is played by the samples.
set -euo pipefail

cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for page in README.md docs/getting-started.md; do
  copy=$tmp/$(basename "$page" .md)
  scripts/copy_tree.sh "$copy"
  cp testdata/samples/questions.jsonl "$copy/mine.jsonl"
  awk '/^```sh$/ {inside = 1; next} /^```/ {inside = 0} inside' "$page" >"$tmp/commands.sh"
  [ -s "$tmp/commands.sh" ] || { echo "$page has no \`\`\`sh block"; exit 1; }
  echo "-- $page: $(grep -c . "$tmp/commands.sh") lines"
  (cd "$copy" && bash -eux -o pipefail "$tmp/commands.sh") || { echo "$page: a command fails (above)"; exit 1; }
done
