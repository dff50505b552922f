"""Differences, histograms, segments, hashes and masked reductions beyond the samples: NumPy's answers, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tests.helpers.values import array


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_is_numpys(edge_order):
    values = np.random.default_rng(0).normal(size=(4, 5))
    points = np.array([0.0, 0.5, 2.0, 3.0, 7.0])
    for spacing in ((2.0, 0.5), (np.arange(4) ** 2.0, points)):
        expected = np.gradient(values, *spacing, edge_order=edge_order)
        ours = [s if isinstance(s, float) else tl.tensor(s) for s in spacing]
        for one, other in zip(tl.gradient(tl.tensor(values), spacing=ours, edge_order=edge_order), expected):
            np.testing.assert_allclose(array(one), other, rtol=1e-12)


@pytest.mark.parametrize("density", [True, False])
def test_histograms_are_numpys(density):
    values = np.random.default_rng(0).normal(size=(200, 2))
    weights = np.random.default_rng(1).random(200)
    ours = tl.histogramdd(tl.tensor(values), [4, 5], weight=tl.tensor(weights), density=density)
    theirs, edges = np.histogramdd(values, [4, 5], weights=weights, density=density)
    np.testing.assert_allclose(array(ours.hist), theirs, rtol=1e-12)
    for one, other in zip(ours.bin_edges, edges):
        np.testing.assert_allclose(array(one), other, rtol=1e-12)
    found = tl.histogram(tl.tensor(values), tl.tensor([-1.0, 0.0, 0.5, 2.0], dtype=tl.float64), density=density)
    expected, _ = np.histogram(values, [-1.0, 0.0, 0.5, 2.0], density=density)
    np.testing.assert_allclose(array(found.hist), expected)


def test_segments_of_long_rows_are_found_as_those_of_short_ones():
    lengths = np.random.default_rng(0).integers(0, 6, (3, 200))
    size = int(lengths.sum(1).max())
    data = np.random.default_rng(1).normal(size=(3, size))
    found = tl.segment_reduce(tl.tensor(data), "sum", lengths=tl.tensor(lengths), axis=1, unsafe=True)
    for row, counts, sums in zip(data, lengths, array(found)):
        pieces = np.split(row[: counts.sum()], np.cumsum(counts)[:-1])
        np.testing.assert_allclose(sums, [piece.sum() for piece in pieces], atol=1e-12)


@pytest.mark.parametrize("function", [lambda x: tl.histogram(x, 3), lambda x: tl.histogramdd(x.reshape(-1, 1), 3)])
def test_histograms_say_that_they_have_no_derivative(function):
    found = function(tl.ones(3, requires_grad=True)).hist
    assert found.requires_grad
    with pytest.raises(RuntimeError, match="not implemented"):
        found.sum().backward()


def test_hash_tensor_is_an_exclusive_or():
    bits = np.random.default_rng(0).integers(-9, 9, (7, 5))
    assert array(tl.hash_tensor(tl.tensor(bits), 0)).tolist() == np.bitwise_xor.reduce(bits, 0).view("u8").tolist()


def test_what_is_left_of_nothing():
    x, none = tl.tensor([[1.0, 2.0]]), tl.tensor([[False, False]])
    assert tl.masked.sum(x, 1, mask=none).item() == 0
    assert tl.masked.prod(x, 1, mask=none).item() == 1
    assert tl.masked.amax(x, 1, mask=none).item() == -float("inf")
    assert tl.masked.amin(x.int(), 1, mask=none).item() == 2**31 - 1
    for function in (tl.masked.mean, tl.masked.var, tl.masked.median):
        assert function(x, 1, mask=none).isnan().all()
    assert tl.masked.softmax(x, 1, mask=none).isnan().all()
    with pytest.raises(ValueError, match="no fully masked out rows"):
        tl.masked.median(x.int(), 1, mask=none)


def test_nothing_flows_back_to_what_is_masked():
    x = tl.tensor([1.0, 2.0, 4.0], requires_grad=True)
    tl.masked.softmax(x, 0, mask=tl.tensor([True, False, True]))[0].backward()
    assert x.grad[1].item() == 0
    assert x.grad[0].item() == pytest.approx(-x.grad[2].item())
    assert x.grad[0].item() > 0


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: tl.gradient(x > 0), RuntimeError, "does not support bool"),
        (lambda x: tl.gradient(x, edge_order=3), RuntimeError, "only supports edge_order"),
        (lambda x: tl.gradient(x[:1]), RuntimeError, r"at least edge_order\+1"),
        (lambda x: tl.gradient(x, spacing=[1.0, 2.0]), RuntimeError, "a list of length equal"),
        (lambda x: tl.gradient(x, dim=(0, 0)), RuntimeError, "appears multiple times"),
        (lambda x: tl.histogram(x, 0), RuntimeError, "bins must be > 0"),
        (lambda x: tl.histogram(x, 2, range=(3.0, 1.0)), RuntimeError, "min should not exceed max"),
        (lambda x: tl.histogram(x * float("nan"), 2), RuntimeError, "is not finite"),
        (lambda x: tl.histogram(x, x.double()), RuntimeError, "should have the same dtype"),
        (lambda x: tl.histogramdd(x, 2), RuntimeError, "at least 2 dimensions"),
        (lambda x: tl.histogramdd(x.reshape(-1, 1), [2, 2]), RuntimeError, "size of bins"),
        (lambda x: tl.segment_reduce(x, "sum"), RuntimeError, "Either lengths or offsets"),
        (lambda x: tl.segment_reduce(x, "x", lengths=x), RuntimeError, "reduce must be either"),
        (lambda x: tl.segment_reduce(x, "sum", lengths=tl.tensor([1])), RuntimeError, "to sum to data.size"),
        (lambda x: tl.segment_reduce(x, "sum", lengths=tl.tensor([5, -1])), RuntimeError, "negative value"),
        (lambda x: tl.segment_reduce(x, "sum", indices=x), RuntimeError, "not supported yet"),
        (lambda x: tl.hash_tensor(x, mode=1), RuntimeError, "Unknown hash_tensor mode"),
        (lambda x: tl.hash_tensor(x[:0]), RuntimeError, "Expected reduction dim"),
        (lambda x: tl.binomial(x.int(), x), ValueError, "only supports floating-point"),
        (lambda x: x.resize(3), RuntimeError, "preserving the number of elements"),
        (lambda x: x.index([0, 1], [1]), TypeError, "must have the same length"),
        (lambda x: x[2:].slice_inverse(tl.ones(9)), RuntimeError, "out of bounds"),
        (lambda x: tl.masked.sum(x, mask=tl.ones(1, 4) > 0), IndexError, "mask dimensionality higher"),
        (lambda x: tl.masked.amax(x > 0, mask=x > 0), NotImplementedError, "identity of amax"),
        (lambda x: tl.masked.mean(x.int()), ValueError, "Could not infer output dtype"),
        (lambda x: tl.masked.var(x, unbiased=True, correction=1), AssertionError, "Only one of unbiased"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(tl.tensor([1.0, 2.0, 4.0, 3.0]))
