from __future__ import annotations

import itertools
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT, rows

import erreval
from erreval._program import environment, program

SAMPLES = ROOT / "testdata" / "samples" / "questions.jsonl"


def by_command(path: Path, model: str) -> list[dict[str, Any]]:
    """What the command writes."""
    line = [program(), "identify", str(path), "-o", "-", "-q", "--model", model]
    done = subprocess.run(line, env=environment(), capture_output=True, check=True)
    return [json.loads(text) for text in done.stdout.splitlines()]


def test_frame_equals_command(model: str) -> None:
    want = by_command(SAMPLES, model)
    frame = pd.DataFrame([json.loads(line) for line in SAMPLES.open(encoding="utf-8")])
    frame.index = pd.Index([f"row {i // 2}" for i in range(len(frame))])  # each twice
    before = frame.copy()
    found = erreval.identify(frame, model=model, prefix="found_")
    assert found.index.equals(frame.index) and frame.equals(before)
    assert [*found.columns] == [*frame.columns, "found_labels", "found_probabilities", "found_status", "found_reason"]
    assert [*found["found_labels"]] == [w["diagnosis"]["labels"] for w in want]
    assert [*found["found_probabilities"]] == [w["diagnosis"]["probabilities"] for w in want]
    nested = erreval.identify(frame, model=model, nested=True)
    assert [*nested["diagnosis"]] == [w["diagnosis"] for w in want]


def test_path_and_rows_equal_command(model: str) -> None:
    want = by_command(SAMPLES, model)
    assert [*erreval.identify(SAMPLES, model=model)] == want
    given = [json.loads(line) for line in SAMPLES.open(encoding="utf-8")]
    assert [*erreval.identify(iter(given), model=model)] == want


def test_path_of_other_columns(model: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("asked,answer,context\nWho?,a mason,A mason.\nWho?\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "erreval"):
        found = [*erreval.identify(file, model=model, columns={"question": "asked", "passage": "context"})]
    assert [row["asked"] for row in found] == ["Who?"] and "1 line was no row" in caplog.text
    with pytest.raises(erreval.Error, match=r"none\.csv"):
        next(erreval.identify(tmp_path / "none.csv", model=model))


def test_default_model() -> None:
    frame = pd.DataFrame({"question": ["what wall??"], "answer": ["a mason"], "passage": ["A mason built it."]})
    found = erreval.identify(frame)
    assert found["status"].tolist() == ["tagged"] and "Vague" in found["labels"][0]
    assert erreval.identify(frame, threshold={"Vague": 1.0}, labels_only=True)["probabilities"].tolist() == [{}]


def test_rows_are_lazy(tagger: erreval.Tagger) -> None:
    taken = 0

    def endless() -> Iterator[dict[str, object]]:
        nonlocal taken
        for row in itertools.cycle(rows(100, "A mason built it. " * 50)):
            taken += 1
            yield row

    found = [*itertools.islice(tagger.identify(endless()), 10_000)]
    assert [r["n"] for r in found] == [i % 100 for i in range(10_000)] and taken < 20_000
    assert [*tagger.identify([])] == [] and tagger.identify(pd.DataFrame(rows(0), columns=[*rows(1)[0]])).empty


def test_rows_without_result(tagger: erreval.Tagger) -> None:
    frame = pd.DataFrame(rows(4))
    frame["question"] = ["Who?", None, float("nan"), 3]
    found = tagger.identify(frame)
    assert found["status"].tolist() == ["tagged", "rejected", "rejected", "rejected"]
    assert "holds null where a text is expected" in found["reason"][1] and found["reason"][0] is None
    with pytest.raises(erreval.RowError, match="row 1 is rejected") as e:
        tagger.identify(frame, on_error="raise")
    assert e.value.row == 1 and e.value.status == "rejected"
    assert [r["diagnosis"].get("status") for r in tagger.identify([{}, rows(1)[0]])] == ["rejected", None]
    with pytest.raises(erreval.RowError, match="row 0 is rejected: no column"):
        tagger.tag({}, on_error="raise")


def test_usage(model: str, tagger: erreval.Tagger) -> None:
    frame = pd.DataFrame(rows(1))
    with pytest.raises(erreval.UsageError, match=r"no column 'passage'.*columns={\"passage\": COLUMN}"):
        tagger.identify(frame.rename(columns={"passage": "context"}))
    with pytest.raises(erreval.UsageError, match=r"columns \['labels'\] already.*prefix="):
        tagger.identify(frame.assign(labels=1))
    with pytest.raises(erreval.UsageError, match="no field"):
        erreval.Tagger(model=model, columns={"questoin": "q"})
    with pytest.raises(erreval.UsageError, match=r"threshold.*1\.5|1\.5.*0\.\.1") as usage:
        erreval.Tagger(model=model, threshold=1.5)
    assert usage.value.exit_code == 2
    with pytest.raises(erreval.UnfitError):
        erreval.Tagger(model=model, taxonomy="response")
    with pytest.raises(erreval.Error, match="no-such-model"):
        erreval.Tagger(model="no-such-model")
    with pytest.raises(erreval.UsageError, match="row 0: a value cannot be written as JSON"):
        tagger.tag({"question": object()})
    assert tagger.alive()


def test_score(model: str) -> None:
    frame = pd.DataFrame(rows(3))
    scored = erreval.score(frame, model=model, dimensions=["fluency", "clarity"])
    assert [*scored.columns] == [*frame.columns, "score_fluency", "score_clarity"]
    assert scored["score_fluency"].dtype == "float64" and scored["score_fluency"].notna().all()
    tagged = erreval.identify(frame, model=model, nested=True)
    again = erreval.score(tagged, model="never opened", dimensions=["fluency"], nested=True)
    assert [s["fluency"]["value"] for s in again["scores"]] == [*scored["score_fluency"]]
    found = [*erreval.score(iter(rows(3)), model=model, dimensions=["fluency"])]
    assert [r["scores"]["fluency"]["value"] for r in found] == [*scored["score_fluency"]]
    assert [*erreval.score(found, model="never opened", dimensions=["fluency"])] == found
    frame.loc[1, "question"] = None
    assert erreval.score(frame, model=model)["score_fluency"].isna().tolist() == [False, True, False]
    with pytest.raises(erreval.RowError):
        [*erreval.score([{**rows(1)[0], "diagnosis": None}], on_error="raise")]


def test_without_pandas_and_onnxruntime(model: str) -> None:
    code = (
        "import sys, erreval\n"
        f"row = {rows(1)[0]!r}\n"
        f"print(list(erreval.identify([row], model={model!r}))[0]['diagnosis']['model'])\n"
        "print(sorted({'pandas', 'onnxruntime', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tiny-bert@1", "[]"]
