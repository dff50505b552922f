"""The forms of an operation, and adapters from the arguments of each to those of its function.

# Note [Which forms are variants]
`tl.sub(x, y)`, `x.sub(y)`, `x - y`, `y - x`, `x.sub_(y)` and `x -= y` reach a type as different functions. Those that
are forms of one operation share it. What is written by itself is declared as a variant of the operation (Note
[Variants] in `dispatch.operation`): a reflected operator of an operation that does not commute, an in-place function, a
namesake, which is a function or method of the same name (`linalg.matmul`, `nn.functional.relu`, `Tensor.where`).
Arguments that only one of them accepts (`inplace`, a `dim` that may be None) are adapted where the other can express
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import INPLACE, INPLACE_VIEW, NAMESAKE, REFLECTED, Form, Operation
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.signature import POSITIONAL, VARIADIC
from tensorlike.tensor.declarations.inplace_functions import inplace_functions
from tensorlike.tensor.tensor import Tensor

__all__ = ["NAMED", "Handler", "entries_of", "equal", "exactly", "forms_of", "operators"]

#: The implementation for a type: `handler(cls, args, kwargs)`; `cls` is None for a rule between types.
Handler = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

#: The rank of a registration for a function: it names it, or covers it as a form of its own or of a namesake.
NAMED, FORM, RELATED = 3, 2, 1


def equal(left: object, right: object) -> bool:
    """Return whether two defaults are the same."""
    if left is right:
        return True
    try:
        return bool(left == right)
    except (TypeError, ValueError, RuntimeError):  # Arrays and tensors have no single truth value.
        return False


def _names(row: Form) -> list[str]:
    return [p.name for p in row.parameters if p.kind == POSITIONAL]


def _sources(operation: Operation) -> Iterator[Operation]:
    """Yield an operation, then the one that it is the in-place form or a namesake of, and so on."""
    yield operation
    while operation.variant is not None and operation.variant.kind in (INPLACE, NAMESAKE):
        operation = operation.variant.of
        yield operation


def _with_variants(operation: Operation) -> Iterator[Operation]:
    """Yield an operation and its variants with theirs, but for reflected operators and in-place views."""
    yield operation
    for other in operation.variants:
        if other.variant is not None and other.variant.kind not in (REFLECTED, INPLACE_VIEW):
            yield from _with_variants(other)


def forms_of(row: Form) -> tuple[Form, list[Form]]:
    """Return the function that `row` is a form of, and the rows of all its forms, but for reflected operators."""
    if row.kind in ("property", "setter"):  # A form that reads an operand does not write it.
        return row, [row]
    sources = list(_sources(row.operation))
    operations = dict.fromkeys([*sources, *_with_variants(sources[-1])])
    for operation in operations:
        inplace_functions(operation)  # Made when they are first asked for.
    forms = [form for operation in operations for form in operation.forms if "._" not in form.namespace]
    found = list(dict.fromkeys([row, *forms]))
    return next((form for form in found if form.kind == "function" and not form.inplace), row), found


def exactly(implementation: Callable[..., Any]) -> Handler:
    """Return the handler that passes the arguments on as they are."""
    return lambda cls, args, kwargs: implementation(*args, **kwargs)


def operators() -> list[Form]:
    """Return the rows of every operator, unary, binary, reflected and in-place."""
    return [
        form
        for form in REGISTRY.values()
        if form.kind == "operator" or (_is_reflected(form) and form.name.endswith("__"))
    ]


def _is_reflected(form: Form) -> bool:
    variant = form.operation.variant
    return variant is not None and variant.kind == REFLECTED


def entries_of(row: Form, forms: Sequence[Form], implementation: Callable[..., Any]) -> list[tuple[Form, Handler, int]]:
    """Return (form, handler, rank) of every form of the function of `row`, reflected operators included."""
    own = set(row.operation.forms)
    entries: list[tuple[Form, Handler, int]] = []
    for form in forms:
        rank = FORM if form is row or form in own else RELATED
        entries.append((form, _handler(implementation, _adapter(row, form), form), rank))
    for operation in {form.operation: None for form in forms}:
        for other in operation.variants:
            if other.variant is not None and other.variant.kind == REFLECTED:
                swapped = [form for form in other.forms if form.reports is None]
                entries += [(f, _swapped(implementation, _names(f), _names(row)), RELATED) for f in swapped]
    return entries


class _Call(NamedTuple):
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    #: The call asks for its result in its first operand.
    inplace: bool = False


#: None stands for a call that the function of the row cannot express.
Adapter = Callable[[tuple[Any, ...], dict[str, Any]], _Call | None]


def _adapter(row: Form, form: Form) -> Adapter:
    """Return the adapter from the arguments of `form` to those of the function of `row`."""
    target = {p.name: p for p in row.parameters}
    at = next((i for i, p in enumerate(form.parameters) if p.kind == VARIADIC), None)
    spread = form.parameters[at].name if at is not None else ""
    if at is None or (spread in target and target[spread].kind == VARIADIC):
        at = None
    renamed = dict(zip(_names(form), _names(row), strict=False))
    renamed = {mine: theirs for mine, theirs in renamed.items() if mine not in target and not mine.startswith("_")}
    optional = spread in target and target[spread].default is not MISSING

    names = _names(form)
    if names[:1] == ["self"] and "input" in _names(row)[1:]:  # As in `x.where(condition, other)`.
        names[0] = "input"
        return lambda args, kwargs: _Call((), dict(zip(names, args, strict=False)) | kwargs)

    # The arguments that stand at the same position in both.
    pairs = enumerate(zip(names, _names(row), strict=False))
    shared = next((i for i, (mine, theirs) in pairs if renamed.get(mine, mine) != theirs), len(_names(row)))
    spreads = any(p.kind == VARIADIC for p in row.parameters)
    extra = {p.name: p.default for p in form.parameters if p.kind != VARIADIC and p.name not in {*target, *renamed}}
    needed = [p.name for p in form.parameters if p.default is None and p.name in target]
    needed = [name for name in needed if target[name].default is MISSING]

    def adapt(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call | None:
        if at is not None and spread not in kwargs:
            rest = args[at:]
            if len(rest) == 1 and isinstance(rest[0], (list, tuple)):
                rest = (rest[0],)
            elif rest or not optional:
                rest = (tuple(rest),)
            args = (*args[:at], *rest)
        inplace = False
        given = dict(zip(names, args, strict=False)) | kwargs if needed else {}
        if any(given.get(name) is None for name in needed):
            return None
        if extra or len(args) > shared:
            if not spreads:
                kwargs = dict(zip(names[shared:], args[shared:], strict=False)) | kwargs
                args = args[:shared]
            for name, default in extra.items():
                value = kwargs.pop(name, default)
                if name == "inplace":
                    inplace = bool(value)
                elif not equal(value, default):
                    return None
        return _Call(args, {renamed.get(name, name): value for name, value in kwargs.items()}, inplace)

    return adapt


def _handler(implementation: Callable[..., Any], adapt: Adapter, form: Form) -> Handler:
    always = form.inplace
    first = form.parameters[0].name if form.parameters else ""

    def handler(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = adapt(args, kwargs)
        if call is None:
            return NotImplemented
        result = implementation(*call.args, **call.kwargs)
        if result is NotImplemented or not (always or call.inplace):
            return result
        return _written(cls, args[0] if args else kwargs[first], result)

    return handler


def _swapped(implementation: Callable[..., Any], theirs: Sequence[str], mine: Sequence[str]) -> Handler:
    def handler(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = dict(zip(theirs, args, strict=False)) | kwargs
        first, second = values.pop(theirs[0]), values.pop(theirs[1])
        return implementation(second, first, **values)

    return handler


def _written(cls: Any, target: Any, result: Any) -> Any:
    """Write the result of an in-place form into its target, which is returned."""
    if result is target:
        return target
    copy: Any = Tensor.copy_
    if cls is None:
        copy(target, result)
        return target
    if isinstance(target, cls) or isinstance(result, cls):
        answer = cls.__torch_function__(copy, (cls,), (target, result), {})
        return NotImplemented if answer is NotImplemented else target
    if not (isinstance(target, TensorBase) and isinstance(result, TensorBase)):
        return NotImplemented
    copy(target, result)
    return target
