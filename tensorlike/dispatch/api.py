"""Helpers for the authors of overridable functions: tests for overriding operands, and decorators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from .core import PLAIN, STATE, elements, handle, plan_for, under_guards
from .modes import current_modes
from .operation import Form, Operation
from .registry import register
from .signature import parameters_of
from .wrap import public_function

__all__ = [
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "overridable",
    "wrap_torch_function",
]

F = TypeVar("F", bound=Callable[..., Any])


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether one of `relevant_args` overrides functions, or a mode is active.

    >>> has_torch_function((tl.ones(2), 3.0))
    False
    """
    try:
        operands = tuple(relevant_args)
    except TypeError:
        raise TypeError(f"has_torch_function(): expected a sequence, not {type(relevant_args).__name__}") from None
    if PLAIN and PLAIN.issuperset(map(type, operands)):
        return False
    state = STATE.get()
    if current_modes() and not state.all_disabled:
        return True
    return bool(under_guards(plan_for(tuple(map(type, operands)), operands), state).types)


def has_torch_function_unary(value: Any) -> bool:
    """Return `has_torch_function((value,))`."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Return `has_torch_function(values)`."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Dispatch `public_api(*args, **kwargs)` to the modes and the types of `relevant_args`.

    Call it when `has_torch_function(relevant_args)` is true. Raises TypeError when all of them return NotImplemented.

    >>> class Duck:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} by {cls.__name__}"
    >>> def twice(x):
    ...     if has_torch_function((x,)):
    ...         return handle_torch_function(twice, (x,), x)
    ...     return x + x
    >>> twice(Duck())
    'twice by Duck'
    """
    return handle(public_api, tuple(relevant_args), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[F], F]:
    """Return a decorator that makes a function overridable; `dispatcher` returns its operands.

    `dispatcher` takes the arguments of the function and returns an iterable of those that may override it.

    >>> @wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x + x
    >>> twice(tl.ones(2))
    tensor([2., 2.])
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            operands = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(operands):
                return handle(wrapped, operands, args, kwargs)
            return function(*args, **kwargs)

        wrapped._dispatcher = dispatcher  # type: ignore[attr-defined]  # `overrides.explain` looks for the operands.
        return wrapped  # type: ignore[return-value]

    return decorate


@overload
def overridable(function: F) -> F: ...
@overload
def overridable(
    function: None = None,
    *,
    operands: Sequence[str] | None = None,
    namespace: str | None = None,
    mutates: Sequence[str] | None = None,
) -> Callable[[F], F]: ...
def overridable(
    function: Callable[..., Any] | None = None,
    *,
    operands: Sequence[str] | None = None,
    namespace: str | None = None,
    mutates: Sequence[str] | None = None,
) -> Any:
    """Make a Python function overridable by the types of its operands, and list it among the overridable ones.

    The operands are the parameters annotated with `Tensor` (alone, optional, or in a sequence), or those named in
    `operands`. Implementations receive the decorated function as `func` and the arguments as they were passed.

    `mutates` names the parameters that it writes. By default that is what PyTorch's conventions say: the first one of a
    function whose name ends in an underscore, or that is called with `inplace=True`, and `out`.

    >>> @tl.overridable(operands=("x",))
    ... def scaled(x, factor=2):
    ...     return x * factor
    >>> class Duck:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__, kwargs
    >>> scaled(Duck(), factor=3)
    ('scaled', {'factor': 3})
    >>> scaled(tl.ones(2))
    tensor([2., 2.])
    """
    if function is None:
        return functools.partial(overridable, operands=operands, namespace=namespace, mutates=mutates)
    parameters = parameters_of(function, operands=operands)
    if not any(p.operand for p in parameters):
        raise TypeError(
            f"overridable(): {function.__qualname__}{_shown(parameters)} has no parameter annotated with Tensor; "
            f'annotate one, or name the operands: @overridable(operands=("input",))'
        )
    module = namespace or function.__module__ or "__main__"
    # Every other fact about it is at its default: a function that is not the library's own has no rule of the library.
    operation = Operation(function.__qualname__, module, parameters, composite=True)
    form = Form(
        operation, "function", function, namespace=module, name=function.__qualname__, parameters=parameters,
        mutates=mutates,
    )  # fmt: skip
    public = public_function(
        form,
        name=function.__name__,
        qualname=function.__qualname__,
        module=module,
        doc=function.__doc__,
    )
    public.__annotations__ = function.__annotations__
    if "<locals>" not in function.__qualname__:
        # A module that is reloaded, or a notebook cell run again, declares its functions anew.
        register(form, replace=True)
    return public


def _shown(parameters: Sequence[Any]) -> str:
    return "(" + ", ".join(p.name for p in parameters) + ")"


def operands_in(*values: Any) -> tuple[Any, ...]:
    """Return the operands of `values`, lists and tuples opened."""
    return tuple(e for value in values for e in elements(value))
