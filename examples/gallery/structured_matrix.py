"""Structured matrices: diagonal ones held as a vector, Kronecker products held as their factors.

A Kronecker product of two 300 x 300 matrices is multiplied with a vector, inverted and diagonalised without its eight
thousand million elements ever being written out: what second-order optimisers and Gaussian processes on grids live on.

What it shows of the protocol: two types that do not know each other, and a third party's rules for both together
(`overrides.register`); and the policy `refuse`, since a fallback to the whole matrix would not fit into memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


class DiagonalMatrix(overrides.TensorLike, unhandled=overrides.refuse):
    """The N x N matrix with the N elements of `values` on its diagonal and zeros elsewhere; with more dimensions in
    front, a batch of such matrices.
    """

    # For `tensorlike audit`: functions without a rule are refused on purpose, and some results are plain tensors.
    __tensor_audit__ = {"refusals": "ok", "plain_results": "ok"}

    def __init__(self, values: Any) -> None:
        self.values: tl.Tensor = tl.as_tensor(values)
        if self.values.ndim == 0:
            raise ValueError("DiagonalMatrix: the diagonal is a vector, or a batch of them, not one number")

    def __repr__(self) -> str:
        return f"DiagonalMatrix({self.values.tolist()})"

    def dense(self) -> tl.Tensor:
        """The whole matrix. No function below needs it."""
        return tl.diag_embed(self.values)

    @property
    def shape(self) -> tl.Size:
        return tl.Size([*self.values.shape, self.values.shape[-1]])

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> DiagonalMatrix:
        if tensor.ndim < 2 or tensor.shape[-2] != tensor.shape[-1]:
            raise ValueError("not a square matrix")
        return cls(tensor.diagonal(0, -2, -1).clone())

    __tensorlike_to_dense__ = dense


class KroneckerMatrix(overrides.TensorLike, unhandled=overrides.refuse):
    """The Kronecker product of two matrices: `left[i, j] * right` is its block i, j."""

    # For `tensorlike audit`: functions without a rule are refused on purpose, and some results are plain tensors.
    __tensor_audit__ = {"refusals": "ok", "plain_results": "ok"}

    def __init__(self, left: Any, right: Any) -> None:
        self.left, self.right = tl.as_tensor(left), tl.as_tensor(right)
        if self.left.ndim != 2 or self.right.ndim != 2:
            raise ValueError("KroneckerMatrix: both factors are matrices")

    def __repr__(self) -> str:
        return f"KroneckerMatrix({tuple(self.left.shape)} x {tuple(self.right.shape)})"

    def dense(self) -> tl.Tensor:
        return tl.kron(self.left, self.right)

    @property
    def shape(self) -> tl.Size:
        return tl.Size([m * n for m, n in zip(self.left.shape, self.right.shape)])

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> KroneckerMatrix:
        if tensor.ndim != 2:
            raise ValueError("not a matrix")
        return cls(tl.tensor([[2]], dtype=tensor.dtype), tensor)

    __tensorlike_to_dense__ = dense


def checked(name: str, input: Any, other: Any) -> None:
    size, other_size = input.shape[-1], other.shape[0 if len(other.shape) == 1 else -2]
    if size != other_size:
        raise RuntimeError(f"{name}(): sizes {size} and {other_size} of the operands differ: {input} and {other}")


def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    return NotImplemented if out is not None else tl.matmul(input, mat2)


def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    # A structured matrix is no vector.
    return NotImplemented if out is not None or not isinstance(vec, tl.Tensor) else tl.matmul(input, vec)


for kind in (DiagonalMatrix, KroneckerMatrix):
    overrides.implements(tl.mm, variants=True, for_type=kind)(mm)
    overrides.implements(tl.mv, variants=True, for_type=kind)(mv)


# Diagonal matrices.
on_diagonal = partial(overrides.implements, variants=True, for_type=DiagonalMatrix)


@on_diagonal(tl.matmul)
def diagonal_matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    if out is not None or not all(isinstance(operand, (tl.Tensor, DiagonalMatrix)) for operand in (input, other)):
        return NotImplemented
    checked("matmul", input, other)
    if isinstance(input, DiagonalMatrix) and isinstance(other, DiagonalMatrix):
        return DiagonalMatrix(input.values * other.values)
    if isinstance(other, DiagonalMatrix):  # Scales the columns.
        return input * (other.values if len(input.shape) == 1 else other.values.unsqueeze(-2))
    return input.values * other if len(other.shape) == 1 else input.values.unsqueeze(-1) * other  # scales the rows


@on_diagonal(tl.mul)
def diagonal_mul(input: Any, other: Any, *, out: Any = None) -> Any:
    d, factor = (input, other) if isinstance(input, DiagonalMatrix) else (other, input)
    if out is not None or not isinstance(factor, (int, float)):
        return NotImplemented
    return DiagonalMatrix(d.values * factor)


@on_diagonal(tl.add)
def diagonal_add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if out is not None or not (isinstance(input, DiagonalMatrix) and isinstance(other, DiagonalMatrix)):
        return NotImplemented
    return DiagonalMatrix(tl.add(input.values, other.values, alpha=alpha))


@on_diagonal(tl.linalg.inv)
def diagonal_inv(A: Any, *, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    if bool((A.values == 0).any()):
        raise tl.linalg.LinAlgError(f"linalg.inv: the matrix is singular, with a zero on its diagonal: {A}")
    return DiagonalMatrix(1 / A.values)


@on_diagonal(tl.linalg.solve)
def diagonal_solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    if out is not None or not isinstance(A, DiagonalMatrix):
        return NotImplemented
    if left and len(B.shape) > 1 and B.shape == A.values.shape:
        return diagonal_inv(A).values * B  # a batch of vectors
    return tl.matmul(diagonal_inv(A), B) if left else tl.matmul(B, diagonal_inv(A))


@on_diagonal(tl.linalg.det)
def diagonal_det(A: Any, *, out: Any = None) -> Any:
    return A.values.prod(-1) if out is None else NotImplemented


@on_diagonal(tl.diagonal)
def diagonal_diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    if input.values.ndim > 1:
        return NotImplemented  # its first two dimensions, unless others are given
    size = max(len(input.values) - abs(offset), 0)
    return input.values if offset == 0 else tl.zeros(size, dtype=input.values.dtype)


@on_diagonal(tl.trace)
def diagonal_trace(input: DiagonalMatrix) -> Any:
    return input.values.sum() if input.values.ndim == 1 else NotImplemented


@on_diagonal(tl.t)
def diagonal_t(input: Any) -> Any:
    return input if input.values.ndim == 1 else NotImplemented


# Kronecker products: (A x B)(C x D) = AC x BD, and (A x B) vec(X) = vec(A X B^T), row by row.
on_kronecker = partial(overrides.implements, variants=True, for_type=KroneckerMatrix)


@on_kronecker(tl.matmul)
def kronecker_matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    if out is not None or not all(isinstance(operand, (tl.Tensor, KroneckerMatrix)) for operand in (input, other)):
        return NotImplemented
    checked("matmul", input, other)
    if isinstance(input, KroneckerMatrix) and isinstance(other, KroneckerMatrix):
        if (input.left.shape[1], input.right.shape[1]) != (other.left.shape[0], other.right.shape[0]):
            return NotImplemented  # the factors do not match, only the whole does
        return KroneckerMatrix(input.left @ other.left, input.right @ other.right)
    if not isinstance(input, KroneckerMatrix):
        if len(input.shape) == 1:
            return kronecker_matmul(kronecker_t(other), input)
        return kronecker_matmul(kronecker_t(other), input.mT).mT
    rows, columns = (input.left.shape[1], input.right.shape[1])
    vectors = other.unsqueeze(-1) if len(other.shape) == 1 else other
    blocks = vectors.movedim(-2, -1).unflatten(-1, (rows, columns))
    product = (input.left @ blocks @ input.right.t()).flatten(-2).movedim(-1, -2)
    return product.squeeze(-1) if len(other.shape) == 1 else product


@on_kronecker(tl.mul)
def kronecker_mul(input: Any, other: Any, *, out: Any = None) -> Any:
    k, factor = (input, other) if isinstance(input, KroneckerMatrix) else (other, input)
    if out is not None or not isinstance(factor, (int, float)):
        return NotImplemented
    return KroneckerMatrix(k.left * factor, k.right)


@on_kronecker(tl.linalg.inv)
def kronecker_inv(A: Any, *, out: Any = None) -> Any:
    if out is not None or A.left.shape[0] != A.left.shape[1]:
        return NotImplemented
    return KroneckerMatrix(tl.linalg.inv(A.left), tl.linalg.inv(A.right))


@on_kronecker(tl.linalg.solve)
def kronecker_solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    if out is not None or not isinstance(A, KroneckerMatrix):
        return NotImplemented
    return tl.matmul(tl.linalg.inv(A), B) if left else tl.matmul(B, tl.linalg.inv(A))


@on_kronecker(tl.linalg.det)
def kronecker_det(A: Any, *, out: Any = None) -> Any:
    if out is not None or A.left.shape[0] != A.left.shape[1]:
        return NotImplemented
    return tl.linalg.det(A.left) ** A.right.shape[0] * tl.linalg.det(A.right) ** A.left.shape[0]


@on_kronecker(tl.linalg.eigvalsh)
def kronecker_eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    products = tl.outer(tl.linalg.eigvalsh(A.left, UPLO), tl.linalg.eigvalsh(A.right, UPLO))
    return products.flatten().sort().values


@on_kronecker(tl.trace)
def kronecker_trace(input: Any) -> Any:
    return tl.trace(input.left) * tl.trace(input.right)


@on_kronecker(tl.t)
def kronecker_t(input: Any) -> KroneckerMatrix:
    return KroneckerMatrix(input.left.t(), input.right.t())


# Both together. Neither type knows the other; these rules are asked after both have returned NotImplemented.
@overrides.register(tl.matmul, (DiagonalMatrix, KroneckerMatrix), variants=True)
def mixed_matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Exact where the diagonal is a Kronecker product itself, as a multiple of the identity is."""
    d, k = (input, other) if isinstance(input, DiagonalMatrix) else (other, input)
    if out is not None or d.values.ndim > 1 or not bool((d.values == d.values[0]).all()):
        return NotImplemented
    checked("matmul", input, other)
    return KroneckerMatrix(k.left * d.values[0], k.right)


@overrides.register(tl.linalg.solve, (DiagonalMatrix, KroneckerMatrix))
def mixed_solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    return tl.matmul(tl.linalg.inv(A), B) if left else tl.matmul(B, tl.linalg.inv(A))


def main() -> None:
    d = DiagonalMatrix([1.0, 2.0, 4.0, 8.0])
    k = KroneckerMatrix([[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [1.0, 4.0]])
    matrix = tl.arange(16.0).reshape(4, 4)
    print("diagonal @ diagonal:", d @ d)
    print("diagonal @ vector:", tl.mv(d, tl.ones(4)), "- solved:", tl.linalg.solve(d, tl.ones(4)))
    same = tl.equal(d @ matrix, d.dense() @ matrix) and tl.allclose(k @ matrix, k.dense() @ matrix)
    print("the same as with the whole matrices:", same)
    print("determinants:", tl.linalg.det(d), tl.linalg.det(k))
    print("a multiple of the identity @ Kronecker:", DiagonalMatrix(tl.full((4,), 3.0)) @ k)

    # Written out, these would have ten thousand and eight thousand million elements.
    large = DiagonalMatrix(tl.full((100_000,), 0.5))
    print("large:", tl.trace(large @ large @ large))
    tl.manual_seed(0)
    factor = tl.randn(300, 300) / 300**0.5 + 2 * tl.eye(300)
    grid = KroneckerMatrix(factor, factor)
    x = tl.ones(90_000)
    print("solved:", tl.allclose(grid @ tl.linalg.solve(grid, x), x, atol=1e-3))

    values = tl.tensor([3.0, 5.0], requires_grad=True)
    (DiagonalMatrix(values) @ tl.tensor([2.0, 7.0])).sum().backward()
    print("gradient:", values.grad)
    calls: list[Callable[[], Any]] = [lambda: tl.exp(d), lambda: d @ k]
    for call in calls:
        try:
            call()
        except TypeError as error:
            print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
