"""Calls that no family of handlers answers are answered in C too, with one frame of Python: the kernel."""

import sys
import threading
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
import tensorlike.nn.functional as F
from tensorlike._native import core, paused
from tensorlike.dispatch.signature import MANY, ONE, POSITIONAL, Parameter
from tensorlike.operations import native_general
from tensorlike.tensor.declarations import calls, runtime
from tests.native import random_calls

pytestmark = pytest.mark.skipif(core is None, reason="the native core is not built, or switched off")

#: Primitives with a sample that Python's interpretation of calls answers: one has tensors on two devices, the other
#: more threads.
LEFT_TO_PYTHON = {"_tl_move", "bucketize"}


def files(call):
    """Return the files of the functions that a call runs in Python, the first one apart: that of the kernel."""
    call()
    found = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code is not call.__code__:
            found.append(Path(frame.f_code.co_filename).name)

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(former)
    return found[0], set(found[1:])


X = tl.tensor([[1.0, 2.0], [3.0, 0.5]])
CALLS = {
    "a kernel": lambda: tl.cumsum(X, 0),
    "by name": lambda: tl.argmax(X, dim=1, keepdim=True),
    "a method": lambda: X.cumsum(0),
    "several results": lambda: tl.sort(X, 1),
    "in place": lambda: X.clamp_(-9.0, 9.0),
    "a function": lambda: F.relu(X),
    "a function with options": lambda: F.gelu(X, approximate="tanh"),
    "a property": lambda: X.dtype,
    "a factory": lambda: tl.zeros(2, 3),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_runs_no_frame_but_those_of_its_kernel(name):
    first, others = files(CALLS[name])
    assert {first, *others}.isdisjoint(("wrap.py", "forms.py", "calls.py" if name != "in place" else ""))


def test_calls_of_samples_are_not_interpreted_in_python(monkeypatch):
    read = Counter()
    reading = calls._reading

    def watched(parameters, name):
        inner = reading(parameters, name)

        def note(values):
            read[name] += 1
            return inner(values)

        return note

    monkeypatch.setattr(calls, "_reading", watched)
    made = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (form, samples) in random_calls.FORMS.items():
            if samples is None or "float32" not in samples.dtypes:
                continue
            for sample in random_calls._samples(name, "float32")[:2]:
                try:
                    form.function(*sample.args, **sample.kwargs)
                except (RuntimeError, TypeError, NotImplementedError):  # An in-place form of other shapes.
                    continue
                made += 1
    assert made > 1000
    assert {name for name, count in read.items() if count} <= LEFT_TO_PYTHON


def test_what_a_kernel_raises_is_what_python_raises():
    with pytest.raises(RuntimeError, match=r"dot\(\)|1D tensors"):
        tl.dot(tl.ones(2, 2), tl.ones(2))
    with pytest.raises(IndexError, match="Dimension out of range"):
        tl.cumsum(X, 5)
    with pytest.raises(TypeError, match=r"argument 'descending'.* must be bool, not int"):
        tl.sort(X, descending=1)
    with pytest.raises(TypeError, match=r"cumsum\(\): argument 'dim'"):
        tl.cumsum(X, "a")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'dim'"):
        tl.cumsum(X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        tl.cumsum(X, 0, width=3)


def test_what_a_function_in_python_raises_is_explained():
    def call():
        F.layer_norm(X, (2,), None, None, "a")

    with pytest.raises(TypeError, match=r"argument 'eps'.* must be float, not str") as caught:
        call()
    with paused(), pytest.raises(TypeError) as in_python:
        call()
    assert str(caught.value) == str(in_python.value)
    assert caught.value.__context__ is in_python.value.__context__


def test_an_option_of_a_wrong_type_is_found_where_the_result_is_written():
    out = tl.empty(2, 2)
    with pytest.raises(TypeError, match=r"argument 'descending'"):
        tl.argsort(X, 0, 1)
    with pytest.warns(UserWarning, match="resized") as noted:
        tl.mul(X, X, out=tl.empty(3))
    assert len(noted) == 1  # A call that fails or warns behind its kernel is not made again.
    assert tl.cummax(X, 0, out=(out, tl.empty(2, 2, dtype=tl.int64)))[0] is out


@pytest.fixture
def kernel_function():
    """Return what makes a function of the core that a kernel of the test answers."""

    def make(kernel, *, places="1", promote=None, **options):
        made = core.Function(lambda *args: ("left", *args))
        core.binds(made, ("x", "y")[: len(places)], (0, 1)[: len(places)], (0,) * len(places), len(places), -1)
        given = {
            "spread": -1, "kernel": kernel, "namespace": np, "silent": runtime.silent, "promote": promote,
            "finish": lambda values, result, tracked: result, "write": None, "fit": lambda values: True, "packed": None,
            "differentiable": False, "copies": False, "finishes": True, "recording": None, "recorded": len(places),
            "records": False, "is_ufunc": False, "numbers": "-", "keeps_floats": False, "contiguous": True,
            "plain_result": False, "random": False, "elementwise": False, "order": tuple(range(len(places))),
            "options": (),
        }  # fmt: skip
        described = tuple((sort, False, False, False, "xy"[i], None) for i, sort in enumerate(places))
        core.attach_kernel(made, described, **(given | options))
        return made

    return make


def test_a_kernel_that_raises_is_left_to_python_and_an_interrupt_is_not(kernel_function):
    def failing(xp, x):
        raise error

    error = ValueError("no")
    function = kernel_function(failing)
    assert function(X) == ("left", X)
    error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        function(X)
    assert runtime.silent.run(lambda: 1) == 1  # The Context was left.


def test_a_random_kernel_is_not_run_again(kernel_function):
    runs = []

    def failing(xp, x):
        runs.append(1)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kernel_function(failing, random=True)(X)
    assert len(runs) == 1


@pytest.mark.parametrize(
    "result", [1.5, np.float32(2), True, 3, 1j, np.ones((2, 2)).T, np.ones((2, 3))[:, ::2]], ids=str
)
def test_the_result_of_a_kernel_becomes_a_contiguous_tensor(kernel_function, result):
    found = kernel_function(lambda xp, x: result)(X)
    assert type(found) is tl.Tensor
    assert found.is_contiguous()
    assert np.array_equal(found.numpy(), result)


@pytest.mark.parametrize("result", [None, "text", [1], {}], ids=str)
def test_what_is_no_array_is_left_to_python(kernel_function, result):
    assert kernel_function(lambda xp, x: result)(X)[0] == "left"
    assert kernel_function(lambda xp, x: (result,), packed=tuple)(X)[0] == "left"


@pytest.mark.parametrize("promoted", [[], [1], None], ids=str)
def test_a_promotion_that_loses_operands_is_left_to_python(kernel_function, promoted):
    def promote(xp, arrays):
        if promoted is None:
            raise ValueError("no")
        arrays[:] = promoted * 2

    function = kernel_function(lambda xp, x: x, promote=promote)
    assert function(X)[0] == "left"


def test_a_kernel_may_run_while_another_thread_is_in_its_context():
    found = []

    def run():
        for _ in range(200):
            found.append(float(tl.cumsum(X, 0)[1, 0]))  # noqa: PERF401 - while others do the same

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [4.0] * 800
    assert float(runtime.silent.run(lambda: tl.cumsum(X, 0))[1, 0]) == 4.0


def test_more_arguments_than_parameters_are_an_error():
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        tl.hypot(X, X, X)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        X.cumsum(0, tl.float64)


def test_an_operand_that_overlaps_with_what_is_written_is_refused():
    x = tl.arange(4.0)
    # While calls are recorded a view may have a history, and is written in Python.
    with tl.no_grad(), pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        x[1:].clamp_(x[:-1])
    with tl.no_grad(), pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        tl.clamp(x[:-1], x[:-1], out=x[1:])
    assert x.tolist() == [0, 1, 2, 3]
    assert x.clamp_(x, 2.0 * tl.ones(4)).tolist() == [0, 1, 2, 2]


def test_a_tensor_that_is_given_other_data_meanwhile_is_left_to_python(kernel_function):
    def replaced(xp, x):
        written._tl_data = 3.5
        return x * 2

    written = tl.ones(2)
    function = kernel_function(replaced, write=len, copies=True)
    assert function(written) == ("left", written)


def test_in_place_calls_look_at_what_they_write():
    x = tl.ones(2, 2)
    assert x.clamp_(0, 0.5) is x
    assert x._version == 1
    assert float(x.sum()) == 2.0
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        tl.ones(1).expand(3).sigmoid_()
    with tl.no_grad(), pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        tl.ones(3).as_strided((3,), (0,)).sigmoid_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        tl.ones(2, requires_grad=True).sigmoid_()
    with pytest.raises(RuntimeError, match="can't be cast"):
        tl.ones(2, dtype=tl.int64).clamp_(tl.tensor([0.5, 0.5]))
    with tl.inference_mode():
        made = tl.ones(2)
    with pytest.raises(RuntimeError, match="[Ii]nference"):
        made.sigmoid_()
    view = x[0]
    x.clamp_(max=0.25)
    assert view.tolist() == [0.25, 0.25]
    assert view._version == 2
    tracked = tl.ones(2, requires_grad=True) * 2
    tracked.clamp_(0, 1)
    assert tracked.grad_fn is not None


def test_modes_and_types_see_calls_that_c_would_answer():
    seen = []

    class Mode(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, args, kwargs

    duck = Duck()
    tl.cumsum(X, 0)  # The function is prepared.
    tl.nn.functional.gelu(X)
    with Mode():
        tl.cumsum(X, 0)
        tl.nn.functional.gelu(X)
        tl.zeros(2)
        X.dtype
    assert seen[:1] == ["cumsum"]
    assert "gelu" in seen
    assert "zeros" in seen
    assert seen[-1] == "__get__"
    assert tl.cumsum(duck, 0) == ("cumsum", (duck, 0), {})
    assert tl.cumsum(X, dim=duck) == ("cumsum", (X,), {"dim": duck})
    assert tl.nn.functional.gelu(X, approximate=duck)[0] == "gelu"
    assert tl.zeros(2, duck)[0] == "zeros"


def test_as_many_parameters_are_described_as_the_core_binds():
    made = core.Function(lambda *args: None)
    places = tuple(("a", False, False, False, f"p{i}", None) for i in range(native_general.MOST_PARAMETERS + 1))
    with pytest.raises(ValueError, match="parameters at most"):
        core.attach_python(made, places, 1, -1, len, None)
    core.attach_python(made, places[:-1], 1, -1, len, None)


def test_each_parameter_has_a_sort():
    form = tl.add._form
    assert native_general._place_of_python(Parameter("x", POSITIONAL, None, ONE, "Tensor"), form).sort == "1"
    assert native_general._place_of_python(Parameter("x", POSITIONAL, None, MANY, "Sequence[Tensor]"), form).sort == "*"
    place = native_general._place_of_python(Parameter("n", POSITIONAL, None, None, "int | str"), form)
    assert (place.sort, place.loose) == ("o", True)
    assert native_general._place_of_python(Parameter("f", POSITIONAL, None, None, "Callable"), form).sort == "a"
