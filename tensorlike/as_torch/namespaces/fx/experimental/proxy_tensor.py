"""Whether operations are traced: they are not.

Source: PyTorch's `torch.fx.experimental.proxy_tensor`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

__all__ = ["get_proxy_mode"]

explain_absent_names(__name__)


def get_proxy_mode() -> None:
    """Return the mode that traces operations: None, since none does.

    >>> from tensorlike.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
