#!/usr/bin/env bash
# Makes the site of docs/ with the reports that docs/gallery.md links to: scripts/site.sh MKDOCS FOLDER (make site).
# A link that leads nowhere is an error.
set -euo pipefail
mkdocs=$1 out=$2
cd "$(dirname "$0")/.."
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
export PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1 SITE_REPORTS=$reports

erreval() { bin/erreval "$@" --quiet; }
report() { # NAME TITLE ARGUMENTS…
  erreval report "${@:3}" --title "$2" -o "$reports/$1.html"
}
samples=testdata/samples rows=$reports/rows
mkdir "$rows"
erreval identify $samples/questions.jsonl -o "$rows/tagged.jsonl"
erreval identify $samples/questions.jsonl --threshold 0.8 -o "$rows/strict.jsonl"
erreval identify $samples/responses.jsonl --taxonomy instruction-following -o "$rows/responses.jsonl"
erreval identify $samples/questions_rated.jsonl -o "$rows/rated.jsonl"
erreval score "$rows/rated.jsonl" -o "$rows/scored.jsonl"

report systems 'Questions of several systems' "$rows/tagged.jsonl"
report scores 'Scores beside those of people' "$rows/scored.jsonl" \
  --human fluency=fluency_1,fluency_2 --human clarity=clarity --human answerability=answerability
report runs 'Two runs compared' "$rows/tagged.jsonl" "$rows/strict.jsonl"
report responses 'Responses of language models' "$rows/responses.jsonl"

"$mkdocs" build --strict --quiet --site-dir "$PWD/$out"
echo "$out/index.html"
