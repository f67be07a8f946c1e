"""Gives an export to the classes of Argilla's SDK and answers it as they do.

    python make_argilla.py     (argilla 2.8)    reads argilla/ beside this file, writes argilla_answered.json and argilla_flat.json

No server is needed: the client is a stand-in that nothing is asked of.
"""
import json
import pathlib
from unittest.mock import MagicMock
from uuid import UUID

import argilla as rg
from argilla._models import DatasetModel
from argilla.records._io._generic import GenericIO
from argilla.records._io._json import JsonIO

rg.Argilla._get_default = classmethod(lambda cls: MagicMock())
here = pathlib.Path(__file__).parent

settings = rg.Settings.from_json(here / "argilla/.argilla/settings.json")
assert [f.name for f in settings.fields] == ["question", "answer", "passage"], settings.fields
assert settings.questions[0].name == "labels" and "Vague" in settings.questions[0].labels, settings.questions[0]
settings.validate()
DatasetModel(**json.loads((here / "argilla/.argilla/dataset.json").read_text()))

anna, ben = UUID(int=5), UUID(int=6)
records = JsonIO._records_from_json(here / "argilla/records.json")
answers = {
    "B001-0001": [rg.Response("labels", ["Vague", "Incomplete"], user_id=anna), rg.Response("notes", "two", user_id=anna),
                  rg.Response("labels", ["No Error"], user_id=ben)],
    "B001-0002": [rg.Response("labels", ["No Error"], user_id=anna)],
}


def record(r, responses):
    return rg.Record(id=r.id, fields=dict(r.fields), metadata=dict(r.metadata), suggestions=list(r.suggestions), responses=responses)


answered = [record(r, answers.get(r.id, [])) for r in records]
out = here / "argilla_answered.json"
out.unlink(missing_ok=True)
JsonIO.to_json(answered, out)

# Only flat records say what became of a response.
answers = {
    "B001-0001": [rg.Response("labels", ["Vague", "Incomplete"], user_id=anna, status="submitted"), rg.Response("notes", "two", user_id=anna, status="submitted"),
                  rg.Response("labels", ["No Error"], user_id=ben, status="draft")],
    "B001-0002": [rg.Response("labels", ["No Error"], user_id=anna, status="discarded"), rg.Response("labels", ["Vague"], user_id=ben)],
}
flat = GenericIO.to_list([record(r, answers.get(r.id, [])) for r in records], flatten=True)
(here / "argilla_flat.json").write_text(json.dumps(flat))
