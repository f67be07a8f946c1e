"""experiment.py's last comparison: the whole encoder is fine-tuned on the rows that each way of choosing ended with (first seed).

    python experiment_final.py FINAL --base DIR --taxonomy taxonomy.json [--epochs 8]

FINAL is the folder that experiment.py wrote. Thresholds are chosen on its development rows, figures are those of its held-out rows.
"""
import argparse
import contextlib
import json
import pathlib
import sys

import numpy as np
import torch

import common
import finetune
import metrics
from experiment import LEAST
from experiment_report import WAYS


def logits(run, tokenizer, path, c):
    texts, y = finetune.read(path, c)
    return run.predict(finetune.encode(texts, tokenizer, run.model, c)), y


def main():
    p = argparse.ArgumentParser()
    p.add_argument("final", type=pathlib.Path)
    p.add_argument("--base", required=True)
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    names, _ = common.taxonomy_labels(a.taxonomy)
    print("| trained on | rows | micro-F1 | macro-F1 | mean AUC |\n|---|---|---|---|---|")
    for way, title in {"start": "the start alone", **WAYS}.items():
        out = a.final / f"model-{way}"
        c = {"task": "identifier", "encoder": a.base, "fields": common.FIELDS, "labels": names, "no_error": names[-1], "train": str(a.final / f"{way}.jsonl"),
             "dev": str(a.final / "dev.jsonl"), "out": str(out), "device": "cpu", "epochs": a.epochs, "patience": a.epochs, "batch": 16, "lr": a.lr, "seed": 1,
             "max_tokens": 192, "threads": a.threads}
        path = a.final / f"{way}.json"
        path.write_text(json.dumps(c))
        with contextlib.redirect_stdout(sys.stderr):
            finetune.main(path)
        c = finetune.configure(path)
        model, tokenizer = finetune.load(c | {"init": str(out)})
        run = finetune.Run(model, tokenizer, c)
        (z, y), (dev_z, dev_y) = (logits(run, tokenizer, a.final / f"{n}.jsonl", c) for n in ("held", "dev"))
        twice = np.concatenate([dev_y, dev_y])
        t = metrics.tune_thresholds(metrics.sigmoid(np.concatenate([dev_z, dev_z])), twice, np.arange(len(twice)) < len(dev_y), len(names) - 1, objective=metrics.halves)
        prob = metrics.sigmoid(z)
        said = metrics.decide(prob, t, len(names) - 1)
        auc = np.mean([metrics.auc(prob[:, j], y[:, j] > 0) for j in range(len(names) - 1) if LEAST <= y[:, j].sum()])
        rows = sum(1 for _ in open(a.final / f"{way}.jsonl", encoding="utf-8"))
        print(f"| {title} | {rows} | {metrics.micro(said, y):.3f} | {metrics.macro(said, y, LEAST):.3f} | {auc:.3f} |", flush=True)
    constant = np.zeros_like(said)
    constant[:, -1] = True
    print(f"| always No Error | | {metrics.micro(constant, y):.3f} | {metrics.macro(constant, y, LEAST):.3f} | 0.500 |")


if __name__ == "__main__":
    torch.set_num_threads(2)
    main()
