"""Interval arithmetic: bounds that a result cannot leave, whatever the inputs in their bounds and the rounding.

Given bounds of the pixels of an image, a network of linear layers and activations returns bounds of its answers: what
certified training needs. Gradients flow through both bounds.

What it shows of the protocol: a pair of tensors through modules written for tensors, rules by the shape of a function
(increasing, decreasing, ...), and comparisons that answer only when they can.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides

# What a kernel may be off by, in units of the last place: for the elementary functions of the C library.
ULPS = 4


class IntervalTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """All tensors between `lower` and `upper`, elementwise."""

    # For `tensorlike audit`: functions without a rule are refused on purpose.
    __tensor_audit__ = {"refusals": "ok"}

    def __init__(self, lower: Any, upper: Any = None, check: bool = True) -> None:
        self.lower = tl.as_tensor(lower)
        self.upper = self.lower if upper is None else tl.as_tensor(upper)
        if not (self.lower.dtype.is_floating_point and self.lower.dtype == self.upper.dtype):
            raise TypeError(f"IntervalTensor: bounds are of one floating dtype, not {self.lower.dtype}")
        if self.lower.shape != self.upper.shape:
            raise ValueError(f"IntervalTensor: the bounds have shapes {self.lower.shape} and {self.upper.shape}")
        if check and bool((self.lower > self.upper).any()):
            raise ValueError("IntervalTensor: a lower bound is above its upper bound")

    def __repr__(self) -> str:
        return f"IntervalTensor(lower={self.lower.tolist()}, upper={self.upper.tolist()})"

    @property
    def shape(self) -> tl.Size:
        return self.lower.shape

    def midpoint(self) -> tl.Tensor:
        # Halves first: the sum of two large bounds is infinite.
        return self.lower / 2 + self.upper / 2

    def radius(self) -> tl.Tensor:
        return self.upper / 2 - self.lower / 2

    def contains(self, value: tl.Tensor | float) -> tl.Tensor:
        """Where `value` lies within the bounds."""
        return (self.lower <= value) & (value <= self.upper)

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> IntervalTensor:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return tl.where(self.lower == self.upper, self.lower, self.midpoint())


# The results of rules are not looked at: their bounds are in order, and inside a vmap are those of all examples.
computed = partial(IntervalTensor, check=False)

implements = partial(overrides.implements, variants=True, for_type=IntervalTensor)


def written(result: IntervalTensor, out: Any) -> Any:
    """Return the result, in `out` if there is one."""
    if out is None:
        return result
    if not isinstance(out, IntervalTensor):
        return NotImplemented  # a plain tensor has no place for two bounds
    out.lower.copy_(result.lower)
    out.upper = out.lower.clone() if out.upper is out.lower else out.upper
    out.upper.copy_(result.upper)
    return out


# With it, functions that write in place (add_, relu_, +=) write the result of the ordinary function.
@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(src, IntervalTensor) and not src.dtype.is_floating_point:
        return NotImplemented  # as the results of comparisons
    return written(enclosed(src), self)


def bounds(value: Any) -> tuple[Any, Any]:
    return (value.lower, value.upper) if isinstance(value, IntervalTensor) else (value, value)


def enclosed(value: Any) -> IntervalTensor:
    return value if isinstance(value, IntervalTensor) else IntervalTensor(value)


def outward(lower: tl.Tensor, upper: tl.Tensor, slack: Any = None) -> IntervalTensor:
    """Return the interval, wider by what rounding may have cost; `slack` is known to some rules."""
    info = tl.finfo(lower.dtype)
    below, above = (ULPS * info.eps * x.abs() for x in (lower, upper)) if slack is None else (slack, slack)
    # An infinite bound stays: it has no last place.
    below, above = (tl.where(x.isfinite(), by + info.tiny, 0.0) for x, by in ((lower, below), (upper, above)))
    return computed((lower - below).to(lower.dtype), (upper + above).to(upper.dtype))


def enclosing(function: Callable[..., Any], input: Any, other: Any) -> tuple[tl.Tensor, tl.Tensor]:
    """The least and the greatest of the values at the corners."""
    ends = bounds(input), bounds(other)
    stacked = tl.stack(tl.broadcast_tensors(*(function(x, y) for x in ends[0] for y in ends[1])))
    # 0 times infinity is 0: an infinite bound stands for numbers without end, each of them finite.
    stacked = tl.where(stacked.isnan(), 0.0, stacked)
    for x in (*ends[0], *ends[1]):  # and nan stays nan
        stacked = tl.where(tl.isnan(tl.as_tensor(x)), tl.nan, stacked)
    return stacked.amin(0), stacked.amax(0)


# Functions of one operand, by their shape.
def monotone(function: Callable[..., Any], *, falling: bool = False, exact: bool = False) -> None:
    signature = inspect.signature(function)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        input, out = enclosed(given.pop("input")), given.pop("out", None)
        if given.pop("inplace", False):
            out = input
        found = [function(bound, **given) for bound in bounds(input)]
        if falling:
            found.reverse()
        return written(computed(*found) if exact else outward(*found), out)

    implements(function, check=False)(implementation)


F = tl.nn.functional
function: Callable[..., Any]
for function in (tl.exp, tl.exp2, tl.expm1, tl.log, tl.log2, tl.log10, tl.log1p, tl.sqrt, tl.sigmoid, tl.tanh, tl.atan,
                 tl.asin, tl.sinh, tl.asinh, tl.acosh, tl.atanh, tl.erf, tl.deg2rad, tl.rad2deg, tl.special.ndtr,
                 F.softplus, F.elu, F.leaky_relu, F.selu, F.celu, F.softsign, F.logsigmoid):  # fmt: skip
    monotone(function)
for function in (tl.relu, tl.floor, tl.ceil, tl.round, tl.trunc, tl.sign, F.relu6, F.hardtanh, F.hardsigmoid):
    monotone(function, exact=True)
for function in (tl.acos, tl.erfc, tl.rsqrt):
    monotone(function, falling=True)


@implements(tl.neg)
def neg(input: Any, *, out: Any = None) -> Any:
    lower, upper = bounds(input)
    return written(computed(-upper, -lower), out)


@implements(tl.abs)
def abs(input: Any, *, out: Any = None) -> Any:
    lower, upper = bounds(input)
    return written(computed(tl.maximum(lower, -upper).clamp(min=0), tl.maximum(-lower, upper)), out)


def of_magnitude(function: Callable[..., Any], least: float) -> None:
    """Even functions that increase from 0 on, where they have their least value."""

    def implementation(input: Any, *, out: Any = None) -> Any:
        found = outward(*(function(bound) for bound in bounds(tl.abs(enclosed(input)))))
        return written(computed(found.lower.clamp(min=least), found.upper), out)

    implements(function)(implementation)


of_magnitude(tl.square, 0.0)
of_magnitude(tl.cosh, 1.0)


def periodic(function: Callable[..., Any], top: float) -> None:
    """Waves of period 2 pi, with their maximum at `top` and their minimum half a period later."""

    def implementation(input: Any, *, out: Any = None) -> Any:
        input = enclosed(input)
        ends = [function(bound) for bound in bounds(input)]
        lower, upper = tl.minimum(*ends), tl.maximum(*ends)

        def reaches(place: float) -> Any:
            # Widened: a peak that rounding puts just outside counts.
            first, last = ((x - place) / (2 * tl.pi) for x in (input.lower, input.upper))
            edge = 1e-6 * (1 + first.abs())
            return tl.ceil(first - edge) <= last + edge

        found = outward(tl.where(reaches(top + tl.pi), -1.0, lower), tl.where(reaches(top), 1.0, upper))
        return written(computed(found.lower.clamp(min=-1), found.upper.clamp(max=1)), out)

    implements(function)(implementation)


periodic(tl.sin, tl.pi / 2)
periodic(tl.cos, 0.0)


# Arithmetic.
@implements(tl.add)
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    (a, b), (c, d) = bounds(input), bounds(other if alpha == 1 else tl.mul(other, alpha))
    return written(outward(a + c, b + d), out)


@implements(tl.sub)
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    (a, b), (c, d) = bounds(input), bounds(other if alpha == 1 else tl.mul(other, alpha))
    return written(outward(a - d, b - c), out)


@implements(tl.mul)
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    return written(outward(*enclosing(tl.mul, input, other)), out)


@implements(tl.div)
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    lower, upper = enclosing(partial(tl.div, rounding_mode=rounding_mode), input, other)
    if isinstance(other, IntervalTensor):
        through_zero = other.contains(0)
        lower, upper = tl.where(through_zero, -tl.inf, lower), tl.where(through_zero, tl.inf, upper)
    return written(outward(lower, upper) if rounding_mode is None else computed(lower, upper), out)


@implements(tl.reciprocal)
def reciprocal(input: Any, *, out: Any = None) -> Any:
    return div(1, enclosed(input), out=out)


@implements(tl.pow)
def pow(input: Any, exponent: Any, *, out: Any = None) -> Any:
    if not isinstance(exponent, (int, float)):
        return NotImplemented
    input = enclosed(input)
    if exponent < 0:
        return reciprocal(pow(input, -exponent), out=out)
    base: Any = tl.abs(input) if exponent % 2 == 0 else input
    return written(outward(tl.pow(base.lower, exponent), tl.pow(base.upper, exponent)), out)


def of_bounds(function: Callable[..., Any]) -> None:
    """Increasing in every operand, and exact."""

    def implementation(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        lower, upper = (
            function(*(bounds(value)[end] for value in args), **{name: bounds(v)[end] for name, v in kwargs.items()})
            for end in (0, 1)
        )
        return written(computed(lower, upper), out)

    implements(function)(implementation)


for function in (tl.maximum, tl.minimum, tl.clamp, tl.amax, tl.amin):
    of_bounds(function)


# Sums: n roundings, each of at most half a unit in the last place of the sum of the magnitudes.
def summing(function: Callable[..., Any]) -> None:
    def implementation(input: Any, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        input = enclosed(input)
        slack = function(tl.maximum(input.lower.abs(), input.upper.abs()), *args, **kwargs)
        steps = (input.lower.numel() + 1) * tl.finfo(input.lower.dtype).eps
        lower, upper = (function(bound, *args, **kwargs) for bound in bounds(input))
        return written(outward(lower, upper, steps * slack), out)

    implements(function, check=False)(implementation)


for function in (tl.sum, tl.mean, tl.cumsum):
    summing(function)


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """By midpoints and radii, with four products of matrices in place of one for each corner."""
    one, two = enclosed(input), enclosed(other)
    (a, r), (b, s) = (one.midpoint(), one.radius()), (two.midpoint(), two.radius())
    middle = a @ b
    radius = r @ b.abs() + a.abs() @ s + r @ s
    steps = (a.shape[-1] + 4) * 2 * tl.finfo(middle.dtype).eps
    return written(outward(middle - radius, middle + radius, steps * ((a.abs() + r) @ (b.abs() + s))), out)


@implements(F.linear)
def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    result = tl.matmul(enclosed(input), tl.transpose(weight, 0, 1) if len(weight.shape) > 1 else weight)
    return written(result if bias is None else result + bias, out)


# Functions that arrange elements arrange both bounds.
def arranges(function: Callable[..., Any]) -> None:
    def ends(value: Any, end: int) -> Any:
        return type(value)(ends(v, end) for v in value) if type(value) in (list, tuple) else bounds(value)[end]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        lower, upper = (
            function(*(ends(value, end) for value in args), **{k: ends(v, end) for k, v in kwargs.items()})
            for end in (0, 1)
        )
        if type(lower) in (list, tuple):
            return type(lower)(map(computed, lower, upper))
        return written(computed(lower, upper), out)

    implements(function, check=False)(implementation)


ARRANGING = (
    "broadcast_to cat chunk clone diagonal flatten flip index_select movedim narrow permute ravel reshape roll "
    "select split squeeze stack swapaxes t tile transpose tril triu unbind unsqueeze hstack vstack "
    "Tensor.__getitem__ Tensor.expand"
)
for name in ARRANGING.split():
    arranges(getattr(tl.Tensor if name.startswith("Tensor.") else tl, name.removeprefix("Tensor.")))
arranges(F.pad)


# A comparison has an answer where it is the same for every number in the bounds.
def compares(function: Callable[..., Any], always: Callable[..., Any], never: Callable[..., Any]) -> None:
    def implementation(input: Any, other: Any, *, out: Any = None) -> Any:
        if out is not None:
            return NotImplemented
        yes, no = always(*bounds(input), *bounds(other)), never(*bounds(input), *bounds(other))
        if not bool((yes | no).all()):
            raise ValueError(f"{function.__name__}(): undecided, as intervals overlap: {input} and {other}")
        return yes

    implements(function)(implementation)


compares(tl.lt, lambda a, b, c, d: b < c, lambda a, b, c, d: a >= d)
compares(tl.le, lambda a, b, c, d: b <= c, lambda a, b, c, d: a > d)
compares(tl.gt, lambda a, b, c, d: a > d, lambda a, b, c, d: b <= c)
compares(tl.ge, lambda a, b, c, d: a >= d, lambda a, b, c, d: b < c)


def main() -> None:
    x = IntervalTensor([1.0, -2.0, 3.0], [2.0, 1.0, 3.5])
    print("squared:", x.square())
    print("sine:", x.sin())
    print("1 / x:", (1 / x).upper)
    third = IntervalTensor(tl.ones(1)) / 3
    print("a third, enclosed:", third.lower.item(), third.upper.item())
    print("certainly above -3:", x > -3)
    try:
        tl.gt(x, 0)
    except ValueError as error:
        print("ValueError:", error)

    # Bounds of what a network answers when each input is off by at most 0.1.
    tl.manual_seed(0)
    network = tl.nn.Sequential(tl.nn.Linear(3, 8), tl.nn.ReLU(), tl.nn.Linear(8, 2))
    point = tl.tensor([0.5, -0.2, 0.1])
    answers = network(IntervalTensor(point - 0.1, point + 0.1))
    inside = [bool(answers.contains(network(point + 0.2 * (tl.rand(3) - 0.5))).all()) for _ in range(100)]
    print("100 answers within the bounds:", all(inside))
    width = (answers.upper - answers.lower).sum()
    width.backward()
    print("the width has a gradient for", [name for name, p in network.named_parameters() if p.grad is not None])


if __name__ == "__main__":
    main()
