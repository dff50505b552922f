"""Switches of the order in which `einsum` multiplies more than two operands.

Where the package opt_einsum is installed it chooses the order, by `strategy`, unless `enabled` is set to False; without
it NumPy does. Sums of floats differ between orders by rounding alone.

Same as PyTorch's module of that name, except that PyTorch without opt_einsum multiplies from left to right.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any

from tensorlike.operations.linalg import contraction_order

from ._flags import FlagModule, switched
from ._flags import set_flags as _set_flags

__all__ = ["flags", "get_opt_einsum", "is_available", "set_flags"]

_STRATEGIES = ("auto", "greedy", "optimal")
_FLAGS = {"enabled": bool}
enabled: bool
strategy: str | None


class _EinsumModule(FlagModule):
    # The values lie with the operations, which are below this package.
    @property
    def enabled(self) -> bool:
        return bool(contraction_order.read_switch("enabled"))

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value and not is_available():
            raise ValueError(
                "opt_einsum is not available, so setting `enabled` to True will not reap the benefits of calculating "
                "an optimal path for einsum: NumPy chooses the order. Please install opt-einsum."
            )
        contraction_order.write_switch("enabled", value)

    @property
    def strategy(self) -> str | None:
        found: str | None = contraction_order.read_switch("strategy")
        return found

    @strategy.setter
    def strategy(self, value: str | None) -> None:
        # None is what it is without the package, and may be put back.
        if value is None and not is_available():
            return
        if not is_available():
            raise ValueError(
                f"opt_einsum is not available, so setting `strategy` to {value} will not be meaningful: NumPy chooses "
                "the order. Please install opt_einsum or unset `strategy`."
            )
        if value not in _STRATEGIES:
            raise ValueError(f"`strategy` must be one of the following: [auto, greedy, optimal] but is {value}")
        contraction_order.write_switch("strategy", value)


_module: Any = sys.modules[__name__]
_module.__class__ = _EinsumModule


def is_available() -> bool:
    """Return whether the package opt_einsum can be imported.

    >>> tl.backends.opt_einsum.is_available() == (tl.backends.opt_einsum.get_opt_einsum() is not None)
    True
    """
    return contraction_order.opt_einsum_package() is not None


def get_opt_einsum() -> Any:
    """Return the package opt_einsum if it can be imported, else None."""
    return contraction_order.opt_einsum_package()


def _checked(enabled: bool | None, strategy: str | None) -> dict[str, Any]:
    """Return the switches to set; raise ValueError for a strategy that nothing would ask for."""
    if strategy is not None and is_available() and not (_module.enabled if enabled is None else enabled):
        raise ValueError(
            f"opt_einsum is not enabled, so setting a `strategy` to {strategy} will not be meaningful: NumPy chooses "
            "the order. Please set `enabled` to `True` as well or unset `strategy`."
        )
    return {"enabled": enabled, "strategy": strategy}


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str | None]:
    """Set those switches that are not None; return both as they were."""
    former = _set_flags(_module, _checked(_enabled, _strategy))
    return former["enabled"], former["strategy"]


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Set the switches for a block.

    >>> with tl.backends.opt_einsum.flags(enabled=False):
    ...     tl.backends.opt_einsum.enabled
    False
    """
    return switched(_module, _checked(enabled, strategy))
