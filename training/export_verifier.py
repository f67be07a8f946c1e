r"""Writes the trained verifier as a checkpoint that `erreval models import` reads, and what that made of it as a model directory, as export.py does.

    python export_verifier.py --base DIR --checkpoint best.pt --hf CHECKPOINT
    erreval models import CHECKPOINT --precision int8 --taxonomy training/e2e_verifier.yaml -o IMPORTED
    python export_verifier.py --base DIR --checkpoint best.pt --taxonomy taxonomy.json --train train.tagged.jsonl --tune tune.tagged.jsonl --graph IMPORTED/model.onnx \
        --identifier MODEL/manifest.json --out DIR [--test test.tagged.jsonl]

The threshold is the one with the best balanced accuracy, on `tune`, about what the identifier said (plain accuracy is best when it calls everything right);
real and written rows count the same. Figures are printed, those of `tune` go into the manifest; `own_…` is about what the identifier said, `made_…` about gold and
perturbed sets; `auc_…` is how well the identifier's confidence, the verifier, or the sum of their ranks sorts what the identifier said into right and wrong.
"""
import argparse
import json
import pathlib
import random
import shutil

import numpy as np
import torch

import common
import export
import metrics
from train_verifier import Wrong, tune_sets

PROBES = [{"labels": labels, **row} for row, labels in zip(export.PROBES, ("No Error", "Spell Error", "Incomplete, Not A Question"))]


def logits(sess, enc, rows):
    out = []
    for r in rows:
        ids, seg, *_ = enc(r["question"], r["answer"], r["passage"], labels=r["set"])
        feed = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [seg]}
        out.append(sess.run(["logits"], {k: np.array(v, np.int64) for k, v in feed.items()})[0][0][0])
    return np.array(out)


def confidence(r, thresholds, ok):
    """The identifier's own p_e (training/selection), which the verifier is compared with."""
    q = [p / (2 * t) if p < t else 0.5 + (p - t) / (2 * (1 - t)) for n, p in r["diagnosis"]["probabilities"].items() if n != ok for t in [thresholds.get(n, 0.5)]]
    return min(max(x, 1 - x) for x in q)


def scores(p, right, t):
    said = p >= t
    tp = (said & right).sum()
    precision, recall = tp / max(said.sum(), 1), tp / max(right.sum(), 1)
    return {"rows": len(p), "right": round(right.mean(), 4), "accuracy": round((said == right).mean(), 4), "constant": round(max(right.mean(), 1 - right.mean()), 4),
            "precision": round(precision, 4), "recall": round(recall, 4), "f1": round(2 * precision * recall / max(precision + recall, 1e-9), 4),
            "constant_f1": round(2 * right.mean() / (1 + right.mean()), 4), "auc": round(metrics.auc(p, right), 4)}


def ranks(x):
    return np.unique(x, return_inverse=True)[1] / len(x)


def gain(sure, said, y, passages, draws=1000):
    """What `both` has over `identifier`: the figure, and a 95 % interval that resamples passages."""
    rng, of = np.random.default_rng(1), {}
    for i, passage in enumerate(passages):
        of.setdefault(passage, []).append(i)
    of = [np.array(v) for v in of.values()]

    def more(i):
        return metrics.auc(ranks(sure[i]) + ranks(said[i]), y[i]) - metrics.auc(sure[i], y[i])

    found = [more(np.concatenate([of[k] for k in rng.integers(0, len(of), len(of))])) for _ in range(draws)]
    return [more(np.arange(len(y))), *np.quantile(found, [0.025, 0.975])]


def figures(p, rows, tagged, t, limits, ok):
    """p: what the verifier says of rows, which tune_sets made of tagged."""
    right = np.array([r["right"] > 0 for r in rows])
    real, own = np.array([r["part"] != "written" for r in rows]), np.array([r["kind"] == "own" for r in rows])
    out = {}
    for name, of in (("real", real), ("written", ~real)):
        for kind, k in (("own", own), ("made", ~own)):
            out[f"{kind}_{name}"] = scores(p[of & k], right[of & k], t)
        mine = [r for r in tagged if (r["part"] != "written") == (name == "real")]
        sure, said, y = np.array([confidence(r, limits, ok) for r in mine]), p[of & own], right[of & own]
        out[f"auc_{name}"] = {"identifier": metrics.auc(sure, y), "verifier": metrics.auc(said, y), "both": metrics.auc(ranks(sure) + ranks(said), y)}
        out[f"gain_{name}"] = gain(sure, said, y, [r["passage"] for r in mine])
    return out


def threshold(p, right, real):
    grid = np.round(np.arange(0.1, 0.91, 0.02), 2)
    balanced = [np.mean([((p[m & k] >= t) == right[m & k]).mean() for m in (real, ~real) for k in (right, ~right)]) for t in grid]
    return float(grid[int(np.argmax(np.convolve(np.pad(balanced, 2, mode="edge"), np.ones(5) / 5, "valid")))])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True, type=pathlib.Path)
    p.add_argument("--checkpoint", required=True)
    p.add_argument("--hf", type=pathlib.Path, help="only write Hugging Face's BertForSequenceClassification to this folder")
    p.add_argument("--taxonomy")
    p.add_argument("--train", help="the rows that it was trained on")
    p.add_argument("--tune")
    p.add_argument("--graph", type=pathlib.Path)
    p.add_argument("--identifier", type=pathlib.Path, help="manifest of the identifier that tagged the rows")
    p.add_argument("--test", help="also print the figures of these rows")
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--precision", choices=["fp32", "int8"], default="int8")
    p.add_argument("--name", default="erreval-qg-verifier-minilm")
    p.add_argument("--version", default="2")
    a = p.parse_args()

    tagger = common.Tagger(str(a.base), [common.RIGHT])
    tagger.load_state_dict(torch.load(a.checkpoint))
    if a.hf:
        return export.to_hf(tagger.eval(), a.base, [common.RIGHT], a.hf)
    names, _ = common.taxonomy_labels(a.taxonomy)
    taxonomy = json.loads(pathlib.Path(a.taxonomy).read_text())
    enc, train, tune = common.Encoder(common.load_tokenizer(str(a.base)), 512), common.read(a.train), common.read(a.tune)
    identifier = json.loads(a.identifier.read_text())
    limits = identifier["thresholds"]
    a.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(a.graph, a.out / "model.onnx")
    shutil.copy(a.base / "tokenizer.json", a.out / "tokenizer.json")
    sess = export.session(a.out / "model.onnx")

    def asked(tagged):
        rows = tune_sets(tagged, Wrong(names, tagged, random.Random(1)))
        return rows, metrics.sigmoid(logits(sess, enc, rows))

    rows, p = asked(tune)
    own = np.array([r["kind"] == "own" for r in rows])
    t = threshold(p[own], np.array([r["right"] > 0 for r in rows])[own], np.array([r["part"] != "written" for r in rows])[own])
    shown = figures(p, rows, tune, t, limits, names[-1])
    quality = {f"tune_{kind}_{key}": float(shown[kind][key]) for kind in ("own_real", "made_real", "own_written", "made_written") for key in ("accuracy", "constant", "f1", "auc")}
    quality |= {f"tune_auc_{name}_{k}": round(float(v), 4) for name in ("real", "written") for k, v in shown[f"auc_{name}"].items()}
    cfg = tagger.body.config
    probes = [r | {"set": r["labels"]} for r in PROBES]
    manifest = {
        "format": 1, "name": a.name, "version": a.version, "architecture": "bert", "hidden_size": cfg.hidden_size, "layers": cfg.num_hidden_layers,
        "precision": a.precision, "taxonomy": f"{taxonomy['name']}-verifier@{taxonomy['version']}", "labels": [common.RIGHT], "fields": common.VERIFIER_FIELDS, "join": "fields",
        "start": "[CLS]", "separator": "[SEP]", "end": "[SEP]", "pad": "[PAD]", "segments": common.VERIFIER_SEGMENTS, "highlight": "answer", "max_tokens": 512,
        "activation": "sigmoid", "thresholds": {common.RIGHT: t}, "inputs": export.INPUTS, "output": "logits",
        "files": {n: export.describe(a.out / n) for n in ("model.onnx", "tokenizer.json")}, "licence": "Apache-2.0",
        "training_data": [
            {"name": "questions written for erreval (training/data), with right and wrong label sets", "licence": "CC BY-SA 4.0", "rows": sum(r["part"] == "written" for r in train)},
            {"name": "real machine questions, labelled for erreval (training/data), with right and wrong label sets",
             "licence": "labels: CC BY-SA 4.0; texts: MIT, Apache-2.0, BSD-3-Clause, CC BY-SA 4.0, CC BY, ODC-By", "rows": sum(r["part"] != "written" for r in train)},
            *({**d, "name": "through the weights it began with: " + d["name"]} for d in identifier["training_data"])],
        "quality": quality, "probes": [{"fields": f, "logits": [round(float(v), 5)]} for f, v in zip(PROBES, logits(sess, enc, probes))],
    }
    (a.out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps({"threshold": t, "bytes": sum(f["size"] for f in manifest["files"].values()), "tune": shown}, indent=1, default=float))
    if a.test:
        test = common.read(a.test)
        rows, p = asked(test)
        print(json.dumps({"test": figures(p, rows, test, t, limits, names[-1])}, indent=1, default=float))


if __name__ == "__main__":
    main()
