"""Tensors from arguments that are easily taken wrongly, beside PyTorch's: each line runs in both libraries.

Compared are dtype, shape, values and `requires_grad` of what a line returns, or the type of what it raises.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl

LIBRARIES = (tl, torch)


def described(value: Any) -> Any:
    """Return what two values of different libraries are compared by."""
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        data = value.detach()
        elements = None if data.device.type == "meta" else repr(data.tolist())
        return "tensor", str(data.dtype).partition(".")[2], tuple(data.shape), elements, value.requires_grad
    if isinstance(value, (tuple, list)):
        return [described(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def outcome(library: Any, line: str) -> Any:
    """Return what a line gives in a library: a description, or the type of its error."""
    names = {"lib": library, "np": np, "inf": math.inf, "nan": math.nan, "sys": sys}
    try:
        return described(eval(line, names))
    except Exception as error:
        return type(error)


def assert_same(line: str) -> None:
    ours, theirs = (outcome(library, line) for library in LIBRARIES)
    assert ours == theirs, f"{line}: {ours}, PyTorch gives {theirs}"


# ------------------------------------------------------------------------------------------ polynomials of large degree

POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
)  # fmt: skip


@pytest.mark.parametrize("degree", [1e9, 2.0**40, 1e19, 1e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_huge_degrees(name, degree):
    # Elements at which PyTorch does not take as many steps as the degree.
    x = [0.0, 0.0] if name.startswith("laguerre") else [-1.0, 1.0, 2.5, -3.0]
    ours, theirs = (
        getattr(library.special, name)(library.tensor(x, dtype=library.float64), degree).tolist()
        for library in LIBRARIES
    )
    assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x"), [
    ("chebyshev_polynomial_t", 0.3), ("chebyshev_polynomial_u", -0.6), ("legendre_polynomial_p", 0.3),
    ("legendre_polynomial_p", -0.9999), ("laguerre_polynomial_l", 0.7), ("laguerre_polynomial_l", 30.0),
    ("laguerre_polynomial_l", -0.002), ("legendre_polynomial_p", 1.0000001),
])  # fmt: skip
def test_polynomials_between_small_and_huge_degrees(name, x, dtype):
    # PyTorch's recurrence loses digits in single precision: the expected value is that of double precision.
    expected = getattr(torch.special, name)(torch.tensor([x], dtype=torch.float64), 150_001).item()
    result = getattr(tl.special, name)(tl.tensor([x], dtype=tl.float64), 150_001).to(getattr(tl, dtype)).item()
    assert expected != 0
    assert result == pytest.approx(expected, rel=1e-4 if dtype == "float32" else 1e-5)


@pytest.mark.parametrize("degree", [129, 513, 10**6])
def test_hermite_polynomials_have_a_largest_degree(degree):
    for name in ("hermite_polynomial_h", "hermite_polynomial_he"):
        for dtype in ("float32", "float64"):
            ours, theirs = (
                math.isnan(
                    getattr(library.special, name)(library.tensor([40.0], dtype=getattr(library, dtype)), degree)
                )
                for library in LIBRARIES
            )
            assert ours == theirs


def test_a_number_that_overflows_in_the_dtype_of_the_tensor_is_infinite():
    assert_same("lib.atan2(lib.ones(2), 1e308)")
    assert_same("lib.xlogy(lib.ones(2), -1e308)")
