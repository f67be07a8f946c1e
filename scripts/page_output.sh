#!/usr/bin/env bash
# page_output.sh PAGE: runs the ```sh blocks of PAGE in the working directory and prints PAGE anew, with what each block
# printed in the ```text block below it.
set -euo pipefail

page=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
awk -v tmp="$tmp" '
  /^```sh$/ {inside = 1; print "{"; next}
  inside && /^```/ {inside = 0; printf "} >%s/%d 2>&1\n", tmp, ++n; next}
  inside' "$page" >"$tmp/commands.sh"
bash -eu -o pipefail "$tmp/commands.sh" || { cat "$tmp"/[0-9]* >&2; exit 1; }
awk -v tmp="$tmp" '
  /^```sh$/ {block = ++n}
  /^```text$/ && block {print; while ((getline line <(tmp "/" block)) > 0) {sub(/ +$/, "", line); print line} inside = 1; block = 0; next}
  inside && !/^```/ {next}
  {inside = 0; print}' "$page"
