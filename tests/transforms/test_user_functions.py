"""Users' functions inside transforms: what they compute counts, whatever they are called."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import func
from tensorlike.dispatch.registry import IGNORED, REGISTRY
from tests.helpers.values import array

#: Every short name among the library's own functions, methods, operators and factories.
NAMES = sorted({full.removesuffix(".__get__").removesuffix(".__set__").rpartition(".")[2]
                for full in (*REGISTRY, *IGNORED) if full.startswith("tensorlike.")})  # fmt: skip


def _body(x: Any) -> Any:
    return x.sin() * x.norm() + x.cumsum(0)


def _writing_body(x: Any) -> Any:
    return x.mul_(0.5).exp_()


@pytest.fixture
def users():
    """Return what makes an overridable function of a name, and forget these functions afterwards."""
    before = dict(REGISTRY)

    def made(name: str, body: Any = _body, *, local: bool = False) -> Any:
        function = FunctionType(body.__code__, globals(), name)
        function.__qualname__ = f"scope.<locals>.{name}" if local else name
        return tl.overridable(operands=("x",))(function)

    yield made
    REGISTRY.clear()
    REGISTRY.update(before)


def _differences(function: Any, reference: Any) -> list[str]:
    """Return in which transforms `function` is not what `reference`, the same code undecorated, is."""
    x = tl.tensor([0.5, -1.0, 2.0], dtype=tl.float64)
    t = tl.tensor([1.0, 3.0, -2.0], dtype=tl.float64)
    xs = tl.stack([x, t])
    jacobian = func.jacrev(reference)(x.clone())
    computed = {
        "call": (lambda: function(x.clone()), reference(x.clone())),
        "jvp": (lambda: func.jvp(function, (x.clone(),), (t,))[1], jacobian @ t),
        "jacfwd": (lambda: func.jacfwd(function)(x.clone()), jacobian),
        "jacrev": (lambda: func.jacrev(function)(x.clone()), jacobian),
        "vmap": (lambda: func.vmap(function)(xs.clone()), tl.stack([reference(x.clone()), reference(t.clone())])),
    }
    found = []
    for what, (run, wanted) in computed.items():
        try:
            result = run()
        except Exception as error:
            found.append(f"{what}: {error!r}")
            continue
        if array(result).shape != array(wanted).shape or not np.allclose(array(result), array(wanted)):
            found.append(f"{what}: {result.tolist()}, expected {wanted.tolist()}")
    return found


@pytest.mark.parametrize("name", ["diff", "conj", "bool", "trace", "normal", "equal", "zero_", "__setitem__", "cube"])
@pytest.mark.parametrize("local", [False, True])
def test_a_function_that_has_the_name_of_ours_is_not_taken_for_it(users, name, local) -> None:
    assert _differences(users(name, local=local), _body) == []


def test_no_name_of_ours_says_anything_about_a_function() -> None:
    assert {"add", "diff", "normal", "shape", "__setitem__", "zero_", "conv2d", "rand", "__repr__"} <= set(NAMES)


@pytest.mark.slow
def test_every_name_of_ours_may_be_a_users(users) -> None:
    wrong = {name: found for name in NAMES if (found := _differences(users(name), _body))}
    assert not wrong


@pytest.mark.parametrize("name", ["scale_", "normal_", "mul_"])
def test_a_users_function_may_write_to_its_operand(users, name) -> None:
    function = users(name, _writing_body)
    assert _differences(lambda x: function(x * 2), lambda x: _writing_body(x * 2)) == []
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    wanted = (x * 0.5).exp()
    func.vmap(function)(x)
    assert np.allclose(array(x), array(wanted))


def test_random_functions_of_ours_are_noticed_inside_those_of_users(users) -> None:
    def noisy(x: Any) -> Any:
        return x + tl.randn(())

    function = tl.overridable(operands=("x",))(noisy)
    with pytest.raises(RuntimeError, match="called random operation"):
        func.vmap(function)(tl.ones(3))
    assert len(set(func.vmap(function, randomness="different")(tl.ones(3)).tolist())) == 3
    with pytest.raises(RuntimeError, match="called random operation"):
        func.vmap(lambda x: x + function(tl.ones(())))(tl.ones(3))
    with pytest.raises(RuntimeError, match="called random operation"):
        func.vmap(lambda x: func.jvp(function, (x,), (x,))[1])(tl.ones(3))
