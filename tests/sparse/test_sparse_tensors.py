"""Sparse tensors without PyTorch: results beside dense ones, gradients, refusals, files, other types."""

import copy
import io
import pickle

import numpy as np
import pytest
from tensorlike._utils import _rebuild_sparse_tensor

import tensorlike as tl
from tensorlike.testing import assert_close

DTYPES = (tl.float32, tl.float64, tl.int64, tl.complex64, tl.complex128)


def random_sparse(shape, *, dense_dim=0, dtype=tl.float64, count=7, duplicates=True, seed=0):
    """Return a sparse tensor with elements at random places, some of them twice."""
    rng = np.random.default_rng(seed)
    rows = len(shape) - dense_dim
    indices = np.array([rng.integers(0, max(n, 1), count) for n in shape[:rows]]).reshape(rows, count)
    if 0 in shape[:rows]:
        indices, count = indices[:, :0], 0
    if duplicates and count > 1:
        indices[:, -1] = indices[:, 0]
    values = rng.integers(-4, 5, (count, *shape[rows:])) + 1j * rng.integers(-4, 5, (count, *shape[rows:]))
    values = values if dtype.is_complex else values.real
    return tl.sparse_coo_tensor(tl.tensor(indices), tl.tensor(values).to(dtype), shape)


@pytest.mark.parametrize("shape, dense_dim", [((4,), 0), ((3, 4), 0), ((2, 3, 4), 0), ((3, 4, 2), 1), ((3, 2, 2), 2),
                                              ((0, 3), 0), ((3, 0), 0), ((3, 4, 0), 1)])  # fmt: skip
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_coalescing_adds_up_what_is_at_one_place(shape, dense_dim, dtype):
    sparse = random_sparse(shape, dense_dim=dense_dim, dtype=dtype)
    expected = np.zeros(shape, np.asarray(tl.zeros(1, dtype=dtype)).dtype)
    for place, value in zip(sparse._indices().T.tolist(), np.asarray(sparse._values()), strict=True):
        expected[tuple(place)] += value
    np.testing.assert_array_equal(np.asarray(sparse.to_dense()), expected)
    ordered = sparse.coalesce()
    assert ordered.is_coalesced()
    assert ordered.coalesce() is ordered
    places = ordered.indices().T.tolist()
    assert places == sorted(places)
    assert len(set(map(tuple, places))) == len(places)
    assert_close(ordered.to_dense(), sparse.to_dense())
    assert (sparse.sparse_dim(), sparse.dense_dim()) == (len(shape) - dense_dim, dense_dim)
    assert sparse.shape == tl.Size(shape)
    assert sparse.numel() == expected.size
    assert sparse.dtype == dtype


def test_booleans_are_joined_by_or():
    sparse = tl.sparse_coo_tensor([[0, 0, 1]], [True, False, False], (3,))
    assert sparse.coalesce().values().tolist() == [True, False]


BINARY = {
    "sparse + sparse": lambda s, t, d: s + t,
    "sparse - sparse": lambda s, t, d: s - t,
    "sparse.add(alpha)": lambda s, t, d: s.add(t, alpha=3),
    "dense + sparse": lambda s, t, d: d + s,
    "dense - sparse": lambda s, t, d: d - s,
    "sparse * sparse": lambda s, t, d: s * t,
    "sparse * dense": lambda s, t, d: s * d,
    "dense * sparse": lambda s, t, d: d * s,
    "sparse * row": lambda s, t, d: s * d[0],
    "sparse * number": lambda s, t, d: s * 3,
    "number * sparse": lambda s, t, d: 3 * s,
    "sparse / number": lambda s, t, d: s / 4,
    "sparse ** 2": lambda s, t, d: s**2,
    "-sparse": lambda s, t, d: -s,
    "abs": lambda s, t, d: s.abs(),
    "transpose": lambda s, t, d: s.transpose(0, 1),
    "t": lambda s, t, d: s.t(),
    "unsqueeze": lambda s, t, d: s.unsqueeze(1),
    "squeeze": lambda s, t, d: s.unsqueeze(1).squeeze(),
    "select": lambda s, t, d: s[1],
    "narrow": lambda s, t, d: s[:, 1:3],
    "index_select": lambda s, t, d: s.index_select(1, tl.tensor([2, 0, 0])),
    "cat": lambda s, t, d: tl.cat([s, t], 1),
    "stack": lambda s, t, d: tl.stack([s, t], 1),
    "sum": lambda s, t, d: s.sum(),
    "sum 0": lambda s, t, d: s.sum(0),
    "sum keepdim": lambda s, t, d: s.sum(1, keepdim=True),
    "mm": lambda s, t, d: s @ d.t(),
    "mm of dense": lambda s, t, d: d.t() @ s,
    "mv": lambda s, t, d: s @ d[0],
    "vm": lambda s, t, d: d[:, 0] @ s,
    "sparse @ sparse": lambda s, t, d: s @ t.t(),
    "addmm": lambda s, t, d: tl.addmm(d[:, :3], s, t.t().to_dense(), beta=2, alpha=3),
    "clone": lambda s, t, d: s.clone(),
    "to": lambda s, t, d: s.to(tl.complex128),
}


def as_dense(value):
    return value.to_dense() if value.is_sparse else value


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_functions_give_what_dense_tensors_give(name, dtype):
    function = BINARY[name]
    first, second = random_sparse((3, 4), dtype=dtype), random_sparse((3, 4), dtype=dtype, seed=1)
    dense = random_sparse((3, 4), dtype=dtype, count=12, seed=2).to_dense()
    expected = function(first.to_dense(), second.to_dense(), dense)
    for operands in ((first, second), (first.coalesce(), second.coalesce())):
        assert_close(as_dense(function(*operands, dense)), expected)


@pytest.mark.parametrize("name", [name for name in BINARY if name not in ("abs", "to")])
@pytest.mark.parametrize("leaf", ["values", "sparse"])
def test_gradients_are_those_of_dense_tensors_at_the_places(name, leaf):
    function = BINARY[name]
    places = tl.tensor([[0, 1, 2, 2], [3, 0, 1, 2]])
    other = random_sparse((3, 4), seed=1)
    results = []
    for sparse in (True, False):
        values = tl.tensor([1.0, -2.0, 3.0, 4.0], dtype=tl.float64, requires_grad=leaf == "values")
        dense = random_sparse((3, 4), count=12, seed=2).to_dense().requires_grad_()
        made = tl.sparse_coo_tensor(places, values, (3, 4))
        start = made if sparse else made.to_dense()
        if leaf == "sparse":
            start.requires_grad_()
        found = as_dense(function(start, other if sparse else other.to_dense(), dense))
        weights = tl.arange(found.numel(), dtype=tl.float64).reshape(found.shape) + 1
        (found * weights).sum().backward()
        gradient = values.grad if leaf == "values" else as_dense(start.grad)[tuple(places)]
        results.append((gradient, dense.grad))
    (mine, of_dense), (expected, expected_of_dense) = results
    assert_close(mine, expected)
    assert (of_dense is None) == (expected_of_dense is None)
    if of_dense is not None:
        # A gradient of a product has elements at the places of the sparse factor alone, as the product has.
        assert_close(of_dense, expected_of_dense)


def test_second_derivatives():
    places = tl.tensor([[0, 1], [1, 0]])

    def function(values, dense):
        return tl.sparse.mm(tl.sparse_coo_tensor(places, values**2, (2, 2)), dense**2)

    values = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    dense = tl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tl.float64, requires_grad=True)
    assert tl.autograd.gradcheck(function, (values, dense))
    assert tl.autograd.gradgradcheck(function, (values, dense))


def test_elementwise_functions_that_keep_zero_are_answered_and_others_refused():
    sparse = random_sparse((3, 4))
    for function in (tl.sin, tl.tanh, tl.expm1, tl.sign, tl.isnan, tl.relu, tl.round, tl.square):
        assert_close(function(sparse).to_dense(), function(sparse.to_dense()))
    for function in (tl.cos, tl.exp, tl.sigmoid, tl.isfinite, tl.logical_not):
        with pytest.raises(NotImplementedError, match="SparseCPU"):
            function(sparse)
    assert_close((sparse > 0).to_dense(), sparse.to_dense() > 0)
    with pytest.raises(NotImplementedError):
        tl.le(sparse, 0)


@pytest.mark.parametrize("call, error", [
    (lambda s: s + 1, RuntimeError),
    (lambda s: s + tl.ones(3, 4), RuntimeError),
    (lambda s: s / tl.ones(3, 4), RuntimeError),
    (lambda s: s.numpy(), TypeError),
    (lambda s: s.view(12), NotImplementedError),
    (lambda s: s.reshape(12), RuntimeError),
    (lambda s: s.indices(), RuntimeError),
    (lambda s: s.storage(), NotImplementedError),
    (lambda s: s.argmax(), NotImplementedError),
    (lambda s: s @ tl.ones(3), RuntimeError),
    (lambda s: s @ tl.ones(4, 2, dtype=tl.float32), RuntimeError),
    (lambda s: s[5], IndexError),
    (lambda s: bool(s), RuntimeError),
    (lambda s: s.to_sparse(layout=tl.sparse_csr), NotImplementedError),
    (lambda s: s.transpose(0, 2), IndexError),
    (lambda s: tl.sparse_coo_tensor([[0, 1]], [1.0], (2,)), RuntimeError),
    (lambda s: tl.sparse_coo_tensor([0, 1], [1.0, 2.0], (2,)), RuntimeError),
    (lambda s: tl.sparse_coo_tensor([[0]], [1.0], (2, 2)), RuntimeError),
    (lambda s: tl.sparse_coo_tensor([[-1]], [1.0]), RuntimeError),
    (lambda s: tl.sparse_coo_tensor([[2]], [1.0], (2,), check_invariants=True), RuntimeError),
    (lambda s: tl.sparse_coo_tensor([[1, 0]], [1.0, 2.0], check_invariants=True, is_coalesced=True), RuntimeError),
])  # fmt: skip
def test_refusals(call, error):
    with pytest.raises(error):
        call(random_sparse((3, 4)))


def test_in_place_functions():
    sparse = random_sparse((3, 4))
    dense, alias = sparse.to_dense(), sparse.detach()
    assert sparse.mul_(2) is sparse
    sparse.add_(random_sparse((3, 4), seed=1), alpha=2)
    assert_close(sparse.to_dense(), dense * 2 + random_sparse((3, 4), seed=1).to_dense() * 2)
    assert_close(alias.to_dense(), sparse.to_dense())
    table = tl.ones(3, 4, dtype=tl.float64)
    memory = table.data_ptr()
    table.add_(sparse, alpha=-0.5)
    assert table.data_ptr() == memory
    assert table._version == 1
    assert_close(table, 1 - sparse.to_dense() / 2)
    assert sparse.zero_()._nnz() == 0
    leaf = random_sparse((3, 4)).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.mul_(2)


@pytest.mark.parametrize("shape, dense_dim, dim", [((3, 4), 0, 0), ((3, 4), 0, 1), ((2, 3, 4), 0, 1), ((3, 4, 2), 1, 2),
                                                   ((3, 4, 2), 1, 0)])  # fmt: skip
def test_softmax_counts_the_stored_elements_alone(shape, dense_dim, dim):
    sparse = random_sparse(shape, dense_dim=dense_dim).coalesce()
    there = tl.sparse_coo_tensor(sparse.indices(), tl.ones_like(sparse.values()), shape).to_dense()
    dense = sparse.to_dense().where(there != 0, -float("inf"))
    expected = dense.softmax(dim).nan_to_num(0.0)
    assert_close(tl.sparse.softmax(sparse, dim).to_dense(), expected)
    log = tl.sparse.log_softmax(sparse, dim)
    assert_close(log.values().exp(), tl.sparse.softmax(sparse, dim).values())


def test_batches_of_matrices():
    batch = random_sparse((2, 3, 4), count=9)
    dense = random_sparse((2, 4, 5), count=20, seed=3).to_dense()
    assert_close(tl.bmm(batch, dense), tl.bmm(batch.to_dense(), dense))
    assert_close(batch @ dense, batch.to_dense() @ dense)


def test_other_functions_of_the_module():
    first, second = random_sparse((3, 4), seed=4).to_dense(), random_sparse((4, 3), seed=5).to_dense()
    places = tl.eye(3, dtype=tl.float64).to_sparse()
    found = tl.sparse.sampled_addmm(places, first, second, beta=0.5, alpha=2.0)
    assert_close(found.to_dense(), (first @ second * 2 + 0.5) * tl.eye(3, dtype=tl.float64))
    diagonals = tl.tensor([[1.0, 2, 3], [4, 5, 6]])
    made = tl.sparse.spdiags(diagonals, tl.tensor([0, -1]), (3, 4))
    assert_close(made.to_dense(), tl.tensor([[1.0, 0, 0, 0], [4, 2, 0, 0], [0, 5, 3, 0]]))
    with tl.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError):
        tl.sparse_coo_tensor([[7]], [1.0], (2,))
    assert not tl.sparse.check_sparse_tensor_invariants.is_enabled()


def test_files_and_copies():
    sparse = random_sparse((3, 4, 2), dense_dim=1).requires_grad_()
    file = io.BytesIO()
    tl.save({"matrix": sparse}, file)
    file.seek(0)
    for found in (tl.load(file)["matrix"], pickle.loads(pickle.dumps(sparse)), copy.deepcopy(sparse)):
        assert_close(found.detach().to_dense(), sparse.detach().to_dense())
        assert found._nnz() == sparse._nnz()
        assert found.is_coalesced() == sparse.is_coalesced()
    assert copy.deepcopy(sparse).requires_grad


def test_a_file_with_indices_out_of_range_is_refused():
    bad = tl.sparse_coo_tensor([[7]], [1.0], (2,))
    file = io.BytesIO()
    tl.save(bad, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="size is inconsistent with indices"):
        tl.load(file)


def test_gradients_of_a_table_add_up_in_any_layout():
    embedding = tl.nn.Embedding(5, 2, sparse=True)
    embedding(tl.tensor([1, 1, 3])).sum().backward()
    gradient = embedding.weight.grad
    assert gradient.is_sparse
    assert gradient._indices().tolist() == [[1, 1, 3]]
    embedding(tl.tensor([0])).sum().backward()
    assert embedding.weight.grad.is_sparse
    assert embedding.weight.grad._nnz() == 4
    embedding.weight.sum().backward()
    assert not embedding.weight.grad.is_sparse
    assert_close(embedding.weight.grad, tl.tensor([[2.0, 2], [3, 3], [1, 1], [2, 2], [1, 1]]))
    embedding(tl.tensor([4])).sum().backward()
    assert embedding.weight.grad[4].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("shared", ["sparse first", "dense first"])
def test_one_backward_adds_sparse_and_dense_gradients(shared):
    table = tl.zeros(4, 2, requires_grad=True)
    looked_up = tl.nn.functional.embedding(tl.tensor([1, 2, 1]), table, sparse=True).sum()
    parts = [looked_up, (table * 3).sum()]
    (parts[0] + parts[1] if shared == "sparse first" else parts[1] + parts[0]).backward()
    assert_close(table.grad, tl.tensor([[3.0, 3], [5, 5], [4, 4], [3, 3]]))


@pytest.mark.parametrize("make", [
    lambda p: tl.optim.SGD(p, lr=0.1), lambda p: tl.optim.SGD(p, lr=0.1, momentum=0.9),
    lambda p: tl.optim.Adagrad(p, lr=0.1),
])  # fmt: skip
def test_optimizers_step_with_sparse_gradients_as_with_dense_ones(make):
    results = []
    for sparse in (True, False):
        tl.manual_seed(0)
        embedding = tl.nn.Embedding(5, 2, sparse=sparse)
        optimizer = make(embedding.parameters())
        for step in range(4):
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            (embedding(tl.tensor([1, 1, 3, step])) ** 2).sum().backward()
            optimizer.step()
        results.append(embedding.weight.detach())
    assert_close(*results)


def test_bags_have_sparse_gradients():
    bag = tl.nn.EmbeddingBag(4, 2, sparse=True, mode="mean")
    bag(tl.tensor([1, 1, 3]), tl.tensor([0, 2])).sum().backward()
    assert bag.weight.grad.is_sparse
    assert bag.weight.grad.to_dense().tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]
    with pytest.raises(ValueError, match="max mode"):
        tl.nn.EmbeddingBag(4, 2, sparse=True, mode="max")(tl.tensor([1]), tl.tensor([0]))


def test_functions_of_the_user_take_and_return_sparse_tensors():
    class Product(tl.autograd.Function):
        @staticmethod
        def forward(ctx, indices, values, dense):
            matrix = tl.sparse_coo_tensor(indices, values, (2, 2))
            ctx.save_for_backward(matrix, dense)
            return matrix @ dense

        @staticmethod
        def backward(ctx, grad):
            matrix, dense = ctx.saved_tensors
            assert matrix.is_sparse
            whole = grad @ dense.t()
            rows, columns = matrix._indices()
            return None, whole[rows, columns], matrix.t() @ grad

    values = tl.tensor([2.0, 3.0], requires_grad=True)
    dense = tl.ones(2, 2, requires_grad=True)
    Product.apply(tl.tensor([[0, 1], [1, 0]]), values, dense).sum().backward()
    assert values.grad.tolist() == [2.0, 2.0]
    assert dense.grad.tolist() == [[3.0, 3.0], [2.0, 2.0]]


def test_modules_keep_sparse_buffers_and_parameters():
    class Graph(tl.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("adjacency", tl.eye(2).to_sparse())
            self.weight = tl.nn.Parameter(tl.eye(2).to_sparse())

        def forward(self, x):
            return self.adjacency @ (self.weight @ x)

    graph = Graph()
    assert isinstance(graph.weight, tl.nn.Parameter)
    assert "weight" in dict(graph.named_parameters())
    graph(tl.ones(2, 1)).sum().backward()
    assert as_dense(graph.weight.grad).diagonal().tolist() == [1.0, 1.0]
    assert graph.double().adjacency.dtype == tl.float64


def test_autograd_grad_of_sparse_tensors():
    sparse = random_sparse((2, 3), duplicates=False, count=1).requires_grad_()
    product = sparse * 3
    (found,) = tl.autograd.grad(product.to_dense().sum(), sparse)
    assert found.is_sparse
    assert found.to_dense().sum() == 3
    start = tl.ones(2, 3, dtype=tl.float64)
    (found,) = tl.autograd.grad(sparse * 2, sparse, grad_outputs=start.sparse_mask(sparse))
    assert found.to_dense().sum() == 2


def test_a_freed_graph_and_a_changed_value_are_noticed():
    sparse = random_sparse((3, 4)).coalesce().requires_grad_()
    dense = tl.ones(4, 2, dtype=tl.float64, requires_grad=True)
    total = (sparse @ dense).sum()
    total.backward()
    with pytest.raises(RuntimeError, match="second time"):
        total.backward()
    weights = dense * 1
    total = (sparse @ weights).sum()
    weights.mul_(2)
    with pytest.raises(RuntimeError, match="inplace"):
        total.backward()


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "answered by the duck"


def test_other_types_are_asked():
    sparse = random_sparse((3, 4))
    for call in (lambda: sparse + Duck(), lambda: tl.mm(sparse, Duck()), lambda: tl.add(Duck(), sparse)):
        assert call() == "answered by the duck"

    class Sub(tl.Tensor):
        pass

    dense = tl.ones(4, 2, dtype=tl.float64).as_subclass(Sub)
    assert_close((sparse @ dense).as_subclass(tl.Tensor), sparse.to_dense() @ tl.ones(4, 2, dtype=tl.float64))


def test_modes_and_guards_see_sparse_tensors():
    seen = []

    class Watching(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    sparse = random_sparse((3, 4))
    with Watching():
        sparse * 2
    assert len(seen) == 1
    with tl.overrides.DisableTorchFunctionSubclass():
        assert_close((sparse * 2).to_dense(), sparse.to_dense() * 2)


def test_the_audit_asks_every_function():
    report = tl.overrides.audit(
        tl.sparse.tensor.SparseTensor, from_dense=lambda t: t.to_sparse(), to_dense=lambda s: s.to_dense(),
        only=["tensorlike.mul", "tensorlike.mm", "tensorlike.neg", "tensorlike.exp"],
    )  # fmt: skip
    answers = {(row.function, row.operand): row.outcome.label for row in report.rows}
    assert answers["tensorlike.exp", "input"] == "raised"
    for call in (("tensorlike.mul", "input"), ("tensorlike.mul", "other"), ("tensorlike.neg", "input")):
        assert answers[call] in ("own rule", "through a plain tensor"), answers
    assert not any(row.recursed for row in report.rows)


class Crafted:
    """Pickled as a sparse tensor of parts that do not fit."""

    def __init__(self, data, layout=None):
        self.data, self.layout = data, tl.sparse_coo if layout is None else layout

    def __reduce__(self):
        return _rebuild_sparse_tensor, (self.layout, self.data)


INDICES, VALUES = [[0, 1], [1, 0]], [1.0, 2.0]


@pytest.mark.parametrize(
    ("data", "layout"),
    [
        ((tl.tensor(INDICES), tl.tensor(VALUES), tl.Size((1, 1)), False), None),
        ((tl.tensor(INDICES) - 5, tl.tensor(VALUES), tl.Size((2, 2)), True), None),
        ((tl.tensor(INDICES), tl.tensor(VALUES), tl.Size((2,)), True), None),
        ((tl.tensor(INDICES), tl.ones(3), tl.Size((2, 2)), True), None),
        ((tl.tensor(INDICES), tl.tensor(VALUES), "size", True), None),
        ((tl.tensor(INDICES), tl.tensor(VALUES)), None),
        (3, None),
        ((tl.tensor(INDICES), tl.tensor(VALUES), tl.Size((2, 2)), "yes"), None),
        ((tl.tensor(INDICES), tl.tensor(VALUES), tl.Size((-1, 2)), True), None),
        ((tl.tensor(INDICES), tl.tensor(VALUES), (2**62, 2**62), True), None),
        ((tl.tensor(INDICES).flip(1), tl.tensor(VALUES), tl.Size((2, 2)), True), None),
        ((tl.tensor(INDICES), tl.tensor(VALUES), tl.Size((2, 2)), True), tl.strided),
    ],
)
def test_a_crafted_file_is_refused(data, layout):
    file = io.BytesIO()
    tl.save(Crafted(data, layout), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"sparse tensor|_rebuild_sparse_tensor"):
        tl.load(file)
