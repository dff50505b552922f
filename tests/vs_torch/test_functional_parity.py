"""What samples cannot say about nn.functional: fused gradients, writing in place, statistics, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as theirs

import tensorlike as tl
import tensorlike.nn.functional as ours


class Pair:
    """The same operand here and in PyTorch."""

    def __init__(self, seed, *shape, dtype="float64", requires_grad=True):
        values = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
        self.here, self.there = tl.from_numpy(values.copy()), torch.from_numpy(values.copy())
        if requires_grad:
            self.here.requires_grad_()
            self.there.requires_grad_()


def compare(function, *operands, tolerance=1e-9):
    """Values, and gradients by the fused kernels and by the differentiable formulas, which agree with PyTorch's."""
    result = function(ours, *(p.here for p in operands))
    expected = function(theirs, *(p.there for p in operands))
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), tolerance, tolerance)
    weight = np.asarray(np.random.default_rng(9).standard_normal(result.shape))
    grad = tl.from_numpy(weight).to(result.dtype)
    live = [p for p in operands if p.here.requires_grad]
    inputs = [p.here for p in live]
    fused = tl.autograd.grad(result, inputs, grad, retain_graph=True)
    plain = tl.autograd.grad(result, inputs, grad, create_graph=True)
    known = torch.autograd.grad(expected, [p.there for p in live], torch.from_numpy(weight).to(expected.dtype))
    for one, two, three, operand in zip(fused, plain, known, live):
        assert one.dtype == two.dtype == operand.here.dtype
        np.testing.assert_allclose(one.numpy(), two.detach().numpy(), tolerance, tolerance)
        np.testing.assert_allclose(one.numpy(), three.numpy(), tolerance, tolerance)


CLASSES = np.array([0, 2, 1, 5, 3, 2, 1, 0])


def classes(functions):
    return tl.from_numpy(CLASSES.copy()) if functions is ours else torch.from_numpy(CLASSES.copy())


# Large enough that what is done by bits on large arrays is done here.
FUSED = {
    "relu": (lambda F, x: F.relu(x), (40, 60)),
    "leaky_relu": (lambda F, x: F.leaky_relu(x, 0.2), (40, 60)),
    "elu": (lambda F, x: F.elu(x), (40, 60)),
    "softplus": (lambda F, x: F.softplus(x, 2, 1), (40, 60)),
    "hardswish": (lambda F, x: F.hardswish(x * 3), (40, 60)),
    "hardtanh": (lambda F, x: F.hardtanh(x), (40, 60)),
    "softshrink": (lambda F, x: F.softshrink(x), (40, 60)),
    "gelu": (lambda F, x: F.gelu(x), (40, 60)),
    "gelu tanh": (lambda F, x: F.gelu(x, approximate="tanh"), (40, 60)),
    "layer_norm": (lambda F, x, w, b: F.layer_norm(x, (6,), w, b), (5, 6), (6,), (6,)),
    "layer_norm of two": (lambda F, x, w: F.layer_norm(x, (3, 4), w), (5, 3, 4), (3, 4)),
    "batch_norm": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (8, 6), (6,), (6,)),
    "batch_norm short": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (8, 6, 3), (6,), (6,)),
    "batch_norm long": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), (4, 3, 4, 5), (3,), (3,)),
    "batch_norm bare": (lambda F, x: F.batch_norm(x, None, None, training=True), (8, 6)),
    "group_norm": (lambda F, x, w, b: F.group_norm(x, 2, w, b), (8, 6, 3), (6,), (6,)),
    "conv2d": (lambda F, x, w, b: F.conv2d(x, w, b, padding=1), (3, 4, 6, 6), (5, 4, 3, 3), (5,)),
    "conv2d many channels": (lambda F, x, w: F.conv2d(x, w), (3, 4, 4, 4), (60, 4, 3, 3)),
    "max_pool2d": (lambda F, x: F.max_pool2d(x, 2), (4, 8, 16, 16)),
    "max_pool2d overlapping": (lambda F, x: F.max_pool2d(x, 3, 1, 1), (2, 4, 16, 16)),
    "max_pool2d large": (lambda F, x: F.max_pool2d(x, 17), (1, 2, 34, 34)),
    "mse_loss": (lambda F, x, y: F.mse_loss(x, y), (8, 6), (8, 6)),
    "cross_entropy": (lambda F, x: F.cross_entropy(x, classes(F)), (8, 6)),
    "cross_entropy sum": (lambda F, x: F.cross_entropy(x, classes(F), reduction="sum"), (8, 6)),
    "cross_entropy none": (lambda F, x: F.cross_entropy(x, classes(F), reduction="none"), (8, 6)),
    "cross_entropy ignoring": (lambda F, x: F.cross_entropy(x, classes(F), ignore_index=2), (8, 6)),
    "cross_entropy smoothed": (lambda F, x: F.cross_entropy(x, classes(F), label_smoothing=0.1), (8, 6)),
}


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-9), ("float32", 3e-4), ("float16", 4e-2)])
@pytest.mark.parametrize("name", FUSED)
def test_fused_gradients(name, dtype, tolerance):
    function, *shapes = FUSED[name]
    compare(function, *(Pair(i, *s, dtype=dtype) for i, s in enumerate(shapes)), tolerance=tolerance)


@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("padding_idx", [None, 3])
@pytest.mark.parametrize("count", [20, 4000])
def test_embedding_gradients(count, padding_idx, by_frequency):
    rows = np.random.default_rng(0).integers(0, 50, count)

    def function(F, weight):
        indices = tl.from_numpy(rows.copy()) if F is ours else torch.from_numpy(rows.copy())
        return F.embedding(indices, weight, padding_idx=padding_idx, scale_grad_by_freq=by_frequency)

    weight = Pair(1, 50, 16)
    compare(function, weight)


def test_embedding_shortens_rows_in_place():
    weight = Pair(0, 5, 3, dtype="float32")
    kept = weight.here.detach().numpy().copy()
    result = ours.embedding(tl.tensor([1, 1, 3]), weight.here, max_norm=1.0)
    expected = theirs.embedding(torch.tensor([1, 1, 3]), weight.there, max_norm=1.0)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), 1e-5)
    np.testing.assert_allclose(weight.here.detach().numpy(), weight.there.detach().numpy(), 1e-5)
    assert (weight.here.detach().numpy()[[0, 2, 4]] == kept[[0, 2, 4]]).all()
    result.sum().backward()
    assert weight.here.grad is not None


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
@pytest.mark.parametrize("training", [True, False])
def test_running_statistics(name, training):
    mean = Pair(0, 3, requires_grad=False)
    here, there = tl.ones(3, dtype=tl.float64), torch.ones(3, dtype=torch.float64)
    version = mean.here._version

    def function(F, x):
        running = (mean.here, here) if F is ours else (mean.there, there)
        keyword = {"training" if name == "batch_norm" else "use_input_stats": training}
        return getattr(F, name)(x, *running, momentum=0.3, **keyword)

    compare(function, Pair(1, 4, 3, 5))
    np.testing.assert_allclose(mean.here.numpy(), mean.there.numpy())
    np.testing.assert_allclose(here.numpy(), there.numpy())
    assert (mean.here._version > version) == training
    assert not mean.here.requires_grad


IN_PLACE = {
    "relu": (), "relu6": (), "leaky_relu": (0.1,), "elu": (1.0,), "selu": (), "celu": (2.0,), "silu": (), "mish": (),
    "hardtanh": (-1, 1), "hardswish": (), "hardsigmoid": (), "threshold": (0.0, 0.5), "rrelu": (0.2, 0.2),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    operand = Pair(0, 7)
    here, there = operand.here * 1, operand.there * 1
    result = getattr(ours, name)(here, *IN_PLACE[name], inplace=True)
    assert result is here
    getattr(theirs, name)(there, *IN_PLACE[name], inplace=True)
    weight = np.random.default_rng(1).standard_normal(7)
    here.backward(tl.from_numpy(weight))
    there.backward(torch.from_numpy(weight))
    np.testing.assert_allclose(here.detach().numpy(), there.detach().numpy(), 1e-12, 1e-12)
    # PyTorch divides by six in single precision.
    np.testing.assert_allclose(operand.here.grad.numpy(), operand.there.grad.numpy(), 1e-7, 1e-12)
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(ours, name)(operand.here, *IN_PLACE[name], inplace=True)


def rand(t, *shape):
    return t.rand(*shape)


def longs(t, *shape):
    return t.zeros(*shape, dtype=t.int64)


# Calls on either library, `t` and `F`, that PyTorch refuses; ours is to say the same, and may say more.
REFUSED = {
    "relu of bool": lambda t, F: F.relu(t.zeros(2).bool()),
    "gelu of ints": lambda t, F: F.gelu(longs(t, 2)),
    "gelu approximate": lambda t, F: F.gelu(rand(t, 2), approximate="x"),
    "elu of ints": lambda t, F: F.elu(longs(t, 2)),
    "hardtanh limits": lambda t, F: F.hardtanh(rand(t, 2), 1, -1),
    "glu odd": lambda t, F: F.glu(rand(t, 2, 3)),
    "glu scalar": lambda t, F: F.glu(t.tensor(1.0)),
    "prelu weight": lambda t, F: F.prelu(rand(t, 2, 3), rand(t, 2)),
    "prelu weight 2d": lambda t, F: F.prelu(rand(t, 2, 3), rand(t, 3, 1)),
    "prelu dtype": lambda t, F: F.prelu(rand(t, 2, 3), rand(t, 3).double()),
    "celu 0": lambda t, F: F.celu(rand(t, 2), 0),
    "dropout p": lambda t, F: F.dropout(rand(t, 2), 1.5),
    "dropout of ints": lambda t, F: F.dropout(longs(t, 2)),
    "dropout1d": lambda t, F: F.dropout1d(rand(t, 2)),
    "conv2d channels": lambda t, F: F.conv2d(rand(t, 1, 1, 5, 5), rand(t, 4, 3, 3, 3)),
    "conv2d dimensions": lambda t, F: F.conv2d(rand(t, 5, 5), rand(t, 4, 3, 3, 3)),
    "conv2d bias": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), rand(t, 3)),
    "conv2d small": lambda t, F: F.conv2d(rand(t, 1, 3, 2, 2), rand(t, 4, 3, 3, 3)),
    "conv2d stride 0": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), stride=0),
    "conv2d padding -1": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), padding=-1),
    "conv2d dilation 0": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), dilation=0),
    "conv2d strides": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), stride=(1, 2, 3)),
    "conv2d groups": lambda t, F: F.conv2d(rand(t, 1, 4, 5, 5), rand(t, 3, 2, 3, 3), groups=2),
    "conv2d groups 0": lambda t, F: F.conv2d(rand(t, 1, 4, 5, 5), rand(t, 3, 2, 3, 3), groups=0),
    "conv2d same": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), stride=2, padding="same"),
    "conv2d padding": lambda t, F: F.conv2d(rand(t, 1, 3, 5, 5), rand(t, 4, 3, 3, 3), padding="sam"),
    "conv_transpose2d channels": lambda t, F: F.conv_transpose2d(rand(t, 1, 1, 5, 5), rand(t, 4, 3, 3, 3)),
    "conv_transpose2d output": lambda t, F: F.conv_transpose2d(
        rand(t, 1, 4, 5, 5), rand(t, 4, 3, 3, 3), output_padding=1
    ),
    "unfold small": lambda t, F: F.unfold(rand(t, 1, 1, 2, 2), 3),
    "fold": lambda t, F: F.fold(rand(t, 1, 9, 3), (4, 4), 3),
    "fold places": lambda t, F: F.fold(rand(t, 1, 10, 4), (4, 4), 3),
    "batch_norm single": lambda t, F: F.batch_norm(rand(t, 1, 3), None, None, training=True),
    "batch_norm without": lambda t, F: F.batch_norm(rand(t, 2, 3), None, None),
    "batch_norm statistics": lambda t, F: F.batch_norm(rand(t, 2, 3), rand(t, 2), rand(t, 2)),
    "batch_norm weight": lambda t, F: F.batch_norm(rand(t, 2, 3), rand(t, 3), rand(t, 3), rand(t, 2)),
    "layer_norm shape": lambda t, F: F.layer_norm(rand(t, 2, 3), (4,)),
    "layer_norm empty": lambda t, F: F.layer_norm(rand(t, 2, 3), ()),
    "layer_norm weight": lambda t, F: F.layer_norm(rand(t, 2, 3), (3,), rand(t, 2)),
    "layer_norm number": lambda t, F: F.layer_norm(rand(t, 2, 3), 3),
    "group_norm": lambda t, F: F.group_norm(rand(t, 2, 3), 2),
    "group_norm weight": lambda t, F: F.group_norm(rand(t, 2, 4, 3), 2, rand(t, 3)),
    "instance_norm": lambda t, F: F.instance_norm(rand(t, 2, 3, 1)),
    "instance_norm statistics": lambda t, F: F.instance_norm(rand(t, 2, 3, 4), use_input_stats=False),
    "rms_norm": lambda t, F: F.rms_norm(rand(t, 2, 3), (4,)),
    "embedding of floats": lambda t, F: F.embedding(rand(t, 2), rand(t, 3, 4)),
    "embedding out of range": lambda t, F: F.embedding(t.tensor([5]), rand(t, 3, 4)),
    "embedding negative": lambda t, F: F.embedding(t.tensor([-1]), rand(t, 3, 4)),
    "embedding padding": lambda t, F: F.embedding(t.tensor([1]), rand(t, 3, 4), padding_idx=7),
    "embedding vector": lambda t, F: F.embedding(t.tensor([1]), rand(t, 3)),
    "cross_entropy out of bounds": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 5])),
    "cross_entropy negative": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, -5])),
    "cross_entropy batch": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 1, 1])),
    "cross_entropy float": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1.0, 1.0])),
    "cross_entropy int32": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 1], dtype=t.int32)),
    "cross_entropy weight": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 1]), rand(t, 2)),
    "cross_entropy weight dtype": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 1]), rand(t, 3).double()),
    "cross_entropy size": lambda t, F: F.cross_entropy(rand(t, 2, 3, 4), longs(t, 2, 5)),
    "cross_entropy reduction": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 1]), reduction="x"),
    "cross_entropy smoothing": lambda t, F: F.cross_entropy(rand(t, 2, 3), t.tensor([1, 1]), label_smoothing=2.0),
    "cross_entropy ints": lambda t, F: F.cross_entropy(rand(t, 2, 3), longs(t, 2, 3)),
    "cross_entropy ignoring": lambda t, F: F.cross_entropy(rand(t, 2, 3), rand(t, 2, 3), ignore_index=1),
    "nll_loss out of bounds": lambda t, F: F.nll_loss(rand(t, 2, 3), t.tensor([1, 5])),
    "nll_loss scalar": lambda t, F: F.nll_loss(t.tensor(1.0), t.tensor(1)),
    "mse_loss of ints": lambda t, F: F.mse_loss(longs(t, 2), longs(t, 2)),
    "mse_loss shapes": lambda t, F: F.mse_loss(rand(t, 2), rand(t, 3)),
    "mse_loss reduction": lambda t, F: F.mse_loss(rand(t, 2), rand(t, 2), reduction="x"),
    "mse_loss weight": lambda t, F: F.mse_loss(rand(t, 2), rand(t, 2), weight=rand(t, 3)),
    "smooth_l1_loss beta": lambda t, F: F.smooth_l1_loss(rand(t, 2), rand(t, 2), beta=-1),
    "huber_loss delta": lambda t, F: F.huber_loss(rand(t, 2), rand(t, 2), delta=0),
    "binary_cross_entropy range": lambda t, F: F.binary_cross_entropy(rand(t, 2) + 3, rand(t, 2)),
    "binary_cross_entropy shape": lambda t, F: F.binary_cross_entropy(rand(t, 2), rand(t, 3)),
    "with logits shape": lambda t, F: F.binary_cross_entropy_with_logits(rand(t, 2), rand(t, 3)),
    "pad odd": lambda t, F: F.pad(rand(t, 2, 2), (1,)),
    "pad long": lambda t, F: F.pad(rand(t, 2), (1, 1, 1, 1)),
    "pad reflect": lambda t, F: F.pad(rand(t, 1, 3, 3), (3, 3), mode="reflect"),
    "pad reflect dimensions": lambda t, F: F.pad(rand(t, 1, 1, 3, 3), (1, 1), mode="reflect"),
    "pad value": lambda t, F: F.pad(rand(t, 1, 3, 3), (1, 1), mode="reflect", value=1.0),
    "pad mode": lambda t, F: F.pad(rand(t, 1, 3, 3), (1, 1), mode="x"),
    "pad circular": lambda t, F: F.pad(rand(t, 1, 3, 3), (4, 1), mode="circular"),
    "pixel_shuffle": lambda t, F: F.pixel_shuffle(rand(t, 1, 3, 2, 2), 2),
    "pixel_unshuffle": lambda t, F: F.pixel_unshuffle(rand(t, 1, 3, 3, 2), 2),
    "pdist": lambda t, F: F.pdist(rand(t, 3)),
    "attention mask": lambda t, F: F.scaled_dot_product_attention(
        rand(t, 2, 3, 4), rand(t, 2, 3, 4), rand(t, 2, 3, 4), t.zeros(3, 3), is_causal=True
    ),
    "interpolate nothing": lambda t, F: F.interpolate(rand(t, 1, 1, 2, 2)),
    "interpolate both": lambda t, F: F.interpolate(rand(t, 1, 1, 2, 2), size=3, scale_factor=2),
    "interpolate linear": lambda t, F: F.interpolate(rand(t, 1, 1, 2, 2), size=3, mode="linear"),
    "interpolate sizes": lambda t, F: F.interpolate(rand(t, 1, 1, 2, 2), size=(3, 3, 3)),
    "interpolate corners": lambda t, F: F.interpolate(rand(t, 1, 1, 2, 2), size=3, align_corners=True),
    "cosine_embedding_loss": lambda t, F: F.cosine_embedding_loss(rand(t, 2, 3), rand(t, 2, 3), rand(t, 2, 3)),
    "margin_ranking_loss": lambda t, F: F.margin_ranking_loss(rand(t, 2, 3), rand(t, 2, 3), rand(t, 2)),
    "triplet_margin_loss": lambda t, F: F.triplet_margin_loss(rand(t, 2, 3), rand(t, 2, 3), rand(t, 2)),
    "gaussian_nll_loss size": lambda t, F: F.gaussian_nll_loss(rand(t, 2, 3), rand(t, 2, 3), rand(t, 5)),
    "gaussian_nll_loss negative": lambda t, F: F.gaussian_nll_loss(rand(t, 2, 3), rand(t, 2, 3), -rand(t, 2, 3) - 1),
    "multi_margin_loss": lambda t, F: F.multi_margin_loss(rand(t, 2, 3), t.tensor([0, 5])),
}

#: Refused alike, in other words.
OTHER_WORDS = {
    "gelu of ints", "elu of ints", "mse_loss of ints", "conv_transpose2d output", "margin_ranking_loss", "rms_norm",
}  # fmt: skip


def refusal(t, functions, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((AssertionError, IndexError, RuntimeError, TypeError, ValueError)) as caught:
            call(t, functions)
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    expected = refusal(torch, theirs, REFUSED[name])
    found = refusal(tl, ours, REFUSED[name])
    assert type(found) is type(expected), (found, expected)
    if name not in OTHER_WORDS:
        words = str(expected).splitlines()[0].replace("torch.Size(", "").replace("])", "]").rstrip(". ")
        start = words[: max(25, len(words) // 2)]
        assert start in str(found), f"PyTorch says {words!r}, not {str(found)!r}"


def test_dropout_keeps_the_mean():
    tl.manual_seed(0)
    x = tl.ones(200, 300, requires_grad=True)
    y = ours.dropout(x, 0.3)
    kept = y.detach().numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.7)}
    assert abs(float((kept == 0).mean()) - 0.3) < 0.01
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), kept)
    assert ours.dropout(x, 0.3, training=False) is x
    assert not ours.dropout(x, 1.0).detach().numpy().any()
    z = tl.ones(40, 50)
    assert ours.dropout(z, 0.5, inplace=True) is z
    assert set(np.unique(z.numpy())) == {0.0, 2.0}


def test_channels_are_dropped_whole():
    tl.manual_seed(0)
    for function, shape in [
        (ours.dropout1d, (20, 30, 16)), (ours.dropout2d, (20, 30, 4, 4)), (ours.dropout3d, (20, 30, 4, 2, 2)),
    ]:  # fmt: skip
        channels = function(tl.ones(*shape), 0.5).numpy().reshape(600, 16)
        assert set(np.unique(channels)) == {0.0, 2.0}
        assert not channels.std(1).any()


def test_alpha_dropout_keeps_mean_and_variance():
    tl.manual_seed(0)
    y = ours.alpha_dropout(tl.randn(400, 500), 0.3, True)
    assert abs(float(y.mean())) < 0.01
    assert abs(float(y.std()) - 1) < 0.01
    channels = ours.feature_alpha_dropout(tl.ones(20, 30, 16), 0.5, True).numpy().reshape(600, 16)
    assert not channels.std(1).any()
    assert len(np.unique(channels)) == 2


def test_a_dimension_is_chosen_with_a_warning():
    x = tl.ones(2, 3)
    for name in ("softmax", "log_softmax", "softmin"):
        with pytest.warns(UserWarning, match=f"Implicit dimension choice for {name}") as caught:
            getattr(ours, name)(x)
        assert caught[0].filename == __file__


def test_older_reductions_warn():
    x, y = tl.ones(2), tl.zeros(2)
    for arguments, expected in [
        ({"size_average": False}, 2.0), ({"size_average": True}, 1.0), ({"reduce": True}, 1.0),
    ]:  # fmt: skip
        with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated"):
            assert float(ours.mse_loss(x, y, **arguments)) == expected
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert ours.l1_loss(x, y, reduce=False).tolist() == [1.0, 1.0]
