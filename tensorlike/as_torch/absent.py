"""Names of PyTorch's that are absent here: why, and which were asked for."""

from __future__ import annotations

from types import FrameType
from typing import Final

from tensorlike._library_name import LIBRARY

from .absent_names import IMPORTED_EVERYWHERE, reasons

MODES: Final = ("raise", "placeholder")


class Gap:
    """A name that is absent and was mentioned: how often, and where first."""

    def __init__(self, place: str) -> None:
        self.count = 1
        self.place = place


class State:
    """The answer to absent names at present, and which were asked for."""

    def __init__(self) -> None:
        self.missing = "raise"
        self.gaps: dict[str, Gap] = {}


STATE: Final = State()


def reason_of(name: str) -> str | None:
    """Return why a name such as `torch.fx.Node` is absent; None for what PyTorch does not have either."""
    found = reasons()
    parts = name.split(".")
    for n in range(len(parts), 1, -1):
        reason = found.get(".".join(parts[:n]))
        if reason is not None:
            return reason
    if LIBRARY.name == "torch" and any(part[:1] == "_" and part[-2:] != "__" for part in parts):
        return "it is PyTorch's own: names that start with an underscore are free to change there, and few are here"
    return None


def has_placeholder(full: str) -> bool:
    """Return whether a name that is absent and mentioned is a placeholder at present."""
    if STATE.missing == "placeholder":
        return True
    return LIBRARY.name == "torch" and any(f"{full}.".startswith(f"{name}.") for name in IMPORTED_EVERYWHERE)


def note_gap(full: str, frame: FrameType | None) -> None:
    """Remember that a name was mentioned."""
    gap = STATE.gaps.get(full)
    if gap is not None:
        gap.count += 1
        return
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    place = "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
    STATE.gaps[full] = Gap(place)


def gaps_report() -> str:
    """Return the absent names that were mentioned, with reasons, as text."""
    if not STATE.gaps:
        return "No name was asked for that tensorlike lacks."
    lines = [f"{len(STATE.gaps)} names were asked for that tensorlike lacks:"]
    for name, gap in sorted(STATE.gaps.items()):
        times = "" if gap.count == 1 else f", {gap.count} times"
        lines.append(f"  {name}: {reason_of(name)} (first at {gap.place}{times})")
    return "\n".join(lines)


def module_not_found(fullname: str, frame: FrameType | None) -> ModuleNotFoundError:
    """Return the error of `import torch.x`, at `frame`; of `from torch import x`, without one, which goes on."""
    reason = reason_of(fullname)
    text = f"No module named {fullname!r}"
    if reason is not None and frame is not None:
        note_gap(fullname, frame)
        text += f": {reason}"
    return ModuleNotFoundError(text, name=fullname)
