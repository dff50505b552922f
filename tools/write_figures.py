"""Write the committed results into the pages of the documentation: `python tools/write_figures.py`; `--check` compares.

The results are files in docs/results/, each written by the command that a page names beside its figures. In a page they
stand between two comments, `<!-- figures: NAME -->` and `<!-- end of figures -->`; what is between them is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
sys.path.insert(0, str(ROOT))  # The tables are those that the commands print.

from benchmarks import report  # noqa: E402
from tests.parity.text import text_of  # noqa: E402
from tests.random_programs.known import KNOWN  # noqa: E402

_SECTION = re.compile(r"(<!-- figures: ([\w ]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def _read(name: str) -> str:
    return (RESULTS / name).read_text(encoding="utf-8")


def _performance() -> str:
    results, machine = report.read(_read("performance.json"))
    return f"```text\n{report.table(results, machine)}\n```"


def _performance_again() -> str:
    results, second = (report.read(_read(name))[0] for name in ("performance.json", "performance-again.json"))
    return f"```text\n{report.again(results, second, json.loads(_read('performance-before.json')))}\n```"


def _breadth() -> str:
    figures = json.loads(_read("breadth.json"))
    return "\n\n".join(f"```text\n{chr(10).join(figures[run])}\n```" for run in ("without", "with gradient"))


def _parity() -> str:
    return text_of(json.loads(_read("parity.json")))


def _random_programs() -> str:
    found = json.loads(_read("random-programs.json"))
    text = (
        f"The {found['programs']:,} programs of seeds 0 to {found['programs'] - 1:,}, which CI runs, are "
        f"{found['statements']:,} statements, {found['failing statements']:,} of which fail in both libraries, and "
        f"{found['comparisons']:,} comparisons of a tensor; they call {found['functions']} functions rightly. They met "
        f"{sum(found['differences with a reason'].values()):,} deliberate differences, and "
        f"{found['differences without a reason']:,} without a reason."
    )
    return textwrap.fill(text, 120)


def _packages() -> str:
    data = json.loads(_read("packages.json"))
    rows = data["packages"]
    lines = [
        f"{data['date']}, {data['machine']}, torch {rows[0]['torch']}.",
        "",
        "| package | types | left out | calls | passed | refused | signature | raised | type lost | wrong value | s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['package']} {row['version']} | {row['types']} | {row['left out']} | {row['calls']:,} | "
        f"{row['passed']:,} | {row['refused']:,} | {row['signature']:,} | {row['raised']:,} | {row['type lost']:,} | "
        f"{row['wrong value']:,} | {row['seconds']:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def _findings() -> str:
    rows = json.loads(_read("packages.json"))["packages"]
    return "\n".join(
        textwrap.fill(f"- **{r['package']}**: {r['confirmed']}.", 120, subsequent_indent="  ", break_on_hyphens=False)
        for r in rows
    )


def _differences_of_programs() -> str:
    reasons = dict.fromkeys(known.reason for known in KNOWN)
    return "\n".join(textwrap.fill(f"- {r}", 120, subsequent_indent="  ", break_on_hyphens=False) for r in reasons)


FIGURES: dict[str, Callable[[], str]] = {
    "performance": _performance,
    "performance again": _performance_again,
    "breadth": _breadth,
    "parity": _parity,
    "packages": _packages,
    "findings in packages": _findings,
    "random programs": _random_programs,
    "differences of random programs": _differences_of_programs,
}


def written(page: str) -> str:
    """Return a page with the figures that its comments name."""

    def section(match: re.Match[str]) -> str:
        if match[2] not in FIGURES:
            raise SystemExit(f"there are no figures called {match[2]!r}, only {', '.join(FIGURES)}")
        return f"{match[1]}\n{FIGURES[match[2]]()}\n\n{match[3]}"

    return _SECTION.sub(section, page)


def main() -> int:
    """Write the pages, or say which of them are not what the results are."""
    parser = argparse.ArgumentParser(prog="python tools/write_figures.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page would change")
    options = parser.parse_args()
    old: list[str] = []
    found: set[str] = set()
    for path in sorted((ROOT / "docs").glob("*.md")):
        page = path.read_text(encoding="utf-8")
        found.update(name for _, name, _ in _SECTION.findall(page))
        new = written(page)
        if new != page:
            old.append(path.relative_to(ROOT).as_posix())
            if not options.check:
                path.write_text(new, encoding="utf-8")
    missing = FIGURES.keys() - found
    if missing:
        print(f"no page shows these figures: {', '.join(sorted(missing))}", file=sys.stderr)
        return 1
    if old and options.check:
        print(f"not what docs/results says: {', '.join(old)}; run python tools/write_figures.py", file=sys.stderr)
        return 1
    print("\n".join(f"wrote {name}" for name in old) or "the pages are what docs/results says")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
