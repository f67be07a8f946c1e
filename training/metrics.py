"""Thresholds and the figures that choices are made on. Reported figures come from `erreval meta labels`."""
import numpy as np


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def decide(p, thresholds, ok):
    """Errors over their thresholds; No Error where there is none: the rule that erreval applies."""
    pred = p >= thresholds
    pred[:, ok] = False
    pred[:, ok] = ~pred.any(1)
    return pred


def micro(pred, y):
    tp = (pred & (y > 0)).sum()
    return 2 * tp / max(pred.sum() + (y > 0).sum(), 1)


def per_label(pred, y):
    y = y > 0
    return 2 * (pred & y).sum(0) / np.maximum(pred.sum(0) + y.sum(0), 1)


def macro(pred, y, least=20):
    keep = (y > 0).sum(0) >= least
    return per_label(pred, y)[keep].mean() if keep.any() else 0.0


PARTS = ["real", "quiz", "written", "llm"]


def objective(pred, y, parts):
    """What every choice is made on: real questions of 21 systems count twice (half micro-F1, half macro-F1: what is met most,
    and every label), Quiz Design and language models (micro-F1) and written ones (macro-F1) once each. `parts` names each row's part."""
    f = {p: (pred[parts == p], y[parts == p]) for p in PARTS}
    return 0.2 * (micro(*f["real"]) + macro(*f["real"]) + micro(*f["quiz"]) + macro(*f["written"]) + micro(*f["llm"]))


def halves(pred, y, first):
    """Half micro-F1 of the rows in `first`, half macro-F1 of the others: the objective of experiment.py, which has rows of one kind."""
    return 0.5 * micro(pred[first], y[first]) + 0.5 * macro(pred[~first], y[~first])


def tune_thresholds(p, y, parts, ok, rounds=3, objective=objective):
    """Coordinate ascent over a grid; a plateau's middle is taken, which moves less on new rows."""
    grid = np.round(np.arange(0.10, 0.91, 0.02), 2)
    t = np.full(p.shape[1], 0.5)
    for _ in range(rounds):
        for j in range(p.shape[1]):
            if j == ok:
                continue
            scores = []
            for g in grid:
                t[j] = g
                scores.append(objective(decide(p, t, ok), y, parts))
            scores = np.convolve(np.pad(scores, 2, mode="edge"), np.ones(5) / 5, "valid")
            t[j] = grid[int(np.argmax(scores))]
    return t


def auc(score, positive):
    """Mann-Whitney, ties half."""
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    s = np.asarray(score)[order]
    i = 0
    while i < len(s):
        j = i
        while j + 1 < len(s) and s[j + 1] == s[i]:
            j += 1
        rank[order[i : j + 1]] = (i + j) / 2 + 1
        i = j + 1
    positive = np.asarray(positive, bool)
    n = positive.sum()
    return (rank[positive].sum() - n * (n + 1) / 2) / (n * (~positive).sum())


def summary(z, y, parts, names):
    """The score, and per part the figures behind it; AUC and F1 per label where there are at least 20 rows."""
    p, ok = sigmoid(z), names.index("No Error")
    t = tune_thresholds(p, y, parts, ok)
    pred = decide(p, t, ok)
    r = lambda x: round(float(x), 3)
    out = {"score": r(objective(pred, y, parts))}
    base = np.zeros_like(pred)
    base[:, ok] = True
    for part in PARTS:
        at = parts == part
        q, g, f = pred[at], y[at], per_label(pred[at], y[at])
        known = [j for j in range(len(names)) if g[:, j].sum() >= 20]
        aucs = {names[j]: r(auc(p[at][:, j], g[:, j])) for j in known}
        out[part] = {"micro": r(micro(q, g)), "constant": r(micro(base[at], g)), "macro": r(macro(q, g)), "exact": r((q == (g > 0)).all(1).mean()),
                     "mean_auc": r(np.mean(list(aucs.values()) or [0.5])), "auc": aucs, "f1": {names[j]: r(f[j]) for j in known}}
    return out | {"thresholds": {n: r(v) for n, v in zip(names, t)}}
