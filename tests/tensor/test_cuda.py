"""CUDA devices through the public functions: on GPUs where there are any, else on the strict stand-in for CuPy.

What every operation computes there is in `test_cuda_ops`; the stand-in and the backends are in `test_backends`.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.tensor import backends
from tests.helpers.cuda import CUDA, TWO_DEVICES, same

ROOT = Path(__file__).parents[2]


FACTORIES = {
    "zeros": lambda **o: tl.zeros(2, 3, **o),
    "ones": lambda **o: tl.ones((2, 3), **o),
    "empty": lambda **o: tl.empty(2, 0, **o),
    "full": lambda **o: tl.full((2,), 7, **o),
    "full of a complex number": lambda **o: tl.full((2,), 1 + 2j, **o),
    "eye": lambda **o: tl.eye(2, 3, **o),
    "arange": lambda **o: tl.arange(5, **o),
    "arange of floats": lambda **o: tl.arange(0, 1, 0.25, **o),
    "linspace": lambda **o: tl.linspace(0, 1, 5, **o),
    "tril_indices": lambda **o: tl.tril_indices(3, 3, **o),
    "triu_indices": lambda **o: tl.triu_indices(3, 3, **o),
    "tensor": lambda **o: tl.tensor([[1, 2], [3, 4]], **o),
    "tensor of numbers": lambda **o: tl.tensor(2.5, **o),
    "tensor of an array": lambda **o: tl.tensor(np.arange(3.0), **o),
    "tensor of a list of tensors": lambda **o: tl.tensor([tl.tensor(1), tl.tensor(2)], **o),
    "as_tensor": lambda **o: tl.as_tensor([1.0, 2.0], **o),
    "as_tensor of an array": lambda **o: tl.as_tensor(np.arange(3), **o),
    "as_tensor of a tensor": lambda **o: tl.as_tensor(tl.arange(3), **o),
    "zeros_like": lambda **o: tl.zeros_like(tl.ones(2), **o),
    "full_like": lambda **o: tl.full_like(tl.ones(2), 3, **o),
    "new_zeros": lambda **o: tl.ones(2).new_zeros(3, **o),
    "new_tensor": lambda **o: tl.ones(2).new_tensor([3], **o),
}


class TestFactories:
    @pytest.mark.parametrize("name", FACTORIES)
    @pytest.mark.parametrize("device", ["cuda", "cuda:0", CUDA, 0], ids=repr)
    def test_device(self, gpu, name, device):
        same(FACTORIES[name](device=device), FACTORIES[name]())

    @pytest.mark.parametrize("name", FACTORIES)
    def test_device_that_is_not_current(self, gpu, second, name):
        same(FACTORIES[name](device="cuda:1"), FACTORIES[name](), second)
        with tl.cuda.device(1):
            same(FACTORIES[name](device="cuda"), FACTORIES[name](), second)

    @pytest.mark.parametrize("name", ["zeros", "ones", "full", "arange of floats", "linspace", "eye"])
    def test_requires_grad_and_out(self, gpu, name):
        assert FACTORIES[name](device="cuda", dtype=tl.float32, requires_grad=True).requires_grad
        out = tl.empty(0, dtype=FACTORIES[name]().dtype, device="cuda")
        assert FACTORIES[name](out=out) is out
        same(out, FACTORIES[name]())

    def test_legacy_constructors_are_of_one_device(self, gpu):
        for make, device in ((tl.Tensor, "cuda"), (tl.FloatTensor, "cuda"), (tl.cuda.FloatTensor, "cpu")):
            with pytest.raises(RuntimeError, match="legacy constructor expects device type"):
                make([1.0, 2.0], device=device)
        same(tl.cuda.FloatTensor([1.0, 2.0]), tl.tensor([1.0, 2.0]))
        same(tl.ones(2, device="cuda").new([1.0, 2.0]), tl.tensor([1.0, 2.0]))
        same(tl.ones(2).type("torch.cuda.DoubleTensor"), tl.ones(2, dtype=tl.float64))
        assert isinstance(tl.ones(2, device="cuda"), tl.cuda.FloatTensor)
        assert not isinstance(tl.ones(2, device="cuda"), tl.FloatTensor)

    def test_like_and_new_stay(self, gpu):
        x = tl.ones(2, 3, device="cuda")
        for made in (
            tl.zeros_like(x), tl.ones_like(x), tl.empty_like(x), tl.full_like(x, 2), tl.rand_like(x), tl.randn_like(x),
            tl.randint_like(x, 5), x.new_zeros(2), x.new_ones(2), x.new_empty(2), x.new_full((2,), 3),
            x.new_tensor([1, 2]), tl.as_tensor(x, dtype=tl.float64), x.clone(), x.detach(),
        ):  # fmt: skip
            assert made.device == CUDA
        assert tl.as_tensor(x) is x
        assert tl.zeros_like(x, device="cpu").device == tl.device("cpu")
        with pytest.warns(UserWarning, match="recommended to use sourceTensor"):
            assert tl.tensor(x).device == CUDA
        with pytest.warns(UserWarning, match="recommended to use sourceTensor"):
            assert tl.tensor(x, device="cpu").device == tl.device("cpu")

    def test_raw_arrays_of_the_library(self, gpu):
        raw = gpu.backend.from_host(np.arange(3.0), CUDA)
        shared, copied = tl.as_tensor(raw), tl.tensor(raw)
        shared += 1
        same(shared, tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64))
        same(copied, tl.tensor([0.0, 1.0, 2.0], dtype=tl.float64))
        same(tl.tensor(raw, dtype=tl.float32), tl.tensor([1.0, 2.0, 3.0]))
        assert tl.as_tensor(raw, device="cpu").tolist() == [1, 2, 3]

    def test_lists_of_tensors(self, gpu):
        same(tl.tensor([tl.tensor(1.0, device="cuda"), tl.tensor(2.0)], device="cuda"), tl.tensor([1.0, 2.0]))


class TestMoving:
    def test_to(self, gpu):
        x = tl.tensor([[1.5, -2.0]])
        other = tl.zeros(1, device="cuda")
        for moved in (x.to("cuda"), x.to("cuda:0"), x.to(CUDA), x.to(0), x.to(device="cuda"), x.to(other),
                      x.to(tensor=other), x.type_as(other), x.cuda(), x.cuda(0), x.cuda("cuda:0")):  # fmt: skip
            same(moved, x)
        y = x.to("cuda")
        assert y.to("cuda") is y
        assert y.cuda() is y
        assert y.to(y) is y
        assert y.to("cuda", copy=True) is not y
        for back in (y.cpu(), y.to("cpu"), y.to(x), y.to(device=tl.device("cpu"))):
            assert back.device == tl.device("cpu")
            assert back.tolist() == x.tolist()
        same(x.to("cuda", tl.int64), tl.tensor([[1, -2]]))
        same(y.to(tl.float64), x.double())
        assert x.device == tl.device("cpu")

    def test_attributes(self, gpu):
        x = tl.ones(2, device="cuda")
        assert x.is_cuda
        assert not x.is_cpu
        assert x.get_device() == 0
        assert x.type() == "tensorlike.cuda.FloatTensor"
        assert tl.ones(2).get_device() == -1
        assert (x.shape, x.dtype, x.stride(), x.numel()) == ((2,), tl.float32, (1,), 2)

    def test_between_gpus(self, gpu, second):
        x = tl.tensor([1.0, 2.0], device="cuda:0", requires_grad=True)
        y = x.to("cuda:1")
        same(y, x.cpu(), second)
        (y * 3).sum().backward()
        same(x.grad, tl.tensor([3.0, 3.0]))
        same(y.cuda(), x.cpu())
        with tl.cuda.device(1):
            assert x.cuda().device == second
            assert y.cuda() is y

    def test_gradient_comes_back(self, gpu):
        x = tl.tensor([1.0, 2.0], requires_grad=True)
        moved = x.cuda()
        with tl.no_grad():
            x *= 10  # the move saved nothing that this could spoil
        (moved * moved).sum().backward()
        assert x.grad.device == tl.device("cpu")
        assert x.grad.tolist() == [2, 4]

    def test_what_is_no_gpu(self, gpu):
        with pytest.raises(RuntimeError, match=r"Invalid device, must be cuda device: cuda\(\) got cpu"):
            tl.ones(2).cuda("cpu")
        with pytest.raises(RuntimeError, match="invalid device ordinal: cuda:99 was asked for"):
            tl.ones(2).to("cuda:99")


class TestOut:
    """To Python, to NumPy, as text."""

    def test_printing(self, gpu):
        x = tl.tensor([[1.0, 2.5], [3.0, 4.0]], device="cuda")
        assert repr(x) == "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]], device='cuda:0')"
        assert str(tl.tensor([True], device="cuda")) == "tensor([True], device='cuda:0')"
        x.requires_grad_()
        assert repr(x[0]) == "tensor([1.0000, 2.5000], device='cuda:0', grad_fn=<SelectBackward0>)"
        assert repr(tl.nn.Parameter(x.detach()[0])) == (
            "Parameter containing:\ntensor([1.0000, 2.5000], device='cuda:0', requires_grad=True)"
        )
        assert f"{tl.tensor(2.5, device='cuda'):.2f}" == "2.50"

    def test_numpy_is_refused(self, gpu):
        x = tl.ones(2, device="cuda")
        words = (
            r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy the tensor to host memory "
            "first."
        )
        for convert in (lambda: x.numpy(), lambda: np.asarray(x), lambda: np.array([x, x]), lambda: np.sin(x)):
            with pytest.raises(TypeError, match=words):
                convert()
        assert x.numpy(force=True).tolist() == [1, 1]
        assert x.requires_grad_().numpy(force=True).tolist() == [1, 1]

    def test_python(self, gpu):
        x = tl.tensor([[1.0, 2.0]], device="cuda")
        assert x.tolist() == [[1, 2]]
        assert tl.tensor(2.5, device="cuda").tolist() == 2.5
        assert x[0, 1].item() == 2
        assert float(x[0, 0]) == 1
        assert int(x[0, 1]) == 2
        assert complex(x[0, 1]) == 2
        assert bool(x[0, 0])
        assert [10, 20, 30][tl.tensor(1, device="cuda")] == 20
        assert len(x) == 1
        assert [row.device for row in x] == [CUDA]
        assert 2.0 in x
        assert not x[x > 5].tolist()
        with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
            x.item()

    @pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
    def test_copies_and_pickles(self, gpu, device):
        if gpu.count < 2 and device == "cuda:1":
            pytest.skip("this machine has one GPU")
        x = tl.tensor([1.0, 2.0], device=device, requires_grad=True)
        x.grad = tl.ones(2, device=device)
        for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.copy(x)):
            same(copied, x.cpu(), tl.device(device))
            assert copied.requires_grad
            assert copied is not x
        assert copy.deepcopy(x).grad.device == tl.device(device)
        with tl.no_grad():
            copy.deepcopy(x).add_(5)
        assert x.tolist() == [1, 2]


class TestMixing:
    @pytest.mark.parametrize(
        "call",
        [
            lambda a, b: a + b,
            lambda a, b: tl.mul(a, b),
            lambda a, b: a < b,
            lambda a, b: a @ b,
            lambda a, b: tl.cat([a, b]),
            lambda a, b: tl.stack([a, b]),
            lambda a, b: tl.where(a > 0, a, b),
            lambda a, b: tl.add(a, a, out=b),
            lambda a, b: a.add_(b),
            lambda a, b: a.masked_fill(b > 0, 0.0),
            lambda a, b: tl.nn.functional.linear(a, b),
            lambda a, b: tl.nn.functional.mse_loss(a, b),
            lambda a, b: tl.addmm(a, a, b),
        ],
    )
    def test_refused_naming_both(self, gpu, call):
        a, b = tl.ones(2, 2, device="cuda"), tl.ones(2, 2)
        with pytest.raises(RuntimeError, match=TWO_DEVICES) as caught:
            call(a, b)
        assert "cuda:0" in str(caught.value)
        assert "cpu" in str(caught.value)
        with pytest.raises(RuntimeError, match=TWO_DEVICES):
            call(b, a)
        assert b.tolist() == [[1, 1], [1, 1]]

    def test_two_gpus(self, gpu, second):
        with pytest.raises(RuntimeError, match=TWO_DEVICES + "cuda:0 and cuda:1!"):
            tl.ones(2, device="cuda:0") + tl.ones(2, device="cuda:1")
        with pytest.raises(RuntimeError, match=TWO_DEVICES):
            tl.tensor(1.0, device="cuda:0") * tl.ones(2, device="cuda:1")

    def test_numbers_of_the_cpu_may_mix(self, gpu):
        """Zero-dimensional tensors of the CPU, in what is pointwise."""
        x, number = tl.tensor([1.0, 2.0], device="cuda"), tl.tensor(3.0)
        same(x + number, tl.tensor([4.0, 5.0]))
        same(number - x, tl.tensor([2.0, 1.0]))
        same(x < number, tl.tensor([True, True]))
        same(tl.where(x > 1, x, number), tl.tensor([3.0, 2.0]))
        same(tl.lerp(x, x, number), tl.tensor([1.0, 2.0]))
        same(x.clone().mul_(number), tl.tensor([3.0, 6.0]))
        same(tl.tensor([1, 2], device="cuda") * number, tl.tensor([3.0, 6.0]))
        assert number.device == tl.device("cpu")
        with pytest.raises(RuntimeError, match=TWO_DEVICES):
            number.add_(tl.tensor(1.0, device="cuda"))
        with pytest.raises(RuntimeError, match=TWO_DEVICES):
            tl.matmul(x, number.reshape(1))

    def test_gradients_of_numbers_of_the_cpu(self, gpu):
        x = tl.tensor([1.0, 2.0], device="cuda", requires_grad=True)
        number = tl.tensor(3.0, requires_grad=True)
        (x * number).sum().backward()
        same(x.grad, tl.tensor([3.0, 3.0]))
        assert number.grad.device == tl.device("cpu")
        assert number.grad.item() == 3


class TestMemory:
    """Writing in place, views, indices."""

    def test_in_place(self, gpu):
        x = tl.ones(2, 3, device="cuda")
        before = x.data_ptr()
        x += 1
        x.mul_(3).sub_(tl.ones(3, device="cuda"))
        x.clamp_(max=4).neg_().zero_().fill_(2.0)
        assert x.data_ptr() == before
        assert x._version == 7
        same(x, tl.full((2, 3), 2.0))
        out = tl.empty(2, 3, device="cuda")
        assert tl.add(x, 1, out=out) is out
        same(out, tl.full((2, 3), 3.0))

    def test_views_share_memory(self, gpu):
        x = tl.arange(6.0, device="cuda").reshape(2, 3)
        host = tl.arange(6.0).reshape(2, 3)
        for view in (
            lambda t: t[1], lambda t: t[:, ::2], lambda t: t.T, lambda t: t.view(3, 2), lambda t: t.unsqueeze(0),
            lambda t: t.expand(4, 2, 3), lambda t: t.diagonal(), lambda t: t.narrow(1, 1, 2),
            lambda t: t.split(2, 1)[0], lambda t: t.unfold(1, 2, 1), lambda t: t.as_strided((2, 2), (1, 2)),
            lambda t: t[None, ..., 0], lambda t: t.real, lambda t: t.detach(), lambda t: t.flatten(),
            lambda t: t.movedim(0, 1),
        ):  # fmt: skip
            seen, expected = view(x), view(host)
            same(seen, expected)
            assert seen.stride() == expected.stride()
            assert seen.data_ptr() - x.data_ptr() == expected.data_ptr() - host.data_ptr()
        x[1].fill_(9)
        same(x.T[2], tl.tensor([2.0, 9.0]))
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single"):
            tl.ones(1, device="cuda").expand(3).add_(1)

    INDICES = {
        "an integer": 0,
        "negative": -1,
        "a slice": slice(None, None, 2),
        "a tuple": (slice(None), 1),
        "an ellipsis": (..., 0),
        "None": (None, 1),
        "a list": [2, 0],
        "an array": np.array([1, 1]),
        "a tensor of the CPU": tl.tensor([2, 0]),
        "a tensor and a slice": (slice(1, None), tl.tensor([2, 0])),
        "two tensors": (tl.tensor([[0], [2]]), tl.tensor([1, 3])),
        "a mask": tl.arange(12).reshape(3, 4) % 3 == 0,
        "a mask of rows": tl.tensor([True, False, True]),
        "a number as a tensor": tl.tensor(1),
        "true": True,
    }

    @pytest.mark.parametrize("name", INDICES)
    @pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
    def test_indices(self, gpu, name, device):
        if gpu.count < 2 and device == "cuda:1":
            pytest.skip("this machine has one GPU")
        where, index = tl.device(device), self.INDICES[name]
        x, host = tl.arange(12.0, device=where).reshape(3, 4), tl.arange(12.0).reshape(3, 4)
        same(x[index], host[index], where)
        same(x[gpu.moved(index, device)], host[index], where)
        for value in (7, tl.tensor(8.0), tl.full(host[index].shape, 9.0)):
            host[index] = value
            x[index] = value
            same(x, host, where)
            x[gpu.moved(index, device)] = gpu.moved(value, device)
            same(x, host, where)

    def test_bad_indices(self, gpu):
        x = tl.zeros(3, device="cuda")
        with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
            x[5]
        with pytest.raises(IndexError, match="too many indices"):
            x[0, 0]
        with pytest.raises(TypeError, match="ndarray"):
            x[0] = np.ones(1)


class TestTheModule:
    def test_devices(self, gpu):
        assert tl.cuda.is_available()
        assert tl.cuda.device_count() == gpu.count
        assert tl.cuda.current_device() == 0
        assert tl.cuda.get_device_name()
        assert tl.cuda.get_device_name("cuda:0") == tl.cuda.get_device_name(0) == tl.cuda.get_device_name()
        tl.cuda.synchronize()
        tl.cuda.synchronize("cuda:0")
        tl.cuda.empty_cache()
        with tl.cuda.device(None):
            assert tl.cuda.current_device() == 0
        for function in (tl.cuda.synchronize, tl.cuda.set_device, tl.cuda.get_device_name, tl.cuda.device):
            with pytest.raises(ValueError, match=r"\w+\(\): Expected a cuda device, but got: cpu"):
                function("cpu")
            with pytest.raises(RuntimeError, match="invalid device ordinal: cuda:99"):
                function(99)

    def test_the_current_device(self, gpu, second):
        with tl.cuda.device(1):
            assert tl.cuda.current_device() == 1
            assert tl.ones(2, device="cuda").device == second
            with tl.cuda.device("cuda:0"):
                assert tl.cuda.current_device() == 0
            assert tl.cuda.current_device() == 1
        assert tl.cuda.current_device() == 0
        try:
            tl.cuda.set_device(1)
            assert tl.ones(2, device="cuda").device == second
        finally:
            tl.cuda.set_device(0)
        # What works on tensors of another device leaves the current one alone, whether it succeeds or not.
        x = tl.ones(2, device=second)
        (x + 1).sum()
        with pytest.raises(RuntimeError):
            x.reshape(3)
        with pytest.raises(RuntimeError):
            x + tl.ones(3, device=second)
        assert tl.cuda.current_device() == 0

    def test_seeds(self, gpu):
        for seed in (tl.cuda.manual_seed, tl.cuda.manual_seed_all, tl.manual_seed):
            seed(11)
            first = tl.rand(3, device="cuda")
            seed(11)
            same(tl.rand(3, device="cuda"), first.cpu())
        before = tl.get_rng_state()
        tl.cuda.manual_seed(12)
        assert (tl.get_rng_state() == before).all()

    def test_states(self, gpu):
        states, state = tl.cuda.get_rng_state_all(), tl.cuda.get_rng_state()
        assert len(states) == tl.cuda.device_count()
        first = tl.rand(3, device="cuda").cpu()
        tl.cuda.set_rng_state(state)
        same(tl.rand(3, device="cuda"), first)
        second = tl.rand(3, device="cuda").cpu()
        tl.cuda.set_rng_state_all(states)
        assert not (tl.rand(3, device="cuda").cpu() == second).all()


class TestWithoutAGpu:
    @pytest.fixture
    def no_cupy(self, monkeypatch):
        monkeypatch.setattr(backends, "_cupy", [])
        monkeypatch.setitem(sys.modules, "cupy", None)

    ASKING = {
        "a factory": lambda: tl.zeros(2, device="cuda"),
        "tensor": lambda: tl.tensor([1.0], device="cuda:0"),
        "to": lambda: tl.ones(2).to("cuda"),
        "cuda": lambda: tl.ones(2).cuda(0),
        "a module": lambda: tl.nn.Linear(2, 2).cuda(),
        "a generator": lambda: tl.Generator(device="cuda"),
        "random numbers": lambda: tl.rand(2, device="cuda"),
        "current_device": lambda: tl.cuda.current_device(),
        "set_device": lambda: tl.cuda.set_device(0),
        "get_device_name": lambda: tl.cuda.get_device_name(),
        "synchronize": lambda: tl.cuda.synchronize(),
        "get_rng_state": lambda: tl.cuda.get_rng_state(),
        "set_rng_state": lambda: tl.cuda.set_rng_state(tl.get_rng_state(), 0),
    }

    @pytest.mark.parametrize("name", ASKING)
    def test_without_cupy(self, no_cupy, name):
        words = r'CUDA tensors need CuPy, and CuPy is not installed.*pip install "tensorlike\[cuda13\]".*cuda12'
        with pytest.raises(RuntimeError, match=words):
            self.ASKING[name]()

    def test_without_cupy_nothing_else_fails(self, no_cupy):
        assert not tl.cuda.is_available()
        assert tl.cuda.device_count() == 0
        tl.cuda.manual_seed(0)
        tl.cuda.manual_seed_all(0)
        tl.cuda.empty_cache()
        assert tl.cuda.get_rng_state_all() == []
        tl.cuda.set_rng_state_all([])
        assert not tl.ones(2).is_cuda

    @pytest.mark.parametrize("name", ASKING)
    def test_without_a_driver(self, name):
        from tests.helpers import strict_cupy

        strict_cupy.install(device_count=0)
        try:
            assert not tl.cuda.is_available()
            with pytest.raises(RuntimeError, match="No CUDA GPUs are available: cuda.*CuPy is installed"):
                self.ASKING[name]()
        finally:
            strict_cupy.uninstall()

    def test_importing_asks_for_no_gpu(self):
        code = (
            "import sys, tensorlike as tl; tl.ones(2) + 1; tl.device('cuda'); tl.cuda; tl.nn; tl.optim; tl.random\n"
            "print([name for name in sys.modules if name.startswith('cupy')], 'tensorlike.cuda' in sys.modules)\n"
        )
        result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert result.stdout.split("\n")[0] == "[] True"
