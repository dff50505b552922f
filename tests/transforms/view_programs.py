"""Random programs with views and in-place operations: forward mode against reverse mode, and against PyTorch.

    python -m tests.transforms.view_programs --count 1000 --torch

Each program is a function of one vector, written as Python source that names the library `T`. It makes tensors, takes
views of them at any time, writes through them, and returns all that it has made.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 4
#: Statements of a program.
LENGTH = (4, 14)

#: Where forward-mode values are computed, by the ways to them.
WAYS = ("jvp", "jacfwd", "dual_level", "jvp(jvp)", "jacfwd(jacfwd)", "grad(jvp)", "hessian")
#: What may be refused: a tensor of which elements share memory, which `masked_fill_` alone writes.
EXPANDED = "more than one element of the written-to tensor refers to a single memory location"


class Writer:
    """The writer of one program: names and shapes of its tensors so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {"x": (SIZE,)}

    def any_name(self, shape: tuple[int, ...] | None = None) -> str | None:
        names = [n for n, s in self.shapes.items() if shape is None or s == shape]
        return self.random.choice(names) if names else None

    def new(self, line: str, shape: tuple[int, ...]) -> str:
        name = f"t{len(self.shapes)}"
        self.lines.append(f"{name} = {line}")
        self.shapes[name] = shape
        return name

    def number(self) -> str:
        return str(self.random.choice([0.5, -0.5, 1.5, 2.0, -1.0]))

    def value(self, shape: tuple[int, ...]) -> str:
        """Return an expression that can be written into a tensor of this shape."""
        pick = self.random.random()
        same = self.any_name(shape)
        scalar = self.any_name(())
        if same is not None and pick < 0.5:
            return self.random.choice([f"{same} * {self.number()}", f"{same}.clone()", f"{same}.sin()", same])
        if scalar is not None and pick < 0.7:
            return f"({scalar} * {self.number()})"
        index = self.random.randrange(SIZE)
        return f"(x[{index}] * {self.number()})"

    def make(self) -> None:
        shape = self.random.choice([(SIZE,), (2, 2), (3,), (2, 3)])
        count = int(np.prod(shape))
        pick = self.random.randrange(4)
        same = self.any_name(shape)
        if pick == 0 or (same is None and pick > 1):
            self.new(f"T.zeros({', '.join(map(str, shape))}, dtype=T.float64)", shape)
        elif pick == 1:
            source = "x" if count == SIZE else f"T.cat([x, x])[:{count}]"
            self.new(f"({source} * {self.number()}).reshape({shape})", shape)
        else:
            self.new(self.random.choice([f"{same}.clone()", f"{same} + {self.number()}", f"{same} * {same}"]), shape)

    def view(self) -> None:
        name = self.random.choice([n for n in self.shapes if n != "x"] or ["x"])
        if name == "x":
            return self.make()
        shape = self.shapes[name]
        options: list[tuple[str, tuple[int, ...]]] = [(f"{name}.unsqueeze(0)", (1, *shape)), (f"{name}[...]", shape)]
        if shape:
            n = shape[0]
            index = self.random.randrange(n)
            options += [(f"{name}[{index}]", shape[1:]), (f"{name}.select(0, {index})", shape[1:])]
            start = self.random.randrange(n)
            options += [
                (f"{name}[{start}:]", (n - start, *shape[1:])),
                (f"{name}.narrow(0, {start}, {n - start})", (n - start, *shape[1:])),
                (f"{name}[::2]", (-(-n // 2), *shape[1:])),
            ]
            if n > 1:  # Windows apart: what is written to several elements in one place is not defined.
                options.append((f"{name}.unfold(0, 2, 2)", (n // 2, *shape[1:], 2)))
        if len(shape) == 2:
            options += [
                (f"{name}.T", (shape[1], shape[0])), (f"{name}.diagonal()", (min(shape),)),
                (f"{name}[:, 0]", (shape[0],)), (f"{name}.transpose(0, 1)", (shape[1], shape[0])),
            ]  # fmt: skip
        if shape and shape[0] == 1:
            rest = shape[1:]
            options += [(f"{name}.squeeze(0)", rest), (f"{name}.expand(2, {str(rest)[1:-1]})", (2, *rest))]
        line, made = self.random.choice(options)
        self.new(line, made)
        return None

    def write(self) -> None:
        names = [n for n in self.shapes if n != "x"]
        if not names:
            return self.make()
        name = self.random.choice(names)
        shape = self.shapes[name]
        value = self.value(shape)
        options = [
            f"{name}.copy_({value})", f"{name}.mul_({value})", f"{name}.add_({value})", f"{name} += {value}",
            f"{name} *= {self.number()}", f"{name}.sin_()", f"{name}.fill_({self.number()})", f"{name}.zero_()",
            f"{name}.clamp_(max=0.6)", f"T.nn.functional.elu({name}, inplace=True)", f"{name}.tanh_()",
            f"T.nn.functional.relu({name}, inplace=True)", f"{name}.masked_fill_({name} > 0.3, {self.number()})",
            f"{name}.sub_({value})", f"{name}[...] = {value}", f"{name}.lerp_({name} * 2, 0.25)",
        ]  # fmt: skip
        if shape:
            index = self.random.randrange(shape[0])
            part = self.value(shape[1:])
            options += [
                f"{name}[{index}] = {part}", f"{name}[{index}] *= {part}", f"{name}[{index}] += {part}",
                f"{name}[{index}:] = {self.number()}", f"{name}[:{index + 1}].mul_({self.number()})",
                f"{name}.index_fill_(0, T.tensor([{index}]), {self.number()})",
                f"{name}.index_put_((T.tensor([{index}]),), {part})",
            ]  # fmt: skip
        if len(shape) == 2:
            options.append(f"{name}.fill_diagonal_({self.number()})")
        self.lines.append(self.random.choice(options))
        return None

    def program(self) -> str:
        self.make()
        for _ in range(self.random.randint(*LENGTH)):
            self.random.choices([self.make, self.view, self.write], [2, 4, 5])[0]()
        made = ", ".join(f"{n}.reshape(-1)" for n in self.shapes)
        body = "\n    ".join(self.lines)
        return f"def program(x):\n    x = x * 1\n    {body}\n    return T.cat([{made}])\n"


def written(seed: int) -> str:
    """Return the source of the program of this seed."""
    return Writer(seed).program()


def compiled(source: str, library: Any) -> Callable[[Any], Any]:
    namespace: dict[str, Any] = {"T": library}
    exec(source, namespace)
    return namespace["program"]  # type: ignore[no-any-return]


def values(source: str, seed: int, library: Any, reverse: bool) -> dict[str, Any]:
    """Return what a program computes in one library by each way, as arrays or exceptions.

    With `reverse` the derivatives are those of reverse mode, under the same names.
    """
    drawn = np.random.default_rng(seed)
    function, func = compiled(source, library), library.func

    def vector() -> Any:
        return library.tensor(drawn.uniform(0.2, 1.4, SIZE).tolist(), dtype=library.float64)

    point, one, other = vector(), vector(), vector()
    forward_ad = library.autograd.forward_ad
    result = function(point)
    weights = library.tensor(drawn.uniform(-1, 1, result.shape[0]).tolist(), dtype=library.float64)

    def total(x: Any) -> Any:
        return (function(x) ** 2 * weights).sum()

    def by_level() -> Any:
        with forward_ad.dual_level():
            moved = forward_ad.unpack_dual(total(forward_ad.make_dual(point, one))).tangent
            return library.zeros((), dtype=library.float64) if moved is None else moved

    def back(x: Any) -> Any:
        return (func.grad(total)(x) * one).sum()

    def forth(x: Any) -> Any:
        return func.jvp(total, (x,), (one,))[1]

    if reverse:
        first, second = back(point), (func.grad(back)(point) * other).sum()
        ways: dict[str, Callable[[], Any]] = {
            name: (lambda: first) if name in ("jvp", "jacfwd", "dual_level") else (lambda: second) for name in WAYS
        }
    else:
        ways = {
            "jvp": lambda: forth(point),
            "jacfwd": lambda: (func.jacfwd(total)(point) * one).sum(),
            "dual_level": by_level,
            "jvp(jvp)": lambda: func.jvp(forth, (point,), (other,))[1],
            "jacfwd(jacfwd)": lambda: one @ func.jacfwd(func.jacfwd(total))(point) @ other,
            "grad(jvp)": lambda: (func.grad(forth)(point) * other).sum(),
            "hessian": lambda: one @ func.hessian(total)(point) @ other,
        }
    found: dict[str, Any] = {"value": np.asarray(result.detach().tolist())}
    for name, way in ways.items():
        try:
            found[name] = np.asarray(way().detach().tolist())
        except (RuntimeError, NotImplementedError) as error:
            found[name] = error
    return found


def read_first(source: str) -> str:
    """Return a program in which an operand that is written as it is, and may overlap the target, is read beforehand.

    PyTorch refuses such overlaps or, where it does not see them, reads elements that it has written already.
    """
    return re.sub(r"(_\(|[+*]?= |\),\), )(t\d+|x)(\)?)$", r"\1\2.clone()\3", source, flags=re.MULTILINE)


def compared(seed: int, other: Any = None) -> list[str] | None:
    """Return how the ways differ for the program of a seed, None where it cannot be run or differentiated.

    `other` is PyTorch, whose values are then compared too.
    """
    import tensorlike as tl

    source = written(seed)
    try:
        expected = values(source, seed, tl, reverse=True)
    except (RuntimeError, IndexError, TypeError):
        return None
    found = values(source, seed, tl, reverse=False)
    differences = []
    for name in WAYS:
        value = found[name]
        if isinstance(value, Exception):
            if EXPANDED not in str(value):
                differences.append(f"{name} is refused: {value}")
        elif not np.allclose(value, expected[name], rtol=1e-7, atol=1e-8, equal_nan=True):
            differences.append(f"{name}: {value}, in reverse mode {expected[name]}")
    if other is not None:
        try:
            theirs = values(read_first(source), seed, other, reverse=False)
        except RuntimeError:  # It refuses more kinds of overlap between what is read and what is written.
            theirs = {}
        for name, value in theirs.items():
            mine = found[name]
            if isinstance(mine, Exception) or isinstance(value, Exception):
                continue  # PyTorch refuses more; what is refused here is looked at above.
            if not np.allclose(mine, value, rtol=1e-7, atol=1e-8, equal_nan=True):
                differences.append(f"{name}: {mine}, in PyTorch {value}")
    return differences


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.transforms.view_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs to run (1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program; the others follow it (0)")
    parser.add_argument("--torch", action="store_true", help="compare with PyTorch too")
    parser.add_argument("--show", type=int, default=5, help="programs with differences to print (5)")
    options = parser.parse_args()
    other = None
    if options.torch:
        import torch

        other = torch
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        found = compared(seed, other)
        counts["not run" if found is None else "different" if found else "same"] += 1
        if found and counts["different"] <= options.show:
            print(f"# seed {seed}\n{written(seed)}" + "".join(f"# {line}\n" for line in found), flush=True)
    print(dict(counts))
    return 1 if counts["different"] or not counts["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
