"""Which types and modes the native core asks, in which order and with what, against the Python functions behind it."""

import gc
import itertools
import sys
import threading
import weakref
from contextlib import ExitStack, nullcontext

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.dispatch import core as dispatching
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.modes import TorchFunctionMode
from tests.helpers.native import python_function

pytestmark = pytest.mark.skipif(core is None, reason="the native core is off")

LOG = []


def note(who, func, types, args, kwargs):
    LOG.append((who, func, types, tuple(map(id, args)), dict(kwargs)))


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        note(cls, func, types, args, kwargs)
        return cls.__name__


class DuckBelow(Duck):
    pass


class Refusing:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        note(cls, func, types, args, kwargs)
        return NotImplemented


class Raising:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        note(cls, func, types, args, kwargs)
        raise KeyError("from a handler")


class OnInstance:
    """A duck type that answers for each object differently."""

    def __init__(self):
        self.__torch_function__ = self.answer

    def answer(self, func, types, args=(), kwargs=None):
        note("instance", func, types, args, kwargs)
        return "answer"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError("the object's own comes first")


class Logging(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        note(cls, func, types, args, kwargs or {})
        return super().__torch_function__(func, types, args, kwargs)


class LoggingBelow(Logging):
    pass


class Quiet(tl.Tensor):
    pass


class Marked(tl.Tensor):
    __tensor_attributes__ = ("mark",)


class Mode(TorchFunctionMode):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def __torch_function__(self, func, types, args=(), kwargs=None):
        note(self.answer, func, types, args, kwargs or {})
        if self.answer == "refuses":
            return NotImplemented
        if self.answer == "raises":
            raise KeyError("from a mode")
        return func(*args, **(kwargs or {}))


def marked():
    made = tl.ones(2).as_subclass(Marked)
    made.mark = 1
    return made


OPERANDS = {
    "duck": Duck(),
    "duck below": DuckBelow(),
    "refusing": Refusing(),
    "raising": Raising(),
    "instance": OnInstance(),
    "logging": tl.ones(2).as_subclass(Logging),
    "logging below": tl.ones(2).as_subclass(LoggingBelow),
    "quiet": Quiet([1.0, 2.0]),
    "marked": marked(),
    "tensor": tl.ones(2),
    "parameter": tl.nn.Parameter(tl.ones(2), False),
    "number": 2.5,
    "None": None,
    "text": "text",
    "object": object(),
}
TWO = [tl.add, tl.Tensor.add, tl.Tensor.__add__, tl.Tensor.__radd__, tl.Tensor.__eq__, tl.Tensor.__lt__, tl.matmul,
       tl.Tensor.__matmul__, tl.Tensor.__pow__, tl.atan2, tl.Tensor.add_, tl.Tensor.__iadd__, tl.maximum]  # fmt: skip
ONE = [tl.exp, tl.Tensor.exp, tl.mean, tl.Tensor.sum, tl.Tensor.__neg__, tl.Tensor.__abs__, tl.Tensor.tolist, tl.relu,
       tl.Tensor.__repr__, tl.Tensor.shape.fget, tl.Tensor.requires_grad.fget, tl.Tensor.reshape, tl.Tensor.numpy,
       tl.softmax, tl.Tensor.__len__, tl.Tensor.__bool__, tl.nn.functional.gelu, tl.linalg.norm]  # fmt: skip


def shown(value):
    if isinstance(value, tl.Tensor):
        return type(value), value._tl_data.tolist(), value._tl_tracked, value.__dict__
    if isinstance(value, BaseException):
        return type(value), str(value)
    if isinstance(value, (list, tuple)):
        return type(value), [shown(item) for item in value]
    return repr(value) if isinstance(value, np.ndarray) else value


def outcome(function, args, keywords):
    """Return what a call gives and whom it asks; what it writes is undone."""
    tensors = [a for a in args if isinstance(a, tl.Tensor)]
    before = [t._tl_data.copy() for t in tensors]
    LOG.clear()
    try:
        result = function(*args, **keywords)
    except Exception as error:
        result = error
    asked = list(LOG)
    answer = shown(result), [result is a for a in args], [t._tl_data.tolist() for t in tensors]
    for tensor, array in zip(tensors, before, strict=True):
        tensor._tl_data[...] = array
    return answer, asked


def assert_same(function, *args, **keywords):
    wanted, found = outcome(python_function(function), args, keywords), outcome(function, args, keywords)
    assert found == wanted, (function, args, keywords)
    assert outcome(function, args, keywords) == wanted  # The plan is known now.


CONTEXTS = {
    "none": nullcontext,
    "one mode": lambda: Mode("asks"),
    "refusing mode": lambda: Mode("refuses"),
    "raising mode": lambda: Mode("raises"),
    "subclasses off": tl.overrides.DisableTorchFunctionSubclass,
    "all off": tl.overrides.DisableTorchFunction,
    "no_grad": tl.no_grad,
}


@pytest.mark.parametrize("name", CONTEXTS)
class TestOrder:
    @pytest.mark.parametrize("function", TWO, ids=lambda f: f.__qualname__)
    def test_of_two(self, name, function):
        with CONTEXTS[name]():
            for one, other in itertools.product(OPERANDS.values(), repeat=2):
                assert_same(function, one, other)

    @pytest.mark.parametrize("function", ONE, ids=lambda f: f"{f.__qualname__}-{f.__name__}")
    def test_of_one(self, name, function):
        with CONTEXTS[name]():
            for one in OPERANDS.values():
                assert_same(function, one)


MANY = [
    tl.cat, tl.stack, tl.hstack, tl.atleast_1d, tl.block_diag, tl.meshgrid, tl.linalg.multi_dot, tl.where,
    tl.einsum, tl.nn.functional.linear, tl.lerp, tl.addmm, tl.broadcast_tensors, tl.index_put, tl.split,
]  # fmt: skip
FEW = [OPERANDS[n] for n in ("duck", "duck below", "refusing", "instance", "logging", "quiet", "tensor", "number")]


@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize("function", MANY, ids=lambda f: f.__qualname__)
def test_order_of_many(name, function):
    with CONTEXTS[name]():
        for one, other in itertools.product([*FEW, None], repeat=2):
            for first in ([one, other], [], [[one]], [one] * 70):
                assert_same(function, first)
            assert_same(function, (other, one, one), 0)
            assert_same(function, one, other, one)


NAMED = [
    (tl.nn.functional.softmax, {"dim": 0}), (tl.sum, {"dim": 0, "keepdim": True}), (tl.Tensor.sum, {"axis": 0}),
    (tl.sum, {"nothing": 1}), (tl.add, {"other": 1.0}), (tl.add, {"input": OPERANDS["duck"]}), (tl.clamp, {"min": 0.5}),
    (tl.clamp, {"max": OPERANDS["duck"]}), (tl.clamp, {}), (tl.mean, {"out": OPERANDS["duck"]}), (tl.exp, {"x": 1}),
    (tl.Tensor.to, {"dtype": tl.float64}), (tl.cat, {"dim": 0}), (tl.Tensor.__add__, {"other": 2}),
]  # fmt: skip


@pytest.mark.parametrize("name", CONTEXTS)
@pytest.mark.parametrize(("function", "keywords"), NAMED)
def test_keywords(name, function, keywords):
    with CONTEXTS[name]():
        for one, other in itertools.product(OPERANDS.values(), repeat=2):
            assert_same(function, one, **keywords)
            assert_same(function, one, other, **keywords)
            assert_same(function, [one, other], **keywords)
        assert_same(function, **keywords)


def test_which_keywords_the_core_hands_on():
    handled = []

    class Asking:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            handled.append((core.is_handling(), kwargs))

    given = [{"dim": 0}, {"axis": 0}, {"nothing": 1}, {"input": Asking()}]
    for keywords in given * 2:
        tl.sum(Asking(), **keywords)
    renamed = {"dim": 0}
    wanted = [(True, given[0]), (False, renamed), (True, given[2]), (False, given[3])]
    assert handled[4:] == wanted


def test_a_list_changed_by_a_handler():
    class Clearing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            args[0].clear()
            return NotImplemented

    for _ in range(2):
        with pytest.raises(TypeError, match="no implementation found"):
            tl.cat([Clearing(), Refusing(), tl.ones(2)])


@pytest.mark.parametrize("outer", ["asks", "refuses"])
def test_two_modes(outer):
    with Mode(outer), Mode("asks"):
        for one, other in itertools.product(OPERANDS.values(), repeat=2):
            assert_same(tl.add, one, other)


def test_modes_and_guards_together():
    contexts = [
        (lambda: Mode("asks"), tl.overrides.DisableTorchFunctionSubclass),
        (tl.overrides.DisableTorchFunctionSubclass, lambda: Mode("asks")),
        (lambda: Mode("asks"), tl.overrides.DisableTorchFunction),
        (lambda: Mode("asks"), tl.no_grad),
    ]
    for makers in contexts:
        with ExitStack() as stack:
            for make in makers:
                stack.enter_context(make())
            for one, other in itertools.product(OPERANDS.values(), repeat=2):
                assert_same(tl.mul, one, other)


def test_missing_and_too_many_arguments():
    for args in ((), (Duck(),), (Duck(), 1, 2), (Duck(), 1, 2, 3), (MISSING, Duck())):
        for function in (tl.atan2, tl.Tensor.atan2, tl.mean, tl.exp, tl.Tensor.__mod__):
            assert_same(function, *args)


def test_the_state_is_restored():
    before = dispatching.STATE.get()
    with Mode("raises"):
        inside = dispatching.STATE.get()
        with pytest.raises(KeyError, match="from a mode"):
            tl.add(tl.ones(1), 1)
        assert dispatching.STATE.get() is inside
    assert dispatching.STATE.get() is before


def test_a_mode_of_another_thread():
    entered, leave = threading.Event(), threading.Event()
    seen = []

    class Other(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    def run():
        with Other():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=run)
    thread.start()
    entered.wait()
    try:
        x = tl.ones(2)
        assert (x + x).tolist() == [2.0, 2.0]
        assert tl.add(Quiet([1.0]), 1).__class__ is Quiet
        assert tl.add(Duck(), 1) == "Duck"
        assert seen == []
    finally:
        leave.set()
        thread.join()


class TestTypesThatChange:
    def test_a_plain_class_gains_the_protocol(self):
        class Late:
            pass

        value = Late()
        with pytest.raises(TypeError):
            tl.add(tl.ones(1), value)
        Late.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "late")
        assert tl.add(tl.ones(1), value) == tl.add(value, 1) == tl.exp(value) == "late"

    def test_a_class_is_changed_and_plans_are_cleared(self):
        class Changing(Duck):
            pass

        value = Changing()
        for _ in range(3):
            assert tl.add(value, 1) == "Changing"
        Changing.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: "changed")
        assert tl.add(value, 1) == "changed"
        dispatching._PLANS.clear()
        assert tl.add(value, 1) == "changed"

    def test_a_class_is_forgotten(self):
        def use():
            class Short(Duck):
                pass

            for _ in range(3):
                tl.add(Short(), 1)
            return weakref.ref(Short)

        gone = use()
        assert gone() is not None  # The plan keeps it, as it does in Python.
        dispatching._PLANS.clear()
        LOG.clear()
        gc.collect()
        assert gone() is None
        assert tl.add(Duck(), 1) == "Duck"

    def test_a_subclass_declares_attributes(self):
        value = marked()
        assert (value + 1).mark == tl.exp(value).mark == 1

    def test_no_class_has_another_class_in_c(self):
        with pytest.raises(TypeError, match="lay-out conflict"):
            type("WithDict", (tl.Tensor, dict), {})


class TestErrors:
    def test_runaway_recursion_is_explained(self):
        class Endless(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        value = tl.ones(2).as_subclass(Endless)
        with pytest.raises(RecursionError, match="came back to Endless.__torch_function__ again and again"):
            tl.add(value, value)
        with pytest.raises(RecursionError) as caught:
            value + 1
        assert caught.value.__suppress_context__

    def test_another_recursion_is_left_alone(self):
        class Deep:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                def deeper():
                    return deeper()

                return deeper()

        with pytest.raises(RecursionError, match="maximum recursion depth"):
            tl.add(Deep(), 1)

    def test_text_of_a_type_that_logs(self):
        class Shows(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                LOG.append(repr(args[0]))
                return super().__torch_function__(func, types, args, kwargs or {})

        LOG.clear()
        value = tl.ones(2).as_subclass(Shows)
        value + 1
        assert LOG == ["Shows([1., 1.])"]


def test_references():
    x, d, q = tl.ones(3), Duck(), Quiet([1.0])
    types = (tl.Tensor, Duck, Quiet, Logging)
    logging = OPERANDS["logging"]
    calls = [lambda: x + x, lambda: tl.exp(x), lambda: tl.add(d, x), lambda: q + 1, lambda: x.add_(1.0), lambda: x == x,
             lambda: tl.add(logging, 1)]  # fmt: skip
    for call in calls:
        call()
        LOG.clear()
        before = [sys.getrefcount(o) for o in (x, d, q, None, True, x._tl_data, x._tl_data.dtype, *types)]
        for _ in range(100):
            call()
            LOG.clear()
        after = [sys.getrefcount(o) for o in (x, d, q, None, True, x._tl_data, x._tl_data.dtype, *types)]
        assert max(abs(a - b) for a, b in zip(before, after)) < 50, (before, after)
