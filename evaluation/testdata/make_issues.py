"""Records the outside witness of `erreval meta issues`: rows with people's groups and what was found, and the figures.

    python make_issues.py      (scikit-learn 1.9, scipy 1.16, numpy)      writes issues.json beside this file
"""
import json
import pathlib

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score, homogeneity_completeness_v_measure

rng = np.random.default_rng(17)
cases = []
for rows, kinds, noise in [(60, 5, .1), (40, 8, .4), (30, 3, 1.0), (12, 12, .2)]:
    data, gold, found, people, judge = [], [], [], [], []
    for i in range(rows):
        kind = int(rng.integers(kinds + 1))  # the last one: right
        right = kind == kinds
        state = str(rng.choice(["assigned", "no_issue", "unassigned"], p=[.75, .15, .1]))
        guess = int(rng.integers(kinds)) if right or rng.random() < noise else kind
        row = {"id": f"r{i}", "cluster": "" if right else f"Kind {kind}", "issue": "" if right else f"It has fault {kind}.",
               "status": state, "found": f"issue-{guess}" if state == "assigned" else ""}
        says, model = bool(rng.random() < .7), bool(rng.random() < .7)
        if not right and state == "assigned":
            if rng.random() < .8:
                row["people"] = says
            row["judge"] = model
        data.append(row)
        if not right:
            gold.append(kind)
            found.append(guess if state == "assigned" else -1 if state == "no_issue" else 1000 + i)
    h, c, v = homogeneity_completeness_v_measure(gold, found)
    looked_right = [r for r in data if not r["cluster"] and r["status"] != "unassigned"]
    looked_wrong = [r for r in data if r["cluster"] and r["status"] != "unassigned"]
    verdicts = []
    for r in data:
        if not r["cluster"]:
            continue
        if "people" in r:
            verdicts.append(r["people"])
        elif "judge" in r:
            verdicts.append(r["judge"])
        else:
            verdicts.append(False)  # nothing was found
    both = [r for r in data if "people" in r and "judge" in r]
    counts = np.zeros((kinds, kinds))
    for r in data:
        if r["cluster"] and r["status"] == "assigned":
            counts[int(r["cluster"][5:]), int(r["found"][6:])] += 1
    a, b = linear_sum_assignment(counts, maximize=True)
    cases.append({
        "rows": data, "ari": adjusted_rand_score(gold, found), "homogeneity": h, "completeness": c, "v": v,
        "false_issues": sum(r["status"] == "assigned" for r in looked_right) / len(looked_right) if looked_right else None,
        "missed": sum(r["status"] == "no_issue" for r in looked_wrong) / len(looked_wrong),
        "accuracy": sum(verdicts) / len(verdicts),
        "kappa": cohen_kappa_score([r["people"] for r in both], [r["judge"] for r in both]),
        "matched_rows": int(counts[a, b].sum()),
    })
pathlib.Path(__file__).with_name("issues.json").write_text(json.dumps(cases, indent=0) + "\n")
