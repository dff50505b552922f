"""Calls of `sources/kernels.cpp`: elementwise kernels on iterators, and dispatch on dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def kernel_calls(m: Any, lib: Any) -> dict[str, Callable[[], Any]]:
    """Return calls of elementwise kernels on iterators, and of dispatch on dtypes."""
    x = lib.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    row, column = lib.tensor([10.0, 20.0, 30.0]), lib.tensor([[1.0], [2.0]])
    whole, double, truth = lib.tensor([[1, 2, 3], [4, 5, 6]]), x.to(lib.float64), x.gt(0)
    block = lib.arange(24.0).reshape(2, 3, 4)
    memory = lib.arange(12.0)

    def written(function: Callable[..., Any], *args: Any, out: Any) -> Any:
        result = function(*args, out)
        return [result, out, list(out.stride())]

    def overlapping(start: int) -> Any:
        return m.add_twice(memory[:6], memory[6:], memory[start : start + 6])

    calls: dict[str, Callable[[], Any]] = {
        "binary": lambda: m.add_twice(x, x),
        "binary, broadcast": lambda: [m.add_twice(x, row), m.add_twice(column, row), m.add_twice(x, lib.tensor(2.0))],
        "binary, transposed": lambda: [m.add_twice(x.t(), column.t()), list(m.add_twice(x.t(), x.t()).stride())],
        "binary, steps": lambda: m.add_twice(block[:, ::2, 1:3], block[:, 1:, ::2]),
        "binary, empty": lambda: m.add_twice(lib.zeros(0, 3), lib.zeros(1, 3)),
        "binary, wrong sizes": lambda: m.add_twice(x, lib.ones(2)),
        "binary, promoted": lambda: [m.add_twice(whole, x), m.add_twice(x, double), m.add_twice(whole, lib.tensor(2.5)),
                                     m.add_twice(x, lib.tensor(2.5, dtype=lib.float64)), m.add_twice(x.half(), whole),
                                     m.add_twice(x, lib.tensor(1j)), m.add_twice(double, lib.tensor(1j))],
        "binary, of bools": lambda: m.add_twice(truth, truth),
        "binary, out": lambda: written(m.add_twice, x, row, out=lib.zeros(2, 3)),
        "binary, out strided": lambda: written(m.add_twice, x, row, out=lib.zeros(3, 2).t()),
        "binary, out of another dtype": lambda: written(m.add_twice, x, row, out=lib.zeros(2, 3, dtype=lib.float64)),
        "binary, out that cannot hold it": lambda: m.add_twice(x, row, lib.zeros(2, 3, dtype=lib.int64)),
        "binary, out resized": lambda: written(m.add_twice, x, row, out=lib.zeros(0)),
        "binary, out resized strided": lambda: written(m.add_twice, x.t(), x.t(), out=lib.zeros(0)),
        "binary, out is an input": lambda: written(m.add_twice, (y := x.clone()), row, out=y),
        "binary, out is an input too small": lambda: m.add_twice((y := row.clone()), x, y),
        "binary, out expanded": lambda: m.add_twice(x, row, lib.zeros(3).expand(2, 3)),
        "binary, out overlaps": lambda: overlapping(3),
        "binary, out is one input's memory": lambda: overlapping(6),
        "unary": lambda: [m.squared(t) for t in (x, whole, truth, x.half(), x.bfloat16(), whole.to(lib.uint8))],
        "unary, complex": lambda: m.squared(lib.tensor([1j])),
        "unary, out of another dtype": lambda: m.squared(x, lib.zeros(2, 3, dtype=lib.float64)),
        "unary float": lambda: [m.root(whole), m.root(x.abs()), m.root(truth), m.root(lib.tensor(4))],
        "unary float, out": lambda: [m.root(whole, lib.zeros(2, 3, dtype=lib.float64)), m.root(whole, lib.zeros(0))],
        "unary float, out of integers": lambda: m.root(whole, whole.clone()),
        "unary float, out of halves": lambda: m.root(whole, lib.zeros(2, 3, dtype=lib.float16)),
        "binary float": lambda: [m.ratio(whole, whole), m.ratio(whole, double), m.ratio(x, lib.tensor(2))],
        "comparison": lambda: [m.less(x, row), m.less(whole, x), m.less(x, lib.tensor(0.5)), m.less(truth, x)],
        "comparison, out": lambda: [m.less(x, row, lib.zeros(2, 3)), m.less(x, row, lib.zeros(2, 3) > 0)],
        "comparison, out of another dtype": lambda: m.less(x, row, lib.zeros(2, 3, dtype=lib.float64)),
        "comparison, complex": lambda: m.less(x, lib.tensor([1j])),
        "nullary": lambda: [m.filled(x.clone(), 2.5), m.filled(block.clone()[:, 1], 3), m.filled(x.half(), 0.1)],
        "nullary, expanded": lambda: m.filled(lib.zeros(1).expand(3), 1.0),
        "nullary, integers": lambda: m.filled(whole, 1.0),
        "several outputs": lambda: [m.sum_and_product(x, row), m.sum_and_product(x.t(), x.t())],
        "several outputs, dtypes differ": lambda: "INTERNAL ASSERT" in str_of(lambda: m.sum_and_product(x, double)),
        "several dtypes": lambda: m.several_dtypes(double),
        "vectorized": lambda: [m.vectorized(block, block.flip(0)), m.vectorized(block[..., 0], block[..., 1]),
                               m.vectorized(lib.arange(9.0), lib.tensor(2.0)), m.vectorized(block.double(), block)],
        "vectorized masks": lambda: [m.chosen(memory, memory.flip(0)), m.chosen(block[..., ::2], block[..., 1::2])],
        "vectorized not a number": lambda: m.vectorized(lib.full((9,), float("nan")), lib.arange(9.0)),
        "without outputs": lambda: [m.counted(double, double), m.counted(double.t(), double.t())],
        "in parallel": lambda: m.in_parallel(5000),
        "fails in parallel": m.fails_in_parallel,
        "function of another dtype": lambda: str_of(lambda: m.wrong_function(x)).partition("<")[0],
        "by hand": lambda: [m.by_hand(x, row), m.by_hand(block.permute(2, 0, 1), lib.ones(1, 3))],
        "by hand, wrong sizes": lambda: m.by_hand(x, lib.ones(4)),
        "by hand, wrong dtype": lambda: m.by_hand(x, double),
        "overlaps": lambda: [m.overlaps(a, b) for a, b in (
            (x, x), (x, x.clone()), (memory[:6], memory[3:9]), (memory[:6], memory[6:]), (memory.view(3, 4), memory),
            (row.expand(2, 3), x), (memory.as_strided((3, 3), (1, 1)), memory),
            (memory[:6].view(2, 3).t(), memory[:6].view(3, 2)),
        )],
    }  # fmt: skip
    operands = {
        "contiguous": (lib.zeros(2, 3), x, x),
        "transposed": (lib.zeros(3, 2), x.t(), x.t()),
        "mixed": (lib.zeros(2, 3), x.t().contiguous().t(), x),
        "broadcast": (lib.zeros(2, 3, 4), block, lib.ones(3, 1)),
        "sliced": (lib.zeros(2, 2, 4), block[:, ::2], block[:, 1:]),
        "permuted": (lib.zeros(4, 2, 3), block.permute(2, 0, 1), lib.ones(4, 1, 1)),
        "scalars": (lib.zeros(()), lib.tensor(1.0), lib.tensor(2.0)),
        "ones": (lib.zeros(1, 3, 1), lib.ones(1, 3, 1), lib.ones(1)),
        "expanded": (lib.zeros(2, 3), row.expand(2, 3), column.expand(2, 3)),
        "flipped sizes": (lib.zeros(4, 1, 5, 2), lib.ones(2, 1, 5, 4).transpose(0, 3), lib.ones(5, 2)),
        "empty": (lib.zeros(0, 3), lib.zeros(0, 3), lib.ones(3)),
        "out strided": (lib.zeros(3, 2).t(), x, x),
    }  # fmt: skip
    for name, (out, a, b) in operands.items():
        for linear in (False, True):
            calls[f"walked {name}{', linear' * linear}"] = lambda o=out, a=a, b=b, n=linear: m.walked(o, a, b, n)
        calls[f"made {name}"] = lambda a=a, b=b: m.made(a, b)
    calls["made of dtypes"] = lambda: [m.made(whole, x), m.made(truth, whole), m.made(x.half(), x.bfloat16())]
    for kind in ("", "no resize", "safe", "static", "any dtype"):
        for name, args in {"fits": (x, x, x), "resized": (lib.zeros(0), x, x), "dtype": (whole.clone(), x, x),
                           "inputs": (x, x, double)}.items():  # fmt: skip
            calls[f"configured {kind}, {name}"] = lambda k=kind, a=args: str_of(
                lambda: m.configured(k, a[0].clone(), *a[1:])
            ).partition(" INTERNAL")[0]
    kinds = (
        "floating, floating and half, reduced, integral, integral and bool, complex, complex and half, "
        "floating and complex and 1, floating and 5, all and complex and 6, index, cases, v2, v2 few, nested, lists"
    )
    dtypes = (
        "uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "bool", "uint16", "uint64"
    )  # fmt: skip
    for kind in kinds.split(", "):
        calls[f"by dtype {kind}"] = lambda kind=kind: [
            str_of(lambda d=d: m.by_dtype(kind, getattr(lib, d))) for d in dtypes
        ]
    return calls


def str_of(call: Callable[[], Any]) -> str:
    """Return a result, or the error, as one line of text."""
    try:
        return str(call())
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0].partition("Exception raised from")[0].strip()
