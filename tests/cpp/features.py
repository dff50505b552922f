"""Calls of the extensions in `sources/`, as data that can be compared between the libraries.

`python -m tests.cpp.features LIBRARY FOLDER` prints them as JSON, for the extensions that lie in FOLDER.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any

from tests.cpp.kernel_calls import kernel_calls
from tests.cpp.library_calls import library_calls


def shown(value: Any, lib: Any) -> Any:
    """Return a result as data: numbers rounded, tensors with dtype, shape and values, errors with type and text."""
    if isinstance(value, lib.Tensor):
        return {
            "dtype": str(value.dtype).rpartition(".")[2],
            "shape": list(value.shape),
            "values": shown(value.detach().to(lib.float64).tolist(), lib),
            "requires_grad": value.requires_grad,
        }
    if isinstance(value, (list, tuple)):
        return [shown(v, lib) for v in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return value if isinstance(value, float) and not math.isfinite(value) else float(f"{value:.6g}")
    if isinstance(value, Exception):
        first = str(value).split("\n")[0].replace("tensorlike.", "torch.")
        first = re.sub(r'"/[^"]*/', '"', first)  # The folder of a source.
        return {"error": type(value).__name__.lstrip("_"), "text": first.partition("Exception raised from")[0].strip()}
    return repr(value)


def feature_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return the calls by name."""
    x = lib.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    a, b = lib.tensor([1.0, 2.0, 3.0]), lib.tensor([0.5, 2.0, -1.0])
    double = x.to(lib.float64)

    def gradients_of(function: Callable[..., Any], *inputs: Any) -> Any:
        leaves = [i.detach().clone().requires_grad_(True) for i in inputs]
        results = function(*leaves)
        several = results if isinstance(results, (list, tuple)) else [results]
        total = sum((r * (n + 2)).sum() for n, r in enumerate(several) if r.requires_grad)
        total.backward()
        return [list(several), [leaf.grad for leaf in leaves]]

    calls = {
        name: (lambda name=name: getattr(m, name)(x))
        for name in ("describe", "factories", "indexing", "reductions", "shapes", "layers", "conversions", "parallel",
                     "without_gil", "grads_in_cpp", "dispatched", "floating_only")
    }  # fmt: skip
    calls |= {
        "describe transposed": lambda: m.describe(double.t()),
        "describe integers": lambda: m.describe(lib.zeros(2, 0, 3, dtype=lib.int64)),
        "describe channels_last": lambda: m.describe(lib.ones(2, 3, 4, 5).to(memory_format=lib.channels_last)),
        "arithmetic": lambda: m.arithmetic(a, b),
        "arithmetic of integers": lambda: m.arithmetic(lib.tensor([1, 2]), lib.tensor([3.0, 4.0])),
        "outputs": lambda: m.outputs(x, x + 1),
        "item": lambda: m.item_of(lib.tensor(2.5)),
        "item of two": lambda: m.item_of(a),
        "accessed": lambda: m.accessed(double),
        "accessed transposed": lambda: m.accessed(lib.ones(3, 2, dtype=lib.float64).cumsum(0).t()),
        "accessed floats": lambda: m.accessed(x),
        "parallel error": m.parallel_fails,
        "blob": m.blob,
        "owned blob": lambda: owned_blob(m),
        "optional parts": lambda: m.optional_parts(x, None, None, [3, 2], lib.float64, 2, [], "ab"),
        "optional parts given": lambda: m.optional_parts(x, x, 3, (6,), lib.float32, 0.5, [x, x], ""),
        "optional parts wrong": lambda: m.optional_parts(x, x, "3", (6,), lib.float32, 0.5, [], ""),
        "caught": lambda: m.caught(a, lib.ones(2)),
        "power": lambda: gradients_of(lambda t: m.power(t, 3.0), a),
        "power twice": lambda: gradients_of(
            lambda t: lib.autograd.grad(m.power(t, 3.0).sum(), t, create_graph=True)[0], a
        ),
        "power without grad": lambda: m.power(a, 2.0),
        "two outputs": lambda: gradients_of(lambda t, u: m.two_outputs(t, u)[:2], a, b),
        "two outputs, one used": lambda: gradients_of(lambda t, u: m.two_outputs(t, u)[1], a, b),
        "two outputs, one input": lambda: gradients_of(lambda t: m.two_outputs(t, b)[0], a),
        "not differentiable": lambda: [r.requires_grad for r in m.two_outputs(a.clone().requires_grad_(), b)],
        "saves much": lambda: gradients_of(m.saves_much, a),
        "saved value changed": lambda: changed_before_backward(m, a),
    }  # fmt: skip
    for kind in ("int8", "uint8", "int32", "int64", "float16", "bfloat16", "float64"):
        calls[f"dispatched {kind}"] = lambda kind=kind: m.dispatched(lib.tensor([1, 2, 3]).to(getattr(lib, kind)))
    for kind in ("bool", "complex64"):
        calls[f"dispatched {kind}"] = lambda kind=kind: m.dispatched(lib.ones(2).to(getattr(lib, kind)))
    kinds = (
        "check, bare, index, value, type, not implemented, runtime, out of range, invalid, python, undefined, "
        "undefined device, pointer, accessor, dimension, backward"
    )
    for kind in kinds.split(", "):
        calls[f"raises {kind}"] = lambda kind=kind: m.raises(kind)
    return calls


def owned_blob(m: Any) -> Any:
    """Return a tensor on memory of C++, and how often such memory was freed meanwhile."""
    before = m.freed()
    return [m.owned_blob(4) + 1, m.freed() - before]


def changed_before_backward(m: Any, a: Any) -> Any:
    """Change what a Function of C++ saved, then go back."""
    leaf = a.detach().clone().requires_grad_(True)
    middle = leaf * 1
    result = m.power(middle, 2.0)
    middle.add_(1)
    result.sum().backward()


def reference_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return the calls of the listings of PyTorch's page."""
    x = lib.tensor([[-1.0, 2.0, 3.0], [0.5, -4.0, 1.0]])
    w, bias = lib.tensor([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]]), lib.tensor([0.5, -0.5])

    def my_function() -> Any:
        leaf = lib.tensor([2.0, 3.0], requires_grad=True)
        given = leaf * 1
        (result,) = m.my_function(6, given)
        return [result, result is given, given._version]

    def my_function_backward() -> Any:
        leaf = lib.tensor([2.0, 3.0], requires_grad=True)
        m.my_function(6, leaf * 1)[0].sum().backward()

    def gradients_of(function: Callable[..., Any], *inputs: Any) -> Any:
        leaves = [i.detach().clone().requires_grad_(True) for i in inputs]
        result = function(*leaves)
        result.pow(2).sum().backward()
        return [result, [leaf.grad for leaf in leaves]]

    def check(function: Callable[..., Any], *inputs: Any) -> Any:
        doubles = [i.to(lib.float64).requires_grad_(True) for i in inputs]
        return [lib.autograd.gradcheck(function, doubles), lib.autograd.gradgradcheck(function, doubles)]

    return {
        "MyFunction": my_function,
        "MyFunction of a leaf": lambda: m.my_function(6, lib.tensor([2.0], requires_grad=True)),
        "MyFunction backward": my_function_backward,
        "MyReLU": lambda: gradients_of(m.my_relu, x),
        "MyReLU checked": lambda: check(m.my_relu, x),
        "ROIAlign": lambda: gradients_of(lambda t: m.roi_align(t, w, 0.5, True), x),
        "LinearFunction": lambda: gradients_of(m.linear, x, w, bias),
        "LinearFunction without bias": lambda: gradients_of(m.linear, x, w),
        "LinearFunction checked": lambda: check(m.linear, x, w, bias),
        "LinearFunction of wrong shapes": lambda: m.linear(x, w.t()),
    }


def operator_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return calls of the operators and classes that an extension registers."""
    ops, a, b = lib.ops.tests_cpp, lib.tensor([1.0, 2.0]), lib.tensor([3.0, -1.0])

    def add_out() -> Any:
        out = lib.empty(2)
        return [ops.add_out(a, b, out), out]

    def muladd_with_gradient() -> Any:
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs[:2])

        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * y, grad * x, None

        lib.library.register_autograd("tests_cpp::muladd", backward, setup_context=setup_context)
        x, y = a.clone().requires_grad_(True), b.clone().requires_grad_(True)
        result = ops.muladd(x, y, 0.5)
        result.sum().backward()
        return [result, x.grad, y.grad]

    def cube() -> Any:
        x = a.clone().requires_grad_(True)
        result = ops.cube(x)
        (first,) = lib.autograd.grad(result.sum(), x, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), x)
        return [result, first, second, ops.cube(a)]

    def counter() -> Any:
        made = lib.classes.tests_cpp.Counter(3)
        made.add(4)
        return [made.twice().add(0), made.as_tensor(), ops.count_of(made)]

    def schemas() -> list[str]:
        names = ("muladd", "add_out", "several", "inferred", "count_of")
        # PyTorch writes a whole float as `1.`.
        return [str(getattr(ops, n).default._schema).replace("=1.0", "=1.") for n in names]

    asked: list[str] = []

    def duck() -> Any:
        asked.clear()
        return [ops.muladd(Duck(), b), ops.muladd.default(a, Duck()), ops.several([a, Duck()]), list(asked)]

    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            asked.append(str(func))
            return len(args)

    return {
        "muladd": lambda: ops.muladd(a, b, 2.0),
        "muladd, default": lambda: ops.muladd(a, b),
        "muladd.default": lambda: ops.muladd.default(a, b, c=3),
        "muladd of doubles": lambda: ops.muladd(a.to(lib.float64), b),
        "muladd of sizes": lambda: ops.muladd(a, b[:1]),
        "muladd, wrong type": lambda: ops.muladd(a, 3),
        "muladd, missing": lambda: ops.muladd(a),
        "muladd, unknown": lambda: ops.muladd(a, b, d=3),
        "muladd, gradient": muladd_with_gradient,
        "schemas": schemas,
        "add_out": add_out,
        "several": lambda: ops.several([a, b]),
        "several, options": lambda: ops.several([a, b], [0], "scaled", scale=2),
        "cube": cube,
        "inferred": lambda: [ops.inferred(a, 3, True), ops.inferred(a, 3, False)],
        "later": lambda: ops.later(a),
        "no kernel": lambda: ops.no_kernel(a),
        "no operator": lambda: ops.nope,
        "counter": counter,
        "duck": duck,
    }


def more_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return the calls of names that published extensions use."""
    x, leaf = lib.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]]), lib.ones(2, requires_grad=True)
    return {
        "convolved": lambda: m.convolved(x),
        "wrong padding": lambda: m.wrong_padding(x),
        "cast as autocast": lambda: m.cast_as_autocast(x),
        "autocast is on": m.autocast_is_on,
        "recorded without autograd": lambda: m.recorded_without(leaf, True),
        "recorded without autocast": lambda: m.recorded_without(leaf, False),
        "any requires grad": lambda: [m.any_requires_grad(x, leaf), m.any_requires_grad(x, x)],
        "standard library": lambda: m.standard_library(x),
    }


#: The kinds of exceptions that sources/trust.cpp raises.
KINDS = (
    "check", "index", "value", "type", "not implemented", "linalg", "assert", "runtime", "logic", "bad alloc",
    "out of range", "invalid", "domain", "length", "range", "overflow", "exception", "python", "python class",
    "python value", "python index", "python key", "python type", "python stop", "cast", "operator", "int", "text",
)  # fmt: skip


class Own(Exception):
    """An error of Python that C++ knows nothing of."""


def raise_own() -> None:
    """Raise an error of Python, for C++ to pass on."""
    raise Own("own")


def trust_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return calls that raise each kind of exception in each place that Python calls."""
    x, leaf = lib.tensor([1.0, 2.0]), lib.tensor([1.0, 2.0], requires_grad=True)
    m.set_num_threads(4)
    places: dict[str, Callable[[str], Any]] = {
        "function": m.raise_here,
        "without lock": m.raise_without_gil,
        "parallel": m.raise_in_parallel,
        "operator": lambda kind: lib.ops.tests_trust.fail(x, kind),
        "method": lambda kind: lib.classes.tests_trust.Raiser().fail(kind),
        "forward": lambda kind: m.raise_in_forward(leaf, kind),
        "backward": lambda kind: m.raise_in_backward(leaf, kind).sum().backward(),
        "hook": lambda kind: m.with_hook(leaf, kind).sum().backward(),
    }
    calls = {
        f"{place}: {kind}": (lambda call=call, kind=kind: call(kind))
        for place, call in places.items()
        for kind in KINDS
        # PyTorch ends the process for what is no std::exception in its engine.
        if not (kind in ("int", "text") and place in ("backward", "hook"))
    }
    calls["operators in parallel"] = lambda: m.operators_in_parallel(x)
    calls["operators in OpenMP"] = lambda: m.operators_in_openmp(x, -1)
    calls["failure in OpenMP"] = lambda: m.operators_in_openmp(x, 5)
    return calls


CALLS = {
    "trust": trust_calls,
    "features": feature_calls,
    "features_more": more_calls,
    "kernels": kernel_calls,
    "libraries": library_calls,
    "reference": reference_calls,
    "operators": operator_calls,
}


def outcome(call: Callable[[], Any], lib: Any) -> Any:
    """Return what a call returns or raises, as data."""
    try:
        return shown(call(), lib)
    except Exception as error:
        return shown(error, lib)


def outcomes(name: str, module: Any, lib: Any) -> dict[str, Any]:
    """Return the outcomes of all calls of one extension."""
    return {key: outcome(call, lib) for key, call in CALLS[name](module, lib).items()}


def main(library: str, folder: str) -> None:
    """Print the outcomes of all extensions."""
    lib = importlib.import_module(library)
    sys.path.insert(0, folder)
    print(json.dumps({name: outcomes(name, importlib.import_module(name), lib) for name in CALLS}))


if __name__ == "__main__":
    main(*sys.argv[1:])
