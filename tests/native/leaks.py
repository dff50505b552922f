"""Looks for what calls leave behind: memory that is not freed, and references to what is never freed.

    python -m tests.native.leaks --count 2000 --seed 0

Every entry of the core is called again and again: its functions, with arguments that it takes and that it refuses, and
random calls of public functions. Memory is what tracemalloc knows of, NumPy's and the core's own included; references
are those to the objects that calls share, where CPython counts them.
"""

from __future__ import annotations

import argparse
import contextlib
import contextvars
import gc
import sys
import threading
import tracemalloc
import warnings
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike._native import core, function_types
from tensorlike.autograd.node import RELEASED, Node
from tensorlike.autograd.tensor_base import AutogradMeta
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.state import CLEAR
from tests.native import random_calls
from tests.native.random_calls import Duck, Logging, Mode, Plain, Refuser

__all__ = ["entries", "left_by", "random_works", "watching"]

Work = Callable[[], object]

#: The bytes of an object: a measurement keeps some hundred of its own.
_SMALLEST = 28
#: Contexts whose own work leaves something for a while: a thread's memory, and tracebacks.
_LEFT_OUT = ("mode elsewhere", "anomaly")


def _dot_keeps_references() -> bool:
    """Return whether NumPy's own products keep references to the dtype, as those of some versions do."""
    matrix, dtype = np.ones((2, 2), "f"), np.dtype("f")
    before = sys.getrefcount(dtype)
    for _ in range(100):
        matrix.dot(matrix)
    return sys.getrefcount(dtype) - before >= 100


def _shared() -> list[Any]:
    """Return objects that calls refer to, and that live on."""
    dtypes = [np.dtype(char) for char in "?bBhHiIlLefdFDg" if not (_dot_keeps_references() and char in "fdFD")]
    types = [tl.Tensor, tl.nn.Parameter, tl.Size, Plain, Logging, Duck, Refuser, Mode, AutogradMeta, *function_types]
    functions = [tl.add, tl.sum, tl.Tensor.__getitem__, tl.cat, np.add]
    values = [None, True, False, NotImplemented, Ellipsis, 0, 1, 2, (), "", CLEAR, MISSING, RELEASED]
    return [*dtypes, *types, *functions, *values]


_SHARED = _shared()


#: Reference counts before and after some calls; lists would be new memory themselves.
_COUNTS = [array("q", [0] * len(_SHARED)) for _ in range(2)]


def _count(number: int) -> int:
    """Store the reference counts, and return the bytes in use."""
    gc.collect()
    for i, value in enumerate(_SHARED):
        _COUNTS[number][i] = sys.getrefcount(value)
    return tracemalloc.get_traced_memory()[0]


def _growth(work: Work, calls: int) -> tuple[int, list[str]]:
    """Return how many bytes so many calls leave, and the shared objects whose reference counts each changes."""
    _count(1)
    before = _count(0)
    for _ in range(calls):
        with contextlib.suppress(Exception):
            work()
        random_calls.LOG.clear()
    after = _count(1)
    kept = [repr(value) for value, then, now in zip(_SHARED, *_COUNTS, strict=True) if abs(now - then) >= calls]
    return after - before, kept


def left_by(work: Work, calls: int = 64) -> str:
    """Return what each call leaves behind, "" for nothing. Call it inside `watching`."""
    _growth(work, 2)  # What is made once and kept is made now.
    found = ""
    # A leak shows each time. Tables that fill up, Python's and NumPy's, grow now and then.
    for count in (*[calls] * 7, 16 * calls):
        memory, kept = _growth(work, count)
        found = f"{memory / count:.0f} bytes a call" if memory >= _SMALLEST * count else ""
        found += f" references to {', '.join(kept)}" if kept else ""
        if not found:
            break
    return found


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Have memory traced, and the collector run when it is called alone, on new objects alone."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    started = not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if started:
            tracemalloc.stop()
        gc.unfreeze()
        if was_enabled:
            gc.enable()


# ---- the entries of the core


class _Slots(tl.Tensor):
    __slots__ = ("extra",)


def _raising(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("no")


class Raising:
    """Raises in its implementation."""

    __torch_function__ = classmethod(_raising)


class Endless:
    """Calls itself without end."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args)


class OwnFunction(tl.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2, x + 1

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2 + grads[1]


class FailingFunction(tl.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise ValueError("no")


def _calls_of_core() -> dict[str, Work]:
    """Return calls of the module's own functions, most of which refuse their arguments."""
    refused: list[tuple[str, tuple[Any, ...]]] = [
        ("provide", ()), ("provide_graph", ()), ("provide_families", ()), ("provide_addition", (1,)),
        ("provide_addition", (np.matmul,)), ("provide_addition", (np.isnan,)),
        ("elementwise", (len, np.add, "", 0, 0, 0, 0)), ("elementwise", (None, 1, "", 0, 0, 0, 0)),
        ("elementwise", (None, np.matmul, "", 0, 0, 0, 0)), ("elementwise", (None, np.divmod, "", 0, 0, 0, 0)),
        ("records", (len, len)), ("default_implementation", (len,)),
        ("dispatched", (len, None, (0,), (False,), 1, 1, None, 0, 0)),
        ("attach_view", (len, "wider", False, (len,))), ("attach_view", (len, "none", False, (None,))),
        ("attach_view", (len, "indexed", False, (None,))),
        ("attach_reduction", (len, ("a",), np.add, {np.dtype("f"): np.dtype("d")}, {}, 1, 1, False, len)),
        ("attach_reduction", (len, ("a",), np.add, {1: 2}, {}, 1, 1, False, len)),
        ("attach_reduction", (len, ("a",), np.add, {np.dtype("O"): np.dtype("O")}, {}, 1, 1, False, len)),
        ("attach_reduction", (len, ("a",), np.add, {}, {np.dtype("f"): (1,)}, 1, 1, False, len)),
        ("attach_reduction", (len, (), np.add, {}, {}, 1, 1, False, len)),
        ("attach_product", (len, ("a", "b"), np.matmul, None, (np.dtype("f"),), ((2, 2),), False, 1, len)),
        ("attach_product", (len, ("a", "b"), np.matmul, None, (1,), ((2, 2),), False, 1, len)),
        ("attach_product", (len, ("a", "b"), np.matmul, None, (), ((7, 2),), False, 1, len)),
        ("attach_product", (len, ("a", "b"), np.matmul, None, (), (7,), False, 1, len)),
        ("attach_softmax", (len, ("a", "b"), np.exp, np.true_divide, ((np.ones(3), 1.0, None, 0),), 1, len)),
        ("attach_softmax", (len, ("a", "b"), np.exp, np.true_divide, ((np.ones(3), 1.0, (1,), 0),), 1, len)),
        ("attach_softmax", (len, ("a", "b"), np.exp, np.true_divide, (7,), 1, len)),
        ("attach_join", (len, ("a", "b"), False, len)), ("attach_join", (len, ("a",), False, len)),
        ("attach_choice", (len, len)), ("attach_copy", (len, "copied", len)), ("attach_copy", (len, "none", len)),
        ("Function", (len,)), ("Function", ()), ("AutogradMeta", (1,)), ("AutogradMeta", ()),
        ("Recorder", (len, int, (), 0, (), ())), ("Recorder", (len, Node, (), 0, ((0, 1, 1),), ())),
        ("Recorder", (len, Node, (1,), 0, (), (("none", "option", 0, 0),))),
        ("Recorder", (len, Node, (1,), 0, (), (("_tl_shape", "none", 0, 0),))),
        ("Recorder", (len, Node, (1,), 0, (), (("_tl_shape", "operand", 0, 0),))),
        ("register_node", (int, (), (), ())), ("register_node", (Node, (("none", False),), None, ())),
        ("register_node", (Node, (("_tl_shape", False),), (("pass", (), None), ("none", (), None)), ())),
        ("register_node", (Node, None, (("steps", ((np.add, ("gradient",), ("number", 1)),), None), 1), ())),
        ("register_node", (Node, None, (("steps", ((np.add, ("gradient",), ("none",)),), None),), ())),
        ("register_node", (Node, None, (("steps", ((np.isnan, ("gradient",)),), None),), ())),
        ("register_node", (Node, None, (("pass", (), None),), (("_tl_shape", 1), ("none", 2)))),
        ("run_formulas", (1, 2)), ("run_graph", (1,)), ("run_graph", (None, 1, 0, 0, None, (), 0)),
        ("run_graph", (None, [1], 0, 0, None, (), 0)), ("run_graph", (None, [((1, 0), 2)], 0, 0, None, (), 0)),
        ("set_memory_cache_limit", ("a",)), ("is_handling", ()), ("memory_stats", ()), ("empty_cache", ()),
        ("pause", ()), ("next_sequence_number", ()),
    ]  # fmt: skip
    works: dict[str, Work] = {}
    for number, (name, args) in enumerate(refused):
        works[f"{number} core.{name}"] = lambda name=name, args=args: getattr(core, name)(*args)

    def attached(name: str, *args: Any) -> Work:
        def work() -> None:
            function = core.Function(lambda *args: None)
            getattr(core, name)(function, *args)
            getattr(core, name)(function, *args)

        return work

    float32 = np.dtype("f")
    rows = ((np.ones(3), 1.0, (np.ones((0, 0)),), 1.0), (np.ones(3, "f"), 1.0, None, 0))
    for name, args in [
        ("binds", (("a", "b", "c"), (0, 1, 1), (MISSING, 1), 1, -1)),
        ("binds", (("a", "b"), (0, 2), (MISSING, 1), 1, -1)),
        ("elementwise", (np.add, "f", 0, 1, 0, 1, np.multiply)),
        ("elementwise", (np.add, "f", 0, 1, 0, 1, len)),
        ("records", (len,)),
        ("dispatched", (len, (0,), (False,), 1, 1, None, 0, 0)),
        ("dispatched", (len, (-1,), (False,), 1, 1, None, 0, 0)),
        ("dispatched", (len, ("a",), (False,), 1, 1, None, 0, 0)),
        ("attach_view", ("indexed", False, (len, len, len, len))),
        ("attach_reduction", (1, np.add, {float32: float32}, {float32: (np.ones(0, "f"),)}, 1, 1, False, len)),
        ("attach_product", (np.matmul, np.add, (float32,), ((2, 2),), False, 1, len)),
        ("attach_softmax", (np.exp, np.true_divide, rows, 1, len)),
        ("attach_join", (False, len)),
        ("attach_assignment", ()),
        ("attach_choice", (len,)),
        ("attach_copy", ("copied", len)),
    ]:
        works[f"attached {name} {len(works)}"] = attached(name, *args)
    place = ("1", False, False, False, "x", None)
    kernel = {
        "spread": -1, "kernel": len, "namespace": np, "silent": contextvars.Context(), "promote": len, "finish": len,
        "write": len, "fit": len, "packed": tuple, "differentiable": True, "copies": True, "finishes": True,
        "recording": len, "recorded": 1, "records": True, "is_ufunc": True, "numbers": "c",
        "keeps_floats": True, "contiguous": True,
        "plain_result": True, "random": True, "elementwise": True, "order": (0,), "options": (0,),
    }  # fmt: skip

    def attached_kernel(given: dict[str, Any]) -> Work:
        def work() -> None:
            function = core.Function(lambda *args: None)
            core.attach_kernel(function, **(kernel | given))
            core.attach_kernel(function, **(kernel | given))

        return work

    for given in ({"places": (place,)}, {"places": (place, (1,))}, {"places": (place,), "order": (7,)},
                  {"places": (place,), "options": ("a",)}, {"places": (place,), "recorded": 2}):  # fmt: skip
        works[f"attached kernel {len(works)}"] = attached_kernel(given)
    for args in (((place,), 1, -1, len, len), ((place,), 2, -1, len, None), ((place, 1), 1, -1, len, None)):
        works[f"attached python {len(works)}"] = attached("attach_python", *args)
    return works


def _calls_of_functions() -> dict[str, Work]:
    """Return calls that need more than arguments: graphs, classes, modes, errors on the way."""
    x, y = tl.ones(3), tl.tensor([1.0, 2.0, 3.0])
    plain, logging, slots = (tl.ones(3).as_subclass(c) for c in (Plain, Logging, _Slots))
    leaf = tl.ones(3, requires_grad=True)
    large = tl.ones(40_000, requires_grad=True)
    image: Any = tl.ones(2, 3, 4)
    function: Any = tl.add
    handlers = {
        "neg": lambda: tl.neg(x), "add": lambda: tl.add(x, y), "number": lambda: x + 2.5, "big": lambda: x + 2**70,
        "comparison": lambda: x < 1, "inplace": lambda: x.mul_(1), "inplace operand": lambda: x.mul_(x),
        "inplace of a view": lambda: x[:2].add_(1), "inplace refused": lambda: leaf.add_(1),
        "shapes": lambda: tl.add(x, tl.ones(7)), "released": lambda: tl.neg(large).sum(),
        "recorded": lambda: (leaf * leaf).exp(), "recorded number": lambda: leaf * 2.0,
        "recorded view": lambda: leaf[1:], "recorded views": lambda: leaf.reshape(3, 1).t().squeeze(0).unsqueeze(1),
        "recorded reductions": lambda: (leaf.sum(), leaf.mean(0), leaf.amax(), leaf.prod(0, True)),
        "recorded products": lambda: (leaf @ leaf, tl.nn.functional.linear(leaf.reshape(1, 3), image[0, :3, :3])),
        "recorded joins": lambda: (tl.cat([leaf, leaf]), tl.stack((leaf, x)), tl.where(x > 0, leaf, 0.0)),
        "recorded softmax": lambda: tl.softmax(leaf, 0), "clone": lambda: leaf.clone().detach().sum().item(),
        "indices": lambda: (image[0, ..., None, 1:3], image[..., -1], image[None]),
        "wrong index": lambda: image[5], "wrong shape": lambda: image.reshape(7), "wrong dim": lambda: image.sum(9),
        "expand": lambda: tl.ones(1, 3).expand(4, 3).broadcast_to((2, 4, 3)),
        "wrong keyword": lambda: function(x, y, none=1), "no arguments": lambda: function(),
        "inherited": lambda: (plain + plain, plain + 1, tl.exp(plain)), "slots": lambda: slots + slots,
        "recorded slots": lambda: (slots.clone().requires_grad_() * 2).sum().backward(),
        "inherits and records": lambda: (plain.clone().requires_grad_() * 2).sum().backward(),
        "logging": lambda: (logging + x, x + logging, tl.cat([x, logging])),
        "duck": lambda: (tl.add(Duck(), x), tl.stack([x, Duck()]), x + Duck()),
        "refused": lambda: tl.add(Refuser(), x), "refused operator": lambda: x + Refuser(),
        "raising": lambda: tl.add(x, Raising()), "recursion": lambda: tl.exp(Endless()),
        "attributes": lambda: (function.__name__, function.__wrapped__, function.__doc__, repr(function)),
        "no attribute": lambda: function.none, "bound": lambda: tl.Tensor.add.__get__(x)(y),
        "function": lambda: core.Function(lambda: 1)(),
    }  # fmt: skip

    def keywords() -> None:
        _ = tl.add(x, other=y, alpha=2), tl.add(input=leaf, other=y, alpha=2.5), plain.add(y, alpha=3)
        x.add_(y, alpha=0)
        _ = image.sum(axis=1, keepdims=True), image.transpose(dim0=0, dim1=-1), image.permute(dims=(2, 0, 1))
        function(x, other=y, alpha="a")  # It raises.

    def assignments() -> None:
        part = tl.zeros(2, 3, 4)
        part[0], part[..., None, ::2], part[1, 2, 3] = image[1], 7, 2.5
        part[0] = part[1]
        part[0, 1:] = part[0, :-1]
        part[5] = 1  # It raises.

    def in_mode() -> None:
        with Mode():
            _ = tl.add(x, y), tl.cat([x, y]), plain + x

    def in_refusing_mode() -> None:
        with random_calls.RefusingMode():
            tl.add(x, Refuser())

    def backward() -> None:
        leaf.grad = None
        z = (leaf * y).exp() + leaf.cumsum(0)
        (z.sum() + leaf[0] * 2).backward()
        z.sum().backward()  # It raises: the graph is freed.

    def kept() -> None:
        z = (leaf * y + 1).sum()
        z.backward(retain_graph=True)
        tl.autograd.grad(z, leaf, create_graph=True)[0].sum().backward()
        leaf.grad = None

    def several() -> None:
        first, second = OwnFunction.apply(leaf)
        (first + second + first).sum().backward()
        parts = leaf.split(1)
        (parts[0] + parts[0] + parts[2]).sum().backward()

    def failing() -> None:
        (FailingFunction.apply(leaf * 2) + leaf).sum().backward()

    def hooked() -> None:
        z = leaf * 2
        z.register_hook(lambda grad: grad * 2)
        z.retain_grad()
        z.sum().backward()

    def modified() -> None:
        z = leaf * 1
        w = z.exp()
        w.add_(1)
        w.sum().backward()  # It raises.

    def programs() -> None:
        z = leaf * y
        core.run_formulas(z.grad_fn, tl.ones(3))
        core.run_formulas(z.grad_fn, tl.ones(2))
        _ = z.grad_fn._tl_edges
        z.grad_fn._tl_edges = z.grad_fn._tl_edges

    def other_dtypes() -> None:
        wide = tl.ones(3, dtype=tl.float64, requires_grad=True)
        ((wide.to(tl.float32) * leaf) * tl.ones(2, 3)).sum().backward()
        (wide.to(tl.complex64) * 1j).real.sum().backward()

    def threads() -> None:
        started = [threading.Thread(target=lambda: (leaf * 2).sum().backward()) for _ in range(2)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    for work in (
        keywords, assignments,
        in_mode, in_refusing_mode, backward, kept, several, failing, hooked, modified, programs, other_dtypes, threads,
    ):  # fmt: skip
        handlers[work.__name__] = work
    return dict(handlers)


def entries() -> dict[str, Work]:
    """Return calls of every entry of the core, by name."""
    return {**_calls_of_core(), **_calls_of_functions()}


def random_works(seeds: range) -> Iterator[tuple[str, Work]]:
    """Yield random calls of public functions, with their backward."""
    for seed in seeds:
        call = random_calls.draw(seed)
        changing = any(spec.cls in ("Late", "Lost") for spec in call.specs)
        if call.context in _LEFT_OUT or changing or (call.context and random_calls.FORMS[call.name][1] is None):
            continue
        yield f"seed {seed}: {call.name}", lambda call=call: _made(call)


def _made(call: random_calls.Call) -> None:
    random_calls.LOG.clear()
    tl.manual_seed(0)
    built = random_calls.build(call.specs)
    args, kwargs = random_calls.given(call.args, built), random_calls.given(call.kwargs, built)
    with random_calls.entered(call.context):
        result = random_calls.FORMS[call.name][0].function(*args, **kwargs)
    if call.backward and isinstance(result, tl.Tensor) and result.requires_grad:
        result.backward(tl.ones_like(result))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.native.leaks", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="random calls (1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first one (0)")
    options = parser.parse_args()
    found = 0
    with watching():
        for name, work in [*entries().items(), *random_works(range(options.seed, options.seed + options.count))]:
            left = left_by(work)
            if left:
                found += 1
                print(f"{name}: {left}", flush=True)
    print(f"{found} leave something")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
