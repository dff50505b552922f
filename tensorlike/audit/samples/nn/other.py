"""Samples of dropout, embeddings, padding, distances, resampling and attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..sample import ALL, FLOATING, Make, SampleInput, samples

_F = "tensorlike.nn.functional"
_RANDOM = "which elements are dropped is random; the values are tested by themselves"


@samples(f"{_F}.dropout", gradcheck=False, deterministic=False, reason=_RANDOM)
def _dropout(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), 0.2)
    yield SampleInput(make(), p=1.0, training=True)
    yield SampleInput(make(3, 4), 0.5, False)


@samples(f"{_F}.alpha_dropout", f"{_F}.feature_alpha_dropout", gradcheck=False, deterministic=False, reason=_RANDOM)
def _alpha_dropout(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(3, 4), 0.2, True)
    yield SampleInput(make(2, 3, 4), p=1.0, training=True)


@samples(f"{_F}.dropout1d", gradcheck=False, deterministic=False, reason=_RANDOM)
def _dropout1d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4))
    yield SampleInput(make(3, 4), 0.2, False)


@samples(f"{_F}.dropout2d", gradcheck=False, deterministic=False, reason=_RANDOM)
def _dropout2d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 2, 2))
    yield SampleInput(make(2, 3, 2, 2), 0.2, False)


@samples(f"{_F}.dropout3d", gradcheck=False, deterministic=False, reason=_RANDOM)
def _dropout3d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 2, 2, 2))
    yield SampleInput(make(3, 2, 2, 2), 0.2, False)


def _rows(make: Make) -> Any:
    return make(4, 3)


@samples(f"{_F}.embedding")
def _embedding(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.integers(5, high=4), _rows(make))
    yield SampleInput(make.integers(2, 3, high=4, dtype="int32"), _rows(make), 1)
    yield SampleInput(make.integers(), _rows(make), padding_idx=-1)
    yield SampleInput(make.integers(0), _rows(make))
    if not make.requires_grad:
        # With gradients that are not the derivative: see the tests.
        yield SampleInput(make.integers(2, 5, high=4), _rows(make), 2, scale_grad_by_freq=True)
        # The limit is above every norm, since rows would be scaled in place.
        yield SampleInput(make.integers(5, high=4), _rows(make), max_norm=100.0, norm_type=1.0)
        yield SampleInput(make.integers(5, high=4), _rows(make), sparse=True)


@samples(f"{_F}.embedding_bag", gradgradcheck=False)
def _embedding_bag(make: Make) -> Iterator[SampleInput]:
    offsets = make.integers(3)
    offsets._tl_data[...] = [0, 2, 2]
    ends = make.integers(3)
    ends._tl_data[...] = [0, 2, 5]
    yield SampleInput(make.integers(2, 3, high=4), _rows(make))
    yield SampleInput(make.integers(5, high=4), _rows(make), offsets, mode="sum")
    yield SampleInput(make.integers(5, high=4), _rows(make), offsets, mode="mean", padding_idx=1)
    yield SampleInput(make.integers(2, 3, high=4), _rows(make), mode="max")
    yield SampleInput(make.integers(2, 3, high=4), _rows(make), mode="sum", per_sample_weights=make(2, 3))
    yield SampleInput(make.integers(5, high=4), _rows(make), ends, include_last_offset=True, mode="sum")
    if not make.requires_grad:
        yield SampleInput(
            make.integers(2, 3, high=4), _rows(make), None, 100.0, 1.0, True, "sum", True,
        )  # fmt: skip


@samples(f"{_F}.pad", dtypes=ALL)
def _pad(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (1, 2))
    yield SampleInput(make(2, 3), [1, 0, 2, 1], "constant", 2)
    yield SampleInput(make(2, 4), pad=(-1, 2))
    yield SampleInput(make(2, 4, 5), (-1, -2, 0, 1), value=1)
    yield SampleInput(make(3), ())
    yield SampleInput(make(0, 2), (1, 1))
    if make.dtype.kind != "b":
        for mode in ("reflect", "replicate", "circular"):
            yield SampleInput(make(2, 3), (2, 1), mode)
            yield SampleInput(make(2, 2, 3), (1, 2), mode=mode)
            yield SampleInput(make(1, 2, 3, 4), (2, 1, 1, 2), mode)
            yield SampleInput(make(1, 2, 3, 2, 2), (1, 1, 1, 0, 2, 1), mode)
            yield SampleInput(make(1, 2, 3, 4), (0, 0, 1, 0), mode)


@samples("tensorlike.constant_pad_nd", dtypes=ALL)
def _constant_pad_nd(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (1, 2))
    yield SampleInput(make(2, 3), [1, 0, -1, 1], 2)
    yield SampleInput(make(3), pad=(1, 1), value=1)


@samples(
    "tensorlike.cosine_similarity", f"{_F}.cosine_similarity",
)  # fmt: skip
def _cosine_similarity(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), make(3, 4))
    yield SampleInput(make(3, 4), make(1, 4), -1)
    yield SampleInput(make(2, 3, 4), make(2, 3, 4), dim=0, eps=1e-2)
    yield SampleInput(make(5), make(5), 0)


@samples("tensorlike.pairwise_distance", f"{_F}.pairwise_distance")
def _pairwise_distance(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), make(3, 4))
    yield SampleInput(make(3, 4), make(4), 1.0, 0.01, True)
    yield SampleInput(make(2, 3, 4), make(2, 3, 4), p=3.0)
    yield SampleInput(make(5), make(5), keepdim=True)


@samples("tensorlike.pdist", f"{_F}.pdist", gradgradcheck=False)
def _pdist(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3))
    yield SampleInput(make(4, 3), 1.0)
    yield SampleInput(make(3, 2), p=3)


@samples("tensorlike.pixel_shuffle", f"{_F}.pixel_shuffle", dtypes=ALL)
def _pixel_shuffle(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(8, 2, 3), 2)
    yield SampleInput(make(2, 9, 2, 1), upscale_factor=3)


@samples("tensorlike.pixel_unshuffle", f"{_F}.pixel_unshuffle", dtypes=ALL)
def _pixel_unshuffle(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4, 6), 2)
    yield SampleInput(make(2, 1, 3, 6), downscale_factor=3)


@samples(f"{_F}.channel_shuffle", "tensorlike.channel_shuffle", dtypes=ALL)
def _channel_shuffle(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 6, 3), 2)
    yield SampleInput(make(1, 6, 2, 2), groups=3)


@samples(f"{_F}.bilinear", dtypes=(*FLOATING, "int64"))
def _bilinear(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 2), make(4, 3), make(5, 2, 3))
    yield SampleInput(make(2, 2, 2), make(2, 2, 3), make(4, 2, 3), make(4))
    yield SampleInput(make(2), make(3), make(4, 2, 3), bias=make(4))


@samples(f"{_F}.interpolate")
def _interpolate(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(1, 2, 4), 7)
    yield SampleInput(make(1, 2, 3, 4), (5, 2))
    yield SampleInput(make(1, 2, 3, 4), None, 2)
    yield SampleInput(make(1, 2, 3, 4), scale_factor=(1.6, 0.5), mode="nearest-exact")
    yield SampleInput(make(1, 1, 2, 3, 2), scale_factor=1.5)
    yield SampleInput(make(1, 2, 5), 3, mode="area")
    yield SampleInput(make(1, 2, 5, 4), (3, 2), mode="area")
    for corners in (False, True):
        yield SampleInput(make(1, 2, 4), size=7, mode="linear", align_corners=corners)
        yield SampleInput(make(1, 2, 3, 4), size=(5, 3), mode="bilinear", align_corners=corners)
        yield SampleInput(make(1, 2, 3, 4), size=(5, 3), mode="bicubic", align_corners=corners)
        yield SampleInput(make(1, 1, 2, 3, 2), size=(3, 2, 4), mode="trilinear", align_corners=corners)
    yield SampleInput(make(1, 2, 3, 4), scale_factor=1.7, mode="bilinear")
    for mode in ("bilinear", "bicubic"):
        yield SampleInput(make(1, 1, 7, 5), (3, 4), mode=mode, antialias=True)
        yield SampleInput(make(1, 1, 7, 5), scale_factor=(1.5, 0.4), mode=mode, antialias=True)
        yield SampleInput(make(1, 1, 7, 5), (3, 6), None, mode, True, antialias=True)
    yield SampleInput(make(1, 2, 3, 4), scale_factor=1.7, mode="bicubic", recompute_scale_factor=True)


@samples(f"{_F}.scaled_dot_product_attention", tolerance=1e-5, gradgradcheck=False)
def _scaled_dot_product_attention(make: Make) -> Iterator[SampleInput]:
    allowed = make.bools(3, 4)
    allowed._tl_data[:, 0] = True
    yield SampleInput(make(2, 3, 4), make(2, 5, 4), make(2, 5, 2))
    yield SampleInput(make(2, 3, 4), make(2, 4, 4), make(2, 4, 4), allowed)
    yield SampleInput(make(1, 2, 3, 4), make(1, 2, 4, 4), make(1, 2, 4, 4), make(3, 4, requires_grad=False))
    yield SampleInput(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), is_causal=True, scale=0.3)
    yield SampleInput(make(1, 4, 3, 2), make(1, 2, 3, 2), make(1, 2, 3, 2), enable_gqa=True)
    yield SampleInput(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), dropout_p=1.0)
    none = make.bools(3, 4)
    none._tl_data[...] = np.array([[True], [False], [True]])
    yield SampleInput(make(2, 3, 4), make(2, 4, 4), make(2, 4, 4), none)
