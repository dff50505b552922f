"""The sets of plain types: empty while a mode is on, and filled again whatever interrupts that."""

from __future__ import annotations

import gc
import sys
import threading

import pytest

import tensorlike as tl
from tensorlike.dispatch import state
from tensorlike.overrides import TorchFunctionMode

_WATCHED = {
    each.__code__ for each in (state.activate, state.deactivate, state._forget, state.fill_sets, state.refill_sets)
}


#: In the order in which they are filled.
_SETS = state.OPTIONAL_TENSORS, state.TENSORS, state.PLAIN


def _copies():
    return [set(each) for each in _SETS]


class _Passing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _a_mode_once():
    with _Passing():
        pass


def _a_mode_that_dies():
    _Passing().__enter__()
    state.STATE.set(state.CLEAR)
    gc.collect()


def _interrupted_at(number, scenario):
    """Run a scenario with KeyboardInterrupt at line `number` of the functions that empty and fill the sets; return
    whether there was one.
    """
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code not in _WATCHED:
            return None
        if event == "line":
            count += 1
            if count == number:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scenario()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return count >= number


def _calls():
    x = tl.ones(2)
    return [tl.add(x, x), x + 1, x.exp(), tl.nn.functional.linear(x, tl.ones(2, 2), None), x.sum()]


@pytest.mark.parametrize("scenario", [_a_mode_once, _a_mode_that_dies])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_line_is_mended_by_the_next_calls(scenario, monkeypatch):
    # A trace function can raise where no signal does, between the end of a `with` block and the call that leaves it.
    # The lock is held for good then: not the one that later tests take in other threads.
    monkeypatch.setattr(state, "_lock", threading.RLock())
    _calls()
    full = _copies()
    assert all(full)
    number = 0
    while True:
        number += 1
        interrupted = _interrupted_at(number, scenario)
        state.STATE.set(state.CLEAR)
        gc.collect()
        _calls()
        assert _copies() == full, f"interrupted at line {number}"
        if not interrupted:
            break
    assert number > 10


@pytest.mark.parametrize("emptied", [(2,), (1, 2), (0, 1, 2)])
def test_calls_fill_sets_that_they_find_empty(emptied):
    """The states in which an interrupt of `activate` and `fill_sets` can leave the sets."""
    full = _copies()
    for _ in range(2):  # The second time the plans for the types are known.
        for place in emptied:
            _SETS[place].clear()
        _calls()
        assert _copies() == full


def test_calls_under_a_mode_leave_them_empty():
    x = tl.ones(2)
    with _Passing():
        assert tl.add(x, x).tolist() == [2, 2]
        assert not any(_SETS)
    assert all(_SETS)
