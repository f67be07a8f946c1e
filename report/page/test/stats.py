"""What scipy and statsmodels say of the figures of src/stats.ts: python3 test/stats.py > test/stats.json."""

import json

import numpy as np
import scipy
import statsmodels
from scipy import special, stats
from statsmodels.stats.multitest import multipletests

rng = np.random.default_rng(19)

means = []
for n in [2, 5, 30, 400]:
    x = rng.normal(3, 1.2, n)
    low, high = stats.t.interval(0.95, n - 1, x.mean(), stats.sem(x))
    means.append({"n": n, "sum": x.sum(), "squares": (x**2).sum(), "value": x.mean(), "low": low, "high": high})

holm = []
for ps in [[0.01, 0.04, 0.03, 0.2], [0.5], [0.001, 0.001, 1, 0.02], []]:
    holm.append({"ps": ps, "corrected": list(multipletests(ps, method="holm")[1]) if ps else []})

quantiles = [{"p": p, "df": df, "t": stats.t.ppf(p, df)} for p in (0.6, 0.975, 0.999) for df in (1, 2, 7, 49, 1000)]
betas = [{"a": a, "b": b, "x": x, "value": special.betainc(a, b, x)}
         for a, b in ((0.5, 0.5), (2, 3), (30, 0.5), (200, 240), (2500, 2400)) for x in (0.01, 0.3, 0.5, 0.51, 0.9)]

print(json.dumps({"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "means": means, "holm": holm,
                  "quantiles": quantiles, "betas": betas}, indent=1))
