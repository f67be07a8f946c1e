"""One process "erreval … - -o - --flush", and who waits for its answers (docs/worker.md)."""

from __future__ import annotations

import collections
import logging
import os
import queue
import subprocess
import threading
import weakref
from collections.abc import Sequence
from typing import IO

from ._program import environment, failure, program
from .errors import Error, WorkerError

_log = logging.getLogger("erreval")
_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


class Slot:
    """Lines that were given to a worker, and their answers."""

    __slots__ = ("_error", "_lock", "answers", "lines")

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.answers: list[bytes] = []
        self._error: Error | None = None
        self._lock = threading.Lock()
        self._lock.acquire()

    def finish(self, error: Error | None = None) -> None:
        self._error = error
        self._lock.release()

    def done(self) -> bool:
        return not self._lock.locked()

    def wait(self) -> list[bytes]:
        with self._lock:
            if self._error:
                raise type(self._error)(str(self._error), self._error.exit_code)  # several threads may
            return self.answers


class Worker:
    """A process that answers lines. submit may be called from several threads.

    Three threads serve it, so that no pipe fills up while somebody waits for another one: one writes, one reads
    answers, one reads diagnostics. None of them refers to whoever uses the worker.
    """

    def __init__(self, args: Sequence[str]) -> None:
        self._pid = os.getpid()
        self._said: collections.deque[str] = collections.deque(maxlen=50)
        self._queue: queue.SimpleQueue[tuple[Slot, bytes] | None] = queue.SimpleQueue()
        self._pending: collections.deque[Slot] = collections.deque()
        self._lock = threading.Lock()  # of _pending and _error
        self._error: Error | None = None
        self._ready = False
        # A session of its own: Ctrl-C is for the interpreter, whose end the worker sees as the end of its input.
        self._process = subprocess.Popen(
            [program(), *args],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        _workers.add(self)
        self._threads = [
            threading.Thread(target=work, name=f"erreval {work.__name__}", daemon=True)
            for work in (self._listen, self._read, self._write)  # each waits for the one before, which has begun
        ]
        for thread in self._threads:
            thread.start()
        # No row: it is answered as soon as rows can be, and a worker that cannot begin says why instead.
        try:
            self.submit(b"null\n", 1).wait()
        except BaseException:
            self.close(0)
            raise
        self._ready = True

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it can be given lines, in this process."""
        return self._error is None and self._pid == os.getpid()

    def submit(self, data: bytes, lines: int) -> Slot:
        """Gives it complete lines, and does not wait."""
        if self._pid != os.getpid():
            raise Error("this Tagger belongs to the process that forked this one; make one here")
        slot = Slot(lines)
        with self._lock:
            if self._error:
                raise type(self._error)(str(self._error), self._error.exit_code)
            self._queue.put((slot, data))
        return slot

    def close(self, timeout: float = 5.0) -> None:
        """Ends it. Lines that were submitted before are answered, but for those that take too long."""
        if self._pid != os.getpid():
            return
        self._queue.put(None)
        if threading.current_thread() in self._threads:  # garbage is collected in any thread; they cannot wait for it
            return
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads[:2]:
            thread.join()

    def _write(self) -> None:
        to = pipe(self._process.stdin)
        while item := self._queue.get():
            slot, data = item
            with self._lock:
                error = self._error
                if not error:
                    self._pending.append(slot)
            if error:
                slot.finish(error)
                continue
            try:
                while data:
                    data = data[os.write(to.fileno(), data) :]
            except OSError:  # it has ended: the one that reads says how
                continue
        try:
            to.close()
        finally:
            self._drop("the worker was closed")

    def _drop(self, why: str) -> None:
        """Fails what is submitted from now on."""
        with self._lock:
            self._error = self._error or Error(why)
        while not self._queue.empty():
            if item := self._queue.get():
                item[0].finish(self._error)

    def _read(self) -> None:
        answers, rest = pipe(self._process.stdout), b""
        while data := os.read(answers.fileno(), 1 << 18):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if not self._pending:
                    continue
                slot = self._pending[0]
                slot.answers.append(line)
                if len(slot.answers) == slot.lines:
                    self._pending.popleft()
                    slot.finish()
        code = self._process.wait()
        self._threads[0].join()
        error = failure(code, "\n".join(self._said))
        if self._ready:
            error = WorkerError(f"the worker ended while it was needed: {error}", code)
        with self._lock:
            self._error = self._error or error
            left = list(self._pending)
            self._pending.clear()
        for slot in left:
            slot.finish(error)
        answers.close()

    def _listen(self) -> None:
        said, rest = pipe(self._process.stderr), b""
        while data := os.read(said.fileno(), 1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                text = line.decode("utf-8", "replace")
                self._said.append(text[:4000])
                _log.debug("%s", text)
            rest = rest[-4000:]
        said.close()

    def _forget(self) -> None:
        """In a forked process: it is not ours, and lives as long as somebody could write to it."""
        for end in (self._process.stdin, self._process.stdout, self._process.stderr):
            if end and not end.closed:
                end.close()
        self._process.returncode = 0


def pipe(end: IO[bytes] | None) -> IO[bytes]:
    """One that Popen was asked for."""
    assert end is not None  # noqa: S101
    return end


def _forget_all() -> None:
    for worker in list(_workers):
        worker._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
