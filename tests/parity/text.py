"""The report as text in Markdown, which terminals and docs/parity.md show alike. It needs no PyTorch."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from typing import Any

__all__ = ["CATEGORIES", "text_of"]

#: What is compared, in the order of the report's columns, with their titles.
CATEGORIES = {
    "values": "values",
    "apart": "not contiguous",
    "dtypes": "dtypes taken",
    "gradients": "gradients",
    "second gradients": "second",
    "errors": "errors",
}


def _table(data: dict[str, Any]) -> list[str]:
    """Return the scores by namespace."""
    scores = data["scores"]
    rows = [["namespace", "operations", *CATEGORIES.values(), "score"]]
    for space in (*sorted((s for s in scores if s != "all"), key=lambda s: (s != "tensorlike", s)), "all"):
        pairs = [(scores[space].get(c, {"agree": 0, "all": 0})) for c in CATEGORIES]
        good, total = (sum(pair[key] for pair in pairs) for key in ("agree", "all"))
        cells = [f"{pair['agree']}/{pair['all']}" if pair["all"] else "-" for pair in pairs]
        score = f"{100 * good / total:.2f} %" if total else "-"
        rows.append([space, str(data["counts"][space]), *cells, score])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [f"| {' | '.join(f'{cell:{w}}' for cell, w in zip(row, widths, strict=True))} |" for row in rows]
    lines.insert(1, f"|{'|'.join('-' * (w + 1) + ':' if i else '-' * (w + 2) for i, w in enumerate(widths))}|")
    return lines


def _grouped(differences: list[dict[str, str]]) -> str:
    """Return the operations, each with the dtypes in question."""
    dtypes: dict[str, list[str]] = defaultdict(list)
    for one in differences:
        kept = dtypes[one["name"].removeprefix("tensorlike.")]
        if one["dtype"] and one["dtype"] not in kept:
            kept.append(one["dtype"])
    return ", ".join(
        f"`{name}` ({', '.join(found)})" if found else f"`{name}`" for name, found in sorted(dtypes.items())
    )


def text_of(data: dict[str, Any]) -> str:
    """Return what `python -m tests.parity --report` prints, of what `--json` prints."""
    lines = [
        f"{data['operations']} operations with samples against PyTorch {data['torch']}: checks that agree / all",
        "",
    ]
    lines += _table(data)
    reasons: dict[str, list[dict[str, str]]] = defaultdict(list)
    for one in data["differences"]:
        reasons[one["reason"]].append(one)
    unexplained = reasons.pop("", [])
    lines += ["", f"{sum(map(len, reasons.values()))} differences with a reason:", ""]
    for reason, found in reasons.items():
        text = f"- {reason}: {_grouped(found)}"
        lines += textwrap.wrap(text, 120, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
    lines += ["", f"{len(unexplained)} differences without a reason" + (":" if unexplained else ".")]
    lines += [f"- {one['category']} {one['name']} {one['dtype']}: {one['text']}" for one in unexplained]
    for entry in data["gone"]:
        text = "{names} ({category}, {dtypes}): {reason}".format(**entry)
        lines.append(f"- gone, take it off the list: {text}")
    return "\n".join(lines)
