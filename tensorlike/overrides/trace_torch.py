"""Watching the dispatches of PyTorch, for traces and audits of types written against it.

# Note [Asking in PyTorch's place]
A mode of PyTorch is off while it answers, so that it would not see the calls inside an implementation. Here it asks the
types itself, in the order that PyTorch gives, and is on again meanwhile.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator
from typing import Any

from tensorlike.dispatch.tracing import Level, WatchedCall

from .trace_log import TraceLog

__all__ = ["TorchTrace", "torch_or_error", "watching_mode"]


def torch_or_error(what: str) -> Any:
    """Return PyTorch's module, or raise ImportError saying what it is needed for."""
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


def watching_mode(begin: Any, ask: Any) -> Any:
    """Return a mode of PyTorch that asks the types itself: see Note [Asking in PyTorch's place].

    `begin(func, types, args, kwargs)` is a context manager around each call. What it yields is handed on to
    `ask(yielded, kind, position, implementation, *arguments)`, which calls one implementation.
    """
    overrides: Any = importlib.import_module("torch.overrides")

    enabled = importlib.import_module("torch")._C._is_torch_function_enabled

    class Watching(overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = {} if kwargs is None else kwargs
            # A property's getter names the types even where they are not to be asked.
            types = tuple(types) if enabled() else ()
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
                # The words of the error are PyTorch's.
                return func(*args, **kwargs)

    return Watching()


class TorchTrace:
    """A context in which a log records the calls of PyTorch's functions."""

    def __init__(self, log: TraceLog) -> None:
        torch_or_error("trace(api='torch')")
        self.overrides: Any = importlib.import_module("torch.overrides")
        self.log = log
        log.named = lambda function: self.overrides.resolve_name(function) or getattr(
            function, "__name__", repr(function)
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
            call.error = error
            raise
        finally:
            self._level = before
            if recorded:
                call.seconds = time.perf_counter() - call.start
                self.log.end(number, before.parent, before.depth, call)

    def _ask(self, call: WatchedCall, kind: type, operand: Any, implementation: Any, *arguments: Any) -> Any:
        default = getattr(implementation, "__func__", None) is self._default
        position = next(i for i, value in enumerate(call.operands) if value is operand)
        return call.ask("inherited" if default else "type", kind, position, implementation, *arguments)

    def __enter__(self) -> TraceLog:
        self._mode.__enter__()
        return self.log

    def __exit__(self, *error: Any) -> None:
        self._mode.__exit__(*error)
