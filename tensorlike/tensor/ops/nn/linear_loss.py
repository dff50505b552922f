"""The cross entropy of a linear map's scores, computed at once or in chunks of the batch."""

from __future__ import annotations

import math
from typing import Any

from tensorlike.autograd.backward_and_grad import grad as gradients_of
from tensorlike.autograd.function import Function, once_differentiable
from tensorlike.autograd.grad_mode import enable_grad
from tensorlike.tensor.ops.linalg.matmul import linear
from tensorlike.tensor.types import Tensor

from .classification import cross_entropy
from .declaring import array_of, functional, reduction_of, warn

_IGNORED = -100


def _check(input: Any, linear_weight: Any, linear_bias: Any) -> None:
    x = array_of("linear_cross_entropy", "input", 1, input).shape
    w = array_of("linear_cross_entropy", "linear_weight", 2, linear_weight).shape
    if len(x) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(x)}")
    if len(w) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(w)}")
    if x[-1] != w[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{x[-1]} and {w[-1]}, respectively"
        )
    if len(w) > 2 and len(x) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(w)} requires batched input, (N, {x[-1]}), got "
            f"unbatched input with shape {tuple(x)}"
        )
    if linear_bias is not None:
        b = array_of("linear_cross_entropy", "linear_bias", 4, linear_bias).shape
        if tuple(b) != tuple(w[:-1]):
            raise RuntimeError(f"expected linear_bias shape {tuple(w[:-1])}, got {tuple(b)}")


def _at_once(input: Any, linear_weight: Any, linear_bias: Any, target: Any, **options: Any) -> Any:
    outputs = tuple(linear_weight.shape[:-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape((math.prod(outputs), linear_weight.shape[-1])), bias)
    if len(outputs) > 1:
        scores = scores.reshape((input.shape[0], *outputs))
    return cross_entropy(scores, target, **options)


class _InPieces(Function):
    """The sum of the losses of all rows, computed with its gradients in chunks of the batch.

    Only one chunk's scores are in memory at a time.
    """

    @staticmethod
    def forward(
        ctx: Any, input: Any, matrix: Any, bias: Any, target: Any, rows: int, wide: Any, options: dict[str, Any]
    ) -> Any:
        needed = ctx.needs_input_grad if ctx._recorded else (False,) * 3
        operands: list[Any] = [None if t is None else t.detach() for t in (input, matrix, bias)]
        sums: list[Any] = [None, None, None]
        for position in (1, 2):
            if operands[position] is not None and needed[position]:
                sums[position] = operands[position].new_zeros(tuple(operands[position].shape)).to(wide)
        parts = []
        total = input.detach().new_zeros(()).to(wide)
        for start in range(0, input.shape[0], rows):
            piece = [operands[0][start : start + rows], operands[1], operands[2]]
            with enable_grad():
                piece = [None if t is None else t.detach().requires_grad_(n) for t, n in zip(piece, needed)]
                loss = _at_once(piece[0], piece[1], piece[2], target[start : start + rows], reduction="sum", **options)
            total = total + loss.detach()
            live = [i for i in range(3) if needed[i]]
            for i, found in zip(live, gradients_of(loss, [piece[i] for i in live]) if live else ()):
                if i == 0:
                    parts.append(found)
                else:
                    sums[i] = sums[i] + found
        sums[0] = _joined(parts, operands[0]) if needed[0] else None
        ctx.gradients = [None if s is None else s.to(t.dtype) for s, t in zip(sums, (input, matrix, bias))]
        return total.to(input.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        return (*(None if g is None else g * grad for g in ctx.gradients), None, None, None, None)


def _joined(parts: list[Any], like: Any) -> Any:
    from tensorlike.tensor.ops.shape.joining import cat

    return cat(parts) if parts else like.new_zeros(tuple(like.shape))


def _rows(options: Any, batch: int, classes: int, features: int) -> int:
    """Return the number of rows of a chunk."""
    if options.batch_chunk_size is not None:
        return min(int(options.batch_chunk_size), max(batch, 1))
    method = options.chunking_method
    if method is None:
        return max(batch, 1)
    # The scores of a chunk take at most as much memory as the input.
    method, _, part = ("aspect_ratio:2" if method == "auto" else method).partition(":")
    whole = math.ceil(batch / max(math.ceil(classes / max(features, 1)), 1))
    return max((1 << max(whole - 1, 0).bit_length()) // int(part or 1), 1)


def _divisor(target: Any, weight: Any, ignore_index: int, classes: bool) -> Any:
    """Return the divisor of the sum of losses for their mean."""
    if not classes:
        return max(target.shape[0], 1)
    counted = target != ignore_index
    if weight is None:
        return counted.sum()
    return weight[target.where(counted, 0).long()].where(counted, 0.0).sum()


def _chunked(input: Any, linear_weight: Any, linear_bias: Any, target: Any, reduction: str, settings: Any,
             weight: Any, ignore_index: int, label_smoothing: float) -> Any:  # fmt: skip
    wide = settings.acc_dtype
    if wide is None:
        wide = input.float().dtype if input._tl_data.dtype.itemsize == 2 else input.dtype
    rows = _rows(settings, input.shape[0], linear_weight.shape[0], input.shape[1])
    options = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    total = _InPieces.apply(input, linear_weight, linear_bias, target, rows, wide, options)
    if reduction == "sum":
        return total
    return total / _divisor(target, weight, ignore_index, target._tl_data.dtype.kind in "iu")


@functional(guard=True)
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """Return `cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    `input` has the shape (N, features) or (features,), `linear_weight` (classes, ..., features), `target` (N, ...) for
    classes or (N, classes, ...) for their probabilities; the rest is as in `cross_entropy`. With `options`, an
    `nn.LinearCrossEntropyOptions`, the batch is worked off in pieces, so that not all scores are in memory at once;
    what that is not for (several outputs, no reduction, one item) is computed at once, with a warning. Raises
    RuntimeError where shapes do not fit.

    >>> x, weight = tl.ones(1, 2), tl.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> tl.nn.functional.linear_cross_entropy(x, weight, tl.tensor([1]))
    tensor(0.6931)
    """
    reduction = reduction_of(None, None, reduction)
    _check(input, linear_weight, linear_bias)
    array_of("linear_cross_entropy", "target", 3, target)
    ignored = _IGNORED if ignore_index is None else ignore_index
    if options is not None:
        if not all(hasattr(options, name) for name in ("batch_chunk_size", "chunking_method", "acc_dtype")):
            raise AttributeError(
                "linear_cross_entropy(): argument 'options' must be LinearCrossEntropyOptions or None, got "
                f"{type(options).__name__}"
            )
        if linear_weight.dim() == 2 and input.dim() == 2 and reduction != "none":
            return _chunked(
                input, linear_weight, linear_bias, target, reduction, options, weight, ignored, label_smoothing
            )
        warn(
            "linear_cross_entropy: several outputs, unreduced losses and single items are not computed in pieces; "
            "pass options=None to silence this warning."
        )
    return _at_once(
        input, linear_weight, linear_bias, target, weight=weight, ignore_index=ignored, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip
