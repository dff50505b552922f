"""Layers that change the shape."""

from __future__ import annotations

from collections.abc import Sequence

from tensorlike.tensor import Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Flattens the dimensions from `start_dim` to `end_dim` into one.

    >>> tl.nn.Flatten()(tl.ones(4, 2, 3)).shape == (4, 6)
    True
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits the dimension `dim` into several of the sizes `unflattened_size`; one of them may be -1.

    Raises TypeError when `unflattened_size` is no tuple or list of integers.

    >>> tl.nn.Unflatten(1, (2, 3))(tl.ones(4, 6)).shape == (4, 2, 3)
    True
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int] | Sequence[tuple[str, int]]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
