"""A chunked tensor as a collection of Dask, and what it says of itself without computing."""

from __future__ import annotations

import copy
import pickle

import dask
import dask.array as da
import numpy as np
import pytest
from dask.tokenize import tokenize

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import Computed, nothing_computed


@pytest.fixture
def x() -> td.ChunkedTensor:
    return td.from_tensor(tl.arange(12.0).reshape(4, 3), ((1, 3), (2, 1)))


def test_metadata_without_computing(x: td.ChunkedTensor) -> None:
    with nothing_computed():
        assert tuple(x.shape) == (4, 3)
        assert isinstance(x.shape, tl.Size)
        assert (x.dtype, x.device, x.ndim, x.dim(), x.numel(), len(x)) == (tl.float32, tl.device("cpu"), 2, 2, 12, 4)
        assert (x.size(1), tuple(x.size()), x.nbytes, x.itemsize, x.element_size()) == (3, (4, 3), 48, 4, 4)
        assert x.is_floating_point()
        assert not x.is_complex()
        assert not x.is_sparse
        assert not x.is_cuda
        assert (x.requires_grad, x.grad, x.grad_fn, x.is_leaf, x._version) == (False, None, None, True, 0)
        assert (x.chunks, x.numblocks, x.npartitions, x.chunksize) == (((1, 3), (2, 1)), (2, 2), 4, (3, 2))
        assert repr(x) == "ChunkedTensor(shape=(4, 3), chunks=((1, 3), (2, 1)), dtype=tensorlike.float32)"
        assert f"{x}" == repr(x)
        assert [tuple(row.shape) for row in x] == [(3,)] * 4
        y = x.requires_grad_() * 2
        assert repr(y).endswith("grad_fn=<MulBackward0>)")
        assert repr(x).endswith("requires_grad=True)")
        assert y.requires_grad
        assert not y.is_leaf
        assert y.grad_fn.name() == "MulBackward0"
    assert repr(td.ones(90, 5, chunks=(20, 5))).startswith("ChunkedTensor(shape=(90, 5), chunks=(4*20+10, 5)")


def test_the_guard_of_these_tests_works(x: td.ChunkedTensor) -> None:
    with nothing_computed(), pytest.raises(Computed):
        x.compute()


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_compute_of_dask(x: td.ChunkedTensor, scheduler: str) -> None:
    whole = tl.arange(12.0).reshape(4, 3)
    found, raw, other = dask.compute(x + 1, da.ones(3), {"a": [x.sum(), 1]}, scheduler=scheduler)
    assert type(found) is tl.Tensor
    assert tl.equal(found, whole + 1)
    assert raw.tolist() == [1, 1, 1]
    assert other["a"][0].item() == 66
    assert other["a"][1] == 1
    assert tl.equal(x.compute(scheduler=scheduler), whole)
    assert tl.equal((x @ x.T).compute(scheduler=scheduler), whole @ whole.T)


def test_compute_opens_named_results(x: td.ChunkedTensor) -> None:
    found, rest = td.compute(x.max(1), (1, "a", None), scheduler="sync")
    assert type(found) is type(tl.ones(2, 2).max(1))
    assert found.values.tolist() == [2, 5, 8, 11]
    assert rest == (1, "a", None)


def test_persist(x: td.ChunkedTensor) -> None:
    y = x.requires_grad_() * 2
    for kept in (y.persist(scheduler="sync"), dask.persist(y, scheduler="sync")[0], td.persist(y, scheduler="sync")[0]):
        assert isinstance(kept, td.ChunkedTensor)
        assert len(kept.__dask_graph__()) == 4
        assert not kept.requires_grad
        assert kept.chunks == y.chunks
        with nothing_computed():
            z = kept + 1
        assert tl.equal(z.compute(scheduler="sync"), tl.arange(12.0).reshape(4, 3) * 2 + 1)
    assert x.persist(scheduler="sync").requires_grad, "a leaf stays one"


def test_the_graph_travels(x: td.ChunkedTensor) -> None:
    y = (x * 2).sum(0)
    for other in (pickle.loads(pickle.dumps(y)), copy.copy(y), copy.deepcopy(y)):
        assert tl.equal(other.compute(scheduler="sync"), y.compute(scheduler="sync"))
    leaf = pickle.loads(pickle.dumps(x.requires_grad_()))
    assert leaf.requires_grad
    assert leaf.is_leaf
    with pytest.raises(RuntimeError, match="cannot be pickled, since its history stays here"):
        pickle.dumps(x * 2)


def test_tokens(x: td.ChunkedTensor) -> None:
    assert tokenize(x + 1) == tokenize(x + 1)
    assert tokenize(x + 1) != tokenize(x + 2)
    assert tokenize(tl.ones(3)) == tokenize(tl.ones(3))
    assert tokenize(tl.ones(3)) != tokenize(tl.zeros(3))
    assert dask.is_dask_collection(x)
    assert not dask.is_dask_collection(tl.ones(3))


def test_to_and_from_dask() -> None:
    source = da.from_array(np.arange(6.0).reshape(2, 3), chunks=(1, 2))
    x = td.from_dask(source)
    assert x.dtype == tl.float64
    assert x.chunks == source.chunks
    back = x.to_dask()
    assert isinstance(back, da.Array)
    assert back.chunks == source.chunks
    assert np.array_equal((back + 1).compute(scheduler="sync"), np.arange(6.0).reshape(2, 3) + 1)
    with pytest.raises(TypeError, match="expected a dask array, got ndarray; use from_tensor"):
        td.from_dask(np.ones(3))
    with pytest.raises(TypeError, match="tensors have no dtype for"):
        td.from_dask(da.from_array(np.array(["a", "b"]), chunks=1))


def test_rechunk(x: td.ChunkedTensor) -> None:
    x.requires_grad_()
    y = x.rechunk((2, 3))
    assert y.chunks == ((2, 2), (3,))
    (grad,) = tl.autograd.grad((y * y).sum(), x)
    assert grad.chunks == x.chunks
    assert tl.equal(grad.compute(scheduler="sync"), 2 * tl.arange(12.0).reshape(4, 3))
    assert x.rechunk(x.chunks) is x
    with pytest.raises(ValueError, match="chunks"):
        x.rechunk((1, 2, 3))


def test_values_are_not_computed_behind_the_back(x: td.ChunkedTensor) -> None:
    one = x.sum()
    for ask in (bool, float, int, complex, lambda t: t.item(), lambda t: t.tolist(), lambda t: t.numpy(), np.asarray,
                lambda t: range(t), lambda t: 1 in t, lambda t: f"{t:.2f}"):  # fmt: skip
        refusal = r"needs the values of a tensor in chunks.*compute\(\)"
        with nothing_computed(), pytest.raises(RuntimeError, match=refusal):
            ask(one)
    with nothing_computed(), pytest.raises(NotImplementedError, match="no memory of its own"):
        x.data_ptr()
    with nothing_computed(), pytest.raises(NotImplementedError, match="which is not known before compute"):
        tl.allclose(x, x)


def test_unknown_sizes(x: td.ChunkedTensor) -> None:
    chosen = x.reshape(12)[x.reshape(12) > 4]
    assert repr(chosen).startswith("ChunkedTensor(shape=(?,), chunks=(")
    with pytest.raises(RuntimeError, match=r"not known before it is computed.*compute_chunk_sizes\(\)"):
        chosen.shape
    with pytest.raises(RuntimeError, match="compute_chunk_sizes"):
        chosen[1:]
    assert chosen.sum().compute(scheduler="sync").item() == sum(range(5, 12))
    assert (chosen * 2 + chosen).compute(scheduler="sync").tolist() == [3.0 * n for n in range(5, 12)]
    with dask.config.set(scheduler="sync"):
        assert chosen.compute_chunk_sizes() is chosen
    assert tuple(chosen.shape) == (7,)
    assert chosen[1:3].compute(scheduler="sync").tolist() == [6.0, 7.0]
    other = x.reshape(12)[x.reshape(12) > 5]
    with pytest.raises(RuntimeError, match="the chunks of the operands do not line up|not known"):
        other + td.ones(6, chunks=2)


def test_threads(x: td.ChunkedTensor) -> None:
    big = td.rand(1000, 20, chunks=(50, 20))
    expected = (big.sin() @ big.T[:, :3]).compute(scheduler="sync")
    for _ in range(3):
        assert tl.equal((big.sin() @ big.T[:, :3]).compute(scheduler="threads", num_workers=4), expected)


def test_visualize_needs_an_engine_only(x: td.ChunkedTensor, tmp_path: object) -> None:
    pytest.importorskip("graphviz", reason="dask draws with it")
    x.visualize(filename=str(tmp_path) + "/graph.svg")


def test_results_have_memory_of_their_own() -> None:
    source = tl.arange(4.0)
    one = td.from_tensor(source, -1)
    kept = (one * 2).persist(scheduler="sync")
    for tensor, expected in ((one, source.clone()), (kept, source * 2), (kept[:], source * 2)):
        found = tensor.compute(scheduler="sync")
        found.add_(1)
        assert tl.equal(tensor.compute(scheduler="sync"), expected)
