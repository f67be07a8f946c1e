"""Tagging with Ray Data: erreval.ray.identify(ds). Ray distributes rows, places actors and replaces those that died."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from ._shipping import pack
from ._tagger import ModelOptions, Tagger
from .errors import WorkerError

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack


def identify(
    ds: ray.data.Dataset,
    *,
    concurrency: int | tuple[int, int] | None = None,
    num_cpus: float | None = None,
    num_gpus: float | None = None,
    batch_size: int | None = None,
    prefix: str = "",
    max_task_retries: int = 4,
    **options: Unpack[ModelOptions],
) -> ray.data.Dataset:
    """The rows of ds with four columns more, labels, probabilities, status and reason: see erreval.identify.

    Each actor keeps one worker process; one that died ends its actor, and Ray does the batch again in a new one.

    concurrency: actors, or the fewest and the most; one for each num_gpus GPUs of the cluster, or up to one for each
    num_cpus cores. Leave a core to what reads and writes.
    num_cpus, num_gpus: of each actor; one core, or without a core one GPU. With num_gpus the device is "cuda".
    batch_size: rows that an actor is given at a time; 256, with GPUs 8192. Ray waits until there are so many.
    max_task_retries: how often a batch is done again whose actor died.

    All other arguments are those of Tagger. model: a folder of the driver is sent to each actor; any other name is
    looked up there. workers: rows at a time; as many as the actor has cores.
    """
    if num_gpus:
        options.setdefault("device", "cuda")
    num_cpus = (0 if num_gpus else 1) if num_cpus is None else num_cpus
    if not num_gpus:
        options.setdefault("workers", max(1, int(num_cpus)))
    if concurrency is None and num_gpus:
        concurrency = max(1, int(ray.cluster_resources().get("GPU", 0) / num_gpus))
    elif concurrency is None:  # what reads and writes needs cores as well
        concurrency = (1, max(1, int(ray.cluster_resources().get("CPU", 1) / (num_cpus or 1))))
    actors = (concurrency, concurrency) if isinstance(concurrency, int) else concurrency
    model = options.get("model")
    packed = ray.put(pack(Path(model))) if model and os.path.isdir(model) else None
    return ds.map_batches(
        _Actor,
        fn_constructor_args=(options, [packed], prefix),  # in a list: Ray would send the bytes with each actor
        batch_format="pandas",
        batch_size=batch_size or (8192 if num_gpus else 256),
        zero_copy_batch=True,
        compute=ray.data.ActorPoolStrategy(min_size=actors[0], max_size=actors[1]),
        num_cpus=num_cpus,
        num_gpus=num_gpus,
        ray_remote_args_fn=lambda: {"max_task_retries": max_task_retries},
    )


class _Actor:
    """Tags batches."""

    def __init__(self, options: ModelOptions, packed: list[Any], prefix: str) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="erreval-")  # goes with the actor
        if packed[0] is not None:
            with zipfile.ZipFile(io.BytesIO(ray.get(packed[0]))) as archive:
                archive.extractall(self.folder.name)
            options = {**options, "model": self.folder.name}
        self.prefix, self.tagger = prefix, Tagger(**options)

    def __call__(self, batch: pd.DataFrame) -> pd.DataFrame:
        try:
            return self.tagger.identify_batch(batch, self.prefix)
        except WorkerError as e:  # for Ray an error of ours would be the end of the job, a dead actor is not
            print(f"erreval: {e}; the actor ends, and Ray replaces it", file=sys.stderr, flush=True)
            self.folder.cleanup()
            os._exit(1)
