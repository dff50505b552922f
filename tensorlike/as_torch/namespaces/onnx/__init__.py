"""Whether a model is being exported: never. What exports it is absent, and raises the reason when it is called.

Source: PyTorch's `torch.onnx`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

__all__ = ["is_in_onnx_export"]

explain_absent_names(__name__)


def is_in_onnx_export() -> bool:
    """Return whether a model is being exported: False.

    >>> tl.onnx.is_in_onnx_export()
    False
    """
    return False
