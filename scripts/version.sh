#!/usr/bin/env bash
# Prints the version of these sources: by git's tags (v1.2.0, v1.2.0-5-g0123abc), without tags by the commit's date and
# name, as Go does (v0.0.0-20261122064951-0123456789ab); with -dirty where files differ. Nothing outside of a clone.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -e .git ] || exit 0 # sources that were unpacked inside of another repository
git describe --tags --dirty 2>/dev/null && exit 0
commit=$(git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null) || exit 0
date=$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)
echo "v0.0.0-$date-$commit"
