"""Files that `save` writes, in both formats, read by PyTorch; and the names of `torch.serialization`."""

from __future__ import annotations

import io
import mmap
import pickle
import warnings
from collections import OrderedDict

import numpy as np
import pytest
import torch

import tensorlike as tl

FORMATS = [pytest.param(True, id="zip"), pytest.param(False, id="first format")]

DTYPES = (
    "float64", "float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int32", "int16", "int8", "uint64",
    "uint32", "uint16", "uint8", "bool",
)  # fmt: skip


def written(value, zipped=True, **options):
    file = io.BytesIO()
    tl.save(value, file, _use_new_zipfile_serialization=zipped, **options)
    file.seek(0)
    return file


def theirs(value, zipped=True, protocol=2, **options):
    """Return what PyTorch reads from the file of a value; typed storages warn there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.load(written(value, zipped, pickle_protocol=protocol), **options)


def same(found, wanted):
    assert tuple(found.shape) == tuple(wanted.shape)
    assert found.stride() == wanted.stride()
    assert found.storage_offset() == wanted.storage_offset()
    assert found.requires_grad == wanted.requires_grad
    assert repr(found.dtype).partition(".")[2] == repr(wanted.dtype).partition(".")[2]
    assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("zipped", FORMATS)
@pytest.mark.parametrize("name", DTYPES)
def test_tensors(name, zipped, protocol):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes", reason="bfloat16 comes from ml_dtypes")
    x = (tl.arange(24) % 5).to(getattr(tl, name)).view(4, 6)
    views = [x, x.t(), x[1:, ::2], x[:0], x[2, 3], x[:1].expand(3, 6), x.new_zeros(0), x.new_zeros(2, 0, 3)]
    # PyTorch's reader of weights alone takes the operations of protocol 2.
    found = theirs(views, zipped, protocol, weights_only=protocol == 2)
    for one, other in zip(found, views, strict=True):
        same(one, other)
    assert {tensor.untyped_storage().data_ptr() for tensor in found[:3]} == {found[0].untyped_storage().data_ptr()}
    for one, other in zip(tl.load(written(views, zipped, pickle_protocol=protocol)), views, strict=True):
        same(one, other)


@pytest.mark.parametrize("zipped", FORMATS)
def test_models_and_optimizers(zipped):
    model = tl.nn.Sequential(tl.nn.Linear(3, 4), tl.nn.BatchNorm1d(4), tl.nn.Linear(4, 2))
    optimizer = tl.optim.AdamW(model.parameters())
    model(tl.rand(5, 3)).sum().backward()
    optimizer.step()
    state, moments = theirs([model.state_dict(), optimizer.state_dict()], zipped)
    assert type(state) is OrderedDict
    assert state._metadata == model.state_dict()._metadata
    for name, tensor in model.state_dict().items():
        same(state[name], tensor)
    for key, tensors in optimizer.state_dict()["state"].items():
        for name, tensor in tensors.items():
            same(moments["state"][key][name], tensor)
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    other.load_state_dict(state)
    steps = torch.optim.AdamW(other.parameters())
    steps.load_state_dict(moments)
    x = np.random.default_rng(0).random((5, 3), dtype="f4")
    wanted = model.eval()(tl.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(other.eval()(torch.from_numpy(x)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("zipped", FORMATS)
def test_whole_modules_both_ways(zipped):
    mine = tl.nn.Sequential(tl.nn.Conv2d(1, 2, 3), tl.nn.ReLU(), tl.nn.Flatten(), tl.nn.LazyLinear(2))
    x = np.random.default_rng(0).random((1, 1, 4, 4), dtype="f4")
    wanted = mine(tl.from_numpy(x)).detach().numpy()
    found = theirs(mine, zipped, weights_only=False)
    assert type(found) is torch.nn.Sequential
    np.testing.assert_allclose(found(torch.from_numpy(x)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)
    file = io.BytesIO()
    torch.save(found, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    back = tl.load(file, weights_only=False)
    assert type(back) is tl.nn.Sequential
    assert type(back[0]) is tl.nn.Conv2d
    np.testing.assert_allclose(back(tl.from_numpy(x)).detach().numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("zipped", FORMATS)
def test_parameters_and_attributes(zipped):
    parameter, frozen = tl.nn.Parameter(tl.ones(2)), tl.nn.Parameter(tl.ones(2), requires_grad=False)
    frozen.note = {"unit": "kg"}
    noted, leaf = tl.ones(3), tl.ones(2, requires_grad=True)
    noted.note = "a note"
    found = theirs([parameter, frozen, noted, leaf], zipped)
    assert [type(item) for item in found] == [torch.nn.Parameter, torch.nn.Parameter, torch.Tensor, torch.Tensor]
    assert [item.requires_grad for item in found] == [True, False, False, True]
    assert found[1].note == {"unit": "kg"}
    assert found[2].note == "a note"


@pytest.mark.parametrize("zipped", FORMATS)
def test_other_objects(zipped):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Typed storages warn.
        typed = tl.arange(3.0).storage()
    value = {"size": tl.Size([2, 3]), "dtype": tl.float16, "device": tl.device("cuda", 1), "layout": tl.strided,
             "untyped": tl.tensor([1, 2], dtype=tl.uint8).untyped_storage(), "typed": typed,
             "bytes": b"\xff\0", "set": {1}, "long": 2**70}  # fmt: skip
    if not zipped:
        del value["untyped"]  # PyTorch does not read in this format what it writes.
    found = theirs(value, zipped)
    assert found["size"] == torch.Size([2, 3])
    assert found["dtype"] is torch.float16
    assert found["device"] == torch.device("cuda", 1)
    assert found["layout"] is torch.strided
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found["typed"].tolist() == [0, 1, 2]
        assert not zipped or found["untyped"].tolist() == [1, 2]
    back = tl.load(written(value, zipped))
    assert back["dtype"] is tl.float16
    assert back["layout"] is tl.strided
    assert back["typed"].tolist() == [0, 1, 2]


class Mine(tl.Tensor):
    pass


class Theirs(torch.Tensor):
    pass


def test_subclasses():
    x = tl.arange(3.0).as_subclass(Mine)
    x.unit = "kg"
    with torch.serialization.safe_globals([(Theirs, f"{Mine.__module__}.Mine")]):
        found = theirs(x)
    assert type(found) is Theirs
    assert found.unit == "kg"
    assert found.tolist() == [0, 1, 2]


def test_files_are_mapped_by_pytorch(tmp_path):
    tl.save({"x": tl.arange(100.0)}, tmp_path / "x.pt")
    assert torch.load(tmp_path / "x.pt", mmap=True)["x"].tolist() == list(range(100))


@pytest.mark.parametrize(
    "location", ["cpu", {"cpu": "cpu"}, lambda storage, location: storage, {"cuda:0": "cpu"}, "device"]
)
def test_map_location(location):
    for one, other in ((torch, tl), (tl, torch)):
        file = io.BytesIO()
        one.save(one.arange(3), file)
        file.seek(0)
        where = other.device("cpu") if location == "device" else location
        assert other.load(file, map_location=where).tolist() == [0, 1, 2]


def test_one_storage_with_two_types_in_the_first_format():
    for library in (torch, tl):
        x = library.ones(4)
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            library.save([x, x.view(library.int32)], io.BytesIO(), _use_new_zipfile_serialization=False)
    x = tl.ones(4)
    for one, other in zip(theirs([x, x.view(tl.int32)]), [x, x.view(tl.int32)], strict=True):
        same(one, other)


def test_the_order_of_bytes(tmp_path):
    endian = {True: b">f4", False: b"<f4"}
    for library in (torch, tl):
        for big in (True, False):
            data = written(tl.arange(3.0), _disable_byteorder_record=True).getvalue()
            swapped = data.replace(
                np.arange(3, dtype="<f4").tobytes(), np.arange(3, dtype=endian[big].decode()).tobytes()
            )
            # Without checksums, which the change has made wrong.
            swapped = _without_checksums(swapped)
            library.serialization.set_default_load_endianness(
                library.serialization.LoadEndianness.BIG if big else library.serialization.LoadEndianness.LITTLE
            )
            try:
                assert library.load(io.BytesIO(swapped)).tolist() == [0, 1, 2]
            finally:
                library.serialization.set_default_load_endianness(None)
        with pytest.raises(TypeError):
            library.serialization.set_default_load_endianness("big")
    assert [(item.name, item.value) for item in tl.serialization.LoadEndianness] == [
        (item.name, item.value) for item in torch.serialization.LoadEndianness
    ]


def _without_checksums(data):
    import zipfile

    file = io.BytesIO(data)
    found = bytearray(data)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            found[info.header_offset + 14 : info.header_offset + 18] = bytes(4)
        at = archive.start_dir
        for info in archive.infolist():
            found[at + 16 : at + 20] = bytes(4)
            at += 46 + len(info.filename) + len(info.extra) + len(info.comment)
    return bytes(found)


def test_shared_maps_write_to_the_file(tmp_path):
    for library in (torch, tl):
        path = tmp_path / "x.pt"
        library.save(library.arange(3.0), path)
        assert library.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
        with library.serialization.set_default_mmap_options(mmap.MAP_SHARED):
            library.load(path, mmap=True)[1] = 7
        assert library.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
        library.load(path, mmap=True)[2] = 9
        with open(path, "rb") as file:
            assert np.array([0, 7, 2], "f4").tobytes() in file.read()
        with pytest.raises(ValueError, match="MAP_PRIVATE or"):
            library.serialization.set_default_mmap_options(3)


def test_data_may_be_skipped():
    for library in (torch, tl):
        file = io.BytesIO()
        with library.serialization.skip_data():
            library.save([library.ones(3), "text"], file)
        for reader in (torch, tl):
            file.seek(0)
            tensor, text = reader.load(file)
            assert tensor.tolist() == [0, 0, 0]
            assert text == "text"


class Unsafe:
    pass


def test_unsafe_globals():
    for one in (torch, tl):
        file = io.BytesIO()
        one.save([Unsafe(), one.nn.Linear(1, 1), one.ones(1)], file)
        for library in (torch, tl):
            file.seek(0)
            found = library.serialization.get_unsafe_globals_in_checkpoint(file)
            assert {f"{__name__}.Unsafe", "torch.nn.modules.linear.Linear"} <= set(found)
            with library.serialization.safe_globals([Unsafe]):
                file.seek(0)
                assert f"{__name__}.Unsafe" not in library.serialization.get_unsafe_globals_in_checkpoint(file)
            with pytest.raises(ValueError, match="[Ee]xpected"):
                library.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(pickle.dumps(1)))


def test_places():
    for library in (torch, tl):
        names = library.serialization
        storage = library.ones(1).untyped_storage()
        assert names.location_tag(storage) == "cpu"
        assert names.default_restore_location(storage, "cpu") is storage
        with pytest.raises(RuntimeError, match="don't know how to restore data location"):
            names.default_restore_location(storage, "nowhere")
        assert names.normalize_storage_type(library.FloatStorage) is library.FloatStorage
        with pytest.raises(RuntimeError, match="CUDA|cuda"):
            names.validate_cuda_device("cuda:99")


def test_registered_places():
    for library in (torch, tl):
        registry = library.serialization._package_registry if library is torch else _packages()
        before = list(registry)
        seen = []

        def restore(storage, tag, seen=seen):
            seen.append(tag)
            return storage if tag == "shelf" else None

        library.serialization.register_package(5, lambda storage: "shelf", restore)
        try:
            file = io.BytesIO()
            library.save(library.ones(2), file)
            assert b"shelf" in file.getvalue()
            file.seek(0)
            assert library.load(file).tolist() == [1, 1]
            assert set(seen) == {"shelf"}
        finally:
            registry[:] = before


def _packages():
    from tensorlike.serialization import places

    return places._packages


def test_texts_of_python_2():
    head = b"".join(pickle.dumps(item, 2) for item in (0x1950A86A20F9469CFC6C, 1001, {}))
    data = head + b"\x80\x02U\x02\xe9x." + pickle.dumps([], 2)
    for library in (torch, tl):
        # PyTorch warns that `encoding` changes nothing, and it changes nothing, with weights_only=True.
        for trusted in (True,) if library is torch else (False, True):
            found = library.load(io.BytesIO(data), weights_only=not trusted, encoding="latin1")
            assert found == "\xe9x"
            with pytest.raises((pickle.UnpicklingError, UnicodeDecodeError, RuntimeError)):
                library.load(io.BytesIO(data), weights_only=not trusted, encoding="ascii")
        assert library.load(io.BytesIO(data), weights_only=False, encoding="bytes") == b"\xe9x"
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        tl.load(io.BytesIO(data), wrong=1)


def test_weights_only_is_the_default_for_none():
    file = written(Unsafe())
    for library in (torch, tl):
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError):
            library.load(file, weights_only=None)
