#!/usr/bin/env bash
# Has service/openapi.json checked by an outside tool, openapi-spec-validator, in a virtual environment under .cache.
# Twenty seconds the first time, then one.
set -euo pipefail

cd "$(dirname "$0")/.."
version=0.9.0
venv=.cache/openapi-spec-validator-$version
if [ ! -e "$venv/done" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "openapi-spec-validator==$version"
  touch "$venv/done"
fi
"$venv/bin/python" -m openapi_spec_validator service/openapi.json
