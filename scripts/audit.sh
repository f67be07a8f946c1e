#!/usr/bin/env bash
# What is linked into bin/erreval, and what is known against it: make audit. A minute and a half once the tools are built.
# Each step passes, fails, or says why it cannot run on this machine; code 1 is a step that failed.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
passed=() failed=() left=()

# step NAME COMMAND…: code 0 passes, 75 could not run, 76 passes but for a part; the last line says why or which
step() {
  echo "== $1"
  local code=0 out
  out=$(mktemp)
  "${@:2}" 2>&1 | tee "$out" || code=$?
  case $code in
  0) passed+=("$1") ;;
  75) left+=("$1: $(tail -n1 "$out")") ;;
  76) passed+=("$1") left+=("$1, in part: $(tail -n1 "$out")") ;;
  *) failed+=("$1") ;;
  esac
  rm -f "$out"
}

# GOVULNDB=URL or file://FOLDER is another copy of the database.
vulnerabilities() {
  make --no-print-directory .cache/bin/govulncheck || { echo 'govulncheck cannot be built from this module proxy'; return 75; }
  local code=0 out
  out=$(.cache/bin/govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ${tags:+-tags "$tags"} ./... 2>&1) || code=$?
  echo "$out"
  [ $code -ne 1 ] || ! grep -q 'fetching vulnerabilities' <<<"$out" || { echo 'the database (vuln.go.dev, or GOVULNDB) is out of reach here: run it elsewhere'; return 75; }
  return $code
}

suspicious_code() {
  make --no-print-directory .cache/bin/golangci-lint || return
  .cache/bin/golangci-lint run --enable-only gosec --allow-parallel-runners ./... || return
  echo "accepted where they stand, each with its reason: $(git grep -h '#nosec' -- '*.go' | wc -l) findings (git grep '#nosec'); left out as rules: see gosec in .golangci.yml"
}

# 'go mod verify' passes over modules that are not in the cache; those that a go.mod names are told.
module_hashes() {
  local folder names missing=()
  for folder in . identifier/tokenfile/bench training/review/page/browser; do
    echo "$folder:"
    "$go" -C $folder mod verify || return 1
    names=$(sed -nE 's/^(require )?\t?([^ ]+\.[^ ]+) v[0-9].*/\2/p' $folder/go.mod)
    # shellcheck disable=SC2086
    mapfile -t -O ${#missing[@]} missing < <("$go" -C $folder list -m -f '{{if not .Dir}}{{.Path}} {{.Version}}{{end}}' $names | grep .)
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  echo "not on this machine, so not compared with go.sum: $(printf '%s; ' "${missing[@]}")"
  return 76
}

licences() { "$go" run ./scripts/bom check bin/erreval; }

bill_of_materials() {
  "$go" run ./scripts/bom sbom bin/erreval >bin/erreval.cdx.json || return
  echo "bin/erreval.cdx.json: CycloneDX $(sed -nE 's/.*"specVersion": "(.*)",/\1/p' bin/erreval.cdx.json), $(grep -c '"bom-ref"' bin/erreval.cdx.json) components"
}

version() {
  bin/erreval --version
  local want
  want=$(scripts/version.sh)
  [ "$(bin/erreval --version)" = "erreval version ${want:-(devel)}" ] || { echo "these sources are ${want:-(devel)}"; return 1; }
}

tags=$(grep -oE -- '-tags=[^ ]+' <<<"${GOFLAGS:-}" | sed 's/-tags=//' || true)
step 'vulnerabilities (govulncheck)' vulnerabilities
step 'suspicious code (gosec)' suspicious_code
step 'hashes of modules (go mod verify)' module_hashes
step 'licences' licences
step 'version' version
step 'bill of materials (SBOM)' bill_of_materials

echo "== passed: ${#passed[@]}, failed: ${#failed[@]}, not run: ${#left[@]}"
[ ${#left[@]} -eq 0 ] || printf 'NOT RUN: %s\n' "${left[@]}"
[ ${#failed[@]} -eq 0 ] || { printf 'FAILED: %s\n' "${failed[@]}"; exit 1; }
