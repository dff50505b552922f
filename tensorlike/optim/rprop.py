"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_rate, rate
from .rules import ElementwiseOptimizer

__all__ = ["Rprop", "rprop"]


def _rule(
    xp: Any, weight: Any, gradient: Any, before: Any, size: Any, shrink: float, grow: float, smallest: float,
    largest: float,
) -> None:  # fmt: skip
    # The product saves a copy of the gradient before, which is overwritten below.
    agreement = gradient * (before * 1)
    size[...] = xp.clip(
        xp.where(agreement > 0, size * grow, xp.where(agreement < 0, size * shrink, size)), smallest, largest
    )
    # Not moved where the sign has changed: the minimum was passed.
    gradient = xp.where(agreement < 0, 0.0, gradient)
    weight -= xp.sign(gradient) * size
    before[...] = gradient


class Rprop(ElementwiseOptimizer):
    """Resilient backpropagation: moves by step sizes of each element's own, in the direction of the gradient's sign.

    A size, `lr` at first, is multiplied by the second of `etas` where the gradient keeps its sign and by the first
    where it changes, and kept between the two `step_sizes`.

    Raises ValueError for a negative `lr`, and for `etas` that are not below and above 1.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.Rprop([weight], lr=0.5)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.5000, 1.5000])

    Source: PyTorch's `torch.optim.Rprop`; Riedmiller and Braun, "A Direct Adaptive Method for Faster Backpropagation
    Learning", 1993.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            lr = rate(group)
            state["step"] = self._count()
            state["prev"] = tl.zeros_like(parameter)
            # One size for the real, and one for the imaginary part.
            state["step_size"] = tl.zeros_like(parameter) + (lr * (1 + 1j) if parameter.is_complex() else lr)
        self._advance(state)
        names = ("prev", "step_size")
        self._follow(_rule, parameter, gradient, state, names, group, *group["etas"], *group["step_sizes"])


rprop = functional_form(
    Rprop,
    {"prevs": "prev", "step_sizes": "step_size", "state_steps": "step"},
    "foreach capturable maximize differentiable has_complex",
)
