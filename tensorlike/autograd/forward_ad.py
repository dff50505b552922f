"""Forward-mode derivatives: the public names. The code is in `tensorlike.transforms`, above this package."""

from __future__ import annotations

from tensorlike._absent import explain_absent_names
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
