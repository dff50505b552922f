"""Checks of the options of optimizers, and the forms in which they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.dispatch.tracebacks import short_tracebacks
from tensorlike.tensor import Tensor

__all__ = [
    "LATER_OPTIONS",
    "check_betas",
    "check_implementation",
    "check_not_negative",
    "check_rate",
    "number",
    "rate",
    "scalar_dtype",
]

#: Options that PyTorch added to its optimizers over time, with the values that older saved groups mean.
LATER_OPTIONS: dict[str, Any] = {
    "amsgrad": False, "capturable": False, "decoupled_weight_decay": False, "differentiable": False, "foreach": None,
    "fused": None, "maximize": False, "nesterov": False,
}  # fmt: skip


@short_tracebacks
def check_rate(lr: Tensor | float) -> None:
    """Raise ValueError unless `lr` is a learning rate: a number that is not negative, alone or in a tensor."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


@short_tracebacks
def check_not_negative(**values: float) -> None:
    """Raise ValueError for the first of `values` that is negative or NaN."""
    for name, value in values.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name} value: {value}")


@short_tracebacks
def check_betas(betas: Sequence[float]) -> None:
    """Raise ValueError unless the decay rates `betas` are in [0, 1)."""
    for position, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {position}: {beta}")


@short_tracebacks
def check_means(eps: float, betas: Any, **others: float) -> None:
    """Raise ValueError for options of running means that Adam and its kin do not take: `others` are at least 0."""
    check_not_negative(epsilon=eps)
    check_betas(betas)
    check_not_negative(**others)


@short_tracebacks
def check_implementation(foreach: bool | None, fused: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError for `foreach`, `fused` and other choices that exclude each other; they all run one
    implementation.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


@short_tracebacks
def check_foreach(group: Mapping[str, Any]) -> None:
    """Raise AssertionError for steps of `foreach` that are to be recorded: PyTorch's functions of lists cannot be."""
    if group.get("foreach") and group.get("differentiable"):
        raise AssertionError("_foreach ops don't support autograd: leave out foreach=True or differentiable=True")


def number(value: Tensor | float) -> Any:
    """Return the number in `value` if it is a tensor or an array, else `value`."""
    return value.item() if isinstance(value, (Tensor, np.ndarray)) else value


def rate(group: dict[str, Any]) -> Any:
    """Return the learning rate of `group`: a tensor without dimensions where its steps are recorded, else a number."""
    lr = group["lr"]
    if not group.get("differentiable"):
        return number(lr)
    return lr.squeeze() if isinstance(lr, Tensor) else lr


def scalar_dtype() -> Any:
    """Return the dtype of counts of steps and other numbers in the state."""
    return tl.float64 if tl.get_default_dtype() == tl.float64 else tl.float32
