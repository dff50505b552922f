"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .beta import Beta
from .distribution import Distribution

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """LKJ distribution of Cholesky factors of correlation matrices of size `dim`; density a power of the determinant.

    With `concentration` 1 all correlation matrices are equally likely, larger ones prefer those near the identity.

    PyTorch's samples have slightly other marginals, which do not agree with its `log_prob`.

    >>> tl.distributions.LKJCholesky(3, 0.5).sample().shape
    tensorlike.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        batch_shape = self._set_parameters(concentration=concentration)
        # The squared lengths of the rows left of the diagonal, as Lewandowski, Kurowicka and Joe (2009) draw them: half
        # the number of elements is the first concentration. PyTorch takes one half more for each element, so that the
        # samples of its LKJCholesky have another density than its log_prob says.
        like: Any = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = tl.arange(-1, dim - 1, **like).clamp(min=0)
        rest = self.concentration.unsqueeze(-1) + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * offset + 0.5, rest - 0.5 * offset)
        super().__init__(batch_shape, Size((dim, dim)), validate_args)

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        return inner.expand((*shape, self.dim))

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        like: Any = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        with tl.no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            directions = tl.randn(self._extended_shape(sample_shape), **like).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            # The first row has nothing left of the diagonal.
            directions[..., 0, :].fill_(0.0)
            left = lengths.sqrt() * directions
            rest = (1 - (left**2).sum(dim=-1)).clamp(min=tl.finfo(left.dtype).tiny)
            return left + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = tl.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        before = self.dim - 1
        alpha = self.concentration + 0.5 * before
        normalizer = tl.mvlgamma(alpha - 0.5, before) - alpha.lgamma() * before + 0.5 * before * math.log(math.pi)
        return (order * diagonal.log()).sum(dim=-1) - normalizer
