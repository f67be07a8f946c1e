#!/usr/bin/env bash
# Makes a release of the last commit twice, in clones of other paths with caches of their own, and compares their files.
# With empty caches this compiles everything twice: some ten minutes on two cores.
#
#   scripts/release_check.sh [TARGET…]    as those of scripts/release.sh
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
for place in one another/much-longer-place; do
  mkdir -p "$work/$place"
  git clone -q . "$work/$place/erreval"
  echo "building in $place" >&2
  HOME=$work/$place GOCACHE=$work/$place/go-build GOMODCACHE=$(${GO:-go} env GOMODCACHE) ZIG_GLOBAL_CACHE_DIR=$work/$place/zig \
    "$work/$place/erreval/scripts/release.sh" "$work/$place/dist" "$@" >&2
  rm -rf "$work/$place/go-build" "$work/$place/zig"
done
diff "$work"/one/dist/*_checksums.txt "$work"/another/*/dist/*_checksums.txt || { echo 'the files differ' >&2; exit 1; }
cat "$work"/one/dist/*_checksums.txt
echo 'both times the same bytes'
