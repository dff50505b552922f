"""Time the whole surface beside PyTorch's: `python -m benchmarks.breadth [--gradient] [--only REGEX] [--json FILE]`.

PyTorch's operator database has samples of every operation that it knows. Each is called in both libraries, as a
function, a method, in place and by its operator, and so are everyday calls that the database lacks. What both compute
is compared first, so that no row is the time of an error or of another result.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # Read by the libraries when they are imported; see `benchmarks.__main__`.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import collections
import functools
import itertools
import json
import keyword
import math
import re
import sys
import time
import timeit
import types
import unittest
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import tensorlike as tl

from .breadth_everyday import DIFFERENTIATED, EVERYDAY

#: A run of fewer rows has compared too little to say anything.
LEAST = 900

#: The elements that the tensors of a sample have together, less than these.
MOST_ELEMENTS = 3_000

#: Functions that have another public module than the one they are defined in.
MODULES = {
    "torch.functional": "", "torch.nn.functional": "nn.functional", "torch._C._nn": "nn.functional",
    "torch._C._linalg": "linalg", "torch._C._special": "special", "torch._C._fft": "fft", "torch._C._sparse": "sparse",
    "torch.masked._ops": "masked", "torch.signal.windows.windows": "signal.windows", "torch._tensor": "Tensor",
}  # fmt: skip

#: Values that are the same in all libraries.
PLAIN = (bool, int, float, complex, str, type(None), type(...), np.generic, np.ndarray)

Wanted = Callable[[str, str], object]


class UnableError(Exception):
    """Why a row cannot be run."""


class NoGradientError(Exception):
    """Nothing in the row has a gradient in PyTorch."""


class Row(NamedTuple):
    """One call: its text and, for each library, the values of the names in it."""

    name: str
    group: str
    text: str
    spaces: dict[str, dict[str, Any]]
    setup: str = "pass"  # Run before each slice of time.
    arguments: str = ""
    compared: str = "{}"  # What is the same of a result in all libraries, as of eigenvectors without their signs.
    gradient: bool = False


def database() -> list[Any]:
    """Return PyTorch's operator database, which imports a package that only its tests need."""
    if "expecttest" not in sys.modules:
        stand_in: Any = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def at(library: Any, path: str) -> Any:
    """Return what stands at a dotted path, None if nothing does."""
    return functools.reduce(lambda found, part: getattr(found, part, None), path.split("."), library)


def path_of(function: Any, name: str) -> str | None:
    """Return the public path of one of PyTorch's functions."""
    own = getattr(function, "__name__", "")
    module = MODULES.get(str(getattr(function, "__module__", None)), "")
    for path in (name, f"Tensor.{name}", f"{module}.{own}".lstrip("."), f"Tensor.{own}", own, f"ops.aten.{own}"):
        found = at(torch, path)
        if found is function or (found is not None and found == function):
            return path
    return None


def unseeded(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a random function. The database's own wrapper seeds the generator, which takes longer than the call."""
    return function(*args, **kwargs)


class Translation:
    """Values of a sample as one library has them; its tensors are made anew, with the same strides, each once."""

    def __init__(self, library: Any, gradient: bool) -> None:
        self.library = library
        self.gradient = gradient
        self.made: dict[int, Any] = {}
        self.leaves: list[Any] = []

    def tensor(self, value: Any) -> Any:
        """Return a tensor that owns its memory, unless the strides are those of a view."""
        if value.layout is not torch.strided or type(value) not in (torch.Tensor, torch.nn.Parameter):
            raise UnableError(f"a sample is a {type(value).__name__} that is {value.layout}")
        detached = value.detach().resolve_conj().resolve_neg()
        array = (detached.float() if value.dtype is torch.bfloat16 else detached).numpy()
        shape, strides = tuple(value.shape), value.stride()
        span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if value.numel() else 0
        flat = np.zeros(span, array.dtype)
        np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in strides])[...] = array
        made = self.library.from_numpy(flat).to(self(value.dtype)).as_strided(shape, strides)
        copy = made.clone()
        made = copy if copy.stride() == strides else made
        if self.gradient and value.requires_grad:
            self.leaves.append(made.requires_grad_())
        return made

    def __call__(self, value: Any) -> Any:
        """Return a value of PyTorch's as the library has it."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.made:
                self.made[id(value)] = self.tensor(value)
            return self.made[id(value)]
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return at(self.library, str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return self.library.device(str(value))
        if isinstance(value, torch.Size):
            return self.library.Size(value)
        if type(value) in (list, tuple):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            return {name: self(one) for name, one in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        if value in (bool, int, float, complex) or isinstance(value, PLAIN):
            return value
        return self.function(value, getattr(value, "__name__", ""))

    def function(self, value: Any, name: str) -> Any:
        """Return a function of PyTorch's as the library has it; those of the database are made anew."""
        if name == "wrapper_set_seed":
            return unseeded
        if isinstance(value, functools.partial):
            return functools.partial(self(value.func), *self(value.args), **self(value.keywords))
        if isinstance(value, types.FunctionType) and str(value.__module__).startswith("torch.testing._internal"):
            return self.rebuilt(value)
        path = path_of(value, name.removeprefix("torch."))
        found = None if path is None else at(self.library, path)
        if found is None:
            raise UnableError(f"there is no {path}" if path else f"no public name of {value!r:.80}")
        return found

    def rebuilt(self, value: types.FunctionType) -> Any:
        """Return a function of the database with the library where it says `torch`."""

        def closed(cell: types.CellType) -> types.CellType:
            try:
                return types.CellType(self(cell.cell_contents))
            except UnableError:  # An object of the database's.
                return cell

        names = {**value.__globals__, "torch": self.library, "F": self.library.nn.functional}
        for name in value.__code__.co_names:
            if isinstance(names.get(name), types.FunctionType) and names[name] is not value:
                names[name] = self(names[name])
        cells = tuple(map(closed, value.__closure__ or ()))
        made = types.FunctionType(value.__code__, names, value.__name__, self(value.__defaults__), cells)
        made.__kwdefaults__ = self(value.__kwdefaults__)
        return made


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield PyTorch's tensors in nested values."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(one)


def described(value: Any) -> str:
    """Return a short text of an argument."""
    if isinstance(value, torch.Tensor):
        kind = "" if value.dtype is torch.float32 else f" {str(value.dtype).removeprefix('torch.')}"
        return f"({', '.join(map(str, value.shape))}){kind}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described, value[:4]))}{', ...' if len(value) > 4 else ''}]"
    return str(value)[:40]


def samples_of(op: Any, gradient: bool, most: int) -> list[Any]:
    """Return the first small samples of an operation."""
    torch.manual_seed(0)
    samples = itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=gradient), 40)
    small = (s for s in samples if sum(t.numel() for t in tensors_in([s.input, s.args, s.kwargs])) < MOST_ELEMENTS)
    found = list(itertools.islice(small, most))
    if not found:
        raise UnableError(f"no sample has less than {MOST_ELEMENTS:,} elements")
    return found


def operation_row(name: str, group: str, op: Any, form: str, function: Any, sample: Any, gradient: bool) -> Row:
    """Return the row of one sample, called in one way."""
    arguments, inplace = [sample.input, *sample.args], form.startswith("in-place")
    names = [f"a{i}" for i in range(len(arguments))]
    if inplace and gradient:  # A leaf cannot be changed.
        names[0] = "a0.clone()"
    if all(k.isidentifier() and not keyword.iskeyword(k) for k in sample.kwargs):
        names += [f"{k}=k_{k}" for k in sample.kwargs]
    else:
        names += ["**keywords"]
    own = getattr(function, "__name__", "")
    called = form in ("method", "in-place") and hasattr(torch.Tensor, own)
    if called and not isinstance(sample.input, torch.Tensor):
        raise UnableError("the sample is not a tensor")
    text = f"{names[0]}.{own}({', '.join(names[1:])})" if called else f"f({', '.join(names)})"
    spaces = {}
    for library in (tl, torch):
        translate = Translation(library, gradient)
        space = {f"a{i}": translate(value) for i, value in enumerate(arguments)}
        space |= {"b0": space["a0"], "keywords": translate(sample.kwargs), "leaves": translate.leaves}
        space |= {f"k_{k}": value for k, value in space["keywords"].items()}
        space["compared"] = translate(sample.output_process_fn_grad)
        if not called:
            space["f"] = function if form.endswith("operator") else translate.function(function, op.name)
        spaces[library.__name__] = space
    token = [object()]
    try:
        compared = "{}" if sample.output_process_fn_grad(token) is token else "compared({})"
    except Exception:
        compared = "compared({})"
    shown = [*map(described, arguments), *(f"{k}={described(v)}" for k, v in sample.kwargs.items())]
    setup = "a0 = b0.clone()" if inplace and not gradient else "pass"
    return Row(name, group, text, spaces, setup, ", ".join(shown), compared)


def operation_rows(gradient: bool, most: int, wanted: Wanted) -> Iterator[Row | tuple[str, str]]:
    """Yield the rows of the database; the names of those that cannot be made, and why."""
    for op in database():
        if torch.float32 not in op.dtypes or (gradient and not op.supports_autograd):
            continue
        title = f"{op.name}.{op.variant_test_name}".rstrip(".")
        namespace = next((m for m in sorted(set(MODULES.values())) if m and op.name.startswith(f"{m}.")), "torch")
        samples: list[Any] = []
        for form, function in (
            ("", op.op), ("method", op.method_variant), ("in-place", op.inplace_variant),
            ("operator", op.operator_variant), ("in-place operator", op.inplace_operator_variant),
        ):  # fmt: skip
            for number in range(most):
                name, group = f"{title}{f' ({form})' if form else ''} #{number}", form or namespace
                if function is None or not wanted(name, group):
                    continue
                try:
                    samples = samples or samples_of(op, gradient, most)
                    if number < len(samples):
                        yield operation_row(name, group, op, form, function, samples[number], gradient)
                except UnableError as error:
                    yield name, str(error)


def everyday_rows(gradient: bool, wanted: Wanted) -> Iterator[Row]:
    """Yield the calls that the database lacks; to be differentiated, those whose operands can be."""
    for group, (setup, texts) in EVERYDAY.items():
        for text in texts:
            if not wanted(text, group) or (gradient and group not in DIFFERENTIATED):
                continue
            spaces: dict[str, dict[str, Any]] = {}
            for library in (tl, torch):
                space = spaces[library.__name__] = {"torch": library}
                exec(setup, space)
                space["leaves"] = [space[n].requires_grad_() for n in DIFFERENTIATED[group]] if gradient else []
                space["start"] = space.get("x")
            # A name that the text assigns is a local one.
            yield Row(text, group, text, spaces, "x = start" if re.match(r"x .?= ", text) else "pass")


def reason(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"


def plain(value: Any) -> Any:
    """Return a result as values that compare: of tensors the dtype and the array."""
    if isinstance(value, torch.Tensor | tl.Tensor):
        kind = str(value.dtype).rpartition(".")[2]
        value = value.detach() if value.layout in (torch.strided, tl.strided) else value.detach().to_dense()
        # A copy, since what runs next may change it. NumPy has no bfloat16, and PyTorch zeros without memory.
        return kind, np.array((value.float() if kind == "bfloat16" else value).numpy(force=True))
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    if isinstance(value, dict):
        return [[plain(name), plain(one)] for name, one in value.items()]
    if isinstance(value, PLAIN):
        return value
    return re.sub(r"tensorlike\.|torch\.|0x\w+", "", str(value))


def difference(ours: Any, theirs: Any, values: bool) -> str:
    """Return how two results of `plain` differ; only in their shapes and dtypes if not `values`."""
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        return next(filter(None, (difference(a, b, values) for a, b in zip(ours, theirs, strict=True))), "")
    numbers = (np.ndarray, float, complex)
    if isinstance(ours, numbers) and isinstance(theirs, numbers):
        same = np.shape(ours) == np.shape(theirs)
        if same and (not values or np.allclose(ours, theirs, rtol=1e-3, atol=1e-4, equal_nan=True)):
            return ""
    elif ours == theirs or (not values and type(ours) is type(theirs)):
        return ""
    return " ".join(f"{ours!r:.70}, not {theirs!r:.70}".split())


def result_of(row: Row, library: str) -> Any:
    """Return the value of a row's text, or its gradients; of statements, and what returns nothing, `x` after it."""
    space = dict(row.spaces[library])
    for tensor in space["leaves"]:
        tensor.grad = None
    exec(row.setup, space)
    try:
        code: Any = compile(row.text, row.name, "eval")
    except SyntaxError:
        code = compile(row.text, row.name, "exec")
    result = eval(code, space)
    if row.gradient:
        return [tensor.grad for tensor in space["leaves"]]
    return space.get("x") if result is None else eval(row.compared.format("result"), space, {"result": result})


def differentiated(row: Row) -> Row:
    """Return the row that also computes the gradient of the sum of its results."""
    try:
        result = result_of(row, "torch")
        results = {"r": result} if isinstance(result, torch.Tensor) else {}
        if isinstance(result, list | tuple):
            results = {f"r[{i}]": one for i, one in enumerate(result) if isinstance(one, torch.Tensor)}
        live = {name: one for name, one in results.items() if one.requires_grad and one.numel()}
        total = " + ".join(f"{name}.sum(){'.abs()' if one.is_complex() else ''}" for name, one in live.items())
        made = row._replace(text=f"r = {row.compared.format(row.text)}; ({total}).backward()", gradient=True)
        if any(gradient is not None for gradient in result_of(made, "torch")):
            return made
    except Exception:  # Statements, results without a gradient, and what PyTorch cannot differentiate.
        pass
    raise NoGradientError


def checked(row: Row) -> None:
    """Compare what both libraries compute, but not the values that are random."""
    results = {}
    state = torch.get_rng_state()
    for library in ("torch", "tensorlike"):
        try:
            results[library] = plain(result_of(row, library))
        except Exception as error:
            raise UnableError(f"{library}: {reason(error)}") from None
    random = not torch.equal(state, torch.get_rng_state()) or re.search(r"empty|data_ptr|resize|Tensor\(3\)", row.name)
    if found := difference(results["tensorlike"], results["torch"], values=not random):
        raise UnableError(f"differs: {found}")


def timed(row: Row, rounds: int, budget: float) -> dict[str, float]:
    """Return the processor's microseconds for a call in each library: the best of rounds in which they take turns."""
    timers = {name: timeit.Timer(row.text, row.setup, time.process_time, space) for name, space in row.spaces.items()}
    counts, best = {}, dict.fromkeys(timers, math.inf)
    for name, timer in timers.items():
        number, taken = 1, timer.timeit(1)
        while taken < budget / 8 and number < 1_000_000:
            number *= 8
            taken = timer.timeit(number)
        counts[name] = max(1, round(number * budget / taken))
    for _ in range(rounds):
        for name, timer in timers.items():
            best[name] = min(best[name], timer.timeit(counts[name]) / counts[name])
    return {name: seconds * 1e6 for name, seconds in best.items()}


def measured(row: Row, gradient: bool, rounds: int) -> dict[str, Any]:
    """Return a row as it is written to the file."""
    if gradient:
        row = differentiated(row)
    checked(row)
    try:
        times = timed(row, rounds, 1e-3)
    except Exception as error:
        raise UnableError(f"repeated: {reason(error)}") from None
    ratio = times["tensorlike"] / times["torch"]
    return {"name": row.name, "group": row.group, **times, "ratio": ratio, "arguments": row.arguments}


def mean_of(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(float(np.mean(np.log(ratios))))


def summary(title: str, rows: list[dict[str, Any]]) -> str:
    """Return a line about rows."""
    ratios = [row["ratio"] for row in rows]
    slower, twice, four = (sum(ratio > limit for ratio in ratios) / len(ratios) for limit in (1, 2, 4))
    ours, theirs = (
        " / ".join(f"{time:.2f}" for time in np.quantile([row[name] for row in rows], (0.25, 0.5, 0.75)))
        for name in ("tensorlike", "torch")
    )
    return (
        f"{title:18}{len(rows):5} calls, ratio {mean_of(ratios):5.2f}, slower {slower:4.0%}, > 2x {twice:4.0%}, "
        f"> 4x {four:4.0%}, quartiles {ours} us, torch {theirs} us"
    )


def moved(rows: list[dict[str, Any]], path: str, most: int) -> Iterator[str]:
    """Yield lines about the ratios that are not those of an earlier file."""
    with open(path) as file:
        earlier = {row["name"]: row["ratio"] for row in json.load(file)["rows"]}
    changes = {row["name"]: row["ratio"] / earlier[row["name"]] for row in rows if row["name"] in earlier}
    if not changes:
        raise SystemExit(f"--baseline: no row of this run is in {path}")
    far = {name: change for name, change in changes.items() if not 1 / 1.1 <= change <= 1.1}
    yield (
        f"since {path}: {len(changes)} rows of both, ratio times {mean_of(list(changes.values())):.3f}; more than 10 % "
        f"down {sum(change < 1 for change in far.values())}, up {sum(change > 1 for change in far.values())}"
    )
    ratios = {row["name"]: row["ratio"] for row in rows}
    for name in sorted(far, key=lambda name: -abs(math.log(far[name])))[:most]:
        yield f"  {earlier[name]:8.2f} -> {ratios[name]:8.2f}  {name}"


def main() -> int:
    """Run the rows and print what they say."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.breadth", description=__doc__)
    parser.add_argument("--gradient", action="store_true", help="record, and compute the gradient of the sum as well")
    parser.add_argument("--only", metavar="REGEX", help="the rows to run, by name or group")
    parser.add_argument("--rows", metavar="N", type=int, default=30, help="how many of the worst rows to print")
    parser.add_argument("--json", metavar="FILE", help="write the rows here")
    parser.add_argument("--figures", metavar="FILE", help="keep the lines about groups here")
    parser.add_argument("--baseline", metavar="FILE", help="say which ratios moved since this earlier --json")
    parser.add_argument("--samples", metavar="N", type=int, default=2, help="samples of each operation")
    parser.add_argument("--rounds", metavar="N", type=int, default=7, help="how often the libraries take turns")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tl.set_num_threads(1)
    pattern = re.compile(options.only or "")
    rows: list[dict[str, Any]] = []
    unable: list[tuple[str, str]] = []
    without = 0

    def wanted(name: str, group: str) -> object:
        return pattern.search(name) or pattern.search(group)

    made = (everyday_rows(options.gradient, wanted), operation_rows(options.gradient, options.samples, wanted))
    for row in itertools.chain(*made):
        if not isinstance(row, Row):
            unable.append(row)
            continue
        try:
            rows.append(measured(row, options.gradient, options.rounds))
        except UnableError as error:
            unable.append((row.name, str(error)))
        except NoGradientError:
            without += 1
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rows": rows, "unable": unable, "without gradient": without}, file, indent=1)
    for name, text in unable:
        print(f"not run: {name}: {text}")
    groups = collections.defaultdict(list)
    for found in rows:
        groups[found["group"]].append(found)
    for found in sorted(rows, key=lambda row: -row["ratio"])[: options.rows]:
        print("{ratio:8.2f}  {tensorlike:9.2f} us  torch {torch:9.2f} us  {name}  {arguments:.60}".format_map(found))
    by_ratio = sorted(groups, key=lambda group: -mean_of([row["ratio"] for row in groups[group]]))
    lines = [summary(group, groups[group]) for group in by_ratio]
    print("\n".join(lines))
    if rows and options.baseline:
        print("\n".join(moved(rows, options.baseline, options.rows)))
    print(f"{len(unable)} rows not run" + (f", {without} without a gradient in PyTorch" if options.gradient else ""))
    if len(rows) < (1 if options.only else LEAST):
        print(f"{len(rows)} calls are too few to compare", file=sys.stderr)
        return 1
    lines.append(summary("all", rows))
    print(lines[-1])
    if options.figures:
        path = Path(options.figures)
        figures = json.loads(path.read_text()) if path.exists() else {}
        figures["with gradient" if options.gradient else "without"] = lines
        path.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
