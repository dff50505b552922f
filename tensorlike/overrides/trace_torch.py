"""Watching the dispatches of PyTorch, for traces and audits of types written against it.

# Note [Asking in PyTorch's place]
A mode of PyTorch is off while it answers, so that it would not see the calls inside an implementation. Here it calls
the types' handlers itself, in PyTorch's order, and is on again meanwhile.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.tracing import Level, WatchedCall

from .trace_log import TraceLog

__all__ = ["NEVER_ASKS", "FirstCall", "TorchTrace", "first_call", "operand_names", "torch_or_error", "watching_mode"]

#: Functions in PyTorch's table that are not dispatched to modes or types.
NEVER_ASKS = frozenset(("torch.Tensor.set_",))


def torch_or_error(what: str) -> Any:
    """Return PyTorch's module, or raise ImportError with the purpose."""
    if LIBRARY.name == "torch":
        raise ImportError(f"{what} needs PyTorch, but this process has tensorlike installed as torch")
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"{what} needs PyTorch, which is not installed: see https://pytorch.org") from error


def _operands(args: Any, types: tuple[type, ...]) -> Iterator[Any]:
    for value in args:
        if type(value) in types:
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _operands(value, types)


@functools.cache
def dummies() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return PyTorch's table: of every overridable function, a function with its signature."""
    overrides: Any = importlib.import_module("torch.overrides")
    with warnings.catch_warnings():
        # The table names functions that PyTorch has deprecated.
        warnings.simplefilter("ignore")
        return dict(overrides.get_testing_overrides())


def operand_names(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return (name, value) for each argument of a call, those in lists and tuples one by one as `tensors[1]`.

    The functions are written in C and have no signatures, so that the names are those of PyTorch's table.
    """
    dummy = dummies().get(function)
    parameters = list(inspect.signature(dummy).parameters.values()) if dummy is not None else []
    found: list[tuple[str, Any]] = []
    for index, value in enumerate(args):
        # Optional parameters stand in the table in an order of its own.
        known = index < len(parameters) and parameters[index].default is inspect.Parameter.empty
        if known and parameters[index].kind is inspect.Parameter.VAR_POSITIONAL:
            for at, item in enumerate(args[index:]):
                found += _opened(f"{parameters[index].name}[{at}]", item)
            break
        found += _opened(parameters[index].name if known else f"argument {index + 1}", value)
    for name, value in kwargs.items():
        found += _opened(name, value)
    return found


def _opened(name: str, value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _opened(f"{name}[{index}]", item)
    else:
        yield name, value


class FirstCall(NamedTuple):
    """The first dispatch of a PyTorch call: the function as types receive it, the types in order, and the arguments."""

    function: Callable[..., Any]
    types: tuple[type, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Stopped(BaseException):
    """Raised to end a call before a handler is called. A BaseException, so that no `except Exception` stops it."""


@functools.cache
def _stopping_mode() -> Any:
    overrides: Any = importlib.import_module("torch.overrides")

    class Stopping(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:  # fmt: skip
            self.found = FirstCall(func, tuple(types), tuple(args), {} if kwargs is None else kwargs)
            raise _Stopped

    return Stopping


def first_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> FirstCall | None:
    """Return the first dispatch in a call of one of PyTorch's overridable functions.

    The call is stopped there, by a mode, so that the answer is PyTorch's own and neither the function nor a type runs.
    Guards that are on do not count. None when it comes to an end without asking, in which case it did run.
    """
    mode = _stopping_mode()()
    mode.found = None
    with importlib.import_module("torch")._C._EnableTorchFunction(), contextlib.suppress(_Stopped), mode:
        function(*args, **kwargs)
    return mode.found  # type: ignore[no-any-return]


def watching_mode(begin: Callable[..., Any], ask: Callable[..., Any]) -> Any:
    """Return a mode of PyTorch that asks the types itself: see Note [Asking in PyTorch's place].

    `begin(func, types, args, kwargs)` is a context manager around each call. Its value is passed to `ask(yielded, kind,
    position, implementation, *arguments)`, which calls one implementation.
    """
    overrides: Any = importlib.import_module("torch.overrides")

    torch = importlib.import_module("torch")
    enabled = torch._C._is_torch_function_enabled
    # A function written in Python lists plain tensors as well, and dispatches to them if another operand overrides.
    plain = (torch.Tensor,)

    class Watching(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> Any:  # fmt: skip
            kwargs = {} if kwargs is None else kwargs
            # A property's getter lists the types even where they are not dispatched to.
            types = tuple(types) if enabled() else ()
            if types == plain:
                types = ()
            with begin(func, types, args, kwargs) as call:
                if not types:
                    return func(*args, **kwargs)
                operands = list(_operands((*args, *kwargs.values()), types))
                for kind in types:
                    position = next((i for i, value in enumerate(operands) if type(value) is kind), None)
                    if position is None:  # An operand in a place of its own, such as a field of an argument.
                        return func(*args, **kwargs)
                    with self:
                        implementation = operands[position].__torch_function__
                        result = ask(call, kind, operands[position], implementation, func, types, args, kwargs)
                    if result is not NotImplemented:
                        return result
                # The text of the error is PyTorch's.
                return func(*args, **kwargs)

    return Watching()


class TorchTrace:
    """A context in which a log records the calls of PyTorch's functions."""

    def __init__(self, log: TraceLog) -> None:
        torch_or_error("trace(api='torch')")
        self.overrides: Any = importlib.import_module("torch.overrides")
        self.log = log
        log.named = lambda function: (
            self.overrides.resolve_name(function) or getattr(function, "__name__", repr(function))
        )
        self._level = Level(log, None, 0)
        self._default = importlib.import_module("torch").Tensor.__torch_function__.__func__
        self._mode = watching_mode(self._begin, self._ask)

    @contextlib.contextmanager
    def _begin(self, func: Any, types: Any, args: Any, kwargs: Any) -> Iterator[WatchedCall]:
        operands = tuple(_operands((*args, *kwargs.values()), types))
        call = WatchedCall(func, operands, args, kwargs)
        call.implementation = not types
        before = self._level
        recorded = bool(types) or self.log.plain
        number = -1
        if recorded:
            number = self.log.begin()
            self._level = Level(self.log, number, before.depth + 1)
        try:
            yield call
        except BaseException as error:
            call.raised(error)
            raise
        finally:
            self._level = before
            if recorded:
                call.seconds = time.perf_counter() - call.start
                self.log.end(number, before.parent, before.depth, call)

    def _ask(self, call: WatchedCall, kind: type, operand: object, implementation: Any, *arguments: Any) -> Any:
        default = getattr(implementation, "__func__", None) is self._default
        try:
            return call.ask("inherited" if default else "type", kind, None, implementation, *arguments)
        finally:
            position = next(i for i, value in enumerate(call.operands) if value is operand)
            named = operand_names(call.function, call.args, call.kwargs)
            name = next((name for name, value in named if value is operand), "")
            call.asked[-1] = call.asked[-1]._replace(operand=name, position=position)

    def __enter__(self) -> TraceLog:
        self._mode.__enter__()
        return self.log

    def __exit__(self, *error: object) -> None:
        self._mode.__exit__(*error)
