"""Records the outside witness of correlations and reliability: scipy and the package krippendorff.

    python make_correlations.py        (scipy 1.17, numpy 2.4, krippendorff 0.9)  writes correlations.json beside this file
"""
import json
import pathlib

import krippendorff
import numpy as np
from scipy import stats

rng = np.random.default_rng(6)


def number(v):
    return None if v is None or np.isnan(v) else float(v)


def figures(x, y):
    if len(x) < 2 or len(set(x)) < 2 or len(set(y)) < 2:
        return {"pearson": None, "spearman": None, "kendall": None}
    return {"pearson": number(stats.pearsonr(x, y).statistic), "spearman": number(stats.spearmanr(x, y).statistic),
            "kendall": number(stats.kendalltau(x, y, variant="b").statistic)}


def means(x, y, unit):
    units = sorted(set(unit.tolist()))
    # Rounded, so that rounding errors make no difference between equal means.
    return figures(*(np.round([v[unit == u].mean() for u in units], 12) for v in (x, y)))


def problem(name, x, y, groups, units):
    x, y = np.asarray(x, float), np.asarray(y, float)
    n = len(x)
    group = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    unit = np.concatenate([np.arange(units), rng.integers(0, units, n - units)])
    resamples = []
    for _ in range(20):
        drawn = rng.integers(0, groups, groups)
        i = np.concatenate([np.flatnonzero(group == g) for g in drawn])
        resamples.append({"drawn": drawn.tolist(), "values": figures(x[i], y[i]), "units": means(x[i], y[i], unit[i])})
    return {"name": name, "x": x.tolist(), "y": y.tolist(), "group": group.tolist(), "groups": groups, "unit": unit.tolist(),
            "values": figures(x, y), "units": means(x, y, unit), "resamples": resamples}


def alpha_case(name, units):
    """units: one list a unit, None where a coder gave no value."""
    table = np.array([[np.nan if v is None else v for v in u] for u in units], float).T
    try:
        alpha = number(krippendorff.alpha(reliability_data=table, level_of_measurement="interval"))
    except ValueError:  # fewer than two values in the domain, or no pair
        alpha = None
    spread = [np.var([v for v in u if v is not None], ddof=1) / sum(v is not None for v in u) for u in units
              if sum(v is not None for v in u) > 1]
    return {"name": name, "units": [[v for v in u if v is not None] for u in units], "alpha": alpha,
            "error": number(np.sqrt(np.mean(spread))) if spread else None}


def coders(*rows):
    return [list(u) for u in zip(*([None if c == "." else float(c) for c in row.split()] for row in rows))]


z = rng.normal(size=120)
problems = [
    problem("continuous", z, 0.5 * z + rng.normal(size=120), 15, 6),
    problem("ties in both", rng.integers(1, 4, 150), rng.integers(1, 4, 150), 20, 5),
    problem("a judge's thirds against people's means", rng.integers(2, 7, 90) / 3 + 1, np.round(rng.random(90) * 6) / 3 + 1, 12, 7),
    problem("opposite, ties", np.repeat(np.arange(10), 5), -np.repeat(np.arange(10), 5) + (rng.random(50) < 0.2), 10, 4),
    problem("large offset", 1e3 + rng.normal(size=60), rng.normal(size=60), 60, 3),
    problem("one side constant", np.full(20, 0.1), rng.random(20), 5, 3),
    problem("mostly the top score", np.where(rng.random(200) < 0.95, 3, 1), np.where(rng.random(200) < 0.9, 3, 2), 9, 4),
    problem("two rows", [1, 2], [5, 3], 2, 2),
]
alphas = [
    # Published: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), 4 observers: interval 0.849.
    alpha_case("Krippendorff 2011", coders("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3",
                                           ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")),
    # Published: Wikipedia, Krippendorff's alpha, "A computational example", 3 coders: interval 0.811.
    alpha_case("Wikipedia", coders(". . . . . 3 4 1 2 1 1 3 3 . 3", "1 . 2 1 3 3 4 3 . . . . . . .", ". . 2 1 3 4 4 . 2 1 1 3 3 . 4")),
    alpha_case("perfect", [[1, 1, 1], [2, 2, 2], [3, 3, 3]]),
    alpha_case("worse than chance", [[1, 3], [3, 1], [1, 3]]),
    alpha_case("no variance", [[2, 2], [2, 2]]),
    alpha_case("one value each", [[1, None], [None, 3]]),
    alpha_case("random", [[None if rng.random() < 0.2 else round(float(v), 3) for v in rng.normal(u % 4, 1, 5)] for u in range(40)]),
]
path = pathlib.Path(__file__).with_name("correlations.json")
lines = [json.dumps(p, separators=(",", ":")) for p in problems], [json.dumps(a, separators=(",", ":")) for a in alphas]
path.write_text('{"problems":[\n%s\n],"alphas":[\n%s\n]}\n' % tuple(",\n".join(part) for part in lines))
for a in alphas:
    print(a["name"], a["alpha"], a["error"])
