"""In-place methods that change a tensor's shape, inside the transforms, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tensorlike as tl
from tests.helpers.oracle import outcome
from tests.helpers.parity import quietly

#: Methods called on a matrix of the shape (2, 3); the result, and the matrix, are used afterwards.
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "t_": lambda L, x: x.t_(),
    "transpose_": lambda L, x: x.transpose_(0, 1),
    "swapaxes_": lambda L, x: x.swapaxes_(0, -1),
    "swapdims_": lambda L, x: x.swapdims_(0, 1),
    "unsqueeze_": lambda L, x: x.unsqueeze_(1),
    "squeeze_": lambda L, x: x.unsqueeze_(0).squeeze_(),
    "squeeze_, one dimension": lambda L, x: x.unsqueeze_(0).squeeze_(0),
    "squeeze_, two dimensions": lambda L, x: x.unsqueeze_(0).unsqueeze_(0).squeeze_((0, 1)),
    "as_strided_": lambda L, x: x.as_strided_((3, 2), (2, 1)),
    "resize_": lambda L, x: x.resize_(6),
    "resize_as_": lambda L, x: x.resize_as_(L.ones(6)),
    "of a view": lambda L, x: x.t().t_(),
    "then written to": lambda L, x: x.t_().mul_(2).transpose_(0, 1).add_(1),
    "of a square matrix": lambda L, x: x[:, :2].t_(),
    "detach_": lambda L, x: x.detach_(),
    "refused": lambda L, x: x.transpose_(0, 5),
}


def _dual(library: Any, function: Callable[[Any], Any], x: Any, tangent: Any) -> Any:
    forward = library.autograd.forward_ad
    with forward.dual_level():
        return [forward.unpack_dual(result) for result in function(forward.make_dual(x, tangent))]


TRANSFORMS: dict[str, Callable[[Any, Callable[[Any], Any], Any, Any], Any]] = {
    "jvp": lambda L, f, x, v: L.func.jvp(f, (x,), (v,)),
    "forward_ad": _dual,
    "jacfwd": lambda L, f, x, v: L.func.jacfwd(f)(x),
    "vmap": lambda L, f, x, v: L.func.vmap(f)(L.stack([x, v])),
    "grad": lambda L, f, x, v: L.func.grad(lambda t: (f(t)[0] * f(t)[1]).sum())(x),
    "vmap of jvp": lambda L, f, x, v: L.func.vmap(lambda a, b: L.func.jvp(f, (a,), (b,)))(
        L.stack([x, v]), L.stack([v, x])
    ),
}

#: Calls that differ, with the reason.
DIFFERENT = {
    **dict.fromkeys(
        (("as_strided_", "vmap"), ("as_strided_", "jacfwd"), ("as_strided_", "vmap of jvp"), ("resize_as_", "vmap")),
        "PyTorch's result is wrong, or an error of its own: it leaves the shape as it was",
    ),
    ("detach_", "forward_ad"): "a detached tensor has a tangent of zeros here, and none in PyTorch",
}


def run(library: Any, name: str, transform: str) -> Any:
    x = library.arange(6, dtype=library.float64).reshape(2, 3) + 1
    tangent = library.arange(6, dtype=library.float64).reshape(2, 3) * 10

    def function(x: Any) -> Any:
        y = x * 1
        z = METHODS[name](library, y)
        return z * 2, y * 3

    def flat(value: Any) -> Any:
        return [flat(v) for v in value] if isinstance(value, (list, tuple)) else value.tolist()

    found, error = outcome(quietly, TRANSFORMS[transform], library, function, x, tangent)
    return type(error) if error is not None else flat(found)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", METHODS)
def test_in_a_transform(name: str, transform: str) -> None:
    ours, theirs = (outcome(run, library, name, transform) for library in (tl, torch))
    reason = DIFFERENT.get((name, transform))
    if reason is None:
        assert ours == theirs
    else:
        assert ours != theirs, f"no longer different: {reason}"
