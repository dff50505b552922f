"""`torch._check` and its family: conditions of kernels and fakes, with the type of error they raise.

Source: PyTorch's `torch/__init__.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.tensor import dtypes
from tensorlike.tensor.tensor import Tensor


def _assert(condition: object, message: object) -> None:
    """Raise AssertionError unless a condition holds, which may be a tensor of one element."""
    if not condition:
        raise AssertionError(message)


def _check_with(error: type[Exception], cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise `error` unless `cond` is True; `message` is a function, so that its text is made only then."""
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
            "that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        text = (
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    elif callable(message):
        text = str(message())
    else:
        raise TypeError("message must be a callable")
    raise error(text)


def _check(cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number is the size of a dimension, of `max` at most."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all(cond: object, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of bools are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != dtypes.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check(cond.all().item(), message)
