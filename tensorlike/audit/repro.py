"""The smallest program that shows a fault: `tensorlike audit FILE_OR_MODULE:TYPE --repro FUNCTION`.

All sample calls of the function are made again. Of those that show the fault, the one with the smallest operands is
written down with literal arguments, and the program is run before it is printed.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.signature import POSITIONAL

from .arguments import Place, text_of
from .errors import AuditError
from .foreign import interrupted, let_through, name_of, process_restored
from .judging import AFTERWARDS, OF_OPERAND, Attempt
from .making import FROM_DENSE, TO_DENSE
from .model import AuditRow, ValueCheck
from .observed_calls import matching
from .outcomes import Outcome
from .parallel import Child, available_jobs
from .run import Auditor

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from .api import AuditedApi, AuditedFunction

_CANDIDATES = 12


class Making(NamedTuple):
    """How the command line was told to find the type and to make its instances."""

    module: types.ModuleType
    #: The folder that must be on the path for the import of the module; "" when it is installed.
    folder: str
    #: The type's name in the module, and the expressions of the options --make, --from-dense and --to-dense.
    name: str
    make: str | None
    from_dense: str | None
    to_dense: str | None


class _NotLiteral(Exception):
    """Raised for an argument that cannot be written as Python."""


class _Fault(NamedTuple):
    size: tuple[int, ...]
    program: str
    #: The name of the exception that it ends with.
    error: str


def repro(auditor: Auditor, making: Making, wanted: str) -> tuple[str, list[str]]:
    """Return a program that shows the worst fault of a function, and the other operands with which it has one.

    `wanted` is the function's name, or `NAME:OPERAND`. Raises AuditError when nothing is wrong with it, or no program
    shows it.
    """
    name, _, operand = wanted.partition(":")
    chosen = [f for f in matching(auditor.functions, (name,)) if operand in ("", *(p.name for p in f.parameters))]
    exact = [f for f in chosen if name in (f.name, f.name.partition(".")[2])]
    if not (exact or chosen):
        raise AuditError(f"no function that can be overridden is called {wanted!r}")
    rows = []
    with auditor.api.repeatable(), auditor.api.same_random_numbers():
        for function in exact or chosen:
            result = _in_a_process(lambda send, f=function: send("rows", _found(auditor, f)))  # type: ignore[misc]
            if isinstance(result, str):
                # Calls end the process: which one is found by writing each down before it is made.
                rows += [AuditRow(function.name, "", "", p.name, Outcome.RAISED, error=result)
                         for p in function.parameters if p.operand]  # fmt: skip
            else:
                rows += result["rows"]
        faulty = [row for row in rows if row.called and not row.passed and operand in ("", row.operand)]
        if not faulty:
            raise AuditError(f"nothing is wrong with {wanted}: {len(rows)} operands were tried")
        faulty.sort(key=lambda row: -row.severity)
        reasons = []
        for row in faulty:
            function = next(f for f in auditor.functions if f.name == row.function)
            program, reason = _program_for(auditor, making, function, row)
            if program is not None:
                return program, [f"{r.function}:{r.operand}" for r in faulty if r is not row]
            reasons.append(reason)
    raise AuditError(reasons[0])


def _found(auditor: Auditor, function: AuditedFunction) -> list[AuditRow]:
    return auditor.audit_function(function)


def _in_a_process(body: Callable[[Callable[..., None]], Any]) -> dict[str, Any] | str:
    """Return what `body` sends by name, from a forked process where there can be one; or how that process ended."""
    found: dict[str, Any] = {}
    if not available_jobs():
        body(found.__setitem__)
        return found

    def run(connection: Connection[Any, Any]) -> int:
        body(lambda name, value: connection.send((name, value)))
        connection.send(("finished", True))
        return 0

    child = Child(run)
    try:
        while True:
            name, value = child.connection.recv()
            found[name] = value
    except (EOFError, OSError):
        child.connection.close()
        how = child.reaped()
    except BaseException:
        child.stop()
        raise
    if found.pop("interrupted", False):
        interrupted()
    if found.pop("finished", False):
        return found
    if "failed" in found:
        raise AuditError(f"the program cannot be made: {found['failed']}")
    # Of calls that ended the process, the last one that was begun.
    return str(found["begun"]) if "begun" in found else how


def _program_for(auditor: Auditor, making: Making, function: AuditedFunction, row: AuditRow) -> tuple[str | None, str]:
    """Return the program for the fault of a row, or the reason why there is none."""

    def body(send: Callable[..., None]) -> None:
        writer = _Writer(auditor, making, function, row.operand)

        def begun(f: AuditedFunction, operand: str, attempt: Attempt) -> None:
            shown = AuditRow(f.name, "", "", operand, Outcome.RAISED, error="the call ends the process")
            with contextlib.suppress(_NotLiteral):
                send("begun", writer.program(shown, attempt))

        faults, reason = [], ""
        auditor.on_attempt = begun if available_jobs() else None
        for shown, attempt in auditor.faulty_attempts(function, row.operand):
            if row.severity > shown.severity and row.outcome is not shown.outcome:
                continue
            # Another fault than the one that the row is about comes last.
            other = (shown.outcome, shown.value, shown.attributes) != (row.outcome, row.value, row.attributes)
            size, error = (other, *_size(attempt, auditor.api)), shown.error_type or "AssertionError"
            try:
                if not shown.error_type and shown.value is not ValueCheck.DIFFERS and not shown.attributes:
                    # The signatures were compared; a call shows what is wrong.
                    programs = [writer.program(shown, attempt, p.parameter) for p in shown.signature]
                    faults += [_Fault(size, program, "TypeError") for program in programs]
                faults.append(_Fault(size, writer.program(shown, attempt), error))
            except _NotLiteral as error:
                reason = f"an argument cannot be written down: {error}"
        faults.sort()
        auditor.on_attempt = None
        for fault in faults[:_CANDIDATES]:
            if _error_of(fault.program) == fault.error:
                send("program", fault.program)
                return
        send("reason", reason)

    result = _in_a_process(body)
    if isinstance(result, str):
        return result, ""
    what = result.get("reason") or (row.faults[0] if row.faults else row.outcome.label)
    return result.get("program"), f"no single call shows this of {row.function}, {row.operand}: {what}"


def _size(attempt: Attempt, api: AuditedApi) -> tuple[int, ...]:
    elements = 0

    def count(value: object) -> None:
        nonlocal elements
        if isinstance(value, api.tensor):
            elements += int(np.prod(value.shape))  # type: ignore[attr-defined]
        elif isinstance(value, Mapping):
            for item in value.values():
                count(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                count(item)

    with contextlib.suppress(Exception):
        count([*attempt.call.args, *attempt.call.kwargs.values()])
    # Empty tensors are small, but say little.
    return elements == 0, len(attempt.args) + len(attempt.kwargs), elements


def _error_of(program: str) -> str:
    """Run a program and return the name of the exception that it ends with, or ""."""
    nowhere = io.StringIO()
    with process_restored(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        path = sys.path[:]
        try:
            exec(compile(program, "<repro>", "exec"), {"__name__": "__main__"})
        except BaseException as error:
            let_through(error)
            return name_of(type(error))
        finally:
            sys.path[:] = path
    return ""


class _Writer:
    """Writes programs for calls of one function with an instance as one operand."""

    def __init__(self, auditor: Auditor, making: Making, function: AuditedFunction, operand: str) -> None:
        self.auditor = auditor
        self.api = auditor.api
        self.making = making
        self.function = function
        self.operand = operand if operand.isidentifier() and operand not in ("result", "expected") else "operand"
        self.library = self.api.name
        self.instance: Any = None
        self.names = {function.key: function.name for function in auditor.functions}

    def program(self, row: AuditRow, attempt: Attempt, by_keyword: str = "") -> str:
        """Return the program for one call, which `row` judges; raise _NotLiteral when it cannot be written.

        The parameter `by_keyword` is passed by keyword, with its default if the call does not pass it.
        """
        api, making, library = self.api, self.making, self.library
        expressions = [e for e in (making.make, making.from_dense, making.to_dense) if e is not None]
        body = [f"{self.operand} = {self._instance(attempt)}", *self._carried(row, attempt)]
        body += [f"result = {self._call(attempt, by_keyword)}", *self._check(row, attempt)]
        text = "\n".join([*expressions, *body])
        root = making.name.partition(".")[0]
        known = {name for e in expressions for name in _names(e) if name in vars(making.module)} | {root}
        lines = ["import sys", f"sys.path.insert(0, {making.folder!r})"] if making.folder else []
        lines += ["import numpy as np"] if "np." in text and "np" not in known else []
        lines.append(f"import {library}")
        if any("tl" in _names(e) for e in expressions) and "tl" not in known:
            lines.append("import tensorlike as tl")
        known.discard(library)
        lines.append(f"from {making.module.__name__} import {', '.join(sorted(known))}")
        what = "\n".join(f"#   {fault}" for fault in row.faults) or f"#   {row.error}"
        head = f"# {row.function} with {making.name} as {row.operand!r}, {library} {api.version}:\n{what}"
        return "\n".join([head, *lines, "", *body]) + "\n"

    def _instance(self, attempt: Attempt) -> str:
        """Return the expression that makes the instance as the audit made it."""
        making, kind = self.making, self.auditor.kind
        if attempt.sample is None:
            if making.make is None:
                return f"{making.name}()"
            value = eval(making.make, {**vars(making.module), "tl": sys.modules["tensorlike"]})
            return f"({making.make})()" if callable(value) and not isinstance(value, kind) else making.make
        sample = self._literal(attempt.sample)
        if making.from_dense is not None:
            return f"({making.from_dense})({sample})"
        if hasattr(kind, FROM_DENSE):
            return f"{making.name}.{FROM_DENSE}({sample})"
        if attempt.sample.requires_grad:
            return f"{self.library}.Tensor._make_subclass({making.name}, {sample}, True)"
        return f"{sample}.as_subclass({making.name})"

    def _call(self, attempt: Attempt, by_keyword: str) -> str:
        self.instance = attempt.instance
        parts = [self._argument(value, (i,), attempt.place) for i, value in enumerate(attempt.args)]
        positional = [p.name for p in self.function.parameters if p.kind == POSITIONAL]
        if by_keyword in positional[: len(parts)]:
            first = positional.index(by_keyword)
            parts[first:] = [f"{name}={part}" for name, part in zip(positional[first:], parts[first:])]
        elif by_keyword and by_keyword not in attempt.kwargs:
            default = next((p.default for p in self.function.parameters if p.name == by_keyword), MISSING)
            if default is not MISSING:
                parts.append(f"{by_keyword}={self._literal(default)}")
        for name, value in attempt.kwargs.items():
            parts.append(f"{name}={self._argument(value, (name,), attempt.place)}")
        return f"{self._function()}({', '.join(parts)})"

    def _function(self) -> str:
        name, key = self.function.name, self.function.key
        with contextlib.suppress(AttributeError):
            found: Any = sys.modules[self.library]
            for part in name.split(".")[1:]:
                found = getattr(found, part)
            if found == key:
                return name
        raise _NotLiteral(f"{name} has no name of its own")

    def _argument(self, value: Any, here: Place, place: Place) -> str:
        if here == place or value is self.instance:
            return self.operand
        if here != place[: len(here)]:
            return self._literal(value)
        # A sequence with the instance in it.
        parts = [self._argument(item, (*here, index), place) for index, item in enumerate(value)]
        return f"[{', '.join(parts)}]" if isinstance(value, list) else f"({', '.join(parts)},)"

    def _carried(self, row: AuditRow, attempt: Attempt) -> list[str]:
        """Return the lines that keep what the operand carries, where that is what is lost."""
        if not row.attributes:
            return []
        one, value = next((one, value) for one, value in attempt.carried if row.attributes.startswith(f"{one.name} "))
        lines = [f"{self.operand}.{one.name} = {value!r}"] if attempt.marked and one.declared else []
        return [*lines, f"carried = {self._read(one.name, self.operand)}"]

    def _read(self, name: str, what: str) -> str:
        """Return the expression that reads what `metadata` names of an instance."""
        simple = name.isidentifier()
        return f"getattr({what}, {name!r}, None)" if simple else f"({name})({what})"

    def _check(self, row: AuditRow, attempt: Attempt) -> list[str]:
        """Return the lines that compare the result with what is expected."""
        expected = f"# Plain tensors give {text_of(attempt.expected)}"
        lines = []
        if row.outcome is Outcome.TYPE_LOST:
            found = f"isinstance(result, {self.making.name})"
            if isinstance(attempt.expected, (list, tuple)):
                found = f"any(isinstance(r, {self.making.name}) for r in result)"
            lines.append(f"assert {found}, type(result)")
        elif row.left_out:
            lines.append("assert result is not NotImplemented, result")
        if row.attributes:
            where = row.attributes.partition(" is ")[0]
            name = where.removesuffix(OF_OPERAND)
            one = "r" if isinstance(attempt.expected, (list, tuple)) else "result"
            read = self._read(name, one if name == where else self.operand)
            lines.append(f"assert {read} == carried" if one == "result" else
                         f"assert all({read} == carried for r in result)")  # fmt: skip
        if row.value is not ValueCheck.DIFFERS:
            return [expected, *lines]
        afterwards = row.difference.startswith(AFTERWARDS)
        value = attempt.written if afterwards else attempt.expected
        lines.append(f"expected = {self._literal(value)}  # as plain tensors give")
        lines.append(self._compared(self._dense(self.operand if afterwards else "result", value), value))
        return lines

    def _compared(self, found: str, value: object) -> str:
        if isinstance(value, (str, type(None))):
            return f"assert {found} == expected, {found}"
        return f"{self.library}.testing.assert_close({found}, expected, equal_nan=True)"

    def _dense(self, name: str, like: object) -> str:
        making, kind = self.making, self.auditor.kind
        if making.to_dense is not None:
            function = f"({making.to_dense})"
        elif hasattr(kind, TO_DENSE):
            function = f"{making.name}.{TO_DENSE}"
        else:
            function = f"{self.library}.Tensor.as_subclass"
        plain = "" if not function.endswith(".as_subclass") else f", {self.library}.Tensor"
        if isinstance(like, (list, tuple)):
            each = f"{function}(r{plain}) if isinstance(r, {making.name}) else r"
            kind_of = "tuple" if isinstance(like, tuple) else "list"
            return f"{kind_of}({each} for r in {name})"
        return f"{function}({name}{plain}) if isinstance({name}, {making.name}) else {name}"

    def _literal(self, value: Any) -> str:
        """Return an argument as Python; raise _NotLiteral for one that has no literal."""
        api, library = self.api, self.library
        kind = type(value)
        if kind is api.tensor:
            return self._tensor(value)
        if isinstance(value, np.ndarray):
            return f"np.array({self._numbers(value)}, dtype={str(value.dtype)!r})"
        if value is None or value is Ellipsis or kind in (bool, int, str, bytes):
            return "..." if value is Ellipsis else repr(value)
        if kind in (float, complex):
            return self._number(value)
        if kind is list:
            return f"[{', '.join(map(self._literal, value))}]"
        if kind is tuple:
            return f"({', '.join(map(self._literal, value))}{',' if len(value) == 1 else ''})"
        if kind is dict:
            return "{" + ", ".join(f"{self._literal(k)}: {self._literal(v)}" for k, v in value.items()) + "}"
        if kind is slice:
            return f"slice({self._literal(value.start)}, {self._literal(value.stop)}, {self._literal(value.step)})"
        if kind.__module__.partition(".")[0] == library:
            if kind.__name__ == "Size":
                return f"{library}.Size({list(value)})"
            if isinstance(value, tuple):
                # Several results, which are compared one by one.
                return self._literal(tuple(value))
            if kind.__name__ == "device":
                return f"{library}.device({str(value)!r})"
            if kind.__name__ == "dtype":
                return f"{library}.{repr(value).rpartition('.')[2]}"
            if kind.__name__ == "Generator":
                return f"{library}.Generator().manual_seed({value.initial_seed()})"
        if kind.__module__ == "torch" and kind.__name__ in ("dtype", "memory_format", "layout"):
            return str(value)
        if value is api.tensor:
            return f"{library}.Tensor"
        with contextlib.suppress(TypeError):
            if value in self.names:
                return self.names[value]
        raise _NotLiteral(text_of(value, 60))

    def _tensor(self, tensor: Any) -> str:
        array = self.api.array(tensor)
        dtype = repr(tensor.dtype).rpartition(".")[2]
        grad = ", requires_grad=True" if tensor.requires_grad else ""
        if str(getattr(tensor, "layout", "strided")).rpartition(".")[2] not in ("strided", ""):
            raise _NotLiteral("a sparse tensor")
        if not array.size:
            return f"{self.library}.zeros({array.shape}, dtype={self.library}.{dtype}{grad})"
        return f"{self.library}.tensor({self._numbers(array)}, dtype={self.library}.{dtype}{grad})"

    def _numbers(self, array: Any) -> str:
        if array.dtype.kind not in "biufc":
            if array.dtype.kind == "V" or not np.can_cast(array.dtype, np.float64):
                raise _NotLiteral(f"an array of {array.dtype}")
            array = array.astype(np.float64)

        def written(values: object) -> str:
            if isinstance(values, list):
                return f"[{', '.join(map(written, values))}]"
            return self._number(values)

        if array.dtype == np.float32 and array.size:
            # The shortest numbers that are these in float32.
            array = np.array([float(str(value)) for value in array.ravel()]).reshape(array.shape)
        return written(array.tolist())

    def _number(self, value: object) -> str:
        if isinstance(value, complex):
            if math.isfinite(value.real) and math.isfinite(value.imag):
                return repr(value)
            return f"complex({self._number(value.real)}, {self._number(value.imag)})"
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return repr(value)


def _names(expression: str) -> set[str]:
    """Return the names that an expression looks up."""

    def walk(code: types.CodeType) -> Iterator[str]:
        yield from code.co_names
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from walk(constant)

    return set(walk(compile(expression, "<option>", "eval")))
