"""In-place operations and views beside PyTorch's: each line is a program that must leave the same behind in both.

Compared are, of every tensor that a program names: its value, `requires_grad`, `is_leaf`, `_version`, whether it is a
view and of which of the others, and the name of its `grad_fn`; then the gradients of the leaves, and the kind of what
was raised, if anything was.
"""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.function_programs import kind
from tests.helpers.inplace_programs import PROGRAMS


def functions(library: types.ModuleType) -> dict[str, Any]:
    """Return custom Functions that hand back what they were given, views of it, or what they wrote to."""

    class Inside(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x * 1
            result[0].mul_(2)
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7

    class ViewOf(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view(-1)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.view(2, 3) * 7

    class TwoViews(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[0], x[1]

        @staticmethod
        def backward(ctx: Any, first: Any, second: Any) -> Any:
            return library.stack([first, second]) * 7

    class ViewWith(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, other: Any) -> Any:
            return x[0]

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad * 7

    class Same(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7

    class Dirty(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7

    class DirtyBoth(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, other: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(other)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7, grad * 5

    class NotMarked(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 7

    return {f.__name__: f for f in (Inside, ViewOf, ViewWith, TwoViews, Same, Dirty, DirtyBoth, NotMarked)}


def leaves(library: types.ModuleType) -> dict[str, Any]:
    random = np.random.default_rng(3)

    def made(*shape: int, requires_grad: bool = True) -> Any:
        return library.tensor(random.normal(size=shape).tolist(), dtype=library.float64, requires_grad=requires_grad)

    found = {"a": made(2, 3), "w": made(2, 3), "b": made(3), "z": made(), "c": made(2, 3, 4)}
    found["k"] = made(2, 3, requires_grad=False)
    found["i"] = library.arange(6).reshape(2, 3) + 0
    return found


def listed(tensor: Any) -> Any:
    if tensor is None:
        return None
    values = np.round(np.array(tensor.detach().resolve_conj().tolist()), 9)
    return tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2], repr(values.tolist())  # nan is like itself


#: Nodes that have another name here: it is the name of another declaration that does the same.
RENAMED = {
    "CopyBackwards": "CopyBackward",
    "ZeroBackward": "FillBackward",
    "MmBackward": "MatmulBackward",
    "BernoulliBackward": "CopyBackward",
    "SplitWithSizesBackward": "SplitBackward",
    "UnsafeSplitBackward": "CloneBackward",
}


def node_name(node: Any) -> str:
    """Return the name of a node without the number of the overload, which differs."""
    name = node.name().rpartition(":")[2].rstrip("0123456789")
    return RENAMED.get(name, name)


def described(name: str, tensor: Any, others: dict[str, Any], random: bool) -> dict[str, Any]:
    """Return what is known of a tensor, with nothing of its library in it."""
    found: dict[str, Any] = {}

    def ask(what: str, function: Any) -> None:
        try:
            found[f"{name}.{what}"] = function()
        except Exception as error:
            found[f"{name}.{what}"] = kind(error)

    ask("value", lambda: None if random else listed(tensor))
    ask("requires_grad", lambda: tensor.requires_grad)
    ask("is_leaf", lambda: tensor.is_leaf)
    ask("_version", lambda: tensor._version)
    ask("_is_view", lambda: tensor._is_view())
    ask("_base", lambda: None if tensor._base is None else next(
        (n for n, t in others.items() if t is tensor._base), "another"))  # fmt: skip
    ask("grad_fn", lambda: tensor.grad_fn and node_name(tensor.grad_fn))
    ask("is_inference", lambda: tensor.is_inference())
    return found


def outcome(program: str, library: types.ModuleType) -> dict[str, Any]:
    """Return everything that a program leaves behind."""

    def off(function: Any) -> Any:
        with library.no_grad():
            return function()

    def infer(function: Any) -> Any:
        with library.inference_mode():
            return function()

    inputs = leaves(library)
    names: dict[str, Any] = {**inputs, **functions(library), "torch": library, "np": np, "off": off, "infer": infer}
    found: dict[str, Any] = {"raised": None}
    random = any(f"{word}_(" in program for word in ("normal", "uniform", "random", "bernoulli"))
    resized = "resize_" in program
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except NameError:
            raise  # a mistake in the program
        except Exception as error:
            found["raised"] = kind(error)
        y = names.pop("y", None)
        tensors = {n: v for n, v in names.items() if isinstance(v, library.Tensor)}
        for name, tensor in tensors.items():
            found |= described(name, tensor, tensors, random or resized)
        if y is not None:
            outputs = y if isinstance(y, list) else [y]
            try:
                for output in outputs:
                    weight = library.arange(1.0, output.numel() + 1, dtype=output.dtype).reshape(output.shape)
                    (output * weight).sum().backward(retain_graph=True)
            except Exception as error:
                found["backward_raised"] = kind(error)
            for name, tensor in tensors.items():
                found[f"{name}.grad"] = listed(tensor.grad)
    return found


COUNTER = "after set_ the tensors that share memory share a counter of modifications, so that each is seen"
REPLACED = "what was saved is the memory of then; PyTorch looks at the tensor, and finds the memory that it has now"
PLACED = "a view is placed by where it lies in its base's memory: with other memory it is a view no longer"
EARLIER = "refused before anything is written; PyTorch writes first"
STRIDED = "a view's new history is one of steps and an offset, whatever view it was"
UNSAFE = "what is unsafe in PyTorch's, outputs that share memory and do not say so, are copies here"

#: What differs, by program: what it is about, and why.
KNOWN: dict[str, tuple[str, str]] = {
    "off(lambda: a.set_(k))": ("k._version", COUNTER),
    "off(lambda: k.set_(a))": ("a._version", COUNTER),
    "k.set_(w.detach())": ("w._version", COUNTER),
    "x = a * 1; v = x[0]; v.set_(k)": ("k._version v._base v._is_view v.grad_fn x._version x.grad_fn", PLACED),
    "x = a * 1; q = k * 1; p = x * q; q.set_(k + 1); y = p": ("a.grad backward_raised", REPLACED),
    "x = a * 1; q = k * 1; p = x * q; q.resize_(7); y = p": ("a.grad backward_raised", REPLACED),
    "x = a * 1; q = k * 1; p = x * q; q.data = k + 1; y = p": ("a.grad", REPLACED),
    "x = a * 1; p = x * x; x.data = k; y = p": ("a.grad", REPLACED),
    "p = a * a; a.data = k; y = p": ("a.grad", REPLACED),
    "p = a.sum() * 1; a.data = k[0]; y = p": ("a.grad backward_raised", REPLACED),
    "x = torch.sum(k, 0, out=k[0])": (
        "k._version k.value raised x._base x._is_view x._version x.is_inference x.is_leaf x.requires_grad x.value",
        "out= must not share memory with what is read; PyTorch's reductions do not look",
    ),
    "x = a * 1; v = x.unfold(1, 2, 1); v.mul_(2); y = x": (
        "v.value x.value",
        "each element of overlapping windows is written once from what it was; PyTorch multiplies as often as it shows",
    ),
    "x = (b * 1).expand(2, 3); x.zero_(); y = x": (
        "b.grad backward_raised",
        "the gradient is zero; PyTorch's backward fails on the expanded tensor",
    ),
    "x = torch.complex(a, w); v = torch.view_as_real(x); v[..., 0].mul_(2); y = [x.real, v]": ("v.grad_fn", STRIDED),
    "x = a * 1; v = x[0]; v.t_(); y = v": ("v.grad_fn", STRIDED),
    "x = a * 1; p, q = torch.unsafe_split(x, 1); p.add_(1); y = [p, q]": ("x.value", UNSAFE),
    "x = a * 1; p, q = x.unsafe_chunk(2); p.add_(1); y = [p, q, x]": ("x.value", UNSAFE),
    "x = k * 1; v = x[0]; x.mul_(a); v.retain_grad(); y = v * 2": (
        "v.grad",
        "the view follows its base's new history before it is asked for a leaf; PyTorch takes it for a leaf still",
    ),
    "x = a * 1; h = x.register_hook(lambda g: g * 10); x.detach_(); x.requires_grad_(); y = x * 2": (
        "x.grad",
        "hooks are the former history's, which detach_ drops",
    ),
    "x = infer(lambda: k * 1); x.add_(1)": ("x.value", EARLIER),
    "x = infer(lambda: k * 1); v = x[0]; v.add_(1)": (
        "v._base v._is_view v.value x.value",
        EARLIER + "; views of inference tensors know their base",
    ),
    "x = infer(lambda: k * 1); p = x.clone(); p.requires_grad_(); y = p * 2": (
        "p._version",
        "a copy is new; PyTorch counts the copying, of inference tensors alone",
    ),
}


CASES = [
    pytest.param(program, id=f"{group}: {program}") for group, text in PROGRAMS.items() for program in text.split("\n")
    if program
]  # fmt: skip


@pytest.mark.parametrize("program", CASES)
def test_in_place_and_views(program: str) -> None:
    ours, theirs = outcome(program, tl), outcome(program, torch)
    different = {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
    if program in KNOWN:
        keys, reason = KNOWN[program]
        assert different == set(keys.split()), f"known as {keys!r}, found {sorted(different)}: {reason}"
        return
    assert not different, {key: (ours.get(key), theirs.get(key)) for key in sorted(different)}


def test_the_programs_are_there() -> None:
    assert len(CASES) > 250
    assert not set(KNOWN) - {case.values[0] for case in CASES}
