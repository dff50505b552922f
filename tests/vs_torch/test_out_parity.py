"""`out=` of every dtype, for every function that has one: PyTorch and ours take the same, and write the same."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.testing.samples import SAMPLES
from tests.helpers.oracle import leaves, outcome, to_numpy, to_torch
from tests.helpers.parity import lacks_kernel, quietly, same_kind, samples_of, theirs_of
from tests.helpers.rows import families
from tests.helpers.values import array, fresh

NAMES = [
    name for name, (primary, *_) in families().items()
    if "out" in inspect.signature(primary.function).parameters and theirs_of(name) is not None
]  # fmt: skip

#: What an `out` is made of.
DTYPES = ("float32", "float64", "int64", "int32", "bool", "complex128")

#: Functions whose `out` is taken differently, by reason: what may be seen there.
KNOWN = {
    "PyTorch's overload has no `out` for these arguments, ours does: without `dim`, of one tensor for `as_tuple`": (
        "argsort", "median", "nanmedian", "nonzero", "prod", "sum", "Tensor.scatter",
    ),
    "ours goes by the dtype of the result; PyTorch's Fourier transforms by that of the transform before": (
        "fft.hfft", "fft.hfft2", "fft.hfftn", "fft.ifft", "fft.ihfft", "fft.irfft", "fft.irfft2", "fft.irfftn",
    ),
    "PyTorch casts integers to booleans here": ("nansum",),
    "matrix_power(1) is a copy_ in PyTorch, of any dtype": ("matrix_power",),
    "`lu` writes into whatever it is given in PyTorch": ("lu",),
}  # fmt: skip

REASONS = {f"tensorlike.{name}": reason for reason, names in KNOWN.items() for name in names}


def differences(name: str) -> tuple[int, list[str]]:
    """Return how many calls with `out` were compared, and which differ."""
    function, theirs = families()[name][0].function, theirs_of(name)
    compared, found = 0, []
    for dtype in ("float64", "int64", "complex128"):
        if dtype == "complex128" and compared:
            break
        for sample in samples_of(name, dtype)[:2]:
            args, kwargs = list(sample.args), sample.kwargs
            expected, error = outcome(quietly, theirs, *to_torch(args), **to_torch(kwargs))
            results = leaves(expected)
            if error is not None or not results or "out" in kwargs:
                continue
            for given in DTYPES:
                outs = [torch.zeros(r.shape, dtype=getattr(torch, given)) for r in results]
                ours = [tl.zeros(tuple(r.shape), dtype=getattr(tl, given)) for r in results]
                several = isinstance(expected, (tuple, list))
                _, their_error = outcome(
                    quietly, theirs, *to_torch(args), **to_torch(kwargs), out=tuple(outs) if several else outs[0]
                )
                _, our_error = outcome(
                    quietly, function, *fresh(args), **fresh(kwargs), out=tuple(ours) if several else ours[0]
                )
                if their_error is not None and lacks_kernel(their_error):
                    continue
                compared += 1
                what = f"{name}{sample} into {given}"
                if their_error is not None:
                    if our_error is None:
                        found.append(f"{what}: works, PyTorch raises {their_error!r}")
                    elif not same_kind(our_error, their_error):
                        found.append(f"{what}: {our_error!r}, PyTorch raises {their_error!r}")
                elif our_error is not None:
                    found.append(f"{what}: {our_error!r}, PyTorch works")
                elif SAMPLES[name].deterministic:
                    close = {"rtol": 1e-4, "atol": 1e-5, "equal_nan": True}
                    found += [what for a, b in zip(ours, outs) if not np.allclose(array(a), to_numpy(b), **close)]
    return compared, found


@pytest.mark.parametrize("name", NAMES)
def test_out(name):
    compared, found = differences(name)
    if name in REASONS:
        assert found, f"{name}: agrees now, it is no known difference any more"
        return
    assert not found, found[0]
    assert compared, f"{name}: nothing was compared"


def test_there_are_functions_to_compare():
    assert len(NAMES) > 300


@pytest.mark.parametrize("name", ["eq", "logical_not", "argmax", "all", "isposinf"])
def test_what_has_no_derivative_writes_beside_what_requires_grad(name):
    for library in (tl, torch):
        x = library.tensor([[1.0, 2.0]], requires_grad=True)
        more = (x,) if name == "eq" else (1,) if name in ("argmax", "all") else ()
        shape = (1,) if name in ("argmax", "all") else (1, 2)
        out = library.zeros(shape, dtype=library.int64 if name == "argmax" else library.bool)
        assert getattr(library, name)(x, *more, out=out) is out
        assert out.is_leaf
        assert not out.requires_grad


#: Calls whose operands are all `arange(3)`, but for masks: each operand may be `out`, or the tensor of a method.
SHARING = [
    "scatter_add(a, 0, b, c, out=out)", "scatter(a, 0, b, c, out=out)", "index_add(a, 0, b, c, out=out)",
    "scatter_reduce(a, 0, b, c, 'sum', out=out)", "index_copy(a, 0, b, c, out=out)", "take(a, b, out=out)",
    "index_reduce(a, 0, b, c, 'amax', out=out)", "index_select(a, 0, b, out=out)", "gather(a, 0, b, out=out)",
    "masked_select(a > 0, c > 0, out=out)", "masked_select(mask, mask, out=mask)", "cat([a[:1], b[1:]], out=out)",
    "kthvalue(a, 1, out=(out, torch.tensor(0)))", "kthvalue(a, 1, out=(torch.tensor(0), out))",
    "stack([a[0], b[1], c[2]], out=out)", "cat([mask], out=mask)", "hstack([a, b], out=torch.ones(6, dtype=bool))",
    "Tensor.scatter_add_(out, 0, b, c)", "Tensor.scatter_(out, 0, b, c)", "Tensor.scatter_(out, 0, b, 1)",
    "Tensor.index_add_(out, 0, b, c)", "Tensor.index_copy_(out, 0, b, c)", "Tensor.index_fill_(out, 0, b, 1)",
    "Tensor.index_reduce_(out, 0, b, c, 'amax')", "Tensor.scatter_reduce_(out, 0, b, c, 'amax')",
    "Tensor.put_(out, b, c)", "Tensor.index_put_(out, (b,), c)",
    "Tensor.index_put_(mask, (mask,), mask[:1].clone())", "Tensor.masked_scatter_(out, mask, c)",
    "Tensor.masked_fill_(mask, mask, False)", "Tensor.__setitem__(mask, mask, False)",
    "Tensor.index_fill_(out, 0, b, c[0])", "Tensor.as_strided_(a.expand(2, 3), (2, 3), (0, 1))",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", "abc")
@pytest.mark.parametrize("call", SHARING)
def test_what_may_be_written_while_it_is_read(call, which):
    """An operand that is written is refused where PyTorch refuses it, and gives the same elsewhere."""
    found = []
    for library in (tl, torch):
        values = {name: library.arange(3) for name in "abc"} | {"mask": library.tensor([True, False, False])}
        values["out"] = values[which]
        try:
            eval(f"torch.{call}", {"torch": library, **values})
            error = None
        except (RuntimeError, TypeError) as raised:
            error = type(raised), "unsupported operation" in str(raised)
        found.append((error, *(value.tolist() for value in values.values())))
    assert found[0] == found[1]
