"""Adadelta."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_not_negative, check_rate, rate
from .rules import ElementwiseOptimizer

__all__ = ["Adadelta", "adadelta"]


def _rule(
    xp: Any, weight: Any, gradient: Any, square: Any, change_square: Any, lr: float, rho: float, eps: float
) -> None:
    square *= rho
    square += gradient * gradient * (1 - rho)
    change = xp.sqrt(change_square + eps) / xp.sqrt(square + eps) * gradient
    change_square *= rho
    change_square += change * change * (1 - rho)
    weight -= change * lr


class Adadelta(ElementwiseOptimizer):
    """Adadelta: divides the gradients by the root of the running mean of their squares, times that of the changes.

    `rho` is the decay rate of the two running means, `eps` is added under both roots.

    Raises ValueError for negative options and for `rho` above 1.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.Adadelta([weight], lr=0.5, eps=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.5528, 1.5149])

    Source: PyTorch's `torch.optim.Adadelta`; Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            state["step"] = self._count()
            state["square_avg"] = tl.zeros_like(parameter)
            state["acc_delta"] = tl.zeros_like(parameter)
        self._advance(state)
        names = ("square_avg", "acc_delta")
        self._follow(_rule, parameter, gradient, state, names, group, rate(group), group["rho"], group["eps"])


adadelta = functional_form(
    Adadelta,
    {"square_avgs": "square_avg", "acc_deltas": "acc_delta", "state_steps": "step"},
    "capturable foreach differentiable has_complex",
)
