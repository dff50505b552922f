"""The report: `python -m tests.reliability [--long] [--module torch]` prints the tables of docs/reliability.md.

Without `--module` the library is measured, and PyTorch beside it where that is installed. Each part runs in processes
of its own; the exit status is 1 where something of the library is not as it should be.
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from .commands import results
from .scenarios import SCENARIOS

#: A line of the report: what was tried, what was found, and where.
Line = tuple[int, int, "Counter[str]"]

SIZES = {
    # cold points and signals for a scenario, parents and forks of each, programs, calls, sizes, nodes, hostile calls
    "short": {"cold": 10, "signals": 100, "parents": 1, "forks": 8, "programs": 150, "calls": 5000, "sizes": 3,
              "nodes": 100_000, "hostile": 2},
    "long": {"cold": 300, "signals": 2000, "parents": 20, "forks": 16, "programs": 20_000, "calls": 200_000,
             "sizes": 60, "nodes": 3_000_000, "hostile": 40},
}  # fmt: skip


def _interrupts(module: str, kind: str, *arguments: str) -> list[dict[str, Any]]:
    return results("interrupts", "--module", module, "--kind", kind, *arguments, timeout=7200)


def _leaks(found: Sequence[dict[str, Any]], key: str = "leaks") -> Line:
    places = Counter(f"{leak.get('where')}, {leak.get('event')}" for result in found for leak in result[key])
    return sum(result["points"] for result in found), sum(places.values()), places


def interrupts(module: str, sizes: dict[str, int], every: bool, rows: dict[str, Line], scenarios: Any) -> None:
    found = _interrupts(module, "warm", *([] if every else ["--first"]))
    for result in found:
        scenarios[result["scenario"]] = result
    rows["interrupts injected"] = _leaks(found)
    rows["… at entry or exit of a `with` of the user's"] = _leaks(found, "unavoidable")
    rows["… that did not come out, or as another error"] = _leaks(found, "swallowed")
    rows["interrupts injected into a first use"] = _leaks(_interrupts(module, "cold", "--count", str(sizes["cold"])))
    found = _interrupts(module, "signals", "--count", str(sizes["signals"]))
    rows["real signals"] = _leaks(found)
    rows["… at exit of a `with` of the user's"] = _leaks(found, "unavoidable")


def forks(module: str, sizes: dict[str, int], every: bool, rows: dict[str, Line], scenarios: Any) -> None:
    arguments = ("--parents", str(sizes["parents"]), "--forks", str(sizes["forks"]))
    (found,) = results("forks", "--module", module, *arguments, timeout=7200)
    children = sum(result["children"] for result in found)
    for name, key in (("that hang", "hangs"), ("that hang in others' imports", "imports"), ("that are wrong", "wrong")):
        places = Counter(f"{result['kind']}: {text}" for result in found for text in result[key])
        rows[f"children forked {name}"] = (children, sum(places.values()), places)


def tasks(module: str, sizes: dict[str, int], every: bool, rows: dict[str, Line], scenarios: Any) -> None:
    from .tasks import CHECKS

    (found,) = results("tasks", "--module", module, "--programs", "0", timeout=600)
    failed = Counter(text.split(":")[0] for text in found["errors"])
    rows["what outlives its block"] = (len(CHECKS), len(failed), failed)
    (found,) = results("tasks", "--module", module, "--programs", str(sizes["programs"]), timeout=7200)
    places = Counter(text.split(": ", 1)[-1].split(" not ")[0][:60] for text in found["errors"])
    rows["looks at random programs"] = (found["looks"], len(found["errors"]), places)


def dispatch(module: str, sizes: dict[str, int], every: bool, rows: dict[str, Line], scenarios: Any) -> None:
    (found,) = results("dispatch", "--module", module, "--calls", str(sizes["calls"]), timeout=7200)
    rows["random dispatches"] = (found["calls"], len(found["errors"]), Counter())


def limits(module: str, sizes: dict[str, int], every: bool, rows: dict[str, Line], scenarios: Any) -> None:
    for part, arguments, name in (
        ("memory", ("--sizes", str(sizes["sizes"])), "calls with too little memory"),
        ("depth", ("--nodes", str(sizes["nodes"])), f"graphs of {sizes['nodes']:,} nodes on a stack of 256 KB"),
        ("hostile", ("--calls", str(sizes["hostile"])), "calls with hostile values"),
    ):
        (found,) = results("limits", "--module", module, "--part", part, *arguments, timeout=7200)
        rows[name] = (found["tried"], len(found["wrong"]), Counter(text[:150] for text in found["wrong"]))


PARTS: dict[str, Callable[..., None]] = {
    "interrupts": interrupts, "forks": forks, "tasks": tasks, "dispatch": dispatch, "limits": limits,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__.split("\n")[0])
    parser.add_argument("--long", action="store_true", help="the long form, which takes hours")
    parser.add_argument("--module", action="append", help="tensorlike or torch; both without")
    parser.add_argument("--part", action="append", choices=PARTS, help="a part; several times for several; all without")
    parser.add_argument("--places", action="store_true", help="list where the finds are")
    options = parser.parse_args(arguments)
    modules = options.module or ["tensorlike", *(["torch"] if importlib.util.find_spec("torch") else [])]
    form = "long" if options.long else "short"
    rows: dict[str, dict[str, Line]] = {module: {} for module in modules}
    scenarios: dict[str, dict[str, dict[str, Any]]] = {module: {} for module in modules}
    for part in options.part or PARTS:
        for module in modules:
            begin = time.monotonic()
            try:
                PARTS[part](module, SIZES[form], options.long, rows[module], scenarios[module])
            except RuntimeError as error:
                # What PyTorch cannot do at all is a find too, and no reason to lose the rest.
                rows[module][part] = (1, 1, Counter({str(error).splitlines()[-1][:200]: 1}))
            print(f"{part}, {module}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    print(f"{time.strftime('%Y-%m-%d')}, {platform.machine()}, Python {platform.python_version()}, the {form} form:")
    print()
    _table(["", *(f"{module}: {what}" for module in modules for what in ("tried", "found"))], [
        [name, *(str(value) for module in modules for value in rows[module].get(name, ("", ""))[:2])]
        for name in dict.fromkeys(name for module in modules for name in rows[module])
    ])  # fmt: skip
    if any(scenarios.values()):
        print()
        head = [f"{module}: {what}" for module in modules for what in ("points", "leaks", "at `with`")]
        _table(["interrupts injected into", *head], [
            [name.replace("_", " "), *(str(v) for m in modules for v in _counts(scenarios[m].get(name)))]
            for name in SCENARIOS
        ])  # fmt: skip
    if options.places:
        for module in modules:
            for name, (_, count, places) in rows[module].items():
                print(f"\n{module}, {name}: {count}")
                for text, times in places.most_common():
                    print(f"{times:6} {text}")
    own = rows.get("tensorlike", {})
    return int(any(count for name, (_, count, _) in own.items() if not name.startswith("…")))


def _counts(result: dict[str, Any] | None) -> tuple[int | str, ...]:
    return ("", "", "") if result is None else (result["points"], len(result["leaks"]), len(result["unavoidable"]))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]
    rule = ["-" * (width - 1) + (":" if i else "-") for i, width in enumerate(widths)]
    for line in (head, rule, *lines):
        cells = (text.rjust(width) if i else text.ljust(width) for i, (text, width) in enumerate(zip(line, widths)))
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())
