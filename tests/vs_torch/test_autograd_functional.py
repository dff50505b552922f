"""`autograd.functional` beside PyTorch's: values, whether they have a history, and the type of each refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.autograd.functional

import tensorlike as tl
import tensorlike.autograd.functional

CASES: dict[str, Any] = {
    "forward": lambda t, f, x, r: f.jacobian(lambda x: x * 2, x, strategy="forward-mode", vectorize=True),
    "forward, row by row": lambda t, f, x, r: f.jacobian(lambda x: x * 2, x, strategy="forward-mode"),
    "unknown strategy": lambda t, f, x, r: f.jacobian(lambda x: x * 2, x, strategy="sideways"),
    "strict and vectorized": lambda t, f, x, r: f.jacobian(lambda x: x * 2, x, strict=True, vectorize=True),
    "independent": lambda t, f, x, r: f.jacobian(lambda x: t.ones(2), x),
    "independent, strict": lambda t, f, x, r: f.jacobian(lambda x: t.ones(2), x, strict=True),
    "no tensor out": lambda t, f, x, r: f.jacobian(lambda x: 3, x),
    "no tensor in": lambda t, f, x, r: f.jacobian(lambda x: x * 2, 3),
    "several": lambda t, f, x, r: f.jacobian(lambda x, y: (x * y, x.sum()), (x, x)),
    "several, vectorized": lambda t, f, x, r: f.jacobian(lambda x, y: (x * y, x.sum()), (x, x), vectorize=True),
    "several, forward": lambda t, f, x, r: f.jacobian(
        lambda x, y: (x * y, x.sum()), (x, x), vectorize=True, strategy="forward-mode"
    ),
    "hessian of a vector": lambda t, f, x, r: f.hessian(lambda x: x * 2, x),
    "hessian": lambda t, f, x, r: f.hessian(lambda x: (x**3).sum(), x, strict=True),
    "hessian of a linear function": lambda t, f, x, r: f.hessian(lambda x: x.sum(), x, strict=True),
    "hessian, forward, row by row": lambda t, f, x, r: f.hessian(
        lambda x: (x**3).sum(), x, outer_jacobian_strategy="forward-mode"
    ),
    "hessian of two": lambda t, f, x, r: f.hessian(lambda x, y: (x**3 * y).sum(), (x, x)),
    "hessian of two, vectorized": lambda t, f, x, r: f.hessian(lambda x, y: (x**3 * y).sum(), (x, x), vectorize=True),
    "vjp without v": lambda t, f, x, r: f.vjp(lambda x: x * 2, x),
    "vjp, wrong shape": lambda t, f, x, r: f.vjp(lambda x: x * 2, x, t.ones(3)),
    "vjp of one element": lambda t, f, x, r: f.vjp(lambda x: (x * 2).sum(), x),
    "vjp, wrong count": lambda t, f, x, r: f.vjp(lambda x: (x, x), x, (x,)),
    "vjp with history": lambda t, f, x, r: f.vjp(lambda x: x * x * r, x, x, create_graph=True),
    "vjp without history": lambda t, f, x, r: f.vjp(lambda x: x * x * r, x, x),
    "jvp without v": lambda t, f, x, r: f.jvp(lambda x: x * 2, x),
    "jvp": lambda t, f, x, r: f.jvp(lambda x: x.sin() * x.sum(), x, x),
    "jvp of a constant": lambda t, f, x, r: f.jvp(lambda x: t.ones(2), x, x),
    "jvp of a constant, strict": lambda t, f, x, r: f.jvp(lambda x: t.ones(2), x, x, strict=True),
    "hvp": lambda t, f, x, r: f.hvp(lambda x: (x**3).prod(), x, x),
    "vhp": lambda t, f, x, r: f.vhp(lambda x: (x**3).prod(), x, x),
    "vhp without v": lambda t, f, x, r: f.vhp(lambda x: (x**3).sum(), x),
    "hvp of a vector": lambda t, f, x, r: f.hvp(lambda x: x**3, x, x),
    "hvp of a linear function": lambda t, f, x, r: f.hvp(lambda x: x.sum(), x, x, strict=True),
    "integers": lambda t, f, x, r: f.jacobian(lambda x: x * 2, t.ones(2, dtype=t.int32)),
    "history": lambda t, f, x, r: f.jacobian(lambda x: x * x, r, create_graph=True),
    "history, vectorized": lambda t, f, x, r: f.jacobian(lambda x: x * x, r, create_graph=True, vectorize=True),
    "no history": lambda t, f, x, r: f.jacobian(lambda x: x * x * r, x),
    "not a tensor among the outputs": lambda t, f, x, r: f.jacobian(lambda x: (x.sum(), 3), r),
}


def _outcome(case: Any, t: Any, functional: Any) -> Any:
    x = t.tensor([0.5, -1.25], dtype=t.float64)
    try:
        return case(t, functional, x, x.clone().requires_grad_())
    except Exception as error:  # Compared by type.
        return type(error)


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.filterwarnings("ignore::UserWarning")  # both from torch's own vmap
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CASES)
def test_functional(name: str) -> None:
    ours, theirs = (
        _flat(_outcome(CASES[name], t, f))
        for t, f in ((tl, tl.autograd.functional), (torch, torch.autograd.functional))
    )
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, type):
            assert one is other
        else:
            assert one.requires_grad == other.requires_grad
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-9)
