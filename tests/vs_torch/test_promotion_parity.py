"""Promotion, dtype attributes, limits and sizes, compared with PyTorch over every combination."""
# ruff: noqa: RUF005 - concatenating sizes is what is tested here, so it cannot be spelled as unpacking.

import importlib.util
import itertools

import numpy as np
import pytest

from tensorlike.tensor import dtypes
from tensorlike.tensor.promotion import can_cast, promote_types, result_type, weak_scalar_dtype
from tensorlike.tensor.size import Size

torch = pytest.importorskip("torch", reason="the comparison needs PyTorch, which is no dependency")

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
if importlib.util.find_spec("ml_dtypes"):
    NAMES.append("bfloat16")

NUMBERS = (True, 1, 1.0, 1j)
DEFAULTS = [name for name in NAMES if name in ("float16", "bfloat16", "float32", "float64")]


def ours(name):
    return getattr(dtypes, name).numpy_dtype


def theirs(name):
    return getattr(torch, name)


def named(torch_dtype):
    name = str(torch_dtype).removeprefix("torch.")
    # NumPy has no complex type of two half-precision numbers; the next wider one stands in.
    return "complex64" if name == "complex32" else name


def outcome(function, *args):
    try:
        found = function(*args)
    except RuntimeError as error:
        return str(error).partition(" and ")[0].rpartition(" ")[0]
    return named(found) if isinstance(found, torch.dtype) else dtypes.dtype_of(found)._name


@pytest.fixture(params=DEFAULTS)
def default(request):
    before = torch.get_default_dtype(), dtypes.get_default_dtype()
    torch.set_default_dtype(theirs(request.param))
    dtypes.set_default_dtype(getattr(dtypes, request.param))
    yield request.param
    torch.set_default_dtype(before[0])
    dtypes.set_default_dtype(before[1])


def test_promote_types():
    for a, b in itertools.product(NAMES, repeat=2):
        expected = outcome(torch.promote_types, theirs(a), theirs(b))
        assert outcome(promote_types, ours(a), ours(b)) == expected, (a, b)


def test_can_cast():
    for a, b in itertools.product(NAMES, repeat=2):
        assert can_cast(ours(a), ours(b)) is torch.can_cast(theirs(a), theirs(b)), (a, b)


def test_result_type_of_every_pair(default):
    operands = [(number, number) for number in NUMBERS]
    for name, shape in itertools.product(NAMES, [(), (2,)]):
        operands.append((np.zeros(shape, ours(name)), torch.zeros(shape, dtype=theirs(name))))
    for (a, torch_a), (b, torch_b) in itertools.product(operands, repeat=2):
        assert outcome(result_type, a, b) == outcome(torch.result_type, torch_a, torch_b), (torch_a, torch_b)


def test_weak_scalar_of_every_dtype(default):
    for name, number in itertools.product(NAMES, NUMBERS):
        expected = outcome(torch.result_type, torch.zeros(2, dtype=theirs(name)), number)
        assert outcome(weak_scalar_dtype, ours(name), number) == expected, (name, number)


def test_result_type_of_three():
    # addcmul promotes three tensors. No half precision: with complex ones it makes PyTorch's experimental complex32.
    names = ["uint8", "int8", "int64", "float32", "float64", "complex64", "complex128"]
    kinds = [(name, shape) for name in names for shape in [(), (2,)]]
    for kind in itertools.combinations_with_replacement(kinds, 3):
        tensors = [torch.zeros(shape, dtype=theirs(name)) for name, shape in kind]
        expected = named(torch.addcmul(*tensors).dtype)
        assert outcome(result_type, *(np.empty(shape, ours(name)) for name, shape in kind)) == expected, kind


@pytest.mark.parametrize("name", NAMES)
def test_dtype_attributes(name):
    mine, reference = getattr(dtypes, name), theirs(name)
    for attribute in ("abbr", "is_complex", "is_floating_point", "is_signed", "itemsize"):
        assert getattr(mine, attribute) == getattr(reference, attribute), attribute
    assert mine.to_real()._name == named(reference.to_real())
    if reference.is_floating_point or reference.is_complex:
        assert mine.to_complex()._name == named(reference.to_complex())
    else:
        for dtype in (mine, reference):
            with pytest.raises(RuntimeError):
                dtype.to_complex()


@pytest.mark.parametrize("alias", ["half", "float", "double", "cfloat", "cdouble", "short", "int", "long"])
def test_aliases(alias):
    assert getattr(dtypes, alias)._name == named(getattr(torch, alias))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["finfo", "iinfo"])
def test_limits(kind, name):
    mine, reference = getattr(dtypes, kind), getattr(torch, kind)
    try:
        expected = reference(theirs(name))
    except TypeError:
        with pytest.raises(TypeError):
            mine(getattr(dtypes, name))
        return
    found = mine(getattr(dtypes, name))
    assert repr(found) == repr(expected)
    for attribute in (a for a in dir(expected) if not a.startswith("_")):
        assert getattr(found, attribute) == getattr(expected, attribute), attribute
        assert type(getattr(found, attribute)) is type(getattr(expected, attribute)), attribute


@pytest.mark.parametrize("python_type", [float, complex, int, bool])
def test_python_types_as_dtypes(python_type):
    expected = named(torch.zeros(1, dtype=python_type).dtype)
    assert dtypes.dtype_of(dtypes.as_numpy_dtype(python_type))._name == expected


def test_size_operations():
    operations = [
        lambda z: z[0], lambda z: z[1:], lambda z: z[::-1], lambda z: z[-1], lambda z: z + z, lambda z: z + (1,),
        lambda z: (1,) + z, lambda z: z + [1], lambda z: [1] + z, lambda z: z + (1.0,), lambda z: ("a",) + z,
        lambda z: z * 2, lambda z: 2 * z, lambda z: z * 0, lambda z: z * -1, lambda z: z * 1.0, lambda z: (1,) * z,
        lambda z: z * np.int64(2), lambda z: z * True, lambda z: z + 1, lambda z: z.numel(), lambda z: type(z)(3),
        lambda z: type(z)("ab"), lambda z: type(z)([1.0]), lambda z: type(z)([True]), lambda z: type(z)([2**70]),
        lambda z: type(z)([np.int64(2)]), lambda z: type(z)([np.bool_(True)]), lambda z: type(z)(range(3)),
        lambda z: type(z)([1], [2]), lambda z: type(z)(a=1), lambda z: z == (2, 3, 4), lambda z: z == [2, 3, 4],
        lambda z: z.index(9), lambda z: z.missing, lambda z: z["a"], lambda z: hash(z), lambda z: z < z,
    ]  # fmt: skip

    def described(operation, size):
        try:
            return repr(operation(size)).replace("torch.Size", "tensorlike.Size")
        except Exception as error:
            return type(error)

    for number, operation in enumerate(operations):
        assert described(operation, Size([2, 3, 4])) == described(operation, torch.Size([2, 3, 4])), number
