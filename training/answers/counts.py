"""What identifier/counts counts in a text: its length, and how much of it comes twice. And weights for it.

    python counts.py > ../../identifier/counts/testdata/cases.jsonl      (the cases of its test)
"""
import json
import math
import re

import numpy as np

NAMES = ["length", "repeated", "alike"]
MOST_CHARACTERS, MOST_SENTENCES, LEAST_WORDS = 50_000, 60, 4
CASES = [
    "", "One.", "The cat sat on the mat. The dog sat on the mat.", "no no no no no", "É été, ÉTÉ; straße_1 ½ ２ ٣",
    "The same line here again\n" * 70, "漢字 かな 漢字。한국어 text text!", "a b c d e f. f e d c b a? 1 2 3 4!", "-- ... !!!",
    "Solar power is getting cheaper. Wind power is getting cheaper. Water is wet and rain falls down.",
    "".join(f"word{i % 7} " for i in range(50)), "long text " * 5_001 + "end",
    "  spaced   out \t words \u00a0 here  ",
]


def words(text):
    return re.findall(r"\w+", text.lower())


def alike(text):
    sentences = [set(words(s)) for s in re.split(r"[.!?\n]", text)]
    sentences = [s for s in sentences if len(s) >= LEAST_WORDS][:MOST_SENTENCES]
    return max((len(a & b) / len(a | b) for i, a in enumerate(sentences) for b in sentences[:i]), default=0.0)


def of(text):
    text = text[:MOST_CHARACTERS]
    found = words(text)
    repeated = 1 - len(set(found)) / len(found) if found else 0.0
    return {"length": math.log(1 + len(found)), "repeated": repeated, "alike": alike(text)}


def fit(x, y, ridge=1.0):
    """Logistic regression of y on the columns of x, ridge on the standardised weights; the last weight is the constant."""
    mean, scale = x.mean(0), x.std(0) + 1e-9
    a = np.c_[(x - mean) / scale, np.ones(len(x))]
    penalty, w = np.diag([ridge] * x.shape[1] + [0.0]), np.zeros(x.shape[1] + 1)
    bound = np.linalg.inv(a.T @ a / 4 + penalty)  # of the curvature: steps never overshoot (Böhning and Lindsay 1988)
    for _ in range(5_000):
        w = w - bound @ (a.T @ (1 / (1 + np.exp(-(a @ w))) - y) + penalty @ w)
    return np.append(w[:-1] / scale, w[-1] - (w[:-1] * mean / scale).sum())


if __name__ == "__main__":
    for case in CASES:
        print(json.dumps({"text": case, "counts": of(case)}, ensure_ascii=False))
