"""Every printed tensor against the text PyTorch prints for the same elements, options and flags."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tensorlike.tensor.conversion.printing import get_printoptions, printoptions, set_printoptions, tensor_text

torch = pytest.importorskip("torch", reason="PyTorch is what the printed text is compared with")

FLOATS = ["float16", "float32", "float64"]
COMPLEXES = ["complex64", "complex128"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DEFAULT_DTYPES = ("float32", "complex64")

SHAPES: list[tuple[int, ...]] = [
    (),
    (1,),
    (5,),
    (30,),
    (1001,),
    (2, 3),
    (12, 25),
    (40, 40),
    (3, 400),
    (2, 2, 2),
    (3, 1, 30),
    (8, 9, 20),
    (1, 2, 1, 3, 2),
    (7, 2, 8, 2, 7),
]
EMPTY_SHAPES: list[tuple[int, ...]] = [(0,), (0, 3), (2, 0), (1, 0, 4), (0, 0)]

# Each list of values is drawn from at random, so that a tensor mixes them.
FLOAT_VALUES: dict[str, list[float]] = {
    "zeros": [0.0, -0.0],
    "whole": [0.0, 1.0, -2.0, 17.0, 900.0],
    "whole_wide": [1.0, -1500.0, 60000.0],
    "fractions": [0.5, -0.25, 3.14159, 2.0, 0.0],
    "tiny": [1e-5, -3e-6, 0.0],
    "at_the_limit": [1e-4, 0.1, 0.05],
    "huge": [1e8, 1.0000001e8, -2e9, 1e30],
    "ratio_of_a_thousand": [0.05, 50.0],
    "ratio_above_a_thousand": [0.05, 50.5, -1.0],
    "mixed": [1e-7, 1.5, -12345.678, 0.0, 3.0],
    "whole_not_finite": [1.0, -20.0, math.nan, math.inf, -math.inf],
    "mixed_not_finite": [0.125, -20.0, math.nan, math.inf, -math.inf, 1e-3],
    "scientific_not_finite": [1e-6, 1e3, math.nan, -math.inf, -0.0],
    "only_not_finite": [math.nan, math.inf, -math.inf],
    "rounding": [0.00005, 0.99995, 9.99995, 99.99995, 0.12345],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "precision_0": {"precision": 0},
    "precision_9": {"precision": 9},
    "scientific": {"sci_mode": True},
    "not_scientific": {"sci_mode": False},
    "narrow": {"linewidth": 24},
    "narrower_than_an_element": {"linewidth": 3},
    "wide": {"linewidth": 200},
    "summarizes_early": {"threshold": 5},
    "summarizes_all": {"threshold": 0, "edgeitems": 1},
    "one_edge_item": {"threshold": 10, "edgeitems": 1},
    "no_edge_items": {"edgeitems": 0, "threshold": 10},
    "many_edge_items": {"edgeitems": 20},
    "short": {"profile": "short"},
    "full": {"profile": "full"},
    "short_scientific": {"profile": "short", "precision": 1, "sci_mode": True},
}

Case = tuple[str, np.ndarray[Any, Any], dict[str, Any]]


def filled(rng: np.random.Generator, values: list[float], shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        if dtype.startswith("complex"):
            array = np.empty(shape, dtype)
            array.real = rng.choice(values, shape)
            array.imag = rng.choice(values, shape)
            return array
        return np.asarray(rng.choice(values, shape)).astype(dtype)


def extremes(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    limits = np.iinfo(dtype)
    return np.asarray(rng.choice(np.array([limits.min, 0, 1, limits.max], dtype=dtype), shape))


def build_cases() -> list[Case]:
    rng = np.random.default_rng(20240607)
    cases: list[Case] = []

    def add(label: str, array: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
        cases.append((f"{len(cases):03d}-{label}-{array.dtype}-{'x'.join(map(str, array.shape))}", array, options))

    for shape in SHAPES:
        for dtype in FLOATS + COMPLEXES:
            add("mixed", filled(rng, FLOAT_VALUES["mixed_not_finite"], shape, dtype), {})
        add("bool", np.asarray(rng.integers(0, 2, shape)).astype(bool), {})
        add("normal", np.asarray(rng.standard_normal(shape), dtype="float32"), {})
    for label, values in FLOAT_VALUES.items():
        for dtype in FLOATS + COMPLEXES:
            add(label, filled(rng, values, (4, 6), dtype), {})
        add(label, filled(rng, values, (), "float32"), {})
    for dtype in INTEGERS:
        for shape in ((), (30,), (4, 5), (3, 500)):
            add("extremes", extremes(rng, shape, dtype), {})
        add("small", np.asarray(rng.integers(0, 12, (3, 4))).astype(dtype), {})
    for shape in EMPTY_SHAPES:
        for dtype in ["float32", "float64", "int64", "int32", "bool", "complex64", "complex128"]:
            add("empty", np.empty(shape, dtype), {})
    for label, options in OPTIONS.items():
        for shape in ((), (12,), (5, 9), (3, 8, 8), (1200,)):
            add(label, filled(rng, FLOAT_VALUES["fractions"], shape, "float32"), options)
        add(label, filled(rng, FLOAT_VALUES["scientific_not_finite"], (4, 8), "float64"), options)
        add(label, filled(rng, FLOAT_VALUES["whole_not_finite"], (4, 8), "complex64"), options)
        add(label, extremes(rng, (4, 8), "int16"), options)
        add(label, np.empty((0, 2), "float32"), options)
    for _ in range(60):
        shape = tuple(int(size) for size in rng.integers(1, 9, rng.integers(0, 5)))
        exponents = rng.uniform(-6, 9) * rng.random(shape)
        add("random", np.asarray(rng.standard_normal(shape) * 10.0**exponents, dtype=rng.choice(FLOATS[1:])), {})
    return cases


CASES = build_cases()


@pytest.fixture(autouse=True)
def named_as_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make PyTorch call its dtypes `tensorlike.X` before it decides where lines break.

    Replacing the name in the finished text would not do: the longer name can move a line break.
    """
    add_suffixes = torch._tensor_str._add_suffixes

    def add_renamed_suffixes(text: str, suffixes: list[str], *rest: Any, **options: Any) -> str:
        renamed = [suffix.replace("dtype=torch.", "dtype=tensorlike.") for suffix in suffixes]
        return str(add_suffixes(text, renamed, *rest, **options))

    monkeypatch.setattr(torch._tensor_str, "_add_suffixes", add_renamed_suffixes)


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    set_printoptions(profile="default")
    torch.set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")
    torch.set_printoptions(profile="default")


def own_text(array: np.ndarray[Any, Any], **changes: Any) -> str:
    described: dict[str, Any] = {
        "dtype_name": array.dtype.name,
        "is_default_dtype": array.dtype.name in DEFAULT_DTYPES,
        "device": None,
        "requires_grad": False,
        "grad_fn_name": None,
    }
    return tensor_text(array, **(described | changes))


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 300
    assert {array.dtype.name for _, array, _ in CASES} == {*FLOATS, *COMPLEXES, *INTEGERS, "bool"}


@pytest.mark.parametrize(("array", "options"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_same_text(array: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
    set_printoptions(**options)
    torch.set_printoptions(**options)
    assert own_text(array) == str(torch.tensor(array))


BFLOAT16_VALUES = [
    [],
    [0.0],
    [1.0, 2.0, -3.0],
    [0.1, -2.5, math.nan],
    [1e-30, 1e30, math.inf],
]


@pytest.mark.parametrize("values", BFLOAT16_VALUES)
def test_same_text_for_bfloat16(values: list[float]) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")
    array = np.array(values, dtype=ml_dtypes.bfloat16)
    assert own_text(array) == str(torch.tensor(values, dtype=torch.bfloat16))


@pytest.mark.parametrize("transform", [np.transpose, np.flip, lambda array: array[::2, 1::3]])
def test_same_text_for_views_that_are_not_contiguous(transform: Any) -> None:
    view = transform(np.arange(2400, dtype="float32").reshape(40, 60) / 7)
    assert own_text(view) == str(torch.tensor(view.copy()))


@pytest.mark.parametrize("count", range(1, 26))
@pytest.mark.parametrize("requires_grad", [True, False])
def test_suffixes_break_lines_where_torch_breaks_them(count: int, requires_grad: bool) -> None:
    array = np.arange(count, dtype="float64") + 0.5
    tensor = torch.tensor(array, requires_grad=requires_grad)
    assert own_text(array, requires_grad=requires_grad) == str(tensor)


@pytest.mark.parametrize("linewidth", range(20, 90, 3))
@pytest.mark.parametrize("shape", [(2,), (3, 3), (2, 2, 2)])
def test_node_names_break_lines_where_torch_breaks_them(linewidth: int, shape: tuple[int, ...]) -> None:
    array = np.full(shape, 2.25)
    set_printoptions(linewidth=linewidth)
    torch.set_printoptions(linewidth=linewidth)
    product = torch.tensor(array, requires_grad=True) * 2
    assert own_text(array * 2, requires_grad=True, grad_fn_name="MulBackward0") == str(product)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_same_text_on_the_meta_device(dtype: str, shape: tuple[int, ...]) -> None:
    tensor = torch.empty(shape, dtype=getattr(torch, dtype), device="meta")
    assert own_text(np.empty(shape, dtype), device="meta") == str(tensor)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64", "bool"])
@pytest.mark.parametrize("shape", [(2,), (0,)])
def test_same_text_when_float64_is_the_default(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtype)
    torch.set_default_dtype(torch.float64)
    try:
        expected = str(torch.tensor(array))
    finally:
        torch.set_default_dtype(torch.float32)
    assert own_text(array, is_default_dtype=dtype in ("float64", "complex128")) == expected


class SubTensor(torch.Tensor):  # type: ignore[misc, name-defined]
    pass


class SubParameter(torch.nn.Parameter):  # type: ignore[misc, name-defined]
    pass


@pytest.mark.parametrize("count", [1, 12, 30])
def test_same_text_for_subclasses_and_parameters(count: int) -> None:
    array = np.linspace(-1, 1, count, dtype="float32")
    data = torch.tensor(array)
    assert own_text(array, class_name="SubTensor") == str(data.as_subclass(SubTensor))

    heading = "Parameter containing:\n"
    parameter = heading + own_text(array, requires_grad=True, is_parameter=True)
    assert parameter == str(torch.nn.Parameter(data))
    of_subclass = own_text(array, requires_grad=True, class_name="SubParameter", is_parameter=True)
    assert heading + of_subclass == str(SubParameter(data))
    # A parameter made of a subclass instance keeps that class, and with it that class's repr.
    of_instance = own_text(array, requires_grad=True, class_name="SubTensor", is_parameter=True)
    assert of_instance == str(torch.nn.Parameter(data.as_subclass(SubTensor)))


@pytest.mark.parametrize(
    "options",
    [{}, {"precision": 7}, {"sci_mode": True}, {"profile": "short", "edgeitems": 5}, {"profile": "full"}],
)
def test_options_are_kept_as_torch_keeps_them(options: dict[str, Any]) -> None:
    torch_printing = torch._tensor_str
    set_printoptions(sci_mode=False, linewidth=100)
    torch.set_printoptions(sci_mode=False, linewidth=100)
    with printoptions(**options), torch_printing.printoptions(**options):
        assert get_printoptions() == torch_printing.get_printoptions()
    assert get_printoptions() == torch_printing.get_printoptions()
