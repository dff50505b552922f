"""Queries of types and dtypes: `is_tensor`, promotion, casting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorlike.autograd.tensor_base import TensorBase

from . import promotion
from .declarations.declare import composite, factory
from .declarations.runtime import is_number, wrong_type
from .dtypes import as_numpy_dtype, dtype_of
from .dtypes import dtype as Dtype
from .storage import TypedStorage, UntypedStorage
from .types import Number

if TYPE_CHECKING:
    from tensorlike.tensor.tensor import Tensor


@factory(reason="asks about a type; tensor-like types answer through overrides.is_tensor_like")
def is_tensor(obj: object) -> bool:
    """Return whether `obj` is a tensor, of a subclass or not.

    >>> tl.is_tensor(tl.ones(1)), tl.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, TensorBase)


@factory(reason="asks about a type; a storage belongs to a tensor's memory, not to its type")
def is_storage(obj: object, /) -> bool:
    """Return whether `obj` is the memory of a tensor: what `storage()` and `untyped_storage()` return.

    >>> tl.is_storage(tl.ones(1).untyped_storage()), tl.is_storage(tl.ones(1))
    (True, False)
    """

    return isinstance(obj, (UntypedStorage, TypedStorage))


@factory(reason="names a type; it asks a tensor for its `type()`, which can be overridden")
def typename(obj: object, /) -> str:
    """Return the name of the type of `obj` with its module; of a tensor, its `type()`.

    >>> tl.typename(tl.ones(1)), tl.typename(3), tl.typename(tl.nn.Parameter)
    ('tensorlike.FloatTensor', 'int', 'tensorlike.tensor.parameter.Parameter')
    """
    if isinstance(obj, TensorBase):
        found: str = obj.type()  # type: ignore[attr-defined]
        return found
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
    named = type(obj) if name is None else obj
    module = getattr(named, "__module__", None) or ""
    name = name or type(obj).__qualname__
    return name if module in ("", "builtins") else f"{module}.{name}"


@factory(reason="takes dtypes; no tensor takes part")
def promote_types(type1: Dtype, type2: Dtype) -> Dtype:
    """Return the smallest dtype, of the higher category, that both dtypes convert to.

    Raises RuntimeError where PyTorch defines no promotion.

    >>> tl.promote_types(tl.int32, tl.float32)
    tensorlike.float32
    """
    first, second = as_numpy_dtype(type1, "promote_types"), as_numpy_dtype(type2, "promote_types")
    return dtype_of(promotion.promote_types(first, second))


@factory(reason="takes dtypes; no tensor takes part")
def can_cast(from_: Dtype, to: Dtype) -> bool:
    """Return whether an in-place operation may write results of the dtype `from_` into a tensor of the dtype `to`.

    >>> tl.can_cast(tl.float32, tl.float64), tl.can_cast(tl.float32, tl.int64)
    (True, False)
    """
    return promotion.can_cast(as_numpy_dtype(from_, "can_cast"), as_numpy_dtype(to, "can_cast"))


@composite(guard=False, differentiable=False)
def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> Dtype:
    """Return the dtype of an arithmetic operation on two tensors or numbers.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.result_type(tl.tensor([1, 2]), 1.0)
    tensorlike.float32
    """
    operands = []
    for position, (name, value) in enumerate((("tensor1", tensor1), ("tensor2", tensor2)), 1):
        if isinstance(value, TensorBase):
            operands.append(value._tl_data)
        elif is_number(value):
            operands.append(value)
        else:
            wrong_type("result_type", name, position, value, "Tensor or Number")
    return dtype_of(promotion.result_type(*operands))
