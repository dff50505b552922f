"""In-place methods that give a tensor of a transform another shape: it takes over what a view of it holds.

What lies in memory stays where it is, so nothing is written. `resize_` alone may need more memory: a tensor with a
tangent refuses it, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tensorlike.dispatch.operation import Form
from tensorlike.operations.shape import rearranging, reshaping

from .batched import rule
from .dual import dual, forward
from .levels import Level, Method

__all__: list[str] = []


def _in_place_of(function: Callable[..., Any]) -> Any:
    """Make a rule for a method whose tensor becomes what `function` returns."""

    def answer(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args[0].take_over(function(*args, **kwargs))
        return args[0]

    return answer


for _method, _function in (
    (Method.squeeze_, reshaping.squeeze), (Method.unsqueeze_, reshaping.unsqueeze), (Method.t_, reshaping.t),
    (Method.transpose_, reshaping.transpose), (Method.swapaxes_, reshaping.transpose),
    (Method.swapdims_, reshaping.transpose), (Method.as_strided_, rearranging.as_strided),
):  # fmt: skip
    rule(_method)(_in_place_of(_function))
    forward(_method)(_in_place_of(_function))
rule(Method.resize_)(_in_place_of(Method.resize))


@rule(Method.set_, Method.resize_as_)
@forward(Method.set_)
def _other_memory(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    raise RuntimeError(f"{form.name}(): a tensor inside a transform cannot be given other memory: use a new tensor")


@forward(Method.detach_)
def _detached(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = args[0]
    target.take_over(dual(target._primal.detach(), target._tangent.new_zeros(target.shape), level))
    return target


@forward(Method.resize_, Method.resize_as_)
def _resized(level: Level, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
    name = form.name.rpartition(".")[2]
    raise RuntimeError(f"{name}(): cannot resize variables that has a forward grad: use a new tensor, e.g. new_empty()")
