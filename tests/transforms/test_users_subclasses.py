"""Subclasses of Tensor under transforms: the type, its attributes, and what it is asked."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
from tensorlike import func


class Axes(tl.Tensor):
    """Carries the names of its axes as a declared attribute."""

    __tensor_attributes__ = ("axes",)
    axes: str = ""

    @property
    def first_axis(self) -> str:
        return self.axes[:1]

    def doubled(self) -> Any:
        return self * 2


def with_axes(data: Any, axes: str = "ab") -> Any:
    tensor = tl.as_tensor(data).as_subclass(Axes)
    tensor.axes = axes
    return tensor


def power(x: Any) -> Any:
    return x**2


def linear(x: Any) -> Any:
    return x * 3


def total(x: Any) -> Any:
    return (x**3).sum()


@pytest.mark.parametrize(
    ("transform", "function"),
    [(transform, function) for transform in (func.jacrev, func.jacfwd, func.vmap) for function in (power, linear)]
    + [(transform, total) for transform in (func.grad, func.hessian, func.jacrev, func.jacfwd)]
    + [(lambda f: func.jacrev(func.jacrev(f)), total), (lambda f: func.jacfwd(func.grad(f)), total)],
)
def test_results_keep_the_type_and_its_attributes(transform: Any, function: Any) -> None:
    data = tl.tensor([1.0, 2.0, 3.0])
    found = transform(function)(with_axes(data))
    assert type(found) is Axes
    assert found.axes == "ab"
    assert tl.equal(found.as_subclass(tl.Tensor), transform(function)(data))


def test_jvp_and_vjp_keep_the_type_and_its_attributes() -> None:
    x, direction = with_axes([1.0, 2.0]), tl.tensor([1.0, 0.0])
    for found in (*func.jvp(linear, (x,), (direction,)), *func.vjp(linear, x)[1](direction)):
        assert type(found) is Axes
        assert found.axes == "ab"


def test_parameters_give_plain_jacobians() -> None:
    parameter = tl.nn.Parameter(tl.ones(2))
    for transform in (func.jacrev, func.jacfwd):
        assert type(transform(power)(parameter)) is tl.Tensor


def everything_read(seen: list[Any]) -> Any:
    def function(x: Any) -> Any:
        seen.append((x.axes, x.first_axis, isinstance(x, Axes)))
        y = x.doubled()
        seen.append((y.axes, y.first_axis, isinstance(y, Axes)))
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = x.no_such_name
        return y

    return function


def test_attributes_are_read_inside() -> None:
    x = with_axes([[1.0, 2.0]])
    for transform in (func.vmap, func.jacfwd, func.jacrev, lambda f: func.vmap(func.jacfwd(f))):
        seen: list[Any] = []
        found = transform(everything_read(seen))(x)
        assert found.axes == "ab"
        assert set(seen) == {("ab", "a", True)}
    seen = []
    func.jvp(everything_read(seen), (x,), (x,))
    assert set(seen) == {("ab", "a", True)}


def test_plain_tensors_inside_have_no_such_attributes() -> None:
    def function(x: Any) -> Any:
        assert not hasattr(x, "axes")
        assert not isinstance(x, Axes)
        x.note = 1
        return x + x.note

    assert func.vmap(function)(tl.ones(2)).tolist() == [2.0, 2.0]
    assert func.jvp(function, (tl.ones(2),), (tl.ones(2),))[0].tolist() == [2.0, 2.0]


def test_attributes_set_inside_are_on_results() -> None:
    def function(x: Any) -> Any:
        y = x * 2
        y.axes = "cd"
        return y + 1

    x = with_axes(tl.ones(2))
    found = [func.vmap(function)(x), func.jacfwd(function)(x), func.jacrev(function)(x)]
    assert [f.axes for f in found] == ["cd", "cd", "cd"]
    assert func.jvp(function, (x,), (x,))[1].axes == "cd"
    assert x.axes == "ab"


def test_attributes_of_the_callers_tensor_are_not_set() -> None:
    def function(x: Any) -> Any:
        x.axes = "cd"
        return x

    x = with_axes(tl.ones(2))
    for call in (lambda: func.vmap(function)(x), lambda: func.jvp(function, (x,), (x,))):
        with pytest.raises(AttributeError, match="belongs to the caller"):
            call()
    assert x.axes == "ab"


class Asked(tl.Tensor):
    """Notes what it is asked, and answers with super() or not."""

    calls: list[Any] = []
    answers = True

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append((func, types, all(isinstance(a, cls) for a in args)))
        if func is tl.dot and not cls.answers:
            return NotImplemented
        return super().__torch_function__(func, types, args, kwargs)


@pytest.mark.parametrize("answers", [True, False])
def test_vmap_asks_with_the_function_that_was_called(monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Asked)
    monkeypatch.setattr(Asked, "calls", [])
    monkeypatch.setattr(Asked, "answers", answers)
    found = func.vmap(lambda v: tl.dot(v, v))(x)
    calls, Asked.calls = Asked.calls, []
    assert type(found) is Asked
    assert found.tolist() == [5.0, 25.0]
    assert calls[0] == (tl.dot, (Asked,), True)
    assert [c[0] for c in calls].count(tl.dot) == 1
    # Decomposed into functions of the whole batch where it does not answer.
    names = [c[0].__name__ for c in calls]
    assert (len(calls) == 1) == answers
    assert any("matmul" in name for name in names) == (not answers)


def test_an_answer_under_vmap_is_the_result() -> None:
    class Own(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is tl.dot:
                with tl.overrides.DisableTorchFunctionSubclass():
                    return (args[0] * args[1]).sum() + 100
            return super().__torch_function__(func, types, args, kwargs)

    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = func.vmap(tl.dot)(x.as_subclass(Own), x.as_subclass(Own))
    assert found.tolist() == [105.0, 125.0]
    nested = func.vmap(func.vmap(tl.dot))(x[None].as_subclass(Own), x[None].as_subclass(Own))
    assert nested.tolist() == [[105.0, 125.0]]


def test_a_batch_of_a_subclass_and_a_plain_one() -> None:
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    found = func.vmap(lambda a, b: a * b + 1)(with_axes(x), x)
    assert type(found) is Axes
    assert found.axes == "ab"
    assert found.tolist() == [[2.0, 5.0], [10.0, 17.0]]
