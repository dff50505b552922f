"""Losses of `tensorlike` itself: they take the reduction as a number, 0 for none, 1 for the mean, 2 for the sum.

PyTorch's functions of these names are those that its `nn.functional` calls. Their declared default is the mean, and
their result without a reduction the single losses.
"""

from __future__ import annotations

from tensorlike.tensor.declarations.declare import composite, undispatched
from tensorlike.tensor.types import Tensor

from ..shared import as_number
from . import loss, ranking
from .declaring import array_of, broadcast_shape, reduced
from .ranking import pairwise_distance

_hinge = undispatched(ranking.hinge_embedding_loss)
_margin = undispatched(ranking.margin_ranking_loss)
_cosine = undispatched(ranking.cosine_embedding_loss)
_poisson = undispatched(loss.poisson_nll_loss)


def reduction_named(function: str, position: int, reduction: int) -> str:
    """Return the name of a reduction that is given as a number; numbers other than 1 and 2 stand for "none"."""
    reduction = as_number(reduction, integral=True)
    if isinstance(reduction, bool) or not isinstance(reduction, int):
        raise TypeError(
            f"{function}(): argument 'reduction' (position {position}) must be int, not {type(reduction).__name__}: "
            "0 for none, 1 for the mean, 2 for the sum"
        )
    return {1: "mean", 2: "sum"}.get(reduction, "none")


@composite
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """Return the Kullback-Leibler divergence of the log-probabilities `input` from `target`, reduced by number.

    `reduction` is 0 (none), 1 (the mean over all elements) or 2 (the sum). With `log_target` the target holds
    log-probabilities too. Raises RuntimeError for integers and complex numbers.

    >>> tl.kl_div(tl.tensor([0.5, 0.5]).log(), tl.tensor([0.25, 0.75]), 2)
    tensor(0.1308)
    """
    return reduced(loss.divergences(input, target, log_target), reduction_named("kl_div", 3, reduction))


@composite
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """Return the cross entropy between the probabilities `sigmoid(input)` and `target`, reduced by number.

    `weight` multiplies all elements, `pos_weight` the part of the target; `reduction` is 0 (none), 1 (mean) or 2 (sum).
    Raises RuntimeError unless `input` broadcasts to the size of `target`.

    >>> tl.binary_cross_entropy_with_logits(tl.tensor([0.0, 2.0]), tl.tensor([0.0, 1.0]), reduction=1)
    tensor(0.4100)
    """
    name = "binary_cross_entropy_with_logits"
    shapes = [array_of(name, argument, at, value).shape for at, (argument, value) in enumerate(
        (("input", input), ("target", target)), 1
    )]  # fmt: skip
    found = broadcast_shape(name, *shapes)
    if tuple(found) != tuple(shapes[1]):
        raise RuntimeError(
            f"{name}(): output with shape {list(shapes[1])} doesn't match the broadcast shape {list(found)}: the input "
            "has to broadcast to the target"
        )
    if pos_weight is not None and tuple(found) != tuple(shapes[0]):
        raise RuntimeError(
            f"{name}(): output with shape {list(shapes[0])} doesn't match the broadcast shape {list(found)}: with "
            "pos_weight the input has to have the size of the target"
        )
    return reduced(loss.binary_losses(input, target, weight, pos_weight), reduction_named(name, 5, reduction))


@composite
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """Return the negative log-likelihood of the counts `target` under Poisson distributions, reduced by number.

    The arguments are those of `nn.functional.poisson_nll_loss`; `reduction` is 0 (none), 1 (mean) or 2 (sum).

    >>> tl.poisson_nll_loss(tl.tensor([0.0, 1.0]), tl.tensor([1.0, 2.0]), True, False, 1e-8, 1)
    tensor(0.8591)
    """
    name = reduction_named("poisson_nll_loss", 6, reduction)
    return _poisson(input, target, log_input, full, None, eps, None, name)


@composite
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """Return `input` where `target` is 1 and `max(0, margin - input)` where it is -1, reduced by number.

    `reduction` is 0 (none), 1 (mean) or 2 (sum).

    >>> tl.hinge_embedding_loss(tl.tensor([0.5, 0.5]), tl.tensor([1.0, -1.0]), reduction=2)
    tensor(1.)
    """
    name = reduction_named("hinge_embedding_loss", 4, reduction)
    return _hinge(input, target, margin, reduction=name)


@composite
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """Return `max(0, margin - target * (input1 - input2))`, reduced by number.

    `reduction` is 0 (none), 1 (mean) or 2 (sum). Raises RuntimeError when the numbers of dimensions differ.

    >>> tl.margin_ranking_loss(tl.tensor([2.0]), tl.tensor([3.0]), tl.tensor([1.0]), 0.5)
    tensor([1.5000])
    """
    name = reduction_named("margin_ranking_loss", 5, reduction)
    return _margin(input1, input2, target, margin, reduction=name)


@composite
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """Return `1 - cosine` of two vectors where `target` is 1, `max(0, cosine - margin)` where it is -1.

    The inputs have the shape (N, D) or (D,), the target (N,) or (); `reduction` is 0 (none), 1 (mean) or 2 (sum).

    >>> x = tl.tensor([[1.0, 0.0]])
    >>> tl.cosine_embedding_loss(x, tl.tensor([[0.0, 1.0]]), tl.tensor([1.0]))
    tensor([1.])
    """
    name = reduction_named("cosine_embedding_loss", 5, reduction)
    return _cosine(input1, input2, target, margin, reduction=name)


@composite
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """Return `max(0, margin + d(anchor, positive) - d(anchor, negative))`, reduced by number.

    The arguments are those of `nn.functional.triplet_margin_loss`, but `margin` may have any sign; `reduction` is 0
    (none), 1 (mean) or 2 (sum).

    >>> a, b, c = tl.tensor([[0.0]]), tl.tensor([[1.0]]), tl.tensor([[1.5]])
    >>> tl.triplet_margin_loss(a, b, c, reduction=1)
    tensor(0.5000)
    """
    name = reduction_named("triplet_margin_loss", 8, reduction)
    margin = as_number(margin)
    return ranking.triplets(
        lambda x, y: pairwise_distance(x, y, p, eps), anchor, positive, negative, margin, swap, name
    )
