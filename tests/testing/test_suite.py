"""The conformance suite on types that are right, on one with every fault, and as pytest runs it; assert_close too."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from examples.scalar_tensor import ScalarTensor
from tensorlike.testing import TensorLikeSuite, TensorSubclassSuite, assert_close, make_tensor
from tensorlike.testing.suite_calls import suite_api

ROOT = Path(__file__).resolve().parents[2]


class Boxed:
    """A duck that holds a tensor, hands every call to it, and boxes what comes back."""

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        boxes = {}

        def opened(value):
            if isinstance(value, Boxed):
                boxes[id(value.inner)] = value
                return value.inner
            if isinstance(value, (list, tuple)):
                items = map(opened, value)
                return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
            return value

        def boxed(value):
            if isinstance(value, tl.Tensor):
                return boxes.get(id(value)) or cls(value)
            if isinstance(value, (list, tuple)) and not isinstance(value, tl.Size):
                items = map(boxed, value)
                return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
            return value

        return cls.answer(func, opened(args), {k: opened(v) for k, v in (kwargs or {}).items()}, args, boxed)

    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        return boxed(func(*args, **kwargs))


class BoxedSuite(TensorLikeSuite):
    gradients = True
    functions = ("add", "mul", "cat", "sum", "max", "exp", "Tensor.add", "Tensor.add_", "Tensor.__setitem__", "sort")
    kind = Boxed

    def make_operand(self, tensor):
        return self.kind(tensor)

    def to_dense(self, operand):
        return operand.inner


class TestBoxed(BoxedSuite):
    dtypes = ("float64", "int64")


class Marked(tl.Tensor):
    """A subclass that adds nothing."""


class TestMarked(TensorSubclassSuite):
    tensor_type = Marked
    functions = ("add", "Tensor.mul*", "nn.functional.relu", "cat", "linalg.norm", "Tensor.__getitem__")


class TestScalar(TensorLikeSuite):
    """A type that holds few tensors: the suite takes the value that it has made of each."""

    functions = ("add", "mean")
    plain_results = ("add", "mean")
    out = False
    known_gaps = {"add": "takes no alpha=", "mean": "the result is a float, and dim= is missing"}

    def make_operand(self, tensor):
        if tensor.ndim != 2 or tensor.numel() == 0:
            return NotImplemented
        return ScalarTensor(tensor.shape[1], float(tensor.diagonal().mean()))

    def to_dense(self, operand):
        return operand.tensor()


# Faults.


class TwiceOnTheRight(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        if func is tl.mul and not isinstance(given[0], cls):
            args = (args[0], args[1] * 2)
        return boxed(func(*args, **kwargs))


class RefusesOnTheRight(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        return boxed(func(*args, **kwargs)) if isinstance(given[0], cls) else NotImplemented


class LosesType(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        result = func(*args, **kwargs)
        return result if func is tl.exp else boxed(result)


class OffTogether(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        result = func(*args, **kwargs)
        return boxed(result + 1 if func is tl.add and all(isinstance(v, cls) for v in given[:2]) else result)


class CopiesInPlace(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        if func is tl.Tensor.add_:
            args = (args[0].clone(), *args[1:])
        return boxed(func(*args, **kwargs))


class NewFromInPlace(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        result = func(*args, **kwargs)
        return cls(result) if func is tl.Tensor.add_ else boxed(result)


class IgnoresOut(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        kwargs.pop("out", None)
        return boxed(func(*args, **kwargs))


class CutsHistory(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        result = func(*args, **kwargs)
        return boxed(result.detach() if func is tl.exp else result)


class WrongGradient(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        result = func(*args, **kwargs)
        return boxed(result + (args[0] - args[0].detach()) if func is tl.exp else result)


class LosesOnPickle(Boxed):
    def __reduce__(self):
        return Boxed, (self.inner,)


class SharesOnCopy(Boxed):
    def __deepcopy__(self, memo):
        return type(self)(self.inner)


class WrongKeyword(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        if func is tl.sum:
            kwargs.pop("keepdim", None)
        return boxed(func(*args, **kwargs))


class WrongDtype(Boxed):
    @classmethod
    def answer(cls, func, args, kwargs, given, boxed):
        result = func(*args, **kwargs)
        return boxed(result.to(tl.float64) if func is tl.exp else result)


FAULTS = [
    (TwiceOnTheRight, ["mixed mul-other", "gradient mul-other"], "expected"),
    (RefusesOnTheRight, ["mixed add-other", "mixed mul-other"], "no implementation found"),
    (LosesType, ["type exp-input"], "type lost"),
    (OffTogether, ["all_operands add"], "expected"),
    (CopiesInPlace, ["in_place Tensor.add_"], "writes a wrong value"),
    (NewFromInPlace, ["in_place Tensor.add_"], "returns another object"),
    (IgnoresOut, ["out add", "out mul", "out exp"], "out="),
    (CutsHistory, ["gradient exp-input"], "no history"),
    (WrongGradient, ["gradient exp-input"], "the gradient of exp"),
    (LosesOnPickle, ["pickle "], "type lost"),
    (SharesOnCopy, ["deepcopy "], "shares memory"),
    (WrongKeyword, ["value sum-input"], "shape"),
    (WrongDtype, ["value exp-input"], "dtype"),
]


def failures(suite):
    """The tests of a suite that fail, as (what, error)."""
    from tensorlike.testing.suite import _CHECKS, _NoSample

    found = {}
    for check in _CHECKS:
        for item in suite._items(check):
            try:
                suite._perform(item)
            except _NoSample:
                continue
            except Exception as error:
                found[f"{check} {item.id.removesuffix('-float32').removeprefix('tensorlike.')}"] = error
    return found


@pytest.mark.parametrize("kind, expected, words", FAULTS, ids=lambda v: getattr(v, "__name__", ""))
def test_every_fault_is_found(kind, expected, words):
    suite = type("TestFaulty", (BoxedSuite,), {"kind": kind})()
    found = failures(suite)
    for name in expected:
        matching = [key for key in found if key.startswith(name)]
        assert matching, f"{name} passes; what fails: {[*found]}"
        assert words in str(found[matching[0]]), str(found[matching[0]])


def test_the_type_without_faults_has_no_failure():
    assert failures(BoxedSuite()) == {}


def test_a_subclass_that_loses_its_type_and_attributes():
    class Lossy(tl.Tensor):
        unit = None

        def __reduce_ex__(self, protocol):
            return Marked, ([1.0],)

        def __deepcopy__(self, memo):
            found = tl.Tensor.__deepcopy__(self, memo)
            found.unit = "other"
            return found

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs)
            with tl.overrides.DisableTorchFunctionSubclass():
                return result.as_subclass(tl.Tensor) if func is tl.exp else result

    class Suite(TensorSubclassSuite):
        tensor_type = Lossy
        attributes = ("unit",)
        functions = ("exp", "mul")
        out = False

        def make_operand(self, tensor):
            made = super().make_operand(tensor)
            made.unit = "m"
            return made

    found = failures(Suite())
    assert {name.split()[0] for name in found} == {"type", "mixed", "pickle", "deepcopy", "program"}
    assert {name for name in found if name.startswith("program")} == {
        "program copying",
        "program pickling",
        "program saving",
    }
    [copied] = [error for name, error in found.items() if name.startswith("deepcopy")]
    assert "loses an attribute: unit is 'other', the operand had 'm'" in str(copied)


def test_what_an_author_forgets_is_said():
    with pytest.raises(NotImplementedError, match="must define make_operand"):
        type("TestBare", (TensorLikeSuite,), {})().test_round_trip("float32")
    with pytest.raises(NotImplementedError, match="must set tensor_type"):
        type("TestBare", (TensorSubclassSuite,), {})().test_round_trip("float32")
    with pytest.raises(ValueError, match="TestTypo: no overridable function matches 'lnalg"):
        list(type("TestTypo", (BoxedSuite,), {"functions": ("lnalg.*",)})()._items("value"))
    with pytest.raises(TypeError, match=r"TestText.functions is a sequence"):
        list(type("TestText", (BoxedSuite,), {"functions": "add"})()._items("value"))


def test_every_kind_of_operand_position_has_tests():
    ids = {item.id for check in ("value", "mixed") for item in BoxedSuite()._items(check)}
    assert {"tensorlike.mul-input-float32", "tensorlike.mul-other-float32", "tensorlike.cat-tensors-float32"} <= ids
    assert len(suite_api().table) > 900


GAPS = """
from tensorlike.testing import TensorLikeSuite
from tests.testing.test_suite import Boxed, LosesType, RefusesOnTheRight

class Base(TensorLikeSuite):
    functions = ("exp", "add")
    def make_operand(self, tensor):
        return self.kind(tensor)
    def to_dense(self, operand):
        return operand.inner

class TestOpen(Base):
    kind = LosesType
    known_gaps = {"type:exp": "the result is plain", "out:exp": "so is what out= returns"}

class TestWide(Base):
    kind = RefusesOnTheRight
    known_gaps = {"add": "not on the right"}

class TestClosed(Base):
    kind = Boxed
    known_gaps = {"type:exp": "the result is plain", "lnalg.*": "a typo", "pickle": "not yet"}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What pytest prints for three suites with known gaps: in one process and in two."""
    folder = tmp_path_factory.mktemp("suites")
    (folder / "test_gaps.py").write_text(textwrap.dedent(GAPS))
    path = str(ROOT)
    environment = {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "250"}
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "-rA", "test_gaps.py"]

    def run(*more):
        command_line = [*command, *more]
        done = subprocess.run(command_line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        return sorted(line for line in lines if line.startswith(("PASSED", "FAILED", "XFAIL", "SKIPPED"))), done.stdout

    return run


def test_known_gaps_as_pytest_reports_them(ran):
    lines, printed = ran()
    text = "\n".join(lines)
    assert "XFAIL test_gaps.py::TestOpen::test_type[tensorlike.exp-input-float32] - known gap 'type:exp'" in text
    assert "PASSED test_gaps.py::TestOpen::test_value[tensorlike.exp-input-float32]" in text
    assert "XFAIL test_gaps.py::TestWide::test_mixed[tensorlike.add-other-float32] - known gap 'add': not on" in text
    # One that passes while another test of its gap does not.
    assert "PASSED test_gaps.py::TestWide::test_mixed[tensorlike.add-input-float32]" in text
    failed = [line for line in lines if line.startswith("FAILED")]
    assert [line.split("::")[2].split(" ")[0] for line in failed] == [
        "test_known_gaps_match",
        "test_pickle[float32]",
        "test_type[tensorlike.exp-input-float32]",
    ], printed
    assert "is closed for exp: every test of it passes" in printed
    assert "matches none of the tests of TestClosed" in printed
    skipped = {line.rpartition(": ")[2] for line in lines if line.startswith("SKIPPED")}
    assert skipped == {"gradients = False", "no supported function has such a test"}


def test_the_workers_of_xdist_agree_on_the_tests(ran):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    one, two = ran("-p", "xdist", "-n2")[0], ran()[0]
    assert [line.partition(" - ")[0] for line in one] == [line.partition(" - ")[0] for line in two]


class TestAssertClose:
    def test_default_tolerances(self):
        one = tl.ones(2)
        assert_close(one, one + 1e-5)
        with pytest.raises(AssertionError, match=r"2 of 2 elements differ"):
            assert_close(one, one + 2e-5)
        assert_close(one.double(), one.double() + 1e-7)
        with pytest.raises(AssertionError, match=r"First: 1.0 at \(0,\)"):
            assert_close(one.double(), one.double() + 1e-6)
        with pytest.raises(AssertionError, match="Greatest absolute"):
            assert_close(tl.tensor([2**62]), tl.tensor([2**62 + 1]))

    @pytest.mark.parametrize(
        "actual, expected, options, words",
        [
            (tl.ones(2), tl.ones(3), {}, "shape"),
            (tl.ones(2), tl.ones(2).double(), {}, "dtype"),
            (tl.ones(2, 2), tl.ones(2, 2).t(), {"check_stride": True}, "stride"),
            (tl.tensor(np.nan), tl.tensor(np.nan), {}, "not close"),
            ([1], [1, 2], {}, "lengths"),
            ({"a": 1}, {"b": 1}, {}, r"missing \[\"'b'\"\]"),
            ([tl.ones(1), {"k": 1.0}], [tl.ones(1), {"k": 2.0}], {}, r"item \[1\]\['k'\]"),
            (None, 1, {}, "Only one is None"),
            (1, 1.0, {}, "types of the numbers"),
            (tl.ones(1), tl.zeros(1), {"msg": "mine"}, "^mine$"),
            (tl.ones(1), tl.zeros(1), {"msg": lambda text: "mine: " + text}, "^mine: The tensors"),
            (tl.ones(2).as_subclass(Marked), tl.ones(2), {"allow_subclasses": False}, "types differ"),
        ],
    )
    def test_differences(self, actual, expected, options, words):
        with pytest.raises(AssertionError, match=words):
            assert_close(actual, expected, **options)

    def test_what_is_close(self):
        assert_close(tl.tensor(np.nan), tl.tensor(np.nan), equal_nan=True)
        assert_close(tl.ones(2), tl.ones(2).double(), check_dtype=False)
        assert_close(tl.ones(2), tl.ones(2) + 0.5, rtol=0, atol=0.5)
        assert_close(np.ones(2), tl.ones(2).double())
        assert_close(tl.ones(2).as_subclass(Marked), tl.ones(2))
        assert_close(tl.ones(2, requires_grad=True), tl.ones(2))
        assert_close((None, 1j, [True]), [None, 1j, (True,)])

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="atol is missing"):
            assert_close(1, 1, rtol=0.1)
        with pytest.raises(ValueError, match="at least 0"):
            assert_close(1, 1, rtol=-0.1, atol=0)
        for pair in (("a", "a"), (1, tl.ones(1)), (tl.ones(1), [1.0])):
            with pytest.raises(TypeError, match="cannot compare"):
                assert_close(*pair)

    def test_types_are_asked_and_read_when_they_do_not_answer(self):
        assert_close(Boxed(tl.ones(2)), tl.ones(2))
        with pytest.raises(AssertionError, match="not close"):
            assert_close(tl.zeros(2), Boxed(tl.ones(2)))

        class Silent:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

            def __tensorlike_to_dense__(self):
                return tl.ones(2)

        assert_close(Silent(), tl.ones(2))
        with pytest.raises(AssertionError, match="not close"):
            assert_close(Silent(), tl.zeros(2))


class TestMakeTensor:
    @pytest.mark.parametrize("name", ["float32", "float64", "float16", "complex64", "int32", "uint8", "bool"])
    def test_dtypes_ranges_and_layout(self, name):
        dtype = getattr(tl, name)
        made = make_tensor(30, 4, dtype=dtype, noncontiguous=True)
        assert (made.dtype, tuple(made.shape), made.is_contiguous()) == (dtype, (30, 4), False)
        values = made._tl_data
        assert len(np.unique(values)) > (1 if name == "bool" else 5)
        if name not in ("bool", "complex64"):
            assert values.min() >= (0 if name == "uint8" else -9)
            assert values.max() < 10
        narrow = make_tensor((50,), dtype=dtype, low=0, high=2, exclude_zero=True)
        assert (narrow._tl_data != 0).all()

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="low must be less"):
            make_tensor(2, dtype=tl.float32, low=2, high=1)
        with pytest.warns(FutureWarning, match="low and high are equal"):
            assert make_tensor(2, dtype=tl.float32, low=1, high=1).tolist() == [1.0, 1.0]
        with pytest.raises(ValueError, match="requires_grad"):
            make_tensor(2, dtype=tl.int64, requires_grad=True)
        assert make_tensor(dtype=tl.float64, requires_grad=True).requires_grad

    def test_a_memory_format(self):
        made = make_tensor(2, 3, 4, 5, dtype=tl.float32, memory_format=tl.channels_last)
        assert made.shape == (2, 3, 4, 5)
        assert made.is_contiguous(memory_format=tl.channels_last)
        with pytest.raises(ValueError, match="exclude each other"):
            make_tensor(2, 3, 4, 5, dtype=tl.float32, memory_format=tl.channels_last, noncontiguous=True)


def test_copies_of_the_duck_are_what_the_suite_takes_them_for():
    one = Boxed(tl.ones(2))
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert_close(other.inner, one.inner)
        assert other.inner is not one.inner
