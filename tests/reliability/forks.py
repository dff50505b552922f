"""Forks while other threads compute: the child's ordinary calls must neither hang nor find what is not its own.

`python -m tests.reliability.forks [--module torch] [--parents N] [--forks N]` prints how many children failed, and in
which call.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import io
import json
import os
import random
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .children import Report, one_child
from .probe import Probe
from .scenarios import CALLED, SCENARIOS, SHARED, logging_mode, part

__all__ = ["KINDS", "Result", "measure"]

#: Elements of what is cut over threads.
LARGE = 1 << 20
#: How long a child may take for all its calls.
PATIENCE = 10.0
#: What a call with too few arguments may raise.
ERRORS = (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError, AttributeError, AssertionError)


@dataclass
class Result:
    """What happened to the children of one kind of parent."""

    kind: str
    children: int = 0
    hangs: list[str] = field(default_factory=list)
    #: Hangs in an import of Python's or NumPy's own, whose lock a thread held that is not in the child.
    imports: list[str] = field(default_factory=list)
    #: Children that ended and found something wrong.
    wrong: list[str] = field(default_factory=list)


def _draws(tl: Any) -> Callable[[], Any]:
    generator = SHARED[f"{tl.__name__} generator"]

    def draw() -> None:
        tl.rand(20000)
        tl.empty(20000).normal_(generator=generator)

    return draw


def _backward(tl: Any) -> Callable[[], Any]:
    shared = tl.ones(100, requires_grad=True)

    def backward() -> None:
        (shared.exp() * 2).sum().backward()

    return backward


def _modes(tl: Any) -> Callable[[], Any]:
    mode = logging_mode(tl, "of another thread")

    def modes() -> None:
        with mode, tl.no_grad():
            tl.ones(3) + 1
        with tl.inference_mode():
            tl.ones(3) + 1

    return modes


def _large(tl: Any) -> Callable[[], Any]:
    x = tl.ones(LARGE)
    return lambda: x + x


def unused(tl: Any) -> list[Callable[..., Any]]:
    """Return public functions in an order of their own, of which most were not called yet."""
    names = sorted(n for n in dir(tl.Tensor) if not n.startswith("_") and n not in ("backward", "share_memory_"))
    random.Random(0).shuffle(names)
    return [f for f in (getattr(tl.Tensor, n, None) for n in names) if callable(f)]


def _first_calls(tl: Any) -> Callable[[], Any]:
    functions = unused(tl)
    # The last hundred are left to the children.
    waiting = iter(functions[:-100])

    def first() -> None:
        function = next(waiting, None)
        if function is None:
            time.sleep(0.01)
            return
        # Most need further arguments, which they can say after their first call alone.
        with contextlib.suppress(*ERRORS):
            function(tl.ones(2, 2))

    return first


def _prints(tl: Any) -> Callable[[], Any]:
    x = tl.arange(100.0)

    def prints() -> None:
        repr(x)
        tl.set_printoptions(precision=4)

    return prints


#: What the threads of the parent do.
WORK = {
    "draws": _draws, "backward": _backward, "modes": _modes, "large work": _large, "first calls": _first_calls,
    "printing": _prints,
}  # fmt: skip
#: The kinds of parents: one for each work, and one whose threads do all of it.
KINDS = (*WORK, "all")


def ordinary_calls(tl: Any) -> list[tuple[str, Callable[[], Any]]]:
    """Return what a child does: pairs of a name and a call that returns whether its result is right."""

    def backward() -> bool:
        x = tl.ones(3, requires_grad=True)
        (x * x).sum().backward()
        return x.grad.tolist() == [2.0, 2.0, 2.0]

    def large() -> bool:
        x = tl.ones(LARGE)
        return (x + x).sum().item() == 2 * LARGE

    def first() -> bool:
        for function in unused(tl)[-20:]:
            with contextlib.suppress(*ERRORS):
                function(tl.ones(2, 2))
        return True

    def saved() -> bool:
        stream = io.BytesIO()
        tl.save({"x": tl.arange(3)}, stream)
        stream.seek(0)
        return tl.load(stream)["x"].tolist() == [0, 1, 2]

    def mode() -> bool:
        del CALLED[:]
        with logging_mode(tl, "of the child"):
            tl.ones(3) + 1
        tl.ones(3) + 1
        return set(CALLED) == {"of the child"}

    def printed() -> bool:
        tl.set_printoptions(precision=4)
        return "1." in repr(tl.ones(3))

    def threads() -> bool:
        right = []
        workers = [threading.Thread(target=lambda: right.append(backward())) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return right == [True, True]

    generator = SHARED[f"{tl.__name__} generator"]
    func = part(tl, "func")
    return [
        ("rand", lambda: tl.rand(3).shape == (3,)),
        ("a draw from a generator", lambda: tl.empty(3).normal_(generator=generator).shape == (3,)),
        ("manual_seed", lambda: tl.manual_seed(1) is not None),
        ("backward", backward),
        ("large work", large),
        ("first calls", first),
        ("save and load", saved),
        ("a mode", mode),
        ("printing", printed),
        ("vmap", lambda: func.vmap(lambda t: t * 2)(tl.ones(2)).tolist() == [2.0, 2.0]),
        ("threads", threads),
        ("set_num_threads", lambda: tl.set_num_threads(2) is None),
        ("large work again", large),
    ]


def _where(trace: Any) -> str:
    """Return where the main thread of a child hung: the last of those in the dump of `faulthandler`."""
    trace.seek(0)
    block = trace.read().rsplit("hread 0x", 1)[-1]
    lines = [line.strip().removeprefix("File ") for line in block.splitlines() if "File" in line]
    return " <- ".join(lines[:4])


def _watched(work: Callable[[Report], None], result: Callable[[str, str], None]) -> None:
    """Run `work` in a child, and hand `result` the kind ("hang" or "wrong") and the text of what is found."""
    at = ""
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as trace:

        def child(report: Report) -> None:
            faulthandler.dump_traceback_later(PATIENCE, exit=True, file=trace)
            work(report)
            faulthandler.cancel_dump_traceback_later()

        for value in one_child(child, PATIENCE + 5):
            if "call" in value:
                at = value["call"]
            elif "wrong" in value:
                result("wrong", value["wrong"])
            elif value["end"] != "done":
                where = _where(trace)
                result("hang" if where or value["end"] == "hang" else "wrong", f"{at}: {where or value['end']}")


def _ordinary(tl: Any) -> Callable[[Report], None]:
    def work(report: Report) -> None:
        for name, call in ordinary_calls(tl):
            report({"call": name})
            if not call():
                report({"wrong": name})
        report({"call": "the probe"})
        try:
            Probe(tl)
        except RuntimeError as error:
            report({"wrong": str(error)})

    return work


def parent(tl: Any, kinds: Sequence[str], forks: int, seed: int, report: Report) -> None:
    """Start the threads of `kinds`, fork `forks` times meanwhile, and report what became of the children."""
    warnings.simplefilter("ignore")  # Python 3.12 warns of forks while there are threads: that is what is tested.
    chance = random.Random(seed)
    SCENARIOS["random_draws"](tl)
    tl.set_num_threads(2)
    ended = threading.Event()

    def loop(work: Callable[[], Any]) -> None:
        while not ended.is_set():
            work()

    threads = [threading.Thread(target=loop, args=(WORK[kind](tl),), daemon=True) for kind in kinds]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # The child is forked in the middle of things more often.
    for thread in threads:
        thread.start()

    def fork() -> None:
        _watched(_ordinary(tl), lambda kind, text: report({kind: text}))

    for number in range(forks):
        time.sleep(chance.random() * 0.02)
        report({"child": number})
        if number % 4 == 1:
            with logging_mode(tl, "around the fork"), tl.no_grad():
                # The child finds the mode on, as its parent has it, and leaves it by ending.
                _inside(tl, report)
        elif number % 4 == 2:
            thread = threading.Thread(target=fork)
            thread.start()
            thread.join()
        elif number % 4 == 3:
            _in_hooks(tl, report)
        else:
            fork()
    ended.set()
    sys.setswitchinterval(interval)
    for thread in threads:
        thread.join(PATIENCE)


def _inside(tl: Any, report: Report) -> None:
    """Fork inside of a mode: the child sees it, and only it."""

    def work(tell: Report) -> None:
        tell({"call": "inside of a mode"})
        del CALLED[:]
        tl.ones(2) + 1
        if set(CALLED) != {"around the fork"} or tl.is_grad_enabled():
            tell({"wrong": f"the mode around the fork: {sorted(set(CALLED))}"})

    _watched(work, lambda kind, text: report({kind: text}))


def _in_hooks(tl: Any, report: Report) -> None:
    """Fork inside of calls of the library: a mode's handler and a hook of backward; the child goes on from there."""
    pids: list[int] = []
    reading, writing = os.pipe()
    trace = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed below, in this process alone
    first = os.getpid()

    def fork(*_: Any) -> None:
        if os.getpid() == first and len(pids) < 2:
            pid = os.fork()
            pids.append(pid)
            if not pid:
                faulthandler.dump_traceback_later(PATIENCE, exit=True, file=trace)

    class Forking(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            fork()
            return func(*args, **(kwargs or {}))

    status = 1
    text = b""
    try:
        x = tl.ones(3, requires_grad=True)
        with Forking():
            y = x * 2
        z = (y * y).sum()
        x.register_post_accumulate_grad_hook(fork)
        z.backward()
        if x.grad.tolist() != [8.0, 8.0, 8.0]:
            text = b"another gradient"
        if os.getpid() != first:
            Probe(tl)
            for name, call in ordinary_calls(tl):
                if not call():
                    text = name.encode()
        status = 0
    except BaseException as error:
        text = f"{type(error).__name__}: {error}".encode()
    if os.getpid() != first:
        os.write(writing, text)
        os._exit(status or bool(text))
    os.close(writing)
    report({"child": -1})  # two children in this turn
    for pid in pids:
        _, ended = os.waitpid(pid, 0)
        if ended:
            where = _where(trace)
            found = where or os.read(reading, 4096).decode()
            report({"hang" if where else "wrong": f"forked inside of a handler or hook: {found}"})
    os.close(reading)
    trace.close()
    if text:
        report({"wrong": f"the parent: {text.decode()}"})


def _foreign_import(where: str) -> bool:
    places = where.split(" <- ")
    while places and "<frozen importlib" in places[0]:
        places.pop(0)
    return len(places) < where.count(" <- ") + 1 and bool(places) and "/tensorlike/" not in places[0]


def measure(module: str, parents: int, forks: int = 8, seed: int = 0, only: Sequence[str] = KINDS) -> list[Result]:
    """Return what became of the children of `parents` processes for each kind of work, and of all kinds together."""
    tl = importlib.import_module(module)
    results = []
    for kind in only:
        result = Result(kind)
        results.append(result)
        kinds = list(WORK) if kind == "all" else [kind]
        for number in range(parents):
            for value in one_child(
                lambda report, number=number, kinds=kinds: parent(tl, kinds, forks, seed + number, report),  # type: ignore[misc]
                4 * PATIENCE,
            ):
                if "child" in value:
                    result.children += 1
                elif "hang" in value:
                    (result.imports if _foreign_import(value["hang"]) else result.hangs).append(value["hang"])
                elif "wrong" in value:
                    result.wrong.append(value["wrong"])
                elif value.get("end", "done") != "done":
                    result.wrong.append(f"the parent: {value['end']}")
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.forks", description=__doc__.split("\n")[0])
    parser.add_argument("--module", default="tensorlike", help="the library: tensorlike, or torch")
    parser.add_argument("--parents", type=int, default=1, help="how many parents for each kind of work")
    parser.add_argument("--forks", type=int, default=8, help="how often each of them forks")
    parser.add_argument("--kind", action="append", choices=KINDS, help="what the threads do; every kind without")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    failed = False
    if options.json:
        results = measure(options.module, options.parents, options.forks, only=options.kind or KINDS)
        print(json.dumps([vars(result) for result in results]))
        return 0
    for result in measure(options.module, options.parents, options.forks, only=options.kind or KINDS):
        print(
            f"{result.kind:12} children {result.children:5}  hangs {len(result.hangs):4}  "
            f"in imports of others {len(result.imports):4}  wrong {len(result.wrong):4}"
        )
        for kind in ("hangs", "imports", "wrong"):
            for text in sorted(set(getattr(result, kind))):
                print(f"     {kind}: {text}")
        failed = failed or bool(result.hangs or result.wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
