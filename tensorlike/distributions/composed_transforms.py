"""The base class of transforms, and transforms made of transforms: inverses, compositions, reshapes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar

from tensorlike._originals import tl
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .utils import (
    _require_dims,
    _same,
    _sum_rightmost,
    lazy_property,
)

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "identity_transform"]


class Transform:
    """The base class of transforms: a subclass defines `_call`, `_inverse` and `log_abs_det_jacobian`.

    `domain` and `codomain` are constraints, `bijective` tells whether each value has one origin, and `sign` is that of
    the derivative. With `cache_size` 1 the last value and its origin are remembered, so that `t.inv(t(x))` is `x`.

    >>> exp = tl.distributions.transforms.ExpTransform()
    >>> x = tl.tensor([0.0, 1.0])
    >>> exp(x), exp.inv(tl.ones(1)), exp.log_abs_det_jacobian(x, exp(x))
    (tensor([1.0000, 2.7183]), tensor([0.]), tensor([0., 1.]))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    #: The arguments, other than `cache_size`, with which the transform is made again: they are attributes.
    _arguments: ClassVar[tuple[str, ...]] = ()
    #: The attributes that transforms of one class are compared by; without them a transform equals itself alone.
    _compared: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size must be 0 or 1: got {cache_size!r}")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """The number of last dimensions that make up one value, if the transform does not change it."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Transform:
        """The inverse, whose inverse is this transform.

        >>> tl.distributions.ExpTransform().inv(tl.tensor(1.0))
        tensor(0.)
        """
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv  # type: ignore[no-any-return]

    @property
    def sign(self) -> Any:
        """The sign of the derivative of a monotonic transform, 1 or -1."""
        raise NotImplementedError(f"{type(self)} does not implement sign")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        if not self._arguments and type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        again: Callable[..., Transform] = type(self)
        return again(*(getattr(self, name) for name in self._arguments), cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if self._compared is None or type(other) is not type(self):
            return self is other
        return all(_same(getattr(self, name), getattr(other, name)) for name in self._compared)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the value at `x`."""
        if self._cache_size == 0:
            return self._call(x)
        known, value = self._cached_x_y
        if x is known:
            return value  # type: ignore[no-any-return]
        value = self._call(x)
        self._cached_x_y = x, value
        return value

    def _inv_call(self, y: Tensor) -> Tensor:
        """Return the origin of `y`."""
        if self._cache_size == 0:
            return self._inverse(y)
        value, known = self._cached_x_y
        if y is known:
            return value  # type: ignore[no-any-return]
        value = self._inverse(y)
        self._cached_x_y = value, y
        return value

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement _call")

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self)} does not implement _inverse")

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the absolute determinant of dy/dx, for `x` and its value `y`.

        >>> double = tl.distributions.AffineTransform(0.0, 2.0)
        >>> double.log_abs_det_jacobian(tl.ones(2), double(tl.ones(2)))
        tensor([0.6931, 0.6931])
        """
        raise NotImplementedError(f"{type(self)} does not implement log_abs_det_jacobian")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the value of a tensor of that shape.

        >>> tl.distributions.StickBreakingTransform().forward_shape((5, 2))
        (5, 3)
        """
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the origin of a tensor of that shape.

        >>> tl.distributions.StickBreakingTransform().inverse_shape((5, 3))
        (5, 2)
        """
        return shape


class _InverseTransform(Transform):
    """The inverse of a transform."""

    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and bool(self._inv == other._inv)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Transforms applied one after the other.

    >>> t = tl.distributions.transforms
    >>> t.ComposeTransform([t.ExpTransform(), t.AffineTransform(1.0, 2.0)])(tl.tensor([0.0]))
    tensor([3.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def _reconciled(self, constraint: constraints.Constraint, parts: Any, inside: str, outside: str) -> Any:
        """Return a constraint at one end with the event dimensions that the part at the other end needs."""
        event_dim = 0
        for part in parts:
            near, far = getattr(part, inside), getattr(part, outside)
            # What the parts before have needed, as this part passes it on.
            event_dim = max(event_dim, far.event_dim) + near.event_dim - far.event_dim
        if event_dim > constraint.event_dim:
            return constraints.independent(constraint, event_dim - constraint.event_dim)
        return constraint

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        return self._reconciled(self.parts[0].domain, reversed(self.parts), "domain", "codomain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        return self._reconciled(self.parts[-1].codomain, self.parts, "codomain", "domain")

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv  # type: ignore[no-any-return]

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return tl.zeros_like(x)
        event_dim = self.domain.event_dim
        terms = []
        for index, part in enumerate(self.parts):
            value = part(x) if index + 1 < len(self.parts) else y
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, value), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = value
        return reduce(operator.add, terms)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(repr(part) for part in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of values of which some batch dimensions are taken as part of the event.

    >>> t = tl.distributions.transforms
    >>> x = tl.tensor([[0.0, 1.0], [2.0, 3.0]])
    >>> t.IndependentTransform(t.ExpTransform(), 1).log_abs_det_jacobian(x, x.exp())
    tensor([1., 5.])
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        _require_dims(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        _require_dims(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Reshape of the last dimensions from `in_shape` to `out_shape`.

    >>> tl.distributions.transforms.ReshapeTransform((2, 3), (6,))(tl.ones(4, 2, 3)).shape
    tensorlike.Size([4, 6])
    """

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _reshaped(self, shape: tuple[int, ...], before: Size, after: Size) -> tuple[int, ...]:
        _require_dims(shape, len(before))
        kept = len(shape) - len(before)
        if Size(shape[kept:]) != before:
            raise ValueError(f"Shape mismatch: expected {shape[kept:]} but got {before}")
        return shape[:kept] + after

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._reshaped(shape, self.out_shape, self.in_shape)
