"""Limits: too little memory, small stacks, deep graphs, absurd sizes and hostile values.

`python -m tests.reliability.limits [--module torch] [--part memory|depth|hostile] [--long]` prints what was tried and
what came of it. Each part runs in a child, whose end by a signal, or whose silence, is a find.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import io
import json
import pickle
import random
import resource
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .children import Report, in_children, one_child
from .probe import Probe

__all__ = ["Result", "depth", "hostile", "memory"]

MEGABYTE = 1 << 20


@dataclass
class Result:
    """What came of one part."""

    part: str
    tried: int = 0
    #: How many calls raised what, where that is looked at.
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def _room(megabytes: int) -> None:
    """Leave this process so much more address space than it has; none at all is no limit."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if not megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        return
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + megabytes * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


# Too little memory.


def hungry(tl: Any) -> dict[str, Callable[[int], Any]]:
    """Return calls by name that need some bytes each for as many elements."""

    def backward(n: int) -> Any:
        x = tl.ones(n, requires_grad=True)
        (x.exp() * x).sum().backward()
        return x.grad

    def in_place(n: int) -> Any:
        return tl.ones(n).add_(tl.ones(n))

    def saved(n: int) -> Any:
        stream = io.BytesIO()
        tl.save(tl.ones(n), stream)
        stream.seek(0)
        return tl.load(stream)

    def trained(n: int) -> Any:
        p = tl.ones(n, requires_grad=True)
        optimizer = tl.optim.Adam([p])
        (p * p).sum().backward()
        optimizer.step()
        return p

    def in_modes(n: int) -> Any:
        with tl.inference_mode(), tl.overrides.TorchFunctionMode():
            return tl.ones(n)

    def product(n: int) -> Any:
        side = int(n**0.5)
        return tl.ones(side, side) @ tl.ones(side, side)

    def hooked(n: int) -> Any:
        x = tl.ones(n, requires_grad=True)
        with tl.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
            y = (x.exp() * x).sum()
        y.backward()

    return {
        "ones": lambda n: tl.ones(n),
        "rand": lambda n: tl.rand(n),
        "randperm": lambda n: tl.randperm(n),
        "add": lambda n: tl.ones(n) + 1,
        "in place": in_place,
        "cat": lambda n: tl.cat([tl.ones(n), tl.ones(n)]),
        "sort": lambda n: tl.ones(n).sort(),
        "fft": lambda n: tl.fft.fft(tl.ones(n)),
        "index": lambda n: tl.ones(n)[tl.arange(n)],
        "matmul": product,
        "softmax": lambda n: tl.softmax(tl.ones(n), 0),
        "expand and reshape": lambda n: tl.ones(1, n // 1024).expand(1024, n // 1024).reshape(-1),
        "backward": backward,
        "backward with hooks": hooked,
        "save and load": saved,
        "training": trained,
        "modes": in_modes,
        "deepcopy": lambda n: copy.deepcopy(tl.ones(n)),
        "pickle": lambda n: pickle.loads(pickle.dumps(tl.ones(n))),
        "vmap": lambda n: tl.func.vmap(lambda t: t * 2)(tl.ones(n // 64, 64)),
        "tolist": lambda n: tl.ones(n // 8).tolist(),
    }


def memory(module: str, sizes: int, seed: int = 0) -> Result:
    """Make calls that need more memory than there is; each must fail as an ordinary error, with the state intact.

    PyTorch raises RuntimeError where NumPy raises MemoryError: both are ordinary.
    """
    tl = importlib.import_module(module)
    result = Result("memory")

    def work(start: int, report: Report) -> None:
        warnings.simplefilter("ignore")
        tl.set_num_threads(1)
        calls = list(hungry(tl).items())
        for _, call in calls:
            with contextlib.suppress(NotImplementedError):  # The mode without a handler.
                call(4096)
        # BLAS takes memory of its own once, without which it ends the process.
        tl.ones(700, 700) @ tl.ones(700, 700)
        probe = Probe(tl)
        chance = random.Random(seed)
        plan = [(name, call, int(chance.uniform(1, 80) * MEGABYTE / 4)) for _ in range(sizes) for name, call in calls]
        for number, (name, call, elements) in enumerate(plan):
            if number < start:
                continue
            report({"at": number, "name": f"{name}({elements})"})
            ended = "returned"
            _room(96)
            try:
                call(elements)
            except (MemoryError, RuntimeError, NotImplementedError) as error:
                ended = type(error).__name__
            except BaseException as error:
                report({"wrong": f"{name}({elements}) raised {type(error).__name__}: {error}"})
            _room(0)
            report({"ended": ended})
            wrong = probe()
            if wrong:
                report({"wrong": f"after {name}({elements}), which {ended}: {wrong}"})
                return
        report({"last": True})

    name = ""
    for value in in_children(work, patience=30.0):
        name = value.get("name", name)
        result.tried += "name" in value
        if "ended" in value:
            result.errors[value["ended"]] += 1
        if "died" in value:
            result.wrong.append(f"{name}: the process died: {value['died']}")
        if "wrong" in value:
            result.wrong.append(value["wrong"])
    return result


# Deep graphs and small stacks.


def deep(tl: Any) -> dict[str, Callable[[int], Any]]:
    """Return programs by name that make a chain of `n` nodes, and run it backwards or drop it."""

    class Twice(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def chain(n: int, step: Callable[[Any], Any] = lambda y: y + 1) -> tuple[Any, Any]:
        x = tl.ones(1, requires_grad=True)
        y = x
        for _ in range(n):
            y = step(y)
        return x, y

    def backward(n: int) -> Any:
        x, y = chain(n)
        y.backward()
        return x.grad.item() == 1

    def graph_kept(n: int) -> Any:
        x, y = chain(n, lambda y: y * 1.0)
        y.backward(retain_graph=True)
        y.backward()
        return x.grad.item() == 2

    def dropped(n: int) -> Any:
        x, y = chain(n)
        node = y.grad_fn
        del y
        del node
        return x.grad is None

    def views(n: int) -> Any:
        x, y = chain(n, lambda y: y.view(1))
        y.sum().backward()
        return x.grad.item() == 1

    def in_place(n: int) -> Any:
        x = tl.ones(1, requires_grad=True)
        y = x.clone()
        for _ in range(n):
            y.add_(1)
        y.backward()
        return x.grad.item() == 1

    def custom(n: int) -> Any:
        x, y = chain(n // 4, lambda y: Twice.apply(y) * 0.5)
        y.backward()
        return x.grad.item() == 1

    def dropped_custom(n: int) -> Any:
        x, y = chain(n // 4, lambda y: Twice.apply(y) * 0.5)
        del y
        return x.grad is None

    def grad(n: int) -> Any:
        x, y = chain(n)
        return tl.autograd.grad(y, x)[0].item() == 1

    def twice(n: int) -> Any:
        x, y = chain(n // 8, lambda y: y * 1.0)
        (first,) = tl.autograd.grad(y, x, create_graph=True)
        del y
        return first.item() == 1

    def cycle(n: int) -> Any:
        x, y = chain(n // 2)
        y.grad_fn.metadata["cycle"] = y
        del y
        import gc

        gc.collect()
        return x.grad is None

    def hooks(n: int) -> Any:
        with tl.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            x, y = chain(n // 16, lambda y: y * 1.0)
        y.backward()
        return x.grad.item() == 1

    return {
        "backward": backward, "backward twice": graph_kept, "dropped": dropped, "views": views, "in place": in_place,
        "custom Functions": custom, "custom Functions, dropped": dropped_custom, "autograd.grad": grad,
        "create_graph, dropped": twice, "a graph in a cycle": cycle, "saved-tensor hooks": hooks,
    }  # fmt: skip


def depth(module: str, nodes: int, only: Sequence[str] = ()) -> Result:
    """Make, run and drop graphs of `nodes` nodes in a thread with a stack of 256 KB."""
    tl = importlib.import_module(module)
    result = Result("depth")
    for name in only or deep(tl):

        def work(report: Report, name: str = name) -> None:
            found = []

            def run() -> None:
                try:
                    found.append(deep(tl)[name](nodes))
                except BaseException as error:
                    found.append(f"{type(error).__name__}: {error}")

            threading.stack_size(256 * 1024)
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
            threading.stack_size(0)
            wrong = [] if found == [True] else [str(found)]
            wrong += Probe(tl)()
            if wrong:
                report({"wrong": f"{name}: {wrong}"})

        result.tried += 1
        for value in one_child(work, 60 + nodes / 2000):
            if "wrong" in value:
                result.wrong.append(value["wrong"])
            elif value["end"] != "done":
                result.wrong.append(f"{name}: {value['end']}")
    return result


# Hostile values.


class _Strange:
    """Raises from everything that a conversion may ask."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __len__(self) -> int:
        raise ValueError("no length")

    def __index__(self) -> int:
        raise TypeError("no index")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no iteration")


def hostile_values(tl: Any) -> list[Any]:
    nested: list[Any] = []
    for _ in range(70):
        nested = [nested]
    return [
        0, -1, 1, 2, -0.0, 0.5, float("nan"), float("inf"), -float("inf"), 2**31, 2**63 - 1, 2**63, -(2**63) - 1,
        2**70, 10**400, -(10**10), 1e308, 5e-324, True, None, "float32", "", "\udcff", b"x", 1j, complex("nan"), ...,
        slice(None),
        slice(0, 0, 0), slice(None, None, -1), (), (0,), (-1,), (2**40, 2**40), (2**62, 4), (-1, -1), (0, 2**62), [1.5],
        [[]], [[1], [1, 2]], ["a"], {}, {"a": 1}, {1, 2}, range(3), object(), int, _Strange(), nested, lambda *a: a,
        tl.float32, tl.int64, tl.bool, tl.complex64, tl.device("cpu"), tl.device("meta"), tl.strided,
        tl.tensor(float("nan")), tl.tensor(2**62), tl.tensor([]), tl.tensor([0, -1]), tl.tensor([True, False]),
        tl.zeros(0, 3), tl.zeros(3, 0), tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([float("inf"), -0.0]),
        tl.tensor(1j), tl.ones(2, dtype=tl.float16), tl.ones(2, dtype=tl.uint8), tl.ones(2, requires_grad=True),
        tl.ones(1).expand(2**40), tl.Generator(), tl.ones(2, 2).t(), tl.ones(6)[::2],
    ]  # fmt: skip


#: What a call with hostile values may raise: what PyTorch raises.
ORDINARY = (
    RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, MemoryError, AttributeError,
    KeyError, AssertionError, ZeroDivisionError, RecursionError,
)  # fmt: skip
#: Names that wait, speak to the system, change the process or make a function out of anything.
_LEFT_OUT = {
    "set_num_threads", "set_num_interop_threads", "set_printoptions", "set_default_dtype", "set_default_device",
    "set_default_tensor_type", "use_deterministic_algorithms", "set_flush_denormal", "set_grad_enabled", "compile",
    "set_deterministic_debug_mode", "set_warn_always", "set_rng_state", "set_float32_matmul_precision", "from_file",
    "import_ir_module", "share_memory_", "save", "load", "backward", "register_hook", "init_num_threads", "storage",
    "set_anomaly_enabled", "set_vital", "import_ir_module_from_buffer", "merge_type_from_type_comment", "parse_ir",
    "parse_schema", "parse_type_comment", "autocast_increment_nesting", "autocast_decrement_nesting", "fork", "wait",
    "set_autocast_enabled", "clear_autocast_cache", "cudnn_is_acceptable", "unify_type_list", "data_ptr", "set_data",
}  # fmt: skip


def hostile_functions(tl: Any, other: Any = None) -> list[tuple[str, Callable[..., Any]]]:
    """Return public functions and methods by name; with `other`, those that it has too."""
    places: list[tuple[str, Any]] = [("", tl), ("Tensor.", tl.Tensor)]
    places += [(f"{n}.", getattr(tl, n)) for n in ("linalg", "fft", "special")] + [("F.", tl.nn.functional)]
    found = []
    for prefix, place in places:
        for name in sorted(vars(place) if prefix == "Tensor." else dir(place)):
            if name.startswith(("_", "set_", "is_")) or name in _LEFT_OUT or "autocast" in name:
                continue
            value = getattr(place, name, None)
            if not callable(value) or isinstance(value, type):
                continue
            module = getattr(value, "__module__", None) or tl.__name__
            if module.split(".")[0] == tl.__name__:
                found.append((prefix + name, value))
    return found


def hostile(module: str, calls: int, seed: int = 0, only: str = "") -> Result:
    """Call every public function with hostile values, `calls` times each: an error at worst, and an ordinary one."""
    tl = importlib.import_module(module)
    result = Result("hostile values")
    names = [name for name, _ in hostile_functions(tl) if not only or name == only]

    def work(start: int, report: Report) -> None:
        warnings.simplefilter("ignore")
        tl.set_num_threads(1)
        functions = [one for one in hostile_functions(tl) if not only or one[0] == only]
        probe = Probe(tl)
        for number in range(start, len(functions) * calls):
            name, function = functions[number // calls]
            chance = random.Random(f"{seed} {name} {number % calls}")
            values = hostile_values(tl)
            # Others than tensors mostly fail at once: the first is one more often than not.
            first = [tl.tensor([[1.0, -2.0], [0.5, 4.0]])] if chance.random() < 0.7 else []
            arguments = first + chance.choices(values, k=chance.choice((0, 1, 1, 2, 2, 3)))
            text = f"{name}({', '.join(_short(tl, a) for a in arguments)})"
            report({"at": number, "name": text})
            _room(512)
            began = time.monotonic()
            ended = "returned"
            try:
                function(*arguments)
            except ORDINARY as error:
                ended = type(error).__name__
            except BaseException as error:
                ended = type(error).__name__
                report({"wrong": f"{text} raised {type(error).__mro__[:2]}: {error}"[:400]})
            took = time.monotonic() - began
            report({"ended": ended, **({"slow": f"{text} took {took:.1f} s"} if took > 5 else {})})
            if number % 50 == 49:
                _room(0)
                wrong = probe()
                if wrong:
                    report({"wrong": f"up to {text}: {wrong}"})
                    return
        report({"last": True})

    name = ""
    for value in in_children(work, patience=30.0, limit=len(names) * calls):
        name = value.get("name", name)
        result.tried += "name" in value
        if "ended" in value:
            result.errors[value["ended"]] += 1
        if "died" in value:
            result.wrong.append(f"{name}: the process died: {value['died']}")
        if "wrong" in value:
            result.wrong.append(value["wrong"])
        if "slow" in value:
            result.errors["slow"] += 1
    return result


def _short(tl: Any, value: Any) -> str:
    if isinstance(value, tl.Tensor):
        return f"tensor{tuple(value.shape)} {str(value.dtype).split('.')[-1]}"
    if isinstance(value, _Strange):
        return "strange"
    return repr(value)[:40].encode("ascii", "replace").decode()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.limits", description=__doc__.split("\n")[0])
    parser.add_argument("--module", default="tensorlike", help="the library: tensorlike, or torch")
    parser.add_argument("--part", choices=("memory", "depth", "hostile"), action="append")
    parser.add_argument("--calls", type=int, default=4, help="how many hostile calls of each function")
    parser.add_argument("--sizes", type=int, default=4, help="how many sizes of each call that needs memory")
    parser.add_argument("--nodes", type=int, default=100_000, help="how many nodes deep graphs have")
    parser.add_argument("--only", default="", help="a single function for hostile values")
    parser.add_argument("--json", action="store_true", help="print the results as JSON, one line for each part")
    options = parser.parse_args(arguments)
    parts = options.part or ("memory", "depth", "hostile")
    failed = False
    for part in parts:
        if part == "memory":
            result = memory(options.module, options.sizes)
        elif part == "depth":
            result = depth(options.module, options.nodes)
        else:
            result = hostile(options.module, options.calls, only=options.only)
        if options.json:
            print(json.dumps(vars(result)))
            continue
        ends = ", ".join(f"{end} {count}" for end, count in result.errors.most_common())
        print(f"{result.part:16} tried {result.tried:7}  wrong {len(result.wrong):5}  {ends}")
        for text in result.wrong:
            print(f"    {text}")
        failed = failed or bool(result.wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
