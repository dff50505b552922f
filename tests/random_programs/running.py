"""Running programs in both libraries, comparing after each statement, and shrinking a program that differs.

After a statement the tensors of both libraries must agree: values, shapes, strides, dtypes, `requires_grad`, versions,
whether they are leaves and views, and gradients. Where values agree within the tolerance, PyTorch's are written into
ours, so that rounding errors do not add up: what is compared is one statement at a time. A statement must fail in both
with the same kind of error or in neither; after a failure our tensors must be as they were.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.parity import lacks_kernel, same_kind
from tests.helpers.values import array

from .known import WRITE_BEFORE_THEY_FAIL, reason_of
from .statements import COVERED, Draw, Statement

pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")

__all__ = [
    "Difference", "Report", "Run", "compare_program", "difference_and_facts", "program_text", "run_programs", "shrink",
]  # fmt: skip

#: How many statements a program has at most, before the backward pass.
LENGTH = 14

#: Relative to the largest value of a program.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-9, "complex128": 1e-9}

#: Gradients are the result of many operations.
MORE_FOR_GRADIENTS = 50.0

#: What values are looked at in, where NumPy has no such dtype.
_WITHOUT_NUMPY = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}

#: A program whose values are larger ends there: rounding errors would hide what is compared.
LARGEST = 1e6


_NAME = re.compile(r"\bv\d+\b")

#: Operands of functions that select elements: which of equal ones is not said.
_SELECTING = re.compile(r"(v\d+)\.(?:kthvalue|median|mode)\(|lib\.(?:median|mode|topk)\((v\d+)")


class Difference(AssertionError):
    """Something in which the libraries do not agree."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message

    def __reduce__(self) -> tuple[Any, ...]:
        return Difference, (self.kind, self.message)


class State(NamedTuple):
    """What is compared of a tensor, but for its values."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...]
    requires_grad: bool
    version: int | str
    is_leaf: bool
    is_view: bool


@cache
def _name(dtype: Any) -> str:
    return str(dtype).partition(".")[2]


def state_of(tensor: Any) -> State:
    try:
        version, requires_grad, is_leaf = tensor._version, tensor.requires_grad, tensor.is_leaf
    except RuntimeError:
        # Inference tensors count no versions, and a view of many has no history once its base was written to.
        version, requires_grad, is_leaf = "none", False, False
    return State(tuple(tensor.shape), _name(tensor.dtype), tensor.stride(), requires_grad, version, is_leaf, False)


def _base(tensor: Any) -> Any:
    """Return what a tensor is a view of, itself where it is none."""
    base = tensor._base
    return tensor if base is None else base


def _families(names: dict[str, Any]) -> Counter[int]:
    """Return how many tensors of a program are of each base, by its identity."""
    tensors = {id(t): t for name, t in names.items() if name[0] == "v" and isinstance(t, (tl.Tensor, torch.Tensor))}
    return Counter(id(_base(t)) for t in tensors.values())


def _strides(state: State) -> tuple[int, ...]:
    """Return the strides that make a difference: of more than one element."""
    if 0 in state.shape:
        return ()
    return tuple(stride for stride, size in zip(state.strides, state.shape) if size > 1)


def their_array(tensor: Any) -> Any:
    """Return the values of a tensor of PyTorch as an array."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    # A copy: PyTorch never resizes memory that an array has looked at.
    wide = _WITHOUT_NUMPY.get(tensor.dtype)
    return tensor.clone().numpy() if wide is None else tensor.to(wide).numpy()


def _largest(values: Any) -> float:
    """Return the largest magnitude of finite values, at least 1."""
    if values.dtype.kind not in "fc" or not values.size:
        return 1.0
    magnitudes = np.abs(values)
    magnitudes = magnitudes[np.isfinite(magnitudes)]
    return max(1.0, float(magnitudes.max())) if magnitudes.size else 1.0


class Run:
    """One program in both libraries.

    PyTorch's functions that consist of others give results that were written to, or are views of what nobody else can
    reach. So a tensor counts as a view where the program has another one of the same base, and versions are counted
    from where they are in a new tensor.
    """

    def __init__(self) -> None:
        self.ours: dict[str, Any] = {"lib": tl, "inf": math.inf, "nan": math.nan}
        self.theirs: dict[str, Any] = {"lib": torch, "inf": math.inf, "nan": math.nan}
        #: PyTorch's tensors, by name.
        self.tensors: dict[str, Any] = {}
        #: What was last seen of them: state, bytes of the values there and here, bytes of the gradient.
        self.seen: dict[str, tuple[State, bytes, bytes, bytes | None]] = {}
        #: How many tensors of the program are of each base, here and there.
        self.families: Counter[int] = Counter()
        self.their_families: Counter[int] = Counter()
        #: How many versions more than ours PyTorch's have, by the identity of their counter: that of the base.
        self.ahead: dict[int, int] = {}
        #: What these identities are of.
        self.kept: list[Any] = []
        self.largest = 1.0
        self.single = False
        self.compared = 0
        #: Why the program cannot go on, if it cannot.
        self.ended: str | None = None

    def run(self, statement: Statement) -> Exception | None:
        """Run a statement in both libraries; raise the Difference if there is one, return the error otherwise."""
        self.single = "out=" in statement.source
        code: CodeType = compile(statement.source, "<program>", "exec")
        their_error = _run(code, self.theirs)
        error = _run(code, self.ours)
        if error is not None and their_error is not None:
            if not same_kind(error, their_error):
                raise Difference("error", f"{error!r}, PyTorch raises {their_error!r}")
            self._compare_unchanged(statement)
            return their_error
        if their_error is not None:
            if lacks_kernel(their_error):
                self.ended = "PyTorch has no kernel"
                return their_error
            raise Difference("works", f"PyTorch raises {their_error!r}")
        if error is not None:
            raise Difference("raises", f"{error!r}, PyTorch works")
        self._compare_all()
        return None

    def facts(self, program: Sequence[Statement]) -> frozenset[str]:
        """Return what is so of the last statement and the tensors of a program that differs.

        "empty": the statement is about a tensor without elements or dimensions, or gives one in PyTorch.
        "views": it is about several tensors of one base.
        "data": it is about several tensors that share memory, but are of different bases: by `x.data`.
        "nan": a tensor of the program has a nan.
        "ties": an operand of a function that selects elements has equal ones.
        """
        names = set(_NAME.findall(program[-1].source))
        read = [t for n, t in self.tensors.items() if n in names]
        written = [t for n in names if isinstance(t := self.theirs.get(n), torch.Tensor)]
        bases = {id(_base(t)) for t in read}
        memories = {t.untyped_storage().data_ptr() for t in read}
        selecting = {n for statement in program for found in _SELECTING.findall(statement.source) for n in found}
        selected = [t.detach().flatten().tolist() for n, t in self.tensors.items() if n in selecting]
        return frozenset(
            fact
            for fact, so in (
                ("empty", any(t.numel() == 0 or t.dim() == 0 for t in read + written)),
                ("views", len(bases) < len(read)),
                ("data", len(memories) < len(bases)),
                ("nan", any(bool(t.isnan().any()) for t in self.tensors.values())),
                ("ties", any(len(set(values)) < len(values) for values in selected)),
            )
            if so
        )

    def _compare_unchanged(self, statement: Statement) -> None:
        self.families, self.their_families = _families(self.ours), _families(self.theirs)
        for name, (state, values, our_values, gradient) in self.seen.items():
            ours = self.ours[name]
            found = self._states(name, ours, self.theirs[name])[0]
            if found._replace(strides=state.strides) != state or _our_bytes(ours) != our_values:
                raise Difference("changed by a failing call", f"{name} was {state}, is {found}")
            if _gradient_bytes(ours) != gradient and statement.function not in ("backward", "grad"):
                raise Difference("changed by a failing call", f"{name}.grad")
            theirs = self.theirs[name]
            if self._states(name, ours, theirs)[1] != state or their_array(theirs).tobytes() != values:
                if statement.function not in WRITE_BEFORE_THEY_FAIL and "out=" not in statement.source:
                    raise Difference("PyTorch's failing call writes", f"{name} was {state}, is {theirs}")
                self.ended = "PyTorch's call wrote before it failed"
                return
        if statement.function in ("backward", "grad"):
            # How far a backward pass comes before it fails is its own affair.
            self.ended = "a backward pass failed"

    def _compare_all(self) -> None:
        """Compare everything that has a name."""
        self.families, self.their_families = _families(self.ours), _families(self.theirs)
        values = {n: their_array(t) for n, t in self.theirs.items() if n[0] == "v" and isinstance(t, torch.Tensor)}
        self.largest = max(
            [self.largest, *(_largest(values[n]) for n in self.seen if self.tensors[n] is self.theirs[n])]
        )
        for name, theirs in self.theirs.items():
            if name[0] == "v":
                if name not in self.ours:
                    raise Difference("names", f"{name} is missing")
                self._compare(name, self.ours[name], theirs, values.get(name))
        if self.largest > LARGEST:
            self.ended = "large values"

    def _states(self, name: str, ours: Any, theirs: Any) -> tuple[State, State]:
        """Return what is to be compared of a tensor in both libraries."""
        state, expected = state_of(ours), state_of(theirs)
        base = _base(theirs)
        is_view, version = self.their_families[id(base)] > 1, expected.version
        if type(version) is int and type(state.version) is int:
            ahead = self.ahead.get(id(base))
            if ahead is None or (name not in self.seen and not is_view):
                ahead = self.ahead[id(base)] = version - state.version
                self.kept.append(base)
            version -= ahead
        if self.families[id(_base(ours))] > 1:
            state = state._replace(is_view=True)
        return state, expected._replace(is_view=is_view, version=version)

    def _compare(self, name: str, ours: Any, theirs: Any, values: Any) -> None:
        self.compared += 1
        if not isinstance(theirs, torch.Tensor):
            self.tensors.pop(name, None)
            self.seen.pop(name, None)
            if type(ours) is not type(theirs) and not isinstance(theirs, (tuple, type(None))):
                raise Difference("type", f"{name} is a {type(ours).__name__}, PyTorch's is a {type(theirs).__name__}")
            if not _same_value(ours, theirs):
                raise Difference("value", f"{name} is {ours!r}, PyTorch's is {theirs!r}")
            return
        if not isinstance(ours, tl.Tensor):
            raise Difference("type", f"{name} is a {type(ours).__name__}, PyTorch's is a tensor")
        state, expected = self._states(name, ours, theirs)
        if state != expected and state._replace(strides=()) != expected._replace(strides=()):
            fields = [f for f in State._fields if f != "strides" and getattr(state, f) != getattr(expected, f)]
            raise Difference(fields[0], f"{name}: {state}, PyTorch has {expected}")
        if state.strides != expected.strides and _strides(state) != _strides(expected):
            raise Difference("strides", f"{name}: {state}, PyTorch has {expected}")
        same = next((n for n, t in self.tensors.items() if t is theirs and n != name), None)
        if same is not None and self.ours.get(same) is not ours and self.theirs.get(same) is theirs:
            raise Difference("identity", f"{name} is not {same}")
        # PyTorch computes in single precision what it writes into an `out=` of double precision.
        dtype = "float32" if self.single and expected.dtype in ("float64", "complex128") else expected.dtype
        self._compare_values(name, array(ours), values, dtype, history=expected.requires_grad)
        gradient = None
        if expected.requires_grad and (expected.is_leaf or theirs.retains_grad):
            gradient = self._compare_gradients(name, ours.grad, theirs.grad)
        self.tensors[name] = theirs
        self.seen[name] = (expected, values.tobytes(), _our_bytes(ours), gradient)

    def _compare_values(
        self, name: str, ours: Any, theirs: Any, dtype: str, more: float = 1.0, history: bool = False
    ) -> None:
        if dtype == "bfloat16":
            same = ours.astype(np.float32)
        else:
            same = ours
        if same.tobytes() == theirs.tobytes():
            return
        if theirs.dtype.kind in "fc":
            near = TOLERANCE[dtype] * more
            largest = max(self.largest, _largest(theirs)) if more == 1.0 else max(self.largest**2, _largest(theirs))
            with np.errstate(all="ignore"):
                agree = np.allclose(same, theirs, rtol=near, atol=near * largest, equal_nan=True)
        else:
            agree = bool(np.array_equal(same, theirs))
        if agree and history and theirs.dtype.kind in "fc":
            # The sizes of values that are rounding errors, such as a singular determinant, get into gradients.
            with np.errstate(all="ignore"):
                if bool((np.abs(same - theirs) > 0.5 * np.abs(theirs)).any()):
                    self.ended = "rounding errors"
        if not agree:
            kind = "values" if more == 1.0 else "gradient"
            raise Difference(kind, f"{name}: {ours.tolist()}, PyTorch has {theirs.tolist()}")
        if ours.flags.writeable:
            ours[...] = theirs

    def _compare_gradients(self, name: str, ours: Any, theirs: Any) -> bytes | None:
        if (ours is None) != (theirs is None):
            raise Difference("gradient", f"{name}.grad is {ours}, PyTorch has {theirs}")
        if theirs is None:
            return None
        state, expected = state_of(ours), state_of(theirs)
        for field in ("shape", "dtype", "requires_grad"):
            if getattr(state, field) != getattr(expected, field):
                raise Difference("gradient", f"{name}.grad: {state}, PyTorch has {expected}")
        self._compare_values(f"{name}.grad", array(ours), their_array(theirs), expected.dtype, MORE_FOR_GRADIENTS)
        return _our_bytes(ours)


def _our_bytes(tensor: Any) -> bytes:
    return bytes(array(tensor).tobytes())


def _gradient_bytes(tensor: Any) -> bytes | None:
    """Return the bytes of the gradient of a tensor of ours."""
    try:
        if not tensor.requires_grad or not (tensor.is_leaf or tensor.retains_grad) or tensor.grad is None:
            return None
    except RuntimeError:
        return None  # A view of many has no history once its base was written to.
    return _our_bytes(tensor.grad)


def _same_value(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(_same_value, ours, theirs))
    if isinstance(theirs, (float, complex)):
        return bool(np.isclose(ours, theirs, rtol=1e-4, atol=1e-4, equal_nan=True))
    if isinstance(theirs, (bool, int, str, type(None))):
        return bool(ours == theirs)
    return True


def _run(code: CodeType, names: dict[str, Any]) -> Exception | None:
    try:
        exec(code, names)
    except Exception as error:
        return error.with_traceback(None)
    return None


class Report:
    """Counts of what ran, and the differences that have no reason."""

    def __init__(self) -> None:
        self.programs = 0
        self.statements = 0
        self.compared = 0
        self.failed = 0
        self.succeeded: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.different: list[tuple[int, list[Statement], Difference]] = []
        self.begin = time.perf_counter()

    def add(self, other: Report) -> None:
        """Add what another report counted of other programs."""
        for name, count in vars(other).items():
            if name != "begin":
                setattr(self, name, getattr(self, name) + count)

    def totals(self) -> dict[str, Any]:
        """Return the counts by name, to be written as JSON."""
        return {
            "programs": self.programs,
            "statements": self.statements,
            "failing statements": self.failed,
            "comparisons": self.compared,
            "functions": len(self.succeeded),
            "seconds": round(time.perf_counter() - self.begin, 1),
            "errors": dict(self.errors),
            "ended early": dict(self.ended),
            "differences with a reason": dict(self.known.most_common()),
            "differences without a reason": len(self.different),
        }

    def text(self) -> str:
        """Return the counts as lines."""
        seconds = time.perf_counter() - self.begin
        lines = [
            f"{self.programs:,} programs, {self.statements:,} statements ({self.failed:,} of them fail in both), "
            f"{self.compared:,} comparisons of a tensor, {seconds:.0f} s",
            f"functions: {len(self.succeeded)} of {len(COVERED)}; never called rightly: "
            f"{', '.join(sorted(COVERED.difference(self.succeeded))) or 'none'}",
            "errors: " + ", ".join(f"{name} {count:,}" for name, count in self.errors.most_common()),
            "ended early: " + ", ".join(f"{name} {count:,}" for name, count in self.ended.most_common()),
            f"differences with a reason: {self.known.total():,}",
            *(f"  {count:,} {reason}" for reason, count in self.known.most_common()),
            f"differences: {len(self.different)}",
        ]
        return "\n".join(lines)


def run_programs(seeds: Iterable[int], report: Report | None = None) -> Report:
    """Run the programs of these seeds."""
    report = report or Report()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in seeds:
            _run_program(seed, report)
    return report


def _run_program(seed: int, report: Report) -> None:
    run = Run()
    draw = Draw(seed, run.tensors)
    length = draw.random.randint(4, LENGTH)
    program: list[Statement] = []
    last = None
    while run.ended is None and last != []:
        if len(program) < length:
            statement = draw.statement()
        else:
            if last is None:
                last = list(draw.last_statements())
                continue
            statement = last.pop(0)
        program.append(statement)
        report.statements += 1
        try:
            error = run.run(statement)
        except Difference as difference:
            text = "\n".join(s.source for s in program)
            reason = reason_of(text, str(difference), run.facts(program))
            if reason is None:
                report.different.append((seed, program, difference))
            else:
                report.known[reason] += 1
            break
        if error is None:
            report.succeeded[statement.function] += 1
        else:
            report.failed += 1
            report.errors[type(error).__name__] += 1
    if run.ended is not None:
        report.ended[run.ended] += 1
    report.programs += 1
    report.compared += run.compared


def _difference_of(program: Sequence[Statement]) -> tuple[Difference | None, frozenset[str]]:
    """Return the first difference of a program, and what is so then."""
    run = Run()
    for at, statement in enumerate(program, 1):
        try:
            run.run(statement)
        except Difference as difference:
            return difference, run.facts(program[:at])
        if run.ended is not None:
            break
    return None, frozenset()


def compare_program(lines: Sequence[str]) -> Difference | None:
    """Run the lines of a program in both libraries; return the first difference, reasons not considered."""
    return difference_and_facts(lines)[0]


def difference_and_facts(lines: Sequence[str]) -> tuple[Difference | None, frozenset[str]]:
    """Return what `compare_program` does, and the facts that reasons ask for."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _difference_of([Statement("", line) for line in lines])


def shrink(program: Sequence[Statement], difference: Difference) -> tuple[list[Statement], Difference]:
    """Return a program of as few statements as can be that differs in the same way: statements are cut one by one."""
    program = list(program)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        at = len(program) - 2
        while at >= 0:
            shorter = program[:at] + program[at + 1 :]
            found, _ = _difference_of(shorter)
            if found is not None and found.kind == difference.kind:
                program, difference = shorter, found
                at = min(at, len(program) - 1)
            at -= 1
    return program, difference


def program_text(seed: int, program: Sequence[Statement], difference: Difference) -> str:
    """Return a program as code to be run, with what differs."""
    lines = [f"# seed {seed}", "import tensorlike as lib  # or: import torch as lib", "from math import inf, nan", ""]
    lines += [s.source for s in program]
    return "\n".join([*lines, *(f"# {line}" for line in str(difference).splitlines())])
