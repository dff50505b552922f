"""Names for blocks of code in a profile.

Source: PyTorch's `torch.autograd.profiler`, without its profiler: Python's own, such as cProfile, see all that runs.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Self

__all__ = ["record_function"]


class record_function(ContextDecorator):
    """A block, or a function, with a name for PyTorch's profiler. Nothing records it: it costs two calls.

    >>> with tl.autograd.profiler.record_function("doubling"):
    ...     doubled = 2 * tl.ones(2)

    Source: PyTorch's class of that name.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass
