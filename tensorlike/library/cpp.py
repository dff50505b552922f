"""Functions of Python that the C++ headers call, beside the public ones."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd import Function, enable_grad
from tensorlike.autograd.function import FunctionMeta
from tensorlike.autograd.tensor_base import TensorBase, version_counter
from tensorlike.tensor.creation.from_data import finish
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import as_numpy_dtype, dtype
from tensorlike.tensor.storage import Memory
from tensorlike.tensor.tensor import Tensor

from . import blocks, formulas, operators
from .classes import add_member, find_class, make_class, wrap_object
from .operators import OpOverload, below_autograd, keep_error
from .schema import difference, parse_schema

__all__ = [
    "Block",
    "TensorBase",
    "add_member",
    "below_autograd",
    "check_call",
    "find_class",
    "find_operator",
    "from_blob",
    "function_class",
    "has_operator",
    "increment_version",
    "keep_error",
    "make_class",
    "redispatch",
    "tensor_parameter",
    "wrap_object",
]


def from_blob(
    address: int, shape: Sequence[int], strides: Sequence[int], kind: dtype, place: device, owner: Any,
    requires: bool,
) -> Tensor:  # fmt: skip
    """Return a tensor on the memory at `address`, which lives as long as `owner`; strides are in elements."""
    of_numpy = as_numpy_dtype(kind)
    steps = tuple(s * of_numpy.itemsize for s in strides)
    if place.type == "cuda":
        cupy = importlib.import_module("cupy")
        extent = sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) + of_numpy.itemsize
        memory = cupy.cuda.UnownedMemory(address, extent, owner, place.index or 0)
        array = cupy.ndarray(tuple(shape), of_numpy, cupy.cuda.MemoryPointer(memory, 0), steps)
        return finish(array, requires)
    # Types from other packages, such as bfloat16, have no code in the interface; integers of their size do.
    code = f"|u{of_numpy.itemsize}" if of_numpy.kind == "V" else of_numpy.str
    interface = {"data": (address, False), "shape": tuple(shape), "strides": steps, "typestr": code, "version": 3}
    return finish(np.asarray(Memory(owner, interface)).view(of_numpy), requires)


def function_class(
    name: str, forward: Callable[..., Any], backward: Callable[..., Any]
) -> tuple[Callable[..., Any], Callable[..., Any], ContextVar[bool | None]]:
    """Return `apply` of a new Function whose forward and backward are C++, and another for where a variable is True.

    The variable says that operators are not recorded, but Functions are. C++ reads it in 10 ns.
    """
    namespace = {"forward": staticmethod(forward), "backward": staticmethod(backward), "__module__": "torch.cpp"}
    made: Any = FunctionMeta(name, (Function,), namespace)
    # With a place for the context of C++: 100 ns less than one in the dict of each node.
    made._node_class = type(name, (made._node_class,), {"__slots__": ("_cpp_context",), "__module__": "torch.cpp"})
    apply: Callable[..., Any] = made.apply

    def apply_below(*args: Any) -> Any:
        with enable_grad():
            return apply(*args)

    return apply, apply_below, formulas.recorded_below


def increment_version(tensor: TensorBase) -> None:
    """Say that a tensor was written through its address."""
    version_counter(tensor)[0] += 1


# ---- operators: see Note [Operators of C++] in library.h -------------------------------------------------------------


class Block(blocks.Block):
    """A block of registrations of C++: `TORCH_LIBRARY`."""

    def implement(self, name: str, key: str, function: Callable[..., Any], inferred: str = "") -> str:
        """Give an operator a kernel of C++. Raises RuntimeError for one with another signature than the schema."""
        if key == "CatchAll":
            key = "CompositeImplicitAutograd"
        kernel = operators.Kernel(function, self.where, by_position=True)
        kernel.signature = parse_schema(f"kernel{inferred}") if inferred else None
        return super().implement(name, key, kernel)


def check_call(operator: Any, signature: str) -> None:
    """Raise RuntimeError where C++ calls an operator by another signature than its schema."""
    declared = getattr(operator, "_schema", None)
    if declared is None:
        return
    called = parse_schema(f"call{signature}")
    problem = difference(declared, called)
    if problem:
        raise RuntimeError(
            f"\nTried to access or call an operator with a wrong signature.\n  operator: {declared}\n    registered at "
            f"{operator.where}\n  called as: {replace(called, name='')}\n  reason: {problem}\nThe types of "
            "OperatorHandle::typed<Return(Args...)>() must be those of the schema."
        )


def redispatch(operator: Any, /, *args: Any) -> Any:
    """Run the kernel that an operator has for the backend; the operators that it calls are recorded."""
    if isinstance(operator, OpOverload):
        return operator.run_backend(args)
    with below_autograd():
        return operator(*args)


def tensor_parameter(function: Callable[..., Any], place: int) -> str | None:
    """Return the name of a parameter that an undefined tensor was given for; None if the function takes one."""
    if isinstance(function, OpOverload) or function is redispatch:
        return None
    names = list(inspect.signature(function).parameters)
    return "self" if place == 0 or place >= len(names) else names[place]


def find_operator(qualified_name: str, overload_name: str) -> OpOverload:
    """Return an operator for a call from C++; PyTorch's own ones are the public functions."""
    if qualified_name.startswith("aten::") and qualified_name not in operators.OPERATORS:
        name = qualified_name.removeprefix("aten::")
        found = getattr(tl, name, None) or getattr(tl.Tensor, name, None) or getattr(tl.nn.functional, name, None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    return operators.find(qualified_name, overload_name)


def has_operator(qualified_name: str, overload_name: str) -> bool:
    """Return whether there is an operator of a name."""
    try:
        find_operator(qualified_name, overload_name)
    except RuntimeError:
        return False
    return True
