"""Placeholders for absent names, which take part in imports, annotations, `isinstance` and subclassing.

A name in the style of a class gives a class; one that the table lists as a module, a module; any other a function.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from types import ModuleType
from typing import Any, Final, NoReturn

from .absent import missing_attribute, reason_of
from .absent_names import MODULES

_made: Final[dict[str, Any]] = {}


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
