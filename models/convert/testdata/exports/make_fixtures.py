"""Exports tiny random classifiers with torch.onnx, with the logits that torch gives for them.

    python make_fixtures.py        # torch, transformers, onnx; onnxscript for the dynamo exporter

Each directory holds what Optimum would leave: model.onnx, config.json, and reference.json as one folder up.
"""
import gzip
import json
import pathlib
import shutil
import sys
import warnings

import onnx
import torch
import transformers as t

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from make_fixtures import record, rough  # noqa: E402

LABELS = 3
SIZE = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, vocab_size=120)
NAMES = {i: f"type {i}" for i in range(LABELS)}
COMMON = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="multi_label_classification")


class Logits(torch.nn.Module):
    """Inputs by position, as the exporters want them."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model, self.inputs = model, inputs

    def forward(self, *tensors):
        return self.model(**dict(zip(self.inputs, tensors))).logits


def make(name, model, pad, types=False, opset=17, dynamo=False):
    model.eval()
    rough(model)
    model.bfloat16().float()  # half of each number is zeros, which compress
    reference = record(model, pad, 20, types)
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * types
    ids = torch.arange(3, 17).reshape(2, 7)
    feed = (ids, torch.ones_like(ids), torch.zeros_like(ids))[:len(inputs)]
    path = out / "model.onnx"
    how = dict(input_names=inputs, output_names=["logits"], dynamo=dynamo)
    if dynamo:
        free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        torch.onnx.export(Logits(model, inputs).eval(), feed, path, dynamic_shapes=(tuple(free for _ in inputs),), external_data=False, verbose=False, **how)
        strip(path)
    else:
        axes = {i: {0: "batch", 1: "sequence"} for i in inputs} | {"logits": {0: "batch"}}
        torch.onnx.export(Logits(model, inputs).eval(), feed, path, opset_version=opset, dynamic_axes=axes, **how)
    path.with_suffix(".onnx.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    model.config.architectures = [type(model).__name__]
    model.config.to_json_file(out / "config.json")
    (out / "reference.json").write_text(json.dumps(reference) + "\n")


def strip(path):
    """Leaves out what the dynamo exporter notes of the source code, with paths of this machine."""
    m = onnx.load(path)
    for n in m.graph.node:
        del n.metadata_props[:]
        n.doc_string = ""
    del m.graph.value_info[:], m.graph.metadata_props[:], m.metadata_props[:], m.functions[:]
    for v in [*m.graph.input, *m.graph.output, *m.graph.initializer]:
        del v.metadata_props[:]
    onnx.save(m, path)


def main():
    warnings.simplefilter("ignore")
    eager, sdpa = dict(attn_implementation="eager"), dict(attn_implementation="sdpa")
    bert = lambda **k: t.BertForSequenceClassification(t.BertConfig(**SIZE, max_position_embeddings=20, **COMMON, **k))
    roberta = lambda **k: t.RobertaForSequenceClassification(
        t.RobertaConfig(**SIZE, max_position_embeddings=22, type_vocab_size=1, layer_norm_eps=1e-5, **COMMON, **k))
    distil = lambda **k: t.DistilBertForSequenceClassification(
        t.DistilBertConfig(dim=16, n_layers=2, n_heads=2, hidden_dim=24, vocab_size=120, max_position_embeddings=20, **COMMON, **k))
    make("bert", bert(**eager), 0, types=True)
    make("bert-14", bert(**sdpa, hidden_act="gelu_new"), 0, types=True, opset=14)  # normalisation in its parts
    make("bert-untyped", bert(**eager), 0)
    make("bert-dynamo", bert(**sdpa), 0, types=True, dynamo=True)
    make("roberta", roberta(**sdpa), 1)
    make("roberta-dynamo", roberta(**eager), 1, dynamo=True)
    make("distilbert", distil(**sdpa), 0)
    make("distilbert-dynamo", distil(**eager), 0, dynamo=True)


if __name__ == "__main__":
    main()
