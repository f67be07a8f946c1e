"""Collects the training material: right human questions (to simulate errors from) and labelled questions.

    python data.py --material DIR --out DIR

DIR (--material) holds the JSON Lines files that training/README.md describes.
Passages and titles of any `tune` or `test` row are kept out of everything that is trained on, whatever source they come from.
Each labelled row says which `part` it belongs to: `real` (21 systems), `quiz` (Quiz Design), `written` or `llm` (language models).
"""
import argparse
import gzip
import hashlib
import json
import pathlib
import re
import collections

RIGHT = ["squad_train_part", "fairytaleqa_train", "fairytaleqa_val", "fairytaleqa_test", "qed_dev", "policyqa"]
LABELLED = {"written": "qg_errors_written", "quiz": "quizdesign_labels", "real": "qg_real_labels"}
# Written for the project after the others, for `train` alone, on passages of the material: questions with clauses for answers, minimal pairs.
DATA = pathlib.Path(__file__).parent / "data"
MORE = DATA / "questions_more.jsonl.gz"
# Questions as language models write them when users ask for some, with all splits; nobody planted errors in them.
LLM = DATA / "questions_llm.jsonl.gz"
# Labels of Quiz Design, of three annotations each; those of the material's `train` rows are of one.
QUIZ = DATA / "quizdesign_labels.jsonl.gz"
# Labels of the questions of 21 systems; those of the pool (qg_real_pool.jsonl) are for `train`. Some of `train` were read again.
SYSTEMS, POOL = DATA / "systems_labels.jsonl.gz", "qg_real_pool"
# Right questions of `train` of which a few words were changed by hand: minimal pairs.
EDITS = DATA / "question_edits.jsonl.gz"


def read(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def key(passage):
    """Passages are compared without spacing and case: sources differ in both."""
    return hashlib.sha256(re.sub(r"\W+", "", passage.lower()).encode()).hexdigest()


def title(row):
    """The article, story or document; Quiz Design only numbers its passages within a topic."""
    return "" if row["source"] == "quizdesign" else row["title"].lower()


def parts(row):
    """The passage and its paragraphs, without those too short to tell."""
    return [part for part in [row["passage"], *row["passage"].split("\n")] if len(part) > 40]


def exact(*texts):
    """Machine questions that differ in case alone are different outputs."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def unpack(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def of(row):
    """What an edit names its question by."""
    return exact(key(row["passage"]), " ".join(row["question"].split()), row["answer"])[:16]


def row_key(r):
    """What SYSTEMS names a question by."""
    return exact(key(r["passage"]), r["answer"], r["question"])[:16]


def pooled(rows):
    """The rows of the pool that SYSTEMS has labels for."""
    labels = {r["row"]: r["labels"] for r in unpack(SYSTEMS) if "chosen" in r}
    found = [r | {"labels": labels[row_key(r)], "split": "train", "part": "real"} for r in rows if row_key(r) in labels]
    print("pool", len(found), "of", len(labels))
    return found


def edited(right):
    """EDITS made on the right questions, and those questions."""
    edits, known, used, out = unpack(EDITS), {of(r): r for r in right}, {}, []
    for i, e in enumerate(edits):
        if e["of"] not in known:
            continue
        r = used[e["of"]] = known[e["of"]]
        right_words = " ".join(r["question"].split())
        question = " ".join(right_words.replace(e["old"], e["new"]).split())
        out.append(r | {"id": f"e{i}", "question": question, "labels": [e["label"]], "original": question if e["label"] == "No Error" else right_words})
    print("question_edits", len(out), "of", len(edits))
    out += [r | {"id": f"e-{r['id']}", "labels": ["No Error"], "original": r["question"]} for r in used.values()]
    for r in out:
        r |= {"kind": "edit", "split": "train", "part": "written", "source": r["source"].removesuffix("1.1-train")}
    return out


def more(path, part, passages):
    """Questions with their passages, which the file names by their keys; what is not among them is left out."""
    rows = unpack(path)
    known = {key(p): p for p in passages}
    found = [r | {"passage": known[r["passage_sha256"][0]], "part": part} for r in rows if r["passage_sha256"][0] in known]
    print(path.name, len(found), "of", len(rows))
    return found


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        for r in rows:
            f.write(json.dumps(r, ensure_ascii=False) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--material", required=True, type=pathlib.Path)
    p.add_argument("--out", required=True, type=pathlib.Path)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)

    labelled = [r | {"part": kind} for kind, name in LABELLED.items() for r in read(a.material / f"{name}.jsonl")]
    quiz, systems = {r["id"]: r["labels"] for r in unpack(QUIZ)}, {r["row"]: r["labels"] for r in unpack(SYSTEMS)}
    for r in labelled:
        if r["part"] == "quiz":
            r["labels"] = quiz[r["id"]]
        elif r["part"] == "real":
            r["labels"] = systems[row_key(r)]
    labelled += pooled(read(a.material / f"{POOL}.jsonl"))
    human = {name: read(a.material / f"{name}.jsonl") for name in RIGHT}
    passages = {r["passage"] for rows in [*human.values(), labelled] for r in rows}
    labelled += more(MORE, "written", passages) + more(LLM, "llm", passages)
    held = [r for r in labelled if r["split"] != "train"]
    held_titles = {title(r) for r in held} - {""}
    held_passages = {key(part) for r in held for part in parts(r)}

    def kept_out(r):
        return title(r) in held_titles or any(key(part) in held_passages for part in parts(r))

    fewer = collections.Counter(r["part"] for r in labelled if r["split"] == "train" and kept_out(r))
    labelled = [r for r in labelled if r["split"] != "train" or not kept_out(r)]

    # Right questions of `train` stand beside the human ones: their answers are cut as real systems are given them.
    right = [{k: r[k] for k in ("id", "title", "passage", "question", "answer", "source", "part")}
             for r in labelled if r["split"] == "train" and r["labels"] == ["No Error"]]
    for name in RIGHT:
        for r in human[name]:
            if r.get("is_impossible") or not r["answer"].strip() or not r["passage"].strip():
                continue
            if kept_out(r):
                fewer[name] += 1
                continue
            right.append({k: r[k] for k in ("id", "title", "passage", "question", "answer", "source")} | {"part": "human"})
    seen = set()
    for i, r in enumerate(right):  # ids repeat between sources
        if r["id"] in seen:
            r["id"] = f"{r['id']}#{i}"
        seen.add(r["id"])
    write(a.out / "right.jsonl", right)
    write(a.out / "right_real.jsonl", [r for r in right if r["part"] in ("real", "quiz")])
    have = {(r["passage"], r["question"]) for r in labelled}
    labelled += [r for r in edited(right) if (r["passage"], r["question"]) not in have]
    for split in ("train", "tune", "test"):
        rows = [r for r in labelled if r["split"] == split]
        write(a.out / f"labelled_{split}.jsonl", rows)
        for kind in [*LABELLED, "llm"]:  # reported apart
            write(a.out / f"{split}_{kind}.jsonl", [r for r in rows if r["part"] == kind])
        print(split, len(rows), dict(collections.Counter(r["part"] for r in rows)))
    print("right", len(right), dict(collections.Counter(r["source"] for r in right)))
    print("kept out of training", dict(fewer))


if __name__ == "__main__":
    main()
