#!/usr/bin/env bash
# What someone new meets: clones HEAD into a temporary folder and runs `make demo` and `make test`
# with an empty HOME and empty caches; where started by root, as the unprivileged user nobody.
# Prints times and what was downloaded. Nothing outside the temporary folder changes.
#   scripts/fresh.sh [make targets…]     (default: demo test)
set -euo pipefail

cd "$(dirname "$0")/.."
targets=("$@")
[ $# -gt 0 ] || targets=(demo test)
tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp" && rm -rf "$tmp"' EXIT # Go's module cache is read-only
git clone --quiet . "$tmp/erreval"
mkdir "$tmp/home"

as=()
if [ "$(id -u)" = 0 ]; then
  chown -R nobody "$tmp" && chmod 755 "$tmp"
  as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
# Only what reaches the registries is taken over from the environment: proxies, certificates.
keep=()
while IFS= read -r name; do keep+=("$name=${!name}"); done < <(compgen -e | grep -iE '(_proxy|_cert|cert_file|cert_dir|ca_bundle|ca_certs|^GOPROXY|^GOSUMDB|^PIP_INDEX_URL)' || true)
go_bin=$(dirname "$(readlink -f "$(command -v go)")")
fresh() {
  (cd "$tmp/erreval" && "${as[@]}" env -i "${keep[@]}" HOME="$tmp/home" USER=nobody LANG=C.UTF-8 TERM=dumb \
    PATH="$go_bin:/usr/local/bin:/usr/bin:/bin" "$@")
}

fresh bash -c 'echo "as $(id -un), $(go version), $(gcc --version | head -n1), $(python3 --version), $(python3 -m pip --version 2>/dev/null | cut -d" " -f1-2 || true)"'
size() { # size FOLDER…: megabytes, of files below HOME
  fresh bash -c 'cd && find "$@" -type f -printf "%s\n" 2>/dev/null | awk "{s += \$1} END {printf \"%.0f MB\", s / 1e6}"' size "$@"
}
for target in "${targets[@]}"; do
  start=$SECONDS
  fresh make "$target"
  echo "== make $target: $((SECONDS - start)) s; so far Go modules downloaded: $(size go/pkg/mod/cache/download), ONNX Runtime unpacked: $(size .cache/erreval)"
done
