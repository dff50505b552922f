"""Writing a tensor-like type: a table of implementations, and a policy for what the table leaves out.

# Note [Which forms are variants]
`tl.sub(x, y)`, `x.sub(y)`, `x - y`, `y - x`, `x.sub_(y)` and `x -= y` reach a type as different functions. Those that
come from one declaration share it in the registry; functions composed of others have namesakes (`X`, `Tensor.X`,
`Tensor.X_`). Reflected operators of operations that do not commute are declared by themselves: `_REFLECTED` says whose
they are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from tensorlike.autograd.base import TensorBase
from tensorlike.dispatch.core import MISSING
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.registry import IGNORED, REGISTRY, Row
from tensorlike.dispatch.signature import POSITIONAL, VARIADIC, Parameter, parameters_of
from tensorlike.tensor.tensor import Tensor

__all__ = ["TensorLike", "implements", "refuse", "rewrap", "to_dense"]

F = TypeVar("F", bound=Callable[..., Any])
Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

_REFLECTED = {
    "sub": ("tensorlike.rsub", "tensorlike.Tensor.__rsub__"),
    "div": ("tensorlike.Tensor.__rtruediv__",),
    "floor_divide": ("tensorlike.Tensor.__rfloordiv__",),
    "remainder": ("tensorlike.Tensor.__rmod__",),
    "pow": ("tensorlike.Tensor.__rpow__",),
    "matmul": ("tensorlike.Tensor.__rmatmul__",),
    "bitwise_left_shift": ("tensorlike.Tensor.__rlshift__",),
    "bitwise_right_shift": ("tensorlike.Tensor.__rrshift__",),
}
# `x / y` reports `div`, and `true_divide` is `div` without a rounding mode.
_SAME = {"div": "tensorlike.true_divide"}
# Namesakes whose in-place method is another operation: it changes the view that the tensor is, or draws into it.
_OTHER_INPLACE = frozenset(("as_strided", "bernoulli", "detach", "normal", "swapaxes", "swapdims"))
_INPLACE_OPERATORS = frozenset(
    f"__i{name}__"
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()  # noqa: SIM905
)


def _writes(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether `func` overwrites its first operand."""
    name = getattr(func, "__name__", "")
    if name in _INPLACE_OPERATORS or name in ("__setitem__", "__set__", "__delete__"):
        return True
    if (name.endswith("_") and not name.endswith("__")) or kwargs.get("inplace") is True:
        return True
    if any(value is True for value in args[1:]):
        names = list(inspect.signature(func).parameters)
        return "inplace" in names and args[names.index("inplace") : names.index("inplace") + 1] == (True,)
    return False


def _mapped(value: Any, visit: Callable[[Any], Any]) -> Any:
    """Return `value` with `visit` applied to what its containers hold, and unchanged containers as they are."""
    if isinstance(value, dict):
        entries = {key: _mapped(item, visit) for key, item in value.items()}
        return value if all(entries[key] is item for key, item in value.items()) else entries
    if isinstance(value, (list, tuple)):
        items = [_mapped(item, visit) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return visit(value)


def refuse(cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return NotImplemented: a function that the type does not implement is left to the other operands' types.

    The caller gets TypeError when none of them answers.

    >>> import tensorlike as tl
    >>> class Closed(tl.overrides.TensorLike, unhandled=tl.overrides.refuse):
    ...     pass
    >>> tl.mean(Closed())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: no implementation found for 'tensorlike.mean' ...
    """
    return NotImplemented


class _ToDense:
    """Convert every operand of the type to a dense tensor, then call the function.

    Operands are found in lists, tuples and dictionaries and among the keyword arguments too. They are converted by
    their method `to_dense`, or by the function given in `to_dense.using(function)`. The result is what the function
    returns, and not of the type. Writing into an operand (in place, or as `out=`) would be lost with the conversion:
    such calls are refused, and raise TypeError unless another operand's type answers.

    >>> import tensorlike as tl
    >>> class Zeros(tl.overrides.TensorLike, unhandled=tl.overrides.to_dense):
    ...     def __init__(self, *size):
    ...         self.size = size
    ...     def to_dense(self):
    ...         return tl.zeros(self.size)
    >>> tl.cat([Zeros(2), tl.ones(1)])
    tensor([0., 0., 1.])
    """

    def __init__(self, convert: Callable[[Any], Any] | None = None) -> None:
        self.convert = convert
        self.__doc__ = type(self).__doc__

    def using(self, function: Callable[[Any], Any]) -> _ToDense:
        """Return the policy that converts an operand with `function(operand)`."""
        if not callable(function):
            raise TypeError(f"to_dense.using(): argument 'function' must be callable, got {function!r}")
        return _ToDense(function)

    def check(self, cls: type) -> None:
        """Raise TypeError when `cls` lacks what the policy needs."""
        # What a tensor inherits would come back to the policy and never end.
        if self.convert is None and getattr(cls, "to_dense", None) in (None, getattr(Tensor, "to_dense", None)):
            raise TypeError(
                f"{cls.__name__}: the policy to_dense needs a method to_dense(self) of its own; define it, or use "
                "unhandled=to_dense.using(function)"
            )

    def __call__(
        self, cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        written = [kwargs.get("out"), args[0] if args and _writes(func, args, kwargs) else None]
        lost: list[Any] = []

        def note(value: Any) -> Any:
            if isinstance(value, cls):
                lost.append(value)
            return value

        _mapped(written, note)
        if lost:
            return NotImplemented

        def convert(value: Any) -> Any:
            if not isinstance(value, cls):
                return value
            dense = value.to_dense() if self.convert is None else self.convert(value)  # type: ignore[attr-defined]
            if isinstance(dense, cls):
                raise TypeError(
                    f"{function_name(func)}: converting an operand of type {type(value).__name__} to dense gave "
                    f"{type(dense).__name__} again; return a tensor that is no {cls.__name__}"
                )
            return dense

        return func(*_mapped(tuple(args), convert), **_mapped(kwargs, convert))


to_dense = _ToDense()


class _Rewrap:
    """Unwrap every operand of the type, call the function, and wrap the tensors that it returns.

    The type gives `unwrap(self)`, which returns the tensor it holds (itself, not a copy: in-place functions write into
    it), and the classmethod `wrap(cls, tensor, like)`, which makes an instance in the manner of `like`, the first
    operand of the type. Operands and results are found in lists, tuples, named tuples and dictionaries. In-place
    functions and `out=` return the very object they were given.

    >>> import tensorlike as tl
    >>> class Named(tl.overrides.TensorLike, unhandled=tl.overrides.rewrap):
    ...     def __init__(self, tensor, name):
    ...         self.tensor, self.name = tensor, name
    ...     def unwrap(self):
    ...         return self.tensor
    ...     @classmethod
    ...     def wrap(cls, tensor, like):
    ...         return cls(tensor, like.name)
    >>> total = tl.sum(Named(tl.ones(3), "votes"))
    >>> total.tensor, total.name
    (tensor(3.), 'votes')
    """

    def __init__(self) -> None:
        self.__doc__ = type(self).__doc__

    def check(self, cls: type) -> None:
        """Raise TypeError when `cls` lacks what the policy needs."""
        missing = [name for name in ("unwrap(self)", "wrap(cls, tensor, like)") if not hasattr(cls, name.split("(")[0])]
        if missing:
            raise TypeError(f"{cls.__name__}: the policy rewrap needs {' and '.join(missing)}; define it in the class")

    def __call__(
        self, cls: Any, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        # By the identity of the tensor that a function may hand back; the list keeps the tensors alive meanwhile.
        originals: dict[int, Any] = {}
        held: list[Any] = []
        found: list[Any] = []

        def unwrap(value: Any) -> Any:
            if not isinstance(value, cls):
                return value
            tensor = value.unwrap()
            found.append(value)
            held.append(tensor)
            originals.setdefault(id(tensor), value)
            return tensor

        def keep(value: Any) -> Any:
            if isinstance(value, TensorBase) and not isinstance(value, cls):
                originals[id(value)] = value
            return value

        def wrap(value: Any) -> Any:
            original = originals.get(id(value))
            if original is not None:
                return original
            if isinstance(value, TensorBase) and not isinstance(value, cls):
                return cls.wrap(value, found[0])
            return value

        plain_args = _mapped(tuple(args), unwrap)
        plain_kwargs = _mapped(kwargs, unwrap)
        _mapped([kwargs.get("out"), args[0] if args and _writes(func, args, kwargs) else None], keep)
        result = func(*plain_args, **plain_kwargs)
        return _mapped(result, wrap) if found else result


rewrap = _Rewrap()


class TensorLike:
    """A base for tensor-like types that looks functions up in a table and leaves the rest to a policy.

    `@overrides.implements(func)` fills the table. Subclasses inherit it and may register their own. `unhandled`, given
    with the class and inherited, says what happens to functions that are in no table: `overrides.refuse`,
    `overrides.to_dense`, `overrides.rewrap`, or any `policy(cls, func, types, args, kwargs)`. Without one the next
    class's `__torch_function__` answers, that of `Tensor` for its subclasses; with no such class it is refused.

    Use it alone or in front of `Tensor`: `class Sub(overrides.TensorLike, tl.Tensor)`. Raises TypeError when a base
    with `__torch_function__` comes before it, or when the class lacks what its policy needs.

    >>> import tensorlike as tl
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

    def __init_subclass__(cls, *, unhandled: Callable[..., Any] | None = None, **options: Any) -> None:
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

    @classmethod
    def __torch_function__(
        cls, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answer with the implementation registered for `func`, or else as the policy says.

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


#: By class: what answers a function, and whether it was registered for it by name and not as a variant.
_TABLE = "_torch_function_table"


def _find(cls: type, func: Any) -> Handler | None:
    for base in cls.__mro__:
        table = base.__dict__.get(_TABLE)
        if table is not None and func in table:
            return table[func][0]  # type: ignore[no-any-return]
    return None


def _register(cls: type, entries: Sequence[tuple[Any, Handler, bool]]) -> None:
    if not issubclass(cls, TensorLike):
        raise TypeError(f"implements(): {cls.__name__} must be a subclass of overrides.TensorLike, whose table is used")
    table = cls.__dict__.get(_TABLE)
    if table is None:
        table = {}
        setattr(cls, _TABLE, table)
    for key, handler, named in entries:
        # Whoever names a variant means it, before or after the registration that covers them all.
        if named or not (key in table and table[key][1]):
            table[key] = (handler, named)


class _Pending:
    """An implementation in a class body, until the class is there to register it with."""

    def __init__(self, implementation: Callable[..., Any], entries: list[tuple[Any, Handler, bool]]) -> None:
        self.implementation = implementation
        self.entries = entries

    def __set_name__(self, owner: type, name: str) -> None:
        _register(owner, self.entries)
        setattr(owner, name, staticmethod(self.implementation))


def implements(
    func: Any, *, variants: bool = False, for_type: type | None = None, check: bool = True
) -> Callable[[F], F]:
    """Return a decorator that registers what a `TensorLike` type does for `func`.

    Use it in the class body, or elsewhere with `for_type=`. The implementation is a static function and is called with
    the arguments exactly as the caller passed them. In a class body it needs a name of its own, not that of a method of
    the type. It may be decorated several times.

    `variants=True` covers the function, the method, the operator, the reflected operator (operands swapped) and the
    in-place forms, each brought to the arguments of the function. In-place forms compute the result and write it with
    `copy_`, and return NotImplemented when the type does not answer that. A form registered by itself takes precedence.

    Raises TypeError when `func` cannot be overridden, when `for_type` is no `TensorLike`, and when the implementation
    does not accept every parameter of `func`, `out` included, by name, kind and default; `check=False` leaves that out.

    >>> import tensorlike as tl
    >>> class Shifted(tl.overrides.TensorLike):
    ...     def __init__(self, by):
    ...         self.by = by
    >>> @tl.overrides.implements(tl.sub, variants=True, for_type=Shifted)
    ... def sub_shifted(input, other, *, alpha=1, out=None):
    ...     return [getattr(x, "by", "tensor") for x in (input, other)]
    >>> tl.sub(Shifted(1), Shifted(2)), tl.ones(2) - Shifted(3)
    ([1, 2], ['tensor', 3])
    >>> @tl.overrides.implements(tl.mean, for_type=Shifted)
    ... def mean_shifted(input, dim=None):
    ...     return input.by
    Traceback (most recent call last):
        ...
    TypeError: implements(): mean_shifted() must accept every parameter of tensorlike.mean: missing 'keepdim', 'dtype', 'out'
    """  # noqa: E501 - the message is one line
    row, key = _resolve(func)
    if for_type is not None and not (isinstance(for_type, type) and issubclass(for_type, TensorLike)):
        raise TypeError(f"implements(): argument 'for_type' must be a subclass of TensorLike, got {for_type!r}")
    forms: list[Row] = []
    if variants:
        if row is None:
            raise TypeError(f"implements(): {function_name(key)} has no variants known here; leave out variants=True")
        forms = _forms(row)
        row = next((r for r in forms if r.form == "function"), row)

    def decorate(implementation: Any) -> Any:
        entries: list[tuple[Any, Handler, bool]] = []
        if isinstance(implementation, _Pending):
            entries, implementation = implementation.entries, implementation.implementation
        if isinstance(implementation, staticmethod):
            implementation = implementation.__func__
        if not callable(implementation):
            raise TypeError(f"implements(): the implementation must be callable, got {implementation!r}")
        if check:
            _check_signature(key if row is None else row, implementation)
        new = _entries(row, forms, implementation) if row is not None and variants else []
        # The one that was named, whichever form of it that is.
        named = next((e[1] for e in new if e[0] == key), _exactly(implementation))
        new = [(key, named, True), *new]
        if for_type is not None:
            _register(for_type, new)
            return implementation
        return _Pending(implementation, [*entries, *new])

    return decorate


def _resolve(func: Any) -> tuple[Row | None, Any]:
    if isinstance(func, property):
        func = func.__get__
    for row in REGISTRY.values():
        if row.key == func:
            return row, row.key
    for row in REGISTRY.values():
        if row.function is func:  # An operator that reports the method.
            return next((r for r in REGISTRY.values() if r.key == row.key), row), row.key
    for function, reason in IGNORED.values():
        if function is func:
            raise TypeError(f"implements(): {function_name(func)} cannot be overridden: it {reason}")
    if not callable(func):
        raise TypeError(f"implements(): argument 'func' must be an overridable function, got {func!r}")
    return None, func


def _short(row: Row) -> str:
    return row.name.rpartition(".")[2]


def _is_inplace(row: Row) -> bool:
    name = _short(row)
    return name in _INPLACE_OPERATORS or (name.endswith("_") and not name.endswith("__"))


def _base_name(row: Row) -> str:
    name = _short(row)
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def _forms(row: Row) -> list[Row]:
    """Return the rows of the same operation, but for reflected ones; see Note [Which forms are variants]."""
    found = dict.fromkeys([row, *getattr(row.declaration, "rows", ())])
    names = {_base_name(r) for r in found if r.form in ("function", "method", "inplace", "alias")}
    if row.namespace == "tensorlike":
        for name in sorted(names):
            full_names = [f"tensorlike.{name}", f"tensorlike.Tensor.{name}"]
            if name not in _OTHER_INPLACE and not getattr(row.declaration, "view", False):
                full_names.append(f"tensorlike.Tensor.{name}_")
            for full_name in full_names:
                other = REGISTRY.get(full_name)
                if other is not None:
                    found[other] = None
        for name in sorted(names & set(_SAME)):
            found.update(dict.fromkeys(REGISTRY[_SAME[name]].declaration.rows))
    return list(found)


def _exactly(implementation: Callable[..., Any]) -> Handler:
    return lambda cls, args, kwargs: implementation(*args, **kwargs)


def _entries(row: Row, forms: Sequence[Row], implementation: Callable[..., Any]) -> list[tuple[Any, Handler, bool]]:
    entries: list[tuple[Any, Handler, bool]] = []
    reflected: dict[str, None] = {}
    for form in forms:
        adapt = _adapter(row, form)
        handler = (_inplace if _is_inplace(form) else _adapted)(implementation, adapt)
        entries.append((form.key, handler, False))
        if form.namespace == "tensorlike":
            reflected.update(dict.fromkeys(_REFLECTED.get(_base_name(form), ())))
    for full_name in reflected:
        other = REGISTRY.get(full_name)
        if other is not None:
            entries.append((other.key, _swapped(implementation, _names(other), _names(row)), False))
    return entries


def _names(row: Row) -> list[str]:
    return [p.name for p in row.parameters if p.kind == POSITIONAL]


Adapter = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def _adapter(row: Row, form: Row) -> Adapter:
    """Return what turns the arguments of `form` into those of the function of `row`."""
    target = {p.name: p for p in row.parameters}
    at = next((i for i, p in enumerate(form.parameters) if p.kind == VARIADIC), None)
    spread = form.parameters[at].name if at is not None else ""
    if at is None or (spread in target and target[spread].kind == VARIADIC):
        at = None
    renamed = {mine: theirs for mine, theirs in zip(_names(form), _names(row), strict=False) if mine not in target}
    optional = spread in target and target[spread].default is not MISSING

    names = _names(form)
    if names[:1] == ["self"] and "input" in _names(row)[1:]:  # As in `x.where(condition, other)`.
        names[0] = "input"
        return lambda args, kwargs: ((), dict(zip(names, args, strict=False)) | kwargs)

    def adapt(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if at is not None and spread not in kwargs:
            rest = args[at:]
            if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
                rest = (rest[0],)
            elif rest or not optional:
                rest = (tuple(rest),)
            args = (*args[:at], *rest)
        return args, {renamed.get(name, name): value for name, value in kwargs.items()}

    return adapt


def _adapted(implementation: Callable[..., Any], adapt: Adapter) -> Handler:
    def handler(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = adapt(args, kwargs)
        return implementation(*args, **kwargs)

    return handler


def _swapped(implementation: Callable[..., Any], theirs: Sequence[str], mine: Sequence[str]) -> Handler:
    def handler(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = dict(zip(theirs, args, strict=False)) | kwargs
        first, second = values.pop(theirs[0]), values.pop(theirs[1])
        return implementation(second, first, **values)

    return handler


def _inplace(implementation: Callable[..., Any], adapt: Adapter) -> Handler:
    def handler(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = args[0] if args else kwargs["self"]
        args, kwargs = adapt(args, kwargs)
        result = implementation(*args, **kwargs)
        if result is NotImplemented:
            return NotImplemented
        if result is target:
            return target
        if isinstance(target, cls) or isinstance(result, cls):
            answer = cls.__torch_function__(Tensor.copy_, (cls,), (target, result), {})
            return NotImplemented if answer is NotImplemented else target
        if not (isinstance(target, TensorBase) and isinstance(result, TensorBase)):
            return NotImplemented
        target.copy_(result)  # type: ignore[attr-defined]
        return target

    return handler


def _parameters(function: Any) -> tuple[Parameter, ...] | None:
    if isinstance(function, Row):
        return function.parameters
    function = inspect.unwrap(function)
    return parameters_of(function) if inspect.isfunction(function) else None


def _equal(left: Any, right: Any) -> bool:
    if left is right:
        return True
    try:
        return bool(left == right)
    except (TypeError, ValueError, RuntimeError):  # Arrays and tensors have no single truth value.
        return False


def _check_signature(function: Any, implementation: Callable[..., Any]) -> None:
    wanted = _parameters(function)
    try:
        given = list(inspect.signature(implementation).parameters.values())
    except (TypeError, ValueError):  # Written in C, with no signature to be had.
        return
    if wanted is None:
        return
    kinds = inspect.Parameter
    positional = [p for p in given if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    named = {p.name: p for p in given if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)}
    takes_rest = any(p.kind == kinds.VAR_POSITIONAL for p in given)
    takes_names = any(p.kind == kinds.VAR_KEYWORD for p in given)
    missing: list[str] = []
    faults: list[str] = []
    used: set[str] = set()
    for index, p in enumerate(wanted):
        if p.kind == VARIADIC:
            if not takes_rest:
                missing.append(f"'*{p.name}'")
            continue
        if p.kind == POSITIONAL and p.name == "self" and (takes_rest or index < len(positional)):
            used.update(q.name for q in positional[index : index + 1])  # Nobody passes it by name.
            continue
        found = named.get(p.name)
        if found is None:
            if not (takes_names and (p.kind != POSITIONAL or (takes_rest and len(positional) <= index))):
                missing.append(f"'{p.name}'")
            continue
        used.add(found.name)
        if p.kind == POSITIONAL and found not in positional[index : index + 1]:
            words = "comes at another position" if found in positional else "takes no positional argument"
            faults.append(f"'{p.name}' {words}")
        elif p.default is not MISSING and not _equal(found.default, p.default):
            words = "none" if found.default is kinds.empty else repr(found.default)
            faults.append(f"'{p.name}' has the default {words} and not {p.default!r}")
    for parameter in given:
        required = parameter.default is kinds.empty and parameter.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        if required and parameter.name not in used:
            faults.append(f"'{parameter.name}' is no parameter of it and has no default")
    words = "; ".join([*(["missing " + ", ".join(missing)] if missing else []), *faults])
    if words:
        name = function.full_name if isinstance(function, Row) else function_name(function)
        label = getattr(implementation, "__name__", repr(implementation))
        raise TypeError(f"implements(): {label}() must accept every parameter of {name}: {words}")
