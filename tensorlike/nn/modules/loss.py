"""Loss functions as modules.

`reduction` is "mean", "sum", or "none" for the losses themselves. `size_average` and `reduce` are older spellings of
it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
]


def _reduction(size_average: bool | None, reduce: bool | None, warn: bool = True) -> str:
    """Return the reduction that the older arguments mean, with a deprecation warning."""
    if reduce is not None and not reduce:
        reduction = "none"
    else:
        reduction = "mean" if size_average is None or size_average else "sum"
    if warn:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    return reduction


class _Loss(Module):
    """Base class of losses: the reduction."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _reduction(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """Base class of losses with a weight for each class."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """Mean absolute error: |input − target|, reduced.

    >>> tl.nn.L1Loss()(tl.tensor([1.0, 4.0]), tl.tensor([2.0, 2.0]))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Mean squared error: (input − target)², reduced.

    >>> tl.nn.MSELoss()(tl.tensor([1.0, 4.0]), tl.tensor([2.0, 2.0]))
    tensor(2.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Smooth L1 loss: error² / (2 · `beta`) where |error| is below `beta`, |error| − `beta` / 2 elsewhere.

    >>> tl.nn.SmoothL1Loss()(tl.tensor([1.0, 4.0]), tl.tensor([1.5, 2.0]))
    tensor(0.8125)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Huber loss: error² / 2 where |error| is below `delta`, `delta` · (|error| − `delta` / 2) elsewhere.

    >>> tl.nn.HuberLoss()(tl.tensor([1.0, 4.0]), tl.tensor([1.5, 2.0]))
    tensor(0.8125)
    """

    def __init__(
        self,
        reduction: str = "mean",
        delta: float = 1.0,
    ) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence target · (log target − input), of log-probabilities `input` from `target`.

    With `log_target` the target is given as log-probabilities too; `reduction="batchmean"` divides the sum by the
    batch size.

    >>> input, target = tl.tensor([[0.5, 0.5]]).log(), tl.tensor([[1.0, 0.0]])
    >>> tl.nn.KLDivLoss(reduction="batchmean")(input, target)
    tensor(0.6931)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(_WeightedLoss):
    """Negative log-likelihood: minus the log-probability that `input` (batch, classes, ...) gives to `target`.

    `weight` weighs the classes; targets equal to `ignore_index` do not count.

    >>> tl.nn.NLLLoss()(tl.tensor([[-1.0, -2.0]]), tl.tensor([1]))
    tensor(2.)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of the scores `input` (batch, classes, ...) and `target`: classes, or their probabilities.

    `weight` weighs the classes; targets equal to `ignore_index` are ignored; `label_smoothing` is the fraction of the
    target that is spread over all classes.

    >>> tl.nn.CrossEntropyLoss()(tl.tensor([[1.0, 1.0]]), tl.tensor([1]))
    tensor(0.6931)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """Binary cross entropy of the probabilities `input` and the targets; `weight` rescales each element's.

    >>> tl.nn.BCELoss()(tl.tensor([0.5, 0.5]), tl.tensor([0.0, 1.0]))
    tensor(0.6931)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of the logits `input` and the targets: sigmoid and `BCELoss`, without overflow.

    `weight` rescales each element's loss, `pos_weight` that of the positive targets.

    >>> tl.nn.BCEWithLogitsLoss()(tl.tensor([0.0, 0.0]), tl.tensor([0.0, 1.0]))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class NLLLoss2d(NLLLoss):
    """Deprecated name of `NLLLoss` for images (batch, classes, height, width); creating one warns."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn("NLLLoss2d is deprecated: use NLLLoss, which is the same", FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class SoftMarginLoss(_Loss):
    """Logistic loss of two classes: log(1 + exp(−target · input)), for targets of 1 and −1.

    >>> tl.nn.SoftMarginLoss()(tl.tensor([0.0, 2.0]), tl.tensor([-1.0, 1.0]))
    tensor(0.4100)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Poisson negative log-likelihood of the counts `target`, of mean exp(input).

    Without `log_input` the input is the mean itself, and `eps` keeps its logarithm finite. With `full` Stirling's
    approximation of the logarithm of the factorial is added for targets above 1.

    >>> tl.nn.PoissonNLLLoss()(tl.tensor([0.0, 1.0]), tl.tensor([1.0, 2.0]))
    tensor(0.8591)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Gaussian negative log-likelihood of the targets, for the mean `input` and the variance `var`.

    Variances below `eps` count as `eps`; with `full` the constant is added.

    >>> tl.nn.GaussianNLLLoss()(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0]), tl.ones(2))
    tensor(1.)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CTCLoss(_Loss):
    """Connectionist temporal classification: the negative log-likelihood of target sequences over all alignments.

    `forward` takes log-probabilities (time, batch, classes), the targets, and the lengths of both; see
    `nn.functional.ctc_loss`. `blank` is the class of no label; with `zero_infinity` infinite losses, of targets too
    long for the input, are 0.

    >>> log_probs = tl.zeros(4, 1, 3).log_softmax(-1)
    >>> tl.nn.CTCLoss(reduction="sum")(log_probs, tl.tensor([[1, 2]]), (4,), (2,))
    tensor(1.6864)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
