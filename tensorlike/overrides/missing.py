"""PyTorch's public names that are absent here, with reasons: `python -m tensorlike.overrides missing`.

The names are those of `tensorlike.as_torch.absent_names`, the one table of them.
"""

from __future__ import annotations

from tensorlike.as_torch.absent_names import GROUPS, PUBLIC_NAMES, PYTORCH, names

__all__ = ["report"]


def report(each: bool = False) -> str:
    """Return the reasons as text, with the number of names for each; with `each` the names as well.

    >>> print(report().partition(":")[0])
    PyTorch 2.13 has 6984 public names. Absent here, a module with all that is in it, are
    """
    lines = [
        f"PyTorch {PYTORCH} has {PUBLIC_NAMES} public names. Absent here, a module with all that is in it, are:",
        "",
    ]
    for group in GROUPS:
        found = names(group)
        lines.append(f"  {group.title} ({len(found)}): {group.reason}")
        if each:
            lines += [f"    {name}" for name in found]
    return "\n".join(lines)
