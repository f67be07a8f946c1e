"""Writes a checkpoint as the plain fp32 ONNX export that a script would run: torch.onnx as Optimum calls it, nothing rewritten.

    python export_plain.py CHECKPOINT OUT
    erreval models import OUT --labels taxonomy --name plain
    erreval bench --model INT8-IMPORT --compare --peers plain
"""
import argparse
import pathlib
import warnings

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


class Logits(torch.nn.Module):
    """Inputs by position, as the exporter wants them."""

    def __init__(self, model, inputs):
        super().__init__()
        self.model, self.inputs = model, inputs

    def forward(self, *tensors):
        return self.model(**dict(zip(self.inputs, tensors))).logits


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("checkpoint")
    args.add_argument("out", type=pathlib.Path)
    args = args.parse_args()
    warnings.simplefilter("ignore")
    model = AutoModelForSequenceClassification.from_pretrained(args.checkpoint, dtype=torch.float32).eval()
    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * (getattr(model.config, "type_vocab_size", 0) > 1)
    ids = torch.arange(3, 17).reshape(2, 7)
    feed = (ids, torch.ones_like(ids), torch.zeros_like(ids))[:len(inputs)]
    axes = {name: {0: "batch", 1: "sequence"} for name in inputs} | {"logits": {0: "batch"}}
    args.out.mkdir(parents=True)
    model.config.to_json_file(args.out / "config.json")
    AutoTokenizer.from_pretrained(args.checkpoint, use_fast=True).save_pretrained(args.out)
    torch.onnx.export(Logits(model, inputs).eval(), feed, args.out / "model.onnx", opset_version=17, input_names=inputs, output_names=["logits"],
                      dynamic_axes=axes, dynamo=False)


if __name__ == "__main__":
    main()
