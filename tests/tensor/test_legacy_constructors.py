"""`Tensor(...)`, `FloatTensor(...)` and `x.new(...)`: what each form of call makes, and which are refused."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl


class Sub(tl.Tensor):
    pass


CONSTRUCTORS = {
    "Tensor": tl.Tensor, "Sub": Sub, "FloatTensor": tl.FloatTensor, "new": tl.ones(1).new,
    "new of Sub": tl.ones(1).as_subclass(Sub).new,
}  # fmt: skip


@pytest.fixture(params=CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def make(request):
    return request.param


@pytest.mark.parametrize(
    "value",
    [12, 0, True, 2.5, None, np.int64(3), np.float32(1), tl.ones(2), tl.tensor(3), tl.ones(1).untyped_storage()],
)
def test_data_by_its_name_is_a_sequence(make, value):
    with pytest.raises(TypeError, match=r"^new\(\): data must be a sequence \(got "):
        make(data=value)


def test_data_by_its_name_is_never_a_size(make):
    assert make(data=[12]).tolist() == [12]
    assert make(data=tl.Size([2, 3])).tolist() == [2, 3]
    assert make(data=np.array([1.0, 2.0])).tolist() == [1, 2]
    assert make(12).shape == (12,)
    assert make(tl.Size([2, 3])).shape == make(size=(2, 3)).shape == make(2, 3).shape == (2, 3)


def test_sizes_that_are_none(make):
    with pytest.raises(TypeError, match="invalid combination of arguments - got .bool, int."):
        make(True, 2)
    with pytest.raises(TypeError, match="argument 'size' must be of integers of 64 bits, got 1180591620717411303424"):
        make(2**70)
    with pytest.raises(TypeError, match="integers of 64 bits"):
        tl.zeros((2, 2**63))
    with pytest.raises(RuntimeError, match="negative dimension"):
        make(2, -1)
