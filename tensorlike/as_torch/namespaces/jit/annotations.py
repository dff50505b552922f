"""The annotations of TorchScript: a list of a number of elements, or one element that stands for all of them.

Source: PyTorch's `torch.jit.annotations`.
"""

from __future__ import annotations

from typing import Any

__all__ = [f"BroadcastingList{n}" for n in range(1, 7)]


class BroadcastingListCls:
    """The class of `BroadcastingList2` and its like, whose subscript is an annotation."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1: Any = BroadcastingListCls()
BroadcastingList2: Any = BroadcastingListCls()
BroadcastingList3: Any = BroadcastingListCls()
BroadcastingList4: Any = BroadcastingListCls()
BroadcastingList5: Any = BroadcastingListCls()
BroadcastingList6: Any = BroadcastingListCls()
