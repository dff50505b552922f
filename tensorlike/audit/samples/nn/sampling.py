"""Samples of grids, of fractional pooling, of the CTC loss, and of convolutions of other forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorlike.nn import LinearCrossEntropyOptions

from ..sample import ALL, FLOATING, Make, SampleInput, samples

_F = "tensorlike.nn.functional"


@samples(
    f"{_F}.fractional_max_pool2d", f"{_F}.fractional_max_pool2d_with_indices",
)  # fmt: skip
def _fractional_max_pool2d(make: Make) -> Iterator[SampleInput]:
    def drawn(*shape: int) -> Any:
        return make(*shape, low=0, high=1, requires_grad=False)

    yield SampleInput(make.distinct(2, 3, 6, 5), 2, (3, 2), _random_samples=drawn(2, 3, 2))
    yield SampleInput(make.distinct(3, 7, 6), (3, 2), None, (0.5, 0.6), True, drawn(1, 3, 2))
    yield SampleInput(make.distinct(1, 1, 4, 4), 1, 4, _random_samples=drawn(1, 1, 2))
    if not make.requires_grad:
        yield SampleInput(make.distinct(0, 2, 4, 4), 2, 2, _random_samples=drawn(0, 2, 2))


@samples(f"{_F}.fractional_max_pool3d", f"{_F}.fractional_max_pool3d_with_indices")
def _fractional_max_pool3d(make: Make) -> Iterator[SampleInput]:
    def drawn(*shape: int) -> Any:
        return make(*shape, low=0, high=1, requires_grad=False)

    yield SampleInput(make.distinct(2, 2, 5, 4, 6), 2, (3, 2, 3), _random_samples=drawn(2, 2, 3))
    yield SampleInput(make.distinct(2, 4, 5, 4), (2, 2, 1), None, (0.5, 0.6, 0.5), True, drawn(1, 2, 3))


def _grid(make: Make, *shape: int) -> Any:
    return make(*shape, low=-1.4, high=1.4)


# PyTorch has no second derivative of these.
@samples(f"{_F}.grid_sample", gradgradcheck=False, tolerance=1e-5)
def _grid_sample(make: Make) -> Iterator[SampleInput]:
    for mode in ("bilinear", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                yield SampleInput(make(2, 2, 4, 3), _grid(make, 2, 3, 2, 2), mode, padding, align)
    yield SampleInput(make(2, 2, 2, 3, 4), _grid(make, 2, 2, 2, 1, 3), padding_mode="border", align_corners=True)
    yield SampleInput(make(1, 2, 2, 3, 4), _grid(make, 1, 2, 2, 2, 3), mode="bilinear", align_corners=False)
    yield SampleInput(make(1, 2, 1, 4), _grid(make, 1, 2, 2, 2), padding_mode="reflection", align_corners=True)
    if not make.requires_grad:
        yield SampleInput(make(2, 2, 4, 3), _grid(make, 2, 3, 2, 2), "nearest", align_corners=False)
        yield SampleInput(make(2, 2, 4, 3), _grid(make, 2, 3, 2, 2), "nearest", "reflection", True)
        yield SampleInput(make(1, 2, 2, 3, 4), _grid(make, 1, 2, 2, 2, 3), "nearest", "border", True)
        yield SampleInput(make(0, 2, 4, 3), _grid(make, 0, 3, 2, 2), align_corners=True)
        yield SampleInput(make(1, 2, 4, 3), _grid(make, 1, 0, 2, 2), align_corners=True)


@samples("tensorlike.grid_sampler", "tensorlike.grid_sampler_2d", gradgradcheck=False, tolerance=1e-5)
def _grid_sampler(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 2, 4, 3), _grid(make, 2, 3, 2, 2), 0, 0, False)
    yield SampleInput(make(2, 2, 4, 3), _grid(make, 2, 3, 2, 2), 2, 1, align_corners=True)
    if not make.requires_grad:
        yield SampleInput(make(2, 2, 4, 3), _grid(make, 2, 3, 2, 2), 1, 2, False)


@samples("tensorlike.grid_sampler_3d", gradgradcheck=False, tolerance=1e-5)
def _grid_sampler_3d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 2, 2, 3, 4), _grid(make, 2, 2, 2, 1, 3), 0, 0, False)
    yield SampleInput(make(1, 1, 2, 3, 4), _grid(make, 1, 2, 2, 1, 3), 0, 2, True)


@samples("tensorlike.affine_grid_generator", f"{_F}.affine_grid")
def _affine_grid(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 2, 3), (2, 1, 3, 4), False)
    yield SampleInput(make(2, 2, 3), [2, 1, 3, 4], align_corners=True)
    yield SampleInput(make(1, 3, 4), (1, 2, 2, 3, 1), False)


def _log_probs(make: Make, *shape: int) -> Any:
    """Return logarithms of probabilities."""
    return make(*shape).log_softmax(-1)


# The gradient is right only after a log_softmax, and PyTorch has no second one.
@samples(
    f"{_F}.ctc_loss", gradcheck=False, tolerance=1e-5,
    reason="the gradient is that of log-probabilities that log_softmax returned: see the tests",
)  # fmt: skip
def _ctc_loss(make: Make) -> Iterator[SampleInput]:
    targets = make.integers(2, 3, low=1, high=4)
    yield SampleInput(_log_probs(make, 7, 2, 4), targets, (7, 6), (3, 2))
    yield SampleInput(_log_probs(make, 7, 2, 4), targets, make.integers(2, low=6, high=8), make.integers(2, high=4))
    yield SampleInput(_log_probs(make, 8, 2, 4), make.integers(5, high=3), (8, 8), (3, 2), 3, "none", True)
    yield SampleInput(_log_probs(make, 5, 4), make.integers(2, low=1, high=4), (5,), (2,), reduction="sum")
    yield SampleInput(_log_probs(make, 2, 2, 4), targets, (2, 2), (3, 0), zero_infinity=True)


@samples(
    "tensorlike.ctc_loss", gradcheck=False, tolerance=1e-5,
    reason="the gradient is that of log-probabilities that log_softmax returned: see the tests",
)  # fmt: skip
def _numbered_ctc_loss(make: Make) -> Iterator[SampleInput]:
    targets = make.integers(2, 3, low=1, high=4)
    yield SampleInput(_log_probs(make, 7, 2, 4), targets, (7, 6), (3, 2))
    yield SampleInput(_log_probs(make, 8, 2, 4), make.integers(5, high=3), (8, 8), (3, 2), 3, 1, True)
    yield SampleInput(_log_probs(make, 7, 2, 4), targets, make.integers(2, low=6, high=8), make.integers(2, high=4))


@samples(f"{_F}.linear_cross_entropy")
def _linear_cross_entropy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 2), make(3, 2), make.integers(4))
    weight = make(3, low=0.5, high=2, requires_grad=False)
    yield SampleInput(make(4, 2), make(3, 2), make.integers(4), linear_bias=make(3), weight=weight, reduction="sum")
    yield SampleInput(make(4, 2), make(3, 5, 2), make.integers(4, 5), linear_bias=make(3, 5), ignore_index=1)
    yield SampleInput(make(2), make(3, 2), make.integers(), label_smoothing=0.2)
    yield SampleInput(make(4, 2), make(3, 2), make(4, 3, low=0, high=1), reduction="none")
    if not make.requires_grad:
        # In chunks, which can be differentiated only once.
        yield SampleInput(
            make(4, 2), make(3, 2), make.integers(4), options=LinearCrossEntropyOptions(), name="not in PyTorch's words"
        )


@samples("tensorlike.convolution")
def _convolution(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 6), make(4, 3, 3), None, [1], [0], [1], False, [0], 1)
    yield SampleInput(make(1, 4, 5, 6), make(4, 2, 2, 3), make(4), (2, 1), (1, 0), [1, 2], False, (0, 0), 2)
    yield SampleInput(make(1, 3, 4), make(3, 2, 3), make(2), (2,), (1,), (1,), True, (1,), 1)
    yield SampleInput(make(1, 2, 3, 3, 3), make(2, 2, 2, 2, 2), None, [1], [0], [1], transposed=False,
                      output_padding=[0], groups=1)  # fmt: skip


@samples(f"{_F}.conv_tbc", "tensorlike.conv_tbc", dtypes=(*FLOATING, "int64"))
def _conv_tbc(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, 2, 3), make(2, 3, 4), make(4))
    yield SampleInput(make(4, 1, 2), make(3, 2, 2), make(2), 1)
    yield SampleInput(make(1, 2, 3), make(2, 3, 4), bias=make(4))


@samples(f"{_F}.native_channel_shuffle", "tensorlike.native_channel_shuffle", dtypes=ALL)
def _native_channel_shuffle(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 6, 3), 2)
    yield SampleInput(make(1, 6, 2, 2), groups=3)
