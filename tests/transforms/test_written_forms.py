"""Every form that writes, inside transforms: as the form that does not write, or refused; never another result.

The table is the registry's: in-place methods and functions, and `inplace=True`, with their own samples. Each is turned
into a function of the tensors that it is given, which writes into copies of them. Its derivatives in forward mode are
compared with reverse mode, the second ones with reverse mode over reverse mode, and vmap with a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import func
from tensorlike.autograd import forward_ad
from tensorlike.dispatch.operation import Form
from tests.helpers.gradients import random_like
from tests.helpers.rows import families, is_differentiable, samples
from tests.helpers.values import array, assert_arrays, mapped, tensors_in, wrapped

pytestmark = pytest.mark.slow

#: What may be raised for a call that a transform does not support.
REFUSALS = (RuntimeError, NotImplementedError)
#: Refused for tensors inside transforms: it gives a tensor other memory.
REFUSED = {"tensorlike.Tensor.set_"}
#: Samples of each form that are looked at.
SAMPLES_OF_ONE = 2
#: The transforms that may refuse what reverse mode computes: they map a write into a tensor that all examples share.
MAPPED = {"vmap(grad)", "vmap(jacfwd)", "hessian"}


def writing() -> dict[str, tuple[str, Form, str | None]]:
    """Return the forms that write their first operand: the name of their samples, the form, and the option for it."""
    found: dict[str, tuple[str, Form, str | None]] = {}
    for name, rows in families().items():
        if not samples(name).deterministic or "float64" not in samples(name).dtypes:
            continue
        for row in rows:
            first = row.parameters[0].name if row.parameters else ""
            # `nn.init` writes under no_grad: forward mode sees it and reverse mode does not, as in PyTorch.
            silent = row.full_name in REFUSED or row.namespace == "tensorlike.nn.init" or not is_differentiable(row)
            if first in row.mutates and row.kind not in ("setter", "deleter") and not silent:
                found[row.full_name] = (name, row, row.mutates[first])
    return found


WRITING = writing()


class Case:
    """One sample of a writing form, as a function of the operands that can move.

    The first operand is a copy of a tensor that is given, or with `within` a part of a larger tensor of zeros, into
    which the tensor was written.
    """

    def __init__(self, row: Form, option: str | None, sample: Any, within: bool) -> None:
        kwargs = dict(sample.kwargs) if option is None else {**sample.kwargs, option: True}
        operands = list(tensors_in([list(sample.args), kwargs]))
        self.chosen = [i for i, t in enumerate(operands) if array(t).dtype == np.float64]
        self.points = [wrapped(array(operands[i]).copy()) for i in self.chosen]

        def function(*values: Any) -> Any:
            given = dict(zip(self.chosen, values, strict=True))
            whole: Any = None
            count = -1

            def change(tensor: Any) -> Any:
                nonlocal count, whole
                count += 1
                if count or 0 not in given:
                    return given.get(count, tensor) * 1 if count in given else tensor.clone()
                if not within:
                    whole = given[0] * 1
                    return whole
                whole = tl.zeros(2, *given[0].shape, dtype=tl.float64)
                part = whole[1]
                part.copy_(given[0])
                return whole[1]

            args, keywords = mapped([list(sample.args), kwargs], change)
            row.function(*args, **keywords)
            return whole * 1

        self.function: Callable[..., Any] = function


def cases_of(name: str, within: bool = False) -> Iterator[Case]:
    samples_name, row, option = WRITING[name]
    for number, sample in enumerate(samples(samples_name).generate("float64")):
        if number == SAMPLES_OF_ONE:
            break
        try:
            case = Case(row, option, sample, within)
            if 0 not in case.chosen:
                continue
            case.function(*case.points)
        except (*REFUSALS, TypeError, ValueError, IndexError):
            continue  # The sample is one of the form that does not write.
        yield case


def derivatives(case: Case) -> dict[str, Callable[[], Any]]:
    """Return the ways to the derivative of <w, function> along one direction."""
    random = np.random.default_rng(0)
    points = tuple(case.points)
    tangents = tuple(wrapped(random_like(random, array(p))) for p in points)
    result = case.function(*points)
    if not result.is_floating_point():
        return {}
    weight = wrapped(random_like(random, array(result)))

    def total(*values: Any) -> Any:
        return (case.function(*values) * weight).sum()

    def along(gradients: Any) -> Any:
        return sum((g * t).sum() for g, t in zip(gradients, tangents, strict=True))

    numbers = tuple(range(len(points)))

    def by_level() -> Any:
        with forward_ad.dual_level():
            moving = [forward_ad.make_dual(p, t) for p, t in zip(points, tangents, strict=True)]
            moved = forward_ad.unpack_dual(total(*moving)).tangent
            return tl.zeros((), dtype=tl.float64) if moved is None else moved

    def one_row(derivative: Any) -> Any:
        return func.vmap(lambda *v: along(derivative(*v)))(*(p[None] for p in points))[0]

    return {
        "reverse": lambda: along(func.grad(total, numbers)(*points)),
        "jvp": lambda: func.jvp(total, points, tangents)[1],
        "dual_level": by_level,
        "jacfwd": lambda: along(func.jacfwd(total, numbers)(*points)),
        "jacrev": lambda: along(func.jacrev(total, numbers)(*points)),
        "vmap(grad)": lambda: one_row(func.grad(total, numbers)),
        "vmap(jacfwd)": lambda: one_row(func.jacfwd(total, numbers)),
    }


def second_derivatives(case: Case) -> dict[str, Callable[[], Any]]:
    """Return the ways to the second derivative along two directions."""
    random = np.random.default_rng(1)
    points = tuple(case.points)
    one, other = (tuple(wrapped(random_like(random, array(p))) for p in points) for _ in range(2))
    result = case.function(*points)
    if not result.is_floating_point():
        return {}
    weight = wrapped(random_like(random, array(result)))

    def total(*values: Any) -> Any:
        return (case.function(*values) ** 2 * weight).sum()

    numbers = tuple(range(len(points)))

    def along(gradients: Any, tangents: Any) -> Any:
        return sum((g * t).sum() for g, t in zip(gradients, tangents, strict=True))

    def reverse(*values: Any) -> Any:
        return along(func.grad(total, numbers)(*values), one)

    def forward(*values: Any) -> Any:
        return func.jvp(total, values, one)[1]

    def mapped(*values: Any) -> Any:
        return along(func.jacfwd(total, numbers)(*values), one)

    return {
        "reverse": lambda: along(func.grad(reverse, numbers)(*points), other),
        "jvp(grad)": lambda: func.jvp(reverse, points, other)[1],
        "jvp(jvp)": lambda: func.jvp(forward, points, other)[1],
        "grad(jvp)": lambda: along(func.grad(forward, numbers)(*points), other),
        "hessian": lambda: along(func.jacfwd(reverse, numbers)(*points), other),
        "jacfwd(jacfwd)": lambda: along(func.jacfwd(mapped, numbers)(*points), other),
    }


def differences(ways: dict[str, Callable[[], Any]], what: str, within: bool) -> list[str]:
    """Return what differs from reverse mode; a part of a tensor that all examples share cannot be mapped."""
    if not ways:
        return []
    try:
        expected = array(ways["reverse"]())
    except REFUSALS:
        return []
    found = []
    for name, way in ways.items():
        try:
            value = array(way())
        except REFUSALS as error:
            if not (within and name in MAPPED):
                found.append(f"{name} of {what} is refused: {error}")
            continue
        if not np.allclose(value, expected, rtol=1e-6, atol=1e-8, equal_nan=True):
            found.append(f"{name} of {what}: {value}, and {expected} in reverse mode")
    return found


@pytest.mark.parametrize("within", [False, True], ids=["whole", "part"])
@pytest.mark.parametrize("name", sorted(WRITING))
def test_derivatives_of_what_is_written(name: str, within: bool) -> None:
    found = []
    for case in cases_of(name, within):
        found += differences(derivatives(case), name, within)
        found += differences(second_derivatives(case), name, within)
    assert not found


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused(name: str) -> None:
    x = tl.ones(2, 2)
    write = getattr(tl.Tensor, name.rpartition(".")[2])
    with pytest.raises(RuntimeError, match="cannot be given other memory"):
        func.jvp(lambda v: write(v * 1, v), (x,), (x,))
    with pytest.raises(RuntimeError, match="cannot be given other memory"):
        func.vmap(lambda v: write(v * 1, v))(x)


@pytest.mark.parametrize("name", sorted(WRITING))
def test_batch_of_what_is_written(name: str) -> None:
    for case in cases_of(name):
        examples = [case.points, [p * 0.5 for p in case.points]]
        try:
            expected = [array(case.function(*e)) for e in examples]
            found = array(func.vmap(case.function)(*(tl.stack([a, b]) for a, b in zip(*examples, strict=True))))
        except (*REFUSALS, ValueError, IndexError):
            continue
        for one, other in zip(found, expected, strict=True):
            assert_arrays(one, other, f"vmap of {name}", 1e-7)
