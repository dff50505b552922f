"""A type of your own in functions written for tensors: a scaled identity matrix, held as two numbers.

Three stages: without the protocol, with a table of handled functions, and with a fallback to an ordinary tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl


# Stage 1: a class that knows nothing of tensorlike.
class PlainScalarTensor:
    """The N x N matrix with `value` on its diagonal and zeros elsewhere."""

    def __init__(self, N: int, value: float) -> None:
        self._N = N
        self._value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}(N={self._N}, value={self._value})"

    def tensor(self) -> tl.Tensor:
        return self._value * tl.eye(self._N)


# Stage 2: the class says what it does with a function it is handed to.
HANDLED_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}


class ScalarTensor(PlainScalarTensor):
    # Older code has this as a plain method, with `self` for `cls`. That still works, with a DeprecationWarning.
    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # NotImplemented leaves the call to the other operands' types; it is an error when they all return it.
        if func not in HANDLED_FUNCTIONS or not all(issubclass(t, (tl.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED_FUNCTIONS[func](*args, **(kwargs or {}))


def implements(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter the decorated function as what ScalarTensor does for `function`."""

    def decorator(implementation: Callable[..., Any]) -> Callable[..., Any]:
        HANDLED_FUNCTIONS[function] = implementation
        return implementation

    return decorator


@implements(tl.mean)
def mean(input: ScalarTensor) -> float:
    return float(input._value) / input._N


def to_tensor(value: Any) -> Any:
    """A ScalarTensor as an ordinary tensor, those in lists and tuples too, and anything else as it is."""
    if isinstance(value, (list, tuple)):  # as in tl.cat([scalar, tensor])
        return type(value)(map(to_tensor, value))
    return value.tensor() if isinstance(value, ScalarTensor) else value


@implements(tl.add)
def add(input: Any, other: Any) -> Any:
    if isinstance(input, ScalarTensor) and isinstance(other, ScalarTensor):
        if input._N != other._N:
            raise ValueError(f"add(): the sizes differ: {input} and {other}")
        return ScalarTensor(input._N, input._value + other._value)
    return tl.add(to_tensor(input), to_tensor(other))


# Stage 3: what is not in the table is computed on the ordinary tensor.
class FallbackScalarTensor(ScalarTensor):
    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        answer = super().__torch_function__(func, types, args, kwargs)
        if answer is NotImplemented:
            # With a ScalarTensor left among the operands, the call would come straight back here.
            keywords = {name: to_tensor(value) for name, value in (kwargs or {}).items()}
            return func(*map(to_tensor, args), **keywords)
        return answer


def main() -> None:
    print("1. Without the protocol")
    plain = PlainScalarTensor(5, 2)
    print(plain)
    print(plain.tensor())
    try:
        tl.mean(plain)  # type: ignore[call-overload]
    except TypeError as error:
        print("TypeError:", error)

    print("\n2. With a table of handled functions")
    print("mean:", tl.mean(ScalarTensor(5, 2)))
    s = ScalarTensor(2, 2)
    print("add:", tl.add(s, s))
    print("add with a tensor:", tl.add(s, tl.tensor([[1, 1], [1, 1]])), sep="\n")
    # The implementation of add takes no alpha. `tensorlike audit` finds such gaps before a user does.
    try:
        tl.add(s, s, alpha=2)
    except TypeError as error:
        print("TypeError:", error)
    # And mul is not in the table.
    try:
        tl.mul(s, 3)
    except TypeError as error:
        print("TypeError:", error)

    print("\n3. With a fallback to an ordinary tensor")
    f = FallbackScalarTensor(2, 2)
    print("mean:", tl.mean(f))
    print("mul:", tl.mul(f, f), sep="\n")


if __name__ == "__main__":
    main()
