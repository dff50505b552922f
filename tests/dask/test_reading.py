"""Making tensors in chunks: from files, from tensors, by factories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import nothing_computed


def compute(tensor: Any) -> Any:
    return tensor.compute(scheduler="sync")


def test_zarr(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    values = tl.arange(20.0).reshape(5, 4)
    td.from_tensor(values, (2, 4)).to_zarr(str(tmp_path / "a.zarr"), compute=True)
    found = td.from_zarr(str(tmp_path / "a.zarr"), requires_grad=True)
    assert found.requires_grad
    assert found.chunks[0] == (2, 2, 1)
    assert tl.equal(compute(found), values)


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({"a": np.arange(10, dtype=np.int32), "b": np.arange(10) / 4, "name": list("abcdefghij")})
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(table.slice(0, 7), folder / "0.parquet", row_group_size=4)
    pq.write_table(table.slice(7), folder / "1.parquet")
    with nothing_computed():
        found = td.from_parquet(str(folder), ["b", "a"])
    assert found.chunks == ((4, 3, 3), (2,))
    assert found.dtype == tl.float64
    assert tl.equal(compute(found), tl.stack([tl.arange(10.0) / 4, tl.arange(10.0)], 1).double())
    assert td.from_parquet(str(folder), ["a"]).dtype == tl.int32
    assert td.from_parquet(str(folder), ["a"], dtype=tl.float32).dtype == tl.float32
    with pytest.raises(ValueError, match="there is no column 'c'; there are a, b, name"):
        td.from_parquet(str(folder), ["a", "c"])
    with pytest.raises(TypeError, match="the column 'name' is of the type string"):
        td.from_parquet(str(folder))
    with pytest.raises(ValueError, match="names no column"):
        td.from_parquet(str(folder), [])


def test_from_tensor() -> None:
    x = tl.arange(6.0, requires_grad=True)
    found = td.from_tensor(x, 4)
    assert found.requires_grad
    assert found.is_leaf
    assert found.chunks == ((4, 2),)
    assert not td.from_tensor(x, 4, requires_grad=False).requires_grad
    assert compute(td.from_tensor([[1, 2], [3, 4]])).tolist() == [[1, 2], [3, 4]]
    assert td.from_tensor(np.ones((2, 3))).dtype == tl.float64
    assert td.from_tensor(found, 3).chunks == ((3, 3),)
    with pytest.raises(ValueError, match="argument 'chunks'.*does not fit the shape"):
        td.from_tensor(x, (1, 2))


@pytest.mark.parametrize(
    "made, expected",
    [
        (lambda: td.zeros(5, 3, chunks=2), lambda: tl.zeros(5, 3)),
        (lambda: td.ones((5, 3), chunks=2, dtype=tl.int8), lambda: tl.ones(5, 3, dtype=tl.int8)),
        (lambda: td.full((5,), 7, chunks=2), lambda: tl.full((5,), 7)),
        (lambda: td.full((5,), 2.5, chunks=2), lambda: tl.full((5,), 2.5)),
        (lambda: td.arange(10, chunks=3), lambda: tl.arange(10)),
        (lambda: td.arange(2, 10, 3, chunks=2), lambda: tl.arange(2, 10, 3)),
        (lambda: td.arange(0.0, 1.0, 0.125, chunks=3), lambda: tl.arange(0.0, 1.0, 0.125)),
        (lambda: td.arange(10, 0, -2, chunks=2), lambda: tl.arange(10, 0, -2)),
        (lambda: td.arange(0, chunks=2), lambda: tl.arange(0)),
        (lambda: td.linspace(0, 1, 11, chunks=4), lambda: tl.linspace(0, 1, 11)),
        (lambda: td.eye(5, chunks=2), lambda: tl.eye(5)),
        (lambda: td.eye(4, 6, chunks=3, dtype=tl.int64), lambda: tl.eye(4, 6, dtype=tl.int64)),
        (lambda: td.zeros(0, 3), lambda: tl.zeros(0, 3)),
        (lambda: td.ones(), lambda: tl.ones(())),
        (lambda: tl.zeros_like(td.ones(5, chunks=2)), lambda: tl.zeros(5)),
        (lambda: tl.full_like(td.ones(5, chunks=2), 3), lambda: tl.full((5,), 3.0)),
        (lambda: td.ones(5, chunks=2).new_full((3,), 2), lambda: tl.full((3,), 2.0)),
        (lambda: td.ones(5, chunks=2).new_zeros(3, dtype=tl.int64), lambda: tl.zeros(3, dtype=tl.int64)),
    ],
)
def test_factories(made: Any, expected: Any) -> None:
    with nothing_computed():
        found = made()
    assert isinstance(found, td.ChunkedTensor)
    assert found.dtype == expected().dtype
    assert tuple(found.shape) == tuple(expected().shape)
    assert tl.allclose(compute(found), expected())


def test_empty() -> None:
    assert tuple(compute(td.empty(5, 2, chunks=2)).shape) == (5, 2)
    assert compute(tl.empty_like(td.ones(3))).dtype == tl.float32


def test_the_default_dtype_is_that_of_now() -> None:
    tl.set_default_dtype(tl.float64)
    try:
        x, y = td.zeros(3), td.rand(3)
    finally:
        tl.set_default_dtype(tl.float32)
    assert x.dtype == compute(x).dtype == compute(y).dtype == tl.float64


def test_from_function() -> None:
    found = td.from_function(lambda slices: tl.arange(slices[0].start, slices[0].stop) ** 2, (7,), chunks=3)
    assert compute(found).tolist() == [n * n for n in range(7)]
    with pytest.raises(TypeError, match="the function must return a Tensor, not int"):
        td.from_function(lambda slices: 1, (3,))


def test_bad_input() -> None:
    for make in (td.zeros, td.rand):
        with pytest.raises(RuntimeError, match="elements, more than 64-bit integers can count"):
            make(2**40, 2**40, chunks=2**39)
        with pytest.raises(RuntimeError, match="negative dimension -1"):
            make(3, -1)
        with pytest.raises(ValueError, match="argument 'chunks'.*does not fit the shape"):
            make(3, chunks=(1, 1))
        with pytest.raises((RuntimeError, AssertionError), match="CUDA|cuda|CuPy"):
            make(3, device="cuda")
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        td.arange(0, 3, 0)
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        td.arange(0, 3, -1)
    with pytest.raises(TypeError, match=r"ChunkedTensor\(\) cannot be called: use .*from_tensor"):
        td.ChunkedTensor([1.0])


def test_raw_dask_arrays_are_no_operands() -> None:
    x = td.ones(3)
    with pytest.raises((TypeError, RuntimeError)), nothing_computed():
        x + da.ones(3)
    with pytest.raises((TypeError, RuntimeError)), nothing_computed():
        da.ones(3) + x
    with pytest.raises(TypeError, match="must be Tensor"), nothing_computed():
        tl.add(x, da.ones(3))
