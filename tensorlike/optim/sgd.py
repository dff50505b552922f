"""Stochastic gradient descent."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, Optimizer, ParamsT, State
from .options import check_implementation, check_rate, number
from .steps import Call, Plan, Steps

__all__ = ["SGD", "sgd"]


@functools.cache
def _steps(maximize: bool, decays: bool, moves: bool, dampens: bool, nesterov: bool) -> Steps:
    """Return the rule for the options that are in use."""
    calls: list[Call] = []
    gradient = "gradient"
    if maximize:
        calls.append((np.negative, gradient, "work"))
        gradient = "work"
    if decays:
        calls += [(np.multiply, "weight", "decay", "spare"), (np.add, gradient, "spare", "work")]
        gradient = "work"
    if moves:
        velocity = "momentum_buffer"
        calls.append((np.multiply, velocity, "momentum", velocity))
        if dampens:
            calls += [(np.multiply, gradient, "taken", "work"), (np.add, velocity, "work", velocity)]
        else:
            calls.append((np.add, velocity, gradient, velocity))
        if nesterov:
            calls += [(np.multiply, velocity, "momentum", "spare"), (np.add, gradient, "spare", "work")]
        gradient = "work" if nesterov else velocity
    calls += [(np.multiply, gradient, "change", "work"), (np.add, "weight", "work", "weight")]
    return Steps(("momentum_buffer",) if moves else (), ("change", "momentum", "taken", "decay"), calls)


@functools.lru_cache(16)
def _numbers(lr: float, momentum: float, dampening: float, decay: float, count: float) -> tuple[float, ...]:
    return float(-lr), float(momentum), float(1 - dampening), float(decay)


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if wanted.

    Each step subtracts `lr` times the gradient, or the velocity where there is `momentum`: v ← momentum · v + (1 −
    dampening) · gradient, starting with the gradient. `nesterov` adds the gradient to momentum · v.

    Raises ValueError for negative options, and for `nesterov` without momentum or with dampening.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.SGD([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.8000, 1.6000])
    """

    _without_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_implementation(foreach, fused, differentiable)

    if not TYPE_CHECKING:  # To type checkers it is the base's.

        def step(self, closure=None):
            return self._step(closure)

    def _check_foreach(self, group: Group) -> None:
        """Do nothing: PyTorch's SGD records either implementation."""

    def _plan(self, group: Group) -> Plan | None:
        if group["differentiable"]:
            return None
        momentum, dampening, decay = group["momentum"], group["dampening"], number(group["weight_decay"])
        moves = momentum != 0
        steps = _steps(group["maximize"], decay != 0, moves, moves and dampening != 0, group["nesterov"])
        return steps, functools.partial(_numbers, number(group["lr"]), momentum, dampening, decay)

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        momentum = group["momentum"]
        known = state.get("momentum_buffer")
        plan = self._plan(group)
        if plan is not None and (momentum == 0 or known is not None):
            steps, numbers = plan
            if steps.update(parameter, gradient, [state[name] for name in steps.states], numbers(0)):
                return
        if group["maximize"]:
            gradient = -gradient
        weight_decay = number(group["weight_decay"])
        if weight_decay != 0:
            gradient = gradient.add(parameter, alpha=weight_decay)
        if momentum != 0:
            velocity = known
            if velocity is None:
                velocity = gradient.clone() if group["differentiable"] else gradient.detach().clone()
                state["momentum_buffer"] = velocity
            else:
                velocity.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient.add(velocity, alpha=momentum) if group["nesterov"] else velocity
        lr = group["lr"]
        if group["differentiable"] and isinstance(lr, Tensor):
            # A copy: the recorded product needs it unchanged, and the velocity is updated.
            parameter.addcmul_(gradient.clone(), lr, value=-1)
        else:
            parameter.add_(gradient, alpha=-number(lr))


sgd = functional_form(
    SGD,
    {"momentum_buffer_list": "momentum_buffer"},
    "has_sparse_grad foreach fused grad_scale found_inf",
    gradients="d_p_list",
)
