"""Writes a trained tagger as a checkpoint that `erreval models import` reads, and what that made of it as a model directory:
graph, tokenizer, thresholds, probe rows and manifest.

    python export.py --base DIR --checkpoint best_B.pt --data DIR --taxonomy taxonomy.json --hf CHECKPOINT
    erreval models import CHECKPOINT --precision int8 -o IMPORTED
    python export.py --base DIR --checkpoint best_B.pt --data DIR --taxonomy taxonomy.json --graph IMPORTED/model.onnx --precision int8 --out DIR

Thresholds are those that do best on `tune` rows with the very graph that is given.
"""
import argparse
import hashlib
import json
import pathlib
import shutil

import numpy as np
import onnxruntime
import torch
from transformers import BertForSequenceClassification

import common
import metrics

# Written for this project, so that the manifest holds no text of a data set.
PROBES = [
    {"question": "When did the harbour bridge open to traffic?", "answer": "in 1931",
     "passage": "The harbour bridge was begun in 1926 and opened to traffic in 1931. It carried trams until 1958, when the rails were lifted."},
    {"question": "Who painted the ceiling?", "answer": "1958",
     "passage": "The harbour bridge was begun in 1926 and opened to traffic in 1931. It carried trams until 1958, when the rails were lifted."},
    {"question": "What do the mosses of the bog", "answer": "rain water",
     "passage": "A raised bog lives on rain water alone. Its mosses hold up to twenty times their weight in water and make the peat acid, "
                "so that few other plants can follow them. Below the surface there is hardly any oxygen, and what dies there does not rot."},
]


INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def to_hf(tagger, base, names, out):
    """The tagger as a checkpoint that other tools read: its dense layer is BERT's pooler. Token types are up to the reader."""
    cfg = tagger.body.config
    cfg.id2label, cfg.label2id, cfg.problem_type = dict(enumerate(names)), {n: i for i, n in enumerate(names)}, "multi_label_classification"
    model = BertForSequenceClassification(cfg)
    model.bert.load_state_dict(tagger.body.state_dict(), strict=False)
    model.bert.pooler.dense, model.classifier = tagger.dense, tagger.out
    model.save_pretrained(out)
    shutil.copy(base / "tokenizer.json", out / "tokenizer.json")


def session(path):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), o, providers=["CPUExecutionProvider"])


def logits(sess, enc, rows):
    out = []
    for r in rows:
        ids, seg, *_ = enc(r["question"], r["answer"], r["passage"])
        feed = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [seg]}
        out.append(sess.run(["logits"], {k: np.array(v, np.int64) for k, v in feed.items()})[0][0])
    return np.array(out)


def describe(path):
    data = path.read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True, type=pathlib.Path)
    p.add_argument("--checkpoint", required=True)
    p.add_argument("--data", required=True, type=pathlib.Path)
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--out", type=pathlib.Path, help="the model directory")
    p.add_argument("--precision", choices=["fp32", "int8"], default="int8")
    p.add_argument("--name", default="erreval-qg-minilm-l12")
    p.add_argument("--version", default="6")
    p.add_argument("--graph", type=pathlib.Path, help="what `erreval models import` made of the checkpoint that --hf wrote")
    p.add_argument("--hf", type=pathlib.Path, help="only write the tagger as Hugging Face's BertForSequenceClassification to this folder")
    p.add_argument("--recipe", type=pathlib.Path, help="JSON object that goes into the manifest as `training`")
    a = p.parse_args()
    if not a.hf and not (a.graph and a.out):
        p.error("give --hf, or --graph and --out")

    names, _ = common.taxonomy_labels(a.taxonomy)
    taxonomy = json.loads(pathlib.Path(a.taxonomy).read_text())
    tagger = common.Tagger(str(a.base), names)
    tagger.load_state_dict(torch.load(a.checkpoint))
    tagger.eval()
    if a.hf:
        return to_hf(tagger, a.base, names, a.hf)
    enc = common.Encoder(common.load_tokenizer(str(a.base)), 512, common.WINDOW)
    train, tune = common.read(a.data / "labelled_train.jsonl"), common.read(a.data / "labelled_tune.jsonl")

    a.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(a.graph, a.out / "model.onnx")
    made = session(a.out / "model.onnx")
    z32, z = common.predict(tagger, enc, tune), logits(made, enc, tune)

    y = common.targets(tune, names)
    parts = np.array([r["part"] for r in tune])
    ok = names.index("No Error")
    t = metrics.tune_thresholds(metrics.sigmoid(z), y, parts, ok)
    d32, d = metrics.decide(metrics.sigmoid(z32), t, ok), metrics.decide(metrics.sigmoid(z), t, ok)
    quality = {f"tune_{part}_{name}_f1": f(d[parts == part], y[parts == part]) for part in metrics.PARTS
               for name, f in (("micro", metrics.micro), ("macro", metrics.macro))}
    quality |= {"tune_label_flips_against_fp32": (d32 != d).mean(), "tune_row_flips_against_fp32": (d32 != d).any(1).mean(),
               "tune_largest_logit_shift_against_fp32": np.abs(z - z32).max()}
    shutil.copy(a.base / "tokenizer.json", a.out / "tokenizer.json")
    cfg = tagger.body.config
    described = a.graph.parent / "manifest.json"
    imported = json.loads(described.read_text()) if described.exists() else {}
    rows = lambda part: sum(r["part"] == part for r in train)
    manifest = {
        "format": 1, "name": a.name, "version": a.version, "architecture": "bert", "hidden_size": cfg.hidden_size, "layers": cfg.num_hidden_layers,
        "precision": a.precision, "taxonomy": f"{taxonomy['name']}@{taxonomy['version']}", "languages": ["en"], "labels": names, "fields": common.FIELDS, "join": "fields",
        "start": "[CLS]", "separator": "[SEP]", "end": "[SEP]", "pad": "[PAD]", "segments": common.SEGMENTS, "highlight": "answer",
        "window": {"field": "passage", "words": common.WINDOW}, "max_tokens": 512, "activation": "sigmoid",
        "thresholds": {n: round(float(v), 3) for n, v in zip(names, t)}, "inputs": INPUTS, "output": "logits",
        **({"embedding": imported["embedding"]} if "embedding" in imported else {}),
        "files": {n: describe(a.out / n) for n in ("model.onnx", "tokenizer.json")}, "licence": "Apache-2.0",
        "training_data": [
            {"name": "output of 21 question-generation systems, labelled for erreval (training/data)",
             "licence": "labels: CC BY-SA 4.0; texts: MIT, Apache-2.0, CC BY-SA 4.0, CC BY, ODC-By", "rows": rows("real")},
            {"name": "Quiz Design, labelled for erreval (training/data)", "licence": "BSD-3-Clause", "rows": rows("quiz")},
            {"name": "questions written for erreval (training/data)", "licence": "CC BY-SA 4.0", "rows": rows("written")},
            {"name": "questions that language models wrote for erreval, without planted errors (training/data)", "licence": "CC BY-SA 4.0", "rows": rows("llm")},
            {"name": "simulated from the right ones of these and from SQuAD 1.1 train part, FairytaleQA, QED and PolicyQA",
             "licence": "CC BY-SA 4.0; BSD-3-Clause; Apache-2.0; CC BY-SA 3.0; MIT", "rows": sum(1 for _ in open(a.data / "simulated.jsonl", encoding="utf-8"))}],
        "quality": {k: round(float(v), 4) for k, v in quality.items()},
        "probes": [{"fields": f, "logits": [round(float(v), 5) for v in row]} for f, row in zip(PROBES, logits(made, enc, PROBES))],
        "probe_tolerance": round(float(quality["tune_largest_logit_shift_against_fp32"]), 4),
    }
    if a.recipe:
        manifest["training"] = json.loads(a.recipe.read_text())
    (a.out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps({**manifest["quality"], "thresholds": manifest["thresholds"], "bytes": sum(f["size"] for f in manifest["files"].values())}, indent=1))


if __name__ == "__main__":
    main()
