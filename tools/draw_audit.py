"""Draw the picture of an audit on the first page of the documentation: `python tools/draw_audit.py [--check]`.

It audits three stages of the tutorial's type, taken from the page itself, and writes `docs/_static/audit.svg`. With
`--check` it compares that file instead, and exits with 1 where the two differ.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import tensorlike as tl  # noqa: E402
from tensorlike.audit import Outcome  # noqa: E402
from tensorlike.audit.model import Totals  # noqa: E402

PAGE = ROOT / "docs" / "writing-a-tensor-like-type.md"
PICTURE = ROOT / "docs" / "_static" / "audit.svg"

#: The stages: the class of the page, and what it does.
STAGES = {
    "WithTable": "a table with one function",
    "Hasty": "unwrap the arguments, call",
    "Annotation": "also in lists, and rewrap",
}


def stages() -> dict[str, type]:
    """Return the classes of the tutorial by running the listings that define them."""
    # The page prints and audits on its way, which is not needed here.
    nothing = lambda *args, **options: None
    namespace: dict[str, Any] = {"__name__": "tutorial"} | dict.fromkeys(("print", "audit", "summary", "some"), nothing)
    for code in re.findall(r"^```python\n(.*?)^```\n", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        if "import tensorlike as tl" in code or re.search(rf"^class ({'|'.join(STAGES)})\(", code, re.MULTILINE):
            exec(compile(code, str(PAGE), "exec"), namespace)
    return {name: namespace[name] for name in STAGES}


def audited() -> Iterator[tuple[str, Totals]]:
    """Yield the name and the totals of each stage."""
    for name, kind in stages().items():
        report = tl.overrides.audit(
            kind, from_dense=lambda tensor, kind=kind: kind(tensor, "Exeter"), to_dense=lambda a: a.tensor
        )
        yield name, report.totals


def picture() -> str:
    """Return the picture as SVG."""
    width, left, bar = 760, 250, 420
    lines = []
    y = 52
    stages = list(audited())
    words = [word for word in Outcome if word is not Outcome.NOT_CALLED and any(t.outcomes[word] for _, t in stages)]
    for name, totals in stages:
        lines.append(f'<text x="16" y="{y + 14}" class="name">{name}</text>')
        lines.append(f'<text x="16" y="{y + 31}" class="soft">{STAGES[name]}</text>')
        x = float(left)
        for word in words:
            share = bar * totals.outcomes[word] / totals.called
            if share:
                lines.append(f'<rect x="{x:.1f}" y="{y}" width="{share:.1f}" height="32" fill="{word.colour}"/>')
            x += share
        lines.append(f'<text x="{left + bar + 12}" y="{y + 22}" class="share">{totals.coverage:.1f} %</text>')
        y += 50
    x = 16.0
    y += 10
    for word in words:
        lines.append(f'<rect x="{x:.0f}" y="{y - 10}" width="11" height="11" rx="2" fill="{word.colour}"/>')
        lines.append(f'<text x="{x + 16:.0f}" y="{y}" class="key">{word.label}</text>')
        x += 30 + 6.1 * len(word.label)
    y += 16
    style = (
        ".name{font:600 14px ui-monospace,Menlo,Consolas,monospace}.share{font:600 15px system-ui,sans-serif}"
        ".soft{font:12px system-ui,sans-serif;fill:#59636e}.key{font:11.5px system-ui,sans-serif;fill:#59636e}"
        ".title{font:600 14px system-ui,sans-serif}"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" width="{width}" height="{y}" role="img" '
        'aria-label="An audit of three stages of one type">'
    )
    title = '<text x="16" y="28" class="title">tensorlike audit: every function, with the type as each operand</text>'
    background = f'<rect width="{width}" height="{y}" rx="8" fill="#ffffff"/>'
    return "\n".join([head, f"<style>text{{fill:#1c2128}}{style}</style>", background, title, *lines, "</svg>", ""])


def main(arguments: list[str]) -> int:
    """Write or compare the picture and return the exit status."""
    made = picture()
    if "--check" not in arguments:
        PICTURE.write_text(made, encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") == made:
        return 0
    print(
        f"{PICTURE.relative_to(ROOT)} is not what the audit says now: run python tools/draw_audit.py", file=sys.stderr
    )
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
