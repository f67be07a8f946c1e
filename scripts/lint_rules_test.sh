#!/usr/bin/env bash
# Plants wrong imports in a copy of the tree and checks that the linter names each of them.
set -euo pipefail

cd "$(dirname "$0")/.."
lint=$PWD/.cache/bin/golangci-lint
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
scripts/copy_tree.sh "$tmp"
cd "$tmp"

me=github.com/erreval/erreval
wanted=0
plant() { # plant FOLDER IMPORT: a file that must be refused
  mkdir -p "$1"
  local name=${1##*/}
  [ "$name" = erreval ] && name=main
  wanted=$((wanted + 1))
  printf '// Package %s is planted.\npackage %s\n\nimport _ "%s"\n' "$name" "$name" "$2" >"$1/planted_$wanted.go"
}
# No import cycles here: they would not compile, and need no rule.
plant scorer $me/identifier
plant training $me/identifier
plant discover $me/training
plant discover/cluster $me/dataset
plant discover/clear $me/llm
plant discover/qualjudge $me/report
plant pairwise $me/scorer
plant scripts/withjudge/oracle $me/discover
plant prompt $me/models
plant report $me/models
plant report/rows $me/evaluation
plant report/page $me/taxonomy
plant report/rows modernc.org/sqlite
plant report/view $me/discover
plant report/view $me/models
plant report/page $me/internal/app/reporting
plant internal/run $me/models
plant cmd/erreval github.com/jedib0t/go-pretty/v6/table
plant evaluation $me/scorer
plant evaluation $me/llm
plant llm $me/taxonomy
plant llm/ask $me/llm/openai
plant llm/vendor $me/llm/journal
plant llm/anthropic $me/llm/ask
plant llm/judging $me/llm/openai
plant scorer $me/llm/anthropic
plant cmd/erreval $me/llm/openai
plant internal/stats $me/taxonomy
plant internal/run $me/prompt
plant scorer $me/internal/run
plant models $me/llm
plant models/checkpoint $me/taxonomy
plant models/importing $me/llm
plant identifier/local $me/models/hub
plant internal/doctor $me/dataset
plant dataset $me/llm
plant service $me/llm
plant service $me/identifier/local
plant internal/loopback $me/taxonomy
plant scorer github.com/prometheus/client_golang/prometheus
plant service github.com/santhosh-tekuri/jsonschema/v6
plant dataset/xlsx $me/taxonomy
plant identifier $me/models/embedded
plant identifier github.com/yalue/onnxruntime_go
plant dataset github.com/urfave/cli/v2
plant identifier github.com/sugarme/tokenizer
plant dataset/xlsx github.com/xuri/excelize/v2
plant models github.com/xuri/excelize/v2
plant internal/run github.com/minio/minio-go/v7
plant internal/storage $me/dataset
plant models github.com/parquet-go/parquet-go
plant dataset github.com/jedib0t/go-pretty/v6/table
plant cmd/erreval gonum.org/v1/plot

packages=$(grep -lr --include='planted_*.go' . . | xargs -n1 dirname | sort -u)
# shellcheck disable=SC2086
found=$("$lint" run --enable-only depguard --allow-parallel-runners --max-issues-per-linter 0 --max-same-issues 0 $packages 2>&1 || true)
for n in $(seq $wanted); do
  if ! grep -q "planted_$n\.go.*depguard" <<<"$found"; then
    echo "not refused: $(grep -r --include="planted_$n.go" import .)"
    echo "$found" | tail -n 20
    exit 1
  fi
done
if grep '(depguard)' <<<"$found" | grep -v planted_; then
  echo "the tree itself breaks an import rule (above)"
  exit 1
fi
echo "$wanted planted imports refused"
