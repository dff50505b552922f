"""Explaining the dispatch of a call of one of PyTorch's functions: see `explain`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tensorlike._library_name import pytorch
from tensorlike.dispatch.errors import Step

from .explanation import Explanation
from .trace_torch import NEVER_ASKS, dummies, first_call, operand_names, torch_or_error

__all__ = ["explain_torch", "lists"]


def lists(func: Callable[..., Any]) -> bool:
    """Return whether PyTorch, if it was imported at all, lists `func` as overridable."""
    try:
        return pytorch() is not None and func in dummies()
    except TypeError:  # An unhashable object is no function.
        return False


def explain_torch(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
    """Return the explanation of a call of one of PyTorch's functions.

    A mode stops the real call before a handler runs, so that the order is PyTorch's own.
    """
    torch = torch_or_error("explain(api='torch')")
    overrides: Any = importlib.import_module("torch.overrides")
    if not lists(func):
        raise TypeError(
            f"explain(): {getattr(func, '__name__', func)!r} is no function that PyTorch lists as overridable; pass "
            f"one of torch.overrides.get_overridable_functions()"
        )
    name = overrides.resolve_name(func)
    asked = None if name in NEVER_ASKS else first_call(func, args, kwargs)
    if asked is None:
        return Explanation(name, func, (), ("PyTorch asks neither modes nor types about it.",))
    notes = []
    # A function written in Python lists plain tensors as well, and dispatches to them if another operand overrides.
    types = asked.types if asked.types != (torch.Tensor,) else ()
    # PyTorch's own names of two states that it keeps: types alone are off, or modes as well.
    all_disabled = torch._C._is_torch_function_all_disabled()
    if types and not torch._C._is_torch_function_enabled():
        guard = "DisableTorchFunction" if all_disabled else "DisableTorchFunctionSubclass"
        notes.append(f"{guard} is on: {', '.join(t.__name__ for t in types)} would be asked without it.")
        types = ()
    modes = [] if all_disabled else overrides._get_current_function_mode_stack()[::-1]
    steps = []
    if modes:
        steps.append(Step("mode", type(modes[0]), "", None, "the innermost mode comes before the types"))
    if len(modes) > 1:
        others = ", ".join(type(mode).__name__ for mode in modes[1:])
        notes.append(f"{others} is asked when {type(modes[0]).__name__} calls the function again.")
    operands = [named for named in operand_names(asked.function, asked.args, asked.kwargs) if type(named[1]) in types]
    for index, kind in enumerate(types):
        # An operand may be in a place of its own, such as a field of an argument.
        position = next((i for i, (_, value) in enumerate(operands) if type(value) is kind), None)
        above = [t.__name__ for t in types[index + 1 :] if issubclass(kind, t)]
        reason = f"a subclass comes before {', '.join(above)}" if above else "from left to right" if types[1:] else ""
        steps.append(Step("type", kind, operands[position][0] if position is not None else "", position, reason))
    default = torch.Tensor.__torch_function__.__func__
    inherited = [t.__name__ for t in types if getattr(t.__torch_function__, "__func__", None) is default]  # type: ignore[attr-defined]
    if inherited:
        notes.append(
            f"{', '.join(inherited)}: Tensor's own __torch_function__, which answers when every type asked is the type "
            f"itself or a superclass of it."
        )
    if asked.function != func:
        found = overrides.resolve_name(asked.function)
        notes.append(f"{name} is asked about as {found}.")
    return Explanation(overrides.resolve_name(asked.function) or name, asked.function, tuple(steps), tuple(notes))
