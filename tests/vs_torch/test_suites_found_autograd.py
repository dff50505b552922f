"""What PyTorch's own tests of autograd and of pooling found: the same answers and the same refusals as PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

import tensorlike as tl


def refusal(call: Callable[[], Any]) -> RuntimeError:
    """Return the RuntimeError that the call raises."""
    with pytest.raises(RuntimeError) as caught:
        call()
    return caught.value


# ------------------------------------------------------------------------------------ forward mode of custom Functions


def _view(ctx: Any, x: Any) -> Any:
    return x.narrow(0, 0, 2)


def _as_is(ctx: Any, x: Any) -> Any:
    return x


def _dirty(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


def _constant(ctx: Any, x: Any) -> Any:
    y = x.clone()
    ctx.mark_non_differentiable(y)
    return y


def _view_of_new(ctx: Any, x: Any) -> Any:
    return (x * 2).view(-1)


def _copied_view(tangent: Any) -> Any:
    copied = tangent.narrow(0, 0, 2).clone()
    return copied.view_as(copied)


FORWARD = {"view": _view, "as is": _as_is, "dirty": _dirty, "constant": _constant, "view of new": _view_of_new}

JVP: dict[str, Callable[[Any], Any]] = {
    "self": lambda t: t,
    "view": lambda t: t.view_as(t),
    "part": lambda t: t.narrow(0, 0, 2),
    "copied part": lambda t: t.narrow(0, 0, 2).clone(),
    "view of a copied part": _copied_view,
    "product": lambda t: t * 2,
    "modified": lambda t: t.mul_(2),
    "none": lambda t: None,
}

#: Words of the refusals.
WORDS = (
    "but the jvp is not returning a view.", "but the jvp is not returning a view of the given grad input",
    "but the jvp is not returning a view of the same base as the given grad input",
    "An inplace custom Function is not modifying the forward mode gradients inplace.",
    "but the corresponding forward output is not a differentiable Tensor",
)  # fmt: skip

#: What fits each forward in shape.
CASES = [
    (forward, jvp)
    for forward in FORWARD
    for jvp in JVP
    if ("part" in jvp) == (forward == "view") or (forward, jvp) == ("dirty", "none")
    if jvp != "none" or forward in ("dirty", "constant")
]


def _tangent(lib: Any, forward: str, jvp: str, requires_grad: bool, of_view: bool) -> Any:
    Fn: Any = type(
        "Fn",
        (lib.autograd.Function,),
        {
            "forward": staticmethod(FORWARD[forward]),
            "backward": staticmethod(lambda ctx, g: g),
            "jvp": staticmethod(lambda ctx, t: JVP[jvp](t)),
        },
    )
    forward_ad = lib.autograd.forward_ad
    with forward_ad.dual_level():
        x = lib.arange(3.0).requires_grad_(requires_grad).clone()
        tangent = lib.ones(3)
        dual = given = forward_ad.make_dual(x, tangent)
        if of_view:
            given = dual.view_as(dual)
        try:
            out = Fn.apply(given)
        except RuntimeError as error:
            message = " ".join(str(error).split())
            return [words for words in WORDS if words in message] or message
        found = forward_ad.unpack_dual(out).tangent
        return (
            out is given, found is tangent, None if found is None else (found.tolist(), found._base is tangent),
            forward_ad.unpack_dual(given).tangent.tolist(), out.tolist(),
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # By PyTorch itself.
@pytest.mark.parametrize("of_view", [False, True])
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize(("forward", "jvp"), CASES)
def test_the_tangent_is_what_the_output_is(forward: str, jvp: str, requires_grad: bool, of_view: bool) -> None:
    ours = _tangent(tl, forward, jvp, requires_grad, of_view)
    theirs = _tangent(torch, forward, jvp, requires_grad, of_view)
    assert ours == theirs


# ------------------------------------------------------------------------------------------------------------- pooling


def _indices_changed(lib: Any, name: str) -> None:
    count = int(name[-2])
    x = lib.ones(1, 2, *[4] * count, requires_grad=True)
    arguments = (2, 2) if "fractional" in name else (2,)
    values, indices = getattr(lib.nn.functional, name)(x, *arguments, return_indices=True)
    indices.add_(1)
    values.sum().backward()


POOLS = [f"{kind}max_pool{count}d" for kind in ("", "adaptive_") for count in (1, 2, 3)] + ["fractional_max_pool2d"]


@pytest.mark.parametrize("name", POOLS)
def test_returned_indices_must_not_change_before_backward(name: str) -> None:
    words = "modified by an inplace operation"
    for lib in (tl, torch):
        assert words in str(refusal(partial(_indices_changed, lib, name)))


@pytest.mark.parametrize("shape", [(1, 3), (0, 2), (3,)])
@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_pool_without_windows_has_no_derivative(count: int, kind: str, shape: tuple[int, ...]) -> None:
    for lib in (tl, torch):
        x = lib.ones(*shape, *[4] * count, requires_grad=True)
        out = getattr(lib.nn.functional, f"adaptive_{kind}_pool{count}d")(x, 0)
        assert tuple(out.shape) == (*shape, *[0] * count)
        found = refusal(out.sum().backward)
        assert "Expected grad_output to have non-zero size for non-batch dimensions" in str(found)


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("value", [-float("inf"), float("nan"), 0.0])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_padding_is_never_the_maximum(count: int, value: float, dilation: int, indexed: bool) -> None:
    def found(lib: Any) -> str:
        x = lib.full((1, 2, *[5] * count), value, requires_grad=True)
        answer = getattr(lib.nn.functional, f"max_pool{count}d")(x, 3, 2, 1, dilation, return_indices=indexed)
        values, indices = answer if indexed else (answer, lib.zeros(1))
        values.sum().backward()
        return repr((values.tolist(), indices.tolist(), x.grad.tolist()))

    assert found(tl) == found(torch)


# ---------------------------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("sparse", [False, True])
def test_data_of_another_layout_is_refused(sparse: bool) -> None:
    def set_data(lib: Any) -> None:
        tensors = [lib.ones(1, 2), lib.ones(1, 2).to_sparse()]
        tensors[sparse].data = tensors[not sparse]

    for lib in (tl, torch):
        assert "incompatible tensor type" in str(refusal(partial(set_data, lib)))
