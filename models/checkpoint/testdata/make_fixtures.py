"""Writes the checkpoints of this folder and expected.json, which holds what torch and safetensors read from them.

    python models/checkpoint/testdata/make_fixtures.py

Recorded with torch 2.15.0 and safetensors 0.8.0.
"""
import collections
import hashlib
import json
import os
import pathlib
import shutil
import zipfile

import numpy as np
import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
NAMES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64", torch.float64: "F64",
         torch.bool: "BOOL", torch.uint8: "U8", torch.uint16: "U16", torch.complex64: "C64", torch.float8_e4m3fn: "F8_E4M3"}
READ = (torch.float32, torch.float16, torch.bfloat16)
expected = {}


def folder(name):
    path = HERE / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def record(name, tensors, views=()):
    """views: names of tensors that the Go reader refuses, being neither contiguous nor transposed."""
    expected[name] = {k: {"dtype": NAMES[t.dtype], "shape": list(t.shape), "view": k in views,
                          "values": t.detach().float().flatten().tolist() if t.dtype in READ else None}
                      for k, t in tensors.items()}


def tensors():
    torch.manual_seed(5)
    halves = torch.tensor([0.0, -0.0, 1.0, -65504.0, 2.0 ** -24, 3 * 2.0 ** -24, 2.0 ** -14, 0.1], dtype=torch.float16)
    return {
        "encoder.weight": torch.randn(5, 3), "encoder.bias": torch.randn(5), "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(2.5), "half": halves.reshape(2, 4), "brain": torch.randn(2, 2, 3).bfloat16(),
        "position_ids": torch.arange(6).expand((1, -1)), "double": torch.randn(2).double(), "mask": torch.ones(3).bool(),
        "name with \"quotes\" – ü": torch.full((1,), -3.4028234663852886e38), "eighth": torch.ones(3).to(torch.float8_e4m3fn),
    }


def safetensors():
    save_file({k: v.contiguous() for k, v in tensors().items()}, folder("safetensors") / "model.safetensors", metadata={"format": "pt"})
    record("safetensors", load_file(HERE / "safetensors" / "model.safetensors"))


def sharded(name, pattern, index, save):
    path, all_tensors = folder(name), {k: v.contiguous() for k, v in tensors().items()}
    place, merged = {}, {}
    for i, names in enumerate((list(all_tensors)[::2], list(all_tensors)[1::2])):
        file = pattern % (i + 1, 2)
        save({k: all_tensors[k] for k in names}, path / file)
        place |= dict.fromkeys(names, file)
        merged |= load_file(path / file) if file.endswith("safetensors") else torch.load(path / file, weights_only=True)
    (path / index).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": place}, indent=2))
    record(name, merged)


def state_dict():
    """What a module's state_dict holds, _metadata included, and every kind of view."""
    module = torch.nn.Sequential(collections.OrderedDict(dense=torch.nn.Linear(4, 3), norm=torch.nn.LayerNorm(3)))
    base = torch.arange(24, dtype=torch.float32)
    state = module.state_dict()
    state.update(tensors())
    state["tied"] = state["dense.weight"]
    state["parameter"] = torch.nn.Parameter(torch.randn(2, 3))
    state["transposed"] = base.reshape(4, 6).t()
    state["permuted"] = base.reshape(2, 3, 4).permute(2, 0, 1)
    state["permuted.half"] = base.reshape(2, 1, 3, 4).permute(3, 1, 0, 2).half()
    state["rows"] = base.reshape(6, 4)[2:5]
    state["rows.transposed"] = base.reshape(6, 4)[2:5].t()
    state["unsigned"] = torch.zeros(2, dtype=torch.uint16)
    state["complex"] = torch.zeros(2, dtype=torch.complex64)
    state["columns"] = base.reshape(6, 4)[:, :2]
    state["expanded"] = base[:3].expand(2, 3)
    return state


VIEWS = ("columns", "expanded")


def saved_by_torch():
    state = state_dict()
    torch.save(state, folder("torch") / "pytorch_model.bin")
    record("torch", torch.load(HERE / "torch" / "pytorch_model.bin", weights_only=True), VIEWS)
    torch.save(state, folder("protocol4") / "pytorch_model.bin", pickle_protocol=4)
    record("protocol4", torch.load(HERE / "protocol4" / "pytorch_model.bin", weights_only=False), VIEWS)


def zip64():
    """The same archive with every field of zip64, as a file of more than 4 GB has them."""
    old, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 1
    source = zipfile.ZipFile(HERE / "torch" / "pytorch_model.bin")
    with zipfile.ZipFile(folder("zip64") / "pytorch_model.bin", "w", zipfile.ZIP_STORED) as target:
        for entry in source.infolist():
            with target.open(zipfile.ZipInfo(entry.filename), "w", force_zip64=True) as f:
                f.write(source.read(entry))
    zipfile.ZIP64_LIMIT = old
    record("zip64", torch.load(HERE / "torch" / "pytorch_model.bin", weights_only=True), VIEWS)


class Runs:
    def __reduce__(self):
        return os.system, ("echo a checkpoint ran code",)


def refused():
    """Files that are not read, each as torch writes it."""
    path = folder("refused")
    torch.save({"w": torch.ones(2)}, path / "legacy.bin", _use_new_zipfile_serialization=False)
    torch.save({"w": torch.ones(2), "x": Runs()}, path / "code.bin")
    torch.save({"w": torch.ones(2), "x": Runs()}, path / "code4.bin", pickle_protocol=4)
    torch.save(torch.nn.Linear(2, 2), path / "module.bin")
    torch.save({"model": {"w": torch.ones(2)}, "epoch": 3}, path / "training.bin")
    torch.save({"w": torch.ones(2).to_sparse()}, path / "sparse.bin")
    torch.save([torch.ones(2)], path / "list.bin")
    torch.save(torch.ones(2), path / "tensor.bin")
    torch.save({"state": {0: torch.ones(2)}}, path / "optimizer.bin")


def conversions():
    """The SHA-256 of every finite number of 16 bits, in order of its bits, as little-endian float32."""
    bits = torch.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(np.int16))
    for name, dtype in (("F16", torch.float16), ("BF16", torch.bfloat16)):
        values = bits.view(dtype).float()
        expected["sha256 of all " + name] = hashlib.sha256(values[values.isfinite()].numpy().tobytes()).hexdigest()


safetensors()
sharded("sharded-safetensors", "model-%05d-of-%05d.safetensors", "model.safetensors.index.json", save_file)
sharded("sharded-torch", "pytorch_model-%05d-of-%05d.bin", "pytorch_model.bin.index.json", torch.save)
saved_by_torch()
zip64()
refused()
conversions()
(HERE / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
