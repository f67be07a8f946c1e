"""What training, calibration and export share: the input layout, the model and batches."""
import difflib
import json
import random
import re

import numpy as np
import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoTokenizer

import window

FIELDS = ["question", "answer", "passage"]
# Token type of each field: the answer stands out from the two texts around it.
SEGMENTS = [0, 1, 0]
# Words of the passage that the identifier reads, chosen on `tune`.
WINDOW = 60
# The verifier reads the labels before them; "Right Labels" is its one logit.
VERIFIER_FIELDS, VERIFIER_SEGMENTS, RIGHT = ["labels", *FIELDS], [0, *SEGMENTS], "Right Labels"


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def taxonomy_labels(path):
    """Names and codes in the taxonomy's order, from `erreval taxonomy show --json`."""
    with open(path, encoding="utf-8") as f:
        types = json.load(f)["types"]
    return [t["name"] for t in types], {t["code"]: t["name"] for t in types}


class Tagger(nn.Module):
    """Encoder, a head on the first token, and two for training alone: one points at the true answer, one at the wrong words.

    Those two read the last layer but one, so that the last can bring what they find to the first token.
    """

    def __init__(self, base, labels, **config):
        super().__init__()
        cfg = AutoConfig.from_pretrained(base, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **config)
        self.body = AutoModel.from_pretrained(base, config=cfg, attn_implementation="eager")
        h = cfg.hidden_size
        self.dense, self.body.pooler = self.body.pooler.dense, None
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(h, len(labels))
        self.span = nn.Linear(h, 2)
        self.wrong = nn.Linear(h, 1)

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = self.body(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids, output_hidden_states=True).hidden_states
        return self.out(self.drop(torch.tanh(self.dense(x[-1][:, 0])))), x[-2]

    def logits(self, input_ids, attention_mask, token_type_ids):
        return self(input_ids, attention_mask, token_type_ids)[0]


def load_tokenizer(base):
    t = AutoTokenizer.from_pretrained(base).backend_tokenizer
    t.no_truncation()
    t.no_padding()
    t.encode_special_tokens = True  # user text cannot forge a boundary
    return t


class Encoder:
    """Rows to ids, segments and the target's token span; the layout is the manifest's `join: fields`. With labels it is the verifier's.

    `words` is the length of the reading window, 0 for none; `ends` words at either end of it are always read.
    """

    def __init__(self, tokenizer, max_tokens, words=0, ends=0):
        self.t, self.max, self.words, self.ends = tokenizer, max_tokens, words, ends
        self.cls, self.sep, self.pad = (tokenizer.token_to_id(x) for x in ("[CLS]", "[SEP]", "[PAD]"))

    def ids(self, text):
        return self.t.encode(text, add_special_tokens=False)

    def __call__(self, question, answer, passage, target="", original="", labels=None, words=None):
        words = self.words if words is None else words
        passage = window.read(passage, [question, answer], words, self.ends) if words else passage
        texts, segments = [question, answer, passage], SEGMENTS
        if labels is not None:
            texts, segments = [labels, *texts], VERIFIER_SEGMENTS
        parts = [self.ids(t) for t in texts]
        lens = [len(p.ids) for p in parts]
        over = sum(lens) + len(parts) + 1 - self.max
        for i in reversed(range(len(parts))):  # the last field is cut first
            cut = max(0, min(over, lens[i]))
            lens[i] -= cut
            over -= cut
        ids, seg = [self.cls], [segments[0]]
        for p, n, s in zip(parts, lens, segments):
            ids += p.ids[:n] + [self.sep]
            seg += [s] * (n + 1)
        at = len(ids) - 1 - lens[-1]  # where the passage begins
        self.highlight(ids, seg, at, lens[-2])
        return ids, seg, self.find(target, passage, parts[-1], lens[-1], at), self.changed(question, original, parts[-3], lens[-3])

    @staticmethod
    def highlight(ids, seg, at, n):
        """Gives the answer's token type to the places in the passage where its tokens stand: the manifest's `highlight`."""
        answer = ids[at - 1 - n : at - 1]
        i, end = at, len(ids) - 1
        while answer and i + len(answer) <= end:
            if ids[i] == answer[0] and ids[i : i + len(answer)] == answer:
                seg[i : i + len(answer)] = [SEGMENTS[1]] * len(answer)
                i += len(answer)
            else:
                i += 1

    @staticmethod
    def changed(question, original, enc, n):
        """For each token of the question, 1 where its word differs from the original's (also behind a word left out); None if unknown."""
        if not original:
            return None
        a, b = original.split(), question.split()
        words = set()
        for op, _, _, lo, hi in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            if op == "delete":
                words.add(min(lo, len(b) - 1))
            elif op != "equal":
                words.update(range(lo, hi))
        at = [m.span() for m in re.finditer(r"\S+", question)]
        return [float(any(at[w][0] < hi and at[w][1] > lo for w in words)) for lo, hi in enc.offsets[:n]]

    @staticmethod
    def find(target, passage, enc, n, offset):
        at = passage.lower().find(target.lower()) if target else -1
        if at < 0:
            return -100, -100
        end = at + len(target)
        tok = [i for i, (a, b) in enumerate(enc.offsets[:n]) if a < end and b > at]
        return (tok[0] + offset, tok[-1] + offset) if tok else (-100, -100)


def collate(items, pad):
    n = (max(len(x[0]) for x in items) + 7) // 8 * 8  # few shapes: each is compiled once
    ids = torch.full((len(items), n), pad)
    seg = torch.zeros((len(items), n), dtype=torch.long)
    mask = torch.zeros((len(items), n), dtype=torch.long)
    for i, (x, s, *_) in enumerate(items):
        ids[i, : len(x)] = torch.tensor(x)
        seg[i, : len(x)] = torch.tensor(s)
        mask[i, : len(x)] = 1
    return ids, mask, seg


@torch.no_grad()
def predict(model, enc, rows, batch=16, bf16=False):
    """Logits of whole rows, in order."""
    model.eval()
    device = next(model.parameters()).device
    items = [enc(r["question"], r["answer"], r["passage"], labels=r.get("set")) for r in rows]
    order = sorted(range(len(rows)), key=lambda i: len(items[i][0]))
    out = np.zeros((len(rows), model.out.out_features), np.float32)
    for k in range(0, len(order), batch):
        idx = order[k : k + batch]
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            z = model.logits(*(t.to(device) for t in collate([items[i] for i in idx], enc.pad)))
        out[idx] = z.float().cpu().numpy()
    model.train()
    return out


def targets(rows, names):
    y = np.zeros((len(rows), len(names)), np.float32)
    for i, r in enumerate(rows):
        for l in r["labels"]:
            y[i, names.index(l)] = 1
    return y


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
