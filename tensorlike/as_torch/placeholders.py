"""Names of PyTorch's that are absent here, when they are asked for: an error with the reason, or a placeholder.

Placeholders take part in imports, annotations, `isinstance` and subclassing. A name in the style of a class gives a
class; one that the table lists as a module, a module; any other a function.

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
from abc import ABCMeta
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any, Final, NoReturn

from tensorlike._library_name import LIBRARY, spoken_name
from tensorlike.dispatch.tracebacks import shorten

from .absent import has_placeholder, note_gap, reason_of
from .absent_names import MODULES
from .naming import found_at_home, home_module

#: The functions here between the instruction that asks and the one that looks at it.
_OWN: Final = ("__getattr__", "_attribute", "absent", "missing_attribute")
_IMPORT: Final = opmap["IMPORT_FROM"]
_ATTRIBUTE: Final = frozenset(opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opmap)

_made: Final[dict[str, Any]] = {}


def absent(module: str, name: str) -> Any:
    """Return a placeholder for a name that the module `tensorlike.x` lacks, or raise an error that says why.

    What PyTorch has in that module, and this library in one of another name, is returned while installed.
    """
    if name[:2] != "__" and LIBRARY.name == "torch":
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
            return placeholder(full, reason)
    if instruction == _IMPORT:
        first, dot, rest = full.rpartition(".")[0].partition(".")
        where = f"{LIBRARY if first == 'torch' else first}{dot}{rest}"
        raise ImportError(f"cannot import name {name!r} from {where!r}: {reason}", name=where)
    raise AttributeError(f"{text}: {reason}", name=name, obj=value)


def _refuse(full: str) -> NoReturn:
    raise NotImplementedError(f"{full} is absent from tensorlike: {reason_of(full)}")


def _attribute(full: str, name: str, value: object) -> Any:
    reason = None if name[:2] == "__" else reason_of(full)
    return missing_attribute(f"{full}.{name}", reason, repr(full), value)


class AbsentClass(ABCMeta):
    """The class of placeholders for classes: a call of one of them, or of its subclass, raises the reason."""

    _tensorlike_absent: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(cls._tensorlike_absent)

    def __getattr__(cls, name: str) -> Any:
        if name == "_tensorlike_absent":
            raise AttributeError(name)
        return _attribute(cls._tensorlike_absent, name, cls)

    def __getitem__(cls, item: object) -> Any:
        return cls


class AbsentFunction:
    """A placeholder for a function or another object: a call raises the reason."""

    def __init__(self, full: str) -> None:
        self._tensorlike_absent = full
        self.__name__ = self.__qualname__ = full.rpartition(".")[2]
        self.__module__ = full.rpartition(".")[0]

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(self._tensorlike_absent)

    def __getattr__(self, name: str) -> Any:
        if name == "_tensorlike_absent":
            raise AttributeError(name)
        return _attribute(self._tensorlike_absent, name, self)

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are the placeholder itself, as they are of functions.
        return placeholder, (self._tensorlike_absent, str(reason_of(self._tensorlike_absent)))

    def __repr__(self) -> str:
        return f"<placeholder for {self._tensorlike_absent}>"


class AbsentModule(ModuleType):
    """A placeholder for a module."""

    def __init__(self, full: str) -> None:
        super().__init__(full, f"A placeholder: {reason_of(full)}.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return _attribute(self.__name__, name, self)


def placeholder(full: str, reason: str) -> Any:
    """Return the placeholder for an absent name, the same one each time."""
    found = _made.get(full)
    if found is None:
        found = _made.setdefault(full, _make(full, reason))
    return found


def _make(full: str, reason: str) -> Any:
    if full in MODULES:
        return AbsentModule(full)
    space, _, name = full.rpartition(".")
    if name[:1].isupper() and not name.isupper():
        contents = {"__module__": space, "__doc__": f"A placeholder: {reason}.", "_tensorlike_absent": full}
        return AbsentClass(name, (), contents)
    return AbsentFunction(full)


def placeholder_module(full: str) -> ModuleType | None:
    """Return the module that `import` of an absent module gives; None where it is to fail."""
    if reason_of(full) is None:
        return None
    found = _made.get(full)
    if isinstance(found, ModuleType):
        return found
    made = _made[full] = AbsentModule(full)
    return made


def remove_modules() -> None:
    """Take the modules off the modules of this library, on which imports have put them."""
    for full, made in _made.items():
        if isinstance(made, ModuleType):
            space, _, name = full.rpartition(".")
            owner = sys.modules.get("tensorlike" + space.removeprefix("torch"))
            if owner is not None and vars(owner).get(name) is made:
                delattr(owner, name)


def is_placeholder(value: object) -> bool:
    """Return whether a value stands for an absent name."""
    return isinstance(value, AbsentClass | AbsentFunction | AbsentModule)
