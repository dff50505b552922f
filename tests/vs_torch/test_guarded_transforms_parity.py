"""Transforms of functions that run under guards, in modes, and on subclasses whose implementation calls `super()`."""

from __future__ import annotations

import warnings

import pytest
import torch

import tensorlike as tl
from tests.helpers.oracle import assert_like_torch


def pieces(library):
    class Sub(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    class Guarding(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with library._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Sine(library.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * ctx.saved_tensors[0].cos()

    def within(context):
        def decorate(function):
            def run(*args):
                with context():
                    return function(*args)

            return run

        return decorate

    def as_type(kind):
        return lambda function: lambda x: function(x.as_subclass(kind))

    around = {
        "nothing": lambda function: function,
        "subclasses off": within(library._C.DisableTorchFunctionSubclass),
        "all off": within(library._C.DisableTorchFunction),
        "mode": within(Mode),
        "subclass": as_type(Sub),
        "guarding subclass": as_type(Guarding),
        "subclass in a mode": lambda function: within(Mode)(as_type(Sub)(function)),
    }
    functions = {
        "elementwise": lambda x: x.sin() * 2 + x,
        "reflected": lambda x: 2 - x,
        "reduction": lambda x: (x * x).sum(0),
        "composite": lambda x: library.nn.functional.layer_norm(x, x.shape),
        "index": lambda x: x[1:],
        "in place": lambda x: x.clone().mul_(x),
        "joined": lambda x: library.stack([x, x * 2]),
        "attribute": lambda x: x.T * x.shape[0],
        "custom Function": Sine.apply,
    }
    return around, functions


TRANSFORMS = {
    "vmap": lambda lib, f, x: lib.func.vmap(f)(x),
    "jvp": lambda lib, f, x: lib.func.jvp(f, (x,), (x,)),
    "vjp": lambda lib, f, x: lib.func.vjp(f, x)[0],
    "jacrev": lambda lib, f, x: lib.func.jacrev(f)(x),
    "jacfwd": lambda lib, f, x: lib.func.jacfwd(f)(x),
    "grad": lambda lib, f, x: lib.func.grad(lambda x: f(x).sum())(x),
    "vmap of jacrev": lambda lib, f, x: lib.func.vmap(lib.func.jacrev(f))(x),
    "vmap of grad": lambda lib, f, x: lib.func.vmap(lib.func.grad(lambda x: f(x).sum()))(x),
    "jvp of vmap": lambda lib, f, x: lib.func.jvp(lib.func.vmap(f), (x,), (x,)),
}
AROUND, FUNCTIONS = (tuple(names) for names in pieces(tl))


def plain(library, value):
    if isinstance(value, tuple):
        return tuple(plain(library, v) for v in value)
    return value.detach().as_subclass(library.Tensor)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_transform_computes_the_same(transform, around, function):
    found = []
    for library in (torch, tl):
        decorators, functions = pieces(library)
        x = library.arange(6.0, dtype=library.float64).reshape(2, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's `T` of other tensors than matrices, and its new transforms.
            try:
                found.append(plain(library, TRANSFORMS[transform](library, decorators[around](functions[function]), x)))
            except Exception as error:
                if library is tl:
                    raise
                pytest.skip(f"PyTorch raises {type(error).__name__}")
    theirs, ours = found
    assert_like_torch(ours, theirs, f"{transform} {around} {function}")


@pytest.mark.parametrize("guard", ["DisableTorchFunctionSubclass", "DisableTorchFunction"])
def test_a_dual_tensor_keeps_its_tangent(guard):
    found = []
    for library in (torch, tl):
        forward_ad = library.autograd.forward_ad
        x = library.arange(3.0)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x)
            with getattr(library._C, guard)():
                found.append(tuple(forward_ad.unpack_dual(dual.sin() * 2)))
    assert_like_torch(found[1], found[0], guard)


@pytest.mark.parametrize("guard", ["DisableTorchFunctionSubclass", "DisableTorchFunction"])
def test_a_trace_and_explain_say_that_a_transform_is_asked(guard):
    with getattr(tl._C, guard)(), tl.overrides.trace() as log:
        result = tl.vmap(lambda x: x.sin() + int(tl.overrides.explain(tl.sin, x).steps != ()))(tl.zeros(2))
    assert result.tolist() == [1.0, 1.0]
    assert any(call.function is tl.Tensor.sin for call in log)
