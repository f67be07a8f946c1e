"""Tagging on Spark: erreval.spark.identify(df). Spark distributes rows, places tasks and tries failed ones again."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DoubleType, MapType, StringType, StructField, StructType

from ._shipping import name_of, pack, unpack
from ._tagger import Tagger, Threshold

if TYPE_CHECKING:
    import pandas as pd

_tagger: Tagger | None = None  # of this Python worker of an executor, which Spark keeps for several tasks
_made_with = ""
_sent: list[tempfile.TemporaryDirectory[str]] = []  # of the driver, which executors fetch from until it ends


def identify(
    df: DataFrame,
    *,
    model: str | None = None,
    taxonomy: str | None = None,
    columns: Mapping[str, str] | None = None,
    device: str | None = None,
    threshold: Threshold = None,
    workers: int | None = None,
    labels_only: bool = False,
    prefix: str = "",
) -> DataFrame:
    """The rows of df with four columns more, labels, probabilities, status and reason: see erreval.identify.

    Each Python worker of an executor, of which there is one a task that runs at a time, keeps one worker process.

    model, taxonomy: a folder or file of the driver is sent to each executor once; any other name is looked up there.
    device: "cuda" is the GPU that Spark gave to the task (spark.task.resource.gpu.amount).
    workers: rows at a time in each worker process; as many as the task has cores (spark.task.cpus).
    """
    added = {
        "labels": ArrayType(StringType()),
        "probabilities": MapType(StringType(), DoubleType()),
        "status": StringType(),
        "reason": StringType(),
    }
    schema = StructType([*df.schema.fields, *(StructField(prefix + name, kind) for name, kind in added.items())])
    shipped = {"model": _ship(df, model), "taxonomy": _ship(df, taxonomy)}
    settings = {
        "columns": dict(columns or {}),
        "device": device,
        "threshold": dict(threshold) if isinstance(threshold, Mapping) else threshold,
        "workers": workers,
        "labels_only": labels_only,
    }

    def tag(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        tagger = _open(shipped, settings)
        for frame in frames:
            yield tagger.identify_batch(frame, prefix)

    return df.mapInPandas(tag, schema)


def _ship(df: DataFrame, path: str | None) -> tuple[str | None, bool]:
    """A name, and whether it is that of a file that executors have got."""
    if path is None or not os.path.exists(path):
        return path, False
    if not os.path.isdir(path):
        df.sparkSession.sparkContext.addFile(os.path.abspath(path))
        return os.path.basename(path), True
    packed = pack(Path(path))  # Spark sends no folders
    name = name_of(packed) + ".zip"
    if name not in df.sparkSession.sparkContext.listFiles:
        _sent.append(tempfile.TemporaryDirectory(prefix="erreval-"))
        file = Path(_sent[-1].name, name)
        file.write_bytes(packed)
        df.sparkSession.sparkContext.addFile(str(file))
    return name, True


def _received(name: str) -> str:
    """Where what _ship sent is."""
    path = Path(SparkFiles.get(name))
    return str(unpack(path, path.with_suffix("")) if path.suffix == ".zip" else path)


def _open(shipped: Mapping[str, tuple[str | None, bool]], settings: Mapping[str, Any]) -> Tagger:
    """The tagger of this Python worker. One that died made its task fail; the next try gets a new one."""
    global _tagger, _made_with
    task = TaskContext.get()
    options = dict(settings)
    for name, (value, sent) in shipped.items():
        options[name] = _received(value) if sent and value else value
    if task and options["workers"] is None:
        options["workers"] = task.cpus()
    if task and options["device"] == "cuda" and "gpu" in task.resources():
        options["device"] = f"cuda:{task.resources()['gpu'].addresses[0]}"
    made_with = json.dumps(options, sort_keys=True)
    if _tagger is None or made_with != _made_with or not _tagger.alive():
        if _tagger is not None:
            _tagger.close()
        _tagger, _made_with = Tagger(**options), made_with
    return _tagger
