"""What the programs share: the table of them, and tensors that are watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Watch = Callable[[Any], Any]
Program = Callable[[Any, Watch], Any]

PROGRAMS: dict[str, Program] = {}


class UserError(Exception):
    """What the user's code raises."""


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def leaf(T: Any, watch: Watch, *shape: int) -> Any:
    return watch(T.ones(*(shape or (3,)), dtype=T.float64, requires_grad=True))


def used(T: Any, watch: Watch, *shape: int) -> Any:
    """A tensor with a graph behind it."""
    found = watch(leaf(T, watch, *shape) * 2)
    watch(found.grad_fn)
    return found


def fail(*args: Any, **kwargs: Any) -> Any:
    raise UserError("no")
