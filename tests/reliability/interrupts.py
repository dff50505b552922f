"""Interrupts: an exception at every call, return and C return of a scenario, and real signals at random moments.

`python -m tests.reliability.interrupts [--module torch] [--scenario NAME] [--kind warm|cold|signals] [--count N]`
prints a table and where each leak is. The exception is injected by a profile function, which CPython removes when it
raises; "cold" injects into the first use of a library that was only imported.

Two moments cannot be survived by a context manager written in Python: the return of `__enter__` and the call of
`__exit__`, where the `with` statement has not taken over yet or not any more. They are counted apart where the `with`
stands in the scenario; where it stands in the library, which could do without, they are leaks like any other.
"""

from __future__ import annotations

import argparse
import dis
import importlib
import json
import os
import random
import signal
import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from . import scenarios
from .children import Report, in_children, one_child
from .probe import SETTINGS, Probe
from .scenarios import SCENARIOS

__all__ = ["Interrupted", "Result", "cold", "measure", "signals", "warm"]

EVENTS = ("call", "return", "c_return")
_HERE = os.path.abspath(__file__)
_SCENARIOS = os.path.abspath(scenarios.__file__)


class Interrupted(KeyboardInterrupt):
    """What is raised in the middle of a scenario."""


@dataclass
class Result:
    """What came out of one kind of interrupts in one scenario."""

    scenario: str
    kind: str
    #: How many interrupts there were.
    points: int = 0
    #: What was switched afterwards though it need not be: dicts with `where`, `event` and `wrong`.
    leaks: list[dict[str, Any]] = field(default_factory=list)
    #: The same at the entry and exit of a `with` statement of the scenario, and inside of NumPy.
    unavoidable: list[dict[str, Any]] = field(default_factory=list)
    #: Interrupts that did not come out: there was no error at the end, or another one.
    swallowed: list[dict[str, Any]] = field(default_factory=list)


def place(frame: FrameType) -> str:
    """Return file, line and function of a frame, the file from the package on."""
    name = frame.f_code.co_filename
    for mark in ("/tensorlike/", "/torch/", "/tests/"):
        at = name.rfind(mark)
        if at >= 0:
            name = name[at + 1 :]
            break
    function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return f"{name}:{frame.f_lineno} {function}"


def _opcode(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def at_with(frame: FrameType, event: str) -> str:
    """Return whose `with` statement is being entered or left in this very moment: "scenario", "library" or ""."""
    name, caller = frame.f_code.co_name, frame.f_back
    if caller is None:
        return ""
    if "set_" in frame.f_code.co_qualname and (name, event) in (("__init__", "return"), ("__enter__", "call")):
        # What switches at once, such as set_grad_enabled, has done so before `with` knows of it.
        return "scenario" if caller.f_code.co_filename == _SCENARIOS else ""
    if (name, event) not in (("__enter__", "return"), ("__exit__", "call")):
        return ""
    if name == "__enter__":
        if _opcode(caller) != "BEFORE_WITH":
            return ""
    elif "__exit__" in caller.f_code.co_names:
        return ""
    return "scenario" if caller.f_code.co_filename == _SCENARIOS else "library"


class _Injector:
    """A profile function that raises at the `number`-th event, or counts them when that is never reached.

    It keeps the numbers of those in `firsts` that are the first at their place, called from the same place.
    """

    def __init__(self, number: int, firsts: list[int] | None = None) -> None:
        self.number = number
        self.firsts = firsts
        self.met: set[Any] = set()
        self.count = 0
        self.found: dict[str, Any] | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in EVENTS or frame.f_code.co_filename == _HERE:
            return
        self.count += 1
        if self.count <= self.number:
            if self.firsts is not None:
                key = (event, *((f.f_code, f.f_lasti) for f in (frame, frame.f_back) if f is not None))
                if key not in self.met:
                    self.met.add(key)
                    self.firsts.append(self.count - 1)
            return
        what = f"{event} of {argument.__qualname__}" if event == "c_return" else event
        callers, outer = [], frame.f_back
        while outer is not None and outer.f_code.co_filename != _HERE and len(callers) < 4:
            callers.append(place(outer))
            outer = outer.f_back
        self.found = {"where": place(frame), "event": what, "with": at_with(frame, event), "callers": callers}
        raise Interrupted


def _imported(module: str, name: str) -> Any:
    """Return the library after one run of a scenario, whose imports would take seconds in each child."""
    tl = importlib.import_module(module)
    if name != "large_work":  # The threads of a pool would be missing in a child.
        SCENARIOS[name](tl)()
    return tl


def _injected(program: Callable[[], Any], number: int) -> tuple[dict[str, Any] | None, str]:
    """Run a program with an interrupt at the point `number`; return where that was, and how the program ended."""
    injector = _Injector(number)
    ended = "returned"
    try:
        sys.setprofile(injector)
        program()
    except Interrupted:
        ended = ""
    except BaseException as error:
        ended = f"raised {type(error).__name__}: {error}"
    finally:
        sys.setprofile(None)
    return injector.found, ended


def _prepare() -> None:
    # What an interrupt in a destructor or a callback prints is expected.
    sys.unraisablehook = lambda unraisable: None
    warnings.simplefilter("ignore")


def warm(module: str, name: str, every: bool = True) -> Result:
    """Interrupt a scenario that ran twice before at each of its points, one after the other.

    Without `every`, of the points at the same place, called from the same places, only at the first.
    """
    tl = _imported(module, name)

    def work(start: int, report: Report) -> None:
        _prepare()
        program = SCENARIOS[name](tl)
        program()
        expected = program()
        probe = Probe(tl)
        points: list[int] = []
        counting = _Injector(1 << 60, points)
        sys.setprofile(counting)
        program()
        sys.setprofile(None)
        for number in range(counting.count + 1) if every else points:
            if number < start:
                continue
            found, ended = _injected(program, number)
            if found is None:
                continue
            # The point is reported before the probe, which may hang.
            report({"at": number, **found})
            if ended:
                report({"swallowed": ended})
            wrong = probe()
            if not wrong:
                again = program()
                if again != expected:
                    wrong = ["the next run gives another result"]
            if wrong:
                report({"wrong": wrong})
                return
        report({"last": True})

    result = Result(name, "warm")
    _collect(result, in_children(work, patience=10.0))
    return result


def _collect(result: Result, reports: Iterator[dict[str, Any]]) -> None:
    found: dict[str, Any] = {}
    for value in reports:
        if "died" in value:
            _leak(result, found, [f"the process died: {value['died']}"])
        elif "where" in value:
            found = value
            result.points += 1
        elif "swallowed" in value:
            result.swallowed.append({**found, "wrong": [value["swallowed"]]})
        elif "wrong" in value:
            _leak(result, found, value["wrong"])


def _leak(result: Result, found: dict[str, Any], wrong: list[str]) -> None:
    # NumPy's own functions switch its error state around a block as well, which is for NumPy to mend.
    foreign = wrong == [SETTINGS] and "/numpy/" in found.get("where", "")
    leaks = result.unavoidable if foreign or found.get("with") == "scenario" else result.leaks
    leaks.append({**found, "wrong": wrong})


def cold(module: str, name: str, count: int, seed: int = 0) -> Result:
    """Interrupt the first use of a library that was only imported, at `count` of its points, each in a process."""
    tl = importlib.import_module(module)
    expected: dict[str, Any] = {}

    def reference(report: Report) -> None:
        _prepare()
        program = SCENARIOS[name](tl)
        points: list[int] = []
        sys.setprofile(_Injector(1 << 60, points))
        value = program()
        sys.setprofile(None)
        report({"points": points, "value": repr(value)})

    for value in one_child(reference, 60.0):
        expected.update(value)
    if expected["end"] != "done":
        raise RuntimeError(f"{name}: the undisturbed run ended with {expected['end']}")

    def work(number: int) -> Callable[[Report], None]:
        def run(report: Report) -> None:
            _prepare()
            program = SCENARIOS[name](tl)
            found, ended = _injected(program, number)
            if found is None:
                return
            report(found)
            if ended:
                report({"swallowed": ended})
            again = repr(program())
            if again != expected["value"]:
                report({"wrong": ["the next run gives another result"]})
                return
            try:
                Probe(tl)
            except RuntimeError as error:
                report({"wrong": [str(error)]})

        return run

    result = Result(name, "cold")
    # Most of a first use are imports, the same places over and over: each place once.
    points = expected["points"]
    if count < len(points):
        points = sorted(random.Random(seed).sample(points, count))
    for number in points:
        reports = one_child(work(number), 20.0)
        _collect(result, ({"died": v["end"]} if v.get("end", "done") != "done" else v for v in reports))
    return result


def signals(module: str, name: str, count: int, seed: int = 0) -> Result:
    """Send a scenario `count` real signals at random moments; their handler raises, as Ctrl-C's does."""
    tl = _imported(module, name)

    def work(start: int, report: Report) -> None:
        _prepare()
        program = SCENARIOS[name](tl)
        armed = False

        def handler(number: int, frame: FrameType | None) -> None:
            if armed:
                raise Interrupted

        signal.signal(signal.SIGALRM, handler)
        expected = program()
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            program()
            times.append(time.perf_counter() - begin)
        length = statistics.median(times)
        probe = Probe(tl)
        for number in range(start, count):
            delay = max(1e-6, random.Random(f"{seed} {number}").random() * length)
            found: dict[str, Any] | None = None
            ended = ""
            try:
                armed = True
                signal.setitimer(signal.ITIMER_REAL, delay)
                program()
                armed = False
            except Interrupted as error:
                armed = False
                found = _where(error)
            except BaseException as error:
                armed = False
                found, ended = _where(error), f"raised {type(error).__name__}: {error}"
            signal.setitimer(signal.ITIMER_REAL, 0)
            report({"at": number, **(found or {})})
            if ended:
                report({"swallowed": ended})
            wrong = probe()
            if not wrong and program() != expected:
                wrong = ["the next run gives another result"]
            if wrong:
                report({"wrong": wrong})
                return
        report({"last": True})

    result = Result(name, "signals")
    _collect(result, in_children(work, patience=10.0, limit=count))
    return result


def _where(error: BaseException) -> dict[str, Any]:
    """Return where a signal arrived: the innermost frame of the error but for the handler's own."""
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    while len(frames) > 1 and frames[-1].tb_frame.f_code.co_filename == _HERE:
        frames.pop()
    last = frames[-1]
    frame, code = last.tb_frame, last.tb_frame.f_code
    where = f"{place(frame).split(':')[0]}:{last.tb_lineno} {code.co_qualname}"
    found = {"where": where, "event": "signal", "with": "", "callers": []}
    if len(frames) > 1 and frames[-2].tb_frame.f_code.co_filename == _SCENARIOS:
        at_call = dis.opname[code.co_code[last.tb_lasti]] == "RESUME"
        if code.co_name == "__exit__" and at_call:
            found["with"] = "scenario"
    return found


def measure(module: str, names: Sequence[str], kind: str, count: int, every: bool = True) -> list[Result]:
    """Return the results of several scenarios, each of whose processes starts from this one."""
    run = {
        "warm": lambda name: warm(module, name, every),
        "cold": lambda name: cold(module, name, count),
        "signals": lambda name: signals(module, name, count),
    }[kind]
    return [run(name) for name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.interrupts", description=__doc__.split("\n")[0])
    parser.add_argument("--module", default="tensorlike", help="the library: tensorlike, or torch")
    parser.add_argument("--scenario", action="append", help="a scenario; several times for several; all without")
    parser.add_argument("--kind", choices=("warm", "cold", "signals"), default="warm")
    parser.add_argument("--count", type=int, default=200, help="how many points of cold, or signals, for a scenario")
    parser.add_argument("--first", action="store_true", help="of the points of warm, only the first at each place")
    parser.add_argument("--json", action="store_true", help="print one line of JSON for each scenario")
    parser.add_argument("--callers", action="store_true", help="print the callers of each place that leaks")
    options = parser.parse_args(arguments)
    tl = importlib.import_module(options.module)
    tl.set_num_threads(1)
    total = Result("all", options.kind)
    places: Counter[str] = Counter()
    for name in options.scenario or SCENARIOS:
        (result,) = measure(options.module, [name], options.kind, options.count, not options.first)
        if options.json:
            print(json.dumps(vars(result)), flush=True)
            continue
        print(_line(result), flush=True)
        total.points += result.points
        total.leaks += result.leaks
        total.unavoidable += result.unavoidable
        total.swallowed += result.swallowed
        for leak in result.leaks:
            own = ", a with of the library" if leak.get("with") else ""
            callers = "".join(f"\n        from {caller}" for caller in leak["callers"]) if options.callers else ""
            places[f"{leak.get('where')}, {leak.get('event')}{own} -> {'; '.join(leak['wrong'])}{callers}"] += 1
    if not options.json:
        print(_line(total))
        for text, times in places.most_common():
            print(f"{times:5} {text}")
        for text, times in Counter(f"{s['where']}, {s['event']}: {s['wrong'][0]}" for s in total.swallowed).items():
            print(f"{times:5} did not come out: {text}")
    return int(bool(total.leaks))


def _line(result: Result) -> str:
    return (
        f"{result.scenario:30} {result.kind:8} points {result.points:6}  leaks {len(result.leaks):5}  "
        f"at entry or exit of with {len(result.unavoidable):4}  did not come out {len(result.swallowed):4}"
    )


if __name__ == "__main__":
    sys.exit(main())
