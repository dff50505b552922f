"""Calls of the registry's samples with their operands in chunks."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import numpy as np

import tensorlike as tl
import tensorlike.dask as td
from tensorlike.dispatch.operation import Form
from tests.helpers.gradients import outputs_of, random_like, recorded_among
from tests.helpers.rows import calling, families, mutates, samples
from tests.helpers.values import array, assert_arrays, mapped, tensors_in, wrapped

#: Factors whose columns may have other signs when they are computed chunk by chunk.
SIGNS = ("tensorlike.linalg.qr", "tensorlike.qr", "tensorlike.linalg.svd", "tensorlike.svd")
#: How the operands of a sample are cut, in turn: at random along all dimensions or the first, or not at all.
CUTS = ("all", "first", "none")


class Computed(AssertionError):
    """Raised where a chunk is computed before anyone asked for it."""


@contextmanager
def nothing_computed() -> Iterator[None]:
    """Run a block in which computing anything by Dask is an error."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise Computed("a chunk was computed while the graph was built")

    with dask.config.set(scheduler=refuse):
        yield


def refusal(error: BaseException) -> bool:
    """Return whether an error is the documented one of a function without a rule, or of values that are not there."""
    text = str(error)
    return "in chunks" in text and (
        isinstance(error, NotImplementedError)
        or "needs the values of a tensor in chunks" in text
        or "a tensor in chunks that has views" in text
    )


def cut(random: np.random.Generator, tensor: Any, how: str) -> Any:
    """Return a tensor in uneven chunks."""
    chunks = []
    for dim, size in enumerate(tensor.shape):
        if how == "none" or size < 2 or (how == "first" and dim):
            chunks.append((size,))
            continue
        at = int(random.integers(1, size))
        chunks.append((at, size - at) if at < 3 or random.random() < 0.5 else (1, at - 1, size - at))
    return td.from_tensor(tensor, tuple(chunks) if chunks else -1)


def plain(value: Any) -> Any:
    """Return what was computed of the tensors in chunks in nested values."""
    return td.compute(value, scheduler="sync")[0]


def called(row: Form, sample: Any, change: Any) -> Any:
    """Call a sample with `change(tensor, number)` for each of its tensors; an in-place function's first operand counts
    as a result.
    """
    count = -1

    def one(tensor: Any) -> Any:
        nonlocal count
        count += 1
        return change(tensor, count)

    args, kwargs = mapped([list(sample.args), sample.kwargs], one)
    tl.manual_seed(0)
    result = row.function(*args, **kwargs)
    return args[0] if result is None and mutates(row) else result


def sent(value: Any) -> Any:
    """Return nested values whose tensors in chunks were sent to another process and back, without history."""

    def one(tensor: Any) -> Any:
        if not isinstance(tensor, td.ChunkedTensor):
            return tensor
        return pickle.loads(pickle.dumps(tensor.detach()))

    return mapped(value, one)


def randomness(row: Form) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(row.full_name.encode()))


def dtype_of(name: str) -> str:
    wanted = samples(name).dtypes
    return next((d for d in ("float64", "int64", "complex128") if d in wanted), wanted[0])


def compare(name: str, row: Form, limit: int | None = None) -> tuple[int, list[str]]:
    """Compare calls in chunks with plain ones; return how many agreed, and the refusals."""
    agreed, refusals = 0, []
    random = randomness(row)
    for number, sample in enumerate(samples(name).generate(dtype_of(name))):
        if limit is not None and number >= limit:
            break
        how = CUTS[number % len(CUTS)]
        expected = called(row, sample, lambda t, _: t.detach().clone() if type(t) is tl.Tensor else t)
        try:
            with nothing_computed():
                found = called(row, sample, lambda t, _: cut(random, t.detach().clone(), how))  # noqa: B023
        except (NotImplementedError, RuntimeError) as error:
            if not refusal(error):
                raise
            refusals.append(f"{how}: {error}")
            continue
        if number == 0:
            found = sent(found)
        if name in SIGNS and how != "none":
            found, expected = mapped(found, tl.abs), mapped(expected, tl.abs)
        check(f"{row.full_name}{sample} cut {how}", found, expected, samples(name).deterministic)
        agreed += 1
    return agreed, refusals


def check(what: str, found: Any, expected: Any, exact: bool = True) -> None:
    """Compare results in chunks with expected ones: their metadata before, their elements after computing."""
    before, after, wanted = list(tensors_in(found)), list(tensors_in(plain(found))), list(tensors_in(expected))
    assert len(after) == len(wanted), f"{what}: {len(after)} tensors, expected {len(wanted)}"
    for one, result, other in zip(before, after, wanted, strict=True):
        assert one.dtype == other.dtype, f"{what}: {one.dtype}, expected {other.dtype}"
        assert result.dtype == other.dtype, f"{what}: computed {result.dtype}, expected {other.dtype}"
        if isinstance(one, td.ChunkedTensor) and not any(n != n for n in one._tl_data.array.shape):
            assert tuple(one.shape) == tuple(other.shape), f"{what}: {one.shape}, expected {other.shape}"
        assert tuple(result.shape) == tuple(other.shape), f"{what}: computed {result.shape}, expected {other.shape}"
        if exact:
            near = 1e-6 if array(other).dtype.itemsize >= 8 else 2e-2 if array(other).dtype.itemsize == 2 else 1e-4
            assert_arrays(array(result.detach()), array(other.detach()), what, near)
    if not wanted and exact and isinstance(expected, (int, float, str, bool, tuple)):
        assert found == expected, f"{what}: {found!r}, expected {expected!r}"


def compare_gradients(name: str) -> tuple[int, list[str]]:
    """Compare gradients in chunks with those of plain calls; return how many agreed, and the refusals."""
    row = families()[name][0]
    agreed, refusals = 0, []
    random = randomness(row)
    dtype = "float64" if "float64" in samples(name).dtypes else samples(name).dtypes[0]
    for number, sample in enumerate(samples(name).generate(dtype, requires_grad=True)):
        how = CUTS[number % len(CUTS)]
        operands = list(tensors_in([list(sample.args), sample.kwargs]))
        chosen = [i for i, t in enumerate(operands) if t.requires_grad]
        points = [operands[i].detach().clone().requires_grad_() for i in chosen]
        outputs = outputs_of(calling(row, sample, chosen)(*points))
        recorded = recorded_among(outputs, points)
        if not chosen or not recorded:
            continue
        weights = [wrapped(random_like(random, array(outputs[i]))) for i in recorded]
        expected = tl.autograd.grad([outputs[i] for i in recorded], points, weights, allow_unused=True)
        cuts = [cut(random, operands[i].detach().clone(), how).requires_grad_() for i in chosen]
        try:
            with nothing_computed():
                results = outputs_of_chunks(calling(row, sample, chosen)(*cuts))
                found = tl.autograd.grad([results[i] for i in recorded], cuts, weights, allow_unused=True)
        except (NotImplementedError, RuntimeError) as error:
            if not refusal(error):
                raise
            refusals.append(f"{how}: {error}")
            continue
        for one, other in zip(plain(found), expected, strict=True):
            what = f"the gradient of {name}{sample} cut {how}"
            if other is None or one is None:
                given = one if other is None else other
                assert given is None or not array(given).any(), what
                continue
            assert_arrays(array(one), array(other.detach()), what, 1e-6)
        agreed += 1
    return agreed, refusals


def outputs_of_chunks(result: Any) -> list[Any]:
    """Return the results that can be differentiated."""
    return [t for t in tensors_in(result) if t._tl_data.dtype.kind in "fc"]


def rows_with_samples() -> list[tuple[str, Form]]:
    return [(name, row) for name, members in families().items() for row in members]


__all__ = [
    "CUTS",
    "Computed",
    "called",
    "check",
    "compare",
    "compare_gradients",
    "cut",
    "dtype_of",
    "nothing_computed",
    "plain",
    "randomness",
    "refusal",
    "rows_with_samples",
    "wrapped",
]
