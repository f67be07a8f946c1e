#!/usr/bin/env python3
"""A trainer for `erreval refine train` that needs no torch: it gives back what training/finetune.py made of the same rows.

    python3 testdata/refine/recorded.py config.json                          the recorded checkpoint
    python testdata/refine/recorded.py --record FINETUNE.py config.json      trains truly, and records it (make refine-e2e)
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

RECORDED = pathlib.Path(__file__).resolve().with_name("recorded")
SHARED, OWN = ("tokenizer.json", "tokenizer_config.json"), ("config.json", "model.safetensors", "result.json")
SETTINGS = ("task", "init", "fields", "labels", "epochs", "batch", "lr", "patience", "seed", "max_tokens")


def place(job):
    """The folder of a job's checkpoint, named after all that it was made of but the encoder."""
    digest = hashlib.sha256(json.dumps([job[k] for k in SETTINGS]).encode())
    for part in ("train", "dev"):
        with open(job[part], encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                digest.update(json.dumps([part, [row[f] for f in job["fields"]], row["labels"], row.get("right")]).encode())
    return RECORDED / f"{job['task']}-{digest.hexdigest()[:12]}"


def copy(names, source, target):
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(source / name, target / name)


def replay(job):
    source, out = place(job), pathlib.Path(job["out"])
    if not source.is_dir():
        sys.exit(f"recorded.py: nothing is recorded for these rows and settings ({job['train']}, {source.name}). Another trainer is named by trainer: in "
                 "refine.yaml; if the sample rows or what chooses among them has changed, record anew with: make refine-e2e RECORD=1 PYTHON=PATH")
    copy(SHARED, RECORDED, out)
    copy(OWN, source, out)
    print((source / "progress.jsonl").read_text(), end="")


def record(finetune, config, job):
    looks = []
    with subprocess.Popen([sys.executable, finetune, config], stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
            looks += [line] if "dev_micro_f1" in line else []
    if run.returncode:
        sys.exit(run.returncode)
    target, out = place(job), pathlib.Path(job["out"])
    copy(SHARED, out, RECORDED)
    copy(OWN, out, target)
    (target / "progress.jsonl").write_text("".join(looks[-1:]))


if __name__ == "__main__":
    *way, config = sys.argv[1:]
    job = json.loads(pathlib.Path(config).read_text(encoding="utf-8"))
    if way:
        record(way[1], config, job)
    else:
        replay(job)
