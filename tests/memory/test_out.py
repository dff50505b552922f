"""`out=` of every function, on memory that other tensors see: it is written where it lies, or the call is refused."""

from __future__ import annotations

import importlib
import inspect
import math
import warnings

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import SampleInput, serving
from tensorlike.dispatch.registry import IGNORED, REGISTRY

importlib.import_module("tensorlike.special")

#: Calls of factories, which have no samples: they take no operands.
FACTORIES = {
    "tensorlike.zeros": SampleInput(2, 3), "tensorlike.ones": SampleInput(2, 3), "tensorlike.empty": SampleInput(2, 3),
    "tensorlike.full": SampleInput((2, 3), 5.0), "tensorlike.eye": SampleInput(2, 3),
    "tensorlike.arange": SampleInput(0, 6), "tensorlike.range": SampleInput(0, 5),
    "tensorlike.linspace": SampleInput(0, 1, 5), "tensorlike.logspace": SampleInput(0, 1, 5),
    "tensorlike.rand": SampleInput(2, 3), "tensorlike.randn": SampleInput(2, 3),
    "tensorlike.randint": SampleInput(1, 9, (2, 3)), "tensorlike.randperm": SampleInput(6),
}  # fmt: skip

#: The element that the memory around `out` is filled with.
MARK = 77


def _functions():
    """Return the functions with `out=` by name, those for modes alone (factories) too."""
    found = {
        name: row.function for name, row in REGISTRY.items()
        if row.kind in ("function", "alias") and any(p.name == "out" for p in row.parameters)
        and not name.startswith("tensorlike._internal.")
    }  # fmt: skip
    for name, (function, _) in IGNORED.items():
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            continue
        if "out" in parameters:
            found[name] = function
    return found


FUNCTIONS = _functions()


def _samples(name):
    """Return up to two calls of a function whose results have elements."""
    if name in FACTORIES:
        return [FACTORIES[name]]
    form = FUNCTIONS[name]._form
    given = serving(form).samples
    assert given is not None, f"{name} has no samples: give it one in FACTORIES, or declare them"
    names = {p.name for p in form.parameters}
    usable = [
        s for s in given.generate(given.dtypes[0])
        if s.kwargs.get("out") is None and names.issuperset(s.kwargs) and not s.kwargs.get("as_tuple")
    ]  # fmt: skip
    assert usable, name
    return usable[:2]


def _contiguous(shape, dtype):
    count = math.prod(shape)
    memory = tl.full((count + 4,), MARK).to(dtype)
    return memory, memory[2 : 2 + count].view(shape)


def _transposed(shape, dtype):
    memory = tl.full(shape[::-1], MARK).to(dtype)
    return memory, memory.permute(tuple(range(len(shape)))[::-1])


def _with_gaps(shape, dtype):
    memory = tl.full((*shape, 3), MARK).to(dtype)
    return memory, memory[..., 1]


def _expanded(shape, dtype):
    memory = tl.full((1,) * len(shape), MARK).to(dtype)
    return memory, memory.expand(shape)


def _smaller(shape, dtype):
    memory = tl.full((math.prod(shape) + 4,), MARK).to(dtype)
    return memory, memory.view(-1, 1)[1:3] if tuple(shape) != (2, 1) else memory[1:2]


LAYOUTS = {"contiguous": _contiguous, "transposed": _transposed, "with gaps": _with_gaps}


def _results(value):
    return [value] if isinstance(value, tl.Tensor) else list(value)


def _call(name, sample, **more):
    tl.manual_seed(0)
    with warnings.catch_warnings(), tl.no_grad():
        warnings.simplefilter("ignore")
        return FUNCTIONS[name](*sample.args, **sample.kwargs, **more)


def _same(x, y):
    return x.shape == y.shape and np.array_equal(x.numpy(), y.numpy(), equal_nan=x.dtype.is_floating_point)


def _marked(memory):
    """Return how many elements of memory are still the mark."""
    return int((memory == tl.tensor(MARK).to(memory.dtype)).sum())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_view_is_written_where_it_lies(name):
    for sample in _samples(name):
        expected = _results(_call(name, sample))
        for layout, make in LAYOUTS.items():
            made = [make(tuple(e.shape), e.dtype) for e in expected]
            outs = [out for _, out in made]
            places = [(out.data_ptr(), out.stride()) for out in outs]
            found = _call(name, sample, out=outs[0] if len(outs) == 1 else tuple(outs))
            assert all(f is out for f, out in zip(_results(found), outs, strict=True)), layout
            assert [(out.data_ptr(), out.stride()) for out in outs] == places, layout
            for e, (memory, out) in zip(expected, made, strict=True):
                if name != "tensorlike.empty":
                    assert _same(out, e), (layout, sample)
                else:
                    assert _marked(out) == out.numel()
                # Nothing beside it.
                around = memory.clone()
                beside = memory.numel() - out.numel()
                if layout == "with gaps":
                    assert _marked(around[..., 0]) + _marked(around[..., 2]) == beside
                elif layout == "contiguous":
                    assert _marked(around[:2]) + _marked(around[2 + out.numel() :]) == beside


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elements_in_one_place_are_refused(name):
    for sample in _samples(name):
        expected = _results(_call(name, sample))
        if len(expected) > 1 or expected[0].numel() < 2:
            continue
        memory, out = _expanded(tuple(expected[0].shape), expected[0].dtype)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single"):
            _call(name, sample, out=out)
        assert _marked(memory) == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_view_of_another_shape_is_resized_in_its_memory(name):
    for sample in _samples(name):
        expected = _results(_call(name, sample))
        if len(expected) > 1 or not expected[0].numel():
            continue
        [e] = expected
        memory, out = _smaller(tuple(e.shape), e.dtype)
        tl.manual_seed(0)
        with warnings.catch_warnings(record=True) as said, tl.no_grad():
            warnings.simplefilter("always")
            FUNCTIONS[name](*sample.args, **sample.kwargs, out=out)
        assert any("was resized" in str(w.message) for w in said)
        assert out.shape == e.shape
        assert out.is_contiguous()
        count = e.numel()
        if name == "tensorlike.empty":
            assert _marked(memory) == memory.numel()
            continue
        assert _same(out, e), sample
        assert _same(memory[1 : 1 + count], e.reshape(-1))
        assert _marked(memory[:1]) + _marked(memory[1 + count :]) == 4


def test_memory_that_does_not_suffice():
    memory = tl.zeros(4)
    view = memory[2:]
    with pytest.warns(UserWarning, match="was resized"):
        tl.arange(1.0, 6.0, out=view)
    assert view.tolist() == [1, 2, 3, 4, 5]
    assert memory.tolist() == [0, 0, 1, 2]  # What has a place there, as in PyTorch.
    view.zero_()  # It has memory of its own since.
    assert memory.tolist() == [0, 0, 1, 2]


def test_an_empty_out_has_memory_of_its_own():
    memory = tl.zeros(4)
    for out in (tl.empty(0), memory[2:2]):
        assert tl.add(tl.ones(3), 1, out=out) is out
        assert out.tolist() == [2, 2, 2]
    assert memory.tolist() == [0, 0, 0, 0]


def test_the_memory_of_an_operand():
    x = tl.arange(6.0)
    with pytest.warns(UserWarning, match="was resized"):
        tl.cumsum(x, 0, out=x[:2])
    assert x.tolist() == [0, 1, 3, 6, 10, 15]


def test_views_and_versions_after_a_resize():
    x = tl.zeros(6)
    view = x[1:3]
    before = x._version
    with pytest.warns(UserWarning, match="was resized"):
        tl.ones(4, out=view)
    assert x._version > before
    view.mul_(2)
    assert x.tolist() == [0, 2, 2, 2, 2, 0]


def test_numbers_in_a_row_keep_the_shape_of_as_many_elements():
    memory = tl.zeros(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.arange(4, out=memory.t())
        assert memory.tolist() == [[0, 2], [1, 3]]
        tl.linspace(0, 3, 4, out=memory)
    assert memory.tolist() == [[0, 1], [2, 3]]
