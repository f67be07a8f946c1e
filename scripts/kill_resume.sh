#!/usr/bin/env bash
# Kills a run with SIGKILL at random moments, resumes it each time, and compares what it made with the
# output of a run that nobody disturbed: scripts/kill_resume.sh [ROWS [KILLS [FORMAT [SEED]]]]
# The model is the tests' tiny one. FORMAT is jsonl (default), csv, xlsx, parquet, jsonl.gz …
set -euo pipefail

cd "$(dirname "$0")/.."
rows=${1:-5000} kills=${2:-50} format=${3:-jsonl} seed=${4:-$RANDOM}
RANDOM=$seed
make -s setup >/dev/null
bin=$PWD/bin/erreval
model=$PWD/identifier/testdata/bert
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
echo "$rows rows, $kills kills, $format, seed $seed"

# Every 97th line is no row; equal rows get the ids x, x#2, x#3.
awk -v n="$rows" 'BEGIN {
  for (i = 1; i <= n; i++) {
    printf "{\"question\":\"Who built wall %d?\",\"answer\":\"Oke\",\"passage\":\"Oke was a mason of the town.\",\"note\":\"%0150d\"}\n", i % 777, i
    if (i % 97 == 0) print "no row"
  }}' >rows.jsonl

tag=("$bin" identify rows.jsonl --model "$model" --quiet --resume)
done_well() { [ "$1" = 0 ] || [ "$1" = 3 ]; } # 3: lines were rejected

code=0
"${tag[@]}" -o "want.$format" 2>/dev/null || code=$?
done_well $code || { echo "the undisturbed run ends with $code"; exit 1; }
want=$(sha256sum <"want.$format") want_rejected=$(sha256sum <"want.$format.rejected.jsonl")
# How long OUT.partial gets, which is always JSON Lines.
size=$(wc -c <"want.$format")
[ "$format" = jsonl ] || { "${tag[@]}" -o lines.jsonl 2>/dev/null || true; size=$(wc -c <lines.jsonl); }

killed=0 finished=0
while [ $killed -lt "$kills" ]; do
  at=$((RANDOM * 32768 + RANDOM)) && at=$((at % (size + 1)))
  "${tag[@]}" -o "out.$format" 2>err.txt & # no function: its shell would be killed in the place of erreval
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    now=$(stat -c %s "out.$format.partial" 2>/dev/null || echo 0)
    [ "$now" -lt $at ] || break
  done
  if kill -KILL $pid 2>/dev/null; then killed=$((killed + 1)); fi
  code=0
  wait $pid 2>/dev/null || code=$?
  if done_well $code; then # it was faster than the kill: compare, and begin anew
    finished=$((finished + 1))
    [ "$(sha256sum <"out.$format")" = "$want" ] || { echo "seed $seed: the output differs after $killed kills"; exit 1; }
    [ "$(sha256sum <"out.$format.rejected.jsonl")" = "$want_rejected" ] || { echo "seed $seed: the rejected lines differ after $killed kills"; exit 1; }
    rm -f out.*
  elif [ $code != 137 ]; then
    echo "seed $seed: after $killed kills the run ends with $code:"
    cat err.txt
    exit 1
  fi
done
code=0
"${tag[@]}" -o "out.$format" 2>err.txt || code=$?
done_well $code || { cat err.txt; exit 1; }
cmp "out.$format" "want.$format"
cmp "out.$format.rejected.jsonl" "want.$format.rejected.jsonl"
left=$(find . -name 'out.*partial*' -o -name 'out.*converting')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "$killed kills, $((finished + 1)) runs finished: every output is byte-identical to the undisturbed run's"
