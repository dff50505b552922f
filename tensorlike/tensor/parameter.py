"""`Parameter`: a tensor that a module counts among its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import register_plain
from tensorlike.dispatch.protocol import SupportsTorchFunction, is_tensor_like

from .creation.filled import empty
from .history import set_requires_grad
from .memory.views import detached
from .serialization import attributes_of, reduce_tensor
from .tensor import Tensor, disabled_torch_function

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from .conversion.protocols import retyped_leaf

if TYPE_CHECKING:
    # A Tensor whose methods return plain tensors, written by tools/generate_stubs.py for type checkers.
    from ._methods import PlainResults as PlainResults
else:
    PlainResults = Tensor


_NO_ATTRIBUTES: dict[str, Any] = {}


def has_mark(instance: Any, name: str) -> bool:
    """Return whether a tensor, or a tensor-like object itself and not one that it holds, has the mark `name`."""
    if isinstance(instance, TensorBase):
        return getattr(instance, name, False) is True
    return getattr(instance, "__dict__", _NO_ATTRIBUTES).get(name, False) is True


class _ParameterMeta(type):
    # An instance of a subclass or of a tensor-like type wrapped as a Parameter keeps its own type and is marked; all
    # must pass `isinstance`.
    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if cls is not Parameter or not is_tensor_like(instance):
            return False
        return has_mark(instance, "_is_param")


def _marked(data: Any, requires_grad: bool) -> Any:
    """Return the parameter made of a tensor-like object: a detached one of its type, with a mark."""
    kind = type(data)
    result = data.detach().requires_grad_(requires_grad)
    if type(result) is not kind:
        raise RuntimeError(
            f"Parameter(): detach() and requires_grad_() of {kind.__name__} must return an instance of the same type, "
            f"but {type(result).__name__} came back; correct what {kind.__name__} answers"
        )
    try:
        vars(result)["_is_param"] = True
    except TypeError:
        raise TypeError(
            f"Parameter(): {kind.__name__} has no __dict__ to be marked in; leave out its __slots__"
        ) from None
    return result


class Parameter(PlainResults, metaclass=_ParameterMeta):
    """A leaf tensor that requires grad by default and that modules register when it is assigned to them.

    `Parameter(data)` of a Tensor subclass instance is an instance of that subclass and of Parameter. That of a
    tensor-like object is what its `detach` and `requires_grad_` return, and an instance of Parameter too.

    >>> tl.nn.Parameter(tl.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor | SupportsTorchFunction | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if not isinstance(data, TensorBase) and not is_tensor_like(data):
            raise TypeError(
                f"Parameter(): argument 'data' must be Tensor, not {type(data).__name__}; make it a tensor first, "
                f"e.g. with {LIBRARY}.as_tensor(data)"
            )
        if not isinstance(requires_grad, bool):
            raise TypeError(f"Parameter(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}")
        if not isinstance(data, TensorBase):
            return _marked(data, requires_grad)  # type: ignore[no-any-return]
        kind: Any = type(data)
        if kind is Tensor or kind is Parameter:
            kind = cls
        result: Any = retyped_leaf(detached(data), kind)
        # Attributes of a subclass are kept.
        for key, value in attributes_of(data).items():
            setattr(result, key, value)
        if not issubclass(kind, cls):
            result._is_param = True
        set_requires_grad(result, requires_grad)
        return result  # type: ignore[no-any-return]

    #: Results are plain tensors, of subclasses of this class too, as in PyTorch.
    __torch_function__ = disabled_torch_function

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_tensor(self)


register_plain(Parameter, tensors=True)
