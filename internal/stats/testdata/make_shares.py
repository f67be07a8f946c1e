"""Writes shares.json: intervals and p-values of shares and means of grouped rows, for Go and for the page's TypeScript.

    python make_shares.py        (numpy 2.4, scipy 1.17, statsmodels 0.15)

Intervals of shares are statsmodels' and scipy's for independent rows, at the level whose normal quantile is Student's t
of the groups and with the effective number of rows; the variance between groups is a regression's on a constant.
"""
import json
import pathlib

import numpy as np
import statsmodels.api as sm
from scipy import optimize, stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

rng = np.random.default_rng(27)


def groups(count, largest):
    return np.repeat(np.arange(count), rng.integers(1, largest + 1, count))


def marks(group, share, spread):
    of_group = np.clip(rng.normal(share, spread, group.max() + 1), 0, 1)
    return (rng.random(len(group)) < of_group[group]).astype(float)


def sums(group, y):
    n, k = np.bincount(group), np.bincount(group, y)
    return {"groups": len(n), "sum": k.sum(), "rows": float(n.sum()), "sum_squares": (k**2).sum(),
            "row_squares": float((n**2).sum()), "products": (k * n).sum()}


def variance(group, y):
    """Of the mean, between groups; with one regressor the correction is G/(G-1) alone."""
    fit = sm.OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": group, "use_correction": True})
    return float(fit.cov_params()[0, 0])


def size(group, y, one):
    n = np.bincount(group)
    if one <= 0:
        return n.sum() ** 2 / (n**2).sum()
    if len(n) < 2:
        return 1.0
    return len(y) / max(1.0, variance(group, y) / (one / len(y)))


def size_beside(a, b):
    """Rows of a; where they are all alike, the pairs of rows in b's groups, and of one row more with a whole group, tell."""
    (group, y), (other, z) = a, b
    if 0 < y.mean() < 1 or group.max() == 0 or other.max() == 0:
        return size(group, y, y.mean() * (1 - y.mean()))
    z = 1 - z if y[0] == 1 else z
    n, k = np.bincount(other), np.bincount(other, z)
    m = (n**2).sum() / n.sum()
    p = (k.sum() + 1) / (n.sum() + 1)
    both, one = m - 1, m - 1  # pairs of which both have it, and of which at least the first has it
    for rows, hits in zip(n, k):
        both, one = both + hits * (hits - 1), one + hits * (rows - 1)
    if p >= 1 or one == 0:
        return size(group, y, 0)
    n = np.bincount(group)
    return len(y) / (1 + ((n**2).sum() / n.sum() - 1) * max(0, (both / one - p) / (1 - p)))


def normal_level(group, alpha):
    """The alpha at which a normal interval is as wide as Student's of the groups."""
    return 2 * stats.norm.sf(stats.t.isf(alpha / 2, group.max()))


def share_interval(group, y, alpha=0.05, n=None):
    p = y.mean()
    n = n or size(group, y, p * (1 - p))
    if alpha == 0.05:
        return proportion_confint(p * n, n, alpha=normal_level(group, alpha), method="wilson")
    t = stats.t.isf(alpha / 2, group.max())  # for few groups and a small alpha there is no such level
    centre, half = p + t * t / 2 / n, t * np.sqrt(p * (1 - p) / n + t * t / 4 / n**2)
    return (centre - half) / (1 + t * t / n), (centre + half) / (1 + t * t / n)


def share(group, y):
    low, high = share_interval(group, y)
    return {"of": sums(group, y), "value": y.mean(), "low": low, "high": high}


def paired(group, a, b):
    change = b - a
    only_a = float((change < 0).sum())
    p_a, p_b = only_a / len(a), (change > 0).sum() / len(a)
    n = size(group, change, p_a + p_b - (p_b - p_a) ** 2)
    p_a, p_b = (p_a * n + 1) / (n + 2), (p_b * n + 1) / (n + 2)
    deviation = np.sqrt((p_a + p_b - (p_b - p_a) ** 2) / (n + 2))
    low, high = stats.t.interval(0.95, group.max(), p_b - p_a, deviation)
    return {"only_a": only_a, "change": sums(group, change), "value": change.mean(), "low": max(-1, low),
            "high": min(1, high), "p": 2 * stats.t.sf(abs(p_b - p_a) / deviation, group.max())}


def newcombe(a, b, alpha):
    if alpha == 0.05 and a[0].max() == b[0].max():  # else no library has it
        n_a, n_b, p_a, p_b = size_beside(a, b), size_beside(b, a), a[1].mean(), b[1].mean()
        return confint_proportions_2indep(p_b * n_b, n_b, p_a * n_a, n_a, method="newcomb",
                                          alpha=normal_level(a[0], alpha), compare="diff")
    x, y = a[1].mean(), b[1].mean()
    low_a, high_a = share_interval(*a, alpha, size_beside(a, b))
    low_b, high_b = share_interval(*b, alpha, size_beside(b, a))
    return y - x - np.hypot(y - low_b, high_a - x), y - x + np.hypot(high_b - y, x - low_a)


def apart(a, b):
    value = b[1].mean() - a[1].mean()
    low, high = newcombe(a, b, 0.05)
    p = 1.0
    if value != 0:
        end = (lambda log: newcombe(a, b, np.exp(log))[0]) if value > 0 else (lambda log: -newcombe(a, b, np.exp(log))[1])
        p = float(np.exp(optimize.brentq(end, np.log(1e-12), -1e-9, xtol=1e-12)))
    return {"a": sums(*a), "b": sums(*b), "value": value, "low": low, "high": high, "p": p}


def strata(weights, a, b):
    """Yan and Su's interval (2010) of the difference of two shares that are put together of parts (group, y)."""
    def whole(parts):
        starts = np.cumsum([0] + [g.max() + 1 for g, _ in parts[:-1]])
        return np.concatenate([g + s for s, (g, _) in zip(starts, parts)]), np.concatenate([y for _, y in parts])

    def side(parts, alpha, others):
        value = sum(w * y.mean() for w, (_, y) in zip(weights, parts))
        ends = [share_interval(*part, alpha, size_beside(part, whole(others))) for part in parts]
        below = np.sqrt(sum((w * (y.mean() - low)) ** 2 for w, (_, y), (low, _) in zip(weights, parts, ends)))
        above = np.sqrt(sum((w * (high - y.mean())) ** 2 for w, (_, y), (_, high) in zip(weights, parts, ends)))
        return value, value - below, value + above

    def interval(alpha):
        (x, low_a, high_a), (y, low_b, high_b) = side(a, alpha, b), side(b, alpha, a)
        return y - x - np.hypot(y - low_b, high_a - x), y - x + np.hypot(high_b - y, x - low_a)

    value = side(b, 0.05, a)[0] - side(a, 0.05, b)[0]
    end = (lambda log: interval(np.exp(log))[0]) if value > 0 else (lambda log: -interval(np.exp(log))[1])
    p = float(np.exp(optimize.brentq(end, np.log(1e-12), -1e-9, xtol=1e-12)))
    low, high = interval(0.05)
    return {"weights": weights, "a": [sums(*x) for x in a], "b": [sums(*x) for x in b], "value": value, "low": low,
            "high": high, "p": p}


def mean(group, y):
    low, high = stats.t.interval(0.95, group.max(), y.mean(), np.sqrt(variance(group, y)))
    p = 2 * stats.t.sf(abs(y.mean()) / np.sqrt(variance(group, y)), group.max())
    return {"of": sums(group, y), "value": y.mean(), "low": low, "high": high, "p": p}


def apart_means(a, b):
    x, y = variance(*a), variance(*b)
    freedom = (x + y) ** 2 / (x**2 / a[0].max() + y**2 / b[0].max())
    value, deviation = b[1].mean() - a[1].mean(), np.sqrt(x + y)
    low, high = stats.t.interval(0.95, freedom, value, deviation)
    return {"a": sums(*a), "b": sums(*b), "value": value, "low": low, "high": high,
            "p": 2 * stats.t.sf(abs(value) / deviation, freedom)}


def sides(count, largest, share, other, spread):
    return [(g, marks(g, p, spread)) for g, p in ((groups(count, largest), share), (groups(count, largest), other))]


def marked(count, largest, share, spread):
    group = groups(count, largest)
    return group, marks(group, share, spread)


def main():
    out = {"shares": [share(*marked(*c)) for c in
                      ((12, 8, 0.3, 0.3), (40, 8, 0.1, 0.1), (200, 3, 0.5, 0.3), (7, 8, 0.8, 0.05), (5, 1, 0.4, 0),
                       (2, 4, 0.5, 0.5), (9, 5, 0, 0), (9, 5, 1, 0))]}
    out["paired"] = []
    for count, largest, share_a, share_b in ((30, 1, 0.2, 0.6), (24, 5, 0.3, 0.35), (6, 6, 0.5, 0.2), (50, 3, 0.02, 0.3),
                                             (8, 4, 0, 0), (10, 4, 0, 1)):
        group = groups(count, largest)
        out["paired"].append(paired(group, marks(group, share_a, 0.2 * (0 < share_a)), marks(group, share_b, 0.2 * (0 < share_b < 1))))
    out["apart"] = [apart(*sides(*c)) for c in ((20, 5, 0.3, 0.5, 0.2), (60, 1, 0.1, 0.5, 0), (5, 5, 0, 0.4, 0.1),
                                                 (40, 4, 0.6, 0.4, 0.3))]
    out["apart"] += [apart(marked(12, 4, 0.2, 0.1), marked(30, 3, 0.5, 0.2)), apart(marked(9, 3, 0, 0), marked(4, 3, 1, 0))]
    scored = [(g, rng.normal(3, 1, len(g)) + rng.normal(0, 0.5, g.max() + 1)[g] + d)
              for g, d in ((groups(12, 6), 0), (groups(40, 3), 0.4), (groups(5, 1), 1), (groups(15, 4), -3))]
    out["means"] = [mean(*s) for s in scored]
    out["apart_means"] = [apart_means(a, b) for a, b in ((scored[0], scored[1]), (scored[1], scored[2]))]
    out["strata"] = []
    for weights, a, b in (([0.7, 0.3], ((30, 2, 0.2, 0.1), (9, 1, 0.1, 0)), ((20, 3, 0.3, 0.1), (25, 2, 0.4, 0.2))),
                          ([0.2, 0.5, 0.3], ((12, 1, 0.5, 0), (40, 1, 0.1, 0), (10, 4, 0.6, 0.2)),
                           ((15, 2, 0.4, 0.1), (11, 1, 0, 0), (30, 2, 0.3, 0.1)))):
        out["strata"].append(strata(weights, [marked(*c) for c in a], [marked(*c) for c in b]))
    out["apart"] += [apart(marked(60, 8, alike, 0), marked(*other)) for alike, other in
                     ((0, (60, 8, 0.06, 0)), (0, (60, 8, 0.06, 0.1)), (1, (40, 5, 0.9, 0.1)), (0, (80, 1, 0.2, 0)),
                      (0, (9, 4, 1, 0)))]
    out["strata"].append(strata([0.6, 0.4], [marked(30, 4, 0, 0), marked(20, 6, 0.1, 0)],
                                [marked(25, 4, 0.1, 0.05), marked(20, 3, 0.1, 0)]))
    path = pathlib.Path(__file__).with_name("shares.json")
    path.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
