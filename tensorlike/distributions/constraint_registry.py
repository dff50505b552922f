"""Transforms from all real numbers to the values that satisfy a constraint: `biject_to` and `transform_to`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

_F = TypeVar("_F", bound=Callable[..., Any])


class ConstraintRegistry:
    """The function that makes a transform for a constraint, by the class of the constraint.

    `register` adds functions that get the constraint; calling the registry gives the transform.

    >>> tl.distributions.transform_to(tl.distributions.constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Set what makes the transform for a class of constraints, or the class of one; also as a decorator.

        Raises TypeError for what is neither.
        """
        if factory is None:
            return lambda decorated: self.register(constraint, decorated)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Any:
        """Return the transform for a constraint. Raises NotImplementedError if none is registered for its class."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: register a function for the class"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register(
    *kinds: constraints.Constraint | type[constraints.Constraint], only: ConstraintRegistry | None = None
) -> Callable[[_F], _F]:
    """Register a function for these constraints, in both registries or in one."""

    def register(factory: _F) -> _F:
        for registry in (biject_to, transform_to) if only is None else (only,):
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return register


@_register(constraints.real)
def _real(constraint: constraints.Constraint) -> Any:
    return transforms.identity_transform


# Positive numbers are those above 0: their constraint is of this class too.
@_register(constraints.greater_than, constraints.greater_than_eq)
def _above(constraint: constraints._Above) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_register(constraints.less_than)
def _below(constraint: constraints._Below) -> Any:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_register(constraints.interval, constraints.half_open_interval)
def _between(constraint: constraints._Between) -> Any:
    lower, upper = constraint.lower_bound, constraint.upper_bound
    sigmoid = transforms.SigmoidTransform()
    if all(isinstance(bound, (int, float)) for bound in (lower, upper)) and (lower, upper) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(lower, upper - lower)])


@_register(constraints.simplex, only=biject_to)
def _simplex(constraint: constraints.Constraint) -> Any:
    return transforms.StickBreakingTransform()


@_register(constraints.simplex, only=transform_to)
def _simplex_by_softmax(constraint: constraints.Constraint) -> Any:
    return transforms.SoftmaxTransform()


@_register(constraints.lower_cholesky, only=transform_to)
def _lower_cholesky(constraint: constraints.Constraint) -> Any:
    return transforms.LowerCholeskyTransform()


@_register(constraints.positive_definite, constraints.positive_semidefinite, only=transform_to)
def _positive_definite(constraint: constraints.Constraint) -> Any:
    return transforms.PositiveDefiniteTransform()


@_register(constraints.corr_cholesky)
def _corr_cholesky(constraint: constraints.Constraint) -> Any:
    return transforms.CorrCholeskyTransform()


def _register_composed(registry: ConstraintRegistry) -> None:
    """Register what is made of the transforms that the same registry has for other constraints."""

    @_register(constraints.independent, only=registry)
    def _independent(constraint: Any) -> Any:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @_register(constraints.cat, only=registry)
    def _cat(constraint: Any) -> Any:
        return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)

    @_register(constraints.stack, only=registry)
    def _stack(constraint: Any) -> Any:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


for _registry in (biject_to, transform_to):
    _register_composed(_registry)
