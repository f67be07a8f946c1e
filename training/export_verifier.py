"""Writes the trained verifier as a checkpoint that `erreval models import` reads, and what that made of it as a model directory, as export.py does.

    python export_verifier.py --base DIR --checkpoint best.pt --hf CHECKPOINT
    erreval models import CHECKPOINT --precision int8 --taxonomy training/e2e_verifier.yaml -o IMPORTED
    python export_verifier.py --base DIR --checkpoint best.pt --taxonomy taxonomy.json --train train.tagged.jsonl --tune tune.tagged.jsonl --graph IMPORTED/model.onnx --out DIR

The threshold is the one with the best balanced accuracy, on `tune`, about what the identifier said (plain accuracy is best when it calls everything right);
real and written rows count the same.
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


def threshold(p, right, real):
    grid = np.round(np.arange(0.1, 0.91, 0.02), 2)
    gain = [np.mean([((p[m & k] >= t) == right[m & k]).mean() for m in (real, ~real) for k in (right, ~right)]) for t in grid]
    return float(grid[int(np.argmax(np.convolve(np.pad(gain, 2, mode="edge"), np.ones(5) / 5, "valid")))])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True, type=pathlib.Path)
    p.add_argument("--checkpoint", required=True)
    p.add_argument("--hf", type=pathlib.Path, help="only write Hugging Face's BertForSequenceClassification to this folder")
    p.add_argument("--taxonomy")
    p.add_argument("--train", help="the rows that it was trained on")
    p.add_argument("--tune")
    p.add_argument("--graph", type=pathlib.Path)
    p.add_argument("--identifier", type=pathlib.Path, help="manifest of the identifier that tagged the rows: its confidence is reported beside")
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--precision", choices=["fp32", "int8"], default="int8")
    p.add_argument("--name", default="erreval-qg-verifier-minilm")
    p.add_argument("--version", default="1")
    a = p.parse_args()

    tagger = common.Tagger(str(a.base), [common.RIGHT])
    tagger.load_state_dict(torch.load(a.checkpoint))
    if a.hf:
        return export.to_hf(tagger.eval(), a.base, [common.RIGHT], a.hf)
    names, _ = common.taxonomy_labels(a.taxonomy)
    taxonomy = json.loads(pathlib.Path(a.taxonomy).read_text())
    enc, train, tune = common.Encoder(common.load_tokenizer(str(a.base)), 512), common.read(a.train), common.read(a.tune)
    rows = tune_sets(tune, Wrong(names, tune, random.Random(1)))
    a.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(a.graph, a.out / "model.onnx")
    shutil.copy(a.base / "tokenizer.json", a.out / "tokenizer.json")
    sess = export.session(a.out / "model.onnx")
    z = logits(sess, enc, rows)
    p, right = metrics.sigmoid(z), np.array([r["right"] > 0 for r in rows])
    real, own = (np.array([r[k] == v for r in rows]) for k, v in (("source", "quizdesign"), ("kind", "own")))
    t = threshold(p[own], right[own], real[own])
    shown, quality = {}, {}
    for name, of in (("real", real), ("written", ~real)):
        for kind, k in (("own", own), ("made", ~own)):
            s = shown[f"{kind}_{name}"] = scores(p[of & k], right[of & k], t)
            quality |= {f"tune_{kind}_{name}_{key}": float(s[key]) for key in ("accuracy", "constant", "f1", "auc")}
        if a.identifier:
            limits = json.loads(a.identifier.read_text())["thresholds"]
            sure = np.array([confidence(r, limits, names[-1]) for r in tune if (r["source"] == "quizdesign") == (name == "real")])
            shown[f"identifier_confidence_auc_{name}"] = round(metrics.auc(sure, right[of & own]), 4)
    cfg = tagger.body.config
    probes = [r | {"set": r["labels"]} for r in PROBES]
    manifest = {
        "format": 1, "name": a.name, "version": a.version, "architecture": "bert", "hidden_size": cfg.hidden_size, "layers": cfg.num_hidden_layers,
        "precision": a.precision, "taxonomy": f"{taxonomy['name']}-verifier@{taxonomy['version']}", "labels": [common.RIGHT], "fields": common.VERIFIER_FIELDS, "join": "fields",
        "start": "[CLS]", "separator": "[SEP]", "end": "[SEP]", "pad": "[PAD]", "segments": common.VERIFIER_SEGMENTS, "highlight": "answer", "max_tokens": 512,
        "activation": "sigmoid", "thresholds": {common.RIGHT: t}, "inputs": export.INPUTS, "output": "logits",
        "files": {n: export.describe(a.out / n) for n in ("model.onnx", "tokenizer.json")}, "licence": "Apache-2.0",
        "training_data": [
            {"name": "questions written for erreval (training/data), with right and wrong label sets", "licence": "CC BY-SA 4.0", "rows": sum(r["source"] != "quizdesign" for r in train)},
            {"name": "Quiz Design, labelled for erreval (training/data), with right and wrong label sets", "licence": "BSD-3-Clause", "rows": sum(r["source"] == "quizdesign" for r in train)}],
        "quality": quality, "probes": [{"fields": f, "logits": [round(float(v), 5)]} for f, v in zip(PROBES, logits(sess, enc, probes))],
    }
    (a.out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps({"threshold": t, "bytes": sum(f["size"] for f in manifest["files"].values()), **shown}, indent=1))


if __name__ == "__main__":
    main()
