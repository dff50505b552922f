"""Logging: what the subclass follows, what the mode sees, errors, and values that stay as they are."""

import pytest

import tensorlike as tl
from examples.gallery.logging_tensor import Call, Log, LogCalls, LoggingTensor
from tensorlike.testing import TensorSubclassSuite


class TestSuite(TensorSubclassSuite):
    tensor_type = LoggingTensor
    functions = ("add", "matmul", "max", "cat", "Tensor.mul_", "linalg.inv")


def test_the_log_follows_the_data() -> None:
    log, other = Log(), Log()
    a = LoggingTensor.of([[1.0, 2.0], [3.0, 4.0]], log)
    b = tl.ones(2, 2) + a
    total, _ = b.max(dim=0)
    total.sum()
    assert [call.name for call in log.calls] == ["add", "max", "sum"]
    assert log.calls[1] == Call("max", ((2, 2),), ((2,), (2,)), log.calls[1].seconds)
    # Of two logs the one of the first operand has the call.
    a * LoggingTensor.of(tl.ones(2), other)
    assert (log.calls[-1].inputs, other.calls) == (((2, 2), (2,)), [])


def test_without_a_log_nothing_is_noted() -> None:
    x = tl.ones(2).as_subclass(LoggingTensor)
    assert type(x + 1) is LoggingTensor
    assert (x + 1).journal is None


def test_errors_are_noted_and_raised() -> None:
    log = Log()
    a = LoggingTensor.of(tl.ones(2, 2), log)
    with pytest.raises(RuntimeError):
        a @ tl.ones(3)
    assert str(log.calls[-1]) == "matmul: (2, 2) (3,) -> RuntimeError"


def test_properties_have_their_names() -> None:
    log = Log()
    assert LoggingTensor.of(tl.ones(2, 3), log).shape == (2, 3)
    assert [call.name for call in log.calls] == ["shape"]


def test_the_mode_sees_a_part_of_a_program() -> None:
    linear = tl.nn.Linear(3, 2)
    tl.ones(3)
    with LogCalls() as log:
        x = tl.ones(4, 3)
        linear(x).relu()
    tl.zeros(1)
    assert [str(call) for call in log.calls] == [
        "ones: no tensor -> (4, 3)",
        "linear: (4, 3) (2, 3) (2,) -> (4, 2)",
        "relu: (4, 2) -> (4, 2)",
    ]
    assert [(name, count) for name, count, _ in sorted(log.summary())] == [("linear", 1), ("ones", 1), ("relu", 1)]


def test_both_halves_at_once() -> None:
    journal = Log()
    with LogCalls() as log:
        LoggingTensor.of(tl.ones(2), journal).exp()
    assert [call.name for call in journal.calls] == ["exp"]
    assert "exp" in [call.name for call in log.calls]
