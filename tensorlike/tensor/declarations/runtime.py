"""The parts of calls: running kernels, checking operands, writing results.

# Note [Kernels run quietly]
PyTorch returns inf and nan silently where NumPy warns, and the user's `np.seterr` must neither be changed nor have an
effect. NumPy keeps that state in a ContextVar, so kernels run inside one `contextvars.Context` whose only content is
"ignore everything", and the allocator that keeps memory for the next results: 20 to 40 ns, where `with
np.errstate(...)` takes 1300. A Context can be entered once at a time; while another thread is in it (kernels release
the GIL), or the same one, a kernel runs in a copy of it.

# Note [Errors in no cycle]
An exception refers to its traceback, that to the frames of the calls, and these to their variables: operands, the
graph. A frame of the traceback that refers to the exception closes a reference cycle, which keeps all of that until the
cyclic collector runs. So no function is passed the exception that it raises: `raise` without a name raises the one
being handled, `sys.exception()` reads it, and a variable that must hold an exception is deleted in a `finally`.
tests/reliability/test_errors_release.py calls every function wrongly and looks for cycles.

# Note [The current device]
CuPy computes on the device that is current in a thread, and gives results there. Functions on device arrays make the
arrays' device the current one first: a call that finds another one runs again inside that device's context.
Zero-dimensional tensors of the CPU may go with tensors of a GPU where an operation is pointwise; they are moved there
first, recorded, so that their gradients come back.
"""

from __future__ import annotations

import contextvars
import itertools
import math
import numbers
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, NoReturn, TypeVar

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike._native import core
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.inference import refuse_write
from tensorlike.autograd.node import edge_of, reshaped_leaf
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.options import fitting
from tensorlike.dispatch.tracebacks import explained

from ..backends import backend_of, check_same_device, device_of, namespace_of
from ..dtypes import as_numpy_dtype, default_complex, default_float, dtype_of
from ..layouts import is_dense, steps_of, strided_array
from ..memory.results import keep_memory
from ..memory.views import check_overlap, check_shared
from ..promotion import can_cast, category, promote_types, result_type, weak_scalar_dtype
from ..storage import placed_at, room_at
from ..types import Array, Namespace, Tensor

__all__ = [
    "again",
    "as_array",
    "device_guard",
    "elsewhere",
    "guarded",
    "options",
    "quiet",
    "scalars_moved",
    "space",
    "write_out",
    "wrong_type",
]

silent = contextvars.Context()
silent.run(np.seterr, all="ignore")
keep_memory(silent)

#: `quiet(kernel, *args)` runs a kernel with floating-point warnings off: see Note [Kernels run quietly].
quiet = silent.run

F = TypeVar("F", bound=Callable[..., Any])

ndarray = np.ndarray
_new = object.__new__


def again(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a kernel that could not enter the quiet context; raise the error being handled if it is the kernel's own."""
    given = getattr(sys.exception(), "args", ())
    if not (given and isinstance(given[0], str) and given[0].startswith("cannot enter context")):
        raise
    return silent.copy().run(kernel, *args, **kwargs)


def run_quietly(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a kernel with floating-point warnings off."""
    try:
        return quiet(kernel, *args, **kwargs)
    except RuntimeError:
        return again(kernel, *args, **kwargs)


def as_array(value: Any) -> Array:
    """Return a kernel's result as an array: NumPy gives scalars where a zero-dimensional array is meant."""
    if isinstance(value, (np.generic, int, float, complex)):
        return np.asarray(value)
    return value  # type: ignore[no-any-return]


def elsewhere(*arrays: Array | float | tuple[float | None, ...] | None) -> AbstractContextManager[Any] | None:
    """Return the device context for computing with these arrays; None if it is the current one already."""
    for array in arrays:
        for item in array if isinstance(array, (list, tuple)) else (array,):
            if type(item) is ndarray:
                return None
            if hasattr(item, "dtype") and not isinstance(item, np.generic):
                backend = backend_of(item)
                device = backend.device_of(item)
                return None if device is backend.current_device() else backend.device_guard(device)
    return None


def device_guard(array: Array) -> AbstractContextManager[Any]:
    """Return the device context for computing with `array`, for functions on raw arrays."""
    return (None if type(array) is ndarray else elsewhere(array)) or _NO_GUARD


_NO_GUARD: AbstractContextManager[Any] = nullcontext()


def guarded(function: F) -> F:
    """Make a function on raw arrays run in the device context of its first tensor or array."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        guard = elsewhere(*[a._tl_data if isinstance(a, TensorBase) else a for a in args])
        if guard is None:
            return function(*args, **kwargs)
        with guard:
            return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def add_arrays(a: Array, b: Array, out: Array | None = None) -> Any:
    """Add two raw arrays, into a third if given."""
    if type(a) is ndarray:
        try:
            return quiet(np.add, a, b, out)
        except RuntimeError:
            return again(np.add, a, b, out)
    with device_guard(a):
        return namespace_of(a).add(a, b, out=out)


if core is not None:
    core.provide_addition(np.add)


def copied(array: Array, like: Array | None = None) -> Any:
    """Return a copy of a raw array, on its device: in the order of `like` if that has its shape and no gaps."""
    with _NO_GUARD if type(array) is ndarray else device_guard(array):
        result = array.copy()
        if like is None or result.strides == like.strides or result.shape != like.shape or not is_dense(like):
            return result
        steps = tuple(step // like.itemsize for step in like.strides)
        result = strided_array(namespace_of(array), array.shape, steps, array.dtype)
        result[...] = array
        return result


def scalars_moved(inplace: bool, *operands: Tensor) -> tuple[Any, ...] | None:
    """Return operands with the zero-dimensional tensors of the CPU moved to the device of the others; None if none are.

    The operand of an in-place form is not moved.
    """
    tensors = [o for o in operands if isinstance(o, TensorBase)]
    there = next((device_of(t._tl_data) for t in tensors if type(t._tl_data) is not ndarray), None)
    moves = [
        isinstance(o, TensorBase) and type(o._tl_data) is ndarray and not o._tl_data.ndim and not (inplace and i == 0)
        for i, o in enumerate(operands)
    ]
    if there is None or not any(moves):
        return None
    return tuple(o._tl_transfer(there) if move else o for o, move in zip(operands, moves, strict=True))


def run_moved(inplace: bool, name: str, function: Callable[..., Any], *args: Tensor, **options: Any) -> Any:
    """Run `function` again with zero-dimensional tensors where the others are, or raise what `space` raises."""
    moved = scalars_moved(inplace, *args)
    if moved is None:
        return space(name, *[a._tl_data for a in args if isinstance(a, TensorBase)])
    return function(*moved, **options)


def shared_space(name: str, *arrays: Array | float | complex | None) -> Any:
    """Return what `space` returns, None where it would raise because the operands are on two devices."""
    try:
        return space(name, *arrays)
    except RuntimeError:
        return None


def run_guarded(guard: AbstractContextManager[Any], function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run `function` again in the context of its operands' device: see Note [The current device]."""
    with guard:
        return function(*args, **options)


def as_arrays(values: Sequence[Array]) -> list[Any]:
    """Return a kernel's several results as arrays."""
    return [v if type(v) is ndarray else as_array(v) for v in values]


def contiguous_arrays(values: Any) -> list[Any]:
    """Return a kernel's several results as contiguous arrays."""
    arrays = [as_array(v) for v in values]
    return [v if v.flags.c_contiguous else v.copy() for v in arrays]


#: The usual types of numbers. `numbers.Number` covers all, and takes ten times as long.
_WEAK = frozenset((int, float))


def space(name: str, *arrays: Any) -> Namespace:
    """Return the namespace that the operands' arrays share; numbers and None do not count."""
    found = None
    first: Any = None
    for array in arrays:
        for item in array if isinstance(array, (list, tuple)) else (array,):
            kind = type(item)
            if kind is not ndarray and (item is None or kind in _WEAK or isinstance(item, numbers.Number)):
                continue
            if found is None:
                found, first = namespace_of(item), item
            elif type(item) is not type(first) or type(item) is not ndarray:
                check_same_device([first, item], name)
    return np if found is None else found


_ORDINAL_NAMES = {type(None): "NoneType"}


_IS_HEAP_TYPE = 1 << 9


def type_name(value: Any) -> str:
    """Return the name of a value's type as error messages show it: with its module for a type written in C."""
    kind = type(value)
    bare = kind.__flags__ & _IS_HEAP_TYPE or kind.__module__ == "builtins"
    return kind.__name__ if bare else f"{kind.__module__}.{kind.__name__}"


def wrong_type(function: str, argument: str, position: int | None, value: Any, expected: str = "Tensor") -> NoReturn:
    """Raise the TypeError for an operand that is neither a tensor nor of a type with `__torch_function__`."""
    place = f" (position {position})" if position is not None else ""
    hint = ""
    if isinstance(value, (np.ndarray, list, tuple, bool, int, float, complex)) and expected.startswith("Tensor"):
        hint = f"; make it a tensor first, e.g. with {LIBRARY}.as_tensor({argument})"
    short = function.rpartition(".")[2]
    raise explained(
        TypeError, "not-a-tensor",
        f"{short}(): argument '{argument}'{place} must be {expected}, not {type_name(value)}{hint}",
    )  # fmt: skip


def options(function: str, *given: tuple[str, str, Any]) -> None:
    """Raise a TypeError unless every value may stand for the `bool` or the `int` that its annotation says."""
    for argument, annotation, value in given:
        if not fitting(annotation, value):
            wrong_type(function, argument, None, value, annotation)


def is_number(value: Any) -> bool:
    """Return whether `value` is a Python or NumPy number, which PyTorch calls a Scalar."""
    return isinstance(value, (int, float, complex, np.generic))


def spelled(function: str, argument: str, values: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of a variadic argument that was passed by its name, as in `x.permute(dims=(1, 0))`."""
    for name in keywords:
        if name != argument:
            raise TypeError(f"{function.rpartition('.')[2]}() got an unexpected keyword argument {name!r}")
    if not keywords:
        raise TypeError(f"{function.rpartition('.')[2]}() missing 1 required positional argument: {argument!r}")
    if values:
        raise TypeError(f"{function.rpartition('.')[2]}() got multiple values for argument {argument!r}")
    value = keywords[argument]
    if not isinstance(value, (tuple, list)):
        wrong_type(function, argument, None, value, "tuple of ints")
    return tuple(value)


def number_tensor(number: float, *others: Any, floating: np.dtype[Any] | None = None) -> Tensor:
    """Return a number as a zero-dimensional tensor, of its promoted dtype next to the other operands.

    `floating` is the dtype in which the operation computes integers.
    """
    for other in others:
        if isinstance(other, TensorBase):
            array = other._tl_data
            dtype = weak_scalar_dtype(array.dtype, number)
            if floating is not None and dtype.kind in "biu":
                dtype = floating
            elif isinstance(number, (bool, np.bool_)) or (dtype.kind in "iu" and array.ndim):
                dtype = result_type(number)
            with device_guard(array):
                return wrap(number_array(namespace_of(array), number, dtype))
    return wrap(np.asarray(number, dtype=result_type(number)))


def many(function: str, argument: str, position: int | None, values: Tensor | Sequence[Tensor]) -> list[Any]:
    """Return the arrays of a sequence of tensors; raise TypeError for other values."""
    if not isinstance(values, (list, tuple)):
        wrong_type(function, argument, position, values, "tuple of Tensors")
    arrays = []
    for index, value in enumerate(values):
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"{function.rpartition('.')[2]}(): expected Tensor as element {index} in argument "
                f"{(position or 1) - 1} ('{argument}'), but got {type_name(value)}"
            )
        arrays.append(value._tl_data)
    return arrays


# ----------------------------------------------------------------------------------------------- promotion of operands

_BOOL = np.dtype(bool)


def number_array(xp: Namespace, value: Any, dtype: np.dtype[Any]) -> Array:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and dtype.kind in "iu":
        # PyTorch wraps a Python int into the dtype of the array where NumPy 2 raises OverflowError.
        limits = np.iinfo(dtype)
        number = int(value)
        if not limits.min <= number <= limits.max:
            if not -(2**63) <= number < 2**64:
                raise OverflowError(f"int too big to convert: {number} does not fit in 64 bits")
            return xp.asarray(np.array(number & (2**64 - 1), dtype=np.uint64).astype(dtype))
    if type(value) is float and not -65504.0 <= value <= 65504.0:
        # It may overflow to infinity, as in PyTorch.
        with np.errstate(all="ignore"):
            return xp.asarray(value, dtype=dtype)
    return xp.asarray(value, dtype=dtype)


def _common(operands: Sequence[Any]) -> Any:
    first = operands[0]
    if hasattr(first, "dtype") and all(type(o) is type(first) and o.dtype is first.dtype for o in operands[1:]):
        return first.dtype
    return result_type(*operands)


def cast_all(xp: Namespace, operands: Sequence[Any], dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """Return the operands in one dtype, numbers as zero-dimensional arrays."""
    return tuple(
        (o if o.dtype is dtype else o.astype(dtype)) if hasattr(o, "astype") and not isinstance(o, np.generic)
        else number_array(xp, o, dtype)
        for o in operands
    )  # fmt: skip


def promote_arithmetic(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Bring operands to their common dtype."""
    return cast_all(xp, operands, _common(operands))


def promote_float(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Bring operands to their common dtype, integers and booleans to the default floating-point dtype."""
    dtype = _common(operands)
    if dtype.kind in "biu":
        dtype = default_float()
    return cast_all(xp, operands, dtype)


def promote_only(
    kinds: str, what: str, base: Callable[..., tuple[Any, ...]] = promote_arithmetic
) -> Callable[..., tuple[Any, ...]]:
    """Return a rule that brings operands to their common dtype, which must be of one of `kinds`."""

    def promote(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
        promoted = base(name, xp, operands)
        dtype = promoted[0].dtype
        # bfloat16, from another package, is of kind V.
        if (dtype.kind if dtype.kind != "V" else "f") not in kinds:
            short = name.strip("_")
            raise NotImplementedError(
                f"\"{short}\" not implemented for '{dtype_name(dtype)}': {short}() works on {what} tensors"
            )
        return promoted

    return promote


promote_real_numeric = promote_only("iuf", "integer and floating-point")
promote_numeric = promote_only("iufc", "integer, floating-point and complex")
promote_real = promote_only("biuf", "boolean, integer and floating-point")


def promote_bits(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Bring operands to their common dtype, which must be an integer or boolean one."""
    if name == "__invert__" and operands[0].dtype.kind not in "biu":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not on "
            f"{dtype_of(operands[0].dtype)}"
        )
    return _promote_bits(name, xp, operands)


_promote_bits = promote_only("biu", "integer and boolean")


def promote_subtraction(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Bring operands to their common dtype; none of them may be boolean."""
    booleans = [o is True or o is False or getattr(o, "dtype", None) == _BOOL for o in operands]
    if any(booleans):
        if all(booleans):
            raise RuntimeError(
                "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                "operator instead."
            )
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return promote_arithmetic(name, xp, operands)


def promote_negation(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operand; raise for a boolean one."""
    if operands[0].dtype == _BOOL:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return tuple(operands)


def promote_magnitude(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operand; raise for a boolean one, and for a complex one if a real result is written into it."""
    if operands[0].dtype.kind == "c" and name.endswith("_"):
        raise RuntimeError("In-place abs is not supported for complex tensors: use abs(), whose result is real.")
    return promote_numeric(name, xp, operands)


def promote_nothing(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Leave the operands to a kernel whose options decide the dtype."""
    return tuple(operands)


def check_fit(operands: Sequence[Any], dtype: np.dtype[Any]) -> None:
    # Unlike the operators, a few functions raise for a number that the dtype cannot hold, by its absolute value.
    if dtype.kind in "iu":
        most = int(np.iinfo(dtype).max)
        for number in operands:
            if isinstance(number, (int, np.integer)) and not -most - (dtype.kind == "i") <= int(number) <= most:
                raise RuntimeError(f"value cannot be converted to type {dtype_of(dtype)} without overflow: {number}")


def promote_bounds(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Bring a tensor and its bounds to their common dtype, which must be ordered and must hold the bounds."""
    if operands[0].dtype.kind == "f" and all(type(o) in _WEAK for o in operands[1:]):
        return tuple(operands)  # NumPy's own rules are PyTorch's for plain numbers next to floating-point elements.
    dtype = _common(operands)
    check_fit(operands, dtype)
    return promote_real(name, xp, operands)


def promote_power(name: str, xp: Namespace, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Bring base and exponent to their common dtype; raise for an integer with a negative exponent."""
    dtype = _common(operands)
    exponent = operands[-1]
    if isinstance(exponent, (int, np.integer)) and exponent < 0 and dtype.kind in "iu":
        raise RuntimeError(
            "Integers to negative integer powers are not allowed. Convert the base first, e.g. with .float()"
        )
    check_fit(operands[1:], dtype)
    if dtype.kind == "b" and isinstance(exponent, (bool, np.bool_)):
        return cast_all(xp, operands, dtype)  # The only powers of booleans: the base itself, and True.
    return promote_numeric(name, xp, operands)


# --------------------------------------------------------------------------------------------------- writing results


def broadcast_error(name: str, error: Exception, arrays: Sequence[Any]) -> Exception:
    """Return PyTorch's error for shapes that do not broadcast, or `error` itself."""
    shapes = [tuple(a.shape) for a in arrays if hasattr(a, "shape")]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        if len(shapes) >= 2:
            for a, b in itertools.pairwise(shapes):
                width = max(len(a), len(b))
                for back in range(1, min(len(a), len(b)) + 1):
                    if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
                        return explained(
                            RuntimeError, "broadcast",
                            f"{name}(): The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) "
                            f"at non-singleton dimension {width - back}: the shapes {list(a)} and {list(b)} do not "
                            "broadcast",
                        )  # fmt: skip
        return explained(
            RuntimeError, "broadcast", f"{name}(): the shapes {[list(s) for s in shapes]} do not broadcast"
        )
    return error


def run_elementwise(name: str, kernel: Callable[..., Any], arrays: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """Run an elementwise kernel; shapes that do not broadcast give PyTorch's error."""
    try:
        return run_quietly(kernel, *args, **kwargs)
    except ValueError as error:
        raise broadcast_error(name, error, arrays) from None


def write_out(
    name: str, out: Tensor, result: Array, *operands: Any, rule: str = "cast", recorded: bool = True,
    pointwise: bool = False, disjoint: Sequence[Any] = (),
) -> Tensor:  # fmt: skip
    """Write a result into `out=`, resized when its shape differs, and return `out`.

    By `rule` the result is cast, if it can be ("cast", or "joined", which raises TypeError) or always ("any"), or `out`
    must be of its dtype ("exact") or of booleans or uint8 ("truth"). Without `recorded` the operation has no
    derivative, so that operands may require grad. A `pointwise` operation does not resize its operands; those that are
    `disjoint` must not share memory with `out`.
    """
    if not isinstance(out, TensorBase):
        wrong_type(name, "out", None, out)
    if recorded and grad_enabled():
        for operand in (out, *operands):
            if isinstance(operand, TensorBase) and not operand._tl_tracked:
                continue
            for item in operand if isinstance(operand, (list, tuple)) else (operand,):
                if isinstance(item, TensorBase) and item._tl_tracked and edge_of(item) is not None:
                    raise RuntimeError(
                        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one "
                        "of the arguments requires grad. Call it without out=, or under no_grad()."
                    )
    if out._tl_inference:
        refuse_write(name)
    target = out._tl_data
    if type(target) is not ndarray or type(result) is not ndarray:
        check_same_device([target, result], name)
    if result.dtype is target.dtype:
        pass
    elif rule == "any" or (rule == "truth" and target.dtype.char in "?B"):
        result = result.astype(target.dtype)
    elif rule not in ("cast", "joined") and result.dtype != target.dtype:
        raise RuntimeError(
            f"{name}(): Expected out tensor to have dtype {dtype_name(result.dtype)}, but got "
            f"{dtype_name(target.dtype)} instead"
        )
    elif not can_cast(result.dtype, target.dtype):
        raise (TypeError if rule == "joined" else RuntimeError)(
            f"{name}(): result type {dtype_name(result.dtype)} can't be cast to the desired output type "
            f"{dtype_name(target.dtype)}"
        )
    if pointwise or target.shape == result.shape:
        check_overlap(target, name)  # What is resized has memory of its own.
    if disjoint:
        check_shared(out, disjoint, name, True)
    if target.shape != result.shape:
        if pointwise and any(o is out for o in operands):
            raise RuntimeError(
                f"{name}(): output with shape {list(target.shape)} doesn't match the broadcast shape "
                f"{list(result.shape)}: an operand cannot be resized while it is read"
            )
        if target.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does "
                f"not match the required output shape {list(result.shape)}. Pass an `out` of that shape, or one "
                "without elements.",
                UserWarning,
                stacklevel=outside_stacklevel(),
            )
        _write_resized(out, result if result.dtype == target.dtype else result.astype(target.dtype), operands)
        reshaped_leaf(out)
    else:
        check_shared(out, operands, name)
        target[...] = result
    if out._tl_counter is not None:
        out._tl_counter[0] += 1
    else:
        out._tl_counter = [1]
    return out


def _write_resized(out: Tensor, result: Array, operands: tuple[Any, ...]) -> None:
    """Give `out` the shape of a result and its elements, at its place in memory: what shares that memory sees them.

    Where the memory does not suffice, `out` moves to memory of its own, and what shares its former memory sees the
    elements that have a place there. An array without elements has no place: NumPy's do not keep it.
    """
    target = out._tl_data
    room = room_at(target) if target.size else 0
    if 0 < result.size <= room:
        out._tl_data = placed_at(target, result.shape, steps_of(result.shape, None))
        out._tl_data[...] = result
        return
    if result.size and room:
        placed_at(target, (room,), (1,))[...] = result.reshape(-1)[:room]
    if out._tl_view_base is not None and not out._tl_tracked:
        out._tl_view_base = None
        out._tl_counter = None if out._tl_counter is None else [out._tl_counter[0]]
    if result.base is not None or any(isinstance(o, TensorBase) and o._tl_data is result for o in operands):
        result = result.copy()
    out._tl_data = result


def unwritten(out: Tensor, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return the array of that shape and dtype that `out` would be after it was resized, with what its memory holds."""
    array: Array = out._tl_data
    if array.shape == shape:
        return array
    if array.size and array.dtype == dtype and math.prod(shape) <= room_at(array):
        return placed_at(array, shape, steps_of(shape, None))
    return np.empty(shape, dtype)


def wanted_dtype(name: str, dtype: Any, out: Tensor | None) -> np.dtype[Any] | None:
    """Return the dtype requested of a factory by `dtype=` or `out=`, None if by neither.

    Raises RuntimeError when the two differ.
    """
    wanted = None if dtype is None else as_numpy_dtype(dtype, name)
    if out is None:
        return wanted
    if not isinstance(out, TensorBase):
        wrong_type(name, "out", None, out)
    there = out._tl_data.dtype
    if wanted is not None and wanted != there:
        raise RuntimeError(
            f"{name}(): dtype {dtype_name(wanted)} does not match dtype of out parameter ({dtype_name(there)})"
        )
    return there  # type: ignore[no-any-return]


_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "bfloat16": "BFloat16", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def dtype_name(dtype: str | np.dtype[Any]) -> str:
    """Return the name PyTorch's messages use for a dtype, such as Float."""
    return _NAMES.get(str(dtype), str(dtype))


__all__ += [
    "TensorBase", "backend_of", "cast_all", "category", "check_fit", "default_complex", "dtype_name",
    "is_number", "many", "promote_types", "run_elementwise", "run_quietly", "wrap",
]  # fmt: skip
