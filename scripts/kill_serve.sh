#!/usr/bin/env bash
# Kills erreval serve under the load of 32 clients and starts it again at the same address: scripts/kill_serve.sh [KILLS]
# (20). Fails where a reply looks whole and is not what identify makes of its rows.
set -euo pipefail

cd "$(dirname "$0")/.."
go test -count=1 -timeout 60m -run '^TestServeKilled$' -v ./cmd/erreval -args -serve-kills "${1:-20}"
