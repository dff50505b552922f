"""Matrix products of sparse tensors, by SciPy's kernels or, on a GPU, CuPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike._originals import tl
from tensorlike.autograd.tensor_base import wrap
from tensorlike.overrides.writing import implements
from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import namespace_of, scipy_sparse
from tensorlike.tensor.declarations.runtime import dtype_name

from .tensor import SparseTensor, coalesced, from_values, is_sparse, record, refused, sparse, to_dense, values_of

#: PyTorch's old name of the product of a sparse matrix with another one.
dsmm = tl.mm


def _matrix(data: Any, dtype: np.dtype[Any]) -> Any:
    """Return the library's matrix of compressed rows of a sparse matrix."""
    module = scipy_sparse(data.values)
    xp = namespace_of(data.values)
    values = data.values.astype(dtype)
    rows, columns = data.indices
    if not data.coalesced:
        return module.coo_matrix((values, (rows, columns)), shape=data.shape).tocsr()
    starts = xp.zeros(data.shape[0] + 1, np.int64)
    starts[1:] = xp.cumsum(xp.bincount(rows, minlength=data.shape[0]))
    return module.csr_matrix((values, columns, starts), shape=data.shape)


def _check(first: Tensor, second: Tensor) -> None:
    if first.dim() != 2 or second.dim() != 2:
        raise RuntimeError(f"mm(): expected two matrices, got tensors with {first.dim()} and {second.dim()} dimensions")
    if first.shape[1] != second.shape[0]:
        (a, b), (c, d) = first.shape, second.shape
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a}x{b} and {c}x{d})")
    if first.dtype != second.dtype:
        one, other = (dtype_name(t._tl_data.dtype) for t in (first, second))
        raise RuntimeError(f"expected scalar type {one} but found {other}")
    for tensor in (first, second):
        if is_sparse(tensor) and tensor.sparse_dim() != 2:
            raise RuntimeError(f"mm(): expected sparse_dim 2 of a sparse matrix, got {tensor.sparse_dim()}")


def _wide(dtype: np.dtype[Any]) -> Any:
    """Return the dtype that the library multiplies in."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def matrix_product(first: Tensor, second: Tensor, masked: bool | None = None) -> Any:
    """Return the product of two matrices, of which one is sparse or both are: sparse if both are.

    `masked` says whether the gradient of a sparse matrix has its places alone: see Note [Gradients of products].
    """
    _check(first, second)
    at_own_places = masked is True
    if masked is None:
        masked = not (first if is_sparse(first) else second).is_leaf
    if not is_sparse(first):
        return matrix_product(second.t(), first.t(), masked).t()
    data = first._tl_data
    wide = _wide(data.dtype)
    if is_sparse(second):
        found = (_matrix(data, wide) @ _matrix(second._tl_data, wide)).tocoo()
        xp = namespace_of(data.values)
        indices = xp.stack([found.row, found.col]).astype(np.int64)
        product = sparse(indices, found.data.astype(data.dtype), (data.shape[0], second.shape[1]))
        product._tl_data = product._tl_data.ordered()

        def of_both(grad: Tensor) -> tuple[Any, Any]:
            found = (grad @ second.conj().t(), first.conj().t() @ grad)
            if at_own_places:
                found = (found[0].sparse_mask(coalesced(first)), found[1].sparse_mask(coalesced(second)))
            return found

        return record("SparseSparseMatmulBackward0", product, (first, second), of_both, first, second)
    array = _matrix(data, wide) @ second._tl_data.astype(wide)
    product = wrap(array.astype(data.dtype))

    def backward(grad: Tensor) -> tuple[Any, Any]:
        grad = to_dense(grad) if is_sparse(grad) else grad
        return (
            _gradient_of_sparse(first, second, grad, masked) if first.requires_grad else None,
            matrix_product(first.conj().t(), grad) if second.requires_grad else None,
        )

    return record("MmBackward0", product, (first, second), backward, first, second)


# Note [Gradients of products]
# The gradient of the sparse operand of `mm` is a dense matrix in PyTorch, that of `sparse.mm` has the operand's places.
# For an operand that was computed, from its values for example, only these places count: there the gradient is sparse
# here for both, since the dense matrix may be larger than memory. A leaf gets PyTorch's.


def _gradient_of_sparse(first: Tensor, second: Tensor, grad: Tensor, masked: bool) -> Any:
    if not masked:
        return grad @ second.conj().t()
    data = first._tl_data.ordered()
    rows, columns = (wrap(row) for row in data.indices)
    # By blocks of places, since the rows chosen may be much larger than the matrices.
    size = max(1, (1 << 22) // max(1, grad.shape[1]))
    other = second.conj()
    parts = [
        (grad[rows[k : k + size]] * other[columns[k : k + size]]).sum(1) for k in range(0, max(data.count, 1), size)
    ]
    return from_values(data.indices, tl.cat(parts), data.shape, True)


@implements(tl.mm, variants=True, for_type=SparseTensor)
def dense_gradient_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Any:
    """Return the product of two matrices."""
    return matrix_product(input, mat2)


@implements(tl.mv, variants=True, for_type=SparseTensor)
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Any:
    """Return the product of a sparse matrix and a vector."""
    if input.dim() != 2 or vec.dim() != 1 or is_sparse(vec):
        raise RuntimeError(f"mv(): expected a sparse matrix and a dense vector, got {input.dim()} and {vec.dim()}-D")
    return matrix_product(input, vec.unsqueeze(1)).squeeze(1)


@implements(tl.bmm, variants=True, for_type=SparseTensor)
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Any:
    """Return the products of the matrices of two batches, the first sparse, as one product."""
    if not is_sparse(input) or is_sparse(mat2) or input.dim() != 3 or mat2.dim() != 3 or input.sparse_dim() != 3:
        raise refused(tl.bmm)
    batch, rows, columns = input.shape
    if (batch, columns) != tuple(mat2.shape[:2]):
        raise RuntimeError(f"bmm(): expected batches of matrices that fit, got {input.shape} and {mat2.shape}")
    input = coalesced(input)
    data = input._tl_data
    number, row, column = data.indices
    indices = namespace_of(data.values).stack([number * rows + row, number * columns + column])
    blocks = from_values(indices, values_of(input), (batch * rows, batch * columns), True)
    found = matrix_product(blocks, mat2.reshape(batch * columns, -1))
    return found.reshape(batch, rows, mat2.shape[2])


@implements(tl.matmul, variants=True, for_type=SparseTensor)
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Any:
    """Return the product of matrices, a matrix and a vector, or batches of matrices."""
    dims = (input.dim(), other.dim())
    if dims == (2, 2):
        return dense_gradient_mm(input, other, out=out)
    if dims == (2, 1):
        return mv(input, other, out=out)
    if dims == (1, 2):
        return mv(other.t(), input, out=out)
    return bmm(input, other, out=out)


@implements(tl.addmm, variants=True, for_type=SparseTensor)
def added_mm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1, out: Tensor | None = None
) -> Any:
    """Return beta times a matrix plus alpha times the product of two others."""
    return _sum(input, matrix_product(mat1, mat2), beta, alpha)


def _sum(input: Tensor, product: Tensor, beta: complex, alpha: complex) -> Any:
    if is_sparse(input) and not is_sparse(product):
        raise refused(tl.addmm)
    start = input if beta == 1 else input * beta
    return tl.add(start, product, alpha=alpha)


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Any:
    """Return the product of a sparse matrix and a dense or sparse one; gradients of sparse ones are sparse.

    Raises NotImplementedError for a `reduce` other than "sum", RuntimeError for matrices that do not fit.

    >>> matrix = tl.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2), requires_grad=True)
    >>> tl.sparse.mm(matrix, tl.ones(2, 1))
    tensor([[2.],
            [3.]], grad_fn=<MmBackward0>)
    """
    if reduce not in (None, "sum"):
        raise NotImplementedError(f"sparse.mm(): reduce={reduce!r} is not here; use scatter_reduce on the rows")
    if not (is_sparse(mat1) or is_sparse(mat2)):
        raise NotImplementedError("sparse.mm(): expected a sparse matrix among the operands; use mm for dense ones")
    return matrix_product(mat1, mat2, masked=True)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """Return `beta` times `mat` plus `alpha` times the product of the sparse `mat1` and `mat2`.

    >>> tl.sparse.addmm(tl.ones(1, 1), tl.ones(1, 1).to_sparse(), tl.ones(1, 1), alpha=2)
    tensor([[3.]])
    """
    return _sum(mat, mm(mat1, mat2), beta, alpha)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1.0, alpha: complex = 1.0) -> Any:
    """Return `alpha` times the product of two dense matrices at the places of the sparse `input`, plus `beta` times it.

    PyTorch has it for compressed rows alone.

    >>> places = tl.eye(2).to_sparse()
    >>> tl.sparse.sampled_addmm(places, tl.ones(2, 3), tl.ones(3, 2)).values()
    tensor([4., 4.])
    """
    input = coalesced(input)
    data = input._tl_data
    rows, columns = (wrap(row) for row in data.indices)
    products = (mat1[rows] * mat2.t()[columns]).sum(1)
    return from_values(data.indices, values_of(input) * beta + products * alpha, data.shape, True)
