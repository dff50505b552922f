"""Sums and products of sparse tensors, element by element."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch.operation import form_of
from tensorlike.overrides.writing import implements
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.memory.views import bump, check_inplace

from .coordinates import Coordinates
from .tensor import (
    SparseTensor,
    at_places,
    check_inplace_of_leaf,
    coalesced,
    from_values,
    is_sparse,
    on_values,
    record,
    refused,
    sparse,
    taken_over,
    to_dense,
    values_of,
)


def _tensor_like(value: Tensor, other: Any) -> Any:
    return value if isinstance(value, Tensor) else tl.as_tensor(value, device=other.device)


@implements(tl.add, variants=True, for_type=SparseTensor)
def add(input: Any, other: Any, *, alpha: Any = 1, out: Tensor | None = None) -> Any:
    """Add a sparse tensor to a sparse or a dense one."""
    if not is_sparse(other):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    input = _tensor_like(input, other)
    if tuple(input.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != {list(other.shape)}"
        )
    dtype = tl.promote_types(input.dtype, other.dtype)
    mine, theirs = input.dtype, other.dtype
    step = alpha.conjugate() if isinstance(alpha, complex) else alpha

    def backward(grad: Tensor) -> tuple[Any, Any]:
        return _as_dtype(grad, mine), _as_dtype(grad if step == 1 else grad * step, theirs)

    if is_sparse(input):
        result = _joined(input._tl_data, other._tl_data, dtype, alpha)
    else:
        result = wrap(input.detach().to(dtype, copy=True)._tl_data)
        _add_into(result, other.detach().to(dtype), alpha)
    return record("AddBackward0", result, (input, other), backward)


def _as_dtype(grad: Any, dtype: Any) -> Any:
    if grad.is_complex() and not dtype.is_complex:
        grad = grad.real
    return grad if grad.dtype == dtype else grad.to(dtype)


def _scaled(values: Any, dtype: Any, alpha: Any) -> Any:
    scaled = wrap(values).to(dtype)
    return (scaled if alpha == 1 else (scaled * alpha).to(dtype))._tl_data


def _joined(first: Coordinates, second: Coordinates, dtype: Any, alpha: Any) -> Any:
    xp = namespace_of(first.values)
    if first.indices.shape[0] != second.indices.shape[0]:
        raise RuntimeError("add: expected sparse tensors of the same number of sparse dimensions")
    indices = xp.concatenate([first.indices, second.indices], axis=1)
    values = xp.concatenate([_scaled(first.values, dtype, 1), _scaled(second.values, dtype, alpha)])
    found = sparse(indices, values, first.shape)
    if first.in_order() and second.in_order():
        found._tl_data = found._tl_data.ordered()
        found._tl_data.coalesced = first.coalesced and second.coalesced
    return found


def _add_into(target: Tensor, other: Tensor, alpha: complex) -> None:
    """Add a sparse tensor to the array of a dense one."""
    data = other._tl_data.ordered()
    array = target._tl_data
    places = tuple(data.indices)
    values = _scaled(data.values, target.dtype, alpha)
    if places:
        array[places] += values
    elif values.shape[0]:
        array += values[0]


@implements(Tensor.add_, for_type=SparseTensor)
def add_in_place(self: Tensor, other: Tensor, *, alpha: complex = 1) -> Any:
    """Add a sparse tensor, without going through the elements of a dense one."""
    records = grad_enabled() and (self.requires_grad or (is_sparse(other) and other.requires_grad))
    if is_sparse(self) or records or not is_sparse(other) or other.dtype != self.dtype:
        result = add(self, other, alpha=alpha)
        if not is_sparse(self) or self.is_leaf:
            check_inplace(self, "add_") if not is_sparse(self) else _check_leaf(self, "add_")
        return self.copy_(result)
    check_inplace(self, "add_")
    if tuple(self.shape) != tuple(other.shape):
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
        )
    _add_into(self, other, alpha)
    bump(self)
    return self


def _check_leaf(tensor: Tensor, name: str) -> None:
    if grad_enabled() and tensor.requires_grad and tensor.is_leaf:
        check_inplace_of_leaf(name)


@implements(tl.sub, variants=True, for_type=SparseTensor)
def sub(input: Tensor, other: Tensor, *, alpha: complex = 1, out: Tensor | None = None) -> Any:
    """Subtract a sparse tensor from a sparse or a dense one."""
    if not is_sparse(other):
        raise RuntimeError("sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")
    return add(input, other, alpha=-alpha, out=out)


@implements(tl.mul, variants=True, for_type=SparseTensor)
def mul(input: Any, other: Any, *, out: Tensor | None = None) -> Any:
    """Multiply the values of a sparse tensor by numbers, or by the elements of a tensor at their places."""
    if not is_sparse(input) and isinstance(input, Tensor) and input.dim():
        input, other = other, input
    if not isinstance(other, Tensor) or (not other.dim() and not is_sparse(other)) or not is_sparse(input):
        found = on_values(form_of(tl.mul), (input, other), {})  # type: ignore[arg-type]
        if found is NotImplemented:
            raise refused(tl.mul)
        return found
    if tuple(other.shape) != tuple(input.shape):
        if is_sparse(other) or other.dim() > input.dim():
            raise RuntimeError(
                f"mul: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != {list(other.shape)}"
            )
        other = other.expand(input.shape)
    if input._tl_tracked:
        input = coalesced(input)
    data = input._tl_data
    values = values_of(input) if data.coalesced else wrap(data.values)
    return from_values(data.indices, values * at_places(other, data.indices), data.shape, data.coalesced)


@implements(tl.div, variants=True, for_type=SparseTensor)
def div(input: Tensor, other: Tensor | complex, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Any:
    """Divide the values of a sparse tensor by a number."""
    if not is_sparse(input):
        raise refused(tl.reciprocal)
    if isinstance(other, Tensor) and (other.dim() or is_sparse(other)):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor "
            f"(got shape {list(other.shape)} for divisor)"
        )
    options = {} if rounding_mode is None else {"rounding_mode": rounding_mode}
    found = on_values(form_of(tl.div), (input, other), options)  # type: ignore[arg-type]
    if found is NotImplemented:
        raise refused(tl.div)
    return found


@implements(Tensor.copy_, for_type=SparseTensor)
def copy(self: Tensor, src: Tensor, non_blocking: bool = False) -> Any:
    """Overwrite a tensor: a sparse one by a sparse one, a dense one by either."""
    if is_sparse(self):
        if not is_sparse(src):
            raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = sparse")
        return taken_over(self, src, "copy_")
    return self.copy_(to_dense(src))


@implements(tl.zero_, for_type=SparseTensor, check=False)
@implements(Tensor.zero_, for_type=SparseTensor)
def zero(self: Tensor) -> Any:
    """Store nothing any more."""
    data = self._tl_data
    xp = namespace_of(data.values)
    none = sparse(data.indices[:, :0], xp.zeros((0, *data.values.shape[1:]), data.dtype), data.shape, True)
    return taken_over(self, none, "zero_")
