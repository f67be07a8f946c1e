"""The command erreval: becomes the program."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from ._program import environment, program
from .errors import Error


def main() -> None:
    try:
        path = program()
    except Error as e:
        sys.exit(f"error: {e}")
    args = ["erreval", *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call([path, *args[1:]], env=environment()))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and what is ignored stays so
    os.execve(path, args, environment())  # noqa: S606


if __name__ == "__main__":
    main()
