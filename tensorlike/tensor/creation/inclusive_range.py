"""`range`, the deprecated `arange` that has its end. It is alone in this file, where it hides Python's function."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..declarations.declare import factory
from ..declarations.runtime import wanted_dtype
from ..device import device as Device
from ..dtypes import default_float
from ..dtypes import dtype as Dtype
from ..layouts import check_layout
from ..tensor import Tensor
from ..types import Number
from .from_data import finish_sequence


@factory
def range(
    start: Number, end: Number, step: Number = 1, *, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return the numbers from `start` up to, and with, `end`, `step` apart. Deprecated: use `arange`.

    Of the default dtype unless told otherwise. Raises RuntimeError when `step` is zero or leads away from `end`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tl.range(1, 2, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    warnings.warn("range() is deprecated: use arange(), which leaves `end` out", UserWarning, stacklevel=2)
    check_layout(layout, "range")
    first, last, by = float(start), float(end), float(step)
    if by == 0:
        raise RuntimeError("range(): step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"range(): unsupported range: {start} -> {end}")
    if (last - first) * by < 0:
        raise RuntimeError("range(): upper bound and lower bound inconsistent with step sign")
    wanted = wanted_dtype("range", dtype, out) or default_float()
    array = first + np.arange(math.floor((last - first) / by) + 1) * by
    return finish_sequence(array.astype(wanted), requires_grad, "range", out, device)
