"""Files of PyTorch, in both of its formats, read by `load`; errors where PyTorch raises them too."""

from __future__ import annotations

import io
import pickle
import warnings
from collections import Counter, OrderedDict

import numpy as np
import pytest
import torch

import tensorlike as tl

FORMATS = [pytest.param(True, id="zip"), pytest.param(False, id="first format")]

DTYPES = (
    "float64", "float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint64",
    "uint32", "uint16", "uint8", "bool",
)  # fmt: skip


def written(value, zipped):
    file = io.BytesIO()
    with warnings.catch_warnings():
        # PyTorch warns of its own deprecated storages, and of sparse tensors.
        warnings.simplefilter("ignore")
        torch.save(value, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return file


def again(value, zipped, **options):
    return tl.load(written(value, zipped), **options)


def same(found, wanted):
    assert tuple(found.shape) == tuple(wanted.shape)
    assert found.stride() == wanted.stride()
    assert found.storage_offset() == wanted.storage_offset()
    assert found.requires_grad == wanted.requires_grad
    assert repr(found.dtype).partition(".")[2] == repr(wanted.dtype).partition(".")[2]
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_and_places(name, zipped):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 comes from ml_dtypes")
    x = (torch.arange(24) % 5).to(getattr(torch, name)).view(4, 6)
    views = [x, x.t(), x[1:, ::2], x[:0], x[2, 3], x[:1].expand(3, 6), x.new_zeros(0), x.new_zeros(2, 0, 3)]
    found = again(views, zipped)
    for one, other in zip(found, views, strict=True):
        same(one, other)
    assert found[0].untyped_storage() is found[1].untyped_storage()
    found[0][2, 3] = 1
    assert found[4].item() == 1


@pytest.mark.parametrize("zipped", FORMATS)
def test_models_and_optimizers(zipped):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.rand(5, 3)).sum().backward()
    optimizer.step()
    state, moments = again([model.state_dict(), optimizer.state_dict()], zipped)
    assert type(state) is OrderedDict
    assert state._metadata == model.state_dict()._metadata
    assert list(state) == list(model.state_dict())
    for name, tensor in model.state_dict().items():
        same(state[name], tensor)
    assert moments["param_groups"] == optimizer.state_dict()["param_groups"]
    for key, tensors in optimizer.state_dict()["state"].items():
        for name, tensor in tensors.items():
            same(moments["state"][key][name], tensor)
    mine = tl.nn.Sequential(tl.nn.Linear(3, 4), tl.nn.BatchNorm1d(4), tl.nn.Linear(4, 2))
    mine.load_state_dict(state)
    x = np.random.default_rng(0).random((5, 3), dtype="f4")
    wanted = model.eval()(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(mine.eval()(tl.from_numpy(x)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("zipped", FORMATS)
def test_parameters_buffers_and_what_lies_beside_them(zipped):
    parameter = torch.nn.Parameter(torch.ones(2))
    noted = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    noted.note = {"unit": "kg"}
    buffer = torch.nn.Buffer(torch.ones(1))
    leaf = torch.ones(2, requires_grad=True)
    found = again([parameter, noted, buffer, leaf, leaf * 2], zipped)
    assert [type(item) for item in found] == [tl.nn.Parameter, tl.nn.Parameter, tl.Tensor, tl.Tensor, tl.Tensor]
    assert [item.requires_grad for item in found] == [True, False, False, True, True]
    assert found[1].note == {"unit": "kg"}
    assert found[2].persistent
    assert found[4].is_leaf


@pytest.mark.parametrize("zipped", FORMATS)
def test_what_is_no_tensor(zipped):
    value = {"size": torch.Size([2, 3]), "dtype": torch.float16, "device": torch.device("cuda", 1), "set": {1},
             "layout": torch.strided, "bytes": [b"", b"\xff\0"], "array": bytearray(b"\xff"), "complex": 1j,
             "counter": Counter("aab"), "long": 2**70, "none": None, "floats": [1.5, float("inf")]}  # fmt: skip
    found = again(value, zipped)
    assert found.pop("size") == tl.Size([2, 3])
    assert found.pop("dtype") is tl.float16
    assert found.pop("device") is tl.device("cuda", 1)
    assert found.pop("layout") is tl.strided
    assert len(found) == 8
    assert found == {key: value[key] for key in found}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = torch.arange(3.0).storage()
    untyped, typed = again([torch.tensor([1, 2], dtype=torch.uint8).untyped_storage(), typed], zipped)
    assert untyped.tolist() == [1, 2]
    assert typed.tolist() == [0, 1, 2]


@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: torch.ones(2, 2).to_sparse_csr(), "to_dense"),
        (lambda: torch.ones(2, dtype=torch.complex64).conj(), "resolve_conj"),
        (lambda: torch.empty(2, device="meta"), "meta device"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8), "QUInt8Storage"),
        (lambda: torch.ones(2).to(torch.float8_e4m3fn), "float8_e4m3fn"),
        (lambda: torch.nn.Linear(1, 1), "torch.nn.modules.linear.Linear"),
        (lambda: np.ones(1), "numpy"),
    ],
)
def test_what_has_no_counterpart(make, message, zipped):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = make()
    with pytest.raises(pickle.UnpicklingError, match=message):
        again(value, zipped)


class Theirs(torch.Tensor):
    pass


class Mine(tl.Tensor):
    pass


@pytest.mark.parametrize("zipped", FORMATS)
def test_subclasses(zipped):
    value = torch.arange(3.0).as_subclass(Theirs)
    value.unit = "kg"
    with pytest.raises(pickle.UnpicklingError, match="Theirs"):
        again(value, zipped)
    with tl.serialization.safe_globals([(Mine, f"{Theirs.__module__}.Theirs")]):
        found = again(value, zipped)
    assert type(found) is Mine
    assert found.unit == "kg"
    assert found.tolist() == [0, 1, 2]


def test_mapped_files(tmp_path):
    x = torch.arange(1000.0)
    torch.save({"x": x, "rest": x[3:]}, tmp_path / "x.pt")
    found = tl.load(tmp_path / "x.pt", mmap=True)
    found["x"][3] = -1
    assert found["rest"][0] == -1
    assert torch.load(tmp_path / "x.pt")["x"][3] == 3
    for load in (torch.load, tl.load):
        with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
            load(written(x, True), mmap=True)
    torch.save(x, tmp_path / "y.pt", _use_new_zipfile_serialization=False)
    for load in (torch.load, tl.load):
        with pytest.raises(RuntimeError, match="mmap can"):
            load(tmp_path / "y.pt", mmap=True)


def test_checksums_may_be_left_out():
    before = torch.serialization.get_crc32_options()
    torch.serialization.set_crc32_options(False)
    try:
        assert again(torch.ones(3), True).tolist() == [1, 1, 1]
    finally:
        torch.serialization.set_crc32_options(before)


@pytest.mark.parametrize(
    "data",
    [b"", b"abc", b"\x80\x02N.", b"PK\3\4", pickle.dumps(1), pickle.dumps({"a": 1}, 2)],
    ids=["empty", "text", "pickle of None", "start of an archive", "pickle", "pickle of a dict"],
)
def test_broken_files_raise_in_both(data):
    # PyTorch warns of other protocols than 2, before it raises.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((pickle.UnpicklingError, RuntimeError, EOFError, IndexError)):
            torch.load(io.BytesIO(data))
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        tl.load(io.BytesIO(data))


def test_wrong_arguments_raise_as_in_pytorch():
    for load in (torch.load, tl.load):
        with pytest.raises(AttributeError, match="read|seek"):
            load(3)
        with pytest.raises(FileNotFoundError):
            load("/nowhere/to/be/found.pt")
