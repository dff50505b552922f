"""Threads, interrupts, deep graphs and forks, with the core: a child process each, since what goes wrong may end it.

    python -m tests.native.stress threads 1000000
    python -m tests.native.stress interrupts 1000
    python -m tests.native.stress deep 1000000
    python -m tests.native.stress forks 100

Each program raises, hangs or ends its process where something is wrong.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import tensorlike as tl
from tensorlike.autograd import node
from tensorlike.autograd.engine import current_run
from tensorlike.dispatch.state import ALIVE, CLEAR, PLAIN, PLAIN_TYPES, STATE, TENSOR_TYPES, TENSORS

__all__ = ["PROGRAMS"]

THREADS = 16


class Plain(tl.Tensor):
    """A subclass that says nothing."""


class Passing(tl.Tensor):
    """A subclass that goes on."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs)


class Counting(tl.TorchFunctionMode):
    """A mode that counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def nothing_is_left() -> None:
    """Raise where a call has left something switched."""
    assert STATE.get() is CLEAR, "the State is not the one at the start"
    assert tl.is_grad_enabled()
    assert current_run() is None
    assert not [reference for reference in ALIVE if reference() is not None], "a mode is still on"
    assert PLAIN == PLAIN_TYPES, "the plain set is not filled"
    assert TENSORS == TENSOR_TYPES, "the set of plain tensors is not filled"
    found: list[bool] = []

    def take() -> None:
        found.append(node.accumulating.acquire(timeout=10))
        node.accumulating.release()

    # The lock is reentrant: another thread tells whether it is free.
    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert found == [True], "the lock of the accumulators is held"


# ---- threads


def _steps(shared: Any) -> list[Callable[[random.Random], None]]:
    """Return the calls of one thread: each checks its own result."""
    x, plain, passing = tl.tensor([1.0, 2.0, 3.0]), tl.ones(3).as_subclass(Plain), tl.ones(3).as_subclass(Passing)
    leaf = tl.ones(3, requires_grad=True)
    large = tl.ones(2000)

    def add(_: random.Random) -> None:
        assert (x + x)[2].item() == 6.0

    def classes(_: random.Random) -> None:
        assert type(plain + 1) is Plain
        assert type(tl.cat([x, passing])) is Passing

    def mode(draw: random.Random) -> None:
        with Counting() as counting:
            tl.add(x, x)
            assert tl.exp(plain).shape == (3,)
        assert counting.count > 1, counting.count

    def off(_: random.Random) -> None:
        with tl.no_grad():
            assert not (leaf * 2).requires_grad
        assert (leaf * 2).requires_grad

    def backward(_: random.Random) -> None:
        leaf.grad = None
        ((leaf * x).exp().log().sum() + leaf[0]).backward()
        assert abs(leaf.grad.sum().item() - 7.0) < 1e-5

    def common(_: random.Random) -> None:
        (shared * 2).sum().backward()

    def released(_: random.Random) -> None:
        assert (large * 2 + large).sum().item() == 6000.0

    def views(_: random.Random) -> None:
        y = x.clone().reshape(3, 1)
        y[1] += 5
        assert y.t()[0, 1].item() == 7.0

    def wrong(_: random.Random) -> None:
        try:
            x + tl.ones(7)
        except RuntimeError:
            return
        raise AssertionError("shapes that do not fit were added")

    return [add, add, add, classes, mode, off, backward, common, released, views, wrong]


def threads(count: int) -> None:
    """Make `count` calls in 16 threads."""
    former = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    shared = tl.ones(3, requires_grad=True)
    errors: list[BaseException] = []
    commons = [0] * THREADS

    def work(number: int) -> None:
        draw, steps = random.Random(number), _steps(shared)
        try:
            for _ in range(count // THREADS):
                step = draw.choice(steps)
                step(draw)
                commons[number] += step.__name__ == "common"
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    sys.setswitchinterval(former)
    if errors:
        raise errors[0]
    assert (shared.grad is None and not sum(commons)) or shared.grad.tolist() == [2.0 * sum(commons)] * 3
    nothing_is_left()


# ---- interrupts


def _program() -> None:
    """Calls of all kinds, under modes and none. Contexts are entered by the library alone, where it can guard them."""
    x = tl.tensor([1.0, 2.0, 3.0], requires_grad=True)
    plain, passing = tl.ones(3).as_subclass(Plain), tl.ones(3).as_subclass(Passing)
    y = x
    for _ in range(20):
        y = (y * 1.5 + x).tanh()
    (y.sum() + (plain * 2).sum().as_subclass(tl.Tensor) + tl.cat([y, x])[1:].mean()).backward()
    tl.autograd.grad((x * x).sum(), x, create_graph=True)[0].sum().backward()
    _ = passing + 1, tl.stack([passing, passing]), tl.exp(passing), x.detach().add_(1)
    tl.no_grad()(lambda: (x * 2).sum())()
    with contextlib.suppress(RuntimeError):
        tl.add(x, tl.ones(7))


class Interrupted(KeyboardInterrupt):
    """What a signal's handler raises."""


def interrupts(count: int) -> None:
    """Interrupt calls at `count` random moments: by signals, and by exceptions from another thread."""
    draw = random.Random(0)
    armed = False

    def handler(*_: Any) -> None:
        if armed:
            raise Interrupted

    signal.signal(signal.SIGALRM, handler)
    for _ in range(3):
        _program()
    begin = time.perf_counter()
    _program()
    length = time.perf_counter() - begin
    stopped = 0
    for _ in range(count):
        try:
            armed = True
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, draw.random() * length))
            while True:
                _program()
        except Interrupted:
            armed = False
            stopped += 1
        nothing_is_left()
    assert stopped == count

    here = threading.get_ident()
    raising = ctypes.pythonapi.PyThreadState_SetAsyncExc
    stopped = 0
    for _ in range(count // 4):
        delay = draw.random() * length
        go = threading.Event()

        def raise_there(delay: float = delay, go: threading.Event = go) -> None:
            go.wait()
            time.sleep(delay)
            raising(ctypes.c_ulong(here), ctypes.py_object(Interrupted))

        thread = threading.Thread(target=raise_there)
        thread.start()
        try:
            go.set()
            _program()
            while thread.is_alive():
                _program()
            for _ in range(1000):
                pass
        except Interrupted:
            stopped += 1
        while True:
            try:
                go.set()
                thread.join()
                raising(ctypes.c_ulong(here), None)
                break
            except Interrupted:
                stopped += 1
        nothing_is_left()
    assert stopped > count // 20, stopped
    _program()


# ---- deep graphs


class Own(tl.autograd.Function):
    """A custom Function whose context refers to its operand."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.before = x
        return x + 0

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def deep(count: int) -> None:
    """Build, run and free graphs of `count` nodes on a stack of 256 KB."""
    steps: list[tuple[int, Callable[[Any, Any], Any]]] = [
        (count, lambda y, x: y + x),
        (count // 4, lambda y, x: y * x),
        (count // 8, lambda y, x: y.reshape(1).reshape(())),
        (count // 8, lambda y, x: tl.cat([y.reshape(1), x.reshape(1)])[0]),
        (count // 16, lambda y, x: Own.apply(y)),
        (count // 16, lambda y, x: y.as_subclass(Plain) * 1),
    ]
    ended = []

    def work() -> None:
        for number, step in steps:
            for kept in (True, False):
                x = tl.ones((), requires_grad=True)
                y = x
                for _ in range(number if kept else number // 4):
                    y = step(y, x)
                if kept:
                    y.backward()
                    assert x.grad is not None
                del y
        ended.append(True)

    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    threading.stack_size(0)
    assert ended
    nothing_is_left()


# ---- forks


def forks(count: int) -> None:
    """Fork `count` times while other threads call; the child makes calls and runs a graph."""
    over = threading.Event()
    shared = tl.ones(3, requires_grad=True)

    def work() -> None:
        steps, draw = _steps(shared), random.Random(1)
        while not over.is_set():
            draw.choice(steps)(draw)

    started = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in started:
        thread.start()
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                faulthandler.dump_traceback_later(20, exit=True)
                status = 1
                try:
                    large = tl.ones(100_000) * 2
                    for step in _steps(tl.ones(3, requires_grad=True)):
                        step(random.Random(0))
                    assert large.sum().item() == 200_000.0
                    nothing_is_left()
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a child has failed"
    finally:
        over.set()
        for thread in started:
            thread.join()


PROGRAMS: dict[str, Callable[[int], None]] = {
    "threads": threads, "interrupts": interrupts, "deep": deep, "forks": forks,
}  # fmt: skip

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](int(sys.argv[2]))
    print(f"{sys.argv[1]}: done")
