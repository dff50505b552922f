"""What a call costs: tiny tensors, types that override, modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import FOUR, data, is_tensors, row

__all__: list[str] = []

SMALL = "small calls"
DISPATCH = "calls that types and modes answer"


@row("add, 4 elements", torch=0.15, numpy=0.6, group=SMALL)
def _(library: Any, kind: str) -> Any:
    if kind == "mygrad":
        return None
    a, b = data(library, kind, FOUR), data(library, kind, FOUR * 2)
    add = library.numpy.add if kind == "autograd" else library.add
    return lambda: add(a, b)


@row("add recording gradients")
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    a, b = data(library, kind, FOUR, True), data(library, kind, FOUR * 2)
    add = library.add
    return lambda: add(a, b)


@row("mul recording gradients", torch=0.2)
def _(library: Any, kind: str) -> Any:
    if kind == "mygrad":
        a, b = library.tensor(FOUR), library.tensor(FOUR * 2, constant=True)
        return lambda: a * b
    if not is_tensors(kind):
        return None
    a, b = data(library, kind, FOUR, True), data(library, kind, FOUR * 2)
    mul = library.mul
    return lambda: mul(a, b)


def _small(name: str, aim: float) -> Any:
    return row(name, group=SMALL, torch=aim)


@_small("exp, 4 elements", 0.2)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, exp = data(library, kind, FOUR), library.exp
    return lambda: exp(a)


@_small("sum", 0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, total = data(library, kind, FOUR), library.sum
    return lambda: total(a)


@_small("matmul 2x2", 0.4)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, matmul = data(library, kind, FOUR.reshape(2, 2)), library.matmul
    return lambda: matmul(a, a)


@_small("getitem x[1:3]", 0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a = data(library, kind, FOUR)
    return lambda: a[1:3]


@_small("reshape", 0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a = data(library, kind, FOUR)
    return lambda: a.reshape(2, 2)


@_small("view", 0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    a = data(library, kind, FOUR)
    return lambda: a.view(2, 2)


@_small("transpose", 0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a = data(library, kind, FOUR.reshape(2, 2))
    if kind == "numpy":
        return lambda: a.swapaxes(0, 1)
    return lambda: a.transpose(0, 1)


@_small("where", 0.4)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, b = data(library, kind, FOUR), data(library, kind, FOUR * 2)
    condition, where = a > 2, library.where
    return lambda: where(condition, a, b)


@_small("cat of 2", 0.5)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, b = data(library, kind, FOUR), data(library, kind, FOUR * 2)
    cat = library.concatenate if kind == "numpy" else library.cat
    return lambda: cat([a, b])


@_small("stack of 2", 0.6)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, b = data(library, kind, FOUR), data(library, kind, FOUR * 2)
    stack = library.stack
    return lambda: stack([a, b])


@_small("mean(dim)", 0.3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a = data(library, kind, FOUR.reshape(2, 2))
    if kind == "numpy":
        return lambda: a.mean(0)
    return lambda: a.mean(dim=0)


@_small("softmax", 1.0)
def _(library: Any, kind: str) -> Any:
    a = data(library, kind, FOUR.reshape(2, 2))
    if kind == "numpy":

        def softmax() -> Any:
            e = np.exp(a - a.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)

        return softmax
    if not is_tensors(kind):
        return None
    function = library.softmax
    return lambda: function(a, -1)


# ----------------------------------------------------------------------------------------------------- types and modes


def _duck(kind: str) -> Any:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return FOUR

    class ArrayDuck:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return FOUR

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            return FOUR

    return (ArrayDuck if kind == "numpy" else Duck)()


@row("duck type: add", torch=0.25, numpy=1.0, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, duck, add = data(library, kind, FOUR), _duck(kind), library.add
    return lambda: add(a, duck)


@row("duck type: mean", torch=0.25, numpy=1.0, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    duck, mean = _duck(kind), library.mean
    return lambda: mean(duck)


@row("duck type: cat of 2", torch=0.8, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    a, duck = data(library, kind, FOUR), _duck(kind)
    cat = library.concatenate if kind == "numpy" else library.cat
    return lambda: cat([a, duck])


@row("duck type: nn.functional.softmax", torch=0.8, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    duck, softmax = _duck(kind), library.nn.functional.softmax
    return lambda: softmax(duck, dim=0)


def _subclass(library: Any, kind: str) -> Any:
    if kind == "numpy":
        return type("Sub", (np.ndarray,), {})
    return type("Sub", (library.Tensor,), {})


@row("plain subclass: add", torch=0.06, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    kind_of = _subclass(library, kind)
    a = FOUR.view(kind_of) if kind == "numpy" else data(library, kind, FOUR).as_subclass(kind_of)
    add = library.add
    return lambda: add(a, a)


@row("plain subclass: add with a tensor", torch=0.06, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    kind_of = _subclass(library, kind)
    a, b = data(library, kind, FOUR), data(library, kind, FOUR)
    sub = a.view(kind_of) if kind == "numpy" else a.as_subclass(kind_of)
    add = library.add
    return lambda: add(sub, b)


@row("logging subclass with super(): add", torch=0.35, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    log: list[Any] = []

    class Logging(library.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not log:
                log.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    a, add = data(library, kind, FOUR).as_subclass(Logging), library.add
    return lambda: add(a, a)


@row("add under a function mode", torch=0.6, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None

    class Passing(library.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    a, add, mode = data(library, kind, FOUR), library.add, Passing()

    def hundred() -> Any:
        # Entering and leaving is not what is measured.
        with mode:
            for _ in range(100):
                result = add(a, a)
        return result

    return hundred


@row("cat of 16 overriding types", torch=0.2, group=DISPATCH)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None

    def refuse(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented

    def answer(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return FOUR

    last = 15
    ducks = [
        type(f"Duck{i}", (), {"__torch_function__": classmethod(answer if i == last else refuse)})()
        for i in range(last + 1)
    ]
    cat = library.cat
    return lambda: cat(ducks)


@row("cat of 10,000 one-element tensors", torch=0.8)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind) and kind != "numpy":
        return None
    many = [data(library, kind, [float(i % 7)]) for i in range(10_000)]
    cat = library.concatenate if kind == "numpy" else library.cat
    return lambda: cat(many)
