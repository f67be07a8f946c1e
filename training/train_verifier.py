"""Fine-tunes the default verifier: labels, question, answer, passage -> is this label set right? Resumable.

    python train_verifier.py --base DIR --taxonomy taxonomy.json --init best_A.pt --tagger manifest.json --train train.tagged.jsonl --tune tune.tagged.jsonl --out DIR

The files are labelled rows that `erreval identify` has tagged: those of `train` with a sibling of the identifier, so that the verifier does not learn
one model's mistakes alone; those of `tune` with the one that is to be verified. Wrong label sets are what the tagger said or nearly said, other rows' sets, and sets
with a label dropped or added. Every row is shown twice in a batch, with its right set and with a wrong one, so that the texts alone tell nothing. Every
choice looks at `tune`. The learning rate is paced by the processor's time, so that it does not matter what else runs.
"""
import argparse
import collections
import json
import pathlib
import random
import time

import numpy as np
import torch
from torch import nn

import common
import metrics
import window
import train


def args():
    p = argparse.ArgumentParser()
    p.add_argument("--base", required=True)
    p.add_argument("--taxonomy", required=True)
    p.add_argument("--init", required=True, help="checkpoint of the identifier, whose encoder the verifier goes on with")
    p.add_argument("--tagger", type=pathlib.Path, help="manifest of the identifier that tagged --train, for its thresholds (default: 0.5)")
    p.add_argument("--train", required=True)
    p.add_argument("--tune", required=True)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--minutes", type=float, default=100, help="of processor time, all threads together")
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--body-lr", type=float, default=6e-5)
    p.add_argument("--head-lr", type=float, default=5e-4)
    p.add_argument("--real-repeat", type=int, default=1, help="how often an epoch shows each real machine question")
    p.add_argument("--share", type=float, default=1.0, help="of the other rows that an epoch sees")
    p.add_argument("--ema", type=float, default=0.99)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--eval-minutes", type=float, default=15, help="of processor time")
    p.add_argument("--tune-step", type=int, default=2, help="look at every nth tune row only while training")
    p.add_argument("--threads", type=int, default=2)
    return p.parse_args()


def logit(p):
    return np.log(max(p, 1e-6) / max(1 - p, 1e-6))


class Wrong:
    """Makes wrong label sets: tuples of names in the taxonomy's order, ("No Error",) where there is none."""

    def __init__(self, names, rows, rng, thresholds=None, noise=2.0):
        self.names, self.ok, self.rng, self.noise = names, names[-1], rng, noise
        self.least = {n: logit((thresholds or {}).get(n, 0.5)) for n in names}
        self.pool = {real: [self.ordered(r["labels"]) for r in rows if (r["part"] != "written") == real] for real in (True, False)}
        self.errors = [l for sets in self.pool.values() for s in sets for l in s if l != self.ok]

    def ordered(self, labels):
        errors = tuple(n for n in self.names if n in labels and n != self.ok)
        return errors or (self.ok,)

    def near(self, r):
        """What the tagger said, or with noise on its logits might have said."""
        noise = self.rng.choice((0, self.noise))
        p = r["diagnosis"]["probabilities"]
        return self.ordered([n for n, v in p.items() if n != self.ok and logit(v) - self.least[n] + self.rng.gauss(0, noise) > 0])

    def other(self, r):
        return self.rng.choice(self.pool[r["part"] != "written"])

    def dropped(self, r):
        return self.ordered(self.rng.sample(r["labels"], len(r["labels"]) - 1))

    def added(self, r):
        return self.ordered([*r["labels"], self.rng.choice(self.errors)])

    def __call__(self, r):
        gold = self.ordered(r["labels"])
        for _ in range(20):
            make = self.rng.choices([self.near, self.other, self.dropped, self.added], [5, 3, 1, 1])[0]
            made = make(r)
            if made != gold:
                return made
        return (self.ok,) if gold != (self.ok,) else (self.errors[0],)


def with_set(r, labels, right):
    return {**{k: r[k] for k in ("question", "answer", "passage", "part")}, "set": ", ".join(labels), "right": right}


def tune_sets(rows, wrong):
    """Every row with its right set, with what the identifier said, and with a wrong set: rows, and which of the three each is."""
    out = []
    for r in rows:
        gold, own = wrong.ordered(r["labels"]), wrong.ordered(r["diagnosis"]["labels"])
        out += [{**with_set(r, s, float(s == gold)), "kind": kind} for kind, s in (("gold", gold), ("own", own), ("made", wrong(r)))]
    return out


def figures(p, rows):
    """Area under the curve for what the identifier said and for right against made sets, on real machine questions and on written ones."""
    right, real = np.array([r["right"] > 0 for r in rows]), np.array([r["part"] != "written" for r in rows])
    own = np.array([r["kind"] == "own" for r in rows])
    out = {}
    for name, of in (("real", real), ("written", ~real)):
        for kind, k in (("own", own), ("made", ~own)):
            out[f"auc_{kind}_{name}"] = round(float(metrics.auc(p[of & k], right[of & k])), 4)
    return {"score": round(float(np.mean(list(out.values()))), 4), **out}


def probabilities(model, enc, rows):
    """Of distinct inputs only: a row's sets are often the same."""
    keys = [(r["question"], r["answer"], r["passage"], r["set"]) for r in rows]
    distinct = list(dict.fromkeys(keys))
    z = common.predict(model, enc, [dict(zip(("question", "answer", "passage", "set"), k)) for k in distinct], bf16=True)[:, 0]
    at = dict(zip(distinct, metrics.sigmoid(z)))
    return np.array([at[k] for k in keys])


def epoch(rows, enc, wrong, a, rng):
    """Batches of like lengths in random order; rows on one passage stay near each other, a row's two versions beside each other."""
    groups = collections.defaultdict(list)
    for r in rows:
        times = a.real_repeat if r["part"] != "written" else int(rng.random() < a.share)
        for k in range(times):
            groups[r["passage"], k].append(r)
    groups = list(groups.values())
    rng.shuffle(groups)
    pairs = [(r, words) for g in groups for words in [train.budget("B", rng)] for r in g]
    for k in range(0, len(pairs), a.batch * 20):
        chunk = []
        for r, words in pairs[k : k + a.batch * 20]:
            short = window.read(r["passage"], [r["question"], r["answer"]], words)
            for labels, right in ((wrong.ordered(r["labels"]), 1.0), (wrong(r), 0.0)):
                chunk.append((len(short), enc(r["question"], r["answer"], short, labels=", ".join(labels)), right))
        chunk.sort(key=lambda c: c[0])
        batches = [chunk[i : i + a.batch] for i in range(0, len(chunk), a.batch)]
        rng.shuffle(batches)
        yield from batches


def load(a, names):
    model = common.Tagger(a.base, [common.RIGHT])
    model.body.embeddings.word_embeddings.weight.requires_grad_(False)
    start = torch.load(a.init)
    model.load_state_dict({k: v for k, v in start.items() if not k.startswith("out.")}, strict=False)
    return model


def main():
    a = args()
    a.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(a.threads)
    common.seed_all(a.seed)
    names, _ = common.taxonomy_labels(a.taxonomy)
    rows, tune = common.read(a.train), common.read(a.tune)
    enc = common.Encoder(common.load_tokenizer(a.base), 512)
    model = load(a, names)
    wrong = Wrong(names, rows, random.Random(a.seed), a.tagger and json.loads(a.tagger.read_text())["thresholds"])
    looks = tune_sets(tune[:: a.tune_step], Wrong(names, tune, random.Random(1)))
    heads = [p for n, p in model.named_parameters() if n.startswith(("dense.", "out."))]
    body = [p for n, p in model.named_parameters() if n.startswith("body.") and p.requires_grad]
    opt = torch.optim.AdamW([{"params": body, "lr": a.body_lr}, {"params": heads, "lr": a.head_lr}], weight_decay=0.01, fused=True)
    ema, state = train.Ema(model, a.ema), a.out / "state.pt"
    step, spent, best, done = 0, 0.0, -1.0, 0.0
    if state.exists():
        s = torch.load(state, weights_only=False)
        model.load_state_dict(s["model"])
        opt.load_state_dict(s["opt"])
        ema.shadow, step, spent, best = s["ema"], s["step"], s["spent"], s["best"]
    rng = wrong.rng = random.Random(a.seed * 1000 + step)  # a run that goes on sees other rows than it began with
    last, saved = spent, time.time()
    losses = collections.deque(maxlen=100)

    def minutes():
        return spent + time.process_time() / 60

    def log(d):
        d = {"step": step, "minutes": round(minutes(), 1), "loss": round(float(np.mean(losses)), 4), **d}
        print(json.dumps(d), flush=True)
        with open(a.out / "log.jsonl", "a", encoding="utf-8") as f:
            f.write(json.dumps(d) + "\n")

    def look():
        nonlocal best
        ema.swap()
        res = figures(probabilities(model, enc, looks), looks)
        log(res)
        if res["score"] > best:
            best = res["score"]
            torch.save(model.state_dict(), a.out / "best.pt")
        ema.swap()

    def save():
        torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "ema": ema.shadow, "step": step, "best": best, "spent": minutes()}, state.with_suffix(".tmp"))
        state.with_suffix(".tmp").rename(state)

    base = [g["lr"] for g in opt.param_groups]
    while done < 1:
        for b in epoch(rows, enc, wrong, a, rng):
            done = minutes() / a.minutes
            if done >= 1:
                break
            for g, lr in zip(opt.param_groups, base):
                g["lr"] = lr * train.schedule(done, 0.05, 0.0)
            with torch.autocast("cpu", torch.bfloat16):
                z = model.logits(*common.collate([x[1] for x in b], enc.pad))
            loss = nn.functional.binary_cross_entropy_with_logits(z.float()[:, 0], torch.tensor([x[2] for x in b]))
            loss.backward()
            nn.utils.clip_grad_norm_(body + heads, 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
            ema.update()
            step += 1
            losses.append(loss.item())
            if step % 50 == 0:
                log({"done": round(done, 3)})
            if minutes() - last > a.eval_minutes:
                look()
                last = minutes()
            if time.time() - saved > 300:
                save()
                saved = time.time()
    look()
    save()


if __name__ == "__main__":
    main()
