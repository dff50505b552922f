"""Recording dispatch for `overrides.trace`, without changing it.

# Note [The same questions, watched]
A traced call runs the same code as any other: `_ask_mode` and `ask_types` of core.py. They are given substitutes
whose `__torch_function__` notes the time and calls the real handler. The substitutes for operands are made by indexing
alone, so that iterating over the operands gives the operands themselves.

The recorder lies in the State of the thread or task, as modes do: calls outside never come here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from . import core
from .core import STATE, Plan, State, inherits_default
from .errors import operand_name
from .operation import Form
from .state import Activation


class Asked(NamedTuple):
    """One call of a handler: the mode or type, the operand, the outcome and the time."""

    #: "mode", "type", or "inherited" for a type with Tensor's own implementation.
    kind: str
    type: type
    operand: str
    position: int | None
    #: "answered", "NotImplemented" or "raised".
    outcome: str
    start: float
    seconds: float


class Recorder(Protocol):
    """The base of recorders of calls: the log of a trace."""

    #: Plain calls, without dispatch, are recorded as well.
    plain: bool
    closed: bool

    def begin(self) -> int:
        """Return the number of a call that begins."""

    def end(self, number: int, parent: int | None, depth: int, call: WatchedCall) -> None:
        """Record a call that has ended."""


class Level(NamedTuple):
    """The nesting depth of the present call for one recorder."""

    recorder: Recorder
    parent: int | None
    depth: int
    #: Keeps the sets of plain types empty, for a recorder of plain calls: see Note [Activations] in state.py.
    activation: Activation | None = None

    @staticmethod
    def traced(
        function: Callable[..., Any],
        form: Form | None,
        plan: Plan,
        state: State,
        operands: Sequence[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reflected: str | None = None,
    ) -> Any:
        """Run `dispatch`, or `handle` when there is no form, recorded by the trace of `state`."""
        plan = core.under_guards(plan, state)
        asks = bool(plan.types) or (bool(state.modes) and not state.all_disabled)
        recorded: list[tuple[Level, int]] = []
        levels: list[Level] = []
        for level in state.trace:
            recorder = level.recorder
            if recorder.closed or not (asks or recorder.plain):
                levels.append(level)
            else:
                number = recorder.begin()
                recorded.append((level, number))
                levels.append(level._replace(parent=number, depth=level.depth + 1))
        call = WatchedCall(function, operands, args, kwargs)
        inner = state.but(trace=tuple(levels))
        try:
            STATE.set(inner)
            return _answered(function, form, plan, inner, call, args, kwargs, reflected)
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            STATE.set(state)
            call.seconds = time.perf_counter() - call.start
            for level, number in recorded:
                level.recorder.end(number, level.parent, level.depth, call)


class WatchedCall:
    """One call while it runs, and its record afterwards."""

    __slots__ = ("args", "asked", "error", "function", "implementation", "kwargs", "operands", "seconds", "start")

    def __init__(
        self, function: Callable[..., Any], operands: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.function = function
        self.operands = tuple(operands)
        self.args = args
        self.kwargs = kwargs
        self.asked: list[Asked] = []
        #: No handler was called, and the function's own implementation ran.
        self.implementation = False
        #: The error as text: the error itself would be in a reference cycle.
        self.error = ""
        self.start = time.perf_counter()
        self.seconds = 0.0

    def ask(self, kind: str, of: type, position: int | None, question: Callable[..., Any], *arguments: Any) -> Any:
        """Call `question(*arguments)`, and record the handler and the outcome."""
        start = time.perf_counter()
        outcome = "raised"
        operand = ""
        if position is not None:
            operand = operand_name(self.function, self.operands[position], self.args, self.kwargs)
        try:
            result = question(*arguments)
            outcome = "NotImplemented" if result is NotImplemented else "answered"
        finally:
            self.asked.append(Asked(kind, of, operand, position, outcome, start, time.perf_counter() - start))
        return result

    def raised(self, error: BaseException) -> None:
        """Record the error."""
        text = str(error).strip().partition("\n")[0]
        self.error = f"{type(error).__name__}: {text}" if text else type(error).__name__

    def mode(self, mode: Any) -> _StandIn:
        """Return the substitute for a mode that is called."""
        return _StandIn(self, mode, "mode", None)


class _StandIn:
    __slots__ = ("call", "kind", "position", "value")

    def __init__(self, call: WatchedCall, value: Any, kind: str, position: int | None) -> None:
        self.call = call
        self.value = value
        self.kind = kind
        self.position = position

    def __torch_function__(self, *arguments: Any) -> Any:
        of = type(self.value)
        kind = "inherited" if self.kind == "type" and inherits_default(of) else self.kind
        return self.call.ask(kind, of, self.position, self.value.__torch_function__, *arguments)


class _Watched(tuple[Any, ...]):
    """The operands of a call: see Note [The same questions, watched]."""

    call: WatchedCall

    def __getitem__(self, position: Any) -> Any:
        return _StandIn(self.call, tuple.__getitem__(self, position), "type", position)


def _answered(
    function: Callable[..., Any],
    form: Form | None,
    plan: Plan,
    state: State,
    call: WatchedCall,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    reflected: str | None,
) -> Any:
    watched = _Watched(call.operands)
    watched.call = call
    if state.modes and not state.all_disabled:
        if state.modes[-1].over:
            state = core._without_finished_modes(state)
            STATE.set(state)
            return _answered(function, form, plan, state, call, args, kwargs, reflected)
        return core._ask_mode(function, plan, state, watched, args, kwargs, call.mode, reflected)
    if form is not None and not plan.types:
        call.implementation = True
        return form.run_undispatched(args, kwargs)
    if form is not None and plan.default is not None:
        position = plan.positions[plan.types.index(plan.default)]
        return call.ask("inherited", plan.default, position, core.PROVIDED.propagate, form, plan.default, args, kwargs)
    return core.ask_types(function, plan, watched, args, kwargs, reflected=reflected)
