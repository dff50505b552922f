"""Gradients compared with finite differences: `gradcheck` for the first derivative, `gradgradcheck` for the second.

# Note [What is compared]
A real input is moved by `eps` in both directions, a complex one along the real and the imaginary axis: that gives the
numerical Jacobian, entry by entry, or in fast mode its product with one random direction. Backward is started from one
entry of an output at a time, or from one random vector. The gradient of a real function L of z = x + iy is
dL/dx + i dL/dy, as PyTorch defines it; a complex output counts as two real ones, its real and its imaginary part.
Forward mode is compared along the same directions.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

from .inputs import GradcheckError
from .public import gradcheck, gradgradcheck

explain_absent_names(__name__)

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
