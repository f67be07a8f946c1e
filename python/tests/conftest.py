"""The tests run on an installed wheel: make python-test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import erreval

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def model() -> str:
    """A tiny random model."""
    return str(ROOT / "identifier" / "testdata" / "bert")


@pytest.fixture
def tagger(model: str) -> Iterator[erreval.Tagger]:
    with erreval.Tagger(model=model) as t:
        yield t


def rows(n: int, text: str = "A mason built it.") -> list[dict[str, object]]:
    return [{"n": i, "question": f"Who built wall {i}?", "answer": "a mason", "passage": text} for i in range(n)]
