"""The types of the gallery under transforms: every cell is right, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import tensorlike as tl
from examples.gallery.coo_tensor import CooTensor
from examples.gallery.dual_tensor import DualTensor
from examples.gallery.gaussian_tensor import GaussianTensor
from examples.gallery.interval_tensor import IntervalTensor
from examples.gallery.lazy_tensor import LazyTensor
from examples.gallery.logging_tensor import Log, LoggingTensor
from examples.gallery.masked_tensor import MaskedTensor
from examples.gallery.named_tensor import NamedTensor
from examples.gallery.quantized_tensor import QuantizedTensor
from examples.gallery.secret_tensor import SecretTensor
from examples.gallery.structured_matrix import DiagonalMatrix
from examples.gallery.unit_tensor import UnitTensor
from tensorlike import func
from tensorlike.dispatch.pytree import SUPPORTED_NODES
from tensorlike.utils._pytree import register_pytree_node

TRANSFORMS = ("grad", "vjp", "jvp", "vmap", "jacrev", "jacfwd", "hessian")


def by_fields(*names: str) -> Callable[[type], None]:
    """Register a type with the attributes that hold its tensors; the others go with it."""

    def register(kind: type) -> None:
        def flatten(value: Any) -> tuple[list[Any], Any]:
            return [getattr(value, n) for n in names], {k: v for k, v in vars(value).items() if k not in names}

        def unflatten(parts: Any, rest: Any) -> Any:
            made = object.__new__(kind)
            vars(made).update(rest, **dict(zip(names, parts, strict=True)))
            return made

        register_pytree_node(kind, flatten, unflatten)

    return register


def register_coo(kind: type) -> None:
    def unflatten(parts: Any, rest: Any) -> Any:
        [values] = parts
        if values.ndim != 1:
            raise ValueError("a CooTensor has one number at each place")
        return CooTensor(rest[0], values, rest[1])

    register_pytree_node(kind, lambda v: ([v.values], (v.indices, v.shape)), unflatten)


def register_named(kind: type) -> None:
    def unflatten(parts: Any, names: Any) -> Any:
        [data] = parts
        new = data.ndim - len(names)  # Those of a batch or a Jacobian come first, those of an example last.
        return NamedTensor(data, (None,) * new + names if new >= 0 else names[-new:])

    register_pytree_node(kind, lambda v: ([v.held], v.names), unflatten)


def register_secret(kind: type) -> None:
    register_pytree_node(kind, lambda v: (list(v.shares), None), lambda parts, _: SecretTensor(list(parts)))


REGISTRATIONS: dict[type, Callable[[type], None]] = {
    CooTensor: register_coo,
    DualTensor: by_fields("primal", "tangent"),
    GaussianTensor: by_fields("mu", "variance"),
    IntervalTensor: by_fields("lower", "upper"),
    MaskedTensor: by_fields("held", "mask"),
    NamedTensor: register_named,
    QuantizedTensor: by_fields("stored"),
    SecretTensor: register_secret,
    DiagonalMatrix: by_fields("values"),
}


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    for kind, register in REGISTRATIONS.items():
        register(kind)
    yield
    for kind in REGISTRATIONS:
        del SUPPORTED_NODES[kind]


class Row(NamedTuple):
    """A type, how an instance is made of a vector, and the vector of an instance."""

    kind: Any
    make: Callable[[Any], Any]
    read: Callable[[Any], Any]
    #: A function of the type that has the same name and meaning for a vector.
    f: Callable[[Any], Any] = lambda x: x * x * x
    total: Callable[[Any], Any] = tl.sum


def dense(value: Any) -> Any:
    return value.__tensorlike_to_dense__()


ROWS = [
    Row(CooTensor, CooTensor.from_dense, dense),
    Row(DualTensor, lambda t: DualTensor(t, tl.zeros_like(t)), lambda v: v.primal),
    Row(GaussianTensor, lambda t: GaussianTensor(t, tl.zeros_like(t)), lambda v: v.mu),
    Row(IntervalTensor, lambda t: IntervalTensor(t, t.clone()), lambda v: v.lower, lambda x: x * 3.0),
    Row(LazyTensor, LazyTensor, dense),
    Row(LoggingTensor, lambda t: LoggingTensor.of(t, Log()), lambda v: v.as_subclass(tl.Tensor)),
    Row(MaskedTensor, MaskedTensor, lambda v: v.held),
    Row(NamedTensor, lambda t: NamedTensor(t, ("row", "column")[-t.ndim :]), lambda v: v.held),
    Row(QuantizedTensor, QuantizedTensor.__tensorlike_from_dense__, dense),
    Row(SecretTensor, SecretTensor.__tensorlike_from_dense__, dense, lambda x: x + x),
    Row(DiagonalMatrix, DiagonalMatrix, lambda v: v.values, lambda x: x * 3.0, tl.trace),
    Row(UnitTensor, lambda t: UnitTensor(t, {"m": 1}), UnitTensor.as_plain),
]

NOTHING = "nothing to differentiate"  # Integers.
ONE_NUMBER = "one number at each place"  # No place for a batch of numbers, or for a row of a Jacobian.
DERIVATIVES = ("grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian")

#: Cells that are refused with TypeError, and what it says.
REFUSED: dict[tuple[type, str], str] = {
    **{(kind, t): NOTHING for kind in (QuantizedTensor, SecretTensor) for t in DERIVATIVES},
    **{(CooTensor, t): "CooTensor can be made" if t == "vmap" else ONE_NUMBER for t in ("vmap", "jacrev", "jacfwd")},
    (CooTensor, "hessian"): ONE_NUMBER,
    **{(kind, "hessian"): "holds 2 tensors" for kind in (DualTensor, GaussianTensor, IntervalTensor)},
    # It answers the functions in its table, and those of a transform are not among them.
    **{(UnitTensor, t): "no implementation found" for t in DERIVATIVES if t != "jvp"},
    (UnitTensor, "jvp"): "the units differ",
}


def read(row: Row, value: Any) -> Any:
    return row.read(value) if isinstance(value, row.kind) else value


BATCH = tl.arange(1.0, 7.0).reshape(3, 2)


def computed(row: Row, transform: str, make: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the result of a transform for an instance, and the same for a plain tensor."""
    x, direction = tl.tensor([1.0, 2.0, 3.0]), tl.tensor([1.0, 0.5, -1.0])
    plain_total = tl.sum

    def result(made: Callable[[Any], Any], total: Any, out: Callable[[Any], Any]) -> Any:
        f = row.f
        if transform == "vmap":
            return func.vmap(f)(made(BATCH))
        if transform == "vjp":
            return func.vjp(lambda v: out(f(v)), made(x))[1](direction)[0]
        if transform == "jvp":
            return func.jvp(f, (made(x),), (made(direction),))[1]
        if transform in ("grad", "hessian"):
            return getattr(func, transform)(lambda v: total(f(v)))(made(x))
        return getattr(func, transform)(lambda v: out(f(v)))(made(x))

    found = result(make, lambda v: read(row, row.total(v)), lambda v: read(row, v))
    return found, result(lambda v: v, plain_total, lambda v: v)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.kind.__name__)
def test_each_cell_is_right_or_refused(row: Row, transform: str) -> None:
    reason = REFUSED.get((row.kind, transform))
    if reason is not None:
        with pytest.raises(TypeError, match=reason):
            computed(row, transform, row.make)
        return
    found, expected = computed(row, transform, row.make)
    # The policy `to_dense` returns plain tensors.
    assert isinstance(found, row.kind) or (row.kind is QuantizedTensor and type(found) is tl.Tensor)
    if row.kind is QuantizedTensor:
        expected = row.f(row.make(BATCH))  # The same roundings.
    if row.kind is IntervalTensor and transform in DERIVATIVES and transform != "jvp":
        actual = found.lower + found.upper  # A number is both bounds.
    else:
        actual = read(row, found)
    tl.testing.assert_close(actual, expected)
