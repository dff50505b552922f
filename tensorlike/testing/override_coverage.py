"""The recorder of override coverage: counts of the calls dispatched to a tensor-like type in a test run.

# Note [What recording costs]
The type's `__torch_function__` is replaced once, and a call adds one to a counter whose key holds the function and the
*types* of its arguments. The operand is found at the end, once for each key. Calls in which no operand is of the type
are not touched at all. PyTorch looks the method up on the type as well, so the same works for types written against it:
a mode would see every call of its functions, those of plain tensors included.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

from tensorlike.dispatch.signature import KEYWORD, VARIADIC, Parameter
from tensorlike.overrides.writing import TensorLike

from .covered_functions import functions_for
from .handler_lines import Handler, LineTracer, handlers_of
from .implemented_functions import rules_of

ANSWERED, NOT_IMPLEMENTED, RAISED = "answered", "NotImplemented", "raised"

#: One line of the data that workers send: function, operand, outcome, type of the result, context, count.
Count = tuple[str, str, str, str, str, int]


class _Outcome(NamedTuple):
    outcome: str
    result: str


class Recorder:
    """Counts the calls that reach one type, from `install` to `uninstall`.

    `api` is the library for which a type is written that is no subclass of its Tensor.
    """

    def __init__(self, kind: type, api: str = "tensorlike") -> None:
        self.functions = functions_for(kind, api)
        self.functions.check(kind)
        self.kind = kind
        #: What the type implements: read before its `__torch_function__` is replaced.
        self.rules = rules_of(kind, self.functions)
        self.paused = False
        #: What traces the lines of the type's handlers, if anything does.
        self.lines: LineTracer | None = None
        self._contexts: dict[str, dict[Any, int]] = {}
        self.context = ""

    @property
    def context(self) -> str:
        """The name under which calls are counted, such as that of a test."""
        return self._context

    @context.setter
    def context(self, name: str) -> None:
        self._context = name
        self._counts = self._contexts.setdefault(name, {})

    def handlers(self) -> list[Handler]:
        """Return the handlers of the type, whose source a report shows. To be called before `install`."""
        return handlers_of(self.kind, (self.functions.tensor, TensorLike))

    def install(self) -> None:
        """Start counting."""
        kind: Any = self.kind
        own = kind.__dict__.get("__torch_function__")
        recorder = self

        def answered(
            ask: Callable[..., Any], func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...],
            kwargs: dict[str, Any],
        ) -> Any:  # fmt: skip
            if recorder.paused:
                return ask(func, types, args) if kwargs is None else ask(func, types, args, kwargs)
            # Values are not kept: a recorder must not keep tensors alive. Sequences are opened, as dispatch does.
            kinds = tuple([type(v) if type(v) is not list and not isinstance(v, tuple) else _types(v) for v in args])
            named = tuple([(name, _types((v,))) for name, v in kwargs.items()]) if kwargs else ()
            counts = recorder._counts
            if recorder.lines is not None:
                ask = partial(recorder.lines.traced, func, ask)
            try:
                # Where PyTorch passes no keywords, the default of the implementation's own signature holds.
                result = ask(func, types, args) if kwargs is None else ask(func, types, args, kwargs)
            except BaseException as error:
                key: Any = (func, kinds, named, (type(error),))
                counts[key] = counts.get(key, 0) + 1
                raise
            key = (func, kinds, named, NotImplemented if result is NotImplemented else type(result))
            counts[key] = counts.get(key, 0) + 1
            return result

        if inspect.isfunction(own):  # A plain method, which is deprecated, is called on its instance.

            def asked(self: Any, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
                return answered(own.__get__(self), func, types, args, kwargs)

            replacement: Any = asked
        elif own is not None:
            bound = own if hasattr(own, "__get__") else staticmethod(own)  # A callable object is called as it is.

            def asked_class(cls: Any, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
                return answered(bound.__get__(None, cls), func, types, args, kwargs)

            replacement = classmethod(asked_class)
        else:
            inherited = self.functions.inherited(kind)

            def asked_above(cls: Any, func: Any, types: Iterable[type], args: Any = (), kwargs: Any = None) -> Any:
                return answered(partial(inherited, cls), func, types, args, kwargs)

            _STAND_INS.add(asked_above.__code__)
            replacement = classmethod(asked_above)
        self._own = own
        kind.__torch_function__ = replacement
        self.functions.forget()

    def uninstall(self) -> None:
        """Give the type its own `__torch_function__` back."""
        kind: Any = self.kind
        if self._own is None:
            del kind.__torch_function__
        else:
            kind.__torch_function__ = self._own
        self.functions.forget()

    def counts(self) -> list[Count]:
        """Return the counts so far, sorted, independent of the order of calls."""
        found: Counter[tuple[str, str, str, str, str]] = Counter()
        for context, counts in list(self._contexts.items()):
            for (function, args, kwargs, outcome), times in list(counts.items()):
                told = _told(outcome)
                listed = self.functions.parameters(function)
                name, parameters = (self.functions.named(function), ()) if listed is None else listed
                for operand in self._operands(parameters, args, kwargs) or ("",):
                    found[(name, operand, told.outcome, told.result, context)] += times
        return [(*key, times) for key, times in sorted(found.items())]

    def _operands(
        self, parameters: Sequence[Parameter], args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]
    ) -> list[str]:
        """Return the names of the parameters that held an instance."""
        positional = [p for p in parameters if p.kind != KEYWORD]
        names: list[str] = []
        for index, kinds in enumerate(args):
            if self._inside(kinds):
                if index < len(positional):
                    names.append(positional[index].name)
                elif positional and positional[-1].kind == VARIADIC:
                    names.append(positional[-1].name)
                else:
                    names.append(f"argument {index + 1}")
        names += [name for name, kinds in kwargs if self._inside(kinds)]
        return list(dict.fromkeys(names))

    def _inside(self, kinds: Any) -> bool:
        if isinstance(kinds, tuple):
            return any(map(self._inside, kinds))
        return issubclass(kinds, self.kind)


#: The code of the substitute for an inherited `__torch_function__` while a Recorder is installed.
_STAND_INS: set[CodeType] = set()


def inherits_default(kind: type, default: CodeType) -> bool:
    """Return whether a type inherits Tensor's own `__torch_function__`, ignoring a Recorder's substitute."""
    for owner in kind.__mro__:
        found = owner.__dict__.get("__torch_function__")
        code = getattr(getattr(found, "__func__", found), "__code__", None)
        if found is not None and code not in _STAND_INS:
            return code is default
    return False


def _types(values: Iterable[Any]) -> tuple[Any, ...]:
    # Once each, so that long sequences of many lengths do not pile up in the keys.
    kinds = [type(v) if type(v) is not list and not isinstance(v, tuple) else _types(v) for v in values]
    return tuple(dict.fromkeys(kinds))


def _told(outcome: Any) -> _Outcome:
    if outcome is NotImplemented:
        return _Outcome(NOT_IMPLEMENTED, "")
    if isinstance(outcome, tuple):
        return _Outcome(RAISED, outcome[0].__name__)
    return _Outcome(ANSWERED, outcome.__name__)
