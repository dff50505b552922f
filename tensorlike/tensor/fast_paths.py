"""Fast paths written by hand, for operations that are not elementwise: see Note [The hot path] in `generate_hot`.

A fast path is source that runs first in the generated wrapper: the whole life of a plain call in one frame (300 to 700
ns less than through the implementation). It handles the common case: plain types, the usual options and a dtype that
NumPy treats as PyTorch does; it returns the result, or falls through when anything is unusual, errors included. So it
never raises, and all other cases are computed, or refused, by the implementation.

With `TENSORLIKE_FAST_PATHS=0` in the environment no fast path is written into a wrapper: every call goes through the
implementation, so that a breakpoint in a kernel is hit by plain tensors too, and that a result which is suspected to
come from a fast path can be computed without. A test compares the two.

# Note [Small reductions]
A reduction of NumPy takes a microsecond before it adds anything. Up to 16 elements a product with a vector of ones is
the same sum for half of that (600 ns less); softmax without a shift is exact where no exponential can over- or
underflow, which the elements themselves show.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike.autograd.grad_mode import get_state
from tensorlike.autograd.tensor_base import AutogradMeta, new_tensor_source, no_history
from tensorlike.dispatch.signature import Parameter

from .size import Size
from .views import view_of

__all__ = ["CAT", "ENABLED", "LINEAR", "MATMUL", "MEAN", "RESHAPE", "SOFTMAX", "STACK", "SUM", "WHERE", "FastPath"]


#: Whether wrappers have fast paths: the hand-written ones, those of elementwise operations, and those for subclasses.
ENABLED = os.environ.get("TENSORLIKE_FAST_PATHS", "1") != "0"


class FastPath(NamedTuple):
    """Source that may return early, in terms of the parameters as the wrapper calls them: methods' first is `input`."""

    source: str
    #: The values that it uses besides those of all fast paths: see `forms.values_of`.
    values: Mapping[str, Any]

    def written(self, parameters: Sequence[Parameter]) -> str:
        """Return the source for a wrapper with any parameters."""
        return self.source.strip("\n") if ENABLED else ""


_NEW = ("\n" + 12 * " ").join(new_tensor_source("tensor", "result"))


def _returning(tracked: str, record: str) -> str:
    """Return lines that wrap `result`, recorded where `tracked`."""
    return f"""
            if {tracked}:
                return record({record})
            {_NEW}
            return tensor
""".strip("\n")


_RECORD_LINEAR = "result, input, weight, None if c is None else bias"
_FLOATING = frozenset("fdFD")
#: A complex infinity times one is not itself.
_REAL = frozenset("fd")
_SMALL = 16
#: By the letter of a dtype: vectors of 0, 1, 2, ... ones.
_ONES = {char: [np.ones(n, char) for n in range(_SMALL + 1)] for char in "fd"}


def _summed(array: Any, axis: Any) -> Any:
    """Return the sum of a small array, over all elements where `axis` is None; None where a product cannot be used."""
    ones = _ONES[array.dtype.char]
    if axis is None or array.ndim == 1:
        if axis is not None and not -1 <= axis <= 0:
            return None
        result = np.empty((), array.dtype)
        array.ravel().dot(ones[array.size], result)
        return result
    if array.ndim != 2 or not -2 <= axis < 2:
        return None
    return array.dot(ones[array.shape[1]]) if axis in (1, -1) else ones[array.shape[0]].dot(array)


def _mean(array: Any, axis: Any) -> Any:
    """Return the mean as `_summed` returns the sum."""
    result = _summed(array, axis)
    if result is not None:
        result /= array.size if axis is None else array.shape[axis]
    return result


def _reduction(small: Any) -> FastPath:
    """Return the fast path of a reduction of all elements, or over one dimension, the most common calls."""
    return FastPath(
        f"""
if (
    type(input) in TENSORS
    and keepdim is MISSING
    and (not keywords or (dim is MISSING and len(keywords) == 1 and "dim" in keywords))
):
    a = input._tl_data
    axis = keywords["dim"] if keywords else None if dim is MISSING else dim
    if (
        type(a) is ndarray
        and 0 < a.size <= {_SMALL}
        and (axis is None or type(axis) is int)
        and a.dtype.char in REAL
    ):
        try:
            result = quiet(small, a, axis)
        except Exception:
            result = None
        if result is not None:
{_returning("input._tl_tracked", "result, input, axis, default_keepdim, default_dtype")}
""",
        {"small": small, "REAL": _REAL},
    )


SUM = _reduction(_summed)
MEAN = _reduction(_mean)

MATMUL = FastPath(
    f"""
if type(input) in TENSORS and type(other) in TENSORS and not keywords:
    a = input._tl_data
    b = other._tl_data
    # `dot` takes half as long as `matmul`, a generalised ufunc, and is the same for these (350 ns).
    if type(a) is type(b) is ndarray and a.dtype is b.dtype and a.ndim == 2 >= b.ndim > 0 and a.dtype.char in FLOATING:
        try:
            result = quiet(a.dot, b)
        except Exception:
            pass
        else:
{_returning("input._tl_tracked or other._tl_tracked", "result, input, other")}
""",
    {"FLOATING": _FLOATING},
)

# Where NumPy's common dtype is that of the first array, and a real floating-point one, it is PyTorch's as well; PyTorch
# does not promote some integers to complex.
_JOINED = """
if type(tensors) in SEQUENCES and not keywords:
    axis = 0 if dim is MISSING else dim
    arrays = []
    tracked = False
    rest = tensors
    if len(tensors) > 64 and TENSORS.issuperset(map(type, tensors)):
        # A third of the time of the loop, per tensor.
        arrays = [tensor._tl_data for tensor in tensors if not tensor._tl_tracked]
        tracked = len(arrays) < len(tensors)
        if tracked:
            arrays = [tensor._tl_data for tensor in tensors]
        rest = ()
    for tensor in rest:
        if type(tensor) not in TENSORS:
            # What `dispatch` would find, two frames earlier (400 ns).
            _plan = known_plan(tuple(map(type, tensors)))
            if _plan is not None and _plan.types and _plan.default is None and _state().clear:
                args = (tensors,) if dim is MISSING else (tensors, dim)
                return ask_types(form.key, _plan, tensors, args, keywords)
            break
        if tensor._tl_tracked:
            tracked = True
        arrays.append(tensor._tl_data)
    else:
        try:
            {join}
        except Exception:
            result = None
        dtype = result.dtype if type(result) is ndarray and arrays else None
        if (
            dtype is not None
            and dtype is arrays[0].dtype
            and (dtype.kind == "f" or len({{a.dtype for a in arrays}}) == 1)
            and (result.ndim < 2 or result.flags.c_contiguous)
        ):
"""

def _join_many(arrays: Any, axis: int) -> Any:
    if arrays and axis in (0, -1):
        dtype, size = arrays[0].dtype, arrays[0].nbytes
        if size < 256 and dtype.isbuiltin == 1 and all(a.ndim == 1 and a.dtype is dtype for a in arrays):
            try:
                # Many short vectors, as bytes: a third of the time.
                return np.frombuffer(b"".join(arrays), dtype).copy()
            except (BufferError, ValueError):
                pass  # One has gaps, or all are empty.
    return np.concatenate(arrays, axis)


CAT = FastPath(
    _JOINED.format(join="result = (concatenate if rest else join_many)(arrays, axis) if type(axis) is int else None")
    + _returning("tracked", "result, tensors, axis"),
    {"concatenate": np.concatenate, "join_many": _join_many},
)

# `numpy.stack` is Python (2.5 us for two); an array of arrays is what it makes along dimension 0.
STACK = FastPath(
    _JOINED.format(join="result = array(arrays) if axis == 0 and type(axis) is int and len(arrays) < 64 else None")
    + _returning("tracked", "result, tensors, axis"),
    {"array": np.array},
)


def _linear(array: Any, weight: Any, bias: Any) -> Any:
    """Return `array @ weight.T + bias`, or None outside of the simple case."""
    if array.ndim == 2:
        result = array.dot(weight.T)
    elif array.flags.c_contiguous and array.ndim and array.size:
        result = array.reshape(-1, array.shape[-1]).dot(weight.T).reshape(*array.shape[:-1], weight.shape[0])
    else:
        return None
    if bias is not None:
        np.add(result, bias, result)
    return result


# 2 us less than through the implementation, whose checks `dot` makes itself.
LINEAR = FastPath(
    f"""
if (
    type(input) in TENSORS
    and type(weight) in TENSORS
    and not keywords
    and (bias is MISSING or type(bias) in OPTIONAL_TENSORS)
):
    a = input._tl_data
    b = weight._tl_data
    c = None if bias is MISSING or bias is None else bias._tl_data
    if (
        type(a) is type(b) is ndarray
        and a.dtype is b.dtype
        and b.ndim == 2
        and a.dtype.char in FLOATING
        and (c is None or (c.ndim == 1 and c.dtype is a.dtype))
    ):
        try:
            result = quiet(rows_times, a, b, c)
        except Exception:
            result = None
        if result is not None:
{_returning("input._tl_tracked or weight._tl_tracked or (c is not None and bias._tl_tracked)", _RECORD_LINEAR)}
""",
    {"FLOATING": _FLOATING, "rows_times": _linear},
)


RESHAPE = FastPath(
    """
if type(input) in TENSORS and type(shape) in SHAPES and not keywords and (not input._tl_tracked or no_history(input)):
    sizes = shape if len(shape) != 1 or type(shape[0]) is int else shape[0]
    if type(sizes) in SHAPES:
        array = input._tl_data
        try:
            result = array.reshape(sizes)
            memory = result.base
            # NumPy takes any negative size for -1, which the result's shape tells apart in 30 ns.
            fits = type(result) is ndarray and (result.shape == sizes or (-1 in sizes and min(sizes) == -1))
        except Exception:
            fits = False
        # A copy has other memory. This is a third of the price of `may_share_memory`.
        if fits and (memory is array or (memory is not None and memory is array.base)):
            if input._tl_tracked or not get_state().recording:
                return view_of(input, result)
            # `view_of`, written out for what has neither history nor base: 100 ns less.
            counter = input._tl_counter
            if counter is None:
                counter = input._tl_counter = [0]
            tensor = new(Tensor)
            tensor._tl_data = result
            tensor._tl_tracked = True
            tensor._tl_edge = None
            tensor._tl_counter = counter
            meta = tensor._tl_meta = AutogradMeta()
            meta.view_base = input
            meta.view_version = counter[0]
            return tensor
""",
    {"SHAPES": frozenset((tuple, Size)), "get_state": get_state, "no_history": no_history, "view_of": view_of}
    | {"AutogradMeta": AutogradMeta},
)


# Selecting elements cannot warn, so it needs no quiet context.
WHERE = FastPath(
    f"""
if type(condition) in TENSORS and type(input) in TENSORS and not keywords:
    mask = condition._tl_data
    a = input._tl_data
    if type(other) in TENSORS:
        b = other._tl_data
        same = a.dtype is b.dtype
    else:
        b = other
        same = type(other) is float and a.dtype.kind == "f"
    if same and type(a) is ndarray and mask.dtype is BOOL:
        try:
            result = choose(mask, a, b)
        except Exception:
            result = None
        if type(result) is ndarray and result.dtype is a.dtype:
{_returning("input._tl_tracked or (b is not other and other._tl_tracked)", "result, condition, input, other")}
""",
    {"choose": np.where},
)


def _softmax(array: Any) -> Any:
    """Return the softmax along the last dimension of a small array, or None outside of the simple case."""
    if not array.flags.c_contiguous:
        return None
    flat = array.ravel()
    # No element is beyond 40 where the squares sum to less than its square, and exp(-40) and exp(40) are far from the
    # limits of float32. A NaN takes the general path.
    if not flat.dot(flat) < 1600.0:
        return None
    result = np.exp(array)
    # A square matrix of ones gives the sum of a row in every column: broadcasting the divisor takes 600 ns more.
    result /= result.dot(_SQUARES[array.dtype.char][array.shape[-1]])
    return result


_SQUARES = {char: [np.ones((n, n), char) for n in range(_SMALL + 1)] for char in "fd"}

SOFTMAX = FastPath(
    f"""
if type(input) in TENSORS and type(dim) is int and dtype is MISSING and not keywords:
    a = input._tl_data
    if (
        type(a) is ndarray
        and 0 < a.size <= {_SMALL}
        and (dim == -1 or dim == a.ndim - 1)
        and a.ndim > 0
        and a.dtype.char in "fd"
    ):
        try:
            result = quiet(small_softmax, a)
        except Exception:
            result = None
        if result is not None:
{_returning("input._tl_tracked", "result, input, dim, default_dtype")}
""",
    {"small_softmax": _softmax},
)
