"""Writing a tensor-like type: a table of implementations, and a policy for all other functions.

# Note [In a class body]
`implements` finds the class body that it is used in on the stack and stores the registrations there, so that two
implementations may have one name, `_` for example. Python 3.11 turns an error of `__set_name__` into a RuntimeError
without a reason, but passes on an error of looking `__set_name__` up: there `_Registration` registers the entries of
`_Body`, or raises for a class that is no TensorLike.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.forks import renew_after_fork
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.tracebacks import named_errors, short_tracebacks

from .methods import PROTOCOLS, give_methods, give_to_class, method_names, method_of, release_implementations
from .registration import check_signature, implementation_name, plain_function, resolved, same_implementation
from .variants import NAMED, Handler, entries_of, exactly, forms_of

__all__ = ["TensorLike", "implements"]

if TYPE_CHECKING:
    # What policies give, as tools/generate_stubs.py writes it down for type checkers.
    from ._operators import TensorLikeOperators
else:
    TensorLikeOperators = object

F = TypeVar("F", bound=Callable[..., Any])


class TensorLike(TensorLikeOperators):
    """A base for tensor-like types that looks functions up in a table and applies a policy to all others.

    `@overrides.implements(func)` fills the table. Subclasses inherit it and may register their own. `unhandled`, given
    with the class and inherited, is the policy for functions that are in no table: `overrides.refuse`,
    `overrides.to_dense`, `overrides.rewrap`, or any `policy(cls, func, types, args, kwargs)`. Without one the next
    class's `__torch_function__` answers, that of `Tensor` for its subclasses; with no such class it is refused.

    A type with a policy other than `refuse` has the methods, attributes and operators of `Tensor`, each type those of
    what it implements with `variants=True`; `methods=False` leaves out the former. What Python asks of any object
    (`bool(x)`, `x == y`, `len(x)`, `iter(x)`, `x[0]`, `float(x)`, `numpy.asarray(x)`) is answered by the table or the
    policy, or raises TypeError. Definitions of the type, its bases and instances come first.

    Use it alone or in front of `Tensor`: `class Sub(overrides.TensorLike, tl.Tensor)`. Raises TypeError when a base
    with `__torch_function__` comes before it, or when the class lacks what its policy needs.

    >>> class Constant(tl.overrides.TensorLike):
    ...     def __init__(self, value):
    ...         self.value = value
    ...     @tl.overrides.implements(tl.mean)
    ...     def mean_of_constant(input, dim=None, keepdim=False, *, dtype=None, out=None):
    ...         return input.value
    >>> tl.mean(Constant(3.0))
    3.0
    """

    __slots__ = ()

    _torch_function_policy: ClassVar[Any] = None

    #: Whether a policy that answers every function gives the type the methods and attributes of `Tensor`, set by
    #: `methods=` of the class.
    __tensor_methods__: ClassVar[bool] = True

    def __init_subclass__(
        cls, *, unhandled: Callable[..., Any] | None = None, methods: bool | None = None, **options: Any
    ) -> None:
        after = cls.__mro__[cls.__mro__.index(TensorLike) + 1 :]
        if options and not any("__init_subclass__" in base.__dict__ for base in after if base is not object):
            raise TypeError(
                f"{cls.__name__}: no base takes the class keyword {next(iter(options))!r}; the policy for functions "
                f"without an implementation is given as unhandled=, e.g. unhandled={LIBRARY}.overrides.refuse"
            )
        super().__init_subclass__(**options)
        for base in cls.__mro__:
            if base is TensorLike:
                break
            if "__torch_function__" in base.__dict__ and not issubclass(base, TensorLike):
                raise TypeError(
                    f"{cls.__name__}: {base.__name__} comes before TensorLike and would answer in its place; write "
                    f"class {cls.__name__}(TensorLike, {base.__name__})"
                )
        if unhandled is not None:
            if not callable(unhandled):
                raise TypeError(
                    f"{cls.__name__}: argument 'unhandled' must be a policy such as overrides.refuse, got {unhandled!r}"
                )
            check = getattr(unhandled, "check", None)
            if check is not None:
                check(cls)
            # A function in a class would become a method.
            cls._torch_function_policy = staticmethod(unhandled)
        if methods is not None:
            cls.__tensor_methods__ = methods
        give_to_class(cls, TensorLike)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return method_of(self, name)

    def __dir__(self) -> Iterable[str]:
        return sorted({*super().__dir__(), *method_names(type(self))})

    # Any, so that a subclass may annotate `types` with a tuple or with a sequence and hand it on.
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Run the implementation registered for `func`, or else the policy.

        An implementation that returns NotImplemented leaves the call to the other operands' types, not to the policy.
        """
        kwargs = {} if kwargs is None else kwargs
        handler = _find(cls, func)
        if handler is not None:
            return handler(cls, args, kwargs)
        policy = cls._torch_function_policy
        if policy is not None:
            return policy(cls, func, types, args, kwargs)
        inherited = getattr(super(), "__torch_function__", None)
        return NotImplemented if inherited is None else inherited(func, types, args, kwargs)


for _name, _protocol in PROTOCOLS.items():
    setattr(TensorLike, _name, _protocol)

#: By class: the entries by function.
_TABLE = "_torch_function_table"
#: In a class body: see Note [In a class body].
_BODY, _REGISTRATION = "_torch_function_body", "_torch_function_registration"
_lock = threading.RLock()
renew_after_fork(globals(), "_lock")


class _Entry(NamedTuple):
    """The implementation of one function, the rank of the registration, and the user's own function."""

    key: Any
    handler: Handler
    rank: int
    #: The function that was registered by name, of which `key` is a form.
    registered: Any
    implementation: Callable[..., Any]


def _find(cls: type, func: Callable[..., Any]) -> Handler | None:
    for base in cls.__mro__:
        table = base.__dict__.get(_TABLE)
        if table is not None and func in table:
            return table[func].handler  # type: ignore[no-any-return]
    return None


def registered_implementations(cls: type) -> list[Callable[..., Any]]:
    """Return the functions that are registered for `cls` itself, each once."""
    return list(
        {id(entry.implementation): entry.implementation for entry in cls.__dict__.get(_TABLE, {}).values()}.values()
    )


def registered_entries(cls: type) -> list[tuple[Any, Any]]:
    """Return (registered function, form) of every function that an implementation of `cls` or of its bases answers."""
    found: dict[Any, Any] = {}
    for base in reversed(cls.__mro__):
        found.update({key: entry.registered for key, entry in base.__dict__.get(_TABLE, {}).items()})
    return [(registered, key) for key, registered in found.items()]


def _register(cls: type, entries: Sequence[_Entry], *, again: bool = True) -> None:
    """Add `entries` to the table of `cls`, all of them or none; `again`: one may be there already and is replaced."""
    with _lock:
        table = dict(cls.__dict__.get(_TABLE, {}))
        if again:
            for key, known in list(table.items()):
                new = entries[-1]
                if known.registered == new.registered and same_implementation(known.implementation, new.implementation):
                    del table[key]
        for entry in entries:
            known = table.get(entry.key)
            if known is None or known.rank < entry.rank:
                table[entry.key] = entry
                continue
            mine, theirs = known.implementation, entry.implementation
            if known.rank == NAMED == entry.rank and mine is not theirs:
                raise ValueError(
                    f"implements(): {function_name(entry.key)} is implemented twice for {cls.__name__}: by "
                    f"{implementation_name(mine)} and {implementation_name(theirs)}; "
                    "leave one out, or give it to a subclass"
                )
            if known.rank == entry.rank:
                table[entry.key] = entry
        setattr(cls, _TABLE, table)  # A call in another thread sees the old table or the new one.


class _Body:
    """The registrations of a class body; it gets the class once that exists."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self.variants: list[Form] = []
        self.owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner = owner


class _Registration:
    """Registers the entries of a class body for the class made from it."""

    def __init__(self, body: _Body) -> None:
        self.body = body

    @property
    def __set_name__(self) -> Callable[[type, str], None]:
        owner = self.body.owner
        if owner is None:
            return lambda owner, name: None
        if not issubclass(owner, TensorLike):
            bases = ", ".join(["TensorLike", *(b.__name__ for b in owner.__bases__ if b is not object)])
            raise TypeError(
                f"implements(): {owner.__name__} must be a subclass of overrides.TensorLike, whose table is used; "
                f"write class {owner.__name__}({bases})"
            )
        delattr(owner, _BODY)
        delattr(owner, _REGISTRATION)
        _register(owner, self.body.entries, again=False)
        implementations = [entry.implementation for entry in self.body.entries]
        release_implementations(owner, implementations)
        give_methods(owner, self.body.variants, implementations)
        return lambda owner, name: None


def _class_body() -> dict[str, Any] | None:
    """Return the names of the class body that is being run by the caller of `implements`, or None."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_locals is not frame.f_globals:
        # Functions are optimized, class bodies are not.
        if not frame.f_code.co_flags & inspect.CO_OPTIMIZED and "__qualname__" in frame.f_locals:
            return frame.f_locals
        frame = frame.f_back  # type: ignore[assignment]
    return None


@named_errors
def implements(
    func: Any, *, variants: bool = False, for_type: type | None = None, check: bool = True
) -> Callable[[F], F]:
    """Return a decorator that registers the implementation of `func` for a `TensorLike` type.

    Use it in the class body, or elsewhere with `for_type=`. The implementation is a static function and is called with
    the arguments exactly as the caller passed them. In a class body its name counts for nothing (it may be `_`), but one
    that another method of the type has would hide that method. It may be decorated several times.

    `variants=True` covers the function, the method, the operator, the reflected operator (operands swapped), the
    in-place forms, and the functions of other namespaces that are the same (`linalg.matmul`, `special.expit`), each
    brought to the arguments of the function. In-place forms compute the result and write it with `copy_`, and return
    NotImplemented when the type does not answer that. A form registered by itself takes precedence. A type that is no
    subclass of `Tensor` gets the methods and operators, unless it has its own.

    Registering a function of the same module and name again, as in a notebook's cell that runs twice, replaces it.

    Raises TypeError when `func` cannot be overridden, when there is no class body and no `for_type`, when the type is no
    `TensorLike`, and when the implementation does not accept every parameter of `func`, `out` included, by name, kind
    and default; `check=False` leaves the last out. Raises ValueError for two implementations of one function in a class.

    >>> class Shifted(tl.overrides.TensorLike):
    ...     def __init__(self, by):
    ...         self.by = by
    >>> @tl.overrides.implements(tl.sub, variants=True, for_type=Shifted)
    ... def sub_shifted(input, other, *, alpha=1, out=None):
    ...     return [getattr(x, "by", "tensor") for x in (input, other)]
    >>> tl.sub(Shifted(1), Shifted(2)), tl.ones(2) - Shifted(3), Shifted(4).sub(5)
    ([1, 2], ['tensor', 3], [4, 'tensor'])
    >>> @tl.overrides.implements(tl.mean, for_type=Shifted)
    ... def mean_shifted(input, dim=None):
    ...     return input.by
    Traceback (most recent call last):
        ...
    TypeError: implements(): mean_shifted() must accept every parameter of tensorlike.mean: missing 'keepdim', 'dtype', 'out'
    """  # noqa: E501 - the message is one line
    if for_type is not None and not (isinstance(for_type, type) and issubclass(for_type, TensorLike)):
        raise TypeError(f"implements(): argument 'for_type' must be a subclass of TensorLike, got {for_type!r}")
    body = _class_body() if for_type is None else None
    if body is not None and getattr(func, "__qualname__", "").startswith(f"{body['__qualname__']}."):
        raise TypeError(
            f"implements(): no function was given that {func.__name__}() implements; write e.g. "
            f"@implements({LIBRARY}.mean) above it"
        )
    row, key = resolved("implements()", func)
    forms: list[Form] = []
    if variants:
        if row is None:
            raise TypeError(f"implements(): {function_name(key)} has no variants known here; leave out variants=True")
        row, forms = forms_of(row)

    @short_tracebacks
    def decorate(implementation: Any) -> Any:
        function = plain_function("implements()", implementation)
        if check:
            check_signature("implements()", key if row is None else row, function)
        found = entries_of(row, forms, function) if row is not None and variants else []
        # The one that was named, whichever form of it that is.
        named = next((handler for form, handler, _ in found if form.key == key), exactly(function))
        entries = [_Entry(form.key, handler, rank, key, function) for form, handler, rank in found]
        entries.append(_Entry(key, named, NAMED, key, function))
        if for_type is not None:
            _register(for_type, entries)
            give_methods(for_type, [form for form, _, _ in found])
            return implementation
        body = _class_body()
        if body is None:
            name = getattr(function, "__name__", repr(function))
            raise TypeError(
                f"implements(): {name}() is in no class body, so there is no type to register it with; write "
                f"@implements({function_name(key)}, for_type=...)"
            )
        if _BODY not in body:
            body[_BODY] = _Body()
            body[_REGISTRATION] = _Registration(body[_BODY])
        body[_BODY].entries.extend(entries)
        body[_BODY].variants.extend(form for form, _, _ in found)
        return staticmethod(function)

    return decorate
