"""Adamax."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_means, check_rate, rate
from .rules import ElementwiseOptimizer

__all__ = ["Adamax", "adamax"]


def _rule(
    xp: Any, weight: Any, gradient: Any, mean: Any, largest: Any, size: float, beta1: float, beta2: float, eps: float
) -> None:
    mean += (gradient - mean) * (1 - beta1)
    largest[...] = xp.maximum(largest * beta2, abs(gradient) + eps)
    weight -= mean / largest * size


class Adamax(ElementwiseOptimizer):
    """Adamax: divides the running mean of the gradients by their largest, which decays.

    `betas` are the decay rates of the mean and of the largest, `eps` is added to the gradients' absolute values.

    Raises ValueError for negative options and for `betas` outside [0, 1).

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.Adamax([weight], lr=0.5)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.5000, 1.5000])

    Source: PyTorch's `torch.optim.Adamax`; Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_means(eps, betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            state["step"] = self._count()
            state["exp_avg"] = tl.zeros_like(parameter)
            state["exp_inf"] = tl.zeros_like(parameter)
        step = self._advance(state)
        beta1, beta2 = group["betas"]
        size = rate(group) / (1 - beta1**step)
        names = ("exp_avg", "exp_inf")
        self._follow(_rule, parameter, gradient, state, names, group, size, beta1, beta2, group["eps"])


adamax = functional_form(
    Adamax,
    {"exp_avgs": "exp_avg", "exp_infs": "exp_inf", "state_steps": "step"},
    "foreach maximize differentiable capturable has_complex",
)
