"""A structured type: diagonal matrices held as vectors, multiplied without ever being written out."""

from __future__ import annotations

from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


# What has no implementation is refused: a fallback to the whole matrix would need 40 GB for the one in main().
class DiagonalTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """The N x N matrix with the N elements of `values` on its diagonal and zeros elsewhere."""

    def __init__(self, values: Any) -> None:
        self.values = tl.as_tensor(values)

    def __repr__(self) -> str:
        return f"DiagonalTensor({self.values.tolist()})"

    def dense(self) -> tl.Tensor:
        """The whole matrix. No function below needs it."""
        return tl.diag(self.values)

    @property
    def shape(self) -> tl.Size:
        return tl.Size([len(self.values), len(self.values)])

    def __matmul__(self, other: Any) -> Any:
        return tl.matmul(self, other)


# The function, its aliases, the method and the operators at once.
implements = partial(overrides.implements, variants=True, for_type=DiagonalTensor)


def multiplied(name: str, input: Any, other: Any, out: Any) -> Any:
    if out is not None or not all(isinstance(operand, (tl.Tensor, DiagonalTensor)) for operand in (input, other)):
        return NotImplemented
    size, other_size = input.shape[-1], other.shape[0 if len(other.shape) == 1 else -2]
    if size != other_size:
        raise RuntimeError(f"{name}(): sizes {size} and {other_size} of the operands differ: {input} and {other}")
    if isinstance(input, DiagonalTensor) and isinstance(other, DiagonalTensor):
        return DiagonalTensor(input.values * other.values)
    if isinstance(other, DiagonalTensor):
        return input * other.values  # scales the columns
    # Scales the elements of a vector, or the rows of a matrix.
    return input.values * other if len(other.shape) == 1 else input.values[:, None] * other


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    return multiplied("matmul", input, other, out)


@implements(tl.mm)
def mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    return multiplied("mm", input, mat2, out)


@implements(tl.mv)
def mv(input: Any, vec: Any, *, out: Any = None) -> Any:
    if not isinstance(input, DiagonalTensor) or isinstance(vec, DiagonalTensor):
        return NotImplemented  # a diagonal matrix is no vector
    return multiplied("mv", input, vec, out)


@implements(tl.linalg.solve)
def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Any:
    if not isinstance(A, DiagonalTensor):
        return NotImplemented
    factors = (inv(A), B) if left else (B, inv(A))
    return multiplied("linalg.solve", *factors, out)


@implements(tl.linalg.inv)
def inv(A: Any, *, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    if bool((A.values == 0).any()):
        raise tl.linalg.LinAlgError(f"linalg.inv: the matrix is singular, with a zero on its diagonal: {A}")
    return DiagonalTensor(1 / A.values)


@implements(tl.linalg.det)
def det(A: Any, *, out: Any = None) -> Any:
    return A.values.prod() if out is None else NotImplemented


@implements(tl.t)
def t(input: DiagonalTensor) -> DiagonalTensor:
    return input


@implements(tl.trace)
def trace(input: DiagonalTensor) -> tl.Tensor:
    return input.values.sum()


def main() -> None:
    d = DiagonalTensor([1.0, 2.0, 4.0])
    matrix = tl.arange(9.0).reshape(3, 3)
    print("diagonal @ diagonal:", d @ d)
    print("diagonal @ matrix:", d @ matrix, sep="\n")
    print("matrix @ diagonal:", matrix @ d, sep="\n")
    print("diagonal @ vector:", tl.mv(d, tl.ones(3)))
    print("the same as with the whole matrix:", tl.equal(d @ matrix, d.dense() @ matrix))
    print("solved:", tl.linalg.solve(d, tl.tensor([1.0, 1.0, 1.0])))
    print("determinant:", tl.linalg.det(d))

    # Written out, this one would have ten thousand million elements.
    large = DiagonalTensor(tl.full((100_000,), 0.5))
    print("large:", tl.trace(large @ large @ large))

    values = tl.tensor([3.0, 5.0], requires_grad=True)
    (DiagonalTensor(values) @ tl.tensor([2.0, 7.0])).sum().backward()
    print("gradient:", values.grad)

    try:
        tl.exp(d)
    except TypeError as error:
        print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
