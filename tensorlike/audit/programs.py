"""Running the everyday programs with a type: passed, failed at a line of the program, or not applicable.

# Note [Where a program applies]
A program needs instances made of tensors, and what it declares: gradients that flow through an instance, methods, an
importable class for pickle. Where the type has no such thing, or cannot hold a tensor of the program, the program does
not apply, and its row says why. A type that could and does not has failed.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import inspect
import io
import linecache
import pickle
import warnings
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from .api import AuditedApi
from .arguments import copied, difference, mapped, text_of
from .everyday_programs import PROGRAMS, Program
from .failures import is_deliberate
from .foreign import described, let_through, mro_of, name_of, process_restored, qualified_name, text_of_error

__all__ = ["PROGRAMS", "Program", "Ran", "Runner", "quiet", "refused_by_python"]


class Ran(NamedTuple):
    """The outcome of a program. With no reason, no error and no difference it has passed."""

    #: Why the program does not apply.
    reason: str = ""
    error: BaseException | None = None
    #: Whether the error is a refusal: the type meant it, or has no such method.
    refused: bool = False
    #: How the result differs from that of plain tensors; None where it was not compared.
    difference: str | None = None
    #: The line of the program that failed.
    line: str = ""
    result: Any = None

    @property
    def passed(self) -> bool:
        """Whether the program ran and gave what plain tensors give."""
        return not (self.reason or self.error is not None or self.difference)


class _CannotHold(BaseException):
    """Raised through a program when no instance can be made of one of its tensors."""


class Runner:
    """Runs programs with instances of `kind`, which `make(tensor)` makes and `dense(instance)` reads."""

    def __init__(
        self,
        kind: type,
        make: Callable[[Any], Any],
        dense: Callable[[Any], Any] | None,
        api: AuditedApi,
        *,
        lacks: frozenset[str] = frozenset(),
    ) -> None:
        self.kind = kind
        self.make = make
        self.dense = dense
        self.api = api
        self.lacks = lacks
        self._library = importlib.import_module(api.name)
        for name in ("func", "overrides", "nn", "optim", "utils.data"):
            importlib.import_module(f"{api.name}.{name}")
        self._without_gradient: str | None = None

    def run(self, program: Program) -> Ran:
        """Run a program with plain tensors and with instances, and compare."""
        reason = self._inapplicable(program)
        if reason:
            return Ran(reason)
        try:
            expected = self._called(program, self._plain)
        except _CannotHold as error:
            return Ran(f"no instance for a tensor of the program: {error}")
        except Exception as error:
            return Ran(f"not with plain tensors: {described(error)}")
        try:
            actual = self._called(program, self._made)
        except _CannotHold as error:
            return Ran(f"no instance for a tensor of the program: {error}")
        except BaseException as error:
            let_through(error)
            local = "<locals>" in qualified_name(self.kind)
            if "pickle" in program.needs and local and isinstance(error, (AttributeError, pickle.PicklingError)):
                return Ran(f"{name_of(self.kind)} is defined in a function, so that it cannot be pickled")
            refused = self._is_refused(error)
            return Ran(error=error, refused=refused, line=_line(error, program) or _last_line(program))
        if self.dense is None:
            return Ran(result=actual)
        try:
            with quiet():
                dense = mapped(actual, self.dense, self.kind)
                found = self._difference(expected, dense)
        except BaseException as error:
            let_through(error)
            found = f"to_dense raises {described(error)}"
        return Ran(difference=found, line=_last_line(program) if found else "", result=actual)

    def _called(self, program: Program, make: Callable[[Any], Any]) -> Any:
        with self.api.same_random_numbers(), process_restored(), quiet():
            return contextvars.copy_context().run(program.run, self._library, make)

    def _made(self, tensor: Any) -> Any:
        try:
            made = self.make(tensor)
        except BaseException as error:
            let_through(error)
            raise _CannotHold(described(error)) from None
        if made is NotImplemented:
            raise _CannotHold("make_operand returns NotImplemented")
        return made

    def _plain(self, tensor: Any) -> Any:
        """Return the value of an instance of a tensor, which may be a rounded one, as a plain tensor of its own."""
        if self.dense is None:
            return tensor
        made = self._made(tensor)
        try:
            return copied(self.dense(made), self.api)
        except BaseException as error:
            let_through(error)
            raise _CannotHold(f"to_dense raises {described(error)}") from None

    def _inapplicable(self, program: Program) -> str:
        """Return why a program does not apply to the type, "" where it does."""
        for feature, reason in (
            ("methods", f"{name_of(self.kind)} says that it has no methods"),
            ("gradients", "gradients = False"),
            ("inplace", "inplace = False"),
            ("pickle", "pickle = False"),
            ("deepcopy", "deepcopy = False"),
        ):
            if feature in program.needs & self.lacks:
                return reason
        if "subclass" in program.needs and not issubclass(self.kind, self.api.tensor):
            return "such a function takes subclasses of Tensor alone"
        if "gradients" in program.needs:
            if self._without_gradient is None:
                self._without_gradient = self._missing_gradient()
            return self._without_gradient
        return ""

    def _missing_gradient(self) -> str:
        """Return why no gradient flows through an instance, "" where it does."""
        if self.dense is None:
            return "it is not known whether gradients flow: there is no to_dense"
        leaf = self.api.tensor_of(np.ones(2, dtype=np.float32))
        try:
            with quiet():
                flows = self.dense(self.make(leaf.requires_grad_())).requires_grad
        except BaseException as error:
            let_through(error)
            flows = False
        return "" if flows else "gradients do not flow through an instance"

    def _is_refused(self, error: BaseException) -> bool:
        text = text_of_error(error)
        if isinstance(error, TypeError) and any(words in text for words in self.api.nobody_answered):
            return True
        return is_deliberate(error, self.api) or refused_by_python(error, self.kind, _is_of_programs)

    def _difference(self, expected: object, actual: object, where: str = "") -> str | None:
        """Return how a result differs, containers of all kinds opened."""
        if isinstance(expected, dict):
            if not isinstance(actual, dict) or expected.keys() != actual.keys():
                return f"{where}{text_of(actual, 60)}, expected {text_of(expected, 60)}"
            parts = [self._difference(value, actual[key], f"{where}[{key!r}] ") for key, value in expected.items()]
        elif isinstance(expected, (list, tuple)):
            if not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
                return f"{where}{text_of(actual, 60)}, expected {text_of(expected, 60)}"
            parts = [self._difference(e, a, f"{where}[{n}] ") for n, (e, a) in enumerate(zip(expected, actual))]
        elif isinstance(expected, (str, bool)) or expected is None:
            same = type(actual) is type(expected) and actual == expected
            return "" if same else f"{where}{text_of(actual, 60)}, expected {expected!r}"
        else:
            return difference(expected, actual, self.api, where=where)
        return next((part for part in parts if part), "")


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what code prints, and its warnings, from the user."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


_FILE = next(iter(PROGRAMS.values())).run.__code__.co_filename


def _is_of_programs(code: CodeType) -> bool:
    return code.co_filename == _FILE


def refused_by_python(error: BaseException, kind: type, is_caller: Callable[[CodeType], bool]) -> bool:
    """Return whether Python itself refused what code asked of an instance: there is no such attribute or operator.

    `is_caller(code)` tells the code that asked: the error comes from there, and from nothing that it called.
    """
    if isinstance(error, AttributeError):
        return _is_instance(getattr(error, "obj", None), kind)
    traceback = error.__traceback__
    if not isinstance(error, TypeError) or traceback is None:
        return False
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return is_caller(traceback.tb_frame.f_code)


def _is_instance(value: object, kind: type) -> bool:
    # `isinstance` asks a `__class__` that the type may define.
    return kind in mro_of(type(value))


def _line(error: BaseException, program: Program) -> str:
    """Return the line of a program at which an exception left it."""
    codes = set(_codes(program.run.__code__))
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return linecache.getline(_FILE, traceback.tb_lineno).strip()
        traceback = traceback.tb_next
    return ""


def _last_line(program: Program) -> str:
    return inspect.getsource(program.run).rstrip().rpartition("\n")[2].strip()
