"""Forward-mode derivatives: the public names. The code is in `tensorlike.transforms`, above this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorlike._above import above, explain_absent_names
from tensorlike.dispatch.state import STATE as _STATE

if TYPE_CHECKING:
    from tensorlike.transforms.forward_mode import (
        UnpackedDualTensor,
        dual_level,
        enter_dual_level,
        exit_dual_level,
        make_dual,
        unpack_dual,
    )

explain_absent_names(__name__)

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

globals().update((_name, getattr(above("transforms.forward_mode"), _name)) for _name in __all__)

if not TYPE_CHECKING:  # A definition that type checkers see would give the module every name.
    _explained = globals()["__getattr__"]

    def __getattr__(name: str) -> Any:
        # PyTorch keeps the number of the innermost level in the module, -1 where there is none.
        return len(_STATE.get().dual_levels) - 1 if name == "_current_level" else _explained(name)

