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
    return per_label(pred, y)[keep].mean()


def objective(p, y, real, thresholds, ok):
    """Half micro-F1 on real machine questions, half macro-F1 on written ones: what is met most, and every label."""
    pred = decide(p, thresholds, ok)
    return 0.5 * micro(pred[real], y[real]) + 0.5 * macro(pred[~real], y[~real])


def tune_thresholds(p, y, real, ok, rounds=3):
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
                scores.append(objective(p, y, real, t, ok))
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


def summary(z, y, real, names):
    p, ok = sigmoid(z), names.index("No Error")
    t = tune_thresholds(p, y, real, ok)
    pred = decide(p, t, ok)
    f = per_label(pred[~real], y[~real])
    g = per_label(pred[real], y[real])
    r = lambda x: round(float(x), 3)
    base = np.zeros_like(pred)
    base[:, ok] = True
    return {"score": r(objective(p, y, real, t, ok)), "real_micro": r(micro(pred[real], y[real])), "real_constant": r(micro(base[real], y[real])),
            "real_exact": r((pred[real] == (y[real] > 0)).all(1).mean()), "written_micro": r(micro(pred[~real], y[~real])),
            "written_macro": r(macro(pred[~real], y[~real])), "written": {n: r(v) for n, v in zip(names, f)},
            "real": {n: r(v) for n, v in zip(names, g) if y[real][:, names.index(n)].sum() >= 20},
            "auc_ota": r(auc(p[real][:, names.index("Off Target Answer")], y[real][:, names.index("Off Target Answer")])),
            "auc_ota_written": r(auc(p[~real][:, names.index("Off Target Answer")], y[~real][:, names.index("Off Target Answer")])),
            "thresholds": {n: r(v) for n, v in zip(names, t)}}
