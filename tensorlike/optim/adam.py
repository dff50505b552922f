"""Adam."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from tensorlike._originals import tl
from tensorlike.tensor import Tensor

from .functional_form import functional_form
from .optimizer import Group, Optimizer, ParamsT, State
from .options import check_implementation, check_means, check_rate, number, rate, scalar_dtype
from .steps import Call, Plan, Steps

__all__ = ["Adam", "adam"]


@functools.cache
def _steps(maximize: bool, decays: bool, decoupled: bool, amsgrad: bool) -> Steps:
    """Return the rule for the options that are in use."""
    calls: list[Call] = []
    gradient = "gradient"
    if maximize:
        calls.append((np.negative, gradient, "spare"))
        gradient = "spare"
    if decays and decoupled:
        calls.append((np.multiply, "weight", "decay", "weight"))
    elif decays:
        calls += [(np.multiply, "weight", "decay", "work"), (np.add, gradient, "work", "spare")]
        gradient = "spare"
    mean, square = "exp_avg", "exp_avg_sq"
    calls += [
        (np.subtract, gradient, mean, "work"),
        (np.multiply, "work", "new mean", "work"),
        (np.add, mean, "work", mean),
        (np.multiply, gradient, gradient, "work"),
        (np.multiply, "work", "new square", "work"),
        (np.multiply, square, "old square", square),
        (np.add, square, "work", square),
    ]
    states = [mean, square]
    if amsgrad:
        states.append(largest := "max_exp_avg_sq")
        calls.append((np.maximum, largest, square, largest))
    calls += [
        (np.sqrt, states[-1], "work"),
        (np.add, "work", "eps", "work"),
        (np.divide, mean, "work", "work"),
        (np.multiply, "work", "size", "work"),
        (np.subtract, "weight", "work", "weight"),
    ]
    return Steps(states, ("new mean", "old square", "new square", "size", "eps", "decay"), calls, count="step")


@functools.lru_cache(16)
def _numbers(
    lr: float, beta1: float, beta2: float, eps: float, decay: float, decoupled: bool, count: float
) -> tuple[float, ...]:
    # The root of the second correction is moved out of the divisor: one pass over the data less.
    root = (1 - beta2**count) ** 0.5
    size = lr * root / (1 - beta1**count)
    shrinks = 1 - lr * decay if decoupled else decay
    return tuple(map(float, (1 - beta1, beta2, 1 - beta2, size, eps * root, shrinks)))


class Adam(Optimizer):
    """Adam: divides the running mean of the gradients by the root of the running mean of their squares.

    `betas` are the decay rates of the two running means, `eps` is added to the divisor. With `amsgrad` the divisor
    never shrinks; `weight_decay` adds that times the parameter to the gradient or, with `decoupled_weight_decay`,
    shrinks the parameter instead.

    Raises ValueError for negative options and for `betas` outside [0, 1).

    >>> weight = tl.nn.Parameter(tl.tensor([1.0, 2.0]))
    >>> optimizer = tl.optim.Adam([weight], lr=0.1)
    >>> (weight**2).sum().backward()
    >>> optimizer.step()
    >>> weight.data
    tensor([0.9000, 1.9000])
    """

    _in_tensors = ("step",)
    _without_sparse = ", please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_rate(lr)
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_means(eps, betas, weight_decay=weight_decay)
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )
        check_implementation(foreach, fused, differentiable)

    if not TYPE_CHECKING:  # To type checkers it is the base's.

        def step(self, closure=None):
            return self._step(closure)

    def _plan(self, group: Group) -> Plan | None:
        if group["differentiable"]:
            return None
        beta1, beta2 = group["betas"]
        decay, decoupled = number(group["weight_decay"]), group["decoupled_weight_decay"]
        steps = _steps(group["maximize"], decay != 0, decoupled, group["amsgrad"])
        numbers = functools.partial(
            _numbers, number(group["lr"]), number(beta1), number(beta2), group["eps"], decay, decoupled
        )
        return steps, numbers

    def _update(self, parameter: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not state:
            # A tensor, so that saved states are the same as PyTorch's.
            state["step"] = tl.tensor(0.0, dtype=scalar_dtype())
            state["exp_avg"] = tl.zeros_like(parameter)
            state["exp_avg_sq"] = tl.zeros_like(parameter)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = tl.zeros_like(parameter)
        tensors = [state[name] for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if group["amsgrad"] else 2]]
        state["step"] += 1
        step = state["step"].item()
        if parameter.is_complex():
            # Real and imaginary parts are treated as separate parameters.
            parameter, gradient, *tensors = map(tl.view_as_real, (parameter, gradient, *tensors))
        plan = self._plan(group)
        if plan is not None:
            steps, numbers = plan
            if steps.update(parameter, gradient, tensors, numbers(step)):
                return
        mean, square, *largest = tensors
        differentiable = group["differentiable"]
        beta1, beta2 = map(number, group["betas"])
        lr = rate(group)
        if group["maximize"]:
            gradient = -gradient
        weight_decay = group["weight_decay"]
        if weight_decay != 0:
            if group["decoupled_weight_decay"]:
                parameter.mul_(1 - lr * weight_decay)
            else:
                gradient = gradient.add(parameter, alpha=weight_decay)
        # Bias correction: both means start at zero, which would shrink the first steps.
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        mean.lerp_(gradient, 1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        for most in largest:
            if differentiable:
                # The graph saves both, which change below and in the next step.
                most.copy_(tl.maximum(most.clone(), square.clone()))
            else:
                most.copy_(tl.maximum(most, square))
            square = most
        if differentiable:
            # The graph saves the means and the root, which must not change later on.
            divisor = square.clone().sqrt() / correction2**0.5 + group["eps"]
            parameter.sub_(mean.clone() / divisor * (lr / correction1))
        else:
            divisor = square.sqrt().div_(correction2**0.5).add_(group["eps"])
            parameter.addcdiv_(mean, divisor, value=-lr / correction1)


adam = functional_form(
    Adam,
    {"exp_avgs": "exp_avg", "exp_avg_sqs": "exp_avg_sq", "max_exp_avg_sqs": "max_exp_avg_sq", "state_steps": "step"},
    "foreach capturable differentiable fused grad_scale found_inf has_complex decoupled_weight_decay",
)
