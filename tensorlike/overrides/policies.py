"""Policies: the handling of functions that a tensor-like type does not implement."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.errors import function_name
from tensorlike.dispatch.operation import form_of, mutates_of, written
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.dispatch.signature import parameters_of
from tensorlike.dispatch.state import State, Switch
from tensorlike.tensor.tensor import Tensor

__all__ = ["refuse", "rewrap", "to_dense"]


class _Conversion(Switch):
    """Raise when converting `value` calls a function on it that comes back here to convert it."""

    _fields = ("converting",)

    def __init__(self, value: object, func: Callable[..., Any], method: str) -> None:
        super().__init__()
        self.value, self.func, self.method = value, func, method

    def _switched(self, state: State) -> State:
        if any(self.value is known for known in state.converting):
            raise RecursionError(
                f"{function_name(self.func)}: {self.method} of {type(self.value).__name__} calls it on the operand "
                "that is being converted, which the policy converts first, and so on without end; use what the operand "
                "holds, or for a subclass of Tensor overrides.DisableTorchFunctionSubclass()"
            )
        return state.but(converting=(*state.converting, self.value))


def _check_converted(found: object, value: object, func: Callable[..., Any], method: str) -> None:
    kind = type(value).__name__
    if isinstance(found, type(value)):
        raise TypeError(
            f"{function_name(func)}: {method} of an operand of type {kind} gave {type(found).__name__} again; return a "
            f"tensor that is no {kind}"
        )
    if not hasattr(type(found), "__torch_function__"):
        raise TypeError(f"{function_name(func)}: {method} of {kind} must return a tensor, got {type(found).__name__}")


def _written(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments that a call writes into: `out`, and the first operand of an in-place function."""
    form = form_of(func)
    if form is not None:
        return form.written(args, kwargs)
    # Made with `handle_torch_function` or `wrap_torch_function`: it has the signature that Python sees.
    plain = inspect.unwrap(func)
    parameters = parameters_of(plain) if inspect.isfunction(plain) else ()
    found = written(mutates_of("function", getattr(func, "__name__", ""), parameters), parameters, args, kwargs)
    return found if any(p.name == "out" for p in parameters) else [*found, kwargs.get("out")]


def refuse(cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return NotImplemented: a function that the type does not implement is left to the other operands' types.

    The caller gets TypeError when none of them answers.

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
        # A method inherited from Tensor would come back to the policy without end.
        if self.convert is None and getattr(cls, "to_dense", None) in (None, getattr(Tensor, "to_dense", None)):
            raise TypeError(
                f"{cls.__name__}: the policy to_dense needs a method to_dense(self) of its own; define it, or use "
                "unhandled=to_dense.using(function)"
            )

    def __call__(
        self, cls: type, func: Any, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        written = _written(func, args, kwargs)
        lost: list[Any] = []

        def note(value: object) -> Any:
            if isinstance(value, cls):
                lost.append(value)
            return value

        map_leaves(note, written, True)
        if lost:
            return NotImplemented

        def convert(value: object) -> Any:
            if not isinstance(value, cls):
                return value
            method = "to_dense()" if self.convert is None else "the function of to_dense.using()"
            with _Conversion(value, func, method):
                dense = value.to_dense() if self.convert is None else self.convert(value)  # type: ignore[attr-defined]
            _check_converted(dense, value, func, method)
            return dense

        return func(*map_leaves(convert, tuple(args), True), **map_leaves(convert, kwargs, True))


to_dense = _ToDense()


class _Rewrap:
    """Unwrap every operand of the type, call the function, and wrap the tensors that it returns.

    The type gives `unwrap(self)`, which returns the tensor it holds (itself, not a copy: in-place functions write into
    it), and the classmethod `wrap(cls, tensor, like)`, which makes an instance in the manner of `like`, the first
    operand of the type. Operands and results are found in lists, tuples, named tuples and dictionaries. In-place
    functions and `out=` return the very object they were given.

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

    #: In-place writes reach the operand.
    writes = True

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
            with _Conversion(value, func, "unwrap()"):
                tensor = value.unwrap()
            _check_converted(tensor, value, func, "unwrap()")
            found.append(value)
            held.append(tensor)
            originals.setdefault(id(tensor), value)
            return tensor

        def keep(value: object) -> Any:
            if isinstance(value, TensorBase) and not isinstance(value, cls):
                originals[id(value)] = value
            return value

        def wrap(value: Any) -> Any:
            original = originals.get(id(value))
            if original is not None:
                return original
            if isinstance(value, TensorBase) and not isinstance(value, cls):
                wrapped = cls.wrap(value, found[0])
                if wrapped is None:
                    raise TypeError(
                        f"{function_name(func)}: wrap() of {cls.__name__} returned None; return an instance"
                    )
                return wrapped
            return value

        plain_args = map_leaves(unwrap, tuple(args), True)
        plain_kwargs = map_leaves(unwrap, kwargs, True)
        map_leaves(keep, _written(func, args, kwargs), True)
        result = func(*plain_args, **plain_kwargs)
        return map_leaves(wrap, result, True) if found else result


rewrap = _Rewrap()
