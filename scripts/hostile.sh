#!/usr/bin/env bash
# What hostile files cost: scripts/hostile.sh [NAME]
# Makes every kind of dataset/hostiletest (those with NAME in their name), reads each with identify, workbooks with
# refine merge too, and prints a table: command | file | its size | peak MiB | exit code | time | first message.
# Fails where a process takes more than 512 MiB. Two minutes; 3 GiB of memory for making them. PROGRAM=FILE measures
# another build, which may take all the memory that there is: ulimit -v 8000000 before.
# scripts/hostile.sh serve attacks erreval serve instead: headers and bodies that do not end, 1 GB, 10,000 connections.
set -euo pipefail

cd "$(dirname "$0")/.."
make -s setup >/dev/null
if [ "${1:-}" = serve ]; then
  ERREVAL_ORT_LIB=$(bin/erreval setup --quiet) \
    go test ./cmd/erreval -run '^TestServeHostile$' -count=1 -v -args -serve-hostile
  exit
fi
echo "| command | file | size | peak MiB | exit code | time | it says |"
echo "|---|---|---|---|---|---|---|"
ERREVAL_ORT_LIB=$(bin/erreval setup --quiet) \
  go test ./cmd/erreval -run '^TestHostileFiles$' -count=1 -timeout 30m -v -args -hostile -hostile-only "${1:-}" \
  ${PROGRAM:+-hostile-program "$PROGRAM"} | grep -E '^\||_test.go|^FAIL|^panic'
