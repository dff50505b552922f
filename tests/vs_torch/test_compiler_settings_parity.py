"""Settings of PyTorch's compiler, and shapes as tensors, beside PyTorch's."""

from __future__ import annotations

import warnings

import tensorlike.onnx.operators
import torch
import torch._dynamo.config as theirs
import torch.onnx.operators
from tensorlike._dynamo import config as ours

import tensorlike as tl


def test_settings_have_the_same_names_and_values():
    names = [name for name, value in vars(ours).items() if isinstance(value, bool | int) and name[0] != "_"]
    assert len(names) > 15
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Some are deprecated.
        assert {name: getattr(ours, name) for name in names} == {name: getattr(theirs, name) for name in names}


def test_switches_have_the_same_names():
    assert set(tl._dynamo.__all__) - set(torch._dynamo.__all__) == set()


def test_shapes_as_tensors():
    for library in (torch, tl):
        operators = library.onnx.operators
        shape = operators.shape_as_tensor(library.ones(2, 3))
        assert (shape.tolist(), shape.dtype) == ([2, 3], library.int64)
        assert operators.reshape_from_tensor_shape(library.ones(6), shape).shape == (2, 3)
        assert library.onnx.is_in_onnx_export() is False
