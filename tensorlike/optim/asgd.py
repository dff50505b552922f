"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, ParamsT, State
from .options import check_not_negative, check_rate, rate, scalar_dtype
from .rules import ElementwiseOptimizer

__all__ = ["ASGD", "asgd"]


def _rule(xp: Any, weight: Any, gradient: Any, average: Any, eta: float, mu: float, lambd: float) -> None:
    weight *= 1 - eta * lambd
    weight -= gradient * eta
    if mu == 1:
        average[...] = weight
    else:
        average += (weight - average) * mu


class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent: state "ax" holds the mean of the parameters since step `t0`.

    Each step shrinks the parameter by `lambd` times the rate, which is lr / (1 + lambd · lr · step)^alpha.

    Raises ValueError for a negative `lr` or `weight_decay`.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.ASGD([weight], lr=0.1, t0=0)
    >>> for _ in range(2):
    ...     weight.grad = tl.tensor([1.0, 1.0])
    ...     optimizer.step()
    >>> weight.data, optimizer.state[weight]["ax"]
    (tensor([0.8000, 1.8000]), tensor([0.8000, 1.8000]))

    Source: PyTorch's `torch.optim.ASGD`; Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging",
    1992.
    """

    _captured = "params, mus, etas, and state_steps"
    _in_tensors = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        lr = rate(group)
        if not state:
            state["step"] = self._count()
            state["eta"] = tl.as_tensor(lr, dtype=scalar_dtype()).clone().detach()
            state["mu"] = tl.ones((), dtype=scalar_dtype())
            state["ax"] = tl.zeros_like(parameter)
        step = self._advance(state)
        eta = state["eta"] if group["differentiable"] else state["eta"].item()
        self._follow(_rule, parameter, gradient, state, ("ax",), group, eta, state["mu"].item(), group["lambd"])
        # The rate and the weight of the mean for the next step.
        eta = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        state["eta"] = tl.as_tensor(eta, dtype=scalar_dtype())
        state["mu"] = tl.tensor(1 / max(1.0, step - group["t0"]), dtype=scalar_dtype())


asgd = functional_form(
    ASGD,
    {"axs": "ax", "mus": "mu", "etas": "eta", "state_steps": "step"},
    "foreach maximize differentiable capturable has_complex",
)
