"""Jacobians and Hessians: the public names. The code is in `tensorlike.transforms`, above this package."""

from __future__ import annotations

from tensorlike.transforms.autograd_functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
