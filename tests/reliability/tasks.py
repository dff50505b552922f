"""Threads, tasks and generators: what is switched in one holds there and nowhere else.

`python -m tests.reliability.tasks [--module torch] [--programs N]` checks random programs of nested contexts, run by
threads and asyncio tasks that take turns, against a model, and what outlives the block that it was started in.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import contextvars
import gc
import importlib
import json
import random
import sys
import threading
import warnings
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from .children import Report, in_children, one_child
from .probe import Probe

__all__ = ["CHECKS", "Expected", "Worker", "one", "programs"]


# The model.


@dataclass(frozen=True)
class Expected:
    """What holds somewhere: all there is to switch. A block makes another one of it, for its own length."""

    recording: bool = True
    inference: bool = False
    modes: tuple[str, ...] = ()
    subclasses: bool = True
    all: bool = True
    anomaly: bool = False
    packs: tuple[str, ...] = ()
    refused: bool = False

    def entered(self, block: str, name: str) -> Expected:
        """Return what holds in a block."""
        changes: dict[str, Any] = {
            "no_grad": {"recording": False},
            "enable_grad": {"recording": True},
            "inference_mode": {"recording": False, "inference": True},
            "mode": {"modes": (*self.modes, name)},
            "no subclasses": {"subclasses": False},
            "no functions": {"subclasses": False, "all": False},
            "anomaly": {"anomaly": True},
            "no anomaly": {"anomaly": False},
            "hooks": {"packs": (*self.packs, name)},
            "refused hooks": {"refused": True},
        }[block]
        return replace(self, **changes)

    def seen(self, left: Container[str] = ()) -> dict[str, Any]:
        """Return what `Worker.look` finds: the modes see a call from the innermost out, those in `left` do not."""
        modes = [name for name in reversed(self.modes) if name not in left] if self.all else []
        packs = [name for name in self.packs if name not in left]
        return {
            "recording": self.recording and not self.inference,
            "inference": self.inference,
            "anomaly": self.anomaly,
            # Plain and other operands must be seen by the same modes.
            "modes": [modes, modes + ["subclass"] * self.subclasses],
            "packs": packs[-1:] if self.recording and not self.inference else [],
        }


BLOCKS = (
    "no_grad", "enable_grad", "inference_mode", "mode", "no subclasses", "no functions", "anomaly", "no anomaly",
    "hooks", "refused hooks",
)  # fmt: skip


class Worker:
    """Runs programs with one library. What was called is noted by thread: the calls of a look are not interrupted."""

    def __init__(self, tl: Any, seed: int, *, tasks: bool) -> None:
        self.tl = tl
        self.chance = random.Random(seed)
        self.tasks = tasks
        self.local = threading.local()
        self.errors: list[str] = []
        self.looks = 0
        self.names = iter(range(1 << 30))
        #: The modes and hooks whose blocks have ended.
        self.left: set[str] = set()
        worker = self

        class Recording(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                worker.called("subclass")
                with tl._C.DisableTorchFunctionSubclass():
                    return func(*args, **(kwargs or {}))

        class Mode(tl.overrides.TorchFunctionMode):
            def __init__(self, name):
                super().__init__()
                self.name = name

            def __torch_function__(self, func, types, args=(), kwargs=None):
                worker.called(self.name)
                return func(*args, **(kwargs or {}))

        self.mode = Mode
        self.one = tl.ones(2)
        self.sub = tl.ones(2).as_subclass(Recording)
        self.leaf = tl.ones(2, requires_grad=True)

    def called(self, name: str) -> None:
        # Only what the look itself calls counts: modes see the library's other functions as well.
        if getattr(self.local, "log", None) is not None:
            self.local.log.append(name)

    def logged(self, call: Callable[[], Any]) -> list[str]:
        self.local.log = []
        call()
        log, self.local.log = self.local.log, None
        return log

    def look(self) -> dict[str, Any]:
        """Return what holds here and now."""
        tl = self.tl
        return {
            # What is recorded: libraries differ in what they call recording inside of inference mode.
            "recording": tl.mul(self.leaf, 2).requires_grad,
            "inference": tl.is_inference_mode_enabled(),
            "anomaly": tl.is_anomaly_enabled(),
            "modes": [self.logged(lambda: tl.add(self.one, 1)), self.logged(lambda: tl.add(self.sub, 1))],
            "packs": [name for name in self.logged(lambda: tl.exp(self.leaf)) if name.startswith("pack")],
        }

    def check(self, expected: Expected, where: str) -> None:
        self.looks += 1
        found, right = self.look(), expected.seen()
        # A task that outlives a block may keep what was switched there, or not.
        other = expected.seen(self.left)
        if not self.tasks:
            del right["anomaly"]  # PyTorch's anomaly mode is on in all threads.
        for key in right:
            if found[key] not in (right[key], other[key]):
                self.errors.append(f"{where}: {key} is {found[key]}, not {right[key]}")

    def block(self, kind: str, name: str) -> Any:
        tl = self.tl
        if kind == "mode":
            return self.mode(name)
        if kind == "hooks":
            return tl.autograd.graph.saved_tensors_hooks(lambda t: (self.called(name), t)[1], lambda t: t)
        return {
            "no_grad": tl.no_grad,
            "enable_grad": tl.enable_grad,
            "inference_mode": tl.inference_mode,
            "no subclasses": tl._C.DisableTorchFunctionSubclass,
            "no functions": tl._C.DisableTorchFunction,
            "anomaly": lambda: tl.autograd.set_detect_anomaly(True),
            "no anomaly": lambda: tl.autograd.set_detect_anomaly(False),
            "refused hooks": lambda: tl.autograd.graph.disable_saved_tensors_hooks("refused"),
        }[kind]()

    # A program is a coroutine that gives way between any two steps. Tasks run it on a loop, threads to its end.

    async def program(self, expected: Expected, depth: int, where: str, chance: random.Random) -> None:
        for _ in range(chance.randint(1, 3)):
            self.check(expected, where)
            await asyncio.sleep(0)
            step = chance.random()
            if depth and step < 0.7:
                await self.nested(expected, depth, where, chance)
            elif depth and step < 0.8:
                await self.thread(depth, where, chance)
            elif depth and step < 0.95 and self.tasks:
                # A task starts with what holds where it was made, and keeps that when the block has ended.
                task = asyncio.ensure_future(self.program(expected, depth - 1, f"{where} task", _child(chance)))
                self.local.tasks.append(task)
            self.check(expected, where)

    async def nested(self, expected: Expected, depth: int, where: str, chance: random.Random) -> None:
        kind = chance.choice(BLOCKS)
        name = f"{'pack' if kind == 'hooks' else 'mode'} {next(self.names)}"
        # Saved-tensor hooks refuse each other's switch, which is not what is looked at.
        if (kind == "hooks" and expected.refused) or (kind == "refused hooks" and expected.packs):
            return
        inner = expected.entered(kind, name)
        fails = chance.random() < 0.3
        with contextlib.suppress(_Left), self.block(kind, name):
            await self.program(inner, depth - 1, f"{where} {kind}", chance)
            if fails:
                raise _Left
        self.left.add(name)

    async def thread(self, depth: int, where: str, chance: random.Random) -> None:
        inner = _child(chance)
        thread = threading.Thread(target=lambda: self.run(depth - 1, f"{where} thread", inner))
        thread.start()
        # What is on meanwhile holds in this thread; the other one starts with nothing on.
        thread.join()

    def run(self, depth: int, where: str, chance: random.Random) -> None:
        """Run a program in this thread, and the tasks that it starts, to the end."""
        try:
            self.local.tasks = []

            async def main() -> None:
                await self.program(Expected(), depth, where, chance)
                while self.local.tasks:
                    await self.local.tasks.pop()

            asyncio.run(main())
        except BaseException as error:
            self.errors.append(f"{where}: {type(error).__name__}: {error}")


class _Left(Exception):
    """Ends a block by an error."""


def _child(chance: random.Random) -> random.Random:
    return random.Random(chance.random())


def programs(module: str, count: int, seed: int = 0, threads: int = 3) -> tuple[int, list[str]]:
    """Run random programs in `threads` threads at a time; return how often was looked, and what was not as expected.

    Tasks are part of them where state belongs to tasks; PyTorch's belongs to threads. A program after which something
    is still switched is the last one of its process.
    """
    tl = importlib.import_module(module)

    def work(start: int, report: Report) -> None:
        warnings.simplefilter("ignore")
        probe = Probe(tl)
        for number in range(start, count):
            report({"at": number})
            worker = Worker(tl, seed + number, tasks=module != "torch")
            chances = [_child(worker.chance) for _ in range(threads)]
            running = [
                threading.Thread(target=worker.run, args=(3, f"program {seed + number}", chance)) for chance in chances
            ]
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()
            wrong = probe() if number % 20 == 19 or worker.errors or number == count - 1 else []
            errors = worker.errors + [f"after program {seed + number}: {text}" for text in wrong]
            report({"looks": worker.looks, "errors": errors})
            if errors:
                return
        report({"last": True})

    looks, errors = 0, []
    for value in in_children(work, patience=60.0, limit=count):
        looks += value.get("looks", 0)
        errors += value.get("errors", [])
        if "died" in value:
            errors.append(f"program {value['at']}: the process died: {value['died']}")
    return looks, errors


# What outlives its block.

#: Single checks by name: functions of the library that return what is wrong.
CHECKS: dict[str, Callable[[Any], list[str]]] = {}


def check(function: Callable[[Any], list[str]]) -> Callable[[Any], list[str]]:
    CHECKS[function.__name__.replace("_", " ")] = function
    return function


def _alike(worker: Worker, name: str) -> list[str]:
    """Return how plain operands, subclasses, factories and operators differ in what modes they show."""
    tl = worker.tl
    seen = {
        "plain": worker.logged(lambda: tl.add(worker.one, 1)),
        "operator": worker.logged(lambda: worker.one + 1),
        "recorded": [s for s in worker.logged(lambda: tl.mul(worker.leaf, 2)) if not s.startswith("pack")],
        "subclass": [s for s in worker.logged(lambda: tl.add(worker.sub, 1)) if s != "subclass"],
        "factory": worker.logged(lambda: tl.ones(2)),
        "in place": worker.logged(lambda: worker.one.mul_(1)),
    }
    if any(value != seen["plain"] for value in seen.values()):
        return [f"{name}: the modes differ: {seen}"]
    return []


@check
def a_task_that_outlives_a_mode(tl: Any) -> list[str]:
    worker = Worker(tl, 0, tasks=True)
    wrong: list[str] = []

    async def outliving(started: asyncio.Event, go_on: asyncio.Event) -> None:
        wrong.extend(_alike(worker, "inside"))
        started.set()
        await go_on.wait()
        wrong.extend(_alike(worker, "after the block"))
        with worker.mode("inner"):
            wrong.extend(_alike(worker, "after the block, in a mode of its own"))
        wrong.extend(_alike(worker, "after the block and a mode of its own"))

    async def main() -> None:
        started, go_on = asyncio.Event(), asyncio.Event()
        with worker.mode("outer"):
            task = asyncio.ensure_future(outliving(started, go_on))
            await started.wait()
        if worker.logged(lambda: tl.add(worker.one, 1)):
            wrong.append("the mode is still on where it was left")
        go_on.set()
        await task
        wrong.extend(_alike(worker, "where the mode was left"))

    asyncio.run(main())
    return wrong + Probe(tl)()


@check
def a_task_that_outlives_no_grad(tl: Any) -> list[str]:
    wrong: list[str] = []
    leaf = tl.ones(2, requires_grad=True)
    sub = tl.ones(2).as_subclass(type("Sub", (tl.Tensor,), {}))

    async def outliving(go_on: asyncio.Event) -> None:
        await go_on.wait()
        recorded = {
            "is_grad_enabled()": tl.is_grad_enabled(), "plain": (leaf * 2).requires_grad,
            "subclass": (leaf * sub).requires_grad, "function": tl.exp(leaf).requires_grad,
        }  # fmt: skip
        if len(set(recorded.values())) != 1:
            wrong.append(f"after the block: {recorded}")

    async def main() -> None:
        go_on = asyncio.Event()
        with tl.no_grad():
            task = asyncio.ensure_future(outliving(go_on))
        go_on.set()
        await task
        if not tl.is_grad_enabled():
            wrong.append("recording is off where the block was left")

    asyncio.run(main())
    return wrong + Probe(tl)()


@check
def a_generator_closed_in_another_thread(tl: Any) -> list[str]:
    return _closed_elsewhere(tl, _in_thread)


@check
def a_generator_closed_in_another_context(tl: Any) -> list[str]:
    return _closed_elsewhere(tl, lambda call: contextvars.copy_context().run(call))


@check
def a_generator_started_in_another_context(tl: Any) -> list[str]:
    return _closed_elsewhere(tl, lambda call: call(), lambda call: contextvars.copy_context().run(call))


@check
def a_generator_started_in_another_thread(tl: Any) -> list[str]:
    return _closed_elsewhere(tl, lambda call: call(), _in_thread)


@check
def a_generator_that_is_collected(tl: Any) -> list[str]:
    def collect(call: Callable[[], Any]) -> None:
        gc.collect()

    return _closed_elsewhere(tl, collect, keep=False)


def _in_thread(call: Callable[[], Any]) -> Any:
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def _closed_elsewhere(
    tl: Any,
    closing: Callable[[Callable[[], Any]], Any],
    starting: Callable[[Callable[[], Any]], Any] = lambda call: call(),
    keep: bool = True,
) -> list[str]:
    worker = Worker(tl, 0, tasks=False)
    wrong: list[str] = []

    def generator() -> Any:
        with worker.mode("of the generator"):
            yield 1

    def close() -> None:
        if keep:
            running.close()
        wrong.extend(_alike(worker, "where it was closed"))
        if worker.logged(lambda: tl.add(worker.one, 1)):
            wrong.append("the mode is on where the generator was closed")

    running = generator()
    starting(lambda: next(running))
    if not keep:
        del running
    closing(close)
    wrong += _alike(worker, "where it was started")
    for name, seen in (("plain", lambda: tl.add(worker.one, 1)), ("subclass", lambda: tl.add(worker.sub, 1))):
        if "of the generator" in worker.logged(seen):
            wrong.append(f"the mode is still on for {name} operands where the generator was started")
    with worker.mode("next"):
        if worker.logged(lambda: tl.add(worker.one, 1)) != ["next"]:
            wrong.append("a mode entered afterwards sees more than itself")
    try:
        wrong += Probe(tl)()
    except RuntimeError as error:
        wrong.append(str(error))
    return wrong


@check
def asynchronous_generators_shut_down_by_the_loop(tl: Any) -> list[str]:
    worker = Worker(tl, 0, tasks=True)

    async def generator() -> Any:
        with worker.mode("of the generator"), tl.no_grad():
            yield 1
            yield 2

    async def main() -> None:
        async for _ in generator():
            break

    asyncio.run(main())
    return _alike(worker, "afterwards") + Probe(tl)()


@check
def a_pool_of_threads(tl: Any) -> list[str]:
    worker = Worker(tl, 0, tasks=False)
    wrong: list[str] = []

    def work(number: int) -> float:
        if worker.logged(lambda: tl.add(worker.one, 1)) or not tl.is_grad_enabled():
            wrong.append("a thread of a pool sees what holds where it was submitted")
        x = tl.full((50,), float(number), requires_grad=True)
        with worker.mode("of the worker") if number % 3 == 0 else contextlib.nullcontext():
            (x * x).sum().backward()
        return x.grad.sum().item()

    with ThreadPoolExecutor(4) as pool, worker.mode("outer"), tl.no_grad():
        found = list(pool.map(work, range(200)))
    if found != [100.0 * n for n in range(200)]:
        wrong.append("results are wrong")
    return wrong + Probe(tl)()


@check
def modes_in_one_thread_while_others_compute(tl: Any) -> list[str]:
    worker = Worker(tl, 0, tasks=False)
    wrong: list[str] = []
    ended = threading.Event()

    def switching() -> None:
        while not ended.is_set():
            with worker.mode("elsewhere"), tl.inference_mode():
                tl.ones(2) + 1

    def computing() -> None:
        for _ in range(300):
            x = tl.ones(4, requires_grad=True)
            y = (tl.cat([x, x * 2]) + worker.one[0].detach()).sum()
            if worker.logged(lambda: tl.add(worker.one, 1)):
                wrong.append("a mode of another thread was asked")
            y.backward()
            if x.grad.tolist() != [3.0] * 4 or y.is_inference():
                wrong.append("a result is wrong")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        switches = threading.Thread(target=switching)
        threads = [threading.Thread(target=computing) for _ in range(3)]
        for thread in (switches, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        ended.set()
        switches.join()
    finally:
        sys.setswitchinterval(interval)
    return wrong + Probe(tl)()


@check
def gradients_of_one_leaf_from_many_threads(tl: Any) -> list[str]:
    leaf = tl.zeros(3, requires_grad=True)
    count, threads = 100, 4

    def work() -> None:
        for _ in range(count):
            (leaf * 2).sum().backward()

    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    found = leaf.grad.tolist()
    return [] if found == [2.0 * count * threads] * 3 else [f"the gradient is {found}"]


@check
def draws_of_one_generator_from_many_threads(tl: Any) -> list[str]:
    generator = tl.Generator().manual_seed(1)
    expected = sorted(tl.empty(4000).uniform_(generator=generator).tolist())
    generator.manual_seed(1)
    found: list[float] = []

    def work() -> None:
        for _ in range(10):
            found.extend(tl.empty(100).uniform_(generator=generator).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Each number is drawn once, in whatever order. PyTorch's vectorised draws give other numbers for other sizes.
    if tl.__name__ == "torch":
        return [] if len(found) == 4000 else ["numbers are missing"]
    return [] if sorted(found) == expected else ["numbers were drawn twice or never"]


def one(module: str, name: str) -> list[str]:
    """Run one of the single checks in a child; return what is wrong."""

    def work(report: Report) -> None:
        warnings.simplefilter("ignore")
        # What a thread of the check raises is told here, not on standard error.
        threading.excepthook = lambda args: report({"wrong": [f"a thread raised {args.exc_type.__name__}"]})
        report({"wrong": CHECKS[name](importlib.import_module(module))})

    wrong: list[str] = []
    for value in one_child(work, 30.0):
        wrong += value.get("wrong", [])
        if value.get("end", "done") != "done":
            wrong.append(value["end"].splitlines()[-1])
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.tasks", description=__doc__.split("\n")[0])
    parser.add_argument("--module", default="tensorlike", help="the library: tensorlike, or torch")
    parser.add_argument("--programs", type=int, default=300, help="how many random programs")
    parser.add_argument("--check", action="append", help="a single check by name, instead of everything")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    module = options.module
    importlib.import_module(module)
    if options.json:
        found = {"looks": 0, "errors": []}
        if options.programs:
            found["looks"], found["errors"] = programs(module, options.programs)
        else:
            found["errors"] = [f"{name}: {text}" for name in options.check or CHECKS for text in one(module, name)]
        print(json.dumps(found))
        return 0
    failed = False
    for name in options.check or CHECKS:
        wrong = one(module, name)
        failed = failed or bool(wrong)
        print(f"{'FAILED' if wrong else 'ok    '} {name}", *wrong, sep="\n         ")
    if not options.check:
        looks, errors = programs(module, options.programs)
        print(f"{options.programs} programs, {looks} looks, {len(errors)} not as expected")
        for text in errors[:20]:
            print(f"    {text}")
        failed = failed or bool(errors)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
