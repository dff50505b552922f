"""The dtype, the memory and the placement of tensors: predicates, detaching, devices, and shared memory."""

from __future__ import annotations

from tensorlike.tensor.attributes import get_device as _get_device
from tensorlike.tensor.backends import data_pointer
from tensorlike.tensor.declarations.declare import composite, primitive, tensor_method
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.memory.views import detached
from tensorlike.tensor.tensor import Tensor as TensorClass
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import require_tensor


@primitive()
def is_complex(xp: Namespace, input: Array) -> bool:
    """Return whether the dtype is complex.

    >>> tl.is_complex(tl.tensor([1j])), tl.is_complex(tl.ones(1))
    (True, False)
    """
    return dtype_of(input.dtype).is_complex


@primitive()
def is_floating_point(xp: Namespace, input: Array) -> bool:
    """Return whether the dtype is a floating-point one, which complex ones are not.

    >>> tl.is_floating_point(tl.ones(1)), tl.is_floating_point(tl.tensor([1]))
    (True, False)
    """
    return dtype_of(input.dtype).is_floating_point


@primitive()
def is_signed(xp: Namespace, input: Array) -> bool:
    """Return whether the dtype holds negative numbers.

    >>> tl.ones(1).is_signed(), tl.tensor([1], dtype=tl.uint8).is_signed()
    (True, False)
    """
    return dtype_of(input.dtype).is_signed


@primitive()
def is_nonzero(xp: Namespace, input: Array) -> bool:
    """Return whether the one element of a tensor differs from zero.

    Raises RuntimeError for a tensor of more elements or none.

    >>> tl.is_nonzero(tl.tensor([0.0])), tl.is_nonzero(tl.tensor(True))
    (False, True)
    """
    if input.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous: it has no elements")
    if input.size > 1:
        raise RuntimeError(
            "Boolean value of Tensor with more than one value is ambiguous: it has "
            f"{input.size} elements; use .any() or .all()"
        )
    return bool(input.reshape(())[()])


@primitive()
def is_conj(xp: Namespace, input: Array) -> bool:
    """Return False: no tensor here has a conjugate bit, which marks elements to be conjugated on reading.

    >>> tl.is_conj(tl.tensor([1j]).conj())
    False

    Same as PyTorch's function of that name, for tensors that are conjugated when `conj` is called.
    """
    return False


@primitive()
def is_neg(xp: Namespace, input: Array) -> bool:
    """Return False: no tensor here has a negative bit, which marks elements to be negated on reading.

    >>> tl.is_neg(tl.ones(1))
    False

    Same as PyTorch's function of that name, for tensors that are negated when `neg` is called.
    """
    return False


@composite(method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """Return `input` itself: no tensor here has a conjugate or negative bit to resolve.

    >>> tl.resolve_conj(tl.tensor([1j]).conj())
    tensor([0.-1.j])
    """
    require_tensor("resolve_conj", input)
    return input


@composite(method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """Return `input` itself: no tensor here has a conjugate or negative bit to resolve.

    >>> tl.resolve_neg(tl.ones(2))
    tensor([1., 1.])
    """
    require_tensor("resolve_neg", input)
    return input


@composite(guard=False, differentiable=False, variant=("namesake", TensorClass.detach))
def detach(input: Tensor) -> Tensor:
    """Return a tensor that shares the memory of `input` and has no history.

    >>> tl.detach(tl.ones(2, requires_grad=True)).requires_grad
    False
    """
    require_tensor("detach", input)
    return detached(input)


@composite(differentiable=False, variant=("namesake", _get_device))
def get_device(input: Tensor) -> int:
    """Return the index of the CUDA device that `input` is on, -1 on the CPU.

    >>> tl.get_device(tl.ones(2))
    -1
    """
    return _get_device(input)


@tensor_method(guard=False, differentiable=False)
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors have the same memory, shape and strides.

    >>> x = tl.arange(4)
    >>> x.is_set_to(x.view(4)), x.is_set_to(x[1:])
    (True, False)
    """
    mine, other = self._tl_data, tensor._tl_data
    if type(mine) is not type(other) or mine.shape != other.shape or mine.strides != other.strides:
        return False
    return bool(data_pointer(mine) == data_pointer(other))
