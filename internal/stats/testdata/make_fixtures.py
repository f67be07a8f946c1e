"""Records the outside witness of package stats: figures by scikit-learn and numpy on random problems.

    python make_fixtures.py        (numpy 2.4, scikit-learn 1.9)  writes problems.json beside this file
"""
import json
import pathlib
import warnings

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.dummy import DummyClassifier
from sklearn.metrics import (accuracy_score, average_precision_score, brier_score_loss, f1_score,
                             precision_recall_fscore_support, precision_score, recall_score, roc_auc_score)

BINS = 15
warnings.filterwarnings("ignore")
rng = np.random.default_rng(20)


def over_prediction(gold, pred):
    wrong = (pred & ~gold).sum(1)
    return float(np.mean(np.where(pred.any(1), wrong / np.maximum(pred.sum(1), 1), 0)))


def ece(y, p):
    true, mean = calibration_curve(y, p, n_bins=BINS, strategy="uniform")
    count = np.bincount(np.searchsorted(np.linspace(0, 1, BINS + 1)[1:-1], p), minlength=BINS)
    return float(np.sum(count[count > 0] * np.abs(true - mean)) / len(y))


def average(values):
    return float(np.mean(values)) if len(values) else None


def figures(gold, pred, prob, macro, no_error):
    """macro: columns chosen on the whole table; those without support here are left out."""
    n = gold.shape[1]
    errors = [k for k in range(n) if k != no_error]
    here = [k for k in macro if gold[:, k].any()]
    f1 = f1_score(gold, pred, average=None, zero_division=0)
    known = prob is not None
    return {
        "micro_precision": precision_score(gold, pred, average="micro", zero_division=0),
        "micro_recall": recall_score(gold, pred, average="micro", zero_division=0),
        "micro_f1": f1_score(gold, pred, average="micro", zero_division=0),
        "macro_f1": average(f1[here]),
        "weighted_f1": f1_score(gold, pred, average="weighted", zero_division=0),
        "exact_match": accuracy_score(gold, pred),
        "over_prediction": over_prediction(gold, pred),
        "micro_f1_errors": f1_score(gold[:, errors], pred[:, errors], average="micro", zero_division=0),
        "macro_f1_errors": average([f1[k] for k in here if k != no_error]),
        "mean_average_precision": average([average_precision_score(gold[:, k], prob[:, k]) for k in here]) if known else None,
        "ece": average([ece(gold[:, k], prob[:, k]) for k in range(n)]) if known else None,
        "brier": float(np.mean((prob - gold) ** 2)) if known else None,
    }


def per_label(gold, pred, prob):
    p, r, f, s = precision_recall_fscore_support(gold, pred, average=None, zero_division=0)
    out = []
    for k in range(gold.shape[1]):
        row = {"precision": p[k], "recall": r[k], "f1": f[k], "support": int(s[k]), "predicted": int(pred[:, k].sum()),
               "average_precision": None, "ece": None, "brier": None, "auc": None}
        if prob is not None:
            row["ece"] = ece(gold[:, k], prob[:, k])
            row["brier"] = float(np.mean((prob[:, k] - gold[:, k]) ** 2))
            if 0 < s[k]:
                row["average_precision"] = average_precision_score(gold[:, k], prob[:, k])
            if 0 < s[k] < len(gold):
                assert abs(brier_score_loss(gold[:, k], prob[:, k]) - row["brier"]) < 1e-12
                row["auc"] = roc_auc_score(gold[:, k], prob[:, k])
        out.append(row)
    return out


def problem(name, rows, labels, groups, min_support, no_error, grid, empty, rare=(), known=True):
    """grid: probabilities are multiples of 1/grid, so that scores tie and lie on bin edges; 0: continuous."""
    base = rng.uniform(0.1, 0.5, labels)
    base[list(rare)] = 0
    gold = rng.random((rows, labels)) < base
    prob = np.clip(0.6 * gold * rng.random((rows, labels)) + 0.6 * rng.random((rows, labels)), 0, 1)
    if grid:
        prob = np.round(prob * grid) / grid
    pred = prob >= rng.uniform(0.4, 0.6, labels)
    gold[rng.random(rows) < empty] = False
    pred[rng.random(rows) < empty] = False
    group = rng.integers(0, groups, rows)
    group[:groups] = np.arange(groups)
    macro = [k for k in range(labels) if gold[:, k].sum() >= max(min_support, 1)]
    if not known:
        prob = None
    resamples = []
    for _ in range(30):
        drawn = rng.integers(0, groups, groups)
        index = np.concatenate([np.flatnonzero(group == g) for g in drawn])
        values = figures(gold[index], pred[index], None if prob is None else prob[index], macro, no_error)
        resamples.append({"drawn": drawn.tolist(), "values": values})
    constant = DummyClassifier(strategy="most_frequent").fit(np.zeros((rows, 1)), ["".join(map(str, map(int, g))) for g in gold])
    quantiles = {}
    for key in resamples[0]["values"]:
        column = [r["values"][key] for r in resamples if r["values"][key] is not None]
        quantiles[key] = np.percentile(column, [2.5, 97.5]).tolist() if column else None
    return {"name": name, "min_support": min_support, "no_error": no_error, "groups": groups, "group": group.tolist(),
            "gold": gold.astype(int).tolist(), "pred": pred.astype(int).tolist(), "prob": None if prob is None else prob.tolist(),
            "values": figures(gold, pred, prob, macro, no_error), "labels": per_label(gold, pred, prob),
            "most_frequent": str(constant.predict(np.zeros((1, 1)))[0]), "resamples": resamples, "quantiles": quantiles}


problems = [
    problem("continuous", 80, 5, 12, 1, 4, 0, 0),
    problem("ties and bin edges", 120, 6, 9, 20, 5, 30, 0.05),
    problem("empty rows, labels without support", 60, 7, 6, 5, 0, 10, 0.3, rare=(2, 5)),
    problem("every row a group", 40, 4, 40, 3, -1, 20, 0.1),
    problem("no label with enough support", 25, 3, 5, 100, 2, 5, 0.2),
    problem("no probabilities", 50, 4, 7, 10, 3, 0, 0.1, known=False),
    problem("few groups, rare label", 30, 5, 4, 1, 4, 0, 0.2, rare=(1,)),
]
path = pathlib.Path(__file__).with_name("problems.json")
path.write_text("[\n" + ",\n".join(json.dumps(p, separators=(",", ":")) for p in problems) + "\n]\n")
