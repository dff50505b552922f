"""NAdam."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_means, check_rate, rate, scalar_dtype
from .rules import ElementwiseOptimizer

__all__ = ["NAdam", "nadam"]


def _rule(
    xp: Any, weight: Any, gradient: Any, mean: Any, square: Any, beta1: float, beta2: float, correction: float,
    eps: float, gradient_size: float, mean_size: float,
) -> None:  # fmt: skip
    mean += (gradient - mean) * (1 - beta1)
    square *= beta2
    square += gradient * gradient * (1 - beta2)
    divisor = xp.sqrt(square / correction) + eps
    weight -= (gradient * gradient_size + mean * mean_size) / divisor


class NAdam(ElementwiseOptimizer):
    """NAdam: Adam with Nesterov momentum.

    `betas` are the decay rates of the running means of the gradients and of their squares, the first one growing with
    the steps by `momentum_decay`; `eps` is added to the divisor. `weight_decay` adds that times the parameter to the
    gradient or, with `decoupled_weight_decay`, shrinks the parameter instead.

    Raises ValueError for negative options and for `betas` outside [0, 1).

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.NAdam([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.8944, 1.8944])

    Source: PyTorch's `torch.optim.NAdam`; Dozat, "Incorporating Nesterov Momentum into Adam", 2016.
    """

    _captured = "params, mu_products and state_steps"
    _in_tensors = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_means(eps, betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            state["step"] = self._count()
            state["mu_product"] = tl.ones((), dtype=scalar_dtype())
            state["exp_avg"] = tl.zeros_like(parameter)
            state["exp_avg_sq"] = tl.zeros_like(parameter)
        step = self._advance(state)
        lr = rate(group)
        beta1, beta2 = group["betas"]
        mu, following = (beta1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (step, step + 1))
        if group["differentiable"]:
            product = state["mu_product"] = state["mu_product"] * mu
        else:
            state["mu_product"] *= mu
            product = state["mu_product"].item()
        gradient_size = lr * (1 - mu) / (1 - product)
        mean_size = lr * following / (1 - product * following)
        options = (beta1, beta2, 1 - beta2**step, group["eps"], gradient_size, mean_size)
        self._follow(_rule, parameter, gradient, state, ("exp_avg", "exp_avg_sq"), group, *options)


nadam = functional_form(
    NAdam,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "mu_products": "mu_product", "state_steps": "step"},
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
)
