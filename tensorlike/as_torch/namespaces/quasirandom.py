"""Numbers that fill the unit cube more evenly than random ones: Sobol sequences.

Source: PyTorch's `torch.quasirandom`; the sequences themselves are SciPy's `scipy.stats.qmc.Sobol`.
"""

from __future__ import annotations

import warnings
from typing import Any, Final, Self

import numpy as np

from tensorlike._originals import tl
from tensorlike.tensor.backends.scipy_modules import scipy_module

__all__ = ["SobolEngine"]


class SobolEngine:
    """A sequence of points in the unit cube whose first 2**k points are spread evenly, for each k.

    - `dimension`: how many numbers a point has.
    - `scramble`: apply Owen's scrambling by a random linear map and a random shift, which `seed` chooses.

    Example:
        >>> tl.quasirandom.SobolEngine(2).draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])

    Same as PyTorch's class of that name, except for the numbers that a seed chooses: random streams differ.
    """

    MAXBIT: Final = 30
    MAXDIM: Final = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        qmc = scipy_module("stats.qmc")
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension = dimension
        self.scramble = scramble
        self.seed = seed
        self.num_generated = 0
        self._points: Any = qmc.Sobol(dimension, scramble=False, bits=self.MAXBIT)
        #: Scrambling maps the bits of a number, most significant first: a unit lower triangular matrix for each
        #: dimension, and a number whose bits are flipped.
        self._maps: np.ndarray[Any, Any] | None = None
        self._shift: np.ndarray[Any, Any] | None = None
        if scramble:
            generator = None if seed is None else tl.Generator().manual_seed(seed)
            bits = self.MAXBIT
            self._shift = tl.randint(2, (dimension, bits), generator=generator).numpy() @ (1 << np.arange(bits))
            maps = tl.randint(2, (dimension, bits, bits), generator=generator).numpy()
            self._maps = np.tril(maps, -1) | np.eye(bits, dtype=maps.dtype)

    def draw(self, n: int = 1, out: tl.Tensor | None = None, dtype: tl.dtype | None = None) -> tl.Tensor:
        """Return the next `n` points, in a tensor of shape (n, dimension)."""
        with warnings.catch_warnings():  # SciPy asks for powers of two; PyTorch leaves that to `draw_base2`.
            warnings.simplefilter("ignore", UserWarning)
            points = self._points.random(n)
        self.num_generated += n
        if self._maps is not None:
            positions = np.arange(self.MAXBIT - 1, -1, -1)
            integers = np.rint(points * 2**self.MAXBIT).astype(np.int64)
            bits = (integers[..., None] >> positions) & 1
            mapped = np.einsum("dij,ndj->ndi", self._maps, bits) & 1
            points = ((mapped << positions).sum(-1) ^ self._shift) / 2**self.MAXBIT
        result = tl.from_numpy(points).to(tl.get_default_dtype() if dtype is None else dtype)
        if out is not None:
            return out.resize_as_(result).copy_(result)
        return result

    def draw_base2(self, m: int, out: tl.Tensor | None = None, dtype: tl.dtype | None = None) -> tl.Tensor:
        """Return the next 2**m points, which together with those before must be a power of two."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to "
                "do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> Self:
        """Go back to the first point."""
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Leave out the next `n` points."""
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        scrambled = ", scramble=True" if self.scramble else ""
        seeded = "" if self.seed is None else f", seed={self.seed}"
        return f"SobolEngine(dimension={self.dimension}{scrambled}{seeded})"
