"""Area under the curve of the offline scorer, and of a 0/1 rule, against a teacher's reasons; intervals by passage.

    erreval identify quizdesign_labels.jsonl -o tagged.jsonl
    erreval score tagged.jsonl -o scored.jsonl
    python scripts/offline_auc.py scored.jsonl SPLIT        (numpy)

The rule is "any error that bears on the dimension was found" (over its threshold): errors_shown is not empty. A row is a
positive if the teacher refused it for the reason at hand; negatives are all other rows, or (second half) the accepted ones.
"""
import json
import sys

import numpy as np

PAIRS = [("fluency", "disfluent"), ("clarity", "disfluent"), ("answer_consistency", "off_target"),
         ("consistency", "wrong_context"), ("answerability", "wrong_context")]

rows = [r for r in map(json.loads, open(sys.argv[1])) if r["split"] == sys.argv[2]]
passages = sorted({r["passage"] for r in rows})
members = {p: [i for i, r in enumerate(rows) if r["passage"] == p] for p in passages}
reason = np.array([r["reason"] for r in rows])
rng = np.random.default_rng(1)
draws = [np.concatenate([members[passages[k]] for k in rng.integers(0, len(passages), len(passages))]) for _ in range(1000)]


def area(index, kind, score, others):
    index = index[(reason[index] == kind) | others[index]]
    y = reason[index] == kind
    yes, no = score[index][y], np.sort(score[index][~y])
    if len(yes) == 0 or len(no) == 0:
        return np.nan
    below, upto = np.searchsorted(no, yes, "left"), np.searchsorted(no, yes, "right")
    return (below + upto).mean() / 2 / len(no)  # Mann and Whitney: ties count half


def show(name, per_draw):
    point, samples = per_draw[0], np.array(per_draw[1:])
    print(f"{name:<36}" + "".join(f"  {p:+.3f} [{lo:+.3f}, {hi:+.3f}]" if i == 2 else f"  {p:.3f} [{lo:.3f}, {hi:.3f}]"
          for i, (p, lo, hi) in enumerate(zip(point, *np.nanpercentile(samples, [2.5, 97.5], axis=0)))))


for what, others in (("all other rows", np.ones(len(rows), bool)), ("accepted rows", reason == "No error")):
    print(f"{sys.argv[2]}, {len(rows)} rows, {len(passages)} passages; against {what}: scorer, rule, scorer minus rule")
    everything = []
    for dimension, kind in PAIRS:
        value = np.array([-r["scores"][dimension]["value"] for r in rows])
        rule = np.array([float(bool(r["scores"][dimension]["runs"][0]["errors_shown"])) for r in rows])
        result = []
        for index in [np.arange(len(rows))] + draws:
            a, b = area(index, kind, value, others), area(index, kind, rule, others)
            result.append((a, b, a - b))
        everything.append(result)
        show(f"{dimension}, {kind} ({(reason == kind).sum()})", result)
    show("mean of the five", list(map(tuple, np.mean(everything, axis=0))))
