"""Printing tensors: formats raw NumPy arrays as PyTorch prints tensors.

Works on arrays only. The properties of a tensor (its dtype's name, device, gradient state, class) are passed as strings
and flags, so that printing calls no operation that a mode or a subclass could intercept: a `repr` inside a
`__torch_function__` cannot recurse into it.
"""

from __future__ import annotations

import math
import operator
import reprlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.forks import renew_after_fork


@dataclass(frozen=True, slots=True)
class _PrintOptions:
    """The print options; the fields are the keyword arguments of `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: float = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

# Replaced as a whole and never changed, so that a thread that prints sees one consistent set of options without a
# lock. The lock only keeps two threads that each set one option from losing the other's change.
_options = _PrintOptions()
_options_lock = threading.Lock()
renew_after_fork(globals(), "_options_lock", threading.Lock)


def _checked_count(name: str, value: object, error: type[Exception]) -> int:
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(f"set_printoptions(): {name} must be an int, got {value!r}; pass a whole number >= 0") from None
    if count < 0:
        raise ValueError(f"set_printoptions(): {name} must not be negative, got {value!r}; pass a whole number >= 0")
    return count


def _checked_number(name: str, value: object) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(
            f"set_printoptions(): {name} must be a number, got {value!r} of type {type(value).__name__}; "
            "pass an int, or math.inf for no limit"
        )
    if math.isnan(value):
        raise ValueError(f"set_printoptions(): {name} must not be nan; pass an int, or math.inf for no limit")
    return value  # type: ignore[return-value]


def set_printoptions(
    precision: SupportsIndex | None = None,
    threshold: float | None = None,
    edgeitems: SupportsIndex | None = None,
    linewidth: float | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print, in every thread; options that are not given stay, except `sci_mode`.

    `precision` is the number of digits after the point, `threshold` the number of elements above which a tensor is
    summarized, `edgeitems` how many entries a summary shows at each end of a dimension, and `linewidth` the columns
    after which lines break. `profile` ("default", "short" or "full") sets these four first. `sci_mode` forces
    scientific notation on or off; None, the default, decides by the values.

    Raises ValueError for a precision that is no whole number, a negative count, or an unknown profile, and TypeError
    for an option that is not a number.

    Example::

        >>> tl.set_printoptions(precision=2)
        >>> tl.tensor([2.71828, -0.5])
        tensor([ 2.72, -0.50])
        >>> tl.set_printoptions(profile="default")
        >>> tl.tensor([2.71828, -0.5])
        tensor([ 2.7183, -0.5000])

    Same as PyTorch's function of that name, which checks its arguments only when it prints and ignores an unknown
    profile.
    """
    changes: dict[str, Any] = {"sci_mode": sci_mode}
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions(): unknown profile {profile!r}; choose one of " + ", ".join(map(repr, _PROFILES))
            )
        changes |= _PROFILES[profile]
    if precision is not None:
        changes["precision"] = _checked_count("precision", precision, ValueError)
    if threshold is not None:
        changes["threshold"] = _checked_number("threshold", threshold)
    if edgeitems is not None:
        changes["edgeitems"] = _checked_count("edgeitems", edgeitems, TypeError)
    if linewidth is not None:
        changes["linewidth"] = _checked_number("linewidth", linewidth)

    global _options
    with _options_lock:
        _options = replace(_options, **changes)


def get_printoptions() -> dict[str, Any]:
    """The print options in force, as keyword arguments for `set_printoptions`.

    Example::

        >>> from tensorlike.tensor.conversion.printing import get_printoptions
        >>> get_printoptions()
        {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return asdict(_options)


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Set print options, as `set_printoptions` does, for the length of a `with` block.

    The options are the process's, not the thread's: other threads print with them too while the block runs. Raises the
    errors of `set_printoptions`, without changing the options.

    Example::

        >>> import numpy as np
        >>> from tensorlike.tensor.conversion.printing import format_array, printoptions
        >>> with printoptions(precision=1, sci_mode=True):
        ...     format_array(np.array([0.25, 4.0]))
        '[2.5e-01, 4.0e+00]'

    Same as PyTorch's context manager of that name.
    """
    global _options
    entered_with = _options
    try:
        set_printoptions(**kwargs)
        yield
    finally:
        with _options_lock:
            _options = entered_with


def _float_cells(values: NDArray[np.float64], options: _PrintOptions) -> tuple[list[str], int]:
    """The text of each of the values, and the width that lines them up."""
    # Zeros, infinities and nans look the same in every notation, so they do not affect the notation or the width.
    decisive = np.isfinite(values) & (values != 0)
    magnitudes = np.abs(values[decisive])
    if magnitudes.size == 0:
        whole, scientific = True, False
    else:
        whole = bool(np.all(magnitudes == np.floor(magnitudes)))
        # As Python floats: a quotient beyond the largest double is inf there, without NumPy's overflow warning.
        smallest, largest = float(magnitudes.min()), float(magnitudes.max())
        if options.sci_mode is None:
            scientific = largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4
        else:
            scientific = bool(options.sci_mode)

    numbers: list[float] = values.tolist()
    if scientific:
        cells = [f"{number:.{options.precision}e}" for number in numbers]
    elif whole:
        # The point distinguishes a whole float from an int.
        cells = [f"{number:.0f}." if math.isfinite(number) else str(number) for number in numbers]
    else:
        cells = [f"{number:.{options.precision}f}" for number in numbers]
    width = max((len(cell) for cell, counts in zip(cells, decisive.tolist(), strict=True) if counts), default=1)
    return cells, width


def _cells(flat: NDArray[Any], options: _PrintOptions) -> tuple[list[str], int]:
    """The padded text of each element of a flat array, and the columns to reckon with for one element."""
    kind = flat.dtype.kind
    if kind == "c":
        # A signalling nan raises the "invalid" flag when it is widened.
        with np.errstate(all="ignore"):
            real_cells, real_width = _float_cells(flat.real.astype(np.float64), options)
            imaginary_cells, imaginary_width = _float_cells(flat.imag.astype(np.float64), options)
        padded = [
            real.rjust(real_width) + (imaginary if imaginary.startswith("-") else "+" + imaginary) + "j"
            for real, imaginary in zip(real_cells, imaginary_cells, strict=True)
        ]
        return padded, real_width + imaginary_width + len("j")
    # bfloat16 and other floats that an extension registers are of NumPy's kind "V".
    if kind == "f" or (kind == "V" and "float" in flat.dtype.name):
        with np.errstate(all="ignore"):
            cells, width = _float_cells(flat.astype(np.float64), options)
    else:
        cells = [str(element) for element in flat.tolist()]
        width = max(map(len, cells), default=1)
    return [cell.rjust(width) for cell in cells], width


def _summarized(array: NDArray[Any], edgeitems: int) -> NDArray[Any]:
    """The corners of the array: only the first and last entries of each long dimension."""
    kept = [
        [*range(edgeitems), *range(size - edgeitems, size)] if size > 2 * edgeitems else range(size)
        for size in array.shape
    ]
    # All dimensions in one step: going through them one by one copies whole rows of a large array, or of a broadcast
    # view, just to print their ends. The ellipsis keeps a zero-dimensional array from turning into a scalar.
    corners: NDArray[Any] = array[(*np.ix_(*kept), ...)]
    return corners


def _bracketed(
    shape: Sequence[int],
    elided: Sequence[bool],
    next_cell: Callable[[], str],
    cell_width: int,
    indent: int,
    options: _PrintOptions,
) -> str:
    """The nested brackets around the cells of an array of this shape; `elided` marks the summarized dimensions."""
    size = shape[0]
    if len(shape) == 1:
        items = [next_cell() for _ in range(size)]
    else:
        items = [_bracketed(shape[1:], elided[1:], next_cell, cell_width, indent + 1, options) for _ in range(size)]
    margin = " " * (indent + 1)
    if len(shape) > 1:
        if elided[0]:
            items.insert(size // 2, "...")
        return "[" + ("," + "\n" * (len(shape) - 1) + margin).join(items) + "]"

    if elided[0]:
        # Set apart by one more space when it stands between elements.
        items.insert(size // 2, " ...")
    # Two more columns an element, for the comma and the space.
    columns = (options.linewidth - indent) / (cell_width + 2)
    per_line = int(max(1, min(columns, len(items))))
    lines = [", ".join(items[start : start + per_line]) for start in range(0, len(items), per_line)]
    return "[" + (",\n" + margin).join(lines) + "]"


def _array_text(array: NDArray[Any], indent: int, options: _PrintOptions) -> str:
    if array.size == 0:
        return "[]"
    shown = array
    if array.size > options.threshold:
        if options.edgeitems == 0 and array.ndim > 0:
            return "[...]"
        shown = _summarized(array, options.edgeitems)
    cells, cell_width = _cells(shown.reshape(-1), options)
    if shown.ndim == 0:
        return cells[0]
    elided = [kept < size for kept, size in zip(shown.shape, array.shape, strict=True)]
    return _bracketed(shown.shape, elided, iter(cells).__next__, cell_width, indent, options)


def _with_suffixes(text: str, suffixes: Sequence[str], indent: int, options: _PrintOptions) -> str:
    """The opened text closed after its suffixes, each on a new line where it would overflow the line width."""
    pieces = [text]
    # Two columns more than the text has: for the closing bracket and the comma.
    used = len(text) - (text.rfind("\n") + 1) + 2
    for suffix in suffixes:
        if used + len(", ") + len(suffix) > options.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            used += len(", ") + len(suffix)
    return "".join(pieces) + ")"


def format_array(array: NDArray[Any], indent: int = 0) -> str:
    """The elements of an array in nested brackets, as they stand between the parentheses of a printed tensor.

    `array` has any shape and a bool, integer, floating or complex dtype. `indent` is the column at which the text
    starts; the lines after the first are indented to it. A zero-dimensional array gives the number alone, an empty
    one of any shape `[]`.

    Example::

        >>> import numpy as np
        >>> from tensorlike.tensor.conversion.printing import format_array
        >>> print(format_array(np.array([[1.0, -2.0], [0.5, np.inf]])))
        [[ 1.0000, -2.0000],
         [ 0.5000,     inf]]

    The text is the one PyTorch gives for a tensor of these elements.
    """
    return _array_text(array, indent, _options)


def format_tensor(array: NDArray[Any], *, prefix: str = "tensor(", suffixes: Sequence[str] = ()) -> str:
    """The text of a tensor: the prefix, the elements of `array`, the suffixes, and the closing parenthesis.

    Takes what `format_array` takes. A suffix that would overflow the line width starts a new line under the elements.

    Example::

        >>> import numpy as np
        >>> from tensorlike.tensor.conversion.printing import format_tensor
        >>> format_tensor(np.array([1.0, 2.0]), suffixes=["requires_grad=True"])
        'tensor([1., 2.], requires_grad=True)'

    The text is the one PyTorch gives for such a tensor.
    """
    options = _options
    return _with_suffixes(prefix + _array_text(array, len(prefix), options), suffixes, len(prefix), options)


class _OneLine(reprlib.Repr):
    """Shortens what a tensor carries, arrays and tables too, to one line."""

    def __init__(self) -> None:
        super().__init__()  # Its keywords came with Python 3.12.
        self.maxother = self.maxstring = 60

    def repr_instance(self, x: object, level: int) -> str:
        try:
            text = " ".join(line.strip() for line in repr(x).splitlines())
        except Exception:  # As reprlib does, so that a tensor prints whatever it carries.
            return f"<{type(x).__name__}>"
        half = (self.maxother - 3) // 2
        return text if len(text) <= self.maxother else f"{text[:half]}...{text[-half:]}"


_ATTRIBUTE_TEXT = _OneLine()


def tensor_text(
    array: NDArray[Any],
    *,
    dtype_name: str,
    is_default_dtype: bool,
    device: str | None,
    requires_grad: bool,
    grad_fn_name: str | None,
    class_name: str = "tensor",
    is_parameter: bool = False,
    attributes: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """The `repr` of the tensor that holds `array`, with the properties that its elements do not show.

    `dtype_name` is the dtype's name without the package ("float32"), and `is_default_dtype` whether that is the default
    floating dtype or the complex dtype of its precision (int64 and bool, which their elements tell apart, need not be
    marked). `device` is None for the device that tensors are made on by default; for "meta" only the shape of `array`
    is read. `grad_fn_name` is the name of the node that made the tensor, shown in place of `requires_grad`.
    `class_name` is "tensor" for Tensor and Parameter themselves, and otherwise the name of the subclass; `is_parameter`
    is for a subclass instance that is a parameter as well. `attributes` are what a subclass carries: they stand last,
    shortened where their text is long. The line "Parameter containing:" belongs to the `repr` of
    Parameter and is not part of this text.

    Example::

        >>> import numpy as np
        >>> from tensorlike.tensor.conversion.printing import tensor_text
        >>> tensor_text(
        ...     np.zeros((0, 3)), dtype_name="float64", is_default_dtype=False, device=None, requires_grad=True,
        ...     grad_fn_name=None,
        ... )
        'tensor([], size=(0, 3), dtype=tensorlike.float64, requires_grad=True)'

    The text is the one PyTorch gives, with `tensorlike.` where it has `torch.` before the dtype.
    """
    options = _options
    prefix = class_name + "("
    is_meta = device is not None and device.partition(":")[0] == "meta"
    has_elements = array.size > 0 and not is_meta

    suffixes: list[str] = []
    if device is not None:
        suffixes.append(f"device='{device}'")
    # The shape is shown where the brackets do not imply it: for an empty tensor other than a vector.
    if is_meta or (options.edgeitems == 0 if has_elements else array.ndim != 1):
        suffixes.append(f"size={tuple(array.shape)}")
    if has_elements:
        shows_dtype = not (is_default_dtype or dtype_name in ("int64", "bool"))
    else:
        # Without elements the kind of number is not visible, so only the default floating dtype is left out.
        shows_dtype = not (is_default_dtype and dtype_name.startswith(("float", "bfloat")))
    if shows_dtype:
        suffixes.append(f"dtype={LIBRARY}.{dtype_name}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    suffixes += [f"{name}={_ATTRIBUTE_TEXT.repr(value)}" for name, value in attributes.items()]

    elements = "..." if is_meta else _array_text(array, len(prefix), options)
    text = _with_suffixes(prefix + elements, suffixes, len(prefix), options)
    return f"Parameter({text})" if is_parameter and class_name != "tensor" else text
