"""Where PyTorch asks a type, in whatever position of a call it stands, this library asks it too.

PyTorch's functions that are written in Python ask through the functions that they call: the type sees those, and here
the public function. So what is compared is that the type is asked, and which types are.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from typing import Any

import pytest
import torch

import tensorlike as tl
from tensorlike.dispatch.signature import VARIADIC
from tests.helpers.oracle import to_torch
from tests.helpers.parity import quietly, samples_of, theirs_of
from tests.helpers.rows import families, is_operator, samples
from tests.parity.known import OURS_ALONE


class Asked:
    """Notes the types that it is asked with, and answers nothing that a program could go on with."""

    seen: list[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # PyTorch's functions in Python list plain tensors among the types.
        cls.seen.append([t.__name__ for t in types if t not in (torch.Tensor, tl.Tensor)])
        raise StopAsking


class StopAsking(Exception):
    pass


def who_is_asked(function: Any, args: list[Any], kwargs: dict[str, Any]) -> list[str] | None:
    """Return the types of the first question of a call, None where nobody is asked."""
    Asked.seen.clear()
    with contextlib.suppress(Exception):
        quietly(function, *args, **kwargs)
    return Asked.seen[0] if Asked.seen else None


def positions(form: Any, sample: Any) -> Any:
    """Yield (name of a parameter, args, kwargs) of calls like the sample, each with a duck in another place."""
    args, kwargs = list(sample.args), dict(sample.kwargs)
    names = [p.name for p in form.parameters if p.kind != "keyword"]
    variadic = next((i for i, p in enumerate(form.parameters) if p.kind == VARIADIC), len(args) + 1)
    for place, value in enumerate(args):
        name = names[min(place, variadic, len(names) - 1)]
        yield name, [*args[:place], Asked(), *args[place + 1 :]], kwargs
        if isinstance(value, (list, tuple)) and value:
            inside = [Asked(), *value[1:]] if isinstance(value, list) else (Asked(), *value[1:])
            yield name, [*args[:place], inside, *args[place + 1 :]], kwargs
    given = set(names[: len(args)])
    for p in form.parameters:
        if p.name not in given and p.kind != VARIADIC and p.name != "self":
            yield p.name, args, {**kwargs, p.name: Asked()}


@pytest.mark.parametrize("name", [name for name in families() if name not in OURS_ALONE])
def test_a_type_that_pytorch_asks_is_asked(name: str) -> None:
    form = families()[name][0]
    theirs = theirs_of(name)
    if is_operator(form):
        return  # Called by Python with the operands alone: tests/vs_torch/test_refused_operators_parity.py.
    for sample in itertools.islice(samples_of(name, samples(name).dtypes[0]), 2):
        for parameter, args, kwargs in positions(form, sample):
            wanted = who_is_asked(theirs, to_torch(args), to_torch(kwargs))
            if wanted is None:
                continue  # Nobody: a parameter of a function in Python, which tests it first; here the type is asked.
            assert who_is_asked(form.function, args, kwargs) == wanted, (parameter, inspect.signature(form.function))


def library_calls(library: Any, value: Any) -> dict[str, Any]:
    """Return calls, by what they show, of which the value stands in unusual places."""
    x = library.ones(2, 2)
    rnn = library.nn.utils.rnn
    return {
        "an option before an operand of a superclass": lambda: library.add(value, x, alpha=type("Sub", (Asked,), {})()),
        "a deprecated order": lambda: library.add(x, value, x),
        "a size": lambda: library.zeros(2, value),
        "out of a factory": lambda: library.zeros(2, out=value),
        "a generator": lambda: library.rand(2, generator=value),
        "a size of a method": lambda: x.view(2, value),
        "a device": lambda: x.to(device=value),
        "backward": lambda: library.autograd.backward(value),
        "backward of several": lambda: library.autograd.backward([value]),
        "grad of it": lambda: library.autograd.grad(value, x),
        "grad with respect to it": lambda: library.autograd.grad(x, value),
        "pad_sequence": lambda: rnn.pad_sequence([x, value]),
        "padding_value": lambda: rnn.pad_sequence([x, x], padding_value=value),
        "pack_padded_sequence": lambda: rnn.pack_padded_sequence(value, [2, 1]),
        "constant_": lambda: library.nn.init.constant_(value, 1.0),
        "uniform_": lambda: library.nn.init.uniform_(x, value),
    }


class Own:
    """Has no handler; its instances may."""


def own() -> Any:
    made = Own()
    made.__torch_function__ = Asked.__torch_function__
    return made


#: PyTorch's functions in Python see that an instance has a handler, and then find nobody to ask, by type.
IN_PYTHON = {"backward", "backward of several", "grad of it", "grad with respect to it", "constant_"}


@pytest.mark.parametrize("which", library_calls(tl, None))
@pytest.mark.parametrize("make", [Asked, own])
def test_unusual_places(which: str, make: Any) -> None:
    if make is own and which in IN_PYTHON:
        return
    with torch.no_grad():
        theirs = who_is_asked(library_calls(torch, make())[which], [], {})
    assert theirs is not None
    assert who_is_asked(library_calls(tl, make())[which], [], {}) == theirs


@pytest.mark.parametrize("library", [torch, tl], ids=["torch", "tensorlike"])
def test_an_instance_with_a_handler_is_like_a_tensor(library: Any) -> None:
    overrides = library.overrides
    assert [overrides.is_tensor_like(x) for x in (own(), Own(), Asked())] == [True, False, True]
    assert [overrides.has_torch_function((x,)) for x in (own(), Own(), Asked())] == [True, False, True]
    assert overrides.has_torch_function_unary(own())


class Number(Asked, float):
    """A number of Python's, and of a type that is asked."""


class Index(Asked):
    def __index__(self) -> int:
        return 0

    def __float__(self) -> float:
        return 1.0


@pytest.mark.parametrize("library", [torch, tl], ids=["torch", "tensorlike"])
def test_what_is_a_number_is_taken_as_one(library: Any) -> None:
    x = library.ones(2)
    assert who_is_asked(library.add, [x, x], {"alpha": Number(2.0)}) is None
    assert who_is_asked(library.add, [x, Number(2.0)], {}) == ["Number"]
    # That it can be converted makes it no number.
    assert who_is_asked(library.add, [x, x], {"alpha": Index()}) == ["Index"]
    assert who_is_asked(library.cat, [[x, x], Index()], {}) == ["Index"]


@pytest.mark.parametrize("library", [torch, tl], ids=["torch", "tensorlike"])
def test_a_tensor_of_a_subclass_is_a_number_and_no_size(library: Any) -> None:
    kind = type("Sub", (library.Tensor,), {"__torch_function__": Asked.__torch_function__})
    x, size = library.ones(2, 2), library.tensor(2).as_subclass(kind)
    if library is torch:  # Here it is asked for its number: `Tensor.item`.
        assert who_is_asked(library.add, [x, x], {"alpha": size}) is None
    assert who_is_asked(library.zeros, [size], {}) == ["Sub"]
    assert who_is_asked(library.zeros, [(2, size)], {}) == ["Sub"]
