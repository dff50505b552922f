"""Variable-length sequences: padded to one tensor, or packed without padding.

# Note [Packed sequences]
A PackedSequence holds the rows of all sequences step by step: first the first row of each, then the second row of each
that has one. The longest sequence comes first, so that each step has the first `batch_sizes[step]` of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from tensorlike._above import explain_absent_names
from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.dispatch import api as _api
from tensorlike.dispatch.collect import strays as _strays
from tensorlike.tensor import Tensor
from tensorlike.tensor.declarations.runtime import type_name

explain_absent_names(__name__)

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def _to(tensor: Tensor | None, *args: Any, **kwargs: Any) -> Tensor | None:
    return None if tensor is None else tensor.to(*args, **kwargs)


class PackedSequence(_Fields):
    """The rows of several sequences, step by step; see `pack_padded_sequence`, which makes one.

    `data` are the rows, `batch_sizes` (integers, on the CPU) their numbers in each step. `sorted_indices` are the
    indices of the sequences in the batch, longest first; `unsorted_indices`, the inverse, follows from it. Raises
    ValueError when `batch_sizes` is not on the CPU.

    >>> from tensorlike.nn.utils.rnn import PackedSequence
    >>> PackedSequence(tl.tensor([1.0, 2.0, 3.0]), tl.tensor([2, 1])).batch_sizes
    tensor([2, 1])
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError(
                    "Expected data to be a list or tuple of length 2 when there are no batch_sizes, but got "
                    f"{type(data).__name__}"
                )
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                f"They should be instantiated by functions like pack_sequence. Got batch_sizes on {batch_sizes.device}"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequences with `data.to(*args, **kwargs)`; self where that changes nothing.

        >>> packed = tl.nn.utils.rnn.pack_sequence([tl.ones(2), tl.ones(1)])
        >>> packed.to(tl.float64).data.dtype
        tensorlike.float64
        """
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        place = {key: value for key, value in kwargs.items() if key in ("non_blocking", "copy")}
        indices = (_to(i, data.device, **place) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequences on a GPU, the current one unless given."""
        device = self.data.cuda(*args, **kwargs).device
        return self.to(device)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequences on the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def double(self) -> Self:
        """Return the sequences as float64."""
        return self.to(dtype=tl.float64)

    def float(self) -> Self:
        """Return the sequences as float32."""
        return self.to(dtype=tl.float32)

    def half(self) -> Self:
        """Return the sequences as float16."""
        return self.to(dtype=tl.float16)

    def long(self) -> Self:
        """Return the sequences as int64."""
        return self.to(dtype=tl.int64)

    def int(self) -> Self:
        """Return the sequences as int32."""
        return self.to(dtype=tl.int32)

    def short(self) -> Self:
        """Return the sequences as int16."""
        return self.to(dtype=tl.int16)

    def char(self) -> Self:
        """Return the sequences as int8."""
        return self.to(dtype=tl.int8)

    def byte(self) -> Self:
        """Return the sequences as uint8."""
        return self.to(dtype=tl.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU.

        >>> tl.nn.utils.rnn.pack_sequence([tl.ones(2)]).is_cuda
        False
        """
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes `permutation`; None for None.

    >>> tl.nn.utils.rnn.invert_permutation(tl.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    inverse: Tensor = permutation.argsort()
    return inverse


def _rows_of_steps(batch_sizes: np.ndarray[Any, Any], batch: int) -> Any:
    """Return the index of each packed row among the (step, sequence) rows of padded sequences, in order."""
    return np.flatnonzero(batch_sizes[:, None] > np.arange(batch))


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch of variable-length sequences, dropping the padding.

    Sequence i has `lengths[i]` rows. `input` has the shape (steps, batch, ...), or
    (batch, steps, ...) with `batch_first`. Unless `enforce_sorted` is False the longest sequence must come first.
    Raises RuntimeError for lengths that do not match.

    >>> from tensorlike.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(tl.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2])[:2]
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))

    Same as PyTorch's function of that name, but for lengths beyond the input, which raise RuntimeError here.
    """
    known = lengths if isinstance(lengths, Tensor) else tl.tensor(lengths, dtype=tl.int64)
    known = known.to("cpu", tl.int64)
    sorted_indices = None
    if not enforce_sorted:
        known, order = known.sort(descending=True)
        sorted_indices = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    data, batch_sizes = _pack_padded_sequence(input, known, batch_first)
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def _pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """Return the rows of a padded batch whose longest sequence comes first, and their numbers in each step.

    It is what types receive, as in PyTorch.
    """
    if _api.has_torch_function((input, lengths)):
        return _api.handle_torch_function(  # type: ignore[no-any-return]
            _pack_padded_sequence, (input, lengths), input, lengths, batch_first
        )
    if batch_first:
        input = input.transpose(0, 1)
    if input.dim() < 2:
        raise IndexError(f"pack_padded_sequence(): input must have 2 or more dimensions, but got {input.dim()}")
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    steps, batch = input.shape[:2]
    counts = lengths.numpy()
    if counts.shape != (batch,):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} (batch_size={batch})"
        )
    if counts.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0: "
            f"{int(counts.min())}"
        )
    if (np.diff(counts) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            f"do not need ONNX exportability. Got {counts.tolist()}"
        )
    if counts[0] > steps:
        raise RuntimeError(f"pack_padded_sequence(): the input has {steps} steps, but a sequence has {counts[0]}")
    batch_sizes = (np.arange(counts[0])[:, None] < counts).sum(1)
    rows = tl.from_numpy(_rows_of_steps(batch_sizes, batch)).to(input.device)
    data = input.reshape(steps * batch, *input.shape[2:]).index_select(0, rows)
    return data, tl.from_numpy(batch_sizes)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad packed sequences with `padding_value` to one tensor; return it and their lengths.

    The tensor has the shape (steps, batch, ...), or (batch, steps, ...) with `batch_first`; the steps are those of the
    longest sequence, or `total_length`. Raises ValueError when that is too short.

    >>> from tensorlike.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([tl.tensor([1, 2, 3]), tl.tensor([4, 5])]), batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = batch_sizes.numpy()
    steps, batch = len(sizes), int(sizes[0])
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    rows = tl.from_numpy(_rows_of_steps(sizes, batch)).to(data.device)
    padded = data.new_full((steps * batch, *data.shape[1:]), padding_value).index_copy(0, rows, data)
    padded = padded.reshape(steps, batch, *data.shape[1:])
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = tl.from_numpy((sizes[:, None] > np.arange(batch)).sum(0))
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: Tensor | list[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Pad sequences of the shapes (length, ...) with `padding_value` to one tensor.

    It has the shape (steps, batch, ...), or (batch, steps, ...) with `batch_first`. `padding_side` is "right" or
    "left". Raises RuntimeError without sequences, or for trailing shapes that differ.

    >>> tl.nn.utils.rnn.pad_sequence([tl.tensor([1, 2, 3]), tl.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    operands = (*_strays(sequences, True), *_strays((batch_first, padding_value, padding_side)))
    if _api.has_torch_function(operands):
        return _api.handle_torch_function(  # type: ignore[no-any-return]
            pad_sequence, operands, sequences, batch_first, padding_value, padding_side
        )
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    parts = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not parts:
        raise RuntimeError("pad_sequence(): received an empty list of sequences")
    for index, part in enumerate(parts):
        if not isinstance(part, Tensor):
            raise TypeError(f"expected Tensor as element {index} in argument 0, but got {type_name(part)}")
        if not part.dim() or part.shape[1:] != parts[0].shape[1:]:
            raise RuntimeError(
                "pad_sequence(): the sequences must have the same shape but for their first dimension, but got "
                f"{list(parts[0].shape)} and, as element {index}, {list(part.shape)}"
            )
    steps = max(part.shape[0] for part in parts)
    padded = []
    for part in parts:
        missing = steps - part.shape[0]
        if missing:
            widths = (missing, 0) if padding_side == "left" else (0, missing)
            part = F.pad(part, (0, 0) * (part.dim() - 1) + widths, value=padding_value)
        padded.append(part if part.dtype == parts[0].dtype else part.to(parts[0].dtype))
    return tl.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Undo `pad_sequence`: return the sequences in a padded tensor, `lengths[i]` rows of sequence i.

    >>> tl.nn.utils.rnn.unpad_sequence(tl.tensor([[1, 4], [2, 0]]), tl.tensor([2, 1]))
    [tensor([1, 2]), tensor([4])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of the shapes (length, ...); the longest comes first unless `enforce_sorted` is False.

    >>> tl.nn.utils.rnn.pack_sequence([tl.tensor([1, 2, 3]), tl.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """
    lengths = tl.tensor([sequence.shape[0] for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences in a PackedSequence, in the order in which they were packed.

    >>> from tensorlike.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([tl.tensor([1, 2, 3]), tl.tensor([4, 5])]))
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
