from __future__ import annotations

import importlib.metadata
import itertools
import json
import logging
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
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
    labels = [label for label in want[0]["diagnosis"]["probabilities"]]
    likely = {label: "p_" + label.lower().replace(" ", "_") for label in labels}
    added = ["labels", *likely.values(), "status", "reason", "truncated", "not_judged"]
    assert [*found.columns] == [*frame.columns, *(f"found_{name}" for name in added)]
    assert [*found["found_truncated"]] == [w["diagnosis"].get("truncated", {}) for w in want]
    assert [*found["found_not_judged"]] == [w["diagnosis"].get("not_judged", []) for w in want]
    short = erreval.identify(frame.head(1), model=model, details=False)
    assert [*short.columns] == [*frame.columns, *added[:-2]]
    assert [*found["found_labels"]] == [w["diagnosis"]["labels"] for w in want]
    for label, name in likely.items():
        assert [*found[f"found_{name}"]] == [w["diagnosis"]["probabilities"][label] for w in want]
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
    passage = "Ann Mason built the harbour wall in 1821. She had learnt the trade from her father."
    frame = pd.DataFrame({"question": ["Who was she?"], "answer": ["Ann Mason"], "passage": [passage]})
    found = erreval.identify(frame)
    assert found["status"].tolist() == ["tagged"] and "Vague" in found["labels"][0]
    assert erreval.identify(frame, threshold={"Vague": 1.0}, labels_only=True)["p_vague"].isna().all()


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
    assert found["status"].tolist() == ["tagged", "untagged", "untagged", "rejected"]  # missing: an empty text
    assert "empty" in found["reason"][1] and found["reason"][0] is None
    with pytest.raises(erreval.RowError, match="row 1 is untagged") as e:
        tagger.identify(frame, on_error="raise")
    assert e.value.row == 1 and e.value.status == "untagged"
    assert [r["diagnosis"].get("status") for r in tagger.identify([{}, rows(1)[0]])] == ["rejected", None]
    with pytest.raises(erreval.RowError, match="row 0 is rejected: no column"):
        tagger.tag({}, on_error="raise")


def test_usage(model: str, tagger: erreval.Tagger) -> None:
    frame = pd.DataFrame(rows(1))
    with pytest.raises(erreval.UsageError, match=r"no column 'passage'.*columns={\"passage\": COLUMN}"):
        tagger.identify(frame.rename(columns={"passage": "p"}))
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


def test_cells_of_other_kinds(tagger: erreval.Tagger) -> None:
    """Dates and numbers of a workbook's cells are texts, as the command reads them; none stops a frame."""
    frame = pd.DataFrame(rows(4))
    frame["answer"] = pd.Series([pd.Timestamp("2024-03-01"), 1868.0, True, pd.NaT], dtype=object)
    found = tagger.identify(frame)
    assert list(found["status"]) == ["tagged"] * 4, found
    texts = frame.assign(answer=["2024-03-01T00:00:00", "1868", "true", ""])
    assert list(found["labels"]) == list(tagger.identify(texts)["labels"])


def test_taken_columns_come_first(tagger: erreval.Tagger, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the model is opened, and before a row is tagged; a tagged frame can be tagged again."""
    frame = pd.DataFrame(rows(3))
    said = r"columns \['labels'\] already.*overwrite=True.*suffix="
    with pytest.raises(erreval.UsageError, match=said):
        erreval.identify(frame.assign(labels=1), model="never opened")
    with monkeypatch.context() as m:
        m.setattr(tagger, "all", None)
        with pytest.raises(erreval.UsageError, match=said):
            tagger.identify(frame.assign(labels=1))
    with pytest.raises(erreval.UsageError, match=r"\['score_fluency'\] already"):
        erreval.score(frame.assign(score_fluency=1), model="never opened")
    once = tagger.identify(frame)
    with pytest.raises(erreval.UsageError, match="not_judged"):
        tagger.identify(once)
    again = tagger.identify(once.assign(labels=1), overwrite=True)
    assert [*again.columns] == [*once.columns] and again["labels"].tolist() == once["labels"].tolist()
    both = tagger.identify(once, suffix="_2", details=False)
    assert [*both.columns] == [*once.columns, *(f"{name}_2" for name in once.columns[4:-2])]
    assert both["labels_2"].tolist() == once["labels"].tolist()
    scored = erreval.score(once, model=model, dimensions=["fluency"])
    assert erreval.score(scored, model=model, dimensions=["fluency"], overwrite=True).equals(scored)


def test_guessed_columns(tagger: erreval.Tagger, caplog: pytest.LogCaptureFixture) -> None:
    """As the command guesses them."""
    want = tagger.identify(pd.DataFrame(rows(3)), nested=True)["diagnosis"].tolist()
    squad = [
        {"Context": r["passage"], "answers": {"text": [r["answer"]], "answer_start": [0]}, "prediction": r["question"]}
        for r in rows(3)
    ]
    with caplog.at_level(logging.WARNING, "erreval"):
        found = tagger.identify(pd.DataFrame(squad), nested=True)
    assert found["diagnosis"].tolist() == want
    assert "no column 'passage'; taking 'Context' for it (columns={\"passage\": COLUMN} names another)" in caplog.text
    assert [r["diagnosis"] for r in tagger.identify(squad)] == want
    assert tagger.tag(squad[0]) == want[0]


def test_progress(tagger: erreval.Tagger, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    class Bar:
        def __init__(self, total: int, desc: str, unit: str) -> None:
            assert (total, desc, unit) == (200, "identify", "row")

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            done.append(-1)

        def update(self, n: int) -> None:
            done.append(n)

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    frame = pd.DataFrame(rows(200))
    tagger.identify(frame, progress=True)
    assert done == [64, 64, 64, 8, -1]
    tagger.identify(frame, progress=False)
    assert len(done) == 5
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(erreval.UsageError, match="pip install tqdm"):
        tagger.identify(frame, progress=True)


def test_types_in_words(tagger: erreval.Tagger, model: str) -> None:
    package: Any = erreval  # of no type, since each call has a wrong one
    anything: Any = tagger
    row = rows(1)[0]
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: package.identify(5), "takes a DataFrame, an iterable of dicts or a path, not int"),
        (lambda: package.identify(None), "not NoneType"),
        (lambda: package.identify(row), "put one row into a list, or give it to Tagger.tag"),
        (lambda: package.score(5), r"erreval\.score takes .* not int"),
        (
            lambda: [*anything.identify(["Who?"])],
            "row 0 is of type str; give dicts with the keys question, answer, passage",
        ),
        (lambda: anything.tag("Who?"), "row 0 is of type str"),
        (lambda: package.Tagger(model=model, columns=["context"]), 'columns: give a dict .*"context".*, not list'),
        (lambda: package.Tagger(model=5), "model: give a name or a path, not int"),
        (lambda: package.Tagger(workers="2"), "workers: give a number of rows, not str"),
        (lambda: package.Tagger(threshold="0.5"), "threshold: give a probability, .* not str"),
        (lambda: package.score([row], model=model, dimensions="fluency"), r"give a list, as in \['fluency'\]"),
    ]
    for call, said in calls:
        with pytest.raises(TypeError, match=said):
            call()


def test_version() -> None:
    assert erreval.__version__ == importlib.metadata.version("erreval")


def test_score(model: str) -> None:
    frame = pd.DataFrame(rows(3))
    scored = erreval.score(frame, model=model, dimensions=["fluency", "clarity"])
    assert [*scored.columns] == [*frame.columns, "score_fluency", "score_clarity"]
    assert scored["score_fluency"].dtype == "float64" and scored["score_fluency"].notna().all()
    tagged = erreval.identify(frame, model=model, nested=True)
    again = erreval.score(tagged, model="never opened", dimensions=["fluency"], nested=True)
    assert [s["fluency"]["value"] for s in again["scores"]] == [*scored["score_fluency"]]
    flat = erreval.score(erreval.identify(frame, model=model), model="never opened", dimensions=["fluency"])
    assert [*flat["score_fluency"]] == [*scored["score_fluency"]]

    def tagged_as(**columns: object) -> pd.DataFrame:
        found: pd.DataFrame = frame.assign(status="tagged", reason=None, **columns)
        return found

    with pytest.raises(erreval.UsageError, match="holds texts, not lists"):
        erreval.score(tagged_as(labels="['Vague']", p_vague=0.9), model="never opened")
    assert erreval.score(tagged_as(labels="mine"), model=model)["score_fluency"].notna().all()  # not identify's columns
    found = [*erreval.score(iter(rows(3)), model=model, dimensions=["fluency"])]
    assert [r["scores"]["fluency"]["value"] for r in found] == [*scored["score_fluency"]]
    assert [*erreval.score(found, model="never opened", dimensions=["fluency"])] == found
    frame.loc[1, "question"] = None
    assert erreval.score(frame, model=model)["score_fluency"].isna().tolist() == [False, True, False]
    with pytest.raises(erreval.RowError):
        [*erreval.score([{**rows(1)[0], "diagnosis": None}], on_error="raise")]


def test_results(model: str, tmp_path: Path) -> None:
    """As the commands count them."""
    frame = pd.DataFrame([json.loads(line) for line in SAMPLES.open(encoding="utf-8")])
    frame.loc[0, "question"] = None  # rejected: it has no part in shares
    tagged = erreval.identify(frame, model=model)
    results = erreval.Results(tagged)
    stats = results.stats()
    assert stats.index[0] == "all" and {*stats.index[1:]} == {*frame["system"]}
    vague: float = stats["Vague"].tolist()[0]
    assert vague == pytest.approx(sum("Vague" in found for found in tagged["labels"]) / (len(frame) - 1))
    assert results.stats(by="none").index.tolist() == ["all"]
    users = ["ann" if i % 2 else "bo" for i in range(len(tagged))]  # a column of the user's
    assert {*erreval.Results(tagged.assign(p_user=users)).stats(by="p_user").index} == {"all", "ann", "bo"}
    assert "without error" in results._repr_html_() and f"{vague:.1%}" in results._repr_html_()
    never = erreval.Results(erreval.identify(frame, model=model, threshold=1.0, nested=True))
    change = results.diff(never)
    assert change["from"]["Vague"] == vague and change["to"]["Vague"] == 0
    shown = [change[c].tolist()[0] for c in ("low", "difference", "high")]
    assert change.index[0] == "without error" and shown == sorted(shown)
    with pytest.warns(UserWarning, match="partner"):  # of half of the rows, and figures of the others
        assert results.diff(erreval.Results(tagged.iloc[: len(tagged) // 2]))["from"].notna().any()
    page = tmp_path / "page.html"
    results.report(page)
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html")
    with pytest.raises(erreval.Error, match=r"page\.html"):
        results.report(page)
    with pytest.raises(erreval.UsageError, match="the frame is not tagged"):
        erreval.Results(frame)
    named = erreval.identify(frame.assign(labels="mine"), model=model, prefix="found_")
    assert erreval.Results(named, prefix="found_").stats().equals(stats)
    other = tagged.rename(columns={"question": "x", "passage": "y"})
    with pytest.raises(erreval.UsageError, match=r"give erreval\.Results columns="):
        erreval.Results(other).stats()
    assert erreval.Results(other, columns={"question": "x", "passage": "y"}).stats().equals(stats)


def test_without_pandas_and_onnxruntime(model: str) -> None:
    code = (
        "import sys, erreval\n"
        f"row = {rows(1)[0]!r}\n"
        f"print(list(erreval.identify([row], model={model!r}))[0]['diagnosis']['model'])\n"
        "print(sorted({'pandas', 'onnxruntime', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tiny-bert@1", "[]"]
