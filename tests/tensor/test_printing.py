"""Printing of raw arrays as tensors: literal texts, option handling, and behavior under threads and warnings."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.tensor.conversion import printing
from tensorlike.tensor.conversion.printing import (
    format_array,
    format_tensor,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_text,
)

DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def text(array: np.ndarray[Any, Any], **changes: Any) -> str:
    described: dict[str, Any] = {
        "dtype_name": array.dtype.name,
        "is_default_dtype": array.dtype.name in ("float32", "complex64"),
        "device": None,
        "requires_grad": False,
        "grad_fn_name": None,
    }
    return tensor_text(array, **(described | changes))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array(1.0), "1."),
        (np.array(-0.0), "-0."),
        (np.array(math.nan), "nan"),
        (np.array(7), "7"),
        (np.array(True), "True"),
        (np.array(1.5 - 2j), "1.5000-2.j"),
        (np.array([1.0, 2.0]), "[1., 2.]"),
        (np.array([1.0, -2.0, math.inf]), "[ 1., -2., inf]"),
        (np.array([0.5, 1.0, -1.0]), "[ 0.5000,  1.0000, -1.0000]"),
        (np.array([1e-5, 1.0]), "[1.0000e-05, 1.0000e+00]"),
        (np.array([1.0, 1001.5]), "[1.0000e+00, 1.0015e+03]"),
        (np.array([1.0, 1000.0]), "[   1., 1000.]"),
        (np.array([1e8]), "[100000000.]"),
        (np.array([2e8]), "[2.0000e+08]"),
        (np.array([True, False]), "[ True, False]"),
        (np.array([-5, 10, 2**62]), "[                 -5,                  10, 4611686018427387904]"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2],\n [3, 4]]"),
        (np.array([[[1], [2]], [[3], [4]]]), "[[[1],\n  [2]],\n\n [[3],\n  [4]]]"),
        (np.array([]), "[]"),
        (np.zeros((0, 3)), "[]"),
    ],
)
def test_elements(array: np.ndarray[Any, Any], expected: str) -> None:
    assert format_array(array) == expected


def test_summary() -> None:
    assert format_array(np.arange(1001)) == "[   0,    1,    2,  ...,  998,  999, 1000]"
    assert format_array(np.arange(1000)).count(",") == 999
    assert format_array(np.zeros((2, 501))) == "[[0., 0., 0.,  ..., 0., 0., 0.],\n [0., 0., 0.,  ..., 0., 0., 0.]]"
    rows = "[0., 0.]"
    assert format_array(np.zeros((501, 2))) == "[" + ",\n ".join([rows] * 3 + ["..."] + [rows] * 3) + "]"


def test_summary_looks_at_what_it_shows_only() -> None:
    values = np.ones(2000)
    values[1000] = 1e-9
    assert format_array(values) == "[1., 1., 1.,  ..., 1., 1., 1.]"


def test_summary_of_a_broadcast_view_does_not_make_it_real() -> None:
    view = np.broadcast_to(np.float64(1.0), (10**6, 10**6, 10**6))
    assert format_array(view).count("1.") == 6**3


def test_indent_moves_the_lines_after_the_first() -> None:
    assert format_array(np.array([[1, 2], [3, 4]]), indent=7) == "[[1, 2],\n        [3, 4]]"


def test_format_tensor_breaks_before_a_suffix_that_overflows() -> None:
    array = np.array([1.0, 2.0])
    assert format_tensor(array, suffixes=["a", "b"]) == "tensor([1., 2.], a, b)"
    long = "s" * 80
    broken = f"Masked([1., 2.],\n       {long},\n       b)"
    assert format_tensor(array, prefix="Masked(", suffixes=[long, "b"]) == broken
    assert format_tensor(array) == "tensor([1., 2.])"


@pytest.mark.parametrize(
    ("array", "changes", "expected"),
    [
        (np.ones(1, "float32"), {}, "tensor([1.])"),
        (np.ones(1, "float64"), {}, "tensor([1.], dtype=tensorlike.float64)"),
        (np.ones(1, "int64"), {}, "tensor([1])"),
        (np.ones(1, "int8"), {}, "tensor([1], dtype=tensorlike.int8)"),
        (np.ones(1, "float32"), {"requires_grad": True}, "tensor([1.], requires_grad=True)"),
        (
            np.ones(1, "float32"),
            {"requires_grad": True, "grad_fn_name": "MulBackward0"},
            "tensor([1.], grad_fn=<MulBackward0>)",
        ),
        (
            np.ones(1, "float64"),
            {"device": "cuda:0", "requires_grad": True},
            "tensor([1.], device='cuda:0', dtype=tensorlike.float64, requires_grad=True)",
        ),
        (np.ones((0,), "float32"), {}, "tensor([])"),
        (np.ones((0, 3), "float32"), {}, "tensor([], size=(0, 3))"),
        (np.ones((0,), "int64"), {}, "tensor([], dtype=tensorlike.int64)"),
        (np.ones((0,), "int64"), {"is_default_dtype": True}, "tensor([], dtype=tensorlike.int64)"),
        (np.ones((2, 3), "float32"), {"device": "meta"}, "tensor(..., device='meta', size=(2, 3))"),
        (np.zeros(1, "float32"), {"class_name": "SubTensor"}, "SubTensor([0.])"),
        (np.zeros(1, "float32"), {"is_parameter": True}, "tensor([0.])"),
        (np.zeros(1, "float32"), {"class_name": "Sub", "is_parameter": True}, "Parameter(Sub([0.]))"),
    ],
)
def test_tensor_text(array: np.ndarray[Any, Any], changes: dict[str, Any], expected: str) -> None:
    assert text(array, **changes) == expected


def test_options_default_and_profiles() -> None:
    assert get_printoptions() == DEFAULTS
    set_printoptions(profile="full")
    assert get_printoptions() == DEFAULTS | {"threshold": math.inf}
    set_printoptions(profile="short", precision=1)
    assert get_printoptions() == DEFAULTS | {"precision": 1, "edgeitems": 2}


def test_sci_mode_falls_back_when_it_is_not_given() -> None:
    set_printoptions(sci_mode=True)
    assert format_array(np.array([1.0])) == "[1.0000e+00]"
    set_printoptions(precision=2)
    assert get_printoptions() == DEFAULTS | {"precision": 2}


def test_the_dictionary_of_options_is_a_copy() -> None:
    get_printoptions()["precision"] = 9
    assert get_printoptions() == DEFAULTS


def test_printoptions_restores_after_an_exception() -> None:
    set_printoptions(sci_mode=True)
    before = get_printoptions()

    def fail_inside() -> None:
        with printoptions(precision=1, sci_mode=False):
            assert format_array(np.array([0.25])) == "[0.2]"
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert get_printoptions() == before


def test_an_unlimited_line_is_never_broken() -> None:
    with printoptions(linewidth=math.inf):
        assert "\n" not in text(np.arange(500.0), requires_grad=True)


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        ({"profile": "tiny"}, ValueError, "'tiny'"),
        ({"precision": 2.5}, ValueError, "precision"),
        ({"precision": -1}, ValueError, "precision"),
        ({"edgeitems": -1}, ValueError, "edgeitems"),
        ({"edgeitems": "3"}, TypeError, "edgeitems"),
        ({"threshold": "3"}, TypeError, "threshold"),
        ({"linewidth": math.nan}, ValueError, "linewidth"),
        ({"columns": 3}, TypeError, "columns"),
    ],
)
def test_wrong_options_are_refused_and_change_nothing(
    options: dict[str, Any], error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        set_printoptions(**({"precision": 9} | options))
    assert get_printoptions() == DEFAULTS
    with pytest.raises(error, match=named), printoptions(**options):
        pass
    assert get_printoptions() == DEFAULTS


def test_a_zero_dimensional_array_of_an_extension_dtype_survives_a_summary() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")
    with printoptions(threshold=0):
        assert format_array(np.array(1.5, dtype=ml_dtypes.bfloat16)) == "1.5000"


def test_no_warning_and_no_change_of_the_floating_point_state() -> None:
    signalling = np.array([0x7FA00000, 0x00000001, 0x7F7FFFFF], dtype=np.uint32).view(np.float32)
    extreme = np.array([5e-324, 1.7e308, -math.inf, math.nan])
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        state = np.geterr()
        assert format_array(signalling) == "[       nan, 1.4013e-45, 3.4028e+38]"
        assert format_array(extreme) == "[4.9407e-324, 1.7000e+308,        -inf,         nan]"
        assert format_array(extreme.astype(complex)).count("+0.j") == 4
        assert np.geterr() == state


def test_threads_see_one_consistent_set_of_options() -> None:
    array = np.array([0.123456789, 1.0])
    texts = {"[0.12, 1.00]", "[1.2346e-01, 1.0000e+00]", "[0.1235, 1.0000]"}
    seen: set[str] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add(format_array(array))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(300):
        set_printoptions(precision=2)
        set_printoptions(precision=4, sci_mode=True)
    stop.set()
    for reader in readers:
        reader.join()
    assert seen <= texts
    assert seen


def test_changes_from_two_threads_are_both_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    other = threading.Thread(target=set_printoptions, kwargs={"edgeitems": 5})

    def replace_while_another_thread_sets(options: Any, **changes: Any) -> Any:
        if "precision" in changes:
            # Between this thread's reading and writing of the options, where a change of the other would be lost.
            other.start()
            other.join(timeout=0.2)
        return replace(options, **changes)

    monkeypatch.setattr(printing, "replace", replace_while_another_thread_sets)
    set_printoptions(precision=2)
    other.join()
    assert get_printoptions() == DEFAULTS | {"precision": 2, "edgeitems": 5}


class Carrier(tl.Tensor):
    __tensor_attributes__ = ("unit", "table")


def test_the_text_of_a_subclass_shows_the_attributes_that_it_carries() -> None:
    x = Carrier([1.0, 4.0])
    assert repr(x) == "Carrier([1., 4.])"
    x.unit = "m"
    assert repr(x + 1) == "Carrier([2., 5.], unit='m')"
    x.table = tl.arange(100.0)
    assert repr(x).splitlines()[-1].startswith("        table=tensor([ 0.,  1.,")
    assert "..." in repr(x)


def test_a_tensor_prints_whatever_it_carries() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    x = Carrier([1.0])
    x.unit = Broken()
    assert repr(x) == "Carrier([1.], unit=<Broken>)"
