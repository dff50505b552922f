"""Reductions, products, shapes, joins and indices in chunks: what the samples of the registry do not reach."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import nothing_computed


def compute(value: Any) -> Any:
    return td.compute(value, scheduler="sync")[0]


@pytest.fixture
def x() -> Any:
    tl.manual_seed(5)
    return tl.randn(7, 6, 5, dtype=tl.float64)


def cut(x: Any) -> Any:
    return td.from_tensor(x, ((2, 1, 4), (6,), (3, 2)))


REDUCTIONS = (
    lambda t, *d: t.sum(*d), lambda t, *d: t.mean(*d), lambda t, *d: t.var(*d), lambda t, *d: t.std(*d),
    lambda t, *d: t.amax(*d), lambda t, *d: t.amin(*d), lambda t, *d: t.norm(2, *d), lambda t, *d: t.count_nonzero(*d),
    lambda t, *d: tl.logsumexp(t, *(d or ((0, 1, 2),))), lambda t, *d: (t > 0).all(*d), lambda t, *d: (t > 0).any(*d),
    lambda t, *d: tl.linalg.vector_norm(t, 3, *d), lambda t, *d: tl.linalg.vector_norm(t, float("inf"), *d),
)  # fmt: skip


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dims", [(), (0,), (1,), (-1,), ((0, 2),), ((0, 1, 2),)])
def test_reductions(x: Any, reduction: Any, dims: Any) -> None:
    with nothing_computed():
        found = reduction(cut(x), *dims)
    expected = reduction(x, *dims)
    assert found.shape == expected.shape
    assert tl.allclose(compute(found), expected)


@pytest.mark.parametrize("dim", [None, 0, 1, 2])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places(x: Any, name: str, dim: Any) -> None:
    values = (x * 2).round()  # With ties, of which the first counts.
    values[2, 1, 3] = tl.nan
    for t in (values, -values):
        assert tl.equal(compute(getattr(cut(t), name)(dim)), getattr(t, name)(dim))


def test_a_reduction_is_a_tree() -> None:
    total = td.ones(64, 64, chunks=8).sum()
    graph = total.__dask_graph__()
    widest = max(len(graph.get_all_dependencies()[k]) for k in graph)
    assert widest <= 17, "no task waits for all chunks"
    assert compute(total) == 64 * 64


def test_variance_of_a_large_mean() -> None:
    x = tl.randn(1000, dtype=tl.float64) + 1e8
    found = compute(td.from_tensor(x, 90).var())
    assert tl.allclose(found, x.var(), rtol=1e-6)


def test_half_precision_is_summed_in_single() -> None:
    x = td.ones(5000, chunks=100, dtype=tl.float16)
    assert compute(x.sum()).item() == 5000
    assert compute(x.mean()).dtype == tl.float16


PRODUCTS = {
    "matmul": (lambda a, b: a @ b, (5, 7), (7, 4)),
    "matmul of batches": (lambda a, b: a @ b, (3, 5, 7), (7, 4)),
    "matmul that broadcasts": (lambda a, b: a @ b, (2, 1, 5, 7), (3, 7, 4)),
    "mv": (lambda a, b: a.mv(b), (5, 7), (7,)),
    "vector first": (lambda a, b: a @ b, (7,), (7, 4)),
    "dot": (lambda a, b: a.dot(b), (7,), (7,)),
    "bmm": (lambda a, b: tl.bmm(a, b), (3, 5, 7), (3, 7, 4)),
    "outer": (tl.outer, (5,), (4,)),
    "inner": (tl.inner, (5, 7), (4, 7)),
    "tensordot": (lambda a, b: tl.tensordot(a, b, ([1, 0], [0, 2])), (5, 7, 2), (7, 4, 5)),
    "einsum": (lambda a, b: tl.einsum("ijk,kl->lj", a, b), (5, 7, 2), (2, 4)),
    "einsum with an ellipsis": (lambda a, b: tl.einsum("...k,kl->...l", a, b), (5, 7, 2), (2, 4)),
    "linear": (lambda a, b: tl.nn.functional.linear(a, b), (3, 5, 7), (4, 7)),
    "addmm": (lambda a, b: tl.addmm(tl.ones(4, dtype=tl.float64), a, b, beta=2, alpha=3), (5, 7), (7, 4)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_their_gradients(name: str) -> None:
    product, one, other = PRODUCTS[name]
    plain = [tl.randn(*s, dtype=tl.float64, requires_grad=True) for s in (one, other)]
    expected = product(*plain)
    weight = tl.randn(tuple(expected.shape), dtype=tl.float64)
    wanted = tl.autograd.grad((expected * weight).sum(), plain)
    for which in ((True, True), (True, False), (False, True)):
        given = [td.from_tensor(t, 3) if c else t.detach().clone().requires_grad_() for t, c in zip(plain, which)]
        with nothing_computed():
            found = product(*given)
            grads = tl.autograd.grad((found * weight).sum(), given)
        assert tl.allclose(compute(found), expected.detach())
        for grad, right in zip(compute(grads), wanted, strict=True):
            assert tl.allclose(grad, right)


def test_products_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(4x3 and 4x3\)"):
        td.ones(4, 3, chunks=2) @ td.ones(4, 3, chunks=2)
    with pytest.raises(RuntimeError, match="the sizes 3 and 4 for one letter"):
        tl.einsum("ij,jk->ik", td.ones(2, 3), td.ones(4, 2))


INDICES = (
    0, -1, slice(1, 5), slice(None, None, 2), slice(5, 2), slice(100), None, ..., (0, 1), (slice(None), 2), (..., 0),
    (None, ..., None), (slice(1, None, 3), None, slice(None), 1), tl.tensor([0, 6, -1, 3, 3]), [1, 2],
    (slice(None), tl.tensor([5, 0])), (..., tl.tensor([[0, 4], [2, -5]])), (2, slice(None), tl.tensor([1, 1])),
    tl.tensor([True, False, True, True, False, False, True]), tl.tensor(3), np.array([1, 0]), (1, ..., slice(0, 0)),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_indices_and_their_gradients(x: Any, number: int) -> None:
    index = INDICES[number]
    plain, chunks = x.clone().requires_grad_(), cut(x).requires_grad_()
    expected = plain[index]
    with nothing_computed():
        found = chunks[index]
        assert tuple(found.shape) == tuple(expected.shape)
        (found * found).sum().backward()
    (expected * expected).sum().backward()
    assert tl.equal(compute(found), expected.detach())
    assert tl.allclose(compute(chunks.grad), plain.grad)


@pytest.mark.parametrize("chunked_table", [True, False])
def test_indices_in_chunks(x: Any, chunked_table: bool) -> None:
    index = tl.tensor([[3, 0, -1], [6, 3, 3]])
    plain = x.clone().requires_grad_()
    expected = plain[index]
    (expected * expected).sum().backward()
    table = cut(x).requires_grad_() if chunked_table else x.clone().requires_grad_()
    with nothing_computed():
        found = table[td.from_tensor(index, 2)]
        (found * found).sum().backward()
    assert tl.equal(compute(found), expected.detach())
    assert tl.allclose(compute(table.grad), plain.grad)
    with pytest.raises(td.ChunkError, match="index is out of bounds for dimension 0 with size 7"):
        compute(table[td.from_tensor(tl.tensor([7]), 1)])


def test_wrong_indices(x: Any) -> None:
    c = cut(x)
    for index, error, text in (
        (7, IndexError, "out of bounds for dimension 0 with size 7"), ((0, 0, 0, 0), IndexError, "too many indices"),
        ((..., ...), IndexError, "single ellipsis"), (1.5, IndexError, "only integers, slices"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"), ("a", IndexError, "only integers"),
        (tl.tensor([7]), IndexError, "index 7 is out of bounds"), (tl.tensor([0.5]), IndexError, "must be long"),
        (tl.tensor([True]), IndexError, "does not match the shape"), (True, NotImplementedError, "a bool as an index"),
        ((tl.tensor([0]), tl.tensor([0])), NotImplementedError, "one index tensor at a time"),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            c[index]


SHAPES = (
    lambda t: t.reshape(42, 5), lambda t: t.reshape(7, 30), lambda t: t.reshape(5, 42), lambda t: t.view(-1),
    lambda t: t.permute(2, 0, 1), lambda t: t.transpose(0, -1), lambda t: t.mT, lambda t: t.flatten(1),
    lambda t: t.unflatten(1, (2, 3)), lambda t: t.unsqueeze(1).squeeze(1), lambda t: t[:, None].expand(7, 3, 6, 5),
    lambda t: t.flip((0, 2)), lambda t: t.roll(3, 0), lambda t: t.roll((1, -2), (0, 1)), lambda t: t.roll(4),
    lambda t: t.movedim(0, 2), lambda t: t.repeat(2, 1, 3), lambda t: tl.cat([t, t * 2], 1), lambda t: tl.stack([t, t]),
    lambda t: t.split(3)[1], lambda t: t.chunk(2, 2)[0], lambda t: t.unbind(1)[2], lambda t: tl.tensor_split(t, 3)[2],
    lambda t: t.narrow(0, 2, 3), lambda t: t.select(1, 2), lambda t: t.diagonal(0, 0, 1), lambda t: t.tril(),
    lambda t: tl.rot90(t), lambda t: t.cumsum(0), lambda t: t.cumsum(2), lambda t: t.cumprod(0),
    lambda t: t.logcumsumexp(0), lambda t: t.softmax(0), lambda t: t.log_softmax(2), lambda t: t.sort(1).values,
    lambda t: t.topk(2, 1).values, lambda t: t.median(1).values, lambda t: t.clone(), lambda t: t.float(),
    lambda t: tl.nn.functional.pad(t, (1, 2, 0, 3)), lambda t: tl.hstack([t, t]), lambda t: t.masked_fill(t > 0, 1),
    lambda t: t.gt(0), lambda t: tl.where(t > 0, t, -t), lambda t: t.clamp(-0.5, 0.5), lambda t: tl.diff(t, dim=0),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_shapes_and_joins(x: Any, number: int) -> None:
    function = SHAPES[number]
    with nothing_computed():
        found = function(cut(x))
        assert tuple(found.shape) == tuple(function(x).shape)
    assert tl.allclose(compute(found), function(x))


def test_wrong_shapes(x: Any) -> None:
    c = cut(x)
    for wrong, error, text in (
        (lambda: c.reshape(3, 3), RuntimeError, "invalid for input of size 210"),
        (lambda: c.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
        (lambda: c.permute(0, 0, 1), RuntimeError, "repeated|unique|dims"),
        (lambda: c.expand(7, 6, 4), RuntimeError, "must match the existing size"),
        (lambda: c.unflatten(1, (4, 4)), RuntimeError, "don't multiply up"),
        (lambda: tl.cat([c, c[:, :2]], 0), RuntimeError, "Sizes of tensors must match except in dimension 0"),
        (lambda: tl.stack([c, c[0]]), RuntimeError, "equal size"),
        (lambda: c.narrow(0, 5, 5), RuntimeError, "exceeds dimension size"),
        (lambda: c.sort(0), NotImplementedError, r"needs the dimension 0 in one chunk: rechunk\(\{0: -1\}\)"),
        (lambda: c.amax(3), IndexError, "out of range"),
        (lambda: td.ones(0).amax(), RuntimeError, "dim"),
        (lambda: td.ones(0, 3).argmax(0), IndexError, "non-zero size"),
    ):
        with nothing_computed(), pytest.raises(error, match=text):
            wrong()


def test_linear_algebra() -> None:
    tl.manual_seed(1)
    tall = tl.randn(40, 4, dtype=tl.float64)
    rows = td.from_tensor(tall, (9, 4))
    with nothing_computed():
        q, r = tl.linalg.qr(rows)
        u, s, vh = tl.linalg.svd(rows, full_matrices=False)
        gram = rows.T @ rows
        inverse, chol, eigen = tl.linalg.inv(gram), tl.linalg.cholesky(gram), tl.linalg.eigvalsh(gram)
        b = tl.randn(40, dtype=tl.float64)
        solved = tl.linalg.solve(gram, rows.T @ b)
    q, r, u, s, vh, inverse, chol, eigen, solved = compute((q, r, u, s, vh, inverse, chol, eigen, solved))
    assert tl.allclose(q @ r, tall)
    assert tl.allclose(q.T @ q, tl.eye(4, dtype=tl.float64))
    assert tl.allclose((u * s) @ vh, tall)
    assert tl.allclose(s, tl.linalg.svdvals(tall))
    whole = tall.T @ tall
    assert tl.allclose(inverse, tl.linalg.inv(whole))
    assert tl.allclose(chol, tl.linalg.cholesky(whole))
    assert tl.allclose(eigen, tl.linalg.eigvalsh(whole))
    assert tl.allclose(solved, tl.linalg.lstsq(tall, b.unsqueeze(1)).solution.squeeze(1))
    with pytest.raises(NotImplementedError, match="needs the dimension 1 in one chunk"):
        tl.linalg.inv(td.ones(4, 4, chunks=(4, 2)))
    with pytest.raises(RuntimeError, match="batches of square matrices"):
        tl.linalg.inv(td.ones(4, 3))


def test_least_squares() -> None:
    tl.manual_seed(1)
    a, b = tl.randn(40, 4, dtype=tl.float64), tl.randn(40, 3, dtype=tl.float64)
    with nothing_computed():
        found = tl.linalg.lstsq(td.from_tensor(a, (9, 4)), td.from_tensor(b, (15, 2)))
        mixed = tl.linalg.lstsq(td.from_tensor(a, (9, 4)), b)
    expected = tl.linalg.lstsq(a, b)
    assert type(found) is type(expected)
    for result in (found, mixed):
        for one, other in zip(compute(result), expected, strict=True):
            assert tl.allclose(one, other)
    deficient = tl.cat([a[:, :3], a[:, :1]], 1)
    with pytest.raises(td.ChunkError, match=r"lstsq\(\) failed on the chunk \(0, 0\).*not full rank"):
        compute(tl.linalg.lstsq(td.from_tensor(deficient, (9, 4)), b).solution)


def test_the_gradient_of_a_solution() -> None:
    tl.manual_seed(1)
    a, b = tl.randn(4, 4, dtype=tl.float64), tl.randn(4, 7, dtype=tl.float64)
    plain = [a.clone().requires_grad_(), b.clone().requires_grad_()]
    chunks = [td.from_tensor(a, -1, requires_grad=True), td.from_tensor(b, (4, 3), requires_grad=True)]
    expected = tl.autograd.grad(tl.linalg.solve(*plain).square().sum(), plain)
    with nothing_computed():
        found = tl.autograd.grad(tl.linalg.solve(*chunks).square().sum(), chunks)
    for one, other in zip(compute(found), expected, strict=True):
        assert tl.allclose(one, other)


def test_counting() -> None:
    tl.manual_seed(1)
    n, f = tl.randint(0, 9, (50,)), tl.rand(50)
    c, g = td.from_tensor(n, 12), td.from_tensor(f, 12)
    with nothing_computed():
        histogram, counts, (distinct, times) = g.histc(5, 0, 1), c.bincount(), c.unique(return_counts=True)
        edges = tl.tensor([0.2, 0.5])
        places, member = tl.bucketize(g, edges), tl.isin(c, tl.tensor([1, 3]))
        hot = tl.nn.functional.one_hot(c, 9)
    assert tuple(histogram.shape) == (5,)
    found = compute((histogram, counts, distinct, times, places, member, hot))
    wanted = (f.histc(5, 0, 1), n.bincount(), *n.unique(return_counts=True), tl.bucketize(f, edges),
              tl.isin(n, tl.tensor([1, 3])), tl.nn.functional.one_hot(n, 9))  # fmt: skip
    for one, other in zip(found, wanted, strict=True):
        assert tl.equal(one, other)
    with pytest.raises(NotImplementedError, match="give min and max"):
        g.histc(5)
    with pytest.raises(NotImplementedError, match="give num_classes"):
        tl.nn.functional.one_hot(c)


def test_an_error_names_the_chunk_and_the_function() -> None:
    x = td.from_dask(da.from_array(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), chunks=(2, 2)))
    matrices = x.reshape(2, 2, 2).rechunk((1, 2, 2))
    with pytest.raises(td.ChunkError, match=r"inv\(\) failed on the chunk \(0, 0, 0\): LinAlgError") as caught:
        compute(tl.linalg.inv(matrices))
    assert isinstance(caught.value, RuntimeError)
    assert type(caught.value.__cause__).__name__ == "LinAlgError"

    def refuse(tensor: Any) -> Any:
        if tensor.numel() > 1 and tensor[0] == 4:
            raise KeyError("no")
        return tensor

    with pytest.raises(td.ChunkError, match=r"refuse\(\) failed on the chunk \(2,\): KeyError: 'no'") as caught:
        compute(td.arange(8, chunks=2).map_chunks(refuse).sin())
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_function_without_a_rule_names_the_way_out() -> None:
    x = td.ones(4, 3, chunks=2)
    refusal = r"kron\(\) of a tensor in chunks: there is no rule for it; use map_chunks\(\)"
    with nothing_computed(), pytest.raises(NotImplementedError, match=refusal):
        tl.kron(x, x)
    with nothing_computed(), pytest.raises(NotImplementedError, match="only its first operand may be in chunks"):
        tl.nn.functional.conv1d(tl.ones(2, 3, 4), td.ones(1, 3, 2))


def test_other_types_answer_first() -> None:
    x = td.ones(3, 2, chunks=2)
    found = tl.func.vmap(lambda row: row.sum())(x)
    assert compute(found).tolist() == [2, 2, 2]
    sparse = tl.eye(3).to_sparse()
    with pytest.raises((TypeError, NotImplementedError, RuntimeError)), nothing_computed():
        sparse @ x
