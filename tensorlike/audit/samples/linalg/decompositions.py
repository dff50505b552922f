"""Samples of decompositions: QR, Cholesky, LU, singular values, eigenvalues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples

INEXACT = (*FLOATING, *COMPLEX)


def well_conditioned(make: Make, *shape: int, requires_grad: bool | None = None) -> Any:
    """Return square matrices that are far from singular: of elements up to one, and more on the diagonal."""
    tensor = make(*shape, low=-1, high=1, requires_grad=False)
    places = range(shape[-1])
    tensor._tl_data[..., places, places] += shape[-1]
    wanted = make.requires_grad if requires_grad is None else requires_grad
    return tensor.requires_grad_() if wanted and make.dtype.kind in "fc" else tensor


def spread(make: Make, *shape: int, requires_grad: bool | None = None) -> Any:
    """Return matrices with well separated singular values and eigenvalues."""
    tensor = make(*shape, low=-0.5, high=0.5, requires_grad=False)
    places = range(min(shape[-2:]))
    tensor._tl_data[..., places, places] += [2.0 * (place + 1) for place in places]
    wanted = make.requires_grad if requires_grad is None else requires_grad
    return tensor.requires_grad_() if wanted and make.dtype.kind in "fc" else tensor


def hermitian(make: Make, *shape: int, positive: bool = False) -> Any:
    """Return Hermitian matrices with well separated eigenvalues, all positive if asked for."""
    tensor = spread(make, *shape, requires_grad=False)
    array = tensor._tl_data
    array[...] = (array + np.swapaxes(array, -1, -2).conj()) / 2
    if not positive:
        array[..., :1, :1] -= 3
    return tensor.requires_grad_() if make.requires_grad and make.dtype.kind in "fc" else tensor


@samples("tensorlike.linalg.qr", dtypes=INEXACT)
def _qr(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3))
    yield SampleInput(spread(make, 4, 2))
    yield SampleInput(spread(make, 2, 4))
    yield SampleInput(spread(make, 2, 3, 2), "reduced")
    yield SampleInput(spread(make, 2, 3), mode="complete")
    yield SampleInput(spread(make, 3, 2, requires_grad=False), mode="complete")
    yield SampleInput(spread(make, 3, 2, requires_grad=False), mode="r")
    yield SampleInput(make(0, 3), name="no rows")
    yield SampleInput(make(3, 0), name="no columns")
    yield SampleInput(make(0, 3, 2), name="no matrices")


@samples("tensorlike.qr", dtypes=INEXACT)
def _old_qr(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 2))
    yield SampleInput(spread(make, 2, 3), some=False)


_ONE_TRIANGLE = "One triangle is read, and the gradient is that of a Hermitian matrix; tests/linalg checks it."


@samples("tensorlike.linalg.cholesky", dtypes=INEXACT, gradcheck=False, gradgradcheck=True, reason=_ONE_TRIANGLE)
def _cholesky(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(hermitian(make, 3, 3, positive=True))
    yield SampleInput(hermitian(make, 2, 2, 2, positive=True), upper=True)
    yield SampleInput(hermitian(make, 1, 1, positive=True), upper=False)
    yield SampleInput(make(0, 0))
    yield SampleInput(make(2, 0, 0))


@samples("tensorlike.linalg.cholesky_ex", dtypes=INEXACT, gradcheck=False, gradgradcheck=True, reason=_ONE_TRIANGLE)
def _cholesky_ex(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(hermitian(make, 3, 3, positive=True))
    yield SampleInput(hermitian(make, 2, 2, 2, positive=True), upper=True, check_errors=True)
    yield SampleInput(make(2, 0, 0))


@samples("tensorlike.cholesky", dtypes=INEXACT, gradcheck=False, gradgradcheck=True, reason=_ONE_TRIANGLE)
def _old_cholesky(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(hermitian(make, 3, 3, positive=True))
    yield SampleInput(hermitian(make, 2, 2, 2, positive=True), True)


def factor(make: Make, *shape: int, requires_grad: bool = False) -> Any:
    """Return Cholesky factors, lower triangular ones."""
    tensor = well_conditioned(make, *shape, requires_grad=False)
    array = np.tril(tensor._tl_data)
    places = range(shape[-1])
    array[..., places, places] = array[..., places, places].real
    tensor._tl_data[...] = array
    return tensor.requires_grad_(requires_grad)


# Of the factor only a triangle is read; PyTorch's gradient is that of a product of dense matrices.
@samples("tensorlike.cholesky_solve", dtypes=INEXACT)
def _cholesky_solve(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 2), factor(make, 3, 3))
    yield SampleInput(make(3, 2), factor(make, 3, 3).mH.contiguous(), True)
    yield SampleInput(make(2, 3, 1), factor(make, 2, 3, 3), upper=False)


@samples(
    "tensorlike.cholesky_inverse", dtypes=INEXACT, gradcheck=False,
    reason="One triangle of the factor is read, and the gradient is that of a product of dense matrices; tests/linalg "
    "checks it through tril.",
)  # fmt: skip
def _cholesky_inverse(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(factor(make, 3, 3, requires_grad=make.requires_grad))
    yield SampleInput(factor(make, 2, 2, 2).mH.contiguous(), upper=True)


_SIGNS = "Signs, or phases, of the vectors are arbitrary; tests/linalg compares what does not depend on them."


@samples("tensorlike.linalg.svd", dtypes=INEXACT, reference=np.linalg.svd, deterministic=False, reason=_SIGNS)
def _svd(make: Make) -> Iterator[SampleInput]:
    # A gradient must not depend on the phases of complex vectors, and a test's does.
    differentiable = make.dtype.kind == "f"
    wanted = make.requires_grad and differentiable
    yield SampleInput(spread(make, 3, 3, requires_grad=wanted))
    yield SampleInput(spread(make, 4, 2, requires_grad=wanted), full_matrices=False)
    yield SampleInput(spread(make, 2, 4, requires_grad=wanted), False)
    yield SampleInput(spread(make, 2, 3, 3, requires_grad=wanted))
    yield SampleInput(spread(make, 3, 2, requires_grad=False))
    yield SampleInput(make(0, 3, requires_grad=False))
    yield SampleInput(make(2, 3, 0, requires_grad=False), full_matrices=False)


@samples("tensorlike.svd", dtypes=INEXACT, deterministic=False, reason=_SIGNS)
def _old_svd(make: Make) -> Iterator[SampleInput]:
    wanted = make.requires_grad and make.dtype.kind == "f"
    yield SampleInput(spread(make, 3, 2, requires_grad=wanted))
    yield SampleInput(spread(make, 3, 2, requires_grad=False), some=False)
    yield SampleInput(spread(make, 2, 3), compute_uv=False)


@samples("tensorlike.linalg.svdvals", dtypes=INEXACT)
def _svdvals(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3))
    yield SampleInput(spread(make, 4, 2))
    yield SampleInput(spread(make, 2, 2, 3))
    yield SampleInput(make(0, 3))


@samples("tensorlike.linalg.eigh", dtypes=INEXACT, gradcheck=False, deterministic=False, reason=_SIGNS + _ONE_TRIANGLE)
def _eigh(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(hermitian(make, 3, 3))
    yield SampleInput(hermitian(make, 2, 2, 2), "U")
    yield SampleInput(make(0, 0), UPLO="L")


@samples("tensorlike.linalg.eigvalsh", dtypes=INEXACT, gradcheck=False, gradgradcheck=True, reason=_ONE_TRIANGLE)
def _eigvalsh(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(hermitian(make, 3, 3))
    yield SampleInput(hermitian(make, 2, 2, 2), "U")
    yield SampleInput(make(2, 0, 0), UPLO="L")


@samples("tensorlike.linalg.eig", dtypes=INEXACT, gradcheck=False, deterministic=False, reason=_SIGNS)
def _eig(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3, requires_grad=False))
    yield SampleInput(spread(make, 2, 2, 2, requires_grad=False))
    yield SampleInput(make(0, 0))


@samples("tensorlike.linalg.eigvals", dtypes=INEXACT, deterministic=False,
         reason="The order is arbitrary; tests/linalg/test_linalg.py compares the eigenvalues sorted.")  # fmt: skip
def _eigvals(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 3))
    yield SampleInput(spread(make, 2, 2, 2))
    yield SampleInput(make(2, 0, 0))


@samples("tensorlike.linalg.lu_factor", "tensorlike.linalg.lu", dtypes=INEXACT)
def _lu(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3))
    yield SampleInput(spread(make, 4, 2), pivot=True)
    yield SampleInput(spread(make, 2, 4))
    yield SampleInput(make(2, 3, 3, low=-1, high=1))
    yield SampleInput(make(0, 3))


@samples("tensorlike.linalg.lu_factor_ex", dtypes=INEXACT)
def _lu_factor_ex(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3), check_errors=True)
    yield SampleInput(spread(make, 2, 2, 4))


@samples("tensorlike.lu", dtypes=INEXACT)
def _old_lu(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(well_conditioned(make, 3, 3))
    yield SampleInput(spread(make, 2, 2, 4), get_infos=True)


def _pivots(make: Make, *batch: int) -> Any:
    """Return exchanges of three rows as `lu_factor` gives them."""
    tensor = make.integers(*batch, 3, low=0, high=1, dtype="int32")
    tensor._tl_data[...] = [2, 3, 3]
    return tensor


@samples("tensorlike.linalg.lu_solve", dtypes=INEXACT)
def _lu_solve(make: Make) -> Iterator[SampleInput]:
    for left in (True, False):
        for adjoint in (True, False):
            right = make(3, 2) if left else make(2, 3)
            yield SampleInput(well_conditioned(make, 3, 3), _pivots(make), right, left=left, adjoint=adjoint)
    yield SampleInput(well_conditioned(make, 2, 3, 3), _pivots(make, 2), make(2, 3, 1))


@samples("tensorlike.lu_solve", dtypes=INEXACT)
def _old_lu_solve(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 2), well_conditioned(make, 3, 3), _pivots(make))


@samples("tensorlike.lu_unpack", dtypes=INEXACT)
def _lu_unpack(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3), _pivots(make))
    yield SampleInput(make(2, 3, 4), _pivots(make, 2))
    yield SampleInput(make(3, 3), _pivots(make), unpack_pivots=False)
    yield SampleInput(make(3, 3), _pivots(make), False)
