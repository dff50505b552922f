"""Custom Functions: the context, its checks, and what PyTorch's documents promise of them."""

from __future__ import annotations

import gc
import weakref

import pytest

import tensorlike as tl
from tensorlike.autograd import Function
from tensorlike.autograd.function import once_differentiable


def leaf(*values: float) -> tl.Tensor:
    return tl.tensor(list(values), dtype=tl.float64, requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


def test_apply_records_and_names_its_node() -> None:
    x = leaf(3.0)
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward"
    y.sum().backward()
    assert x.grad.tolist() == [6.0]
    assert tl.autograd.gradgradcheck(Square.apply, (x,))


def test_setup_context_style() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x, factor):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            _, ctx.factor = inputs

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = leaf(1.0, 2.0)
    Scale.apply(x, 4).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_vjp_is_another_name_of_backward() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = leaf(1.0)
    Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_needs_input_grad_and_non_tensor_arguments() -> None:
    seen = []

    class Mul(Function):
        @staticmethod
        def forward(ctx, x, y, note=None):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            x, y = ctx.saved_tensors
            return grad * y, None, None, None, None  # more than there are, all None

    x = leaf(2.0)
    Mul.apply(x, tl.ones(1, dtype=tl.float64), "text").sum().backward()
    assert seen == [(True, False, False)]
    assert x.grad.tolist() == [1.0]


def test_several_outputs_and_materialised_gradients() -> None:
    received = []

    class Both(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            received.append((first.tolist(), second.tolist()))
            return first * 2 + second * 3

    class Sparse(Both):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            assert second is None
            return first * 2

    x = leaf(1.0)
    first, _ = Both.apply(x)
    first.sum().backward()
    assert received == [([1.0], [0.0])]
    first, _ = Sparse.apply(x)
    first.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_saved_output_gives_second_derivatives_and_no_cycle() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx, grad):
            (result,) = ctx.saved_tensors
            return grad * result

    x = leaf(0.5)
    assert tl.autograd.gradgradcheck(Exp.apply, (x,))
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(x)
        reference = weakref.ref(y)
        del y
        assert reference() is None
    finally:
        gc.enable()


def test_saved_tensor_modified_in_place_is_noticed() -> None:
    x = leaf(1.0)
    inner = x * 1
    y = Square.apply(inner).sum()
    inner.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_mark_dirty() -> None:
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = leaf(1.0)
    y = x * 2
    version = y._version
    z = AddOne.apply(y)
    assert z is y
    assert y._version > version
    assert y.grad_fn.name() == "AddOneBackward"
    z.sum().backward()
    assert x.grad.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        AddOne.apply(leaf(1.0))


def test_mark_dirty_must_be_returned_and_an_input() -> None:
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    class Invents(Function):
        @staticmethod
        def forward(ctx, x):
            other = tl.ones(1, dtype=tl.float64)
            ctx.mark_dirty(other)
            return other

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    with pytest.raises(RuntimeError, match="were not returned"):
        Forgets.apply(leaf(1.0) * 1)
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="Invents: .*was not an input"):
        y = Invents.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


def test_mark_non_differentiable_and_integer_outputs() -> None:
    class Sorted(Function):
        @staticmethod
        def forward(ctx, x):
            copy, index = x * 1, tl.tensor([0])
            ctx.mark_non_differentiable(copy)
            return x * 2, copy, index

        @staticmethod
        def backward(ctx, grad, *rest):
            return grad * 2

    value, copy, index = Sorted.apply(leaf(1.0))
    assert value.requires_grad
    assert not copy.requires_grad
    assert not index.requires_grad


def test_an_input_returned_as_it_is() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [5.0]


@pytest.mark.parametrize(
    ("result", "error", "match"),
    [
        (lambda g: (g, g, g), RuntimeError, r"expected 2, got 3"),
        (lambda g: (), RuntimeError, r"expected 2, got 0"),
        (lambda g: (1.0, None), RuntimeError, r"index 0: expected Variable or None \(got float\)"),
        (lambda g: [g, None], RuntimeError, r"expected 2, got 1"),
        (lambda g: (g, g), RuntimeError, "different than None at index 1"),
        (lambda g: (tl.complex(g, g), None), RuntimeError, "invalid gradient at index 0 - got a complex one"),
        (lambda g: (tl.ones(7, dtype=tl.float64), None), RuntimeError, r"invalid gradient at index 0 - got \[7\]"),
    ],
)
def test_wrong_results_of_backward(result, error, match) -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return result(grad)

    with pytest.raises(error, match=match) as caught:
        Wrong.apply(leaf(1.0, 2.0), 3).sum().backward()
    assert "Wrong" in str(caught.value)


def test_save_for_backward_takes_tensors_only() -> None:
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, 3)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(TypeError, match="argument 1 is of type int"):
        Saves.apply(leaf(1.0))


def test_exceptions_leave_no_state_behind() -> None:
    class Raises(Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyError("forward")

    class RaisesBack(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("backward")

    with pytest.raises(KeyError):
        Raises.apply(leaf(1.0))
    assert tl.is_grad_enabled()
    with pytest.raises(KeyError):
        RaisesBack.apply(leaf(1.0)).sum().backward()
    assert tl.is_grad_enabled()


def test_once_differentiable() -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            return grad * 2

    x = leaf(1.0)
    start = tl.ones(1, dtype=tl.float64, requires_grad=True)
    (first,) = tl.autograd.grad(Once.apply(x), x, start, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_not_implemented_and_instances() -> None:
    class Empty(Function):
        pass

    with pytest.raises(NotImplementedError, match="forward"):
        Empty.apply(leaf(1.0))
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Empty()
    with pytest.raises(RuntimeError, match="static"):
        instance(leaf(1.0))


def test_subclass_arguments_keep_their_type_in_saved_tensors() -> None:
    class Sub(tl.Tensor):
        pass

    kinds = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            kinds.append(type(ctx.saved_tensors[0]))
            return grad * 2

    x = tl.ones(2).as_subclass(Sub).requires_grad_()
    y = Keeps.apply(x)
    assert type(y) is Sub
    y.sum().backward()
    assert kinds == [Sub]
    assert x.grad.tolist() == [2.0, 2.0]


def test_variable_is_the_old_name() -> None:
    v = tl.autograd.Variable(tl.ones(2), requires_grad=True)
    assert isinstance(v, tl.autograd.Variable)
    assert isinstance(tl.ones(1), tl.autograd.Variable)
    assert not isinstance(3, tl.autograd.Variable)
    assert v.requires_grad
    with pytest.raises(TypeError, match="has to be a tensor"):
        tl.autograd.Variable(3)


def test_what_was_modified_since_is_named_with_its_versions() -> None:
    x = leaf(1.0)
    inner = x * 1
    y = Square.apply(inner).sum()
    inner.add_(1).mul_(2)
    with pytest.raises(RuntimeError, match="SquareBackward, is at version 2; expected version 0"):
        y.backward()


def test_defaults_of_forward_count_as_arguments_with_setup_context() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x, factor=3, *, exact=None):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.inputs = inputs[1:]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.inputs[0], None

    x = leaf(1.0)
    with pytest.raises(TypeError, match="keyword-only"):
        Scale.apply(x)
    Scale.forward = staticmethod(lambda x, factor=3: x * factor)
    y = Scale.apply(x)
    assert y.grad_fn.inputs == (3,)
    assert y.grad_fn.needs_input_grad == (True, False)
    y.sum().backward()
    Scale.apply(x, factor=5).sum().backward()
    assert x.grad.tolist() == [8.0]


def test_a_gradient_on_another_device_is_refused(gpu) -> None:
    class Strays(Function):
        @staticmethod
        def forward(ctx, note, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return None, grad.to("cuda:0") if grad.device.type == "cpu" else grad.cpu()

    for x, message in ((leaf(1.0), "expected device cpu but got cuda:0"),
                       (gpu.tensor(leaf(1.0)), "expected device cuda:0 but got cpu")):  # fmt: skip
        y = Strays.apply("note", x)
        with pytest.raises(RuntimeError, match=f"StraysBackward returned an invalid gradient at index 1 - {message}"):
            y.backward(tl.ones_like(y))


def test_subclasses_with_slots() -> None:
    class Slotted(tl.Tensor):
        __slots__ = ("extra",)

    kinds = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x, same):
            ctx.save_for_backward(x)
            return x * 2, same

        @staticmethod
        def backward(ctx, grad, rest):
            kinds.append(type(ctx.saved_tensors[0]))
            return grad * 2, rest

    x = tl.ones(2, dtype=tl.float64).as_subclass(Slotted)
    w = leaf(1.0, 2.0)
    y, same = Keeps.apply(x * w, x)
    assert (type(y), type(same), same is x) == (Slotted, Slotted, False)
    y.sum().backward()
    assert kinds == [Slotted]
    assert w.grad.tolist() == [2.0, 2.0]


def keeping(**members):
    """Return a Function that keeps everything there is, with `members` in place of its own."""

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            ctx.save_for_forward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[1]

    for name, member in members.items():
        setattr(Keeps, name, staticmethod(member))
    return Keeps


def dirty_forward(ctx, x):
    ctx.mark_dirty(x)
    x.exp_()
    ctx.save_for_backward(x, x)
    return x


def views_forward(ctx, x):
    y = x.exp()
    ctx.save_for_backward(x, y)
    return y.view(-1)[:1].expand(2) * 1, x, y


@pytest.mark.parametrize("way", ["plain", "dirty", "dirty view", "input and views", "double", "after backward"])
def test_no_cycles(way) -> None:
    function = keeping(**({"forward": dirty_forward} if "dirty" in way else {}))
    if way == "input and views":
        function = keeping(forward=views_forward, backward=lambda ctx, *grads: grads[1])
    x = leaf(0.5, 1.0)
    gc.collect()
    gc.disable()
    try:
        inner = x * 1
        y = function.apply(inner[1:] if way == "dirty view" else inner)
        results = y if isinstance(y, tuple) else (y,)
        if way == "double":
            (first,) = tl.autograd.grad(y.sum(), x, create_graph=True)
            results = (*results, first)
        if way == "after backward":
            y.sum().backward()
        references = [weakref.ref(r) for r in (inner, *results)] + [weakref.ref(results[0].grad_fn)]
        first = None
        del inner, y, results, first
        assert [r() for r in references] == [None] * len(references)
    finally:
        gc.enable()


def test_a_view_that_forward_returned_is_not_followed_where_its_base_goes() -> None:
    class Part(Function):
        @staticmethod
        def forward(ctx, x, weight):
            return x[:1]

        @staticmethod
        def backward(ctx, grad):
            return None, grad

    x, w = tl.ones(2, dtype=tl.float64), leaf(1.0)
    y = Part.apply(x, w)
    assert y.requires_grad
    x.mul_(3)  # y holds three times what Part returned, and its backward does not know
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="Output 0 of Part is a view and is being modified inplace"):
        Part.apply(x, w).add_(1)


def test_a_mistake_in_marking() -> None:
    def marking(method):
        class Marks(Function):
            @staticmethod
            def forward(ctx, x):
                getattr(ctx, method)(x, 3)
                return x

        return Marks

    for method, error in (("mark_dirty", RuntimeError), ("mark_non_differentiable", RuntimeError),
                          ("save_for_backward", TypeError), ("save_for_forward", TypeError)):  # fmt: skip
        with pytest.raises(error, match=f"{method} .*argument 1 is of type int"):
            marking(method).apply(leaf(1.0))
