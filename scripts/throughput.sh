#!/usr/bin/env bash
# Rows/s of the ways to tag rows: the command on a file, a worker (--flush), Python with a frame and with rows, Spark and
# Ray with two processes of one core each; ROUNDS times in turns, on two cores, with the default model (or MODEL=DIR):
# scripts/throughput.sh [ROWS [ROUNDS]]. Each way tags 40 rows, then ROWS (2000): the rate is that of what lies between,
# and what the 40 take beyond it is the start. Memory is the most that one of erreval's processes takes. About half an
# hour; needs Java 17, and what 'make cluster-test' installs.
set -euo pipefail
cd "$(dirname "$0")/.."
make -s python-env PYTHON_ENV=.cache/python-cluster REQUIREMENTS=python/cluster_requirements.txt
taskset=()
[ "$(nproc)" -le 2 ] || taskset=(taskset -c 0,1)
exec "${taskset[@]}" .cache/python-cluster/bin/python -B python/throughput.py --rows "${1:-2000}" --rounds "${2:-1}" \
  ${MODEL:+--model "$MODEL"} ${WAYS:+--ways "$WAYS"} 2>.cache/throughput.log
