"""Tensors on memory that cannot be written: views, in-place operations, histories, copies, files, training.

Each program runs on the CPU too, whose results it must give. The memory is the strict stand-in's, and JAX's where that
is installed.
"""

from __future__ import annotations

import copy
import io
import pickle
import threading

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor import backends
from tensorlike.tensor.backends.opaque_array import OpaqueArray
from tests.helpers.opaque import JAX, immutable

NEEDS_JAX = pytest.mark.skipif(not JAX, reason="JAX is not installed")


@pytest.fixture(params=["immutable", pytest.param("jax", marks=NEEDS_JAX)])
def device(request):
    if request.param == "jax":
        yield "jax:0"
        return
    with immutable():
        yield "immutable:0"


def agree(program, device):
    """Run a program on the device and on the CPU; fail unless all tensors it returns are there, and equal."""
    found, expected = program(device), program("cpu")
    assert len(found) == len(expected)
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        if isinstance(other, tl.Tensor):
            assert str(one.device) == device, number
            assert (one.dtype, one.shape) == (other.dtype, other.shape), number
            np.testing.assert_allclose(one.detach().cpu().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)
        else:
            assert one == other, number
    return found


# ------------------------------------------------------------------------------------------------ views and their bases


def matrix(device, dtype=tl.float32):
    return tl.arange(12, device=device).reshape(3, 4).to(dtype).clone()


VIEWS = {
    "row": lambda x: x[1],
    "element": lambda x: x[1, 2],
    "columns": lambda x: x[:, 1:3],
    "steps": lambda x: x[::2, 1::2],
    "transposed": lambda x: x.t(),
    "reshaped": lambda x: x.view(2, 6),
    "flat": lambda x: x.reshape(-1)[3:9],
    "diagonal": lambda x: x.diagonal(1),
    "permuted": lambda x: x.unflatten(1, (2, 2)).permute(2, 0, 1),
    "of views": lambda x: x.t()[1:].t()[:, ::2].unsqueeze(0),
    "unbound": lambda x: x.unbind(1)[2],
    "split": lambda x: x.split(2, 1)[1],
    "windows": lambda x: x.unfold(1, 2, 2),
    "strided": lambda x: x.as_strided((2, 2), (5, 1), 1),
    "squeezed": lambda x: x[:, None].movedim(0, 2).squeeze(),
    "none": lambda x: x[:, 2:2],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
@pytest.mark.parametrize("dtype", [tl.float32, tl.int64, tl.bool, tl.complex64], ids=str)
def test_writing_through_a_view_changes_the_base_and_other_views(device, view, dtype):
    def program(where):
        x = matrix(where, dtype)
        others = [make(x) for make in VIEWS.values()]
        v = view(x)
        before = x._version
        v.fill_(1)
        v.copy_(tl.ones_like(v) if dtype is tl.bool else v + 5)
        x[0, 1:3] = 0
        assert v._base is x
        return [x, v, *others, x._version - before, v._version - before, v.storage_offset(), v.stride()]

    agree(program, device)


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_gradients_of_bases_after_writing_through_a_view(device, view):
    def program(where):
        leaf = matrix(where).requires_grad_()
        x = leaf * 2
        other = x.t()
        view(x).mul_(3)
        y = (other.exp().clamp(max=50) * x.t()).sum()
        (gradient,) = tl.autograd.grad(y, leaf, create_graph=True)
        gradient.pow(2).sum().backward()
        return [x, other, gradient, leaf.grad]

    if view is VIEWS["unbound"] or view is VIEWS["split"]:
        with pytest.raises(RuntimeError, match="returns multiple views"):
            program(device)
    else:
        agree(program, device)


def test_parts_of_complex_numbers_are_views(device):
    def program(where):
        z = tl.zeros(2, 2, dtype=tl.complex64, device=where)
        z.real.fill_(3)
        z.imag[0] = 1
        z[:, 1].real += 2
        tl.view_as_real(z)[1, 0, 1] = 7
        return [z, z.real, z.imag, tl.view_as_real(z)]

    agree(program, device)


def test_another_dtype_of_the_same_bytes(device):
    def program(where):
        x = tl.tensor([1.0, -2.0, 3.5], device=where)
        bits = x.view(tl.int32)
        bits[0] = 0
        x[2] = -1.0
        return [x, bits]

    agree(program, device)


def test_overlapping_values_are_read_before_they_are_written(device):
    def program(where):
        x = tl.arange(6.0, device=where)
        x[1:] = x[:-1].clone()
        y = tl.arange(6.0, device=where).flip(0)
        z = tl.arange(6.0, device=where)
        z += z.flip(0)
        return [x, y, z]

    agree(program, device)


def test_expanded_tensors_refuse_writes(device):
    x = tl.zeros(3, 1, device=device).expand(3, 4)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.add_(1)
    assert x.tolist() == [[0.0] * 4] * 3


def test_random_views_and_writes(device):
    """The program of a view of a view of a view, written at random, gives what NumPy's memory gives."""

    def program(where):
        random = np.random.default_rng(0)
        results = []
        for _ in range(25):
            base = tl.arange(24.0, device=where).reshape(2, 3, 4).clone()
            seen = [base]
            for _ in range(4):
                x = seen[random.integers(len(seen))]
                match random.integers(5):
                    case 0 if x.ndim:
                        x = x.permute(*random.permutation(x.ndim).tolist())
                    case 1 if x.ndim:
                        x = x.select(0, int(random.integers(x.shape[0])))
                    case 2 if x.ndim:
                        x = x[..., int(random.integers(x.shape[-1])) :: int(random.integers(1, 3))]
                    case 3 if x.ndim > 1:
                        x = x.diagonal()
                    case _:
                        x = x.unsqueeze(0)
                x.mul_(2)
                if x.ndim and x.shape[0]:
                    x[0] += 1
                seen.append(x)
            results += [x + 0 for x in seen]
        return results

    agree(program, device)


# ----------------------------------------------------------------------------------------------------- in-place, `out=`


def test_indices_that_are_tensors(device):
    def program(where):
        x = matrix(where)
        rows = tl.tensor([2, 0, 2], device=where)
        x[rows, tl.tensor([0, 1, 3], device=where)] = tl.tensor([-1.0, -2.0, -3.0], device=where)
        x[x > 9] = 0
        x[:, rows] *= 2
        x.index_add_(0, rows, tl.ones(3, 4, device=where))
        x.index_put_((rows,), tl.ones(3, 4, device=where), accumulate=True)
        return [x, x[rows], x[x > 1], x[-1, rows - 3], x.gather(1, rows[:, None]), x.masked_fill(x > 1, 0)]

    agree(program, device)
    x = matrix(device)
    for index in (3, -4):
        with pytest.raises(IndexError):
            x[tl.tensor([index], device=device)]
        with pytest.raises((IndexError, RuntimeError)):
            x.index_select(0, tl.tensor([index], device=device))


def test_out(device):
    def program(where):
        x, out = matrix(where), tl.zeros(3, 4, device=where)
        view = out[1]
        result = tl.exp(x, out=out)
        half = tl.zeros(4, 3, device=where).t()
        tl.add(x, 1, out=half)
        tl.matmul(x, x.t(), out=(small := tl.empty(0, device=where)))
        tl.sum(x, 0, out=(row := out[0]))
        return [result, view, half, small, row, out, result is out]

    agree(program, device)


def test_integers_at_their_limits(device):
    def program(where):
        x = tl.tensor([0, 3, -7, 64, 2**63 - 1, -(2**63)], device=where)
        n = tl.tensor([0, 5, 63, 64, 65, 100], device=where)
        small = x.to(tl.int32)
        wrapped = [x.abs(), x * x, small.to(tl.uint8), small.sum(), -x]
        return [x**n, x << n, x >> n, x // 7, x % -7, tl.fmod(x, 7), *wrapped]

    agree(program, device)
    x = tl.tensor([7], device=device)
    for divided in (lambda: x // 0, lambda: x % 0, lambda: tl.fmod(x, 0), lambda: x.floor_divide_(x - 7)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divided()


def test_zero_dimensions_and_no_elements(device):
    def program(where):
        zero, none = tl.tensor(2.0, device=where), tl.zeros(0, 3, device=where)
        zero.add_(1)
        zero[()] = zero * 2
        none += 1
        none[:, 0] = 5
        return [zero, none, none.sum(0), zero.view(1, 1), zero.item(), none.t().reshape(3, 0), tl.cat([none, none])]

    agree(program, device)


# ------------------------------------------------------------------------------------------------------------ histories


def test_a_saved_tensor_that_was_written_raises(device):
    w = tl.ones(3, device=device, requires_grad=True)
    a = w * 2
    y = a.exp()
    y[0] = 0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    b = w * 3
    c = b * b
    b[1:].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


def test_backward_twice_and_double_backward(device):
    def program(where):
        x = matrix(where).requires_grad_()
        y = (x.tanh() * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
        (first,) = tl.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = tl.autograd.grad(first.sum(), x)
        return [x.grad, first, second]

    agree(program, device)


def test_seeds_are_made_where_the_tensors_are(device):
    x = tl.ones(3, device=device, requires_grad=True)
    x.sum().backward()
    held = x.grad
    x.grad.zero_()
    x.sum().backward()
    assert x.grad is held
    assert str(held.device) == device
    (unused, used) = tl.autograd.grad(x.sum(), (tl.ones(2, device=device, requires_grad=True), x), allow_unused=True)
    assert unused is None
    assert str(used.device) == device
    with pytest.raises(RuntimeError, match="same device"):
        (x * 2).backward(tl.ones(3))


def test_functions_of_the_user(device):
    class Scaled(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x, elsewhere):
            ctx.save_for_backward(x)
            ctx.elsewhere = elsewhere
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return (tl.ones(3) if ctx.elsewhere else grad * x), None

    x = tl.arange(3.0, device=device).requires_grad_()
    Scaled.apply(x, False).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match=f"expected device {device} but got cpu"):
        Scaled.apply(x, True).sum().backward()
    assert tl.autograd.gradcheck(lambda v: (v * v).sin(), x.detach().double().requires_grad_())


def test_sparse_tensors(device):
    def program(where):
        x = matrix(where) * (matrix(where) > 5)
        return [x.to_sparse().to_dense(), x.to_sparse().coalesce().values()]

    agree(program, device)
    x = matrix(device).to_sparse()
    with pytest.raises(NotImplementedError, match="has no sparse matrices: move the tensors to the CPU"):
        tl.sparse.mm(x, matrix(device).t())


def test_threads_that_write_to_one_memory_lose_nothing(device):
    x = tl.zeros(8, 3, device=device)

    def count(row):
        for _ in range(20):
            x[row] += 1

    threads = [threading.Thread(target=count, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.tolist() == [[20.0] * 3] * 8


def test_leaves_that_require_grad_are_not_written(device):
    x = tl.ones(3, device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 2
    with tl.no_grad():
        x[0] = 2
    assert x.tolist() == [2.0, 1.0, 1.0]


# ------------------------------------------------------------------------------------------------- copies, files, texts


class Named(tl.Tensor):
    """A subclass with an attribute."""


def test_copies(device):
    x = matrix(device)
    v = x[1:].t()
    pair = copy.deepcopy([x, v])
    pair[0][1, 0] = 100
    assert pair[1][0, 0].item() == 100
    assert x[1, 0].item() == 4
    assert (pair[1].shape, pair[1].stride()) == (v.shape, v.stride())
    parameter = copy.deepcopy(tl.nn.Parameter(tl.ones(2, device=device)))
    assert isinstance(parameter, tl.nn.Parameter)
    assert str(parameter.device) == device
    assert copy.copy(x).tolist() == x.tolist()


@pytest.mark.parametrize("way", ["pickle", "file"])
def test_pickles_and_files(device, way):
    x = tl.nn.Parameter(matrix(device))
    v = matrix(device)[:, 1].as_subclass(Named)
    if way == "pickle":
        found = pickle.loads(pickle.dumps([x, v]))
    else:
        buffer = io.BytesIO()
        tl.save([x, v], buffer)
        buffer.seek(0)
        found = tl.load(buffer, weights_only=False)
    for before, after in zip([x, v], found, strict=True):
        assert type(after) is type(before)
        # Files are PyTorch's, which has no such devices: they hold what is on the CPU, as they do of a GPU.
        assert str(after.device) == (device if way == "pickle" else "cpu")
        assert after.tolist() == before.tolist()
    assert found[0].requires_grad


def test_texts(device):
    x = tl.tensor([[1.5, 2.0]], device=device, requires_grad=True)
    assert repr(x) == f"tensor([[1.5000, 2.0000]], device='{device}', requires_grad=True)"
    assert f"{x[0, 0].detach():.1f}" == "1.5"
    assert str(tl.zeros(0, device=device)) == f"tensor([], device='{device}')"


def test_subclasses(device):
    seen = []

    class Logged(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = matrix(device).as_subclass(Logged)
    y = x.t() + 1
    y[0] = 5
    assert type(y) is Logged
    assert str(y.device) == device
    assert {"t", "add", "__setitem__"} <= set(seen)


# ------------------------------------------------------------------------------------------------------------- training


OPTIMIZERS = {
    "SGD": lambda p: tl.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    "Adam": lambda p: tl.optim.Adam(p, lr=0.05),
    "AdamW": lambda p: tl.optim.AdamW(p, lr=0.05, amsgrad=True),
    "RMSprop": lambda p: tl.optim.RMSprop(p, lr=0.01, momentum=0.5),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=list(OPTIMIZERS))
def test_a_network_trains_as_on_the_cpu(device, optimizer):
    def program(where):
        tl.manual_seed(0)
        model = tl.nn.Sequential(
            tl.nn.Linear(4, 8), tl.nn.LayerNorm(8), tl.nn.GELU(), tl.nn.Linear(8, 3)
        )
        x, labels = tl.randn(16, 4), tl.arange(16) % 3
        model, x, labels = model.to(where), x.to(where), labels.to(where)
        steps = optimizer(model.parameters())
        losses = []
        tl.manual_seed(1)
        for _ in range(6):
            steps.zero_grad()
            loss = tl.nn.functional.cross_entropy(model(x), labels)
            loss.backward()
            tl.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            steps.step()
            losses.append(loss.detach())
        assert losses[-1] < losses[0]
        return [*losses, *model.parameters(), *(p.grad for p in model.parameters())]

    agree(program, device)


def test_modules_move(device):
    model = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.BatchNorm1d(3))
    parameters = list(model.parameters())
    moved = model.to(device)
    assert moved is model
    assert [id(p) for p in model.parameters()] == [id(p) for p in parameters]
    assert {str(t.device) for t in (*model.parameters(), *model.buffers())} == {device}
    model(tl.ones(4, 2, device=device)).sum().backward()
    state = model.state_dict()
    other = tl.nn.Sequential(tl.nn.Linear(2, 3), tl.nn.BatchNorm1d(3))
    other.load_state_dict(state)
    assert {str(p.device) for p in other.parameters()} == {"cpu"}
    assert {str(p.device) for p in model.cpu().parameters()} == {"cpu"}


def test_transforms(device):
    def program(where):
        x = matrix(where)
        return [
            tl.func.vmap(lambda row: row.softmax(0) @ row)(x),
            tl.func.grad(lambda v: (v.sin() * v).sum())(x),
            tl.func.jvp(lambda v: v.exp().sum(), (x / 10,), (tl.ones_like(x),))[1],
        ]

    agree(program, device)


def test_a_seed_gives_the_same_numbers_again(device):
    def program(where):
        tl.manual_seed(3)
        generator = tl.Generator(where).manual_seed(5)
        return [tl.rand(3, device=where, generator=generator), tl.empty(4, device=where).bernoulli_(0.5).shape]

    first, second = program(device), program(device)
    assert first[0].tolist() == second[0].tolist()


# ------------------------------------------------------------------------------------------------------------- refusals


def test_mixed_memory_raises_before_any_work(device):
    x, y = tl.zeros(3, device=device), tl.zeros(3)
    calls = {
        "add": lambda: x + y,
        "in place": lambda: x.add_(y),
        "in place on the CPU": lambda: y.add_(x),
        "matmul": lambda: x @ y,
        "cat": lambda: tl.cat([x, y]),
        "out": lambda: tl.exp(x, out=y),
        "where": lambda: tl.where(x > 0, x, y),
    }
    for name, call in calls.items():
        with pytest.raises(RuntimeError, match=r"Expected all tensors to be on the same device.* cpu"):
            pytest.fail(f"{name}: {call()}")
    assert (x.tolist(), y.tolist()) == ([0.0] * 3, [0.0] * 3)
    x[1:] = tl.tensor(2.0)  # numbers go with any device, as in PyTorch
    assert (x + tl.tensor(1.0)).tolist() == [1.0, 3.0, 3.0]


@NEEDS_JAX
def test_two_libraries_do_not_mix():
    with immutable():
        x, y = tl.zeros(2, device="immutable"), tl.zeros(2, device="jax")
        with pytest.raises(RuntimeError, match=r"same device.* immutable:0 and jax:0"):
            x + y
        with pytest.raises(RuntimeError, match="cannot be used together"):
            backends.namespace_of(x._tl_data).add(x._tl_data, y._tl_data)
        assert x.to("jax").add(y).device == y.device


def test_numpy_does_not_take_the_elements(device):
    x = tl.ones(3, device=device)
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        x.numpy()
    with pytest.raises(TypeError, match="Use Tensor.cpu"):
        np.asarray(x)
    with pytest.raises(TypeError, match="not converted to a NumPy array"):
        np.asarray(x._tl_data)
    with pytest.raises(TypeError, match="a NumPy array"):
        x._tl_data + np.ones(3)
    with pytest.raises(TypeError, match="a NumPy array cannot be written"):
        x._tl_data[...] = np.ones(3)
    with pytest.raises(TypeError, match="out must be"):
        backends.namespace_of(x._tl_data).exp(x._tl_data, out=np.ones(3, np.float32))
    host = x.cpu().numpy()
    host[0] = 5
    assert x.tolist() == [1.0] * 3


def test_memory_has_no_address(device):
    x = tl.ones(3, device=device)
    with pytest.raises(RuntimeError, match="has no address"):
        x.data_ptr()
    with pytest.raises(RuntimeError, match="has no address"):
        x.untyped_storage().data_ptr()
    with pytest.raises(RuntimeError, match="processes cannot share the memory"):
        x.share_memory_()
    assert x[1:].untyped_storage() is x.untyped_storage()
    assert not x.is_set_to(x.clone())


def test_devices_that_are_not_there(device):
    kind = device.partition(":")[0]
    with pytest.raises(RuntimeError, match=rf"invalid device ordinal: {kind}:7"):
        tl.ones(2, device=f"{kind}:7")
    with pytest.raises(RuntimeError, match=rf"invalid device ordinal: {kind}:7"):
        tl.ones(2).to(f"{kind}:7")


def test_the_native_core_leaves_such_arrays_to_python(device):
    """The core answers calls on NumPy arrays alone: it takes an `OpaqueArray` for none."""
    x = tl.ones(2, 3, device=device)
    assert type(x._tl_data) is not np.ndarray
    assert isinstance(x._tl_data, OpaqueArray)
    assert not hasattr(x._tl_data, "__array_interface__")
    w = tl.ones(2, 3, device=device, requires_grad=True)
    for result in (x + x, x * w, -x, x.sum(), x.t(), x[0], x.reshape(-1), x @ x.t(), w.exp(), x.mean(0), x.relu()):
        assert isinstance(result._tl_data, OpaqueArray)
    (x * w).sum().backward()
    assert isinstance(w.grad._tl_data, OpaqueArray)
    tl.optim.SGD([w], lr=0.5).step()
    assert isinstance(w._tl_data, OpaqueArray)
    assert w.tolist() == [[0.5] * 3] * 2


def test_an_unknown_device_keeps_its_words():
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .*meta device type at start of .*: tp"):
        tl.device("tp")
    with immutable():
        assert str(tl.device("immutable", 0)) == "immutable:0"
    with pytest.raises(RuntimeError, match="no backend makes arrays on device type 'immutable'"):
        tl.ones(2, device="immutable")


def test_the_library_sees_its_own_arrays():
    """What the user passes in is neither copied nor changed, and the tensor hands out the library's array."""
    with immutable() as memory:
        mine = memory.backend.library.asarray([1.0, 2.0])
        x = tl.as_tensor(mine)
        assert x._tl_data.library_array() is mine
        x.mul_(2)
        assert x.tolist() == [2.0, 4.0]
        assert memory.backend.to_numpy(mine).tolist() == [1.0, 2.0]
        assert tl.tensor(mine, dtype=tl.int64).tolist() == [1, 2]
        assert wrap(memory.backend.adopted(mine)).device == x.device
