#!/usr/bin/env python3
"""Plays the reviewer of the sample rows: fills in a batch from the key, which has the labels of the whole pool.

    python3 testdata/refine/answer.py BATCH.jsonl >ANSWERS.jsonl

BATCH.jsonl is what `erreval refine export --format jsonl` wrote.
"""
import json
import pathlib
import sys

here = pathlib.Path(__file__).parent


def rows(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def texts(row):
    return row["passage"], row["answer"], row["question"]


key = {row["id"]: row["labels"] for row in rows(here / "key.jsonl")}
labels = {texts(row): key[row["id"]] for row in rows(here / "pool.jsonl")}
for item in rows(sys.argv[1]):
    print(json.dumps({**item, "labels": labels[texts(item)]}, ensure_ascii=False))
