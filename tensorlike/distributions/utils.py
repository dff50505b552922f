"""Functions that distributions share: parameters brought to one shape, probabilities and their logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, overload

from tensorlike._library_name import LIBRARY
from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.dispatch.protocol import is_tensor_like
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import dtype

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060

_T = TypeVar("_T")
_R = TypeVar("_R")


def broadcast_all(*values: Tensor | complex) -> tuple[Tensor, ...]:
    """Return numbers and tensors as tensors of one shape.

    Numbers take dtype and device of the first tensor, and the default ones if there is none. Raises ValueError for
    other values.

    >>> [x.shape for x in tl.distributions.utils.broadcast_all(0.0, tl.ones(2, 1), tl.ones(3))]
    [tensorlike.Size([2, 3]), tensorlike.Size([2, 3]), tensorlike.Size([2, 3])]
    """
    if not all(isinstance(value, (int, float, complex)) or is_tensor_like(value) for value in values):
        raise ValueError(
            f"Input arguments must all be instances of Number, {LIBRARY}.Tensor or objects implementing "
            f"__torch_function__: got {', '.join(type(value).__name__ for value in values)}."
        )
    options: dict[str, Any] = {"dtype": tl.get_default_dtype()}
    for value in values:
        if isinstance(value, Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    tensors: list[Any] = [value if is_tensor_like(value) else tl.tensor(value, **options) for value in values]
    return tuple(tl.broadcast_tensors(*tensors))


def numbers_alone(*values: object) -> bool:
    """Return whether all parameters of a distribution are Python numbers, so that its batch shape is empty."""
    return all(isinstance(value, (int, float, complex)) for value in values)


def _standard_normal(shape: Sequence[int], dtype: dtype, device: device) -> Tensor:
    """Return draws of the normal distribution of mean 0 and variance 1."""
    return tl.normal(tl.zeros(shape, dtype=dtype, device=device), tl.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Return the sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return probabilities from log odds (`is_binary`), or from logarithms of any scale in the last dimension.

    >>> tl.distributions.utils.logits_to_probs(tl.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return tl.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities moved away from 0 and 1, so that their logarithms are finite.

    >>> bool(tl.distributions.utils.clamp_probs(tl.tensor([0.0, 0.5])).min() > 0)
    True
    """
    eps = tl.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the log odds of probabilities (`is_binary`), or their logarithms.

    >>> tl.distributions.utils.probs_to_logits(tl.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def _inside_unit(value: Tensor) -> Tensor:
    """Return probabilities that are neither 0 nor 1 by rounding."""
    limits = tl.finfo(value.dtype)
    return value.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return _inside_unit(tl.sigmoid(x))


def _same(a: Any, b: Any) -> bool:
    """Return whether two arguments of transforms, tensors or others, are equal."""
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


def _log_tanh_slope(x: Tensor) -> Tensor:
    """Return the logarithm of the derivative of tanh, 4 / (exp(x) + exp(-x)) ** 2."""
    return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


def _require_dims(shape: Sequence[int], count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


def _last_of(shape: Sequence[int]) -> int:
    _require_dims(shape, 1)
    return shape[-1]


class lazy_property(Generic[_T, _R]):
    """A property that is computed once, with gradients, and then is an attribute of the object.

    >>> class Circle:
    ...     @tl.distributions.utils.lazy_property
    ...     def area(self):
    ...         return print("computing") or 3.0
    >>> circle = Circle()
    >>> circle.area + circle.area
    computing
    6.0
    """

    def __init__(self, wrapped: Callable[[_T], _R]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    @overload
    def __get__(self, instance: None, obj_type: type | None = None) -> property: ...

    @overload
    def __get__(self, instance: _T, obj_type: type | None = None) -> _R: ...

    def __get__(self, instance: _T | None, obj_type: type | None = None) -> _R | property:
        if instance is None:
            return property(self.wrapped)
        with tl.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of matrices on and below a diagonal, row by row.

    Raises ValueError for a diagonal outside the matrices.

    >>> tl.distributions.utils.tril_matrix_to_vec(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = tl.tril_indices(size, size, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return matrices with these elements on and below a diagonal, row by row, and zeros above it.

    Raises ValueError where no square matrix has so many elements there.

    >>> tl.distributions.utils.vec_to_tril_matrix(tl.tensor([1, 3, 4]))
    tensor([[1, 0],
            [3, 4]])
    """
    count = vec.shape[-1]
    # The size for which the elements on and below the diagonal are so many, if there is one.
    if diag <= 0:
        size = (math.isqrt(1 + 8 * count) - 1) // 2 - diag
    else:
        size = (math.isqrt((2 * diag + 1) ** 2 + 4 * diag * (diag + 1) + 8 * count) - (2 * diag + 1)) // 2
    rows, columns = tl.tril_indices(size, size, diag, device=vec.device)
    if len(rows) != count:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square "
            "D x D matrix."
        )
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))
    matrix[..., rows, columns] = vec
    return matrix
