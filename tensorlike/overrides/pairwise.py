"""Pairwise rules, by which a third party defines operations on two unrelated types.

# Note [Which rule answers]
Rules are consulted where dispatch would fail: every type returned NotImplemented. A rule for (A, B) covers a call when
each overriding type among its operands is a subclass of A or of B and there are two different types, one for each side,
in either order. Plain tensors and numbers count for a side that names them, or a class above them, and otherwise take
no part. Of several such rules the one whose two classes are both subclasses of the others' answers. Two rules of which
neither is more specific, though some pair of their classes fits both, are refused at registration.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple, TypeVar, cast

from tensorlike.dispatch.core import PROVIDED
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.forks import renew_after_fork
from tensorlike.dispatch.missing import Missing
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.tracebacks import named_errors, short_tracebacks

from .registration import check_signature, implementation_name, plain_function, resolved, same_implementation
from .variants import NAMED, Handler, entries_of, exactly, forms_of

__all__ = ["register", "unregister"]

F = TypeVar("F", bound=Callable[..., Any])

_RUNAWAY_DEPTH = 8


class _Rule(NamedTuple):
    pair: tuple[type, type]
    handler: Handler
    rank: int
    #: The function that was registered by name; this is a rule for one of its forms.
    registered: Any
    implementation: Callable[..., Any]

    @property
    def label(self) -> str:
        return f"({self.pair[0].__name__}, {self.pair[1].__name__})"

    def __str__(self) -> str:
        return f"the rule {implementation_name(self.implementation)} for {self.label}"

    def belongs_to(self, other: _Rule) -> bool:
        """Return whether both were registered as one, or this one was before its definition was run again."""
        return (
            self.registered == other.registered
            and _alike(self.pair, other.pair)
            and same_implementation(self.implementation, other.implementation)
        )


#: By function. Replaced as a whole, so that a call in another thread sees either the former or the new table.
_rules: dict[Any, tuple[_Rule, ...]] = {}
_lock = threading.RLock()
renew_after_fork(globals(), "_lock")


def _within(inner: tuple[type, type], outer: tuple[type, type]) -> bool:
    (a, b), (c, d) = inner, outer
    return (issubclass(a, c) and issubclass(b, d)) or (issubclass(a, d) and issubclass(b, c))


def _alike(one: tuple[type, type], other: tuple[type, type]) -> bool:
    return one in (other, other[::-1])


def _meet(a: type, b: type) -> type | None:
    return a if issubclass(a, b) else b if issubclass(b, a) else None


def _check_ambiguity(name: str, rule: _Rule, others: Sequence[_Rule]) -> None:
    for other in others:
        if _within(rule.pair, other.pair) or _within(other.pair, rule.pair):
            continue
        for c, d in (other.pair, other.pair[::-1]):
            first, second = _meet(rule.pair[0], c), _meet(rule.pair[1], d)
            if first is None or second is None:
                continue
            meet = (first, second)
            if not any(_alike(meet, known.pair) for known in others):
                raise ValueError(
                    f"register(): the rule {rule.label} of {name} is ambiguous with {other.label}: both fit "
                    f"({first.__name__}, {second.__name__}), and neither is more specific. Register a rule for "
                    f"({first.__name__}, {second.__name__}) first."
                )


def _pair(caller: str, types: object) -> tuple[type, type]:
    if not (isinstance(types, (tuple, list)) and len(types) == 2 and all(isinstance(t, type) for t in types)):
        raise TypeError(f"{caller}: argument 'types' must be a tuple of two classes, got {types!r}")
    # A mixin may get __torch_function__ in a subclass; calls with numbers and lists alone go to no type.
    if all(t.__module__ in ("builtins", "numpy") and t is not object for t in types):
        raise TypeError(
            f"{caller}: a rule for ({types[0].__name__}, {types[1].__name__}) is never asked, since neither class has "
            "__torch_function__; one of the two must be a tensor-like type, or a base of such types"
        )
    return types[0], types[1]


def _add(entries: Sequence[tuple[Any, _Rule]]) -> None:
    """Add the rules of one registration, all of them or none."""
    global _rules
    with _lock:
        table = _without(entries[-1][1])
        for key, rule in entries:
            known = table.get(key, ())
            same = next((r for r in known if _alike(r.pair, rule.pair)), None)
            if same is not None:
                if rule.rank < same.rank or (rule.rank == same.rank and rule.implementation is same.implementation):
                    continue
                if rule.rank == same.rank:
                    raise ValueError(
                        f"register(): {function_name(key)} has a rule for {rule.label} already, "
                        f"{implementation_name(same.implementation)}; take it out with "
                        f"overrides.unregister({function_name(same.registered)}, {rule.label})"
                    )
                known = tuple(r for r in known if r is not same)
            _check_ambiguity(function_name(key), rule, known)
            table[key] = (*known, rule)
        _rules = table


def _without(rule: _Rule) -> dict[Any, tuple[_Rule, ...]]:
    """Return the table without the rules that were registered together with `rule`."""
    kept = {key: tuple(r for r in rules if not r.belongs_to(rule)) for key, rules in _rules.items()}
    return {key: rules for key, rules in kept.items() if rules}


@named_errors
def register(
    func: Callable[..., Any] | str, types: tuple[type, type], *, variants: bool = False, check: bool = True
) -> Callable[[F], F]:
    """Return a decorator that registers an implementation of `func` for operands of two unrelated types.

    `types` are two classes; subclasses count, in either order. The rule is called with the arguments as the caller
    passed them, after every operand's type returned NotImplemented, and may return NotImplemented itself. The most
    specific rule answers. `variants=True` covers the methods, operators, in-place forms and namesakes of `func` as
    well, as in `overrides.implements`; in-place forms write the result with `copy_`.

    Registering a function of the same module and name again, as in a notebook's cell that runs twice, replaces it.
    Raises TypeError when `func` cannot be overridden, `types` are not two classes, or the rule does not accept every
    parameter of `func` (`check=False` leaves that out); ValueError when the pair has another rule already or the rule
    is ambiguous with one.

    >>> class Refusing:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> class Metres(Refusing):
    ...     pass
    >>> class Feet(Refusing):
    ...     pass
    >>> @tl.overrides.register(tl.add, (Metres, Feet), variants=True)
    ... def add_lengths(input, other, *, alpha=1, out=None):
    ...     return f"{type(input).__name__} plus {type(other).__name__}"
    >>> tl.add(Feet(), Metres()), tl.Tensor.add(Metres(), Feet())
    ('Feet plus Metres', 'Metres plus Feet')
    >>> tl.overrides.unregister(tl.add, (Metres, Feet))
    """
    row, key = resolved("register()", func)
    pair = _pair("register()", types)
    forms: list[Form] = []
    if variants:
        if row is None:
            raise TypeError(f"register(): {function_name(key)} has no variants known here; leave out variants=True")
        row, forms = forms_of(row)

    @short_tracebacks
    def decorate(implementation: F) -> F:
        function = plain_function("register()", implementation)
        if check:
            check_signature("register()", key if row is None else row, function)
        found = entries_of(row, forms, function) if row is not None and variants else []
        named = next((handler for form, handler, _ in found if form.key == key), exactly(function))
        others = [(form.key, handler, rank) for form, handler, rank in found if form.key != key]
        entries = [(form, _Rule(pair, handler, rank, key, function)) for form, handler, rank in others]
        _add([*entries, (key, _Rule(pair, named, NAMED, key, function))])
        return implementation

    return decorate


def unregister(func: Callable[..., Any], types: tuple[type, type]) -> None:
    """Remove the rule that `register` registered for `func` and two types, and the variants it covered.

    Raises ValueError when there is no such rule.

    >>> class Refusing:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> tl.overrides.register(tl.add, (Refusing, tl.Tensor), check=False)(lambda input, other: "settled")
    ... # doctest: +ELLIPSIS
    <function <lambda> at ...>
    >>> tl.overrides.unregister(tl.add, (Refusing, tl.Tensor))
    >>> tl.overrides.unregister(tl.add, (Refusing, tl.Tensor))
    Traceback (most recent call last):
        ...
    ValueError: unregister(): tensorlike.add has no rule for (Refusing, Tensor)
    """
    global _rules
    _, key = resolved("unregister()", func)
    pair = _pair("unregister()", types)
    with _lock:
        rule = next((r for r in _rules.get(key, ()) if _alike(r.pair, pair)), None)
        if rule is None:
            raise ValueError(
                f"unregister(): {function_name(key)} has no rule for ({pair[0].__name__}, {pair[1].__name__})"
            )
        _rules = _without(rule)


def _covers(rule: _Rule, overriding: tuple[type, ...], present: Sequence[type]) -> bool:
    first, second = rule.pair
    if not all(issubclass(t, rule.pair) for t in overriding):
        return False
    return any(a is not b and issubclass(a, first) and issubclass(b, second) for a in present for b in present)


def _rules_for(function: Callable[..., Any], overriding: tuple[type, ...], operands: Sequence[Any]) -> list[_Rule]:
    """Return the rule that answers a call; several when none is the most specific; none when none covers it."""
    rules = _rules.get(function)
    if not rules or not overriding:
        return []
    present = [t for t in dict.fromkeys(type(value) for value in operands) if t not in (Missing, type(None))]
    fitting = [rule for rule in rules if _covers(rule, overriding, present)]
    best = [rule for rule in fitting if all(_within(rule.pair, other.pair) for other in fitting)]
    return best[:1] or fitting


def _settle(
    function: Callable[..., Any], overriding: tuple[type, ...], operands: Sequence[Any], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    rules = _rules_for(function, overriding, operands)
    if not rules:
        return NotImplemented
    if len(rules) > 1:
        # Only a class that inherits from several registered ones gets here.
        raise TypeError(
            f"{function_name(function)}: the rules {', '.join(r.label for r in rules)} all fit the operands and none "
            "is the most specific: register one for their own classes"
        )
    try:
        return rules[0].handler(None, args, kwargs)
    except RecursionError:
        raise _runaway(function, rules[0]) from None


def _runaway(function: Callable[..., Any], rule: _Rule) -> RecursionError:
    """Return the error being handled, or one with advice when the rule came back to itself."""
    error = cast(RecursionError, sys.exception())
    if getattr(error, "_names_the_rule", False):
        return error
    depth = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and depth < _RUNAWAY_DEPTH:
        if frame.f_code is _settle.__code__ and frame.f_locals["function"] == function:
            depth += 1
        frame = frame.f_back
    if depth < _RUNAWAY_DEPTH:
        return error
    found = RecursionError(
        f"'{function_name(function)}' came back to {rule} again and again: it calls the function on the same operands. "
        "Convert one of them before calling it."
    )
    found._names_the_rule = found._names_the_cure = True  # type: ignore[attr-defined]  # Outer frames let it pass.
    return found


PROVIDED.settle, PROVIDED.rules_for = _settle, _rules_for
