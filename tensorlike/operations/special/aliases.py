"""Functions with another signature in `tensorlike.special`."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.types import Tensor

from ..reductions import softmax as functions


@composite(namespace="tensorlike.special", variant=("namesake", functions.softmax))
def softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Tensor:
    """Return the softmax along `dim`: exponentials divided by their sum.

    `dtype` converts the input first; without it integers are refused with a NotImplementedError.

    >>> tl.special.softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return functions.softmax(input, dim, dtype=dtype)


@composite(namespace="tensorlike.special", variant=("namesake", functions.log_softmax))
def log_softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Tensor:
    """Return the logarithm of `softmax` along `dim`, computed without overflow.

    `dtype` converts the input first; without it integers are refused with a NotImplementedError.

    >>> tl.special.log_softmax(tl.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return functions.log_softmax(input, dim, dtype=dtype)


@composite(namespace="tensorlike.special", variant=("namesake", functions.logsumexp))
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the sum of exponentials over the dimensions `dim`, computed without overflow.

    Integers are converted to the default floating-point dtype.

    >>> tl.special.logsumexp(tl.tensor([100.0, 100.0]), dim=0)
    tensor(100.6931)
    """
    return functions.logsumexp(input, dim, keepdim, out=out)
