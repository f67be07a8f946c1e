"""Spark and Ray on one machine: cluster_test.py spark|ray --model DIR [--rows N] [--folder DIR].

Tags rows with several worker processes, kills one of them, and an executor (or an actor) a little later, and wants
every row exactly once, as one local run tags it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from erreval._program import environment, program

PARTS = 40


def write_rows(folder: Path, rows: int) -> None:
    """The rows as JSON Lines, and as PARTS Parquet files."""
    words = ["wall", "stone", "mason", "river", "bridge", "tower", "built", "before", "north", "king", "market"]
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as out:
        part: list[dict[str, str]] = []
        for i in range(rows):
            some = [words[(i * k + k * k) % len(words)] for k in range(3, 13)]
            row = {"id": str(i), "question": f"Who {' '.join(some[:4])}?", "answer": some[4], "passage": " ".join(some)}
            out.write(json.dumps(row) + "\n")
            part.append(row)
            if len(part) == -(-rows // PARTS) or i == rows - 1:
                (folder / "rows").mkdir(exist_ok=True)
                pq.write_table(pa.Table.from_pylist(part), folder / "rows" / f"{i:09}.parquet")
                part = []


def processes_of(word: str) -> list[tuple[int, int]]:
    """The processes of the program with a word in their line, each with its parent."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "exe") == os.path.realpath(program()):
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                if word.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                    found.append((int(entry.name), int(stat[1])))
        except OSError:  # it has ended
            continue
    return sorted(found)


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class Killer(threading.Thread):
    """Kills a worker process when a fifth of the parts is done, and the engine's process of one at two fifths."""

    def __init__(self, done: Callable[[], int], engine_process: Callable[[int], int]) -> None:
        super().__init__(daemon=True)
        self.done, self.engine_process = done, engine_process
        self.killed: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        for share, what in ((5, "a worker process"), (2.5, "an engine's process")):
            while self.done() < PARTS / share or not processes_of("--flush"):
                if self.over.wait(0.05):
                    return
            worker, above = processes_of("--flush")[0]
            pid = worker if "worker" in what else self.engine_process(above)
            self.killed.append(f"kill -9 of {what} with {self.done()} of {PARTS} parts done: {command_of(pid)[:60]}")
            os.kill(pid, signal.SIGKILL)


def executor_of(pid: int) -> int:
    """The executor's JVM above a Python worker."""
    while "CoarseGrainedExecutorBackend" not in command_of(pid):
        pid = parent(pid)
    return pid


def tag_with_spark(folder: Path, model: str) -> Killer:
    from pyspark.sql import SparkSession

    import erreval.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.python.worker.reuse", "true")
        .config("spark.sql.files.maxPartitionBytes", "64m")  # a file a task
        .config("spark.sql.files.openCostInBytes", "64m")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", str(folder / "spark"))
        .config("spark.worker.dir", str(folder / "work"))
        .getOrCreate()
    )
    tracker = spark.sparkContext.statusTracker()

    def done() -> int:
        infos = [tracker.getStageInfo(s) for s in tracker.getActiveStageIds()]
        return max((i.numCompletedTasks for i in infos if i and i.numTasks >= PARTS), default=0)

    killer = Killer(done, executor_of)
    tagged = erreval.spark.identify(spark.read.parquet(str(folder / "rows")), model=model)
    killer.start()
    tagged.write.parquet(str(folder / "out"))
    killer.over.set()
    spark.stop()
    return killer


def tag_with_ray(folder: Path, model: str) -> Killer:
    import ray

    import erreval.ray

    ray.init(num_cpus=2, include_dashboard=False, _temp_dir=str(folder / "ray"), log_to_driver=False)
    out = folder / "out"
    killer = Killer(lambda: len(list(out.glob("*.parquet"))) if out.exists() else 0, lambda pid: pid)
    rows = ray.data.read_parquet(str(folder / "rows")).repartition(PARTS)
    tagged = erreval.ray.identify(rows, model=model, num_cpus=0.5, concurrency=2)
    killer.start()
    tagged.write_parquet(str(out))
    killer.over.set()
    ray.shutdown()
    return killer


def plain(value: Any) -> dict[str, float]:
    """Probabilities, as Spark writes maps and Ray writes structs."""
    pairs = value.items() if isinstance(value, dict) else value
    return {name: p for name, p in pairs if p is not None}


def compare(folder: Path) -> int:
    """Wants each row once, with the diagnosis of the local run. It gives the number of rows."""
    want = {}
    with open(folder / "local.jsonl", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            want[row["id"]] = (row["question"], row["diagnosis"]["labels"], row["diagnosis"]["probabilities"])
    rows = 0
    for path in (folder / "out").glob("*.parquet"):
        for row in pq.read_table(path).to_pylist():
            rows += 1
            found = (row["question"], list(row["labels"]), plain(row["probabilities"]))
            expected = want.pop(row["id"], "no row, or one that came before")
            if found != expected:
                raise SystemExit(f"row {row['id']}: {found}, want {expected}")
    if want:
        raise SystemExit(f"{len(want)} rows are missing, such as {min(want)}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("engine", choices=["spark", "ray"])
    parser.add_argument("--model", required=True)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, default=Path(".cache/cluster"))
    o = parser.parse_args()
    folder = o.folder.resolve() / o.engine
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_rows(folder, o.rows)
    local = [
        program(),
        "identify",
        str(folder / "rows.jsonl"),
        "-o",
        str(folder / "local.jsonl"),
        "-q",
        "--model",
        o.model,
    ]
    began = time.monotonic()
    subprocess.run(local, env=environment(), check=True)
    took = time.monotonic() - began
    print(f"{o.engine}: {o.rows} rows; a local run takes {took:.1f} s", flush=True)
    began = time.monotonic()
    killer = {"spark": tag_with_spark, "ray": tag_with_ray}[o.engine](folder, os.path.abspath(o.model))
    took = time.monotonic() - began
    for text in killer.killed:
        print(f"{o.engine}: {text}")
    if len(killer.killed) != 2:
        raise SystemExit(f"{o.engine}: it ended before both were killed; give more --rows")
    print(f"{o.engine}: {compare(folder)} rows, each once, as in the local run, in {took:.1f} s")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
