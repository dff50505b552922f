"""A caught error keeps nothing alive: operands, graph and frames are gone with it, without the cyclic collector.

Every function of the registry is called wrongly in many ways, and in contexts of several kinds; then come backwards
that fail, and programs whose error is raised in code of the user. Note [Errors in no cycle] says how the library is
written for it.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tests.helpers.circles import Watched, collector_off, described, quick_collections, unreachable
from tests.helpers.error_programs import OWN, PROGRAMS, Raises, Refuses, UserError
from tests.helpers.gradients import outputs_of
from tests.helpers.rows import families, mutates, samples
from tests.helpers.values import array, mapped, tensors_in, wrapped

#: Programs whose error is an AttributeError; from the others that would be a fault of the program.
ATTRIBUTES = {"attribute_that_is_missing", "save_of_a_function", "gradgradcheck_answers"}

Attempt = Callable[[Watched], str | None]


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> Iterator[None]:
    with quick_collections("scipy.linalg", "scipy.special", "scipy.sparse.linalg", "concurrent.futures.thread"):
        yield


def raised_by(call: Callable[[], Any]) -> str | None:
    """Return the words of the error that `call` raises, or None; the error itself is dropped."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    return None


def held_by(attempt: Attempt) -> tuple[str | None, str]:
    """Return the error that `attempt` raises and what outlives it, "" for nothing. The collector must be off."""
    watched = Watched()
    words = attempt(watched)
    alive, left = watched.alive(), unreachable()
    if words is None or not (alive or left):
        return words, ""
    # What is made once and kept, a module or the code of a function, has been made now.
    watched = Watched()
    words = attempt(watched)
    alive, left = watched.alive(), unreachable()
    if not alive and not left:
        return words, ""
    return words, f"alive: {alive}; objects in cycles: {left}, of {described(lambda: attempt(Watched()))}"


def faults_of(attempts: list[tuple[str, Attempt]]) -> tuple[int, list[str]]:
    """Return how many of several attempts raise, and what is wrong with those whose error something outlives."""
    errors, clean = 0, True
    for _, attempt in attempts:
        watched = Watched()
        raised = attempt(watched) is not None
        errors += raised
        clean = clean and not (raised and watched.alive())
    if clean and not unreachable():
        return errors, []
    found = [(what, *held_by(attempt)) for what, attempt in attempts]
    return errors, [f"{what}, {words}: {held}" for what, words, held in found if held]


# --------------------------------------------------------------------------------------------------- wrong calls


class Mode(tl.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


#: What wrong calls are made in, by turns: each has frames of its own between the error and its catcher.
CONTEXTS: tuple[Callable[[], Any], ...] = (
    contextlib.nullcontext,
    tl.no_grad,
    tl.inference_mode,
    Mode,
    lambda: tl.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    tl.overrides.trace,
    tl.autograd.forward_ad.dual_level,
    lambda: tl.random.fork_rng(),
)

#: What stands in for an argument.
WRONG: tuple[Callable[[], Any], ...] = (
    object,
    lambda: None,
    lambda: "cuda:7",
    lambda: "none of that name",
    lambda: -1000,
    lambda: 1.5,
    lambda: (0, -9),
    lambda: [1, "x"],
    lambda: tl.float32,
    lambda: np.zeros((7, 2)),
    lambda: wrapped(np.zeros((7, 11, 13))),
    lambda: wrapped(np.zeros((0,), dtype=np.int64)),
    lambda: wrapped(np.zeros((2, 3), dtype=complex)),
    lambda: wrapped(np.zeros((2, 5), dtype=bool)),
    lambda: Raises(wrapped(np.zeros(3))),
    lambda: Refuses(wrapped(np.zeros(3))),
)
#: Options that many functions have, for those whose samples do not set them.
OPTIONS = ("out", "dim", "dtype", "device", "generator", "layout", "keepdim", "p", "eps", "reduction")


def wrong_calls(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield variations of a call, most of which raise: too few arguments, too many, and others in their place."""
    given = list(args)
    yield "too many", [*given, object()], kwargs
    yield "unknown keyword", given, {**kwargs, "nonsense": 1}
    for count in range(len(given)):
        yield f"only {count}", given[:count], kwargs
    for index in range(len(given)):
        for number, make in enumerate(WRONG):
            yield f"argument {index} is wrong {number}", [*given[:index], make(), *given[index + 1 :]], kwargs
    for name in kwargs:
        for number, make in enumerate(WRONG):
            yield f"{name} is wrong {number}", given, {**kwargs, name: make()}
    for name in OPTIONS:
        if name not in kwargs:
            for number in (0, 2, 4, 10, 13):
                yield f"{name} added, wrong {number}", given, {**kwargs, name: WRONG[number]()}


def copied(value: Any, watched: Watched, graph: bool) -> Any:
    """Return `value` with tensors that `watched` watches, with a graph behind them if asked for."""

    def copy(tensor: Any) -> Any:
        found = watched(wrapped(watched(array(tensor).copy())))
        if array(tensor).dtype.kind in "fc" and (tensor.requires_grad or graph):
            found.requires_grad_()
            if graph:
                found = watched(found * 1)
                watched(found.grad_fn)
        return found

    return mapped(value, copy)


def attempt_at(function: Any, context: Any, graph: bool, args: Any, kwargs: Any) -> Attempt:
    def attempt(watched: Watched) -> str | None:
        def call() -> None:
            given, named = copied(list(args), watched, graph), copied(kwargs, watched, graph)
            with context():
                function(*given, **named)

        return raised_by(call)

    return attempt


@pytest.mark.parametrize("name", families())
def test_wrong_calls(name: str, long_form: bool) -> None:
    attempts = []
    dtype = "float64" if "float64" in samples(name).dtypes else samples(name).dtypes[0]
    with warnings.catch_warnings(), collector_off():
        warnings.simplefilter("ignore")
        for row in families()[name]:
            given = samples(name).generate(dtype, requires_grad=True)
            for sample in given if long_form else given[:1]:
                for what, args, kwargs in wrong_calls(sample.args, sample.kwargs):
                    turn = len(attempts)
                    attempt = attempt_at(row.function, CONTEXTS[turn % len(CONTEXTS)], turn % 3 == 0, args, kwargs)
                    attempts.append((f"{row.full_name}{sample}, {what}", attempt))
        errors, faults = faults_of(attempts)
    assert not faults, f"{len(faults)} of {errors} errors hold memory, for example\n" + "\n".join(faults[:3])
    assert errors >= 10, f"{name}: only {errors} of {len(attempts)} calls raise"


# ------------------------------------------------------------------------------------------------- failing backwards


def fail(*args: Any) -> Any:
    raise UserError("no")


def _write(operands: list[Any]) -> None:
    for tensor in operands:
        tensor.detach().add_(1)


def backwards_that_fail(outputs: list[Any], operands: list[Any]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what goes wrong in the backward of a recorded call."""
    ones = [wrapped(np.ones_like(array(o))) for o in outputs]
    leaves = [t for t in operands if t.requires_grad]
    yield "misshapen", lambda: tl.autograd.grad(outputs, leaves, [wrapped(np.ones((3, 1, 4, 1, 5)))] * len(outputs))
    yield "twice", lambda: [tl.autograd.backward(outputs, ones) for _ in range(2)]
    yield "unused", lambda: tl.autograd.grad(outputs, wrapped(np.ones(3)).requires_grad_(), ones)
    yield "hook", lambda: (leaves[0].register_hook(fail), tl.autograd.backward(outputs, ones))
    yield "node", lambda: (outputs[0].grad_fn.register_hook(fail), tl.autograd.backward(outputs, ones))
    yield "written to", lambda: (_write(operands), _write(outputs), tl.autograd.backward(outputs, ones))


DIFFERENTIABLE = [name for name in families() if samples(name).gradcheck]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_failing_backwards(name: str, long_form: bool) -> None:
    row = families()[name][0]
    dtype = "float64" if "float64" in samples(name).dtypes else samples(name).dtypes[0]
    recorded = 0
    attempts = []
    with warnings.catch_warnings(), collector_off():
        warnings.simplefilter("ignore")
        for sample in samples(name).generate(dtype, requires_grad=True)[: None if long_form else 1]:
            for kind in range(6):

                def attempt(watched: Watched, sample: Any = sample, kind: int = kind) -> str | None:
                    nonlocal recorded
                    args, kwargs = copied([list(sample.args), sample.kwargs], watched, mutates(row))
                    tl.manual_seed(0)
                    result = row.function(*args, **kwargs)
                    outputs = [watched(o) for o in outputs_of(result) if o.grad_fn is not None]
                    operands = list(tensors_in([args, kwargs]))
                    if not outputs or not any(t.requires_grad for t in operands):
                        return None
                    recorded += 1
                    watched(outputs[0].grad_fn)
                    return raised_by(list(backwards_that_fail(outputs, operands))[kind][1])

                attempts.append((f"{row.full_name}{sample}, {kind}", attempt))
        errors, faults = faults_of(attempts)
    assert not faults, f"{len(faults)} of {errors} errors hold memory, for example\n" + "\n".join(faults[:3])
    assert errors or not recorded, f"{name}: no backward of {recorded} raises"


def test_there_are_failing_backwards() -> None:
    assert len(DIFFERENTIABLE) > 300


# ------------------------------------------------------------------------------------------------------- programs


@pytest.mark.parametrize("name", PROGRAMS | OWN)
def test_programs(name: str) -> None:
    program = (PROGRAMS | OWN)[name]
    counts = []

    def attempt(watched: Watched) -> str | None:
        words = raised_by(lambda: program(tl, watched))
        counts.append(len(watched))
        return words

    with warnings.catch_warnings(), collector_off():
        warnings.simplefilter("ignore")
        words, held = held_by(attempt)
    assert words is not None, "the program raises nothing"
    assert name in ATTRIBUTES or not words.startswith(("AttributeError", "NameError", "ImportError")), words
    assert min(counts) > 0, "the program has nothing watched"
    assert held == "", f"{words}: {held}"


def test_errors_of_parts_in_other_threads() -> None:
    """What a thread of the library raises while a large operation is cut over several."""
    from tensorlike.tensor.declarations import threads

    before = tl.get_num_threads()
    caller = threading.get_ident()
    places = set()

    def attempt(watched: Watched, ours: bool, theirs: bool) -> str | None:
        data = watched(np.ones(8))

        begun = threading.Event()

        def work(start: int, stop: int) -> None:
            here = threading.get_ident() == caller
            if here:
                begun.wait(10)  # Who is done with his own part takes what is left.
            begun.set()
            if ours if here else theirs:
                places.add("here" if here else "there")
                raise UserError(data[start:stop])

        return raised_by(lambda: threads.in_parts(work, 8, threads.LARGE))

    tl.set_num_threads(3)
    try:
        raised_by(lambda: threads.in_parts(lambda start, stop: None, 8, threads.LARGE))
        with collector_off():
            for ours, theirs in ((True, False), (False, True), (True, True)):
                words, held = held_by(lambda watched, a=ours, b=theirs: attempt(watched, a, b))
                assert words is not None
                assert words.startswith("UserError")
                assert held == ""
    finally:
        tl.set_num_threads(before)
    assert places == {"here", "there"}


# ------------------------------------------------------------------------------------------- the check itself


def _raises_its_argument(error: Exception) -> None:
    raise error


def test_an_error_in_a_cycle_is_found() -> None:
    def attempt(watched: Watched) -> str | None:
        def call() -> None:
            x = watched(tl.ones(3, requires_grad=True) * 2)
            watched(x.grad_fn)
            _raises_its_argument(ValueError("no"))

        return raised_by(call)

    with collector_off():
        words, held = held_by(attempt)
        errors, faults = faults_of([("quiet", lambda watched: None), ("circular", attempt)])
    assert errors == 1
    assert [fault.partition(": alive")[0] for fault in faults] == ["circular, ValueError: no"]
    assert words == "ValueError: no"
    assert "Tensor" in held
    assert "_raises_its_argument" in held
    assert "'frame'" in held


def test_an_error_that_is_kept_is_found() -> None:
    kept: list[BaseException] = []

    def attempt(watched: Watched) -> str | None:
        def call() -> None:
            x = watched(tl.ones(3))
            try:
                raise UserError(x.shape)
            except UserError as error:
                kept.append(error)
                raise

        return raised_by(call)

    with collector_off():
        words, held = held_by(attempt)
    assert words is not None
    assert held.startswith("alive: ['Tensor']; objects in cycles: 0")
    kept.clear()


def test_an_error_of_no_cycle_passes() -> None:
    def attempt(watched: Watched) -> str | None:
        return raised_by(lambda: tl.matmul(watched(tl.ones(2, 3)), watched(tl.ones(2, 3))))

    with collector_off():
        words, held = held_by(attempt)
    assert words is not None
    assert words.startswith("RuntimeError: matmul()")
    assert held == ""
