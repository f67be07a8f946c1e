"""Answers the queries of queries/all.json from runs/ by brute force: python3 witness.py, in this folder.

It shares no code with the program and knows no index: it reads the files with Python's own JSON and CSV, asks of every
row whether it is meant, and adds up. Of columns.json it takes names alone: which values a facet has and in which order.
"""

import csv
import json
import math
import unicodedata

RUNS = ["tagged.jsonl", "strict.csv", "scored.jsonl", "judged.jsonl", "found.jsonl", "pairs.jsonl", "twins.jsonl"]
FIELDS = ["question", "answer", "passage"]
columns = json.load(open("columns.json"))
catalog = columns["catalog"]
FACETS = {f["key"]: f for f in catalog["facets"]}
MEASURES = {m["key"]: m for m in catalog["measures"]}
DIMENSIONS = {m["key"][6:]: m["title"] for m in catalog["measures"] if m["key"].startswith("score.")}
ISSUES = {i["id"]: i["name"] for i in json.load(open("runs/found.jsonl.issues.json"))["issues"]}


def from_csv(cells):
    row = {}
    for name, cell in cells.items():
        if name == "diagnosis.labels":
            row.setdefault("diagnosis", {})["labels"] = cell.split("; ")
        elif name.startswith("diagnosis.probabilities."):
            row.setdefault("diagnosis", {}).setdefault("probabilities", {})[name[24:]] = float(cell)
        elif name.startswith("diagnosis.truncated."):
            if cell:
                row["diagnosis"].setdefault("truncated", {})[name[20:]] = int(cell)
        elif not name.startswith("diagnosis."):
            row[name] = cell
    return row


def read(run):
    if run.endswith(".csv"):
        yield from map(from_csv, csv.DictReader(open("runs/" + run, newline="")))
        return
    for line in open("runs/" + run):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        yield row


def values(row):
    """What a row is told apart by."""
    out, d = {}, row.get("diagnosis")
    out["run"] = [row["run"]]
    if row.get("system"):
        out["system"] = [row["system"]]
        out["system_run"] = [row["system"] + " · " + row["run"]]
    if d and d.get("status"):
        out["label"] = ["untagged"]
    elif d:
        out["label"] = d["labels"]
        out["not_judged"] = [v for v in d.get("not_judged", []) if v not in d["labels"]]
        out["truncated"] = list(d.get("truncated") or []) or ["whole"]
    elif row["run"] == "twins.jsonl":
        out["label"] = ["untagged"]
    gold = row.get("labels")
    if gold:
        out["gold"] = [g.strip() for g in gold.split(";")] if isinstance(gold, str) else gold
    f = row.get("issues")
    if f:
        out["issue"] = {"assigned": [ISSUES[i] for i in f.get("ids", [])], "no_issue": ["No Issue"],
                        "unassigned": ["unassigned"]}[f["status"]]
    if row.get("scores"):
        missing = [DIMENSIONS[k] for k, s in row["scores"].items() if s.get("value") is None]
        out["unscored"] = missing or ["scored"]
    for name, v in (row.get("verdicts") or {}).items():
        out["verdict." + name] = [v.get("value") or "unjudged"]
    for key in FACETS:
        if key.startswith("column.") and row.get(key[7:]) not in (None, ""):
            v = row[key[7:]]
            out[key] = [str(v).lower() if isinstance(v, bool) else v]
    return out


def numbers(row):
    out, d = {}, row.get("diagnosis") or {}
    for name, p in (d.get("probabilities") or {}).items():
        out["probability." + name] = p
    for name, s in (row.get("scores") or {}).items():
        if s.get("value") is not None:
            out["score." + name] = s["value"]
    if (row.get("issues") or {}).get("severity"):
        out["severity"] = row["issues"]["severity"]
    if row.get("minutes") not in (None, ""):
        out["column.minutes"] = float(row["minutes"])
    return out


def words(text):
    out, word = [], ""
    for c in text + " ":
        if unicodedata.category(c)[0] in "LN":
            word += c.lower()[0].replace("ς", "σ")
        elif word:
            out.append(word)
            word = ""
    return out


def texts(row):
    return [row["id"]] + [row[c] for f in FIELDS for c in ([f] if f in row else [f + "_a", f + "_b"]) if c in row]


rows = []
for run in RUNS:
    seen = {}
    for row in read(run):
        row["run"] = run
        seen[row["id"]] = seen.get(row["id"], 0) + 1
        if seen[row["id"]] > 1:
            row["id"] += "#%d" % seen[row["id"]]
        row["n"], row["values"], row["numbers"], row["words"] = len(rows), values(row), numbers(row), sum(map(words, texts(row)), [])
        row["group"] = row.get("passage") or "id " + row["id"]
        row["input"] = (row["answer"], row["passage"]) if "question" in row else len(rows)
        row["pair"] = columns["rows"]["pair"][len(rows)]
        rows.append(row)


def chosen(row, f):
    for key, c in (f.get("facets") or {}).items():
        have = set(row["values"].get(key, []))
        some, every, none = set(c.get("any", [])), set(c.get("all", [])), set(c.get("none", []))
        if some and not have & some or every - have or have & none or c.get("only") and have - some - every:
            return False
    for key, r in (f.get("ranges") or {}).items():
        x = row["numbers"].get(key)
        if x is None or r.get("min") is not None and x < r["min"] or r.get("max") is not None and x > r["max"]:
            return False
    return all(any(w.startswith(p) for w in row["words"]) for p in words(f.get("search", "")))


def split(by):
    return [v["name"] for v in FACETS[by]["values"]] if by else [None]


def within(row, by, name):
    return name is None or name in row["values"].get(by, [])


def judged(row, facet, value):
    return facet != "label" or value not in row["values"].get("not_judged", [])


def base(groups):
    n = {}
    for g in groups:
        n[g] = n.get(g, 0) + 1
    return n, {"rows": sum(n.values()), "groups": len(n), "squares": sum(x * x for x in n.values())}


def counts(q):
    mine = [r for r in rows if chosen(r, q["filter"])]
    facet = FACETS[q["facet"]]["values"]
    unknown = {v["name"] for v in facet if v.get("role") == "unknown"}
    columns, cells = [], {v["name"]: [] for v in facet}
    for name in split(q.get("by")):
        here = [r for r in mine if within(r, q.get("by"), name)]
        looked = [r for r in here if set(r["values"].get(q["facet"], [])) - unknown]
        columns.append({"name": name or "", **base(r["group"] for r in looked)[1]})
        for v in cells:
            n, of = base(r["group"] for r in looked if judged(r, q["facet"], v))
            has = [r for r in here if v in r["values"].get(q["facet"], [])]
            y = {}
            for r in has:
                y[r["group"]] = y.get(r["group"], 0) + 1
            known = v not in unknown
            cells[v].append({"rows": len(has), "squares": known and sum(x * x for x in y.values()) or 0,
                             "products": known and sum(x * n[g] for g, x in y.items()) or 0,
                             **({"of": of} if of["rows"] < len(looked) else {})})
    return {"total": len(mine), "columns": columns,
            "values": [{"name": v, "cells": cells[v]} for v in cells]}


def mean_sums(numbers):
    groups = {}
    for group, x in numbers:
        groups.setdefault(group, []).append(x)
    return {"groups": len(groups), "squares": sum(sum(g) ** 2 for g in groups.values()),
            "row_squares": sum(len(g) ** 2 for g in groups.values()),
            "products": sum(sum(g) * len(g) for g in groups.values())}


def histogram(q):
    m = MEASURES[q["measure"]]
    low, high, step = m["low"], m["high"], m.get("step")
    if step and round((high - low) / step) + 1 <= 21:
        n = round((high - low) / step) + 1
        edges = [low - step / 2 + step * i for i in range(n + 1)]
        where = lambda x: math.floor((x - edges[0]) / step)
    else:
        n = 20
        edges = [low + (high - low) * i / 20 for i in range(21)]
        where = lambda x: math.floor((x - low) / (high - low) * 20)
    columns = []
    measured = {r["run"] for r in rows if r["numbers"].get(q["measure"]) is not None}
    for name in split(q.get("by")):
        have = [(r["group"], r["numbers"].get(q["measure"])) for r in rows if r["run"] in measured
                and chosen(r, q["filter"]) and within(r, q.get("by"), name)]
        known = [(g, x) for g, x in have if x is not None]
        c = {"name": name or "", "rows": len(known), "missing": len(have) - len(known), "sum": sum(x for _, x in known),
             "counts": [0] * n, **mean_sums(known)}
        for _, x in known:
            c["counts"][min(max(where(x), 0), n - 1)] += 1
        columns.append(c)
    return {"edges": edges, "columns": columns}


def ordered(q):
    mine = [r for r in rows if chosen(r, q["filter"])]
    key, down = q["sort"]["key"], q["sort"].get("descending", False)

    def value(r):
        if key in ("", "row"):
            return r["n"]
        if key == "id":
            return r["id"]
        if key in MEASURES:
            return r["numbers"].get(key)
        places = {v["name"]: i for i, v in enumerate(FACETS[key]["values"])}
        has = r["values"].get(key, [])
        if FACETS[key]["multi"]:
            return sum(1 for v in has if not FACETS[key]["values"][places[v]].get("role"))
        return places[has[0]] if has else None

    have = [r for r in mine if value(r) is not None]
    if down:  # ties keep the order of files
        have = sorted(reversed(have), key=value)[::-1]
    else:
        have = sorted(have, key=value)
    return have + [r for r in mine if value(r) is None]


def page(q):
    mine = ordered(q)
    return {"total": len(mine), "rows": [r["n"] for r in mine[q["offset"]:q["offset"] + q["limit"]]]}


def detail(q):
    row = rows[q["n"]]
    partners = [r["n"] for r in rows if r["pair"] == row["pair"] and r["run"] != row["run"]]
    own = row["values"].get("system")
    for r in rows:
        other = r["values"].get("system")
        if own and other and own != other and r["input"] == row["input"] and r["n"] not in partners:
            partners.append(r["n"])
    return {"row": q["n"], "partners": partners[:100]}


def outputs(q):
    by, f = q["by"], q["filter"]
    column = lambda r: r["values"].get(by, [None])[0]
    key = lambda r: r["pair" if by == "run" else "input"]
    lines, before = {}, []
    for r in rows:
        nth = sum(1 for k, c in before if k == key(r) and c == column(r))
        before.append((key(r), column(r)))
        if column(r) is not None:
            lines.setdefault((key(r), nth), []).append(r)
    own = {"facets": {by: f.get("facets", {}).get(by, {})}}
    out = []
    for line in lines.values():
        line = [r for r in line if chosen(r, own)]
        sets = [r["values"].get(q.get("differ"), []) for r in line]
        unknown = {v["name"] for v in FACETS.get(q.get("differ"), {"values": []})["values"] if v.get("role") == "unknown"}
        sets = {frozenset(s) for s in sets if set(s) - unknown}
        if any(chosen(r, f) for r in line) and (not q.get("differ") or len(sets) > 1):
            out.append([r["n"] for r in line])
    return {"total": len(out), "without": sum(1 for r in rows if chosen(r, f) and column(r) is None),
            "rows": out[q["offset"]:q["offset"] + q["limit"]]}


def pairs(q):
    side = lambda s: [r for r in rows if s["value"] in r["values"].get(s["facet"], [])]
    a, b = side(q["a"]), side(q["b"])
    runs = q["a"]["facet"] == "run"
    key = lambda r: r["pair"] if runs else r["input"]
    if not runs:
        a, b = (sorted(s, key=lambda r: r["id"]) for s in (a, b))
    rest, both = list(b), []
    as_many = lambda r: sum(key(x) == key(r) for x in a) == sum(key(x) == key(r) for x in b)
    for r in a:
        match = next((x for x in rest if key(x) == key(r) and as_many(r)), None)
        if match is not None:
            rest.remove(match)
            both.append((r, match))
    if not runs:  # what is left of a group, where both have as many
        for g in {r["group"] for r in rest}:
            left = [r for r in a if r["group"] == g and r["n"] not in {p[0]["n"] for p in both}]
            others = [r for r in rest if r["group"] == g]
            if len(left) == len(others):
                both += zip(left, others)
                rest = [r for r in rest if r["group"] != g]
    both.sort(key=lambda p: p[0]["n"])
    missed = lambda rows, other, at: sum(
        r["group"] in {x["group"] for x in other} and r["n"] not in {p[at]["n"] for p in both} for r in rows)
    out = {"paired": len(both), "alone_a": len(a) - len(both), "alone_b": len(rest),
           "missed_a": missed(a, b, 0), "missed_b": missed(b, a, 1)}
    both = [p for p in both if chosen(p[0], q["filter"]) or chosen(p[1], q["filter"])]
    facet = FACETS[q["facet"]]["values"]
    unknown = {v["name"] for v in facet if v.get("role") == "unknown"}
    sets = [(set(x["values"].get(q["facet"], [])) - unknown, set(y["values"].get(q["facet"], [])) - unknown, x, y)
            for x, y in both]
    known = [s for s in sets if s[0] and s[1]]
    none = {v["name"] for v in facet if v.get("role") == "none"}
    left = lambda r: set(r["values"].get("not_judged", [])) if q["facet"] == "label" else set()
    # rows that were not judged for the same errors are no pair of rows without one
    clear = lambda v, x, y: left(x) == left(y) if v in none else v not in left(x) | left(y)
    alone = lambda s, t: {None: s ^ t, "a": s - t, "b": t - s}[q.get("only")]
    differ = lambda s, t, x, y: {v for v in alone(s, t) if clear(v, x, y)}
    want = q.get("value")
    changed = [[p[2]["n"], p[3]["n"]] for p in known if (want in differ(*p) if want else differ(*p))]
    of_all = base(x["group"] for _, _, x, _ in known)[1]
    out.update(pairs=len(both), unknown=len(both) - len(known), changed=len(changed), values=[], measures=[],
               groups=of_all["groups"], squares=of_all["squares"],
               rows=changed[q["offset"]:q["offset"] + q["limit"]])
    for v in facet:
        name = v["name"]
        if name not in unknown:
            here = [(name in s, name in t, x["group"]) for s, t, x, y in known if clear(name, x, y)]
            has, (n, of) = [h[:2] for h in here], base(g for _, _, g in here)
            change = [(sum(t - s for s, t, h in here if h == g), n[g]) for g in n]
            out["values"].append({"name": name, "both": has.count((True, True)), "only_a": has.count((True, False)),
                                  "only_b": has.count((False, True)), "neither": has.count((False, False)),
                                  "squares": sum(d * d for d, _ in change), "products": sum(d * n for d, n in change),
                                  **({"of": of} if len(here) < len(known) else {})})
    for m in MEASURES:
        xy = [(x["group"], x["numbers"][m], y["numbers"][m]) for x, y in both if m in x["numbers"] and m in y["numbers"]]
        if xy:
            out["measures"].append({"key": m, "pairs": len(xy), "sum_a": sum(x for _, x, _ in xy),
                                    "sum_b": sum(y for _, _, y in xy), **mean_sums((g, y - x) for g, x, y in xy)})
    return out


answers = []
for asked in json.load(open("queries/all.json")):
    answer = {"counts": counts, "histogram": histogram, "rows": page, "row": detail, "pairs": pairs,
              "outputs": outputs}[asked["kind"]]
    answers.append({"kind": asked["kind"], "query": asked["query"], "answer": answer(asked["query"])})
with open("witness.json", "w") as out:
    out.write("[" + ",\n".join(json.dumps(a, ensure_ascii=False) for a in answers) + "]\n")
