"""Descriptions in place of the array of a transform's tensor: a shape and a dtype, without elements."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from tensorlike.tensor.device import device as Device
from tensorlike.tensor.layouts import steps_of

__all__ = ["Described", "Elsewhere", "NoArray"]


class NoArray(RuntimeError):
    """Raised where code that works on raw arrays meets a tensor that a transform made."""


class Elsewhere:
    """Stands for an array library in which nothing can be computed."""

    device_type = "cpu"
    #: The end of its errors: where it cannot be used, and what to do instead.
    reason = "cannot be used on the tensors of a transform"

    @property
    def namespace(self) -> Elsewhere:
        return self

    def device_of(self, array: Described) -> Any:
        return array.device

    def __getattr__(self, name: str) -> NoReturn:
        raise NoArray(f"{name} works on raw arrays and {self.reason}")


class Described:
    """The shape, dtype and device of a tensor without accessible elements; formulas read these."""

    __slots__ = ("device", "dtype", "shape", "words")

    #: See `tensor.backends`: the backend for arrays of this type.
    tensorlike_backend: Any = Elsewhere()
    reason = "cannot be used inside the transform"

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device | str, words: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.words = words

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Those of a contiguous array: where the elements lie makes no difference to results."""
        return tuple(step * self.itemsize for step in steps_of(self.shape, None))

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NoArray(
            f"{self.words} has no array of its own: the operation works on raw arrays and {self.reason}"
        )

    def __getattr__(self, name: str) -> NoReturn:
        self._refuse()

    __array__ = __array_function__ = __array_ufunc__ = __iter__ = __len__ = __getitem__ = __setitem__ = _refuse
    __bool__ = __float__ = __int__ = __complex__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __neg__ = __pos__ = __abs__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __iadd__ = __isub__ = __imul__ = __itruediv__ = _refuse
