"""Writes wilson.json: 95 % Wilson intervals computed by scipy (binomtest(...).proportion_ci(method="wilson"))."""

import json
import pathlib

from scipy.stats import binomtest

PAIRS = [(0, 1), (1, 1), (0, 7), (3, 40), (1, 200), (100, 200), (199, 200), (200, 200), (12, 987), (123456, 1000000)]


def row(hits, n):
    interval = binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    return {"hits": hits, "n": n, "low": float(interval.low), "high": float(interval.high)}


path = pathlib.Path(__file__).with_name("wilson.json")
path.write_text(json.dumps([row(*pair) for pair in PAIRS], indent=1) + "\n")
