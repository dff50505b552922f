"""Embeddings of the namespace `tensorlike`: the table comes first, and values saved for gradients are returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import grad_enabled, recording_block
from tensorlike.tensor.declarations.declare import composite
from tensorlike.tensor.declarations.runtime import dtype_name
from tensorlike.tensor.memory.views import check_inplace
from tensorlike.tensor.types import Tensor

from . import embedding as functions
from .declaring import array_of

_MODES = ("sum", "mean", "max")


def _row(padding_idx: int | None, rows: int) -> int:
    """Return the row without a gradient, -1 for none: an index out of range names no row."""
    return padding_idx if padding_idx is not None and 0 <= padding_idx < rows else -1


@composite
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Look up the rows of the table `weight` at the indices `indices`.

    `nn.functional.embedding` with the table first; a `padding_idx` out of range names no row. Raises IndexError for an
    index out of range, RuntimeError unless `weight` is a matrix.

    >>> tl.embedding(tl.tensor([[1.0, 2.0], [3.0, 4.0]]), tl.tensor([1, 0]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    table = array_of("embedding", "weight", 1, weight)
    functions.check_indices("embedding", array_of("embedding", "indices", 2, indices))
    if table.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got a weight of size {list(table.shape)}")
    return functions.looked_up(weight, indices, _row(padding_idx, table.shape[0]), scale_grad_by_freq, sparse)


@composite
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows of the table `input` at `indices` down to the norm `max_norm`, in place, and return it.

    Raises RuntimeError unless the table is a matrix of floating-point numbers and the indices are integers, IndexError
    for one out of range.

    >>> tl.embedding_renorm_(tl.tensor([[3.0, 4.0], [3.0, 4.0]]), tl.tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    table = array_of("embedding_renorm_", "input", 1, input)
    functions.check_indices("embedding_renorm_", array_of("embedding_renorm_", "indices", 2, indices))
    if table.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {table.ndim}-dimensional tensor for argument #1 'self' (while "
            "checking arguments for embedding_renorm_)"
        )
    if table.dtype.kind not in "fcV":
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {dtype_name(table.dtype)} instead"
        )
    if grad_enabled():
        check_inplace(input, "embedding_renorm_")
    functions.check_range(indices._tl_data, table.shape[0])
    functions.shorten(input, indices, max_norm, norm_type)
    return input


def _check_bags(weight: Tensor, indices: Tensor, offsets: Tensor, mode: int, weights: Tensor | None) -> None:
    name = "embedding_bag"
    table = array_of(name, "weight", 1, weight)
    functions.check_indices(name, array_of(name, "indices", 2, indices))
    functions.check_indices(name, array_of(name, "offsets", 3, offsets), "offsets")
    if table.dtype.kind not in "fV":
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, "
            f"Float, Double; but got {dtype_name(table.dtype)} instead (while checking arguments for {name})"
        )
    for argument, value, expected in (("weight", weight, 2), ("input", indices, 1), ("offsets", offsets, 1)):
        if value._tl_data.ndim != expected:
            # PyTorch takes a matrix of indices, too, and counts its rows as if they were the indices.
            takes = "1D or 2D" if argument == "input" and value._tl_data.ndim != 2 else f"{expected}D"
            raise RuntimeError(
                f"{argument} has to be a {takes} Tensor, but got Tensor of dimension {value._tl_data.ndim}"
            )
    if mode not in (0, 1, 2):
        raise RuntimeError(f"`mode` must be 0 (sum), 1 (mean), or 2 (max), got {mode!r}")
    if weights is not None:
        if mode != 0:
            raise RuntimeError(f"{name}: per_sample_weights only supported with mode='sum', got mode {_MODES[mode]!r}")
        if tuple(weights.shape) != tuple(indices.shape):
            raise RuntimeError(
                f"expected per_sample_weights of the same shape as input, got {list(weights.shape)} and "
                f"{list(indices.shape)}"
            )
    functions.check_sample_weights(weight, weights)


@composite
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Return sums (`mode` 0), means (1) or maxima (2) of rows of a table, and three tensors about the bags.

    These are the bag of every index, the sizes of the bags (zeros for sums), and the rows that maxima come from (the
    sizes, for other modes). The first is empty for sums in single precision or less without `padding_idx`. The rest is
    as in `nn.functional.embedding_bag`.

    >>> table = tl.tensor([[1.0], [10.0], [100.0]])
    >>> tl.embedding_bag(table, tl.tensor([0, 1, 2]), tl.tensor([0, 2]), mode=2)
    (tensor([[ 10.],
            [100.]]), tensor([0, 0, 1]), tensor([2, 1]), tensor([[1],
            [2]]))
    """
    _check_bags(weight, indices, offsets, mode, per_sample_weights)
    rows = weight.shape[0]
    row = functions.bag_padding(padding_idx, rows)
    starts, end = functions.bag_starts(offsets, indices.shape[0], include_last_offset)
    if functions.takes_the_rest(weight, _MODES[mode], padding_idx):
        end = indices.shape[0]
    indices = indices[:end]
    per_sample_weights = None if per_sample_weights is None else per_sample_weights[:end]
    sizes = np.diff(np.append(starts, end))
    functions.check_range(indices._tl_data, rows, bags=True)
    values = functions.looked_up(weight, indices, -1 if row is None else row, scale_grad_by_freq, sparse)
    bag = indices.new_tensor(np.repeat(np.arange(len(starts)), sizes))
    if offsets._tl_data.dtype == np.int64:
        bag = bag.long()
    counted = None if row is None else indices != row
    output = functions.bags_of(values, bag, counted, len(starts), _MODES[mode], per_sample_weights)
    with recording_block(False):
        if mode == 0:
            size = bag.new_zeros((len(starts) if weight.requires_grad else offsets.shape[0],))
            quick = padding_idx is None and weight._tl_data.dtype.itemsize < 8
            return output, bag.new_empty((0,)) if quick else bag, size, size.clone()
        ones = bag.new_ones(tuple(bag.shape)) if counted is None else counted.type_as(bag)
        size = bag.new_zeros((len(starts),)).index_add(0, bag.long(), ones)
        if mode == 1:
            return output, bag, size, size.clone()
        return output, bag, size, _chosen_rows(values, output, indices, bag, counted)


def _chosen_rows(values: Tensor, output: Tensor, indices: Tensor, bag: Tensor, counted: Tensor | None) -> Tensor:
    """Return the row of each maximum, the first of several; 0 for empty bags."""
    padded = indices.new_zeros((indices.shape[0] + 1,))
    padded[: indices.shape[0]] = indices
    return padded[functions.winners(values, bag, counted, output.shape[0])].type_as(bag)
