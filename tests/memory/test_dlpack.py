"""DLPack with NumPy and with libraries that follow older versions of the protocol."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl

DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "bool", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_ways_share_memory(dtype):
    x = tl.ones(2, 3, dtype=getattr(tl, dtype))
    array = np.from_dlpack(x)
    assert array.dtype == dtype
    assert np.shares_memory(array, x.numpy())
    back = tl.from_dlpack(array)
    back[0, 0] = 0
    assert not x[0, 0]
    assert back.dtype is x.dtype


def test_steps_survive():
    x = tl.arange(6).view(2, 3).t()
    assert tl.from_dlpack(x).stride() == (1, 3)
    assert tl.from_dlpack(x[1:]).tolist() == x[1:].tolist()


def test_bfloat16():
    pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")
    x = tl.tensor([1.5, -2.0], dtype=tl.bfloat16)
    for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 0))):
        y = tl.from_dlpack(capsule)
        assert y.dtype is tl.bfloat16
        assert y.tolist() == [1.5, -2.0]
        assert y.data_ptr() == x.data_ptr()
    with pytest.raises((RuntimeError, BufferError)):
        np.from_dlpack(x)


class Old:
    """A library that follows the protocol of before version 1: no keywords, capsules without a version."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_older_libraries():
    x = tl.zeros(2)
    y = tl.from_dlpack(Old(x))
    y[0] = 3
    assert x.tolist() == [3, 0]
    copied = tl.from_dlpack(Old(x), copy=True)
    copied[0] = 4
    assert x.tolist() == [3, 0]


def test_capsules():
    x = tl.zeros(2)
    assert '"dltensor"' in str(x.__dlpack__())
    assert '"dltensor_versioned"' in str(x.__dlpack__(max_version=(1, 1)))
    capsule = tl.utils.dlpack.to_dlpack(x)
    assert tl.utils.dlpack.from_dlpack(capsule).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="consumed only once"):
        tl.from_dlpack(capsule)
    own = tl.from_dlpack(x.__dlpack__(copy=True))
    assert own.data_ptr() != x.data_ptr()
    assert tuple(map(int, x.__dlpack_device__())) == (1, 0)


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        (lambda x: x.requires_grad_().__dlpack__(), BufferError, "require gradient"),
        (lambda x: x.__dlpack__(stream="a"), TypeError, "stream"),
        (lambda x: x.__dlpack__(stream=3), AssertionError, "None on cpu"),
        (lambda x: tl.from_dlpack(3), RuntimeError, "invalid capsule"),
        (lambda x: tl.from_dlpack(x.__dlpack__(), copy=True), AssertionError, "not supported"),
    ],
)
def test_errors(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(tl.ones(2))


def test_a_type_can_hand_out_its_own_memory():
    asked = []

    class Asked(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    np.from_dlpack(tl.ones(2).as_subclass(Asked))
    assert tl.Tensor.__dlpack__ in asked
