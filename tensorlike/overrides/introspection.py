"""Listings of overridable functions, their names and signatures, computed from the registry.

# Note [What is public]
A row of the registry is public when its function can be found at its dotted name and no part of that name starts with
an underscore. Dunder methods and what PyTorch has of that kind (`_base`, `_grad`, `_version`, `_is_view`) are the
exceptions. `public_rows` has what types receive, so that operators are there once, as the method that types
are asked about. The lists are PyTorch's, which has the operators too: see Note [The lists are PyTorch's].
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

from tensorlike import functional
from tensorlike._library_name import LIBRARY, spoken_name
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.registry import IGNORED, REGISTRY, registered
from tensorlike.dispatch.signature import KEYWORD, VARIADIC
from tensorlike.tensor.tensor import Tensor, nowrap_functions

from .ignored import asked, unlisted, without_operands

__all__ = [
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "public_rows",
    "resolve_name",
]

_PROPERTIES = ("property", "setter")


def _is_private(part: str) -> bool:
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def _path(row: Form) -> list[str]:
    """Return the names that lead from the module of `row` to its function or property."""
    path = row.name.split(".")
    return path[:-1] if row.kind in _PROPERTIES else path


def _module(name: str) -> Any:
    """Return the module of a namespace, imported if it is a part of the library that nothing has used yet."""
    found = sys.modules.get(name)
    if found is None and name.startswith("tensorlike."):
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError:  # An internal namespace, which is a name and nothing else.
            return None
    return found


def _import_namespaces() -> None:
    """Import the modules named in the registry, and those that these register in turn."""
    seen: set[str] = set()
    while missing := {row.namespace for row in REGISTRY.values()} - seen:
        for name in missing:
            _module(name)
        seen |= missing


def owner_of(row: Form) -> Any:
    """Return the module or class that holds the function of `row`, or None when it is not to be found there."""
    owner: Any = _module(row.namespace)
    *outer, last = _path(row)
    for name in outer:
        owner = getattr(owner, name, None)
    return owner if owner is not None and hasattr(owner, last) else None


def _is_public(row: Form) -> bool:
    if not row.overridable or any(map(_is_private, row.namespace.split("."))):
        return False
    if row.kind in _PROPERTIES or row.function is Tensor._is_view:
        return True
    return not any(map(_is_private, row.name.split(".")))


def public_rows() -> list[tuple[Any, Form]]:
    """Return every overridable function as (namespace object, row), sorted by name: see Note [What is public]."""
    _import_namespaces()
    found = []
    for row in REGISTRY.values():
        if not _is_public(row) or row.reports is not None:
            continue
        owner = owner_of(row)
        if owner is not None:
            found.append((owner, row))
    return sorted(found, key=_order)


def _order(pair: tuple[Any, Form]) -> tuple[str, bool, str]:
    row = pair[1]
    return row.namespace, row.name.rpartition(".")[0] != "", row.name


def _listed() -> list[tuple[Any, Form, Callable[..., Any]]]:
    """Return (namespace object, row, function) of what the lists have: see Note [The lists are PyTorch's]."""
    hidden = asked()
    found = [pair for pair in public_rows() if pair[1].key not in hidden]
    found += [(Tensor, row) for row in REGISTRY.values() if row.reports is not None]
    return [
        (owner, row, row.function if row.kind == "operator" else row.key) for owner, row in sorted(found, key=_order)
    ]


def get_overridable_functions() -> dict[Any, list[Any]]:
    """Return the functions that types and modes can override: those of each namespace, sorted by name.

    The keys are the namespaces themselves, such as `tensorlike`, `tensorlike.Tensor` and `tensorlike.linalg`; the
    values hold the `func`s that `__torch_function__` receives. A property stands there as its `__get__` and, where it
    can be set, its `__set__`. Functions that other packages declare with `overridable` are listed under their own
    modules.

    >>> functions = tl.overrides.get_overridable_functions()
    >>> tl.mul in functions[tl], tl.Tensor.mul in functions[tl.Tensor], tl.Tensor.shape.__get__ in functions[tl.Tensor]
    (True, True, True)
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for owner, _, function in _listed():
        found.setdefault(owner, []).append(function)
    # The same functions as those of the main namespace, under a second one.
    main = set(found[sys.modules["tensorlike"]])
    found[functional] = [function for name in functional.NAMES if (function := getattr(functional, name)) in main]
    return found


def _dummy(row: Form) -> Callable[..., Any]:
    """Return a function with the signature of `row` that returns -1."""
    parts: list[str] = []
    starred = False
    for p in row.parameters:
        if p.kind == VARIADIC:
            parts.append("*" + p.name)
            starred = True
            continue
        if p.kind == KEYWORD and not starred:
            parts.append("*")
            starred = True
        parts.append(p.name if p.default is MISSING else f"{p.name}=None")
    shown = inspect.signature(row.implementation).parameters.values()
    parts += ["**" + p.name for p in shown if p.kind is p.VAR_KEYWORD]
    made: Any = eval(f"lambda {', '.join(parts)}: -1", {"__name__": row.namespace})
    # The default values themselves, since not every default has a text that evaluates to it.
    given = [p for p in row.parameters if p.default is not MISSING]
    made.__defaults__ = tuple(p.default for p in given if p.kind != KEYWORD) or None
    made.__kwdefaults__ = {p.name: p.default for p in given if p.kind == KEYWORD} or None
    made.__name__ = row.function.__name__
    made.__qualname__ = row.name
    return made  # type: ignore[no-any-return]


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for every overridable function, a function with the same signature that returns -1.

    The signatures are those of the functions (names, kinds, order, defaults), so that a test can call all of them.

    >>> import inspect
    >>> dummy = tl.overrides.get_testing_overrides()[tl.mul]
    >>> inspect.signature(dummy)
    <Signature (input, other, *, out=None)>
    >>> dummy(1, 2)
    -1
    """
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for _, row, function in _listed():
        if row.dummy is None:
            row.dummy = _dummy(row)
        found[function] = row.dummy
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return what PyTorch lists as functions that no type can intercept: most take no tensors, and modes see them.

    Types receive a few of them all the same, as in PyTorch: `new_zeros` and the other methods of that kind,
    `stride`, `Tensor.unflatten`, `as_strided`, `fill`, `normal`, `rand_like`, `randn_like`, `randint_like`,
    `result_type`, `vander`, `nn.functional.hardsigmoid` and `hardswish`.

    >>> ignored = tl.overrides.get_ignored_functions()
    >>> tl.ones in ignored, tl.Tensor.as_subclass in ignored, tl.add in ignored
    (True, True, False)
    """
    _import_namespaces()  # Some declare their functions when they are first imported.
    declared = {function for function, _ in IGNORED.values()}
    return (declared - unlisted()) | asked() | without_operands()


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results Tensor's own `__torch_function__` leaves the type they have.

    >>> tl.Tensor.grad.__get__ in tl.overrides.get_default_nowrap_functions()
    True
    """
    return set(nowrap_functions())


def is_tensor_like(inp: object) -> bool:
    """Return whether `inp` is a tensor, or overrides functions with `__torch_function__`, its type's or its own.

    >>> class Duck:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return -1
    >>> [tl.overrides.is_tensor_like(x) for x in (tl.ones(2), Duck(), 6, [tl.ones(2)])]
    [True, True, False, False]
    """
    return hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether `func`, as `__torch_function__` receives it, is a method or property of Tensor.

    A property must be given as its `__get__` or `__set__`.

    >>> [tl.overrides.is_tensor_method_or_property(f) for f in (tl.Tensor.add, tl.Tensor.shape.__get__, tl.add)]
    [True, True, False]
    """
    row = registered(func)
    return row is not None and row.name.startswith("Tensor.")


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the public dotted name of a function that `__torch_function__` received; None for any other function.

    >>> tl.overrides.resolve_name(tl.Tensor.add), tl.overrides.resolve_name(tl.Tensor.shape.__get__)
    ('tensorlike.Tensor.add', 'tensorlike.Tensor.shape.__get__')
    >>> tl.overrides.resolve_name(print) is None
    True
    """
    row = registered(f)
    if row is not None:
        if owner_of(row) is None:
            return None
        if LIBRARY.name == "torch" and row.namespace == "tensorlike" and row.name in functional.NAMES:
            return f"torch.functional.{row.name}"  # PyTorch's name for what is in both of its namespaces.
        return spoken_name(row.full_name)
    if registered(getattr(f, "overloadpacket", None)) is not None:  # One overload of an operator.
        return function_name(f)
    for name, (function, _) in IGNORED.items():
        if function is f:
            return spoken_name(name)
    return None
