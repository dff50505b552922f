"""Distances and similarities between vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import no_grad
from tensorlike.tensor.declare import composite
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.ops.linalg.matmul import c_name
from tensorlike.tensor.promotion import promote_types
from tensorlike.tensor.runtime import dtype_name
from tensorlike.tensor.types import Tensor

from .declaring import array_of, broadcast_shape, functional


def _cosine(x1: Any, x2: Any, dim: int, eps: float) -> Any:
    common = promote_types(
        array_of("cosine_similarity", "x1", 1, x1).dtype, array_of("cosine_similarity", "x2", 2, x2).dtype
    )
    if common.kind not in "fV":
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {dtype_name(common)}: convert the "
            "operands first, e.g. with .float()"
        )
    if x1._tl_data.dtype != x2._tl_data.dtype:
        x1, x2 = x1.to(dtype_of(common)), x2.to(dtype_of(common))
    if x1.shape != x2.shape:
        # Norms are taken after broadcasting: a vector has its length in the common shape.
        shape = broadcast_shape("cosine_similarity", x1.shape, x2.shape)
        x1, x2 = x1.expand(shape), x2.expand(shape)
    norms = [x.norm(2, dim, keepdim=True).clone() for x in (x1, x2)]
    with no_grad():  # The gradient is that of a quotient by norms of any size, as PyTorch's.
        for norm in norms:
            norm.clamp_min_(eps)
    return ((x1 / norms[0]) * (x2 / norms[1])).sum(dim)


def _pairwise(x1: Any, x2: Any, p: float, eps: float, keepdim: bool) -> Any:
    array_of("pairwise_distance", "x1", 1, x1)
    difference = x1 - x2 + eps
    return difference.norm(p, -1, keepdim=keepdim)


@composite
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`.

    >>> tl.cosine_similarity(tl.tensor([1.0, 0.0]), tl.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    return _cosine(x1, x2, dim, eps)


@functional(name="cosine_similarity", guard=True)
def _functional_cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along `dim`; norms below `eps` count as `eps`.

    >>> tl.nn.functional.cosine_similarity(tl.tensor([[1.0, 0.0]]), tl.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    return _cosine(x1, x2, dim, eps)


@composite
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the norm of order `p` of `x1 - x2 + eps` along the last dimension.

    >>> tl.pairwise_distance(tl.tensor([[3.0, 0.0]]), tl.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    return _pairwise(x1, x2, p, eps, keepdim)


@functional(name="pairwise_distance", guard=True)
def _functional_pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """Return the norm of order `p` of `x1 - x2 + eps` along the last dimension.

    >>> tl.nn.functional.pairwise_distance(tl.tensor([[3.0, 0.0]]), tl.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    return _pairwise(x1, x2, p, eps, keepdim)


def _all_pairs(input: Any, p: float) -> Any:
    array_of("pdist", "input", 1, input)
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if input._tl_data.dtype.kind not in "fV":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    first, second = np.triu_indices(input.shape[0], 1)
    index = input.new_tensor
    rows, others = index(first).long(), index(second).long()
    return (input[rows] - input[others]).norm(p, -1)


@composite
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """Return the distance of order `p` between every two rows of a matrix: (0, 1), (0, 2), ..., (1, 2), ...

    >>> tl.pdist(tl.tensor([[0.0], [1.0], [5.0]]))
    tensor([1., 5., 4.])
    """
    return _all_pairs(input, p)


@functional(name="pdist", guard=True)
def _functional_pdist(input: Tensor, p: float = 2) -> Tensor:
    """Return the distance of order `p` between every two rows of a matrix: (0, 1), (0, 2), ..., (1, 2), ...

    >>> tl.nn.functional.pdist(tl.tensor([[0.0], [1.0], [5.0]]))
    tensor([1., 5., 4.])
    """
    return _all_pairs(input, p)


@functional(guard=True)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `input1 @ weight[k] @ input2` for each of the matrices that `weight` holds, plus `bias`.

    The inputs have the shapes (*, m) and (*, n), `weight` (outputs, m, n), `bias` (outputs,), the result (*, outputs).
    Raises RuntimeError for shapes that do not match.

    >>> tl.nn.functional.bilinear(tl.tensor([1.0, 2.0]), tl.tensor([10.0]), tl.tensor([[[1.0], [1.0]]]))
    tensor([30.])
    """
    operands = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    arrays = [array_of("bilinear", name, position, value) for position, (name, value) in enumerate(operands.items(), 1)]
    if any(array.dtype != arrays[0].dtype for array in arrays):
        found = ", ".join(f"{name}: {c_name(array.dtype)}" for name, array in zip(operands, arrays))
        raise RuntimeError(f"bilinear(): All tensors must have the same dtype, got {found}; convert with .to(dtype)")
    first, second, given = (array.shape for array in arrays[:3])
    if len(first) != len(second):
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {len(first)} and {len(second)}")
    if first[:-1] != second[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(first)} and {list(second)}")
    if len(given) != 3 or given[1:] != (first[-1], second[-1]):
        raise RuntimeError(
            f"bilinear(): input1 size and input2 size do not match weight size: got {first[-1]} and {second[-1]}, and "
            f"a weight of size {list(given)}"
        )
    left = input1.reshape((-1, first[-1])) @ weight.permute(1, 0, 2).reshape((first[-1], given[0] * given[2]))
    right = input2.reshape((-1, 1, second[-1]))
    products = left.reshape((-1, given[0], given[2])) * right
    result = products.sum(-1, dtype=input1.dtype).reshape((*first[:-1], given[0]))
    return result if bias is None else result + bias
