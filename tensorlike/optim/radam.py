"""RAdam."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_means, check_rate, rate
from .rules import ElementwiseOptimizer

__all__ = ["RAdam", "radam"]


def _rule(
    xp: Any, weight: Any, gradient: Any, mean: Any, square: Any, beta1: float, beta2: float, eps: float, size: float,
    adaptive: float,
) -> None:  # fmt: skip
    mean += (gradient - mean) * (1 - beta1)
    square *= beta2
    square += gradient * gradient * (1 - beta2)
    if adaptive:
        weight -= mean / (xp.sqrt(square) + eps) * (size * adaptive)
    else:
        weight -= mean * size


class RAdam(ElementwiseOptimizer):
    """RAdam: Adam whose first steps, for which the mean of the squares varies too much, do without it.

    `betas` are the decay rates of the running means of the gradients and of their squares, `eps` is added to the
    divisor. `weight_decay` adds that times the parameter to the gradient or, with `decoupled_weight_decay`, shrinks the
    parameter instead.

    Raises ValueError for negative options and for `betas` outside [0, 1).

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.RAdam([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.8000, 1.6000])

    Source: PyTorch's `torch.optim.RAdam`; Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2019.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_means(eps, betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            state["step"] = self._count()
            state["exp_avg"] = tl.zeros_like(parameter)
            state["exp_avg_sq"] = tl.zeros_like(parameter)
        step = self._advance(state)
        beta1, beta2 = group["betas"]
        correction = 1 - beta2**step
        # The length of a simple average with the same centre of mass: of endless steps, and of these.
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * step * beta2**step / correction
        adaptive = 0.0
        if length > 5:
            share = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            adaptive = (share * correction) ** 0.5
        options = (beta1, beta2, group["eps"], rate(group) / (1 - beta1**step), adaptive)
        self._follow(_rule, parameter, gradient, state, ("exp_avg", "exp_avg_sq"), group, *options)


radam = functional_form(
    RAdam,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "state_steps": "step"},
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
)
