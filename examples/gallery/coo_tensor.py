"""Sparse tensors in coordinate format: the numbers that are not zero and where they stand.

What it shows of the protocol: the policy `to_dense`. A dozen functions have implementations that never write the zeros
out; all others are computed on the dense tensor, so that every function of the library works from the first day.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


class CooTensor(overrides.TensorLike, unhandled=overrides.to_dense):
    """`values[k]` at `indices[:, k]`, added up where a place occurs twice, and zero everywhere else."""

    # For `tensorlike audit`: functions without a rule are refused on purpose, and some results are plain tensors.
    __tensor_audit__ = {"refusals": "ok", "plain_results": "ok"}

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...]) -> None:
        self.indices: tl.Tensor = tl.as_tensor(indices)
        self.values: tl.Tensor = tl.as_tensor(values)
        self.shape = tl.Size(shape)
        if self.indices.shape != (len(self.shape), len(self.values)):
            raise ValueError(
                f"CooTensor: {len(self.values)} values of {len(self.shape)} dimensions need indices of shape "
                f"{(len(self.shape), len(self.values))}, got {tuple(self.indices.shape)}"
            )

    def __repr__(self) -> str:
        return f"CooTensor({self.nnz} of {self.shape.numel()} values, shape={tuple(self.shape)})"

    @property
    def nnz(self) -> int:
        """The number of values that are stored."""
        return len(self.values)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @classmethod
    def from_dense(cls, tensor: tl.Tensor) -> CooTensor:
        indices = tl.nonzero(tensor).t()
        values = tensor[tuple(indices)] if tensor.ndim else tensor.reshape(1)[: indices.shape[1]]
        return cls(indices, values, tensor.shape)

    def to_dense(self) -> tl.Tensor:
        flat = tl.zeros(self.shape.numel(), dtype=self.values.dtype)
        if self.values.dtype == tl.bool:  # which are not added up
            return flat.index_put((self.flat_indices(),), self.values).reshape(self.shape)
        return flat.index_add(0, self.flat_indices(), self.values).reshape(self.shape)

    def flat_indices(self) -> tl.Tensor:
        """The place of each value in the flattened tensor."""
        place = tl.zeros(self.nnz, dtype=tl.int64)
        for index, size in zip(self.indices, self.shape):
            place = place * size + index
        return place

    def coalesce(self) -> CooTensor:
        """Return the same tensor with its values in order, and one value at each place."""
        places, inverse = tl.unique(self.flat_indices(), return_inverse=True)
        if self.values.dtype == tl.bool:
            values = tl.zeros(len(places), dtype=tl.bool).index_put((inverse,), self.values)
        else:
            values = tl.zeros(len(places), dtype=self.values.dtype).index_add(0, inverse, self.values)
        return from_places(places, values, self.shape)

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> CooTensor:
        return cls.from_dense(tensor)

    __tensorlike_to_dense__ = to_dense


def from_places(places: tl.Tensor, values: tl.Tensor, shape: Any) -> CooTensor:
    indices = []
    for size in reversed(shape):
        indices.append(places % max(size, 1))
        places = tl.div(places, max(size, 1), rounding_mode="floor")
    stacked = tl.stack(indices[::-1]) if indices else tl.zeros(0, len(values), dtype=tl.int64)
    return CooTensor(stacked, values, shape)


implements = partial(overrides.implements, variants=True, for_type=CooTensor)


def densely(function: Any, *args: Any, **kwargs: Any) -> Any:
    return overrides.to_dense(CooTensor, function, (CooTensor,), args, kwargs)


@implements(tl.detach)
def detach(input: CooTensor) -> CooTensor:
    return CooTensor(input.indices, input.values.detach(), input.shape)


@implements(tl.Tensor.requires_grad_)
def requires_grad_(self: CooTensor, requires_grad: bool = True) -> CooTensor:
    if requires_grad and not self.values.requires_grad:
        raise TypeError("a CooTensor is no leaf: make it of values that require grad")
    return self


@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(self, CooTensor):
        return self.copy_(src.to_dense())
    if not (isinstance(src, CooTensor) and self.shape == src.shape):
        return NotImplemented
    self.indices, self.values = src.indices.clone(), src.values.clone()
    return self


# Elementwise functions that leave zero at zero are computed on the values: sin, sqrt, x * 2, but not cos and x + 1.
# Each call is tried on a zero, as clamp(min=0) leaves it and clamp(min=1) does not.
def elementwise(function: Callable[..., Any]) -> None:
    def implementation(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        coo = [value for value in given if isinstance(value, CooTensor)]
        if len(coo) == 1 and not any(isinstance(value, tl.Tensor) for value in given):
            [x] = coo
            x = x.coalesce()

            def called(operand: Any) -> Any:
                def put(value: Any) -> Any:
                    return operand if isinstance(value, CooTensor) else value

                return function(*map(put, args), **{name: put(value) for name, value in kwargs.items()})

            if bool(called(tl.zeros((), dtype=x.values.dtype)) == 0):
                return CooTensor(x.indices, called(x.values), x.shape)
        return densely(function, *args, **kwargs)

    implements(function, check=False)(implementation)


# allclose() is about all elements at once.
for function in overrides.get_overridable_functions()[tl]:
    if function.operation.elementwise and function.__name__ not in (
        "allclose",
        "add",
        "sub",
        "mul",
        "complex",
        "polar",
    ):
        elementwise(function)


@implements(tl.add)
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    both = isinstance(input, CooTensor) and isinstance(other, CooTensor)
    if not both or out is not None or input.shape != other.shape:
        return densely(tl.add, input, other, alpha=alpha, out=out)
    # Values at one place are added up by coalesce().
    indices = tl.cat([input.indices, other.indices], 1)
    return CooTensor(indices, tl.cat([input.values, other.values * alpha]), input.shape).coalesce()


@implements(tl.sub)
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if isinstance(input, CooTensor) and isinstance(other, CooTensor) and out is None:
        return add(input, other, alpha=-alpha)
    return densely(tl.sub, input, other, alpha=alpha, out=out)


@implements(tl.mul)
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    x, y = (input, other) if isinstance(input, CooTensor) else (other, input)
    if not isinstance(x, CooTensor) or out is not None:
        return densely(tl.mul, input, other, out=out)
    x = x.coalesce()
    if isinstance(y, CooTensor) and x.shape == y.shape:
        # What is stored in both; elsewhere the product is zero.
        y = y.coalesce()
        mine, theirs = x.flat_indices(), y.flat_indices()
        found = tl.searchsorted(theirs, mine).clamp(max=max(y.nnz - 1, 0))
        kept = tl.nonzero(theirs[found] == mine)[:, 0] if y.nnz else tl.zeros(0, dtype=tl.int64)
        return CooTensor(x.indices[:, kept], x.values[kept] * y.values[found[kept]], x.shape)
    # An infinite factor makes the zeros nan.
    fits = isinstance(y, tl.Tensor) and x.ndim and tl.broadcast_shapes(x.shape, y.shape) == x.shape
    if fits and bool(y.isfinite().all()):
        return CooTensor(x.indices, x.values * y.expand(x.shape)[tuple(x.indices)], x.shape)
    if isinstance(y, (int, float)) and abs(y) < tl.inf:
        return CooTensor(x.indices, x.values * y, x.shape)
    return densely(tl.mul, input, other, out=out)


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """A sparse matrix times a dense matrix or vector: one multiplication for each value and column."""
    if out is None and fits(input, other):
        rows, columns = input.indices
        scaled = (input.values if other.ndim == 1 else input.values.unsqueeze(1)) * other[columns]
        return tl.zeros(input.shape[0], *other.shape[1:], dtype=scaled.dtype).index_add(0, rows, scaled)
    if out is None and isinstance(other, CooTensor) and isinstance(input, tl.Tensor) and input.ndim in (1, 2):
        turned = input.t()  # a vector is its own transpose
        if fits(other.t(), turned):
            return matmul(other.t(), turned).t()
    return densely(tl.matmul, input, other, out=out)


def fits(matrix: Any, dense: Any) -> bool:
    """Whether these are a sparse matrix, and a dense matrix or vector of as many rows as it has columns."""
    if not (isinstance(matrix, CooTensor) and isinstance(dense, tl.Tensor) and matrix.ndim == 2):
        return False
    return dense.ndim in (1, 2) and dense.shape[0] == matrix.shape[1]


@implements(tl.sum)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    if dim is None or not isinstance(input, CooTensor) or keepdim or out is not None or not input.ndim:
        return densely(tl.sum, input, dim, keepdim, dtype=dtype, out=out)
    gone = {d % input.ndim for d in (dim if isinstance(dim, (tuple, list)) else (dim,))} or set(range(input.ndim))
    kept = [d for d in range(input.ndim) if d not in gone]
    # As integers are, so that the dtype is that of a sum.
    values = (
        input.values.to(dtype) if dtype is not None else input.values + tl.zeros((), dtype=input.values.dtype).sum()
    )
    return CooTensor(input.indices[kept], values, tuple(input.shape[d] for d in kept)).coalesce()


@implements(tl.permute)
def permute(input: CooTensor, dims: Any) -> CooTensor:
    order = [range(input.ndim)[d] for d in dims]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError(f"permute(): {tuple(dims)} is no order of {input.ndim} dimensions")
    return CooTensor(input.indices[order], input.values, tuple(input.shape[d] for d in order))


@implements(tl.transpose)
def transpose(input: CooTensor, dim0: int, dim1: int) -> Any:
    order = list(range(input.ndim))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(input, order)


@implements(tl.t)
def t(input: CooTensor) -> Any:
    return input if input.ndim < 2 else permute(input, (1, 0))


@implements(tl.clone)
def clone(input: CooTensor, *, memory_format: Any = None) -> CooTensor:
    return CooTensor(input.indices.clone(), input.values.clone(), input.shape)


# A hook on the dense tensor of one call would never run: it is refused, not lost.
for name in ("register_hook", "register_post_accumulate_grad_hook", "retain_grad"):
    overrides.implements(getattr(tl.Tensor, name), for_type=CooTensor)(lambda self, *args, **kwargs: NotImplemented)


def main() -> None:
    x = CooTensor([[0, 1, 3], [2, 0, 1]], [1.0, 4.0, 9.0], (4, 3))
    print(x)
    print("sqrt stays sparse:", x.sqrt())
    print("cos does not:", type(tl.cos(x)).__name__)
    print("x + x * 2:", (x + x * 2).to_dense().tolist())
    print("rows added up:", x.sum(1).to_dense())
    print("x @ v:", x @ tl.tensor([1.0, 10.0, 100.0]))
    print("determinant, on the dense matrix:", tl.linalg.det(x[:3]))

    # Written out, this one would have a million million elements.
    places = tl.arange(1_000_000)
    large = CooTensor(tl.stack([places, places.flip(0)]), tl.full((1_000_000,), 0.5), (1_000_000, 1_000_000))
    print("large:", (large.t() * 4 @ tl.ones(1_000_000)).sum())

    values = tl.tensor([1.0, 2.0], requires_grad=True)
    (CooTensor([[0, 1], [1, 0]], values, (2, 2)) @ tl.tensor([3.0, 5.0])).sum().backward()
    print("gradient:", values.grad)
    try:
        x.add_(1)
    except TypeError as error:
        print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
