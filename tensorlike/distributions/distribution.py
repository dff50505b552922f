"""The base class of distributions, with the rules that all of them share."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.dispatch.core import outside_stacklevel
from tensorlike.dispatch.protocol import is_tensor_like
from tensorlike.tensor import Tensor
from tensorlike.tensor.size import Size

from . import constraints
from .utils import broadcast_all, lazy_property

__all__ = ["Distribution"]


def _undeclared(name: str) -> Callable[[Any], Any]:
    """Return what is called for an attribute that a subclass should have and lacks."""

    def raise_error(self: Any) -> Any:
        raise NotImplementedError(f"{type(self)} does not define {name}")

    return raise_error


def _all_hold(checked: Tensor) -> bool:
    """Return whether a constraint holds everywhere: inside vmap, in all examples."""
    return bool(tl._is_all_true(checked) if isinstance(checked, Tensor) else checked.all())


class Distribution:
    """The base class of distributions.

    A distribution has a batch of parameters, of shape `batch_shape`, and gives events of shape `event_shape` for each.
    Its parameters are attributes by the names in `arg_constraints`. Raises ValueError for parameters that are outside
    their constraints, unless `validate_args` is False.

    >>> normal = tl.distributions.Normal(tl.zeros(3), 1.0)
    >>> normal.sample((2,)).shape, normal.log_prob(tl.zeros(3))
    (tensorlike.Size([2, 3]), tensor([-0.9189, -0.9189, -0.9189]))
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__

    #: The constraint of each parameter: a dict, or a property where they depend on other parameters.
    arg_constraints: Any = property(_undeclared("arg_constraints"))
    #: The constraint of samples.
    support: Any = property(_undeclared("support"))

    def __init__(
        self, batch_shape: tuple[int, ...] | list[int] = (), event_shape: tuple[int, ...] | list[int] = (),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and values, unless `validate_args` says otherwise.

        It is on unless Python runs with -O. Raises ValueError for other values than booleans.
        """
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args(): value must be True or False, got {value!r}")
        Distribution._validate_args = value

    def _check_parameters(self) -> None:
        """Raise for a parameter outside its constraint."""
        try:
            declared = self.arg_constraints
        except NotImplementedError:
            declared = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=outside_stacklevel(),
            )
        for name, constraint in declared.items():
            if constraints.is_dependent(constraint):
                continue
            # A parameter that is computed from another one is right if that one is.
            computed = isinstance(inspect.getattr_static(type(self), name, None), lazy_property)
            if computed and name not in self.__dict__:
                continue
            value = getattr(self, name)
            if not _all_hold(constraint.check(value)):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def _set_parameters(self, **parameters: Any) -> Size:
        """Set numbers and tensors as attributes, broadcast to one shape, which is returned: the batch shape."""
        for name, value in zip(parameters, broadcast_all(*parameters.values())):
            setattr(self, name, value)
        return Size(value.shape)

    def expand(self, batch_shape: tuple[int, ...] | list[int], _instance: object = None) -> Self:
        """Return the distribution with its batch expanded to this shape, without copying parameters.

        A subclass with an `__init__` of its own defines it too, and calls this one with
        `_instance=self._get_checked_instance(Subclass, _instance)`. Raises NotImplementedError if it does not.

        >>> tl.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        tensorlike.Size([2, 3])
        """
        owner = next(kind for kind in type(self).__mro__ if _has_known_init(kind))
        new = self._get_checked_instance(owner, _instance)
        shape = Size(batch_shape)
        # A subclass may declare other parameters than those that it gives to the class that it is derived from.
        declared: dict[str, Any] = {}
        for kind in reversed(type(self).__mro__):
            own = kind.__dict__.get("arg_constraints")
            declared.update(own if isinstance(own, dict) else {})
        declared.update(self.arg_constraints)
        for name, value in self.__dict__.items():
            if name in declared and is_tensor_like(value):
                event_dim = declared[name].event_dim
                new.__dict__[name] = value.expand(shape + Size(value.shape[value.dim() - event_dim :]))
            elif isinstance(value, Distribution):
                new.__dict__[name] = self._expand_inner(value, shape)
            elif not isinstance(inspect.getattr_static(type(self), name, None), lazy_property):
                new.__dict__[name] = value
        # The parameters need no check: they are what they were.
        Distribution.__init__(new, shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new  # type: ignore[no-any-return]

    def _expand_inner(self, inner: Distribution, shape: Size) -> Any:
        """Return a distribution that this one is made of, as it is when this one has the batch shape `shape`."""
        return inner.expand(shape)

    def _get_checked_instance(self, cls: type, _instance: object = None) -> Any:
        """Return the object that `expand` fills: the one given, or a new one if `cls` knows how to make it."""
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of parameters.

        >>> tl.distributions.Normal(tl.zeros(3), 1.0).batch_shape
        tensorlike.Size([3])
        """
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one element of the batch.

        >>> tl.distributions.Dirichlet(tl.ones(5, 3)).event_shape
        tensorlike.Size([3])
        """
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean.

        >>> tl.distributions.Exponential(tl.tensor(4.0)).mean
        tensor(0.2500)
        """
        raise NotImplementedError(f"{type(self)} does not implement mean")

    @property
    def mode(self) -> Tensor:
        """The value of the largest density or probability.

        >>> tl.distributions.Poisson(tl.tensor(4.5)).mode
        tensor(4.)
        """
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance.

        >>> tl.distributions.Exponential(tl.tensor(4.0)).variance
        tensor(0.0625)
        """
        raise NotImplementedError(f"{type(self)} does not implement variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation.

        >>> tl.distributions.Uniform(0.0, 12.0).stddev
        tensor(3.4641)
        """
        return self.variance.sqrt()

    def sample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        """Return samples without gradients: `sample_shape` of them for each element of the batch.

        >>> tl.distributions.Normal(tl.zeros(3), 1.0).sample((2,)).shape
        tensorlike.Size([2, 3])
        """
        with tl.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Tensor:
        """Return samples that have gradients by the parameters; `has_rsample` tells whether there are any.

        >>> mean = tl.zeros(3, requires_grad=True)
        >>> tl.distributions.Normal(mean, 1.0).rsample((2,)).sum().backward()
        >>> mean.grad
        tensor([2., 2., 2.])
        """
        raise NotImplementedError(f"{type(self)} does not implement rsample")

    def sample_n(self, n: int) -> Tensor:
        """Return `n` samples for each element of the batch. Deprecated: use `sample((n,))`."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=outside_stacklevel(),
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`.

        >>> tl.distributions.Bernoulli(0.25).log_prob(tl.tensor(1.0)).exp()
        tensor(0.2500)
        """
        raise NotImplementedError(f"{type(self)} does not implement log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of samples up to `value`.

        >>> tl.distributions.Uniform(0.0, 4.0).cdf(tl.tensor(1.0))
        tensor(0.2500)
        """
        raise NotImplementedError(f"{type(self)} does not implement cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile of the probability `value`, the inverse of `cdf`.

        >>> tl.distributions.Uniform(0.0, 4.0).icdf(tl.tensor(0.25))
        tensor(1.)
        """
        raise NotImplementedError(f"{type(self)} does not implement icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution along a first dimension, expanded over the batch or not.

        >>> tl.distributions.Categorical(tl.ones(3)).enumerate_support()
        tensor([0, 1, 2])
        """
        raise NotImplementedError(f"{type(self)} does not implement enumerate_support")

    def entropy(self) -> Tensor:
        """Return the entropy, in units of `e`.

        >>> tl.distributions.Categorical(tl.ones(4)).entropy()
        tensor(1.3863)
        """
        raise NotImplementedError(f"{type(self)} does not implement entropy")

    def perplexity(self) -> Tensor:
        """Return the exponential of the entropy.

        >>> tl.distributions.Categorical(tl.ones(4)).perplexity()
        tensor(4.)
        """
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: tuple[int, ...] | list[int] = ()) -> Size:
        """Return the shape of samples: `sample_shape`, then that of the batch, then that of the event."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Return a vector of all values as `enumerate_support` gives them."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError for a value of the wrong shape or outside the support."""
        if not is_tensor_like(value):
            raise ValueError(
                f"The value argument to log_prob must be a Tensor: got {type(value).__name__}, convert it with "
                f"{LIBRARY}.tensor(value)"
            )
        first = len(value.shape) - len(self._event_shape)
        if Size(value.shape[max(first, 0) :]) != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for actual, wanted in zip(reversed(value.shape), reversed(expected)):
            if actual != 1 and wanted != 1 and actual != wanted:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=outside_stacklevel(),
            )
            return
        if not _all_hold(support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = []
        for name in self.arg_constraints:
            if name in self.__dict__:
                value = self.__dict__[name]
                shown.append(f"{name}: {value if value.numel() == 1 else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _has_known_init(kind: type) -> bool:
    """Return whether `kind` has an `__init__` of this package, so that objects can be made without calling it."""
    init: Any = kind.__init__  # type: ignore[misc]
    return getattr(init, "__globals__", {}).get("__package__") == __package__
