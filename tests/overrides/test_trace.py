"""A trace records who was asked and who answered, changes no result, and leaves nothing behind."""

import asyncio
import json
import re
import threading

import pytest

import tensorlike as tl
from tensorlike.dispatch.core import CLEAR, PLAIN, STATE
from tensorlike.overrides import TorchFunctionMode, trace
from tests.helpers.ducks import recorder


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = set(PLAIN)
    yield
    assert STATE.get() is CLEAR
    assert before == PLAIN


class Marked(tl.Tensor):
    pass


class Other(tl.Tensor):
    pass


class Owner(tl.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tl.sub:
            return tl.add(args[0], tl.neg(args[1]))
        if func is tl.div:
            raise LookupError("no division here\nsecond line")
        return super().__torch_function__(func, types, args, kwargs)


class Through(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Refuses(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


def names(log):
    return [(record.name, record.depth) for record in log]


def test_plain_calls_are_no_dispatches():
    x = tl.ones(2)
    with trace() as log:
        tl.mul(x, 2)
        (x + x).sum()
    assert len(log) == 0
    assert log.tree() == ""
    assert json.loads(log.to_perfetto())["traceEvents"][1:] == []


def test_plain_calls_when_asked_for():
    x = tl.ones(2)
    with trace(plain=True) as log:
        result = tl.mul(x, 2)
        tl.zeros(2)
    assert result.tolist() == [2.0, 2.0]
    assert [(r.name, r.how, r.asked) for r in log] == [
        ("tensorlike.mul", "plain", ()),
        ("tensorlike.zeros", "plain", ()),
    ]


def test_the_shortcut_for_inherited_implementations_is_recorded():
    x = Marked([1.0, 2.0])
    with trace() as log:
        result = tl.mul(3, x)
        tl.cat([tl.ones(1), x])
    assert type(result) is Marked
    assert result.tolist() == [3.0, 6.0]
    first, second = log
    assert (first.how, first.answered_by, first.operand, first.position) == ("inherited", "Marked", "other", 1)
    assert (second.operand, second.position, second.types) == ("tensors[1]", 1, (Marked,))
    assert first.function is tl.mul
    assert first.call == "tensorlike.mul(int, Marked)"
    assert 0 <= first.start <= second.start
    assert first.seconds > 0


def test_nesting():
    x = Owner([1.0, 2.0])
    with trace() as log:
        result = tl.sub(x, x)
    assert result.tolist() == [0.0, 0.0]
    assert names(log) == [("tensorlike.sub", 0), ("tensorlike.neg", 1), ("tensorlike.add", 1)]
    assert [r.parent for r in log] == [None, 0, 0]
    assert log.tree(times=False).splitlines() == [
        "tensorlike.sub(Owner, Owner): Owner ('input')",
        "  tensorlike.neg(Owner): Owner ('input')",
        "  tensorlike.add(Owner, Owner): Owner ('input')",
    ]
    first = log.tree().splitlines()[0]
    assert re.fullmatch(r"tensorlike\.sub\(Owner, Owner\): Owner \('input'\), [\d.]+ (µs|ms|s)", first)


def test_refusals_in_the_order_asked():
    first, second = recorder("First", NotImplemented), recorder("Second", "answer")
    with trace() as log:
        assert tl.add(first(), second()) == "answer"
    (record,) = log
    assert [(a.type, a.operand, a.outcome) for a in record.asked] == [
        (first, "input", "NotImplemented"),
        (second, "other", "answered"),
    ]
    assert (record.answered_by, record.position) == ("Second", 1)
    assert log.tree(times=False).endswith(": First ('input') NotImplemented, then Second ('other')")


def test_implementations_receive_what_they_receive_without_a_trace():
    duck = recorder("Duck", "answer")
    instance = duck()
    tl.add(instance, 2, alpha=3)
    with trace():
        tl.add(instance, 2, alpha=3)
    without, traced = duck.calls
    assert without == traced


def test_exceptions_are_recorded_and_come_out():
    x = Owner([1.0])
    with trace() as log:
        with pytest.raises(LookupError, match="no division here"):
            tl.div(x, 2)
        tl.add(x, 1)
    assert [(r.error, r.how) for r in log] == [("LookupError: no division here", ""), ("", "type")]
    assert log[0].asked[0].outcome == "raised"
    with pytest.raises(LookupError), trace() as log:
        tl.div(x, 1)
    assert len(log) == 1
    with trace() as log:
        tl.add(x, 1)
    assert len(log) == 1


def test_nobody_answers_and_the_error_is_the_same():
    def message():
        with pytest.raises(TypeError) as caught:
            tl.add(Marked([1.0]), Other([1.0]))
        return str(caught.value)

    without = message()
    with trace() as log:
        assert message() == without
    assert [(a.kind, a.outcome) for a in log[0].asked] == [("inherited", "NotImplemented")] * 2
    assert log[0].error == f"TypeError: {without.splitlines()[0]}"


def test_runaway_recursion_still_names_the_cure():
    class Endless(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    x = tl.ones(1).as_subclass(Endless)
    with trace() as log, pytest.raises(RecursionError, match="again and again"):
        x.mul(2)
    assert len(log) > 8


def test_modes():
    x = Marked([1.0])
    duck = recorder("Duck", "answer")
    with trace() as log:
        with Through():
            tl.add(x, 1)
        with Refuses():
            assert tl.add(duck(), 1) == "answer"
            assert STATE.get().modes[-1].mode.__class__ is Refuses
    assert [(r.answered_by, r.how, r.depth) for r in log] == [
        ("Through", "mode", 0),
        ("Marked", "inherited", 1),
        ("Duck", "type", 0),
    ]
    assert [(a.kind, a.outcome) for a in log[2].asked] == [("mode", "NotImplemented"), ("type", "answered")]
    assert log[2].types == (duck,)


def test_a_trace_inside_a_mode_and_a_guard():
    x = Marked([1.0])
    with Through(), trace() as log:
        tl.add(x, 1)
    assert [r.how for r in log] == ["mode", "inherited"]
    with tl.overrides.DisableTorchFunctionSubclass(), trace() as log:
        tl.add(x, 1)
    assert len(log) == 0
    with trace() as log, tl.overrides.DisableTorchFunction():
        tl.add(x, 1)
    assert len(log) == 0


def test_functions_that_ask_by_hand():
    duck = recorder("Duck", "answer")

    @tl.overrides.wrap_torch_function(lambda x: (x,))
    def twice(x):
        return x + x

    with trace() as log:
        assert twice(duck()) == "answer"
    assert (log[0].answered_by, log[0].operand) == ("Duck", "x")


def test_traces_nest():
    x = Marked([1.0])
    with trace() as outer:
        tl.add(x, 1)
        with trace() as inner:
            tl.mul(x, 1)
        tl.sub(x, 1)
    assert names(inner) == [("tensorlike.mul", 0)]
    assert names(outer) == [("tensorlike.add", 0), ("tensorlike.mul", 0), ("tensorlike.sub", 0)]


def test_other_threads_are_not_seen():
    x = Marked([1.0])
    logs = {}

    def other():
        with trace() as log:
            tl.mul(x, 1)
        logs["other"] = names(log)

    with trace(plain=True) as log:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        tl.add(x, 1)
    assert logs["other"] == [("tensorlike.mul", 0)]
    assert names(log) == [("tensorlike.add", 0)]


def test_tasks_keep_to_themselves():
    x = Marked([1.0])

    async def traced(function):
        with trace() as log:
            function(x, 1)
            await asyncio.sleep(0)
            function(x, 1)
        return [record.name for record in log]

    async def untraced():
        tl.div(x, 2)
        await asyncio.sleep(0)
        tl.div(x, 2)

    async def both():
        return await asyncio.gather(traced(tl.add), untraced(), traced(tl.mul))

    assert asyncio.run(both()) == [["tensorlike.add"] * 2, None, ["tensorlike.mul"] * 2]


def test_gradients_are_the_same():
    def gradient():
        x = Marked([1.0, 2.0])
        x.requires_grad_()
        (x * x).sum().backward()
        return x.grad.tolist()

    with trace(plain=True):
        traced = gradient()
    assert traced == gradient() == [2.0, 4.0]


def test_perfetto():
    x = Owner([1.0])
    with trace() as log:
        tl.sub(x, x)
    events = json.loads(log.to_perfetto())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    assert [e["name"] for e in slices[:2]] == ["tensorlike.sub", "Owner.__torch_function__"]
    assert len(slices) == 6
    outer, inner = slices[0], slices[2]
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.01


def test_html():
    pytest.importorskip("jinja2", reason="HTML reports need Jinja2")
    hostile = recorder("<script>alert(1)</script>", "answer")
    with trace() as log:
        tl.add(hostile(), 1)
        with pytest.raises(LookupError):
            tl.div(Owner([1.0]), 2)
    page = log.to_html()
    assert "Trace of 2 calls" in page
    assert "<script>alert" not in page
    assert "LookupError: no division here" in page
    assert "http" not in page


def test_an_unknown_api():
    with pytest.raises(ValueError, match="api must be 'tensorlike' or 'torch', not 'jax'"), trace(api="jax"):
        pass


def test_records_cannot_be_changed():
    with trace() as log:
        tl.add(Marked([1.0]), 1)
    with pytest.raises(AttributeError):
        log[0].name = "other"
