"""Forward-mode derivatives: the public names. The code is in `tensorlike.transforms`, above this package."""

from __future__ import annotations

from tensorlike.transforms.forward_mode import (
    UnpackedDualTensor,
    dual_level,
    enter_dual_level,
    exit_dual_level,
    make_dual,
    unpack_dual,
)

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]
