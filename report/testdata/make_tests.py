"""Records the outside witness of `stats --tests`: the test of every pair of systems by scipy and statsmodels.

    python make_tests.py        (numpy 2, scipy 1.17, statsmodels 0.15)  writes tests.json beside this file

Systems a and b wrote questions for the same passages and answers; c for others, but for a few. So a and b are paired,
and c is apart. The means of scores are statsmodels' regressions on a constant with clustered errors, Welch's test is
scipy's figures of them (internal/stats/testdata/make_shares.py), Holm's correction is statsmodels'.
"""
import itertools
import json
import pathlib
import sys

import numpy as np
from statsmodels.stats.multitest import multipletests

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "internal/stats/testdata"))
from make_shares import apart, apart_means, mean, paired

LABELS = ["Vague", "Factual Error"]
PASSAGES = {"a": range(24), "b": range(24), "c": range(18, 38)}
rng = np.random.default_rng(11)
level = rng.uniform(0, 0.7, 40)


def row(system, passage, answer):
    chance = (level[passage] + {"a": 0, "b": 0.3, "c": 0.1}[system], 0.2)
    labels = [name for name, p in zip(LABELS, chance) if rng.uniform() < p]
    score = round(float(2 - level[passage] + rng.normal(0, 0.2) + (system == "a") * 0.2), 3)
    return {"id": f"{system}-{passage}-{answer}", "system": system, "passage": f"P{passage}", "answer": f"A{answer}",
            "question": f"Question of {system}", "scores": {"fluency": {"value": score}},
            "diagnosis": {"model": "m@1", "taxonomy": "question-generation@1.1", "labels": labels or ["No Error"]}}


def values(r):
    labels = r["diagnosis"]["labels"]
    return {"without error": float(labels == ["No Error"]), **{n: float(n in labels) for n in LABELS},
            "fluency": r["scores"]["fluency"]["value"]}


def column(rows, name):
    group = np.unique([r["passage"] for r in rows], return_inverse=True)[1]
    return group, np.array([values(r)[name] for r in rows])


def test(system, than, name):
    a, b = [sorted((r for r in rows if r["system"] == s), key=lambda r: r["id"][1:]) for s in (system, than)]
    if {system, than} != {"a", "b"}:
        of = column(b, name), column(a, name)
        figures = apart_means(*of) if name == "fluency" else apart(*of)
        return figures | {"paired": False, "rows": len(a) + len(b)}
    (group, x), (_, y) = column(a, name), column(b, name)
    figures = mean(group, x - y) if name == "fluency" else paired(group, y, x)
    return figures | {"paired": True, "rows": len(a)}


rows = [row(s, p, k) for s, passages in PASSAGES.items() for p in passages for k in range(2)]
rng.shuffle(rows)
share = {s: np.mean([values(r)["without error"] for r in rows if r["system"] == s]) for s in PASSAGES}
tests = []
for system, than in itertools.combinations(sorted(PASSAGES, key=lambda s: -share[s]), 2):
    for name in ["without error", *sorted(LABELS), "fluency"]:
        figures = test(system, than, name)
        tests.append({"of": name, "system": system, "than": than} | {
            k: figures[k] for k in ("value", "low", "high", "p", "paired", "rows")})
for clean in True, False:  # rows without an error are a question of their own
    family = [t for t in tests if (t["of"] == "without error") == clean]
    for one, p in zip(family, multipletests([t["p"] for t in family], method="holm")[1]):
        one["p_holm"] = p

path = pathlib.Path(__file__).with_name("tests.json")
text = ",\n".join(json.dumps(t) for t in tests), ",\n".join(json.dumps(r) for r in rows)
path.write_text('{"tests": [\n%s\n], "rows": [\n%s\n]}\n' % text)
