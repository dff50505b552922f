"""Samples of functions of neural networks in the namespace `tensorlike`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..sample import FLOATING, REAL, Make, SampleInput, samples


def _signs(make: Make, *shape: int) -> Any:
    """Return a tensor of 1 and -1."""
    tensor = make(*shape, requires_grad=False)
    tensor._tl_data[...] = np.where(tensor._tl_data > 0, 1, -1)
    return tensor


# -------------------------------------------------------------------------------------------------------------- losses


@samples("tensorlike.kl_div")
def _kl_div(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3, low=0.1, high=1))
    yield SampleInput(make(2, 3), make(3, low=0.1, high=1), 1)
    yield SampleInput(make(2, 3), make(2, 3), 2, log_target=True)
    yield SampleInput(make(), make(low=0.1, high=1), reduction=1)
    yield SampleInput(make(0, 3), make(0, 3), 2)


@samples("tensorlike.binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(make: Make) -> Iterator[SampleInput]:
    def target(*shape: int) -> Any:
        return make(*shape, low=0, high=1, requires_grad=False)

    yield SampleInput(make(2, 3), target(2, 3))
    weight, positive = make(3, requires_grad=False), make(3, low=0.5, requires_grad=False)
    yield SampleInput(make(2, 3), target(2, 3), weight, positive, 1)
    yield SampleInput(make(3), target(2, 3), weight)
    yield SampleInput(make(), target(), reduction=2)


@samples("tensorlike.poisson_nll_loss")
def _poisson_nll_loss(make: Make) -> Iterator[SampleInput]:
    counts = make(2, 3, low=2, high=9, requires_grad=False)
    yield SampleInput(make(2, 3), counts, True, False, 1e-8, 1)
    yield SampleInput(make(2, 3, low=0.5, high=3), counts, False, True, 0.1, 0)
    yield SampleInput(make(2, 3), counts, log_input=True, full=True, eps=1e-8, reduction=2)


@samples("tensorlike.hinge_embedding_loss", dtypes=REAL)
def _hinge_embedding_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), _signs(make, 2, 3))
    yield SampleInput(make(2, 3), _signs(make, 2, 3), 2.0, 2)
    if make.dtype.kind == "f":
        yield SampleInput(make(), _signs(make), margin=2.0, reduction=1)


@samples("tensorlike.margin_ranking_loss")
def _margin_ranking_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4), make(4), _signs(make, 4))
    yield SampleInput(make(2, 3), make(2, 3), _signs(make, 2, 3), 0.5, 1)
    yield SampleInput(make(), make(), _signs(make), margin=2.0, reduction=2)


@samples("tensorlike.cosine_embedding_loss")
def _cosine_embedding_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 3), _signs(make, 4))
    yield SampleInput(make(4, 3), make(4, 3), _signs(make, 4), 0.5, 1)
    yield SampleInput(make(3), make(3), _signs(make), margin=-0.5, reduction=2)


@samples("tensorlike.triplet_margin_loss")
def _triplet_margin_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3))
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3), 2.0, 3, 1e-3, True, 1)
    yield SampleInput(make(3), make(3), make(3), margin=-1.0, p=1.0, swap=True, reduction=2)


# ------------------------------------------------------------------------------------------------------- normalization


def _affine(make: Make, *shape: int) -> Any:
    return make(*shape, low=0.5, high=2)


@samples("tensorlike.layer_norm", tolerance=1e-5)
def _layer_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), (3,))
    yield SampleInput(make(2, 3, 4), [3, 4], _affine(make, 3, 4), make(3, 4), 1e-2, False)
    yield SampleInput(make(2, 0, 3), normalized_shape=(3,))


@samples("tensorlike.native_layer_norm", tolerance=1e-5)
def _native_layer_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), (3,), None, None, 1e-5)
    yield SampleInput(make(2, 3, 4), [3, 4], _affine(make, 3, 4), make(3, 4), 1e-2)
    yield SampleInput(make(0, 3), (3,), None, None, eps=1e-5)
    yield SampleInput(make(2, 0), (0,), None, None, eps=1e-5)


@samples("tensorlike.group_norm", tolerance=1e-5)
def _group_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), 2)
    yield SampleInput(make(2, 4, 3), 4, _affine(make, 4), make(4), 1e-2, False)
    yield SampleInput(make(2, 6, 2, 2), num_groups=3)


@samples("tensorlike.native_group_norm", tolerance=1e-5)
def _native_group_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), None, None, 3, 4, 1, 2, 1e-2)
    yield SampleInput(make(2, 6, 2, 2), _affine(make, 6), make(6), 2, 6, 4, group=3, eps=1e-2)
    yield SampleInput(make(0, 4, 2), None, None, 0, 4, 2, 2, 1e-5)
    if not make.requires_grad:
        yield SampleInput(make(2, 4, 0), None, None, 2, 4, 0, 2, 1e-5)


def _statistics(make: Make) -> tuple[Any, Any]:
    return make(3, requires_grad=False), make(3, low=0.5, high=2, requires_grad=False)


@samples("tensorlike.batch_norm", tolerance=1e-5)
def _batch_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), None, None, None, None, True, 0.1, 1e-5, True)
    yield SampleInput(make(4, 3, 2), _affine(make, 3), make(3), *_statistics(make), False, 0.2, 1e-2, False)
    yield SampleInput(make(2, 3, 2, 2), _affine(make, 3), make(3), None, None, True, momentum=0.0, eps=1e-2,
                      cudnn_enabled=False)  # fmt: skip


@samples("tensorlike.native_batch_norm", tolerance=1e-5)
def _native_batch_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), None, None, None, None, True, 0.1, 1e-5)
    yield SampleInput(make(4, 3, 2), _affine(make, 3), make(3), *_statistics(make), False, 0.2, 1e-2)
    yield SampleInput(make(2, 3, 2, 2), _affine(make, 3), make(3), None, None, True, momentum=0.0, eps=1e-2)


@samples("tensorlike.instance_norm", tolerance=1e-5)
def _instance_norm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, True)
    yield SampleInput(make(2, 3, 4), _affine(make, 3), make(3), *_statistics(make), False, 0.2, 1e-2, False)
    yield SampleInput(make(2, 3, 2, 2), _affine(make, 3), make(3), None, None, True, 0.1, eps=1e-2,
                      cudnn_enabled=False)  # fmt: skip


@samples("tensorlike.norm_except_dim", dtypes=(*FLOATING, "complex128"))
def _norm_except_dim(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4))
    yield SampleInput(make(2, 3, 4), 2, 1)
    yield SampleInput(make(2, 3, 4), pow=1, dim=2)
    yield SampleInput(make(2, 3), 2, -1)
    yield SampleInput(make(2, 3, 2), dim=-2)
    yield SampleInput(make(4), 2, 0)
    if not make.requires_grad:
        yield SampleInput(make(2, 0))


# ------------------------------------------------------------------------------------------------------------- pooling


@samples("tensorlike.max_pool1d")
def _max_pool1d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3, 6), 2)
    yield SampleInput(make.distinct(3, 7), (3,), 2, 1, 2, True)
    yield SampleInput(make.distinct(1, 2, 6), kernel_size=3, stride=1)


@samples("tensorlike.max_pool1d_with_indices", dtypes=(*FLOATING, "int64"), gradgradcheck=False)
def _max_pool1d_with_indices(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3, 6), 2)
    yield SampleInput(make.distinct(3, 7), (3,), 2, 1, 2, True)
    yield SampleInput(make.distinct(1, 2, 6), kernel_size=3, stride=1)


@samples("tensorlike.max_pool2d", dtypes=(*FLOATING, "int64"))
def _max_pool2d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3, 6, 4), 2)
    yield SampleInput(make.distinct(3, 7, 5), (3, 2), 2, 1, (1, 2), True)
    yield SampleInput(make.distinct(1, 2, 6, 6), kernel_size=3, stride=1)


@samples("tensorlike.max_pool3d", dtypes=(*FLOATING, "int64"))
def _max_pool3d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(1, 2, 4, 4, 2), 2)
    yield SampleInput(make.distinct(2, 5, 5, 4), (3, 2, 2), 2, 1, (1, 2, 1), True)


@samples("tensorlike.adaptive_max_pool1d")
def _adaptive_max_pool1d(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make.distinct(2, 3, 7), 3)
    yield SampleInput(make.distinct(3, 5), output_size=(2,))


# ---------------------------------------------------------------------------------------------------------- embeddings


@samples("tensorlike.embedding", dtypes=(*FLOATING, "int64", "bool"))
def _embedding(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make.integers(5, high=4))
    yield SampleInput(make(4, 3), make.integers(2, 3, high=4, dtype="int32"))
    yield SampleInput(make(4, 3), make.integers(), padding_idx=-2)
    yield SampleInput(make(4, 3), make.integers(0))
    if not make.requires_grad:
        # With gradients that are not the derivative, or sparse ones.
        yield SampleInput(make(4, 3), make.integers(2, 5, high=4), 2, True)
        yield SampleInput(make(4, 3), make.integers(5, high=4), sparse=True)


@samples("tensorlike.embedding_bag", gradgradcheck=False)
def _embedding_bag(make: Make) -> Iterator[SampleInput]:
    offsets, ends = make.integers(3), make.integers(3)
    offsets._tl_data[...], ends._tl_data[...] = [0, 2, 2], [0, 2, 5]
    yield SampleInput(make(4, 3), make.integers(5, high=4), offsets)
    yield SampleInput(make(4, 3), make.integers(5, high=4), offsets, mode=1)
    yield SampleInput(make.distinct(4, 3), make.integers(5, high=4), offsets, False, 2)
    yield SampleInput(make(4, 3), make.integers(5, high=4), offsets, per_sample_weights=make(5))
    yield SampleInput(make(4, 3), make.integers(5, high=4), ends, include_last_offset=True)
    yield SampleInput(make(4, 3), make.integers(5, high=4), offsets, False, 1, False, None, False, 1)
    yield SampleInput(make.distinct(4, 3), make.integers(5, high=4), offsets, False, 2, False, None, False, -1)
    yield SampleInput(make(4, 3), make.integers(5, high=4, dtype="int32"), offsets, mode=1)
    yield SampleInput(make(4, 3), make.integers(0, dtype="int64"), make.integers(2, high=1), mode=2)
    if not make.requires_grad:
        yield SampleInput(make(4, 3), make.integers(5, high=4), offsets, True, 1, True)


@samples("tensorlike.embedding_renorm_", gradcheck=False, reason="the rows are shortened unrecorded")
def _embedding_renorm(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3, requires_grad=False), make.integers(2, high=4), 1.0, 2.0)
    yield SampleInput(make(4, 3, requires_grad=False), make.integers(2, 3, high=4), max_norm=0.5, norm_type=1.0)
