"""Arrays of other libraries are never computed or copied without being asked."""

import numpy as np
import pytest

import tensorlike as tl


class Lazy:
    """A Dask collection, as far as the protocol of Dask goes; asking for its elements computes it."""

    shape, dtype = (3,), np.dtype("float64")

    def __dask_graph__(self):
        return {}

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("it was computed")

    def __len__(self):
        raise AssertionError("it was computed")


class Foreign:
    """An array of a library that follows the Array API standard."""

    shape, dtype = (3,), np.dtype("float64")

    def __array_namespace__(self, api_version=None):
        return np

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("it was copied")


class Wrapper:
    """A collection that holds no Dask array, as xarray's do where theirs are NumPy's."""

    def __dask_graph__(self):
        return None

    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)


MAKERS = [tl.tensor, tl.as_tensor, tl.asarray, lambda data: tl.ones(2).new_tensor(data)]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("kind", "advice"), [(Lazy, "compute"), (Foreign, "from_dlpack")])
def test_foreign_arrays_are_refused_with_advice(make, kind, advice):
    with pytest.raises(TypeError, match=rf"test_foreign_arrays\.{kind.__name__} .*{advice}"):
        make(kind())
    with pytest.raises(TypeError):
        tl.Tensor(kind())


@pytest.mark.parametrize("make", MAKERS[:3])
def test_arrays_in_memory_are_taken(make):
    assert make(Wrapper()).tolist() == [0.0, 1.0, 2.0]
    assert make(np.arange(3.0)).tolist() == [0.0, 1.0, 2.0]
    assert make(np.float32(2)).dtype is tl.float32


def test_dask_arrays():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    computed = []
    lazy = da.ones(3, chunks=2).map_blocks(lambda block: computed.append(block.shape) or block, dtype=float)
    computed.clear()  # Dask tries the function on an array without elements.
    for make in (*MAKERS, tl.Tensor):
        with pytest.raises(TypeError, match="not computed without being asked"):
            make(lazy)
    for mix in (
        lambda: tl.ones(3) + lazy,
        lambda: lazy + tl.ones(3),
        lambda: tl.exp(lazy),
        lambda: tl.from_numpy(lazy),
    ):
        with pytest.raises(TypeError):
            mix()
    assert computed == []
    assert tl.tensor(lazy.compute()).tolist() == [1.0] * 3
