"""Finds errors in machine-generated text, offline: the program erreval, and its rows from Python.

    import erreval
    tagged = erreval.identify(frame)  # with columns question, answer and passage

erreval.spark and erreval.ray do the same on a cluster.
"""

from importlib.metadata import PackageNotFoundError, version

from ._results import Results
from ._tagger import Tagger, identify, score
from .errors import Error, RowError, UnfitError, UsageError, WorkerError

__all__ = [
    "Error",
    "Results",
    "RowError",
    "Tagger",
    "UnfitError",
    "UsageError",
    "WorkerError",
    "__version__",
    "identify",
    "score",
]

try:
    __version__ = version("erreval")
except PackageNotFoundError:  # from the sources, without an installation
    __version__ = "0+unknown"
