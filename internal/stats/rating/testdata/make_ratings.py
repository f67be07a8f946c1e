"""Records the outside witness of ratings: games, and what choix, statsmodels and scipy make of them.

    python make_ratings.py      (choix 0.4, statsmodels 0.14, scipy, numpy)      writes ratings.json beside this file
"""
import json
import pathlib

import choix
import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize

rng = np.random.default_rng(18)
cases = []
for systems, items, ties, noise in [(3, 12, .2, 1.0), (6, 60, .3, 1.5), (5, 40, 0.0, 2.0), (8, 80, .5, 1.0)]:
    strength = rng.normal(size=systems)
    games = []
    for item in range(items):
        shift = rng.normal(size=systems) * .8  # the games of an item stand and fall together
        for a in range(systems):
            for b in range(a):
                if rng.random() < .3:
                    continue
                if rng.random() < ties:
                    result = .5
                else:
                    result = float(rng.random() < 1 / (1 + np.exp(-(strength[a] + shift[a] - strength[b] - shift[b]) / noise)))
                games.append([a, b, item, result])
    wins = np.zeros((systems, systems))  # [i, j]: how often i beat j, a tie as half a win of each
    for a, b, _, r in games:
        wins[a, b] += r
        wins[b, a] += 1 - r
    params = choix.opt_pairwise_dense(wins, method="Newton-CG", tol=1e-13) if hasattr(choix, "opt_pairwise_dense") else None
    if params is None:
        params = choix.ilsr_pairwise_dense(wins, alpha=0, tol=1e-13, max_iter=10000)
    params = params - params.mean()
    # Logistic regression without the last system, errors clustered by item.
    X = np.zeros((len(games), systems))
    y = np.array([g[3] for g in games])
    group = np.array([g[2] for g in games])
    for n, (a, b, _, _) in enumerate(games):
        X[n, a], X[n, b] = 1, -1
    fit = sm.GLM(y, X[:, :-1], family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": group, "use_correction": False}, tol=1e-12)
    present = len(set(group))
    C = np.zeros((systems, systems))
    C[:-1, :-1] = fit.cov_params() * present / (present - 1)
    T = np.eye(systems) - 1 / systems
    cov = T @ C @ T.T
    # Davidson's model by a general optimiser.
    W, tied = np.zeros((systems, systems)), np.zeros((systems, systems))
    for a, b, _, r in games:
        if r == 1:
            W[a, b] += 1
        elif r == 0:
            W[b, a] += 1
        else:
            tied[a, b] += 1
            tied[b, a] += 1

    def loss(p):
        theta, nu = p[:-1] - p[:-1].mean(), np.exp(p[-1])
        total = 0.0
        for i in range(systems):
            for j in range(i):
                d = theta[i] - theta[j]
                z = np.log(np.exp(d / 2) + np.exp(-d / 2) + nu)
                total -= W[i, j] * (d / 2 - z) + W[j, i] * (-d / 2 - z) + tied[i, j] * (np.log(nu) - z)
        return total

    davidson = None
    if ties:
        best = minimize(loss, np.zeros(systems + 1), method="BFGS", options={"gtol": 1e-9, "maxiter": 10000})
        davidson = {"strength": list(best.x[:-1] - best.x[:-1].mean()), "ties": float(np.exp(best.x[-1]))}
    cases.append({"systems": systems, "items": items, "games": games, "bradley_terry": list(params),
                  "errors": list(np.sqrt(np.diag(cov))),
                  "difference_error": float(np.sqrt(cov[0, 0] + cov[1, 1] - 2 * cov[0, 1])), "davidson": davidson})
pathlib.Path(__file__).with_name("ratings.json").write_text(json.dumps(cases) + "\n")
