"""Rules with which a third party settles what two unrelated types do together.

# Note [Which rule answers]
Rules are consulted where dispatch would give up: every type was asked and returned NotImplemented. A rule for (A, B)
covers a call when each overriding type among its operands is a subclass of A or of B and there are two different types,
one for each side, in whichever order; plain tensors count for a side that names them and otherwise take no part. Of
several such rules the one whose two classes are both subclasses of the others' answers. Two rules of which neither is
more specific, though some pair of their classes fits both, are refused at registration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from tensorlike.dispatch.core import register_pairwise
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.registry import IGNORED, REGISTRY

__all__ = ["register"]

F = TypeVar("F", bound=Callable[..., Any])


class _Rule(NamedTuple):
    pair: tuple[type, type]
    implementation: Callable[..., Any]

    def __str__(self) -> str:
        return f"({self.pair[0].__name__}, {self.pair[1].__name__})"


_RULES: dict[Any, list[_Rule]] = {}


def _within(inner: tuple[type, type], outer: tuple[type, type]) -> bool:
    (a, b), (c, d) = inner, outer
    return (issubclass(a, c) and issubclass(b, d)) or (issubclass(a, d) and issubclass(b, c))


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
            if not any(_within(meet, known.pair) and _within(known.pair, meet) for known in others):
                raise ValueError(
                    f"register(): the rule {rule} of {name} is ambiguous with {other}: both fit "
                    f"({first.__name__}, {second.__name__}), and neither is more specific. Register a rule for "
                    f"({first.__name__}, {second.__name__}) first."
                )


def _key_of(func: Any) -> Any:
    for row in REGISTRY.values():
        if row.function is func or row.key == func:
            return row.key
    for function, reason in IGNORED.values():
        if function is func:
            raise TypeError(f"register(): {function_name(func)} cannot be overridden: it {reason}")
    if not callable(func):
        raise TypeError(f"register(): argument 'func' must be an overridable function, got {func!r}")
    return func


def register(func: Callable[..., Any], types: tuple[type, type]) -> Callable[[F], F]:
    """Return a decorator that registers what `func` does with operands of two types that do not know each other.

    `types` are two classes; subclasses count, in either order. The rule is called with the arguments as the caller
    passed them, after every operand's type returned NotImplemented, and may return NotImplemented itself. The most
    specific rule answers. Raises TypeError when `func` cannot be overridden or `types` are not two classes, ValueError
    when the pair has a rule already or the rule is ambiguous with another one.

    >>> import tensorlike as tl
    >>> class Refusing:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return NotImplemented
    >>> class Metres(Refusing):
    ...     pass
    >>> class Feet(Refusing):
    ...     pass
    >>> @tl.overrides.register(tl.add, (Metres, Feet))
    ... def add_lengths(input, other):
    ...     return f"{type(input).__name__} plus {type(other).__name__}"
    >>> tl.add(Feet(), Metres())
    'Feet plus Metres'
    """
    key = _key_of(func)
    name = function_name(key)
    if not (isinstance(types, (tuple, list)) and len(types) == 2 and all(isinstance(t, type) for t in types)):
        raise TypeError(f"register(): argument 'types' must be a tuple of two classes, got {types!r}")
    pair = (types[0], types[1])

    def decorate(implementation: F) -> F:
        if not callable(implementation):
            raise TypeError(f"register(): the rule must be callable, got {implementation!r}")
        rules = _RULES.get(key, [])
        rule = _Rule(pair, implementation)
        if any(_within(pair, known.pair) and _within(known.pair, pair) for known in rules):
            raise ValueError(f"register(): {name} has a rule for {rule} already")
        _check_ambiguity(name, rule, rules)
        _RULES[key] = [*rules, rule]
        return implementation

    return decorate


def _covers(rule: _Rule, overriding: tuple[type, ...], present: Sequence[type]) -> bool:
    first, second = rule.pair
    if not all(issubclass(t, rule.pair) for t in overriding):
        return False
    return any(a is not b and issubclass(a, first) and issubclass(b, second) for a in present for b in present)


def _kinds(values: Iterable[Any]) -> Iterator[type]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _kinds(value)
        elif hasattr(type(value), "__torch_function__"):
            yield type(value)


def _settle(function: Any, overriding: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    rules = _RULES.get(function)
    if not rules or not overriding:
        return NotImplemented
    present = list(dict.fromkeys([*_kinds(args), *_kinds(kwargs.values())]))
    fitting = [rule for rule in rules if _covers(rule, overriding, present)]
    if not fitting:
        return NotImplemented
    best = [rule for rule in fitting if all(_within(rule.pair, other.pair) for other in fitting)]
    if not best:
        # Only a class that inherits from several registered ones gets here.
        raise TypeError(
            f"{function_name(function)}: the rules {', '.join(map(str, fitting))} all fit the operands and none is the "
            "most specific: register one for their own classes"
        )
    return best[0].implementation(*args, **kwargs)


register_pairwise(_settle)
