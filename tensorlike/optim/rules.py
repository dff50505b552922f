"""Optimizers whose rule updates every element by itself.

Such a rule is written once, with arithmetic operators, in-place operators and functions of a namespace `xp`, which are
NumPy's on blocks of raw memory, and the public ones on tensors: of subclasses, on other devices, or recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .blocks import in_blocks
from .optimizer import Group, Optimizer, State
from .options import rate, scalar_dtype

__all__ = ["ElementwiseOptimizer", "sparse_rows"]


def _on_arrays(
    arrays: Sequence[Any], work: np.ndarray[Any, Any], rule: Callable[..., Any], maximize: bool, weight_decay: float,
    numbers: Sequence[float],
) -> None:  # fmt: skip
    weight, *states, gradient = arrays
    if maximize:
        gradient = np.negative(gradient, work)
    if weight_decay != 0:
        gradient = gradient + weight * weight_decay
    rule(np, weight, gradient, *states, *numbers)


class ElementwiseOptimizer(Optimizer):
    """An optimizer whose `_update` calls `_follow` with its rule."""

    _in_tensors: tuple[str, ...] = ("step",)

    if not TYPE_CHECKING:  # To type checkers it is the base's.

        def step(self, closure=None):
            return self._step(closure)

    @staticmethod
    def _advance(state: State) -> float:
        """Count one step more in `state`, and return the number of steps. Called by `_update`."""
        count = state["step"]
        count += 1
        return float(count.item())

    @staticmethod
    def _count() -> Tensor:
        """Return a new count of steps: a tensor, so that saved states are the same as PyTorch's."""
        return tl.tensor(0.0, dtype=scalar_dtype())

    @staticmethod
    def _follow(
        rule: Callable[..., Any],
        parameter: Tensor,
        gradient: Tensor,
        state: State,
        names: tuple[str, ...],
        group: Group,
        *numbers: Any,
    ) -> None:
        """Apply `rule(xp, weight, gradient, *states, *numbers)`, which updates the weight and the states in place.

        `names` say which entries of `state` are the states. `maximize` and `weight_decay` are applied before the rule.
        """
        weight_decay = group.get("weight_decay", 0)
        if weight_decay != 0 and group.get("decoupled_weight_decay"):
            parameter.mul_(1 - rate(group) * weight_decay)
            weight_decay = 0
        if not group["differentiable"]:
            written = (parameter, *(state[name] for name in names))
            if in_blocks(_on_arrays, written, (gradient,), rule, group["maximize"], weight_decay, numbers):
                return
        else:
            # The graph saves states, which the next step must not change.
            state.update({name: state[name].clone() for name in names})
        tensors = [state[name] for name in names]
        if group["maximize"]:
            gradient = -gradient
        if weight_decay != 0:
            gradient = gradient + parameter * weight_decay
        if parameter.is_complex():
            # Real and imaginary parts are treated as separate parameters.
            parameter, gradient, *tensors = map(tl.view_as_real, (parameter, gradient, *tensors))
        rule(tl, parameter, gradient, *tensors, *numbers)


def sparse_rows(gradient: Tensor) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return the indices of the elements or rows that the sparse `gradient` names, each once, and their values."""
    gradient = gradient.coalesce()
    return tuple(gradient._indices().unbind(0)), gradient._values()
