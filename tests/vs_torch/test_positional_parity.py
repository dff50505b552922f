"""Positional arguments in the orders that PyTorch deprecates, and too many of them."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.dispatch import positional
from tests.helpers.oracle import outcome
from tests.helpers.parity import quietly
from tests.helpers.values import array

#: The tensors that the calls below name: one without dimensions, one of a single element, a vector, a matrix, a batch.
SHAPES = {"s": (), "o": (1,), "v": (2,), "m": (2, 2), "b": (2, 2, 2)}

SUMS = (("addmm", "m", "m", "m"), ("addmv", "v", "m", "v"), ("addr", "m", "v", "v"), ("baddbmm", "b", "b", "b"),
        ("addbmm", "m", "b", "b"))  # fmt: skip

CALLS = [
    f"{start}{name}{end}"
    for name in ("add", "sub", "subtract", "mul", "div", "rsub")
    for start, end in (("lib.", "(m, 2, m)"), ("m.", "(2, m)"), ("m.", "_(2, m)"), ("lib.", "(m, m, 2)"),
                       ("m.", "(m, 2)"), ("lib.", "(m, 2, m, out=m.clone())"))
] + [
    "lib.add(m, 2, 3)", "lib.sub(m, 2, 3)", "m.add(2, 3)", "m.sub_(2, 3)", "lib.subtract(m, 2, 3)", "m.subtract(2, 3)",
    "m.subtract_(2, 3)", "lib.rsub(m, 2, 3)", "lib.rsub(m, m, 3)", "lib.subtract(m, 2, 3, 4)", "lib.rsub(m, 2, 3.5)",
    "lib.subtract(m, 2, 3, out=m.clone())", "lib.rsub(m, 2, None)", "lib.subtract(m, m, 3)", "lib.rsub(2, m, 3)",
    "lib.subtract(m, 2, 3, alpha=4)",
] + [
    "m.add(s, m)", "m.add_(s, m)", "lib.addmm(s, m, s, m, m)",
    "lib.addmm(s, m, m, m)", "m.addcmul_(s, m, m)",
] + [
    f"lib.{name}({rest})"
    for name in ("add", "sub")
    for rest in ("m, s, m", "m, s, 3", "m, s, o", "m, o, m", "m, m, s", "s, s, s", "m, 3, s",
                 "m, s.requires_grad_(), m")
] + [
    f"{start}{name}{end}"
    for name in ("addcmul", "addcdiv")
    for start, end in (("lib.", "(m, 2, m, m)"), ("m.", "(2, m, m)"), ("m.", "_(0.5, m, m)"), ("lib.", "(m, m, m, 2)"))
] + [
    call
    for name, a, b, c in SUMS
    for call in (
        f"lib.{name}(2, {a}, 3, {b}, {c})", f"lib.{name}(2, {a}, {b}, {c})", f"{a}.{name}(2, 3, {b}, {c})",
        f"{a}.{name}(2, {b}, {c})", f"{a}.clone().{name}_(2, 3, {b}, {c})", f"{a}.clone().{name}_(2, {b}, {c})",
        f"lib.{name}({a}, {b}, {c}, 2)", f"lib.{name}({a}, 2, {b}, {c})",
        f"lib.{name}(2, {a}, 3, {b}, {c}, out={a}.clone())", f"lib.{name}(2, {a}, 3, {b}, {c}, beta=1)",
    )
]  # fmt: skip


def run(call, library):
    names = {
        name: library.arange(float(np.prod(shape))).reshape(shape) + 1 for name, shape in SHAPES.items()
    } | {"lib": library}  # fmt: skip
    return quietly(eval, call, names)


@pytest.mark.parametrize("call", CALLS)
def test_orders(call):
    expected, their_error = outcome(run, call, torch)
    result, error = outcome(run, call, tl)
    assert type(error) is type(their_error), (error, their_error)
    if error is None:
        np.testing.assert_allclose(array(result), expected.numpy())


@pytest.mark.parametrize("call", ["lib.add(m, 2, m)", "m.add_(2, m)", "lib.addmm(2, m, 3, m, m)", "m.addcmul(2, m, m)"])
def test_the_warning_comes_once(call, monkeypatch):
    monkeypatch.setattr(positional, "_warned", [False])
    m = tl.ones(2, 2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            eval(call, {"lib": tl, "m": m})
    assert len(caught) == 1
    assert caught[0].category is UserWarning
    assert caught[0].filename == "<string>"
    name = call.partition(".")[2].partition("(")[0]
    assert str(caught[0].message).startswith(f"This overload of {name} is deprecated:\n\t{name}(")


def test_the_words_of_the_warning(monkeypatch):
    monkeypatch.setattr(positional, "_warned", [False])
    with pytest.warns(UserWarning, match="overload") as caught:
        tl.add(tl.ones(2), 2, tl.ones(2))
    assert str(caught[0].message) == (
        "This overload of add is deprecated:\n\tadd(Tensor input, Number alpha, Tensor other, *, Tensor out = None)\n"
        "Consider using one of the following signatures instead:\n"
        "\tadd(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"
    )


@pytest.mark.parametrize("library", [tl, torch])
def test_types_and_modes_get_arguments_as_passed(library):
    seen = []

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, [type(a).__name__ for a in args], kwargs or {}))
            return 0

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, [type(a).__name__ for a in args], kwargs or {}))
            return func(*args, **(kwargs or {}))

    class Sub(library.Tensor):
        pass

    x = library.ones(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library.add(Duck(), 2, x)
        x.add_(2, Duck())
        library.addmm(2, Duck(), 3, x, x)
        with Mode():
            assert library.add(x, 2, x)[0, 0].item() == 3
        sub = library.add(x.as_subclass(Sub), 2, x)
    assert type(sub) is Sub
    assert sub[0, 0].item() == 3
    assert seen[:4] == [
        (library.add, ["Duck", "int", "Tensor"], {}),
        (library.Tensor.add_, ["Tensor", "int", "Duck"], {}),
        (library.addmm, ["int", "Duck", "int", "Tensor", "Tensor"], {}),
        (library.add, ["Tensor", "int", "Tensor"], {}),
    ]


def test_gradients_of_a_deprecated_order():
    x = tl.ones(2, requires_grad=True)
    quietly(tl.add, tl.ones(2), 3, x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_signatures_do_not_show_them():
    assert str(inspect.signature(tl.add)).startswith("(input")
    assert list(inspect.signature(tl.add).parameters) == ["input", "other", "alpha", "out"]


@pytest.mark.parametrize("call", ["lib.mul(m, m, m)", "m.mul(m, m)", "m.add_(m, 2, 3)", "lib.exp(m, m)", "m.exp_(1)",
                                  "m.numel(1)", "lib.nn.functional.linear(m, m, v, v)"])  # fmt: skip
def test_counts_of_positional_arguments(call):
    _, theirs = outcome(run, call, torch)
    _, ours = outcome(run, call, tl)
    assert type(ours) is type(theirs) is TypeError
    if "positional" in str(theirs):
        assert str(ours).rpartition(".")[2] == str(theirs).rpartition(".")[2]
    else:
        assert "positional argument" in str(ours)
