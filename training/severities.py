"""Fits the severities of question-generation.yaml to people's ratings: how much of a dimension's scale an error costs.

    python severities.py --material DIR --taxonomy taxonomy.json [--tagged rows.jsonl]

Reads the `human` column of qg_real_labels.jsonl (means of five people, 1 to 3). Severities are fitted on `train` rows with their
gold labels, one a type for all dimensions, by least squares; the scale's top is what rows without error have. Each type also
counts PRIOR rows with the severity of the principle of indifference, so that a type which few rows have stays near that; where
the question is none or breaks off (category Structural) these rows are four times as many and have the severity STRUCTURAL, since
little is left of its form, and the material hardly has such rows.
With --tagged (rows that `erreval score` scored) the figures on `tune` are those of the product.
"""
import argparse
import json
import pathlib

import numpy as np
from scipy.optimize import minimize
from scipy.stats import pearsonr, spearmanr

RATED = {"correctness": "Answer Consistency", "grammaticality": "Fluency", "understandability": "Clarity"}
PRIOR, INDIFFERENT, STRUCTURAL = 5, 0.75, 0.9


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def problem(rows, types, mapped):
    """Per rating: which types that bear on it each row has, and what people said."""
    return {r: (np.array([[t in row["labels"] and t in mapped[d] for t in types] for row in rows], float),
                np.array([row["human"][r] for row in rows])) for r, d in RATED.items()}


def value(x, severity, top):
    return 1 + (top - 1) * np.prod(1 - severity * x, axis=1)


def fit(data, prior, weight):
    tops = {r: y[x.sum(1) == 0].mean() for r, (x, y) in data.items()}

    def loss(s):
        return sum(((value(x, s, tops[r]) - y) ** 2).sum() for r, (x, y) in data.items()) + (weight * (2 * (s - prior)) ** 2).sum()

    return minimize(loss, prior, bounds=[(0.01, 1)] * len(prior)).x


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--material", required=True, type=pathlib.Path)
    p.add_argument("--taxonomy", required=True, type=pathlib.Path)
    p.add_argument("--tagged", type=pathlib.Path)
    a = p.parse_args()
    task = json.loads(a.taxonomy.read_text())
    types = [t["name"] for t in task["types"] if not t.get("no_error")]
    mapped = {d["name"]: d["types"] for d in task["dimensions"]}
    rated = [r for r in read(a.material / "qg_real_labels.jsonl") if "human" in r]
    train, tune = ([r for r in rated if r["split"] == s] for s in ("train", "tune"))
    data = problem(train, types, mapped)
    structural = np.array([t["category"] == "Structural" for t in task["types"] if not t.get("no_error")])
    severity = fit(data, np.where(structural, STRUCTURAL, INDIFFERENT), np.where(structural, 4 * PRIOR, PRIOR))
    for t, s in zip(types, severity):
        print(f"{t:32} {s:.2f}  {sum(t in r['labels'] for r in train)} rows")
    for r, (x, y) in problem(tune, types, mapped).items():
        old, new = (pearsonr(value(x, s, 3), y)[0] for s in (INDIFFERENT, severity))
        print(f"{r}: Pearson with gold labels on {len(y)} tune rows, indifferent {old:.3f}, fitted {new:.3f}")
    if a.tagged:
        for r, d in RATED.items():
            pairs = [(row["scores"][d.lower().replace(" ", "_")]["value"], row["human"][r]) for row in read(a.tagged) if "human" in row]
            got, people = zip(*pairs)
            print(f"{r}: {len(pairs)} rows, Pearson {pearsonr(got, people)[0]:.3f}, Spearman {spearmanr(got, people)[0]:.3f}")


if __name__ == "__main__":
    main()
