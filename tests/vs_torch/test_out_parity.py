"""`out=` on memory that other tensors see: what it and they are afterwards, beside PyTorch."""

from __future__ import annotations

import warnings

import pytest

import tensorlike as tl

torch = pytest.importorskip("torch")

CALLS = {
    "arange": lambda t, out: t.arange(0, 4, out=out),
    "range": lambda t, out: t.range(0, 3, out=out),
    "linspace": lambda t, out: t.linspace(0, 3, 4, out=out),
    "logspace": lambda t, out: t.logspace(0, 3, 4, out=out),
    "zeros": lambda t, out: t.zeros(4, out=out),
    "ones": lambda t, out: t.ones(2, 2, out=out),
    "full": lambda t, out: t.full((4,), 5.0, out=out),
    "empty": lambda t, out: t.empty(4, out=out),
    "eye": lambda t, out: t.eye(2, out=out),
    "add": lambda t, out: t.add(t.ones(4), 1, out=out),
    "sum": lambda t, out: t.sum(t.ones(4, 2), 1, out=out),
    "mv": lambda t, out: t.mv(t.ones(4, 2), t.ones(2), out=out),
    "cat": lambda t, out: t.cat([t.ones(2), t.zeros(2)], out=out),
    "complex": lambda t, out: t.complex(t.ones(4), t.zeros(4), out=out),
}

LAYOUTS = {
    "gaps": lambda t, full: (full((4, 2)), lambda m: m[:, 0]),
    "of another shape": lambda t, full: (full((4, 3)), lambda m: m.narrow(1, 1, 2)),
    "too small": lambda t, full: (full((6,)), lambda m: m[1:3]),
    "too large": lambda t, full: (full((20,)), lambda m: m[::2]),
    "transposed": lambda t, full: (full((2, 2)), lambda m: m.t()),
    "empty": lambda t, full: (full((0,)), lambda m: m[:]),
    "another dtype": lambda t, full: (full((4,)).real.to(t.int32), lambda m: m[:]),
    "double": lambda t, full: (full((4,)).real.double(), lambda m: m[:]),
    "requires grad": lambda t, full: (full((4,)).requires_grad_(), lambda m: m),
}


def _outcome(t, call, layout):
    dtype = t.complex64 if call == "complex" else t.float32
    memory, view = LAYOUTS[layout](t, lambda shape: t.full(shape, -1.0, dtype=dtype))
    out = view(memory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = CALLS[call](t, out)
        except (RuntimeError, TypeError) as error:
            return type(error).__name__
    assert found is out
    place = out.shape, out.stride(), out.storage_offset(), str(out.dtype).rpartition(".")[2]
    if len(memory) == 0:
        memory = None  # What an empty tensor is resized to is memory of its own here: see test_out.py.
    values = None if call == layout == "empty" else out.tolist()
    return values, None if memory is None else memory.tolist(), place


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("call", CALLS)
def test_the_same_memory_is_written(call, layout):
    assert _outcome(tl, call, layout) == _outcome(torch, call, layout)
