"""Records the outside witness of the logistic regression with clustered errors.

    python make_logistic.py      (statsmodels 0.14, numpy)      writes logistic.json beside this file
"""
import json
import pathlib

import numpy as np
import statsmodels.api as sm

rng = np.random.default_rng(19)
cases = []
for rows, clusters, beta in [(200, 30, [.3, -1.0]), (400, 60, [-.2, .8, .5]), (120, 120, [0, .1, -.4, 1.2])]:
    group = rng.integers(clusters, size=rows)
    shift = rng.normal(size=clusters)[group]
    X = np.column_stack([np.ones(rows)] + [rng.normal(size=rows) for _ in beta[1:]])
    y = (rng.random(rows) < 1 / (1 + np.exp(-(X @ np.array(beta) + shift)))).astype(float)
    fit = sm.GLM(y, X, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": group, "use_correction": False}, tol=1e-13)
    present = len(set(group))
    cases.append({"x": X.tolist(), "y": y.tolist(), "cluster": group.tolist(), "coefficients": list(fit.params),
                  "errors": list(np.sqrt(np.diag(fit.cov_params()) * present / (present - 1)))})
pathlib.Path(__file__).with_name("logistic.json").write_text(json.dumps(cases) + "\n")
