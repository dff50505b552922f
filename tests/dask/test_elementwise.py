"""Elementwise functions in chunks: dtypes, types of chunks, operands of other kinds, and the tasks that they become."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import nothing_computed


class Measured(tl.Tensor):
    """A tensor with a unit."""

    __tensor_attributes__ = ("unit",)
    unit: str


class Logged(tl.Tensor):
    """A tensor that notes the functions that are called with it."""

    calls: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


def in_metres(tensor: Any) -> Any:
    found = tensor.as_subclass(Measured)
    found.unit = "m"
    return found


def compute(tensor: Any) -> Any:
    return tensor.compute(scheduler="sync")


DTYPES = (tl.bool, tl.uint8, tl.int8, tl.int16, tl.int32, tl.int64, tl.float16, tl.float32, tl.float64, tl.complex64)


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_promotions_are_the_librarys(one: Any, other: Any) -> None:
    a, b = tl.tensor([1, 0, 1]).to(one), tl.tensor([1, 1, 0]).to(other)
    for left, right in ((a, b), (a, b[0]), (a[0], b), (a, 2), (a, 2.5)):
        expected = left * right
        chunks = [td.from_tensor(v, 2) if isinstance(v, tl.Tensor) else v for v in (left, right)]
        found = chunks[0] * chunks[1]
        assert found.dtype == expected.dtype
        assert tl.equal(compute(found), expected)
        if isinstance(right, tl.Tensor):
            mixed = left * chunks[1]
            assert mixed.dtype == expected.dtype
            assert tl.equal(compute(mixed), expected)


def test_adjacent_operations_are_one_task_a_chunk() -> None:
    source = da.zeros((40, 3), chunks=(10, 3))
    x = td.from_dask(source)
    y = ((x * 2 + 1).sin().exp() - x).where(x > 0, 0)
    assert len(y.__dask_graph__()) > 4 * 6
    optimized = dask.optimize(y)[0]
    assert len(optimized.__dask_graph__()) == 4


def test_an_ordinary_operand_is_one_constant_of_all_chunks() -> None:
    x = td.ones(6, 4, chunks=(2, 4))
    row = tl.arange(4.0)
    y = x * row
    constants = [k for k in y.__dask_graph__() if str(k[0]).startswith("tensor-")]
    assert len(constants) == 1
    assert tl.equal(compute(y), tl.ones(6, 4) * row)
    row.zero_()
    assert tl.equal(compute(y), tl.ones(6, 4) * tl.arange(4.0)), "the tensor may be written to before the tasks run"


def test_the_same_tasks_have_the_same_names() -> None:
    row = tl.arange(4.0)
    x = td.ones(6, 4, chunks=2)
    first, second, other = x * row + 1, x * row + 1, x * row + 2
    assert first._tl_data.array.name == second._tl_data.array.name
    assert first._tl_data.array.name != other._tl_data.array.name
    assert (x.sum(0))._tl_data.array.name != (x.sum(1))._tl_data.array.name
    assert x.to(tl.float64)._tl_data.array.name != x.to(tl.int32)._tl_data.array.name
    assert tl.nn.functional.gelu(x)._tl_data.array.name != tl.nn.functional.silu(x)._tl_data.array.name


def test_chunks_that_do_not_line_up_are_cut_alike() -> None:
    a, b = tl.arange(10.0), tl.arange(10.0) * 2
    found = td.from_tensor(a, (3, 7)) + td.from_tensor(b, (5, 5))
    assert found.chunks == ((3, 2, 5),)
    assert tl.equal(compute(found), a + b)
    found = td.from_tensor(tl.ones(4, 1), 2) * td.from_tensor(tl.ones(6), 4)
    assert found.chunks == ((2, 2), (4, 2))


def test_chunks_of_a_users_type() -> None:
    x = td.from_dask(da.ones((4, 3), chunks=2), chunk_type=in_metres)
    assert "chunk_type=Measured" in repr(x)
    y = (x * 2).sum(0)[1:]
    found = compute(y)
    assert type(found) is Measured
    assert found.unit == "m"
    assert found.tolist() == [8.0, 8.0]
    assert type(compute(x.mean())) is Measured
    assert type(compute(x @ x.T)) is Measured


def test_a_users_type_answers_in_each_chunk() -> None:
    x = td.from_tensor(tl.arange(6.0), 2).map_chunks(logged)
    y = x.sin() + 1
    Logged.calls.clear()
    found = compute(y)
    assert type(found) is Logged
    assert Logged.calls.count("sin") == 3
    assert Logged.calls.count("add") == 3


def logged(tensor: Any) -> Any:
    return tensor.as_subclass(Logged)


def test_map_chunks() -> None:
    x = td.from_tensor(tl.arange(6.0), (2, 4))
    assert compute(x.map_chunks(lambda t: t - t.mean())).tolist() == [-0.5, 0.5, -1.5, -0.5, 0.5, 1.5]
    values, signs = td.map_chunks(lambda t, u: (t * u, t > 1), x, tl.tensor(2.0))
    assert compute(values).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert signs.dtype == tl.bool
    with pytest.raises(TypeError, match=r"map_chunks\(\): none of the arguments is a ChunkedTensor"):
        td.map_chunks(tl.sin, tl.ones(2))
    with pytest.raises(NotImplementedError, match="returns float, which is not known before compute"):
        x.map_chunks(lambda t: 1.0)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: Any) -> None:
    x = (tl.arange(int(np.prod(shape))) % 2).reshape(shape).to(dtype)
    with nothing_computed():
        c = td.from_tensor(x, tuple((1, n - 1) if n > 1 else (n,) for n in shape) or -1)
        y = (c + c, c == c, c.sum() if dtype != tl.complex64 else c, tl.cat([c, c]) if shape else c)
    expected = (x + x, x == x, x.sum() if dtype != tl.complex64 else x, tl.cat([x, x]) if shape else x)
    for one, other in zip(td.compute(*y, scheduler="sync"), expected, strict=True):
        assert one.dtype == other.dtype
        assert tl.equal(one, other)


def test_memory_that_is_not_contiguous() -> None:
    x = tl.arange(24.0).reshape(4, 6)
    for view in (x.T, x[::2, 1::2], x[:, 0], x.expand(2, 4, 6)):
        assert tl.equal(compute(td.from_tensor(view, 2) + 1), view + 1)


def test_shapes_that_do_not_broadcast() -> None:
    x = td.ones(4, 3, chunks=2)
    with pytest.raises(RuntimeError, match=r"add\(\): The size of tensor a \(3\) must match the size of tensor b"):
        x + td.ones(5)
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match"):
        x + tl.ones(5)
    with pytest.raises(TypeError, match="must be Tensor or Number, not str"):
        tl.add(x, "a")
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "a"


def test_wrong_types_and_values() -> None:
    x = td.ones(4, 3, chunks=2)
    with pytest.raises(RuntimeError, match="sqrt|Integral|integer|Boolean|bool"):
        tl.bitwise_not(x)
    with pytest.raises(TypeError):
        x.sum(foo=1)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum(3)
    with pytest.raises(NotImplementedError, match="out= names memory to write to"):
        tl.add(x, 1, out=tl.empty(4, 3))


def test_a_function_that_does_not_keep_the_shape() -> None:
    x = td.ones(6, chunks=2)
    with pytest.raises(
        ValueError, match=r"map_chunks\(\): the function returned the shape \[\] for a chunk of the shape"
    ):
        x.map_chunks(tl.sum)
    with pytest.raises(td.ChunkError, match=r"the function returned the shape \[1\] for a chunk of the shape \[2\]"):
        compute(x.map_chunks(lambda t: t[:1]))
