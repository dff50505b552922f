"""A lazy expression graph: functions are noted, not computed, and computed when a value is asked for.

Until then the whole expression is known: subexpressions that occur twice are computed once, what no result needs is
never computed, and chains of matrix products are multiplied in the cheapest order.

What it shows of the protocol: a policy of one's own. `record` answers every function of the library, by what the
library says of it: what it returns, whether it writes into an operand, whether it draws random numbers.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import overrides


def record(cls: Any, func: Any, asked: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Note a call that returns one tensor, and make every other one at once."""
    # The arguments as they are written, with every tensor taken out: those are the operands.
    operands: list[LazyTensor] = []
    form = tuple(taken_out(value, operands) for value in args), {k: taken_out(v, operands) for k, v in kwargs.items()}
    operation = getattr(func, "operation", None)  # a property has none
    if writes(func, kwargs):
        for operand in operands:
            operand.settle()
    elif operation is not None and returns_one(operation) and not (operation.random or "dropout" in operation.name):
        return LazyTensor.noted(func, form, operands)
    return overrides.rewrap(cls, func, asked, args, kwargs)


def returns_one(operation: Any) -> bool:
    return str(operation.schema).rpartition("->")[2].partition("(")[0].strip() == "Tensor"


record.writes = True  # type: ignore[attr-defined]  # so that the type gets the operators += and the like


class LazyTensor(overrides.TensorLike, unhandled=record):
    """A tensor that is computed when its value is asked for: an input, or a function of other lazy tensors."""

    # For `tensorlike audit`: to write to a plain tensor that was noted is refused on purpose, as its value is lost.
    __tensor_audit__ = {"refusals": "ok"}

    #: Expressions by what they compute, as long as they are in use.
    known: weakref.WeakValueDictionary[Any, LazyTensor] = weakref.WeakValueDictionary()

    def __init__(self, tensor: Any) -> None:
        self._value: tl.Tensor | None = tl.as_tensor(tensor)
        # By identity: tensors are not compared with == to find them.
        self.users: weakref.WeakValueDictionary[int, LazyTensor] = weakref.WeakValueDictionary()
        self.func: Any = None
        self.form: Any = None
        self.operands: list[LazyTensor] = []
        self.versions: list[int | None] = []

    @classmethod
    def noted(cls, func: Any, form: Any, operands: list[LazyTensor]) -> LazyTensor:
        """Return the expression of a call, the one that is there already if it is."""
        versions = [operand.version for operand in operands]
        key = (func, key_of(form), *map(id, operands), *versions)
        found = cls.known.get(key)
        if found is None:
            found = cls.known[key] = cls(tl.zeros(()))
            found._value, found.func, found.form, found.operands, found.versions = None, func, form, operands, versions
            for operand in operands:
                operand.users[id(found)] = found
        return found

    @property
    def version(self) -> int | None:
        """How often the tensor was written to, if it is computed."""
        return None if self._value is None else self._value._version

    def settle(self) -> None:
        """Compute what was noted of this tensor, which is about to be written to; it becomes an input."""
        evaluate(self, *self.users.values())
        self.func, self.operands = None, []

    def unwrap(self) -> tl.Tensor:
        return self.value()

    @classmethod
    def wrap(cls, tensor: tl.Tensor, like: LazyTensor) -> LazyTensor:
        return cls(tensor)

    def __repr__(self) -> str:
        what = self.func.__name__ if self._value is None else f"{self._value!r}"
        return f"LazyTensor({what})"

    def value(self) -> tl.Tensor:
        """Compute the tensor, once."""
        return evaluate(self)[0]

    @property
    def shape(self) -> tl.Size:
        return self.value().shape

    @property
    def dtype(self) -> tl.dtype:
        return self.value().dtype

    def __reduce__(self) -> Any:
        return type(self), (self.value(),)

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> LazyTensor:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.value()


def writes(func: Any, kwargs: dict[str, Any]) -> bool:
    name = func.__name__
    in_place = name.endswith("_") and not name.startswith("_")
    operator = name.startswith("__i") and name not in ("__invert__", "__int__", "__index__", "__iter__")
    setter = name in ("__setitem__", "__set__", "__delete__")
    return in_place or operator or setter or kwargs.get("out") is not None or bool(kwargs.get("inplace"))


class Slot:
    """The place of an operand among the arguments of a call."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slot) and other.index == self.index

    def __hash__(self) -> int:
        return hash(self.index)


def taken_out(value: Any, operands: list[LazyTensor]) -> Any:
    if isinstance(value, tl.Tensor):
        # The same tensor twice is one operand; one that is written to later would be another value.
        value = LazyTensor.known.setdefault((id(value), value._version), LazyTensor(value))
    if isinstance(value, np.ndarray):
        return value.copy()  # which may be written to before it is needed
    if isinstance(value, LazyTensor):
        operands.append(value)
        return Slot(len(operands) - 1)
    if type(value) in (list, tuple):
        return type(value)(taken_out(v, operands) for v in value)
    if type(value) is slice:
        return slice(*(taken_out(v, operands) for v in (value.start, value.stop, value.step)))
    return value


def key_of(value: Any) -> Any:
    """Return what is equal for equal arguments alone: 1, 1.0 and True differ, as 0.0 and -0.0 do."""
    if isinstance(value, (list, tuple)):
        return type(value), *map(key_of, value)
    if isinstance(value, dict):
        return tuple((name, key_of(v)) for name, v in value.items())
    if isinstance(value, slice):
        return slice, key_of(value.start), key_of(value.stop), key_of(value.step)
    if value is None or value is ... or isinstance(value, (Slot, str)):
        return value
    # The expression keeps other objects alive, so that none gets the number of one that is gone.
    return repr(value) if type(value) in (bool, int, float, complex) else id(value)


def put_back(value: Any, values: list[tl.Tensor]) -> Any:
    if isinstance(value, Slot):
        return values[value.index]
    if type(value) in (list, tuple):
        return type(value)(put_back(v, values) for v in value)
    if type(value) is dict:
        return {name: put_back(v, values) for name, v in value.items()}
    if type(value) is slice:
        return slice(*(put_back(v, values) for v in (value.start, value.stop, value.step)))
    return value


# Evaluation.
def ordered(roots: tuple[LazyTensor, ...]) -> Iterator[LazyTensor]:
    """Yield what has to be computed for `roots`, operands first; a loop, as expressions may be deep."""
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        expression, done = stack.pop()
        if done:
            yield expression
        elif id(expression) not in seen and expression._value is None:
            seen.add(id(expression))
            stack.append((expression, True))
            stack += [(operand, False) for operand in reversed(expression.operands)]


def evaluate(*roots: LazyTensor) -> list[tl.Tensor]:
    """Compute several expressions together and return their values; what they share is computed once."""
    order = list(ordered(roots))
    uses = Counter(id(operand) for expression in order for operand in expression.operands)
    uses.update(map(id, roots))
    # Products that only another product needs are not computed by themselves: a list of factors stands for them.
    products = [expression for expression in order if expression.func in PRODUCTS and expression.form == PAIR]
    inner = {id(o) for e in products for o in e.operands if uses[id(o)] == 1} & set(map(id, products))
    values: dict[int, Any] = {}

    def of(expression: LazyTensor) -> Any:
        return values[id(expression)] if expression._value is None else expression._value

    for expression in order:
        args, kwargs = expression.form
        operands = list(map(of, expression.operands))
        try:
            for operand, version in zip(expression.operands, expression.versions):
                if version is not None and operand.version != version:
                    raise NotImplementedError("a tensor was written to after it was noted here; note a clone() of it")
            if any(isinstance(operand, list) for operand in operands) or id(expression) in inner:
                values[id(expression)] = multiplied(*operands, keep=id(expression) in inner)
            else:
                values[id(expression)] = expression.func(*put_back(args, operands), **put_back(kwargs, operands))
        except Exception as error:
            error.add_note(f"in the expression\n{listing(expression)}")
            raise
    for root in roots:
        root._value = of(root)
    return list(map(of, roots))


PRODUCTS = (tl.matmul, tl.mm, tl.Tensor.matmul, tl.Tensor.mm, tl.Tensor.__matmul__)
PAIR: tuple[tuple[Slot, Slot], dict[str, Any]] = (Slot(0), Slot(1)), {}


def multiplied(left: Any, right: Any, *, keep: bool) -> Any:
    """Multiply chains of factors; `keep` leaves a chain of matrices as it is, for a longer one."""
    left, right = (side if isinstance(side, list) else [side] for side in (left, right))
    factors = left + right
    if any(factor.ndim != 2 for factor in factors[:-1]) or factors[-1].ndim > 2:
        left, right = (tl.linalg.multi_dot(side) if len(side) > 1 else side[0] for side in (left, right))
        return tl.matmul(left, right)
    if keep and factors[-1].ndim == 2:
        return factors
    return tl.linalg.multi_dot(factors)


def listing(*roots: LazyTensor) -> str:
    """Return an expression as a program, a line for each step."""
    lines: list[str] = []
    names: dict[int, str] = {}
    for expression in ordered(roots):
        for leaf in expression.operands:
            if id(leaf) not in names:
                names[id(leaf)] = f"%{len(names)}"
                lines.append(f"{names[id(leaf)]} = tensor of shape {tuple(leaf.shape)}")
        args, kwargs = expression.form
        names[id(expression)] = f"%{len(names)}"
        inputs = [names[id(operand)] for operand in expression.operands]
        words = [shown(value, inputs) for value in args] + [f"{k}={shown(v, inputs)}" for k, v in kwargs.items()]
        lines.append(f"{names[id(expression)]} = {expression.func.__name__}({', '.join(words)})")
    return "\n".join(lines)


def shown(value: Any, inputs: list[str]) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(shown(v, inputs) for v in value)}]"
    return inputs[value.index] if isinstance(value, Slot) else repr(value)


class Computed(overrides.TorchFunctionMode):
    """Lists the functions that are called with ordinary tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not func.__name__.startswith("__") and not any(issubclass(kind, LazyTensor) for kind in types):
            self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def main() -> None:
    x = LazyTensor(tl.tensor([1.0, 2.0, 3.0]))
    y = (x.exp() + 1).log() * (x.exp() + 1).sqrt()
    print(listing(y))
    print("nothing is computed yet:", y._value is None)
    with Computed() as computed:
        print("value:", y.value())
    print("computed:", *computed.names)

    # A tall matrix times its transpose times a vector: from the right it takes a thousandth of the work.
    tall = LazyTensor(tl.ones(1000, 2))
    vector = tl.ones(1000)
    print("chain:", (tall @ tall.t() @ vector).sum().value())

    weight = tl.tensor([2.0, 1.0, 0.5], requires_grad=True)
    loss = (LazyTensor(weight) * x).square().sum()
    loss.value().backward()
    print("gradient:", weight.grad)

    try:
        (x.reshape(3, 1) @ x.reshape(3, 1) + 1).value()
    except RuntimeError as error:
        print("RuntimeError:", error, *error.__notes__, sep="\n")


if __name__ == "__main__":
    main()
