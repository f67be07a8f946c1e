"""Records the outside witness of partitions, assignments and cross tables.

    python make_partitions.py      (scikit-learn 1.9, scipy 1.17, statsmodels 0.15, numpy)   writes partitions.json beside this file
"""
import json
import pathlib

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import pearsonr
from sklearn.metrics import adjusted_rand_score, homogeneity_completeness_v_measure
from sklearn.metrics.cluster import contingency_matrix
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(17)


def partitions():
    pairs = [([], []), ([3], [5]), ([1, 1], [1, 1]), ([1, 1], [1, 2]), ([1, 2], [1, 1]), ([1, 2, 3, 4], [1, 1, 1, 1]), ([1, 2, 3, 4], [4, 3, 2, 1]),
             ([1, 1, 1, 1], [2, 2, 2, 2]), ([1, 1, 2, 2], [1, 2, 1, 2]), ([0, 0, 1, 1], [0, 0, 1, 2])]
    for n, ka, kb, noise in [(20, 3, 4, .3), (60, 8, 8, .2), (200, 12, 30, .5), (500, 40, 25, 1), (36, 5, 36, 1), (90, 2, 3, .05)]:
        a = rng.integers(ka, size=n)
        b = np.where(rng.random(n) < noise, rng.integers(kb, size=n), a)
        pairs.append((a.tolist(), b.tolist()))
    for a, b in pairs:
        h, c, v = homogeneity_completeness_v_measure(a, b)
        case = {"a": a, "b": b, "ari": float(adjusted_rand_score(a, b)), "homogeneity": float(h), "completeness": float(c), "v": float(v)}
        if a:  # rows and columns sorted by name
            case["contingency"] = contingency_matrix(a, b).tolist()
            groups = {x: {i for i, y in enumerate(a) if y == x} for x in a}
            others = {x: {i for i, y in enumerate(b) if y == x} for x in b}
            case["jaccard"] = {str(x): max(len(g & o) / len(g | o) for o in others.values()) for x, g in groups.items()}
        yield case


def assignments():
    for rows, columns, values in [(1, 1, None), (3, 3, None), (5, 9, None), (9, 5, None), (40, 40, None), (30, 70, 4), (70, 30, 4), (12, 12, 2), (6, 6, 1)]:
        score = rng.normal(size=(rows, columns)) if values is None else rng.integers(values, size=(rows, columns)).astype(float)
        i, j = linear_sum_assignment(score, maximize=True)
        case = {"score": score.tolist(), "total": float(score[i, j].sum())}
        if values is None:  # else there are several best ones
            case["columns"] = [int(dict(zip(i, j)).get(r, -1)) for r in range(rows)]
        yield case


def tables():
    for both, a, b, neither in [(5, 3, 9, 20), (0, 0, 0, 8), (4, 0, 0, 9), (0, 1, 0, 3), (10, 12, 12, 7), (3, 40, 11, 100), (1, 0, 30, 2), (250, 900, 810, 4000), (0, 7, 6, 0), (2, 2, 2, 2), (9, 0, 0, 0)]:
        x = [1] * both + [1] * a + [0] * b + [0] * neither
        y = [1] * both + [0] * a + [1] * b + [0] * neither
        constant = len(set(x)) < 2 or len(set(y)) < 2
        px, py = np.mean(x), np.mean(y)
        yield {"both": both, "onlyA": a, "onlyB": b, "neither": neither,
               "phi": None if constant else float(pearsonr(x, y).statistic),
               "lift": None if px * py == 0 else float(both / len(x) / (px * py))}


def holms():
    for p in [[.04], [.01, .04, .03, .005], [.5, .9, .2], [.01, .01, .01], [0, 1, .3], rng.random(30).tolist(), (rng.random(40) ** 4).tolist()]:
        yield {"p": p, "corrected": multipletests(p, method="holm")[1].tolist()}


path = pathlib.Path(__file__).with_name("partitions.json")
path.write_text(json.dumps({"partitions": list(partitions()), "assignments": list(assignments()), "tables": list(tables()), "holm": list(holms())}) + "\n")
