"""Linear algebra beyond the samples: what no sign or phase changes, gradients of Hermitian matrices, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import Make
from tensorlike.audit.samples.linalg.decompositions import hermitian, spread, well_conditioned
from tests.helpers.gradients import check_gradients
from tests.helpers.messages import bare
from tests.helpers.values import array, wrapped

DTYPES = ("float32", "float64", "complex64", "complex128")
DOUBLE = ("float64", "complex128")


def near(ours, expected, dtype):
    tolerance = 1e-10 if dtype in DOUBLE else 1e-3
    values = [array(value) if isinstance(value, tl.Tensor) else value for value in (ours, expected)]
    np.testing.assert_allclose(*values, rtol=tolerance, atol=tolerance)


class TestDecompositionsMultiplyToTheMatrix:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (2, 0, 0)])
    def test_svd(self, shape, dtype):
        A = Make(dtype)(*shape)
        U, S, Vh = tl.linalg.svd(A, full_matrices=False)
        near((U * S.unsqueeze(-2)) @ Vh, A, dtype)
        assert S._tl_data.dtype == A._tl_data.real.dtype
        assert bool((S[..., :-1] >= S[..., 1:]).all())
        near(tl.linalg.svdvals(A), S, dtype)
        full_U, full_S, full_Vh = tl.linalg.svd(A)
        near(full_U.mH @ full_U, tl.eye(shape[-2]).expand(full_U.shape), dtype)
        near(full_Vh @ full_Vh.mH, tl.eye(shape[-1]).expand(full_Vh.shape), dtype)
        old = tl.svd(A)
        near((old.U * old.S.unsqueeze(-2)) @ old.V.mH, A, dtype)
        assert tl.svd(A, some=False).U.shape == full_U.shape

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(3, 3), (2, 2, 2), (0, 0)])
    def test_eigh_and_eig(self, shape, dtype):
        make = Make(dtype)
        A = hermitian(make, *shape)
        values, vectors = tl.linalg.eigh(A)
        near((vectors * values.unsqueeze(-2)) @ vectors.mH, A, dtype)
        near(tl.linalg.eigvalsh(A), values, dtype)
        B = spread(make, *shape)
        values, vectors = tl.linalg.eig(B)
        near(B.to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), dtype)
        near(array(tl.linalg.eigvals(B)).sum(-1), array(values).sum(-1), dtype)

    @pytest.mark.parametrize("uplo", ["L", "U", "u"])
    def test_eigh_reads_one_triangle(self, uplo):
        A = hermitian(Make(), 3, 3)
        spoilt = A.clone()
        other = (0, 2) if uplo == "L" else (2, 0)
        spoilt[other] = 1e3
        near(tl.linalg.eigvalsh(spoilt, uplo), tl.linalg.eigvalsh(A), "float64")
        near(tl.linalg.cholesky(hermitian(Make(), 2, 2, positive=True).tril()), np.linalg.cholesky(
            array(hermitian(Make(), 2, 2, positive=True))), "float64")  # fmt: skip

    @pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (3, 0)])
    def test_lu(self, shape):
        A = Make()(*shape)
        P, L, U = tl.linalg.lu(A)
        near(P @ L @ U, A, "float64")
        P, L, U = tl.lu_unpack(*tl.linalg.lu_factor_ex(A)[:2])
        near(P @ L @ U, A, "float64")


class TestGradientsThatDoNotDependOnSigns:
    """Functions that no sign, phase or order of the vectors changes."""

    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
    def test_svd(self, shape, dtype):
        A = spread(Make(dtype), *shape)

        def function(x):
            U, S, Vh = tl.linalg.svd(x, full_matrices=False)
            # A rotation of U alone would change this, one of U and Vh together does not.
            return (U * S.square().unsqueeze(-2)) @ Vh, U.abs(), Vh.abs() * S.unsqueeze(-1)

        check_gradients(function, [A], second=True)

    @pytest.mark.parametrize("dtype", DOUBLE)
    def test_svd_of_full_matrices(self, dtype):
        A = spread(Make(dtype), 4, 2)
        check_gradients(lambda x: tl.linalg.svd(x)[0][..., :2].abs(), [A], second=True)

    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("uplo", ["L", "U"])
    def test_eigh(self, dtype, uplo):
        A = hermitian(Make(dtype), 2, 3, 3)

        def function(x):
            values, vectors = tl.linalg.eigh((x + x.mH) / 2, uplo)
            return values, vectors.abs(), tl.linalg.eigvalsh((x + x.mH) / 2, uplo)

        check_gradients(function, [A], second=True)

    @pytest.mark.parametrize("dtype", DOUBLE)
    def test_eig(self, dtype):
        A = spread(Make(dtype), 2, 3, 3)

        def function(x):
            values, vectors = tl.linalg.eig(x)
            return values, vectors.abs(), tl.linalg.eigvals(x)

        check_gradients(function, [A], second=True)

    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("upper", [False, True])
    def test_cholesky(self, dtype, upper):
        A = hermitian(Make(dtype), 2, 3, 3, positive=True)

        def function(x):
            whole = (x + x.mH) / 2
            return (
                tl.linalg.cholesky(whole, upper=upper),
                tl.linalg.cholesky_ex(whole, upper=upper).L,
                tl.cholesky(whole, upper),
            )

        check_gradients(function, [A], second=True)

    @pytest.mark.parametrize("dtype", DOUBLE)
    @pytest.mark.parametrize("upper", [False, True])
    def test_solutions_from_a_cholesky_factor(self, dtype, upper):
        make = Make(dtype)
        cut = tl.triu if upper else tl.tril
        check_gradients(
            # The gradient of a factor is not cut to the triangle that is read: cut here, it is that of the values.
            lambda L, B: (tl.cholesky_solve(B, cut(L), upper), tl.cholesky_inverse(cut(L), upper)),
            [well_conditioned(make, 3, 3), make(3, 2)],
            second=True,
        )

    def test_pinv_of_hermitian_matrices(self):
        A = hermitian(Make("complex128"), 3, 3)
        check_gradients(lambda x: tl.linalg.pinv((x + x.mH) / 2, hermitian=True), [A], second=True)
        near(tl.linalg.pinv(A, hermitian=True), tl.linalg.pinv(A), "complex128")

    @pytest.mark.parametrize("driver", ["gels", "gelsd", "gelss", "gelsy"])
    def test_lstsq(self, driver):
        make = Make()
        A, B = spread(make, 2, 4, 2), make(2, 4, 3)

        def function(a, b):
            found = tl.linalg.lstsq(a, b, driver=driver)
            return found.solution, found.residuals

        check_gradients(function, [A, B], second=True)


class TestSingularMatrices:
    @pytest.mark.parametrize("dtype", DOUBLE)
    def test_the_determinant_has_derivatives(self, dtype):
        A = Make(dtype)(3, 3)
        A._tl_data[2] = 0
        assert array(tl.linalg.det(A)) == 0
        check_gradients(tl.linalg.det, [A], second=dtype == "float64")

    def test_the_gradient_of_a_determinant_of_rank_zero_is_zero(self):
        x = tl.zeros(3, 3, requires_grad=True)
        (found,) = tl.autograd.grad(tl.linalg.det(x), x)
        assert not array(found).any()

    def test_the_sign_of_a_complex_determinant_has_derivatives(self):
        check_gradients(tl.linalg.slogdet, [well_conditioned(Make("complex128"), 2, 2, 2)], second=True)

    def test_logarithm_of_the_determinant(self):
        singular = tl.tensor([[1.0, 2.0], [2.0, 4.0]])
        assert array(tl.linalg.slogdet(singular).logabsdet) == -np.inf
        assert array(tl.logdet(singular)) == -np.inf
        assert np.isnan(array(tl.logdet(tl.diag(tl.tensor([1.0, -1.0])))))

    def test_repeated_singular_values_have_gradients_of_values(self):
        x = tl.eye(3, dtype=tl.float64).requires_grad_()
        (found,) = tl.autograd.grad(tl.linalg.svd(x).S.sum(), x)
        near(found, np.eye(3), "float64")
        (found,) = tl.autograd.grad(tl.linalg.eigh(x).eigenvalues.sum(), x)
        near(found, np.eye(3), "float64")

    def test_an_inverse_that_does_not_exist_is_reported(self):
        batch = tl.stack([tl.eye(2), tl.tensor([[1.0, 2.0], [2.0, 4.0]])])
        found = tl.linalg.inv_ex(batch)
        assert array(found.info).tolist() == [0, 2]
        near(found.inverse[0], np.eye(2), "float32")
        assert np.isinf(array(found.inverse[1])).all()
        assert array(tl.linalg.cond(batch, 1)).tolist() == [1, np.inf]
        with pytest.raises(tl.linalg.LinAlgError, match=r"linalg.inv_ex: \(Batch element 1\): The diagonal element 2"):
            tl.linalg.inv_ex(batch, check_errors=True)

    def test_a_factor_that_does_not_exist_is_reported(self):
        batch = tl.stack([tl.eye(3), tl.diag(tl.tensor([4.0, -1.0, 1.0]))])
        found = tl.linalg.cholesky_ex(batch)
        assert array(found.info).tolist() == [0, 2]
        near(found.L[0], np.eye(3), "float32")
        near(found.L[1], np.diag([2.0, 0, 0]), "float32")

    def test_triangular_systems_divide_by_zero(self):
        found = tl.linalg.solve_triangular(tl.zeros(2, 2), tl.ones(2, 1), upper=True)
        assert np.isnan(array(found)[0, 0])
        assert np.isinf(array(found)[1, 0])


class TestErrors:
    SINGULAR = (
        "The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular."
    )

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda s: tl.linalg.inv(s), f"linalg.inv: {SINGULAR}"),
            (lambda s: tl.inverse(s), f"linalg.inv: {SINGULAR}"),
            (lambda s: tl.matrix_power(s, -1), f"linalg.inv: {SINGULAR}"),
            (lambda s: tl.linalg.inv(tl.stack([tl.eye(2), s])), f"linalg.inv: (Batch element 1): {SINGULAR}"),
            (lambda s: tl.linalg.solve(s, tl.ones(2)),
             "torch.linalg.solve: The solver failed because the input matrix is singular."),
            (lambda s: tl.linalg.cholesky(-s),
             "linalg.cholesky: The factorization could not be completed because the input is not positive-definite "
             "(the leading minor of order 1 is not positive-definite)."),
            (lambda s: tl.cholesky(tl.stack([tl.eye(2), s - 5 * tl.eye(2).triu()])),
             "cholesky: (Batch element 1): The factorization could not be completed because the input is not "
             "positive-definite (the leading minor of order 1 is not positive-definite)."),
            (lambda s: tl.linalg.svd(s * np.nan),
             "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."),
            (lambda s: tl.linalg.cholesky(s * np.nan),
             "linalg.cholesky: The factorization could not be completed because the input is not positive-definite "
             "(the leading minor of order 1 is not positive-definite)."),
        ],
    )  # fmt: skip
    def test_numbers_at_fault(self, call, message):
        with pytest.raises(tl.linalg.LinAlgError) as caught:
            call(tl.tensor([[1.0, 2.0], [2.0, 4.0]]))
        assert bare(caught.value) == message
        assert isinstance(caught.value, RuntimeError)

    @pytest.mark.parametrize(
        "function", ["inv", "det", "slogdet", "cholesky", "eig", "eigvals", "eigh", "eigvalsh", "matrix_exp"]
    )
    def test_square_matrices_of_numbers_with_fractions_only(self, function):
        called = getattr(tl.linalg, function)
        with pytest.raises(RuntimeError, match="must be batches of square matrices, but they are 2 by 3 matrices"):
            called(tl.ones(2, 3))
        with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
            called(tl.ones(3))
        with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor as input. Got Long"):
            called(tl.ones(2, 2, dtype=tl.int64))

    def test_phases_must_not_matter(self):
        A = spread(Make("complex128"), 3, 3).requires_grad_()
        for results in (tl.linalg.svd(A)[0], tl.linalg.eigh(A)[1], tl.linalg.eig(A)[1]):
            with pytest.raises(RuntimeError, match="up to multiplication by e"):
                tl.autograd.grad(results.sum().real, A)

    def test_qr_without_q_has_no_derivative(self):
        A = tl.ones(3, 2, requires_grad=True)
        with pytest.raises(RuntimeError, match="mode='r'"):
            tl.autograd.grad(tl.linalg.qr(A, "r").R.sum(), A)
        with pytest.raises(RuntimeError, match="mode='complete' and nrows > ncols"):
            tl.autograd.grad(tl.linalg.qr(A, "complete").R.sum(), A)

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda: tl.linalg.qr(tl.ones(2, 2), "x"), "unrecognized mode 'x'"),
            (lambda: tl.linalg.eigh(tl.ones(2, 2), "X"), "Expected UPLO argument to be 'L' or 'U', but got X"),
            (lambda: tl.linalg.svd(tl.ones(2, 2), driver="gesvd"), "only supported on CUDA"),
            (lambda: tl.linalg.lu(tl.ones(2, 2), pivot=False), "LU without pivoting is not implemented on the CPU"),
            (lambda: tl.linalg.lu_factor(tl.zeros(2, 2)), r"U\[1,1\] is zero"),
            (lambda: tl.linalg.eig(tl.ones(2, 2) * np.inf), "should not contain infs or NaNs"),
            (lambda: tl.linalg.solve(tl.eye(2), tl.ones(3, 2)), r"the equation AX = B \(2x2 and 3x2\)"),
            (lambda: tl.linalg.solve(tl.eye(2), tl.ones(2, 2).double()), "to have the same dtype"),
            (lambda: tl.linalg.solve(tl.eye(2).expand(3, 2, 2), tl.ones(4, 2, 1)), "must match the size of tensor b"),
            (lambda: tl.linalg.lstsq(tl.ones(3, 2), tl.ones(4, 1)), r"input.size\(-2\) should match"),
            (lambda: tl.linalg.lstsq(tl.ones(3, 2), tl.ones(3, 1), driver="x"), "parameter `driver` should be one of"),
            (lambda: tl.linalg.norm(tl.ones(2, 2, 2), 2), "the input must be 1D or 2D. Got 3D"),
            (lambda: tl.linalg.matrix_norm(tl.ones(2, 2), 3), "Order 3 not supported"),
            (lambda: tl.linalg.cond(tl.ones(2, 2), 3), "invalid norm type: 3"),
            (lambda: tl.linalg.multi_dot([tl.ones(2)]), "expected at least 2 tensors but got 1"),
            (lambda: tl.linalg.multi_dot([tl.ones(2, 2), tl.ones(3, 2)]), "cannot be multiplied"),
            (lambda: tl.linalg.tensorinv(tl.ones(2, 3, 4)), "but got 4 != 6"),
            (lambda: tl.linalg.tensorsolve(tl.ones(2, 3, 4), tl.ones(2)), "but got 12 != 2"),
            (lambda: tl.linalg.vander(tl.ones(2), N=1), "N must be greater than 1"),
        ],
    )
    def test_arguments_at_fault(self, call, message):
        with pytest.raises(RuntimeError, match=message):
            call()


class TestLargeProblems:
    def test_triangular_systems_one_by_one_and_together(self):
        make = Make()
        A, B = well_conditioned(make, 50, 4, 4), make(50, 4, 3)
        for upper in (True, False):
            together = tl.linalg.solve_triangular(A, B, upper=upper)
            one_by_one = tl.stack([tl.linalg.solve_triangular(a, b, upper=upper) for a, b in zip(A, B)])
            near(together, one_by_one, "float64")

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_a_hundred_rows(self, dtype):
        A = well_conditioned(Make(dtype), 100, 100)
        near(A @ tl.linalg.inv(A), np.eye(100), dtype)
        Q, R = tl.linalg.qr(A)
        near(Q @ R, A, dtype)
        assert array(tl.linalg.matrix_rank(A)) == 100
        b = Make(dtype)(100)
        near(A @ tl.linalg.solve(A, b), b, dtype)
        near(A @ tl.linalg.lu_solve(*tl.linalg.lu_factor(A), b.unsqueeze(-1)), b.unsqueeze(-1), dtype)
        near(A @ tl.linalg.lstsq(A, b).solution, b, dtype)

    def test_the_multiplicity_of_names(self):
        A = wrapped(np.array([[2.0, 1.0], [1.0, 3.0]]))
        near(tl.det(A), tl.linalg.det(A), "float64")
        near(A.det(), 5.0, "float64")
        near(A.inverse() @ A, np.eye(2), "float64")
        near(A.slogdet().logabsdet, A.logdet(), "float64")
        near(tl.pinverse(A), A.inverse(), "float64")
        assert tl.linalg.svd(A).__match_args__ == ("U", "S", "Vh")
        assert tl.svd(A).__match_args__ == ("U", "S", "V")
        assert type(tl.linalg.svd(A)).__name__ == "linalg_svd"
        assert type(tl.svd(A)).__name__ == "svd"
