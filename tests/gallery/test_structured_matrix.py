"""Structured matrices: the results of the whole matrices, without ever making them."""

import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.structured_matrix import DiagonalMatrix, KroneckerMatrix
from tensorlike.testing import TensorLikeSuite


class TestDiagonalSuite(TensorLikeSuite):
    functions = ("matmul", "mm", "linalg.inv", "linalg.det", "trace", "t", "Tensor.matmul")
    plain_results = ("matmul", "mm", "Tensor.matmul", "linalg.det", "trace")
    gradients = True
    inplace = False
    out = False

    def make_operand(self, tensor: Any) -> Any:
        square = tensor.ndim == 2 and tensor.shape[0] == tensor.shape[1]
        return DiagonalMatrix(tensor.diagonal().clone()) if square else NotImplemented

    def to_dense(self, operand: Any) -> Any:
        return operand.dense()


tl.manual_seed(0)
DIAGONAL = DiagonalMatrix(tl.rand(6) + 0.5)
LEFT, RIGHT = tl.randn(2, 2) + 2 * tl.eye(2), tl.randn(3, 3) + 3 * tl.eye(3)
KRONECKER = KroneckerMatrix(LEFT, RIGHT)
OTHER = tl.randn(6, 4)


@pytest.mark.parametrize("matrix", [DIAGONAL, KRONECKER], ids=["diagonal", "kronecker"])
@pytest.mark.parametrize(
    "function",
    [
        lambda m: m @ OTHER,
        lambda m: OTHER.t() @ m,
        lambda m: m @ OTHER[:, 0],
        lambda m: OTHER[:, 0] @ m,
        lambda m: tl.mv(m, OTHER[:, 1]),
        lambda m: m @ OTHER.expand(2, 6, 4),
        lambda m: tl.linalg.solve(m, OTHER),
        lambda m: tl.linalg.solve(m, OTHER.t(), left=False),
        lambda m: tl.linalg.det(m),
        lambda m: tl.trace(m),
        lambda m: m @ m,
        lambda m: m * 2,
        lambda m: tl.linalg.inv(m),
        lambda m: m.t(),
    ],
)
def test_results_of_the_whole_matrix(matrix: Any, function: Any) -> None:
    result = function(matrix)
    tl.testing.assert_close(result if isinstance(result, tl.Tensor) else result.dense(), function(matrix.dense()))


@pytest.mark.parametrize(
    "function",
    [
        lambda m: m @ OTHER,
        lambda m: OTHER.t() @ m,
        lambda m: m @ OTHER[:, 0],
        lambda m: OTHER[:, 0] @ m,
        lambda m: m @ OTHER.expand(2, 6, 4),
        lambda m: tl.linalg.solve(m, OTHER.expand(2, 6, 4)),
        lambda m: tl.linalg.solve(m, OTHER.t()[:2]),
        lambda m: tl.linalg.det(m),
        lambda m: m @ m,
        lambda m: m + m,
        lambda m: m * 2,
        lambda m: tl.linalg.inv(m),
    ],
)
def test_results_of_a_batch_of_diagonal_matrices(function: Any) -> None:
    batch = DiagonalMatrix(tl.arange(1.0, 13.0).reshape(2, 6))
    assert batch.shape == batch.dense().shape == (2, 6, 6)
    result, expected = function(batch), function(batch.dense())
    tl.testing.assert_close(result if isinstance(result, tl.Tensor) else result.dense(), expected)
    assert tl.equal(DiagonalMatrix.__tensorlike_from_dense__(batch.dense()).values, batch.values)


@pytest.mark.parametrize("function", [tl.trace, tl.t, tl.diagonal, lambda m: m @ KRONECKER])
def test_functions_of_one_matrix_refuse_a_batch(function: Any) -> None:
    with pytest.raises(TypeError, match="no implementation found"):
        function(DiagonalMatrix(tl.ones(2, 6)))


def test_eigenvalues() -> None:
    k = KroneckerMatrix(LEFT + LEFT.t(), RIGHT + RIGHT.t())
    tl.testing.assert_close(tl.linalg.eigvalsh(k), tl.linalg.eigvalsh(k.dense()), atol=1e-4, rtol=1e-4)


def test_rules_for_both_types() -> None:
    thrice = DiagonalMatrix(tl.full((6,), 3.0))
    for result, expected in (
        (thrice @ KRONECKER, 3 * KRONECKER.dense()),
        (tl.matmul(KRONECKER, thrice), 3 * KRONECKER.dense()),
        (tl.linalg.solve(thrice, KRONECKER), KRONECKER.dense() / 3),
    ):
        assert isinstance(result, KroneckerMatrix)
        tl.testing.assert_close(result.dense(), expected)
    with pytest.raises(TypeError, match="no implementation found"):
        DIAGONAL @ KRONECKER


def test_large_matrices_are_never_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    def dense(self: Any) -> Any:
        raise AssertionError("the whole matrix was written out")

    monkeypatch.setattr(DiagonalMatrix, "dense", dense)
    monkeypatch.setattr(KroneckerMatrix, "dense", dense)
    large = DiagonalMatrix(tl.full((200_000,), 2.0))
    cubed = large @ large @ large
    assert isinstance(cubed, DiagonalMatrix)
    assert cubed.values[-1].item() == 8.0
    assert (cubed @ tl.ones(200_000, 2)).shape == (200_000, 2)
    grid = KroneckerMatrix(tl.eye(200) * 2, tl.eye(200) * 3)
    assert (grid @ tl.ones(40_000)).sum().item() == 240_000.0
    assert tl.linalg.solve(grid, tl.ones(40_000))[0].item() == pytest.approx(1 / 6)


def test_errors() -> None:
    with pytest.raises(RuntimeError, match="sizes 6 and 3 of the operands differ"):
        DIAGONAL @ tl.ones(3)
    with pytest.raises(RuntimeError, match="sizes 6 and 3 of the operands differ"):
        KRONECKER @ tl.ones(3)
    with pytest.raises(tl.linalg.LinAlgError, match="singular"):
        tl.linalg.inv(DiagonalMatrix([1.0, 0.0]))
    with pytest.raises(ValueError, match="the diagonal is a vector, or a batch of them"):
        DiagonalMatrix(1.0)
    with pytest.raises(TypeError, match="no implementation found for 'tensorlike.exp'"):
        tl.exp(DIAGONAL)


def test_gradients_and_copies() -> None:
    left = LEFT.clone().requires_grad_()
    (KroneckerMatrix(left, RIGHT) @ OTHER).sum().backward()
    expected = LEFT.clone().requires_grad_()
    (tl.kron(expected, RIGHT) @ OTHER).sum().backward()
    tl.testing.assert_close(left.grad, expected.grad)
    assert tl.equal(pickle.loads(pickle.dumps(DIAGONAL)).values, DIAGONAL.values)
