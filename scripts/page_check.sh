#!/usr/bin/env bash
# Builds the page of reports from its lock file, and fails where report/page/dist is another: scripts/page_check.sh
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
make -s report/page/node_modules
(cd report/page && npx --no-install vite build --outDir "$built" --emptyOutDir >/dev/null)
if ! diff -rq report/page/dist "$built"; then
  echo "report/page/dist is not what report/page/src builds; run 'make page' and commit it" >&2
  exit 1
fi
