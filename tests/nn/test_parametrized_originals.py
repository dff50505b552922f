"""Parametrizations of the original of a parametrized tensor."""

from __future__ import annotations

import copy

import pytest

import tensorlike as tl
from tensorlike import nn
from tensorlike.nn.utils import parametrize


class Double(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, y):
        return y / 2


class PlusOne(nn.Module):
    def forward(self, x):
        return x + 1

    def right_inverse(self, y):
        return y - 1


class Pair(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, y):
        return y * 0.25, y * 0.75


@pytest.fixture
def layer():
    made = nn.Linear(2, 2)
    nn.init.constant_(made.weight, 6.0)
    parametrize.register_parametrization(made, "weight", Double())
    parametrize.register_parametrization(made.parametrizations.weight, "original", PlusOne())
    return made


def inner(layer):
    return layer.parametrizations.weight.parametrizations.original.original


def test_each_is_computed_from_the_other(layer):
    assert layer.weight.tolist() == [[6, 6], [6, 6]]
    assert inner(layer).tolist() == [[2, 2], [2, 2]]
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.parametrizations.original.original"]
    layer.weight.sum().backward()
    assert inner(layer).grad.tolist() == [[2, 2], [2, 2]]
    layer.weight = tl.full((2, 2), 8.0)
    assert layer.weight.tolist() == [[8, 8], [8, 8]]
    assert inner(layer).tolist() == [[3, 3], [3, 3]]


def test_a_third_level_and_one_more_of_the_first(layer):
    lists = layer.parametrizations.weight
    parametrize.register_parametrization(lists.parametrizations.original, "original", Double())
    assert layer.weight.tolist() == [[6, 6], [6, 6]]
    parametrize.register_parametrization(layer, "weight", PlusOne())  # Of the result: no right_inverse is called.
    assert layer.weight.tolist() == [[7, 7], [7, 7]]
    layer.weight = tl.full((2, 2), 9.0)
    assert layer.weight.tolist() == [[9, 9], [9, 9]]


def test_removed_from_inside_and_from_outside(layer):
    other = copy.deepcopy(layer)
    assert other.weight.tolist() == [[6, 6], [6, 6]]
    parametrize.remove_parametrizations(layer.parametrizations.weight, "original")
    assert layer.weight.tolist() == [[6, 6], [6, 6]]
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    parametrize.remove_parametrizations(other, "weight")
    assert other.weight.tolist() == [[6, 6], [6, 6]]
    assert set(other.state_dict()) == {"weight", "bias"}


def test_loaded_and_transferred(layer):
    other = nn.Linear(2, 2)
    parametrize.transfer_parametrizations_and_params(layer, other)
    assert set(other.state_dict()) == set(layer.state_dict())
    assert other.weight.tolist() == layer.weight.tolist()
    with tl.no_grad():
        inner(other).zero_()
    assert other.weight.tolist() == [[2, 2], [2, 2]]


def test_one_of_several_originals(layer):
    made = nn.Linear(2, 2)
    nn.init.constant_(made.weight, 8.0)
    parametrize.register_parametrization(made, "weight", Pair())
    parametrize.register_parametrization(made.parametrizations.weight, "original0", Double())
    assert made.weight.tolist() == [[8, 8], [8, 8]]
    made.weight = tl.full((2, 2), 4.0)
    assert made.weight.tolist() == [[4, 4], [4, 4]]
    originals = made.parametrizations.weight
    assert originals.parametrizations.original0.original.tolist() == [[0.5, 0.5], [0.5, 0.5]]
