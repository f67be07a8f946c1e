"""Joins the labels in training/data/responses_labels.jsonl.gz to the responses that they are of.

    python prepare.py responses_pool.jsonl OUT      writes OUT/train.jsonl, tune.jsonl and test.jsonl

A label set stands at the SHA-256 of its instruction and response. `split` is by instruction: one request is answered by
many systems.
"""
import gzip
import hashlib
import json
import pathlib
import sys

LABELS = pathlib.Path(__file__).parents[1] / "data" / "responses_labels.jsonl.gz"


def key(row):
    return hashlib.sha256("\0".join([row["instruction"], row["response"]]).encode()).hexdigest()


def main(pool, out):
    with gzip.open(LABELS, "rt", encoding="utf-8") as f:
        labels = {r["sha256"]: r for r in map(json.loads, f)}
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    files = {s: open(out / f"{s}.jsonl", "w", encoding="utf-8") for s in ("train", "tune", "test")}
    used = set()
    with open(pool, encoding="utf-8") as f:
        for row in map(json.loads, f):
            found = labels.get(key(row))
            if found:
                used.add(found["sha256"])
                kept = {k: row[k] for k in ("id", "response", "instruction", "system", "source")}
                files[found["split"]].write(json.dumps(kept | {"labels": found["labels"]}, ensure_ascii=False) + "\n")
    print(f"{len(labels) - len(used)} of {len(labels)} label sets without a response")


if __name__ == "__main__":
    main(*sys.argv[1:])
