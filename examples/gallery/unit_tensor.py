"""Tensors with a unit of measurement: metres and seconds are not added, and their quotient is a speed.

What it shows of the protocol: a subclass of `Tensor` that keeps its attribute by a rule for each family of functions,
raises where units do not go together, and refuses functions without a rule instead of losing the unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl
from tensorlike.overrides import DisableTorchFunctionSubclass

# A unit is a product of powers: {"m": 1, "s": -1} is metres per second, and {} is that of a plain number.
Unit = dict[str, float]


# Derived units, in those they are made of: a quantity is stored in base units, and expressed in any.
DERIVED: dict[str, tuple[float, Unit]] = {
    "km": (1000.0, {"m": 1}),
    "cm": (0.01, {"m": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "g": (0.001, {"kg": 1}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
}


class UnitError(TypeError):
    """Quantities met whose units do not go together."""


def in_words(unit: Unit) -> str:
    return " ".join(name if power == 1 else f"{name}^{power:g}" for name, power in unit.items()) or "no unit"


def parsed(text: str) -> tuple[float, Unit]:
    """Return the factor and the base units of a text such as "km h^-1"."""
    factor = 1.0
    unit: Unit = {}
    for part in text.split():
        name, _, exponent = part.partition("^")
        scale, base = DERIVED.get(name, (1.0, {name: 1.0}))
        factor *= scale ** float(exponent or 1)
        unit = product(unit, power(base, float(exponent or 1)))
    return factor, unit


def unit_of(value: Any) -> Unit:
    return value.unit if isinstance(value, UnitTensor) else {}


def power(unit: Unit, exponent: float) -> Unit:
    return {name: power * exponent for name, power in unit.items() if exponent}


def product(one: Unit, two: Unit) -> Unit:
    total = {name: one.get(name, 0) + two.get(name, 0) for name in {**one, **two}}
    return {name: power for name, power in total.items() if power}


# Rules: each is given the operands and returns the unit of the result, or None for a result without one.
def keeps(input: Any, *_: Any) -> Unit:
    return unit_of(input)


def agrees(*operands: Any) -> Unit:
    units = [unit_of(operand) for operand in operands]
    for unit in units:
        if unit != units[0]:
            raise UnitError(f"the units differ: {in_words(units[0])} and {in_words(unit)}")
    return units[0]


def agrees_in_list(tensors: Any, *_: Any) -> Unit:
    return agrees(*tensors)


def compares(*operands: Any) -> None:
    agrees(*operands)


def multiplies(input: Any, other: Any) -> Unit:
    return product(unit_of(input), unit_of(other))


def divides(input: Any, other: Any) -> Unit:
    return product(unit_of(input), power(unit_of(other), -1))


def divides_reversed(input: Any, other: Any) -> Unit:
    return divides(other, input)


def raises(input: Any, exponent: Any) -> Unit:
    if not isinstance(exponent, (int, float)) and unit_of(input):
        raise UnitError(f"the exponent of {in_words(unit_of(input))} must be a number: the result has one unit")
    return power(unit_of(input), exponent) if unit_of(input) else {}


def needs_none(*operands: Any) -> Unit:
    for operand in operands:
        if unit_of(operand):
            raise UnitError(f"the function needs a number without unit, not one in {in_words(unit_of(operand))}")
    return {}


def forgets(*_: Any) -> None:
    return None


# Which functions go by which rule, and how many operands it looks at. One name stands for every form of a function:
# `add` for tl.add, Tensor.add, Tensor.add_ and the operators. What is not listed is refused.
RULES: dict[str, tuple[Callable[..., Unit | None], int]] = {
    name: (rule, operands)
    for rule, operands, names in (
        (keeps, 1, "abs absolute amax amin broadcast_to chunk clone contiguous cumsum deepcopy detach diag diagonal "
                   "diff double expand fix flatten flip fliplr flipud float gather get getitem index_select iter "
                   "kthvalue masked_select max mean median min movedim moveaxis nanmean nanmedian nansum narrow neg "
                   "negative permute pos ravel repeat_interleave reshape roll rot90 select sort split squeeze std sum "
                   "swapaxes swapdims t take_along_dim tile topk trace transpose tril triu unbind unflatten unfold "
                   "unsqueeze view"),
        (agrees, 2, "add copy dist fmax fmin fmod hypot iadd isub maximum minimum radd remainder rsub sub subtract"),
        (agrees_in_list, 1, "cat column_stack concat concatenate dstack hstack row_stack stack vstack"),
        (compares, 2, "allclose eq equal ge greater gt isclose le less lt ne"),
        (multiplies, 2, "bmm cross dot ger imul inner kron matmul mm mul multiply mv outer rmatmul rmul vdot"),
        (divides, 2, "div divide itruediv true_divide truediv"),
        (divides_reversed, 2, "rdiv rtruediv"),
        (raises, 2, "ipow pow"),
        (lambda input: power(unit_of(input), 2), 1, "square var"),
        (lambda input: power(unit_of(input), 0.5), 1, "sqrt"),
        (lambda input: power(unit_of(input), -1), 1, "reciprocal"),
        (needs_none, 1, "acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 log log10 log1p log2 "
                         "log_softmax logit logsumexp sigmoid sin sinc sinh softmax tan tanh"),
        (forgets, 1, "all any argmax argmin argsort backward bool count_nonzero dim format hash is_floating_point "
                     "isfinite isinf isnan item len nonzero numel numpy reduce_ex repr sgn sign signbit size stride "
                     "tolist"),
    )
    for name in names.split()
}  # fmt: skip


def quantity(data: Any, text: str) -> UnitTensor:
    """Return numbers in a unit such as "km h^-1", brought to base units."""
    factor, unit = parsed(text)
    return UnitTensor(tl.as_tensor(data) * factor, unit)


class UnitTensor(tl.Tensor):
    """Numbers and their unit, in base units: `UnitTensor([3.0, 8.0], {"m": 1})`, or `quantity([3.0, 8.0], "km")`."""

    # For `tensorlike audit`: functions without a rule are refused on purpose, and some results are plain tensors.
    __tensor_audit__ = {"refusals": "ok", "plain_results": "ok"}

    unit: Unit = {}

    def __new__(cls, data: Any, unit: Unit) -> UnitTensor:
        tensor = tl.as_tensor(data).as_subclass(cls)
        tensor.unit = unit
        return tensor

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> UnitTensor:
        """Return numbers without a unit, for the audit: any function may be called with them."""
        return cls(tensor, {})

    def __repr__(self) -> str:
        return f"{self.as_plain()!r} {in_words(self.unit)}"

    def as_plain(self) -> tl.Tensor:
        """The numbers alone, on the same memory."""
        with DisableTorchFunctionSubclass():
            return self.as_subclass(tl.Tensor)

    def expressed_in(self, text: str) -> tl.Tensor:
        """The numbers in another unit, such as "km h^-1"; raises UnitError when this is no such quantity."""
        factor, unit = parsed(text)
        if unit != self.unit:
            raise UnitError(f"a quantity in {in_words(self.unit)} cannot be expressed in {text}")
        return self.as_plain() / factor

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = func.__name__
        # Numbers that were made a UnitTensor are a view of a plain tensor, and views are not detached in place.
        if name.strip("_") not in RULES or name == "detach_":
            return NotImplemented
        rule, count = RULES[name.strip("_")]
        if func == tl.Tensor.grad.__get__:
            rule = forgets  # its unit would be that of the loss by that of the tensor, and nobody knows the loss
        named = [value for key, value in kwargs.items() if key != "out"]
        operands = [*args, *named][:count]
        unit = rule(*operands)
        in_place = name.startswith("__i") or (name.endswith("_") and not name.startswith("__"))
        if in_place and (unit or {}) != unit_of(operands[0]):
            # A view of the same memory would go on with the old unit.
            raise UnitError(
                f"{name}() would turn {in_words(unit_of(operands[0]))} into {in_words(unit or {})} in place"
            )
        # Inside, the tensors are ordinary ones, and so is the result.
        with DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        return result if unit is None else labelled(unit, result)


def labelled(unit: Unit, result: Any) -> Any:
    if isinstance(result, tl.Tensor):
        with DisableTorchFunctionSubclass():
            # What was written in place is returned as it is.
            tensor = result if isinstance(result, UnitTensor) else result.as_subclass(UnitTensor)
        tensor.unit = unit
        return tensor
    if hasattr(result, "indices"):  # as of tl.max(input, dim): positions have no unit
        return type(result)((labelled(unit, result.values), result.indices))
    return type(result)(labelled(unit, item) for item in result) if type(result) in (tuple, list) else result


def main() -> None:
    distance = UnitTensor([3.0, 8.0], {"m": 1})
    time = UnitTensor([2.0, 4.0], {"s": 1})
    speed = distance / time
    print("speed:", speed)
    print("area:", distance.outer(distance))
    print("mean of the squares, root:", (speed**2).mean().sqrt())
    print("logarithm of a ratio:", tl.log(distance / distance[0]))
    print("fastest:", *speed.max(dim=0))

    print("at 90 km/h for 20 min:", (quantity(90.0, "km h^-1") * quantity(20.0, "min")).expressed_in("km"), "km")

    def attempt(what: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except TypeError as error:
            print(f"{what}: {type(error).__name__}:", str(error).partition("\n")[0])

    attempt("metres and seconds", lambda: distance + time)
    attempt("metres and a number", lambda: distance + 1)
    attempt("exp of metres", lambda: distance.exp())
    attempt("seconds to metres, in place", lambda: time.mul_(speed))
    attempt("no rule", lambda: tl.lgamma(distance))

    # The graph is the one of ordinary tensors.
    seconds = tl.tensor([2.0, 4.0], requires_grad=True)
    (distance / UnitTensor(seconds, {"s": 1})).sum().backward()
    print("gradient:", seconds.grad)


if __name__ == "__main__":
    main()
