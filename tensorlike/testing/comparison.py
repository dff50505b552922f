"""Asserting that tensors, and containers of them, are close."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.audit.making import TO_DENSE
from tensorlike.dispatch import DisableTorchFunctionSubclass, handle_torch_function, has_torch_function
from tensorlike.dispatch.errors import function_name
from tensorlike.tensor.creation.filled import as_tensor
from tensorlike.tensor.tensor import Tensor

#: (rtol, atol) by dtype; everything else must be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


class _Options(NamedTuple):
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool


def assert_close(
    actual: object,
    expected: object,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless `|actual - expected| <= atol + rtol * |expected|`, element by element.

    Takes tensors, arrays, Python numbers, None, and sequences and mappings of them. The tolerances depend on the dtype
    unless both are given: those of float32 are rtol=1.3e-6 and atol=1e-5, those of float64 1e-7 each, and integers and
    bools must be equal. Shapes must agree, and devices, dtypes and strides as far as they are checked. `msg` replaces
    the text of the error, or is a function from that text to another.

    Types with `__torch_function__` are dispatched to first. Those that return NotImplemented are read with their method
    `__tensorlike_to_dense__()`, or as arrays. Raises TypeError for values that cannot be compared, and ValueError when
    only one of `rtol` and `atol` is given, or one is negative.

    >>> from tensorlike.testing import assert_close
    >>> assert_close(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.000001]))
    >>> assert_close({"a": [1.0, None]}, {"a": (1.0, None)})
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"assert_close(): rtol and atol are given together or not at all, but {missing} is missing")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not value >= 0:
            raise ValueError(f"assert_close(): {name} must be at least 0, got {value}")
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    operands = (actual, expected)
    if has_torch_function(operands):
        given = {**options._asdict(), "msg": msg}
        try:
            handle_torch_function(assert_close, operands, actual, expected, **given)
            return
        except TypeError as error:
            # No type overrides `assert_close` itself: the values may still be compared.
            if not str(error).startswith(f"no implementation found for '{function_name(assert_close)}'"):
                raise
    problem = _difference(actual, expected, options)
    if problem:
        raise AssertionError(msg(problem) if callable(msg) else problem if msg is None else msg)


#: (rtol, atol) of `assert_allclose` by dtype; everything else must be equal.
_OLD_TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: object,
    expected: object,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Do what `assert_close` does, with a FutureWarning: PyTorch's old form.

    The dtypes need not agree, NaN equals NaN, other values become tensors, and the tolerances are larger.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     tl.testing.assert_allclose(tl.ones(2), [1.0, 1.000001])
    """
    warnings.warn(
        f"`{LIBRARY}.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        f"Please use `{LIBRARY}.testing.assert_close()` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = tl.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tl.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        pairs = [_OLD_TOLERANCES.get(t._tl_data.dtype.name, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = (max(both) for both in zip(*pairs))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def _difference(actual: Any, expected: Any, options: _Options, where: str = "") -> str | None:
    """Return a description of the difference of the values, or None."""
    at = f"\nThis is item {where}." if where else ""
    if actual is None or expected is None:
        return None if actual is expected else f"Only one is None: {actual!r} and {expected!r}.{at}"
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The sequences have different lengths: {len(actual)} and {len(expected)}.{at}"
        pairs = ((one, other, f"{where}[{i}]") for i, (one, other) in enumerate(zip(actual, expected)))
        return next((p for p in (_difference(a, b, options, w) for a, b, w in pairs) if p), None)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing, more = (sorted(map(repr, keys)) for keys in (expected.keys() - actual, actual.keys() - expected))
            return f"The mappings have different keys: missing {missing}, unexpected {more}.{at}"
        pairs = ((actual[key], value, f"{where}[{key!r}]") for key, value in expected.items())
        return next((p for p in (_difference(a, b, options, w) for a, b, w in pairs) if p), None)
    if _is_number(actual) and _is_number(expected):
        return _numbers(actual, expected, options, at)
    if _is_number(actual) or _is_number(expected):
        raise _incomparable(actual, expected, at)
    if not options.allow_subclasses and type(actual) is not type(expected):
        return f"The types differ: {type(actual).__name__} and {type(expected).__name__}.{at}"
    tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    if tensors and options.check_layout and actual.layout != expected.layout:
        return f"The layout is {actual.layout}, expected {expected.layout}.{at}"
    one, other = _dense(actual), _dense(expected)
    if one is None or other is None:
        raise _incomparable(actual, expected, at)
    with DisableTorchFunctionSubclass():
        problem = _tensors(one, other, options)
    return problem + at if problem else None


def _incomparable(actual: object, expected: object, at: str) -> TypeError:
    return TypeError(
        f"assert_close(): cannot compare {type(actual).__name__} with {type(expected).__name__}: give two tensors, two "
        f"numbers, or two containers of these.{at}"
    )


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)


def _dense(value: object) -> Any:
    """Return a tensor-like value as a tensor, or None."""
    if isinstance(value, Tensor):
        return value.to_dense() if value.is_sparse else value
    if hasattr(value, TO_DENSE):
        return getattr(value, TO_DENSE)()
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        found = np.asarray(value)
        return as_tensor(found) if found.dtype.kind in "biufcV" else None
    return None


def _tensors(actual: Tensor, expected: Tensor, options: _Options) -> str | None:
    compared: list[tuple[str, Any, Any]] = [("shape", tuple(actual.shape), tuple(expected.shape))]
    if options.check_device:
        compared.append(("device", actual.device, expected.device))
    if options.check_dtype:
        compared.append(("dtype", actual.dtype, expected.dtype))
    if options.check_stride:
        compared.append(("stride", actual.stride(), expected.stride()))
    for name, mine, theirs in compared:
        if mine != theirs:
            return f"The {name} is {mine}, expected {theirs}."
    rtol, atol = _tolerances(options, actual, expected)
    # Values of any dtype, on any device, are compared in the widest one in main memory.
    one, other = (np.asarray(t.detach().cpu()._tl_data) for t in (actual, expected))
    return _arrays(one, other, rtol, atol, options.equal_nan)


def _tolerances(options: _Options, *values: Tensor) -> tuple[float, float]:
    if options.rtol is not None and options.atol is not None:
        return options.rtol, options.atol
    found = [_TOLERANCES.get(str(v.dtype).rpartition(".")[2], (0.0, 0.0)) for v in values]
    return max(r for r, _ in found), max(a for _, a in found)


def _arrays(
    actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], rtol: float, atol: float, equal_nan: bool
) -> str | None:
    if actual.dtype.kind in "biu" and expected.dtype.kind in "biu":
        # Differences of 64-bit integers do not fit into floating point, nor into themselves.
        if rtol == atol == 0:
            near = actual == expected
        else:
            near = np.isclose(actual.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol)
    else:
        wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
        actual, expected = actual.astype(wide), expected.astype(wide)
        near = np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    wrong = int(np.size(near) - np.count_nonzero(near))
    if not wrong:
        return None
    with np.errstate(all="ignore"):
        difference = np.abs(actual.astype(np.complex128) - expected.astype(np.complex128))
        relative = difference / np.abs(expected.astype(np.complex128))
    lines = [f"The tensors are not close: {wrong} of {near.size} elements differ ({100 * wrong / near.size:.1f} %)."]
    for name, values, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        ranked = np.where(near, -1.0, np.where(np.isnan(values), np.inf, values))
        place = tuple(int(i) for i in np.unravel_index(int(np.argmax(ranked)), near.shape))
        index = f" at index {place}" if place else ""
        lines.append(f"Greatest {name} difference: {values[place]:.6g}{index} (allowed: {allowed:g})")
    first = tuple(int(i) for i in np.argwhere(~near)[0])
    lines.append(f"First: {actual[first]} at {first}, expected {expected[first]}.")
    return "\n".join(lines)


def _numbers(actual: Any, expected: Any, options: _Options, at: str) -> str | None:
    if options.check_dtype and type(actual) is not type(expected):
        return f"The types of the numbers differ: {type(actual).__name__} and {type(expected).__name__}.{at}"
    names = {float: "float64", complex: "complex128"}
    found = [_TOLERANCES.get(names.get(type(v), ""), (0.0, 0.0)) for v in (actual, expected)]
    rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    if options.rtol is not None and options.atol is not None:
        rtol, atol = options.rtol, options.atol
    if actual == expected or (options.equal_nan and actual != actual and expected != expected):
        return None
    difference = abs(actual - expected)
    if math.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    return f"The numbers are not close: {actual!r}, expected {expected!r} (rtol={rtol:g}, atol={atol:g}).{at}"
