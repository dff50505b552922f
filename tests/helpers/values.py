"""Comparing, copying and walking over the values that go into operations and come out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike.dispatch.pytree import instances, map_instances


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors in `value`, nested containers opened."""
    yield from instances(value, tl.Tensor)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return `value` with `change` applied to the tensors in it."""
    return map_instances(change, value, tl.Tensor)


def array(tensor: Any) -> Any:
    return tensor._tl_data


TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-10}


def assert_arrays(actual: Any, expected: Any, what: str, tolerance: float | None = None) -> None:
    """Fail unless two arrays agree in shape, dtype and values, NaN equal to NaN."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    if actual.dtype.kind in "biu":
        same = np.array_equal(actual, expected)
    else:
        near = TOLERANCE.get(str(actual.dtype), 1e-10) if tolerance is None else tolerance
        wide = np.complex128 if actual.dtype.kind == "c" else np.float64
        same = np.allclose(actual.astype(wide), expected.astype(wide), rtol=near, atol=near, equal_nan=True)
    assert same, f"{what}:\n{actual!r}\nexpected\n{expected!r}"


def assert_same(actual: Any, expected: Any, what: str, tolerance: float | None = None) -> None:
    """Fail unless two results of operations agree: kinds, nested ones too, dtypes and values."""
    if isinstance(expected, tl.Tensor):
        assert isinstance(actual, tl.Tensor), f"{what}: {type(actual).__name__}, expected a tensor"
        assert_arrays(array(actual), array(expected), what, tolerance)
    elif isinstance(expected, (list, tuple)):
        assert isinstance(actual, (list, tuple)), f"{what}: {type(actual).__name__}, expected {type(expected).__name__}"
        assert len(actual) == len(expected), f"{what}: {len(actual)} results, expected {len(expected)}"
        for index, (one, other) in enumerate(zip(actual, expected)):
            assert_same(one, other, f"{what}[{index}]", tolerance)
    elif isinstance(expected, np.ndarray):
        assert_arrays(actual, expected, what, tolerance)
    elif isinstance(expected, float):
        assert actual == expected or actual != actual or abs(actual - expected) <= 1e-6 * abs(expected), what
    else:
        assert actual == expected, f"{what}: {actual!r}, expected {expected!r}"


def snapshot(values: Any) -> list[Any]:
    """Return copies of the arrays in `values`, to see later whether anything wrote to them."""
    return [array(t).copy() for t in tensors_in(values)]


def strided(tensor: Any) -> Any:
    """Return a leaf of the same values whose elements do not lie one after the other."""
    a = array(tensor)
    if a.ndim == 0 or a.size == 0:
        return tensor
    wide = np.repeat(a, 2, axis=-1)
    # What lies between must not matter, so it must not equal its neighbours.
    wide[..., 1::2] = 1
    found = tl.Tensor._make_subclass(tl.Tensor, wrapped(wide[..., ::2]))
    assert not found.is_contiguous() or a.size == 1 or a.shape[-1] == 1
    return found


def wrapped(a: Any) -> Any:
    from tensorlike.autograd.tensor_base import wrap

    return wrap(a)


def fresh(value: Any) -> Any:
    """Return `value` with its tensors copied, each a leaf without history."""
    return mapped(value, lambda t: wrapped(array(t).copy()))
