"""Tensors from arguments that are easily taken wrongly, beside PyTorch's: each line runs in both libraries.

Compared are dtype, shape, values and `requires_grad` of what a line returns, or the type of what it raises.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.oracle import torch_function
from tests.helpers.parity import quietly
from tests.helpers.rows import rows

LIBRARIES = (tl, torch)


def described(value: Any) -> Any:
    """Return what two values of different libraries are compared by."""
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        data = value.detach()
        elements = None if data.device.type == "meta" else repr(data.tolist())
        return "tensor", str(data.dtype).partition(".")[2], tuple(data.shape), elements, value.requires_grad
    if isinstance(value, (tuple, list)):
        return [described(item) for item in value]
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def outcome(library: Any, line: str) -> Any:
    """Return what a line gives in a library: a description, or the type of its error."""
    names = {"lib": library, "np": np, "inf": math.inf, "nan": math.nan, "sys": sys}
    try:
        return described(eval(line, names))
    except Exception as error:
        return type(error)


def assert_same(line: str) -> None:
    ours, theirs = (outcome(library, line) for library in LIBRARIES)
    assert ours == theirs, f"{line}: {ours}, PyTorch gives {theirs}"


# ------------------------------------------------------------------------------------------ polynomials of large degree

POLYNOMIALS = (
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
)  # fmt: skip


@pytest.mark.parametrize("degree", [1e9, 2.0**40, 1e19, 1e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_of_huge_degrees(name, degree):
    # Elements at which PyTorch does not take as many steps as the degree.
    x = [0.0, 0.0] if name.startswith("laguerre") else [-1.0, 1.0, 2.5, -3.0]
    ours, theirs = (
        getattr(library.special, name)(library.tensor(x, dtype=library.float64), degree).tolist()
        for library in LIBRARIES
    )
    assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "x"), [
    ("chebyshev_polynomial_t", 0.3), ("chebyshev_polynomial_u", -0.6), ("legendre_polynomial_p", 0.3),
    ("legendre_polynomial_p", -0.9999), ("laguerre_polynomial_l", 0.7), ("laguerre_polynomial_l", 30.0),
    ("laguerre_polynomial_l", -0.002), ("legendre_polynomial_p", 1.0000001),
])  # fmt: skip
def test_polynomials_between_small_and_huge_degrees(name, x, dtype):
    # PyTorch's recurrence loses digits in single precision: the expected value is that of double precision.
    expected = getattr(torch.special, name)(torch.tensor([x], dtype=torch.float64), 150_001).item()
    result = getattr(tl.special, name)(tl.tensor([x], dtype=tl.float64), 150_001).to(getattr(tl, dtype)).item()
    assert expected != 0
    assert result == pytest.approx(expected, rel=1e-4 if dtype == "float32" else 1e-5)


@pytest.mark.parametrize("degree", [129, 513, 10**6])
def test_hermite_polynomials_have_a_largest_degree(degree):
    for name in ("hermite_polynomial_h", "hermite_polynomial_he"):
        for dtype in ("float32", "float64"):
            ours, theirs = (
                math.isnan(
                    getattr(library.special, name)(library.tensor([40.0], dtype=getattr(library, dtype)), degree)
                )
                for library in LIBRARIES
            )
            assert ours == theirs


def test_a_number_that_overflows_in_the_dtype_of_the_tensor_is_infinite():
    assert_same("lib.atan2(lib.ones(2), 1e308)")
    assert_same("lib.xlogy(lib.ones(2), -1e308)")


# ---------------------------------------------------------------------------------------------------------- filled

FILL_VALUES = (
    "None", "'a'", "[1]", "(1, 2)", "object()", "np.array(2.0)", "np.float64(1)", "np.int32(1)", "10**400", "2**70",
    "2**64", "2**63", "-2**63 - 1", "300", "-1", "-0.0", "2.5", "True", "1e300", "1e5", "inf", "nan", "1j", "0.5 + 0j",
    "lib.tensor(2.0)", "lib.tensor(3)", "lib.tensor([2.0])", "lib.tensor([2.0, 3.0])",
)  # fmt: skip


@pytest.mark.parametrize("value", FILL_VALUES)
def test_fill_values(value):
    assert_same(f"lib.full((2,), {value})")
    for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64"):
        assert_same(f"lib.full((2,), {value}, dtype=lib.{dtype})")
        assert_same(f"lib.full_like(lib.ones(2, dtype=lib.{dtype}), {value})")
        assert_same(f"lib.ones(2, dtype=lib.{dtype}).new_full((2,), {value})")
        assert_same(f"lib.full((2,), {value}, out=lib.empty(2, dtype=lib.{dtype}))")


@pytest.mark.parametrize("call", ["full((2,), 2", "zeros(2", "ones(2", "eye(2", "linspace(0, 1, 3", "logspace(0, 1, 3",
                                  "arange(0, 3.32"])  # fmt: skip
def test_dtype_and_out_of_factories(call):
    for out in ("int64", "float32", "float64"):
        assert_same(f"lib.{call}, out=lib.empty(0, dtype=lib.{out}))")
        for dtype in ("int64", "float32"):
            assert_same(f"lib.{call}, out=lib.empty(0, dtype=lib.{out}), dtype=lib.{dtype})")


@pytest.mark.parametrize("line", [
    "lib.full((2,), np.bool_(True))", "lib.full((2,), np.bool_(False), dtype=lib.int64)", "lib.full((2,), True)",
    "lib.Tensor(size=(2, 3)).shape", "lib.Tensor(size=(3,)).shape", "lib.Tensor(size=()).shape",
    "lib.Tensor(size=[2, 1]).shape", "lib.Tensor(size=2)", "lib.Tensor(2, size=(1,))", "lib.Tensor(data=[1.0, 2.0])",
    "lib.Tensor(data=[1.0], size=(1,))", "lib.Tensor(shape=(2,))", "lib.Tensor(size=None)",
])  # fmt: skip
def test_numbers_of_numpy_and_keywords_of_tensors(line):
    assert_same(line)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn", "full", "randint"])
def test_sizes_by_keyword(name):
    more = {"full": ", fill_value=1", "randint": ", low=0, high=3"}.get(name, "")
    for size in ("(2, 3)", "[2]", "()", "lib.Size([4])", "2", "None", "lib.tensor(2)", "(2.0,)", "(-1,)"):
        assert_same(f"lib.{name}(size={size}{more}).shape")
        if f"new_{name}" in ("new_zeros", "new_ones", "new_empty", "new_full"):
            assert_same(f"lib.ones(2).new_{name}(size={size}{more}).shape")
    assert_same(f"lib.{name}(2, size=(2,)).shape")
    assert_same(f"lib.{name}()")
    assert_same(f"lib.{name}(2, foo=3)")


@pytest.mark.parametrize("line", [
    "lib.full(2, 3)", "lib.ones(2).new_full(2, 3)", "lib.ones(2).new_zeros()", "lib.zeros(None)",
    "lib.ones(6).resize_(size=(2, 3))", "lib.ones(6).tile(dims=(2,))", "lib.ones(2, 3).sum_to_size(size=(1, 3))",
    "lib.ones(6).view(size=(2, 3))", "lib.ones(6).reshape(shape=(2, 3))", "lib.ones(6).expand(size=(2, 6))",
    "lib.ones(6).repeat(repeats=(2,))", "lib.ones(6).permute(dims=(0,))", "lib.ones(6).permute(dims=0)",
    "lib.ones(6).reshape(shape=6)", "lib.ones(6).repeat(repeats=2)", "lib.ones(6).expand(size=6)",
    "lib.ones(6).tile(dims=2)", "lib.ones(6).flip(dims=0)", "lib.ones(6).resize_(size=6)",
])  # fmt: skip
def test_sizes_of_methods_by_keyword(line):
    assert_same(line)


# ---------------------------------------------------------------------------------------------------------- arange

NUMBERS = (0, 1, 5, -3, 0.5, 3.32, -1.5, True)
STEPS = (1, 2, -1, 0.3, 1.5, -0.7, 0, math.nan)


@pytest.mark.parametrize("dtype", [
    None, "bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
])  # fmt: skip
def test_arange_of_floats_and_integers(dtype):
    compared = 0
    for start in NUMBERS:
        for end in NUMBERS:
            for step in STEPS:
                found = []
                for library in LIBRARIES:
                    options = {} if dtype is None else {"dtype": getattr(library, dtype)}
                    try:
                        result = library.arange(start, end, step, **options)
                        found.append((str(result.dtype).partition(".")[2], result.tolist()))
                    except Exception as error:
                        found.append((type(error), []))
                (kind, ours), (their_kind, theirs) = found
                assert kind == their_kind, (start, end, step)
                assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-6), (start, end, step)
                compared += bool(theirs)
    assert compared > 100 or dtype in ("bool", "complex64")


@pytest.mark.parametrize("arguments", [
    "3.32, dtype=lib.int64", "-0.5, dtype=lib.int64", "0, 2**31, 2**30", "2**60, 2**60 + 5", "nan", "inf", "10**400",
    "2**64, 2**64 + 2", "0, 300, 100, dtype=lib.uint8", "0, 1, 0.3, dtype=lib.int64", "'a'", "None",
])  # fmt: skip
def test_arange_of_hostile_numbers(arguments):
    assert_same(f"lib.arange({arguments})")


# ---------------------------------------------------------------------------------------------------------- where, to


@pytest.mark.parametrize("numbers", [
    # A number together with `out=` is more than PyTorch takes.
    "1, 0", "1.0, 0", "True, False", "True, 2", "1j, 2", "1.5, True", "1, None",
    "lib.tensor(1), lib.tensor(0), out=lib.empty(2, dtype=lib.int64)",
])  # fmt: skip
def test_where_of_two_numbers(numbers):
    assert_same(f"lib.where(lib.tensor([True, False]), {numbers})")


@pytest.mark.parametrize("arguments", [
    "None", "None, None", "None, lib.float64", "None, None, True", "None, copy=True", "None, dtype=lib.float64", "",
    "device=None", "dtype=None",
])  # fmt: skip
def test_to_with_none(arguments):
    assert_same(f"lib.ones(2).to({arguments})")
    if "float64" not in arguments and "copy" not in arguments:
        for library in LIBRARIES:
            x = library.ones(2)
            assert eval(f"x.to({arguments})", {"x": x, "lib": library}) is x


# ------------------------------------------------------------------------------------------- numbers without tensors


@functools.cache
def functions() -> dict[str, tuple[Any, Any]]:
    """Return the functions that both libraries have, by name."""
    found = {}
    for row in rows():
        if row.kind in ("function", "alias"):
            name = f"{row.namespace}.{row.name}"
            theirs = torch_function(name.replace("tensorlike", "torch", 1))
            if theirs is not None:
                found[name] = (row.function, theirs)
    return found


@pytest.mark.parametrize("numbers", [(2.0,), (2,), (2, 3), (2.0, 3.0), (1, 0.5), (True, False)])
def test_functions_of_numbers_alone(numbers):
    assert len(functions()) > 500
    wrong = []
    for name, pair in functions().items():
        errors = []
        for function in pair:
            try:
                quietly(function, *numbers)
                errors.append(None)
            except Exception as error:
                errors.append(error)
        ours, theirs = errors
        # Where PyTorch has another error, it comes from a Python function that looks at its arguments later.
        if (ours is None) != (theirs is None) or (isinstance(theirs, TypeError) and not isinstance(ours, TypeError)):
            wrong.append((name, ours, theirs))
    assert wrong == []


# ------------------------------------------------------------------------------------------------ unique, DLPack, sizes


@pytest.mark.parametrize("call", [
    "unique(x)", "unique(x, return_inverse=True, return_counts=True)", "unique(x, dim=0)", "unique_consecutive(x)",
    "unique_consecutive(x, return_counts=True)", "unique(x.detach())", "unique(x).sum()", "unique(x * 2)",
    "unique(x).sum().backward()", "unique(x.to(lib.int64))",
])  # fmt: skip
def test_unique_of_what_requires_grad(call):
    assert_same("lib." + call.replace("(x", "(lib.tensor([2.0, 1.0, 1.0], requires_grad=True)"))


@pytest.mark.parametrize("line", [
    "lib.asarray(capsule)", "lib.asarray(capsule, dtype=lib.float64)", "lib.asarray(capsule, copy=True)",
    "lib.asarray(capsule, copy=False)", "lib.asarray(capsule, requires_grad=True)", "lib.from_dlpack(capsule)",
    "lib.from_dlpack(capsule, copy=True)", "lib.tensor(capsule)", "lib.as_tensor(capsule)", "lib.from_dlpack(3)",
    "[lib.asarray(capsule), lib.asarray(capsule)]",
])  # fmt: skip
def test_dlpack_capsules(line):
    found = []
    for library, capsule in ((tl, tl.to_dlpack(tl.ones(2))), (torch, torch.utils.dlpack.to_dlpack(torch.ones(2)))):
        try:
            found.append(described(eval(line, {"lib": library, "capsule": capsule})))
        except Exception as error:
            found.append(type(error))
    assert found[0] == found[1]


def test_asarray_shares_the_memory_of_a_capsule():
    for library, capsule_of in ((tl, tl.to_dlpack), (torch, torch.utils.dlpack.to_dlpack)):
        x = library.ones(2)
        y = library.asarray(capsule_of(x))
        x[0] = 5
        assert y.tolist() == [5.0, 1.0]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("storage", ["untyped_storage()", "storage()"])
def test_the_size_of_a_storage_counts_its_memory(storage):
    for library in LIBRARIES:
        sizes = [sys.getsizeof(eval(f"x.{storage}", {"x": library.ones(n)[3:]})) for n in (10, 1010)]
        assert sizes[1] - sizes[0] == 4000


# -------------------------------------------------------------------------------------------------- devices of a block

FACTORIES = (
    "ones(2)", "zeros(2)", "empty(2)", "full((2,), 1)", "rand(2)", "randn(2)", "randint(3, (2,))", "randperm(3)",
    "eye(2)", "arange(3)", "linspace(0, 1, 3)", "logspace(0, 1, 3)", "tensor([1])", "as_tensor([1])", "asarray([1])",
    "scalar_tensor(1)", "tril_indices(2, 2)", "hann_window(3)", "empty_strided((2,), (1,))", "fft.fftfreq(3)",
    "ones(2, device='cpu')", "tensor([1], device='cpu')", "ones(2, device=None)", "Tensor([1.0])",
    "from_numpy(np.ones(2))", "ones_like(host)", "host.new_zeros(2)", "host + 1", "signal.windows.cosine(3)",
)  # fmt: skip


def device_asked(library: Any, call: str, host: Any) -> str:
    """Return the type of the device that a call makes its tensor on; ours has nothing that makes any on "meta"."""
    try:
        return str(
            eval(
                f"lib.{call}" if "host." not in call and "host +" not in call else call,
                {"lib": library, "host": host, "np": np},
            ).device.type
        )
    except RuntimeError as error:
        return "meta" if "'meta'" in str(error) else str(error)


@pytest.mark.parametrize("call", FACTORIES)
def test_factories_follow_the_device_of_a_block(call):
    found = []
    for library in LIBRARIES:
        host = library.ones(2)
        with library.device("meta") as device:
            inside = device_asked(library, call, host), str(device), str(library.get_default_device())
            with library.device("cpu"):
                nested = device_asked(library, call, host), str(library.get_default_device())
            again = device_asked(library, call, host)
        after = device_asked(library, call, host), str(library.get_default_device())
        library.set_default_device("meta")
        try:
            default = device_asked(library, call, host), str(library.get_default_device())
            with library.device("cpu"):
                of_block = device_asked(library, call, host)
        finally:
            library.set_default_device(None)
        found.append((inside, nested, again, after, default, of_block, device_asked(library, call, host)))
    assert found[0] == found[1]


def test_the_device_of_a_block_is_left_by_an_error_and_not_seen_by_other_threads():
    def failing(library):
        with library.device("meta"):
            thread = threading.Thread(target=lambda: seen.append(str(library.get_default_device())))
            thread.start()
            thread.join()
            raise ZeroDivisionError

    for library in LIBRARIES:
        seen: list[str] = []
        with pytest.raises(ZeroDivisionError):
            failing(library)
        assert seen == ["cpu"]
        assert str(library.get_default_device()) == "cpu"
        assert library.ones(1).device.type == "cpu"


@pytest.mark.parametrize("wrong", ["nowhere", "cpu:", object()])
def test_a_default_device_that_is_none(wrong):
    errors = []
    for library in LIBRARIES:
        with pytest.raises((RuntimeError, TypeError)) as caught:
            library.set_default_device(wrong)
        errors.append(caught.type)
        assert str(library.get_default_device()) == "cpu"
    assert errors[0] is errors[1]


def numbers_of_all_kinds(library):
    """Return numbers by name: Python's, NumPy's, and the only elements of tensors."""
    sizes = ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "complex64", "complex128")
    return {
        "int": 1,
        "float": 1.5,
        "bool": True,
        "complex": 1j,
        **{f"numpy.{name}": np.dtype(name).type(1) for name in sizes},
        **{
            f"tensor of {name}": library.tensor(1, dtype=getattr(library, name))
            for name in (*sizes, "bool", "bfloat16")
        },
        "tensor with a dimension": library.ones(1),
    }


def test_the_dtype_of_a_list_with_numbers_of_several_kinds():
    """A list's dtype is promoted from those of its items: Python's and NumPy's numbers, and tensors of one element."""
    theirs, ours = numbers_of_all_kinds(torch), numbers_of_all_kinds(tl)
    assert quietly(torch.tensor, [1.0, theirs["tensor of float32"]]).dtype is torch.float32
    for first in theirs:
        for second in theirs:
            expected = quietly(torch.tensor, [[theirs[first]], [theirs[second]]])
            assert described(tl.tensor([[ours[first]], [ours[second]]])) == described(expected), (first, second)
