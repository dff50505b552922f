"""Hashes of the elements of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorlike.tensor.declarations.declare import primitive
from tensorlike.tensor.types import Array, Namespace

from ..shared import not_implemented
from .axes import nonempty, reduced_axes


@primitive(out=True, differentiable=False)
def hash_tensor(
    xp: Namespace, input: Array, dim: int | Sequence[int] | None = None, *, keepdim: bool = False, mode: int = 0
) -> Array:
    """Return the exclusive or of the bits of the elements along the dimensions `dim`, or of all, as uint64.

    Each element counts with its 64 bits as an int64 or float64. `mode` must be 0. Raises RuntimeError for another mode
    and where there is nothing to reduce, NotImplementedError for complex numbers and uint16 to uint64.

    >>> tl.hash_tensor(tl.tensor([1, 2, 7]))
    tensor(4, dtype=tensorlike.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor(): Unknown hash_tensor mode: {mode}; use mode=0")
    axes = reduced_axes(dim, input.ndim, "hash_tensor")
    nonempty("hash_tensor", input.shape, dim)
    if input.dtype.kind == "c" or str(input.dtype) in ("uint16", "uint32", "uint64"):
        not_implemented("hash_tensor", input.dtype, "hash its parts, or convert it first")
    wide = input.astype(np.int64 if input.dtype.kind in "biu" else np.float64)
    bits = xp.ascontiguousarray(wide).reshape(input.shape).view(np.uint64)
    # One dimension at a time, by halving: CuPy has no reduction by exclusive or, and halving needs few steps.
    for axis in sorted(range(input.ndim) if axes is None else axes, reverse=True):
        bits = _folded(xp, bits, axis)
    if not keepdim:
        kept = [n for d, n in enumerate(input.shape) if axes is not None and d not in axes]
        return bits.reshape(kept)
    return bits


def _folded(xp: Namespace, bits: Array, axis: int) -> Array:
    """Return the exclusive or along one dimension, kept with size 1: combine its halves until one element is left."""
    bits = xp.swapaxes(bits, 0, axis)
    while bits.shape[0] > 1:
        half = bits.shape[0] // 2
        folded = xp.bitwise_xor(bits[:half], bits[half : 2 * half])
        bits = xp.concatenate((folded, bits[2 * half :])) if bits.shape[0] % 2 else folded
    return xp.swapaxes(bits, 0, axis)
