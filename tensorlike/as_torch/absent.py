"""Names of PyTorch's that are absent here, when they are asked for: an error with the reason, or a placeholder.

# Note [A mention or a question]
`hasattr(torch, "x")` and `getattr(torch, "x", None)` ask whether a name is there, and the answer is the truth. In
`from torch import x` and in `torch.x` the name stands in source code, which only PyTorch can have promised. The
instruction that the calling frame is at tells the two apart: a name is mentioned by IMPORT_FROM and LOAD_ATTR, and
asked about by a call. So ImportError can give a reason, where Python itself would replace the error by one without;
and a mention gives a placeholder, where these are wanted, while `hasattr` stays False.
"""

from __future__ import annotations

import importlib.util
import sys
from opcode import opmap
from types import FrameType
from typing import Any, Final

from tensorlike._library_name import LIBRARY, spoken_name
from tensorlike.dispatch.tracebacks import shorten

MODES: Final = ("raise", "placeholder")
#: The functions here between the instruction that asks and the one that looks at it.
_OWN: Final = ("__getattr__", "_attribute", "absent", "missing_attribute")
_IMPORT: Final = opmap["IMPORT_FROM"]
_ATTRIBUTE: Final = frozenset(opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opmap)


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
    from .absent_names import reasons

    found = reasons()
    parts = name.split(".")
    for n in range(len(parts), 1, -1):
        reason = found.get(".".join(parts[:n]))
        if reason is not None:
            return reason
    if LIBRARY.name == "torch" and any(part[:1] == "_" and part[-2:] != "__" for part in parts):
        return "it is PyTorch's own: names that start with an underscore are free to change there, and few are here"
    return None


def absent(module: str, name: str) -> Any:
    """Return a placeholder for a name that the module `tensorlike.x` lacks, or raise an error that says why.

    What PyTorch has in that module, and this library in one of another name, is returned while installed.
    """
    if name[:2] != "__" and LIBRARY.name == "torch":
        from .naming import found_at_home, home_module

        found = found_at_home(f"torch{module.removeprefix('tensorlike')}", name)
        if found is not None:
            return found[0]
        made = home_module(f"torch{module.removeprefix('tensorlike')}.{name}")
        if made is not None:
            return made
    full = f"torch{module.removeprefix('tensorlike')}.{name}"
    # Not of a module that is there and not imported yet, such as `torch.utils.benchmark`.
    is_absent = name[:2] != "__" and not _is_module(f"{module}.{name}")
    reason = reason_of(full) if is_absent else None
    try:
        return missing_attribute(full, reason, f"module {spoken_name(module)!r}", sys.modules[module])
    except (AttributeError, ImportError) as error:
        shorten(error)
        raise


def _is_module(name: str) -> bool:
    """Return whether this library has a module of that name."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # The module that is asked is no package.
        return False


def missing_attribute(full: str, reason: str | None, owner: str, value: object) -> Any:
    """Return a placeholder for `full`, or raise the error that fits the instruction that asks for it."""
    name = full.rpartition(".")[2]
    text = f"{owner} has no attribute {name!r}"
    if reason is None:
        raise AttributeError(text, name=name, obj=value)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name in _OWN:
        frame = frame.f_back
    instruction = frame.f_code.co_code[frame.f_lasti] if frame is not None and frame.f_lasti >= 0 else None
    if instruction == _IMPORT or instruction in _ATTRIBUTE:
        note_gap(full, frame)
        if has_placeholder(full):
            from .placeholders import placeholder

            return placeholder(full, reason)
    if instruction == _IMPORT:
        first, dot, rest = full.rpartition(".")[0].partition(".")
        where = f"{LIBRARY if first == 'torch' else first}{dot}{rest}"
        raise ImportError(f"cannot import name {name!r} from {where!r}: {reason}", name=where)
    raise AttributeError(f"{text}: {reason}", name=name, obj=value)


def has_placeholder(full: str) -> bool:
    """Return whether a name that is absent and mentioned is a placeholder at present."""
    from .absent_names import IMPORTED_EVERYWHERE

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
