"""What experiment.py's heads see of a row: the raw encoder's view of its texts, and counts of words that need no model."""
import re

import numpy as np
import torch
from torch import nn

import common
import window

WH = ["what", "who", "whom", "whose", "when", "where", "why", "how", "which"]
VAGUE = {"it", "they", "he", "she", "him", "her", "his", "their", "its", "this", "that", "these", "those", "them"}
AUXILIARY = {"is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would", "be", "been"}


@torch.no_grad()
def embed(texts, base):
    """Mean of the last layer over the tokens, of length 1: what the raw encoder was made to give."""
    model, t = common.AutoModel.from_pretrained(base).eval(), common.load_tokenizer(base)
    ids = [t.encode(x).ids[:510] for x in texts]
    out = np.zeros((len(texts), model.config.hidden_size), np.float32)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    for k in range(0, len(order), 32):
        part = order[k : k + 32]
        x, mask, _ = common.collate([(ids[i], [0] * len(ids[i])) for i in part], 0)
        h = model(input_ids=x, attention_mask=mask).last_hidden_state
        h = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        out[part] = nn.functional.normalize(h).numpy()
    return out


def words(text):
    return re.findall(r"\w+", text.lower())


def share(x, y):
    return len(set(x) & set(y)) / max(len(set(x)), 1)


def copied(q, p):
    """Length of the longest run of words that question and passage share, as a part of the question."""
    text = " " + " ".join(p) + " "
    best = 0
    for i in range(len(q)):
        while i + best < len(q) and " " + " ".join(q[i : i + best + 1]) + " " in text:
            best += 1
    return best / max(len(q), 1), best / 10


def lexical(r, near):
    q, a, p, n = words(r["question"]), words(r["answer"]), words(r["passage"]), words(near)
    asks = [w in q for w in WH]
    number, name = bool(re.search(r"\d", r["answer"])), bool(re.match(r"(the )?[A-Z]", r["answer"]))
    c = [w for w in q if w not in window.STOP]
    end = r["question"].rstrip()[-1:]
    return [share(q, p), share(c, p), share(c, n), share(a, q), share(c, a), len(q) / 20, len(a) / 20, len(r["answer"]) / 100, end == "?", end == ".", end.isalnum(),
            r["question"].count("?") > 1, not any(asks), sum(asks), q[:1] and q[0] in WH, q[:1] and q[0] in AUXILIARY, share(q, VAGUE) > 0, len(set(q) & VAGUE) / 3,
            any(x == y for x, y in zip(q, q[1:])), len(set(q)) / max(len(q), 1), *copied(q, p), *asks, number, name, asks[4] and not number, (asks[1] or asks[3]) and not name,
            "many" in q and not number, share(c[-3:], n), sum(len(w) > 2 and w not in p for w in c) / 5, r["question"].count(",") / 2, len(n) / max(len(p), 1)]


def scale(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


def features(rows, base, width=128):
    """Question, answer and the sentences with the answer, their products and differences as `width` principal components; similarities and counts."""
    near = []
    for r in rows:
        sents = re.split(r"(?<=[.!?])\s+|\n+", r["passage"])
        near.append(" ".join(s for s in sents if r["answer"].lower() in s.lower()) or r["passage"])
    texts = list(dict.fromkeys([t for r, n in zip(rows, near) for t in (r["question"], r["answer"], r["passage"], n)]))
    e = dict(zip(texts, embed(texts, base)))
    q, a, p, n = (np.array([e[t] for t in column]) for column in ([r["question"] for r in rows], [r["answer"] for r in rows], [r["passage"] for r in rows], near))
    cos = np.stack([(x * y).sum(1) for x, y in ((q, a), (q, p), (q, n), (a, n))], 1)
    few = np.array([[float(bool(v)) if isinstance(v, (bool, list)) else v for v in lexical(r, s)] for r, s in zip(rows, near)], np.float32)
    big = scale(np.concatenate([q, a, q * a, np.abs(q - a), q * n, np.abs(q - n)], 1))
    u, s, _ = np.linalg.svd(big - big.mean(0), full_matrices=False)
    return np.concatenate([scale(np.concatenate([cos, few], 1)), 0.5 * u[:, :width] * s[:width] / s[0] * np.sqrt(len(rows))], 1).astype(np.float32)
