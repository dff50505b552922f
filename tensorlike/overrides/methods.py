"""The methods, attributes and protocols of Python that a `TensorLike` type has beside its functions.

# Note [Methods of a duck type]
A subclass of `Tensor` inherits the methods and operators whose calls its `__torch_function__` answers. A duck type has
none. It gets those of `Tensor`, as they are: they dispatch on their operands, so that the type's table and its policy
answer. What a class, a base or an instance defines itself always comes first.

- *Protocols* (`bool(x)`, `len(x)`, `x == y`, `iter(x)`, ...) are those of every `TensorLike` type, since Python's own
  answers for an object are wrong for a tensor: always true, equal by identity. A type that answers neither by its table
  nor by its policy raises TypeError.
- *Operators* are asked of the class, `x + 1` of `type(x)`. A class gets those that `variants=True` registers, and all
  where a policy answers every function. In-place operators are for types that can be written into; to the others Python
  gives a new object, `x = x + 1` for `x += 1`, as it does for numbers.
- *Methods and attributes* are those of types whose policy answers every function. They are looked up when an attribute
  is missing (`__getattr__`), so that a class costs nothing and no name is taken from it: a dataclass may have a field
  `mean`. What is asked of an instance by its own `unwrap()` or `to_dense()` is missing, since the answer would need it.
- *Attributes that can be set* (`x.grad = None`) write through where the type can be written into. Those that a type
  keeps itself stay its own: the annotated ones, and those that its methods set, such as `self.data` in `__init__`.

NumPy leaves operators to a type with `__array_ufunc__ = None`: `array * x` asks `x.__rmul__`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import STATE, plan_for, unanswered
from tensorlike.dispatch.operation import Form, form_of
from tensorlike.tensor.declarations.forms import operator_of
from tensorlike.tensor.tensor import Tensor

from .policies import refuse
from .variants import operators

__all__ = ["PROTOCOLS", "give_methods", "give_to_class", "has_methods", "method_names", "method_of", "writes"]

#: By class: the names that it was given here, which are no definitions of its own.
_GIVEN = "_torch_function_given"


# ------------------------------------------------------------------------------------------------ protocols of Python


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    """Return `==` or `!=`: where every type refuses it raises, since Python would go on to compare identities."""
    asked = getattr(Tensor, name)
    form: Any = form_of(asked)
    operand = operator_of(name)

    def comparison(self: Any, other: object) -> Any:
        result = asked(self, other)
        if result is not NotImplemented:
            return result
        kind = type(other)
        if not operand.acceptable(other) and operand.replaced(self, other) is NotImplemented:
            return NotImplemented  # As for a tensor.
        if hasattr(kind, "__torch_function__") and getattr(kind, name) not in (
            getattr(object, name),
            asked,
            comparison,
        ):
            return NotImplemented  # The other type has a method of its own.
        if name == "__ne__" and type(self).__eq__ is not PROTOCOLS["__eq__"]:
            return object.__ne__(self, other)  # As Python has it: the opposite of the type's own answer.
        operands = (self, other)
        plan = plan_for(tuple(map(type, operands)))
        return unanswered((form.reports or form).key, plan, operands, operands, {})

    comparison.__name__, comparison.__qualname__ = name, f"TensorLike.{name}"
    comparison.__doc__ = asked.__doc__
    return comparison


def _by_index(self: Any) -> Iterator[Any]:
    index = 0
    while True:
        try:
            element = self[index]
        except IndexError:
            return
        yield element
        index += 1


def _iter(self: Any) -> Iterator[Any]:
    """Iterate over the first dimension: by `x[i]` where the type defines that itself, else by `Tensor.unbind`."""
    if type(self).__getitem__ is not Tensor.__getitem__:
        return _by_index(self)
    try:
        return iter(Tensor.unbind(self, 0))
    except (IndexError, RuntimeError):
        if Tensor.dim(self) == 0:
            raise TypeError("iteration over a 0-d tensor") from None
        raise


def _contains(self: Any, element: object) -> Any:
    """Return whether an element of the tensor equals `element`."""
    kind = type(self)
    if kind.__iter__ is not _iter or kind.__getitem__ is not Tensor.__getitem__:
        return any(value is element or value == element for value in self)
    return Tensor.__contains__(self, element)


def _format(self: Any, format_spec: str) -> Any:
    """Return `str(x)`, or what `Tensor.__format__` answers for a format."""
    return Tensor.__format__(self, format_spec) if format_spec else str(self)


def _number(name: str, convert: type, *others: str) -> Callable[[Any], Any]:
    """Return `float(x)` and the like: as in Python, by the type's own `__index__` where it defines that alone."""
    asked = getattr(Tensor, name)

    def number(self: Any) -> Any:
        for other in others:
            own = getattr(type(self), other)
            if own is not PROTOCOLS[other]:
                return convert(own(self))
        return asked(self)

    number.__name__, number.__qualname__ = name, f"TensorLike.{name}"
    number.__doc__ = asked.__doc__
    return number


#: What every `TensorLike` type has: see Note [Methods of a duck type].
PROTOCOLS: dict[str, Any] = {
    **{name: getattr(Tensor, name) for name in ("__bool__", "__len__", "__index__", "__getitem__", "__setitem__")},
    "__array__": Tensor.__array__,
    "__contains__": _contains,
    "__eq__": _comparison("__eq__"),
    "__format__": _format,
    "__hash__": object.__hash__,
    "__iter__": _iter,
    "__ne__": _comparison("__ne__"),
}
PROTOCOLS["__float__"] = _number("__float__", float, "__index__")
PROTOCOLS["__int__"] = _number("__int__", int, "__index__")
PROTOCOLS["__complex__"] = _number("__complex__", complex, "__float__", "__index__")


# --------------------------------------------------------------------------------------- what a class has, and is given


def has_methods(cls: Any) -> bool:
    """Return whether instances have the attributes and methods of `Tensor`: a policy answers every function."""
    policy = cls._torch_function_policy
    return bool(cls.__tensor_methods__) and policy is not None and policy is not refuse


def writes(cls: Any) -> bool:
    """Return whether a type can be written into: its policy says so, or it answers `copy_`."""
    if getattr(cls._torch_function_policy, "writes", False):
        return True
    return any(Tensor.copy_ in base.__dict__.get("_torch_function_table", ()) for base in cls.__mro__)


def give_methods(cls: Any, forms: Iterable[Form], implementations: Iterable[Any] = ()) -> None:
    """Give `cls` the methods and operators among `forms` that it lacks: see Note [Methods of a duck type].

    A name under which the class body has one of the `implementations` is taken for the method.
    """
    inplace = writes(cls)
    for form in forms:
        kind, _, name = form.name.rpartition(".")
        if kind != "Tensor" or form.kind in ("property", "setter") or name in PROTOCOLS:
            continue
        if form.kind == "operator" and form.inplace and not inplace:
            continue
        own = cls.__dict__.get(name)
        is_implementation = isinstance(own, staticmethod) and own.__func__ in implementations
        if is_implementation or _lacks(cls, name):
            _give(cls, {name: form.function})


def give_to_class(cls: Any, tensor_like: type) -> None:
    """Give a new class of `TensorLike`, the `tensor_like`, what is asked of it: see Note [Methods of a duck type]."""
    _prefer_definitions(cls, tensor_like)
    if issubclass(cls, TensorBase):
        return
    given: dict[str, Any] = {}
    if not hasattr(cls, "__array_ufunc__"):
        given["__array_ufunc__"] = None
    says = "_torch_function_policy" in cls.__dict__ or "__tensor_methods__" in cls.__dict__
    if says and has_methods(cls):
        # In the class itself, where a dataclass looks before it writes its own.
        given |= {name: PROTOCOLS[name] for name in ("__eq__", "__ne__", "__hash__") if _inherits(cls, name)}
        inplace = writes(cls)
        found = ((name, function) for name, function, writing in _operators() if inplace or not writing)
        given |= {name: function for name, function in found if _lacks(cls, name)}
        if inplace:
            given |= {name: _Settable(name) for name in _settable() if _lacks(cls, name)}
    _give(cls, given)


def release_implementations(cls: Any, implementations: Iterable[Any]) -> None:
    """Remove from `cls` the implementations that stand under the name of a protocol, which asks the table."""
    for name in PROTOCOLS:
        own = cls.__dict__.get(name)
        if isinstance(own, staticmethod) and own.__func__ in implementations:
            delattr(cls, name)


def _lacks(cls: Any, name: str) -> bool:
    return getattr(cls, name, None) is getattr(object, name, None)


def _inherits(cls: Any, name: str) -> bool:
    return name not in cls.__dict__ and getattr(cls, name) is PROTOCOLS[name]


def _give(cls: Any, given: dict[str, Any]) -> None:
    for name, value in given.items():
        setattr(cls, name, value)
    setattr(cls, _GIVEN, cls.__dict__.get(_GIVEN, frozenset()).union(given))


def _prefer_definitions(cls: Any, tensor_like: type) -> None:
    """Put before what was given to `cls` and its bases the definitions of bases that come after those."""
    others = [base for base in cls.__mro__ if base is not object and not issubclass(base, tensor_like)]
    if not others:
        return
    given = set(PROTOCOLS).union(*(base.__dict__.get(_GIVEN, ()) for base in cls.__mro__))
    for name in given.intersection(*[set().union(*(base.__dict__ for base in others))]):
        if name in ("__eq__", "__ne__") and not any(name in base.__dict__ for base in others if base not in _TENSORS):
            continue  # That of `Tensor` is asked, and says when it is refused.
        for base in cls.__mro__:
            if base is tensor_like or name in base.__dict__.get(_GIVEN, ()) or name not in base.__dict__:
                continue
            if base in others:
                setattr(cls, name, base.__dict__[name])
            break


_TENSORS = tuple(base for base in Tensor.__mro__ if base is not object)


@cache
def _operators() -> tuple[tuple[str, Any, bool], ...]:
    """Return (name, function, whether it writes) of what Python asks a class besides the protocols."""
    found = [(form.name.rpartition(".")[2], form.function, bool(form.inplace)) for form in operators()]
    more = [(name, getattr(Tensor, name), False) for name in ("__pos__", "__reversed__")]
    return tuple(entry for entry in (*found, *more) if entry[0] not in PROTOCOLS)


# ---------------------------------------------------------------------------------------------- attributes of instances


@cache
def _members() -> dict[str, Any]:
    """Return the public methods and properties of `Tensor` that ask types about their calls."""
    found = {}
    for name in dir(Tensor):
        if name.startswith("_"):
            continue
        member = getattr(Tensor, name)
        form = form_of(member.__get__ if isinstance(member, property) else member)
        if form is not None:
            found[name] = (member, bool(form.inplace))
    return found


@cache
def _settable() -> tuple[str, ...]:
    return tuple(name for name, (member, _) in _members().items() if isinstance(member, property) and member.fset)


def method_names(cls: Any) -> list[str]:
    """Return the names of the methods and attributes that instances have by the policy of their class."""
    if not has_methods(cls) or issubclass(cls, TensorBase):
        return []
    inplace = writes(cls)
    return [name for name, (_, writing) in _members().items() if inplace or not writing]


def method_of(self: Any, name: str) -> Any:
    """Return an attribute of `Tensor`, asked of a tensor-like instance that lacks it; the rule of `__getattr__`."""
    cls = type(self)
    if not name.startswith("_"):
        if has_methods(cls) and not issubclass(cls, TensorBase):
            member, writing = _members().get(name, (None, False))
            converted = any(self is value for value in STATE.get().converting)
            if member is not None and not converted and (not writing or writes(cls)):
                return member.__get__(self, cls)
        if not isinstance(inspect.getattr_static(cls, name, None), (_Settable, type(None))):
            return object.__getattribute__(self, name)  # A property that raised: its own error says what is missing.
    raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}", name=name, obj=self)


class _Settable:
    """An attribute of `Tensor` that can be set, of a type that can be written into."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: Any = None) -> Any:
        if instance is None:
            if self._annotated(owner):
                raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
            return self
        own = getattr(instance, "__dict__", {})
        return own[self.name] if self.name in own else method_of(instance, self.name)

    def __set__(self, instance: object, value: object) -> None:
        own: Any = getattr(instance, "__dict__", None)
        kept = own is not None and (self.name in own or self._annotated(type(instance)) or _in_method(instance))
        if kept:
            own[self.name] = value
            return
        try:
            getattr(Tensor, self.name).__set__(instance, value)
        except AttributeError as error:
            # What `unwrap` looks for on the instance is the type's own.
            if own is None or error.obj is not instance or error.name != self.name:
                raise
            own[self.name] = value

    def __delete__(self, instance: object) -> None:
        own = getattr(instance, "__dict__", {})
        if self.name not in own:
            raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self.name!r} of its own")
        del own[self.name]

    def _annotated(self, cls: Any) -> bool:
        return any(self.name in inspect.get_annotations(base) for base in cls.__mro__ if base is not object)


def _in_method(instance: object) -> bool:
    """Return whether the attribute of `instance` is being set in a method that its class or a base defines."""
    frame = sys._getframe(2)
    code = frame.f_code
    if code.co_name == "__init__" and frame.f_locals.get(code.co_varnames[0]) is instance:
        return True  # Made by a decorator of the class, under another qualified name.
    owner = code.co_qualname.rpartition(".")[0]
    return any(base.__qualname__ == owner for base in type(instance).__mro__)
