"""Adaptive softmax: a softmax over many classes, with smaller projections for rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """The log-probability of each target, and the mean of their negatives."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Adaptive softmax: classes sorted by frequency, rare ones in clusters with smaller projections.

    Classes below the first of the `cutoffs` are in the head, with one more class for each cluster; the cluster i has
    the classes from `cutoffs[i]` to the next, or to `n_classes`, and projects to `in_features` / `div_value` ** (i + 1)
    features first. `forward` takes (batch, in_features) and classes (batch,), or one item of it, and returns (output,
    loss). Raises ValueError unless `cutoffs` are positive, ascending and below `n_classes`.

    >>> module = tl.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)
    >>> output, loss = module(tl.randn(4, 8), tl.tensor([0, 2, 5, 9]))
    >>> output.shape == (4,), loss.shape == (), module.log_prob(tl.randn(4, 8)).shape == (4, 10)
    (True, True, True)
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            ends != sorted(set(ends))
            or min(ends) <= 0
            or max(ends) > n_classes - 1
            or any(int(end) != end for end in ends)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1: got {ends} for {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **options), Linear(width, end - start, bias=False, **options)
                )
            )

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for linear in cluster.children():
                linear.reset_parameters()

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1:
            if input.shape[0] != target.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
        elif input.dim() != 1:
            raise RuntimeError(
                f"0D target tensor expects 1D input tensors, but found inputs with size {list(input.shape)}"
            )
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found."
            )

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        input, target = input_, target_
        self._check(input, target)
        batched = target.dim() > 0
        if not batched:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        # The class or cluster to look up in the head, and the term added by the cluster: zero for the head's classes.
        asked = target
        extra = input.new_zeros(tuple(target.shape))
        for i, tail in enumerate(self.tail):
            start, end = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= start) & (target < end)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            scores = F.log_softmax(tail(input.index_select(0, rows)), dim=1)
            found = scores.gather(1, (target[rows] - start).unsqueeze(1)).squeeze(1)
            extra = extra.index_copy(0, rows, found)
            asked = asked.index_fill(0, rows, self.shortlist_size + i)
        head = F.log_softmax(self.head(input), dim=1)
        output = extra + head.gather(1, asked.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, (batch, n_classes), for (batch, in_features).

        >>> model = tl.nn.AdaptiveLogSoftmaxWithLoss(4, 6, cutoffs=[2])
        >>> model.log_prob(tl.ones(3, 4)).shape
        tensorlike.Size([3, 6])
        """
        return self._get_full_log_prob(input, self.head(input))

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        result = head.new_empty((head.shape[0], self.n_classes))
        result[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (start, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            result[:, start:end] = cluster + head[:, self.shortlist_size + i].unsqueeze(1)
        return result

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each item, looking into clusters only where one is the most probable.

        >>> model = tl.nn.AdaptiveLogSoftmaxWithLoss(4, 6, cutoffs=[2])
        >>> model.predict(tl.ones(3, 4)).shape
        tensorlike.Size([3])
        """
        head_output = self.head(input)
        output: Tensor = head_output.argmax(dim=1)
        rare = output >= self.shortlist_size
        if not bool(rare.any()):
            return output
        if bool(rare.all()):
            return self._get_full_log_prob(input, head_output).argmax(dim=1)
        output[rare] = self._get_full_log_prob(input[rare], head_output[rare]).argmax(dim=1)
        return output
