"""RMSprop."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_not_negative, check_rate, rate
from .rules import ElementwiseOptimizer

__all__ = ["RMSprop", "rmsprop"]


def _rule(xp: Any, weight: Any, gradient: Any, square: Any, *rest: Any) -> None:
    *others, lr, alpha, eps, momentum, centered = rest
    square *= alpha
    square += gradient * gradient * (1 - alpha)
    variance = square
    if centered:
        mean = others[-1]
        mean += (gradient - mean) * (1 - alpha)
        variance = square - mean * mean
    change = gradient / (xp.sqrt(variance) + eps)
    if momentum > 0:
        velocity = others[0]
        velocity *= momentum
        velocity += change
        change = velocity
    weight -= change * lr


class RMSprop(ElementwiseOptimizer):
    """RMSprop: divides the gradients by the root of the running mean of their squares.

    `alpha` is the decay rate of the mean, `eps` is added to the divisor. With `centered` the divisor is the root of the
    gradients' variance. `momentum` is the decay rate of a velocity.

    Raises ValueError for negative options.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.RMSprop([weight], lr=0.01)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.9000, 1.9000])

    Source: PyTorch's `torch.optim.RMSprop`; Hinton, "Neural Networks for Machine Learning", lecture 6, 2012.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        momentum, centered = group["momentum"], group["centered"]
        names = ["square_avg"]
        if momentum > 0:
            names.append("momentum_buffer")
        if centered:
            names.append("grad_avg")
        if not state:
            state["step"] = self._count()
            state.update({name: tl.zeros_like(parameter) for name in names})
        self._advance(state)
        options = (rate(group), group["alpha"], group["eps"], momentum, centered)
        self._follow(_rule, parameter, gradient, state, tuple(names), group, *options)


rmsprop = functional_form(
    RMSprop,
    {
        "square_avgs": "square_avg",
        "grad_avgs": "grad_avg",
        "momentum_buffer_list": "momentum_buffer",
        "state_steps": "step",
    },
    "foreach maximize differentiable capturable has_complex",
)
