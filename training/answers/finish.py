"""Makes the model for responses of what `erreval refine train` left in iterations/NN/model.

    python finish.py MODEL TRAIN TUNE_TAGGED OUT
    python finish.py OUT TEST_FIGURES

TRAIN are rows of prepare.py, TUNE_TAGGED others, tagged with MODEL by `erreval identify`. The manifest gets, all chosen on
`tune`:
- counts.py's weights for the types whose area under the ROC curve they raise by 0.02, in ten folds of requests;
- the types that are not judged: with an area below 0.70 then, fewer than 15 rows in both files, or than 5 in `tune`;
- thresholds for all types together;
and the languages, data, quality and probe rows with the graph's own logits.

The second line puts the figures on `test` of the finished model into its manifest, so that `erreval identify` can say
what not to rely on; TEST_FIGURES are `erreval meta labels --gold test.jsonl found.jsonl --taxonomy
instruction-following --json`.
"""
import hashlib
import json
import pathlib
import shutil
import sys

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import counts  # noqa: E402
import metrics  # noqa: E402
import window  # noqa: E402

LEAST_AUC, LEAST_ROWS, LEAST_TUNE, LEAST_GAIN, FOLDS = 0.70, 15, 5, 0.02, 10
# What figures on requests of the same kind do not show.
LIMITS = {
    "Factuality": "it is judged by how a response reads, as the model knows no facts",
    "Request Following": "the model reads the user's last turn, not system prompts or earlier turns",
    "Code-Switching": "only 8 rows were measured; answers wholly in another language may be missed",
}
# Written for this project, so that the manifest holds no text of a data set.
PROBES = [
    {"instruction": "How long does a soft-boiled egg take?", "response": "Put the egg into boiling water for six minutes, then cool it in cold water."},
    {"instruction": "Name three rivers of Europe.", "response": "The Rhine. The Rhine. The Rhine. The Rhine. The Rhine. The"},
    {"instruction": "Write a short poem about a lamp.", "response": "I'm sorry, but as an AI language model I cannot write poems."},
]


def read(path):
    rows = [json.loads(line) for line in open(path, encoding="utf-8")]
    return [r for r in rows if "probabilities" in r["diagnosis"]]


def columns(rows, label):
    return np.array([label in r["labels"] for r in rows]), np.array([r["diagnosis"]["probabilities"][label] for r in rows])


def add_counts(rows, label):
    """Weights of the counts for a label, or None where they gain too little; with them the rows' probabilities change."""
    gold, p = columns(rows, label)
    p = p.clip(1e-6, 1 - 1e-6)
    x = np.stack([np.log(p / (1 - p)), *(np.array([counts.of(r["response"])[c] for r in rows]) for c in counts.NAMES)], 1)
    fold = np.array([int(hashlib.sha256(r["instruction"].encode()).hexdigest(), 16) % FOLDS for r in rows])
    others = np.zeros(len(rows))
    for k in range(FOLDS):
        w = counts.fit(x[fold != k], gold[fold != k])
        others[fold == k] = x[fold == k] @ w[:-1] + w[-1]
    if not metrics.auc(others, gold) >= metrics.auc(p, gold) + LEAST_GAIN:
        return None
    w = counts.fit(x, gold).round(3)
    for row, z, other in zip(rows, x @ w[:-1] + w[-1], others):
        row["diagnosis"]["probabilities"][label] = float(metrics.sigmoid(z))
        row.setdefault("folds", {})[label] = float(metrics.sigmoid(other))
    return dict(zip(["logit", *counts.NAMES, "bias"], map(float, w)))


def figures(said, gold):
    """Micro-F1 over all columns, and the mean of their F1."""
    tp, fp, fn = (said & gold).sum(0), (said & ~gold).sum(0), (~said & gold).sum(0)
    each = 2 * tp / np.maximum(2 * tp + fp + fn, 1)
    return 2 * tp.sum() / (2 * tp.sum() + fp.sum() + fn.sum()), each.mean()


def thresholds(rows, labels, no_error):
    """Those with the highest mean of micro- and macro-F1 on the rows, one label after the other until none gains."""
    gold, p = (np.stack(x, 1) for x in zip(*(columns(rows, label) for label in labels)))
    none = labels.index(no_error)

    def score(t):
        said = p >= t
        said[:, none] = False
        said[:, none] = ~said.any(1)
        truth = gold.copy()
        truth[:, none] = ~np.delete(truth, none, 1).any(1)  # what is not judged counts as no error
        return sum(figures(said, truth))

    t, grid = np.full(len(labels), 0.3), np.arange(0.04, 0.97, 0.02)
    best = score(t)
    gained = True
    while gained:
        gained = False
        for k in [k for k in range(len(labels)) if k != none]:
            for x in grid:
                other = t.copy()
                other[k] = x
                if score(other) > best + 1e-9:
                    best, t, gained = score(other), other, True
    return {label: round(float(x), 2) for label, x in zip(labels, t) if label != no_error}


def encode(tokenizer, manifest, row):
    w = manifest["window"]
    texts = [row[f] for f in manifest["fields"]]
    at = manifest["fields"].index(w["field"])
    texts[at] = window.read(texts[at], texts[:at] + texts[at + 1 :], w["words"], w.get("ends", 0))
    ids = [tokenizer.token_to_id(manifest["start"])]
    for text in texts:
        ids += tokenizer.encode(text, add_special_tokens=False).ids + [tokenizer.token_to_id(manifest["separator"])]
    return ids


def logits(folder, manifest, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    out = []
    for row in rows:
        ids = encode(tokenizer, manifest, row)
        feed = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [[0] * len(ids)]}
        out.append(session.run(["logits"], {k: np.array(feed[k], np.int64) for k in manifest["inputs"]})[0][0])
    return out


def measured(out, figures):
    """Adds the F1 of each judged label on `test`, and that of saying it of every row."""
    path = pathlib.Path(out) / "manifest.json"
    manifest, figures = json.loads(path.read_text()), json.loads(pathlib.Path(figures).read_text())
    found = figures["predictions"][0]
    for label in found["labels"]:
        name, rows = label["label"], label["support"]
        if name not in manifest.get("not_judged", []):
            always = 2 * rows / (rows + found["counts"]["scored"])
            manifest["quality"][name] |= {"test_rows": rows, "test_f1": round(label["f1"], 2), "test_always_f1": round(always, 2)}
            manifest["quality"][name] |= {"limit": LIMITS[name]} if name in LIMITS else {}
    path.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def main(model, train, tune, out):
    model, out = pathlib.Path(model), pathlib.Path(out)
    train = [json.loads(line) for line in open(train, encoding="utf-8")]
    tune = read(tune)
    manifest = json.loads((model / "manifest.json").read_text())
    manifest.pop("checksum", None)
    manifest.pop("source", None)
    not_judged, quality, weights = [], {}, {}
    for label in manifest["labels"]:
        gold, p = columns(tune, label)
        rows = int(gold.sum()) + sum(label in r["labels"] for r in train)
        if label != "No Error" and gold.sum() >= LEAST_ROWS and (w := add_counts(tune, label)):
            weights[label], p = w, np.array([r["folds"][label] for r in tune])
        area = metrics.auc(p, gold)
        quality[label] = {"tune_rows": int(gold.sum()), "tune_auc": round(float(area), 3)} if gold.any() else {"tune_rows": 0}
        if label != "No Error" and (rows < LEAST_ROWS or gold.sum() < LEAST_TUNE or not area >= LEAST_AUC):
            not_judged.append(label)
    manifest["counts"] = {label: w for label, w in weights.items() if label not in not_judged}
    judged = [label for label in manifest["labels"] if label not in not_judged]
    manifest["thresholds"] |= thresholds(tune, judged, "No Error")
    manifest |= {
        "name": "erreval-responses-minilm-l12", "version": "2", "languages": ["en"], "language_field": "instruction", "last_turn": "instruction",
        "licence": "Apache-2.0", "quality": quality,
        "training_data": [
            {"name": "responses of 140 instruction-following systems, labelled for erreval (training/data)",
             "licence": "labels: CC BY-SA 4.0; texts: Apache-2.0, MIT, CC BY 4.0", "rows": 2607},
            {"name": "simulated from the right ones of these", "licence": "as theirs", "rows": 1666}],
    }
    if not_judged:
        manifest["not_judged"] = not_judged
    manifest["probes"] = [{"fields": p, "logits": [round(float(x), 5) for x in z]} for p, z in zip(PROBES, logits(model, manifest, PROBES))]
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    manifest["files"] = {name: file for name, file in manifest["files"].items() if name in ("model.onnx", "tokenizer.json")}
    for name in manifest["files"]:
        shutil.copy(model / name, out / name)
    (out / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    print(json.dumps({"not_judged": not_judged, "thresholds": manifest["thresholds"], "quality": quality}, indent=1))


if __name__ == "__main__":
    (measured if len(sys.argv) == 3 else main)(*sys.argv[1:])
