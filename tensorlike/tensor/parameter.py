"""`Parameter`: a tensor that a module counts among its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import register_plain

from .creation import empty
from .history import set_requires_grad
from .serialization import attributes_of, reduce_tensor
from .tensor import Tensor, disabled_torch_function
from .views import detached

if TYPE_CHECKING:  # Given when the package is loaded: see Note [Calls import nothing].
    from .protocols import retyped_leaf

__all__ = ["Parameter"]

if TYPE_CHECKING:
    # A Tensor whose methods return plain tensors, written by tools/generate_stubs.py for type checkers.
    from ._methods import PlainResults as PlainResults
else:
    PlainResults = Tensor


class _ParameterMeta(type):
    # A subclass instance wrapped as a Parameter keeps its own type and is marked; both must pass `isinstance`.
    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, TensorBase) and getattr(instance, "_is_param", False)


class Parameter(PlainResults, metaclass=_ParameterMeta):
    """A leaf tensor that requires grad by default and that modules register when it is assigned to them.

    `Parameter(data)` of a Tensor subclass instance is an instance of that subclass and of Parameter.

    >>> tl.nn.Parameter(tl.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)

    Source: PyTorch's `torch.nn.Parameter`.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if not isinstance(data, TensorBase):
            raise TypeError(
                f"Parameter(): argument 'data' must be Tensor, not {type(data).__name__}; make it a tensor first, "
                f"e.g. with {LIBRARY}.as_tensor(data)"
            )
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"Parameter(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
            )
        kind = type(data)
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
