"""Tensors with a unit of measurement: a subclass of Tensor that checks units, carries them on and refuses the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl
from tensorlike.overrides import DisableTorchFunctionSubclass

# A unit is a product of powers: {"m": 1, "s": -1} is metres per second, and {} is that of a plain number.
Unit = dict[str, float]


class UnitError(TypeError):
    """Quantities met whose units do not go together."""


def in_words(unit: Unit) -> str:
    return " ".join(name if power == 1 else f"{name}^{power:g}" for name, power in unit.items()) or "no unit"


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
        (keeps, 1, "abs absolute amax amin clone contiguous cumsum deepcopy detach diff double expand flatten flip "
                   "float get getitem iter max mean median min movedim neg negative permute pos ravel reshape roll "
                   "select sort split squeeze std sum t tile transpose unbind unsqueeze view"),
        (agrees, 2, "add copy fmax fmin hypot iadd isub maximum minimum radd rsub sub subtract"),
        (agrees_in_list, 1, "cat concat concatenate hstack stack vstack"),
        (compares, 2, "allclose eq equal ge greater gt isclose le less lt ne"),
        (multiplies, 2, "bmm dot imul inner matmul mm mul multiply mv outer rmatmul rmul"),
        (divides, 2, "div divide itruediv true_divide truediv"),
        (divides_reversed, 2, "rdiv rtruediv"),
        (raises, 2, "ipow pow"),
        (lambda input: power(unit_of(input), 2), 1, "square var"),
        (lambda input: power(unit_of(input), 0.5), 1, "sqrt"),
        (lambda input: power(unit_of(input), -1), 1, "reciprocal"),
        (needs_none, 1, "acos asin atan cos cosh erf exp expm1 log log10 log1p log2 sigmoid sin sinh softmax tan tanh"),
        (forgets, 1, "argmax argmin argsort backward bool dim format hash isfinite isinf isnan item len numel numpy "
                     "reduce_ex repr sign size stride tolist"),
    )
    for name in names.split()
}  # fmt: skip


class UnitTensor(tl.Tensor):
    unit: Unit = {}

    def __new__(cls, data: Any, unit: Unit) -> UnitTensor:
        tensor = tl.as_tensor(data).as_subclass(cls)
        tensor.unit = unit
        return tensor

    def __repr__(self) -> str:  # type: ignore[override]
        return f"{self.as_plain()!r} {in_words(self.unit)}"

    def as_plain(self) -> tl.Tensor:
        """The numbers alone, on the same memory."""
        with DisableTorchFunctionSubclass():
            return self.as_subclass(tl.Tensor)

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
        if name.strip("_") not in RULES:
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
