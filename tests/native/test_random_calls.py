"""Random calls of all functions are the same natively and in Python, and the program that says so would notice."""

import faulthandler
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _native
from tests.native.random_calls import (
    CLASSES,
    CONTEXTS,
    FORMS,
    LAYOUTS,
    Call,
    Name,
    Spec,
    compare,
    difference,
    draw,
    outcome,
    outcomes,
    program,
    python_of,
    shrink,
)

ROOT = Path(__file__).resolve().parents[2]
needs_core = pytest.mark.skipif(_native.core is None, reason=f"the native core is not used: {_native.reason}")


def differences(seeds: range, names: list[str], **options: Any) -> list[str]:
    return [f"{program(call)}\n{found}" for call, _, found in compare(seeds, names, **options) if found]


@needs_core
@pytest.mark.parametrize("part", range(4))
def test_random_calls_are_the_same_in_both_languages(part: int) -> None:
    assert differences(range(part * 800, (part + 1) * 800), []) == []


@needs_core
def test_random_calls_of_what_is_called_most_are_the_same_in_both_languages() -> None:
    names = ["add", "Tensor.__mul__", "Tensor.add_", "exp", "sum", "cat", "where", "Tensor.__getitem__", "matmul"]
    names += ["Tensor.sub", "Tensor.__setitem__", "Tensor.permute"]
    assert differences(range(1200), [f"tensorlike.{name}" for name in names]) == []


@needs_core
@pytest.mark.slow
def test_random_calls_are_the_same_in_a_process_without_the_core() -> None:
    assert differences(range(100_000, 104_000), [], against="pure") == []


def test_calls_are_varied_and_come_again_with_their_seed() -> None:
    calls = [draw(seed) for seed in range(3000)]
    assert [repr(call) for call in calls[:200]] == [repr(draw(seed)) for seed in range(200)]
    assert {call.context for call in calls} == {"", *CONTEXTS}
    specs = [spec for call in calls for spec in call.specs]
    assert {spec.layout for spec in specs} == set(LAYOUTS)
    assert {spec.cls for spec in specs} == {"Tensor", "array", *CLASSES}
    assert {spec.history for spec in specs} == {"", "leaf", "node", "inference"}
    assert {0, 64} <= {spec.values.ndim for spec in specs if spec.values is not None}
    assert len({call.name for call in calls}) > 0.7 * len(FORMS)
    ended = Counter(next(iter(outcome(call))) for call in calls[:300])
    assert ended["result"] > 100 < ended["result"] + ended["error"]


def test_layouts_are_what_they_are_called() -> None:
    values = np.arange(6.0).reshape(2, 3)
    built = {layout: Spec(values, layout).build()._tl_data for layout in LAYOUTS}
    assert built["F"].flags.f_contiguous
    assert built["strided"].strides == (48, 16)
    assert built["reversed"].strides == (24, -8)
    assert built["broadcast"].strides[0] == 0
    assert not built["misaligned"].flags.aligned
    assert not built["read-only"].flags.writeable
    assert built["swapped"].dtype == ">f8"
    assert Spec(values, "view").build()._base is not None
    for layout in set(LAYOUTS) - {"broadcast"}:
        np.testing.assert_array_equal(built[layout], values)


#: Lies of a function that adds, each of which must be noticed by the part of the outcome that it is about.
LIES = {
    "value": "result",
    "negative zero": "result",
    "dtype": "result",
    "strides": "result",
    "read-only": "result",
    "class": "result",
    "no history": "result",
    "saved version": "result",
    "same object": "result",
    "argument": "arguments",
    "version": "arguments",
    "reference": "references",
    "type not asked": "log",
    "error text": "error",
    "error type": "error",
    "warning": "warnings",
    "errstate": "errstate",
    "gradient": "gradients",
}
_KEPT: list[Any] = []


def liar(lie: str) -> Any:
    def multiply(a: Any, b: Any) -> Any:
        if lie == "errstate":
            np.seterr(all="raise")
        if lie == "type not asked":
            return tl.Tensor.as_subclass(tl.mul(*(tl.Tensor.as_subclass(x, tl.Tensor) for x in (a, b))), type(a))
        if lie in ("error text", "error type") and a.shape != b.shape:
            raise (RuntimeError if lie == "error text" else IndexError)("something")
        result = tl.mul(a, b)
        array = result._tl_data
        if lie == "value":
            array[0] += 1e-7
        elif lie == "negative zero":
            array[1] = 0.0
        elif lie == "dtype":
            result._tl_data = array.astype("float32")
        elif lie == "strides":
            result._tl_data = np.repeat(array, 2)[::2]
        elif lie == "read-only":
            array.flags.writeable = False
        elif lie == "class":
            result = result.as_subclass(tl.nn.Buffer)
        elif lie == "no history":
            result = result.detach()
        elif lie == "saved version":
            node = result._tl_edge[0]
            node._saved_input = (*node._saved_input[:2], node._saved_input[2] + 1)
        elif lie == "same object":
            return a
        elif lie == "argument":
            b._tl_data[0] = 7
        elif lie == "version":
            a._tl_counter = [3]
        elif lie == "reference":
            _KEPT.append(a)
        elif lie == "warning":
            import warnings

            warnings.warn("a lie", stacklevel=2)
        elif lie == "gradient":
            result._tl_edge[0]._saved_other[0][0] += 1
        return result

    return multiply


@pytest.mark.parametrize("lie", LIES)
def test_a_handler_that_lies_is_caught(lie: str) -> None:
    left, right = np.array([1.0, 0.0, 3.0]), np.array([2.0, -5.0, 4.0])
    specs = [Spec(left, history="leaf"), Spec(right, history="leaf")]
    if lie == "type not asked":
        specs = [Spec(left, cls="Logging"), Spec(right)]
    elif lie.startswith("error"):
        specs[1].values = np.ones(2)
    elif lie == "gradient":
        # The saved array is the argument itself, which is to stay as it is: the node of another tensor holds it.
        specs[1].history = "node"
    call = Call(0, "tensorlike.mul", (Name(0), Name(1)), {}, specs, "", lie == "gradient")
    with np.errstate():
        truth = outcome(call, python_of)
        assert difference(outcome(call), truth) == ""
        assert difference(outcome(call, lambda function: liar("none")), truth) == ""
        lied = outcome(call, lambda function: liar(lie))
    _KEPT.clear()
    assert difference(lied, truth)
    assert lied.get(LIES[lie]) != truth.get(LIES[lie])


def test_a_difference_is_made_small_and_printed_as_a_program() -> None:
    def lies_of_zeros(function: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            np.abs(result._tl_data, out=result._tl_data)
            return result

        return called

    specs = [Spec(np.array([[0.0, 1.0, 2.0]] * 3), "strided", history="leaf"), Spec(np.full((3, 3), -1.0), "F")]
    call = Call(5, "tensorlike.mul", (Name(0), Name(1)), {}, specs, "mode", False)

    def differs(other: Call) -> bool:
        return bool(difference(outcome(other, lies_of_zeros), outcome(other, python_of)))

    assert differs(call)
    small = shrink(call, differs)
    assert differs(small)
    assert (small.context, [s.layout for s in small.specs]) == ("", ["C", "C"])
    assert all(spec.values.size <= 1 for spec in small.specs)
    text = program(small)
    result = subprocess.run([sys.executable, "-W", "error", "-c", text], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    first, second = result.stdout.splitlines()
    assert first == second
    assert first.startswith("tensor(-")


def test_who_stops_asking_leaves_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[bool] = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda *args, **kwargs: waiting.append(True))
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", waiting.clear)
    assert next(outcomes(range(2), [], lambda function: function))
    assert not waiting
