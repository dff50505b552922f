"""Steps of an optimizer on other parameters than its own."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tensorlike.tensor import Tensor

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Have `optimizer` update other parameters, with another state, inside a `with` block.

    `swapin_parameters` are in the order of the optimizer's, `swapin_optim_state` is like the result of its
    `state_dict`. Steps update the tensors of both in place; all other changes are undone. Raises RuntimeError where
    they do not match the optimizer's, and for an optimizer without state.

    >>> weight = tl.nn.Parameter(tl.tensor([1.0]))
    >>> optimizer = tl.optim.SGD([weight], lr=0.5, momentum=0.9)
    >>> weight.grad = tl.tensor([1.0])
    >>> optimizer.step()
    >>> other = tl.nn.Parameter(tl.tensor([5.0]))
    >>> other.grad = tl.tensor([1.0])
    >>> with tl.optim.swap_in_optimizer_params_and_state(optimizer, {"weight": other}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> weight.data, other.data
    (tensor([0.5000]), tensor([4.0500]))
    """
    saved = _checked(optimizer, swapin_optim_state)
    known = {number for group in saved for number in group["params"]}
    extra = [key for key in swapin_optim_state["state"] if key not in known]
    if extra:
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    tensors = iter(swapin_parameters.values())
    if len(swapin_parameters) < sum(len(group["params"]) for group in saved):
        raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
    state_before = optimizer.state
    groups_before = [dict(group) for group in optimizer.param_groups]
    try:
        state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for group, other in zip(optimizer.param_groups, saved):
            group.update(other, params=[next(tensors) for _ in other["params"]])
            for tensor, number in zip(group["params"], other["params"]):
                state[tensor] = dict(swapin_optim_state["state"].get(number, {}))
        optimizer.state = state
        yield
    finally:
        for group, before in zip(optimizer.param_groups, groups_before):
            group.clear()
            group.update(before)
        optimizer.state = state_before


def _checked(optimizer: Optimizer, given: Any) -> list[dict[str, Any]]:
    """Return the groups of the state dict `given`, or raise RuntimeError where it is not like the optimizer's."""
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    if not isinstance(given, dict):
        raise RuntimeError(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param "
            f"state dicts, got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise RuntimeError(f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise RuntimeError(f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for position, (group, other) in enumerate(zip(optimizer.param_groups, groups)):
        if not isinstance(other, dict):
            raise RuntimeError(f"{_NAME} requires each optimizer param group to be a dictionary.")
        numbers = other.get("params")
        if not (isinstance(numbers, list) and all(isinstance(number, int) for number in numbers)):
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
                "parameter ids."
            )
        if len(numbers) != len(group["params"]):
            raise RuntimeError(
                f"swapin_optim_state param group {position} has a different number of params than the live optimizer "
                "param group."
            )
        if group.keys() != other.keys():
            raise RuntimeError(
                f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer "
                f"group keys for group {position}. Keys only in swap-in: {[k for k in other if k not in group]}. Keys "
                f"only in live: {[k for k in group if k not in other]}."
            )
    return groups
