"""The table, the file, the picture, and the comparison with an earlier run."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any

from .timing import Measured, Ratio, ratio

__all__ = ["again", "beside", "compared", "heading", "line", "means", "picture", "read", "shown", "table", "written"]

Results = dict[str, dict[str, Any]]


def shown(value: float | None, unit: str = "s") -> str:
    """Return a time or a size in the unit that suits it."""
    if value is None:
        return "-"
    if unit == "B":
        return f"{value / 1e6:.1f} MB" if value >= 1e5 else f"{value:.0f} B"
    for name, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1 or name == "us":
            return f"{value * factor:.2f} {name}"
    return "-"


def beside(result: dict[str, Any], other: str) -> Ratio | None:
    """Return the ratio of tensorlike to another library in one row, None where that has none."""
    times: dict[str, Measured] = result["measured"]
    return ratio(times["tensorlike"], times[other]) if other in times and times[other].best else None


def line(name: str, result: dict[str, Any], libraries: list[str]) -> str:
    """Return a row of the table."""
    times: dict[str, Measured] = result["measured"]
    cells = [f"{name:52}"]
    cells += [f"{shown(times[n].best if n in times else None, result['unit']):>11}" for n in libraries]
    for other in ("numpy", "torch"):
        found = beside(result, other)
        aim = result["aims"].get(other)
        text = "-" if found is None else f"{found.value:.2f}"
        held = "" if aim is None or found is None else f" {'<=' if round(found.value, 2) <= aim else '> '}{aim:.2f}"
        cells.append(f"{text:>7}{held:7}")
    return "".join(cells)


def heading(libraries: list[str]) -> str:
    """Return the table's first line."""
    return f"{'':52}" + "".join(f"{n:>11}" for n in libraries) + f"{'/ numpy':>7}{'':7}{'/ torch':>7}"


def table(results: Results, machine: str) -> str:
    """Return the whole table, as a run prints it."""
    libraries = list(dict.fromkeys(name for result in results.values() for name in result["measured"]))
    lines = [machine, heading(libraries), *(line(name, r, libraries) for name, r in results.items()), *means(results)]
    return "\n".join(text.rstrip() for text in lines)


def again(results: Results, second: Results, before: dict[str, float]) -> str:
    """Return the ratios to torch of two runs, beside those of an earlier version."""
    lines = [f"{'':52}{'/ torch':>9}{'again':>9}{'before':>9}"]
    for name in results:
        found = [beside(run[name], "torch") if name in run else None for run in (results, second)]
        if found[0] is not None:
            ratios = [one and one.value for one in found] + [before.get(name)]
            lines.append(f"{name:52}" + "".join(f"{'-' if r is None else format(r, '.2f'):>9}" for r in ratios))
    return "\n".join(lines)


def means(results: Results) -> list[str]:
    """Return a line for each group: the geometric mean of its ratios to torch."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for result in results.values():
        if result["group"] and "torch" in result["measured"]:
            groups.setdefault(result["group"], []).append(result)
    lines = []
    for name, members in groups.items():
        ratios = [found.value for m in members if (found := beside(m, "torch")) is not None]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"{name}: geometric mean of {len(ratios)} ratios to torch {mean:.2f}")
    return lines


def written(results: Results, machine: str) -> str:
    """Return the results as JSON."""
    plain = {
        name: {
            "unit": r["unit"],
            "aims": r["aims"],
            "group": r["group"],
            "measured": {n: [float(f"{t:.4g}") for t in m.rounds] for n, m in r["measured"].items()},
        }
        for name, r in results.items()
    }
    # A row in each line: what is committed is compared by people.
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in plain.items())
    return f'{{"machine": {json.dumps(machine)}, "rows": {{\n{rows}\n}}}}\n'


def read(text: str) -> tuple[Results, str]:
    """Return the results, and the machine, of what `written` wrote."""
    data = json.loads(text)
    rows: Results = data["rows"]
    for row in rows.values():
        row["measured"] = {n: Measured(tuple(rounds)) for n, rounds in row["measured"].items()}
    return rows, data["machine"]


def compared(results: Results, text: str) -> list[str]:
    """Return a line for each row whose ratio to torch (NumPy where torch is missing) moved more than the noise."""
    lines = []
    earlier = read(text)[0]
    for name, result in results.items():
        before = earlier.get(name)
        if before is None:
            continue
        for other in ("torch", "numpy"):
            now = beside(result, other)
            then = beside(before, other)
            if now is None or then is None:
                continue
            # Three times as far as half of the rounds lay from the middle, in either run.
            noise = 3 * (now.noise + then.noise) + 0.03
            change = now.value / then.value - 1
            if abs(change) > noise:
                word = "slower" if change > 0 else "faster"
                moved = f"{then.value:.2f} -> {now.value:.2f}; noise {noise:.0%}"
                lines.append(f"{name}: {abs(change):.0%} {word} beside {other} ({moved})")
            break
    return lines


def picture(results: Results, machine: str) -> str:
    """Return an SVG of the ratios to torch, on a logarithmic scale: left of the line is faster than torch."""
    rows = [
        (name, found.value, r["aims"].get("torch"))
        for name, r in results.items()
        if (found := beside(r, "torch")) is not None
    ]
    height, left, width = 20 * len(rows) + 60, 360, 520

    def place(value: float) -> float:
        return left + width * (math.log10(min(max(value, 0.05), 5.0)) - math.log10(0.05)) / 2.0

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 70}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18">time of tensorlike / time of torch; {escape(machine)}</text>',
    ]
    for tick in (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
        x = place(tick)
        colour = "#333" if tick == 1.0 else "#ddd"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="30" y2="{height - 20}" stroke="{colour}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{tick:g}</text>')
    for index, (name, value, aim) in enumerate(rows):
        y = 36 + 20 * index
        start, end = sorted((place(1.0), place(value)))
        colour = "#2a7f4f" if value <= 1 else "#c05a2b"
        parts.append(f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="13" fill="{colour}"/>')
        if aim is not None:
            x = place(aim)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2}" y2="{y + 15}" stroke="#000" stroke-width="2"/>')
        parts.append(f'<text x="{left + width + 10}" y="{y + 11}">{value:.2f}</text>')
    return "\n".join([*parts, "</svg>"])
