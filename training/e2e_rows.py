"""Rows and configs for e2e.sh.

    python e2e_rows.py questions_gold.jsonl taxonomy.json OUT
    python e2e_rows.py --config OUT TASK KIND FOLDER
"""
import json
import pathlib
import random
import sys


def rows(gold, taxonomy, out):
    names = [t["name"] for t in json.loads(pathlib.Path(taxonomy).read_text())["types"]]
    labelled = [json.loads(line) for line in pathlib.Path(gold).read_text().splitlines()]
    (out / "labels.json").write_text(json.dumps(names))
    rng = random.Random(1)
    sets = [r | {"right": rng.randrange(2)} for r in labelled]
    for r in sets:
        if not r["right"]:
            r["labels"] = [rng.choice([n for n in names if n not in r["labels"]])]
    labelled[0], labelled[-1] = ({k: v for k, v in labelled[i].items() if k != "answer"} for i in (0, -1))  # the answer is optional
    for task, made in (("identifier", labelled), ("verifier", sets)):
        for part, some in (("train", made[:28]), ("dev", made[28:])):
            (out / f"{task}_{part}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in some))
        texts = [{"answer": ""} | r | {"label_set": ", ".join(r["labels"])} for r in made]  # taxonomies cannot have a field "labels"
        (out / f"{task}_texts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in texts))


def config(out, task, kind, folder):
    names = json.loads((out / "labels.json").read_text())
    return {"task": task, "encoder": str(out / kind), "fields": ["question", "answer", "passage"], "labels": names, "no_error": names[-1], "needs": {"Off Target Answer": ["answer"]},
            "train": str(out / f"{task}_train.jsonl"), "dev": str(out / f"{task}_dev.jsonl"), "out": str(out / folder), "device": "cpu",
            "epochs": 4, "patience": 4, "batch": 4, "lr": 5e-4, "seed": 3, "threads": 1}


if __name__ == "__main__":
    if sys.argv[1] == "--config":
        print(json.dumps(config(pathlib.Path(sys.argv[2]), *sys.argv[3:])))
    else:
        rows(*sys.argv[1:3], pathlib.Path(sys.argv[3]))
