"""A second implementation of a call, which reads `CallData` alone, beside the functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import serving
from tensorlike.dispatch.missing import MISSING
from tensorlike.tensor.declarations.call_data import CallData
from tensorlike.tensor.declarations.declare import DECLARATIONS, Promotion
from tests.helpers.values import mapped


def given(name: str) -> Any:
    """The samples of a primitive, or None."""
    source = serving(DECLARATIONS[name].forms[0])
    return None if source is None else source.samples


PRIMITIVES = sorted(
    name for name, d in DECLARATIONS.items() if given(name) and d.forms[0].kind in ("function", "method")
)
DETERMINISTIC = [name for name in PRIMITIVES if given(name).deterministic]
#: The gradients of operands in a sequence are a list, which the implementation below does not read.
DIFFERENTIABLE = [
    name
    for name in PRIMITIVES
    if DECLARATIONS[name].vjp and given(name).gradcheck
    if all(slot.kind == "one" for slot in DECLARATIONS[name].call_data().slots)
]


class Unsupported(Exception):
    """A call that the implementation below leaves to the functions: a number for the first operand, `out`."""


def bound(data: CallData, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of the slots and options."""
    values = {}
    for one in (*data.slots, *data.options):
        if one.position is not None and one.position < len(args):
            values[one.name] = args[one.position]
        else:
            values[one.name] = kwargs.get(one.name, one.default)
    known = len([one for one in (*data.slots, *data.options) if one.position is not None])
    if len(args) > known or set(kwargs) - set(values) or any(v is MISSING for v in values.values()):
        raise Unsupported
    return values


def raw(value: Any) -> Any:
    if isinstance(value, tl.Tensor):
        return value._tl_data
    return [raw(v) for v in value] if isinstance(value, (list, tuple)) else value


def promoted(data: CallData, arrays: dict[str, Any]) -> dict[str, Any]:
    chosen = [slot for slot in data.slots if slot.promoted]
    if data.promotion is None or not chosen:
        return arrays
    promote = data.promotion.rule
    if chosen[0].kind == "many":
        return {**arrays, chosen[0].name: promote(data.name, np, arrays[chosen[0].name])}
    given = [slot.name for slot in chosen if arrays[slot.name] is not None]
    return {**arrays, **dict(zip(given, promote(data.name, np, [arrays[name] for name in given]), strict=True))}


def call(data: CallData, values: dict[str, Any]) -> Any:
    """What the function returns, as raw arrays."""
    for slot in data.slots:
        if slot.kind == "one" and not isinstance(values[slot.name], tl.Tensor) and values[slot.name] is not None:
            if slot is data.slots[0] and data.number_first:
                raise Unsupported
            assert slot.takes_number, f"a number for {slot.name}"
        if values[slot.name] is None:
            assert slot.takes_none, f"None for {slot.name}"
    # An index that is nested stays as it is, and so do options.
    arrays = {**values, **{slot.name: raw(values[slot.name]) for slot in data.slots if slot.kind != "nested"}}
    arrays = promoted(data, arrays)
    by_position = sorted((*data.slots, *data.options), key=lambda one: one.position is None)
    by_position.sort(key=lambda one: 10**6 if one.position is None else one.position)
    args = [arrays[one.name] for one in by_position if one.position is not None]
    kwargs = {one.name: arrays[one.name] for one in by_position if one.position is None}
    with np.errstate(all="ignore"):
        if data.ufunc is not None:
            found = getattr(np, data.ufunc)(*args)
        else:
            assert data.kernel is not None
            found = data.kernel(np, *args, **kwargs)
    if data.result == "value":
        return found
    results = [np.asarray(a) for a in found] if data.result == "tensors" else [np.asarray(found)]
    return [a.copy() if data.contiguous and not a.flags.c_contiguous else a for a in results]


def calls(name: str, **options: Any) -> Any:
    samples = given(name)
    dtype = next((t for t in ("float64", "float32") if t in samples.dtypes), samples.dtypes[0])
    for sample in samples.generate(dtype, **options):
        if sample.kwargs.get("out") is None:
            yield sample


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_it_computes_what_the_function_computes(name: str) -> None:
    d = DECLARATIONS[name]
    data = d.call_data()
    compared = 0
    for sample in calls(name):
        try:
            values = bound(data, sample.args, sample.kwargs)
            found = call(data, mapped(values, lambda t: t.clone()))
        except Unsupported:
            continue
        result = expected = d.function(*sample.args, **sample.kwargs)
        compared += 1
        if data.result == "value":
            assert found == expected
            continue
        expected = list(expected) if data.result == "tensors" else [expected]
        assert len(found) == len(expected)
        for index, field in enumerate(data.fields):
            assert getattr(result, field) is result[index]
        for mine, theirs in zip(found, expected, strict=True):
            array = theirs._tl_data
            assert (mine.dtype, mine.shape) == (array.dtype, array.shape), sample
            # The BLAS adds up in another order where memory lies otherwise.
            assert np.allclose(mine, array, rtol=1e-12, atol=1e-12, equal_nan=array.dtype.kind in "fc"), sample
            if mine.size > 1 and not data.view:
                assert mine.strides == array.strides, sample
    assert compared, "no sample was computed"


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_its_gradients_are_the_functions(name: str) -> None:
    d = DECLARATIONS[name]
    data = d.call_data()
    assert data.node is not None
    assert set(data.node().__slots__) == {f"_saved_{saved.name}" for saved in data.saved}  # type: ignore[attr-defined]
    compared = 0
    for sample in calls(name, requires_grad=True):
        try:
            values = bound(data, sample.args, sample.kwargs)
        except Unsupported:
            continue
        singles = {s.name: values[s.name] for s in data.slots if s.kind == "one"}
        tensors = {n: t for n, t in singles.items() if isinstance(t, tl.Tensor)}
        tl.manual_seed(0)
        result = d.function(*sample.args, **sample.kwargs)
        results = list(result) if data.result == "tensors" else [result]
        kept: dict[str, Any] = {}
        for saved in data.saved:
            if saved.kind in ("operand", "option"):
                kept[saved.name] = values[saved.source]  # type: ignore[index]
            elif saved.kind == "shape":
                of = values[saved.source]  # type: ignore[index]
                kept[saved.name] = (
                    [t._tl_data.shape for t in of]
                    if isinstance(of, (list, tuple))
                    else getattr(getattr(of, "_tl_data", None), "shape", ())
                )
            elif saved.kind == "output":
                kept[saved.name] = results[saved.source]  # type: ignore[index]
            else:
                kept[saved.name] = result if saved.kind == "result" else results
        detached = mapped(kept, lambda t: t.detach())
        outputs = [r for r in results if r.requires_grad]
        if not outputs:
            continue
        ones = [tl.ones_like(r) if r.requires_grad else None for r in results]
        for gradient in data.gradients:
            assert set(gradient.raw_arguments) <= set(gradient.arguments)
            operand = tensors.get(gradient.operand)
            if operand is None or not operand.requires_grad:
                continue
            given = [ones if n == "grads" else ones[0] if n == "grad" else detached[n] for n in gradient.arguments]
            mine = gradient.formula(*given)
            (theirs,) = tl.autograd.grad(
                outputs, operand, [o for o in ones if o is not None], allow_unused=True, retain_graph=True
            )
            if sum(t is operand for t in tensors.values()) > 1 or theirs is None:
                continue  # One tensor for two operands has the sum of both gradients.
            mine = mine.sum_to_size(operand.shape).to(operand.dtype)
            assert np.allclose(mine._tl_data, theirs._tl_data, equal_nan=True), (gradient.operand, sample)
            compared += 1
    assert compared or name in NEVER_ASKED, "no gradient was compared"


#: No sample asks for the gradient that they have.
NEVER_ASKED = {"tensorlike.cholesky_inverse"}


def test_data_of_add() -> None:
    data = tl.add.operation.call_data()
    assert [(s.name, s.position, s.kind, s.takes_number, s.promoted) for s in data.slots] == [
        ("input", 0, "one", True, True),
        ("other", 1, "one", True, True),
    ]
    assert [(o.name, o.position, o.default) for o in data.options] == [("alpha", None, 1)]
    assert (data.fast, data.promotion, data.result, data.view, data.contiguous) == (
        "add", Promotion.ARITHMETIC, "tensor", False, False,
    )  # fmt: skip
    assert [(s.name, s.kind, s.needed_by) for s in data.saved] == [("alpha", "option", ("other",))]


def test_the_bar_is_high() -> None:
    assert len(DETERMINISTIC) > 250
    assert len(DIFFERENTIABLE) > 170
