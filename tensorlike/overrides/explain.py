"""Explaining the dispatch of a call: handlers, order and reasons, without calling."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tensorlike.dispatch.collect import NUMPY_NAMES, collecting
from tensorlike.dispatch.core import STATE, inherits_default, plan_for, under_guards
from tensorlike.dispatch.errors import function_name, no_rule, rules, steps
from tensorlike.dispatch.modes import current_modes
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.registry import registered
from tensorlike.dispatch.tracebacks import named_errors

from .explain_torch import explain_torch, lists
from .explanation import Explanation

__all__ = ["Explanation", "explain"]


@named_errors
def explain(func: Any, *args: Any, api: str | None = None, **kwargs: Any) -> Explanation:
    """Explain the dispatch of `func(*args, **kwargs)`, the handlers, their order and the reasons, without calling any.

    The modes and guards that are on now count, and the pairwise rules (`overrides.register`). A property is given as
    its `__get__` or `__set__`. A function of PyTorch's is known as such; `api`, "tensorlike" or "torch", selects the
    library explicitly, as for `trace`, and is not passed to `func`.

    Raises TypeError when `func` is no function that types or modes can override, ValueError for an unknown `api`, and
    ImportError when PyTorch is asked for and is not there.

    >>> class Distance:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> class Metres(Distance):
    ...     pass
    >>> tl.overrides.explain(tl.add, Distance(), Metres())
    tensorlike.add: asked in this order, until one does not return NotImplemented:
      1. Metres.__torch_function__, for operand 'other': a subclass comes before Distance
      2. Distance.__torch_function__, for operand 'input': from left to right
    >>> [step.type.__name__ for step in tl.overrides.explain(tl.add, Distance(), Metres()).steps]
    ['Metres', 'Distance']
    >>> tl.overrides.explain(tl.add, tl.ones(2), 1)
    tensorlike.add: nobody is asked, and its own implementation runs.
    """
    if api not in (None, "tensorlike", "torch"):
        raise ValueError(f"explain(): api must be 'tensorlike' or 'torch', not {api!r}")
    if isinstance(func, property):
        func = func.__get__
    if inspect.ismethod(func) and registered(func.__func__) is not None:  # As `x.add`.
        func, args = func.__func__, (func.__self__, *args)
    if api == "torch" or (api is None and registered(func) is None and lists(func)):
        return explain_torch(func, args, kwargs)
    function, operands, kwargs = _operands(func, args, kwargs)
    state = STATE.get()
    plan = plan_for(tuple(map(type, operands)), operands)
    notes = []
    left = under_guards(plan, state)
    if len(left.types) < len(plan.types):
        guard = "DisableTorchFunction" if state.all_disabled else "DisableTorchFunctionSubclass"
        off = ", ".join(t.__name__ for t in plan.types if t not in left.types)
        notes.append(f"{guard} is on: {off} would be asked without it.")
    plan = left
    modes = () if state.all_disabled else current_modes()
    asked = steps(function, plan, operands, args, kwargs, modes[-1] if modes else None)
    if not args and not kwargs and not modes and (form := form_of(func)) and any(p.operand for p in form.parameters):
        notes.append("No operands were given: pass the arguments of a call, as in explain(tl.add, x, y).")
    if len(modes) > 1:
        others = ", ".join(type(mode).__name__ for mode in reversed(modes[:-1]))
        notes.append(f"{others} is asked when {type(modes[-1]).__name__} calls the function again.")
    inherited = [t.__name__ for t in plan.types if inherits_default(t)]
    if inherited:
        notes.append(
            f"{', '.join(inherited)}: Tensor's own __torch_function__, which answers when every type asked is the type "
            f"itself or a superclass of it."
        )
    found = rules(function, plan.types, operands)
    if len(found) == 1:
        notes.append(f"When all of them return NotImplemented, {found[0]} is asked.")
    elif found:
        labels = ", ".join(rule.label for rule in found)
        notes.append(f"When all of them return NotImplemented, TypeError: the rules {labels} fit equally well.")
    elif missing := no_rule(function_name(function), plan.types).strip():
        notes.append(f"When all of them return NotImplemented, TypeError: {missing[0].lower()}{missing[1:]}")
    rule = found[0].implementation if len(found) == 1 else None
    return Explanation(function_name(function), function, asked, tuple(notes), rule)


def _operands(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return the `func` that implementations receive, the operands of a call, and its keywords by their own names."""
    row = registered(func)
    if row is not None:
        names = {p.name for p in row.parameters}
        kwargs = {(NUMPY_NAMES.get(k, k) if k not in names else k): v for k, v in kwargs.items()}
        return row.key, collecting(row.parameters, not row.of_library)(args, kwargs), kwargs
    dispatcher = getattr(func, "_dispatcher", None)
    if dispatcher is not None:
        return func, tuple(dispatcher(*args, **kwargs)), kwargs
    form = form_of(func)  # A function that is in no registry, or a factory, without operands.
    if form is not None:
        return func, collecting(form.parameters, not form.of_library)(args, kwargs), kwargs
    raise TypeError(
        f"explain(): {getattr(func, '__name__', func)!r} is no function that can be overridden; pass one of "
        f"overrides.get_overridable_functions(), or one made with overridable() or wrap_torch_function()"
    )
