"""Elements computed by a user's Python function: `apply_`, `map_`, `map2_`. Slow, and on the CPU only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.autograd.node import edge_of
from tensorlike.tensor.backends import device_of
from tensorlike.tensor.declarations.declare import tensor_method
from tensorlike.tensor.declarations.runtime import broadcast_error
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.memory.views import bump, check_inplace
from tensorlike.tensor.types import Tensor

from ..shared import require_tensor


def _write(name: str, self: Tensor, function: Any, *others: Tensor) -> Tensor:
    """Write `function(element, *elements of others at its index)` into `self`, for each element."""
    array = self._tl_data
    for position, other in enumerate(others, 1):
        require_tensor(name, other, "other" if len(others) == 1 else "xy"[position - 1], position)
    for tensor in (self, *others):
        if tensor._tl_tracked and edge_of(tensor) is not None:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
        if not isinstance(tensor._tl_data, np.ndarray):
            raise TypeError(f"{name}() is only implemented on CPU tensors, got one on {device_of(tensor._tl_data)}")
    for argument, other in zip("xy", others, strict=False):
        if other._tl_data.dtype != array.dtype:
            raise TypeError(
                f"{name}(): expected dtype {dtype_of(array.dtype)} for '{argument if len(others) > 1 else 'other'}' "
                f"(got {dtype_of(other._tl_data.dtype)})"
            )
    if not callable(function):
        raise TypeError(f"{name}(): argument 'callable' must be callable: {type(function).__name__!r} object is not")
    try:
        operands = [np.broadcast_to(other._tl_data, array.shape) for other in others]
    except ValueError as error:
        raise broadcast_error(name, error, [array, *(o._tl_data for o in others)]) from None
    check_inplace(self, name)
    # The function sees Python numbers, not NumPy's.
    columns = [operand.reshape(-1).tolist() for operand in (array, *operands)]
    results = list(map(function, *columns))
    wrong = next((r for r in results if not isinstance(r, (int, float, complex, np.generic))), None)
    if wrong is not None:
        raise TypeError(f"{name}(): the function must return a number, not {type(wrong).__name__}: {wrong!r}")
    if array.dtype.kind != "c" and any(isinstance(r, complex) for r in results):
        raise TypeError(f"{name}(): the function must return a real number for {dtype_of(array.dtype)}, not complex")
    array[...] = np.asarray(results).reshape(array.shape).astype(array.dtype)
    bump(self)
    return self


@tensor_method(guard=False)
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by `callable(element)` and return this tensor. Slow; on the CPU only.

    Raises RuntimeError for a tensor that requires grad.

    >>> tl.tensor([1.0, 2.0]).apply_(lambda value: value * 10)
    tensor([10., 20.])
    """
    return _write("apply_", self, callable)


@tensor_method(guard=False)
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, element of tensor)` and return this tensor.

    `tensor` is broadcast and has the same dtype. Raises RuntimeError for tensors that require grad.

    >>> tl.tensor([1, 2]).map_(tl.tensor([10, 20]), lambda a, b: a + b)
    tensor([11, 22])
    """
    return _write("map_", self, callable, tensor)


@tensor_method(guard=False)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, element of x, element of y)` and return this tensor.

    `x` and `y` are broadcast and have the same dtype. Raises RuntimeError for tensors that require grad.

    >>> tl.tensor([1, 2]).map2_(tl.tensor([3, 3]), tl.tensor([10, 20]), lambda a, b, c: a * b + c)
    tensor([13, 26])
    """
    return _write("map2_", self, callable, x, y)
