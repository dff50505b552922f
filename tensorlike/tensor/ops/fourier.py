"""Discrete Fourier transforms, for the namespace `tensorlike.fft`.

Three operations do the work: complex to complex, real to half a spectrum, half a spectrum to real. The adjoint of each
is a transform in the other direction with the scale that the normalization leaves out, fitted to the operand's size.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.base import TensorBase, wrap
from tensorlike.tensor.declare import composite, derivatives, factory, primitive
from tensorlike.tensor.device import Device, as_device
from tensorlike.tensor.dims import one_dim
from tensorlike.tensor.dtypes import as_numpy_dtype, default_complex, default_float
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.runtime import dtype_name, write_out, wrong_type
from tensorlike.tensor.types import Tensor

from .basic import INTERNAL, direct, part, place, slice_view
from .joining import cat

__all__: list[str] = []

_FFT = "tensorlike.fft"
_OPPOSITE = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}

Sizes = tuple[int, ...]
