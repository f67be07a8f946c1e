"""Records the outside witness of package report: counts, shares and intervals by numpy and scipy on made-up rows.

    python make_witness.py        (numpy 2, scipy 1.17, statsmodels 0.15)  writes witness.json beside this file

Intervals and p-values are those of internal/stats/testdata/make_shares.py.
"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "internal/stats/testdata"))
from make_shares import apart, paired, share

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


def grouped(rows):
    return np.unique([r["group"] for r in rows], return_inverse=True)[1]


def ends(figures):
    return [[f["low"], f["high"]] for f in figures]


data = rows()
systems = {}
for name in ("large", "small"):
    mine = [r for r in data if r["system"] == name]
    a = columns([r["a"] for r in mine])
    systems[name] = {
        "rows": len(mine),
        "groups": len({r["group"] for r in mine}),
        "counts": a.sum(0).astype(int).tolist(),
        "intervals": ends(share(grouped(mine), column) for column in a.T),
    }
a, b = columns([r["a"] for r in data]), columns([r["b"] for r in data])
pairs = [paired(grouped(data), x, y) for x, y in zip(a.T, b.T)]
diff = {
    "a": a.mean(0).tolist(),
    "b": b.mean(0).tolist(),
    "interval": ends(pairs),
    "p": [d["p"] for d in pairs],
    "gained": ((b == 1) & (a == 0)).sum(0).astype(int).tolist(),
    "lost": ((a == 1) & (b == 0)).sum(0).astype(int).tolist(),
    "changed": int((a[:, 1:] != b[:, 1:]).any(1).sum()),
}


of_system = {name: (grouped(mine), columns([r["a"] for r in mine]))
             for name in ("small", "large") for mine in [[r for r in data if r["system"] == name]]}
differences = [apart(*[(group, columns[:, k]) for group, columns in of_system.values()]) for k in range(len(LABELS))]
contrast = {"interval": ends(differences), "p": [d["p"] for d in differences]}  # large minus small

path = pathlib.Path(__file__).with_name("witness.json")
lines = ",\n".join("  " + json.dumps(r) for r in data)
path.write_text(f'{{"labels": {json.dumps(LABELS)},\n "systems": {json.dumps(systems)},\n "diff": {json.dumps(diff)},\n "contrast": {json.dumps(contrast)},\n "rows": [\n{lines}\n]}}\n')
