"""Sparse tensors in coordinate format, under PyTorch's names.

Only the elements that are not zero are stored, by their coordinates. They are a tensor-like type of this library, which
the public functions take like any other: `tl.mm(matrix, dense)`, `matrix * 2`, `matrix.sum(0)`.

>>> matrix = tl.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
>>> matrix @ tl.ones(3)
tensor([3., 4.])
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names

from . import arithmetic, attributes, shaping
from .creation import check_sparse_tensor_invariants, sparse_coo_tensor, spdiags
from .creation import unchecked_coo_tensor as _sparse_coo_tensor_unsafe
from .legacy_types import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .products import addmm, mm, sampled_addmm
from .reductions import log_softmax, softmax, sum

explain_absent_names(__name__)

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
    "_sparse_coo_tensor_unsafe", "addmm", "arithmetic", "attributes", "check_sparse_tensor_invariants", "log_softmax",
    "mm", "sampled_addmm", "shaping", "softmax", "sparse_coo_tensor", "spdiags", "sum",
]  # fmt: skip
