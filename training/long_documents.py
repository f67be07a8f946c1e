"""Asks whether a question on the end of a long document is judged as well as one on its beginning.

    python long_documents.py make ROWS.jsonl OUT.jsonl     documents of 10,000 words out of the rows' passages, 40 questions on each
    python long_documents.py report TAGGED.jsonl           micro-F1 and the AUC of No Error in each fifth of the documents

`fifth` says where a question's own passage stands, 1 to 5.
"""
import json
import random
import sys

import numpy as np

import common
import metrics

WORDS, QUESTIONS = 10_000, 40


def make(source, out):
    rng = random.Random(5)
    rows = common.read(source)
    rng.shuffle(rows)
    passages = sorted({r["passage"] for r in rows})
    with open(out, "w", encoding="utf-8") as f:
        for k in range(0, len(rows), QUESTIONS):
            some = rows[k : k + QUESTIONS]
            parts = sorted({r["passage"] for r in some})
            others = [p for p in passages if p not in set(parts)]
            rng.shuffle(others)
            while sum(len(p.split()) for p in parts) < WORDS and others:
                parts.append(others.pop())
            rng.shuffle(parts)
            before = np.cumsum([0] + [len(p.split()) for p in parts])
            for r in some:
                fifth = int(5 * before[parts.index(r["passage"])] / before[-1]) + 1
                f.write(json.dumps(r | {"passage": "\n\n".join(parts), "own": r["passage"], "fifth": fifth}, ensure_ascii=False) + "\n")


def report(tagged):
    rows = common.read(tagged)
    print("| fifth | rows | micro-F1 | always No Error | AUC of No Error |\n|---|---|---|---|---|")
    for fifth in [1, 2, 3, 4, 5, "all"]:
        some = [r for r in rows if fifth in ("all", r["fifth"])]
        agree = lambda said: 2 * sum(len(set(said(r)) & set(r["labels"])) for r in some) / sum(len(said(r)) + len(r["labels"]) for r in some)
        auc = metrics.auc(np.array([r["diagnosis"]["probabilities"]["No Error"] for r in some]), np.array(["No Error" in r["labels"] for r in some]))
        print(f"| {fifth} | {len(some)} | {agree(lambda r: r['diagnosis']['labels']):.3f} | {agree(lambda r: ['No Error']):.3f} | {auc:.3f} |")


if __name__ == "__main__":
    {"make": make, "report": report}[sys.argv[1]](*sys.argv[2:])
