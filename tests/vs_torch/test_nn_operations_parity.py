"""What samples cannot say about the later operations of `nn`: gradients that are no derivatives, statistics, edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.nn import LinearCrossEntropyOptions


def close(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(actual.detach().numpy(), expected.detach().numpy(), tolerance, tolerance)


def pair(values, requires_grad=True):
    here, there = tl.from_numpy(values.copy()), torch.from_numpy(values.copy())
    if requires_grad and values.dtype.kind == "f":
        here.requires_grad_()
        there.requires_grad_()
    return here, there


RANDOM = np.random.default_rng(0)


# ----------------------------------------------------------------------------------------------------------------- CTC

#: Times, targets (0 is the blank), and the lengths of both; one target fits in one way only, one not at all.
ALIGNMENTS = {
    "plain": (8, [[1, 2, 3], [2, 2, 1]], (8, 8), (3, 3)),
    "of different lengths": (8, [[1, 2, 3], [2, 1, 1]], (8, 5), (3, 1)),
    "just fitting": (4, [[1, 1, 2], [3, 2, 1]], (4, 3), (3, 3)),
    "empty": (4, [[1, 1, 2], [3, 2, 1]], (4, 4), (0, 2)),
    "one after the other": (7, [1, 2, 3, 3, 1], (7, 6), (2, 3)),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ALIGNMENTS)
def test_ctc_loss_of_scores(name, reduction):
    steps, targets, input_lengths, target_lengths = ALIGNMENTS[name]
    values = RANDOM.standard_normal((steps, 2, 4))
    results = []
    for library, scores in zip((tl, torch), pair(values)):
        loss = library.nn.functional.ctc_loss(
            scores.log_softmax(-1), library.tensor(targets), input_lengths, target_lengths, reduction=reduction
        )
        results.append((loss, *library.autograd.grad(loss.sum(), scores)))
    for ours, theirs in zip(*results):
        close(ours, theirs, 1e-9)


def test_ctc_loss_agrees_with_the_sum_over_all_alignments():
    log_probs = tl.from_numpy(RANDOM.standard_normal((5, 1, 3))).log_softmax(-1)
    probabilities = np.exp(log_probs.numpy()[:, 0])

    def collapsed(path):
        return [label for label, _ in itertools.groupby(path) if label != 0]

    total = sum(
        np.prod([probabilities[t, label] for t, label in enumerate(path)])
        for path in itertools.product(range(3), repeat=5)
        if collapsed(path) == [1, 1]
    )
    loss = tl.ctc_loss(log_probs, tl.tensor([[1, 1]]), (5,), (2,))
    np.testing.assert_allclose(loss.numpy(), [-np.log(total)])


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_of_what_does_not_fit(zero_infinity):
    values = RANDOM.standard_normal((2, 2, 3))
    results = []
    for library, scores in zip((tl, torch), pair(values)):
        loss = library.nn.functional.ctc_loss(
            scores.log_softmax(-1), library.tensor([[1, 1], [1, 2]]), (2, 2), (2, 2), reduction="none",
            zero_infinity=zero_infinity,
        )  # fmt: skip
        results.append((loss, *library.autograd.grad(loss.sum(), scores)))
    for ours, theirs in zip(*results):
        close(ours, theirs, 1e-9)


def test_ctc_loss_is_differentiated_once():
    scores = tl.from_numpy(RANDOM.standard_normal((4, 1, 3))).requires_grad_()
    loss = tl.ctc_loss(scores.log_softmax(-1), tl.tensor([[1]]), (4,), (1,), 0, 1)
    [gradient] = tl.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(NotImplementedError, match="derivative of its gradient"):
        tl.autograd.grad(gradient.sum(), scores)


CTC_REFUSED = {
    "long inputs": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), (5, 6), (2, 2)),
    "lengths missing": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), (5,), (2, 2)),
    "long targets": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), (5, 5), (2, 3)),
    "targets missing": lambda t, x: t.ctc_loss(x, t.tensor([1, 2, 1]), (5, 5), (2, 2)),
    "negative": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), (5, 5), (2, -2)),
    "blank": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), (5, 5), (2, 2), 3),
    "float lengths": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), t.tensor([5.0, 5]), t.tensor([2.0, 2])),
    "mixed lengths": lambda t, x: t.ctc_loss(x, t.tensor([[1, 2], [1, 1]]), t.tensor([5, 5]), (2, 2)),
    "of ints": lambda t, x: t.ctc_loss(x.long(), t.tensor([[1, 2], [1, 1]]), (5, 5), (2, 2)),
    "no times": lambda t, x: t.ctc_loss(x[:0], t.tensor([[1, 2], [1, 1]]), (0, 0), (2, 2)),
}


@pytest.mark.parametrize("name", CTC_REFUSED)
def test_ctc_loss_refuses(name):
    with pytest.raises((RuntimeError, TypeError)) as expected:
        CTC_REFUSED[name](torch, torch.zeros(5, 2, 3))
    with pytest.raises(expected.type):
        CTC_REFUSED[name](tl, tl.zeros(5, 2, 3))


# --------------------------------------------------------------------------------------------------------------- grids

#: Points inside, on the border, outside, far outside, and at the corners of pixels.
POINTS = np.array(
    [[0.0, 0.0], [1.0, 1.0], [-1.0, 0.5], [-1.3, 1.2], [2.7, -3.1], [0.25, -0.75], [0.999, -1.001], [5.5, 0.1]]
).reshape(1, 4, 2, 2)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_at_special_points(mode, padding, align_corners):
    values = RANDOM.standard_normal((1, 2, 5, 4))
    results = []
    for library, x, grid in zip((tl, torch), pair(values), pair(POINTS)):
        y = library.nn.functional.grid_sample(x, grid, mode, padding, align_corners)
        results.append((y, *library.autograd.grad((y * y).sum(), (x, grid), allow_unused=True)))
    for ours, theirs in zip(*results):
        # The nearest pixel does not change with the point.
        close(tl.zeros(theirs.shape, dtype=tl.float64) if ours is None else ours, theirs, 1e-9)


def test_grids_warn_unless_told_about_corners():
    theta = tl.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    with pytest.warns(UserWarning, match="align_corners"):
        grid = tl.nn.functional.affine_grid(theta, (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="align_corners"):
        tl.nn.functional.grid_sample(tl.ones(1, 1, 2, 2), grid)
    with pytest.warns(UserWarning, match="one pixel"):
        tl.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=True)


# ---------------------------------------------------------------------------------------------- linear_cross_entropy


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("rows", [1, 3, 7, 20])
@pytest.mark.parametrize("kind", ["classes", "ignoring", "probabilities"])
def test_linear_cross_entropy_in_pieces_is_the_same(kind, rows, reduction):
    x, w, b = (RANDOM.standard_normal(shape) for shape in ((7, 3), (5, 3), (5,)))
    target = RANDOM.dirichlet(np.ones(5), 7) if kind == "probabilities" else RANDOM.integers(0, 5, 7)
    options = {"reduction": reduction, "weight": tl.from_numpy(np.linspace(0.5, 2, 5)), "label_smoothing": 0.1}
    if kind == "ignoring":
        options["ignore_index"] = 2
    results = []
    for pieces in (None, LinearCrossEntropyOptions(batch_chunk_size=rows, chunking_method=None)):
        leaves = [tl.from_numpy(a.copy()).requires_grad_() for a in (x, w, b)]
        loss = tl.nn.functional.linear_cross_entropy(
            leaves[0], leaves[1], tl.from_numpy(target), linear_bias=leaves[2], options=pieces, **options
        )
        results.append((loss, *tl.autograd.grad(loss * 3, leaves, retain_graph=True), *tl.autograd.grad(loss, leaves)))
    for one, other in zip(*results):
        close(one, other, 1e-9)


@pytest.mark.parametrize("method, rows", [("aspect_ratio", 4), ("aspect_ratio:2", 2), ("auto", 2), (None, 16)])
def test_the_size_of_pieces(method, rows):
    from tensorlike.operations.nn.classification import _rows

    assert _rows(LinearCrossEntropyOptions(chunking_method=method), 16, 32, 8) == rows


def test_not_everything_is_computed_in_pieces():
    options = LinearCrossEntropyOptions()
    with pytest.warns(UserWarning, match="in pieces"):
        tl.nn.functional.linear_cross_entropy(
            tl.ones(2, 3), tl.ones(4, 3), tl.tensor([0, 1]), reduction="none", options=options
        )
    for arguments in ({"batch_chunk_size": 0}, {"chunking_method": "x"}, {"acc_policy": "x"}, {"acc_dtype": tl.int32}):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            LinearCrossEntropyOptions(**arguments)


# --------------------------------------------------------------------------------------- functions of the top level


def test_batch_norm_of_the_top_level_moves_the_statistics():
    x = RANDOM.standard_normal((4, 3, 2))
    results = []
    for library, value in zip((tl, torch), pair(x, False)):
        mean, variance = library.zeros(3, dtype=library.float64), library.ones(3, dtype=library.float64)
        y = library.batch_norm(value, None, None, mean, variance, True, 0.2, 1e-5, True)
        z = library.instance_norm(value, None, None, mean, variance, True, 0.2, 1e-5, True)
        results.append((y, z, mean, variance))
    for ours, theirs in zip(*results):
        close(ours, theirs, 1e-9)


def test_the_row_without_a_gradient():
    for padding_idx in (1, -1, -2, 7):
        gradients = []
        for library in (tl, torch):
            weight = library.ones(3, 2).requires_grad_()
            rows = library.embedding(weight, library.tensor([0, 1, 1]), padding_idx)
            gradients += library.autograd.grad(rows.sum(), weight)
        close(*gradients)


def test_embedding_renorm_needs_no_gradient():
    weight = tl.ones(3, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="leaf"):
        tl.embedding_renorm_(weight, tl.tensor([0]), 1.0, 2.0)
    with tl.no_grad():
        assert tl.embedding_renorm_(weight, tl.tensor([0]), 1.0, 2.0) is weight
    np.testing.assert_allclose(weight.detach().numpy(), [[0.5**0.5] * 2, [1, 1], [1, 1]], 1e-6)
    with pytest.raises(IndexError):
        tl.embedding_renorm_(tl.ones(3, 2), tl.tensor([5]), 1.0, 2.0)


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_dropout_of_the_top_level(name):
    function, inplace = getattr(tl, name), getattr(tl, f"{name}_")
    x = tl.ones(20, 30, 4)
    assert function(x, 0.5, False) is x
    tl.manual_seed(0)
    y = function(x, 0.25, True)
    values, counts = np.unique(y.numpy(), return_counts=True)
    assert len(values) == 2
    assert 0.15 < counts.min() / y.numel() < 0.35
    if name.startswith("feature"):
        assert not y.numpy().std(-1).any()
    tl.manual_seed(0)
    assert inplace(x, 0.25, True) is x
    assert (x == y).all()
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        function(x, 1.5, True)
    with pytest.raises(RuntimeError, match="can't be cast"):
        function(tl.ones(2, 3, dtype=tl.int64), 0.5, True)


def test_native_dropout_says_what_it_kept():
    tl.manual_seed(0)
    x = tl.ones(1000).requires_grad_()
    y, kept = tl.native_dropout(x, 0.25, None)
    assert kept.dtype == tl.bool
    assert 700 < int(kept.sum()) < 800
    np.testing.assert_allclose(y.detach().numpy(), kept.numpy() / 0.75, 1e-6)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), kept.numpy() / 0.75, 1e-6)
    for p, train in ((0.3, False), (0.0, True)):
        y, kept = tl.native_dropout(x, p, train)
        assert bool((y == x).all())
        assert bool(kept.all())


def test_native_group_norm_differentiates_its_statistics():
    values = RANDOM.standard_normal((2, 4, 3))
    gradients = []
    for library, x in zip((tl, torch), pair(values)):
        y, mean, rstd = library.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
        gradients += library.autograd.grad((y * y * y).sum() + (mean * 2).sum() + (rstd * rstd).sum(), x)
    close(*gradients, 1e-8)
