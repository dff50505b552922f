"""`TestCase` of PyTorch's own test suite, which tests of extensions are written with.

Source: PyTorch's `torch.testing._internal.common_utils`.
"""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from typing import Any

import numpy as np

from tensorlike.tensor.generator import manual_seed
from tensorlike.tensor.tensor import Tensor

from .comparison import assert_close


def _has_numbers(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_numbers, value))
    return isinstance(value, (Tensor, np.ndarray, np.generic, int, float, complex))


class TestCase(unittest.TestCase):
    """A test case that compares tensors and numbers as `assert_close` does, and draws the same numbers in each test."""

    __test__ = False  # pytest must collect only the classes that derive from it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        """Seed the generator of random numbers."""
        manual_seed(1234)

    def assertEqual(
        self,
        first: object,
        second: object,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_stride: bool = False,
    ) -> None:
        """Compare numbers, tensors and collections of them with tolerances, and anything else by `==`.

        A tensor may be compared with a number or a sequence of numbers. Numbers may be of two types.
        """
        pairs: list[tuple[Any, Any]] | None = None
        if isinstance(first, Mapping) and isinstance(second, Mapping):
            super().assertEqual(first.keys(), second.keys(), msg)  # noqa: PT009
            pairs = [(value, second[key]) for key, value in first.items()]
        elif isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
            super().assertEqual(len(first), len(second), msg)  # noqa: PT009
            pairs = list(zip(first, second))
        if pairs is not None:
            for one, other in pairs:
                self.assertEqual(  # noqa: PT009
                    one,
                    other,
                    msg,
                    atol=atol,
                    rtol=rtol,
                    equal_nan=equal_nan,
                    exact_dtype=exact_dtype,
                    exact_device=exact_device,
                    exact_stride=exact_stride,
                )
            return
        if not (_has_numbers(first) and _has_numbers(second)):
            super().assertEqual(first, second, msg)  # noqa: PT009
            return
        for one, other in ((first, second), (second, first)):
            if isinstance(one, Tensor) and not isinstance(other, Tensor):
                made = one.new_tensor(other)
                first, second = (first, made) if one is first else (made, second)
                break
        numbers = not isinstance(first, (Tensor, np.ndarray))
        assert_close(
            first,
            second,
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            check_dtype=exact_dtype and not numbers,
            check_device=exact_device,
            check_stride=exact_stride,
            msg=msg,
        )
