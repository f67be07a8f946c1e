"""What a notebook wants of tagged rows: figures, differences and the page."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._program import run, task
from ._rows import Answer, diagnoses_of, unwrapped, written
from ._tagger import Path as AnyPath
from .errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


class Results:
    """The rows of a frame that identify tagged; a notebook shows the errors of its systems.

    frame: as identify gave it, with whatever other columns; score's only where it was told nested=True.
    taxonomy, columns, prefix, suffix: as identify was told; a column of one's own with the name of one of identify's is
    left out. by: the column that tells systems apart; "system" where there is one.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        taxonomy: str | None = None,
        columns: Mapping[str, str] | None = None,
        by: str | None = None,
        prefix: str = "",
        suffix: str = "",
    ) -> None:
        self._task = task(taxonomy)
        frame = unwrapped(frame, self._task, prefix, suffix)
        found = diagnoses_of(frame, self._task)
        if found is None:
            raise UsageError(
                "the frame is not tagged: give what erreval.identify gave, and prefix= and suffix= as it was told"
            )
        self.frame, self._found = frame, found
        self._by = by or ("system" if "system" in frame.columns else "none")
        self._options = ["--taxonomy", taxonomy] if taxonomy else []
        self._options += [f"--map={field}={column}" for field, column in (columns or {}).items()]

    def stats(self, by: str | None = None) -> pd.DataFrame:
        """One row a system, and one for all: rows, the share without error, and the share with each error, 0 to 1."""
        import pandas as pd

        said = self._run("stats", "--by", by or self._by, "--json")
        systems = said["systems"] if len(said["systems"]) > 1 else []
        lines = [
            {
                "rows": s["rows"],
                "without error": s["without_error"]["share"],
                **{label["label"]: label["share"] for label in s["labels"]},
            }
            for s in [said["all"], *systems]
        ]
        shares: pd.DataFrame = pd.DataFrame(lines, index=["all", *(s["name"] for s in systems)])
        return shares

    def diff(self, other: Results) -> pd.DataFrame:
        """From these rows to others on the same inputs: each error's shares, the difference and its 95 % interval."""
        import pandas as pd

        with other._file() as path:
            said = self._run("diff", "--json", more=[path])
        lines = [
            {"from": d["a"]["share"], "to": d["b"]["share"], **{k: d[k] for k in ("difference", "low", "high")}}
            for d in [said["without_error"], *said["labels"]]
        ]
        change: pd.DataFrame = pd.DataFrame(lines, index=["without error", *(d["label"] for d in said["labels"])])
        return change

    def report(self, path: AnyPath, *, overwrite: bool = False) -> None:
        """Writes the page: one HTML file that needs no network."""
        self._run("report", "-o", str(path), "--quiet", *(["--overwrite"] if overwrite else []))

    def _repr_html_(self) -> str:
        shares = self.stats()
        return str(shares.to_html(formatters={c: "{:.1%}".format for c in shares.columns if c != "rows"}))

    def _run(self, command: str, *flags: str, more: list[str] | None = None) -> Any:
        with self._file() as path:
            try:
                said = run(command, path, *(more or []), *flags, *self._options)
            except UsageError as e:
                if "--map" not in str(e):
                    raise
                raise UsageError(
                    'the frame has other names for the fields: give erreval.Results columns={"passage": "context", …}, '
                    "as erreval.identify was told",
                    2,
                ) from e
        return json.loads(said) if "--json" in flags else None

    def _file(self) -> _Lines:
        return _Lines(self.frame, self._found, written(self.frame, self._task))


class _Lines:
    """A file of the rows, while it is needed."""

    def __init__(self, frame: pd.DataFrame, found: list[Answer], ours: list[str]) -> None:
        self._frame, self._found, self._ours = frame, found, ours

    def __enter__(self) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="erreval-")
        path = Path(self._folder.name, "rows.jsonl")
        kept = [c for c in self._frame.columns if c not in self._ours]
        values = [self._frame[c].astype(object).where(self._frame[c].notna(), None).tolist() for c in kept]
        with path.open("w", encoding="utf-8") as file:
            for i, d in enumerate(self._found):
                if d.get("status") == "rejected":  # no row: it has no part in figures
                    continue
                row = {str(c): values[k][i] for k, c in enumerate(kept)}
                file.write(json.dumps({**row, "diagnosis": d}, default=str) + "\n")
        return str(path)

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()
