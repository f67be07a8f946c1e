#!/usr/bin/env python3
"""Fine-tunes an identifier or a verifier from any Hugging Face encoder: what `erreval refine train` runs.

    python finetune.py config.json

needs torch and transformers, and record_logits.py and window.py beside it: the layout of a row is the one that `erreval models import --verify` compares with.
Standard output carries one JSON object a line of progress, such as
{"step": 20, "steps": 400, "epoch": 1, "loss": 0.31, "dev_micro_f1": 0.52, "seconds": 61}; everything else goes to
standard error. Stopped at any point, it goes on when it is run again with the same config.json, and ends with the same
weights. config.json:

  task        "identifier": rows -> labels; "verifier": labels and row -> is this label set right
  encoder     folder or hub name; init: folder of a checkpoint to begin with instead, or ""
  fields      the task's text fields in the taxonomy's order (the verifier's `labels` goes before them by itself)
  labels      the taxonomy's labels in its order; no_error: the one that means none of the others, or ""
  train, dev  JSON Lines with the fields and `labels` (names), the verifier's with `right` (0 or 1) as well
  needs       label to the optional fields without which it cannot be judged. Rows may lack those fields; where one is blank, the labels
              that need it have no part in the loss, and drop_optional is the share of an identifier's rows shown without them
  out         folder for the checkpoint (a Hugging Face sequence classifier: config.json with id2label,
              model.safetensors, tokenizer.json; a verifier has the one label "Right Labels", and reads the labels'
              names, joined by ", " in the taxonomy's order, before the fields), result.json and, until it is done,
              the state of the run
and, with these defaults (rate, batch, epochs and tokens are those of the ErrEval paper, Appendix F):
"""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import signal
import sys
import time

try:
    import numpy as np
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
    from transformers.utils import logging

    from record_logits import encode_fields, encode_text, longest, windowed
except ImportError as e:
    sys.exit(f"finetune.py: {sys.executable} lacks what training needs ({e}); `erreval refine setup` makes a Python that has it")

DEFAULTS = {
    "init": "", "device": "auto", "epochs": 20, "batch": 32, "lr": 2e-5, "patience": 3, "seed": 1, "max_tokens": 512,
    "head_lr": None,  # of the new layers on the encoder; ten times lr
    "join": "fields", "segments": None, "window": "",  # as `erreval models import` takes them
    "freeze_embeddings": None,  # the token table as it is: on a CPU its dense gradients cost more than they teach
    "needs": {}, "drop_optional": 0.12,
    "finish": False,  # take no step more: the best epoch of the run that was stopped
    "threads": 0, "save_minutes": 5,
}
__doc__ += "\n".join(f"  {k:<18}{json.dumps(v)}" for k, v in DEFAULTS.items())
RIGHT = "Right Labels"
# Padded tokens of a pass on a CPU, where more is no faster and only takes memory. A GPU is given the whole batch, and less once that does not fit.
CPU_TOKENS = 4096
# Architectures that `erreval models import` reads (models/convert/config.go): another one would be trained for nothing.
IMPORTED = ("bert", "deberta-v2", "distilbert", "roberta", "xlm-roberta")
CLIP, DECAY, WARM = 1.0, 0.01, 0.06


class Stop:
    """Remembers that the run was told to stop, which it does between two steps."""

    told = 0

    def watch(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.remember)

    def remember(self, number, _):
        self.told = number
        signal.signal(number, signal.SIG_DFL)  # a second time ends it at once


STOP = Stop()


class Bad(Exception):
    """Something that the person who runs this can mend."""


def say(**what):
    print(json.dumps(what), flush=True)


def write(path, text):
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def configure(path):
    c = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    needed = {"task", "encoder", "fields", "labels", "no_error", "train", "dev", "out"}
    if missing := needed - c.keys():
        raise Bad(f"{path}: {', '.join(sorted(missing))} is missing")
    if unknown := c.keys() - needed - DEFAULTS.keys():
        raise Bad(f"{path}: unknown key {', '.join(sorted(unknown))}")
    c = DEFAULTS | c
    if c["task"] not in ("identifier", "verifier"):
        raise Bad(f"{path}: task is {c['task']!r}; it must be identifier or verifier")
    if c["no_error"] and c["no_error"] not in c["labels"]:
        raise Bad(f"{path}: no_error {c['no_error']!r} is not among the labels")
    c["head_lr"] = c["head_lr"] or 10 * c["lr"]
    if c["task"] == "verifier" and c["fields"][0] != "labels":
        c["fields"] = ["labels", *c["fields"]]
        c["segments"] = c["segments"] and [c["segments"][0], *c["segments"]]
    return c


def read(path, c):
    """Rows as texts (the fields in order), what is to be said of them (zeros and ones), and what can be (likewise)."""
    texts, targets = [], []
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            if line.strip():
                try:
                    text, target = example(json.loads(line), c)
                except KeyError as e:
                    raise Bad(f"{path}:{n}: the row has no column {e}") from e
                except (ValueError, TypeError) as e:
                    raise Bad(f"{path}:{n}: {e}") from e
                texts.append(text)
                targets.append(target)
    if not texts:
        raise Bad(f"{path} has no rows")
    return texts, *judged(texts, np.array(targets, np.float32), c)


def optional(c):
    return {field for fields in c["needs"].values() for field in fields}


def judged(texts, targets, c):
    """Targets and weights: a label that needs a field which is blank has weight 0, and a row of such labels alone has no error."""
    weights = np.ones_like(targets)
    if c["task"] == "identifier":
        for label, fields in c["needs"].items():
            at = [c["fields"].index(f) for f in fields]
            blank = np.array([any(not t[k].strip() for k in at) for t in texts])
            weights[blank, c["labels"].index(label)] = 0
        targets = targets * weights
        if c["no_error"]:
            targets[targets.sum(1) == 0, c["labels"].index(c["no_error"])] = 1
    return targets, weights


class Shown:
    """Training rows, of which some are shown without their optional fields; others in each epoch."""

    def __init__(self, texts, targets, weights, encode, c):
        self.whole, self.without = (encode(texts), targets, weights), None
        if c["task"] == "identifier" and c["needs"] and c["drop_optional"]:
            bare = [["" if f in optional(c) else text for f, text in zip(c["fields"], t)] for t in texts]
            self.without = (encode(bare), *judged(bare, targets, c))

    def __len__(self):
        return len(self.whole[0])

    def epoch(self, share, rng):
        if self.without is None:
            return self.whole
        bare = [rng.random() < share for _ in self.whole[0]]
        choose = lambda whole, without: np.where(np.array(bare)[:, None], without, whole)
        ids = [b if drop else a for a, b, drop in zip(self.whole[0], self.without[0], bare)]
        return ids, choose(self.whole[1], self.without[1]), choose(self.whole[2], self.without[2])


def example(row, c):
    row = {f: "" for f in optional(c)} | {k: v for k, v in row.items() if v is not None or k not in optional(c)}
    labels = row["labels"] or [c["no_error"]] * bool(c["no_error"])
    if unknown := set(labels) - set(c["labels"]):
        raise ValueError(f"{', '.join(sorted(unknown))} is not a label of this taxonomy")
    if c["task"] == "identifier":
        return [row[f] for f in c["fields"]], [l in labels for l in c["labels"]]
    text = {**row, "labels": ", ".join(l for l in c["labels"] if l in labels)}
    return [text[f] for f in c["fields"]], [bool(row["right"])]


def load(c):
    """Model with a head for the labels, and its tokenizer."""
    source = c["init"] or c["encoder"]
    names = c["labels"] if c["task"] == "identifier" else [RIGHT]
    try:
        return fetch(source, names)
    except (OSError, ValueError) as e:  # what transformers says of a folder without a model, a wrong name, no network
        raise Bad(f"the encoder {source!r} cannot be loaded; it must be the folder of a Hugging Face encoder or its name on the hub: {e}") from e


def fetch(source, names):
    config = AutoConfig.from_pretrained(source, num_labels=len(names), id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)},
                                        problem_type="multi_label_classification")
    if config.model_type not in IMPORTED:
        raise Bad(f"the encoder {source!r} is of the architecture {config.model_type}, which erreval does not run; take one of {', '.join(IMPORTED)}")
    model = AutoModelForSequenceClassification.from_pretrained(source, config=config, ignore_mismatched_sizes=True, dtype=torch.float32, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True)
    if not tokenizer.is_fast:
        raise Bad(f"{source} has no fast tokenizer (tokenizer.json), which erreval needs")
    return model, tokenizer


def encode(texts, tokenizer, model, c):
    segments = c["segments"] or [0] * len(c["fields"])
    how = {"fields": encode_fields, "text": encode_text}[c["join"]]
    limit = min(c["max_tokens"], longest(model.config, tokenizer))
    return [how(tokenizer, windowed(t, c["fields"], c["window"]), segments, limit) for t in texts]


def device_of(c):
    if c["device"] == "cuda" and not torch.cuda.is_available():
        raise Bad("the device is cuda, but torch finds no NVIDIA GPU that it can use: see what nvidia-smi says, or take auto or cpu")
    return torch.device(("cuda" if torch.cuda.is_available() else "cpu") if c["device"] == "auto" else c["device"])


class Run:
    """A model on its device, the way it computes there, and rows that it can be shown."""

    def __init__(self, model, tokenizer, c):
        self.device = device_of(c)
        self.model, self.pad = model.to(self.device), tokenizer.pad_token_id
        self.types = getattr(model.config, "type_vocab_size", 0) > 1
        on_gpu = self.device.type == "cuda"
        self.tokens = 1 << 30 if on_gpu else CPU_TOKENS
        bf16 = torch.cuda.is_bf16_supported() if on_gpu else torch.cpu._is_avx512_bf16_supported()
        self.dtype = torch.bfloat16 if bf16 else torch.float16 if on_gpu else None
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.dtype == torch.float16)
        if c["freeze_embeddings"] or c["freeze_embeddings"] is None and not on_gpu:
            model.get_input_embeddings().weight.requires_grad_(False)

    def logits(self, rows):
        n = max(len(ids) for ids, _ in rows)
        ids, types, mask = torch.full((len(rows), n), self.pad), torch.zeros(len(rows), n, dtype=torch.long), torch.zeros(len(rows), n, dtype=torch.long)
        for i, (a, b) in enumerate(rows):
            ids[i, : len(a)], types[i, : len(b)], mask[i, : len(a)] = torch.tensor(a), torch.tensor(b), 1
        feed = {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": types} if self.types else {})
        cast = torch.autocast(self.device.type, self.dtype) if self.dtype else contextlib.nullcontext()
        with cast:
            return self.model(**{k: v.to(self.device) for k, v in feed.items()}).logits.float()

    def parts(self, rows, order):
        """Slices of the order that fit in one pass."""
        part = []
        for i in order:
            longest_row = max(len(rows[j][0]) for j in [*part, i])
            if part and longest_row * (len(part) + 1) > self.tokens:
                yield part
                part = []
            part.append(i)
        yield part

    def fitting(self, work):
        """Does it with fewer tokens a pass where the GPU's memory is not enough."""
        while True:
            try:
                return work()
            except torch.cuda.OutOfMemoryError:
                self.model.zero_grad(set_to_none=True)
                torch.cuda.empty_cache()
                self.tokens = min(self.tokens, 1 << 17) // 2
                if self.tokens < 512:
                    raise
                print(f"the GPU's memory is full: passes of {self.tokens} tokens from here on", file=sys.stderr)

    @torch.no_grad()
    def predict(self, rows):
        self.model.eval()
        order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
        out = np.zeros((len(rows), self.model.config.num_labels), np.float32)
        for k in range(0, len(order), 32):
            for part in self.parts(rows, order[k : k + 32]):
                out[part] = self.fitting(lambda: self.logits([rows[i] for i in part])).cpu().numpy()
        self.model.train()
        return out

    def learn(self, rows, targets, weights, batch, opt):
        """One step of the optimizer on a batch; the loss."""

        def gradients():
            total = 0.0
            for part in self.parts(rows, batch):
                y, w = (torch.tensor(a[part], device=self.device) for a in (targets, weights))
                z = self.logits([rows[i] for i in part])
                loss = nn.functional.binary_cross_entropy_with_logits(z, y, w, reduction="sum") / weights[batch].sum()
                self.scaler.scale(loss).backward()
                total += loss.item()
            return total

        loss = self.fitting(gradients)
        self.scaler.unscale_(opt)
        nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], CLIP)
        self.scaler.step(opt)
        self.scaler.update()
        opt.zero_grad(set_to_none=True)
        return loss


def judge(z, y, w, c):
    """Micro-F1 with one threshold for all errors, the one that does best here: at 0.5 a young model says nothing of any row, and would be given up.

    The verifier's two classes have accuracy for micro-F1.
    """
    loss = float(((np.logaddexp(0, z) - y * z) * w).sum() / w.sum())
    p = w / (1 + np.exp(-z))
    scores = {}
    for t in np.round(np.arange(0.05, 0.96, 0.05), 2):
        said = p >= t
        if c["task"] == "identifier":
            if c["no_error"]:
                ok = c["labels"].index(c["no_error"])
                said[:, ok] = False
                said[:, ok] = ~said.any(1)
            scores[float(t)] = 2 * (said & (y > 0)).sum() / max(said.sum() + (y > 0).sum(), 1)
        else:
            scores[float(t)] = (said == (y > 0)).mean()
    best = max(scores, key=lambda t: (scores[t], -abs(t - 0.5)))
    return {"dev_micro_f1": round(float(scores[best]), 4), "dev_loss": round(loss, 4), "dev_threshold": best}


def batches(rows, size, rng):
    """Batches of rows of like lengths, in random order."""
    order = list(range(len(rows)))
    rng.shuffle(order)
    out = []
    for k in range(0, len(order), size * 50):
        part = sorted(order[k : k + size * 50], key=lambda i: len(rows[i][0]))
        out += [part[i : i + size] for i in range(0, len(part), size)]
    rng.shuffle(out)
    return out


def optimizer(model, c):
    """AdamW; what is new on the encoder learns faster."""
    groups = {}
    for name, p in model.named_parameters():
        if p.requires_grad:
            head = not name.startswith(model.base_model_prefix + ".") or ".pooler." in name
            groups.setdefault((head, p.ndim > 1), []).append(p)
    return torch.optim.AdamW([{"params": ps, "lr": c["head_lr"] if head else c["lr"], "weight_decay": DECAY if wide else 0.0}
                              for (head, wide), ps in groups.items()])


def fingerprint(c):
    """What must be the same for a run to go on: all but where it runs."""
    files = {k: hashlib.sha256(pathlib.Path(c[k]).read_bytes()).hexdigest() for k in ("train", "dev")}
    return json.dumps({k: v for k, v in c.items() if k not in ("out", "device", "threads", "save_minutes", "finish")} | files, sort_keys=True)


class State:
    """Where a run stands, in one file that is replaced whole; the best weights so far beside it."""

    def __init__(self, out, mark):
        self.path, self.weights, self.mark = out / "state.pt", out / "best.pt", mark
        self.at = {"epoch": 0, "batch": 0, "step": 0, "best": None, "best_epoch": 0, "seconds": 0.0}

    def restore(self, run, opt):
        if not self.path.exists():
            return
        s = torch.load(self.path, map_location=run.device, weights_only=True)
        if s["mark"] != self.mark:
            raise Bad(f"{self.path} belongs to a run with another config or other rows; delete the folder, or give another `out`")
        run.model.load_state_dict(s["model"])
        opt.load_state_dict(s["opt"])
        run.scaler.load_state_dict(s["scaler"])
        self.at = s["at"]

    def save(self, run, opt):
        self.put(self.path, {"mark": self.mark, "model": run.model.state_dict(), "opt": opt.state_dict(), "scaler": run.scaler.state_dict(), "at": self.at})

    @staticmethod
    def put(path, what):
        part = path.with_suffix(".part")
        torch.save(what, part)
        with open(part, "rb") as f:
            os.fsync(f.fileno())
        part.replace(path)


def train(run, opt, state, data, dev, c):
    at, started, saved = state.at, time.time() - state.at["seconds"], time.time()
    per_epoch = -(-len(data) // c["batch"])
    steps, rates = per_epoch * c["epochs"], [g["initial_lr"] for g in opt.param_groups]
    run.model.train()
    while at["epoch"] < c["epochs"] and at["epoch"] - at["best_epoch"] < c["patience"]:
        rows, targets, weights = data.epoch(c["drop_optional"], random.Random(c["seed"] * 7919 + at["epoch"]))
        for k, batch in enumerate(batches(rows, c["batch"], random.Random(c["seed"] * 1000 + at["epoch"]))):
            if k < at["batch"]:
                continue
            done = at["step"] / steps
            for g, rate in zip(opt.param_groups, rates):
                g["lr"] = rate * min((done + 1 / steps) / WARM, (1 - done) / (1 - WARM))
            torch.manual_seed(c["seed"] * 1_000_003 + at["step"])  # dropout of a step is the same after a stop
            loss = run.learn(rows, targets, weights, batch, opt)
            at["batch"], at["step"] = k + 1, at["step"] + 1
            at["seconds"] = time.time() - started
            if at["step"] % 10 == 0 or at["step"] == 3:
                say(step=at["step"], steps=steps, epoch=at["epoch"] + 1, loss=round(loss, 4), seconds=round(at["seconds"]))
            if time.time() - saved > 60 * c["save_minutes"] or STOP.told:
                state.save(run, opt)
                saved = time.time()
            if STOP.told:
                sys.exit(128 + STOP.told)
        at["epoch"], at["batch"] = at["epoch"] + 1, 0
        res = judge(run.predict(dev[0]), *dev[1:], c)
        score = [res["dev_micro_f1"], -res["dev_loss"]]
        if at["best"] is None or score > at["best"]:
            at["best"], at["best_epoch"] = score, at["epoch"]
            state.put(state.weights, run.model.state_dict())
        at["seconds"] = time.time() - started
        say(step=at["step"], steps=steps, epoch=at["epoch"], loss=round(loss, 4), **res, best_epoch=at["best_epoch"], seconds=round(at["seconds"]))
        state.save(run, opt)
        saved = time.time()


def finish(run, tokenizer_source, state, dev, c, out):
    """The best weights as a checkpoint; result.json, last of all, says that it is whole."""
    run.model.load_state_dict(torch.load(state.weights, map_location=run.device, weights_only=True))
    res = judge(run.predict(dev[0]), *dev[1:], c)
    run.model.save_pretrained(out)
    AutoTokenizer.from_pretrained(tokenizer_source, use_fast=True).save_pretrained(out)  # a fresh one: encoding changes its settings
    result = {"best_epoch": state.at["best_epoch"], "epochs": state.at["epoch"], "steps": state.at["step"], "seconds": round(state.at["seconds"]),
              "device": str(run.device), "dtype": str(run.dtype or torch.float32).removeprefix("torch."), "torch": torch.__version__,
              "dev": {k.removeprefix("dev_"): v for k, v in res.items()}}
    write(out / "result.json", json.dumps({**result, "mark": hashlib.sha256(state.mark.encode()).hexdigest()}, indent=1) + "\n")
    for path in (state.path, state.weights):
        path.unlink(missing_ok=True)
    say(done=True, **result)


def main(path):
    c = configure(path)
    out = pathlib.Path(c["out"])
    out.mkdir(parents=True, exist_ok=True)
    mark = fingerprint(c)
    if (out / "result.json").exists():
        result = json.loads((out / "result.json").read_text())
        if result.pop("mark", "") != hashlib.sha256(mark.encode()).hexdigest():
            raise Bad(f"{out} holds the result of another run; delete it, or give another `out`")
        return say(done=True, **result)
    if c["threads"]:
        torch.set_num_threads(c["threads"])
    device_of(c)  # before anything takes time
    torch.manual_seed(c["seed"])  # of the new layers
    train_rows, (dev_texts, *dev_targets) = read(c["train"], c), read(c["dev"], c)
    model, tokenizer = load(c)
    run = Run(model, tokenizer, c)
    encoded = lambda texts: encode(texts, tokenizer, model, c)
    data, dev = Shown(*train_rows, encoded, c), (encoded(dev_texts), *dev_targets)
    opt, state = optimizer(model, c), State(out, mark)
    for g in opt.param_groups:
        g["initial_lr"] = g["lr"]
    state.restore(run, opt)
    STOP.watch()
    say(rows=len(data), dev=len(dev[0]), parameters=sum(p.numel() for p in model.parameters()), device=str(run.device), dtype=str(run.dtype or torch.float32),
        step=state.at["step"], epoch=state.at["epoch"])
    if not c["finish"]:
        train(run, opt, state, data, dev, c)
    elif not state.weights.exists():
        raise Bad(f"{out} has no epoch to finish with; run it without `finish`")
    finish(run, c["init"] or c["encoder"], state, dev, c, out)


if __name__ == "__main__":
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
            sys.exit(__doc__)
        main(sys.argv[1])
    except (Bad, OSError) as e:
        sys.exit(f"finetune.py: {e}")
