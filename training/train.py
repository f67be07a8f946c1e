"""Fine-tunes the tagger in two phases; resumable, checkpoints every few minutes.

    python train.py --base DIR --data DIR --taxonomy taxonomy.json --out DIR

Phase A teaches question-answer agreement on simulated errors of right questions, with a second loss that points at the
true answer in the passage, with all labelled questions among them. Phase B teaches all labels on the labelled questions, those
of real systems at several times their share. Every choice looks at `tune` rows only.
--sentences (sentences.py makes them) keeps the vectors of single sentences, which `discover` groups by, like a sentence encoder's.
--teacher, rows in the order of labelled_train.jsonl that `erreval identify` has tagged, mixes a model's probabilities into the targets.
The answer is dropped from a share of the rows, in which nothing can then be said of Off Target Answer: it has no part in their loss.
A phase ends after --steps, or after --minutes of it if that comes first; both pace the learning rate (the steps made are logged).
"""
import argparse
import collections
import difflib
import itertools
import json
import multiprocessing
import pathlib
import random
import time

import numpy as np
import torch
from torch import nn

import common
import metrics

OTA = "Off Target Answer"
RARE = 200  # rows: a label that fewer real questions have is rare

def args():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--data", required=True, type=pathlib.Path)
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--steps", type=int, nargs=2, default=[2000, 2000], help="optimizer steps of phase A and B")
    p.add_argument("--minutes", type=float, nargs=2, help="minutes of phase A and B, at most")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--body-lr", type=float, nargs=2, default=[1e-4, 6e-5])
    p.add_argument("--head-lr", type=float, nargs=2, default=[1e-3, 5e-4])
    p.add_argument("--repeat", type=int, nargs=2, default=[2, 1], help="how often an epoch of phase A and B shows each question of a real system")
    p.add_argument("--rare", type=int, default=3, help="how often in place of once an epoch shows a real question with an error that real ones seldom have")
    p.add_argument("--written", type=float, nargs=2, default=[1.0, 0.25], help="share of the written questions in an epoch of phase A and B")
    p.add_argument("--simulated", type=float, nargs=2, default=[0.5, 0.05], help="share of the simulated rows in an epoch of phase A and B")
    p.add_argument("--real-share", type=float, default=1.0, help="share of the passages of real systems that are trained on: for learning curves")
    p.add_argument("--drop-answer", type=float, default=0.12, help="share of the rows that are shown without their answer")
    p.add_argument("--dropout", type=float, nargs=2, default=[0.0, 0.1], help="in the encoder, between its parts, in phase A and B; costs a fifth of the speed")
    p.add_argument("--sentences", help="texts and their vectors, whose similarities half of the encoder's layers learn to give")
    p.add_argument("--teacher", help="the labelled rows of `train`, tagged by another model")
    p.add_argument("--teacher-share", type=float, default=0.3, help="the teacher's part of a target; the label's is the rest")
    p.add_argument("--init", help="begin phase A with the weights of this checkpoint")
    p.add_argument("--start", help="skip phase A and start phase B from this checkpoint")
    p.add_argument("--ema", type=float, default=0.995)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--eval-minutes", type=float, default=8)
    p.add_argument("--tune-step", type=int, default=1, help="look at every nth tune row only while training (a look at all takes a minute)")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--device", default="cpu", help="cpu, or cuda, where another process makes the batches")
    return p.parse_args()


def simulated(path, codes, rng):
    rows = common.read(path)
    for r in rows:
        r["labels"] = [codes[c] for c in r["labels"]]
    # Privacy-policy questions are templates over few wordings: a quarter of them is enough.
    return [r for r in rows if r["source"] != "policyqa" or rng.random() < 0.25]


def labelled(path, teacher=None, names=()):
    rows = common.read(path)
    for r, taught in zip(rows, common.read(teacher), strict=True) if teacher else ():
        r["taught"] = torch.tensor([taught["diagnosis"]["probabilities"][n] for n in names])
    for r in rows:
        if not set(r["labels"]) & {"Off Target Answer", "Information Not Mentioned", "Off Topic", "Factual Error", "Incomplete",
                                   "Not A Question", "Vague"}:
            r["target"] = r["answer"]
    right = collections.defaultdict(list)
    for r in rows:
        if r["labels"] == ["No Error"]:
            r["original"] = r["question"]
            right[r["passage"], r["answer"]].append(r["question"])
    for r in rows:  # a minimal pair tells which words are wrong
        near = right[r["passage"], r["answer"]] if len(r["labels"]) == 1 and r["labels"][0] in ("Grammar Error", "Factual Error", "Spell Error") else []
        best = max(near, key=lambda q: difflib.SequenceMatcher(None, q.split(), r["question"].split()).ratio(), default="")
        if best and "original" not in r and difflib.SequenceMatcher(None, best.split(), r["question"].split()).ratio() > 0.6:
            r["original"] = best
    return rows


def budget(phase, rng):
    """Words of the reading window: mostly those of use, sometimes more."""
    x = rng.random()
    return 60 if x < (0.7 if phase == "A" else 0.55) else 90 if x < 0.85 else 130


def answerless(labels, names):
    """Targets and weights of a row whose answer is not shown: Off Target Answer is neither right nor wrong, and No Error is what is left."""
    y = torch.zeros(len(names))
    for l in [l for l in labels if l != OTA] or ["No Error"]:
        y[names.index(l)] = 1
    weight = torch.ones(len(names))
    weight[names.index(OTA)] = 0
    return y, weight


def shown(r, phase, words, enc, names, drop, share, rng):
    """One training example: its ids and marks, targets, and the weight of each label in the loss."""
    if rng.random() < drop:
        item = enc(r["question"], "", r["passage"], r.get("target", ""), r.get("original", ""), words=words)
        return item, *answerless(r["labels"], names)
    item = enc(r["question"], r["answer"], r["passage"], r.get("target", ""), r.get("original", ""), words=words)
    y = torch.zeros(len(names))
    for l in r["labels"]:
        y[names.index(l)] = 1
    if "taught" in r:
        y = (1 - share) * y + share * r["taught"]
    return item, y, torch.ones(len(names))


def epoch(rows, phase, enc, names, a, rng):
    """Batches of like lengths, in random order. Rows on one passage stay near each other, so that a batch holds right and
    wrong versions of one question: what differs between them is all that the gradient sees. A row's repetitions are apart."""
    groups, times = collections.defaultdict(list), collections.Counter()
    for r in rows:
        times[id(r)] += 1
        groups[r["passage"], times[id(r)]].append(r)
    groups = list(groups.values())
    rng.shuffle(groups)
    rows = [(r, words) for g in groups for words in [budget(phase, rng)] for r in g]
    for k in range(0, len(rows), a.batch * 40):
        chunk = [shown(r, phase, words, enc, names, a.drop_answer, a.teacher_share, rng) for r, words in rows[k : k + a.batch * 40]]
        chunk.sort(key=lambda c: len(c[0][0]))
        batches = [chunk[i : i + a.batch] for i in range(0, len(chunk), a.batch)]
        rng.shuffle(batches)
        yield from batches


def forever(draw, phase, enc, names, a, rng):
    """Batches of one epoch after the other."""
    while True:
        yield from epoch(draw(rng), phase, enc, names, a, rng)


def ahead(batches, n=64):
    """The same batches, made by another process: a GPU is faster than what makes them."""
    queue = multiprocessing.get_context("fork").Queue(n)

    def fill():
        for b in batches:
            queue.put([(item, y.numpy(), weight.numpy()) for item, y, weight in b])

    multiprocessing.get_context("fork").Process(target=fill, daemon=True).start()
    while True:
        yield [(item, torch.from_numpy(y), torch.from_numpy(weight)) for item, y, weight in queue.get()]


def schedule(done, warm, floor):
    """Linear warm-up over `warm` of the phase, then linear decay to `floor`."""
    return done / warm if done < warm else floor + (1 - floor) * (1 - done) / (1 - warm)


def wrong_words(logits, known):
    """Cross entropy over the question's tokens of the rows in which the wrong words are known; the few wrong ones count fourfold."""
    y, weight = torch.zeros(logits.shape), torch.zeros(logits.shape)
    for i, k in enumerate(known):
        if k:
            y[i, 1 : 1 + len(k)], weight[i, 1 : 1 + len(k)] = torch.tensor(k), 1
    weight = (weight * (1 + 3 * y)).to(logits.device)
    n = max(sum(len(k) for k in known if k), 1)
    return nn.functional.binary_cross_entropy_with_logits(logits, y.to(logits.device), weight, reduction="sum") / n


class Sentences:
    """Draws sentences and says how far the encoder's similarities are from those of their vectors."""

    def __init__(self, path, enc, seed, n=32):
        file = np.load(path, allow_pickle=True)
        self.texts, self.vectors, self.enc, self.n = file["t"], torch.from_numpy(file["v"].astype(np.float32)), enc, n
        self.rng = random.Random(seed)

    def loss(self, body, device):
        chosen = self.rng.sample(range(len(self.texts)), self.n)
        items = []
        for i in chosen:  # as the identifier embeds a text: one field
            ids = [self.enc.cls, *self.enc.ids(str(self.texts[i])).ids[:64], self.enc.sep]
            items.append((ids, [common.SEGMENTS[0]] * len(ids)))
        ids, mask, seg = (t.to(device) for t in common.collate(items, self.enc.pad))
        x = body.embeddings(input_ids=ids, token_type_ids=seg)
        apart = (1 - mask[:, None, None, :].to(x.dtype)) * -1e4
        for layer in body.encoder.layer[: len(body.encoder.layer) // 2]:
            x = layer(x, apart)
            x = x[0] if isinstance(x, tuple) else x
        mean = (x.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        unit = nn.functional.normalize(mean - mean.mean(0), dim=1)
        goal = self.vectors[chosen].to(device)
        return ((unit @ unit.T - goal @ goal.T) ** 2).mean()


class Ema:
    def __init__(self, model, decay):
        self.decay, self.params = decay, [p for p in model.parameters() if p.requires_grad]
        self.shadow = [p.detach().clone() for p in self.params]

    def update(self):
        torch._foreach_lerp_(self.shadow, [p.detach() for p in self.params], 1 - self.decay)

    def swap(self):
        for p, s in zip(self.params, self.shadow):
            t = p.detach().clone()
            p.data.copy_(s)
            s.copy_(t)


def mean(losses):
    loss, span, word, alike = torch.stack(list(losses)).nanmean(0).tolist() if losses else [0.0] * 4
    return {"loss": round(loss, 4), "span": round(span, 3), "words": round(word, 4), "sentences": round(alike, 4)}


def evaluate(model, enc, tune, names, log, **what):
    started = time.time()
    z = common.predict(model, enc, tune, bf16=True)
    y = common.targets(tune, names)
    res = metrics.summary(z, y, np.array([r["part"] for r in tune]), names)
    log({**what, **res, "eval_s": round(time.time() - started)})
    return res["score"]


def run(phase, model, enc, draw, tune, names, a, out, log, sentences=None):
    """One phase; draw(rng) gives an epoch's rows."""
    k = "AB".index(phase)
    for n, m in model.body.named_modules():
        if isinstance(m, nn.Dropout) and not n.endswith("self.dropout"):
            m.p = a.dropout[k]
    device = next(model.parameters()).device
    batches = forever(draw, phase, enc, names, a, random.Random(a.seed * 10 + k))
    if device.type == "cuda":
        batches = ahead(batches)
    heads = [p for n, p in model.named_parameters() if not n.startswith("body.")]
    body = [p for n, p in model.named_parameters() if n.startswith("body.") and p.requires_grad]
    opt = torch.optim.AdamW([{"params": body, "lr": a.body_lr[k]}, {"params": heads, "lr": a.head_lr[k]}], weight_decay=0.01, fused=True)
    base = [g["lr"] for g in opt.param_groups]
    ema = Ema(model, a.ema)
    ce = nn.CrossEntropyLoss(ignore_index=-100)
    step, spent, best = 0, 0.0, -1.0
    state = out / f"state_{phase}.pt"
    if state.exists():
        s = torch.load(state, weights_only=False, map_location=device)
        model.load_state_dict(s["model"])
        opt.load_state_dict(s["opt"])
        ema.shadow, step, spent, best = s["ema"], s["step"], s["spent"], s["best"]
        if s["done"]:
            return
    skip, started, last = step, time.time(), time.time()
    losses = collections.deque(maxlen=100)

    def save(done):
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "ema": ema.shadow, "step": step, "best": best,
                    "spent": spent + time.time() - started, "done": done}, state.with_suffix(".tmp"))
        state.with_suffix(".tmp").rename(state)

    def look():
        nonlocal best
        ema.swap()
        score = evaluate(model, enc, tune, names, log, phase=phase, step=step, minutes=round((spent + time.time() - started) / 60, 1),
                         **mean(losses))
        if score > best or phase == "A":
            best = score
            torch.save(model.state_dict(), out / f"best_{phase}.pt")
        ema.swap()

    for b in itertools.islice(batches, skip, None):
        done = max(step / a.steps[k] if a.steps[k] else 1, (spent + time.time() - started) / 60 / a.minutes[k] if a.minutes else 0)
        if done >= 1:
            break
        f = schedule(done, 0.05, 0.25 if phase == "A" else 0.0)
        for g, lr in zip(opt.param_groups, base):
            g["lr"] = lr * f
        items = [x[0] for x in b]
        ids, mask, seg = (t.to(device) for t in common.collate(items, enc.pad))
        with torch.autocast(device.type, torch.bfloat16):
            z, x = model(ids, mask, seg)
            s, w = model.span(x), model.wrong(x)[..., 0]
            alike = sentences.loss(model.body, device) if sentences else torch.zeros((), device=device)
        y, weight = (torch.stack([x[i] for x in b]).to(device) for i in (1, 2))
        loss = nn.functional.binary_cross_entropy_with_logits(z.float(), y, weight, reduction="sum") / weight.sum()
        s = s.float().masked_fill(mask[..., None] == 0, -1e4)
        at = torch.tensor([i[2] for i in items])
        known = (at[:, 0] >= 0).any()
        at = at.to(device)
        extra = (ce(s[..., 0], at[:, 0]) + ce(s[..., 1], at[:, 1])) / 2 if known else torch.zeros((), device=device)
        word = wrong_words(w.float(), [i[3] for i in items])
        ((loss * (3 if phase == "A" else 5)) + (0.5 if phase == "A" else 0.2) * extra + word + 10 * alike).backward()
        nn.utils.clip_grad_norm_(body + heads, 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        ema.update()
        step += 1
        losses.append(torch.stack([loss.detach(), extra.detach() if known else torch.full_like(loss, float("nan")), word.detach(),
                                   alike.detach().float()]))
        if step % 50 == 0:
            log({"phase": phase, "step": step, "minutes": round((spent + time.time() - started) / 60, 1), "done": round(done, 3), **mean(losses)})
        if time.time() - last > a.eval_minutes * 60:
            look()
            save(False)
            last = time.time()
    look()
    save(True)


def main():
    a = args()
    a.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(a.threads)
    common.seed_all(a.seed)
    names, codes = common.taxonomy_labels(a.taxonomy)

    def log(d):
        print(json.dumps(d), flush=True)
        with open(a.out / "log.jsonl", "a", encoding="utf-8") as f:
            f.write(json.dumps(d) + "\n")

    rng = random.Random(a.seed)
    sim = simulated(a.data / "simulated.jsonl", codes, rng)
    rows = labelled(a.data / "labelled_train.jsonl", a.teacher, names)
    real = [r for r in rows if r["part"] != "written"]
    if a.real_share < 1:
        passages = sorted({r["passage"] for r in real})
        keep = set(rng.sample(passages, round(a.real_share * len(passages))))
        real = [r for r in real if r["passage"] in keep]
    count = collections.Counter(l for r in real for l in r["labels"])
    real += [r for r in real if any(count[l] < RARE for l in r["labels"])] * (a.rare - 1)
    written = [r for r in rows if r["part"] == "written"]
    tune = common.read(a.data / "labelled_tune.jsonl")[:: a.tune_step]

    def draw(k):
        return lambda rng: real * a.repeat[k] + rng.sample(written, int(a.written[k] * len(written))) + rng.sample(sim, int(a.simulated[k] * len(sim)))

    enc = common.Encoder(common.load_tokenizer(a.base), 512, common.WINDOW)
    model = common.Tagger(a.base, names)
    # The embedding table is half of the weights and dense gradients through it cost more than they teach.
    model.body.embeddings.word_embeddings.weight.requires_grad_(False)
    log({"simulated": len(sim), "written": len(written), "real": len(real), "tune": len(tune), "options": {k: str(v) for k, v in vars(a).items()}})
    model.to(a.device)
    if a.init:
        model.load_state_dict(torch.load(a.init, map_location=a.device), strict=False)
    sentences = Sentences(a.sentences, enc, a.seed) if a.sentences else None
    if not a.start:
        run("A", model, enc, draw(0), tune, names, a, a.out, log, sentences)
    model.load_state_dict(torch.load(a.start or a.out / "best_A.pt", map_location=a.device), strict=False)
    run("B", model, enc, draw(1), tune, names, a, a.out, log, sentences)


if __name__ == "__main__":
    main()
