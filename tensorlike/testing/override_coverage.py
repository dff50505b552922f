"""Override coverage: counts of the calls dispatched to a tensor-like type in a test run, their recorder and reports.

# Note [What recording costs]
The type's `__torch_function__` is replaced once, and a call adds one to a counter whose key holds the function and the
*types* of its arguments. The operand is found at the end, once for each key. Calls in which no operand is of the type
are not touched at all. PyTorch looks the method up on the type as well, so the same works for types written against it:
a mode would see every call of its functions, those of plain tensors included.
"""

from __future__ import annotations

import html
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

from tensorlike.dispatch.signature import KEYWORD, VARIADIC, Parameter

from .covered_functions import functions_for

__all__ = ["ANSWERED", "NOT_IMPLEMENTED", "RAISED", "CoverageReport", "Recorder", "TypeCoverage", "inherits_default"]

ANSWERED, NOT_IMPLEMENTED, RAISED = "answered", "NotImplemented", "raised"

#: One line of the data that workers send: function, operand, outcome, type of the result, count.
Count = tuple[str, str, str, str, int]


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
        self.paused = False
        self._counts: dict[Any, int] = {}

    def install(self) -> None:
        """Start counting."""
        kind: Any = self.kind
        own = kind.__dict__.get("__torch_function__")
        counts, recorder = self._counts, self

        def answered(ask: Callable[..., Any], func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            if recorder.paused:
                return ask(func, types, args) if kwargs is None else ask(func, types, args, kwargs)
            # Values are not kept: a recorder must not keep tensors alive. Sequences are opened, as dispatch does.
            kinds = tuple([type(v) if type(v) is not list and not isinstance(v, tuple) else _types(v) for v in args])
            named = tuple([(name, _types((v,))) for name, v in kwargs.items()]) if kwargs else ()
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

            def asked(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return answered(own.__get__(self), func, types, args, kwargs)

            replacement: Any = asked
        elif own is not None:
            bound = own if hasattr(own, "__get__") else staticmethod(own)  # A callable object is called as it is.

            def asked_class(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return answered(bound.__get__(None, cls), func, types, args, kwargs)

            replacement = classmethod(asked_class)
        else:
            inherited = self.functions.inherited(kind)

            def asked_above(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
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
        found: Counter[tuple[str, str, str, str]] = Counter()
        for (function, args, kwargs, outcome), times in list(self._counts.items()):
            told = _told(outcome)
            listed = self.functions.parameters(function)
            name, parameters = (self.functions.named(function), ()) if listed is None else listed
            for operand in self._operands(parameters, args, kwargs) or ("",):
                found[(name, operand, told.outcome, told.result)] += times
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


#: The code of the stand-in for an inherited `__torch_function__` while a Recorder is installed.
_STAND_INS: set[CodeType] = set()


def inherits_default(kind: Any, default: CodeType) -> bool:
    """Return whether a type inherits Tensor's own `__torch_function__`, ignoring a Recorder's stand-in."""
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


class TypeCoverage:
    """The coverage of one type: for every overridable function and operand the counts of calls by outcome."""

    def __init__(
        self, name: str, recorder: Recorder, counts: Iterable[Count] | None = None, only: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.api = recorder.functions.name
        self.operands: dict[tuple[str, str], dict[str, int]] = {
            key: {} for key in recorder.functions.operands(recorder.kind) if matches(key[0], only)
        }
        #: The names of the types of results and of exceptions.
        self.results: dict[tuple[str, str], set[str]] = {}
        #: Calls of functions that the library does not list, or through an argument that it lists as no operand.
        self.others: dict[str, int] = {}
        names = {function for function, _ in self.operands}
        for function, operand, outcome, result, times in recorder.counts() if counts is None else counts:
            found = self.operands.get((function, operand))
            if found is None:
                if matches(function, only):
                    shown = f"{function}({operand})" if operand and function in names else function
                    self.others[shown] = self.others.get(shown, 0) + times
                continue
            found[outcome] = found.get(outcome, 0) + times
            if result:
                self.results.setdefault((function, operand), set()).add(result)

    @property
    def exercised(self) -> int:
        """The number of operands of functions that held the type at least once."""
        return sum(1 for found in self.operands.values() if found)

    @property
    def percent(self) -> float:
        """The same, in percent."""
        return 100.0 * self.exercised / len(self.operands) if self.operands else 0.0

    def never(self) -> list[tuple[str, str]]:
        """Return (function, operand) of each operand that no test exercised."""
        return [key for key, found in self.operands.items() if not found]

    def namespaces(self) -> Iterator[tuple[str, int, int]]:
        """Yield (namespace, exercised, all) of the operands."""
        totals: dict[str, list[int]] = {}
        for (function, _), found in self.operands.items():
            owner, _, last = function.rpartition(".")
            # Getters and setters are listed with the methods of their class.
            namespace = owner.rpartition(".")[0] if last in ("__get__", "__set__", "__delete__") else owner
            both = totals.setdefault(namespace, [0, 0])
            both[0] += bool(found)
            both[1] += 1
        yield from ((name, one, two) for name, (one, two) in totals.items())

    def as_dict(self) -> dict[str, Any]:
        """Return the coverage as JSON data."""
        return {
            "api": self.api,
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


def matches(function: str, only: Sequence[str]) -> bool:
    """Return whether a glob matches the name of a function, with or without the library's; True without globs."""
    short = function.partition(".")[2]
    return not only or any(fnmatchcase(function, glob) or fnmatchcase(short, glob) for glob in only)


class CoverageReport:
    """The coverage of every requested type."""

    def __init__(self, types: Sequence[TypeCoverage]) -> None:
        self.types = list(types)

    def below(self, percent: float) -> list[TypeCoverage]:
        """Return the types whose coverage is below a percentage."""
        return [covered for covered in self.types if covered.percent < percent]

    def lines(self, *, every: bool = False) -> Iterator[str]:
        """Yield the summary for a terminal; with `every`, all that was never exercised."""
        for covered in self.types:
            of = f"{covered.exercised} of {len(covered.operands)} operands{_LIBRARIES[covered.api]}"
            yield f"{covered.name}: {covered.percent:.1f} % ({of})"
            for name, one, two in covered.namespaces():
                if one or every:
                    yield f"  {name:<32} {one:>5} of {two:<5} {100 * one / two:5.1f} %"
            outcomes: Counter[str] = Counter()
            for found in covered.operands.values():
                outcomes.update(found)
            calls = ", ".join(f"{times} {outcome}" for outcome, times in sorted(outcomes.items()))
            yield f"  calls: {calls or 'none'}"
            if covered.others:
                others = sorted(covered.others, key=lambda name: (-covered.others[name], name))
                yield f"  not in the list: {_some(others, every)}"
                if covered.api == "tensorlike" and any(name.startswith("torch.") for name in others):
                    yield "  PyTorch's functions called: --override-coverage-api=torch counts them"
            never = [f"{function.partition('.')[2]}({operand})" for function, operand in covered.never()]
            if never:
                yield f"  never exercised: {_some(never, every)}"

    def to_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps({"version": 1, "types": {c.name: c.as_dict() for c in self.types}}, indent=1) + "\n"

    def to_html(self) -> str:
        """Return the report as one self-contained HTML document."""
        return _PAGE.replace("<!--content-->", "\n".join(map(_section, self.types)))


#: The words for the library in a report, after the number of operands.
_LIBRARIES = {"tensorlike": "", "torch": " of PyTorch's functions"}


def _some(names: Sequence[str], every: bool) -> str:
    shown = names if every else names[:8]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(shown) < len(names) else "")


def _section(covered: TypeCoverage) -> str:
    rows = []
    for (function, operand), found in covered.operands.items():
        cells = [function, operand, *(str(found.get(o, "")) for o in (ANSWERED, NOT_IMPLEMENTED, RAISED))]
        cells.append(", ".join(sorted(covered.results.get((function, operand), ()))))
        columns = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f'<tr class="{"hit" if found else "never"}">{columns}</tr>')
    bars = "".join(
        f"<li><span>{html.escape(name)}</span><meter max={two} value={one}></meter><b>{one} of {two}</b></li>"
        for name, one, two in covered.namespaces()
    )
    head = "".join(
        f"<th scope=col>{t}</th>" for t in ("Function", "Operand", "Answered", "NotImplemented", "Raised", "Came back")
    )
    return (
        f"<section><h2>{html.escape(covered.name)}: {covered.percent:.1f} %</h2>"
        f"<p>{covered.exercised} of {len(covered.operands)} operands"
        f"{_LIBRARIES[covered.api] or ' of functions'} held this type.</p>"
        f"<ul>{bars}</ul><div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"</div></section>"
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Override coverage</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 75rem; margin: auto; padding: 1rem; }
ul { list-style: none; padding: 0; columns: 22rem; }
li { break-inside: avoid; display: flex; align-items: center; gap: .5rem; }
li span { flex: 1; overflow-wrap: anywhere; }
li meter { width: 5rem; flex: none; }
li b { width: 7rem; flex: none; font-weight: normal; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .15rem .6rem; border-bottom: 1px solid #8884; }
td:first-child { min-width: 12rem; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
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
