#!/usr/bin/env bash
# Do the documents in docs/cluster do what they say? The Job is read strictly, as Kubernetes reads it; the Slurm script is
# run with a stand-in for Slurm. Needs bin/erreval (make build) and the module proxy, once: a minute.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "cluster_docs_test.sh: $*" >&2; exit 1; }

job=docs/cluster/kubernetes-job.yaml
GOFLAGS='' go -C scripts/k8scheck build -o "$work/k8scheck" .
"$work/k8scheck" "$job"
for fault in 's/backoffLimitPerIndex/backoffLimitPerIndx/' 's/completions: 8/completions: eight/' 's/restartPolicy: Never/restartPolicy: OnFailure/' \
  's/containerName: erreval/containerName: other/' 's/action: FailIndex/action: Ignore/'; do
  sed "$fault" "$job" >"$work/wrong.yaml"
  "$work/k8scheck" "$work/wrong.yaml" 2>/dev/null && fail "a Job changed by $fault passes"
done

# Each index tags its file, once and again, and an index too many ends with a code that fails it for good.
mkdir -p "$work/data" "$work/bin"
cp bin/erreval "$work/bin"
export PATH="$work/bin:$PATH" ERREVAL_MODEL="$PWD/identifier/testdata/bert"
for index in 0 1; do
  sed -n "$((index * 13 + 1)),$((index * 13 + 13))p" identifier/testdata/bert/rows.jsonl >"$work/data/$index.jsonl"
  echo "$work/data/$index.jsonl" >>"$work/data/manifest.txt"
done
for index in 0 1 0; do
  mapfile -t line < <("$work/k8scheck" -index $index "$job" | sed "s|/data/|$work/data/|")
  "${line[@]}"
done
cat "$work"/data/tagged/*.jsonl >"$work/tagged.jsonl"
erreval identify identifier/testdata/bert/rows.jsonl -o "$work/whole.jsonl" --quiet
cmp "$work/tagged.jsonl" "$work/whole.jsonl"
mapfile -t line < <("$work/k8scheck" -index 2 "$job" | sed "s|/data/|$work/data/|")
code=0
"${line[@]}" 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "an index too many ends with code $code"

# Slurm: eight tasks, then one whose exit code says never again, and one that may be tried again.
mkdir "$work/run"
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$work/bin/srun"
printf '#!/bin/sh\necho "$@" >>requeued\n' >"$work/bin/scontrol"
chmod +x "$work"/bin/*
export SLURM_CPUS_PER_TASK=1 SLURM_ARRAY_JOB_ID=7
script=$PWD/docs/cluster/slurm-array.sh
cp identifier/testdata/bert/rows.jsonl "$work/run/rows.jsonl"
cd "$work/run"
for part in 1 2 3 4 5 6 7 8; do SLURM_ARRAY_TASK_ID=$part bash "$script"; done
erreval merge part*.jsonl -o merged.jsonl 2>/dev/null
erreval identify rows.jsonl -o whole.jsonl --quiet
cmp merged.jsonl whole.jsonl
SLURM_ARRAY_TASK_ID=9 bash "$script" 2>/dev/null && fail 'a part that does not exist passes'
[ ! -e requeued ] || fail 'a fault of the line is tried again'
rm rows.jsonl
SLURM_ARRAY_TASK_ID=1 bash "$script" 2>/dev/null && fail 'a missing input passes'
grep -qx 'requeue 7_1' requeued || fail 'a missing input is not tried again'
echo 'docs/cluster does what it says'
