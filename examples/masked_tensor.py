"""Missing values: a type that holds numbers and which of them are there, and leaves the others out of reductions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


class MaskedTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """`data` where `mask` is true, and nothing elsewhere."""

    def __init__(self, data: Any, mask: Any) -> None:
        self.data = tl.as_tensor(data)
        self.mask = tl.as_tensor(mask).expand(self.data.shape)

    def __repr__(self) -> str:
        values = [str(v) if m else "--" for v, m in zip(self.data.ravel().tolist(), self.mask.ravel().tolist())]
        return f"MaskedTensor([{', '.join(values)}], shape={tuple(self.data.shape)})"

    def filled(self, value: float) -> tl.Tensor:
        """An ordinary tensor with `value` where there is none."""
        return tl.where(self.mask, self.data, value)

    # An operator of a type that is no Tensor asks that type first.
    def __add__(self, other: Any) -> Any:
        return tl.add(self, other)

    def __sub__(self, other: Any) -> Any:
        return tl.sub(self, other)

    def __mul__(self, other: Any) -> Any:
        return tl.mul(self, other)

    def __truediv__(self, other: Any) -> Any:
        return tl.div(self, other)


# The function, its aliases, the method and the operators at once.
implements = partial(overrides.implements, variants=True, for_type=MaskedTensor)


def masked(value: Any) -> MaskedTensor:
    return value if isinstance(value, MaskedTensor) else MaskedTensor(value, True)


def written(result: MaskedTensor, out: Any) -> Any:
    if out is None:
        return result
    if not isinstance(out, MaskedTensor):
        return NotImplemented  # a plain tensor has no place for what is missing
    out.data.copy_(result.data)
    out.mask = result.mask
    return out


# Elementwise functions: a result is there where every operand is.
def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def implementation(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        present = tl.tensor(True)
        for value in (*args, *kwargs.values()):
            if isinstance(value, MaskedTensor):
                present = present & value.mask
        plain = [arg.data if isinstance(arg, MaskedTensor) else arg for arg in args]
        named = {key: value.data if isinstance(value, MaskedTensor) else value for key, value in kwargs.items()}
        return written(MaskedTensor(function(*plain, **named), present), out)

    return implementation


ELEMENTWISE = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "abs", "neg", "exp", "log", "sqrt", "square",
               "sin", "cos", "tanh", "sigmoid", "eq", "ne", "lt", "le", "gt", "ge")  # fmt: skip
for name in ELEMENTWISE:
    implements(getattr(tl, name))(elementwise(getattr(tl, name)))


# Reductions: a missing element counts as the value that changes nothing, and a result of missing elements is missing.
def reduced(name: str, fill: float, input: Any, dim: Any, keepdim: bool, **options: Any) -> MaskedTensor:
    input = masked(input)
    result = getattr(input.filled(fill), name)(dim, keepdim=keepdim, **options)
    dims = tuple(range(input.mask.ndim)) if dim is None or dim == () else dim
    return MaskedTensor(result, input.mask.any(dims, keepdim=keepdim))


@implements(tl.sum)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    return written(reduced("sum", 0, input, dim, keepdim, dtype=dtype), out)


@implements(tl.mean)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    total = reduced("sum", 0, input, dim, keepdim, dtype=dtype)
    count = masked(input).mask.sum(dim, keepdim=keepdim)
    # The count is 0 only where the result is missing.
    return written(MaskedTensor(total.data / count.clamp(min=1), total.mask), out)


@implements(tl.amax)
def amax(input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Any:
    return written(reduced("amax", -tl.inf, input, dim, keepdim), out)


@implements(tl.amin)
def amin(input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Any:
    return written(reduced("amin", tl.inf, input, dim, keepdim), out)


@implements(tl.isnan)
def isnan(input: MaskedTensor) -> tl.Tensor:
    return ~input.mask | tl.isnan(input.data)


def main() -> None:
    rain = MaskedTensor([[1.0, 7.0, 3.0], [4.0, 0.0, 2.0]], [[True, False, True], [True, False, True]])
    print(rain)
    print("sum:", tl.sum(rain))
    print("mean of each day:", tl.mean(rain, dim=1))
    print("mean of each station:", tl.mean(rain, dim=0))
    print("wettest:", tl.amax(rain))
    print("more than a tenth of an inch:", tl.gt(rain / 25.4, 0.1))
    print("with an ordinary tensor:", tl.tensor([10.0, 20.0, 30.0]) + rain)

    # Gradients reach the elements that are there, and no others.
    data = tl.tensor([1.0, 2.0, 9.0], requires_grad=True)
    tl.mean(tl.square(MaskedTensor(data, [True, True, False]))).data.backward()
    print("gradient:", data.grad)

    try:
        tl.cumsum(rain, dim=0)
    except TypeError as error:
        print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
