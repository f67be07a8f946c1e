"""Makes a torch checkpoint again of an int8 graph that `erreval models import` wrote, so that training goes on from what was released.

    python restore.py --base DIR --model DIR --taxonomy taxonomy.json --out start.pt [--check rows.jsonl]

Weights are codes times scales; channels that the converter divided are multiplied back. Layer 5's key bias, which the graph
does not need, is 0; the two heads that only training uses are not in the graph and begin anew. --check compares logits.
"""
import argparse
import json
import pathlib

import numpy as np
import onnx
import torch
from onnx import numpy_helper

import common
import export


def tensors(graph):
    """Name to array, quantised weights restored, in torch's layout [out, in]."""
    raw = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    out = {}
    for name, v in raw.items():
        if name.endswith(".int8"):
            name = name.removesuffix(".int8")
            v = v.astype(np.float32) * raw[name + ".scale"]
            if v.ndim == 3:  # per head
                v = v.reshape(-1, v.shape[2])
            elif not name.endswith("embeddings.weight"):
                v = v.T
            out[name] = restore_inputs(name, v, raw)
        elif not name.startswith("constant_") and not name.endswith((".scale", ".inverse", ".apart")):
            out[name] = v.copy()
    return out


def restore_inputs(name, v, raw):
    """Multiplies divided input channels back, and puts those that are computed apart in their places."""
    layer = name.removesuffix(".weight")
    # Query, key and value share their inputs, and so the query's divisors; the last layer's key and value have none.
    if layer.endswith((".key", ".value")) and raw[name + ".int8"].ndim == 2:
        layer = layer.rsplit(".", 1)[0] + ".query"
    inverse = raw.get(layer + ".inverse")
    if inverse is None:
        return v
    v = v * inverse
    if name + ".apart" in raw:
        v[:, inverse == 0] = raw[name + ".apart"].T
    return v


def state(model_dir):
    """The tagger's state dict, as common.Tagger names it."""
    out = {}
    for name, v in tensors(onnx.load(str(model_dir / "model.onnx")).graph).items():
        name = name.replace("bert.pooler.dense.", "dense.").replace("classifier.", "out.").replace("bert.", "body.")
        out[name] = torch.from_numpy(np.ascontiguousarray(v, np.float32))
    for name in [n for n in out if n.endswith(".query.bias")]:
        key = name.replace(".query.", ".key.")
        out.setdefault(key, torch.zeros_like(out[name]))
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--model", required=True, type=pathlib.Path, help="a model directory, such as models/embedded/default")
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--check", type=pathlib.Path, help="rows whose logits are compared with the graph's")
    a = p.parse_args()
    names = json.loads((a.model / "manifest.json").read_text())["labels"]
    if names != common.taxonomy_labels(a.taxonomy)[0]:
        p.error(f"{a.model} was trained for other labels than {a.taxonomy}")
    tagger, weights = common.Tagger(a.base, names), state(a.model)
    missing, unexpected = tagger.load_state_dict(weights, strict=False)
    if unexpected or {n.split(".")[0] for n in missing} - {"span", "wrong"}:
        raise SystemExit(f"restore.py: {a.model} does not fit {a.base}: missing {missing}, unexpected {unexpected}")
    torch.save(weights, a.out)
    if a.check:
        enc = common.Encoder(common.load_tokenizer(a.base), 512)
        rows = common.read(a.check)
        difference = np.abs(common.predict(tagger, enc, rows) - export.logits(export.session(a.model / "model.onnx"), enc, rows))
        print(json.dumps({"rows": len(rows), "mean_logit_difference": round(float(difference.mean()), 4), "largest": round(float(difference.max()), 4)}))


if __name__ == "__main__":
    main()
