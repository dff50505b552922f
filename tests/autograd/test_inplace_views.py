"""In-place operations and views: histories, refusals and their words, and what is kept.

The rules themselves are compared with PyTorch's, program by program, in vs_torch/test_inplace_parity.py.
"""

from __future__ import annotations

import gc
import weakref

import pytest

import tensorlike as tl
from tensorlike.autograd import Function


def leaf(*shape: int) -> tl.Tensor:
    return (tl.arange(1.0, tl.zeros(shape).numel() + 1, dtype=tl.float64).reshape(shape)).requires_grad_()


class Twice(Function):
    @staticmethod
    def forward(ctx, factor, x):
        ctx.mark_dirty(x)
        return x.mul_(factor)

    @staticmethod
    def backward(ctx, grad):
        return None, grad * 7


@pytest.mark.parametrize(
    ("view", "written", "expected"),
    [
        (lambda x: x[0], "x", [7.0, 14.0, 21.0, 4.0, 5.0, 6.0]),
        (lambda x: x.t()[1:], "x", [1.0, 14.0, 21.0, 4.0, 35.0, 42.0]),
        (lambda x: x.view(-1)[::2], "x", [7.0, 2.0, 21.0, 4.0, 35.0, 6.0]),
        (lambda x: x[0], "view", [7.0, 14.0, 21.0, 0.0, 0.0, 0.0]),
        (lambda x: x.t(), "sibling", [7.0, 14.0, 0.0, 28.0, 35.0, 0.0]),
    ],
)
def test_a_custom_function_writes_to_a_view(view, written, expected) -> None:
    a = leaf(2, 3)
    x = a * 1
    sibling, v = x[:, :2], view(x)
    assert Twice.apply(2, v) is v
    assert v.grad_fn is not None
    assert x.grad_fn.name().endswith("CopySlices")
    y = {"x": x, "view": v, "sibling": sibling}[written]
    weight = tl.arange(1.0, 7.0, dtype=tl.float64).reshape(2, 3)
    weight = {"x": weight, "view": view(weight), "sibling": weight[:, :2]}[written]
    (y * weight).sum().backward()
    assert a.grad.flatten().tolist() == expected
    assert (y * 1).tolist() == {"x": x, "view": v, "sibling": sibling}[written].tolist()


def test_a_custom_function_that_writes_to_a_view_can_be_differentiated_twice() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.exp_()
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    def write(a):
        x = a * 1
        Exp.apply(x[1:])
        return x * x

    assert tl.autograd.gradcheck(write, (leaf(3) / 4,))
    assert tl.autograd.gradgradcheck(write, ((leaf(3) / 4).detach().requires_grad_(),))


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda a: a.add_(1), "a leaf Variable that requires grad"),
        (lambda a: a[0].add_(1), "a view of a leaf Variable that requires grad"),
        (lambda a: a.unbind()[1].add_(1), "Output 1 of Unbind is a view and is being modified inplace.*multiple views"),
        (lambda a: (a * 1).unbind()[0].add_(1), "Output 0 of Unbind is a view and is being modified inplace"),
        (lambda a: Twice.apply(2, a), "Twice.*a leaf Variable that requires grad"),
        (lambda a: Twice.apply(2, a[0]), "Twice.*a view of a leaf Variable that requires grad"),
        (lambda a: Twice.apply(2, (a * 1).split(1)[0]), "Output 0 of Split is a view and is being modified inplace"),
    ],
)
def test_refusals_say_what_was_refused(write, match) -> None:
    with pytest.raises(RuntimeError, match=match):
        write(leaf(2, 3))


def test_a_view_made_under_no_grad_is_refused_with_the_reason() -> None:
    x = leaf(2, 3) * 1
    with tl.no_grad():
        v = x[0]
    with pytest.raises(RuntimeError, match="created in no_grad mode and is being modified inplace"):
        v.mul_(2)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="created in no_grad mode and its base or another view"):
        v.sum().backward()


def test_a_view_with_a_history_of_a_leaf_without_one_is_refused() -> None:
    base = tl.ones(3)
    v = base[:2]
    v.requires_grad_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v[1:].mul_(2)
    assert base.tolist() == [1.0, 1.0, 1.0]
    x = leaf(3) * 1
    v = x[:2]
    x.detach_()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        v.mul_(2)


def test_the_count_of_modifications_goes_on_with_other_memory() -> None:
    x = tl.ones(3)
    x.add_(1).add_(1)
    x.data = tl.zeros(3)
    assert x._version == 2
    x.add_(1)
    assert x._version == 3


def test_a_saved_value_outlives_the_memory_of_its_tensor() -> None:
    x = leaf(3) * 1
    y = (x * x).sum()
    x.data = tl.zeros(3, dtype=tl.float64)
    (gradient,) = tl.autograd.grad(y, x)
    assert gradient.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("by_function", [False, True])
def test_retained_is_the_gradient_of_what_a_tensor_is_now(by_function) -> None:
    x = leaf(3) * 1
    x.retain_grad()
    y = x * 5
    if by_function:
        Twice.apply(2, x)
    else:
        x.mul_(2)
    (x.sum() + y.sum()).backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_views_and_what_was_written_to_them_are_freed() -> None:
    a = leaf(2, 3)
    gc.collect()
    gc.disable()
    try:
        x = a * 1
        v = x[0]
        sibling = x.view(-1)
        v.mul_(2)
        Twice.apply(2, v)
        sibling.sum()
        x.retain_grad()
        x.sum().backward()
        references = [weakref.ref(t) for t in (x, v, sibling, x.grad_fn)]
        del x, v, sibling
        assert [r() for r in references] == [None] * 4
    finally:
        gc.enable()


class TestWrittenDirectly:
    """In-place forms whose ufunc writes into the tensor's own memory."""

    @pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "__iadd__", "__imul__", "neg_", "sin_"])
    def test_the_memory_stays_and_the_version_counts(self, name):
        x = tl.tensor([1.0, 2.0, 3.0])
        memory = x.data_ptr()
        arguments = () if name in ("neg_", "sin_") else (tl.tensor([2.0, 3.0, 4.0]),)
        expected = getattr(tl, {"__iadd__": "add", "__imul__": "mul"}.get(name, name[:-1]))(x, *arguments)
        for version in (1, 2):
            assert getattr(x, name)(*arguments) is x
            assert x._version == version
        assert x.data_ptr() == memory
        assert not tl.equal(x, expected)
        assert tl.equal(getattr(tl.tensor([1.0, 2.0, 3.0]), name)(*arguments), expected)

    def test_what_needs_another_dtype_or_shape_is_refused_and_nothing_is_written(self):
        x = tl.tensor([1, -2])
        for call in (
            lambda: x.add_(2.5),
            lambda: x.sqrt_(),
            lambda: x.add_(tl.ones(2, 2, dtype=tl.int64)),
            lambda: x.pow_(-1),
            lambda: x.mul_(1j),
            lambda: tl.tensor([True, False]).sub_(tl.tensor([True, True])),
        ):
            with pytest.raises(RuntimeError):
                call()
        assert (x.tolist(), x._version) == ([1, -2], 0)

    def test_a_smaller_operand_is_broadcast_and_a_number_wraps_around(self):
        assert tl.ones(2, 2).add_(tl.tensor([1.0, 2.0])).tolist() == [[2, 3], [2, 3]]
        assert tl.tensor([200], dtype=tl.uint8).add_(100).tolist() == [44]
        assert tl.zeros(2, 3).t().add_(1).tolist() == [[1, 1]] * 3

    def test_overlap_is_still_refused(self):
        x = tl.arange(4.0)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            x[1:].add_(x[:-1])
        with pytest.raises(RuntimeError, match="more than one element"):
            tl.ones(1).expand(3).add_(tl.ones(3))
        assert x.add_(x).tolist() == [0, 2, 4, 6]
        assert x.view(2, 2).mul_(x.view(2, 2)).tolist() == [[0, 4], [16, 36]]

    def test_a_parameter_outside_recording_and_what_was_saved(self):
        weight, other = tl.ones(2, requires_grad=True), tl.ones(2)
        product = weight * other
        with tl.no_grad():
            weight -= 0.5
        assert weight.is_leaf
        assert weight.tolist() == [0.5, 0.5]
        other.mul_(3.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()
        with pytest.raises(RuntimeError, match="leaf Variable"):
            weight.add_(1.0)

    def test_inference_tensors_are_protected(self):
        with tl.inference_mode():
            x = tl.ones(2)
        with pytest.raises(RuntimeError, match="[Ii]nference"):
            x.add_(tl.ones(2))

    def test_an_operand_that_requires_grad_gives_the_result_a_history(self):
        weight = tl.ones(2, requires_grad=True)
        x = tl.zeros(2).add_(weight)
        x.sum().backward()
        assert weight.grad.tolist() == [1, 1]


class TestGeometry:
    """Gradients of views that cover their base in unusual ways; the values are PyTorch's."""

    def test_windows_of_a_base_written_later(self) -> None:
        x = tl.ones(4, requires_grad=True)
        base = x * 1
        windows = base.unfold(0, 2, 1)
        base.mul_(2)
        windows.sum().backward()
        assert x.grad.tolist() == [2, 4, 4, 2]

    def test_a_view_that_begins_before_its_operand(self) -> None:
        base = tl.arange(5.0)[2:].detach().requires_grad_()
        view = base.as_strided((3,), (1,), 0)
        assert view.tolist() == [0, 1, 2]
        view.sum().backward()
        assert base.grad.tolist() == [1, 0, 0]

    def test_an_element_read_through_an_expanded_tensor_counts_once(self) -> None:
        x = tl.ones(1, requires_grad=True)
        x.expand(3).as_strided((3,), (0,), 0).sum().backward()
        assert x.grad.tolist() == [3]

    @pytest.mark.parametrize("write", ["add_", "copy_", "exp_", "clamp_", "out"])
    def test_one_element_does_not_overlap_itself(self, write: str) -> None:
        x = tl.ones(3).as_strided((1,), (0,))
        if write == "out":
            tl.add(tl.ones(1), 1, out=x)
        elif write == "exp_":
            x.log_().exp_()
        else:
            getattr(x, write)(tl.full((1,), 2.0) if write != "clamp_" else 2.0)
        assert x.item() == {"add_": 3, "exp_": 1}.get(write, 2)

    def test_a_stale_view_gets_one_new_node(self) -> None:
        base = tl.ones(3, requires_grad=True) * 1
        view = base[1:]
        former = view.grad_fn
        base.mul_(2)
        assert view.grad_fn is not former
        assert view.grad_fn is view.grad_fn

    def test_a_view_of_a_view_made_without_recording_is_refused_like_it(self) -> None:
        x, base = tl.ones(1, requires_grad=True), tl.ones(3)
        with tl.no_grad():
            view = base[1:]
        with pytest.raises(RuntimeError, match="no_grad mode"):
            view[:1].mul_(x)
