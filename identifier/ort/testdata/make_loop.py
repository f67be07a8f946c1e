#!/usr/bin/env python3
"""Makes loop.onnx: a graph of the inputs and the output of an encoder, whose Loop does not end.

    python identifier/ort/testdata/make_loop.py     # needs onnx
"""
import pathlib

import onnx
from onnx import TensorProto as T
from onnx import helper as h

body = h.make_graph(
    [h.make_node("Identity", ["going"], ["goes_on"]), h.make_node("Add", ["x", "one"], ["more"])],
    "body",
    [h.make_tensor_value_info("i", T.INT64, []), h.make_tensor_value_info("going", T.BOOL, []),
     h.make_tensor_value_info("x", T.FLOAT, None)],
    [h.make_tensor_value_info("goes_on", T.BOOL, []), h.make_tensor_value_info("more", T.FLOAT, None)],
    [h.make_tensor("one", T.FLOAT, [], [1.0])])
graph = h.make_graph(
    [h.make_node("Cast", ["input_ids"], ["ids"], to=T.FLOAT),
     h.make_node("ReduceSum", ["ids", "axis"], ["sum"], keepdims=1),
     h.make_node("Loop", ["times", "yes", "sum"], ["logits"], body=body)],
    "loop",
    [h.make_tensor_value_info("input_ids", T.INT64, ["rows", "width"])],
    [h.make_tensor_value_info("logits", T.FLOAT, ["rows", 1])],
    [h.make_tensor("times", T.INT64, [], [2**62]), h.make_tensor("yes", T.BOOL, [], [True]),
     h.make_tensor("axis", T.INT64, [1], [1])])
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, pathlib.Path(__file__).with_name("loop.onnx"))
