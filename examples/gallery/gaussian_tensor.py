"""Uncertain numbers: a mean and a variance for each element, carried through a computation.

The error bars of a measurement, or the spread of a weight, become those of the result. Elements are taken to be
independent and normal: sums add variances, an elementwise function passes them on by its slope (the delta method), and
for products and relu the moments are exact.

What it shows of the protocol: one rule for all differentiable functions. The slope of whatever was called is asked of
forward mode, so that no function needs a formula here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


class GaussianTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """Independent normal numbers with these means and variances."""

    # For `tensorlike audit`: functions without a rule are refused on purpose.
    __tensor_audit__ = {"refusals": "ok"}

    def __init__(self, mean: Any, variance: Any = 0.0, check: bool = True) -> None:
        self.mu = tl.as_tensor(mean)
        if not self.mu.dtype.is_floating_point:
            raise TypeError(f"GaussianTensor: means are floating numbers, not {self.mu.dtype}")
        self.variance = tl.as_tensor(variance, dtype=self.mu.dtype).expand(self.mu.shape)
        if check and bool((self.variance < 0).any()):
            raise ValueError("GaussianTensor: a variance is below 0")

    def __repr__(self) -> str:
        pairs = zip(self.mu.ravel().tolist(), self.std_dev.ravel().tolist())
        return f"GaussianTensor([{', '.join(f'{m:.4g} ± {s:.2g}' for m, s in pairs)}], shape={tuple(self.shape)})"

    @property
    def std_dev(self) -> tl.Tensor:
        return self.variance.sqrt()

    @property
    def shape(self) -> tl.Size:
        return self.mu.shape

    def draw(self, count: int) -> tl.Tensor:
        """Draw `count` tensors of these numbers: what the rules below can be checked with."""
        return self.mu + self.std_dev * tl.randn(count, *self.shape, dtype=self.mu.dtype)

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> GaussianTensor:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.mu


# The results of rules are not looked at: their variances are not below 0, and inside a vmap are those of all examples.
computed = partial(GaussianTensor, check=False)

implements = partial(overrides.implements, variants=True, for_type=GaussianTensor)


def mean_of(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(mean_of, value))
    return value.mu if isinstance(value, GaussianTensor) else value


def variance_of(value: Any) -> Any:
    """The variance of an operand: of an ordinary tensor, zero."""
    if type(value) in (list, tuple):
        return type(value)(map(variance_of, value))
    return value.variance if isinstance(value, GaussianTensor) else tl.zeros_like(tl.as_tensor(value))


def written(result: GaussianTensor, out: Any) -> Any:
    """Return the result, in `out` if there is one."""
    if out is None:
        return result
    if not isinstance(out, GaussianTensor):
        return NotImplemented  # a plain tensor has no place for variances
    out.mu.copy_(result.mu)
    out.variance = result.variance.expand(out.shape)
    return out


# With it, functions that write in place (add_, relu_, +=) write the result of the ordinary function.
@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(src, GaussianTensor):
        src = GaussianTensor(src.to(mean_of(self).dtype))
    return written(src, self)


def sum_of(terms: Iterable[Any]) -> Any:
    return functools.reduce(tl.add, terms)


# Elementwise functions: the variance of f(x) is f'(mean)**2 times that of x, added up over the operands.
def elementwise(function: Callable[..., Any]) -> None:
    signature = inspect.signature(function)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        out = given.pop("out", None)
        uncertain = [name for name, value in given.items() if isinstance(value, GaussianTensor)]
        if not uncertain:
            given = {name: GaussianTensor(v) if i == 0 else v for i, (name, v) in enumerate(given.items())}
            uncertain = [next(iter(given))]
        plain = {name: mean_of(value) for name, value in given.items()}
        # One that is passed twice, as in x + x, is one number: its slopes add up.
        value: Any = None
        slopes: dict[int, Any] = {}
        for name in uncertain:
            called = lambda x, name=name: function(**{**plain, name: x})
            value, slope = tl.func.jvp(called, (plain[name],), (tl.ones_like(plain[name]),))
            slopes[id(given[name])] = slopes.get(id(given[name]), 0.0) + slope
        operands = {id(given[name]): given[name] for name in uncertain}
        variance = sum_of(tl.square(slope) * operands[key].variance for key, slope in slopes.items())
        return written(computed(value, variance), out)

    implements(function, check=False)(implementation)


# Comparisons and the like have no slope; the exceptions have their own rule, or none.
OTHERWISE = {"mul", "square", "relu", "complex", "polar", "allclose", "nextafter", "gcd", "lcm", "isclose", "angle"}
OTHERWISE |= {"floor_divide", "heaviside", "igamma", "igammac", "gammainc", "gammaincc", "zeta"}
for namespace in (tl, tl.special):
    for function in overrides.get_overridable_functions()[namespace]:
        operation = function.operation
        if operation.elementwise and operation.vjp and operation.differentiable and function.__name__ not in OTHERWISE:
            elementwise(function)


@implements(tl.mul)
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Exact for independent factors; a tensor times itself is its square."""
    if input is other:
        return square(input, out=out)
    a, b = mean_of(input), mean_of(other)
    v, w = variance_of(input), variance_of(other)
    return written(computed(a * b, v * b * b + w * a * a + v * w), out)


@implements(tl.square)
def square(input: Any, *, out: Any = None) -> Any:
    m, v = mean_of(input), variance_of(input)
    return written(computed(m * m + v, 4 * m * m * v + 2 * v * v), out)


@implements(tl.relu)
def relu(input: Any) -> GaussianTensor:
    """The moments of max(x, 0), from the part of the normal distribution that is above 0."""
    m, v = input.mu, input.variance
    s = tl.where(v > 0, v, 1.0).sqrt()
    density = tl.exp(-0.5 * (m / s) ** 2) / (2 * tl.pi) ** 0.5
    above = tl.special.ndtr(m / s)
    mean = m * above + s * density
    spread = ((m * m + v) * above + m * s * density - mean * mean).clamp(min=0)
    return computed(tl.where(v > 0, mean, m.clamp(min=0)), tl.where(v > 0, spread, 0.0))


# Sums of independent numbers: the variances add up, with the squares of the factors.
@implements(tl.sum)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    middle, spread = (tl.sum(part, dim, keepdim, dtype=dtype) for part in (mean_of(input), variance_of(input)))
    return written(computed(middle, spread), out)


@implements(tl.mean)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    total = tl.sum(variance_of(input), dim, keepdim, dtype=dtype)
    middle = tl.mean(mean_of(input), dim, keepdim, dtype=dtype)
    count = mean_of(input).numel() / max(middle.numel(), 1)
    return written(computed(middle, total / count**2), out)


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    a, b, v, w = mean_of(input), mean_of(other), variance_of(input), variance_of(other)
    return written(computed(a @ b, v @ (b * b) + (a * a) @ w + v @ w), out)


@implements(tl.nn.functional.linear)
def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    result = matmul(input, tl.transpose(weight, 0, 1) if len(weight.shape) > 1 else weight)
    return written(result if bias is None else result + bias, out)


# Functions that arrange elements arrange means and variances alike.
def arranges(function: Callable[..., Any]) -> None:
    def implementation(*args: Any, **kwargs: Any) -> Any:
        first = args[:1] or (kwargs.pop(function.operation.parameters[0].name),)  # type: ignore[attr-defined]
        if any(isinstance(v, GaussianTensor) for v in (*args[1:], *kwargs.values())):
            return NotImplemented
        mu, variance = (function(part(first[0]), *args[1:], **kwargs) for part in (mean_of, variance_of))
        if isinstance(mu, (list, tuple)):
            return type(mu)(map(computed, mu, variance))
        return computed(mu, variance)

    implements(function, check=False)(implementation)


ARRANGING = (
    "broadcast_to cat chunk clone diagonal flatten flip hstack index_select movedim narrow permute ravel reshape "
    "roll select split squeeze stack swapaxes t tile transpose tril triu unbind unflatten unsqueeze vstack "
    "Tensor.__getitem__ Tensor.expand"
)
for name in ARRANGING.split():
    arranges(getattr(tl.Tensor if name.startswith("Tensor.") else tl, name.removeprefix("Tensor.")))


# A comparison of uncertain numbers has no answer but a probability.
def probability_above(input: Any, other: Any = 0.0) -> Any:
    """The probability that `input` is greater than `other`, elementwise."""
    spread = (variance_of(input) + variance_of(other)).sqrt()
    return tl.special.ndtr((mean_of(input) - mean_of(other)) / spread)


def main() -> None:
    side = GaussianTensor([3.0, 4.0], [0.01, 0.04])
    print("sides:", side)
    print("diagonal:", tl.hypot(side[0], side[1]))
    print("area:", side[0] * side[1])
    print("logarithm:", side.log())
    tl.manual_seed(0)
    samples = side.draw(200_000)
    drawn = tl.hypot(samples[:, 0], samples[:, 1])
    print(f"diagonals drawn: {drawn.mean().item():.4g} ± {drawn.std().item():.2g}")
    print(f"the second is longer with probability {probability_above(side[1], side[0]).item():.6f}")

    # What a network makes of a noisy input.
    network = tl.nn.Sequential(tl.nn.Linear(3, 16), tl.nn.ReLU(), tl.nn.Linear(16, 2))
    noisy = GaussianTensor([0.2, -0.4, 1.0], 0.05)
    print("network:", network(noisy))
    answers = network(noisy.draw(50_000))
    # Close, and not the same: the hidden units share their inputs, and are taken to be independent.
    print("drawn:  ", GaussianTensor(answers.mean(0), answers.var(0)))

    # The spread of a result has a gradient: here, by what input it is caused.
    means = tl.tensor([1.0, 2.0], requires_grad=True)
    tl.exp(GaussianTensor(means, 0.01)).sum().variance.backward()
    print("gradient:", means.grad)
    try:
        tl.amax(side)
    except TypeError as error:
        print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
