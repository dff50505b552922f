"""Functions of neural networks in chunks: activations, losses, and what works on each example separately."""

from __future__ import annotations

from functools import partial
from typing import Any

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.operation import EXAMPLES, Form, operation_of
from tensorlike.dispatch.pytree import map_leaves
from tensorlike.dispatch.registry import moving
from tensorlike.operations.nn import (
    activation,
    attention,
    classification,
    embedding,
    loss,
    normalization,
    padding,
    resampling,
    toplevel_normalization,
)
from tensorlike.operations.nn.declaring import reduction_of
from tensorlike.tensor.tensor import Tensor

from .along import whole_dims
from .chunked import called, is_chunked, name_of, refused, rule
from .inplace import check_writable, take_over
from .mapping import mapped, operands_in
from .pullback import apart, differentiated
from .recording import arguments
from .tasks import ChunkFunction

F: Any = tl.nn.functional


@rule(
    activation.gelu, activation.elu, activation.celu, activation.selu, activation.silu, activation.logsigmoid,
    activation.softplus, activation.mish, F.relu, F.relu6, F.hardswish, F.hardsigmoid, F.threshold, F.hardtanh,
    F.leaky_relu, F.hardshrink, F.softshrink, tl.selu, tl.celu, tl.threshold, tl.hardshrink, Tensor.hardshrink,
)  # fmt: skip
def _activation(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor = given.pop(next(iter(given)))
    if given.get("inplace"):
        check_writable(form, tensor)
        return take_over(form, tensor, form.function(tensor, **{**given, "inplace": False}))
    return apart(name_of(form), form.function, tensor, **given)


# -------------------------------------------------------------------------------------------------------------- losses


def _reduction(given: dict[str, Any]) -> str:
    found = reduction_of(given.pop("size_average", None), given.pop("reduce", None), given.pop("reduction", "mean"))
    return str(found)


@rule(loss.mse_loss, loss.l1_loss, loss.smooth_l1_loss, loss.huber_loss, loss.binary_cross_entropy)
def _loss(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, target, weight = given.pop("input"), given.pop("target"), given.pop("weight", None)
    reduction = _reduction(given)
    if form.operation is not operation_of(loss.binary_cross_entropy):
        called(form.function, (tensor, target), given if weight is None else {**given, "weight": weight})
    elif tuple(tensor.shape) != tuple(target.shape):
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size ({list(tensor.shape)}) is "
            "deprecated. Please ensure they have the same size."
        )
    errors = apart(name_of(form), form.function, tensor, target, reduction="none", **given)
    if weight is not None:
        errors = errors * weight
        if reduction == "mean" and form.operation in (operation_of(loss.mse_loss), operation_of(loss.l1_loss)):
            return errors.sum() / weight.sum()
    return errors if reduction == "none" else errors.mean() if reduction == "mean" else errors.sum()


@rule(classification.cross_entropy, classification.nll_loss)
def _classified(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute the loss of each example where the classes are in one chunk, and reduce them."""
    given = arguments(form, args, kwargs)
    tensor, target, weight = given.pop("input"), given.pop("target"), given.pop("weight", None)
    reduction = _reduction(given)
    rank = tensor.dim()
    if not is_chunked(tensor) or rank < 2 or is_chunked(weight) or target.dim() != rank - 1:
        raise refused(form, "it takes scores of examples in chunks, and targets that are classes")
    if tuple(target.shape) != (*tensor.shape[:1], *tensor.shape[2:]):
        raise ValueError(
            f"{name_of(form)}(): Expected the target size {[*tensor.shape[:1], *tensor.shape[2:]]}, got "
            f"{list(target.shape)}"
        )
    if tensor._tl_data.array.numblocks[1] > 1:
        raise refused(form, "it needs the dimension 1 in one chunk: rechunk({1: -1}) first")
    numbers = tuple(range(rank))
    others = (0, *numbers[2:])
    named = {**given, "reduction": "none"}
    shared = {} if weight is None else {"weight": weight}
    with recording_block(False):
        one = tensor._tl_data.sample.new_ones((1, *tensor.shape[1:2], *(1,) * (rank - 2)))
        label = one.new_zeros((1,) * (rank - 1), dtype=target.dtype)
        sample = form.function(one, label, **named, **shared)
    # Keywords come after positions in the order of operands.
    indices = [numbers, others, *([(rank,)] if weight is not None else [])]
    errors = differentiated(
        name_of(form), form.function, (tensor, target), {**named, **shared}, sample, indices, others
    )
    if reduction == "none":
        return errors
    if reduction == "sum":
        return errors.sum()
    ignored = target == given.get("ignore_index", -100)
    if weight is None:
        return errors.sum() / ignored.logical_not().sum()
    counted = mapped("weights", _Weights(weight.detach().clone(), given.get("ignore_index", -100)), (target,), {})
    return errors.sum() / counted.sum()


class _Weights(ChunkFunction):
    """Looks up the weights of classes; that of an ignored one is zero."""

    def __init__(self, weight: Any, ignored: int) -> None:
        self.weight, self.ignored = weight, ignored

    def __call__(self, target: Any) -> Any:
        used = target != self.ignored
        return self.weight[target * used] * used


# ------------------------------------------------------------------------------------------------------ each example


def per_example(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any], rank: int | None = None) -> Any:
    """Return the result of a function that works on each example of the first dimension separately.

    The chunked operands have their other dimensions in one chunk; ordinary ones are shared by all examples. Of rank
    `rank` is the first operand, where that tells a batch from a single example.
    """
    tensors = operands_in(args, kwargs)
    if not is_chunked(tensors[0]) or (rank is not None and tensors[0].dim() != rank) or not tensors[0].dim():
        raise refused(form, "it takes a batch in chunks as its first operand")
    for tensor in tensors:
        if is_chunked(tensor) and max((1, *tensor._tl_data.array.numblocks[1:])) > 1:
            spelled = ", ".join(f"{d}: -1" for d in range(1, tensor.dim()))
            raise refused(form, f"it needs all dimensions but the first in one chunk: rechunk({{{spelled}}}) first")
    size = tensors[0]._tl_data.shape[0]
    if any(is_chunked(t) and t._tl_data.shape[0] != size for t in tensors):
        raise refused(form, "its operands in chunks have different numbers of examples")

    def one(value: Any) -> Any:
        if is_chunked(value):
            return value._tl_data.sample.new_zeros((1, *value._tl_data.shape[1:]))
        return value.detach() if isinstance(value, Tensor) else value

    with recording_block(False):
        found = form.function(*map_leaves(one, args), **map_leaves(one, kwargs))
    several = isinstance(found, (tuple, list))
    results = []
    count = 1
    indices: list[tuple[int, ...]] = []
    for tensor in tensors:
        own = tuple(range(count, count + tensor.dim()))
        indices.append((0, *own[1:]) if is_chunked(tensor) else own)
        count += tensor.dim()
    for number, sample in enumerate(found if several else (found,)):
        if not isinstance(sample, Tensor) or not sample.dim() or sample.shape[0] != 1:
            raise refused(form, "its result is not one of each example")
        mine = (0, *range(count, count + sample.dim() - 1))
        results.append(
            differentiated(
                name_of(form), form.function, args, kwargs, sample, indices, mine,
                new=dict(zip(mine[1:], sample.shape[1:], strict=True)), number=number if several else None,
            )
        )  # fmt: skip
    return type(found)(results) if several else results[0]


def _examples(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any], rank: int | None = None) -> Any:
    if any(is_chunked(v) for v in (*args[1:], *kwargs.values())):
        raise refused(form, "only its first operand may be in chunks")
    return per_example(form, args, kwargs, rank or form.operation.dims.rank)


rule(resampling.interpolate, *moving(EXAMPLES))(_examples)
rule(F.pixel_shuffle, F.pixel_unshuffle, tl.pixel_shuffle, tl.pixel_unshuffle, F.group_norm)(partial(_examples, rank=4))


@rule(embedding.embedding)
def _embedding(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    numbers, weight = given["input"], given["weight"]
    if given.get("max_norm") is not None or given.get("sparse") or given.get("scale_grad_by_freq"):
        raise refused(form, "max_norm, sparse and scale_grad_by_freq have no rule")
    if not is_chunked(numbers) or is_chunked(weight) or weight.dim() != 2:
        raise refused(form, "the numbers are in chunks, and the weight is an ordinary matrix")
    called(form.function, (numbers * 0, weight), {})
    rank = numbers.dim()
    rest = {k: given[k] for k in ("padding_idx",) if given.get(k) is not None}
    own = tuple(range(rank))
    with recording_block(False):
        sample = form.function(numbers._tl_data.sample * 0, weight.detach())
    return differentiated(
        "embedding", form.function, (numbers, weight), rest, sample, [own, (rank, rank + 1)], (*own, rank + 2),
        new={rank + 2: weight.shape[1]},
    )  # fmt: skip


@rule(normalization.layer_norm, toplevel_normalization.layer_norm)
def _layer_norm(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Normalise each row separately; weight and bias are factors and terms of all."""
    given = arguments(form, args, kwargs)
    tensor, shape = given["input"], given["normalized_shape"]
    if not is_chunked(tensor):
        raise refused(form, "its first operand is an ordinary tensor")
    weight, bias = given.get("weight"), given.get("bias")
    count = len(shape) if isinstance(shape, (tuple, list)) else 1
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),)
    ndim = tensor._tl_data.ndim
    if tuple(tensor._tl_data.shape[ndim - count :]) != sizes:
        raise RuntimeError(
            f"Given normalized_shape={list(sizes)}, expected input with shape {['*', *sizes]}, but got input of size "
            f"{list(tensor.shape)}"
        )
    found = whole_dims(
        form, {"input": tensor, "normalized_shape": sizes, "eps": given.get("eps", 1e-5)}, range(ndim - count, ndim),
        sample=called(form.function, (tensor,), {"normalized_shape": (1,) * count}),
    )  # fmt: skip
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


@rule(F.batch_norm, tl.batch_norm)
def _batch_norm(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Normalise each channel, by the running statistics or by those of the whole batch."""
    given = arguments(form, args, kwargs)
    tensor, mean, var = given["input"], given.get("running_mean"), given.get("running_var")
    training, eps = bool(given.get("training")), given.get("eps", 1e-5)
    if training and (mean is not None or var is not None):
        raise refused(form, "running statistics cannot be written to before they are computed: leave them out")
    if not is_chunked(tensor) or tensor.dim() < 2:
        raise refused(form, "it takes a batch in chunks")
    others = [d for d in range(tensor.dim()) if d != 1]
    line = [1, tensor.shape[1], *[1] * (tensor.dim() - 2)]
    if training:
        mean, var = tensor.mean(others), tensor.var(others, correction=0)
    if mean is None or var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    found = (tensor - mean.reshape(line)) * (var.reshape(line) + eps).rsqrt()
    weight, bias = given.get("weight"), given.get("bias")
    found = found if weight is None else found * weight.reshape(line)
    found = found if bias is None else found + bias.reshape(line)
    return found.to(tensor.dtype)


@rule(attention.scaled_dot_product_attention)
def _attention(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    three = list(given.values())[:3]
    if given.get("dropout_p") or not all(is_chunked(t) and t.dim() >= 3 for t in three) or is_chunked(
        given.get("attn_mask")
    ):  # fmt: skip
        raise refused(form, "it takes queries, keys and values in chunks of examples, without dropout")
    return per_example(form, args, kwargs)


@rule(padding.pad, padding.constant_pad_nd)
def _pad(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Join constant borders to the tensor; negative widths cut."""
    given = arguments(form, args, kwargs)
    tensor, widths = given["input"], tuple(given["pad"])
    mode, value = given.get("mode", "constant"), given.get("value")
    if mode != "constant":
        return _examples(form, args, kwargs) if tensor.dim() > len(widths) // 2 + 1 else _refuse_pad(form)
    if len(widths) % 2 or len(widths) // 2 > tensor.dim():
        called(form.function, (tensor, widths), {})
        raise RuntimeError(f"{name_of(form)}(): Padding length must be divisible by 2 and at most twice the dimensions")
    result = tensor
    for k in range(len(widths) // 2):
        dim = tensor.dim() - 1 - k
        before, after = widths[2 * k], widths[2 * k + 1]
        size = result.shape[dim]
        if size + before + after < 0:
            raise RuntimeError(f"{name_of(form)}(): the resulting size of dimension {dim} is negative")
        result = result.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-after, 0))
        pieces = [result]
        for width, first in ((before, True), (after, False)):
            if width > 0:
                border = list(result.shape)
                border[dim] = width
                piece = result.detach().new_full(tuple(border), 0 if value is None else value)
                pieces = [piece, *pieces] if first else [*pieces, piece]
        result = tl.cat(pieces, dim) if len(pieces) > 1 else result
    return result.clone() if result is tensor else result


def _refuse_pad(form: Form) -> Any:
    raise refused(form, "only constant borders have a rule where the first dimension is padded")
