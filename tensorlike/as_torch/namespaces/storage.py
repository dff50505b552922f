"""The memory of tensors, under PyTorch's module name.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

import io
from typing import Any

from tensorlike._above import above, explain_absent_names
from tensorlike.tensor.storage import TypedStorage, UntypedStorage

explain_absent_names(__name__)

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(b: bytes) -> Any:
    """Return the storage that a pickle holds as a file of `save`."""
    return above("serialization").load(io.BytesIO(b), weights_only=False)
