#!/usr/bin/env bash
# identify on objects of an S3 server (gofakes3, on disk): the server is killed and started again in mid-run, workers are
# killed, race, and find what is done. Every output must be that of a run on local files: make storage-test.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$PWD/bin/erreval server=$PWD/.cache/bin/gofakes3 model=$PWD/identifier/testdata/bert
rows=${ROWS:-40000}
dir=$(mktemp -d)
cd "$dir"
port=$((20000 + RANDOM % 20000)) pid=
trap '[ -z "$pid" ] || kill -9 $pid; rm -rf "$dir"' EXIT
export ERREVAL_CACHE=$dir/cache AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b AWS_EC2_METADATA_DISABLED=true
options="endpoint=http://127.0.0.1:$port&use_path_style=true&region=us-east-1"
at() { echo "s3://bucket/$1?$options"; }
tag() { "$program" identify --model "$model" --quiet "$@"; }
spawn() { # in this shell's job $!, which can be killed
  "$program" identify --model "$model" --quiet "$@" &
}

start_server() {
  "$server" -host 127.0.0.1:$port -backend bolt -bolt.db store.db -autobucket -quiet >>server.log 2>&1 &
  pid=$!
  until curl -s -o /dev/null "http://127.0.0.1:$port/"; do sleep 0.1; done
}
stop_server() {
  kill -9 $pid
  wait $pid 2>/dev/null || true
  pid=
}
put() { curl -sSf -T "$1" "http://127.0.0.1:$port/bucket/$1" -o /dev/null; }
get() { curl -sSf "http://127.0.0.1:$port/bucket/$1"; }
same() { # NAME: the object is the local file want
  get "$1" | cmp - want || { echo "$1 differs" >&2; exit 1; }
  get "$1.run.json" | grep -q '"sha256"' || { echo "$1 has no record" >&2; exit 1; }
}
fails() { # CODE WORDS COMMAND…
  local got=0
  "${@:3}" 2>message || got=$?
  [ $got = "$1" ] && grep -q "$2" message || { echo "code $got, not $1, or without '$2': ${*:3}" >&2; cat message >&2; exit 1; }
}

awk -v n="$rows" 'BEGIN {for (i = 0; i < n; i++) printf "{\"id\":\"r%d\",\"passage\":\"The river Aar rises in the Alps, number %d of its kind.\",\"answer\":\"Alps\",\"question\":\"Where does river %d rise?\"}\n", i, i, i}' >rows.jsonl
tag rows.jsonl -o want
start_server
curl -sSf -X PUT "http://127.0.0.1:$port/bucket" -o /dev/null
put rows.jsonl

tag "$(at rows.jsonl)" -o "$(at out.jsonl)"
same out.jsonl
echo 'an undisturbed run: the bytes of a local one'

spawn "$(at rows.jsonl)" -o "$(at server.jsonl)"
run=$!
sleep 0.7
stop_server
sleep 2
kill -0 $run || { echo 'the run ended before the server was killed: give more ROWS' >&2; exit 1; }
start_server
wait $run
same server.jsonl
echo 'the server killed with -9 and started again in mid-run: the same bytes'

spawn "$(at rows.jsonl)" -o "$(at worker.jsonl)"
run=$!
sleep 0.7
kill -9 $run
wait $run 2>/dev/null || true
get worker.jsonl >/dev/null 2>&1 && { echo 'a killed worker left an object' >&2; exit 1; }
tag "$(at rows.jsonl)" -o "$(at worker.jsonl)" --resume
same worker.jsonl
echo 'a worker killed with -9: no object; with --resume the same bytes'

ERREVAL_CACHE=$dir/cache2 tag "$(at rows.jsonl)" -o "$(at race.jsonl)" --resume &
run=$!
tag "$(at rows.jsonl)" -o "$(at race.jsonl)" --resume
wait $run
same race.jsonl
echo 'two workers on one output: both end well, one object'

fails 1 'exists already' tag "$(at rows.jsonl)" -o "$(at race.jsonl)"
fails 2 'made otherwise' tag "$(at rows.jsonl)" -o "$(at race.jsonl)" --resume --labels-only
fails 1 'there is no such object' tag "$(at nothing.jsonl)" -o "$(at none.jsonl)"
fails 1 'built without' tag gs://bucket/rows.jsonl -o none.jsonl
echo 'existing, other, missing objects and unknown stores are refused'

for i in 0 1 2 3; do
  awk -v i=$i 'NR % 4 == i' rows.jsonl >part$i.jsonl
  put part$i.jsonl
  at part$i.jsonl
done >manifest
for i in 0 1 2 3; do tag --shards manifest --index $i -o "parts/" --resume; done
for i in 0 1 2 3; do tag --shards manifest --index $i -o "parts/" --resume; done
cat want | awk 'NR % 4 == 0' | cmp - parts/part0.jsonl
fails 2 'has 4 files' tag --shards manifest --index 4 -o parts/ --resume
echo 'shards of a manifest, each twice: done once; an index too high is never tried again (code 2)'

tag "$(at rows.jsonl)" --limit 500 -o rows.parquet --format jsonl
put rows.parquet
"$program" stats "$(at rows.parquet)" --json | grep -q '"rows": 500'
gzip -k part1.jsonl && put part1.jsonl.gz
tag "$(at part1.jsonl.gz)" -o "$(at part1.out.jsonl)"
get part1.out.jsonl | cmp - <(awk 'NR % 4 == 1' want)
echo 'Parquet and gzip objects are read'
