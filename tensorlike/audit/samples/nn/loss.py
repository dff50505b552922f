"""Samples of losses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..sample import FLOATING, Make, SampleInput, samples

_F = "tensorlike.nn.functional"


def _signs(make: Make, *shape: int) -> Any:
    """Return a tensor of 1 and -1."""
    tensor = make(*shape, requires_grad=False)
    tensor._tl_data[...] = np.where(tensor._tl_data > 0, 1, -1)
    return tensor


@samples(f"{_F}.mse_loss")
def _mse_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(2, 3), reduction="none")
    yield SampleInput(make(4), target=make(4), reduction="sum")
    yield SampleInput(make(), make())
    yield SampleInput(make(2, 3), make(2, 3), weight=make(2, 3, low=0.5, high=2))
    yield SampleInput(make(2, 3), make(2, 3), reduction="none", weight=make(2, 3, low=0.5, high=2))


@samples(f"{_F}.l1_loss", dtypes=(*FLOATING, "complex128"))
def _l1_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(2, 3), reduction="none")
    yield SampleInput(make(), target=make(), reduction="sum")
    if make.dtype.kind == "f":
        yield SampleInput(make(2, 3), make(2, 3), weight=make(2, 3, low=0.5, high=2))


@samples(f"{_F}.smooth_l1_loss")
def _smooth_l1_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(2, 3), reduction="none", beta=2.0)
    yield SampleInput(make(), make(), reduction="sum", beta=0)


@samples(f"{_F}.huber_loss")
def _huber_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3))
    yield SampleInput(make(2, 3), make(2, 3), "none", 2.0)
    yield SampleInput(make(), make(), reduction="sum", delta=0.5)
    yield SampleInput(make(2, 3), make(2, 3), weight=make(2, 3, low=0.5, high=2))


@samples(f"{_F}.binary_cross_entropy")
def _binary_cross_entropy(make: Make) -> Iterator[SampleInput]:
    def unit(*shape: int) -> Any:
        return make(*shape, low=0.1, high=0.9)

    yield SampleInput(unit(2, 3), unit(2, 3))
    yield SampleInput(unit(2, 3), unit(2, 3), make(3, requires_grad=False), reduction="none")
    yield SampleInput(unit(), unit(), weight=make(requires_grad=False), reduction="sum")


@samples(f"{_F}.binary_cross_entropy_with_logits")
def _binary_cross_entropy_with_logits(make: Make) -> Iterator[SampleInput]:
    def target(*shape: int) -> Any:
        return make(*shape, low=0, high=1, requires_grad=False)

    yield SampleInput(make(2, 3), target(2, 3))
    yield SampleInput(make(2, 3), target(2, 3), make(3, requires_grad=False), reduction="none")
    yield SampleInput(make(2, 3), target(2, 3), reduction="sum", pos_weight=make(3, low=0.5, requires_grad=False))
    yield SampleInput(make(), target())


@samples(f"{_F}.soft_margin_loss")
def _soft_margin_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), _signs(make, 2, 3))
    yield SampleInput(make(2, 3), _signs(make, 2, 3), reduction="none")
    yield SampleInput(make(), _signs(make), reduction="sum")


@samples(f"{_F}.kl_div")
def _kl_div(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2, 3, low=0.1, high=1), reduction="batchmean")
    yield SampleInput(make(2, 3), make(2, 3, low=0.1, high=1), reduction="none")
    yield SampleInput(make(2, 3), make(2, 3), reduction="sum", log_target=True)


@samples(f"{_F}.poisson_nll_loss")
def _poisson_nll_loss(make: Make) -> Iterator[SampleInput]:
    counts = make(2, 3, low=2, high=9, requires_grad=False)
    yield SampleInput(make(2, 3), counts)
    yield SampleInput(make(2, 3, low=0.5, high=3), counts, False, True, reduction="none")
    yield SampleInput(make(2, 3, low=0.5, high=3), counts, log_input=False, eps=0.1, reduction="sum")
    yield SampleInput(make(2, 3), make(2, 3, low=0.1, high=0.9, requires_grad=False), full=True)


@samples(f"{_F}.gaussian_nll_loss")
def _gaussian_nll_loss(make: Make) -> Iterator[SampleInput]:
    def variance(*shape: int) -> Any:
        return make(*shape, low=0.5, high=2)

    yield SampleInput(make(2, 3), make(2, 3), variance(2, 3))
    yield SampleInput(make(2, 3), make(2, 3), variance(2), True, 0.1, "none")
    yield SampleInput(make(2, 3), make(2, 3), var=variance(2, 1), full=True, eps=0.01, reduction="sum")
    yield SampleInput(make(2, 3), make(2, 3), 0.5)


@samples(f"{_F}.cross_entropy")
def _cross_entropy(make: Make) -> Iterator[SampleInput]:
    def weight() -> Any:
        return make(3, low=0.5, high=2, requires_grad=False)

    yield SampleInput(make(4, 3), make.integers(4))
    yield SampleInput(make(4, 3), make.integers(4), weight())
    yield SampleInput(make(4, 3), make.integers(4), reduction="none", ignore_index=1)
    yield SampleInput(make(4, 3), make.integers(4), weight(), ignore_index=0, reduction="sum", label_smoothing=0.2)
    yield SampleInput(make(4, 3), make.integers(4), ignore_index=2, label_smoothing=0.1)
    yield SampleInput(make(2, 3, 4), make.integers(2, 4), weight(), label_smoothing=0.3)
    yield SampleInput(make(2, 3, 2, 2), make.integers(2, 2, 2), reduction="none", label_smoothing=0.3)
    yield SampleInput(make(2, 3, 4), make.integers(2, 4), ignore_index=1)
    yield SampleInput(make(3), make.integers())
    yield SampleInput(make(3), make.integers(), weight(), label_smoothing=0.5)
    yield SampleInput(make(4, 3), make.integers(4, dtype="uint8"), reduction="sum")
    yield SampleInput(make(4, 3), make(4, 3, low=0, high=1))
    yield SampleInput(make(2, 3, 4), make(2, 3, 4, low=0, high=1), weight(), reduction="none", label_smoothing=0.1)
    yield SampleInput(make(3), make(3, low=0, high=1), reduction="sum")


@samples(f"{_F}.nll_loss")
def _nll_loss(make: Make) -> Iterator[SampleInput]:
    def weight() -> Any:
        return make(3, low=0.5, high=2, requires_grad=False)

    yield SampleInput(make(4, 3), make.integers(4))
    yield SampleInput(make(4, 3), make.integers(4), weight())
    yield SampleInput(make(4, 3), make.integers(4), weight=weight(), reduction="none")
    yield SampleInput(make(4, 3), make.integers(4), ignore_index=1, reduction="sum")
    yield SampleInput(make(2, 3, 4), make.integers(2, 4), weight(), ignore_index=0)
    yield SampleInput(make(2, 3, 2, 2), make.integers(2, 2, 2), reduction="none")
    yield SampleInput(make(3), make.integers(), reduction="sum")


@samples(f"{_F}.hinge_embedding_loss")
def _hinge_embedding_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), _signs(make, 2, 3))
    yield SampleInput(make(2, 3), _signs(make, 2, 3), 0.5, reduction="none")
    yield SampleInput(make(), _signs(make), margin=2.0, reduction="sum")


@samples(f"{_F}.margin_ranking_loss")
def _margin_ranking_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4), make(4), _signs(make, 4))
    yield SampleInput(make(2, 3), make(2, 3), _signs(make, 2, 3), 0.5, reduction="none")
    yield SampleInput(make(), make(), _signs(make), margin=2.0, reduction="sum")


@samples(f"{_F}.cosine_embedding_loss")
def _cosine_embedding_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 3), _signs(make, 4))
    yield SampleInput(make(4, 3), make(4, 3), _signs(make, 4), 0.5, reduction="none")
    yield SampleInput(make(3), make(3), _signs(make), margin=-0.5, reduction="sum")


@samples(f"{_F}.triplet_margin_loss")
def _triplet_margin_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3))
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3), 2.0, 3, 1e-3, True, reduction="none")
    yield SampleInput(make(3), make(3), make(3), margin=5.0, p=1, swap=True, reduction="sum")


def _city_blocks(x: Any, y: Any) -> Any:
    return (x - y).abs().sum(-1)


@samples(f"{_F}.triplet_margin_with_distance_loss")
def _triplet_margin_with_distance_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3))
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3), distance_function=partial(_city_blocks), margin=2.0)
    yield SampleInput(make(4, 3), make(4, 3), make(4, 3), swap=True, reduction="none")


@samples(f"{_F}.multilabel_soft_margin_loss")
def _multilabel_soft_margin_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make(4, 3, low=0, high=1, requires_grad=False))
    yield SampleInput(make(4, 3), make(4, 3, low=0, high=1), make(3, requires_grad=False), reduction="none")
    yield SampleInput(make(3), make(3, low=0, high=1, requires_grad=False), reduction="sum")


@samples(f"{_F}.multi_margin_loss", gradgradcheck=False)
def _multi_margin_loss(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4, 3), make.integers(4))
    yield SampleInput(make(4, 3), make.integers(4), 2, 0.5, make(3, low=0.5, high=2, requires_grad=False))
    yield SampleInput(make(4, 3), make.integers(4), p=2, margin=2.0, reduction="none")
    yield SampleInput(make(3), make.integers(), reduction="sum")


@samples(f"{_F}.multilabel_margin_loss", gradgradcheck=False)
def _multilabel_margin_loss(make: Make) -> Iterator[SampleInput]:
    labels = make.integers(2, 4)
    labels._tl_data[...] = [[2, 0, -1, 1], [1, -1, -1, -1]]
    yield SampleInput(make(2, 4), labels)
    yield SampleInput(make(2, 4), labels, reduction="none")
    none = make.integers(3)
    none._tl_data[...] = -1
    yield SampleInput(make(3), none, reduction="sum")
