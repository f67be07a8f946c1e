"""Records the outside witness of package report: counts, shares and intervals by numpy and scipy on made-up rows.

    python make_witness.py        (numpy 2, scipy 1.17)  writes witness.json beside this file

The bootstrap here is numpy's own random numbers: it agrees with Go's up to the error of 20000 resamples.
"""
import json
import pathlib

import numpy as np
from scipy.stats import binomtest

LABELS = ["Vague", "Factual Error", "Rare"]
rng = np.random.default_rng(7)


def rows():
    """Rows of two systems over 40 groups of 1 to 6, whose errors depend on the group; labels of a second tagging, b."""
    out = []
    for g in range(40):
        level = rng.uniform(0, 0.6)
        for i in range(rng.integers(1, 7)):
            a = [bool(rng.uniform() < level), bool(rng.uniform() < 0.2), False]
            b = [x if rng.uniform() < 0.8 else bool(rng.uniform() < 0.5) for x in a[:2]] + [False]
            out.append({"id": f"{g}-{i}", "group": f"g{g}", "system": "small" if i % 2 else "large", "a": a, "b": b})
    return out


def columns(labels):
    """Without error, then every label."""
    labels = np.array(labels)
    return np.column_stack([~labels.any(1), labels]).astype(float)


def wilson(hits, n):
    i = binomtest(int(hits), int(n)).proportion_ci(confidence_level=0.95, method="wilson")
    return [float(i.low), float(i.high)]


def bootstrap(group, figures, resamples=20000):
    """figures: (rows, columns); shares of resampled groups, percentiles 2.5 and 97.5 of each column's."""
    names, index = np.unique(group, return_inverse=True)
    n = np.bincount(index)
    sums = np.array([np.bincount(index, weights=column) for column in figures.T])
    draws = rng.integers(0, len(names), (resamples, len(names)))
    weight = np.array([np.bincount(d, minlength=len(names)) for d in draws])
    shares = (weight @ sums.T) / (weight @ n)[:, None]
    return np.quantile(shares, [0.025, 0.975], axis=0).T.tolist()


data = rows()
systems = {}
for name in ("large", "small"):
    mine = [r for r in data if r["system"] == name]
    a = columns([r["a"] for r in mine])
    systems[name] = {
        "rows": len(mine),
        "groups": len({r["group"] for r in mine}),
        "counts": a.sum(0).astype(int).tolist(),
        "wilson": [wilson(h, len(mine)) for h in a.sum(0)],
        "bootstrap": bootstrap([r["group"] for r in mine], a),
    }
a, b = columns([r["a"] for r in data]), columns([r["b"] for r in data])
diff = {
    "a": a.mean(0).tolist(),
    "b": b.mean(0).tolist(),
    "interval": bootstrap([r["group"] for r in data], b - a),
    "gained": ((b == 1) & (a == 0)).sum(0).astype(int).tolist(),
    "lost": ((a == 1) & (b == 0)).sum(0).astype(int).tolist(),
    "changed": int((a[:, 1:] != b[:, 1:]).any(1).sum()),
}


def contrast(resamples=20000):
    """Large minus small, with the groups of both resampled together; p is twice the share of resamples on the far side of
    0, those at 0 and the data themselves included."""
    names, index = np.unique([r["group"] for r in data], return_inverse=True)
    draws = rng.integers(0, len(names), (resamples, len(names)))
    weight = np.array([np.bincount(d, minlength=len(names)) for d in draws])
    shares = []
    for name in ("large", "small"):
        here = np.array([r["system"] == name for r in data], dtype=float)
        sums = np.array([np.bincount(index, weights=column * here) for column in a.T])
        shares.append((weight @ sums.T) / (weight @ np.bincount(index, weights=here))[:, None])
    difference = shares[0] - shares[1]
    sides = np.minimum((difference <= 0).sum(0), (difference >= 0).sum(0))
    return {"interval": np.quantile(difference, [0.025, 0.975], axis=0).T.tolist(),
            "p": np.minimum(1, 2 * (sides + 1) / (resamples + 1)).tolist()}


path = pathlib.Path(__file__).with_name("witness.json")
lines = ",\n".join("  " + json.dumps(r) for r in data)
path.write_text(f'{{"labels": {json.dumps(LABELS)},\n "systems": {json.dumps(systems)},\n "diff": {json.dumps(diff)},\n "contrast": {json.dumps(contrast())},\n "rows": [\n{lines}\n]}}\n')
