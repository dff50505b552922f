"""Determinants and their logarithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.operations.elementwise.complexes import complex
from tensorlike.tensor.declarations.declare import composite, derivatives, primitive
from tensorlike.tensor.declarations.named_results import return_type
from tensorlike.tensor.tensor import Tensor
from tensorlike.tensor.types import Array, Namespace

from ..shared import require_tensor
from .checks import NAMESPACE, check_square, identity_like, is_complex, on_host
from .solving import inv_ex
from .spectral import svd

if TYPE_CHECKING:
    from tensorlike import return_types


@primitive(namespace=NAMESPACE, method=False, out=True, dims="mm->")
def det(xp: Namespace, A: Array) -> Array:
    """Return the determinant of a square matrix, or of each of a batch.

    A has shape (..., n, n), the result (...). Raises RuntimeError unless A holds square matrices of floating-point or
    complex numbers.

    >>> tl.linalg.det(tl.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    check_square("linalg.det", A)
    return xp.linalg.det(A)  # type: ignore[no-any-return]


def _det_gradient(grad: Tensor, A: Tensor, result: Tensor) -> Any:
    if A.shape[-1] == 1:
        return grad.reshape(A.shape)
    if not (on_host(result._tl_data) == 0).any():
        return inv_ex(A)[0].mH * (grad * result.conj()).unsqueeze(-1).unsqueeze(-1)
    # A singular matrix has no inverse, but cofactors: each singular value is replaced by the product of the others.
    U, S, Vh = svd(A)
    others = S.unsqueeze(-2).expand((*S.shape, S.shape[-1])).masked_fill(identity_like(A) == 1, 1).prod(-1)
    turns = (det(U) * det(Vh)).conj() * grad
    return (U * others.unsqueeze(-2)) @ Vh * turns.unsqueeze(-1).unsqueeze(-1)


derivatives(det, A=lambda grad, A, result: _det_gradient(grad, A, result))


@primitive(namespace=NAMESPACE, method=False, out=True, outputs=("sign", "logabsdet"), dims="mm->,")
def slogdet(xp: Namespace, A: Array) -> tuple[Array, Array]:
    """Return the sign of the determinant of a square matrix, and the logarithm of its absolute value.

    They are finite where the determinant itself would overflow. A has shape (..., n, n), both results (...). The sign
    of a complex determinant is a number on the unit circle. The logarithm for a singular matrix is minus infinity.

    >>> tl.linalg.slogdet(tl.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
    tensor(-1.)
    """
    check_square("linalg.slogdet", A)
    sign, logarithm = xp.linalg.slogdet(A)
    return sign, logarithm


def _slogdet_gradient(grads: list[Tensor], A: Tensor, sign: Tensor) -> Any:
    factor = grads[1]
    if is_complex(A):
        # The imaginary part of the logarithm is the phase of the sign.
        turned = (grads[0] * sign.conj()).imag
        factor = complex(factor, turned)
    return inv_ex(A)[0].mH * factor.unsqueeze(-1).unsqueeze(-1)


derivatives(slogdet, A=lambda grads, A, sign: _slogdet_gradient(grads, A, sign))

# ------------------------------------------------------------------------------------------------ in the main namespace


@composite(name="det", method=True, variant=("namesake", det))
def _det(input: Tensor) -> Tensor:
    """Return the determinant of a square matrix, or of each of a batch, as `linalg.det` does.

    >>> tl.det(tl.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return det(input)


@composite(name="slogdet", method=True, variant=("namesake", slogdet))
def _slogdet(input: Tensor) -> return_types.slogdet:
    """Return the sign and the logarithm of the absolute value of a determinant, as `linalg.slogdet` does.

    >>> tl.slogdet(tl.eye(2)).logabsdet
    tensor(0.)
    """
    return return_type("slogdet", ("sign", "logabsdet"))(slogdet(input))  # type: ignore[no-any-return]


@composite(method=True)
def logdet(input: Tensor) -> Tensor:
    """Return the logarithm of the determinant of a square matrix, or of each of a batch.

    For a negative determinant it is NaN, for one that is zero minus infinity; that of a complex one is complex.
    Composes `linalg.slogdet`.

    >>> tl.logdet(tl.eye(3))
    tensor(0.)
    """
    require_tensor("logdet", input)
    check_square("logdet", input._tl_data)
    sign, logarithm = slogdet(input)
    if is_complex(input):
        return sign.log() + logarithm  # type: ignore[no-any-return]
    return logarithm.masked_fill(sign == -1, np.nan)  # type: ignore[no-any-return]
