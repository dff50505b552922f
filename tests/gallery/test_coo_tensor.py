"""Sparse coordinates: what stays sparse has the values of dense computation, and the rest falls back."""

import pickle
from typing import Any

import pytest

import tensorlike as tl
from examples.gallery.coo_tensor import CooTensor


def drawn(shape: tuple[int, ...], seed: int) -> tl.Tensor:
    tl.manual_seed(seed)
    return tl.randn(*shape) * (tl.rand(*shape) < 0.3)


A, B, C = drawn((5, 4), 0), drawn((5, 4), 1), drawn((4, 3), 2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y,
        lambda x, y: tl.sub(x, y, alpha=2),
        lambda x, y: x * y,
        lambda x, y: x * 3 + tl.neg(y),
        lambda x, y: x.sin().sqrt().nan_to_num(),
        lambda x, y: tl.clamp(x, min=0) + y.abs() / 2,
        lambda x, y: (x - y).t(),
        lambda x, y: x.permute(1, 0).sum(0),
        lambda x, y: tl.sum(x * y, (0, 1)),
        lambda x, y: x.sum(-1),
        lambda x, y: x**2 + tl.tanh(y),
        lambda x, y: x * tl.arange(4.0),
    ],
)
def test_sparse_results(function: Any) -> None:
    result = function(CooTensor.from_dense(A), CooTensor.from_dense(B))
    assert isinstance(result, CooTensor)
    tl.testing.assert_close(result.to_dense(), function(A, B))


@pytest.mark.parametrize(
    "function",
    [lambda x: tl.cos(x), lambda x: x + 1, lambda x: tl.clamp(x, min=1), lambda x: x * tl.inf, lambda x: x / 0,
     lambda x: tl.cat([x, A]), lambda x: tl.linalg.svdvals(x), lambda x: x.sum(0, keepdim=True), lambda x: x[1:, 2]],
)  # fmt: skip
def test_the_rest_is_computed_on_the_dense_tensor(function: Any) -> None:
    result = function(CooTensor.from_dense(A))
    assert type(result) is tl.Tensor
    tl.testing.assert_close(result, function(A), equal_nan=True)


def test_products() -> None:
    x, dense = CooTensor.from_dense(A), tl.randn(3, 5)
    tl.testing.assert_close(x @ C, A @ C)
    tl.testing.assert_close(x @ C[:, 0], A @ C[:, 0])
    tl.testing.assert_close(dense @ x, dense @ A)
    tl.testing.assert_close(dense[0] @ x, dense[0] @ A)
    tl.testing.assert_close(x @ CooTensor.from_dense(C), A @ C)
    with pytest.raises(RuntimeError, match="cannot be multiplied|size"):
        x @ tl.ones(3, 3)


def test_the_same_as_the_library_s_sparse_type() -> None:

    x = CooTensor.from_dense(A)
    theirs = tl.sparse_coo_tensor(x.indices, x.values, tuple(x.shape))
    tl.testing.assert_close(theirs.to_dense(), x.to_dense())
    tl.testing.assert_close((theirs @ C), x @ C)
    tl.testing.assert_close((theirs * 2 + theirs).to_dense(), (x * 2 + x).to_dense())


def test_duplicates_are_added_up() -> None:
    x = CooTensor([[0, 0, 1]], [1.0, 2.0, 3.0], (3,))
    assert (x.to_dense().tolist(), x.coalesce().nnz) == ([3.0, 3.0, 0.0], 2)
    # Not the sum of squares.
    assert tl.square(x).to_dense().tolist() == [9.0, 9.0, 0.0]
    assert (x * x).to_dense().tolist() == [9.0, 9.0, 0.0]


def test_integers_bools_and_empty_tensors() -> None:
    for dense in (
        tl.tensor([[0, 3], [2, 0]]),
        tl.tensor([True, False]),
        tl.zeros(2, 3),
        tl.tensor(4.0),
        tl.zeros(0, 2),
    ):
        x = CooTensor.from_dense(dense)
        assert tl.equal(x.to_dense(), dense)
        assert x.to_dense().dtype == dense.dtype
    assert CooTensor.from_dense(tl.tensor([[0, 3], [2, 0]])).sum(0).to_dense().dtype == tl.int64


def test_gradients_reach_the_values() -> None:
    values = tl.tensor([1.0, 2.0], requires_grad=True)
    x = CooTensor([[0, 1], [1, 0]], values, (2, 2))
    ((x * 3) @ tl.tensor([3.0, 5.0])).sum().backward()
    assert values.grad.tolist() == [15.0, 9.0]


def test_what_would_be_lost_is_refused() -> None:
    x = CooTensor.from_dense(A)
    for call in (lambda: x.add_(1), lambda: x.register_hook(print), lambda: tl.exp(A, out=x)):
        with pytest.raises(TypeError, match="no implementation found"):
            call()
    with pytest.raises(ValueError, match=r"need indices of shape \(2, 1\), got \(1, 2\)"):
        CooTensor([[0, 1]], [1.0], (2, 2))


def test_pickle() -> None:
    x = pickle.loads(pickle.dumps(CooTensor.from_dense(A)))
    assert tl.equal(x.to_dense(), A)
