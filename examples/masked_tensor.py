"""Missing values: a type that holds numbers and which of them are there, and leaves the others out of reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl

HANDLED_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


class MaskedTensor:
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

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func not in HANDLED_FUNCTIONS or not all(issubclass(t, (tl.Tensor, MaskedTensor)) for t in types):
            return NotImplemented
        return HANDLED_FUNCTIONS[func](*args, **(kwargs or {}))

    # An operator of a type that is no Tensor asks that type first.
    def __add__(self, other: Any) -> Any:
        return tl.add(self, other)

    def __sub__(self, other: Any) -> Any:
        return tl.sub(self, other)

    def __mul__(self, other: Any) -> Any:
        return tl.mul(self, other)

    def __truediv__(self, other: Any) -> Any:
        return tl.div(self, other)


def implements(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function for tl.name, for the method and for the operator of that name."""

    def decorator(implementation: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            forms = [getattr(tl, name), getattr(tl.Tensor, name), getattr(tl.Tensor, f"__{name}__", None)]
            HANDLED_FUNCTIONS.update((form, implementation) for form in forms if form is not None)
        return implementation

    return decorator


# Elementwise functions: a result is there where every operand is.
def elementwise(name: str) -> Callable[..., Any]:
    function = getattr(tl, name)

    def implementation(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None and not isinstance(out, MaskedTensor):
            return NotImplemented  # a plain tensor has no place for what is missing
        plain = [arg.data if isinstance(arg, MaskedTensor) else arg for arg in args]
        named = {key: value.data if isinstance(value, MaskedTensor) else value for key, value in kwargs.items()}
        present = tl.tensor(True)
        for value in (*args, *(value for key, value in kwargs.items() if key != "out")):
            if isinstance(value, MaskedTensor):
                present = present & value.mask
        result = function(*plain, **named)
        if out is None:
            return MaskedTensor(result, present)
        out.mask = present.expand(result.shape)
        return out

    return implementation


ELEMENTWISE = ("add", "sub", "mul", "div", "pow", "maximum", "minimum", "abs", "neg", "exp", "log", "sqrt", "square",
               "sin", "cos", "tanh", "sigmoid", "eq", "ne", "lt", "le", "gt", "ge")  # fmt: skip
for name in ELEMENTWISE:
    implements(name)(elementwise(name))


# Reductions: a missing element counts as the value that changes nothing, and a result of missing elements is missing.
def present(input: MaskedTensor, dim: Any, keepdim: bool) -> tl.Tensor:
    dims = tuple(range(input.mask.ndim)) if dim is None or dim == () else dim
    return input.mask.any(dims, keepdim=keepdim)


@implements("sum")
def sum(input: MaskedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> MaskedTensor:
    total = input.filled(0).sum(dim, keepdim=keepdim, dtype=dtype)
    return MaskedTensor(total, present(input, dim, keepdim))


@implements("mean")
def mean(input: MaskedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> MaskedTensor:
    total = sum(input, dim, keepdim, dtype=dtype)
    count = input.mask.sum(dim, keepdim=keepdim)
    # The count is 0 only where the result is missing.
    return MaskedTensor(total.data / count.clamp(min=1), total.mask)


@implements("amax")
def amax(input: MaskedTensor, dim: Any = (), keepdim: bool = False) -> MaskedTensor:
    return MaskedTensor(input.filled(-tl.inf).amax(dim, keepdim=keepdim), present(input, dim, keepdim))


@implements("amin")
def amin(input: MaskedTensor, dim: Any = (), keepdim: bool = False) -> MaskedTensor:
    return MaskedTensor(input.filled(tl.inf).amin(dim, keepdim=keepdim), present(input, dim, keepdim))


@implements("isnan")
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
