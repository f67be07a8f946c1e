"""identify, score, and the Tagger behind them."""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, overload

from ._program import Task, environment, failure, program, task
from ._rows import Answer, Names, Row, Stage, diagnoses_of, is_frame, is_path, refuse_data, texts_of
from ._worker import pipe
from .errors import RowError, UsageError

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

Path = Union[str, "os.PathLike[str]"]
OnError = Literal["keep", "raise"]
Threshold = Union[float, Mapping[str, float], None]

_log = logging.getLogger("erreval")


def options(
    *, model: Path | None, device: str | None, threshold: Threshold, workers: int | None, labels_only: bool
) -> list[str]:
    """The program's flags."""
    flags: list[str] = []
    for name, value, fits in (
        ("model", model, is_path(model)),
        ("device", device, isinstance(device, str)),
        ("workers", workers, isinstance(workers, int)),
    ):
        if value is not None and not fits:
            kind = "a number of rows" if name == "workers" else "a name" if name == "device" else "a name or a path"
            raise TypeError(f"{name}: give {kind}, not {type(value).__name__}")
    if isinstance(threshold, (str, bytes, bool, list, tuple)):
        raise TypeError(
            f"threshold: give a probability, or a dict of label to probability, not {type(threshold).__name__}"
        )
    if model is not None:
        flags += ["--model", os.fspath(model)]
    if device is not None:
        flags += ["--device", device]
    if workers is not None:
        flags += ["--workers", str(workers)]
    if isinstance(threshold, Mapping):
        flags += [f"--threshold={label}={p}" for label, p in threshold.items()]
    elif threshold is not None:
        flags += [f"--threshold={threshold}"]
    return [*flags, "--labels-only"] if labels_only else flags


class Tagger(Stage):
    """Finds errors in rows, in one worker process that stays open. Its methods may be called from several threads.

    A worker that died is not replaced: what was asked of it, and whatever is asked then, raises WorkerError.
    """

    command, column = "identify", "diagnosis"

    def __init__(
        self,
        *,
        model: Path | None = None,
        taxonomy: str | None = None,
        columns: Mapping[str, str] | None = None,
        device: str | None = None,
        threshold: Threshold = None,
        workers: int | None = None,
        labels_only: bool = False,
    ) -> None:
        """Opens the model.

        columns: field of the task to the column or key that holds it; its own name where it is left out.
        model, taxonomy, device, threshold, workers: as the program's flags; one threshold, or one by label.
        labels_only: leave probabilities out.
        """
        flags = options(model=model, device=device, threshold=threshold, workers=workers, labels_only=labels_only)
        super().__init__(flags, taxonomy, columns)

    def __enter__(self) -> Tagger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(5.0 if kind is None else 0.0)  # after Ctrl-C nobody waits for the rest

    def tag(self, row: Row, *, on_error: OnError = "keep") -> Answer:
        """The diagnosis of one row: labels and probabilities, or status ("untagged", "rejected") and reason."""
        return self.one(row, on_error)

    @overload
    def identify(
        self, data: pd.DataFrame, *, on_error: OnError = ..., **frame: Unpack[FrameOptions]
    ) -> pd.DataFrame: ...

    @overload
    def identify(
        self, data: Iterable[Row], *, on_error: OnError = ..., **frame: Unpack[FrameOptions]
    ) -> Iterator[Answer]: ...

    def identify(self, data: Any, *, on_error: OnError = "keep", **frame: Unpack[FrameOptions]) -> Any:
        """Tags a frame, or rows one after the other; see erreval.identify."""
        if is_frame(data):
            return self._add(data, _Diagnoses(self._task, **frame), on_error)
        refuse_data(data, "identify")
        return self.each(data, on_error)

    def identify_batch(self, frame: pd.DataFrame, prefix: str) -> pd.DataFrame:
        """A part of a cluster's data, with labels, probabilities (dict by label), status and reason."""
        into = _Diagnoses(self._task, prefix=prefix, details=False, progress=False)
        into.columns = {
            "labels": into.columns["labels"],
            "probabilities": lambda d: d.get("probabilities", {}),
            "status": into.columns["status"],
            "reason": into.columns["reason"],
        }
        return self._add(frame, into, "keep")

    def _add(self, frame: pd.DataFrame, into: _Diagnoses, on_error: OnError) -> pd.DataFrame:
        into.check(frame)
        rows, places = self.frame_rows(frame), [*frame.index]
        return into.add(frame, self.all(rows, places, frame.columns, on_error, into.progress))


class Scorer(Stage):
    """Scores rows that have a diagnosis, offline."""

    command, column = "score", "scores"

    def __init__(
        self, *, taxonomy: str | None, columns: Mapping[str, str] | None, dimensions: Sequence[str] | None
    ) -> None:
        if isinstance(dimensions, str):
            raise TypeError(f"dimensions: give a list, as in [{dimensions!r}], not a str")
        super().__init__(["--dimensions", ",".join(dimensions)] if dimensions else [], taxonomy, columns)

    def line(self, row: Row, place: object, columns: Mapping[str, Any]) -> bytes:
        texts = texts_of(row, columns)
        diagnosis = row.get("diagnosis")
        if diagnosis and diagnosis.get("status") != "rejected":
            texts["diagnosis"] = diagnosis
        return self._dump(texts, place)

    def fault(self, found: Answer) -> str | None:
        unscored = [s for s in found.values() if isinstance(s, dict) and s.get("status")]
        return "unscored" if unscored else super().fault(found)


class _Diagnoses:
    """What a frame gets of its diagnoses."""

    def __init__(
        self,
        known: Task,
        *,
        nested: bool = False,
        details: bool = True,
        prefix: str = "",
        suffix: str = "",
        overwrite: bool = False,
        progress: bool | None = None,
    ) -> None:
        self.names, self.progress = Names(prefix, suffix, overwrite), progress
        self.columns: dict[str, Callable[[Answer], Any]] = {
            "labels": lambda d: d.get("labels", []),
            **{f"p_{key}": _probability(label) for label, key in known.labels.items()},
            "status": lambda d: d.get("status", "tagged"),
            "reason": lambda d: d.get("reason"),
        }
        if details:
            self.columns["truncated"] = lambda d: d.get("truncated", {})
            self.columns["not_judged"] = lambda d: d.get("not_judged", [])
        if nested:
            self.columns = {"diagnosis": lambda d: d}

    def check(self, frame: pd.DataFrame) -> None:
        """Refuses a frame that has one of the columns."""
        self.names.check(frame, self.columns)

    def add(self, frame: pd.DataFrame, found: list[Answer]) -> pd.DataFrame:
        """A copy of the frame with them."""
        return self.names.add(frame, {name: [of(d) for d in found] for name, of in self.columns.items()})


def _probability(label: str) -> Callable[[Answer], float]:
    return lambda d: float(d.get("probabilities", {}).get(label, "nan"))


def scored(frame: pd.DataFrame, found: list[Answer], nested: bool, names: Names) -> pd.DataFrame:
    """A frame with its scores."""
    if nested:
        return names.add(frame, {"scores": found})
    dimensions = dict.fromkeys(name for scores in found for name, score in scores.items() if isinstance(score, dict))
    return names.add(frame, {n: [_value(scores.get(n)) for scores in found] for n in dimensions})


def _value(score: Any) -> float:
    value = score.get("value") if isinstance(score, dict) else None
    return float("nan") if value is None else float(value)


class FrameOptions(TypedDict, total=False):
    """How a frame is answered; see identify."""

    nested: bool
    details: bool
    prefix: str
    suffix: str
    overwrite: bool
    progress: bool | None


class ModelOptions(TypedDict, total=False):
    """The arguments of Tagger."""

    model: Path | None
    taxonomy: str | None
    columns: Mapping[str, str] | None
    device: str | None
    threshold: Threshold
    workers: int | None
    labels_only: bool


class _Options(FrameOptions, ModelOptions, total=False):
    """The arguments of identify."""


@overload
def identify(data: pd.DataFrame, *, on_error: OnError = ..., **options: Unpack[_Options]) -> pd.DataFrame: ...


@overload
def identify(
    data: Path | Iterable[Row], *, on_error: OnError = ..., **options: Unpack[_Options]
) -> Iterator[Answer]: ...


def identify(
    data: Any,
    *,
    nested: bool = False,
    details: bool = True,
    prefix: str = "",
    suffix: str = "",
    overwrite: bool = False,
    progress: bool | None = None,
    on_error: OnError = "keep",
    model: Path | None = None,
    taxonomy: str | None = None,
    columns: Mapping[str, str] | None = None,
    device: str | None = None,
    threshold: Threshold = None,
    workers: int | None = None,
    labels_only: bool = False,
) -> Any:
    """Finds the errors in each row.

    A DataFrame comes back as a copy, with the same index and the columns labels (list), p_vague and so on (the
    probability of each label, NaN where it was not judged), status ("tagged", "untagged", "rejected"), reason, and,
    unless details is False, truncated (dict: tokens cut by field) and not_judged (list); with nested it gets one
    column, diagnosis (dict). prefix and suffix stand around their names. A frame that has such a column is refused
    before anything is tagged; overwrite=True replaces it. progress shows a bar of tqdm, by default where tqdm is
    installed and standard error is a terminal or a notebook. Rows without result keep status and reason;
    on_error="raise" makes the first one a RowError.

    An iterable of dicts gives the same dicts with a key "diagnosis" more, lazily and in order. The path of a file, in
    any format that the program reads, gives its rows so; lines that are no rows are logged and left out.

    All other arguments are those of Tagger: model, taxonomy, columns, device, threshold, workers, labels_only.
    """
    chosen: ModelOptions = {
        "model": model,
        "taxonomy": taxonomy,
        "columns": columns,
        "device": device,
        "threshold": threshold,
        "workers": workers,
        "labels_only": labels_only,
    }
    if is_path(data):
        return _file(os.fspath(data), chosen, on_error)
    if not is_frame(data):
        refuse_data(data, "identify")
        tagger = Tagger(**chosen)
        return _closing([tagger], tagger.each(data, on_error))
    frame: FrameOptions = {
        "nested": nested,
        "details": details,
        "prefix": prefix,
        "suffix": suffix,
        "overwrite": overwrite,
        "progress": progress,
    }
    _Diagnoses(task(taxonomy), **frame).check(data)  # before the model is opened
    with Tagger(**chosen) as tagger:
        return tagger.identify(data, on_error=on_error, **frame)


@overload
def score(
    data: pd.DataFrame,
    *,
    dimensions: Sequence[str] | None = ...,
    nested: bool = ...,
    prefix: str = ...,
    suffix: str = ...,
    overwrite: bool = ...,
    progress: bool | None = ...,
    on_error: OnError = ...,
    **model: Unpack[ModelOptions],
) -> pd.DataFrame: ...


@overload
def score(
    data: Iterable[Row],
    *,
    dimensions: Sequence[str] | None = ...,
    on_error: OnError = ...,
    **model: Unpack[ModelOptions],
) -> Iterator[Answer]: ...


def score(
    data: Any,
    *,
    dimensions: Sequence[str] | None = None,
    nested: bool = False,
    prefix: str = "score_",
    suffix: str = "",
    overwrite: bool = False,
    progress: bool | None = None,
    on_error: OnError = "keep",
    model: Path | None = None,
    taxonomy: str | None = None,
    columns: Mapping[str, str] | None = None,
    device: str | None = None,
    threshold: Threshold = None,
    workers: int | None = None,
    labels_only: bool = False,
) -> Any:
    """Scores each row on the task's dimensions, offline, by the errors found in it; what has no diagnosis is tagged.

    A DataFrame gets one column a dimension, such as score_fluency; NaN says that there is no score. With nested it
    gets one column, scores (dict). suffix, overwrite and progress are those of identify. An iterable of dicts gives
    the same dicts with the keys diagnosis and scores more. What identify wrote into a frame, in any form but with other
    names, and the diagnoses that dicts have from the first one on, are used as they are.
    """
    if is_path(data):
        raise UsageError("score takes a frame or rows; erreval.identify(PATH) gives the rows of a file")
    names = Names("" if nested else prefix, suffix, overwrite)
    if is_frame(data):
        names.check(data, ["scores"] if nested else dimensions or task(taxonomy).dimensions)
        given = diagnoses_of(data, task(taxonomy))
        tagged = given is not None
    else:
        refuse_data(data, "score")
        data = iter(data)
        first = list(itertools.islice(data, 1))
        data = itertools.chain(first, data)
        tagged = bool(first and isinstance(first[0], Mapping) and "diagnosis" in first[0])
    scorer = Scorer(taxonomy=taxonomy, columns=columns, dimensions=dimensions)
    stages: list[Stage] = [scorer]
    if not tagged:
        tagger = Tagger(
            model=model,
            taxonomy=taxonomy,
            columns=columns,
            device=device,
            threshold=threshold,
            workers=workers,
            labels_only=labels_only,
        )
        stages = [tagger, scorer]
    if not is_frame(data):
        for stage in stages:
            data = stage.each(data, on_error)
        return _closing(stages, data)
    with _open(stages):
        diagnoses = (
            given
            if given is not None
            else tagger.all(tagger.frame_rows(data), data.index, data.columns, on_error, progress)
        )
        rows = ({**row, "diagnosis": d} for row, d in zip(scorer.frame_rows(data), diagnoses))
        found = scorer.all(rows, data.index, data.columns, on_error, progress)
    return scored(data, found, nested, names)


@contextlib.contextmanager
def _open(stages: Sequence[Stage]) -> Iterator[None]:
    """The end of the workers: at once where something failed, or nobody wants more, as after Ctrl-C."""
    try:
        yield
    except BaseException:
        for stage in stages:
            stage.close(0)
        raise
    for stage in stages:
        stage.close()


def _closing(stages: Sequence[Stage], rows: Iterator[Any]) -> Iterator[Any]:
    """Rows, and the end of the workers behind the last one."""
    with _open(stages):
        yield from rows


def _file_flags(chosen: ModelOptions) -> list[str]:
    """The flags of a run on a file."""
    given = dict(chosen)
    taxonomy, columns = given.pop("taxonomy"), given.pop("columns")
    flags = options(**given)  # type: ignore[arg-type]
    flags += [f"--map={field}={column}" for field, column in (columns or {}).items()]  # type: ignore[attr-defined]
    return [*flags, "--taxonomy", str(taxonomy)] if taxonomy else flags


def _file(path: str, chosen: ModelOptions, on_error: str) -> Iterator[Answer]:
    """The rows of a file with their diagnoses."""
    line = [program(), "identify", path, "-o", "-", "--quiet", "--format", "jsonl", *_file_flags(chosen)]
    with tempfile.TemporaryFile() as said:  # no pipe: nobody reads one meanwhile
        process = subprocess.Popen(
            line, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said
        )
        with process, pipe(process.stdout) as rows:
            try:
                for place, text in enumerate(rows):
                    row: Answer = json.loads(text)
                    found = row["diagnosis"]
                    if on_error == "raise" and (status := found.get("status")):
                        raise RowError(f"row {place} is {status}: {found.get('reason')}", place, status)
                    yield row
                code = process.wait()
            finally:
                process.kill()  # whoever reads the rows wants no more of them, or all is done
        said.seek(0)
        error = failure(code, said.read().decode("utf-8", "replace"))
        if code == 3:
            _log.warning("%s", error)
        elif code != 0:
            raise error
