"""Errors of failed dispatch: the handlers called, their order, and advice."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tensorlike._library_name import spoken_name

from . import core
from .tracebacks import explained

if TYPE_CHECKING:
    from .core import Plan

_RUNAWAY_DEPTH = 8


def function_name(function: Callable[..., Any]) -> str:
    """Return the public dotted name of an overridable function, property getters included."""
    owner = getattr(function, "__self__", None)
    getter = getattr(owner, "fget", None)
    if getter is not None:  # `Tensor.shape.__get__` is a method of the property object.
        return spoken_name(f"{getter.__module__}.{getter.__qualname__}.{function.__name__}")
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    return spoken_name(f"{module}.{name}") if module else name


class Step(NamedTuple):
    """One step of dispatch: a mode, or a type with one of its operands."""

    #: "mode" or "type".
    kind: str
    #: The overriding type, or the type of the mode.
    type: type
    #: The operand of that type: the parameter's name, with an index if it is in a sequence; "" for a mode.
    operand: str
    #: The operand's position among the operands; None for a mode.
    position: int | None
    #: The reason for its position in the order.
    reason: str

    def __str__(self) -> str:
        who = f"the mode {self.type.__name__}" if self.kind == "mode" else f"{self.type.__name__}.__torch_function__"
        if self.operand:
            who += f", for operand {self.operand!r}"
        return f"{who}: {self.reason}" if self.reason else who


def operand_name(function: Callable[..., Any], operand: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    """Return the parameter through which `operand` was passed, such as `other` or `tensors[1]`; "" if it is unknown."""
    is_property = getattr(function, "__name__", "") in ("__get__", "__set__", "__delete__")
    try:
        signature = None if is_property else inspect.signature(function)
    except (TypeError, ValueError):  # A function written in C may have no signature.
        signature = None
    parameters = [] if signature is None else list(signature.parameters.values())
    names: list[tuple[str, Any]] = []
    for index, value in enumerate(args):
        if index < len(parameters) and parameters[index].kind is parameters[index].VAR_POSITIONAL:
            names += [(f"{parameters[index].name}[{at}]", item) for at, item in enumerate(args[index:])]
            break
        unnamed = ("self", "value")[index] if is_property and index < 2 else f"argument {index + 1}"
        names.append((parameters[index].name if index < len(parameters) else unnamed, value))
    for name, value in (*names, *kwargs.items()):
        found = _place(name, value, operand)
        if found:
            return found
    return ""


def _place(name: str, value: Any, operand: Any) -> str:
    if value is operand:
        return name
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            found = _place(f"{name}[{index}]", item, operand)
            if found:
                return found
    return ""


def steps(
    function: Callable[..., Any],
    plan: Plan,
    operands: Sequence[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    mode: Any = None,
) -> tuple[Step, ...]:
    """Return the steps of dispatching a call, with reasons: the text of `overrides.explain` and of every TypeError."""
    found = []
    types = plan.types
    if mode is not None:
        found.append(Step("mode", type(mode), "", None, "the innermost mode comes before the types"))
    values = tuple(operands)
    for index, (kind, position) in enumerate(zip(types, plan.positions)):
        above = [t.__name__ for t in types[index + 1 :] if issubclass(kind, t)]
        if above:
            reason = f"a subclass comes before {', '.join(above)}"
        elif len(types) > 1:
            reason = "from left to right"
        else:
            reason = ""
        found.append(Step("type", kind, operand_name(function, values[position], args, kwargs), position, reason))
    return tuple(found)


def numbered(found: Sequence[Step]) -> str:
    """Return the steps as lines, each beginning with its number."""
    return "".join(f"\n  {number}. {step}" for number, step in enumerate(found, 1))


def no_implementation(
    function: Callable[..., Any],
    plan: Plan,
    operands: Sequence[Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    mode: Any,
    reflected: str | None = None,
) -> TypeError:
    """Return the TypeError for a call for which every handler returned NotImplemented.

    That of an operator, which has a `reflected` method, begins as Python's own. `LEFT_TO_PYTHON` names none.
    """
    name, types = function_name(function), plan.types
    names = ", ".join(t.__name__ for t in types)
    text = f"no implementation found for '{name}' on types that implement __torch_function__: [{names}]"
    if reflected and reflected != core.LEFT_TO_PYTHON:
        text = f"{_unsupported(reflected, *operands)}: {text}"
    asked = steps(function, plan, operands, args, kwargs, mode)
    if asked:
        text += f"\nAsked in this order, each returned NotImplemented:{numbered(asked)}"
    found = rules(function, types, operands)
    if found:
        text += f"\n{_capital(str(found[0]))} was asked after them and returned NotImplemented as well."
    own = [t for t in types if not core.inherits_default(t)]
    if len(types) > 1 and not own:
        first, second = types[0].__name__, types[1].__name__
        text += (
            f"\n{first} and {second} are unrelated subclasses, and the default __torch_function__ does not choose "
            f"between them. Make one a subclass of the other, give one a __torch_function__ that knows both, or "
            f"convert an operand, e.g. with .as_subclass({first})."
        )
    elif own:
        kind = own[0]
        where = f"in {kind.__name__}.__torch_function__"
        if hasattr(kind, "_torch_function_policy"):  # It has a table.
            where = f"for {kind.__name__}, e.g. with @implements({name})"
        text += f"\nHandle {name} {where}, or convert the operands to tensors before the call."
    elif mode is not None:
        text += "\nLet the mode answer it, e.g. with `return func(*args, **(kwargs or {}))`."
    if not found:
        text += no_rule(name, types)
    return explained(TypeError, "no-implementation" if own else "unrelated-subclasses", text)


def _unsupported(reflected: str, left: Any, right: Any) -> str:
    """Return Python's sentence on types without the operator whose other method, that of `right`, is `reflected`."""
    name = reflected[2:-2]
    if core.is_reflected(reflected):
        left, right = right, left
    else:
        # Of `a < b` it is the `>` of b, which is an operator itself.
        name = name.translate(str.maketrans("gl", "lg")) if hasattr(operator, reflected) else name[1:]
    try:
        getattr(operator, f"__{name}__")(object(), object())
    except TypeError as error:
        return str(error).replace("'object'", "'{}'").format(type(left).__name__, type(right).__name__)
    raise AssertionError(f"objects without methods have the operator {name}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def rules(function: Callable[..., Any], types: Sequence[type], operands: Sequence[Any]) -> Sequence[Any]:
    """Return the pairwise rules that apply when all `types` return NotImplemented, the most specific first."""

    rules_for = core.PROVIDED.rules_for
    return () if rules_for is None else rules_for(function, tuple(types), operands)


def no_rule(name: str, types: Sequence[type]) -> str:
    """Return the line about pairwise rules for two unrelated types; "" unless there are two."""
    unrelated = [
        (a, b)
        for index, a in enumerate(types)
        for b in types[index + 1 :]
        if not issubclass(a, b) and not issubclass(b, a)
    ]
    if not unrelated:
        return ""
    for a, b in unrelated:
        if all(issubclass(t, (a, b)) for t in types):
            pair = f"({a.__name__}, {b.__name__})"
            return f"\nNo rule is registered for {pair}; settle it with overrides.register({name}, {pair})."
    names = ", ".join(t.__name__ for t in types)
    return f"\nNo rule covers {names} together: overrides.register settles two types. Convert an operand."


def runaway(
    function: Callable[..., Any], types: tuple[type, ...], code: CodeType, *handlers: CodeType | None
) -> RecursionError:
    """Return the error being handled, or one with advice when the same call came back through the same types.

    `code` is that of `core.ask_types`, whose frames are counted. Where the native core asks, there are none, and the
    frames of the handlers are, by their code. The caller has no variable with the error: looking at its frame here
    would leave it a copy of that.
    """
    error = cast(RecursionError, sys.exception())
    if getattr(error, "_names_the_cure", False):
        return error
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and depth < _RUNAWAY_DEPTH:
        if frame.f_code is code:
            local = frame.f_locals
            if local["function"] == function and local["types"] == types:
                depth += 1
        elif frame.f_code in handlers and frame.f_code.co_argcount > 2:
            asked, kinds = (frame.f_locals.get(name) for name in frame.f_code.co_varnames[1:3])
            if asked is function and kinds == types:
                depth += 1
        frame = frame.f_back
    if depth < _RUNAWAY_DEPTH:
        return error
    name, kind = function_name(function), types[0].__name__ if types else "the mode"
    found = explained(
        RecursionError, "runaway-recursion",
        f"'{name}' came back to {kind}.__torch_function__ again and again: the implementation calls the function on "
        f"the same operands, which asks {kind} once more. Inside it, call super().__torch_function__(func, types, "
        f"args, kwargs) for a Tensor subclass, or take the plain tensors out of the operands before calling func.",
    )  # fmt: skip
    found._names_the_cure = True  # type: ignore[attr-defined]  # Outer frames let it pass.
    return found
