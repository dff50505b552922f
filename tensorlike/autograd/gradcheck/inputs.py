"""Shared by the parts of the check: the error, tensors in nested arguments, random directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tensorlike.dispatch.pytree import instances, map_instances

from ..grad_mode import enable_grad
from ..tensor_base import TensorBase

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = [
    "Array",
    "Checked",
    "GradcheckError",
    "Settings",
    "as_tuple",
    "direction",
    "host",
    "replaced",
    "start",
    "tensors_in",
]

Array = np.ndarray[Any, Any]


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a gradient is wrong; the text says where, and guesses why."""

    __module__ = "tensorlike.autograd.gradcheck"


class Settings(NamedTuple):
    """The arguments of `gradcheck` by their names.

    Not a dataclass: that module and two classes of it are 4 ms of the import.
    """

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool
    check_grad_dtypes: bool
    check_batched_grad: bool
    check_batched_forward_grad: bool
    check_forward_ad: bool
    check_backward_ad: bool
    fast_mode: bool
    #: Said of outputs and inputs by number, in the messages of gradgradcheck.
    note: str = ""


class Checked(NamedTuple):
    """A function at its inputs: those to be varied, and the outputs to be compared."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    #: The inputs that require grad.
    inputs: list[Any]
    #: The outputs that require grad, and where they stand among the results.
    outputs: list[Any]
    positions: list[int]

    def values(self, positions: Sequence[int] | None = None) -> list[Array]:
        """Return copies of the outputs, computed anew."""
        with enable_grad():
            found = as_tuple(self.function(*self.arguments))
        return [host(found[k]).copy() for k in (self.positions if positions is None else positions)]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a list or tuple as a tuple, anything else as a tuple of one."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def tensors_in(values: Sequence[Any]) -> list[Any]:
    """Return the tensors in nested containers."""
    return instances(values, TensorBase)


def requiring(values: Sequence[Any]) -> list[Any]:
    """Return the tensors among values, nested or not, that require grad."""
    return [t for t in tensors_in(values) if t.requires_grad]


def replaced(values: Sequence[Any], change: Callable[[Any], Any]) -> Any:
    """Return nested containers with `change` applied to the tensors in them."""
    return map_instances(change, values, TensorBase)


def host(tensor: Tensor) -> Array:
    """Return the array of a tensor in the memory of the host."""
    found: Array = tensor.detach().cpu()._tl_data
    return found


def direction(random: np.random.Generator, array: np.ndarray[Any, Any]) -> Array:
    """Return a random array of length 1, of the shape of `array`, complex where it is.

    All entries are positive, as PyTorch's are: a tolerance for entries is then one for their sum.
    """
    values = random.uniform(size=array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * random.uniform(size=array.shape)
    length = np.linalg.norm(values)
    return np.asarray(values / length if length else values)


def start(output: Tensor, values: np.ndarray[Any, Any]) -> Any:
    """Return `values` as a gradient of `output`."""
    return output.new_tensor(np.asarray(values, dtype=output._tl_data.dtype).reshape(output._tl_data.shape))
