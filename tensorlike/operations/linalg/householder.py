"""Products of Householder reflections: QR decompositions in LAPACK's compact form, and the functions that use them."""

from __future__ import annotations

from typing import Any, NoReturn

from tensorlike._library_name import LIBRARY
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import require_tensor
from .checks import NAMESPACE, identity_like, into
from .solving import solve_triangular


def _check_dtype(function: str, array: Array) -> None:
    if array.dtype.kind not in "fc" or array.dtype.itemsize < 4:
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtype_name(array.dtype)}': convert the tensor first, e.g. with "
            f".to({LIBRARY}.float32)"
        )


@primitive(out="cast", outputs=("a", "tau"))
def geqrf(xp: Namespace, input: Array) -> tuple[Array, Array]:
    """Return the QR decomposition of a matrix, or of each of a batch, in the compact form of LAPACK.

    For `input` of shape (..., m, n), `a` has that shape and `tau` (..., min(m, n)): R is the upper triangle of `a`; the
    vectors of the reflections whose product is Q lie below it, without their leading ones, and `tau` has their factors.
    `linalg.householder_product` makes Q of both, and `ormqr` multiplies by it. There is no derivative.

    >>> a, tau = tl.geqrf(tl.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> tl.linalg.householder_product(a, tau) @ a.triu()
    tensor([[3.0000, 1.0000],
            [4.0000, 2.0000]])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"torch.geqrf: input must have at least 2 dimensions. It has {input.ndim}, with shape {list(input.shape)}"
        )
    _check_dtype("geqrf", input)
    if not input.size:
        return input.copy(), xp.empty((*input.shape[:-2], min(input.shape[-2:])), input.dtype)
    transposed, tau = xp.linalg.qr(input, mode="raw")
    return xp.swapaxes(transposed, -1, -2), tau


def _refuse() -> NoReturn:
    raise NotImplementedError(
        "the derivative for 'geqrf' is not implemented: use linalg.qr, which has one, or detach() the input"
    )


derivatives(geqrf, input=lambda grads: _refuse())


# Note [The compact WY form]
# A product of k reflections I - tau_i v_i v_i^H is I - V T V^H, with the vectors as the columns of V and the triangular
# T = (D^-1 + striu(V^H V))^-1, where D has tau on its diagonal (Schreiber and Van Loan, 1989; Puglisi, 1992). Written
# (I + D striu(V^H V))^-1 D it also takes factors of zero. It is made of products and one triangular system, for all
# matrices of a batch at once, and its derivatives are those of its parts.


def _compact(input: Tensor, tau: Tensor) -> tuple[Any, Any]:
    """Return V and T of the reflections: see Note [The compact WY form]."""
    count = tau.shape[-1]
    vectors = input[..., :count]
    ones = vectors.new_zeros(tuple(vectors.shape[-2:]))
    places = range(min(vectors.shape[-2:]))
    ones._tl_data[places, places] = 1
    vectors = vectors.tril(-1) + ones
    scaled = (vectors.mH @ vectors).triu(1) * tau.unsqueeze(-1)
    identity = identity_like(scaled)
    factors = solve_triangular(scaled + identity, identity * tau.unsqueeze(-2), upper=True, unitriangular=True)
    return vectors, factors


def _check_reflections(function: str, input: Array, tau: Array) -> None:
    if input.ndim < 2:
        raise RuntimeError(
            f"{function}: input must have at least 2 dimensions. It has {input.ndim}, with shape {list(input.shape)}"
        )
    if tau.ndim != input.ndim - 1:
        raise RuntimeError(
            f"{function}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {input.ndim}"
        )
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{function}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])} and {list(input.shape[:-2])}"
        )


def _product(function: str, input: Tensor, tau: Tensor, out: Tensor | None) -> Tensor:
    a, t = input._tl_data, tau._tl_data
    name = "torch.linalg.householder_product"
    if a.ndim >= 2 and a.shape[-2] < a.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]: the shape is {list(a.shape)}"
        )
    if a.ndim >= 2 and t.ndim and a.shape[-1] < t.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]: the shapes are {list(a.shape)} "
            f"and {list(t.shape)}"
        )
    _check_reflections(name, a, t)
    if a.dtype != t.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {dtype_name(t.dtype)} does not match input dtype {dtype_name(a.dtype)}: convert one"
        )
    _check_dtype("orgqr", a)
    columns = a.shape[-1]
    vectors, factors = _compact(input, tau)
    identity = input.detach().new_zeros(tuple(a.shape[-2:]))
    identity._tl_data[range(columns), range(columns)] = 1
    found = identity - vectors @ (factors @ vectors[..., :columns, :].mH)
    return into(function, out, found, input, tau, exact=False)


@composite(namespace=NAMESPACE)
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first n columns of the product of the reflections that `geqrf` gives, for each matrix of a batch.

    `input` of shape (..., m, n) has the vectors below its diagonal, `tau` of shape (..., k) with k <= n <= m their
    factors; the result has the shape of `input`. Raises RuntimeError for other shapes and different dtypes. Composes
    `linalg.solve_triangular`.

    >>> tl.linalg.householder_product(tl.tensor([[5.0], [0.5]]), tl.tensor([1.6]))
    tensor([[-0.6000],
            [-0.8000]])
    """
    require_tensor("linalg_householder_product", input)
    require_tensor("linalg_householder_product", tau, "tau", 2)
    return _product("linalg_householder_product", input, tau, out)


@composite(method=True)
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the first n columns of the product of the reflections `input` with the factors `input2`.

    It is `linalg.householder_product` under an older name.

    >>> tl.orgqr(tl.tensor([[5.0], [0.5]]), tl.tensor([1.6]))
    tensor([[-0.6000],
            [-0.8000]])
    """
    require_tensor("orgqr", input)
    require_tensor("orgqr", input2, "input2", 2)
    return _product("orgqr", input, input2, out)


def _check_ormqr(a: Array, t: Array, c: Array, left: bool) -> None:
    name = "torch.ormqr"
    for argument, array in (("input", a), ("other", c)):
        if array.ndim < 2:
            raise RuntimeError(
                f"{name}: {argument} must have at least 2 dimensions. It has {array.ndim}, with shape "
                f"{list(array.shape)}"
            )
    side = -2 if left else -1
    if c.shape[side] < (t.shape[-1] if t.ndim else 0):
        raise RuntimeError(
            f"{name}: other.shape[{side}] must be greater than or equal to tau.shape[-1]: the shapes are "
            f"{list(c.shape)} and {list(t.shape)}"
        )
    if c.shape[side] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: other.shape[{side}] must be equal to input.shape[-2]: the shapes are {list(c.shape)} and "
            f"{list(a.shape)}"
        )
    if not t.ndim or t.shape[-1] != min(c.shape[side], a.shape[-1]):
        raise RuntimeError(
            f"{name}: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1]) = "
            f"{min(c.shape[side], a.shape[-1])}, but tau has the shape {list(t.shape)}"
        )
    _check_reflections(name, a, t)
    if c.ndim != a.ndim:
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{c.ndim} and input.ndim is equal to {a.ndim}"
        )
    if c.shape[:-2] != a.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
            f"{list(c.shape[:-2])} and {list(a.shape[:-2])}"
        )
    for argument, array in (("tau", t), ("other", c)):
        if array.dtype != a.dtype:
            raise RuntimeError(
                f"{name}: Expected input and {argument} to have the same dtype, but input has dtype "
                f"{dtype_name(a.dtype)} and {argument} has dtype {dtype_name(array.dtype)}"
            )


@composite(method=True)
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False, *,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Return Q times `input3`, or with `left=False` `input3` times Q, for the product Q of the reflections of `geqrf`.

    `input` of shape (..., m, n) has the vectors, `input2` of shape (..., min(m, n)) their factors, and Q, of shape
    (..., m, m), is never made. `transpose` puts the conjugate transpose of Q in its place. Raises RuntimeError for
    shapes that do not fit and different dtypes. Composes `linalg.solve_triangular`.

    >>> A = tl.tensor([[3.0, 1.0], [4.0, 2.0]])
    >>> a, tau = tl.geqrf(A)
    >>> tl.allclose(tl.ormqr(a, tau, A, transpose=True), a.triu(), atol=1e-6)
    True
    """
    for index, (argument, value) in enumerate((("input", input), ("input2", input2), ("input3", input3))):
        require_tensor("ormqr", value, argument, index + 1)
    _check_ormqr(input._tl_data, input2._tl_data, input3._tl_data, left)
    _check_dtype("ormqr", input._tl_data)
    vectors, factors = _compact(input, input2)
    if transpose:
        factors = factors.mH
    if left:
        found = input3 - vectors @ (factors @ (vectors.mH @ input3))
    else:
        found = input3 - ((input3 @ vectors) @ factors) @ vectors.mH
    return into("ormqr", out, found, input, input2, input3)
