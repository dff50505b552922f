"""The lines and branches of `__torch_function__` that calls take, for the source in reports of override coverage.

# Note [Tracing handlers alone]
Only the frames of a type's handlers are traced, so that a test run is about as fast as without. Since Python 3.12
`sys.monitoring` sends the events of single code objects, beside any other tool. Python 3.11 has one place for a tracer:
it is taken for the duration of a call, and only where it is empty, so that coverage.py and debuggers keep theirs.

# Note [Which way a branch went]
Both tell of a jump from one instruction to another. The syntax tree says to which `if`, loop or `case` the first one
belongs; whether the body follows at the other one says which way the condition went.
"""

from __future__ import annotations

import abc
import ast
import dis
import functools
import inspect
import linecache
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from tensorlike.overrides.writing import registered_implementations

#: The file and the first line of a handler.
Place = tuple[str, int]
#: What workers send: file and first line of the handler, line, column and outcome of a branch (-1 and 0 for a line),
#: function, context, count.
Hit = tuple[str, int, int, int, int, str, str, int]

_NO_COLUMN = -1


class Branch(NamedTuple):
    """A statement or expression that goes one of two ways."""

    line: int
    column: int
    kind: str

    def never(self, outcome: bool) -> str:
        """Return the words for an outcome that no call took."""
        if self.kind == "for":
            return "the loop was never entered" if outcome else "the loop never ran to its end"
        what = "the pattern never matched" if self.kind == "case" else "the condition was never true"
        if outcome:
            return what
        return "the pattern always matched" if self.kind == "case" else "the condition was never false"


class _Span(NamedTuple):
    start: tuple[int, int]
    end: tuple[int, int]

    def holds(self, other: _Span) -> bool:
        return self.start <= other.start and other.end <= self.end


class _Fork(NamedTuple):
    """A branch in the syntax tree: the whole, its conditions and its body."""

    branch: Branch
    whole: _Span
    tests: tuple[_Span, ...]
    body: _Span


class _Jump(NamedTuple):
    """A conditional jump: the offsets that follow it in memory, and which way the branch went there and elsewhere."""

    branch: Branch
    next: frozenset[int]
    at_next: bool | None
    elsewhere: bool | None


class Handler:
    """One handler of a type: its source, and the lines and branches in it that calls can take."""

    def __init__(self, name: str, function: FunctionType) -> None:
        code = function.__code__
        self.name = name
        self.place: Place = (code.co_filename, code.co_firstlineno)
        self.codes = tuple(_nested(code))
        self.jumps: dict[CodeType, dict[int, _Jump]] = {}
        try:
            source, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            source, first = [], code.co_firstlineno
        #: The lines of the source; empty where it cannot be read.
        self.source = [line.rstrip("\r\n") for line in source]
        self.first_line = first
        self.lines = sorted({line for code in self.codes for line in _lines(code)})
        if self.source:
            forks = _forks(code.co_filename, first, first + len(source) - 1)
            self.jumps = {code: _jumps(code, forks) for code in self.codes}
        found = {jump.branch for jumps in self.jumps.values() for jump in jumps.values()}
        self.branches = sorted(found)


def handlers_of(kind: type, library_types: Iterable[type]) -> list[Handler]:
    """Return the handlers that answer for `kind`: `__torch_function__` of it and of its bases, and the implementations
    registered with `implements`. Those that `library_types` define are the library's own and left out.
    """
    theirs = {owner for base in library_types for owner in base.__mro__ if owner is not kind}
    found: dict[Place, Handler] = {}
    for owner in kind.__mro__:
        if owner in theirs:
            continue
        functions = [(f"{owner.__qualname__}.__torch_function__", owner.__dict__.get("__torch_function__"))]
        functions += [(f"{f.__qualname__}", f) for f in registered_implementations(owner)]
        for name, value in functions:
            function = function_of(value)
            if function is not None:
                handler = Handler(name, function)
                found.setdefault(handler.place, handler)
    return list(found.values())


def function_of(value: object) -> FunctionType | None:
    """Return the Python function that runs when a class attribute is called."""
    for _ in range(10):  # Wrappers in wrappers.
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        elif isinstance(value, functools.partial):
            value = value.func
        elif isinstance(value, FunctionType):
            inner = value.__dict__.get("__wrapped__")
            if inner is None:
                return value
            value = inner
        else:
            value = getattr(value, "__wrapped__", None) or type(value).__dict__.get("__call__")
    return None


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


#: Instructions before the first statement, which have the line of the `def` or of its first decorator.
_PROLOGUE = ("RESUME", "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR", "CACHE", "EXTENDED_ARG", "NOT_TAKEN")


def _lines(code: CodeType) -> Iterator[int]:
    started = False
    for instruction in dis.get_instructions(code):
        started = started or instruction.opname not in (*_PROLOGUE, "POP_TOP", "NOP")
        line = instruction.positions.lineno if instruction.positions else None
        if line is not None and (started or line != code.co_firstlineno):
            yield line


def _span(first: Any, last: Any = None) -> _Span:
    last = last or first
    return _Span((first.lineno, first.col_offset), (last.end_lineno, last.end_col_offset))


def _forks(file: str, first: int, last: int) -> list[_Fork]:
    """Return the branches between two lines of a file, the inner ones first."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    found = []
    tests: tuple[_Span, ...]
    for node in ast.walk(tree):
        match node:
            case ast.If() | ast.While():
                kind = "if" if isinstance(node, ast.If) else "while"
                fork = _Fork(_branch(node, kind), _span(node), (_span(node.test),), _span(node.body[0], node.body[-1]))
            case ast.IfExp():
                fork = _Fork(_branch(node, "if"), _span(node), (_span(node.test),), _span(node.body))
            case ast.For():
                tests = (_span(node.iter), _span(node.target))
                fork = _Fork(_branch(node, "for"), _span(node), tests, _span(node.body[0], node.body[-1]))
            case ast.match_case():
                tests = (_span(node.pattern), *([_span(node.guard)] if node.guard is not None else []))
                body = _span(node.body[0], node.body[-1])
                fork = _Fork(_branch(node.pattern, "case"), _Span(tests[0].start, body.end), tests, body)
            case _:
                continue
        if first <= fork.branch.line <= last:
            found.append(fork)
    return sorted(found, key=lambda fork: fork.whole.start, reverse=True)


def _branch(node: Any, kind: str) -> Branch:
    return Branch(node.lineno, node.col_offset, kind)


def _where(instruction: dis.Instruction) -> _Span | None:
    p = instruction.positions
    if p is None or p.lineno is None or p.end_lineno is None or p.col_offset is None or p.end_col_offset is None:
        return None
    return _Span((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset))


def _is_conditional(instruction: dis.Instruction) -> bool:
    return ("JUMP" in instruction.opname and "_IF_" in instruction.opname) or instruction.opname == "FOR_ITER"


def _jumps(code: CodeType, forks: Sequence[_Fork]) -> dict[int, _Jump]:
    """Return the conditional jumps of branches by their offsets: see Note [Which way a branch went]."""
    instructions = list(dis.get_instructions(code))
    places = {instruction.offset: index for index, instruction in enumerate(instructions)}
    owners: dict[int, _Fork] = {}
    for index, instruction in enumerate(instructions):
        where = _where(instruction)
        if where is None or not _is_conditional(instruction):
            continue
        for fork in forks:
            # Python 3.11 gives some jumps the place of the whole statement.
            if any(test.holds(where) for test in fork.tests) or where == fork.whole:
                if (fork.branch.kind == "for") == (instruction.opname == "FOR_ITER"):
                    owners[index] = fork
                break

    def outcome(index: int, fork: _Fork) -> bool | None:
        """Return whether the body of a branch follows; None where another condition of it does."""
        seen = set()
        while index not in seen and index < len(instructions):
            seen.add(index)
            instruction = instructions[index]
            where = _where(instruction)
            if where is not None and fork.body.holds(where):
                return True
            if owners.get(index) is fork:
                return None
            inside = where is None or any(t.holds(where) for t in fork.tests) or where == fork.whole
            if not inside or instruction.opname.startswith("RETURN"):
                return False
            is_jump = instruction.opname in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
            index = places.get(instruction.argval, len(instructions)) if is_jump else index + 1
        return False

    found = {}
    for index, fork in owners.items():
        following = {index + 1}
        if instructions[index + 1].opname == "NOT_TAKEN":
            following.add(index + 2)
        if fork.branch.kind == "for":
            ways: tuple[bool | None, bool | None] = (True, False)
        else:
            ways = (outcome(index + 1, fork), outcome(places.get(instructions[index].argval, len(instructions)), fork))
        jump = _Jump(fork.branch, frozenset(instructions[i].offset for i in following), *ways)
        found[instructions[index].offset] = jump
        before = index - 1
        # Where an argument has a prefix, Python may name the prefix.
        while before >= 0 and instructions[before].opname == "EXTENDED_ARG":
            found[instructions[before].offset] = jump
            before -= 1
    return found


class LineTracer(abc.ABC):
    """Counts the lines and branches of handlers that calls take, by function and context, from `start` to `stop`."""

    def __init__(self, handlers: Iterable[Handler], named: Callable[[Any], str]) -> None:
        self.paused = False
        self.context = ""
        #: What kept lines from being traced.
        self.blocked: set[str] = set()
        self._named = named
        self._handlers = {code: handler for handler in handlers for code in handler.codes}
        self._hits: dict[tuple[Place, int, int, int, Any, str], int] = {}
        self._thread = threading.local()

    @abc.abstractmethod
    def start(self) -> None:
        """Start tracing the handlers."""

    @abc.abstractmethod
    def stop(self) -> None:
        """Stop tracing."""

    def traced(self, func: object, ask: Callable[..., Any], *arguments: Any) -> Any:
        """Return `ask(*arguments)`; its lines are those of the call of `func`."""
        before = getattr(self._thread, "func", None)
        self._thread.func = func
        try:
            return self._traced(ask, arguments)
        finally:
            self._thread.func = before

    def _traced(self, ask: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return ask(*arguments)

    def hits(self) -> list[Hit]:
        """Return the counts so far, sorted."""
        found: dict[tuple[str, int, int, int, int, str, str], int] = {}
        for ((file, first), line, column, outcome, func, context), times in list(self._hits.items()):
            key = (file, first, line, column, outcome, "" if func is None else self._named(func), context)
            found[key] = found.get(key, 0) + times
        return [(*key, times) for key, times in sorted(found.items())]

    def _line(self, code: CodeType, line: int) -> None:
        self._count((self._handlers[code].place, line, _NO_COLUMN, 0, self._func(), self.context))

    def _jump(self, code: CodeType, offset: int, target: int) -> None:
        handler = self._handlers[code]
        jump = handler.jumps.get(code, {}).get(offset)
        if jump is None:
            return
        outcome = jump.at_next if target in jump.next else jump.elsewhere
        if outcome is not None:
            branch = jump.branch
            self._count((handler.place, branch.line, branch.column, int(outcome), self._func(), self.context))

    def _func(self) -> Any:
        return getattr(self._thread, "func", None)

    def _count(self, key: tuple[Place, int, int, int, Any, str]) -> None:
        if not self.paused:
            self._hits[key] = self._hits.get(key, 0) + 1


class _Tracing(LineTracer):
    """By `sys.settrace`, for Python 3.11."""

    def start(self) -> None:
        self._ours = self._enter

    def stop(self) -> None:
        pass

    def _traced(self, ask: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        running: Any = sys.gettrace()
        if running is not None:
            if running is not self._ours and not self.paused:
                self.blocked.add(_tracer_name(running))
            return ask(*arguments)
        sys.settrace(self._ours)
        try:
            return ask(*arguments)
        finally:
            if sys.gettrace() is self._ours:  # A debugger may have started.
                sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code not in self._handlers:
            return None
        frame.f_trace_opcodes = True
        last = -1

        def step(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal last
            if event == "line":
                self._line(frame.f_code, frame.f_lineno)
            elif event == "opcode":
                if last >= 0:
                    self._jump(frame.f_code, last, frame.f_lasti)
                last = frame.f_lasti
            elif event == "exception":
                last = -1
            return step

        return step


def _tracer_name(tracer: object) -> str:
    named = tracer if hasattr(tracer, "__qualname__") else type(tracer)
    return f"{named.__module__}.{named.__qualname__}"


class _Monitoring(LineTracer):
    """By `sys.monitoring`, for Python 3.12 and newer."""

    #: The numbers that Python gives to no kind of tool.
    _FREE = (3, 4)

    def start(self) -> None:
        monitoring = _monitoring()
        self._tool = next((tool for tool in self._FREE if monitoring.get_tool(tool) is None), None)
        if self._tool is None:
            names = " and ".join(str(monitoring.get_tool(tool)) for tool in self._FREE)
            self.blocked.add(f"sys.monitoring, whose free numbers are taken by {names}")
            return
        monitoring.use_tool_id(self._tool, "tensorlike override coverage")
        events = monitoring.events
        # Python 3.14 has an event for each way.
        both = [getattr(events, name, 0) for name in ("BRANCH_LEFT", "BRANCH_RIGHT")]
        jumps = both if all(both) else [events.BRANCH]
        self._callbacks = {events.LINE: self._line, **dict.fromkeys(jumps, self._jump)}
        for event, callback in self._callbacks.items():
            monitoring.register_callback(self._tool, event, callback)
        for code in self._handlers:
            monitoring.set_local_events(self._tool, code, sum(jumps, events.LINE))

    def stop(self) -> None:
        if self._tool is not None:
            for code in self._handlers:
                _monitoring().set_local_events(self._tool, code, 0)
            for event in self._callbacks:
                _monitoring().register_callback(self._tool, event, None)
            _monitoring().free_tool_id(self._tool)
            self._tool = None


def _monitoring() -> Any:
    return sys.monitoring  # type: ignore[attr-defined, unused-ignore]


def line_tracer(handlers: Iterable[Handler], named: Callable[[Any], str]) -> LineTracer:
    """Return a tracer of handlers for this Python; `named` returns the name of a function."""
    return (_Monitoring if hasattr(sys, "monitoring") else _Tracing)(handlers, named)
