"""Writes a trained tagger as a model directory: fp32 or int8 ONNX, tokenizer, thresholds, probe rows and manifest.

    python export.py --base DIR --checkpoint best_B.pt --data DIR --taxonomy taxonomy.json --out DIR --precision int8

The graph computes the last layer for the first token alone, which is exact for a head that reads only that token.
Thresholds are those that do best on `tune` rows with the very graph that is written.
"""
import argparse
import hashlib
import json
import math
import pathlib
import shutil
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import nn
from torch.nn import functional as F
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


class FirstToken(nn.Module):
    """BERT by plain operations, from a Tagger's weights; only the first token passes through the last layer."""

    def __init__(self, tagger):
        super().__init__()
        cfg = tagger.body.config
        self.heads, self.size = cfg.num_attention_heads, cfg.hidden_size // cfg.num_attention_heads
        self.emb, self.layers = tagger.body.embeddings, tagger.body.encoder.layer
        self.dense, self.out = tagger.dense, tagger.out

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    def layer(self, m, x, q, mask):
        att = m.attention
        k, v = self.split(att.self.key(x)), self.split(att.self.value(x))
        w = self.split(att.self.query(q)) @ k.transpose(2, 3) / math.sqrt(self.size) + mask
        y = (torch.softmax(w, -1) @ v).transpose(1, 2).reshape(q.shape)
        y = att.output.LayerNorm(att.output.dense(y) + q)
        return m.output.LayerNorm(m.output.dense(F.gelu(m.intermediate.dense(y))) + y)

    def forward(self, input_ids, attention_mask, token_type_ids):
        e = self.emb
        at = torch.arange(input_ids.shape[1]).unsqueeze(0)
        x = e.LayerNorm(e.word_embeddings(input_ids) + e.position_embeddings(at) + e.token_type_embeddings(token_type_ids))
        mask = (1 - attention_mask[:, None, None, :].float()) * -1e4
        for m in self.layers[:-1]:
            x = self.layer(m, x, x, mask)
        x = self.layer(self.layers[-1], x, x[:, :1], mask)[:, 0]
        return self.out(torch.tanh(self.dense(x)))


INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def to_onnx(tagger, path):
    ids = torch.ones((2, 7), dtype=torch.long)
    axes = {n: {0: "batch", 1: "sequence"} for n in INPUTS}
    torch.onnx.export(FirstToken(tagger).eval(), (ids, ids, ids * 0), str(path), input_names=INPUTS, output_names=["logits"],
                      dynamic_axes={**axes, "logits": {0: "batch"}}, opset_version=17, dynamo=False)


def quantize(src, dst):
    """int8 weights per channel, activations at run time; the token table too, one scale a token."""
    quantize_dynamic(str(src), str(dst), per_channel=True, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul", "Gemm"],
                     extra_options={"MatMulConstBOnly": True})
    model = onnx.load(str(dst))
    g = model.graph
    node = next(n for n in g.node if n.op_type == "Gather" and n.input[1] == "input_ids")
    old = next(i for i in g.initializer if i.name == node.input[0])
    table = onnx.numpy_helper.to_array(old)
    scale = np.maximum(np.abs(table).max(1, keepdims=True), 1e-12).astype(np.float32) / 127
    g.initializer.remove(old)
    g.initializer.extend([onnx.numpy_helper.from_array(np.round(table / scale).astype(np.int8), "tokens_int8"),
                          onnx.numpy_helper.from_array(scale, "tokens_scale")])
    make = onnx.helper.make_node
    at = list(g.node).index(node)
    g.node.remove(node)
    for n in reversed([make("Gather", ["tokens_int8", "input_ids"], ["token_int8"]), make("Cast", ["token_int8"], ["token_float"], to=onnx.TensorProto.FLOAT),
                       make("Gather", ["tokens_scale", "input_ids"], ["token_scale"]), make("Mul", ["token_float", "token_scale"], [node.output[0]])]):
        g.node.insert(at, n)
    onnx.checker.check_model(model)
    onnx.save(model, str(dst))


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
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--precision", choices=["fp32", "int8"], default="int8")
    p.add_argument("--name", default="erreval-qg-minilm")
    p.add_argument("--version", default="2")
    p.add_argument("--graph", type=pathlib.Path, help="a graph of this checkpoint made elsewhere, as by `erreval models import`, instead of one made here")
    p.add_argument("--hf", type=pathlib.Path, help="only write the checkpoint as Hugging Face's BertForSequenceClassification to this folder")
    p.add_argument("--recipe", type=pathlib.Path, help="JSON object that goes into the manifest as `training`")
    a = p.parse_args()

    names, _ = common.taxonomy_labels(a.taxonomy)
    taxonomy = json.loads(pathlib.Path(a.taxonomy).read_text())
    tagger = common.Tagger(str(a.base), names)
    tagger.load_state_dict(torch.load(a.checkpoint))
    tagger.eval()
    if a.hf:
        return to_hf(tagger, a.base, names, a.hf)
    enc = common.Encoder(common.load_tokenizer(str(a.base)), 512)
    train, tune = common.read(a.data / "labelled_train.jsonl"), common.read(a.data / "labelled_tune.jsonl")

    a.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as tmp:
        fp32 = pathlib.Path(tmp) / "model.onnx"
        to_onnx(tagger, fp32)
        onnx.checker.check_model(str(fp32))
        if a.graph:
            shutil.copy(a.graph, a.out / "model.onnx")
        elif a.precision == "int8":
            quantize(fp32, a.out / "model.onnx")
        else:
            shutil.copy(fp32, a.out / "model.onnx")
        full, made = session(fp32), session(a.out / "model.onnx")
        z32, z = logits(full, enc, tune), logits(made, enc, tune)
    zt = common.predict(tagger, enc, tune[:64])
    print("torch against fp32 graph, largest difference of a logit:", float(np.abs(zt - z32[:64]).max()))

    y = common.targets(tune, names)
    real = np.array([r["source"] == "quizdesign" for r in tune])
    ok = names.index("No Error")
    t = metrics.tune_thresholds(metrics.sigmoid(z), y, real, ok)
    d32, d = metrics.decide(metrics.sigmoid(z32), t, ok), metrics.decide(metrics.sigmoid(z), t, ok)
    quality = {"tune_real_micro_f1": metrics.micro(d[real], y[real]), "tune_written_macro_f1": metrics.macro(d[~real], y[~real]),
               "tune_label_flips_against_fp32": (d32 != d).mean(), "tune_row_flips_against_fp32": (d32 != d).any(1).mean(),
               "tune_largest_logit_shift_against_fp32": np.abs(z - z32).max()}
    shutil.copy(a.base / "tokenizer.json", a.out / "tokenizer.json")
    cfg = tagger.body.config
    manifest = {
        "format": 1, "name": a.name, "version": a.version, "architecture": "bert", "hidden_size": cfg.hidden_size, "layers": cfg.num_hidden_layers,
        "precision": a.precision, "taxonomy": f"{taxonomy['name']}@{taxonomy['version']}", "labels": names, "fields": common.FIELDS, "join": "fields",
        "start": "[CLS]", "separator": "[SEP]", "end": "[SEP]", "pad": "[PAD]", "segments": common.SEGMENTS, "highlight": "answer", "max_tokens": 512, "activation": "sigmoid",
        "thresholds": {n: round(float(v), 3) for n, v in zip(names, t)}, "inputs": INPUTS, "output": "logits",
        "files": {n: describe(a.out / n) for n in ("model.onnx", "tokenizer.json")}, "licence": "Apache-2.0",
        "training_data": [
            {"name": "questions written for erreval (training/data)", "licence": "CC BY-SA 4.0", "rows": sum(r["source"] != "quizdesign" for r in train)},
            {"name": "Quiz Design, labelled for erreval (training/data)", "licence": "BSD-3-Clause", "rows": sum(r["source"] == "quizdesign" for r in train)},
            {"name": "simulated from these and from SQuAD 1.1 train part, FairytaleQA, QED and PolicyQA",
             "licence": "CC BY-SA 4.0; BSD-3-Clause; Apache-2.0; CC BY-SA 3.0; MIT", "rows": sum(1 for _ in open(a.data / "simulated.jsonl", encoding="utf-8"))}],
        "quality": {k: round(float(v), 4) for k, v in quality.items()},
        "probes": [{"fields": f, "logits": [round(float(v), 5) for v in row]} for f, row in zip(PROBES, logits(made, enc, PROBES))],
    }
    if a.recipe:
        manifest["training"] = json.loads(a.recipe.read_text())
    (a.out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps({**manifest["quality"], "thresholds": manifest["thresholds"], "bytes": sum(f["size"] for f in manifest["files"].values())}, indent=1))


if __name__ == "__main__":
    main()
