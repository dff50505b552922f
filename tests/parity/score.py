"""Every operation with samples, run in both libraries: what agrees, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from tensorlike.audit.samples import SAMPLES
from tests.helpers import parity
from tests.helpers.oracle import outcome
from tests.helpers.rows import families, mutates
from tests.parity.known import OURS_ALONE


class Check(NamedTuple):
    """One thing compared: an operation, a category, a dtype ("" where it says nothing); `text` is empty if equal."""

    name: str
    category: str
    dtype: str
    text: str = ""

    @property
    def namespace(self) -> str:
        outer = self.name.rpartition(".")[0]
        return outer or self.name


def operations(pattern: str = "*") -> list[str]:
    """Return the names with samples that a glob matches, with or without `tensorlike.` before them."""
    names = [name for name in families() if name not in OURS_ALONE]
    return [n for n in names if fnmatchcase(n, pattern) or fnmatchcase(n.removeprefix("tensorlike."), pattern)]


def checks(name: str) -> Iterator[Check]:
    """Compare one operation with PyTorch's."""
    if parity.theirs_of(name) is None:
        yield Check(name, "values", "", "PyTorch has no function of that name")
        return
    for dtype in parity.DTYPES:
        yield from _values(name, dtype)
    _, wrong = parity.wrong_errors(name)
    yield Check(name, "errors", "", "\n".join(wrong))


def _values(name: str, dtype: str) -> Iterator[Check]:
    samples, mutating = SAMPLES[name], mutates(families()[name][0])
    if dtype not in samples.dtypes:
        if not parity.samples_of(name, dtype):
            return  # Its tensors cannot have that dtype, as indices cannot be complex.
        found = parity.dtype_differences(name, dtype, most=None)
        yield Check(name, "values", dtype, found.pop("values", ""))
        yield Check(name, "dtypes", dtype, "\n".join(f"{kind}: {text}" for kind, text in found.items()))
        return
    differentiable = dtype in parity.DIFFERENTIABLE and not mutating
    refused, wrong, apart = [], [], []
    orders: dict[str, list[str]] = {}
    for number, sample in enumerate(parity.samples_of(name, dtype, requires_grad=differentiable)):
        for layout, notes in (("", wrong), ("apart", apart)):
            if layout and mutating:
                continue
            call = parity.Call(name, dtype, sample, apart=bool(layout))
            _, their_error = call.theirs_first()
            _, error = call.ours()
            if error is not None or their_error is not None:
                if error is None or their_error is None or not parity.same_kind(error, their_error):
                    refused.append(f"{call.what}: {error or 'works'!r}, PyTorch: {their_error or 'works'!r}")
                continue
            _, difference = outcome(call.compare)
            if difference is not None:
                notes.append(str(difference))
                continue
            if differentiable and samples.deterministic:
                compared, difference = outcome(call.compare_gradients, number)
                for order in compared or ():
                    orders.setdefault(order, [])
                if difference is not None:
                    orders.setdefault(getattr(difference, "order", "first"), []).append(str(difference))
    yield Check(name, "dtypes", dtype, "\n".join(refused))
    yield Check(name, "values", dtype, "\n".join(wrong))
    if not mutating:
        yield Check(name, "apart", dtype, "\n".join(apart))
    for order, category in (("first", "gradients"), ("second", "second gradients")):
        if order in orders:
            yield Check(name, category, dtype, "\n".join(orders[order]))
