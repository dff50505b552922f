"""Secret numbers: each is the sum of random shares, and computing on the shares computes on the secret.

Every party holds one share, which alone is a random number. Sums are computed by each party for itself; a product of
two secrets needs a triple of random numbers, prepared by a dealer, and two numbers made public that say nothing
without it (Beaver's protocol). The parties are simulated in one process here; the arithmetic is that of the real thing:
integers modulo 2**64 that stand for numbers with 20 binary places. Products stay below two million, or wrap around.

What it shows of the protocol: a type that must refuse. What would reveal a secret, such as comparing two, has no
implementation, and so cannot happen by accident.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides

PLACES = 20  # binary places: a step is a millionth
PARTIES = 3
# Masks of quotients: larger than any product, and small enough that adding one never passes 2**63.
MASK_BITS = 61


class SecretTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """A list of shares, one for each party; `SecretTensor.share(tensor)` makes them."""

    # For `tensorlike audit`: functions without a rule are refused on purpose.
    __tensor_audit__ = {"refusals": "ok"}

    def __init__(self, shares: list[tl.Tensor]) -> None:
        self.shares = list(shares)

    @classmethod
    def share(cls, tensor: Any) -> SecretTensor:
        """Split numbers into shares; raises ValueError for numbers of a million or more."""
        return cls(split(encoded(tl.as_tensor(tensor))))

    def reveal(self) -> tl.Tensor:
        """Put the shares together: all parties agree to this, or none learns anything."""
        return total(self.shares).to(tl.float64) / 2.0**PLACES

    def __repr__(self) -> str:
        return f"SecretTensor({len(self.shares)} shares, shape={tuple(self.shape)})"

    @property
    def shape(self) -> tl.Size:
        return self.shares[0].shape

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> SecretTensor:
        if tensor.dtype != tl.float32:
            raise TypeError("the audit's other numbers do not fit 20 binary places")
        return cls.share(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.reveal().to(tl.float32)


def encoded(tensor: Any) -> tl.Tensor:
    numbers: tl.Tensor = tl.as_tensor(tensor)
    if not bool((numbers.abs() < 2**20).all()):
        raise ValueError(f"a SecretTensor holds numbers below 2**20, not {numbers.abs().max().item():g}")
    return (numbers.to(tl.float64) * 2.0**PLACES).round().to(tl.int64)


def noise(shape: Any, bits: int = 64) -> tl.Tensor:
    """Random integers from the system's source of secrets: the generator of tl.rand can be predicted."""
    size = tl.Size(shape).numel()
    raw = tl.frombuffer(bytearray(secrets.token_bytes(8 * size) or bytes(8)), dtype=tl.int64)[:size].reshape(shape)
    return raw if bits == 64 else tl.bitwise_and(raw, 2**bits - 1)


def total(shares: list[tl.Tensor]) -> tl.Tensor:
    result = shares[0]
    for share in shares[1:]:
        result = result + share  # int64 wraps around: that is the arithmetic modulo 2**64
    return result


def split(integers: tl.Tensor) -> list[tl.Tensor]:
    others = [noise(integers.shape) for _ in range(PARTIES - 1)]
    return [integers - total(others), *others]


implements = partial(overrides.implements, variants=True, for_type=SecretTensor)


# Functions that are linear are computed by each party on its share. The library knows which these are.
def on_shares(function: Callable[..., Any]) -> None:
    first = function.operation.parameters[0].name  # type: ignore[attr-defined]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        operand, rest = (args[0], args[1:]) if args else (kwargs.pop(first), ())
        if kwargs.get("out") is not None or any(isinstance(v, SecretTensor) for v in (*rest, *kwargs.values())):
            return NotImplemented
        if isinstance(operand, (list, tuple)):
            columns = zip(*((v if isinstance(v, SecretTensor) else public(v)).shares for v in operand))
            results = [function(list(column), *rest, **kwargs) for column in columns]
        else:
            results = [function(share, *rest, **kwargs) for share in operand.shares]
        if isinstance(results[0], (list, tuple)):
            return type(results[0])(SecretTensor(list(shares)) for shares in zip(*results))
        return SecretTensor(results)

    implements(function, check=False)(implementation)


# A mean divides, and integers are not divided exactly; complex numbers are stored otherwise.
OTHERWISE = {
    "mean",
    "complex",
    "conj",
    "real",
    "imag",
    "view_as_real",
    "view_as_complex",
    "diff",
    "cumsum",
    "sum",
    "trace",
}
for function in [*overrides.get_overridable_functions()[tl], tl.Tensor.expand]:
    linear_in = function.operation.linear_in
    if linear_in == (function.operation.parameters[0].name,) and function.__name__ not in OTHERWISE:
        on_shares(function)
on_shares(tl.Tensor.__getitem__)


def public(value: Any) -> SecretTensor:
    """Shares of a number that is no secret: the first party holds it, the others zero."""
    integers = encoded(value)
    return SecretTensor([integers] + [tl.zeros_like(integers)] * (PARTIES - 1))


@implements(tl.add)
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    if alpha != 1:
        other = tl.mul(other, alpha)
    x, y = (v if isinstance(v, SecretTensor) else public(v) for v in (input, other))
    return SecretTensor([a + b for a, b in zip(x.shares, y.shares)])


@implements(tl.sub)
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
    return add(input, other, alpha=-alpha, out=out)


@implements(tl.sum)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    if out is not None or dtype not in (None, tl.float32):
        return NotImplemented
    return SecretTensor([tl.sum(share, dim, keepdim) for share in input.shares])


@implements(tl.mean)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    added = sum(input, dim, keepdim, dtype=dtype, out=out)
    if added is NotImplemented:
        return added
    return divided(added.shares, tl.tensor(input.shape.numel() // max(added.shape.numel(), 1)))


# Products. Both factors have 20 places, and so the product has 40: half of them are divided off.
def divided(shares: list[tl.Tensor], divisor: int | tl.Tensor = 1 << PLACES) -> SecretTensor:
    """Divide by integers above 0: the secret is made public under a mask, whose own quotient the dealer shares out."""
    mask = noise(shares[0].shape, MASK_BITS)
    offset = tl.tensor(1 << MASK_BITS)  # makes every number positive
    public_sum = total(shares) + offset + mask
    mask_part, known, start = (tl.div(v, divisor, rounding_mode="floor") for v in (mask, public_sum, offset))
    result = split(-mask_part)
    return SecretTensor([result[0] + known - start, *result[1:]])


def product(function: Callable[..., Any], x: Any, y: Any) -> SecretTensor:
    """Multiply by `function`, one of mul and matmul, both linear in either factor."""
    if not isinstance(y, SecretTensor):
        return divided([function(share, encoded(y)) for share in x.shares])
    if not isinstance(x, SecretTensor):
        return divided([function(encoded(x), share) for share in y.shares])
    # The dealer's triple: a, b and their product, shared out. x - a and y - b are made public.
    a, b = noise(x.shape), noise(y.shape)
    ab = split(function(a, b))
    d, e = total(x.shares) - a, total(y.shares) - b
    parts = [function(d, b_i) + function(a_i, e) + c for a_i, b_i, c in zip(split(a), split(b), ab)]
    return divided([parts[0] + function(d, e), *parts[1:]])


@implements(tl.mul)
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    return NotImplemented if out is not None else product(tl.mul, input, other)


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    return NotImplemented if out is not None else product(tl.matmul, input, other)


@implements(tl.square)
def square(input: Any, *, out: Any = None) -> Any:
    return mul(input, input, out=out)


@implements(tl.div)
def div(input: Any, other: Any, *, rounding_mode: Any = None, out: Any = None) -> Any:
    """Divide by numbers that are no secret."""
    if out is not None or rounding_mode is not None or isinstance(other, SecretTensor):
        return NotImplemented
    divisor = encoded(other)
    if bool((divisor == 0).any()):
        raise ZeroDivisionError("div(): a divisor is 0 to 20 binary places")
    shares = [share * 2**PLACES * tl.sign(divisor) for share in input.shares]
    return divided(shares, divisor.abs())


@implements(tl.nn.functional.linear)
def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    if out is not None:
        return NotImplemented
    result = tl.matmul(input, tl.transpose(weight, 0, 1) if len(weight.shape) > 1 else weight)
    return result if bias is None else tl.add(result, bias)


def main() -> None:
    salaries = SecretTensor.share([52_000.0, 61_500.0, 48_250.0])
    print(salaries)
    print("mean:", salaries.mean().reveal())
    x, y = SecretTensor.share([1.5, -2.0, 0.25]), SecretTensor.share([4.0, 0.5, -8.0])
    print("product of secrets:", (x * y).reveal())
    print("inner product:", (x @ y).reveal())
    print("mixed with numbers:", (3 * x - tl.tensor([1.0, 1.0, 1.0])).reveal())

    # A model of one party on the data of another: neither learns the other's.
    tl.manual_seed(0)
    model, data = tl.nn.Linear(4, 2), tl.randn(5, 4)
    weight, bias = (SecretTensor.share(parameter.detach()) for parameter in model.parameters())
    answers = tl.nn.functional.linear(SecretTensor.share(data), weight, bias).reveal()
    print("the same answers to 5 places:", tl.allclose(answers, model(data).double(), rtol=0, atol=1e-5))

    # One share is noise: two sharings of one number have nothing in common.
    once, again = SecretTensor.share(7.0), SecretTensor.share(7.0)
    print("shares differ, secrets do not:", once.shares[1] != again.shares[1], once.reveal() == again.reveal())
    for call in (lambda: x > y, lambda: SecretTensor.share(1e9)):
        try:
            call()
        except (TypeError, ValueError) as error:
            print(f"{type(error).__name__}:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
