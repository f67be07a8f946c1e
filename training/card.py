"""Writes CARD.md of a model directory from its manifest and eval.sh's figures.

    python card.py --model DIR --eval DIR --out CARD.md --notes notes.md

Nothing is typed by hand but the notes; every figure is read from the files that eval.sh wrote.
"""
import argparse
import json
import pathlib

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
    """What `tune` (or every nth row of it, --tune-step) showed while training."""
    looks = [(k, r) for k, log in enumerate(logs) for line in open(log, encoding="utf-8") if "score" in (r := json.loads(line))]
    if not looks:
        return []
    out = ["", "## Learning curve, on `tune` while training", "", "Thresholds were fitted on the rows they are measured on (every nth of `tune`): the F1 columns are optimistic, the AUC columns are not.", "", "| run, phase | steps | training loss | real: micro-F1 | real: AUC of Off Target | written: micro-F1 | written: AUC of Off Target | "
           "written: Grammar F1 | written: Factual F1 |", "|---|---|---|---|---|---|---|---|---|"]
    for k, r in looks:
        w = r["written"]
        out.append(f"| {k + 1}, {r['phase']} | {r['step']} | {r['loss']:.3f} | {r['real_micro']:.3f} | {r['auc_ota']:.3f} | {r['written_micro']:.3f} | "
                   f"{r['auc_ota_written']:.3f} | {w['Grammar Error']:.2f} | {w['Factual Error']:.2f} |")
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, type=pathlib.Path)
    p.add_argument("--eval", required=True, type=pathlib.Path)
    p.add_argument("--notes", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--log", nargs="*", default=[], type=pathlib.Path, help="log.jsonl of the training runs, in order")
    a = p.parse_args()
    m = json.loads((a.model / "manifest.json").read_text())
    figures = {n: json.loads((a.eval / f"{n}.json").read_text()) for n in ("test_real", "test_written", "tune_real", "tune_written")}
    size = sum(f["size"] for f in m["files"].values())
    out = [f"# {m['name']}, version {m['version']}", "",
           f"{m['layers']} layers × {m['hidden_size']}, {m['precision']}, {size / 1e6:.1f} MB with its tokenizer, {m['max_tokens']} tokens. Licence of the weights: {m['licence']}.", "",
           a.notes.read_text().strip(), "", "## Data", "", "| what | rows | licence |", "|---|---|---|"]
    out += [f"| {d['name']} | {d['rows']} | {d['licence']} |" for d in m["training_data"]]
    out += ["", "## Figures on `test`", "", "Thresholds and every other choice were made on `tune`; `test` rows are only reported.", ""]
    out += section("Real machine questions (Quiz Design)", figures["test_real"])
    out += section("Written questions", figures["test_written"])
    out += ["## `tune`, for comparison", "", "| figure | real | written |", "|---|---|---|"]
    for k, name in MAIN[:5]:
        out.append(f"| {name} | " + " | ".join(number(figures[n]["predictions"][0]["metrics"][k]) for n in ("tune_real", "tune_written")) + " |")
    out += curve(a.log)
    q = m["quality"]
    out += ["", "## int8 against fp32, on `tune`", "", f"{100 * q['tune_label_flips_against_fp32']:.2f} % of (row, label) decisions and "
            f"{100 * q['tune_row_flips_against_fp32']:.2f} % of rows' label sets differ; the largest shift of a logit is {q['tune_largest_logit_shift_against_fp32']:.2f}.", "",
            "## Thresholds", "", "| label | threshold |", "|---|---|"]
    out += [f"| {k} | {v:.2f} |" for k, v in m["thresholds"].items() if k != "No Error"]
    a.out.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
