"""Covariances, distances of tensors, norms held below a bound, and integrals by the trapezoidal rule."""

from __future__ import annotations

import warnings
from types import NoneType
from typing import Any

from tensorlike.autograd.base import TensorBase
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor.declare import composite
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.runtime import dtype_name, write_out, wrong_type
from tensorlike.tensor.types import Number, Tensor

__all__ = ["corrcoef", "cov", "cumulative_trapezoid", "dist", "renorm", "trapezoid"]


# ------------------------------------------------------------------------------------------------------- covariances


def _check_weights(argument: str, weights: Any, count: int, kinds: str, what: str) -> None:
    if weights is None:
        return
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {argument} to have one or fewer dimensions but got {argument} with {weights.dim()} "
            "dimensions"
        )
    if weights._data.dtype.kind.replace("V", "f") not in kinds:
        raise RuntimeError(
            f"cov(): expected {argument} to have {what} dtype but got {argument} with "
            f"{dtype_name(weights._data.dtype)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {argument} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if count and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {argument} cannot be negative")


@composite(method=True)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Return the covariances of the variables in the rows of `input`, whose columns are observations.

    Divided by the number of observations less `correction`. `fweights` are integers, how often each observation was
    made; `aweights` are its weight. Raises RuntimeError for more than two dimensions, booleans, and weights of another
    size.

    >>> import tensorlike as tl
    >>> tl.cov(tl.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])

    Same as PyTorch's function of that name.
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input._data.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input: convert it to numbers first")
    rows = input.view((1, -1)) if input.dim() < 2 else input
    count = rows.size(1)
    _check_weights("fweights", fweights, count, "iu", "integral")
    _check_weights("aweights", aweights, count, "f", "floating point")
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    if weights is not None:
        weights = weights.reshape(-1)
    total = count if weights is None else weights.sum()
    mean = (rows if weights is None else rows * weights).sum(1, keepdim=True) / total
    if correction == 0 or weights is None or aweights is None:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if float(freedom) <= 0:
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
            UserWarning,
            stacklevel=outside_stacklevel(),
        )
        freedom = 0.0 if weights is None else freedom * 0
    away = rows - mean
    product = away.matmul((away if weights is None else away * weights).t().conj())
    # A quotient by the Python number 0 is nan or infinite, as it is by a tensor.
    return product.div(freedom).squeeze()


@composite(method=True)
def corrcoef(input: Tensor) -> Tensor:
    """Return the correlation coefficients of the variables in the rows of `input`, whose columns are observations.

    Raises RuntimeError for more than two dimensions and for booleans.

    >>> import tensorlike as tl
    >>> tl.corrcoef(tl.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])

    Same as PyTorch's function of that name.
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    found = cov(input)
    if not found.dim():
        return found / found
    spread = found.diagonal()
    spread = (spread.real if spread._data.dtype.kind == "c" else spread).sqrt()
    found = found / spread.unsqueeze(1) / spread.unsqueeze(0)
    return found if found._data.dtype.kind == "c" else found.clamp(-1, 1)


# ------------------------------------------------------------------------------------------------------------- norms


@composite(method=True)
def dist(input: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """Return the `p`-norm of `input - other`, which broadcast.

    Raises RuntimeError unless the difference is floating-point or complex.

    >>> import tensorlike as tl
    >>> tl.dist(tl.tensor([1.0, 2.0]), tl.tensor([4.0, 6.0]))
    tensor(5.)

    Same as PyTorch's function of that name.
    """
    difference = input - other
    if difference._data.dtype.kind not in "fcV":
        raise RuntimeError(
            "dist(): input dtype should be either floating point or complex. Got "
            f"{dtype_name(difference._data.dtype)} instead."
        )
    return difference.norm(p)


def _renormed(input: Any, p: Any, dim: Any, maxnorm: Any) -> Any:
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported: p is {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if input._data.dtype.kind not in "fcV":
        raise RuntimeError(
            f"renorm: Expected a floating point or complex tensor as input. Got {dtype_name(input._data.dtype)}"
        )
    where = one_dim(dim, input.dim())
    others = [d for d in range(input.dim()) if d != where]
    size = input.norm(p, others, keepdim=True)
    factor = (maxnorm / (size + 1e-7)).where(size > maxnorm, 1.0)
    return input * factor


@composite(method=False)
def renorm(input: Tensor, p: Number, dim: int, maxnorm: Number, *, out: Tensor | None = None) -> Tensor:
    """Return `input` with each slice along `dim` whose `p`-norm exceeds `maxnorm` scaled down to that norm.

    Raises RuntimeError for fewer than two dimensions, integers, `p` not positive and `maxnorm` negative.

    >>> import tensorlike as tl
    >>> tl.renorm(tl.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])

    Same as PyTorch's function of that name.
    """
    found = _renormed(input, p, dim, maxnorm)
    return found if out is None else write_out("renorm", out, found._data, input)


# --------------------------------------------------------------------------------------------------------- integrals


def _areas(name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """Return the areas between neighbours along a dimension, and that dimension."""
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: both x and dx; give one of them")
    if not y.dim():
        raise IndexError(f"{name}(): Dimension specified as {dim} but tensor has no dimensions")
    where = one_dim(dim, y.dim())
    if not isinstance(x, (TensorBase, NoneType)):
        wrong_type(name, "x", 2, x)
    return _between(name, y, x, 1 if dx is None else dx, where), where


def _between(name: str, y: Any, x: Any, dx: Any, where: int) -> Any:
    if y._data.dtype.kind == "b" or (x is not None and x._data.dtype.kind == "b"):
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    count = y.size(where)
    heights = y.narrow(where, 1, max(count - 1, 0)) if count else y
    heights = heights + (y.narrow(where, 0, max(count - 1, 0)) if count else y)
    if x is None:
        return heights * (dx / 2)
    if x.dim() == 1:
        if x.size(0) != count:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point: {x.size(0)} != {count}")
        width = x[1:] - x[:-1]
        width = width.view([-1 if d == where else 1 for d in range(y.dim())])
    else:
        # Dimensions of `x` count from the last, as in broadcasting.
        x = x.view([1] * (y.dim() - x.dim()) + list(x.shape)) if x.dim() < y.dim() else x
        length = x.size(where)
        width = x.narrow(where, 1, max(length - 1, 0)) - x.narrow(where, 0, max(length - 1, 0))
    return heights * width / 2


@composite(aliases=("trapz",))
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the integral along `dim` of a function with the values `y`, by the trapezoidal rule.

    At the points `x`, or at points `dx` apart (1 unless given). Raises RuntimeError for booleans and for another number
    of points than values.

    >>> import tensorlike as tl
    >>> tl.trapezoid(tl.tensor([1.0, 2.0, 4.0])), tl.trapezoid(tl.tensor([1.0, 2.0]), tl.tensor([0.0, 4.0]))
    (tensor(4.5000), tensor(6.))

    Same as PyTorch's function of that name.
    """
    areas, where = _areas("trapezoid", y, x, dx, dim)
    return areas.sum(where)


@composite
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Number | None = None, dim: int = -1) -> Tensor:
    """Return the integrals of `trapezoid` from the first value to each of the others.

    Raises RuntimeError for booleans and for another number of points than values.

    >>> import tensorlike as tl
    >>> tl.cumulative_trapezoid(tl.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])

    Same as PyTorch's function of that name.
    """
    areas, where = _areas("cumulative_trapezoid", y, x, dx, dim)
    return areas.cumsum(where)
