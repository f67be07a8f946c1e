#!/usr/bin/env bash
# Runs every Fuzz function for the given time each: scripts/fuzz.sh 30s
set -euo pipefail

time=${1:-30s}
# -list prints the names and then "ok package".
go test -list '^Fuzz' ./... | while read -r word package _; do
  case $word in
    Fuzz*) names+=("$word") ;;
    ok)
      for name in "${names[@]:-}"; do
        [ -z "$name" ] || go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 100x "$package" </dev/null
      done
      names=()
      ;;
  esac
done
