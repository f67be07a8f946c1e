"""Records the outside witness of agreement and label quality.

    python make_agreement.py      (krippendorff 0.9, scikit-learn 1.9, cleanlab 2.9, numpy)   writes agreement.json beside this file
"""
import json
import pathlib
import warnings

import krippendorff
import numpy as np
from cleanlab.multilabel_classification.filter import find_label_issues, find_multilabel_issues_per_class
from cleanlab.multilabel_classification.rank import get_label_quality_scores, get_label_quality_scores_per_class
from sklearn.metrics import cohen_kappa_score, jaccard_score

warnings.filterwarnings("ignore")
rng = np.random.default_rng(8)
METHODS = ["self_confidence", "normalized_margin", "confidence_weighted_entropy"]


def number(x):
    return None if x is None or np.isnan(x) else float(x)


def alphas():
    """Ratings of several raters with gaps (-1); rows are raters."""
    for raters, units, values, noise, gaps in [(2, 40, 2, .2, 0), (2, 25, 2, .1, .3), (3, 30, 2, .3, .2), (4, 50, 5, .4, .25), (3, 12, 3, 1, .5), (2, 9, 4, 0, 0)]:
        truth = rng.integers(values, size=units)
        data = np.where(rng.random((raters, units)) < noise, rng.integers(values, size=(raters, units)), truth).astype(float)
        data[rng.random((raters, units)) < gaps] = np.nan
        alpha = krippendorff.alpha(reliability_data=data, level_of_measurement="nominal")
        yield {"ratings": np.nan_to_num(data, nan=-1).astype(int).tolist(), "alpha": number(alpha)}


def pairs():
    """Label sets of two raters."""
    for rows, labels, noise in [(30, 3, .1), (50, 11, .2), (8, 2, .5), (5, 1, 0)]:
        a = rng.random((rows, labels)) < .3
        b = a ^ (rng.random((rows, labels)) < noise)
        yield {"a": a.tolist(), "b": b.tolist(),
               "kappa": [number(cohen_kappa_score(a[:, k], b[:, k])) for k in range(labels)],
               "jaccard": number(jaccard_score(a, b, average="samples", zero_division=1) if labels > 1 else np.mean(a == b))}


def quality():
    for rows, labels, noise in [(60, 4, .1), (40, 11, .05), (12, 2, .3)]:
        truth = rng.random((rows, labels)) < .3
        truth[0] = True    # every label is there, and lacks somewhere
        truth[1] = False
        prob = np.clip(np.where(truth, rng.beta(5, 2, truth.shape), rng.beta(2, 6, truth.shape)), 0, 1).round(6)
        prob[2, 0], prob[3, 0], prob[4, 1], prob[5, 1] = 0, 1, .5, .5
        given = truth ^ (rng.random(truth.shape) < noise)
        lists = [np.flatnonzero(r).tolist() for r in given]
        case = {"given": given.tolist(), "prob": prob.tolist(), "per_class": {}, "ema": {}}
        for m in METHODS:
            case["per_class"][m] = get_label_quality_scores_per_class(lists, prob, method=m).tolist()
            case["ema"][m] = get_label_quality_scores(lists, prob, method=m).tolist()
        case["confident_learning"] = find_multilabel_issues_per_class(lists, prob, filter_by="confident_learning").tolist()
        case["rows"] = find_label_issues(lists, prob, filter_by="confident_learning").tolist()
        yield case


path = pathlib.Path(__file__).with_name("agreement.json")
path.write_text(json.dumps({"alphas": list(alphas()), "pairs": list(pairs()), "quality": list(quality())}) + "\n")
