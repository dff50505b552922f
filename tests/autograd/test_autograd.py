"""The graph: backward, grad, modes, hooks, retained gradients, in-place rules, lifetimes."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import tensorlike as tl


def leaf(*values: float) -> tl.Tensor:
    return tl.tensor(list(values), dtype=tl.float64, requires_grad=True)


def test_backward_accumulates() -> None:
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_gradients_of_any_order() -> None:
    x = tl.tensor(2.0, dtype=tl.float64, requires_grad=True)
    value = x * x * x * x
    expected = [32.0, 48.0, 48.0, 24.0]
    for number in expected:
        (value,) = tl.autograd.grad(value, x, create_graph=True)
        assert value.item() == number
    assert not value.requires_grad or tl.autograd.grad(value, x, allow_unused=True)[0].item() == 0


def test_broadcasting_is_undone() -> None:
    x, y = leaf(1.0, 2.0), tl.ones(3, 1, dtype=tl.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert y.grad.tolist() == [[3.0], [3.0], [3.0]]


def test_gradient_has_the_dtype_of_its_input() -> None:
    x = tl.ones(2, requires_grad=True)
    (x * tl.ones(2, dtype=tl.float64)).sum().backward()
    assert x.grad.dtype is tl.float32


def test_second_backward_names_the_cure() -> None:
    x = leaf(1.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()


def test_what_saves_nothing_may_run_twice() -> None:
    x = leaf(1.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0]


def test_backward_needs_a_scalar_or_a_gradient() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(tl.ones(3, dtype=tl.float64))
    with pytest.raises(RuntimeError, match="does not require grad"):
        tl.ones(1).sum().backward()
    (x * 2).backward(tl.tensor([1.0, 10.0], dtype=tl.float64))
    assert x.grad.tolist() == [2.0, 20.0]


def test_backward_with_inputs_touches_only_them() -> None:
    x, y = leaf(1.0), leaf(2.0)
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2.0]
    assert y.grad is None


def test_grad_leaves_leaves_alone() -> None:
    x, y = leaf(1.0), leaf(2.0)
    out = (x * y).sum()
    (found,) = tl.autograd.grad(out, x)
    assert found.tolist() == [2.0]
    assert x.grad is None
    assert y.grad is None


def test_grad_of_unused_input() -> None:
    x, y = leaf(1.0), leaf(2.0)
    with pytest.raises(RuntimeError, match="index 1"):
        tl.autograd.grad((x * 2).sum(), (x, y))
    first, second = tl.autograd.grad((x * 2).sum(), (x, y), allow_unused=True)
    assert first.tolist() == [2.0]
    assert second is None
    _, zeros = tl.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True)
    assert zeros.tolist() == [0.0]


def test_grad_with_respect_to_an_intermediate() -> None:
    x = leaf(3.0)
    y = x * 2
    z = (y * y).sum()
    (found,) = tl.autograd.grad(z, y)
    assert found.tolist() == [12.0]


def test_batched_grads() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    (rows,) = tl.autograd.grad(y, x, tl.eye(2, dtype=tl.float64), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


@pytest.mark.parametrize("mode", [tl.no_grad, tl.inference_mode])
def test_modes_switch_recording_off(mode: type) -> None:
    x = leaf(1.0)
    with mode():
        assert not (x * 2).requires_grad
        with tl.enable_grad():
            assert (x * 2).requires_grad is (mode is tl.no_grad)
        assert not tl.is_grad_enabled()
    assert (x * 2).requires_grad

    @mode()
    def decorated(t: tl.Tensor) -> tl.Tensor:
        return t * 2

    assert not decorated(x).requires_grad


def test_no_grad_without_parentheses_and_on_generators() -> None:
    x = leaf(1.0)

    @tl.no_grad
    def plain() -> bool:
        return (x * 2).requires_grad

    @tl.no_grad()
    def values():
        yield (x * 2).requires_grad
        yield tl.is_grad_enabled()

    assert plain() is False
    seen = []
    for value in values():
        seen.append(value)
        assert tl.is_grad_enabled()
    assert seen == [False, False]


def test_grad_mode_survives_exceptions_and_threads() -> None:
    with pytest.raises(KeyError), tl.no_grad():
        raise KeyError
    assert tl.is_grad_enabled()
    seen = []
    with tl.no_grad():
        thread = threading.Thread(target=lambda: seen.append(tl.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_set_grad_enabled_as_function_context_and_decorator() -> None:
    tl.set_grad_enabled(False)
    assert not tl.is_grad_enabled()
    tl.set_grad_enabled(True)
    with tl.set_grad_enabled(False):
        assert not tl.is_grad_enabled()
    assert tl.is_grad_enabled()

    @tl.set_grad_enabled(False)
    def inside() -> bool:
        return tl.is_grad_enabled()

    assert tl.is_grad_enabled()
    assert inside() is False
    assert tl.is_grad_enabled()


def test_hooks_on_leaves_and_intermediates() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    handle = y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    y.sum().backward(retain_graph=False)
    assert seen == [[1.0, 1.0]]
    assert x.grad.tolist() == [31.0, 31.0]
    handle.remove()
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        tl.ones(1).register_hook(print)


def test_a_leaf_hook_sees_the_whole_gradient_once() -> None:
    x = leaf(1.0)
    calls = []
    x.register_hook(lambda g: calls.append(g.item()))
    (x * 2 + x * 3).sum().backward()
    assert calls == [5.0]


def test_hooks_that_return_nonsense() -> None:
    x = leaf(1.0)
    handle = x.register_hook(lambda g: "no tensor")
    with pytest.raises(TypeError, match="expected a Tensor or None"):
        (x * 2).sum().backward()
    handle.remove()
    x.register_hook(lambda g: tl.ones(3, dtype=tl.float64))
    with pytest.raises(RuntimeError, match="changed the size"):
        (x * 2).sum().backward()


def test_retain_grad() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    assert y.retains_grad
    assert not x.retains_grad
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5.0]


def test_node_hooks_and_names() -> None:
    x = leaf(1.0)
    y = (x * 2).sum()
    node = y.grad_fn
    assert node.name() == "SumBackward0"
    assert node.next_functions[0][0].name() == "MulBackward0"
    seen = []
    node.register_prehook(lambda grads: seen.append(("pre", grads[0].item())))
    node.register_hook(lambda inputs, outputs: seen.append(("post", outputs[0].item())))
    y.backward()
    assert seen == [("pre", 1.0), ("post", 1.0)]


def test_leaf_refuses_inplace() -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.mul_(2)
    with tl.no_grad():
        x.mul_(2)
    assert x.tolist() == [2.0]


def test_modified_saved_value_is_noticed() -> None:
    x = leaf(1.0)
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*version 1; expected version 0"):
        z.backward()


def test_inplace_gradients() -> None:
    x, k = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * 1
    y.mul_(k)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
    assert k.grad.tolist() == [1.0, 2.0]


def test_requires_grad_only_for_floats_and_leaves() -> None:
    with pytest.raises(RuntimeError, match="floating point"):
        tl.tensor([1]).requires_grad_()
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad = False


def test_assigning_grad_is_checked() -> None:
    x = leaf(1.0)
    with pytest.raises(TypeError, match="expected to be a Tensor or None"):
        x.grad = 1
    with pytest.raises(RuntimeError, match="different size"):
        x.grad = tl.ones(3, dtype=tl.float64)
    with pytest.raises(RuntimeError, match="data type"):
        x.grad = tl.ones(1)
    x.grad = tl.ones(1, dtype=tl.float64)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [3.0]


def test_two_leaves_do_not_share_a_gradient_buffer() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0]


def test_given_gradient_is_not_taken_over() -> None:
    x, start = leaf(1.0, 2.0), tl.ones(2, dtype=tl.float64)
    (x + 0).backward(start)
    x.grad.zero_()
    assert start.tolist() == [1.0, 1.0]


def test_create_graph_gives_gradients_with_history() -> None:
    x = leaf(3.0)
    (x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = tl.autograd.grad(x.grad, x)
    assert second.tolist() == [2.0]
    x.grad = None


def test_graphs_are_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x * x).exp()
        z = y.sum()
        z.backward(retain_graph=True)
        references = [weakref.ref(t) for t in (y, z, y.grad_fn, z.grad_fn)]
        del y, z
        assert [r() for r in references] == [None] * 4
    finally:
        gc.enable()


def test_a_long_chain_neither_recurses_nor_overflows() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_many_threads_on_their_own_graphs_and_one_leaf() -> None:
    x = leaf(1.0)
    failures = []

    def work() -> None:
        try:
            for _ in range(50):
                ((x * 2) * 3).sum().backward()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert x.grad.tolist() == [4 * 50 * 6.0]


def test_complex_gradients_follow_the_conjugate_convention() -> None:
    z = tl.tensor([1 + 2j], dtype=tl.complex128, requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]


def test_real_leaf_gets_a_real_gradient() -> None:
    x = leaf(2.0)
    ((x * (1 + 1j)) * (1 - 1j)).real.sum().backward()
    assert x.grad.dtype is tl.float64
    assert x.grad.tolist() == [2.0]


def test_gradcheck_passes_and_catches() -> None:
    x = leaf(1.0, 2.0)
    assert tl.autograd.gradcheck(lambda t: t * t, x)

    class Wrong(tl.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t

        @staticmethod
        def backward(ctx, grad):
            (t,) = ctx.saved_tensors
            return -grad * t * 2

    with pytest.raises(tl.autograd.GradcheckError, match=r"output 0 .*input 0") as caught:
        tl.autograd.gradcheck(Wrong.apply, (x,))
    assert "sign" in str(caught.value)
    assert "d output[1] / d input[1]: numerical 4" in str(caught.value)
    assert not tl.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)


def test_gradgradcheck_catches_a_wrong_second_derivative() -> None:
    class Detached(tl.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * t * t

        @staticmethod
        def backward(ctx, grad):
            (t,) = ctx.saved_tensors
            return grad * 3 * (t * t).detach()

    x = leaf(1.0, 2.0)
    assert tl.autograd.gradcheck(Detached.apply, (x,))
    with pytest.raises(tl.autograd.GradcheckError):
        tl.autograd.gradgradcheck(Detached.apply, (x,))
    assert tl.autograd.gradgradcheck(lambda t: t * t * t, (x,))


def test_gradcheck_complains_of_inputs() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        tl.autograd.gradcheck(lambda t: t, tl.ones(2, dtype=tl.float64))
    with pytest.warns(UserWarning, match="double precision"):
        tl.autograd.gradcheck(lambda t: t * 2, tl.ones(2, requires_grad=True), atol=1.0)
