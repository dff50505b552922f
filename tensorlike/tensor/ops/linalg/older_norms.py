"""Norms under the names from before `linalg`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlike.tensor.declare import composite
from tensorlike.tensor.runtime import dtype_name
from tensorlike.tensor.types import Tensor

from ..reductions.axes import one_axis
from .checks import into, require_tensor
from .norms import matrix_norm, vector_norm


@composite
def frobenius_norm(
    input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the root of the sum of squares over `dim`, one or two dimensions, or all when `dim` is empty.

    Raises RuntimeError for integers and for more than two dimensions. It is `linalg.vector_norm` under an older name.

    >>> tl.frobenius_norm(tl.tensor([[3.0, 4.0], [6.0, 8.0]]), 1)
    tensor([ 5., 10.])

    Same as PyTorch's function of that name, without its warning to use `linalg.vector_norm` instead.
    """
    require_tensor("frobenius_norm", "input", input)
    dims: Any = (dim,) if isinstance(dim, int) else dim
    if len(dims) > 2:
        raise RuntimeError(f"frobenius_norm(): Expected at most 2 dimensions, but got {len(dims)} dimensions instead.")
    if input._tl_data.dtype.kind in "biu":
        raise RuntimeError(
            "frobenius_norm(): norm(): input dtype should be either floating point or complex. Got "
            f"{dtype_name(input._tl_data.dtype)} instead."
        )
    return into("frobenius_norm", out, vector_norm(input, 2, dims or None, keepdim), input)


@composite
def nuclear_norm(
    input: Tensor, dim: Sequence[int] | int | bool | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Return the sum of the singular values of the matrices in the two dimensions `dim`, the last two unless given.

    Without `dim`, `keepdim` may stand in its place. Raises RuntimeError for integers and fewer than two dimensions. It
    is `linalg.matrix_norm(input, "nuc")` under an older name.

    >>> tl.nuclear_norm(tl.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(7.)

    Same as PyTorch's function of that name, without its warning to use `linalg.matrix_norm` instead.
    """
    require_tensor("nuclear_norm", "input", input)
    dims: Any = dim
    if isinstance(dims, bool):
        dims, keepdim = None, dims
    elif dims is not None:
        # One number is no pair of dimensions, an error; but an IndexError for a dimension out of range comes first.
        dims = dims if isinstance(dims, (list, tuple)) else (dims, dims)
        dims = tuple([one_axis(d, input.ndim, "nuclear_norm") for d in dims])
    found = matrix_norm(input, "nuc", (-2, -1) if dims is None else dims, keepdim)
    return into("nuclear_norm", out, found, input)
