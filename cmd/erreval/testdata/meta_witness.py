"""Prints the figures of a gold and a prediction file inside a txtar story, computed by scikit-learn and numpy.

    python meta_witness.py script/meta_labels.txtar gold.jsonl tagged.jsonl
"""
import json
import re
import sys

import numpy as np
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, precision_recall_fscore_support, roc_auc_score

LABELS = ("Incomplete|Not A Question|Spell Error|Grammar Error|Vague|Unnecessary Copy from Passage|Off Topic|"
          "Factual Error|Information Not Mentioned|Off Target Answer|No Error").split("|")
CODES = {"OTA": "Off Target Answer", "OK": "No Error"}


def part(archive, name):
    body = re.search(rf"^-- {re.escape(name)} --\n(.*?)(?=^-- |\Z)", archive, re.S | re.M).group(1)
    return {r["id"]: r for r in map(json.loads, body.splitlines())}


def matrix(sets):
    return np.array([[label in {CODES.get(x, x) for x in s} for label in LABELS] for s in sets], dtype=bool)


archive = open(sys.argv[1]).read()
gold_rows, pred_rows = part(archive, sys.argv[2]), part(archive, sys.argv[3])
ids = [i for i in gold_rows if "labels" in pred_rows.get(i, {}).get("diagnosis", {})]
gold = matrix([gold_rows[i]["labels"] for i in ids])
pred = matrix([pred_rows[i]["diagnosis"]["labels"] for i in ids])
seen = gold.any(0)
errors = np.arange(len(LABELS) - 1)
f1 = f1_score(gold, pred, average=None, zero_division=0)
for average in ("micro", "weighted"):
    print(average, precision_recall_fscore_support(gold, pred, average=average, zero_division=0))
print("macro over labels with support", f1[seen].mean(), "errors", f1[:-1][seen[:-1]].mean())
print("micro, errors only", f1_score(gold[:, errors], pred[:, errors], average="micro", zero_division=0))
print("exact match", accuracy_score(gold, pred))
print("over-prediction", np.mean((pred & ~gold).sum(1) / pred.sum(1)))
for label, *row in zip(LABELS, *precision_recall_fscore_support(gold, pred, average=None, zero_division=0)):
    print(label, row)
prob = [pred_rows[i]["diagnosis"].get("probabilities") for i in ids]
if all(prob):
    p = np.array([[row[label] for label in LABELS] for row in prob])
    print("average precision", dict((LABELS[k], average_precision_score(gold[:, k], p[:, k])) for k in np.flatnonzero(seen)))
    print("Brier", np.mean((p - gold) ** 2))
    judged = [j for j, i in enumerate(ids) if gold_rows[i].get("accepted") is not None]
    if judged:
        print("AUC", roc_auc_score([bool(gold_rows[ids[j]]["accepted"]) for j in judged], p[judged, -1]))
