#!/usr/bin/env bash
# The transcript in README.md is what `make demo` prints. Without arguments it is made anew; with
# --check it is compared, the way a reader would: labels and questions, not the last digit of a number.
set -euo pipefail

cd "$(dirname "$0")/.."
make -s build
begin='<!-- transcript:begin -->' end='<!-- transcript:end -->'
made=$(mktemp)
trap 'rm -f "$made" "$made".*' EXIT
{
  echo '```text'
  echo '$ make demo'
  make -s demo 2>/dev/null | sed -E 's/[[:space:]]+$//'
  echo '```'
} >"$made"

if [ "${1:-}" = --check ]; then
  sed -n "/$begin/,/$end/p" README.md | sed '1d;$d' >"$made.old"
  # Another processor may round the last digit of a probability otherwise.
  for file in "$made" "$made.old"; do sed -E 's/[0-9]+\.[0-9]+/#/g; s/[ ]+/ /g' "$file" >"$file.words"; done
  diff "$made.old.words" "$made.words" || { echo "README.md's transcript is not what make demo prints; run scripts/readme_transcript.sh"; exit 1; }
  exit
fi
sed -i -e "/$begin/,/$end/{/$begin/{p;r $made
};/$end/p;d}" README.md
