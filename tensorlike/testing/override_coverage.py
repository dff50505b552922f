"""What a test run asked of a tensor-like type: the counts, their report, and the recorder that makes them.

# Note [What recording costs]
The type's `__torch_function__` is replaced once, and a call adds one to a counter whose key holds the function and the
*types* of its arguments. Which operand that was is worked out at the end, once for each key. Calls in which no operand
is of the type are not touched at all.
"""

from __future__ import annotations

import html
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tensorlike.dispatch import core
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.registry import Row
from tensorlike.overrides.introspection import public_rows
from tensorlike.tensor.tensor import Tensor, disabled_torch_function

__all__ = ["ANSWERED", "NOT_IMPLEMENTED", "RAISED", "CoverageReport", "Recorder", "TypeCoverage"]

ANSWERED, NOT_IMPLEMENTED, RAISED = "answered", "NotImplemented", "raised"

#: One line of what workers hand over: function, operand, outcome, what came back, how often.
Count = tuple[str, str, str, str, int]


class _Outcome(NamedTuple):
    outcome: str
    result: str


class Recorder:
    """Counts the calls that reach one type, from `install` to `uninstall`."""

    def __init__(self, kind: type) -> None:
        if not hasattr(kind, "__torch_function__"):
            raise ValueError(f"{kind.__name__} has no __torch_function__, so no function asks it")
        if kind is Tensor:
            raise ValueError("Tensor is the plain tensor, which functions do not ask: give a type that overrides them")
        found = kind.__torch_function__
        if getattr(found, "__func__", found) is disabled_torch_function:
            raise ValueError(f"{kind.__name__} switches __torch_function__ off, so no function asks it")
        self.kind = kind
        self.paused = False
        self._counts: dict[Any, int] = {}
        self._rows: dict[Any, Row] = {}

    def install(self) -> None:
        """Begin to count."""
        kind: Any = self.kind
        own = kind.__dict__.get("__torch_function__")
        counts, recorder = self._counts, self

        def record(key: Any, outcome: Any) -> None:
            if not recorder.paused:
                key = (key, outcome)
                counts[key] = counts.get(key, 0) + 1

        def answered(ask: Callable[..., Any], func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            # Values are not kept: a recorder must not keep tensors alive. Sequences are opened, as dispatch does.
            key = (func, _types(args), tuple([(n, _types((v,))) for n, v in kwargs.items()]) if kwargs else ())
            try:
                result = ask(func, types, args, kwargs)
            except BaseException as error:
                record(key, (type(error),))
                raise
            record(key, NotImplemented if result is NotImplemented else type(result))
            return result

        if inspect.isfunction(own):  # A plain method, which is deprecated, is asked through its instance.

            def asked(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return answered(own.__get__(self), func, types, args, kwargs)

            replacement: Any = asked
        else:

            def asked_class(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                inherited: Any = super(kind, cls)
                ask = inherited.__torch_function__ if own is None else own.__get__(None, cls)
                return answered(ask, func, types, args, kwargs)

            replacement = classmethod(asked_class)
        self._own = own
        kind.__torch_function__ = replacement
        # What dispatch remembers of the type may say that it inherits the default implementation.
        core._PLANS.clear()

    def uninstall(self) -> None:
        """Give the type its own `__torch_function__` back."""
        kind: Any = self.kind
        if self._own is None:
            del kind.__torch_function__
        else:
            kind.__torch_function__ = self._own
        core._PLANS.clear()

    def counts(self) -> list[Count]:
        """Return what was counted so far, in an order of its own that does not depend on the order of calls."""
        rows = {row.key: row for _, row in public_rows()}
        found: Counter[tuple[str, str, str, str]] = Counter()
        for ((function, args, kwargs), outcome), times in list(self._counts.items()):
            told = _told(outcome)
            row = rows.get(function)
            name = row.full_name if row is not None else function_name(function)
            for operand in self._operands(row, args, kwargs) or ("",):
                found[(name, operand, told.outcome, told.result)] += times
        return [(*key, times) for key, times in sorted(found.items())]

    def _operands(self, row: Row | None, args: tuple[Any, ...], kwargs: tuple[tuple[str, Any], ...]) -> list[str]:
        """Return the names of the parameters that held an instance."""
        parameters = [p for p in row.parameters if p.kind != "keyword"] if row is not None else []
        names: list[str] = []
        for index, kinds in enumerate(args):
            if self._inside(kinds):
                if index < len(parameters):
                    names.append(parameters[index].name)
                else:  # Beyond them all stands what a `*args` takes.
                    names.append(parameters[-1].name if parameters else f"argument {index}")
        names += [name for name, kinds in kwargs if self._inside(kinds)]
        return list(dict.fromkeys(names))

    def _inside(self, kinds: Any) -> bool:
        if isinstance(kinds, tuple):
            return any(map(self._inside, kinds))
        return issubclass(kinds, self.kind)


def _types(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([type(v) if type(v) is not list and not isinstance(v, tuple) else _types(v) for v in values])


def _told(outcome: Any) -> _Outcome:
    if outcome is NotImplemented:
        return _Outcome(NOT_IMPLEMENTED, "")
    if isinstance(outcome, tuple):
        return _Outcome(RAISED, outcome[0].__name__)
    return _Outcome(ANSWERED, outcome.__name__)


class TypeCoverage:
    """What reached one type: of every overridable function and operand, how often and with which outcome."""

    def __init__(self, name: str, counts: Iterable[Count], only: Sequence[str] = ()) -> None:
        from fnmatch import fnmatchcase

        self.name = name
        self.operands: dict[tuple[str, str], dict[str, int]] = {}
        #: The names of what came back: types of results and of exceptions.
        self.results: dict[tuple[str, str], set[str]] = {}
        #: Calls of functions that the library does not list.
        self.others: dict[str, int] = {}
        for _, row in public_rows():
            short = row.full_name.removeprefix("tensorlike.")
            if not only or any(fnmatchcase(row.full_name, g) or fnmatchcase(short, g) for g in only):
                self.operands.update({(row.full_name, p.name): {} for p in row.operands()})
        for function, operand, outcome, result, times in counts:
            found = self.operands.get((function, operand))
            if found is None:
                self.others[function] = self.others.get(function, 0) + times
                continue
            found[outcome] = found.get(outcome, 0) + times
            if result:
                self.results.setdefault((function, operand), set()).add(result)

    @property
    def exercised(self) -> int:
        """How many operands of functions held the type at least once."""
        return sum(1 for found in self.operands.values() if found)

    @property
    def percent(self) -> float:
        """The same, of a hundred."""
        return 100.0 * self.exercised / len(self.operands) if self.operands else 0.0

    def never(self) -> list[tuple[str, str]]:
        """Return (function, operand) of what no test exercised."""
        return [key for key, found in self.operands.items() if not found]

    def namespaces(self) -> Iterator[tuple[str, int, int]]:
        """Yield (namespace, exercised, all) of the operands."""
        totals: dict[str, list[int]] = {}
        for (function, _), found in self.operands.items():
            both = totals.setdefault(function.rpartition(".")[0], [0, 0])
            both[0] += bool(found)
            both[1] += 1
        yield from ((name, one, two) for name, (one, two) in totals.items())

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON holds it."""
        return {
            "percent": round(self.percent, 2),
            "exercised": self.exercised,
            "operands": len(self.operands),
            "calls": [
                {"function": f, "operand": o, "outcomes": found, "results": sorted(self.results.get((f, o), ()))}
                for (f, o), found in self.operands.items()
                if found
            ],
            "never": [list(key) for key in self.never()],
            "other_functions": dict(sorted(self.others.items())),
        }


class CoverageReport:
    """The coverage of every type that was asked for."""

    def __init__(self, counts: dict[str, list[Count]], only: Sequence[str] = ()) -> None:
        self.types = [TypeCoverage(name, found, only) for name, found in counts.items()]

    def below(self, percent: float) -> list[TypeCoverage]:
        """Return the types whose coverage is less than that."""
        return [covered for covered in self.types if covered.percent < percent]

    def lines(self, *, every: bool = False) -> Iterator[str]:
        """Yield the summary for a terminal; with `every`, all that was never exercised."""
        for covered in self.types:
            yield f"{covered.name}: {covered.percent:.1f} % ({covered.exercised} of {len(covered.operands)} operands)"
            for name, one, two in covered.namespaces():
                if one or every:
                    yield f"  {name:<32} {one:>5} of {two:<5} {100 * one / two:5.1f} %"
            outcomes: Counter[str] = Counter()
            for found in covered.operands.values():
                outcomes.update(found)
            calls = ", ".join(f"{times} {outcome}" for outcome, times in sorted(outcomes.items()))
            yield f"  calls: {calls or 'none'}"
            never = [f"{function.removeprefix('tensorlike.')}({operand})" for function, operand in covered.never()]
            if never:
                shown = never if every else never[:8]
                more = f" and {len(never) - len(shown)} more" if len(shown) < len(never) else ""
                yield f"  never exercised: {', '.join(shown)}{more}"

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps({"version": 1, "types": {c.name: c.as_dict() for c in self.types}}, indent=1) + "\n"

    def to_html(self) -> str:
        """Return the report as one HTML document that needs nothing else."""
        return _PAGE.replace("<!--content-->", "\n".join(map(_section, self.types)))


def _section(covered: TypeCoverage) -> str:
    rows = []
    for (function, operand), found in covered.operands.items():
        cells = [function, operand, *(str(found.get(o, "")) for o in (ANSWERED, NOT_IMPLEMENTED, RAISED))]
        cells.append(", ".join(sorted(covered.results.get((function, operand), ()))))
        columns = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr class="{"hit" if found else "never"}">{columns}</tr>')
    bars = "".join(
        f"<li><span>{html.escape(name)}</span><meter max={two} value={one}></meter>{one} of {two}</li>"
        for name, one, two in covered.namespaces()
    )
    head = "".join(
        f"<th scope=col>{t}</th>" for t in ("Function", "Operand", "Answered", "NotImplemented", "Raised", "Came back")
    )
    return (
        f"<section><h2>{html.escape(covered.name)}: {covered.percent:.1f} %</h2>"
        f"<p>{covered.exercised} of {len(covered.operands)} operands of functions held this type.</p>"
        f"<ul>{bars}</ul><div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"</div></section>"
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Override coverage</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: auto; padding: 1rem; }
ul { list-style: none; padding: 0; columns: 20rem; }
li { break-inside: avoid; display: flex; flex-wrap: wrap; gap: .5rem; }
li span { min-width: 14rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .15rem .6rem; border-bottom: 1px solid #8884; }
td:first-child { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.never td { opacity: .75; }
.never td:nth-child(2)::after { content: " (never exercised)"; color: light-dark(#b00020, #ff8a80); }
.only-never .hit, .filtered { display: none; }
</style></head><body>
<h1>Override coverage</h1>
<p><label>Find <input type="search" id="find" placeholder="linalg"></label>
<label><input type="checkbox" id="never"> never exercised alone</label></p>
<!--content-->
<script>
document.getElementById("never").onchange = e => document.body.classList.toggle("only-never", e.target.checked);
document.getElementById("find").oninput = e => {
  for (const row of document.querySelectorAll("tbody tr"))
    row.classList.toggle("filtered", !row.textContent.toLowerCase().includes(e.target.value.toLowerCase()));
};
</script></body></html>
"""
