"""Dual numbers: a value and its derivative in one direction, carried forward through a computation.

`derivative(f)` is a function like f; derivatives of derivatives are taken by taking them again. There is no graph, so
that memory does not grow with the computation.

What it shows of the protocol: instances inside instances. The parts of a dual number may be dual numbers of an outer
`derivative`, and each rule, written with ordinary functions, is asked about those in turn.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


class DualTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """`primal` + `tangent` e, where e * e = 0; `level` tells the e of one `derivative` from that of another."""

    # For `tensorlike audit`: functions without a rule are refused on purpose.
    __tensor_audit__ = {"refusals": "ok"}

    def __init__(self, primal: Any, tangent: Any, level: int = 0) -> None:
        self.primal = primal if isinstance(primal, DualTensor) else tl.as_tensor(primal)
        self.tangent = tangent if isinstance(tangent, DualTensor) else tl.as_tensor(tangent)
        self.level = level
        if self.primal.shape != self.tangent.shape:
            raise ValueError(f"DualTensor: the tangent has shape {self.tangent.shape}, the value {self.primal.shape}")

    def __repr__(self) -> str:
        return f"DualTensor({self.primal!r}, tangent={self.tangent!r})"

    @property
    def shape(self) -> tl.Size:
        return self.primal.shape

    @property
    def dtype(self) -> tl.dtype:
        return self.primal.dtype

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> DualTensor:
        if not tensor.dtype.is_floating_point:
            raise TypeError("only floating tensors have derivatives")
        return cls(tensor, tl.ones_like(tensor))

    def __tensorlike_to_dense__(self) -> DualTensor | tl.Tensor:
        return self.primal


def derivative(function: Callable[[Any], Any], direction: Any = None) -> Callable[[Any], Any]:
    """Return the function that gives the derivative of `function` at a tensor, in `direction` (ones by default)."""

    def derived(x: Any) -> Any:
        tangent = tl.ones(x.shape, dtype=x.dtype) if direction is None else direction
        level = next(LEVELS)
        result = function(DualTensor(x, tangent, level))
        # A result that is no dual number of this derivative does not depend on x.
        dual = isinstance(result, DualTensor) and result.level == level
        return result.tangent if dual else tl.zeros(tuple(result.shape))

    return derived


LEVELS = itertools.count(1)
implements = partial(overrides.implements, variants=True, for_type=DualTensor)


def level_of(*values: Any) -> int:
    """The innermost level among operands: it is answered first, and takes the others for constants."""
    found = (level_of(*v) if isinstance(v, (list, tuple)) else getattr(v, "level", -1) for v in values)
    return max(found, default=-1)


def primal_of(value: Any, level: int) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(primal_of(v, level) for v in value)
    return value.primal if isinstance(value, DualTensor) and value.level == level else value


def tangent_of(value: Any, level: int) -> Any:
    """The tangent of an operand; None for a constant."""
    return value.tangent if isinstance(value, DualTensor) and value.level == level else None


# With it, functions that write in place (add_, relu_, +=) write the result of the ordinary function.
@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(self, DualTensor) or level_of(src) > self.level:
        return NotImplemented  # a constant has no place for a tangent
    change = tangent_of(src, self.level)
    self.primal.copy_(primal_of(src, self.level))
    self.tangent = tl.zeros(self.shape, dtype=self.dtype) if change is None else change.expand(self.shape)
    return self


# Functions of one operand: the slope at x, given x and the result y, by ordinary functions.
SLOPES: dict[Callable[..., Any], Callable[[Any, Any], Any]] = {
    tl.exp: lambda x, y: y,
    tl.expm1: lambda x, y: y + 1,
    tl.log: lambda x, y: tl.reciprocal(x),
    tl.log1p: lambda x, y: tl.reciprocal(x + 1),
    tl.sqrt: lambda x, y: tl.reciprocal(y * 2),
    tl.rsqrt: lambda x, y: y / x * -0.5,
    tl.square: lambda x, y: x * 2,
    tl.reciprocal: lambda x, y: -tl.square(y),
    tl.abs: lambda x, y: tl.sgn(x),
    tl.sin: lambda x, y: tl.cos(x),
    tl.cos: lambda x, y: -tl.sin(x),
    tl.tan: lambda x, y: tl.square(y) + 1,
    tl.asin: lambda x, y: tl.rsqrt(1 - tl.square(x)),
    tl.acos: lambda x, y: -tl.rsqrt(1 - tl.square(x)),
    tl.atan: lambda x, y: tl.reciprocal(tl.square(x) + 1),
    tl.sinh: lambda x, y: tl.cosh(x),
    tl.cosh: lambda x, y: tl.sinh(x),
    tl.tanh: lambda x, y: 1 - tl.square(y),
    tl.sigmoid: lambda x, y: y * (1 - y),
    tl.erf: lambda x, y: tl.exp(-tl.square(x)) * (2 / tl.pi**0.5),
    tl.relu: lambda x, y: x > 0,
    tl.sgn: lambda x, y: x * 0,
    tl.floor: lambda x, y: x * 0,
}


def with_slope(function: Callable[..., Any], slope: Callable[[Any, Any], Any]) -> None:
    def implementation(input: Any, **kwargs: Any) -> Any:
        if kwargs.pop("out", None) is not None or kwargs:
            return NotImplemented
        result = function(input.primal)
        return DualTensor(result, slope(input.primal, result) * input.tangent, input.level)

    implements(function, check=False)(implementation)


for function, slope in SLOPES.items():
    with_slope(function, slope)


# Functions of several operands: a partial derivative times a tangent for each.
def with_terms(function: Callable[..., Any], *terms: Callable[..., Any]) -> None:
    signature = inspect.signature(function)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        level = level_of(*given.values())
        if given.pop("out", None) is not None:
            return NotImplemented
        operands = [primal_of(value, level) for value in given.values()]
        result = function(**dict(zip(given, operands)))
        tangent: Any = tl.zeros(result.shape, dtype=result.dtype)
        for value, term in zip(given.values(), terms):
            change = tangent_of(value, level)
            if change is not None:
                tangent = tangent + term(change, *operands)
        return DualTensor(result, tangent, level)

    implements(function, check=False)(implementation)


def power_slope(x: Any, y: Any) -> Any:
    return 0 if isinstance(y, (int, float)) and y == 0 else y * x ** (y - 1)


with_terms(tl.add, lambda dx, x, y, alpha=1: dx, lambda dy, x, y, alpha=1: dy * alpha)
with_terms(tl.sub, lambda dx, x, y, alpha=1: dx, lambda dy, x, y, alpha=1: dy * -alpha)
with_terms(tl.mul, lambda dx, x, y: dx * y, lambda dy, x, y: x * dy)
with_terms(tl.matmul, lambda dx, x, y: dx @ y, lambda dy, x, y: x @ dy)
with_terms(tl.atan2, lambda dx, x, y: dx * y / (x * x + y * y), lambda dy, x, y: -x * dy / (x * x + y * y))
with_terms(tl.pow, lambda dx, x, y: dx * power_slope(x, y), lambda dy, x, y: x**y * tl.log(x * tl.ones(())) * dy)
for function, first in ((tl.maximum, tl.ge), (tl.minimum, tl.le)):
    with_terms(
        function,
        lambda dx, x, y, first=first: tl.where(first(value(x), value(y)), dx, tl.zeros(())),
        lambda dy, x, y, first=first: tl.where(first(value(x), value(y)), tl.zeros(()), dy),
    )


@implements(tl.div)
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    if rounding_mode is not None:  # a staircase, with slope 0 wherever it has one
        level = level_of(input, other)
        steps = tl.div(primal_of(input, level), primal_of(other, level), rounding_mode=rounding_mode)
        return DualTensor(steps, steps * 0, level)
    return input * (tl.reciprocal(other) if isinstance(other, (tl.Tensor, DualTensor)) else 1 / other)


@implements(tl.where)
def where(condition: Any, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    level = level_of(input, other)
    if out is not None or level < 0 or isinstance(condition, DualTensor):
        return NotImplemented
    parts = (input, other)
    changes = [tl.zeros(()) if tangent_of(v, level) is None else tangent_of(v, level) for v in parts]
    return DualTensor(tl.where(condition, *(primal_of(v, level) for v in parts)), tl.where(condition, *changes), level)


# Functions that are linear in their first operand do to the tangent what they do to the value. The library knows which.
def linear(function: Callable[..., Any]) -> None:
    first = function.operation.parameters[0].name  # type: ignore[attr-defined]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        operand, rest = (args[0], args[1:]) if args else (kwargs.pop(first), ())
        level = level_of(operand)
        if level_of(*rest, *kwargs.values()) >= 0 or kwargs.get("out") is not None:
            return NotImplemented
        primal = function(primal_of(operand, level), *rest, **kwargs)
        if isinstance(operand, (list, tuple)):
            changes = [v * 0 if tangent_of(v, level) is None else tangent_of(v, level) for v in operand]
            tangent = function(changes, *rest, **kwargs)
        else:
            tangent = function(operand.tangent, *rest, **kwargs)
        if isinstance(primal, (list, tuple)):
            return type(primal)(DualTensor(*pair, level) for pair in zip(primal, tangent))
        return DualTensor(primal, tangent, level)

    implements(function)(implementation)


for function in [*overrides.get_overridable_functions()[tl], tl.Tensor.expand, tl.Tensor.repeat]:
    operation = function.operation
    if len(operation.linear_in) == 1 and operation.linear_in[0] == operation.parameters[0].name:
        linear(function)
linear(tl.Tensor.__getitem__)


# Comparisons look at values alone.
def value(x: Any) -> Any:
    return value(x.primal) if isinstance(x, DualTensor) else x


def by_value(function: Callable[..., Any]) -> None:
    def implementation(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            return NotImplemented
        return function(*map(value, args), **{name: value(v) for name, v in kwargs.items()})

    implements(function, check=False)(implementation)


for function in (tl.eq, tl.ne, tl.lt, tl.le, tl.gt, tl.ge, tl.isnan, tl.isfinite, tl.argmax, tl.argmin):
    by_value(function)


def main() -> None:
    x = tl.tensor([0.5, 1.0, 2.0])
    print("value and slope:", tl.sin(DualTensor(x, tl.ones(3))))
    cube = lambda x: x**3
    print("derivatives of the cube:", derivative(cube)(x), derivative(derivative(cube))(x))
    print("the fourth:", derivative(derivative(derivative(derivative(cube))))(x))

    # A derivative inside a derivative: the inner one takes the x of the outer one for a constant.
    nested = lambda x: x * derivative(lambda y: x + y)(x)
    print("d/dx of x times d/dy (x + y):", derivative(nested)(tl.tensor(2.0)))

    # Newton's method for a root, with the slope of the very function.
    def f(x: Any) -> Any:
        return tl.exp(x) - 2

    root = tl.tensor(1.0)
    for _ in range(6):
        root = root - f(root) / derivative(f)(root)
    print("exp(x) = 2 at", root, "and log(2) is", tl.log(tl.tensor(2.0)))

    weight = tl.tensor([[1.0, -1.0], [2.0, 0.5]])
    layer = lambda x: tl.tanh(weight @ x).sum()
    print("along [1, 0]:", derivative(layer, tl.tensor([1.0, 0.0]))(tl.tensor([0.3, 0.2])))
    try:
        tl.linalg.det(DualTensor(weight, weight))
    except TypeError as error:
        print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
