"""Does the refinement loop help? Reviews rows of real machine questions by simulation, chosen in three ways, and measures what each has taught.

    python experiment.py --rows quizdesign_labels.jsonl --base DIR --taxonomy taxonomy.json --selectrows PROGRAM --work DIR --out docs

Only `train` and `tune` rows are read, and their labels are hidden until a row is "reviewed". The encoder is the raw one, so that nothing is known
of them beforehand. For each seed the passages are parted: some are held out to measure on, some are the development set (thresholds), the rest
is the pool. All ways begin with the same few rows drawn by chance; then come four rounds. The models are heads on features of the frozen encoder.
The rows of the first seed are written to WORK/final, for finetune.py.
"""
import argparse
import json
import pathlib
import random
import subprocess

import numpy as np
import torch
from torch import nn

import common
import window
import experiment_report
import metrics
from experiment_features import features, scale
from experiment_report import STUDENT, WAYS
from train_verifier import Wrong

ROUNDS, LEAST = 4, 10  # LEAST: held-out rows of a label that counts in macro-F1


def args():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", required=True)
    p.add_argument("--base", required=True)
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--selectrows", required=True, help="scripts/selectrows, built")
    p.add_argument("--work", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True, type=pathlib.Path, help="prefix of the .md and the .svg that are written")
    p.add_argument("--passages", type=int, default=0, help="take the rows of this many passages, drawn by chance")
    p.add_argument("--seeds", type=int, default=5, choices=STUDENT)
    p.add_argument("--batch", type=int, default=60, help="rows to begin with, and of each round")
    p.add_argument("--threads", type=int, default=2)
    return p.parse_args()


def fit(x, y, decay=0.01):
    """Logistic regression for every column of y at once."""
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    w, b = torch.zeros(x.shape[1], y.shape[1], requires_grad=True), torch.zeros(y.shape[1], requires_grad=True)
    opt = torch.optim.LBFGS([w, b], max_iter=60, line_search_fn="strong_wolfe")

    def loss():
        opt.zero_grad()
        out = nn.functional.binary_cross_entropy_with_logits(x @ w + b, y) * y.shape[1] + decay * (w * w).sum()
        out.backward()
        return out

    opt.step(loss)
    return w.detach().numpy(), b.detach().numpy()


class Data:
    """Rows of one seed: pool, development set and held-out rows, none of which share a passage."""

    def __init__(self, rows, seed):
        rng = random.Random(seed)
        passages = sorted({r["passage"] for r in rows})
        rng.shuffle(passages)
        part, self.held, self.dev, self.pool = {}, [], [], []
        for p in passages:
            mine = [i for i, r in enumerate(rows) if r["passage"] == p]
            into = self.held if len(self.held) < 450 else self.dev if len(self.dev) < 150 else self.pool
            into += mine
        rng.shuffle(self.pool)


class Learner:
    """Identifier and verifier as heads, trained on reviewed rows."""

    def __init__(self, x, y, names, rows):
        self.x, self.y, self.names, self.rows, self.ok = x, y, names, rows, len(names) - 1
        u, s, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
        self.z = scale(u[:, :32] * s[:32])

    def train(self, known, dev):
        w, b = fit(self.x[known], self.y[known])
        self.p = metrics.sigmoid(self.x @ w + b)
        twice = [*dev, *dev]  # half micro-, half macro-F1 of the same rows
        self.t = metrics.tune_thresholds(self.p[twice], self.y[twice], np.arange(len(twice)) < len(dev), self.ok, objective=metrics.halves)
        self.said = metrics.decide(self.p, self.t, self.ok)

    def pairs(self, rows, sets):
        """The verifier's features: the set, the row, and how the one goes with the other."""
        s = sets[:, : self.ok] * 2.0 - 1
        return np.concatenate([s, self.z[rows] / 6, (s[:, :, None] * self.z[rows][:, None] / 6).reshape(len(rows), -1)], 1)

    def verify(self, known, pool, rng):
        tagged = [self.tagged(i) | {"labels": [n for n, v in zip(self.names, self.y[i]) if v]} for i in known]
        wrong = Wrong(self.names, tagged, rng)
        rows, sets, right = [], [], []
        for i, r in zip(known, tagged):
            for k in range(6):
                made = wrong.ordered(r["labels"]) if k % 2 else wrong(r)
                rows.append(i)
                sets.append([n in made for n in self.names])
                right.append([k % 2])
        w, b = fit(self.pairs(rows, np.array(sets)), np.array(right, np.float32), decay=0.005)
        return metrics.sigmoid(self.pairs(pool, self.said[pool]) @ w + b)[:, 0]

    def tagged(self, i, verified=None):
        out = {k: self.rows[i].get(k, "") for k in ("id", "question", "answer", "passage", "system", "source")}
        out["diagnosis"] = {"labels": [n for n, v in zip(self.names, self.said[i]) if v], "probabilities": {n: float(p) for n, p in zip(self.names, self.p[i])}, "model": "heads@1",
                            "taxonomy": "question-generation@1.1"}
        return out if verified is None else out | {"verification": {"probability": float(verified), "model": "heads@1"}}

    def uncertainty(self, pool):
        """Equation 3, as package training/selection has it."""
        p, t = self.p[pool][:, : self.ok], self.t[: self.ok]
        q = np.where(p < t, p / (2 * t), 0.5 + (p - t) / (2 * (1 - t)))
        return 1 - np.abs(np.maximum(q, 1 - q).min(1) - 0.5)


def choose(way, learner, known, pool, n, seed, a):
    if way == "random":
        return pool[:n]  # it was shuffled
    if way == "uncertainty":
        return [pool[i] for i in np.argsort(-learner.uncertainty(pool), kind="stable")[:n]]
    verified = learner.verify(known, pool, random.Random(seed))
    write(a.work / "pool.jsonl", [learner.tagged(i, v) for i, v in zip(pool, verified)])
    write(a.work / "used.jsonl", [learner.rows[i] for i in known])
    (a.work / "thresholds.json").write_text(json.dumps({l: float(t) for l, t in zip(learner.names, learner.t)}))
    out = subprocess.run([a.selectrows, a.work / "pool.jsonl", a.work / "used.jsonl", a.work / "thresholds.json", str(n), str(seed)], check=True, capture_output=True, text=True)
    at = {learner.rows[i]["id"]: i for i in pool}
    chosen = [at[json.loads(line)["id"]] for line in out.stdout.splitlines()]
    return chosen + [i for i in pool if i not in set(chosen)][: n - len(chosen)]  # near-duplicates can leave it with fewer


def write(path, rows):
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")


def measure(learner, held):
    said, y = learner.said[held], learner.y[held]
    auc = [metrics.auc(learner.p[held][:, j], y[:, j] > 0) for j in range(learner.ok) if LEAST <= y[:, j].sum() < len(y)]
    return {"micro": metrics.micro(said, y), "macro": metrics.macro(said, y, LEAST), "auc": np.mean(auc)}


def one(seed, rows, x, y, names, a):
    """Figures by way and round, and the rows that each way ended with."""
    data, learner, out, ends = Data(rows, seed), Learner(x, y, names, rows), {}, {}
    start = data.pool[: a.batch]
    for way in WAYS:
        known, pool, res = list(start), data.pool[a.batch :], []
        for k in range(ROUNDS + 1):
            if k:
                new = choose(way, learner, known, pool, a.batch, seed * 100 + k, a)
                known, pool = known + new, [i for i in pool if i not in set(new)]
            learner.train(known, data.dev)
            res.append(measure(learner, data.held) | {"labels": {n: int(v) for n, v in zip(names, y[known].sum(0))}})
        out[way], ends[way] = res, known
    learner.train(data.pool, data.dev)
    out["all"] = [measure(learner, data.held)]
    constant = np.zeros_like(y[data.held], bool)
    constant[:, -1] = True
    out["constant"] = [{"micro": metrics.micro(constant, y[data.held]), "macro": metrics.macro(constant, y[data.held], LEAST), "auc": 0.5}]
    print(json.dumps({"seed": seed, "held": len(data.held), "dev": len(data.dev), "pool": len(data.pool),
                      **{w: [round(float(r["micro"]), 3) for r in out[w]] + [round(float(out[w][-1]["macro"]), 3)] for w in out}}), flush=True)
    return out, ends, data


def final(folder, rows, ends, data):
    """The rows that each way ended with, the development set and the held-out rows, passages cut to what bears on the question."""
    folder.mkdir(exist_ok=True)
    for name, some in {**ends, "start": ends["random"][: len(ends["random"]) // (ROUNDS + 1)], "dev": data.dev, "held": data.held}.items():
        write(folder / f"{name}.jsonl", [rows[i] | {"passage": window.read(rows[i]["passage"], [rows[i]["question"], rows[i]["answer"]], 90)} for i in some])


def main():
    a = args()
    torch.set_num_threads(a.threads)
    a.work.mkdir(parents=True, exist_ok=True)
    names, _ = common.taxonomy_labels(a.taxonomy)
    rows = [r for r in common.read(a.rows) if r["split"] in ("train", "tune")]
    if a.passages:
        some = set(random.Random(0).sample(sorted({r["passage"] for r in rows}), a.passages))
        rows = [r for r in rows if r["passage"] in some]
    y, cache = common.targets(rows, names), a.work / "features.npy"
    if not cache.exists():
        np.save(cache, features(rows, a.base))
    x = np.load(cache)
    results = []
    for seed in range(1, a.seeds + 1):
        out, ends, data = one(seed, rows, x, y, names, a)
        results.append(out)
        if seed == 1:
            final(a.work / "final", rows, ends, data)
    made = {"batch": a.batch, "labels": names, "seeds": results}
    (a.work / "results.json").write_text(json.dumps(made, default=float))
    experiment_report.main(a.work / "results.json", a.out)


if __name__ == "__main__":
    main()
