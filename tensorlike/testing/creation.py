"""Tensors of random numbers for tests."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.creation.sampling import rand, randint
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.dtypes import float32, float64
from tensorlike.tensor.layouts import memory_format as memory_format_type


def make_tensor(
    *shape: Any,
    dtype: Dtype,
    device: Device | str = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: memory_format_type | None = None,
) -> Any:
    """Return a tensor of random numbers, uniform in [low, high).

    The bounds are -9 and 9 for floating-point and complex dtypes, -9 and 10 for integers, 0 and 10 for unsigned ones, 0
    and 2 for bool. `noncontiguous` makes the tensor non-contiguous, or `memory_format` says how it lies in memory;
    `exclude_zero` replaces zeros. Raises ValueError for an empty range, and for `requires_grad` with a dtype that has
    no gradients.

    >>> from tensorlike.testing import make_tensor
    >>> x = make_tensor(2, 3, dtype=tl.float64, low=0, noncontiguous=True)
    >>> x.shape, x.dtype, x.is_contiguous(), bool((x >= 0).all())
    (tensorlike.Size([2, 3]), tensorlike.float64, False, True)
    """
    if not isinstance(dtype, Dtype):
        raise TypeError(f"make_tensor(): dtype must be a dtype such as tl.float32, not {dtype!r}")
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor(): noncontiguous=True and memory_format were given; they exclude each other")
    continuous = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not continuous:
        raise ValueError(f"make_tensor(): requires_grad=True needs a floating-point or complex dtype, not {dtype}")
    name = str(dtype).rpartition(".")[2]
    least, most = (-9, 9) if continuous else (0, 2) if name == "bool" else (0 if name[0] == "u" else -9, 10)
    first = least if low is None else low
    last = most if high is None else high
    if first == last and continuous:
        warnings.warn("make_tensor(): low and high are equal; use full() for a constant", FutureWarning, stacklevel=2)
    elif not first < last:
        raise ValueError(f"make_tensor(): low must be less than high, got low={first} and high={last}")
    # Every other element is a gap between those of the result.
    inner = (*shape[:-1], 2 * shape[-1]) if noncontiguous and shape else shape
    if dtype.is_complex:
        part = float64 if name == "complex128" else float32
        values: Any = rand(size=inner, dtype=part) + 1j * rand(size=inner, dtype=part)
        values = values * (last - first) + first * (1 + 1j)
    elif continuous:
        values = rand(size=inner) * (last - first) + first
    else:
        values = randint(int(np.ceil(first)), int(np.ceil(last)), inner)
    result = values.to(dtype)
    if exclude_zero:
        smallest = 1 if not continuous else max(abs(first), abs(last)) * 1e-2
        result = result.masked_fill(result == 0, smallest)
    result = wrap(result._tl_data)
    if noncontiguous and shape:
        result = result[..., ::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    result = result.to(device)
    return result.requires_grad_() if requires_grad else result
