"""The functions behind optimizers: one step, with the states given as lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorlike.autograd.grad_mode import recording_block

from .optimizer import Optimizer
from .options import LATER_OPTIONS

__all__ = ["functional_form"]


def functional_form(
    optimizer: type[Optimizer], lists: dict[str, str], flags: str, gradients: str = "grads", **fixed: Any
) -> Callable[..., None]:
    """Return the function that takes one step of `optimizer`, with the signature of PyTorch's.

    `lists` are its parameters that are lists of states, with the names of these in the optimizer's state; the names in
    `flags` follow them, and those of the options are given by keyword. `fixed` are options that it does not have.
    """
    name = optimizer.__name__.lower()
    names = ("params", gradients, *lists, *flags.split())
    defaults = {**dict.fromkeys(flags.split()), **LATER_OPTIONS, "weight_decay": 0, **fixed}

    def step(*args: Any, **options: Any) -> None:
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} positional arguments but {len(args)} were given")
        given = {**defaults, **dict(zip(names, args)), **options}
        missing = [key for key in names[: 2 + len(lists)] if key not in given]
        if missing:
            raise TypeError(f"{name}() missing {len(missing)} required arguments: {', '.join(missing)}")
        states = {key: given.pop(parameter) for parameter, key in lists.items()}
        parameters, grads = given.pop("params"), given.pop(gradients)
        if "beta1" in given:
            given["betas"] = (given["beta1"], given["beta2"])
        if "etaminus" in given:
            given["etas"] = (given["etaminus"], given["etaplus"])
            given["step_sizes"] = (given["step_size_min"], given["step_size_max"])
        if "eps1" in given:
            given["eps"] = (given["eps1"], given["eps2"])
        # The rule of one parameter needs no other part of an optimizer.
        made = object.__new__(optimizer)
        rule = made._update
        if parameters:
            made._check_foreach(given)
        with recording_block(bool(given["differentiable"])):
            for number, (parameter, gradient) in enumerate(zip(parameters, grads)):
                state = {key: values[number] for key, values in states.items() if number < len(values)}
                rule(parameter, gradient, state, given)
                for key, values in states.items():
                    if number < len(values):
                        values[number] = state[key]

    step.__name__ = step.__qualname__ = name
    step.__module__ = optimizer.__module__
    step.__doc__ = f"Take one step of {optimizer.__name__}: update the parameters, and the states in the lists.\n"
    return step
