"""Modules with switches: attributes that are set, read back, and checked for their type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from tensorlike._library_name import spoken_name

__all__ = ["FlagModule", "bracketed", "check_flag", "freeze", "frozen", "set_flags", "switched"]

_frozen = False


def freeze() -> None:
    """Have switches be set by `flags()` and `set_flags()` alone."""
    global _frozen
    _frozen = True


def frozen() -> bool:
    """Return whether switches can be set by `flags()` and `set_flags()` alone."""
    return _frozen


@contextmanager
def bracketed() -> Iterator[None]:
    """Let switches be set in a block, for what restores them or was called to set them."""
    global _frozen
    former, _frozen = _frozen, False
    try:
        yield
    finally:
        _frozen = former


def check_flag(name: str, kind: type, value: Any) -> None:
    """Raise RuntimeError, as PyTorch does, unless `value` is of the type of the switch `name`."""
    if type(value) is not kind:
        article = "an" if kind.__name__[0] in "aeiou" else "a"
        raise RuntimeError(f"{name} expects {article} {kind.__name__}, but got {type(value).__name__}")


class FlagModule(ModuleType):
    """The class of a module whose switches, named in its `_FLAGS` with their types, are checked when they are set."""

    def __setattr__(self, name: str, value: Any) -> None:
        kind = vars(self).get("_FLAGS", {}).get(name)
        if kind is not None:
            if _frozen:
                raise RuntimeError(
                    f"not allowed to set {spoken_name(self.__name__)} flags after disable_global_flags; please use "
                    "flags() context manager instead"
                )
            check_flag(f"{spoken_name(self.__name__)}.{name}", kind, value)
        super().__setattr__(name, value)


def set_flags(module: ModuleType, values: dict[str, Any]) -> dict[str, Any]:
    """Set those switches of a module that are not None; return all of them as they were."""
    former = {name: getattr(module, name) for name in values}
    try:
        _set_all(module, {name: value for name, value in values.items() if value is not None})
    except BaseException:
        _set_all(module, former)  # One was refused, after others were set.
        raise
    return former


def _set_all(module: ModuleType, values: dict[str, Any]) -> None:
    with bracketed():
        for name, value in values.items():
            setattr(module, name, value)


@contextmanager
def switched(module: ModuleType, values: dict[str, Any]) -> Iterator[None]:
    """Set switches of a module for a block, of this process as a whole."""
    former = set_flags(module, values)
    try:
        yield
    finally:
        _set_all(module, former)  # Those too that were None.
