"""Functions of the main namespace that PyTorch also has in this one: the same objects.

Same as PyTorch's module of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorlike.tensor.declarations.namespaces import public_names

#: The names, which are those of the main namespace.
NAMES = (
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split",
    "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive", "unravel_index",
)  # fmt: skip

_functions = public_names("tensorlike")
globals().update({_name: _functions[_name] for _name in NAMES})
__all__ = list(NAMES)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
