"""Writes CARD.md of a model directory from its manifest and eval.sh's figures.

    python card.py --model DIR --eval DIR --out CARD.md --notes notes.md

Nothing is typed by hand but the notes; every figure is read from the files that eval.sh wrote.
"""
import argparse
import collections
import json
import pathlib

import numpy as np

import metrics

TITLES = {"real": "Questions of 21 systems", "quiz": "Quiz Design", "written": "Written questions", "llm": "Questions by language models"}

MAIN = [("micro_f1", "micro-F1"), ("macro_f1", "macro-F1 (labels with ≥ 20 rows)"), ("weighted_f1", "weighted F1"), ("exact_match", "exact match"),
        ("over_prediction", "over-prediction (lower is better)"), ("micro_f1_errors", "micro-F1, errors only"),
        ("mean_average_precision", "mean average precision"), ("ece", "calibration error (lower is better)"),
        ("auc_no_error", "AUC of P(No Error) against the teacher's verdict")]


def number(m):
    if m is None or m.get("value") is None:
        return "–"
    text = f"{m['value']:.3f}"
    return text if m.get("low") is None else f"{text} ({m['low']:.3f} to {m['high']:.3f})"


def section(title, e):
    p = e["predictions"][0]
    out = [f"### {title}", "", f"{e['scored']} rows, {e['groups']} passages; 95 % intervals resample passages ({e['resamples']} times). "
           f"The constant baseline predicts {', '.join(e['baseline']['labels'])} for every row.", "",
           "| figure | model | constant baseline | difference |", "|---|---|---|---|"]
    for k, name in MAIN:
        if k in p["metrics"]:
            out.append(f"| {name} | {number(p['metrics'][k])} | {number(e['baseline']['metrics'].get(k))} | {number(p['minus_baseline'].get(k))} |")
    out += ["", "| label | gold rows | predicted | precision | recall | F1 | average precision | calibration error | predicted wrongly where it was missed (rows) |",
            "|---|---|---|---|---|---|---|---|---|"]
    for l, c in zip(p["labels"], p["confusion"]):
        v = [("–" if l.get(k) is None else f"{l[k]:.2f}") for k in ("precision", "recall", "f1", "average_precision", "ece")]
        wrong = ", ".join(f"{w['label']} {w['rows']}" for w in c["instead"][:4])
        out.append(f"| {l['label']} | {l['support']} | {l['predicted']} | " + " | ".join(v) + f" | {wrong} |")
    return out + [""]


def curve(logs):
    """What `tune` showed while training."""
    looks = [(k, r) for k, log in enumerate(logs) for line in open(log, encoding="utf-8") if "score" in (r := json.loads(line))]
    if not looks:
        return []
    out = ["", "## `tune` while training", "", "Thresholds were fitted on the rows they are measured on: the F1 columns are optimistic, the AUC columns are not.", "",
           "| run, phase | steps | training loss | systems: micro-F1 | macro-F1 | mean AUC | Quiz Design: micro-F1 | mean AUC | written: macro-F1 | mean AUC |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    for k, r in looks:
        real, quiz, written = (r[p] for p in ("real", "quiz", "written"))
        out.append(f"| {k + 1}, {r['phase']} | {r['step']} | {r['loss']:.3f} | {real['micro']:.3f} | {real['macro']:.3f} | {real['mean_auc']:.3f} | "
                   f"{quiz['micro']:.3f} | {quiz['mean_auc']:.3f} | {written['macro']:.3f} | {written['mean_auc']:.3f} |")
    return out


def micro(rows, of):
    tp = sum(len(set(of(r)) & set(r["labels"])) for r in rows)
    return 2 * tp / max(sum(len(of(r)) + len(r["labels"]) for r in rows), 1)


def systems(tagged):
    """Per system: the model and the constant baseline."""
    groups = collections.defaultdict(list)
    for line in open(tagged, encoding="utf-8"):
        row = json.loads(line)
        groups[row["system"]].append(row)
    out = ["### By system", "", "Micro-F1 of the questions of each system; few rows, so rough.", "",
           "| system | rows | right (gold) | model | always No Error |", "|---|---|---|---|---|"]
    for name, rows in sorted(groups.items(), key=lambda g: -len(g[1])):
        right = sum(r["labels"] == ["No Error"] for r in rows) / len(rows)
        out.append(f"| {name} | {len(rows)} | {100 * right:.0f} % | {micro(rows, lambda r: r['diagnosis']['labels']):.2f} | {micro(rows, lambda r: ['No Error']):.2f} |")
    return out + [""]


def areas(tagged):
    """Area under the ROC curve of each label with at least 20 rows."""
    rows = [json.loads(line) for line in open(tagged, encoding="utf-8")]
    out = {}
    for label in rows[0]["diagnosis"]["probabilities"]:
        gold = np.array([label in r["labels"] for r in rows])
        if gold.sum() >= 20:
            out[label] = metrics.auc(np.array([r["diagnosis"]["probabilities"].get(label, 0) for r in rows]), gold)
    return out


def area_table(folder):
    """AUC on the three test sets."""
    found = {p: areas(folder / f"test_{p}.jsonl") for p in metrics.PARTS}
    labels = [l for l in found["written"] | found["real"]]
    out = ["### AUC of each label", "", "Of labels with at least 20 rows in the set.", "", "| label | " + " | ".join(TITLES[p] for p in metrics.PARTS) + " |", "|---|---|---|---|"]
    return out + [f"| {l} | " + " | ".join(f"{found[p][l]:.2f}" if l in found[p] else "–" for p in metrics.PARTS) + " |" for l in labels] + [""]


def bare_table(folder):
    """AUC of the systems' questions with and without their answers."""
    with_answer, without = areas(folder / "test_real.jsonl"), areas(folder / "test_bare.jsonl")
    rows = [json.loads(line) for line in open(folder / "test_bare.jsonl", encoding="utf-8")]
    said = sum("Off Target Answer" in r["diagnosis"]["labels"] for r in rows)
    left = [l for l in with_answer if l in without and l not in ("Off Target Answer", "No Error")]
    out = ["### Without an answer", "", f"The {len(rows)} questions of systems with their answers taken away: {said} are called Off Target Answer, in "
           f"{sum('Off Target Answer' in r['diagnosis'].get('not_judged', []) for r in rows)} it is not judged. Area under the ROC curve of the other labels:", "",
           "| label | with the answer | without |", "|---|---|---|"]
    return out + [f"| {l} | {with_answer[l]:.2f} | {without[l]:.2f} |" for l in left] + [""]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, type=pathlib.Path)
    p.add_argument("--eval", required=True, type=pathlib.Path)
    p.add_argument("--notes", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--log", nargs="*", default=[], type=pathlib.Path, help="log.jsonl of the training runs, in order")
    a = p.parse_args()
    m = json.loads((a.model / "manifest.json").read_text())
    figures = {f"{split}_{p}": json.loads((a.eval / f"{split}_{p}.json").read_text()) for split in ("test", "tune") for p in metrics.PARTS}
    size = sum(f["size"] for f in m["files"].values())
    out = [f"# {m['name']}, version {m['version']}", "",
           f"{m['layers']} layers × {m['hidden_size']}, {m['precision']}, {size / 1e6:.1f} MB with its tokenizer, {m['max_tokens']} tokens. Licence of the weights: {m['licence']}.", "",
           a.notes.read_text().strip(), "", "## Data", "", "| what | rows | licence |", "|---|---|---|"]
    out += [f"| {d['name']} | {d['rows']} | {d['licence']} |" for d in m["training_data"]]
    out += ["", "## Figures on `test`", "", "Thresholds and every other choice were made on `tune`; `test` rows are only reported.", ""]
    for p in metrics.PARTS:
        out += section(TITLES[p], figures[f"test_{p}"])
    out += area_table(a.eval)
    out += bare_table(a.eval)
    out += systems(a.eval / "test_real.jsonl")
    out += ["## `tune`, for comparison", "", "| figure | " + " | ".join(TITLES[p] for p in metrics.PARTS) + " |", "|---|---|---|---|"]
    for k, name in MAIN[:5]:
        out.append(f"| {name} | " + " | ".join(number(figures[f"tune_{p}"]["predictions"][0]["metrics"][k]) for p in metrics.PARTS) + " |")
    out += curve(a.log)
    q = m["quality"]
    out += ["", "## int8 against fp32, on `tune`", "", f"{100 * q['tune_label_flips_against_fp32']:.2f} % of (row, label) decisions and "
            f"{100 * q['tune_row_flips_against_fp32']:.2f} % of rows' label sets differ; the largest shift of a logit is {q['tune_largest_logit_shift_against_fp32']:.2f}.", "",
            "## Thresholds", "", "| label | threshold |", "|---|---|"]
    out += [f"| {k} | {v:.2f} |" for k, v in m["thresholds"].items() if k != "No Error"]
    a.out.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
