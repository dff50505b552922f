"""Arrays of the strict stand-in for CuPy, and comparing them with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.helpers import strict_cupy


def to_device(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return strict_cupy.cupy.asarray(value)
    if isinstance(value, list | tuple):
        return type(value)(to_device(item) for item in value)
    return value


def assert_same(actual: Any, expected: Any) -> None:
    """The same values, dtypes and shapes; and `actual` lives on the device."""
    if isinstance(expected, list | tuple):
        assert len(actual) == len(expected), f"{len(actual)} results, expected {len(expected)}"
        for one, other in zip(actual, expected):
            assert_same(one, other)
        return
    assert isinstance(actual, strict_cupy.ndarray), type(actual)
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, expected {expected.dtype}"
    np.testing.assert_allclose(actual.get(), expected, rtol=1e-6, atol=1e-12, strict=True)
