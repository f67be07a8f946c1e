"""What can go wrong. Each error carries the program's own message."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The program refused or failed. exit_code is its own: a negative one is a signal, None if it did not run."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class UsageError(Error):
    """An argument, or a column that is missing (exit code 2). The same call fails again."""


class UnfitError(Error):
    """The model and the taxonomy do not fit each other (exit code 4). The same call fails again."""


class WorkerError(Error):
    """The worker process ended while it was needed. Rows without an answer have none; a new Tagger may do them."""


class RowError(Error):
    """A row could not be tagged, where on_error is "raise"."""

    def __init__(self, message: str, row: Any, status: str) -> None:
        super().__init__(message)
        self.row = row  # position in the iterable, or index of the frame
        self.status = status  # "untagged", "unscored" or "rejected"
