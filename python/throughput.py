"""Rows a second of the ways to tag rows: scripts/throughput.sh."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

import erreval
from cluster_test import processes_of
from erreval._program import environment, program

FEW = 40
SAMPLES = Path(__file__).parents[1] / "testdata" / "samples" / "questions.jsonl"
Way = Callable[[Path, "str | None"], None]


def write_rows(folder: Path, rows: int) -> Path:
    """The sample rows again and again, each with an id of its own, as JSON Lines and in eight Parquet files."""
    samples = [json.loads(line) for line in SAMPLES.open(encoding="utf-8")]
    all_rows = [{**samples[i % len(samples)], "id": str(i)} for i in range(rows)]
    to = folder / str(rows)
    (to / "parts").mkdir(parents=True)
    (to / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in all_rows), encoding="utf-8")
    for part in range(8):
        pd.DataFrame(all_rows[part::8]).to_parquet(to / "parts" / f"{part}.parquet")
    return to


def command(folder: Path, model: str | None) -> None:
    options = ["--model", model] if model else []
    line = [program(), "identify", str(folder / "rows.jsonl"), "-o", str(folder / "out.jsonl"), "-q", "--overwrite"]
    subprocess.run([*line, *options], env=environment(), check=True)


def worker(folder: Path, model: str | None) -> None:
    options = ["--model", model] if model else []
    with open(folder / "rows.jsonl", "rb") as rows, open(folder / "out.jsonl", "wb") as out:
        line = [program(), "identify", "-", "-o", "-", "-q", "--flush", *options]
        subprocess.run(line, env=environment(), check=True, stdin=rows, stdout=out)


def python_frame(folder: Path, model: str | None) -> None:
    erreval.identify(pd.read_parquet(folder / "parts"), model=model).to_parquet(folder / "out.parquet")


def python_rows(folder: Path, model: str | None) -> None:
    with (
        open(folder / "rows.jsonl", encoding="utf-8") as rows,
        open(folder / "out.jsonl", "w", encoding="utf-8") as out,
    ):
        for row in erreval.identify(map(json.loads, rows), model=model):
            out.write(json.dumps(row) + "\n")


@contextlib.contextmanager
def spark() -> Iterator[Way]:
    from pyspark.sql import SparkSession

    import erreval.spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.python.worker.reuse", "true")
        .config("spark.sql.files.maxPartitionBytes", "64m")  # a file a task
        .config("spark.sql.files.openCostInBytes", "64m")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )

    def way(folder: Path, model: str | None) -> None:
        rows = session.read.parquet(str(folder / "parts"))
        erreval.spark.identify(rows, model=model).write.mode("overwrite").parquet(str(folder / "spark"))

    yield way
    session.stop()


@contextlib.contextmanager
def ray() -> Iterator[Way]:
    import ray as engine

    import erreval.ray

    engine.init(num_cpus=3, include_dashboard=False, log_to_driver=False)  # one for what reads and writes

    def way(folder: Path, model: str | None) -> None:
        rows = engine.data.read_parquet(str(folder / "parts")).repartition(8)
        erreval.ray.identify(rows, model=model, concurrency=2).write_parquet(str(folder / "ray"), mode="overwrite")

    yield way
    engine.shutdown()


@contextlib.contextmanager
def plain(way: Way) -> Iterator[Way]:
    yield way


WAYS: dict[str, Callable[[], contextlib.AbstractContextManager[Way]]] = {
    "the command, on a file": lambda: plain(command),
    "worker (--flush)": lambda: plain(worker),
    "Python, a frame": lambda: plain(python_frame),
    "Python, rows": lambda: plain(python_rows),
    "Spark": spark,
    "Ray": ray,
}


class Memory(threading.Thread):
    """The most resident memory, in MiB, that any process of the program took since it was asked for last."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0

    def run(self) -> None:
        while True:
            for pid, _ in processes_of("identify"):
                with contextlib.suppress(OSError, StopIteration):
                    status = Path(f"/proc/{pid}/status").read_text().splitlines()
                    peak = next(line for line in status if line.startswith("VmHWM:"))
                    self.most = max(self.most, int(peak.split()[1]) / 1024)
            threading.Event().wait(0.1)

    def take(self) -> float:
        most, self.most = self.most, 0.0
        return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--model")
    parser.add_argument("--ways", default="", help="numbers of ways, such as 1,2,3; all")
    o = parser.parse_args()
    chosen = [list(WAYS)[int(n) - 1] for n in o.ways.split(",")] if o.ways else list(WAYS)
    memory = Memory()
    memory.start()
    rates: dict[str, list[float]] = {name: [] for name in chosen}
    starts: dict[str, list[float]] = {name: [] for name in chosen}
    peaks: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as text:
        few, many = write_rows(Path(text), FEW), write_rows(Path(text), o.rows)
        for _ in range(o.rounds):
            for name in chosen:
                began = time.monotonic()
                with WAYS[name]() as way:
                    way(few, o.model)
                    first, few_peak = time.monotonic(), memory.take()
                    way(few, o.model)  # an engine that runs already
                    second = time.monotonic()
                    way(many, o.model)
                    third = time.monotonic()
                rates[name].append((o.rows - FEW) / ((third - second) - (second - first)))
                starts[name].append(first - began - FEW / rates[name][-1])
                peaks[name] = (few_peak, memory.take())
    print("| way | rows/s | of the command's | start, s | MiB, 40 rows | MiB, all rows |\n|---|---|---|---|---|---|")
    local = statistics.median(rates[chosen[0]])
    for name in chosen:
        rate, start = statistics.median(rates[name]), statistics.median(starts[name])
        print(
            f"| {name} | {rate:.1f} | {rate / local:.2f} | {start:.1f} | {peaks[name][0]:.0f} | {peaks[name][1]:.0f} |"
        )


if __name__ == "__main__":
    main()
