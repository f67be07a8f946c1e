#!/usr/bin/env bash
# Says in one sentence each what this machine lacks. Silent when nothing is missing.
set -euo pipefail

missing=0
lacks() {
  echo "missing: $1" >&2
  missing=1
}

want_go=$(sed -nE 's/^go ([0-9]+\.[0-9]+).*/\1/p' go.mod)
if ! command -v "${GO:-go}" >/dev/null; then
  lacks "Go $want_go or newer is not on PATH; install it as https://go.dev/doc/install describes."
else
  # Asked here, beside go.mod: Go 1.21 and newer fetch the version that go.mod wants by themselves.
  have_go=$("${GO:-go}" env GOVERSION 2>/dev/null | sed -E 's/^go//') || have_go=0
  if [ "$(printf '%s\n%s\n' "$want_go" "$have_go" | sort -V | head -n1)" != "$want_go" ]; then
    lacks "Go $want_go or newer ($("${GO:-go}" version 2>&1 | tail -n1) is too old); install it as https://go.dev/doc/install describes."
  fi
fi

if ! printf 'int main(void){return 0;}' | "${CC:-gcc}" -x c -o /dev/null - 2>/dev/null; then
  lacks "a C compiler with headers: the binding to ONNX Runtime is built with cgo (Debian, Ubuntu: apt-get install gcc libc6-dev)."
fi

# Needed only to fetch ONNX Runtime: not when the user names a library or the cache holds one.
cache="${ERREVAL_CACHE:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/erreval}"
has_pip() {
  for pip in 'python3 -m pip' pip3 'python -m pip' pip; do
    $pip --version >/dev/null 2>&1 && return 0
  done
  return 1
}
if [ -z "${ERREVAL_ORT_LIB:-}" ] && ! compgen -G "$cache/onnxruntime/*/libonnxruntime.so.*" >/dev/null \
  && ! has_pip && ! command -v npm >/dev/null; then
  lacks "Python 3 with pip (or npm), through which ONNX Runtime is fetched (Debian, Ubuntu: apt-get install python3-pip)."
fi

exit $missing
