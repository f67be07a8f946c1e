from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from conftest import rows

import erreval
from erreval._program import library
from erreval._worker import Worker

OPEN = """
import os, sys, erreval
tagger = erreval.Tagger(model=sys.argv[1])
tagger.tag({"question": "Who?", "answer": "x", "passage": "y"})
print(tagger.pid, flush=True)
"""


def wait_for_end(pid: int) -> None:
    """Until a process that is not ours has ended."""
    try:
        fd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        return
    import select

    assert select.select([fd], [], [], 30)[0], f"process {pid} still runs"
    os.close(fd)


def test_threads_share_a_tagger(tagger: erreval.Tagger) -> None:
    def work(thread: int) -> bool:
        mine = [{**row, "n": thread * 1000 + i} for i, row in enumerate(rows(200))]
        found = [*tagger.identify(iter(mine))]
        frame = tagger.identify(pd.DataFrame(mine), nested=True)
        alone = tagger.tag(mine[thread])
        return (
            [r["n"] for r in found] == [r["n"] for r in mine]
            and [r["diagnosis"] for r in found] == [*frame["diagnosis"]]
            and alone == found[thread]["diagnosis"]
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_many_long_rows(tagger: erreval.Tagger) -> None:
    """More than pipes hold, in both directions."""
    frame = pd.DataFrame(rows(200, "A mason built it. " * 20_000))
    assert (tagger.identify(frame)["status"] == "tagged").all()


def test_died(model: str) -> None:
    tagger = erreval.Tagger(model=model)
    started = threading.Event()

    def endless() -> Iterator[dict[str, object]]:
        while True:
            started.set()
            yield from rows(100)

    def consume() -> None:
        for _ in tagger.identify(endless()):
            pass

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(consume) for _ in range(2)]
        started.wait()
        os.kill(tagger.pid, signal.SIGKILL)
        for future in waiting:
            with pytest.raises(erreval.WorkerError, match="killed by signal 9") as e:
                future.result()
            assert e.value.exit_code == -9
    assert not tagger.alive()
    with pytest.raises(erreval.WorkerError):
        tagger.tag(rows(1)[0])
    tagger.close()


def test_dies_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever of the threads that serve it sees that first."""
    monkeypatch.setenv("ERREVAL_PROGRAM", shutil.which("false") or "")
    for _ in range(200):
        with pytest.raises(erreval.Error, match="ended with exit code 1"):
            Worker(["identify"])


def test_closed(model: str) -> None:
    with erreval.Tagger(model=model) as tagger:
        pid = tagger.pid
        left = tagger.identify(rows(5))
        next(left)
    wait_for_end(pid)
    with pytest.raises(erreval.Error, match="closed"):
        tagger.tag(rows(1)[0])
    tagger.close()


@pytest.mark.parametrize(
    "end", ["pass", "os.abort()", "os._exit(0)", "sys.exit(1)", "os.kill(os.getpid(), 9)", "1 / 0"]
)
def test_interpreter_ends(model: str, end: str) -> None:
    """So does the worker."""
    with subprocess.Popen(
        [sys.executable, "-c", OPEN + end, model], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        process.wait()
        wait_for_end(pid)


INTERRUPTED = """
import sys, threading, time, os, signal, pandas as pd, erreval
frame = pd.DataFrame([{"question": "Who?", "answer": "x", "passage": "A mason built it. " * 500}] * 20_000)
def interrupt():
    time.sleep(2)
    print(time.monotonic(), flush=True)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    CALL
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "erreval.identify(frame, model=sys.argv[1], workers=1)",
        "erreval.score(frame, model=sys.argv[1], workers=1)",
        "[*erreval.identify(frame.to_dict('records'), model=sys.argv[1], workers=1)]",
    ],
)
def test_interrupt(model: str, call: str) -> None:
    """Ctrl-C ends a call, and its worker, within a second."""
    line = [sys.executable, "-c", INTERRUPTED.replace("CALL", call), model]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    begun, caught = (float(text) for text in done.stdout.split())
    assert done.returncode == 0 and caught - begun < 1, done.stderr


def test_dropped(model: str) -> None:
    pid = erreval.Tagger(model=model).pid
    wait_for_end(pid)


FORK = """
import os, sys
print(tagger.alive(), flush=True)
child = os.fork()
if not child:
    try:
        tagger.tag({"question": "Who?", "answer": "x", "passage": "y"})
    except erreval.Error as e:
        print(e, flush=True)
    print(len(erreval.Tagger(model=sys.argv[1]).tag({"question": "Who?", "answer": "x", "passage": "y"})), flush=True)
    sys.stdin.readline()  # lives on
    os._exit(0)
tagger.close()
"""


def test_fork(model: str) -> None:
    """A forked process has no worker, may make one, and does not keep the parent's alive."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", OPEN + FORK, model],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdin
        pid = int(process.stdout.readline())
        said = [process.stdout.readline().strip() for _ in range(3)]
        assert said == ["True", "this Tagger belongs to the process that forked this one; make one here", "4"]
        wait_for_end(pid)
        process.stdin.write("\n")


def test_command(tmp_path: Path) -> None:
    command = Path(sys.executable).parent / "erreval"
    env = {"HOME": str(tmp_path), "PATH": os.defpath}
    shown = subprocess.run([command, "doctor"], env=env, capture_output=True, text=True)
    assert f"ONNX Runtime 1.{str(library()).split('.so.1.')[1].split('.')[0]}" in shown.stdout
    assert subprocess.run([command, "--bogus"], env=env, capture_output=True).returncode == 2
    listing = subprocess.Popen([command, "taxonomy", "list"], env=env, stdout=subprocess.PIPE)
    listing.communicate()
    assert listing.returncode == 0
