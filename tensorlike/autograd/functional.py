"""Jacobians and Hessians: the public names. The code is in `tensorlike.transforms`, above this package."""

from __future__ import annotations

from tensorlike._absent import explain_absent_names
from tensorlike.transforms.autograd_functional import hessian, hvp, jacobian, jvp, vhp, vjp

explain_absent_names(__name__)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
