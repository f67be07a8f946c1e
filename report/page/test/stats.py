"""What scipy and statsmodels say of the figures of src/stats.ts: python3 test/stats.py > test/stats.json."""

import json

import numpy as np
import scipy
import statsmodels
import statsmodels.api as sm
from scipy import special, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

rng = np.random.default_rng(19)


def grouped(groups, mean, spread):
    sizes = rng.integers(1, 9, groups)
    shares = np.clip(rng.normal(mean, spread, groups), 0.01, 0.99)
    return np.repeat(np.arange(groups), sizes), np.concatenate([rng.random(n) < s for n, s in zip(sizes, shares)]).astype(float)


def sums(group, y):
    n = np.bincount(group)
    k = np.bincount(group, y)
    return {"rows": k.sum(), "squares": (k**2).sum(), "products": (k * n).sum(), "of": int(n.sum()), "groups": len(n),
            "groupSquares": int((n**2).sum())}


shares = []
for groups, mean, spread in [(12, 0.3, 0.25), (40, 0.1, 0.1), (200, 0.5, 0.3), (7, 0.8, 0.05)]:
    group, y = grouped(groups, mean, spread)
    n, p = len(y), y.mean()
    # the clustered variance of a regression on a constant, corrected by G/(G-1) alone
    fit = sm.OLS(y, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": group, "use_correction": True})
    deff = max(1.0, fit.cov_params()[0, 0] / (p * (1 - p) / n))
    low, high = proportion_confint(p * n / deff, n / deff, method="wilson")
    shares.append({"sums": sums(group, y), "size": n / deff, "low": low, "high": high})

wilson = []
for k, n in [(0, 10), (10, 10), (3, 10), (37, 120), (1, 2000), (5.5, 21.3)]:
    low, high = proportion_confint(k, n, method="wilson")
    wilson.append({"p": k / n, "n": n, "low": low, "high": high})

differences = []
for k1, n1, k2, n2 in [(3, 10, 6, 12), (0, 15, 4, 20), (80, 200, 120, 260), (9, 10, 1, 10)]:
    low, high = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff")
    differences.append({"k1": k1, "n1": n1, "k2": k2, "n2": n2, "low": low, "high": high})

means = []
for n in [2, 5, 30, 400]:
    x = rng.normal(3, 1.2, n)
    low, high = stats.t.interval(0.95, n - 1, x.mean(), stats.sem(x))
    means.append({"n": n, "sum": x.sum(), "squares": (x**2).sum(), "value": x.mean(), "low": low, "high": high})

pairs = []
for b, c in [(0, 0), (1, 0), (5, 12), (40, 22), (300, 340), (2000, 1800)]:
    pairs.append({"b": b, "c": c, "p": mcnemar([[7, b], [c, 9]], exact=True).pvalue if b + c else 1.0})

holm = []
for ps in [[0.01, 0.04, 0.03, 0.2], [0.5], [0.001, 0.001, 1, 0.02], []]:
    holm.append({"ps": ps, "corrected": list(multipletests(ps, method="holm")[1]) if ps else []})

# Bonett and Price 2012, formula 5: no library has it
paired = []
for a, b, n in [(3, 9, 60), (0, 0, 12), (40, 10, 90)]:
    p12, p21 = (a + 1) / (n + 2), (b + 1) / (n + 2)
    half = stats.norm.ppf(0.975) * np.sqrt((p12 + p21 - (p21 - p12) ** 2) / (n + 2))
    paired.append({"a": a, "b": b, "n": n, "value": (b - a) / n, "low": p21 - p12 - half, "high": p21 - p12 + half})

quantiles = [{"p": p, "df": df, "t": stats.t.ppf(p, df)} for p in (0.6, 0.975, 0.999) for df in (1, 2, 7, 49, 1000)]
betas = [{"a": a, "b": b, "x": x, "value": special.betainc(a, b, x)}
         for a, b in ((0.5, 0.5), (2, 3), (30, 0.5), (200, 240), (2500, 2400)) for x in (0.01, 0.3, 0.5, 0.51, 0.9)]

print(json.dumps({"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "shares": shares, "wilson": wilson,
                  "differences": differences, "means": means, "mcnemar": pairs, "holm": holm, "paired": paired,
                  "quantiles": quantiles, "betas": betas}, indent=1))
