"""Compares graphs of one model with the first of them, on rows with labels: decisions, logits, score and time.

    python compare_graphs.py --base DIR --taxonomy taxonomy.json --rows labelled_tune.jsonl fp32=fp32/model.onnx int8=int8/model.onnx ...

Thresholds are those that do best for the first graph, or, in the columns `own`, for each. Every row is run by all graphs in turns, on
one thread, so that a drifting machine slows all alike.
"""
import argparse
import json
import pathlib
import sys
import time

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "training"))
import common
import export
import metrics


def flips(a, b, thresholds, ok):
    a, b = (metrics.decide(metrics.sigmoid(z), thresholds, ok) for z in (a, b))
    return 100 * (a != b).mean(), 100 * (a != b).any(1).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--rows", required=True)
    p.add_argument("graphs", nargs="+", help="NAME=PATH")
    a = p.parse_args()
    onnxruntime.set_default_logger_severity(3)
    names, _ = common.taxonomy_labels(a.taxonomy)
    ok, rows = names.index("No Error"), common.read(a.rows)
    y, real = common.targets(rows, names), np.array([r["source"] == "quizdesign" for r in rows])
    enc = common.Encoder(common.load_tokenizer(a.base), 512)
    paths = dict(g.split("=", 1) for g in a.graphs)
    sessions = {n: export.session(p) for n, p in paths.items()}
    z, cpu, order = {n: [] for n in paths}, dict.fromkeys(paths, 0.0), list(paths)
    for i, r in enumerate(rows):
        for n in order[i % len(order):] + order[:i % len(order)]:
            start = time.process_time()
            z[n].append(export.logits(sessions[n], enc, [r])[0])
            cpu[n] += time.process_time() - start
    z = {n: np.array(v) for n, v in z.items()}
    tuned = {n: metrics.summary(v, y, real, names) for n, v in z.items()}
    best = {n: np.array([t["thresholds"][x] for x in names]) for n, t in tuned.items()}
    first = z[order[0]]
    for n, v in z.items():
        d, (decisions, of_rows), (own, own_rows) = np.abs(v - first), flips(first, v, best[order[0]], ok), flips(first, v, best[n], ok)
        print(json.dumps({"graph": n, "decisions": round(decisions, 2), "rows": round(of_rows, 2), "own_decisions": round(own, 2), "own_rows": round(own_rows, 2),
                          "mean_shift": round(float(d.mean()), 3), "largest_shift": round(float(d.max()), 2), "score": tuned[n]["score"],
                          "bytes": pathlib.Path(paths[n]).stat().st_size, "cpu_s": round(cpu[n], 1)}), flush=True)


if __name__ == "__main__":
    main()
