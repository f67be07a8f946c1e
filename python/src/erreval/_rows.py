"""Rows to lines and back, for any stage of the program."""

from __future__ import annotations

import collections
import json
import os
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._program import fields
from ._worker import Slot, Worker
from .errors import RowError, UsageError

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]
Answer = dict[str, Any]

_CHUNK = 64  # rows of a frame that are submitted together
_MOST_ROWS = 4096  # submitted and not yet given out, by one caller
_MOST_BYTES = 8 << 20


def is_frame(data: object) -> bool:
    """Whether data is a pandas DataFrame; pandas is not imported for it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def is_path(data: object) -> bool:
    return isinstance(data, (str, os.PathLike))


class Stage:
    """A command of the program that answers rows, in one worker process."""

    command: str  # of the program
    column: str  # that it adds to a row

    def __init__(self, options: Sequence[str], taxonomy: str | None, columns: Mapping[str, str] | None) -> None:
        self._fields = fields(taxonomy)
        self._columns = {field: field for field in self._fields} | dict(columns or {})
        if unknown := sorted(set(self._columns) - set(self._fields)):
            raise UsageError(f"columns: the task has no field {unknown}; its fields are {list(self._fields)}")
        if taxonomy:
            options = [*options, "--taxonomy", taxonomy]
        self._worker = Worker([self.command, "-", "-o", "-", "--flush", "--quiet", "--format", "jsonl", *options])
        self._end = weakref.finalize(self, self._worker.close, 1.0)

    @property
    def pid(self) -> int:
        """Of the worker process."""
        return self._worker.pid

    def alive(self) -> bool:
        """Whether rows can be given to it, in this process. A worker that died stays dead: make a new one."""
        return self._worker.alive()

    def close(self) -> None:
        """Ends the worker process. What was asked before is answered, for five seconds at most."""
        self._end.detach()
        self._worker.close()

    def frame_rows(self, frame: pd.DataFrame) -> Iterator[Row]:
        """The columns of a frame that are fields, row by row. What is missing (NaN, NA) is None."""
        given = {f: c for f, c in self._columns.items() if c in frame.columns}
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

    def line(self, row: Row, place: object) -> bytes:
        """A row's fields as a line."""
        return self._dump({f: row[c] for f, c in self._columns.items() if c in row}, place)

    def _dump(self, texts: dict[str, Any], place: object) -> bytes:
        for field, value in texts.items():
            if isinstance(value, float) and value != value:
                texts[field] = None
        try:
            return json.dumps(texts).encode() + b"\n"
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
        return self.read(self._worker.submit(self.line(row, 0), 1).wait()[0], 0, on_error)

    def each(self, rows: Iterable[Row], on_error: str) -> Iterator[Answer]:
        """Rows with answers, in order, in flat memory. What is answered is given out before the next row is taken."""
        waiting: collections.deque[tuple[Row, int, Slot, int]] = collections.deque()
        held = 0

        def first() -> Answer:
            nonlocal held
            row, place, slot, size = waiting.popleft()
            held -= size
            return {**row, self.column: self.read(slot.wait()[0], place, on_error)}

        for place, row in enumerate(rows):
            line = self.line(row, place)
            waiting.append((row, place, self._worker.submit(line, 1), len(line)))
            held += len(line)
            while waiting and (waiting[0][2].done() or len(waiting) >= _MOST_ROWS or held > _MOST_BYTES):
                yield first()
        while waiting:
            yield first()

    def all(self, rows: Iterable[Row], places: Sequence[Any], on_error: str) -> list[Answer]:
        """The answers to rows that are all there, such as those of a frame."""
        waiting: collections.deque[Slot] = collections.deque()
        found: list[Answer] = []
        lines: list[bytes] = []

        def submit() -> None:
            if lines:
                waiting.append(self._worker.submit(b"".join(lines), len(lines)))
                lines.clear()

        def take() -> None:
            for line in waiting.popleft().wait():
                found.append(self.read(line, places[len(found)], on_error))

        for row, place in zip(rows, places):
            lines.append(self.line(row, place))
            if len(lines) == _CHUNK:
                submit()
            if len(waiting) * _CHUNK >= _MOST_ROWS:
                take()
        submit()
        while waiting:
            take()
        return found


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Sequence[Any]], prefix: str) -> pd.DataFrame:
    """A copy of the frame with more columns."""
    import pandas as pd

    if taken := [prefix + name for name in columns if prefix + name in frame.columns]:
        raise UsageError(
            f'the frame has columns {taken} already; put a text before the new ones, as in prefix="found_"'
        )
    out: pd.DataFrame = frame.copy(deep=False)
    for name, values in columns.items():
        dtype = "float64" if values and all(isinstance(v, float) for v in values) else "object"
        out[prefix + name] = pd.Series(values, index=frame.index, dtype=dtype)
    return out
