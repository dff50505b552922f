"""`numpy.random` for CuPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .backend import Array


class CupyRandom:
    """`numpy.random` over CuPy, its generators completed."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module 'cupy.random' has no attribute {name!r}")
        return getattr(self._cupy.random, name)

    def default_rng(self, seed: int | None = None) -> CupyGenerator:
        return CupyGenerator(self._cupy, self._cupy.random.default_rng(seed))


class CupyGenerator:
    """CuPy's generator with the methods of NumPy's that it lacks, from those that it has."""

    def __init__(self, cupy: Any, generator: Any) -> None:
        self._cupy = cupy
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'Generator' object has no attribute {name!r}")
        return getattr(self._generator, name)

    def normal(self, loc: Array | float = 0.0, scale: float = 1.0, size: Sequence[int] | None = None) -> Array:
        if size is None:
            size = np.broadcast_shapes(getattr(loc, "shape", ()), getattr(scale, "shape", ()))
        return self._generator.standard_normal(size) * scale + loc

    def lognormal(self, mean: float = 0.0, sigma: float = 1.0, size: Sequence[int] | None = None) -> Array:
        return self._cupy.exp(self.normal(mean, sigma, size))

    def standard_cauchy(self, size: int | None = None) -> Array:
        return self._cupy.tan(math.pi * (self._generator.random(() if size is None else size) - 0.5))

    def permutation(self, x: Array | int, axis: int = 0) -> Array:
        if isinstance(x, int | np.integer):
            return self._cupy.argsort(self._generator.random(int(x)))
        order = self._cupy.argsort(self._generator.random(x.shape[axis]))
        return self._cupy.take(x, order, axis=axis)

    def permuted(self, x: Array, *, axis: int | None = None, out: Array | None = None) -> Array:
        """`x` with every slice along `axis` put in an order of its own."""
        flat = x.ravel() if axis is None else x
        along = 0 if axis is None else axis
        order = self._cupy.argsort(self._generator.random(flat.shape), axis=along)
        result = self._cupy.take_along_axis(flat, order, along).reshape(x.shape)
        if out is None:
            return result
        out[...] = result
        return out

    def shuffle(self, x: Array, axis: int = 0) -> None:
        x[...] = self.permutation(x, axis)
