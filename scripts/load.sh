#!/usr/bin/env bash
# Loads erreval serve with 32 clients, in turns with identify on the same rows: scripts/load.sh [SECONDS [ROUNDS]]
# (10 and 6, a minute of load). Prints rows a second, their ratio, and how long requests took; fails where a row is lost or wrong.
set -euo pipefail

cd "$(dirname "$0")/.."
make -s setup >/dev/null
ERREVAL_ORT_LIB=$(bin/erreval setup --quiet) \
  go test ./cmd/erreval -run '^TestServeLoad$' -count=1 -timeout 60m -v -args -serve-seconds "${1:-10}" -serve-rounds "${2:-6}"
