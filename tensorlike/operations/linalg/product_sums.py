"""A tensor plus a product of matrices or vectors: the `add...` functions with their factors `beta` and `alpha`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorlike.operations.linalg.matmul import adjoint, c_name, check_batches, check_matrices, check_matrix_vector
from tensorlike.operations.linalg.matrix_kernels import wide_product
from tensorlike.tensor.declarations.declare import deprecated_orders, derivatives, primitive
from tensorlike.tensor.declarations.formulas import conj
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Number, Tensor

from ..indexing.written_values import converted_number

_TWO_DTYPES: dict[str, Callable[[Any, Any], str]] = {
    "addmm": lambda a, b: f"self and mat2 must have the same dtype, but got {dtype_name(a)} and {dtype_name(b)}",
    "addmv": lambda a, b: (
        f"addmv input tensors must have the same dtype, but got {dtype_name(a)}, {dtype_name(b)}, and {dtype_name(b)}"
    ),
    "baddbmm": lambda a, b: (
        f"Input dtypes must be the same, got: input {c_name(a)}, batch1: {c_name(b)}, batch2: {c_name(b)}"
    ),
}


def _factor(function: str, name: str, value: int, dtype: np.dtype[Any]) -> Any:
    """Return `beta` or `alpha` as a number of the products' dtype."""
    if not isinstance(value, (int, float, complex, np.generic)):
        raise TypeError(f"{function}(): argument '{name}' must be Number, not {type(value).__name__}")
    if isinstance(value, (complex, np.complexfloating)) and dtype.kind != "c":
        raise RuntimeError(
            f"{function}(): value cannot be converted to type {c_name(dtype)} without overflow: '{name}' is {value}"
        )
    return converted_number(value, dtype) if dtype.kind in "iu" else value


def _added(
    function: str, xp: Namespace, input: Array, products: Array, dtype: np.dtype[Any], beta: int, alpha: int,
    wording: str = "addmm",
) -> Array:  # fmt: skip
    """Return `beta * input + alpha * products` in `dtype`; `products` belongs to this call and may be overwritten."""
    if input.dtype is not dtype and input.dtype != dtype:
        raise RuntimeError(f"{function}(): {_TWO_DTYPES[wording](input.dtype, dtype)}; convert one with .to(dtype)")
    shape = products.shape
    trailing = shape[len(shape) - input.ndim :] if input.ndim <= len(shape) else None
    if trailing is None or any(n not in (1, m) for n, m in zip(input.shape, trailing)):
        raise RuntimeError(
            f"{function}(): The expanded size of the tensor must match the existing size: `input` of shape "
            f"{list(input.shape)} does not broadcast to the products' shape {list(shape)}"
        )
    beta, alpha = _factor(function, "beta", beta, dtype), _factor(function, "alpha", alpha, dtype)
    # With `beta` 0 `input` is not read, so that nan and inf in it have no effect.
    if alpha == 0:
        products = xp.zeros(shape, products.dtype)
    elif alpha != 1:
        products = products * xp.asarray(alpha, dtype=products.dtype)
    if beta != 0:
        # Products of half precision are single, and rounded at the end alone.
        addend = input if beta == 1 else input.astype(products.dtype, copy=False) * xp.asarray(beta, products.dtype)
        if products.ndim and products.dtype == addend.dtype:
            products += addend
        else:
            products = products + addend
    return products if products.dtype == dtype else products.astype(dtype)


def scaled_gradient(grad: Tensor, factor: int) -> Tensor:
    """Return the gradient of the term that is multiplied by a factor."""
    return grad if factor == 1 else grad * conj(factor)


@primitive(out=True, inplace=True)
def addmm(xp: Namespace, input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """Return `beta * input + alpha * (mat1 @ mat2)` for two matrices.

    `input` broadcasts to the product, and is not read when `beta` is 0. Raises RuntimeError for sizes that do not fit
    and for different dtypes.

    >>> tl.addmm(tl.ones(1, 2), tl.ones(1, 3), tl.ones(3, 2), alpha=2)
    tensor([[7., 7.]])
    """
    check_matrices("addmm", mat1, mat2, ("mat1", "mat2"))
    products = wide_product(xp, mat1, mat2)
    return _added("addmm", xp, input, products, mat1.dtype, beta, alpha)


deprecated_orders(addmm, "beta input alpha mat1 mat2", "beta input mat1 mat2")
derivatives(
    addmm,
    input=lambda grad, beta: scaled_gradient(grad, beta),
    mat1=lambda grad, mat2, alpha: scaled_gradient(grad.mm(adjoint(mat2)), alpha),
    mat2=lambda grad, mat1, alpha: scaled_gradient(adjoint(mat1).mm(grad), alpha),
)


@primitive(out=True, inplace=True, inplace_function=True)
def addmv(xp: Namespace, input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """Return `beta * input + alpha * (mat @ vec)` for a matrix and a vector.

    `input` broadcasts to the product, and is not read when `beta` is 0. Raises RuntimeError for sizes that do not fit
    and for different dtypes.

    >>> tl.addmv(tl.ones(2), tl.ones(2, 3), tl.ones(3), beta=10)
    tensor([13., 13.])
    """
    if input.ndim > 1:
        raise RuntimeError(f"addmv(): vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    check_matrix_vector("addmv", mat, vec, input.ndim, input.size)
    products = xp.asarray(wide_product(xp, mat, vec))
    return _added("addmv", xp, input, products, mat.dtype, beta, alpha, "addmv")


deprecated_orders(addmv, "beta input alpha mat vec", "beta input mat vec")
derivatives(
    addmv,
    input=lambda grad, beta: scaled_gradient(grad, beta),
    mat=lambda grad, vec, alpha: scaled_gradient(grad.unsqueeze(1) * conj(vec), alpha),
    vec=lambda grad, mat, alpha: scaled_gradient(adjoint(mat).mv(grad), alpha),
)


@primitive(out="cast", inplace=True, promotion="arithmetic")
def addr(xp: Namespace, input: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """Return `beta * input + alpha * outer(vec1, vec2)`.

    `input` broadcasts to the product, and is not read when `beta` is 0. Raises RuntimeError for operands other than
    vectors and for sizes that do not match.

    >>> tl.addr(tl.ones(2, 2), tl.tensor([1.0, 2.0]), tl.tensor([3.0, 4.0]))
    tensor([[4., 5.],
            [7., 9.]])
    """
    for vector, name in ((vec1, "vec1"), (vec2, "vec2")):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    dtype = input.dtype
    for factor, name in ((beta, "beta"), (alpha, "alpha")):
        if dtype.kind in "biu" and isinstance(factor, (float, complex)):
            raise RuntimeError(
                f"addr(): For integral input tensors, argument {name} must not be a floating point number, got {factor}"
            )
        if dtype.kind != "b" and isinstance(factor, bool):
            raise RuntimeError(f"addr(): Boolean {name} only supported for Boolean results, got {factor}")
    products = xp.multiply(vec1[:, None], vec2)
    if dtype.kind == "b":
        beta, alpha = bool(beta), bool(alpha)
    return _added("addr", xp, input, products, dtype, beta, alpha)


deprecated_orders(addr, "beta input alpha vec1 vec2", "beta input vec1 vec2")
derivatives(
    addr,
    input=lambda grad, beta: scaled_gradient(grad, beta),
    vec1=lambda grad, vec2, alpha: scaled_gradient(grad.matmul(conj(vec2).to(grad.dtype)), alpha),
    vec2=lambda grad, vec1, alpha: scaled_gradient(conj(vec1).to(grad.dtype).matmul(grad), alpha),
)


@primitive(out=True, inplace=True)
def addbmm(xp: Namespace, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """Return `beta * input + alpha *` the sum of the products of the matrices of two batches.

    Shapes are (batch, n, m) and (batch, m, p); `input` broadcasts to (n, p), and is not read when `beta` is 0. Raises
    RuntimeError for sizes that do not fit and for different dtypes.

    >>> tl.addbmm(tl.zeros(1, 1), tl.ones(4, 1, 3), tl.ones(4, 3, 1))
    tensor([[12.]])
    """
    if batch1.ndim == batch2.ndim == 3 and batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"addbmm(): batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    check_batches("addbmm", batch1, batch2)
    count, rows, between = batch1.shape
    # Concatenated, the matrices are two long ones, whose product is the sum.
    left = batch1.transpose(1, 0, 2).reshape(rows, count * between)
    products = wide_product(xp, left, batch2.reshape(count * between, batch2.shape[2]))
    return _added("addbmm", xp, input, products, batch1.dtype, beta, alpha)


deprecated_orders(addbmm, "beta input alpha batch1 batch2", "beta input batch1 batch2")
derivatives(
    addbmm,
    input=lambda grad, beta: scaled_gradient(grad, beta),
    batch1=lambda grad, batch2, alpha: scaled_gradient(grad.matmul(adjoint(batch2)), alpha),
    batch2=lambda grad, batch1, alpha: scaled_gradient(adjoint(batch1).matmul(grad), alpha),
)


@primitive(out=True, inplace=True)
def baddbmm(xp: Namespace, input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """Return `beta * input + alpha * (batch1 @ batch2)` for two batches of matrices.

    Shapes are (batch, n, m) and (batch, m, p); `input` broadcasts to the product, and is not read when `beta` is 0.
    Raises RuntimeError for sizes that do not fit and for different dtypes.

    >>> tl.baddbmm(tl.ones(2, 1, 1), tl.ones(2, 1, 3), tl.ones(2, 3, 1)).shape
    tensorlike.Size([2, 1, 1])
    """
    check_batches("baddbmm", batch1, batch2)
    products = wide_product(xp, batch1, batch2)
    return _added("baddbmm", xp, input, products, batch1.dtype, beta, alpha, "baddbmm")


deprecated_orders(baddbmm, "beta input alpha batch1 batch2", "beta input batch1 batch2")
derivatives(
    baddbmm,
    input=lambda grad, beta: scaled_gradient(grad, beta),
    batch1=lambda grad, batch2, alpha: scaled_gradient(grad.bmm(adjoint(batch2)), alpha),
    batch2=lambda grad, batch1, alpha: scaled_gradient(adjoint(batch1).bmm(grad), alpha),
)
