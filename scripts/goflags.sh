#!/usr/bin/env bash
# Prints GOFLAGS, for the program or, with "bench", for the module of the tokenizers' benchmarks. Some module proxies do
# not serve all that is needed. There a tag replaces it: ort_capi builds erreval with its own calls of ONNX Runtime
# instead of onnxruntime_go, no_sugarme leaves sugarme/tokenizer out of the benchmarks. This is said on standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=. module=github.com/yalue/onnxruntime_go tag=ort_capi
[ "${1:-}" = bench ] && folder=identifier/tokenfile/bench module=github.com/sugarme/tokenizer tag=no_sugarme

go=${GO:-go}
flags=$("$go" env GOFLAGS 2>/dev/null) || exit 0 # scripts/prerequisites.sh says that Go is missing
case $flags in
*-tags=*$tag*) ;;
*)
  if ! why=$("$go" -C $folder mod download $module 2>&1); then
    echo "$module cannot be fetched; -tags=$tag replaces it: $(tail -n1 <<<"$why" | xargs)" >&2
    case $flags in
    *-tags=*) flags=$(sed "s/-tags=/-tags=$tag,/" <<<"$flags") ;;
    *) flags="$flags -tags=$tag" ;;
    esac
  fi
  ;;
esac
echo "$flags"
