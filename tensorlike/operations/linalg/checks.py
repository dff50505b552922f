"""Shared by linear algebra: its error, checks of arguments, and parts of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.tensor.backends import backend_of, scipy_linalg
from tensorlike.tensor.declarations.runtime import broadcast_error, dtype_name, write_out, wrong_type
from tensorlike.tensor.types import Array, Tensor

NAMESPACE = "tensorlike.linalg"


class LinAlgError(RuntimeError):
    """Raised by linear algebra for values without a result: a singular matrix, an iteration that does not converge.

    >>> try:
    ...     tl.linalg.solve(tl.zeros(2, 2), tl.ones(2))
    ... except tl.linalg.LinAlgError as error:
    ...     print(error)
    torch.linalg.solve: The solver failed because the input matrix is singular.

    Same as PyTorch's exception of that name.
    """


LinAlgError.__module__ = NAMESPACE

# --------------------------------------------------------------------------------------------------------------- checks


def check_matrices(function: str, array: Array, argument: str = "A") -> None:
    """Raise RuntimeError for fewer than two dimensions, or elements other than floating-point or complex numbers."""
    if array.ndim < 2:
        raise RuntimeError(
            f"{function}: The input tensor {argument} must have at least 2 dimensions. Got {array.ndim}: the shape is "
            f"{list(array.shape)}"
        )
    check_inexact(function, array)


def check_inexact(function: str, array: Array) -> None:
    """Raise RuntimeError for elements other than floating-point or complex numbers of single or double precision."""
    dtype = array.dtype
    if dtype.kind in "biu":
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got {dtype_name(dtype)}; convert it "
            f"first, e.g. with .to({LIBRARY}.float32)"
        )
    if dtype.kind not in "fc" or dtype.itemsize < 4:
        raise NotImplementedError(
            f"{function}: Low precision dtypes not supported. Got {dtype_name(dtype)}; convert the tensor first, e.g. "
            f"with .to({LIBRARY}.float32)"
        )


def check_square(function: str, array: Array, argument: str = "A") -> None:
    """Raise RuntimeError unless the operand holds square matrices of floating-point or complex numbers."""
    if array.ndim >= 2 and array.shape[-1] != array.shape[-2]:
        raise RuntimeError(
            f"{function}: {argument} must be batches of square matrices, but they are {array.shape[-2]} by "
            f"{array.shape[-1]} matrices"
        )
    check_matrices(function, array, argument)


def check_same_dtype(function: str, first: Array, second: Array, names: tuple[str, str] = ("A", "B")) -> None:
    """Raise RuntimeError for operands of different dtypes: linear algebra does not promote."""
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"{function}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type "
            f"{dtype_name(first.dtype)} and {names[1]} of type {dtype_name(second.dtype)} instead"
        )


def common_batch(function: str, first: Array, second: Array) -> tuple[int, ...]:
    """Return the shape that the batch dimensions of two arrays of matrices broadcast to."""
    if first.shape[:-2] == second.shape[:-2]:
        return tuple(first.shape[:-2])
    try:
        return np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    except ValueError as error:
        raise broadcast_error(function, error, (first[..., 0, 0], second[..., 0, 0])) from None


# ------------------------------------------------------------------------------------------------------------- failures


def flat_matrices(array: Array) -> Array:
    """Return an array of matrices with one batch dimension."""
    return array.reshape((math.prod(array.shape[:-2]), *array.shape[-2:]))


def batch_element(shape: Sequence[int], index: int) -> str:
    """Return the text that names one matrix of a batch in a message; empty without a batch."""
    return f"(Batch element {index}): " if len(shape) > 2 else ""


def on_host(array: Array) -> Array:
    """Return an array as NumPy's. Used only to find the reason of a failure, where a transfer may take its time."""
    return array if type(array) is np.ndarray else backend_of(array).to_host(array)


def zero_pivots(array: Array) -> list[int]:
    """Return for each square matrix the number, from 1 on, of its first pivot that is zero, or 0."""
    matrices = flat_matrices(on_host(array))
    (factor,) = scipy_linalg(matrices).get_lapack_funcs(("getrf",), (matrices,))
    return [int(max(factor(matrix)[2], 0)) if matrix.size else 0 for matrix in matrices]


def smallest_bad_minor(matrix: Array) -> int:
    """Return the order of the first leading minor of a Hermitian matrix that is not positive, or 0."""
    good, bad = 0, matrix.shape[-1] + 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if _is_positive_definite(matrix[:middle, :middle]):
            good = middle
        else:
            bad = middle
    return bad if bad <= matrix.shape[-1] else 0


def _is_positive_definite(matrix: Array) -> bool:
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return bool(np.isfinite(np.diagonal(factor)).all())


def converging(function: str, compute: Callable[..., Any], array: Array, *args: Any, **kwargs: Any) -> Any:
    """Return `compute(array, ...)`; an iteration that does not converge raises LinAlgError."""
    try:
        return compute(array, *args, **kwargs)
    except np.linalg.LinAlgError:
        pass
    matrices = flat_matrices(on_host(array))
    for index, matrix in enumerate(matrices):
        if not np.isfinite(matrix).all():
            raise LinAlgError(
                f"{function}: {batch_element(array.shape, index)}The algorithm failed to converge because the input "
                "matrix contained non-finite values."
            )
    raise LinAlgError(
        f"{function}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
        "repeated eigenvalues or singular values."
    )


# ---------------------------------------------------------------------------------------------------------- derivatives


def is_complex(tensor: Tensor) -> bool:
    """Return whether a tensor's elements are complex."""
    return bool(tensor._tl_data.dtype.kind == "c")


def identity_like(matrices: Tensor) -> Tensor:
    """Return the identity matrix of the size and dtype of square matrices, without a history."""
    size = matrices.shape[-1]
    result = matrices.new_zeros((size, size))
    result._tl_data[range(size), range(size)] = 1
    return result


def without_diagonal(matrices: Tensor) -> Tensor:
    """Return square matrices with zeros on the diagonal."""
    return matrices.masked_fill(identity_like(matrices) != 0, 0)


def differences(values: Tensor) -> Tensor:
    """Return the matrix of all differences `values[j] - values[i]`, with ones on the diagonal."""
    found = values.unsqueeze(-2) - values.unsqueeze(-1)
    return found + identity_like(found)


def safe_quotient(dividend: Tensor, divisor: Tensor) -> Tensor:
    """Return `dividend / divisor`, with 0 / 0 = 0: there is no gradient between equal values."""
    undefined = (divisor == 0) & (dividend == 0)
    if not bool(undefined._tl_data.any()):
        return dividend / divisor
    return dividend.masked_fill(undefined, 0) / divisor.masked_fill(undefined, 1)


def upper_hermitian(matrices: Tensor) -> Tensor:
    """Return the Hermitian matrices with the same upper triangles, and the real parts of the diagonals."""
    upper = matrices.triu()
    return (upper + upper.mH) * (1 - identity_like(matrices) * 0.5)


def check_phase(function: str, what: str, diagonal: Tensor) -> None:
    """Raise for a gradient that depends on the phase of complex vectors, which is arbitrary."""
    imaginary = np.abs(on_host(diagonal._tl_data).imag)
    if (imaginary > 1e-2).any():
        raise RuntimeError(
            f"{function}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this phase, so it is ill-defined. Make it depend on what the phase "
            "does not change, such as absolute values or projections."
        )


# ----------------------------------------------------------------------------------------------------------- composites


def into(
    function: str, out: Tensor | None, result: Tensor, *operands: Tensor, exact: bool = True,
    disjoint: Sequence[Any] = (),
) -> Tensor:  # fmt: skip
    """Return the result of a composite, written to `out=` if there is one: of the same dtype if `exact`."""
    if out is None:
        return result
    return write_out(function, out, result._tl_data, *operands, rule="exact" if exact else "cast", disjoint=disjoint)


def into_each(
    function: str, out: tuple[Tensor, ...] | None, results: Any, *operands: Tensor, exact: bool = True
) -> Any:
    """Return the several results of a composite, written to the tensors in `out=` if there are some."""
    if out is None:
        return results
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        wrong_type(function, "out", None, out, f"tuple of {len(results)} Tensors")
    for target, result in zip(out, results, strict=True):
        write_out(function, target, result._tl_data, *operands, rule="exact" if exact else "cast")
    return type(results)(out)
