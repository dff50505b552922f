"""Choosing elements from two tensors by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import (
    composite,
    derivatives,
    internal_pointwise,
    tensor_method,
    undispatched,
)
from tensorlike.tensor.declarations.runtime import check_fit, dtype_name, promote_arithmetic
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..shared import require_tensor


@internal_pointwise(name="where", promotion=None, out="exact")
def _where(xp: Namespace, condition: Array, input: Array | Number, other: Array | Number) -> Array:
    """Return `input` where the condition holds and `other` elsewhere."""
    if condition.dtype.kind != "b":
        if condition.dtype.str != "|u1":
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{dtype_name(condition.dtype)}; compare it with something, e.g. condition != 0"
            )
        condition = xp.not_equal(condition, 0)
    if type(input) is np.ndarray and (
        (type(other) is np.ndarray and input.dtype is other.dtype) or (type(other) is float and input.dtype.kind == "f")
    ):
        return np.where(condition, input, other)
    one, two = promote_arithmetic("where", xp, (input, other))
    check_fit((input, other), one.dtype)
    return xp.where(condition, one, two)


derivatives(
    _where,
    input=lambda grad, condition: _choose(condition, grad, 0),
    other=lambda grad, condition: _choose(condition, 0, grad),
)

# The undispatched implementation: the public functions have dispatched already.
_choose_behind: Callable[..., Tensor] = undispatched(_where)


def _choose(condition: Tensor, input: Tensor | int, other: Tensor | int) -> Tensor:
    return where(condition, input, other)


@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Tensor, input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None
) -> Tensor: ...
@composite(guard=False)
def where(
    condition: Tensor,
    input: Tensor | Number | None = None,
    other: Tensor | Number | None = None,
    *,
    out: Tensor | None = None,
) -> Any:
    """Return the elements of `input` where `condition` is true and those of `other` elsewhere, with broadcasting.

    With a condition alone, the indices of its true elements, one tensor a dimension. The condition must be boolean;
    raises RuntimeError otherwise.

    >>> x = tl.tensor([-1.0, 2.0])
    >>> tl.where(x > 0, x, 0.0), tl.where(x > 0)
    (tensor([0., 2.]), (tensor([1]),))
    """
    if input is None and other is None and out is None:
        require_tensor("where", condition, "condition")
        array = condition._tl_data
        return tuple(wrap(a) for a in namespace_of(array).nonzero(array if array.ndim else array[None]))
    return _choose_behind(condition, input, other, out=out)


@tensor_method(name="where", guard=False, variant=("namesake", where))
def _where_method(self: Tensor, condition: Tensor, other: Tensor | Number) -> Tensor:
    """Return the elements of this tensor where `condition` is true and those of `other` elsewhere.

    >>> tl.tensor([1.0, 2.0]).where(tl.tensor([True, False]), 0)
    tensor([1., 0.])
    """
    return _choose_behind(condition, self, other)
