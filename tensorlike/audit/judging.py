"""Judging a call: what it gave and what it left behind, beside what the same call of plain tensors gave and left.

# Note [What is compared]
The call of plain tensors is made first, with copies of everything: what it reads is no memory that the audited call
writes. Compared are

- the result, its instances read by `to_dense`;
- every tensor among the arguments afterwards: what an in-place function, `out=` or a buffer was to be given, and that
  a function which writes nothing has written nothing;
- whether the result is a view: where plain tensors give one, a write into the operand is to be seen in the result. This
  is called where `to_dense` shows the memory of an instance itself, as it does of a subclass of Tensor;
- what the instance carries (`metadata.py`).

A call that plain tensors do not answer the same twice is compared by shape and dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorlike.dispatch.pytree import instances
from tensorlike.dispatch.signature import NESTED

from .arguments import Place, at, difference, lost, mapped
from .foreign import described, let_through, process_restored
from .metadata import Metadata, carried, lost_attributes, takes_marks
from .model import AuditRow, ValueCheck
from .relatives import relatives_of

if TYPE_CHECKING:
    from .api import AuditedApi, AuditedFunction, Call
    from .making import InstanceMaker

#: Positional arguments and keywords.
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Unusable(Exception):
    """Raised for a sample that cannot be used for an operand, with the reason."""


class PlainCall(NamedTuple):
    """The result of a call of plain tensors."""

    result: Any
    #: The arguments afterwards.
    left: Arguments
    warnings: frozenset[str]


class Attempt(NamedTuple):
    """The arguments of one audited call, and the same ones with plain tensors alone."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    #: The plain arguments before the call, which share no memory with the others, and what plain tensors gave.
    before: Arguments
    plain: PlainCall
    #: Plain tensors like the instance are taken, so that an exception is not the sample's fault.
    fits: bool
    #: Whether the answer must have the value of the plain result.
    compare: bool
    #: Makes the call with plain tensors once more: it may not have the same value every time.
    again: Callable[[], PlainCall]
    #: Makes the attempt once more, with an instance that no call has changed.
    anew: Callable[..., Attempt]
    call: Call
    place: Place
    #: The plain tensor that the instance was made from, or None.
    sample: Any
    #: What the instance carried before the call, and whether some of it is the audit's own mark.
    carried: Sequence[tuple[Metadata, Any]]
    marked: bool

    @property
    def expected(self) -> Any:
        """The result of plain tensors."""
        return self.plain.result

    @property
    def written(self) -> Any:
        """The operand as plain tensors left it, where the instance stands."""
        return at(*self.plain.left, self.place)

    @property
    def instance(self) -> Any:
        """The instance among the arguments."""
        return at(self.args, self.kwargs, self.place)


#: How the texts of findings say that they are about the operand and not the result.
AFTERWARDS = "the operand afterwards: "
OF_OPERAND = " of the operand afterwards"


class Judge:
    """Compares what calls of one type give and leave behind with what plain tensors do."""

    def __init__(self, maker: InstanceMaker, api: AuditedApi, kept: tuple[type, ...], metadata: Sequence[Metadata]):
        self.maker = maker
        self.api = api
        self.kind = maker.kind
        #: Of whose instances values are read.
        self.relatives = relatives_of(maker.kind, api.tensor)
        #: The types that answers may have where functions return tensors.
        self.kept = kept
        self.metadata = metadata
        #: Whether the type's code takes the marks of Note [What a result must carry] at all.
        self.marks = self._takes_marks()

    def _takes_marks(self) -> bool:
        def computed(instance: object) -> None:
            with process_restored():
                self.api.tensor.neg(instance)  # type: ignore[attr-defined]

        return takes_marks(self.maker.first_error, computed, self.metadata)

    def is_lost(self, expected: object, actual: object) -> bool:
        """Return whether a result is no instance where plain tensors give a tensor."""
        return lost(expected, actual, (*self.kept, self.relatives), self.api.tensor)

    def carried(self, instance: object) -> list[tuple[Metadata, Any]]:
        """Return what an instance carries before a call."""
        return carried(instance, self.metadata)

    def compare(self, row: AuditRow, function: AuditedFunction, attempt: Attempt, result: object) -> None:
        """Record in `row` whether the answer, what the call left behind and what it carries are as expected."""
        if attempt.compare:
            self._compare_result(row, attempt, result)
        if self.maker.reads_values:
            self._compare_arguments(row, function, attempt, result)
            if row.value is not ValueCheck.DIFFERS:
                self._compare_memory(row, attempt, result)
        self._compare_attributes(row, function, attempt, result)

    def compare_value(
        self, row: AuditRow, expected: object, actual: object, where: str = "", *, values: bool = True
    ) -> bool:
        """Record in `row` whether a value, its instances read by to_dense, is `expected`; return whether it is.

        With `values` off, the shape and dtype alone.
        """
        dense = self._dense(row, actual, where)
        if row.value is not ValueCheck.DIFFERS:
            self._record(row, difference(expected, dense, self.api, values=values, where=where))
        return row.value is not ValueCheck.DIFFERS

    def compare_attributes(self, row: AuditRow, before: Sequence[tuple[Metadata, Any]], result: object) -> None:
        """Record in `row` whether the instances in a result carry what an operand carried `before`."""
        row.attributes = row.attributes or lost_attributes(before, result, self.kind)

    @staticmethod
    def _record(row: AuditRow, found: str | None) -> None:
        if found is not None:
            row.value = ValueCheck.DIFFERS if found else ValueCheck.EQUAL
            row.difference = found

    def _dense(self, row: AuditRow, value: object, where: str) -> Any:
        try:
            return mapped(value, self.maker.dense, self.relatives)
        except BaseException as error:
            let_through(error)
            row.value, row.difference = ValueCheck.DIFFERS, f"{where}to_dense raises {described(error)}"
            return None

    def _compare_result(self, row: AuditRow, attempt: Attempt, result: object) -> None:
        dense = self._dense(row, result, "")
        if row.value is ValueCheck.DIFFERS:
            return
        expected, values = attempt.expected, attempt.call.deterministic
        found = difference(expected, dense, self.api, values=values)
        if found and values and difference(expected, attempt.again().result, self.api):
            found = difference(expected, dense, self.api, values=False)
        self._record(row, found)

    def _tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Yield the index or keyword of each argument with tensors in it, and the argument."""
        kinds = (self.api.tensor, np.ndarray, self.kind)
        for key, value in (*enumerate(args), *kwargs.items()):
            if isinstance(value, (*kinds, list, tuple)):
                yield key, value

    def _compare_arguments(self, row: AuditRow, function: AuditedFunction, attempt: Attempt, result: object) -> None:
        """Compare what the call left in its arguments, those that it should not have written too."""
        left_args, left_kwargs = attempt.plain.left
        for key, actual in self._tensors(attempt.args, attempt.kwargs):
            if actual is result and attempt.compare and row.value is ValueCheck.EQUAL:
                continue  # Compared as the result.
            expected = left_args[key] if isinstance(key, int) else left_kwargs[key]
            self._compare_argument(row, function, attempt, key, expected, actual)

    def _compare_argument(
        self, row: AuditRow, function: AuditedFunction, attempt: Attempt, key: int | str, expected: object,
        actual: object,
    ) -> None:  # fmt: skip
        if row.value is ValueCheck.DIFFERS:
            return
        name = _parameter(function, key)
        where = AFTERWARDS if key == attempt.place[0] else f"{name} afterwards: "
        try:
            dense = mapped(actual, self.maker.dense, self.relatives)
        except BaseException as error:
            let_through(error)
            self._record(row, f"{where}to_dense raises {described(error)}")
            return
        values = attempt.call.deterministic or self._is_unwritten(attempt, key, expected)
        found = difference(expected, dense, self.api, values=values, where=where)
        if found and values:
            again_args, again_kwargs = attempt.again().left
            if difference(expected, again_args[key] if isinstance(key, int) else again_kwargs[key], self.api):
                found = difference(expected, dense, self.api, values=False, where=where)
        # What a function that gives no tensor has written is its result.
        if found or (found == "" and row.value is ValueCheck.NOT_COMPARED and name in function.mutates):
            self._record(row, found)

    def _is_unwritten(self, attempt: Attempt, key: int | str, left: object) -> bool:
        """Return whether plain tensors leave an argument as it was."""
        args, kwargs = attempt.before
        return difference(args[key] if isinstance(key, int) else kwargs[key], left, self.api) == ""

    def _overlaps(self, result: object, operand: object) -> bool:
        """Return whether a tensor of a result is on the memory of a tensor."""
        if not isinstance(operand, self.api.tensor):
            return False
        mine = self.api.array(operand)
        found = [result] if isinstance(result, self.api.tensor) else instances(result, self.api.tensor)
        return any(np.may_share_memory(self.api.array(r), mine) for r in found)

    def _compare_memory(self, row: AuditRow, attempt: Attempt, result: object) -> None:
        """Compare whether the result is a view of the operand."""
        expected, operand = attempt.expected, attempt.written
        # A function that gives the operand itself, as `contiguous` does, may as well give a copy.
        if expected is operand or not self._overlaps(expected, operand) or self.is_lost(expected, result):
            return
        mine = self._dense(row, attempt.instance, "")
        # Where to_dense makes a copy, nothing is known.
        is_known = self._overlaps(self._dense(row, attempt.instance, ""), mine)
        if is_known and not self._overlaps(self._dense(row, result, ""), mine):
            self._record(row, "a copy, where the function gives a view of its operand")

    def _compare_attributes(self, row: AuditRow, function: AuditedFunction, attempt: Attempt, result: object) -> None:
        if not attempt.carried or function.nowrap:
            return
        # An index is no data, and what is written as `out=` takes after the operands.
        is_source = not any(p.operand == NESTED and p.name == row.operand for p in function.parameters)
        if is_source and attempt.place[0] != "out":
            others = [value for key, value in self._tensors(attempt.args, attempt.kwargs) if key != attempt.place[0]]
            if not any(result is other for other in others):
                self.compare_attributes(row, attempt.carried, result)
        row.attributes = row.attributes or lost_attributes(attempt.carried, attempt.instance, self.kind, OF_OPERAND)


def _parameter(function: AuditedFunction, key: int | str) -> str:
    """Return the name of the parameter that an argument is given to."""
    if not isinstance(key, int):
        return str(key)
    positional = [p for p in function.parameters if p.kind != "keyword"]
    return positional[min(key, len(positional) - 1)].name if positional else f"argument {key}"
