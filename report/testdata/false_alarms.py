"""How often erreval calls equal systems different: python3 false_alarms.py ERREVAL [RUNS]

Rows are drawn for systems that make five errors with equal probability; in clustered settings a fifth of the passages
have each error three times as often. Printed are the shares of runs (default 100) in which "without error" is surely
different, and in which any error is. In the last lines two files have the same two systems, one of which errs four
times as often, in another mix: the share of runs in which the limit grown is missed, without and with growth.
"""
import json, os, random, subprocess, sys, tempfile

TYPES = ["Vague", "Factual Error", "Grammar Error", "Off Topic", "Spell Error"]
SETTINGS = [  # name, passages, rows of each system for a passage, rate of each error, share of clustered passages
    ("2 rows each", 60, {"a": [2], "b": [2]}, 0.03, 0),
    ("2 rows each, clustered", 60, {"a": [2], "b": [2]}, 0.05, 0.2),
    ("1 to 4 rows, clustered", 60, {"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}, 0.04, 0.2),
    ("1 row and 5", 60, {"a": [1], "b": [5]}, 0.03, 0),
    ("3 rows each, common errors", 40, {"a": [3], "b": [3]}, 0.15, 0.2),
    ("three systems, clustered", 60, {"a": [1, 2, 3, 4], "b": [1, 2, 3], "c": [2, 3]}, 0.06, 0.2),
]


def line(system, passage, k, labels):
    texts = {"passage": f"P{passage}", "answer": f"{system}{k}", "question": f"q{passage}{system}{k}"}
    return json.dumps({"id": f"{system}{passage}.{k}", "system": system, **texts,
                       "diagnosis": {"labels": labels or ["No Error"]}})


def write(path, lines):
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def systems(r, folder, passages, rows, rate, clustered):
    lines = []
    for p in range(passages):
        times = {t: 3 if r.random() < clustered else (1 - 3 * clustered) / (1 - clustered) for t in TYPES}
        for system, numbers in rows.items():
            for k in range(r.choice(numbers)):
                lines.append(line(system, p, k, [t for t in TYPES if r.random() < rate * times[t]]))
    write(folder + "/s.jsonl", lines)
    out = subprocess.run([erreval, "stats", folder + "/s.jsonl", "--json", "-q"], capture_output=True, text=True)
    differences = [d for d in json.loads(out.stdout)["differences"] if d["p_holm"] is not None and not d.get("unknown")]
    found = [d["of"] for d in differences if d["p_holm"] < 0.05]
    return "without error" in found, any(of != "without error" for of in found)


def mixed(r, folder, growth):
    for name, share, times in ("old", 0.8, 1), ("new", 0.3, growth):
        rows = [("a" if r.random() < share else "b", f"{name}{k}") for k in range(200)]
        rate = {"a": 0.02 * times, "b": 0.08 * times}
        write(f"{folder}/{name}.jsonl",
              [line(system, p, 0, [t for t in TYPES if r.random() < rate[system]]) for system, p in rows])
    return subprocess.run([erreval, "stats", folder + "/old.jsonl", folder + "/new.jsonl", "--by", "file", "--fail-on",
                           "grown>0", "-q"], capture_output=True).returncode == 6


erreval, runs = os.path.abspath(sys.argv[1]), int((sys.argv + [100])[2])
with tempfile.TemporaryDirectory() as folder:
    for name, *setting in SETTINGS:
        found = [systems(random.Random(seed), folder, *setting) for seed in range(runs)]
        print(name, *(f"{100 * sum(one) / runs:.1f} %" for one in zip(*found)), flush=True)
    for growth in 1, 2:
        missed = sum(mixed(random.Random(seed), folder, growth) for seed in range(runs))
        print(f"another mix, {growth} × the errors: {100 * missed / runs:.1f} %", flush=True)
