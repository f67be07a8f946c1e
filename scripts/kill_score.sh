#!/usr/bin/env bash
# Kills runs that ask a language model (score, identify, discover) at random moments, starts the same line again each time, and compares output and calls
# with those of an undisturbed run: scripts/kill_score.sh [ROWS [KILLS]]
set -euo pipefail

cd "$(dirname "$0")/.."
KILL_ROWS=${1:-500} KILLS=${2:-20} go test -count=1 -timeout 60m -run '^TestJudgeKilled$' -v ./cmd/erreval
