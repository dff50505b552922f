"""The legacy types of sparse tensors, by dtype: `sparse.FloatTensor(indices, values, size)`."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl

from .creation import sparse_coo_tensor
from .tensor import is_sparse

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip


class _LegacyType(type):
    """The metaclass: calls make a sparse tensor of the dtype, `isinstance` asks for layout and dtype."""

    dtype: Any

    def __call__(cls, *args: Any) -> Any:
        if len(args) > 1 and isinstance(args[1], tl.Tensor):
            if args[1].dtype != cls.dtype:
                raise TypeError(f"expected values of {cls.dtype}, got {args[1].dtype}: use sparse_coo_tensor")
            return sparse_coo_tensor(*args)
        size = args[0] if args and not isinstance(args[0], int) else args
        return sparse_coo_tensor(size, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_sparse(instance) and instance.dtype == cls.dtype and instance.device.type == "cpu"


def _legacy(name: str, dtype: Any) -> Any:
    words = f"Legacy type of sparse {dtype} tensors: a call makes one, `isinstance` tests for them."
    words += f"\n\n>>> isinstance(tl.sparse.{name}(2, 3), tl.sparse.{name})\nTrue"
    return _LegacyType(name, (), {"dtype": dtype, "__doc__": words, "__module__": "tensorlike.sparse"})


BFloat16Tensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, ShortTensor = (
    _legacy(name, dtype)
    for name, dtype in zip(
        __all__,
        (tl.bfloat16, tl.uint8, tl.int8, tl.float64, tl.float32, tl.float16, tl.int32, tl.int64, tl.int16),
        strict=True,
    )
)
