"""PyTorch's type promotion, on NumPy dtypes: the one place where the library's rules differ from NumPy's.

Dtypes fall in four categories, boolean < integer < floating point < complex. Between categories the higher one wins
with its own width (int64 with float16 is float16); inside one, the wider. Arrays with dimensions beat zero-dimensional
arrays, and those beat Python numbers, unless the weaker operand is of a higher category.
"""

from collections.abc import Iterable
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.tensor import dtypes
from tensorlike.tensor.dtypes import DefaultDtype, NumPyDtype, dtype_of

BOOLEAN: Final = 0
INTEGER: Final = 1
FLOATING: Final = 2
COMPLEX: Final = 3


class RawArray(Protocol):
    """The attributes of a raw array that promotion reads."""

    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> int: ...


Operand: TypeAlias = RawArray | complex

# NumPy's scalars count as Python numbers, as they do in PyTorch.
_NUMBER_TYPES: Final = frozenset(
    [bool, int, float, complex]
    + [np.dtype(code).type for code in "?" + np.typecodes["AllInteger"] + np.typecodes["AllFloat"]]
)
_BAREBONES_UNSIGNED: Final = frozenset([np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64)])
# Longer operand lists (as of `cat`) are looked up without their repetitions, or the cache would grow with every length.
_LONGEST_EXACT_KEY: Final = 4

_categories: Final[dict[NumPyDtype, int]] = {}
_promoted: Final[dict[tuple[NumPyDtype, NumPyDtype], NumPyDtype]] = {}


def category(numpy_dtype: NumPyDtype) -> int:
    """The category of a dtype: BOOLEAN (0), INTEGER (1), FLOATING (2) or COMPLEX (3).

    Raises TypeError for a NumPy dtype that no tensor can have.

    Example:
        >>> import numpy as np
        >>> from tensorlike.tensor.promotion import FLOATING, category
        >>> category(np.dtype("float16")) == FLOATING
        True
    """
    try:
        return _categories[numpy_dtype]
    except KeyError:
        known = dtype_of(numpy_dtype)
    if known.is_complex:
        found = COMPLEX
    elif known.is_floating_point:
        found = FLOATING
    else:
        found = BOOLEAN if known is dtypes.bool else INTEGER
    return _categories.setdefault(numpy_dtype, found)


def promote_types(a: NumPyDtype, b: NumPyDtype) -> NumPyDtype:
    """The smallest dtype of the higher category that holds both dtypes, sizes of lower categories left aside.

    Raises RuntimeError for uint16, uint32 and uint64 with any other integer, boolean or complex dtype, which PyTorch
    leaves undefined.

    Example:
        >>> import numpy as np
        >>> from tensorlike.tensor.promotion import promote_types
        >>> promote_types(np.dtype("int64"), np.dtype("float16"))
        dtype('float16')
        >>> promote_types(np.dtype("uint8"), np.dtype("int8"))
        dtype('int16')

    Same as PyTorch's function of that name, for NumPy dtypes.
    """
    try:
        return _promoted[a, b]
    except KeyError:
        # Entries are made when first needed, by one rule: bfloat16 may join at any time.
        return _promoted.setdefault((a, b), _promote(a, b))


def _promote(a: NumPyDtype, b: NumPyDtype) -> NumPyDtype:
    # The singleton's dtype, because NumPy has several equal ones (int64 is both "l" and "q" on Linux).
    a, b = dtype_of(a).numpy_dtype, dtype_of(b).numpy_dtype
    if a == b:
        return a
    category_a, category_b = category(a), category(b)
    if (a in _BAREBONES_UNSIGNED or b in _BAREBONES_UNSIGNED) and FLOATING not in (category_a, category_b):
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{dtype_of(a)._name} and {dtype_of(b)._name}; convert one of them first, as with .to({LIBRARY}.int64)"
        )
    if category_a != category_b:
        higher, lower = (a, b) if category_a > category_b else (b, a)
        if category(lower) == FLOATING:
            lower = dtype_of(lower).to_complex().numpy_dtype
            return lower if lower.itemsize > higher.itemsize else higher
        return higher
    if a.itemsize == b.itemsize:
        # Two different dtypes of one category and size: uint8 with int8, or bfloat16 with float16.
        return np.dtype(np.int16) if category_a == INTEGER else np.dtype(np.float32)
    return a if a.itemsize > b.itemsize else b


def can_cast(from_: NumPyDtype, to: NumPyDtype) -> bool:
    """Whether promotion's rules allow a result of dtype `from_` to be stored in dtype `to`.

    They do unless the category falls; sizes and signs do not matter.

    Example:
        >>> import numpy as np
        >>> from tensorlike.tensor.promotion import can_cast
        >>> can_cast(np.dtype("float64"), np.dtype("float16")), can_cast(np.dtype("float32"), np.dtype("int64"))
        (True, False)

    Same as PyTorch's function of that name, for NumPy dtypes.
    """
    return category(from_) <= category(to)


def weak_scalar_dtype(array_dtype: NumPyDtype, number: complex) -> NumPyDtype:
    """The dtype of an array with a Python number: the array's, unless the number is of a higher category.

    Zero-dimensional and dimensioned arrays give the same. Raises TypeError if `number` is no number.

    Example:
        >>> import numpy as np
        >>> from tensorlike.tensor.promotion import weak_scalar_dtype
        >>> weak_scalar_dtype(np.dtype("float16"), 2.0), weak_scalar_dtype(np.dtype("int8"), 2.0)
        (dtype('float16'), dtype('float32'))
    """
    default = dtypes.current_default
    try:
        return default.weak_scalars[array_dtype, type(number)]
    except KeyError:
        found = _combine(dtype_of(array_dtype).numpy_dtype, _number_dtype(type(number), default))
        return default.weak_scalars.setdefault((array_dtype, type(number)), found)


def result_type(*operands: Operand) -> NumPyDtype:
    """The dtype of an operation on these operands, each a raw array of any backend or a Python number.

    Raises TypeError for an operand that is neither and for no operand at all, and RuntimeError where `promote_types`
    does.

    Example:
        >>> import numpy as np
        >>> from tensorlike.tensor.promotion import result_type
        >>> result_type(np.zeros(3, dtype="float32"), np.array(1.0), 2)
        dtype('float32')

    Same as PyTorch's function of that name, for any number of operands.
    """
    entries: list[object] = []
    for operand in operands:
        if (operand_type := type(operand)) in _NUMBER_TYPES:
            entries.append(operand_type)
            continue
        try:
            numpy_dtype = operand.dtype  # type: ignore[union-attr]
            # A tuple marks a zero-dimensional array.
            entries.append(numpy_dtype if operand.ndim else (numpy_dtype,))  # type: ignore[union-attr]
        except AttributeError:
            # Subclasses of the number types, such as enum.IntEnum, and invalid operands.
            entries.append(_checked_number_type(operand_type))
    key = tuple(entries if len(entries) <= _LONGEST_EXACT_KEY else dict.fromkeys(entries))
    default = dtypes.current_default
    try:
        return default.result_types[key]
    except KeyError:
        return default.result_types.setdefault(key, _result_type(key, default))


def _result_type(entries: Iterable[object], default: DefaultDtype) -> NumPyDtype:
    dimensioned: NumPyDtype | None = None
    zero_dimensional: NumPyDtype | None = None
    numbers: NumPyDtype | None = None
    for entry in entries:
        if isinstance(entry, type):
            numbers = _promote_optional(numbers, _number_dtype(entry, default))
        elif isinstance(entry, tuple):
            zero_dimensional = _promote_optional(zero_dimensional, dtype_of(entry[0]).numpy_dtype)
        else:
            dimensioned = _promote_optional(dimensioned, dtype_of(entry).numpy_dtype)  # type: ignore[arg-type]
    result: NumPyDtype | None = None
    for weaker in (numbers, zero_dimensional, dimensioned):
        if weaker is not None:
            result = weaker if result is None else _combine(weaker, result)
    if result is None:
        raise TypeError("result_type(): at least one operand is needed; pass arrays or Python numbers")
    return result


def _promote_optional(a: NumPyDtype | None, b: NumPyDtype) -> NumPyDtype:
    return b if a is None else promote_types(a, b)


def _combine(strong: NumPyDtype, weak: NumPyDtype) -> NumPyDtype:
    """The dtype of a strong operand with a weak one, which counts only where its category is higher."""
    strong_category, weak_category = category(strong), category(weak)
    if strong_category == FLOATING and weak_category == COMPLEX:
        # The weak operand makes the result complex; the strong one keeps its precision.
        return dtype_of(strong).to_complex().numpy_dtype
    if weak_category <= strong_category:
        return strong
    if weak_category == COMPLEX:
        # Without promote_types, which refuses the larger unsigned types with complex ones.
        return weak
    return promote_types(strong, weak)


def _checked_number_type(number_type: type) -> type:
    if not issubclass(number_type, (int, float, complex, np.bool_, np.number)):
        raise TypeError(f"type promotion: an operand must be an array or a Python number, not "
                        f"{number_type.__name__}; convert it to a tensor first")
    return number_type


def _number_dtype(number_type: type, default: DefaultDtype) -> NumPyDtype:
    _checked_number_type(number_type)
    if issubclass(number_type, (bool, np.bool_)):
        return dtypes.bool.numpy_dtype
    if issubclass(number_type, (int, np.integer)):
        return dtypes.int64.numpy_dtype
    if issubclass(number_type, (complex, np.complexfloating)):
        return default.complex
    return default.float
