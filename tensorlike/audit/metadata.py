"""Metadata of instances, which results must share with their operand: declared attributes, and those the user names.

# Note [What a result must carry]
An audited call has one instance, or the same one twice, so that there is no question which of several operands a result
takes after: it carries what the instance carried before the call, and the instance carries it afterwards still. That
holds for `__tensor_attributes__` of a subclass of Tensor, whose merge rule is called only where several operands
differ, and for each expression of `metadata`. A class with `__tensor_finalize__` may change what it declares: there an
attribute is lost only if it is missing, or None. An index is no data, so that nothing is expected of `x[instance]`.

An instance that the audit makes with `as_subclass` has no attributes of its own. It is given a mark for each that is
declared. A call that fails with the mark and not without it is judged without: the type's code expects something else
there. Where a negation fails so, no instance is given marks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.pytree import instances

from .arguments import text_of
from .errors import AuditError
from .foreign import described, let_through, name_of

if TYPE_CHECKING:

    from .making import InstanceMaker


class Metadata(NamedTuple):
    """One thing that instances carry."""

    #: The attribute's name, or the expression.
    name: str
    read: Callable[[Any], Any]
    #: Whether it is an attribute that can be set.
    declared: bool
    #: Whether the type may give a result another value than its operand has.
    changes: bool = False

    def value(self, instance: object) -> Any:
        """Return what an instance carries, MISSING where it has none."""
        try:
            return self.read(instance)
        except BaseException as error:
            let_through(error)
            return MISSING


def attribute_reader(given: object, where: str) -> Metadata:
    """Return what `metadata` names: a function of an instance, or the name of an attribute, dotted ones too.

    Raises AuditError for all else.
    """
    if isinstance(given, str):
        if not given or not all(part.isidentifier() for part in given.split(".")):
            raise AuditError(
                f'{where} is the name of an attribute, or a function such as "lambda x: x.unit", not {given!r}'
            )
        return Metadata(given, operator.attrgetter(given), False)
    given = getattr(given, "__func__", given)
    if not callable(given):
        raise AuditError(f"{where} is the name of an attribute, or a function of an instance, not {given!r}")
    name = getattr(given, "__name__", "")
    return Metadata(name if name.isidentifier() else "metadata", given, False)


def metadata_of(kind: type, maker: InstanceMaker, given: Iterable[Metadata]) -> tuple[Metadata, ...]:
    """Return what instances of a type carry: what it declares, and what is given.

    Raises AuditError for what no instance of the type has.
    """
    given = tuple(given)
    for one in given:
        error = maker.first_error(one.read)
        if error is not None:
            raise AuditError(f"metadata {one.name!r} of {name_of(kind)} raises {described(error)}")
    known = {one.name for one in given}
    return (*(one for one in declared(kind) if one.name not in known), *given)


def declared(kind: type) -> list[Metadata]:
    """Return the attributes that a subclass of Tensor declares."""
    changes = getattr(kind, "__tensor_finalize__", None) is not None
    names: Sequence[str] = getattr(kind, "__tensor_attributes__", ())
    return [Metadata(name, operator.attrgetter(name), True, changes) for name in names]


def marked(instance: object, metadata: Sequence[Metadata]) -> bool:
    """Give an instance a mark for each declared attribute that it does not have; return whether it was given one."""
    given = False
    for one in metadata:
        if one.declared and one.name not in getattr(instance, "__dict__", {}):
            before = one.value(instance)
            if before is not MISSING and before is not getattr(type(instance), one.name, MISSING):
                continue  # A property, or a slot, that has a value.
            try:
                setattr(instance, one.name, f"the {one.name} of the operand")
            except BaseException as error:
                let_through(error)
                continue
            given = True
    return given


def takes_marks(
    first_error: Callable[[Callable[[Any], Any]], BaseException | None],
    computed: Callable[[Any], Any],
    metadata: Sequence[Metadata],
) -> bool:
    """Return whether the code of a type takes the marks of Note [What a result must carry] at all.

    `computed` calls a function with an instance; `first_error(use)` returns what `use` raises with a new instance.
    """
    if not any(one.declared for one in metadata):
        return False

    def computed_with_marks(instance: object) -> None:
        if marked(instance, metadata):
            computed(instance)

    return first_error(computed_with_marks) is None or first_error(computed) is not None


def carried(instance: object, metadata: Sequence[Metadata]) -> list[tuple[Metadata, Any]]:
    """Return what an instance carries before a call."""
    found = ((one, one.value(instance)) for one in metadata)
    return [(one, value) for one, value in found if value is not MISSING]


def same(first: object, other: object) -> bool:
    """Return whether two carried values are equal; arrays and tensors by their elements."""
    if first is other:
        return True
    try:
        return bool(first == other)
    except BaseException as error:
        let_through(error)
    # Arrays and tensors, which give no single bool.
    try:
        one, two = (np.asarray(value) for value in (first, other))
        return one.shape == two.shape and bool(np.array_equal(one, two, equal_nan=one.dtype.kind in "fc"))
    except BaseException as error:
        let_through(error)
        return False


def lost_attributes(before: Sequence[tuple[Metadata, Any]], found: object, kind: type, where: str = "") -> str:
    """Return in words the first thing that an instance in `found` does not carry as it was `before`; "" for none."""
    if not before:
        return ""
    for instance in [found] if isinstance(found, kind) else instances(found, kind):
        for one, value in before:
            now = one.value(instance)
            missing = now is MISSING or (now is None and value is not None)
            if missing or not (one.changes or same(value, now)):
                is_now = "missing" if now is MISSING else text_of(now, 60)
                return f"{one.name}{where} is {is_now}, the operand had {text_of(value, 60)}"
    return ""


def named(given: Any, where: str) -> tuple[Metadata, ...]:
    """Return what the option `metadata` names: one thing, or several."""
    several = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    return tuple(attribute_reader(one, where) for one in several)
