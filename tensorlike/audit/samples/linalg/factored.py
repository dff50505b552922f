"""Samples of Householder reflections, LDL factors, and iterative and randomised decompositions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorlike.operations.linalg.indefinite import ldl_factor

from ..sample import Make, SampleInput, samples
from .decompositions import INEXACT, hermitian, spread

_NO_DERIVATIVE = "There is no derivative, as in PyTorch: backward says so."


def symmetric(make: Make, *shape: int) -> Any:
    """Return symmetric matrices, complex ones included, of eigenvalues of either sign."""
    tensor = spread(make, *shape, requires_grad=False)
    array = tensor._tl_data
    array[...] = (array + np.swapaxes(array, -1, -2)) / 2
    array[..., :1, :1] -= 3
    return tensor


@samples("tensorlike.geqrf", dtypes=INEXACT, gradcheck=False, reason=_NO_DERIVATIVE)
def _geqrf(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3, requires_grad=False))
    yield SampleInput(make(4, 2, requires_grad=False))
    yield SampleInput(make(2, 2, 4, requires_grad=False))
    yield SampleInput(make(0, 3, requires_grad=False))
    yield SampleInput(make(2, 3, 0, requires_grad=False))


@samples("tensorlike.linalg.householder_product", "tensorlike.orgqr", dtypes=INEXACT)
def _householder_product(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3, low=-1, high=1), make(3, low=-1, high=1))
    yield SampleInput(make(4, 2, low=-1, high=1), make(2, low=-1, high=1))
    yield SampleInput(make(2, 4, 3, low=-1, high=1), make(2, 2, low=-1, high=1), name="columns without a reflection")
    yield SampleInput(make(0, 0), make(0))
    yield SampleInput(make(3, 0), make(0))
    yield SampleInput(make(0, 3, 2), make(0, 2))


@samples("tensorlike.ormqr", dtypes=INEXACT)
def _ormqr(make: Make) -> Iterator[SampleInput]:
    a, tau = make(4, 2, low=-1, high=1), make(2, low=-1, high=1)
    yield SampleInput(a, tau, make(4, 3))
    yield SampleInput(a, tau, make(4, 3), True, True)
    yield SampleInput(a, tau, make(3, 4), left=False)
    yield SampleInput(a, tau, make(3, 4), left=False, transpose=True)
    yield SampleInput(make(2, 3, 3, low=-1, high=1), make(2, 3, low=-1, high=1), make(2, 3, 1))
    yield SampleInput(make(2, 3, low=-1, high=1), make(2, low=-1, high=1), make(2, 2), name="more columns than rows")
    yield SampleInput(make(0, 0), make(0), make(0, 2))


@samples("tensorlike.linalg.ldl_factor_ex", dtypes=INEXACT, gradcheck=False, reason=_NO_DERIVATIVE)
def _ldl_factor_ex(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(symmetric(make, 3, 3))
    yield SampleInput(hermitian(make, 2, 3, 3).detach(), hermitian=True, check_errors=True)
    yield SampleInput(make(2, 2, requires_grad=False) * 0, name="singular")
    yield SampleInput(make(0, 0, requires_grad=False))


@samples("tensorlike.linalg.ldl_factor", dtypes=INEXACT, gradcheck=False, reason=_NO_DERIVATIVE)
def _ldl_factor(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(symmetric(make, 3, 3))
    yield SampleInput(hermitian(make, 2, 4, 4).detach(), hermitian=True)
    yield SampleInput(symmetric(make, 1, 1), hermitian=False)
    yield SampleInput(make(0, 0, requires_grad=False))
    yield SampleInput(make(2, 0, 0, requires_grad=False))


@samples("tensorlike.linalg.ldl_solve", dtypes=INEXACT, gradcheck=False, reason=_NO_DERIVATIVE)
def _ldl_solve(make: Make) -> Iterator[SampleInput]:
    for shape in ((3, 3), (2, 4, 4)):
        LD, pivots = ldl_factor(symmetric(make, *shape))
        yield SampleInput(LD, pivots, make(*shape[:-1], 2, requires_grad=False))
    LD, pivots = ldl_factor(hermitian(make, 3, 3).detach(), hermitian=True)
    yield SampleInput(LD, pivots, make(2, 3, 1, requires_grad=False), hermitian=True)
    yield SampleInput(make(0, 0, requires_grad=False), make.integers(0, dtype="int32"), make(0, 2, requires_grad=False))


_CHANCE = "The result depends on random numbers; tests/linalg/test_linalg_factored.py checks what it multiplies to."


@samples("tensorlike.svd_lowrank", dtypes=INEXACT, gradcheck=False, deterministic=False, reason=_CHANCE)
def _svd_lowrank(make: Make) -> Iterator[SampleInput]:
    # The vectors of complex matrices have an arbitrary phase, which no gradient may depend on.
    real = make.requires_grad and make.dtype.kind != "c"
    yield SampleInput(spread(make, 4, 3, requires_grad=real), 2)
    yield SampleInput(spread(make, 2, 3, 4, requires_grad=real), q=3, niter=1)
    yield SampleInput(spread(make, 4, 3, requires_grad=real), 2, 2, make(1, 3, requires_grad=real))


@samples("tensorlike.pca_lowrank", dtypes=INEXACT, gradcheck=False, deterministic=False, reason=_CHANCE)
def _pca_lowrank(make: Make) -> Iterator[SampleInput]:
    real = make.requires_grad and make.dtype.kind != "c"
    yield SampleInput(spread(make, 4, 3, requires_grad=real))
    yield SampleInput(spread(make, 2, 3, 4, requires_grad=real), q=2, center=False, niter=1)


@samples("tensorlike.lobpcg", gradcheck=False, deterministic=False, tolerance=1e-3, reason=_CHANCE)
def _lobpcg(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(hermitian(make, 9, 9), 2)
    yield SampleInput(hermitian(make, 12, 12, positive=True), k=1, largest=False)
    if make.dtype.kind == "f":
        yield SampleInput(hermitian(make, 2, 9, 9), X=make(2, 9, 2, requires_grad=False))
    A, B = hermitian(make, 9, 9).detach(), hermitian(make, 9, 9, positive=True).detach()
    yield SampleInput(A, 1, B, n=2, iK=B.inverse(), niter=50, tol=1e-3, method="basic")
    yield SampleInput(A, 1, ortho_iparams={}, ortho_fparams={}, ortho_bparams={})


@samples("tensorlike.frobenius_norm", dtypes=INEXACT)
def _frobenius_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(2, 3, 2), (0, 2), True)
    yield SampleInput(make(2, 3), (), keepdim=False)
    yield SampleInput(make(0, 3), 0)


@samples("tensorlike.nuclear_norm", dtypes=INEXACT)
def _nuclear_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(spread(make, 3, 2))
    yield SampleInput(spread(make, 2, 3, 2), (1, 2), True)
    yield SampleInput(spread(make, 2, 3), True, name="keepdim in the place of dim")
    yield SampleInput(spread(make, 2, 3), dim=(-1, 0))
