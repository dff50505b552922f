"""The namespace of the array API standard: its functions ask types, modes and the graph as this library's own do."""

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import array_api as xp


class Unit(tl.Tensor):
    __tensor_attributes__ = ("unit",)


def metres(values):
    found = tl.tensor(values).as_subclass(Unit)
    found.unit = "m"
    return found


MATRIX = [[1.0, 4.0], [2.0, 3.0]]

CALLS = {
    "add": lambda x: xp.add(x, 1),
    "floor_divide": lambda x: xp.floor_divide(x, 2.0),
    "sum": lambda x: xp.sum(x, axis=0, keepdims=True),
    "prod": lambda x: xp.prod(x, axis=(0, 1)),
    "std": lambda x: xp.std(x, axis=1, correction=1),
    "clip": lambda x: xp.clip(x, 2.0, 3.0),
    "concat": lambda x: xp.concat([x, x], axis=None),
    "expand_dims": lambda x: xp.expand_dims(x, axis=-1),
    "take": lambda x: xp.take(x, xp.asarray([1, -1]), axis=0),
    "take_along_axis": lambda x: xp.take_along_axis(x, xp.asarray([[1], [0]]), axis=1),
    "where": lambda x: xp.where(xp.asarray(True), x, 0.0),
    "sort": lambda x: xp.sort(x, axis=1, descending=True),
    "cumulative_sum": lambda x: xp.cumulative_sum(x, axis=0, include_initial=True),
    "matmul": lambda x: xp.matmul(x, x),
    "vecdot": lambda x: xp.vecdot(x, x),
    "inv": lambda x: xp.linalg.inv(x),
    "fft": lambda x: xp.fft.fft(x, axis=0),
    "astype": lambda x: xp.astype(x, xp.float64),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_numpy_and_keep_the_type(name):
    found = CALLS[name](metres(MATRIX))
    assert (type(found), found.unit) == (Unit, "m")
    np.testing.assert_allclose(found.numpy(), of_numpy(name), rtol=1e-6)


def of_numpy(name):
    x = np.asarray(MATRIX, dtype=np.float32)
    return {
        "add": x + 1, "floor_divide": x // 2, "sum": x.sum(0, keepdims=True), "prod": x.prod(), "clip": x.clip(2, 3),
        "std": x.std(1, ddof=1), "concat": np.concat([x, x], axis=None), "expand_dims": x[..., None],
        "take": x.take([1, -1], axis=0), "where": x, "sort": -np.sort(-x, axis=1), "matmul": x @ x,
        "cumulative_sum": np.cumulative_sum(x, axis=0, include_initial=True), "vecdot": np.vecdot(x, x),
        "take_along_axis": np.take_along_axis(x, np.array([[1], [0]]), 1), "inv": np.linalg.inv(x),
        "fft": np.fft.fft(x, axis=0), "astype": x.astype(np.float64),
    }[name]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CALLS if name != "floor_divide"])
def test_gradients_go_through(name):
    x = tl.tensor(MATRIX, dtype=tl.float64, requires_grad=True)
    assert tl.autograd.gradcheck(CALLS[name], x)


def test_duck_types_and_modes_are_asked():
    seen = []

    class Duck:
        dtype, shape, device = tl.float32, (2,), tl.device("cpu")

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return "answered"

    assert xp.sin(Duck()) == "answered"
    assert xp.add(Duck(), tl.ones(2)) == "answered"
    assert seen == [tl.sin, tl.add]

    class Noted(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    seen.clear()
    with Noted():
        xp.sum(tl.ones(2))
    assert tl.sum in seen


class Money:
    """A tensor-like type that says nothing of its dtype and shape."""

    def __init__(self, cents):
        self.cents = cents

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in (tl.add, tl.mul, tl.sum, tl.prod, tl.all):
            return NotImplemented
        plain = [arg.cents if isinstance(arg, cls) else arg for arg in args]
        return cls(func(*plain, **(kwargs or {})))


def test_types_that_say_nothing_of_their_dtype():
    money = Money(tl.tensor([100, 250]))
    for found, expected in (
        (xp.add(money, money), [200, 500]), (xp.multiply(money, 2), [200, 500]), (xp.multiply(2, money), [200, 500]),
        (xp.sum(money), 350), (xp.prod(money), 25000), (xp.all(money), True), (xp.sum(money, axis=0), 350),
    ):  # fmt: skip
        assert found.cents.tolist() == expected
    with pytest.raises(TypeError, match="no implementation found for 'tensorlike.exp'"):
        xp.exp(money)


@pytest.mark.parametrize("wrong", ["a", None, [1.0, 2.0], np.ones(2)])
def test_what_is_no_operand_is_named(wrong):
    for call in (xp.add, xp.matmul, xp.floor_divide):
        with pytest.raises(
            TypeError, match=rf"{call.__name__}\(\): operand 2 must be an array .* {type(wrong).__name__};"
        ):
            call(xp.ones((2,)), wrong)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (xp.uint8, xp.int8, xp.int16), (xp.uint16, xp.uint8, xp.uint16), (xp.float32, xp.complex64, xp.complex64),
        (xp.float64, xp.complex64, xp.complex128), (xp.int64, xp.uint32, xp.int64), (xp.bool, xp.bool, xp.bool),
    ],
)  # fmt: skip
def test_promotion(one, two, expected):
    assert xp.result_type(one, two) is xp.result_type(two, one) is expected
    if expected is not xp.bool:
        # No array is weaker for having no dimensions.
        assert xp.add(xp.ones((), dtype=one), xp.ones((2,), dtype=two)).dtype is expected


@pytest.mark.parametrize(("one", "two"), [(xp.bool, xp.int8), (xp.uint64, xp.int8), (xp.int64, xp.float32)])
def test_promotion_that_the_standard_leaves_open_is_refused(one, two):
    with pytest.raises(TypeError, match="not promoted"):
        xp.add(xp.ones((2,), dtype=one), xp.ones((2,), dtype=two))


def test_numbers_follow_the_arrays():
    assert xp.multiply(2, xp.ones((2,), dtype=xp.uint8)).dtype is xp.uint8
    assert xp.multiply(xp.ones((2,), dtype=xp.float32), 1j).dtype is xp.complex64
    assert xp.sum(xp.ones((2,), dtype=xp.uint8)).dtype is xp.uint64


def test_wrong_arguments():
    x = xp.ones((2, 3))
    for error, call in (
        (ValueError, lambda: xp.squeeze(x, axis=0)),
        (IndexError, lambda: xp.sum(x, axis=2)),
        (ValueError, lambda: xp.take(x, xp.asarray([0]))),
        (ValueError, lambda: xp.nonzero(xp.asarray(1.0))),
        (ValueError, lambda: xp.reshape(x.T, (6,), copy=False)),
        (IndexError, lambda: xp.take(x, xp.asarray([0]), axis=4)),
        (ValueError, lambda: xp.concat([])),
        (ValueError, lambda: xp.stack([])),
        (ValueError, lambda: xp.arange(0, 5, 0)),
        (ValueError, lambda: xp.cumulative_sum(x)),
        (TypeError, lambda: xp.result_type()),
        (ValueError, lambda: xp.isdtype(xp.int8, "number")),
        (TypeError, lambda: xp.astype(xp.ones((2,), dtype=xp.complex64), xp.float32)),
        (ValueError, lambda: x.__array_namespace__(api_version="1999.1")),
        (ValueError, lambda: x.to_device("cpu", stream=1)),
    ):
        with pytest.raises(error):
            call()


def test_no_axes():
    x = xp.asarray([[-3.0, 4.0]])
    for found, expected in (
        (xp.sum(x, axis=()), x), (xp.prod(x, axis=()), x), (xp.mean(x, axis=()), x), (xp.max(x, axis=()), x),
        (xp.var(x, axis=()), xp.zeros_like(x)), (xp.all(x, axis=()), x != 0),
        (xp.linalg.vector_norm(x, axis=()), abs(x)),
    ):  # fmt: skip
        assert found.tolist() == expected.tolist()


def test_complex_ends():
    assert xp.linspace(0, 1j, 3, endpoint=False).tolist() == pytest.approx([0, 1j / 3, 2j / 3])
    assert xp.round(xp.asarray([0.5 + 1.5j])).tolist() == [0 + 2j]


def test_it_is_there_without_an_import_of_its_own():
    assert tl.array_api is xp


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.default_device() == tl.device("cpu")
    assert info.dtypes(kind="unsigned integer").keys() == {"uint8", "uint16", "uint32", "uint64"}
    assert info.default_dtypes()["real floating"] is xp.float32
    assert xp.finfo(xp.float32).dtype is xp.float32
    assert tl.ones(2).__array_namespace__(api_version="2025.12") is xp
