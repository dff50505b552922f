"""`repr` of tensors against PyTorch's: every dtype, shape and option, with history, as parameters and subclasses.

Lines are broken before a suffix by its length, and `tensorlike.` is longer than `torch.`: that break does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl

VALUES = {
    "whole": [0, 1, -2, 17, 900], "fractions": [0.5, -0.25, 3.14159, 2, 0], "tiny": [1e-5, -3e-6, 0],
    "huge": [1e8, 2e9, -1e30], "ratio": [0.05, 50.5, -1], "mixed": [1e-7, 1.5, -12345.678, 0, 3],
    "not_finite": [1, -20, np.nan, np.inf, -np.inf, 0.125, 1e-3], "rounding": [0.00005, 0.99995, 99.99995, 0.12345],
}  # fmt: skip
SHAPES = [(), (1,), (7,), (40,), (1001,), (2, 3), (12, 30), (2, 2, 2), (0,), (0, 3), (1, 2, 1, 3, 2), (5, 300)]
FLOATING = ["float32", "float64", "float16", "bfloat16", "complex64", "complex128"]
DTYPES = [*FLOATING, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
OPTIONS: list[dict[str, Any]] = [
    {}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"linewidth": 40}, {"edgeitems": 1, "threshold": 5},
    {"profile": "short"}, {"profile": "full"}, {"precision": 0},
]  # fmt: skip


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    tl.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def made(dtype: str, shape: tuple[int, ...], values: list[float]) -> tuple[Any, Any]:
    rng = np.random.default_rng(len(shape))
    name = "float32" if dtype == "bfloat16" else dtype
    with np.errstate(all="ignore"):
        if dtype.startswith("complex"):
            array = rng.choice(values, shape) + 1j * rng.choice(values, shape)
        elif dtype == "bool":
            array = rng.integers(0, 2, shape)
        elif np.dtype(name).kind in "iu":
            limits = np.iinfo(dtype)
            array = rng.choice(np.array([limits.min, 0, 1, 7, limits.max], dtype), shape)
        else:
            array = rng.choice(values, shape)
        array = np.asarray(array).astype(name)
    ours, theirs = tl.from_numpy(array.copy()), torch.from_numpy(array)
    return (ours.bfloat16(), theirs.bfloat16()) if dtype == "bfloat16" else (ours, theirs)


def assert_same_text(ours: Any, theirs: Any) -> None:
    texts = [repr(ours).replace("tensorlike.", "torch."), repr(theirs)]
    one, other = (re.sub(r",\s+(dtype|requires_grad|grad_fn|size|device)=", r", \1=", text) for text in texts)
    assert one == other


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
def test_elements(options: dict[str, Any], dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")
    tl.set_printoptions(**options)
    torch.set_printoptions(**options)
    for number, shape in enumerate(SHAPES):
        names = list(VALUES) if not options and dtype in FLOATING else [list(VALUES)[number % len(VALUES)]]
        for name in names:
            assert_same_text(*made(dtype, shape, VALUES[name]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
def test_with_history(dtype: str, shape: tuple[int, ...]) -> None:
    ours, theirs = made(dtype, shape, VALUES["not_finite"])
    assert_same_text(tl.nn.Parameter(ours), torch.nn.Parameter(theirs))
    ours.requires_grad_()
    theirs.requires_grad_()
    assert_same_text(ours, theirs)
    for change in (lambda x: x * 2, lambda x: x.sum(), lambda x: x.unsqueeze(0), lambda x: x.exp(), lambda x: x.clone(),
                   lambda x: x[None], lambda x: x.expand(2, *x.shape), lambda x: -x, lambda x: x.detach()):  # fmt: skip
        assert_same_text(change(ours), change(theirs))
    if len(shape) > 1:
        assert_same_text(ours.transpose(0, -1), theirs.transpose(0, -1))


EXPRESSIONS = """
[M.ones(2), M.zeros(2,2)] | (M.ones(2),) | {'a': M.tensor(1)} | M.ones(2).expand(3,2) | M.ones(3,3)[::2]
M.ones(4,requires_grad=True).split(2) | M.ones(4,requires_grad=True).unbind() | M.ones(2,requires_grad=True).double()
M.ones(2,requires_grad=True).max(0) | M.ones(2,requires_grad=True).sort() | M.ones(2,2,requires_grad=True).relu()
M.nn.functional.softmax(M.ones(2,requires_grad=True),0) | M.cat([M.ones(2,requires_grad=True)]*2)
M.stack([M.ones(2,requires_grad=True)]*2) | M.where(M.tensor([True,False]), M.ones(2,requires_grad=True), M.zeros(2))
M.ones(2,requires_grad=True).mean() | M.ones(2,requires_grad=True)**2 | M.ones(2,3,requires_grad=True).permute(1,0)
M.ones(2,3,requires_grad=True)[:,1:] | M.ones(2,3,requires_grad=True)[[0,1]] | M.ones(2,3,requires_grad=True).var()
M.linalg.vector_norm(M.ones(2,3,requires_grad=True)) | M.linalg.svd(M.eye(2).requires_grad_()) | M.Size([2,3])
M.float64
M.device('cpu') | M.tensor([1e-40]) | M.tensor([1e38, 1.]) | M.tensor([0.1+0.2]) | M.tensor(1e5) | M.tensor(1e10)
M.tensor([0.0001,1]) | M.tensor([0.00009,1]) | M.linspace(0,1,11) | M.arange(1001.) | M.eye(30)*1e-6 | M.full((3,),1e8)
M.full((3,),1.5e8) | M.zeros(1001,2) | M.zeros(2,1001) | M.zeros(3,3,3,1000)[...,:200] | M.tensor([True]*1001)
M.empty(0,dtype=M.int32) | M.empty(0,3,dtype=M.bool) | M.empty((2,0),requires_grad=True) | M.iinfo(M.int32)
M.finfo(M.float16) | M.contiguous_format | M.strided | M.complex(M.ones(2),M.ones(2)).requires_grad_()
"""


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", "|").split("|") if e.strip()])
def test_expressions(expression: str) -> None:
    assert_same_text(eval(expression, {"M": tl}), eval(expression, {"M": torch}))


def test_subclasses() -> None:
    def instance(library: Any) -> Any:
        class Sub(library.Tensor):  # type: ignore[misc, name-defined]
            pass

        return library.ones(2, 3).as_subclass(Sub)

    for change in (lambda x: x, lambda x: x * 2, lambda x: x[:0], lambda x: x.clone().requires_grad_(),
                   lambda x: x.double(), lambda x: x.expand(20, 2, 3)):  # fmt: skip
        assert_same_text(change(instance(tl)), change(instance(torch)))
    assert_same_text(tl.nn.Parameter(instance(tl)), torch.nn.Parameter(instance(torch)))
