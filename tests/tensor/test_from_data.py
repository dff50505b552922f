"""Tensors from nested sequences: those without an end are refused."""

from __future__ import annotations

import pytest

import tensorlike as tl


class Endless:
    """A sequence whose only item is itself."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        if index:
            raise IndexError
        return self


def in_itself():
    found = []
    found.append(found)
    return found


def in_each_other():
    found = []
    found.append((found,))
    return found


@pytest.mark.parametrize("make", [in_itself, in_each_other, lambda: [in_itself(), in_itself()], Endless])
@pytest.mark.parametrize(
    "function",
    [tl.tensor, tl.as_tensor, tl.asarray, tl.Tensor, tl.ones(1).new_tensor],
    ids=["tensor", "as_tensor", "asarray", "Tensor", "new_tensor"],
)
def test_a_sequence_that_contains_itself(make, function):
    with pytest.raises(ValueError, match="too many dimensions '(list|tuple|Endless)'"):
        function(make())


def test_the_most_dimensions():
    data = 1.0
    for _ in range(64):
        data = [data]
    assert tl.tensor(data).dim() == 64
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        tl.tensor([data])


class Subclass(tl.Tensor):
    pass


@pytest.mark.parametrize("make", [tl.tensor, lambda x: tl.ones(1).new_tensor(x)])
@pytest.mark.parametrize("source", [tl.ones(2), tl.nn.Parameter(tl.ones(2)), tl.ones(2).as_subclass(Subclass)])
def test_a_copy_of_a_tensor_warns_that_history_and_type_are_lost(make, source) -> None:
    with pytest.warns(UserWarning, match=r"recommended to use sourceTensor.detach\(\).clone\(\)") as noted:
        assert type(make(source)) is tl.Tensor
    assert len(noted) == 1
    assert noted[0].filename == __file__
