"""Devices, backends, and the stand-in for CuPy that the tests of CUDA devices run on."""

from __future__ import annotations

import copy
import operator
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from tensorlike.tensor import backends
from tensorlike.tensor.device import as_device, cpu, device, meta
from tests.helpers import strict_cupy
from tests.helpers.stand_in import assert_same, to_device

ROOT = Path(__file__).parents[2]


@pytest.fixture
def no_cuda(monkeypatch):
    """A machine without CuPy, whatever is installed on this one."""
    monkeypatch.setattr(backends, "_cupy", [])
    monkeypatch.setitem(sys.modules, "cupy", None)


class TestDevice:
    @pytest.mark.parametrize(
        "args, text, representation",
        [
            (("cuda:1",), "cuda:1", "device(type='cuda', index=1)"),
            (("cuda", 1), "cuda:1", "device(type='cuda', index=1)"),
            (("cuda", np.int64(1)), "cuda:1", "device(type='cuda', index=1)"),
            (("cuda",), "cuda", "device(type='cuda')"),
            (("cuda", None), "cuda", "device(type='cuda')"),
            (("cuda:0",), "cuda:0", "device(type='cuda', index=0)"),
            (("cuda:127",), "cuda:127", "device(type='cuda', index=127)"),
            (("cpu",), "cpu", "device(type='cpu')"),
            (("cpu:3",), "cpu:3", "device(type='cpu', index=3)"),
            (("meta", 0), "meta:0", "device(type='meta', index=0)"),
        ],
    )
    def test_spelling(self, args, text, representation):
        made = device(*args)
        assert (str(made), repr(made)) == (text, representation)
        assert device(text) is made
        assert device(made) is made
        assert device(device=made) is made
        assert device(type=made.type, index=made.index) is made

    @pytest.mark.parametrize(
        "args, error, message",
        [
            (("foo",), RuntimeError, "device type at start of device string: foo"),
            (("CUDA",), RuntimeError, "device type at start of device string: CUDA"),
            (("mps:0",), RuntimeError, "device type at start of device string: mps"),
            (("",), RuntimeError, "Device string must not be empty"),
            ((" cuda",), RuntimeError, "Invalid device string: ' cuda'"),
            (("cuda:",), RuntimeError, "Invalid device string: 'cuda:'"),
            ((":1",), RuntimeError, "Invalid device string: ':1'"),
            (("cuda:-1",), RuntimeError, "Invalid device string: 'cuda:-1'"),
            (("cuda:01",), RuntimeError, "Invalid device string: 'cuda:01'"),
            (("cuda:1:2",), RuntimeError, "Invalid device string: 'cuda:1:2'"),
            (("cuda:1.5",), RuntimeError, "Invalid device string: 'cuda:1.5'"),
            (("cuda:²",), RuntimeError, "Invalid device string: 'cuda:²'"),
            (("cuda:128",), RuntimeError, "Could not parse device index '128' in device string 'cuda:128'"),
            (("cuda:" + "9" * 5000,), RuntimeError, "Could not parse device index"),
            (("cuda", -1), RuntimeError, "Device index must not be negative"),
            (("cuda", 128), RuntimeError, "Device index must be at most 127, got 128"),
            (("cuda:1", 1), RuntimeError, "type (string) must not include an index because index was passed"),
            (("cuda", "1"), TypeError, "device(): argument 'index' (position 2) must be int, not str"),
            (("cuda", 1.0), TypeError, "must be int, not float"),
            (("cuda", True), TypeError, "must be int, not bool"),
            ((cpu, 1), TypeError, "device(): argument 'type' (position 1) must be str, not device"),
            ((), TypeError, "device() received an invalid combination of arguments - got ()"),
            ((None,), TypeError, "got (NoneType), but expected one of"),
            ((1.5,), TypeError, "got (float), but expected one of"),
            ((True,), TypeError, "got (bool), but expected one of"),
            ((-1,), RuntimeError, "Device index must not be negative"),
        ],
    )
    def test_errors(self, args, error, message):
        with pytest.raises(error) as caught:
            device(*args)
        assert message in str(caught.value)

    def test_one_object_for_each(self):
        assert device("cuda:1") is device("cuda", 1)
        assert device("cuda:1") == device("cuda", 1)
        assert device("cuda") != device("cuda:0")
        assert device("cpu") is cpu
        assert device("meta") is meta
        assert device("cuda:0") != "cuda:0"
        assert len({device("cpu"), device("cpu"), device("cpu:0")}) == 2
        with pytest.raises(TypeError):
            operator.lt(cpu, meta)

    def test_one_object_for_all_threads(self):
        barrier = threading.Barrier(8)
        made = []

        def make():
            barrier.wait()
            made.append(device("cuda", 93))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {id(one) for one in made} == {id(device("cuda:93"))}

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle_and_copy(self, protocol):
        for one in (cpu, device("cuda"), device("cuda:1")):
            assert pickle.loads(pickle.dumps(one, protocol)) is one
            assert copy.copy(one) is one
            assert copy.deepcopy([one])[0] is one

    def test_immutable(self):
        with pytest.raises(AttributeError, match="attribute 'type' of 'tensorlike.device' objects is not writable"):
            cpu.type = "cuda"
        with pytest.raises(AttributeError, match="'tensorlike.device' object has no attribute 'other'"):
            cpu.other = 1
        with pytest.raises(AttributeError, match="not writable"):
            del cpu.index
        with pytest.raises(TypeError, match="not an acceptable base type"):
            type("Mine", (device,), {})

    def test_conflicting_arguments(self):
        with pytest.raises(TypeError, match="not both"):
            device("cpu", device="cuda")

    def test_bare_index(self, cuda):
        assert device(1) is device("cuda:1")
        assert device(device=np.int64(0)) is device("cuda:0")

    def test_bare_index_without_cuda(self, no_cuda):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            device(0)

    def test_as_device(self, cuda):
        assert as_device(cpu, "zeros") is cpu
        assert as_device("cuda:1", "zeros") is device("cuda", 1)
        assert as_device(1, "zeros") is device("cuda", 1)
        for wrong in (1.5, True, None, [0]):
            with pytest.raises(TypeError, match=r"zeros\(\): argument 'device' must be a tensorlike.device"):
                as_device(wrong, "zeros")


class TestRegistry:
    def test_importing_takes_neither_cupy_nor_scipy(self):
        code = (
            "import sys, tensorlike.tensor.backends\n"
            "print([name for name in ('cupy', 'scipy.special', 'scipy.linalg') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        assert done.stdout.strip() == "[]"

    def test_numpy(self):
        for array in (np.ones(3), np.float32(1), np.ones(2).view(type("Mine", (np.ndarray,), {}))):
            assert backends.namespace_of(array) is np
            assert backends.backend_of(array).name == "numpy"
            assert backends.device_of(array) is cpu
        backend = backends.backend_for(cpu)
        assert (backend.device_count(), backend.is_available(), backend.current_device()) == (1, True, cpu)
        backend.synchronize()
        array = np.asfortranarray(np.ones((2, 3)))
        for copied in (backend.copy(array), backend.from_host(array, cpu)):
            assert copied is not array
            assert copied.flags.f_contiguous
        assert backend.to_host(array) is array
        with backend.device_guard(cpu):
            assert backend.special is scipy.special
        assert backend.scipy_linalg.__name__ == "scipy.linalg"
        assert backend.linalg is np.linalg
        assert backend.fft is np.fft

    def test_the_stand_in(self, cuda):
        array = strict_cupy.cupy.asarray([1.0])
        assert backends.backend_of(array) is cuda
        assert backends.namespace_of(array) is cuda.namespace
        assert backends.device_of(array) is device("cuda:0")
        assert backends.backend_for(device("cuda:1")) is cuda
        assert backends.cuda_is_available()
        assert backends.cuda_device_count() == 2

    def test_unregistered_types_are_forgotten(self):
        strict_cupy.install()
        array = strict_cupy.cupy.asarray([1.0])
        assert backends.backend_of(array).name == "strict_cupy"
        strict_cupy.uninstall()
        with pytest.raises(TypeError, match="no backend for arrays of type strict_cupy.ndarray"):
            backends.backend_of(array)
        assert backends.namespace_of(np.ones(1)) is np

    def test_foreign_type(self):
        for foreign in ([1.0], "text", 1.0):
            with pytest.raises(TypeError, match="no backend for arrays of type builtins"):
                backends.namespace_of(foreign)

    def test_registering_twice(self, cuda):
        with pytest.raises(ValueError, match="call unregister_backend"):
            backends.register_backend(cuda, "strict_cupy")
        for builtin in ("numpy", "cupy"):
            with pytest.raises(ValueError, match="cannot be replaced"):
                backends.register_backend(cuda, builtin)
            with pytest.raises(KeyError, match="no backend was registered"):
                backends.unregister_backend(builtin)

    def test_cupy_is_missing(self, no_cuda):
        with pytest.raises(RuntimeError, match="CuPy is not installed") as caught:
            backends.backend_for(device("cuda"))
        assert 'pip install "tensorlike[cuda13]"' in str(caught.value)
        assert 'pip install "tensorlike[cuda12]"' in str(caught.value)
        assert not backends.cuda_is_available()
        assert backends.cuda_device_count() == 0

    def test_cupy_is_broken(self, no_cuda, monkeypatch):
        def fail(name):
            raise ImportError("libcudart.so.12: cannot open shared object file")

        monkeypatch.setattr(backends.importlib, "import_module", fail)
        with pytest.raises(RuntimeError, match=r"CuPy cannot be imported \(libcudart.so.12: cannot open"):
            backends.backend_for(device("cuda"))

    def test_cupy_is_imported_when_asked_for(self, no_cuda, monkeypatch):
        monkeypatch.setitem(sys.modules, "cupy", strict_cupy.cupy)
        backend = backends.backend_for(device("cuda"))
        assert backend.name == "cupy"
        assert backends.backend_for(device("cuda:1")) is backend

    def test_no_gpu(self):
        strict_cupy.install(device_count=0)
        try:
            assert not backends.cuda_is_available()
            with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
                backends.backend_for(device("cuda"))
        finally:
            strict_cupy.uninstall()

    def test_no_driver(self, cuda, monkeypatch):
        def fail():
            raise RuntimeError("cudaErrorInsufficientDriver")

        monkeypatch.setattr(strict_cupy.cupy.cuda.runtime, "getDeviceCount", fail)
        assert cuda.device_count() == 0
        assert not cuda.is_available()

    def test_index_too_large(self, cuda):
        with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal: cuda:2 .* the last is cuda:1"):
            backends.backend_for(device("cuda:2"))

    def test_type_without_backend(self):
        with pytest.raises(RuntimeError, match="no backend makes arrays on device type 'meta'"):
            backends.backend_for(meta)


class TestMoving:
    def test_there_and_back(self, cuda):
        host = np.arange(6, dtype=np.float32).reshape(2, 3)
        for index in (0, 1):
            there = backends.transfer(host, device("cuda", index))
            assert backends.device_of(there) is device("cuda", index)
            back = backends.transfer(there, cpu)
            np.testing.assert_array_equal(back, host, strict=True)
            assert not np.shares_memory(back, host)

    def test_nothing_to_do(self, cuda):
        host = np.ones(2)
        assert backends.transfer(host, cpu) is host
        there = backends.transfer(host, device("cuda"))
        assert backends.transfer(there, device("cuda")) is there
        assert backends.transfer(there, device("cuda:0")) is there

    def test_between_devices(self, cuda):
        first = backends.transfer(np.arange(12.0).reshape(3, 4), device("cuda:0"))
        for source in (first, first[:, ::2], first.T):
            second = backends.transfer(source, device("cuda:1"))
            assert backends.device_of(second) is device("cuda:1")
            np.testing.assert_array_equal(second.get(), source.get())
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            backends.transfer(first, device("cuda:5"))

    def test_no_index_means_the_current_device(self, cuda):
        there = backends.transfer(np.ones(2), device("cuda:0"))
        with cuda.device_guard(device("cuda:1")):
            assert cuda.current_device() is device("cuda:1")
            assert backends.device_of(backends.transfer(there, device("cuda"))) is device("cuda:1")
        assert cuda.current_device() is device("cuda:0")

    def test_copy(self, cuda):
        there = cuda.from_host(np.asfortranarray(np.ones((2, 3))), device("cuda:1"))
        copied = cuda.copy(there)
        assert backends.device_of(copied) is device("cuda:1")
        copied[...] = 2.0
        assert there.get().sum() == 6

    def test_synchronize(self, cuda):
        strict_cupy.synchronized.clear()
        cuda.synchronize()
        cuda.synchronize(device("cuda:1"))
        assert strict_cupy.synchronized == [0, 1]

    def test_same_device(self, cuda):
        host, scalar = np.ones(2), np.ones(())
        first, second = (backends.transfer(host, device("cuda", index)) for index in (0, 1))
        check = backends.check_same_device
        assert check([], "add") is cpu
        assert check([host, None, scalar], "add") is cpu
        assert check([None, first, first], "add") is device("cuda:0")
        assert check([scalar, second, scalar], "add", host_scalars=True) is device("cuda:1")
        assert check([scalar, host], "add", host_scalars=True) is cpu
        assert check([scalar], "add", host_scalars=True) is cpu
        words = "Expected all tensors to be on the same device, but found at least two devices, {}!"
        for arrays, pair, scalars in (
            ([host, first], "cpu and cuda:0", True),
            ([first, host], "cuda:0 and cpu", True),
            ([first, None, second], "cuda:0 and cuda:1", True),
            ([scalar, first], "cpu and cuda:0", False),
        ):
            with pytest.raises(RuntimeError) as caught:
                check(arrays, "add", host_scalars=scalars)
            assert words.format(pair) in str(caught.value)
            assert "add()" in str(caught.value)

    def test_promote_host_scalars(self, cuda):
        host, scalar = np.ones(2), np.full((), 3, np.int16)
        there = backends.transfer(host, device("cuda:1"))
        moved, same, none, left = backends.promote_host_scalars([scalar, there, None, host])
        assert same is there
        assert none is None
        assert left is host
        assert backends.device_of(moved) is device("cuda:1")
        np.testing.assert_array_equal(moved.get(), scalar, strict=True)
        assert backends.promote_host_scalars([scalar, None]) == [scalar, None]


class TestStridedView:
    @pytest.fixture(params=["numpy", "strict_cupy"])
    def move(self, request, cuda):
        return np.asarray if request.param == "numpy" else strict_cupy.cupy.asarray

    @pytest.mark.parametrize(
        "shape, offset, strides",
        [
            ((2, 3), 0, (8, 16)),
            ((3,), 40, (-16,)),
            ((4, 4), 0, (8, 8)),
            ((3, 2), 16, (0, 8)),
            ((), 32, ()),
            ((0, 5), 8, (800, 8)),
            ((2, 0), 48, (8, 8)),
            ((7,), 0, (8,)),
        ],
    )
    def test_geometry(self, move, shape, offset, strides):
        owner = move(np.arange(7.0))
        view = backends.strided_view(backends.namespace_of(owner), owner, shape, np.float64, offset, strides)
        expected = np.ndarray(shape, np.float64, np.arange(7.0), offset, strides)
        assert type(view) is type(owner)
        assert view.strides == strides
        np.testing.assert_array_equal(backends.transfer(view, cpu), expected, strict=True)

    def test_memory_is_shared_and_kept(self, move):
        owner = move(np.zeros(4, np.float32))
        view = backends.strided_view(backends.namespace_of(owner), owner, (2,), np.float32, 4, (8,))
        view[...] = 5.0
        assert backends.transfer(owner, cpu).tolist() == [0, 5, 0, 5]
        assert backends.data_pointer(view) == backends.data_pointer(owner) + 4
        assert backends.data_pointer(owner[2:]) == backends.data_pointer(owner) + 8
        nested = backends.strided_view(backends.namespace_of(view), owner, (4,), np.int32, 0, (4,))
        assert nested.dtype == np.int32
        del owner
        assert backends.transfer(view, cpu).tolist() == [5, 5]

    @pytest.mark.parametrize(
        "shape, offset, strides", [((8,), 0, (8,)), ((2,), 0, (-8,)), ((1,), 56, (8,)), ((1,), -8, (8,))]
    )
    def test_leaving_the_memory(self, move, shape, offset, strides):
        owner = move(np.arange(7.0))
        with pytest.raises(ValueError, match=r"strided_view\(\)|is incompatible|is too small|offset must be"):
            backends.strided_view(backends.namespace_of(owner), owner, shape, np.float64, offset, strides)

    def test_owner(self, move):
        matrix = np.arange(6.0).reshape(2, 3)
        fortran = move(np.arange(6.0)).reshape(3, 2).T
        view = backends.strided_view(backends.namespace_of(fortran), fortran, (6,), np.float64, 0, (8,))
        assert backends.transfer(view, cpu).tolist() == [0, 1, 2, 3, 4, 5]
        gaps = move(matrix)[:, ::2]
        with pytest.raises(ValueError, match="argument 'owner' must be contiguous"):
            backends.strided_view(backends.namespace_of(gaps), gaps, (2,), np.float64, 0, (8,))
        empty = move(np.empty((0, 3)))
        assert backends.strided_view(backends.namespace_of(empty), empty, (3, 0), np.float64, 0, (8, 8)).shape == (3, 0)

    def test_dtype_of_another_package(self):
        ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 comes from ml_dtypes")
        owner = np.arange(6, dtype=ml_dtypes.bfloat16)
        view = backends.strided_view(np, owner, (3,), owner.dtype, 2, (4,))
        view[0] = 9
        assert owner.astype(np.float32).tolist() == [0, 9, 2, 3, 4, 5]


class TestNamespace:
    """Each deviation against NumPy: the same call on both, the same answer."""

    X = np.random.default_rng(0).normal(size=(4, 5))
    MASK = X > 0
    Y = np.array([[3, 1, 2, 1], [0, 2, 2, 2], [5, 5, 1, 0]])
    CALLS = {
        "sum where": lambda xp, x, y, m: xp.sum(x, axis=1, where=m, initial=2.0),
        "sum keepdims": lambda xp, x, y, m: xp.sum(x, axis=0, keepdims=True, initial=1.0),
        "prod where": lambda xp, x, y, m: xp.prod(x, where=m, initial=3.0),
        "max initial": lambda xp, x, y, m: xp.max(x, axis=0, initial=0.5),
        "max where": lambda xp, x, y, m: xp.max(x, axis=0, initial=-9.0, where=m),
        "amin": lambda xp, x, y, m: xp.amin(x, axis=1, keepdims=True),
        "min of nothing": lambda xp, x, y, m: xp.min(x[:0], axis=0, initial=7.0),
        "all where": lambda xp, x, y, m: xp.all(x > 0, axis=0, where=m),
        "any where": lambda xp, x, y, m: xp.any(x > 0, axis=1, where=xp.logical_not(m)),
        "std": lambda xp, x, y, m: xp.std(x, axis=0, correction=1),
        "var": lambda xp, x, y, m: xp.var(x, keepdims=True, ddof=1),
        "count_nonzero": lambda xp, x, y, m: xp.count_nonzero(y, axis=1, keepdims=True),
        "where": lambda xp, x, y, m: xp.where(m, x, 0.0),
        "where with a bool": lambda xp, x, y, m: xp.where(True, x, 0.0),
        "where alone": lambda xp, x, y, m: xp.where(m),
        "clip": lambda xp, x, y, m: xp.clip(x, -0.5, 0.5),
        "clip below": lambda xp, x, y, m: xp.clip(x, min=-0.5),
        "clip above": lambda xp, x, y, m: xp.clip(x, None, x[0]),
        "clip not": lambda xp, x, y, m: xp.clip(y, None, None),
        "sort": lambda xp, x, y, m: xp.sort(x, axis=0, kind="stable"),
        "argsort": lambda xp, x, y, m: xp.argsort(y, axis=1, stable=True),
        "partition": lambda xp, x, y, m: xp.partition(y, 2, axis=1)[:, 2],
        "argpartition": lambda xp, x, y, m: xp.argpartition(y, 0, kind="introselect")[:1, 0],
        "lexsort": lambda xp, x, y, m: xp.lexsort((y[0], y[1], y[2])),
        "lexsort of matrices": lambda xp, x, y, m: xp.lexsort((y, y[::-1]), axis=0),
        "unique": lambda xp, x, y, m: xp.unique(y),
        "unique all": lambda xp, x, y, m: xp.unique(y, True, True, True),
        "unique inverse": lambda xp, x, y, m: xp.unique(y, return_inverse=True),
        "unique axis": lambda xp, x, y, m: xp.unique(y % 2, axis=1, return_inverse=True, return_counts=True),
        "isin": lambda xp, x, y, m: xp.isin(y, y[0], kind="sort"),
        "take": lambda xp, x, y, m: xp.take(x, y[0], axis=1),
        "take clip": lambda xp, x, y, m: xp.take(x, y + 3, axis=1, mode="clip"),
        "einsum": lambda xp, x, y, m: xp.einsum("ij,ik->jk", x, x, optimize=True),
        "indices": lambda xp, x, y, m: xp.indices((2, 3), sparse=True),
        "indices dense": lambda xp, x, y, m: xp.indices((2, 3)),
        "broadcast_to": lambda xp, x, y, m: xp.broadcast_to(x, (2, 4, 5), subok=True),
        "broadcast_arrays": lambda xp, x, y, m: xp.broadcast_arrays(x, x[:1]),
        "astype": lambda xp, x, y, m: xp.astype(x, np.float32, copy=False),
        "matrix_transpose": lambda xp, x, y, m: xp.matrix_transpose(x),
        "unstack": lambda xp, x, y, m: xp.unstack(x, axis=1),
        "cumulative_sum": lambda xp, x, y, m: xp.cumulative_sum(x, axis=1, include_initial=True),
        "cumulative_prod": lambda xp, x, y, m: xp.cumulative_prod(x, axis=0),
        "trapezoid": lambda xp, x, y, m: xp.trapezoid(x, dx=0.5, axis=0),
        "trapezoid of x": lambda xp, x, y, m: xp.trapezoid(x, x[0]),
        "vecdot": lambda xp, x, y, m: xp.vecdot(x + 1j, x - 2j, axis=0),
        "spacing": lambda xp, x, y, m: xp.spacing(x),
        "older names": lambda xp, x, y, m: xp.concat([xp.atan2(x, 2.0), xp.pow(x, 2), xp.asinh(x)]),
        "permute_dims": lambda xp, x, y, m: xp.permute_dims(x, (1, 0)),
        "bitwise": lambda xp, x, y, m: xp.bitwise_left_shift(xp.bitwise_invert(y), 2).astype(xp.bool),
        "as_strided": lambda xp, x, y, m: xp.lib.stride_tricks.as_strided(x, (3, 2), (8, 40), writeable=False),
        "windows": lambda xp, x, y, m: xp.lib.stride_tricks.sliding_window_view(x, 2, axis=1),
        "the host's": lambda xp, x, y, m: xp.nanquantile(x, 0.3, axis=0),
        "the host's list": lambda xp, x, y, m: xp.block([[x, x], [x, x]]),
        "ufunc where out": lambda xp, x, y, m: xp.add(x, 1.0, out=xp.zeros_like(x), where=m),
        "ufunc out": lambda xp, x, y, m: xp.add(x, 1.0, out=(xp.zeros_like(x),)),
        "add.reduce": lambda xp, x, y, m: xp.add.reduce(x),
        "maximum.reduce": lambda xp, x, y, m: xp.maximum.reduce(x, axis=None),
        "logical_and.reduce": lambda xp, x, y, m: xp.logical_and.reduce(m, axis=1, keepdims=True),
        "logaddexp.reduce": lambda xp, x, y, m: xp.logaddexp.reduce(x, axis=1, keepdims=True),
        "gcd.reduce": lambda xp, x, y, m: xp.gcd.reduce(y, axis=(0, 1)),
        "bitwise_xor.reduce": lambda xp, x, y, m: xp.bitwise_xor.reduce(y, axis=0, dtype=np.int32),
        "add.accumulate": lambda xp, x, y, m: xp.add.accumulate(x, axis=1),
        "maximum.accumulate": lambda xp, x, y, m: xp.maximum.accumulate(x, axis=1),
        "logaddexp.accumulate": lambda xp, x, y, m: xp.logaddexp.accumulate(x, axis=0),
        "lcm.accumulate": lambda xp, x, y, m: xp.lcm.accumulate(y + 1, axis=1),
        "cholesky": lambda xp, x, y, m: xp.linalg.cholesky(x @ x.T),
        "cholesky upper": lambda xp, x, y, m: xp.linalg.cholesky(x @ x.T, upper=True),
        "svdvals": lambda xp, x, y, m: xp.linalg.svdvals(x),
        "svd": lambda xp, x, y, m: xp.linalg.svd(x, hermitian=False)[1],
        "pinv": lambda xp, x, y, m: xp.linalg.pinv(x),
        "pinv batched": lambda xp, x, y, m: xp.linalg.pinv(xp.stack([x, x * 2]), rtol=0.5),
        "pinv cutoffs": lambda xp, x, y, m: xp.linalg.pinv(xp.stack([x, x]), rcond=xp.asarray([0.1, 0.5])),
        "pinv of nothing": lambda xp, x, y, m: xp.linalg.pinv(x[:0]),
        "matrix_rank": lambda xp, x, y, m: xp.linalg.matrix_rank(xp.stack([x, 0 * x])),
        "matrix_rank tol": lambda xp, x, y, m: xp.linalg.matrix_rank(x, 2.0),
        "matrix_rank rtol": lambda xp, x, y, m: xp.linalg.matrix_rank(x, rtol=0.5),
        "multi_dot": lambda xp, x, y, m: xp.linalg.multi_dot([x, x.T, x]),
        "linalg.vecdot": lambda xp, x, y, m: xp.linalg.vecdot(x, x),
        "linalg.outer": lambda xp, x, y, m: xp.linalg.outer(x[0], x[1]),
        "linalg.tensordot": lambda xp, x, y, m: xp.linalg.tensordot(x, x, axes=((0,), (0,))),
        "linalg.diagonal": lambda xp, x, y, m: xp.linalg.diagonal(x, offset=1),
        "linalg.trace": lambda xp, x, y, m: xp.linalg.trace(xp.stack([x, x])),
        "linalg.matmul": lambda xp, x, y, m: xp.linalg.matmul(x, xp.linalg.matrix_transpose(x)),
        "linalg.matrix_norm": lambda xp, x, y, m: xp.linalg.matrix_norm(x),
        "linalg.eig": lambda xp, x, y, m: xp.linalg.eigvals(x @ x.T),
        "linalg.solve": lambda xp, x, y, m: xp.linalg.solve(x[:4, :4], x),
        "fft": lambda xp, x, y, m: xp.fft.fft(x, axis=0),
    }  # fmt: skip

    @pytest.mark.parametrize("name", CALLS)
    def test_like_numpy(self, xp, name):
        call = self.CALLS[name]
        expected = call(np, self.X.copy(), self.Y.copy(), self.MASK.copy())
        expected = tuple(map(np.asarray, expected)) if isinstance(expected, tuple | list) else np.asarray(expected)
        assert_same(call(xp, *to_device((self.X, self.Y, self.MASK))), expected)

    @pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy has matvec and vecmat from version 2.2 on")
    def test_matvec(self, xp):
        x = to_device(self.X * 1j)
        assert_same(xp.matvec(x, x[0]), np.matvec(self.X * 1j, self.X[0] * 1j))
        assert_same(xp.vecmat(x[:, 0], x), np.vecmat(self.X[:, 0] * 1j, self.X * 1j))

    def test_out(self, xp):
        x = to_device(self.X)
        for call in (
            lambda out: xp.sum(x, axis=0, out=out),
            lambda out: xp.max(x, axis=0, out=out, initial=0.0),
            lambda out: xp.logaddexp.reduce(x, axis=0, out=out),
            lambda out: xp.einsum("ij->j", x, out=out),
            lambda out: xp.clip(x[0], 0.0, 1.0, out=out),
            lambda out: xp.clip(x[0], 0.0, None, out=out),
            lambda out: xp.nanquantile(x, 0.5, axis=0, out=out),
            lambda out: xp.add(x[0], 1.0, out=out, where=x[0] < 9),
            lambda out: xp.cumulative_sum(x[0], out=out),
            lambda out: xp.maximum.accumulate(x[0], out=out),
        ):
            out = xp.full((5,), -77.0)
            assert call(out) is out
            assert not (out.get() == -77.0).any()

    def test_where_keeps_what_it_masks(self, xp):
        out = to_device(np.arange(4.0))
        xp.multiply(out, 10.0, out=out, where=to_device(np.array([True, False, True, False])))
        assert out.get().tolist() == [0, 1, 20, 3]

    def test_errors_like_numpy(self, xp):
        x = to_device(self.X)
        with pytest.raises(ValueError, match="does not have an identity"):
            xp.max(x, where=x > 0)
        with pytest.raises(ValueError, match="zero-size array"):
            xp.logaddexp.reduce(x[:0])
        with pytest.raises(TypeError, match="cannot be used on a GPU"):
            xp.gcd.reduce(to_device(self.Y), where=True)
        for name in ("no_such_function", "seterr", "__wrapped__", "_private"):
            with pytest.raises(AttributeError):
                getattr(xp, name)
        with pytest.raises(AttributeError):
            xp.add._private  # copying a wrapper must not recurse

    def test_put_along_axis(self, xp):
        for axis in (0, 1, -1, None):
            host, there = self.X.copy(), to_device(self.X)
            indices = np.array([2, 0]) if axis is None else np.argmax(self.X, axis=axis, keepdims=True)
            np.put_along_axis(host, indices, -1.0, axis)
            xp.put_along_axis(there, to_device(indices), -1.0, axis)
            assert_same(there, host)
        # Not contiguous: a flattened copy would take the values, and the array would not.
        there = to_device(self.X).T
        xp.put_along_axis(there, to_device(np.array([1, 2])), 8.0, None)
        expected = self.X.T.copy()
        expected[0, 1:3] = 8.0
        assert_same(there, expected)

    def test_errstate_and_types(self, xp):
        with xp.errstate(all="ignore"), xp.errstate(divide="raise"):
            assert (xp.ones(2) / xp.zeros(2)).get().tolist() == [np.inf, np.inf]
        assert xp.float32 is np.float32
        assert xp.isdtype(np.dtype("f4"), "real floating")
        assert xp.pi == np.pi
        assert xp.lib.array_utils.normalize_axis_index(-1, 3) == 2
        assert isinstance(xp.ones(1), xp.ndarray)
        assert "add" in dir(xp)
        assert "unstack" in dir(xp)

    def test_looked_up_once(self, xp):
        assert xp.add is xp.add
        assert xp.exp.nin == 1
        assert xp.linalg.inv is xp.linalg.inv
        assert copy.copy(xp.add).__name__ == "add"

    @pytest.mark.parametrize("function", ["inv", "cholesky"])
    def test_failures_raise(self, xp, function):
        singular = to_device(np.zeros((2, 2)))
        with pytest.raises(np.linalg.LinAlgError):
            getattr(xp.linalg, function)(singular)
        # CuPy by itself would not say a word.
        assert np.isnan(getattr(strict_cupy.cupy.linalg, function)(singular).get()).all()


class TestScatter:
    INDICES = np.array([2, 0, 2, -1])
    DTYPES = [
        np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, np.float16,
        np.float32, np.float64, np.complex64, np.complex128,
    ]  # fmt: skip

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_scatter_add(self, cuda, dtype):
        values = np.array([1, 0, 1, 3]).astype(dtype)
        host = np.zeros(4, dtype)
        there = to_device(host)
        backends.scatter_add(host, self.INDICES, values)
        backends.scatter_add(there, to_device(self.INDICES), to_device(values))
        assert_same(there, host)
        backends.scatter_add(host, self.INDICES, dtype(1))
        backends.scatter_add(there, to_device(self.INDICES), dtype(1))
        assert_same(there, host)

    @pytest.mark.parametrize("dtype", [np.int64, np.uint8])
    def test_wraps_around(self, cuda, dtype):
        top = np.iinfo(dtype).max
        there = to_device(np.array([top, 5], dtype))
        backends.scatter_add(there, to_device(np.array([0, 0, 1])), to_device(np.array([1, 1, 2], dtype)))
        assert there.get().tolist() == [np.iinfo(dtype).min + 1, 7]

    def test_dtype_of_another_package(self, cuda):
        ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 comes from ml_dtypes")
        there = to_device(np.zeros(2, ml_dtypes.bfloat16))
        backends.scatter_add(there, to_device(np.array([1, 1])), to_device(np.array([0.5, 0.25], ml_dtypes.bfloat16)))
        assert there.get().astype(np.float32).tolist() == [0, 0.75]

    def test_several_axes_and_masks(self, cuda):
        for index in (
            (np.array([0, 0, 1]), np.array([1, 1, 2])),
            np.eye(2, 3, dtype=bool),
            (slice(None), np.array([0, 0])),
        ):
            for dtype in (np.int64, np.complex64):
                host = np.ones((2, 3), dtype)
                there = to_device(host)
                backends.scatter_add(host, index, dtype(2))
                backends.scatter_add(there, to_device(index), dtype(2))
                assert_same(there, host)

    def test_view(self, cuda):
        host = np.zeros((3, 4), np.int64)
        there = to_device(host)
        backends.scatter_add(host.T[::2], np.array([0, 0]), np.array([1, 2, 3]))
        backends.scatter_add(there.T[::2], to_device(np.array([0, 0])), to_device(np.array([1, 2, 3])))
        assert_same(there, host)

    @pytest.mark.parametrize(
        "name, dtype",
        [
            *((name, one) for name in ("multiply", "maximum", "subtract") for one in (np.int16, np.float32, np.int64)),
            ("minimum", np.float64),
            ("bitwise_or", np.int64),
            ("bitwise_or", np.int16),
            ("logaddexp", np.float32),
        ],
    )
    def test_at(self, xp, name, dtype):
        host = np.array([1, 2, 3, 4], dtype)
        there = to_device(host)
        values = np.array([3, 2, 5, 1], dtype)
        getattr(np, name).at(host, self.INDICES, values)
        getattr(xp, name).at(there, to_device(self.INDICES), to_device(values))
        assert_same(there, host)

    def test_unary_at(self, xp):
        there = to_device(np.array([1.0, 2.0, 3.0]))
        xp.negative.at(there, to_device(np.array([0, 2])))
        assert there.get().tolist() == [-1, 2, -3]
