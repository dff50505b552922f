"""Calls of `sources/libraries.cpp`: registrations, redispatch, classes, values, and what is wrong with each."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

from tests.cpp.kernel_calls import str_of


def library_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return the calls by name."""
    ops, classes = lib.ops.tests_cpp_lib, lib.classes.tests_cpp_lib
    x = lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def gradient(function: Callable[..., Any], *args: Any) -> Any:
        leaf = x.clone().requires_grad_(True)
        result = function(leaf, *args)
        if result.requires_grad:
            result.sum().backward()
        return [result, result.requires_grad, leaf.grad]

    def twice_back() -> Any:
        leaf = x.clone().requires_grad_(True)
        (first,) = lib.autograd.grad((ops.scaled(leaf, 3.0) ** 2).sum(), leaf, create_graph=True)
        (second,) = lib.autograd.grad(first.sum(), leaf)
        return [first, second]

    def in_place() -> Any:
        y = x.clone()
        return [ops.grow_(y, 2), y, ops.grow_(y, 1) is y, y._version]

    def bag() -> Any:
        made = classes.Bag(["a", "bb"])
        made.add("a")
        other = classes.Bag(words=["c"], limit=2)
        merged = made.merged(other)
        made.limit = 9
        return [
            sorted(made.counts().items()), list(made.first()), merged.shown(), list(merged.lengths()), made.limit,
            merged.limit, made.size, list(made.words), classes.Bag.empty(3).size, ops.bag_size(merged),
        ]  # fmt: skip

    def copied() -> Any:
        made = classes.Bag(["a", "bb"], 5)
        return [[list(c.words), c.limit] for c in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)))]

    calls: dict[str, Callable[[], Any]] = {
        "scaled": lambda: [ops.scaled(x), ops.scaled(x, 3), ops.scaled.default(x, by=0.5)],
        "scaled, gradient": lambda: gradient(ops.scaled, 3.0),
        "scaled, twice": twice_back,
        "scaled, wrong": lambda: ops.scaled(x, "a"),
        "logged": lambda: gradient(ops.logged, "abc"),
        "parts": lambda: list(ops.parts(x)),
        "in place": in_place,
        "undefined": lambda: [ops.undefined(None) is None, ops.undefined(x)],
        "uses undefined": lambda: str_of(lambda: ops.uses(None)),
        "uses": lambda: ops.uses(x),
        "typed": lambda: ops.typed(1, 2, True, "s", [1, 2], [x], 3.5),
        "typed, keywords": lambda: ops.typed(1, 2.5, False, "", ns=(3,), ts=(x, x), c=3, fs=[1.0]),
        "typed, tensors": lambda: ops.typed(lib.tensor(3), lib.tensor(2.5), 1, "s", [], [], lib.tensor(2.5)),
        "typed, truncated": lambda: ops.typed(lib.tensor(3.7), 1, 0, "s", [], [], True),
        "dict": lambda: sorted(ops.dict_of({"a": x}).items()),
        "dict of numbers": lambda: ops.dict_of({"a": 3}),
        "dict of a list": lambda: ops.dict_of([x]),
        "optionals": lambda: ops.optionals([x, None, x]),
        "bag": bag,
        "bag copied": copied,
        "bag without arguments": lambda: str_of(lambda: classes.Bag())[:60],
        "bag of numbers": lambda: str_of(lambda: classes.Bag([1, 2]))[:60],
        "bag without a limit": lambda: classes.Bag([], 0),
        "bag is full": lambda: classes.Bag(["a"], 1).add("b"),
        "bag without a member": lambda: type(error_of(lambda: classes.Bag([]).nope)).__name__,
        "bag of another class": lambda: re.sub(r" \(of Python.*?\)", "", str_of(lambda: ops.bag_size(x))),
        "bag merged with a tensor": lambda: type(error_of(lambda: classes.Bag([]).merged(x))).__name__,
        "no class": lambda: type(error_of(lambda: classes.Nope(3))).__name__,
        "kinds of values": lambda: m.kinds_of(x),
        "schemas": lambda: [
            str(getattr(ops, n).default._schema) for n in ("typed", "grow_", "dict_of", "optionals", "bag_size")
        ],
        "impl without def": lambda: m.registered("impl without def"),
    }  # fmt: skip
    for kind in ("typed", "below", "boxed", "boxed tuple", "aten", "in place"):
        calls[f"called {kind}"] = lambda kind=kind: gradient(m.called, kind)
    calls["called wrong signature"] = lambda: str_of(lambda: m.called(x, "wrong signature"))
    for kind in ("schema", "missing", "missing overload", "optional"):
        calls[f"found {kind}"] = lambda kind=kind: m.found(kind)
    kinds = (
        "int of double, double of int, double of string, bool of int, tensor of int, int of none, int of tensor, "
        "list of tensor, int list of doubles, string of int, string, optional, to, scalar, equal, tensors, undefined"
    )
    for kind in kinds.split(", "):
        calls[f"value {kind}"] = lambda kind=kind: re.sub(
            "^(RuntimeError).*", r"\1", str_of(lambda: m.value_of(x, kind))
        )
    for kind in ["change", "get", "set", "extract", "sum", "sorted", "strings", "dict", "dict at", "dict set"]:
        calls[f"list {kind}"] = lambda kind=kind: str_of(lambda: m.listed(kind)).partition(" (range")[0]
    kinds = (
        "unclosed, unknown type, no name, name alone, twice, overloads, fewer arguments, more arguments, another type, "
        "another type again, another result, more results, no result, results as one, a list, an optional, "
        "another impl, impl first, two kernels, other namespace, impl in other namespace, def in an impl, "
        "second library, fragments, again"
    )
    for kind in kinds.split(", "):
        calls[f"registered {kind}"] = lambda kind=kind: said(lambda: m.registered(kind))
    kinds = (
        "data_ptr, data_ptr int, const_data_ptr, mutable_data_ptr, accessor dtype, accessor dims, packed dtype, "
        "packed dims, item, undefined sum, undefined sizes, undefined data, undefined options, undefined argument, "
        "undefined clone, undefined requires_grad, undefined grad, undefined accessor, undefined index, "
        "undefined strides, undefined print, index out of range, size out of range, too many indices"
    )
    for kind in kinds.split(", "):
        calls[f"wrong {kind}"] = lambda kind=kind: m.wrong(kind, x)
    return calls


def said(call: Callable[[], Any]) -> str:
    """Return what a registration raises, on one line, without the counted name of its namespace and its places."""
    error = error_of(call)
    if error is None:
        return "registered"
    text = str(error).partition("Exception raised from")[0]
    text = re.sub(r"tests_cpp_bad\d+", "ns", text)
    text = re.sub(r"(?<=registered at )\S+", "PLACE", text)
    text = re.sub(r"(?<=, Scalar); .*? ?:\n", ":", text)
    return f"{type(error).__name__}: {' '.join(text.split())}"


def error_of(call: Callable[[], Any]) -> Exception | None:
    """Return what a call raises."""
    try:
        call()
    except Exception as error:
        return error
    return None
