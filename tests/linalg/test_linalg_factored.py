"""Reflections, indefinite factors, low rank and iteration: what they multiply to, gradients, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import tensorlike as tl
from tensorlike.audit.samples import Make
from tensorlike.audit.samples.linalg.decompositions import hermitian
from tensorlike.audit.samples.linalg.factored import symmetric
from tests.helpers.values import array

DOUBLE = ("float64", "complex128")


def near(ours, expected):
    np.testing.assert_allclose(array(ours), array(expected), rtol=1e-9, atol=1e-9)


class TestReflections:
    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("shape", [(4, 4), (5, 3), (2, 5, 3)])
    def test_they_make_the_orthonormal_factor(self, shape, dtype):
        A = Make(dtype)(*shape)
        a, tau = tl.geqrf(A)
        Q = tl.linalg.householder_product(a, tau)
        R = a.triu()[..., : shape[-1], :]
        near(Q @ R, A)
        near(Q.mH @ Q, tl.eye(shape[-1]).expand(R.shape))
        near(tl.orgqr(a, tau), Q)
        near(tl.ormqr(a, tau, A, transpose=True)[..., : shape[-1], :], R)
        near(tl.ormqr(a, tau, tl.ormqr(a, tau, A, transpose=True)), A)
        near(tl.ormqr(a, tau, A.mH, left=False), tl.ormqr(a, tau, A, transpose=True).mH)

    def test_backward_says_that_there_is_none(self):
        with pytest.raises(NotImplementedError, match="derivative for 'geqrf' is not implemented"):
            tl.geqrf(tl.ones(2, 2, requires_grad=True)).a.sum().backward()

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda x, t: tl.linalg.householder_product(x.mT, t), "greater than or equal to input"),
            (lambda x, t: tl.linalg.householder_product(x, tl.ones(3)), "greater than or equal to tau"),
            (lambda x, t: tl.linalg.householder_product(x, t.double()), "tau dtype Double does not match"),
            (lambda x, t: tl.linalg.householder_product(x.expand(2, 3, 2), t), "one dimension less"),
            (lambda x, t: tl.linalg.householder_product(x.expand(2, 3, 2), t.expand(3, 2)), "batch dimensions of tau"),
            (lambda x, t: tl.ormqr(x, t, x.mT), r"other.shape\[-2\] must be equal"),
            (lambda x, t: tl.ormqr(x, t[:1], x), r"tau.shape\[-1\] must be equal"),
            (lambda x, t: tl.ormqr(x, t, x.double()), "same dtype"),
            (lambda x, t: tl.geqrf(t), "at least 2 dimensions"),
        ],
    )
    def test_what_is_refused(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call(tl.ones(3, 2), tl.ones(2))


class TestIndefinite:
    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("conjugate", [False, True])
    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_they_solve(self, size, conjugate, dtype):
        blocks = 0
        for seed in range(6):
            make = Make(dtype, seed=seed)
            A = (hermitian if conjugate else symmetric)(make, 2, size, size)
            # Small diagonals force blocks of size 2.
            A._tl_data[..., range(size), range(size)] *= 10.0 ** -(seed % 2 * 6)
            LD, pivots = tl.linalg.ldl_factor(A, hermitian=conjugate)
            B = make(2, size, 3)
            near(A @ tl.linalg.ldl_solve(LD, pivots, B, hermitian=conjugate), B)
            blocks += int((pivots < 0).sum())
        assert size < 3 or blocks

    def test_singular_ones(self):
        with pytest.raises(tl.linalg.LinAlgError, match="diagonal element 1 of D is zero"):
            tl.linalg.ldl_factor(tl.zeros(2, 2))
        with pytest.raises(tl.linalg.LinAlgError, match=r"Batch element 1.*diagonal element 1"):
            tl.linalg.ldl_factor_ex(tl.stack([tl.eye(2), tl.zeros(2, 2)]), check_errors=True)

    def test_backward_says_that_there_is_none(self):
        A = tl.eye(2, requires_grad=True)
        LD, pivots = tl.linalg.ldl_factor(A)
        with pytest.raises(RuntimeError, match="not implemented"):
            LD.sum().backward()
        with pytest.raises(RuntimeError, match="not implemented"):
            tl.linalg.ldl_solve(LD.detach(), pivots, A).sum().backward()

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda x, p: tl.linalg.ldl_solve(x, p.float(), x), RuntimeError, "pivots to be integers"),
            (lambda x, p: tl.linalg.ldl_solve(x, p[:1], x), RuntimeError, "pivots.shape to be the same"),
            (lambda x, p: tl.linalg.ldl_solve(x, p, x[:1]), RuntimeError, "Incompatible matrix sizes"),
            (lambda x, p: tl.linalg.ldl_solve(x, p, x.double()), RuntimeError, "same dtype"),
            (lambda x, p: tl.linalg.ldl_solve(x, p, x[0]), IndexError, "at least 2 dimensions"),
            (lambda x, p: tl.linalg.ldl_factor(x[:1]), RuntimeError, "square matrices"),
        ],
    )
    def test_what_is_refused(self, call, error, message):
        with pytest.raises(error, match=message):
            call(tl.eye(2), tl.tensor([1, 2], dtype=tl.int32))


class TestLowRank:
    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 6, 6)])
    def test_of_low_rank_matrices_it_is_all(self, shape, dtype):
        make = Make(dtype)
        A = make(*shape[:-1], 2) @ make(*shape[:-2], 2, shape[-1])
        U, S, V = tl.svd_lowrank(A, q=3)
        near((U * S.unsqueeze(-2)) @ V.mH, A)
        near(S[..., :2], tl.linalg.svdvals(A)[..., :2])
        near(U.mH @ U, tl.eye(3).expand((*shape[:-2], 3, 3)))
        M = make(*shape[:-2], 1, shape[-1])
        U, S, V = tl.svd_lowrank(A + M, q=4, M=M)
        near((U * S.unsqueeze(-2)) @ V.mH, A)

    def test_pca_finds_the_directions(self):
        A = Make("float64")(20, 1) @ tl.tensor([[3.0, 4.0, 0.0]], dtype=tl.float64) + 7
        U, S, V = tl.pca_lowrank(A, q=1)
        near(V.abs()[:, 0], tl.tensor([0.6, 0.8, 0.0], dtype=tl.float64))
        near((U * S) @ V.mH, A - A.mean(0))
        assert tl.pca_lowrank(A)[1].shape == (3,)

    def test_gradients_flow(self):
        A = Make("float64")(5, 3).requires_grad_()
        tl.svd_lowrank(A, q=3)[1].sum().backward()
        expected = A.detach().requires_grad_()
        tl.linalg.svdvals(expected).sum().backward()
        near(A.grad, expected.grad)

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda x: tl.pca_lowrank(x, 3), ValueError, "not greater than min"),
            (lambda x: tl.pca_lowrank(x, 1, niter=-1), ValueError, "must be non-negative integer"),
            (lambda x: tl.svd_lowrank(x, -1), RuntimeError, "must not be negative"),
            (lambda x: tl.svd_lowrank(x[0]), ValueError, "at least 2 dimensions"),
            (lambda x: tl.svd_lowrank(x.int()), RuntimeError, "floating-point or complex"),
        ],
    )
    def test_what_is_refused(self, call, error, message):
        with pytest.raises(error, match=message):
            call(tl.ones(3, 2))


class TestIteration:
    @pytest.mark.parametrize("size", [9, 40])
    @pytest.mark.parametrize("largest", [True, False])
    @pytest.mark.parametrize("general", [True, False])
    def test_the_outer_eigenvalues(self, size, largest, general):
        make = Make("float64")
        A = hermitian(make, size, size)
        B = hermitian(make, size, size, positive=True) + tl.eye(size) if general else None
        values, vectors = tl.lobpcg(A, 2, B, largest=largest, tol=1e-10)
        expected = scipy.linalg.eigh(array(A), None if B is None else array(B), eigvals_only=True)
        near(values, tl.tensor(expected[::-1][:2].copy() if largest else expected[:2]))
        right = vectors if B is None else B @ vectors
        np.testing.assert_allclose(array(A @ vectors), array(right * values), atol=1e-5)

    @pytest.mark.parametrize("general", [True, False])
    def test_gradients(self, general):
        make = Make("float64")
        A = hermitian(make, 9, 9).detach()
        B = hermitian(make, 9, 9, positive=True).detach() + tl.eye(9) if general else None
        weight, direction = make(9, 2), make(9, 9)
        direction = direction + direction.mT

        def loss(matrix):
            values, vectors = tl.lobpcg(matrix, 2, B)
            return (vectors.square() * weight).sum() + values.sum()

        live = A.clone().requires_grad_()
        loss(live).backward()
        step = 1e-5
        numeric = (loss(A + step * direction) - loss(A - step * direction)) / (2 * step)
        assert tl.allclose((live.grad * direction).sum(), numeric, rtol=1e-5)
        with pytest.raises(ValueError, match="does not support B that requires grad"):
            tl.lobpcg(A, 1, tl.eye(9, dtype=tl.float64, requires_grad=True))[0].sum().backward()

    @pytest.mark.parametrize(
        "call, error, message",
        [
            (lambda x: tl.lobpcg(x, 4), ValueError, "not applicable"),
            (lambda x: tl.lobpcg(x, 0), RuntimeError, "must be positive"),
            (lambda x: tl.lobpcg(x[:3], 1), AssertionError, "must be square"),
            (lambda x: tl.lobpcg(x + 0j, 1), RuntimeError, "float32 or float64"),
            (lambda x: tl.lobpcg(x, 1, X=tl.ones(3, 1)), RuntimeError, "as many rows as A"),
            (lambda x: tl.lobpcg(x, 1, tracker=print), NotImplementedError, "tracker"),
        ],
    )
    def test_what_is_refused(self, call, error, message):
        with pytest.raises(error, match=message):
            call(tl.eye(9))
