"""Jacobians and Hessians: the public names. The code is in `tensorlike.transforms`, above this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlike._above import above, explain_absent_names

if TYPE_CHECKING:
    from tensorlike.transforms.autograd_functional import hessian, hvp, jacobian, jvp, vhp, vjp

explain_absent_names(__name__)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

globals().update((_name, getattr(above("transforms.autograd_functional"), _name)) for _name in __all__)
