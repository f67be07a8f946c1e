"""The rows of the systems that have 30 or more of them in a pool, without labels: what docs/responses.md counts.

    python systems.py responses_pool.jsonl > rows.jsonl
"""
import collections
import json
import sys

LEAST = 30

with open(sys.argv[1], encoding="utf-8") as f:
    rows = [json.loads(line) for line in f]
count = collections.Counter(row["system"] for row in rows)
for row in rows:
    if count[row["system"]] >= LEAST:
        print(json.dumps({k: row[k] for k in ("id", "system", "instruction", "response")}, ensure_ascii=False))
