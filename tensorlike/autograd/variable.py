"""`Variable`, the older name under which tensors took part in the graph."""

from __future__ import annotations

from typing import Any

from tensorlike._above import explain_absent_names

from .tensor_base import TensorBase

explain_absent_names(__name__)

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """The class of `Variable`: every tensor is an instance of that."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=VariableMeta):
    """Return the tensor `data` without history, requiring grad if asked for; every tensor is an instance.

    >>> x = tl.autograd.Variable(tl.ones(2), requires_grad=True)
    >>> x
    tensor([1., 1.], requires_grad=True)
    >>> isinstance(tl.ones(2), tl.autograd.Variable)
    True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        result: Any = data.detach()  # type: ignore[attr-defined]
        if requires_grad:
            result.requires_grad_()
        return result
