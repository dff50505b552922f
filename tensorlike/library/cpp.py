"""Functions of Python that the C++ headers call, beside the public ones."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd import Function, enable_grad
from tensorlike.autograd.function import FunctionMeta
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.device import device
from tensorlike.tensor.dtypes import as_numpy_dtype, dtype
from tensorlike.tensor.from_data import finish
from tensorlike.tensor.storage import Memory
from tensorlike.tensor.tensor import Tensor

from . import operators, registration
from .classes import add_member, make_class, wrap_object
from .operators import OpOverload, below_autograd, keep_error
from .schema import Schema, Type, parse_schema

__all__ = [
    "TensorBase",
    "add_member",
    "below_autograd",
    "define",
    "find_operator",
    "from_blob",
    "function_apply",
    "has_operator",
    "implement",
    "keep_error",
    "make_class",
    "open_library",
    "wrap_object",
]


def from_blob(
    address: int, shape: Sequence[int], strides: Sequence[int], kind: dtype, place: device, owner: Any, requires: bool
) -> Tensor:
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


def function_apply(name: str, forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return `apply` of a new Function whose forward and backward are C++."""
    namespace = {"forward": staticmethod(forward), "backward": staticmethod(backward), "__module__": "torch.cpp"}
    made: Any = FunctionMeta(name, (Function,), namespace)
    made._node_class.__name__ = made._node_class.__qualname__ = name
    recorded: Callable[..., Any] = made.apply

    def apply(*args: Any) -> Any:
        if not operators.records_functions():
            return recorded(*args)
        with enable_grad():
            return recorded(*args)

    return apply


# ---- operators: see Note [Operators of C++] in library.h -------------------------------------------------------------


def define(namespace: str, schema: str) -> None:
    """Define an operator of `TORCH_LIBRARY`."""
    qualified = schema if "::" in schema.partition("(")[0] else f"{namespace}::{schema}"
    operators.define(qualified, _place.get(namespace, "C++"))
    for arguments in _waiting.pop(qualified.partition("(")[0].strip(), ()):
        implement(*arguments)


#: Kernels of operators that no library has defined yet: the files of an extension register in any order.
_waiting: dict[str, list[tuple[str, str, str, Callable[..., Any], str]]] = {}


#: Where the library that a namespace was last opened by lies.
_place: dict[str, str] = {}


def open_library(kind: str, namespace: str, where: str) -> None:
    """Begin the registrations of a block of C++."""
    registration.open_library(namespace, kind, where)
    _place[namespace] = where


def implement(namespace: str, name: str, key: str, function: Callable[..., Any], inferred: str) -> None:
    """Give an operator a kernel of C++. Raises RuntimeError for one with another signature than the schema."""
    qualified, _, overload_name = (name if "::" in name else f"{namespace}::{name}").partition(".")
    if not has_operator(qualified, overload_name):
        whole = f"{qualified}.{overload_name}" if overload_name else qualified
        _waiting.setdefault(whole, []).append((namespace, name, key, function, inferred))
        return
    overload = operators.find(qualified, overload_name)
    if inferred:
        _check_signature(overload, parse_schema(f"{qualified}{inferred}"))
    where = _place.get(namespace, "C++")
    if key == "CatchAll":
        key = "CompositeImplicitAutograd"
    operators.implement(overload, key, operators.Kernel(function, where, by_position=True))


def _check_signature(overload: OpOverload, inferred: Schema) -> None:
    declared = overload._schema
    problem = ""
    if len(declared.arguments) != len(inferred.arguments):
        problem = f"The number of arguments is different. {len(declared.arguments)} vs {len(inferred.arguments)}."
    elif len(declared.returns) != len(inferred.returns):
        problem = f"The number of returns is different. {len(declared.returns)} vs {len(inferred.returns)}."
    else:
        pairs = zip(declared.arguments, inferred.arguments, strict=True)
        for number, (one, other) in enumerate(pairs, 1):
            if not _same_type(one.type, other.type):
                problem = f"Type mismatch in argument {number}: {one.type} vs {other.type}."
                break
        else:
            for number, (one, other) in enumerate(zip(declared.returns, inferred.returns, strict=True), 1):
                if not _same_type(one.type, other.type):
                    problem = f"Type mismatch in return {number}: {one.type} vs {other.type}."
    if problem:
        raise RuntimeError(
            f"Inferred operator schema for a C++ kernel function doesn't match the expected function schema.\n"
            f"  operator: {overload.name()}\n  expected schema: {declared}\n    registered at {overload.where}\n"
            f"  inferred schema: {inferred}\n  reason: {problem}"
        )


def _same_type(declared: Type, inferred: Type) -> bool:
    """Return whether a kernel may take a type as another one: an optional tensor as one that may be undefined."""
    if declared.name == "Optional" and inferred.name != "Optional":
        return declared.elements[0].name == "Tensor" and inferred.name == "Tensor"
    if declared.name != inferred.name and declared.base != inferred.base:
        return False
    return len(declared.elements) == len(inferred.elements) and all(
        _same_type(a, b) for a, b in zip(declared.elements, inferred.elements, strict=True)
    )


def find_operator(qualified_name: str, overload_name: str) -> OpOverload:
    """Return an operator for a call from C++; PyTorch's own ones are the public functions."""
    if qualified_name.startswith("aten::") and qualified_name not in operators.OPERATORS:
        import tensorlike as tl

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
