"""The program in this package, and ONNX Runtime's library for it."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import subprocess
import warnings
from pathlib import Path
from typing import NamedTuple

from .errors import Error, UnfitError, UsageError

OLDEST_LIBRARY = (1, 24)  # internal/nativelib's MinMinor
INCOMPLETE = 3  # the exit code of figures that leave rows out


def program() -> str:
    """Path of the program: ERREVAL_PROGRAM, else the one in this package."""
    if path := os.environ.get("ERREVAL_PROGRAM"):
        return path
    for name in ("erreval", "erreval.exe"):
        path = str(Path(__file__).parent / "bin" / name)
        if os.path.exists(path):
            return path
    raise Error("this installation of erreval holds no program; install a wheel, or set ERREVAL_PROGRAM to a built one")


def library() -> str | None:
    """The library of the package onnxruntime (or onnxruntime-gpu), which is not imported; None if it is too old."""
    spec = importlib.util.find_spec("onnxruntime")
    for folder in (spec and spec.submodule_search_locations) or []:
        for path in sorted(Path(folder, "capi").glob("*onnxruntime*")):
            match = re.fullmatch(r"libonnxruntime\.(?:so\.)?(\d+)\.(\d+)\.\d+(?:\.dylib)?", path.name)
            if path.name == "onnxruntime.dll" or (match and (int(match[1]), int(match[2])) >= OLDEST_LIBRARY):
                return str(path)
    return None


def environment() -> dict[str, str]:
    """That of the program: this process's, with the library where nothing else names one."""
    env = dict(os.environ)
    if not env.get("ERREVAL_ORT_LIB") and (path := library()):
        env["ERREVAL_ORT_LIB"] = path
    return env


def failure(code: int, said: str) -> Error:
    """The error of a run that ended with an exit code and said something on standard error."""
    _, found, message = ("\n" + said).rpartition("\nerror: ")
    if not found:
        message = said.strip()[-2000:]
    if code < 0:
        message = f"erreval was killed by signal {-code}" + (f": {message}" if message else "")
    message = message.strip() or f"erreval ended with exit code {code}"
    return {2: UsageError, 4: UnfitError}.get(code, Error)(message, code)


def run(*args: str) -> str:
    """What the program prints; a warning where that leaves rows out."""
    done = subprocess.run([program(), *args], env=environment(), capture_output=True, stdin=subprocess.DEVNULL)
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == INCOMPLETE and done.stdout:
        warnings.warn(said.strip(), stacklevel=4)
    elif done.returncode != 0:
        raise failure(done.returncode, said)
    return done.stdout.decode()


class Task(NamedTuple):
    """What the package needs of a taxonomy."""

    fields: dict[str, bool]  # name to whether every row needs it
    columns: dict[str, list[str]]  # field to what its column may be called, in plain form, the likelier first
    dimensions: list[str]  # keys
    labels: dict[str, str]  # label to its key, as in "Off Topic" to "off_topic"


@functools.lru_cache(maxsize=32)
def task(taxonomy: str | None) -> Task:
    """The task of a taxonomy; the default one where it is None."""
    shown = json.loads(run("taxonomy", "show", *([taxonomy] if taxonomy else []), "--json"))
    return Task(
        {field["name"]: not field.get("optional", False) for field in shown["fields"]},
        shown["columns"],
        [dimension["key"] for dimension in shown.get("dimensions") or []],
        {t["name"]: re.sub(r"\W+", "_", t["name"].lower()) for t in shown["types"]},
    )
