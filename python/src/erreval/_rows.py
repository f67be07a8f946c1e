"""Rows to lines and back, for any stage of the program."""

from __future__ import annotations

import collections
import contextlib
import functools
import importlib.util
import json
import logging
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._program import Task, task
from ._worker import Slot, Worker
from .errors import RowError, UsageError

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Answer = dict[str, Any]

_CHUNK = 64  # rows of a frame that are submitted together
_MOST_ROWS = 4096  # submitted and not yet given out, by one caller
_MOST_BYTES = 8 << 20
_AT_EXIT = 0.5  # seconds that a worker may take for what is under way when the interpreter ends

_log = logging.getLogger("erreval")


def is_frame(data: object) -> bool:
    """Whether data is a pandas DataFrame; pandas is not imported for it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_path(data: object) -> bool:
    return isinstance(data, (str, os.PathLike))


def refuse_data(data: object, command: str) -> None:
    """Says in words what cannot be rows."""
    takes = f"erreval.{command} takes a DataFrame, an iterable of dicts" + (
        " or a path" if command == "identify" else ""
    )
    if isinstance(data, Mapping):
        raise TypeError(f"{takes}; put one row into a list, or give it to Tagger.tag")
    if not isinstance(data, Iterable):
        raise TypeError(f"{takes}, not {type(data).__name__}")


@functools.lru_cache(maxsize=256)
def say(text: str) -> None:
    """Logs a text once."""
    _log.warning("%s", text)


def _plain(name: str) -> str:
    """A column's name as the program compares it."""
    return name.lower().replace(" ", "").replace("_", "").replace("-", "")


def texts_of(row: Row, columns: Mapping[str, Any]) -> dict[str, Any]:
    """A row's fields."""
    return {f: row[c] if c == f else _first_text(row[c]) for f, c in columns.items() if c in row}


def _first_text(value: Any) -> Any:
    """The first text in {"text": [ … ]}, as answers stand in SQuAD and its relatives, as the program takes it."""
    for _ in range(3):
        if isinstance(value, Mapping) and "text" in value:
            value = value["text"]
        elif not isinstance(value, (str, bytes, Mapping)) and hasattr(value, "__len__"):
            value = value[0] if len(value) else None
    return value


def written(frame: pd.DataFrame, known: Task) -> list[str]:
    """The columns that identify wrote into a frame, under its own names; none where it wrote nothing."""
    if "diagnosis" in frame.columns:
        return ["diagnosis"]
    likely = [f"p_{key}" for key in known.labels.values() if f"p_{key}" in frame.columns]
    if not likely or not {"labels", "status", "reason"} <= {*frame.columns}:
        return []
    return [c for c in ("labels", *likely, "status", "reason", "truncated", "not_judged") if c in frame.columns]


def unwrapped(frame: pd.DataFrame, known: Task, prefix: str, suffix: str) -> pd.DataFrame:
    """The frame with identify's columns under their own names; those of the user that are called so are left out."""
    own = ["diagnosis", "labels", "status", "reason", "truncated", "not_judged"]
    own += [f"p_{key}" for key in known.labels.values()]
    there = {f"{prefix}{name}{suffix}": name for name in own if f"{prefix}{name}{suffix}" in frame.columns}
    if not (prefix or suffix) or not there:
        return frame
    renamed: pd.DataFrame = frame.drop(columns=[c for c in own if c in frame.columns]).rename(columns=there)
    return renamed


def diagnoses_of(frame: pd.DataFrame, known: Task) -> list[Answer] | None:
    """What identify wrote into a frame, as diagnoses; None where it wrote nothing."""
    names = written(frame, known)
    if names in ([], ["diagnosis"]):
        return [*frame["diagnosis"]] if names else None
    found: list[Answer] = []
    for values in zip(*(frame[name].tolist() for name in names)):
        row = dict(zip(names, values))
        if isinstance(row["labels"], str):
            raise UsageError("the column labels holds texts, not lists: read the frame from Parquet, or tag it again")
        likely = {label: row.get(f"p_{key}", float("nan")) for label, key in known.labels.items()}
        d: Answer = {"labels": [*row["labels"]], "probabilities": {label: p for label, p in likely.items() if p == p}}
        if row["status"] != "tagged":
            d = {"status": row["status"], "reason": row["reason"]}
        elif len(row.get("not_judged", ())):
            d["not_judged"] = [*row["not_judged"]]
        found.append(d)
    return found


def _json_value(value: Any) -> Any:
    """Dates as ISO texts and numpy's numbers, as cells of data frames hold them; a missing date is an empty text."""
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is neither a text nor a number")


class Stage:
    """A command of the program that answers rows, in one worker process."""

    command: str  # of the program
    column: str  # that it adds to a row

    def __init__(self, options: Sequence[str], taxonomy: str | None, columns: Mapping[str, str] | None) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            kind = type(columns).__name__
            raise TypeError(f'columns: give a dict of field to column, as in {{"passage": "context"}}, not {kind}')
        self._task = task(taxonomy)
        self._fields = self._task.fields
        self._named = dict(columns or {})
        self._columns = {field: field for field in self._fields} | self._named
        if unknown := sorted(set(self._columns) - set(self._fields)):
            raise UsageError(f"columns: the task has no field {unknown}; its fields are {list(self._fields)}")
        if taxonomy:
            options = [*options, "--taxonomy", taxonomy]
        self._worker = Worker([self.command, "-", "-o", "-", "--flush", "--quiet", "--format", "jsonl", *options])
        self._end = weakref.finalize(self, self._worker.close, _AT_EXIT)

    @property
    def pid(self) -> int:
        """Of the worker process."""
        return self._worker.pid

    def alive(self) -> bool:
        """Whether rows can be given to it, in this process. A worker that died stays dead: make a new one."""
        return self._worker.alive()

    def close(self, timeout: float = 5.0) -> None:
        """Ends the worker process. What was asked before is answered, for so many seconds at most."""
        self._end.detach()
        self._worker.close(timeout)

    def match(self, names: Iterable[Any]) -> dict[str, Any]:
        """The columns of fields among these names: as the user says, by the field's own name, or guessed as the program
        does."""
        names = list(names)
        found = {f: c for f, c in self._columns.items() if c in names}
        for field, guesses in self._task.columns.items():
            if field in found or field in self._named:
                continue
            free = {_plain(n): n for n in reversed(names) if isinstance(n, str) and n not in found.values()}
            if column := next((free[guess] for guess in guesses if guess in free), None):
                found[field] = column
                say(f'no column {field!r}; taking {column!r} for it (columns={{"{field}": COLUMN}} names another)')
        return found

    def frame_rows(self, frame: pd.DataFrame) -> Iterator[Row]:
        """The columns of a frame that are fields, row by row. What is missing (NaN, NA) is None."""
        given = self.match(frame.columns)
        for field, needed in self._fields.items():
            if needed and field not in given:
                raise UsageError(
                    f"the frame has no column {self._columns[field]!r}; its columns are {[*frame.columns]}; "
                    f'name the one that holds the {field} with columns={{"{field}": COLUMN}}'
                )
        for column in given.values():
            if getattr(frame[column], "ndim", 1) != 1:
                raise UsageError(f"the frame has several columns {column!r}; rename them")
        values = [frame[c].astype(object).where(frame[c].notna(), None).tolist() for c in given.values()]
        return (dict(zip(given.values(), row)) for row in zip(*values))

    def line(self, row: Row, place: object, columns: Mapping[str, Any]) -> bytes:
        """A row's fields, which stand in these columns, as a line."""
        return self._dump(texts_of(row, columns), place)

    def check(self, row: object, place: object) -> None:
        """Says in words what is no row."""
        if not isinstance(row, Mapping):
            keys = ", ".join(self._columns.values())
            raise TypeError(
                f"row {place} is of type {type(row).__name__}; give dicts with the keys {keys}, or a DataFrame"
            )

    def _dump(self, texts: dict[str, Any], place: object) -> bytes:
        for field, value in texts.items():
            if isinstance(value, float) and value != value:
                texts[field] = None
        try:
            return json.dumps(texts, default=_json_value).encode() + b"\n"
        except (TypeError, ValueError) as e:
            raise UsageError(f"row {place}: a value cannot be written as JSON: {e}") from e

    def read(self, line: bytes, place: object, on_error: str) -> Answer:
        """What a line answers."""
        answer: Answer = json.loads(line)
        found: Answer = answer.get(self.column) or {"status": answer.get("status"), "reason": answer.get("reason")}
        if on_error == "raise" and (status := self.fault(found)):
            raise RowError(f"row {place} is {status}: {found.get('reason')}", place, status)
        return found

    def fault(self, found: Answer) -> str | None:
        """Why a row has no result: untagged, unscored or rejected; None where it has one."""
        status = found.get("status")
        return str(status) if isinstance(status, str) else None

    def one(self, row: Row, on_error: str) -> Answer:
        self.check(row, 0)
        return self.read(self._worker.submit(self.line(row, 0, self.match(row)), 1).wait()[0], 0, on_error)

    def each(self, rows: Iterable[Row], on_error: str) -> Iterator[Answer]:
        """Rows with answers, in order, in flat memory. What is answered is given out before the next row is taken."""
        waiting: collections.deque[tuple[Row, int, Slot, int]] = collections.deque()
        held = 0
        columns: dict[str, Any] = {}

        def first() -> Answer:
            nonlocal held
            row, place, slot, size = waiting.popleft()
            held -= size
            return {**row, self.column: self.read(slot.wait()[0], place, on_error)}

        for place, row in enumerate(rows):
            self.check(row, place)
            if place == 0:
                columns = {**self._columns, **self.match(row)}
            line = self.line(row, place, columns)
            waiting.append((row, place, self._worker.submit(line, 1), len(line)))
            held += len(line)
            while waiting and (waiting[0][2].done() or len(waiting) >= _MOST_ROWS or held > _MOST_BYTES):
                yield first()
        while waiting:
            yield first()

    def all(
        self, rows: Iterable[Row], places: Sequence[Any], columns: Iterable[Any], on_error: str, progress: bool | None
    ) -> list[Answer]:
        """The answers to rows that are all there, such as those of a frame of these columns."""
        with progress_bar(len(places), self.command, progress) as bar:
            return self._all(rows, places, self.match(columns), on_error, bar)

    def _all(
        self, rows: Iterable[Row], places: Sequence[Any], columns: Mapping[str, Any], on_error: str, bar: Any
    ) -> list[Answer]:
        waiting: collections.deque[Slot] = collections.deque()
        found: list[Answer] = []
        lines: list[bytes] = []

        def submit() -> None:
            if lines:
                waiting.append(self._worker.submit(b"".join(lines), len(lines)))
                lines.clear()

        def take() -> None:
            answers = waiting.popleft().wait()
            for line in answers:
                found.append(self.read(line, places[len(found)], on_error))
            if bar is not None:
                bar.update(len(answers))

        for row, place in zip(rows, places):
            lines.append(self.line(row, place, columns))
            if len(lines) == _CHUNK:
                submit()
            if len(waiting) * _CHUNK >= _MOST_ROWS:
                take()
        submit()
        while waiting:
            take()
        return found


def progress_bar(rows: int, what: str, show: bool | None) -> contextlib.AbstractContextManager[Any]:
    """A bar of tqdm over rows, or of None: by default where tqdm is installed and somebody sees it."""
    if show is None:
        show = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
        if not show or importlib.util.find_spec("tqdm") is None:
            return contextlib.nullcontext()
    if not show:
        return contextlib.nullcontext()
    try:
        from tqdm.auto import tqdm
    except ImportError as e:
        raise UsageError("progress=True needs the package tqdm: pip install tqdm") from e
    bar: contextlib.AbstractContextManager[Any] = tqdm(total=rows, desc=what, unit="row")
    return bar


class Names:
    """How columns are called that a frame gets."""

    def __init__(self, prefix: str, suffix: str, overwrite: bool) -> None:
        self.prefix, self.suffix, self.overwrite = prefix, suffix, overwrite

    def check(self, frame: pd.DataFrame, columns: Iterable[str]) -> None:
        """Refuses a frame that has one of them, before any row is looked at."""
        new = [f"{self.prefix}{name}{self.suffix}" for name in columns]
        if not self.overwrite and (taken := [name for name in new if name in frame.columns]):
            raise UsageError(
                f"the frame has columns {taken} already; replace them with overwrite=True, or name the new ones "
                f'otherwise, as in suffix="_2" or prefix="found_"'
            )

    def add(self, frame: pd.DataFrame, columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
        """A copy of the frame with these columns."""
        import pandas as pd

        self.check(frame, columns)
        out: pd.DataFrame = frame.copy(deep=False)
        for name, values in columns.items():
            dtype = "float64" if values and all(isinstance(v, float) for v in values) else "object"
            out[f"{self.prefix}{name}{self.suffix}"] = pd.Series(values, index=frame.index, dtype=dtype)
        return out
