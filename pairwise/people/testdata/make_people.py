"""Records the outside witness of agreement with people: verdicts, and what scikit-learn, krippendorff and scipy make of them.

    python make_people.py      (scikit-learn 1.9, krippendorff 0.9, scipy, numpy)      writes people.json beside this file
"""
import json
import pathlib

import krippendorff
import numpy as np
from scipy.stats import kendalltau
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score

rng = np.random.default_rng(19)
VALUES = ["A", "B", "both_good", "both_bad"]


def majority(row):
    count = {v: list(row).count(v) for v in VALUES}
    best = [v for v in VALUES if count[v] == max(count.values())]
    return best[0] if len(best) == 1 and count[best[0]] else ""


def accord(gold, judge):
    if not gold:
        return {"pairs": 0}
    return {"pairs": len(gold), "accuracy": accuracy_score(gold, judge), "kappa": cohen_kappa_score(gold, judge),
            "macro_f1": f1_score(gold, judge, labels=sorted(set(gold) | set(judge)), average="macro"),
            "constant": max(gold.count(v) for v in VALUES) / len(gold)}


def win_rates(systems, pairs):
    """Share won, ties as half a win."""
    won, played = dict.fromkeys(systems, 0.0), dict.fromkeys(systems, 0)
    for a, b, v in pairs:
        x = {"A": 1, "B": 0}.get(v, .5)
        won[a], won[b] = won[a] + x, won[b] + 1 - x
        played[a], played[b] = played[a] + 1, played[b] + 1
    return [won[s] / played[s] for s in systems]


cases = []
for n, people, noise, gaps, unjudged in [(60, 3, .3, 0, 0), (80, 4, .5, .2, .1), (40, 2, .2, .1, .05), (120, 5, .6, .3, .2)]:
    systems = ["s0", "s1", "s2", "s3"]
    rows = []
    for i in range(n):
        a, b = rng.choice(4, 2, replace=False)
        truth = VALUES[rng.choice(4, p=[.55, .2, .15, .1] if a < b else [.2, .55, .15, .1])]
        votes = [VALUES[rng.integers(4)] if rng.random() < noise else truth for _ in range(people)]
        votes = ["" if rng.random() < gaps else v for v in votes]
        judge = "" if rng.random() < unjudged else VALUES[rng.integers(4)] if rng.random() < .3 else truth
        rows.append({"a": systems[a], "b": systems[b], "people": votes, "judge": judge})
    data = [[VALUES.index(r["people"][k]) if r["people"][k] else np.nan for r in rows] for k in range(people)]
    gold = [majority(r["people"]) for r in rows]
    both = [(g, r["judge"]) for g, r in zip(gold, rows) if g and r["judge"]]
    decided = [(g, j) for g, j in both if g in "AB" and j in "AB"]
    of_both = [(r["a"], r["b"], g, r["judge"]) for g, r in zip(gold, rows) if g and r["judge"]]
    tau = kendalltau(win_rates(systems, [(a, b, j) for a, b, _, j in of_both]),
                     win_rates(systems, [(a, b, g) for a, b, g, _ in of_both])).statistic
    cases.append({"rows": rows, "alpha": krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"),
                  "no_majority": gold.count(""), "unjudged": sum(bool(g) and not r["judge"] for g, r in zip(gold, rows)),
                  "with_ties": accord(*map(list, zip(*both))), "without_ties": accord(*map(list, zip(*decided))), "tau": tau})

pathlib.Path(__file__).with_name("people.json").write_text(json.dumps({"cases": cases}) + "\n")
