"""Gradients in chunks: of chunked leaves and of ordinary parameters, of every order, and nothing computed by them."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import nothing_computed


@pytest.fixture
def data() -> tuple[Any, Any, Any]:
    tl.manual_seed(1)
    return tl.randn(11, 4, dtype=tl.float64), tl.randn(11, dtype=tl.float64), tl.randn(4, dtype=tl.float64)


def both(data: Any) -> list[Any]:
    """The operands as ordinary tensors and in chunks, the weights ordinary in both."""
    x, y, w = data
    return [
        (x.clone().requires_grad_(), y, w.clone().requires_grad_()),
        (td.from_tensor(x, (4, 3), requires_grad=True), td.from_tensor(y, 5), w.clone().requires_grad_()),
    ]


def loss_of(x: Any, y: Any, w: Any) -> Any:
    return ((x @ w).tanh() - y).square().mean() + 0.1 * w.norm()


def test_backward_then_compute(data: Any) -> None:
    plain, chunks = both(data)
    expected = loss_of(*plain)
    expected.backward()
    with nothing_computed():
        loss = loss_of(*chunks)
        loss.backward()
    x, _, w = chunks
    assert isinstance(x.grad, td.ChunkedTensor)
    assert x.grad.shape == x.shape
    found, grad_x, grad_w = td.compute(loss, x.grad, w.grad, scheduler="sync")
    assert type(grad_w) is tl.Tensor
    for one, other in ((found, expected.detach()), (grad_x, plain[0].grad), (grad_w, plain[2].grad)):
        assert tl.allclose(one, other)


def test_grad_then_compute(data: Any) -> None:
    plain, chunks = both(data)
    expected = tl.autograd.grad(loss_of(*plain), (plain[0], plain[2]))
    loss = loss_of(*chunks)
    with nothing_computed():
        grads = tl.autograd.grad(loss, (chunks[0], chunks[2]))
    _, *found = td.compute(loss, *grads, scheduler="sync")
    for one, other in zip(found, expected, strict=True):
        assert tl.allclose(one, other)


def test_gradients_are_accumulated(data: Any) -> None:
    _, (x, y, w) = both(data)
    loss_of(x, y, w).backward()
    first = w.grad.compute(scheduler="sync")
    loss_of(x, y, w).backward()
    assert tl.allclose(w.grad.compute(scheduler="sync"), 2 * first)
    w.grad = first
    loss_of(x, y, w).backward()
    assert tl.allclose(w.grad.compute(scheduler="sync"), 2 * first), "an ordinary gradient and one in chunks"


def test_what_is_computed_of_parameters_first(data: Any) -> None:
    """The graph of ordinary tensors runs with gradients in chunks."""

    def total(x: Any, w: Any) -> Any:
        scaled = (w * 2).softmax(0) * w.exp()
        return (x * scaled).sum()

    plain, chunks = both(data)
    total(plain[0], plain[2]).backward()
    with nothing_computed():
        total(chunks[0], chunks[2]).backward()
    assert tl.allclose(chunks[2].grad.compute(scheduler="sync"), plain[2].grad)


def test_second_derivatives(data: Any) -> None:
    def second(x: Any, y: Any, w: Any) -> Any:
        (grad,) = tl.autograd.grad(loss_of(x, y, w), w, create_graph=True)
        return tl.autograd.grad((grad * grad).sum(), (x, w))

    plain, chunks = both(data)
    with nothing_computed():
        found = second(*chunks)
    for one, other in zip(td.compute(*found, scheduler="sync"), second(*plain), strict=True):
        assert tl.allclose(one, other)


def test_second_derivatives_inside_tasks(data: Any) -> None:
    def second(x: Any) -> Any:
        y = tl.nn.functional.gelu(x)
        (grad,) = tl.autograd.grad((y * y).sum(), x, create_graph=True)
        return tl.autograd.grad((grad * grad).sum(), x)[0]

    plain, chunks = both(data)
    with nothing_computed():
        found = second(chunks[0])
    assert tl.allclose(found.compute(scheduler="sync"), second(plain[0]))


def test_a_model(data: Any) -> None:
    x, y, _ = data
    tl.manual_seed(2)
    model = tl.nn.Sequential(tl.nn.Linear(4, 5), tl.nn.GELU(), tl.nn.LayerNorm(5), tl.nn.Linear(5, 1)).double()
    expected = tl.autograd.grad(tl.nn.functional.mse_loss(model(x).squeeze(1), y), list(model.parameters()))
    chunks = td.from_tensor(x, (3, 4))
    with nothing_computed():
        loss = tl.nn.functional.mse_loss(model(chunks).squeeze(1), td.from_tensor(y, 3))
        grads = tl.autograd.grad(loss, list(model.parameters()))
    for one, other in zip(td.compute(*grads, scheduler="sync"), expected, strict=True):
        assert tl.allclose(one, other)


def test_a_convolutional_model() -> None:
    tl.manual_seed(3)
    images, labels = tl.randn(7, 1, 6, 6), tl.randint(0, 3, (7,))
    model = tl.nn.Sequential(
        tl.nn.Conv2d(1, 2, 3), tl.nn.ReLU(), tl.nn.MaxPool2d(2), tl.nn.Flatten(), tl.nn.Linear(8, 3)
    )
    expected = tl.autograd.grad(tl.nn.functional.cross_entropy(model(images), labels), list(model.parameters()))
    with nothing_computed():
        scores = model(td.from_tensor(images, (3, 1, 6, 6)))
        loss = tl.nn.functional.cross_entropy(scores, td.from_tensor(labels, 3))
        grads = tl.autograd.grad(loss, list(model.parameters()))
    for one, other in zip(td.compute(*grads, scheduler="sync"), expected, strict=True):
        assert tl.allclose(one, other, atol=1e-6)


def test_an_optimizer_step(data: Any) -> None:
    x, y, w = data
    weights = [w.clone().requires_grad_() for _ in range(2)]
    sources = [(x, y), (td.from_tensor(x, (4, 4)), td.from_tensor(y, 4))]
    for weight, (a, b) in zip(weights, sources, strict=True):
        optimizer = tl.optim.SGD([weight], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = ((a @ weight) - b).square().mean()
            loss.backward()
            (weight.grad,) = td.compute(weight.grad, scheduler="sync")
            optimizer.step()
    assert tl.allclose(*[w.detach() for w in weights])


def test_seeds_are_like_the_output(data: Any) -> None:
    _, (x, _, w) = both(data)
    y = x * w
    seed = tl.ones(11, 4, dtype=tl.float64) * 3
    with nothing_computed():
        (found,) = tl.autograd.grad(y, x, seed, retain_graph=True)
        y.backward(seed)
    assert tl.allclose(found.compute(scheduler="sync"), seed * w.detach())
    assert tl.allclose(x.grad.compute(scheduler="sync"), seed * w.detach())
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * w).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * w).backward(tl.ones(3))


def test_hooks_and_retained_gradients(data: Any) -> None:
    _, (x, _, w) = both(data)
    y = x * w
    y.retain_grad()
    seen: list[Any] = []
    y.register_hook(seen.append)
    x.register_hook(lambda grad: grad * 10)
    y.sum().backward()
    assert isinstance(seen[0], td.ChunkedTensor)
    assert tl.allclose(y.grad.compute(scheduler="sync"), tl.ones(11, 4, dtype=tl.float64))
    assert tl.allclose(x.grad.compute(scheduler="sync"), 10 * w.detach().expand(11, 4))


class Doubled(tl.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 5


def test_a_custom_function(data: Any) -> None:
    _, (x, _, _) = both(data)
    y = Doubled.apply(x)
    assert isinstance(y, td.ChunkedTensor)
    y.sum().backward()
    assert tl.allclose(x.grad.compute(scheduler="sync"), tl.full((11, 4), 5.0, dtype=tl.float64))


def test_no_grad_and_detach(data: Any) -> None:
    _, (x, _, _) = both(data)
    with tl.no_grad():
        assert not (x * 2).requires_grad
    assert not x.detach().requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        x.detach().sum().backward()
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        td.arange(4).requires_grad_()


def test_a_graph_runs_once(data: Any) -> None:
    _, (x, _, w) = both(data)
    loss = (x * w).exp().sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_values_saved_before_an_in_place_operation(data: Any) -> None:
    _, (x, _, w) = both(data)
    y = x * 1
    z = y.exp()
    y.add_(1)
    z.sum().backward()
    assert tl.allclose(x.grad.compute(scheduler="sync"), data[0].exp())
    y = x * 1
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_batches_of_gradients_are_refused(data: Any) -> None:
    _, (x, _, w) = both(data)
    y = x.sum()
    with pytest.raises(NotImplementedError, match="is_grads_batched=True of tensors in chunks"):
        tl.autograd.grad(y, x, tl.ones(2, dtype=tl.float64), is_grads_batched=True)


def test_a_formula_that_works_on_arrays_is_refused(data: Any) -> None:
    _, (x, _, _) = both(data)
    with nothing_computed(), pytest.raises(NotImplementedError, match="the derivative of one of the functions"):
        x.cumprod(0).sum().backward()


def test_a_function_of_chunks_is_differentiated(data: Any) -> None:
    x, _, _ = data
    scale = tl.tensor(2.0, dtype=tl.float64, requires_grad=True)

    def centred(chunk: Any, factor: Any) -> Any:
        return (chunk - chunk.mean()) * factor

    chunks = td.from_tensor(x, (4, 3), requires_grad=True)
    with nothing_computed():
        (td.map_chunks(centred, chunks, scale) ** 2).sum().backward()
    plain, factor = x.clone().requires_grad_(), scale.detach().clone().requires_grad_()
    parts = [centred(p, factor) for row in plain.split(4) for p in row.split(3, 1)]
    sum((p**2).sum() for p in parts).backward()
    assert tl.allclose(chunks.grad.compute(scheduler="sync"), plain.grad)
    assert tl.allclose(scale.grad.compute(scheduler="sync"), factor.grad)
    with pytest.raises(RuntimeError, match="all must have one shape"):
        td.map_chunks(tl.mul, chunks, tl.ones(4, dtype=tl.float64))


def test_forward_mode_and_maps(data: Any) -> None:
    """The types of transforms hold tensors in chunks as they hold others."""
    x, _, w = data
    chunks = td.from_tensor(x, (4, 3))

    def total(t: Any) -> Any:
        return ((t @ w).tanh() ** 2).sum()

    with nothing_computed():
        value, moved = tl.func.jvp(total, (chunks,), (chunks * 2,))
        grad = tl.func.grad(total)(chunks)
        rows = tl.func.vmap(lambda row: row * row.sum())(chunks)
    expected, expected_moved = tl.func.jvp(total, (x,), (x * 2,))
    found = td.compute(value, moved, grad, rows, scheduler="sync")
    wanted = (expected, expected_moved, tl.func.grad(total)(x), tl.func.vmap(lambda row: row * row.sum())(x))
    for one, other in zip(found, wanted, strict=True):
        assert tl.allclose(one, other)


def test_an_optimizer_needs_computed_gradients(data: Any) -> None:
    _, (x, _, w) = both(data)
    (x * w).sum().backward()
    with nothing_computed(), pytest.raises(NotImplementedError, match=r"compute\(\) the operand first"):
        tl.optim.SGD([w], lr=0.1).step()


def test_a_hook_may_replace_a_gradient_by_an_ordinary_tensor(data: Any) -> None:
    _, (x, _, w) = both(data)
    y = x.reshape(44)
    y.register_hook(lambda grad: tl.arange(44, dtype=tl.float64))
    (y * 2).sum().backward()
    assert tl.allclose(x.grad.compute(scheduler="sync").reshape(44), tl.arange(44, dtype=tl.float64))


@pytest.mark.parametrize("optimizer", [tl.optim.SGD, tl.optim.Adam])
def test_parameters_in_chunks(optimizer: Any, data: Any) -> None:
    """A model larger than memory: its parameters, their gradients and the optimizer's state are in chunks."""
    x, _, _ = data
    found = []
    for value in (x.clone(), td.from_tensor(x.clone(), (4, 3))):
        weight = tl.nn.Parameter(value)
        assert isinstance(weight, tl.nn.Parameter)
        steps = optimizer([weight], lr=0.1)
        with nothing_computed():
            for _ in range(3):
                steps.zero_grad()
                (weight.sin() ** 2).sum().backward()
                steps.step()
        assert weight.is_leaf
        found.append(td.compute(weight.detach(), scheduler="sync")[0])
    assert tl.allclose(*found)
