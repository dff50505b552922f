"""Products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike._library_name import LIBRARY
from tensorlike.dispatch.tracebacks import explained
from tensorlike.tensor.declarations.declare import derivatives, internal, primitive, raw_derivatives, tensor_method
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import broadcast_error, dtype_name, promote_arithmetic
from tensorlike.tensor.types import Array, Namespace, Tensor

from .matrix_kernels import BLAS, product, raw_first, raw_linear_input, raw_linear_weight, raw_second, wide_product

_C_NAMES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "int64": "long", "int32": "int",
    "int16": "short", "int8": "signed char", "uint8": "unsigned char",
}  # fmt: skip


def c_name(dtype: np.dtype[Any]) -> str:
    """Return the name that PyTorch's messages about matrix products use for a dtype, such as double."""
    return _C_NAMES.get(str(dtype), str(dtype))


def times(*sizes: int) -> str:
    """Return a shape as PyTorch's messages about matrix products print it, such as 2x3."""
    return "x".join(map(str, sizes))


# ------------------------------------------------------------------------------------------------- checks and kernels


# PyTorch words the same error differently in each function.
_TWO_DTYPES: dict[str, Callable[[Any, Any], str]] = {
    "matrices": lambda a, b: f"expected m1 and m2 to have the same dtype, but got: {c_name(a)} != {c_name(b)}",
    "scalars": lambda a, b: f"expected scalar type {dtype_name(a)} but found {dtype_name(b)}",
    "vectors": lambda a, b: f"expected both vectors to have same dtype, but found {dtype_name(a)} and {dtype_name(b)}",
    "addmv": lambda a, b: f"addmv input tensors must have the same dtype, but got {dtype_name(a)} and {dtype_name(b)}",
    "equal": lambda a, b: f"both inputs should have same dtype, but they have {dtype_name(a)} and {dtype_name(b)}",
}


def check_products(function: str, first: Array, second: Array, wording: str = "matrices") -> None:
    """Raise for operands of two dtypes and for booleans: a product of matrices does not promote."""
    dtype = first.dtype
    if dtype is not second.dtype and dtype != second.dtype:
        raise explained(
            RuntimeError, "matmul-dtypes",
            f"{function}(): {_TWO_DTYPES[wording](dtype, second.dtype)}; convert one of them with .to(dtype)",
        )  # fmt: skip
    if dtype.kind == "b":
        raise NotImplementedError(
            f"\"{function}\" not implemented for 'Bool': convert the operands first, e.g. with .to({LIBRARY}.int32)"
        )


def check_matrices(function: str, first: Array, second: Array, names: tuple[str, str] = ("self", "mat2")) -> None:
    """Raise unless the operands are two matrices of matching sizes."""
    for matrix, name in zip((first, second), names):
        if matrix.ndim != 2:
            raise RuntimeError(f"{function}(): {name} must be a matrix, got a {matrix.ndim}-D tensor")
    if first.shape[1] != second.shape[0]:
        raise explained(
            RuntimeError, "matmul-shapes",
            f"{function}(): mat1 and mat2 shapes cannot be multiplied ({times(*first.shape)} and "
            f"{times(*second.shape)})",
        )  # fmt: skip
    check_products(function, first, second)


def check_batches(function: str, first: Array, second: Array) -> None:
    """Raise unless the operands are two batches of matrices of matching sizes."""
    for batch, name in ((first, "batch1"), (second, "batch2")):
        if batch.ndim != 3:
            raise RuntimeError(f"{function}(): {name} must be a 3D tensor, got a {batch.ndim}D tensor")
    expected = [first.shape[0], first.shape[2]]
    if expected != list(second.shape[:2]):
        raise explained(
            RuntimeError, "matmul-shapes",
            f"{function}(): Expected size for first two dimensions of batch2 tensor to be: {expected} but got: "
            f"{list(second.shape[:2])}.",
        )  # fmt: skip
    check_products(function, first, second, "scalars")


def check_vectors(function: str, first: Array, second: Array) -> None:
    """Raise unless the operands are two vectors of one length."""
    if first.ndim != 1 or second.ndim != 1:
        raise RuntimeError(f"{function}(): 1D tensors expected, but got {first.ndim}D and {second.ndim}D tensors")
    check_products(function, first, second, "vectors")
    if first.shape != second.shape:
        raise explained(
            RuntimeError, "matmul-shapes",
            f"{function}(): inconsistent tensor size, expected tensor [{first.shape[0]}] and src [{second.shape[0]}] "
            f"to have the same number of elements, but got {first.shape[0]} and {second.shape[0]} elements "
            "respectively",
        )  # fmt: skip


def check_matrix_vector(function: str, matrix: Array, vector: Array, input_ndim: int, input_size: int) -> None:
    """Raise unless the operands are a matrix and a vector of matching sizes."""
    if matrix.ndim != 2 or vector.ndim != 1:
        raise RuntimeError(
            f"{function}(): vector + matrix @ vector expected, got {input_ndim}, {matrix.ndim}, {vector.ndim}"
        )
    if matrix.shape[1] != vector.shape[0]:
        raise RuntimeError(
            f"{function}(): size mismatch, got input ({input_size}), mat ({times(*matrix.shape)}), vec "
            f"({vector.shape[0]})"
        )
    check_products(function, matrix, vector, "addmv")


# ------------------------------------------------------------------------------------------------- shared by formulas


def adjoint(tensor: Tensor) -> Any:
    """Return the conjugate transpose of a matrix, or of each matrix of a batch."""
    return conj(tensor).transpose(-2, -1)


def rows_of(tensor: Any) -> Tensor:
    """Return a tensor as a matrix whose rows are its last dimension."""
    shape = tensor._tl_data.shape
    return tensor if len(shape) == 2 else tensor.reshape(math.prod(shape[:-1]), shape[-1])  # type: ignore[no-any-return]


def _is_zero_dim(tensor: Tensor) -> bool:
    return bool(tensor._tl_data.ndim == 0)


# ------------------------------------------------------------------------------------------------------ the operations


def _check_matmul(first: Array, second: Array) -> None:
    """Raise PyTorch's error for operands that `matmul` cannot multiply; each combination of shapes has its own text."""
    a, b = first.ndim, second.ndim
    if a == 0 or b == 0:
        raise RuntimeError(
            f"matmul(): both arguments to matmul need to be at least 1D, but they are {a}D and {b}D; multiply a "
            "zero-dimensional tensor with *"
        )
    if a == 1 and b == 1:
        check_vectors("matmul", first, second)
        return
    inner, other = first.shape[-1], second.shape[-2] if b > 1 else second.shape[0]
    if inner != other:
        rows = math.prod(first.shape[:-1])
        if b == 1:
            raise explained(
                RuntimeError, "matmul-shapes",
                f"matmul(): size mismatch, got input ({rows}), mat ({times(rows, inner)}), vec ({other})",
            )  # fmt: skip
        if b == 2:
            raise explained(
                RuntimeError, "matmul-shapes",
                f"matmul(): mat1 and mat2 shapes cannot be multiplied ({times(rows, inner)} and "
                f"{times(*second.shape)})",
            )  # fmt: skip
    check_products("matmul", first, second)
    if a > 2 or b > 2:
        try:
            batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
        except ValueError as error:
            stand_ins = [np.broadcast_to(np.empty(()), array.shape[:-2]) for array in (first, second)]
            raise broadcast_error("matmul", error, stand_ins) from None
        if inner != other:
            count = math.prod(batch)
            raise explained(
                RuntimeError, "matmul-shapes",
                f"matmul(): Expected size for first two dimensions of batch2 tensor to be: [{count}, {inner}] but got: "
                f"[{count}, {other}].",
            )  # fmt: skip


def _grad_first(grad: Tensor, other: Tensor, input_shape: tuple[int, ...]) -> Any:
    if len(input_shape) == 1:
        if other._tl_data.ndim == 1:
            return grad * conj(other)
        return conj(other).matmul(grad.unsqueeze(-1)).squeeze(-1)
    if other._tl_data.ndim == 1:
        return grad.unsqueeze(-1) * conj(other)
    if len(input_shape) == 2 and other._tl_data.ndim > 2:
        # One product that sums over the batch too, instead of a batch of products to be summed afterwards.
        rows, columns = input_shape
        inner = other.shape[-1]
        batch = math.prod(other.shape[:-2])
        left = grad.reshape(batch, rows, inner).transpose(0, 1).reshape(rows, batch * inner)
        return left.matmul(adjoint(other).reshape(batch * inner, columns))
    return grad.matmul(adjoint(other))


def _grad_second(grad: Tensor, input: Tensor, other_shape: tuple[int, ...]) -> Any:
    if len(other_shape) == 1:
        if input._tl_data.ndim == 1:
            return grad * conj(input)
        if input._tl_data.ndim == 2:
            return conj(input).transpose(0, 1).matmul(grad)
        return rows_of(conj(input)).transpose(0, 1).matmul(grad.reshape(grad.numel()))
    if input._tl_data.ndim == 1:
        return conj(input).unsqueeze(-1) * grad.unsqueeze(-2)
    if len(other_shape) == 2 and input._tl_data.ndim > 2:
        return rows_of(conj(input)).transpose(0, 1).matmul(rows_of(grad))
    return adjoint(input).matmul(grad)


@primitive(out=True, operators=("__matmul__",), own_layout=True)
def matmul(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the product of two matrices, of a matrix and a vector, of two vectors, or of batches of matrices.

    The last two dimensions are those of the matrices; the others broadcast. A vector on the left is a row, on the right
    a column, and its dimension is gone from the result. Raises RuntimeError when the sizes do not fit or the dtypes
    differ (nothing is promoted), NotImplementedError for booleans.

    >>> tl.tensor([[1, 2], [3, 4]]) @ tl.tensor([1, 1])
    tensor([3, 7])
    """
    # Two matrices of matching sizes, by far the most common call, need no further checks.
    if (
        input.ndim == 2 == other.ndim
        and input.shape[1] == other.shape[0]
        and input.dtype is other.dtype
        and input.dtype.char in BLAS
    ):
        return xp.matmul(input, other)
    _check_matmul(input, other)
    return product(xp, input, other)


derivatives(
    matmul,
    input=lambda grad, other, input_shape: _grad_first(grad, other, input_shape),
    other=lambda grad, input, other_shape: _grad_second(grad, input, other_shape),
)
raw_derivatives(
    matmul,
    input=lambda grad, other, input_shape: raw_first(grad, other, input_shape),
    other=lambda grad, input, other_shape: raw_second(grad, input, other_shape),
)


@tensor_method(variant=("reflected", matmul), name="__rmatmul__")
def _rmatmul(self: Tensor, other: Tensor) -> Tensor:
    """Return `other @ self`, for an `other` whose `@` does not take this tensor."""
    return matmul(other, self)


@primitive(out=True, own_layout=True)
def mm(xp: Namespace, input: Array, mat2: Array) -> Array:
    """Return the product of two matrices.

    Raises RuntimeError for anything else than two matrices that fit, of one dtype; `matmul` broadcasts.

    >>> tl.mm(tl.ones(2, 3), tl.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if (
        input.ndim == 2 == mat2.ndim
        and input.shape[1] == mat2.shape[0]
        and input.dtype is mat2.dtype
        and input.dtype.char in BLAS
    ):
        return xp.matmul(input, mat2)
    check_matrices("mm", input, mat2)
    return product(xp, input, mat2)


derivatives(
    mm,
    input=lambda grad, mat2: grad.mm(adjoint(mat2)),
    mat2=lambda grad, input: adjoint(input).mm(grad),
)


@primitive(out=True, own_layout=True)
def bmm(xp: Namespace, input: Array, mat2: Array) -> Array:
    """Return the products of the matrices of two batches of the same size.

    Shapes are (batch, n, m) and (batch, m, p). Raises RuntimeError for others, and for two dtypes.

    >>> tl.bmm(tl.ones(4, 2, 3), tl.ones(4, 3, 5)).shape
    tensorlike.Size([4, 2, 5])
    """
    check_batches("bmm", input, mat2)
    return product(xp, input, mat2)


derivatives(
    bmm,
    input=lambda grad, mat2: grad.bmm(adjoint(mat2)),
    mat2=lambda grad, input: adjoint(input).bmm(grad),
)


@primitive(out=True, own_layout=True)
def mv(xp: Namespace, input: Array, vec: Array) -> Array:
    """Return the product of a matrix and a vector.

    Raises RuntimeError for anything else, for sizes that do not fit and for two dtypes.

    >>> tl.mv(tl.ones(2, 3), tl.ones(3))
    tensor([3., 3.])
    """
    check_matrix_vector("mv", input, vec, 1, input.shape[0] if input.ndim else 1)
    return product(xp, input, vec)


derivatives(
    mv,
    input=lambda grad, vec: grad.unsqueeze(1) * conj(vec),
    vec=lambda grad, input: adjoint(input).mv(grad),
)


@primitive(out=True)
def dot(xp: Namespace, input: Array, tensor: Array) -> Array:
    """Return the sum of the products of the elements of two vectors.

    Raises RuntimeError for anything else than two vectors of one length and dtype.

    >>> tl.dot(tl.tensor([1, 2]), tl.tensor([3, 4]))
    tensor(11)
    """
    check_vectors("dot", input, tensor)
    return product(xp, input, tensor)


derivatives(
    dot,
    input=lambda grad, tensor: grad * conj(tensor),
    tensor=lambda grad, input: grad * conj(input),
)


@primitive(out=True)
def vdot(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the sum of the products of the elements of two vectors, those of the first conjugated.

    Raises RuntimeError for anything else than two vectors of one length and dtype.

    >>> tl.vdot(tl.tensor([1j]), tl.tensor([1j]))
    tensor(1.+0.j)
    """
    check_vectors("vdot", input, other)
    return product(xp, xp.conj(input), other)


derivatives(
    vdot,
    input=lambda grad, other: conj(grad) * other,
    other=lambda grad, input: grad * input,
)


@primitive(out=True)
def inner(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the inner products of all pairs of vectors along the last dimension of both tensors.

    The result has the dimensions of `input` but for the last, then those of `other`. A zero-dimensional tensor
    multiplies the other one. Raises RuntimeError when the last dimensions or the dtypes differ.

    >>> tl.inner(tl.ones(2, 3), tl.ones(4, 3)).shape
    tensorlike.Size([2, 4])
    """
    if not input.ndim or not other.ndim:
        return xp.multiply(*promote_arithmetic("inner", xp, (input, other)))  # type: ignore[no-any-return]
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner(): inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    check_products("inner", input, other, "equal")
    left = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    right = other.reshape(math.prod(other.shape[:-1]), other.shape[-1])
    return product(xp, left, right.T).reshape(input.shape[:-1] + other.shape[:-1])


def _inner_grad_first(grad: Tensor, other: Tensor, input_shape: tuple[int, ...]) -> Any:
    if not input_shape or _is_zero_dim(other):
        return grad * conj(other)
    rows = math.prod(input_shape[:-1])
    right = rows_of(conj(other).unsqueeze(0))
    return grad.reshape(rows, right.shape[0]).mm(right).reshape(tuple(input_shape))


def _inner_grad_second(grad: Tensor, input: Tensor, other_shape: tuple[int, ...]) -> Any:
    if not other_shape or _is_zero_dim(input):
        return grad * conj(input)
    rows = math.prod(other_shape[:-1])
    left = rows_of(conj(input).unsqueeze(0))
    return grad.reshape(left.shape[0], rows).transpose(0, 1).mm(left).reshape(tuple(other_shape))


derivatives(
    inner,
    input=lambda grad, other, input_shape: _inner_grad_first(grad, other, input_shape),
    other=lambda grad, input, other_shape: _inner_grad_second(grad, input, other_shape),
)


@primitive(out="cast", promotion="arithmetic", aliases=("ger",))
def outer(xp: Namespace, input: Array, vec2: Array) -> Array:
    """Return the matrix of the products of each element of one vector with each element of another.

    Raises RuntimeError for anything else than two vectors.

    >>> tl.outer(tl.tensor([1, 2]), tl.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    for vector, name in ((input, "self"), (vec2, "vec2")):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return xp.multiply(input[:, None], vec2)  # type: ignore[no-any-return]


derivatives(
    outer,
    input=lambda grad, vec2: grad.matmul(conj(vec2).to(grad.dtype)),
    vec2=lambda grad, input: conj(input).to(grad.dtype).matmul(grad),
)


@primitive(namespace="tensorlike.nn.functional", method=False, own_layout=True, out=True)
def linear(xp: Namespace, input: Array, weight: Array, bias: Array | None = None) -> Array:
    """Return `input @ weight.T + bias`.

    Shapes are (..., in_features), (out_features, in_features) and (out_features,), and the result is
    (..., out_features); with a `weight` of shape (in_features,) it is (...). Raises RuntimeError when sizes do not fit
    or dtypes differ.

    >>> tl.nn.functional.linear(tl.ones(1, 3), tl.ones(2, 3), tl.tensor([0.0, 1.0]))
    tensor([[3., 4.]])
    """
    if not (input.ndim >= 1 and 1 <= weight.ndim <= 2):
        if weight.ndim > 2:
            raise RuntimeError(
                f"linear(): t() expects a tensor with <= 2 dimensions, but self is {weight.ndim}D: `weight` must have "
                "the shape (out_features, in_features)"
            )
        raise RuntimeError(
            f"linear(): both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if input.shape[-1] != weight.shape[-1]:
        rows = math.prod(input.shape[:-1])
        raise explained(
            RuntimeError, "matmul-shapes",
            "linear(): mat1 and mat2 shapes cannot be multiplied "
            f"({times(rows, input.shape[-1])} and {times(*weight.shape[::-1])})",
        )  # fmt: skip
    check_products("linear", input, weight)
    result = wide_product(xp, input, weight.T)
    if bias is not None:
        if bias.dtype != input.dtype:
            raise RuntimeError(
                f"linear(): self and mat2 must have the same dtype, but got {dtype_name(bias.dtype)} and "
                f"{dtype_name(weight.dtype)}"
            )
        if weight.ndim == 1 and bias.ndim:
            raise RuntimeError(
                f"linear(): mat2 must be a matrix, got 1-D tensor: with a `bias` of shape {list(bias.shape)} the "
                "weight has the shape (out_features, in_features)"
            )
        if result.ndim == 0:
            check_bias(bias, result.shape)
            result = result + bias
        else:
            try:
                result += bias
            except ValueError:
                check_bias(bias, result.shape)
                raise
    return result if result.dtype == input.dtype else result.astype(input.dtype)


def check_bias(bias: Array, shape: tuple[int, ...]) -> None:
    """Raise for a `bias` that does not broadcast to the result of `linear`."""
    trailing = shape[len(shape) - bias.ndim :] if bias.ndim <= len(shape) else None
    if trailing is None or any(n not in (1, m) for n, m in zip(bias.shape, trailing)):
        raise RuntimeError(
            f"linear(): The expanded size of the tensor must match the existing size: `bias` of shape "
            f"{list(bias.shape)} does not broadcast to the result of shape {list(shape)}"
        )


@internal(name="_linear_weight", own_layout=True)
def _linear_weight(xp: Namespace, input: Array, other: Array) -> Array:
    """Return the sum over all rows of the outer products of `input` with the conjugate of `other`.

    The gradient of a weight, in one operation: every training step computes one for each layer.
    """
    left = input.reshape(math.prod(input.shape[:-1]), input.shape[-1]) if input.ndim != 2 else input
    right = other.reshape(math.prod(other.shape[:-1]), other.shape[-1]) if other.ndim != 2 else other
    return product(xp, left.T, xp.conj(right) if right.dtype.kind == "c" else right)


derivatives(
    _linear_weight,
    input=lambda grad, other: linear(other, grad),
    other=lambda grad, input: input.matmul(conj(grad)),
)


def _linear_grad_input(grad: Tensor, weight: Tensor) -> Any:
    if weight._tl_data.ndim == 1:
        return grad.unsqueeze(-1) * conj(weight)
    return grad.matmul(conj(weight))


def _linear_grad_weight(grad: Tensor, input: Tensor, weight_shape: tuple[int, ...]) -> Any:
    if len(weight_shape) == 2:
        return _linear_weight(grad, input)
    if input._tl_data.ndim == 1:
        return grad * conj(input)
    return grad.reshape(grad.numel()).matmul(rows_of(conj(input)))


derivatives(
    linear,
    input=lambda grad, weight: _linear_grad_input(grad, weight),
    weight=lambda grad, input, weight_shape: _linear_grad_weight(grad, input, weight_shape),
    bias=lambda grad: grad,
)
raw_derivatives(
    linear,
    input=lambda grad, weight: raw_linear_input(grad, weight),
    weight=lambda grad, input, weight_shape: raw_linear_weight(grad, input, weight_shape),
    bias=lambda grad: grad,
)
