"""The log of a trace: one record for each call, and its text, HTML and trace-viewer formats."""

from __future__ import annotations

import dataclasses
import html
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.tracing import Asked, WatchedCall

from .pages import rendered

__all__ = ["DispatchRecord", "TraceLog"]

_ARGUMENTS = 6

#: The colours of answers in notebooks, readable on light and on dark: those of the page of `to_html` lie between.
_COLOURS = {
    "type": "#2a9d57",
    "inherited": "#3b82d6",
    "mode": "#9a63e0",
    "rule": "#b07d12",
    "plain": "#84909c",
    "": "#84909c",
    "error": "#e04a4f",
}


@dataclasses.dataclass(frozen=True)
class DispatchRecord:
    """One call: the function, the handlers in order, the answer, the time, and the calling record."""

    #: The record's number in its log, which counts calls as they begin.
    number: int
    #: The number of the call inside which this one was made, or None.
    parent: int | None
    #: The nesting depth among recorded calls.
    depth: int
    #: The public dotted name of the function.
    name: str
    #: The `func` that implementations receive.
    function: Callable[..., Any]
    #: The call with the types of its arguments, such as `tensorlike.mul(ScalarTensor, int)`.
    call: str
    #: Modes and types in dispatch order.
    asked: tuple[Asked, ...]
    #: The type or mode that answered; "" when the function's own implementation ran, or none did.
    answered_by: str
    #: "mode", "type", "inherited" (a type with Tensor's own implementation), "rule" (a pairwise rule), "plain" (the
    #: function's own implementation), or "" when an exception ended the call.
    how: str
    #: The operand of the type that answered, and its position among the operands.
    operand: str
    position: int | None
    #: Seconds since the trace began, and seconds that the call took.
    start: float
    seconds: float
    #: The exception that ended the call, as `TypeError: first line of its text`; "" when there was none.
    error: str

    @property
    def types(self) -> tuple[type, ...]:
        """The types in dispatch order, without modes."""
        return tuple(asked.type for asked in self.asked if asked.kind != "mode")

    def summary(self) -> str:
        """Return a text of the handlers and their answers."""
        parts = []
        for asked in self.asked:
            text = f"mode {asked.type.__name__}" if asked.kind == "mode" else asked.type.__name__
            if asked.operand:
                text += f" ({asked.operand!r})"
            if asked.outcome != "answered":
                text += f" {asked.outcome}"
            elif asked.kind == "inherited":
                text += " by Tensor's implementation"
            parts.append(text)
        if self.how == "plain":
            parts.append("its own implementation")
        elif self.how == "rule":
            parts.append("a pairwise rule")
        text = ", then ".join(parts)
        return f"{text}{': ' if text else ''}{self.error}" if self.error else text


def _argument(value: Any) -> str:
    kind = type(value)
    if kind in (list, tuple) and value:
        return f"{kind.__name__} of {', '.join(dict.fromkeys(type(item).__name__ for item in value))}"
    return kind.__name__


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    parts = [_argument(value) for value in args[:_ARGUMENTS]]
    if len(args) > _ARGUMENTS:
        parts.append("...")
    parts += [f"{key}={_argument(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.1f} µs"


class TraceLog:
    """The records of a trace, in the order in which their calls began; calls that still run are not among them."""

    def __init__(self, *, plain: bool = False, named: Callable[[Callable[..., Any]], str] = function_name) -> None:
        self.plain = plain
        #: Nothing more is recorded.
        self.closed = False
        self.named = named
        # By number, for a context that was copied to a thread records into the same log; without a lock, which a child
        # process could find held.
        self._numbers = itertools.count()
        self._ended: dict[int, DispatchRecord] = {}
        self._began = time.perf_counter()
        self._thread = threading.get_native_id()

    def begin(self) -> int:
        """Return the number of a call that begins."""
        return next(self._numbers)

    def end(self, number: int, parent: int | None, depth: int, call: WatchedCall) -> None:
        """Record a call that has ended."""
        name = self.named(call.function)
        error = call.error
        answer = next((a for a in call.asked if a.outcome == "answered"), None) if not error else None
        if error:
            how = ""
        elif answer is not None:
            how = answer.kind
        else:
            how = "plain" if call.implementation else "rule"
        self._ended[number] = DispatchRecord(
            number=number,
            parent=parent,
            depth=depth,
            name=name,
            function=call.function,
            call=_call(name, call.args, call.kwargs),
            asked=tuple(a._replace(start=a.start - self._began) for a in call.asked),
            answered_by=answer.type.__name__ if answer is not None else "",
            how=how,
            operand=answer.operand if answer is not None else "",
            position=answer.position if answer is not None else None,
            start=call.start - self._began,
            seconds=call.seconds,
            error=error,
        )

    def __iter__(self) -> Iterator[DispatchRecord]:
        return (record for _, record in sorted(self._ended.copy().items()))

    def __len__(self) -> int:
        return len(self._ended)

    def __getitem__(self, index: int) -> DispatchRecord:
        return list(self)[index]

    def __repr__(self) -> str:
        return f"<TraceLog of {len(self)} call{'' if len(self) == 1 else 's'}>"

    def tree(self, *, times: bool = True) -> str:
        """Return a line for each call, indented below its caller; `times=False` leaves out the times."""
        lines = []
        for record in self:
            time_ = f", {_duration(record.seconds)}" if times else ""
            lines.append(f"{'  ' * record.depth}{record.call}: {record.summary()}{time_}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the tree as HTML that notebooks show: a call with calls inside opens and closes."""
        inside: dict[int | None, list[DispatchRecord]] = {}
        numbers = {record.number for record in self}
        for record in self:
            # The caller is missing while it still runs.
            inside.setdefault(record.parent if record.parent in numbers else None, []).append(record)

        def shown(record: DispatchRecord) -> str:
            colour = _COLOURS["error" if record.error else record.how]
            line = (
                f"<code>{html.escape(record.call)}</code> "
                f'<span style="color:{colour}">{html.escape(record.summary())}</span> '
                f"<small>{_duration(record.seconds)}</small>"
            )
            children = inside.get(record.number)
            if not children:
                return f'<div style="margin-left:1.1em">{line}</div>'
            body = "".join(map(shown, children))
            return f'<details open><summary>{line}</summary><div style="margin-left:1.1em">{body}</div></details>'

        return f"<div><b>{html.escape(repr(self))}</b>{''.join(map(shown, inside.get(None, [])))}</div>"

    def to_perfetto(self) -> str:
        """Return the trace as JSON in the Chrome trace format, with a slice for each call and each handler."""
        process, thread = os.getpid(), self._thread
        events: list[dict[str, Any]] = [
            {"name": "process_name", "ph": "M", "pid": process, "tid": thread, "args": {"name": "overrides.trace"}}
        ]

        def slice_(name: str, category: str, start: float, seconds: float, arguments: dict[str, Any]) -> None:
            events.append(
                {
                    "name": name,
                    "cat": category,
                    "ph": "X",
                    "ts": round(start * 1e6, 3),
                    "dur": round(seconds * 1e6, 3),
                    "pid": process,
                    "tid": thread,
                    "args": arguments,
                }
            )

        for record in self:
            arguments = {"call": record.call, "answered by": record.answered_by or record.how}
            if record.error:
                arguments["error"] = record.error
            slice_(record.name, "call", record.start, record.seconds, arguments)
            for asked in record.asked:
                arguments = {"operand": asked.operand, "outcome": asked.outcome}
                slice_(f"{asked.type.__name__}.__torch_function__", asked.kind, asked.start, asked.seconds, arguments)
        return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=1)

    def to_html(self) -> str:
        """Return the trace as an HTML page that needs neither network nor other files.

        Raises ImportError when Jinja2 is not installed.
        """
        records = list(self)
        end = max((record.start + record.seconds for record in records), default=0.0)
        begin = min((record.start for record in records), default=0.0)
        span = max(end - begin, 1e-9)
        try:
            return rendered(
                "tensorlike.overrides",
                "trace.html.j2",
                records=records,
                duration=_duration,
                total=sum(record.seconds for record in records if record.parent is None),
                left={r.number: round(100 * (r.start - begin) / span, 3) for r in records},
                width={r.number: round(100 * r.seconds / span, 3) for r in records},
                raised=sum(bool(record.error) for record in records),
            )
        except ImportError as error:
            raise ImportError("TraceLog.to_html(): needs Jinja2: python3 -m pip install jinja2") from error
