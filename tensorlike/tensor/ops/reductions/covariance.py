"""Covariances and correlations."""

from __future__ import annotations

import warnings
from typing import Any

from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.tensor.declare import composite
from tensorlike.tensor.runtime import dtype_name
from tensorlike.tensor.types import Tensor


def _check_weights(argument: str, weights: Any, count: int, kinds: str, what: str) -> None:
    if weights is None:
        return
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {argument} to have one or fewer dimensions but got {argument} with {weights.dim()} "
            "dimensions"
        )
    if weights._tl_data.dtype.kind.replace("V", "f") not in kinds:
        raise RuntimeError(
            f"cov(): expected {argument} to have {what} dtype but got {argument} with "
            f"{dtype_name(weights._tl_data.dtype)} dtype"
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

    >>> tl.cov(tl.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input._tl_data.dtype.kind == "b":
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

    >>> tl.corrcoef(tl.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    found = cov(input)
    if not found.dim():
        return found / found
    spread = found.diagonal()
    spread = (spread.real if spread._tl_data.dtype.kind == "c" else spread).sqrt()
    found = found / spread.unsqueeze(1) / spread.unsqueeze(0)
    return found if found._tl_data.dtype.kind == "c" else found.clamp(-1, 1)
