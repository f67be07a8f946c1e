#!/usr/bin/env bash
# Memory of identify over inputs of growing size, with the tests' tiny model or MODEL=DIR: scripts/rss.sh [ROWS…]
# Prints the largest resident size of each run; they must lie within 10 % of each other. Then the
# command's rate beside that of its inner loop (at least 95 %). Default: 10000 100000 1000000 rows.
set -euo pipefail

cd "$(dirname "$0")/.."
sizes=("$@")
[ $# -gt 0 ] || sizes=(10000 100000 1000000)
make -s setup >/dev/null
bin=$PWD/bin/erreval
model=${MODEL:-$PWD/identifier/testdata/bert}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

rows() { # rows N: half of them with an id of their own
  awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) {
    if (i % 2) printf "{\"id\":\"row %d\",", i; else printf "{"
    printf "\"question\":\"Who built wall %d?\",\"answer\":\"Oke\",\"passage\":\"Oke was a mason of the town.\"}\n", i } }'
}

peaks=()
for n in "${sizes[@]}"; do
  rows "$n" >"$tmp/rows.jsonl"
  read -r peak seconds < <(python3 - "$bin" identify "$tmp/rows.jsonl" -o "$tmp/out.jsonl" --overwrite --model "$model" --quiet <<'PY'
import resource, subprocess, sys, time
start = time.time()
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, round(time.time() - start, 1))
PY
  )
  [ "$(wc -l <"$tmp/out.jsonl")" = "$n" ] || { echo "$n rows went in, $(wc -l <"$tmp/out.jsonl") came out"; exit 1; }
  echo "$n rows: $((peak / 1024)) MiB at most, $seconds s"
  peaks+=("$peak")
done
printf '%s\n' "${peaks[@]}" | awk 'NR == 1 {min = max = $1} {if ($1 < min) min = $1; if ($1 > max) max = $1}
  END {printf "largest / smallest: %.3f\n", max / min; exit max > 1.1 * min}' || { echo "memory grows with the input"; exit 1; }

ERREVAL_ORT_LIB=$("$bin" setup --quiet) go test ./cmd/erreval -run '^$' -bench Command -benchtime "${BENCHTIME:-5x}" -bench-model "$model" | grep '^Benchmark'
