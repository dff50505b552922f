"""A class may be given a `__torch_function__`, or lose it, after its first calls: each call looks, as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl

CALLS = {
    "an elementwise function": lambda s: tl.add(s, s),
    "an operator": lambda s: s * 2,
    "a reflected operator": lambda s: 2 - s,
    "a method": lambda s: s.exp(),
    "an in-place method": lambda s: s.add_(1),
    "a reduction": lambda s: s.sum(dim=0),
    "an index": lambda s: s[0],
    "a sequence": lambda s: tl.cat([s, s]),
    "many operands": lambda s: tl.cat([s] * 9),
    "a plain operand first": lambda s: tl.mul(tl.ones(2), s),
    "a keyword": lambda s: tl.add(s, s, alpha=2),
    "a composite": lambda s: tl.nn.functional.relu(s),
    "a property": lambda s: s.T if s.ndim == 2 else s.real,
}


class PassOn(tl.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def changing() -> tuple[Any, Any, list[str]]:
    class Sub(tl.Tensor):
        pass

    log: list[str] = []

    def implementation(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        log.append(func.__name__)
        return super(Sub, cls).__torch_function__(func, types, args, kwargs or {})

    return Sub, classmethod(implementation), log


@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize("what", CALLS)
def test_one_that_comes_and_goes(what: str, mode: bool) -> None:
    call = CALLS[what]
    if mode:
        plain_call = call

        def call(s: Any) -> Any:
            with PassOn():
                return plain_call(s)

    kind, implementation, log = changing()
    s = tl.ones(2).as_subclass(kind)
    assert type(call(s)) is kind
    kind.__torch_function__ = implementation
    assert type(call(s)) is kind
    assert len(log) >= 1
    seen = len(log)
    del kind.__torch_function__
    assert type(call(s)) is kind
    assert len(log) == seen
    kind.__torch_function__ = implementation
    call(s)
    assert len(log) > seen


def test_one_of_a_base_class() -> None:
    kind, implementation, log = changing()

    class Lower(kind):  # type: ignore[misc]
        pass

    s = tl.ones(2).as_subclass(Lower)
    tl.add(s, tl.ones(2).as_subclass(kind))
    kind.__torch_function__ = implementation
    tl.add(s, tl.ones(2).as_subclass(kind))
    assert log == ["add"]  # Lower inherits it and is asked first; its call of super() asks nobody else.


def test_one_that_is_no_implementation_is_refused_then() -> None:
    kind, _, _ = changing()
    s = tl.ones(2).as_subclass(kind)
    s + 1
    kind.__torch_function__ = 3
    with pytest.raises(TypeError, match="cannot be called"):
        s + 1


def test_one_that_switches_the_protocol_off() -> None:
    kind, _, _ = changing()
    s = tl.ones(2).as_subclass(kind)
    assert type(s + 1) is kind
    kind.__torch_function__ = tl._C._disabled_torch_function_impl
    assert type(s + 1) is tl.Tensor
