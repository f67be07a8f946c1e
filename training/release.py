"""Writes the project's own questions and labels without other people's passages: keyed by the passage's SHA-256.

    python release.py --material DIR --out training/data [--more FILE] [--edits FILE] [--pool FILE]

join.py puts the passages back. Passages of two paragraphs carry both keys.
"""
import argparse
import gzip
import json
import pathlib

from data import QUIZ, SYSTEMS, exact, key, of, read, row_key, unpack


def paragraphs(passage, known):
    """The keys of the paragraphs that the passage was joined from, by a blank."""
    if key(passage) in known:
        return [key(passage)]
    parts = passage.split(" ")
    for i in range(1, len(parts)):
        a, b = key(" ".join(parts[:i])), key(" ".join(parts[i:]))
        if a in known and b in known:
            return [a, b]
    raise SystemExit(f"no paragraphs found for: {passage[:80]}")


def dump(path, rows):
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as f:
        for r in rows:
            f.write((json.dumps(r, ensure_ascii=False) + "\n").encode())
    print(path, len(rows), path.stat().st_size)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--material", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--more", type=pathlib.Path, help="JSON Lines of further written questions on single passages of the material")
    p.add_argument("--pool", type=pathlib.Path, help="JSON Lines of rows of qg_real_pool.jsonl with their labels, and how each was chosen")
    p.add_argument("--edits", type=pathlib.Path, help="JSON Lines of edits: passage, question, answer, label, old, new")
    a = p.parse_args()
    if a.edits:
        dump(a.out / "question_edits.jsonl.gz", [{"of": of(r), "label": r["label"], "old": r["old"], "new": r["new"]} for r in read(a.edits)])
    if a.more:
        dump(a.out / "questions_more.jsonl.gz", [{"id": r["id"], "passage_sha256": [key(r["passage"])], "title": r["title"], "answer": r["answer"],
             "question": r["question"], "labels": r["labels"], "kind": r["kind"], "source": r["source"], "split": "train"} for r in read(a.more)])
    if a.pool:
        again = {r["row"]: {k: r[k] for k in ("labels", "annotations") if k in r} for r in unpack(SYSTEMS)}  # some were read again
        systems = [(r, {"split": r["split"]}) for r in read(a.material / "qg_real_labels.jsonl")] + [(r, {"split": "train", "chosen": r["chosen"]}) for r in read(a.pool)]
        dump(a.out / "systems_labels.jsonl.gz", [{"row": row_key(r), "source": r["source"], "system": r["system"], "labels": r["labels"], **how} |
             ({"annotations": r["annotations"]} if r.get("annotations") else {}) | again.get(row_key(r), {}) for r, how in systems])
    known = {key(r["passage"]) for f in a.material.glob("*.jsonl") if not f.name.startswith(("qg_", "quizdesign", "pandalm"))
             for r in read(f) if r["passage"]}
    cache = {}
    written = []
    for r in read(a.material / "qg_errors_written.jsonl"):
        keys = cache.setdefault(r["passage"], None) or paragraphs(r["passage"], known)
        cache[r["passage"]] = keys
        written.append({"id": r["id"], "passage_sha256": keys, "title": r["title"], "answer": r["answer"], "question": r["question"],
                        "labels": r["labels"], "kind": r["kind"], "source": r["source"], "split": r["split"]})
    dump(a.out / "questions_written.jsonl.gz", written)
    better = {r["id"]: r for r in unpack(QUIZ)}  # `train` rows have three annotations there, one in the material
    real = []
    for r in read(a.material / "quizdesign_labels.jsonl"):
        r |= {k: better[r["id"]][k] for k in ("labels", "annotations") if k in better.get(r["id"], {})}
        row = {"id": r["id"], "passage_sha256": [key(r["passage"])], "row_sha256": exact(r["passage"], r["answer"], r["question"]),
               "labels": r["labels"], "split": r["split"]}
        if r.get("annotations"):
            row["annotations"] = r["annotations"]
        real.append(row)
    dump(a.out / "quizdesign_labels.jsonl.gz", real)


if __name__ == "__main__":
    main()
