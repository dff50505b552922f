"""Whether a tensor has no data because code is traced: none is.

Source: PyTorch's `torch._subclasses.fake_tensor`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

__all__ = ["is_fake"]

explain_absent_names(__name__)


def is_fake(x: object) -> bool:
    """Return whether `x` stands for a tensor while code is traced: False, since code is run.

    >>> from tensorlike._subclasses.fake_tensor import is_fake
    >>> is_fake(tl.ones(2))
    False
    """
    return False
