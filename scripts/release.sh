#!/usr/bin/env bash
# Makes the files of a release in a folder: for each target an archive with the program, its manual page, completions and
# licences, and a bill of materials; a wheel for Linux; checksums. The same commit gives the same bytes on any machine:
# zig, of a pinned version, compiles and links C for all of them.
#
#   scripts/release.sh [FOLDER [TARGET…]]    FOLDER is dist, targets are linux/amd64 linux/arm64 darwin/arm64
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD go=${GO:-go} python=${PYTHON:-python3}
out=${1:-dist}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(linux/amd64 linux/arm64 darwin/arm64)
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What makes files differ from machine to machine is the same everywhere.
export LC_ALL=C TZ=UTC CGO_ENABLED=1 GOAMD64=v1 GOARM64=v8.0 GOTOOLCHAIN=local
umask 022
version=$(scripts/version.sh)
[ -n "$version" ] || { echo "a release needs a clone, which knows its version" >&2; exit 2; }
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

zig_version=0.17.1 # of the PyPI package ziglang
zig=.cache/zig-$zig_version
if [ ! -d $zig ]; then
  echo "fetching zig $zig_version" >&2
  rm -rf $zig.new
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target $zig.new ziglang==$zig_version
  mv $zig.new $zig
fi
zig=$root/$zig/ziglang/zig

# macOS has its libraries on macOS only. Go's own sources say which functions of which library they call; a list of
# those is all that a linker needs.
darwin_libraries() { # FOLDER
  local library name file
  mkdir -p "$1/lib" "$1/include/mach"
  # Of the headers that are missing, Prometheus's client needs this one.
  cat >"$1/include/mach/mach_vm.h" <<'END'
#include <mach/vm_region.h>
extern kern_return_t mach_vm_region(vm_map_t, mach_vm_address_t *, mach_vm_size_t *, vm_region_flavor_t,
                                    vm_region_info_t, mach_msg_type_number_t *, mach_port_t *);
END
  grep -rhE '^//go:cgo_import_dynamic' "$("$go" env GOROOT)/src" --include='*.go' >"$work/imports"
  while read -r library; do
    name=${library##*/}
    case $library in
    *.framework/*)
      mkdir -p "$1/$name.framework"
      file=$1/$name.framework/$name.tbd
      ;;
    *libresolv*) file=$1/lib/libresolv.tbd ;;
    *) continue ;; # zig brings libSystem
    esac
    {
      printf -- '--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos, x86_64-macos ]\ninstall-name: %s\nexports:\n' "'$library'"
      printf '  - targets: [ arm64-macos, x86_64-macos ]\n    symbols: [ %s ]\n...\n' \
        "$(grep -F "\"$library\"" "$work/imports" | awk '$3 != "_" {sub(/#.*/, "", $3); print "_" $3}' | sort -u | paste -sd, | sed 's/,/, /g')"
    } >"$file"
  done < <(grep -oE '"/[^"]+"' "$work/imports" | tr -d '"' | sort -u)
}

compile() { # GOOS GOARCH FILE
  local flags=()
  case $1/$2 in
  linux/amd64) flags=(-target x86_64-linux-gnu.2.28) ;;
  linux/arm64) flags=(-target aarch64-linux-gnu.2.28) ;;
  darwin/*)
    darwin_libraries "$work/darwin"
    flags=(-target "$([ "$2" = arm64 ] && echo aarch64 || echo x86_64)-macos" "-F$work/darwin" "-L$work/darwin/lib" "-I$work/darwin/include")
    ;;
  *) echo "no target $1/$2: linux/amd64, linux/arm64, darwin/arm64, darwin/amd64" >&2; return 2 ;;
  esac
  printf '#!/bin/sh\nexec "%s" cc %s "$@"\n' "$zig" "${flags[*]}" >"$work/cc"
  chmod +x "$work/cc"
  CC=$work/cc CGO_CFLAGS='-O2 -g0' GOOS=$1 GOARCH=$2 "$go" build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -extldflags=-Wl,--strip-all -X github.com/erreval/erreval/internal/runrecord.stamped=$version" -o "$3" ./cmd/erreval
  rm -f ./-.o # zig leaves it where Go asks the compiler about itself
}

pack() { # FOLDER: as a .tar.gz beside it
  tar --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    -C "$(dirname "$1")" -cf - "$(basename "$1")" | gzip -n9 >"$out/$(basename "$1").tar.gz"
}

# The program of this machine writes what is the same for all.
host=$("$go" env GOOS)/$("$go" env GOARCH)
shared=$work/shared
mkdir -p "$shared/completions"
compile "${host%/*}" "${host#*/}" "$work/erreval"
"$work/erreval" man >"$shared/erreval.1"
"$work/erreval" completion bash >"$shared/completions/erreval.bash"
"$work/erreval" completion zsh >"$shared/completions/_erreval"
"$work/erreval" completion fish >"$shared/completions/erreval.fish"
cp LICENSE README.md CHANGELOG.md "$shared"
"$go" run ./scripts/bom notices "$work/erreval" >"$shared/THIRD_PARTY_LICENSES"

for target in "${targets[@]}"; do
  name=erreval_${version}_${target/\//_}
  folder=$work/$name
  cp -R "$shared" "$folder"
  if [ "$target" = "$host" ]; then cp "$work/erreval" "$folder/erreval"; else compile "${target%/*}" "${target#*/}" "$folder/erreval"; fi
  "$go" run ./scripts/bom sbom "$folder/erreval" "$version" >"$out/$name.cdx.json"
  pack "$folder"
  case $target in linux/*) "$python" python/build_wheel.py "$folder/erreval" --version "$version" --notices "$shared/THIRD_PARTY_LICENSES" --out "$work/wheels" ;; esac
  echo "$name: $(stat -c %s "$folder/erreval") bytes, $(stat -c %s "$out/$name.tar.gz") packed"
done
mkdir -p "$work/wheels"
find "$work/wheels" -name '*.whl' -exec cp {} "$out" \;
(cd "$out" && find "$work/wheels" -name '*.whl' -printf '%f\n' | sort | xargs sha256sum -- erreval_"$version"_* >"erreval_${version}_checksums.txt")
