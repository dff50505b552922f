"""Training loops and autograd calls beside PyTorch's: each program must give the same in both libraries.

A program gets the library; its result is made of lists, numbers, strings and tensors. Compared are the result or the
kind of error, and the categories of the warnings.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.messages import bare

Program = Callable[[Any], Any]


def outcome(program: Program, library: types.ModuleType) -> tuple[Any, list[tuple[str, str]]]:
    """Return what `program` gives or the error it raises, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = shown(program(library))
        except Exception as error:
            result = type(error).__name__, bare(error).replace("torch.", "tensorlike.")
    return result, [(w.category.__name__, str(w.message).split(" (Triggered internally")[0]) for w in caught]


def shown(value: Any) -> Any:
    """Return `value` with its tensors as arrays, strides and all, in lists."""
    if isinstance(value, (torch.Tensor, tl.Tensor)):
        return [tuple(value.shape), tuple(value.stride()), value.requires_grad, value.detach().tolist()]
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if isinstance(value, dict):
        return {k: shown(v) for k, v in value.items()}
    return value


def assert_same(ours: Any, theirs: Any) -> None:
    """Compare two outcomes, numbers up to rounding."""
    if isinstance(theirs, float) and isinstance(ours, float):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)), (ours, theirs)
        assert len(ours) == len(theirs), (ours, theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
    else:
        assert ours == theirs


def check(program: Program) -> None:
    """Compare the outcomes of `program` in both libraries."""
    assert_same(outcome(program, tl), outcome(program, torch))


# ------------------------------------------------------------------------------------- in-place after a normalization


NORMALIZED: dict[str, Program] = {
    "batch_norm": lambda F: lambda x, w: F.batch_norm(x, None, None, w, w, training=True),
    "batch_norm, evaluated": lambda F: lambda x, w: F.batch_norm(x, w.detach(), w.detach().exp(), w, w),
    "instance_norm": lambda F: lambda x, w: F.instance_norm(x, weight=w, bias=w),
    "group_norm": lambda F: lambda x, w: F.group_norm(x, 2, w, w),
    "group_norm, plain": lambda F: lambda x, w: F.group_norm(x, 2),
    "layer_norm": lambda F: lambda x, w: F.layer_norm(x, (3,), w[:3], w[:3]),
    "rms_norm": lambda F: lambda x, w: F.rms_norm(x, (3,), w[:3]),
    "cross_entropy": lambda F: lambda x, w: F.cross_entropy(x, x.detach().abs().softmax(1), reduction="none"),
}


@pytest.mark.parametrize("name", NORMALIZED)
def test_the_output_of_a_normalization_may_be_written_to(name: str) -> None:
    values = np.random.default_rng(0).standard_normal((2, 4, 3, 3))

    def program(library: Any) -> Any:
        x = library.tensor(values.tolist(), dtype=library.float64, requires_grad=True)
        w = library.tensor([1.0, -0.5, 2.0, 0.3], dtype=library.float64, requires_grad=True)
        y = NORMALIZED[name](library.nn.functional)(x, w)
        y.relu_()
        (y * y).sum().backward()
        return y.tolist(), x.grad.tolist(), None if w.grad is None else w.grad.tolist()

    ours, _ = outcome(program, tl)
    assert len(ours) == 3, ours
    check(program)


#: More functions whose result is not saved for backward, of a tensor of shape (2, 4, 3, 3).
WRITABLE: dict[str, Program] = {
    "max_pool1d": lambda F: lambda x: F.max_pool1d(x[0], 2),
    "max_pool2d": lambda F: lambda x: F.max_pool2d(x, 2, 1, padding=1),
    "max_pool2d with indices": lambda F: lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "max_pool3d": lambda F: lambda x: F.max_pool3d(x, 2),
    "embedding_bag": lambda F: lambda x: F.embedding_bag(x.new_zeros(2, 2).long(), x[0, 0], mode="max"),
}


@pytest.mark.parametrize("name", WRITABLE)
def test_the_output_of_a_pooling_may_be_written_to(name: str) -> None:
    values = np.random.default_rng(1).standard_normal((2, 4, 3, 3))

    def program(library: Any) -> Any:
        x = library.tensor(values.tolist(), dtype=library.float64, requires_grad=True)
        y = WRITABLE[name](library.nn.functional)(x)
        y.relu_()
        (y * y).sum().backward()
        return y.tolist(), x.grad.tolist()

    ours, _ = outcome(program, tl)
    assert len(ours) == 2, ours
    check(program)


def test_the_output_of_erfinv_may_be_written_to() -> None:
    def program(library: Any) -> Any:
        x = library.tensor([-0.5, 0.25, 0.75], dtype=library.float64, requires_grad=True)
        y = library.erfinv(x)
        y.relu_()
        y.sum().backward()
        return y.tolist(), x.grad.tolist()

    check(program)


def test_a_convolution_a_batch_norm_and_an_inplace_activation_train() -> None:
    def program(library: Any) -> Any:
        nn = library.nn
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True))
        for parameter in model.parameters():
            library.nn.init.constant_(parameter, 0.5)
        x = (library.arange(50.0).reshape(2, 1, 5, 5) / 7).sin()
        (model(x) ** 2).sum().backward()
        return [p.grad.tolist() for p in model[1].parameters()]

    check(program)


# ---------------------------------------------------------------------------------------------------- Cholesky factors


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky_solve", "cholesky_inverse"])
def test_gradients_of_a_factor_are_not_cut_to_its_triangle(name: str, upper: bool) -> None:
    def program(library: Any) -> Any:
        factor = library.tensor([[2.0, 5.0], [1.0, 3.0]], dtype=library.float64, requires_grad=True)
        right = library.tensor([[[1.0], [2.0]], [[0.5], [-1.0]]], dtype=library.float64, requires_grad=True)
        operands = (right, factor) if name == "cholesky_solve" else (factor,)
        result = getattr(library, name)(*operands, upper=upper)
        (first,) = library.autograd.grad((result**2).sum(), factor, create_graph=True)
        (second,) = library.autograd.grad((first**2).sum(), factor)
        return result.tolist(), first.tolist(), second.tolist()

    check(program)


# ---------------------------------------------------------------------------------------------------- calls of autograd


ITERABLES: dict[str, Program] = {
    "parameters": lambda m: m.autograd.grad(m.nn.Linear(2, 1).requires_grad_()(m.ones(1, 2)).sum(), iter(())),
    "generator of inputs": lambda m: _gradients(m, lambda y, x: m.autograd.grad(y.sum(), (t for t in [x]))),
    "generator of outputs": lambda m: _gradients(m, lambda y, x: m.autograd.grad((t for t in [y.sum()]), x)),
    "generator of gradients": lambda m: _gradients(
        m, lambda y, x: m.autograd.grad(y.unbind(), x, (m.tensor(v) for v in (1.0, 2.0)))
    ),
    "set": lambda m: _gradients(m, lambda y, x: m.autograd.grad({y.sum()}, {x})),
    "backward": lambda m: _gradients(m, lambda y, x: m.autograd.backward(t for t in y.unbind())),
    "backward, inputs": lambda m: _gradients(m, lambda y, x: m.autograd.backward(y.sum(), inputs=(t for t in [x]))),
    "method, inputs": lambda m: _gradients(m, lambda y, x: y.sum().backward(inputs=(t for t in [x]))),
}


def _gradients(library: Any, call: Callable[[Any, Any], Any]) -> Any:
    x = library.tensor([1.0, 2.0], requires_grad=True)
    return call(x * x, x), x.grad


@pytest.mark.parametrize("name", ITERABLES)
def test_gradients_by_iterables(name: str) -> None:
    check(ITERABLES[name])


def test_gradients_of_the_parameters_of_a_model() -> None:
    def program(library: Any) -> Any:
        model = library.nn.Linear(2, 1)
        return library.autograd.grad(model(library.ones(3, 2)).sum(), model.parameters())

    check(program)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["jacobian", "hessian", "vjp", "jvp", "vhp", "hvp"])
def test_autograd_functional_keeps_its_graph_under_no_grad(name: str, strict: bool) -> None:
    def program(library: Any) -> Any:
        x = library.tensor([1.0, 2.0], requires_grad=True)
        vector = {"vjp": (library.tensor(2.0),), "jacobian": (), "hessian": ()}.get(name, (library.ones(2),))
        function = getattr(library.autograd.functional, name)
        with library.no_grad():
            found = function(lambda x: (x**3).sum(), x, *vector, create_graph=True, strict=strict)
        last = found[-1] if isinstance(found, tuple) else found
        return found, library.autograd.grad(last.sum(), x)

    check(program)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "keys", [["extra"], ["weight", "bias", "extra"], ["weight"], ["weight", "bias"], ["a.b"], [""], ["in_features"]]
)
def test_functional_call_with_other_keys(keys: list[str], strict: bool) -> None:
    def program(library: Any) -> Any:
        class Layer(library.nn.Linear):
            def forward(self, x: Any) -> Any:
                return super().forward(x), getattr(self, "extra", "none")

        layer = Layer(2, 1)
        values = {key: library.ones(1, 2) if key != "bias" else library.ones(1) for key in keys}
        result, extra = library.func.functional_call(layer, values, (library.zeros(1, 2),), strict=strict)
        return tuple(result.shape), extra, hasattr(layer, "extra")

    if keys == ["in_features"] and not strict:
        with pytest.raises(TypeError):
            program(tl)
        with pytest.raises(TypeError):
            program(torch)
        return
    check(program)


def test_an_optimizer_that_does_not_call_the_base_steps() -> None:
    def program(library: Any) -> Any:
        class Plain(library.optim.Optimizer):
            def __init__(self, params: Any) -> None:
                self.param_groups = [{"params": list(params), "lr": 0.5}]
                self.state = {}

            def step(self, closure: Any = None) -> Any:
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data.sub_(p.grad, alpha=group["lr"])
                return "stepped"

        p = library.tensor([1.0], requires_grad=True)
        optimizer = Plain([p])
        scheduler = library.optim.lr_scheduler.StepLR(optimizer, 1)
        (p * 2).sum().backward()
        answer = optimizer.step()
        scheduler.step()
        return answer, p, optimizer.param_groups[0]["lr"], repr(optimizer)

    check(program)


DELETED: dict[str, Program] = {
    "grad": lambda x: delattr(x, "grad"),
    "data": lambda x: delattr(x, "data"),
    "requires_grad": lambda x: delattr(x, "requires_grad"),
}


@pytest.mark.parametrize("name", DELETED)
def test_attributes_deleted(name: str) -> None:
    def program(library: Any) -> Any:
        x = library.tensor([1.0], requires_grad=True)
        x.sum().backward()
        DELETED[name](x)
        before = x.grad
        x.sum().backward()
        return before, x.grad

    check(program)


@pytest.mark.parametrize("name", ["no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "no_grad, bare"])
def test_a_class_decorated_with_a_mode(name: str) -> None:
    def program(library: Any) -> Any:
        class Kept:
            def __init__(self) -> None:
                self.recording = library.is_grad_enabled()

            def now(self) -> bool:
                return bool(library.is_grad_enabled())

        mode = getattr(library, name.split(",")[0])
        if "bare" in name:
            made = mode(Kept)
        else:
            made = (mode(False) if name == "set_grad_enabled" else mode())(Kept)
        return isinstance(made, type), type(made()).__name__, made().recording, made().now()

    check(program)


# ------------------------------------------------------------------------------------------------------ shared memory


def _long(library: Any, *values: int) -> Any:
    return library.tensor(values, dtype=library.int64)


#: Of eight zeros `x`, two ones `two`, and `wide`, four by four expanded from one element: what raises, warns, or works.
SHARED: dict[str, Callable[..., Any]] = {
    "scatter_, itself": lambda m, x, two, wide: x.scatter_(0, _long(m, 0, 1), x),
    "scatter_, a part": lambda m, x, two, wide: x.scatter_(0, _long(m, 0, 1), x[:2]),
    "scatter_, expanded": lambda m, x, two, wide: wide[0].scatter_(0, _long(m, 0, 1), two),
    "scatter_, own index": lambda m, x, two, wide: (i := _long(m, 0, 1)).scatter_(0, i, 1),
    "scatter_add_, a part": lambda m, x, two, wide: x.scatter_add_(0, _long(m, 0, 1), x[:2]),
    "index_add_, a part": lambda m, x, two, wide: x.index_add_(0, _long(m, 0, 1), x[1:3]),
    "index_add_, own index": lambda m, x, two, wide: (i := _long(m, 0, 1)).index_add_(0, i, i),
    "index_copy_, own index": lambda m, x, two, wide: (i := _long(m, 0, 1)).index_copy_(0, i, _long(m, 5, 6)),
    "index_fill_, own index": lambda m, x, two, wide: (i := _long(m, 0, 1)).index_fill_(0, i, 3),
    "index_fill_, expanded": lambda m, x, two, wide: wide.index_fill_(1, _long(m, 1), 3),
    "masked_fill_, expanded": lambda m, x, two, wide: wide.masked_fill_(m.ones(4, 4) > 0, 3),
    "masked_scatter_, a part": lambda m, x, two, wide: x.masked_scatter_(m.arange(8) < 2, x[1:3]),
    "masked_scatter_, itself": lambda m, x, two, wide: x.masked_scatter_(x >= 0, x),
    "masked_scatter_, expanded": lambda m, x, two, wide: wide.masked_scatter_(m.ones(4, 4) > 0, m.ones(16)),
    "index_put_, a part": lambda m, x, two, wide: x.index_put_((_long(m, 0, 1),), x[1:3]),
    "index_put_, own index": lambda m, x, two, wide: (i := _long(m, 0, 1)).index_put_((i,), m.tensor(1)),
    "index_put_, own mask": lambda m, x, two, wide: (b := x > 0).index_put_((b,), m.tensor(True)),
    "index_put_, expanded": lambda m, x, two, wide: wide[0].index_put_((_long(m, 0, 1),), two),
    "put_, own index": lambda m, x, two, wide: (i := _long(m, 0, 1)).put_(i, _long(m, 5, 6)),
    "cat, itself": lambda m, x, two, wide: m.cat([x[:4], x[4:]], out=x),
    "cat, a part": lambda m, x, two, wide: m.cat([x[1:2], two[:1]], out=x[:2]),
    "cat, nothing": lambda m, x, two, wide: m.cat([x[:0]], out=x[:0]),
    "cat, expanded": lambda m, x, two, wide: m.cat([two, two], out=wide[0]),
    "stack": lambda m, x, two, wide: m.stack([x[0], x[1]], out=x[:2]),
    "hstack": lambda m, x, two, wide: m.hstack([x[:4], x[4:]], out=x),
    "take, itself": lambda m, x, two, wide: m.take(x, _long(m, *range(8)), out=x),
    "take, a part": lambda m, x, two, wide: m.take(x, _long(m, 0, 1), out=x[:2]),
    "take, own index": lambda m, x, two, wide: m.take(_long(m, 5, 6), i := _long(m, 0, 1), out=i),
    "index_select": lambda m, x, two, wide: m.index_select(x, 0, _long(m, *range(8)), out=x),
    "kthvalue": lambda m, x, two, wide: m.kthvalue(y := x.view(1, 8), 1, 0, True, out=(y, _long(m, *[0] * 8)[None])),
    "kthvalue, expanded": lambda m, x, two, wide: m.kthvalue(m.ones(4, 4), 1, out=(wide[0], _long(m, 0, 0, 0, 0))),
    "t_": lambda m, x, two, wide: wide.t_(),
    "transpose_": lambda m, x, two, wide: wide.transpose_(0, 1),
    "swapaxes_": lambda m, x, two, wide: wide.swapaxes_(0, 1),
    "unsqueeze_": lambda m, x, two, wide: wide.unsqueeze_(1),
    "squeeze_": lambda m, x, two, wide: wide[:1].squeeze_(),
    "set_": lambda m, x, two, wide: wide.set_(two),
    "[...] = number": lambda m, x, two, wide: wide[0].__setitem__(0, 5.0),
    "[:] = number": lambda m, x, two, wide: wide.__setitem__(slice(None), 5.0),
    "[indices] = number": lambda m, x, two, wide: wide[0].__setitem__(_long(m, 0, 1), 5.0),
    "[indices] = itself": lambda m, x, two, wide: x.__setitem__(_long(m, *range(8)), x),
    "[indices] = a part": lambda m, x, two, wide: x.__setitem__(_long(m, 0, 1), x[:2]),
    "[mask] of itself": lambda m, x, two, wide: (b := x > 0).__setitem__(b, True),
    "[:] = itself": lambda m, x, two, wide: x.__setitem__(slice(None), x),
}


@pytest.mark.parametrize("name", SHARED)
def test_operands_that_share_memory_with_the_output(name: str) -> None:
    def program(library: Any) -> Any:
        x, two, wide = library.zeros(8), library.ones(2), library.zeros(1).expand(4, 4)
        SHARED[name](library, x, two, wide)
        return x.tolist(), wide.tolist()

    check(program)
