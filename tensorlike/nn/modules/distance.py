"""Distances between vectors."""

from __future__ import annotations

import tensorlike.nn.functional as F
from tensorlike.tensor import Tensor

from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """Cosine similarity of vectors along `dim`; `eps` is the least product of norms to divide by.

    >>> tl.nn.CosineSimilarity()(tl.tensor([[1.0, 0.0]]), tl.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """Distance of vectors along the last dimension: the norm of order `p` of their difference, `eps` added to it.

    >>> tl.nn.PairwiseDistance(p=1.0, eps=0.0)(tl.tensor([[1.0, 2.0]]), tl.tensor([[0.0, 4.0]]))
    tensor([3.])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
