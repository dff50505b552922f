"""The class `Tensor`: one array, its place in the graph, and the default `__torch_function__`.

Its methods, operators and properties are attached by the declarations in `ops/` and the other modules of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from tensorlike._native import core as native_core
from tensorlike.autograd.tensor_base import TensorBase, move_state
from tensorlike.dispatch.core import PROVIDED, STATE, register_plain, warn_torch_dispatch
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.tracebacks import shorten

from .memory.views import alias_of
from .propagation import check_declaration, copy_attributes, finalized, settled

if TYPE_CHECKING:
    # The methods attached by the declarations, written by tools/generate_stubs.py for type checkers.
    from ._methods import TensorMethods
    from .creation.legacy import legacy_tensor  # Given when the package is loaded: see Note [Calls import nothing].
else:
    TensorMethods = object


class Tensor(TensorBase, TensorMethods):
    """A multi-dimensional array with a dtype, a device and, if it requires grad, a history of its computation.

    `Tensor(data)` and `Tensor(*sizes)` make tensors of the default dtype, as PyTorch's legacy constructor does; use
    `tensorlike.tensor(data)` to have the dtype inferred.

    A subclass gets results of its own type from every operation; a subclass that defines `__torch_function__` overrides
    operations. Attributes named in `__tensor_attributes__` are propagated to results.

    >>> class Marked(tl.Tensor):
    ...     pass
    >>> Marked([1.0, 2.0]) * 2
    Marked([2., 4.])

    Source: PyTorch's class of that name.
    """

    # Results are made with object.__new__(Tensor), without calling these.
    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        return legacy_tensor(cls, *args, **kwargs)  # type: ignore[no-any-return]

    #: NumPy defers `array * tensor` to the tensor.
    __array_priority__: ClassVar[int] = 1000

    #: Names of attributes that are propagated from operands to results; those of the bases count as well. The first
    #: operand that has one wins, unless the class defines `__tensor_merge__`. Set it in the class body.
    __tensor_attributes__: ClassVar[tuple[str, ...]] = ()
    if TYPE_CHECKING:
        _tl_zeros: Callable[..., Tensor]
        _tl_ones: Callable[..., Tensor]
        _tl_transfer: Callable[..., Tensor]

        # Methods, since a type checker refuses a method in place of a variable.
        @classmethod
        def __tensor_merge__(cls, name: str, values: Any, /) -> Any: ...
        @classmethod
        def __tensor_finalize__(cls, result: Any, operands: Any, /) -> Any: ...
    else:
        #: A classmethod `(name, values)` that returns, or refuses, the attribute of a result whose operands disagree.
        __tensor_merge__: ClassVar[Any] = None
        #: A classmethod `(result, operands)` called with every tensor of this class that a function returns or writes
        #: to, with subclass overrides off.
        __tensor_finalize__: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)

        check_declaration(cls, Tensor)
        if "__torch_dispatch__" in cls.__dict__:
            warn_torch_dispatch(cls)

    # Any, so that a subclass may annotate `types` with a tuple or with a sequence and hand it on.
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Run `func` with subclass overrides off and give tensors in the result, nested ones too, the type `cls`.

        Returns NotImplemented unless `cls` is a subclass of every type in `types`. Implementations of subclasses reach
        it with `super().__torch_function__(func, types, args, kwargs)`.
        """
        if kwargs is None:
            kwargs = {}
        for kind in types:
            if kind is not cls and not issubclass(cls, kind):
                return NotImplemented
        propagation = None
        if cls.__tensor_attributes__ or cls.__tensor_finalize__ is not None:
            propagation = settled(cls, func, args, kwargs)
        state = STATE.get()
        form = getattr(func, "_form", None)
        if form is not None and form.function is not func:
            form = None  # `functools.wraps` copies attributes: 15 ns.
        try:
            if state.clear and not state.levels and form is not None and not form.operation.composite:
                # A primitive works on raw arrays and does not dispatch, so it needs no guard (150 ns). In a transform
                # it may get tensors that have no array.
                result = form.implementation(*args, **kwargs)
            else:
                try:
                    STATE.set(state._silenced or state.silenced())
                    result = func(*args, **kwargs)
                finally:
                    STATE.set(state)
        except Exception as error:
            shorten(error, func)
            raise
        # Functions whose results keep their type are getters, which have no form.
        if form is None and func in nowrap_functions():
            return result
        result = converted(result, cls, args, kwargs, fresh=form is not None and not form.operation.composite)
        return result if propagation is None else finalized(cls, func, result, propagation, kwargs)


class _Handler(Protocol):
    # To a type checker no function, which it would take for a method in the class body that it is assigned in.
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


def _as_handler(function: _Handler) -> _Handler:
    return function


@_as_handler
def disabled_torch_function(
    func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """A `__torch_function__` for types that do not override: calls are not dispatched to them, results stay plain
    tensors.

    Dispatch never calls it; an implementation of a subclass that does, with `super()`, has `func` run with subclass
    overrides off.

    >>> class Silent(tl.Tensor):
    ...     __torch_function__ = tl.overrides.disabled_torch_function
    >>> type(Silent([1.0]) + 1).__name__
    'Tensor'

    Source: PyTorch's `torch._C._disabled_torch_function_impl`.
    """
    state = STATE.get()
    try:
        STATE.set(state._silenced or state.silenced())
        return func(*args, **(kwargs or {}))
    finally:
        STATE.set(state)


_nowrap: set[Any] = set()


def nowrap_functions() -> set[Any]:
    """Return the functions whose results keep their type, such as the getter of `grad`."""
    if not _nowrap:
        _nowrap.update(row.key for row in REGISTRY.values() if row.nowrap)
    return _nowrap


def converted(result: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any], *, fresh: bool) -> Any:
    """Convert the tensors in `result`, nested ones too, to the type `cls`.

    With `fresh`, a tensor that is none of the arguments was made by this call, and may change its class in place.
    """
    kind = type(result)
    if kind is Tensor:
        if cls is Tensor:
            return result
        if fresh and not _among(result, args) and not (kwargs and _among(result, kwargs.values())):
            try:
                result.__class__ = cls
            except TypeError:  # A subclass with __slots__ has another layout.
                return retyped(result, cls)
            return result
        return retyped(result, cls)
    if isinstance(result, TensorBase):
        return result if isinstance(result, cls) else retyped(result, cls)
    if kind is tuple or kind is list:
        return kind(converted(r, cls, args, kwargs, fresh=fresh) for r in result)
    if isinstance(result, (tuple, list)) and any(isinstance(r, (TensorBase, tuple, list)) for r in result):
        items = [converted(r, cls, args, kwargs, fresh=fresh) for r in result]
        return kind._make(items) if hasattr(kind, "_make") else kind(items)
    return result


def _among(value: Tensor, values: Any) -> bool:
    for other in values:
        if other is value:
            return True
        if type(other) in (list, tuple) and _among(value, other):
            return True
    return False


def retyped(tensor: Any, cls: type) -> Any:
    """Return another tensor of type `cls` on the same memory, at the same place in the graph."""

    if tensor._tl_transformed:  # It has no array of its own: the tensors that it is made of change their type.
        return tensor.held_as(cls)
    result = alias_of(tensor)
    if type(result) is cls:
        return result
    try:
        result.__class__ = cls
    except TypeError:
        result = move_state(result, cls)
    names = getattr(cls, "__tensor_attributes__", ())
    if names:
        copy_attributes(tensor, result, names)
    return result


def _propagate(form: Form, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the default implementation, for types that all inherit it. Called by dispatch."""
    if form.operation.composite:
        state = STATE.get()
        try:
            STATE.set(state._silenced or state.silenced())
            result = form.implementation(*args, **kwargs)
        finally:
            STATE.set(state)
        return converted(result, cls, args, kwargs, fresh=False)
    result = form.implementation(*args, **kwargs)
    if form.nowrap:
        return result
    if type(result) is Tensor and not kwargs:
        # The common case of `converted`, written out (100 ns).
        for argument in args:
            if argument is result:
                return retyped(result, cls)
        try:
            result.__class__ = cls
        except TypeError:
            return retyped(result, cls)
        return result
    return converted(result, cls, args, kwargs, fresh=True)


if native_core is not None:
    # `super().__torch_function__` of a class with an implementation of its own is answered in C, as its calls are.
    _default = native_core.Function(Tensor.__dict__["__torch_function__"].__func__)
    native_core.default_implementation(_default)
    Tensor.__torch_function__ = classmethod(_default)  # type: ignore[method-assign, assignment]

TensorBase._tl_plain = Tensor
PROVIDED.default_implementation = Tensor.__dict__["__torch_function__"].__func__
PROVIDED.disabled_implementation = disabled_torch_function
PROVIDED.propagate = _propagate
register_plain(Tensor, tensors=True)
