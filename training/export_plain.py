"""Exports a Hugging Face sequence classifier as it is, without a rewrite: what users of a Python script run, and so the peers of
`make bench PEERS=DIR`.

    python export_plain.py CHECKPOINT DIR
"""
import pathlib
import shutil
import sys

import torch
from transformers import AutoModelForSequenceClassification

source, out = map(pathlib.Path, sys.argv[1:])
out.mkdir(parents=True, exist_ok=True)
model = AutoModelForSequenceClassification.from_pretrained(source, attn_implementation="eager").eval()
names = ["input_ids", "attention_mask"] + ["token_type_ids"] * (model.config.type_vocab_size > 1)


class Logits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(**dict(zip(names, inputs))).logits


ids = torch.ones(2, 7, dtype=torch.long)
torch.onnx.export(Logits(), tuple(ids * (n != "token_type_ids") for n in names), str(out / "model.onnx"), input_names=names,
                  output_names=["logits"], dynamic_axes={n: {0: "rows", 1: "tokens"} for n in names} | {"logits": {0: "rows"}},
                  opset_version=17, dynamo=False)
for name in ("config.json", "tokenizer.json"):
    shutil.copy(source / name, out / name)
