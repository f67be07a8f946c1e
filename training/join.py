"""Joins training/data with the public data sets again and lays the material out as data.py reads it.

    python join.py --public DIR --out DIR

DIR (--public) holds the data sets as their owners publish them, in any folders, named so that the kind can be told:
squad*.json (SQuAD 1.1 train), policyqa*.json (SQuAD's layout), fairytale*.csv, qed*.jsonl, quizdesign*.{csv,jsonl} with
the columns passage, answer, question, system, accepted, reason, and systems*.jsonl with the columns title, passage, answer, question, system,
source of the questions of 21 systems (data/systems_labels.jsonl.gz names the repository of each in `source`). Passages are found by their SHA-256 (letters and digits
only, lower case), so spacing does not matter; machine questions by their exact text, case included. What is not found is counted, never made up.
"""
import argparse
import csv
import gzip
import json
import pathlib

from data import exact, key, read, row_key, write

HERE = pathlib.Path(__file__).parent / "data"


def squad(path, source):
    for doc in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for par in doc["paragraphs"]:
            for qa in par["qas"]:
                if qa["answers"]:
                    yield {"id": qa["id"], "title": doc["title"], "passage": par["context"], "question": qa["question"],
                           "answer": qa["answers"][0]["text"], "source": source}


def fairytale(path):
    with open(path, newline="", encoding="utf-8") as f:
        for i, r in enumerate(csv.DictReader(f)):
            title = r.get("story_name") or r.get("book_name") or ""
            yield {"id": f"{title}-{path.stem}-{i}", "title": title, "passage": r.get("story_section") or r.get("cor_section") or "",
                   "question": r["question"], "answer": r["answer1"], "source": "fairytaleqa"}


def qed(path):
    for r in read(path):
        answers = r["original_nq_answers"]
        span = answers[0] if isinstance(answers[0], dict) else answers[0][0]
        yield {"id": str(r["example_id"]), "title": r["title_text"], "passage": r["paragraph_text"], "question": r["question_text"],
               "answer": span["string"], "source": "qed"}


def table(path):
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as f:
            return list(csv.DictReader(f))
    return read(path)


def released(name):
    with gzip.open(HERE / name, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--public", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True, type=pathlib.Path)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    kinds = {"squad_train_part": ("squad*.json", lambda f: squad(f, "squad1.1-train")), "policyqa": ("policyqa*.json", lambda f: squad(f, "policyqa")),
             "fairytaleqa_train": ("fairytale*.csv", fairytale), "qed_dev": ("qed*.jsonl", qed)}
    passages = {}
    for name, (pattern, load) in kinds.items():
        rows = [r for f in sorted(a.public.rglob(pattern)) for r in load(f)]
        passages |= {key(r["passage"]): r["passage"] for r in rows}
        write(a.out / f"{name}.jsonl", rows)
        print(name, len(rows))
    for empty in ("fairytaleqa_val", "fairytaleqa_test"):  # their rows stand in fairytaleqa_train
        write(a.out / f"{empty}.jsonl", [])

    rows = released("questions_written.jsonl.gz")
    found = [r | {"passage": " ".join(passages[k] for k in r.pop("passage_sha256"))} for r in rows if all(k in passages for k in r["passage_sha256"])]
    write(a.out / "qg_errors_written.jsonl", found)
    print("written questions joined:", len(found), "of", len(rows))

    labels = {r["row_sha256"]: r for r in released("quizdesign_labels.jsonl.gz")}
    real = []
    for f in sorted(a.public.rglob("quizdesign*")):
        for r in table(f):
            if hit := labels.pop(exact(r["passage"], r["answer"], r["question"]), None):
                real.append({"id": hit["id"], "title": hit["passage_sha256"][0][:8], "source": "quizdesign", **{k: r.get(k) for k in
                             ("passage", "answer", "question", "system", "accepted", "reason")}, "labels": hit["labels"], "split": hit["split"]})
    write(a.out / "quizdesign_labels.jsonl", real)
    print("real questions joined:", len(real), "of", len(real) + len(labels))

    labels = {r["row"]: r for r in released("systems_labels.jsonl.gz")}
    of, known = {"qg_real_labels": [], "qg_real_pool": []}, len(labels)
    for f in sorted(a.public.rglob("systems*.jsonl")):
        for r in read(f):
            if hit := labels.pop(row_key(r), None):
                own = {k: r.get(k, "") for k in ("title", "passage", "answer", "question", "system", "source")} | {"id": hit["row"]}
                of["qg_real_pool" if "chosen" in hit else "qg_real_labels"].append(own if "chosen" in hit else own | {k: hit[k] for k in ("labels", "split")})
    for name, found in of.items():
        write(a.out / f"{name}.jsonl", found)
    print("questions of systems joined:", known - len(labels), "of", known)


if __name__ == "__main__":
    main()
