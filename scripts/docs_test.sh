#!/usr/bin/env bash
# Runs what the documents tell a user to type: every ```sh block of the pages below, page by page, each
# in a copy of the tree of its own. Other blocks (```text, ```json) are not run. The reader's own file
# mine.jsonl is played by the samples. Of docs/worked-example.md, docs/compare.md, docs/refinement.md and
# docs/discover.md the output is compared as well, seconds left out, and of the former two their pictures; --write makes
# them anew.
set -euo pipefail

cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_CONFIG_HOME=$tmp/config # what the pages trust

make -s setup
pages="README.md docs/getting-started.md docs/evaluation.md docs/own-task.md docs/reading.md docs/report.md docs/long-runs.md docs/worker.md docs/ci.md docs/models.md docs/responses.md docs/scoring.md docs/serve.md"
[ "${1:-}" != --write ] || pages=''
for page in $pages; do
  copy=$tmp/$(basename "$page" .md)
  scripts/copy_tree.sh "$copy"
  cp testdata/samples/questions.jsonl "$copy/mine.jsonl"
  awk '/^```sh$/ {inside = 1; next} /^```/ {inside = 0} inside' "$page" >"$tmp/commands.sh"
  [ -s "$tmp/commands.sh" ] || { echo "$page has no \`\`\`sh block"; exit 1; }
  echo "-- $page: $(grep -c . "$tmp/commands.sh") lines"
  # Later pages take for granted that erreval is on PATH.
  case $page in README.md | docs/getting-started.md) ;; *) mkdir -p "$copy/bin" && cp bin/erreval "$copy/bin" ;; esac
  environment=() judge=()
  case $page in # models that a page imports must not take the place of the user's
    docs/models.md) environment=(ERREVAL_ORT_LIB="$("$copy/bin/erreval" setup --quiet)" ERREVAL_CACHE="$tmp/cache") ;;
    docs/serve.md) # a server of a page that fails must not stay
      printf '%s\n' "trap 'kill \$(jobs -p) 2>/dev/null || true' EXIT" | cat - "$tmp/commands.sh" >"$tmp/trapped.sh"
      mv "$tmp/trapped.sh" "$tmp/commands.sh" ;;
    docs/scoring.md | docs/evaluation.md | docs/own-task.md) # a script plays the language models
      go build -o "$tmp/withjudge" ./scripts/withjudge
      judge=("$tmp/withjudge") ;;
  esac
  (cd "$copy" && env "${environment[@]}" PATH="$copy/bin:$PATH" "${judge[@]}" bash -eux -o pipefail "$tmp/commands.sh") || { echo "$page: a command fails (above)"; exit 1; }
  rm -rf "$copy"
done

# Numbers in pictures are left out: they are those of the tables, and rounding differs between machines.
words() { sed -E 's/[-0-9.e]+//g' "$1"; }
for page in docs/worked-example.md docs/compare.md docs/refinement.md docs/discover.md; do
  copy=$tmp/$(basename "$page" .md)
  scripts/copy_tree.sh "$copy"
  mkdir -p "$copy/bin" && cp bin/erreval "$copy/bin"
  echo "-- $page, with its output"
  (cd "$copy" && PATH="$copy/bin:$PATH" scripts/page_output.sh $page) >"$tmp/made.md" || { echo "$page: a command fails (above)"; exit 1; }
  if [ "${1:-}" = --write ]; then
    cp "$tmp/made.md" $page
    continue
  fi
  seconds='s/in [0-9.]+ s( \([0-9.]+ a second\))?/in # s/'
  diff <(sed -E "$seconds" $page) <(sed -E "$seconds" "$tmp/made.md") || { echo "$page does not show what its commands print; run scripts/docs_test.sh --write"; exit 1; }
done
for picture in worked-example/lift worked-example/scores compare/ratings compare/matrix compare/bias; do
  made=$tmp/$picture.svg kept=docs/${picture/\//-}.svg
  [ "${1:-}" != --write ] || cp "$made" "$kept"
  diff <(words "$kept") <(words "$made") >/dev/null || { echo "$kept is not what the page draws; run scripts/docs_test.sh --write"; exit 1; }
done
