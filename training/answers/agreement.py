"""How far systems come in the same order by the errors that a model finds and by those that readers found.

    python agreement.py TAGGED...      rows with system and labels (prepare.py), tagged by erreval identify

Needs scipy. Systems with fewer than 15 rows are left out, and so are rows without a diagnosis.
"""
import collections
import json
import sys

from scipy.stats import spearmanr

LEAST, NONE = 15, "No Error"
rows = collections.defaultdict(list)
for path in sys.argv[1:]:
    for row in map(json.loads, open(path, encoding="utf-8")):
        d = row["diagnosis"]
        if not d.get("status"):
            absent = set(d.get("not_judged", []))
            rows[row["system"]].append((set(row["labels"]) - absent or {NONE}, set(d["labels"])))
rows = {system: found for system, found in rows.items() if len(found) >= LEAST}
print(len(rows), "systems,", sum(map(len, rows.values())), "rows")
for label in sorted({label for found in rows.values() for gold, _ in found for label in gold}):
    shares = [[sum(label in pair[k] for pair in found) / len(found) for found in rows.values()] for k in (0, 1)]
    print(f"{label}: Spearman {spearmanr(*shares)[0]:.2f}, mean share {sum(shares[0]) / len(rows):.3f} by readers, "
          f"{sum(shares[1]) / len(rows):.3f} by the model")
