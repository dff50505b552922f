"""Embedding layers."""

from __future__ import annotations

from typing import Self

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.nn import init
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    weight: Parameter
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make_weight(
        self, given: Tensor | None, device: Device | str | None, dtype: Dtype | None, requires_grad: bool = True
    ) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            self.weight = Parameter(tl.empty(shape, device=device, dtype=dtype), requires_grad=requires_grad)
            self.reset_parameters()
        else:
            if tuple(given.shape) != shape:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Initialise the table again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with recording_block(False):
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Table):
    """Embedding table of `num_embeddings` vectors of `embedding_dim` numbers, looked up by integers.

    `weight` is (num_embeddings, embedding_dim), drawn from the standard normal distribution at first. The row
    `padding_idx` starts as zeros and gets no gradient; rows whose norm (of order `norm_type`) exceeds `max_norm` are
    scaled down when they are looked up; `scale_grad_by_freq` divides gradients by how often the index occurs.

    >>> table = tl.nn.Embedding(10, 3, padding_idx=0)
    >>> table(tl.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape == (2, 4, 3)
    True
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_weight(_weight, device, dtype, requires_grad=not _freeze)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        defaults = {
            "padding_idx": None,
            "max_norm": None,
            "norm_type": 2,
            "scale_grad_by_freq": False,
            "sparse": False,
        }
        parts += [f"{name}={getattr(self, name)}" for name, usual in defaults.items() if getattr(self, name) != usual]
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Return an Embedding whose table is the matrix `embeddings`, not trained further if `freeze`.

        >>> table = tl.nn.Embedding.from_pretrained(tl.tensor([[1.0, 2.3], [4.0, 5.1]]))
        >>> table(tl.tensor([1]))
        tensor([[4.0000, 5.1000]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Embedding table of which bags of rows are looked up at once: their sums, means or maxima (`mode`).

    `weight` is (num_embeddings, embedding_dim), drawn from the standard normal distribution at first. A bag is a row of
    the input, or the part of a vector between two of the `offsets` given to `forward`; with `include_last_offset` the
    last of these is the end. Indices equal to `padding_idx` are ignored. The other arguments are those of `Embedding`.

    >>> bags = tl.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(tl.tensor([1, 2, 4, 5]), tl.tensor([0, 3])).shape == (2, 3)
    True
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = padding_idx
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make_weight(_weight, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, usual in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Return an EmbeddingBag whose table is the matrix `embeddings`, not trained further if `freeze`.

        >>> bags = tl.nn.EmbeddingBag.from_pretrained(tl.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> bags(tl.tensor([[0, 1]]))
        tensor([[2., 3.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bags = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bags.weight.requires_grad = not freeze
        return bags
