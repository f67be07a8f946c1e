#!/usr/bin/env bash
# The transcript in README.md is what `make demo` prints, its table cut after a few rows. Without
# arguments it is made anew; with --check it is compared, numbers left out: another machine is faster
# or slower, and another processor may round a probability otherwise.
set -euo pipefail

cd "$(dirname "$0")/.."
rows=3
begin='<!-- transcript:begin -->' end='<!-- transcript:end -->'
made=$(mktemp)
trap 'rm -f "$made" "$made".*' EXIT
make -s setup >/dev/null
{
  echo '```text'
  echo '$ make demo'
  make -s demo 2>"$made.err" | awk -v last=$((rows + 1)) '$1 == last && /^ *[0-9]/ {print "…"; cut = 1} !cut {sub(/ +$/, ""); print}'
  # The summary comes last on standard error; its first line has the totals.
  grep ' rows in .* with ' "$made.err"
  echo '```'
} >"$made"

if [ "${1:-}" = --check ]; then
  sed -n "/$begin/,/$end/p" README.md | sed '1d;$d' >"$made.old"
  for file in "$made" "$made.old"; do sed -E 's/[0-9]+\.[0-9]+/#/g; s/ +/ /g' "$file" >"$file.words"; done
  diff "$made.old.words" "$made.words" || { echo "README.md's transcript is not what make demo prints; run scripts/readme_transcript.sh"; exit 1; }
  exit
fi
awk -v begin="$begin" -v end="$end" -v file="$made" '
  $0 == end {inside = 0}
  !inside {print}
  $0 == begin {inside = 1; while ((getline line < file) > 0) print line}' README.md >"$made.readme"
cat "$made.readme" >README.md
