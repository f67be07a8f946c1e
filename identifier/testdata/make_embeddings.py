"""Records the outside witness of embeddings: onnxruntime in Python, with the tokenizers library.

    python make_embeddings.py      (onnx 1.23, onnxruntime 1.31, tokenizers 0.23, numpy)   writes embeddings.json beside this file
"""
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
MODELS = {"bert": (HERE / "bert", "/m/bert/encoder/layer.0/output/LayerNorm/LayerNormalization_output_0", 128),
          "default": (HERE.parents[1] / "models/embedded/default", "LayerNormalization_123", 512)}
TEXTS = ["The harbour wall was built in 1821.", "Which engineer designed the harbour wall?", "", "A new queen hatches after sixteen days.", "the the the",
         "The answer contradicts the passage. " * 90]


def embed(folder, tensor, longest):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    graph = onnx.load(str(folder / "model.onnx"))
    graph.graph.output.append(onnx.ValueInfoProto(name=tensor, type=onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)))
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    inputs = {i.name for i in session.get_inputs()}
    tokens = [tokenizer.encode(t, add_special_tokens=False).ids[:longest - 2] for t in TEXTS]
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    for ids in tokens:
        row = np.array([[start, *ids, end]])
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        hidden = session.run([tensor], {k: v for k, v in feed.items() if k in inputs})[0][0]
        yield hidden.mean(0).round(6).tolist()


path = HERE / "embeddings.json"
path.write_text(json.dumps({"texts": TEXTS, **{name: {"tensor": m[1], "vectors": list(embed(*m))} for name, m in MODELS.items()}}) + "\n")
