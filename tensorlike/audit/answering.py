"""Finding the function that answered a call, by a profile function while the type's implementation runs.

# Note [What a trace looks for]
The implementation (`__torch_function__` of the type and of its bases) is known by its code. While it runs,

- a call of the same function, or of another form of it, without any instance among its arguments is a *fallback*; what
  a policy of the library does is told apart: see Note [Own rule or through a plain tensor];
- Tensor's own `__torch_function__` running with the same function means that the *default* answered;
- the *answering function* is the outermost Python function of the user's that was handed all arguments of the call, in
  order, and whose result is what the implementation returned. Converters such as `to_tensor(args[0])` fail the second
  test, dispatching helpers that take `args` as a tuple the first. A decorator's `wrapper(*args, **kwargs)` is passed
  over for the function inside it.

Functions such as `contiguous()` and `abs_()` return the operand itself, so that a function called with their result
seems to have got all arguments and to have answered. Two facts reveal such a helper: the function was computed before
it was called and not while it ran; and it returns its only argument. A function that answers and does so too only
misses the comparison of signatures: its calls with other arguments are made all the same.
"""

from __future__ import annotations

import inspect
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from tensorlike.dispatch.operation import form_of
from tensorlike.overrides.policies import rewrap, to_dense

from .foreign import mro_of

if TYPE_CHECKING:
    from .api import AuditedApi, AuditedFunction

#: The library's policies that answer by calling the function on plain tensors, by the identity of their code.
_POLICIES = frozenset(id(type(policy).__call__.__code__) for policy in (rewrap, to_dense))
_VARARGS, _VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS


def handlers_of(kind: type, api: AuditedApi) -> dict[int, type]:
    """Return the classes that define `__torch_function__`, by the identity of the code; Tensor's own is left out."""
    found: dict[int, type] = {}
    for owner in reversed(mro_of(kind)):
        raw = owner.__dict__.get("__torch_function__")
        function = getattr(raw, "__func__", raw)
        for candidate in (function, inspect.unwrap(function) if callable(function) else None):
            code = getattr(candidate, "__code__", None)
            if code is not None and code is not api.default_implementation:
                found[id(code)] = owner
    return found


def is_watched(kind: type, handlers: dict[int, type]) -> bool:
    """Return whether a trace sees calls of the handler of `kind`: its implementation is Python code and no one else's
    default.
    """
    defined = (vars(owner)["__torch_function__"] for owner in mro_of(kind) if "__torch_function__" in vars(owner))
    raw = next(defined, None)
    function = getattr(raw, "__func__", raw)
    return id(getattr(function, "__code__", None)) in handlers


class Answering:
    """The Python function that answered: its code, where its own parameters begin, and the values they had."""

    __slots__ = ("code", "computed", "result", "skip", "values")

    def __init__(self, code: CodeType, skip: int, values: dict[str, Any]) -> None:
        self.code = code
        self.skip = skip
        self.values = values
        self.result: Any = None
        #: The number of times that the audited function itself was computed while it ran.
        self.computed = 0

    @property
    def accepts_anything(self) -> bool:
        """Whether it takes `*args, **kwargs` and nothing else, as decorators do."""
        names = self.code.co_argcount + self.code.co_kwonlyargcount
        both = _VARARGS | _VARKEYWORDS
        return names <= self.skip and self.code.co_flags & both == both

    def where(self) -> str:
        """Return its name, file and line."""
        file = self.code.co_filename.replace("\\", "/").rpartition("/")[2]
        return f"{self.code.co_qualname} ({file}:{self.code.co_firstlineno})"


class _Handler:
    __slots__ = ("frame", "owner", "same")

    def __init__(self, frame: FrameType, owner: type, same: bool) -> None:
        self.frame = frame
        self.owner = owner
        #: Whether it answers the audited function, not another one that the implementation calls.
        self.same = same


class Trace:
    """A profile function for one call of `function` with the arguments `args` and `kwargs`."""

    def __init__(
        self,
        api: AuditedApi,
        kind: type,
        handlers: dict[int, type],
        function: AuditedFunction,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.api = api
        self.kind = kind
        self.handlers = handlers
        self.function = function
        form = form_of(function.key)
        #: The functions that types may receive: an operator of a plain tensor is reported as its method.
        self._keys = [function.key] if form is None or form.plain_form is None else [function.key, form.plain_form.key]
        self.arguments = [*args, *kwargs.values()]
        #: Whether the handler of the type was called; some functions of PyTorch overlook an operand.
        self.asked = False
        #: The classes whose implementations were asked for an answer to this function.
        self.asked_types: set[type] = set()
        self.fell_back = False
        self.by_policy = False
        self.default_answered = False
        self.refused = False
        self.owner: type | None = None
        self.answering: Answering | None = None
        self._stack: list[_Handler] = []
        self._candidates: list[tuple[FrameType, Answering]] = []
        self._returned: list[Answering] = []
        self._answers: list[tuple[type, Any]] = []
        self._default: FrameType | None = None
        #: Calls of the audited function while the implementation runs, and how many implementations ran by then.
        self._running: list[tuple[FrameType, int]] = []
        self._computed = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            self._entered(frame)
        elif event == "return":
            self._left(frame, arg)

    def _same_function(self, frame: FrameType) -> bool:
        code, values = frame.f_code, frame.f_locals
        if any(self._is_key(values.get(name)) for name in code.co_varnames[: min(code.co_argcount, 3)]):
            return True
        given = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & _VARARGS else ""
        return any(map(self._is_key, values.get(given, ())))

    def _is_key(self, value: object) -> bool:
        # Operands are never compared: `==` of a tensor-like type is a call of its own.
        return any(type(value) is type(key) and value == key for key in self._keys)

    def _entered(self, frame: FrameType) -> None:
        code = frame.f_code
        owner = self.handlers.get(id(code))
        if owner is not None:
            self.asked = True
            same = self._same_function(frame)
            if same:
                self.asked_types.add(owner)
            self._stack.append(_Handler(frame, owner, same))
            return
        if not self._stack:
            return
        if id(code) in _POLICIES:
            self.by_policy = self.by_policy or self._same_function(frame)
            return
        if code is self.api.default_implementation:
            if self._default is None and self._same_function(frame):
                self._default = frame
            return
        called = self.api.called_in(frame)
        if called is not None:
            if self._noted(*called):
                self._running.append((frame, len(self._stack)))
        elif not self.api.is_own_code(code):
            found = self._handed_everything(frame)
            if found is not None:
                self._candidates.append((frame, found))

    def called(self, family: object, arguments: list[Any]) -> None:
        """Note that a function of `family` was called, where there is no frame to tell when it returns."""
        if self._noted(family, arguments):
            self._count()

    def _noted(self, family: object, arguments: list[Any]) -> bool:
        """Return whether the audited function, or a form of it, was called while the implementation runs."""
        # Inside the default implementation, or another call of it, the function may well use itself on plain tensors.
        if not self._stack or family is not self.function.family or self._default is not None:
            return False
        if self._running and self._running[-1][1] == len(self._stack):
            return False
        if not self._has_instance(arguments):
            self.fell_back = True
        return True

    def _count(self) -> None:
        self._computed += 1
        for _, candidate in self._candidates:
            candidate.computed += 1

    def _left(self, frame: FrameType, result: object) -> None:
        if frame is self._default:
            self._default = None
            self.default_answered = result is not NotImplemented
            self._count()
        elif self._running and self._running[-1][0] is frame:
            self._running.pop()
            self._count()
        elif self._candidates and self._candidates[-1][0] is frame:
            _, candidate = self._candidates.pop()
            candidate.result = result
            self._returned.append(candidate)
        elif self._stack and self._stack[-1].frame is frame:
            handler = self._stack.pop()
            if not handler.same:
                return
            # The innermost one comes first: `super().__torch_function__` returns before its caller.
            self._answers.append((handler.owner, result))
            if not self._stack:
                self.refused = result is NotImplemented
                # None may be a function that raises.
                self.owner = next(o for o, r in self._answers if r is result or not (r is None or r is NotImplemented))
                self._choose(result)

    def _choose(self, result: object) -> None:
        matching = [c for c in self._returned if c.result is result and c.computed == self._computed]
        if len(self.arguments) == 1 and result is self.arguments[0]:
            matching = []
        # Inner functions return first, so that the last one is the outermost.
        for candidate in reversed(matching):
            if not candidate.accepts_anything:
                self.answering = candidate
                return
        if matching:
            self.answering = matching[0]

    def _has_instance(self, values: Any) -> bool:
        for value in values:
            if isinstance(value, self.kind):
                return True
            if isinstance(value, (list, tuple)) and self._has_instance(value):
                return True
        return False

    def _handed_everything(self, frame: FrameType) -> Answering | None:
        code = frame.f_code
        if code.co_name in ("__new__", "__init__"):  # It makes an instance of an answer and computes none.
            return None
        values = frame.f_locals
        names = code.co_varnames[: code.co_argcount]
        handed = [values.get(name) for name in names]
        end = code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & _VARARGS:
            handed += values.get(code.co_varnames[end], ())
        named = [values.get(name) for name in code.co_varnames[code.co_argcount : end]]
        if code.co_flags & _VARKEYWORDS:
            named += values.get(code.co_varnames[end + bool(code.co_flags & _VARARGS)], {}).values()
        wanted = self.arguments
        for skip in (0, 1):  # a method of a helper object, or a classmethod, has its own first parameter
            got = handed[skip:]
            if all(any(w is g for g in (*got, *named)) for w in wanted) and (
                not wanted or any(w is g for w, g in zip(wanted[:1], got[:1]))
            ):
                kept = {n: values[n] for n in code.co_varnames[:end] if n in values}
                return Answering(code, skip, kept)
        return None

    def close(self) -> None:
        """Release the frames, which keep every local variable alive."""
        self._stack.clear()
        self._candidates.clear()
        self._returned.clear()
        self._answers.clear()
        self._running.clear()
        self._default = None
        self.arguments = []
