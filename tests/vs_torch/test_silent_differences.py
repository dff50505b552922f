"""Calls that are easily wrong without a word: two dtypes, dimensions out of range, NaN among elements.

Both libraries raise, or give the same: dtypes, shapes, values. Where ours refuses what PyTorch takes, nothing is
silent; other tests look after that.
"""

from __future__ import annotations

import inspect
import itertools
import math

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tests.helpers.messages import bare
from tests.helpers.oracle import assert_like_torch, outcome, to_torch
from tests.helpers.parity import lacks_kernel, quietly, samples_of, theirs_of
from tests.helpers.rows import families
from tests.helpers.values import fresh, mapped, tensors_in

#: Single precision agrees to this, half precision to the other.
TOLERANCE, HALF_TOLERANCE = 1e-5, 1e-2

SHAPES = ((), (3,), (2, 3), (0,), (2, 0))
DIMS = (-3, -2, -1, 0, 1, 2, (0,), (1,), (-1,), (0, 0), (0, -1), ())


def silent_difference(name, args, kwargs, what, tolerance):
    """Return how a call differs from PyTorch's without raising; None where it does not."""
    args, kwargs = fresh(list(args)), fresh(kwargs)
    their_args, their_kwargs = to_torch(args), to_torch(kwargs)
    with np.errstate(all="ignore"):
        result, error = outcome(quietly, families()[name][0].function, *args, **kwargs)
    if error is not None:
        return None
    expected, their_error = outcome(quietly, theirs_of(name), *their_args, **their_kwargs)
    if their_error is not None:
        return None if lacks_kernel(their_error) else f"{what}: gives {result!r}, PyTorch raises {their_error!r}"
    _, difference = outcome(assert_like_torch, result, expected, what, tolerance, SAMPLES[name].deterministic)
    return None if difference is None else str(difference)


# -------------------------------------------------------------------------------------------------------- mixed dtypes

#: Operations whose samples have one tensor each.
ONE_OPERAND = frozenset(
    f"tensorlike.{name}"
    for name in (
        "Tensor.__getitem__",
        "Tensor.__rsub__",
        "Tensor.__rtruediv__",
        "Tensor.to",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "clamp",
        "gradient",
        "linalg.pinv",
        "max",
        "min",
    )
)


def mixed_calls(name):
    """Yield the samples of an operation with one operand in another dtype."""
    declared = SAMPLES[name].dtypes
    for sample in samples_of(name, "float64" if "float64" in declared else declared[0])[:4]:
        values = [list(sample.args), sample.kwargs]
        count = len(list(tensors_in(values)))
        for place, dtype in itertools.product(range(count if count > 1 else 0), ("float32", "int64", "float16")):
            numbers = itertools.count()

            def change(tensor, place=place, dtype=dtype, numbers=numbers):
                return tensor.detach().to(getattr(tl, dtype)) if next(numbers) == place else tensor.detach()

            changed, error = outcome(quietly, mapped, values, change)
            if error is None:
                what = f"{name}{sample}, operand {place} in {dtype}"
                yield *changed, what, HALF_TOLERANCE if dtype == "float16" else TOLERANCE


def several_operands():
    return [
        name
        for name, (primary, *_) in families().items()
        if theirs_of(name) is not None
        and (
            len(operands := [p.operand for p in primary.parameters if p.operand and p.name != "out"]) > 1
            or "many" in operands
        )
        and name not in ONE_OPERAND
    ]


@pytest.mark.parametrize("name", several_operands())
def test_operands_of_two_dtypes(name):
    torch.manual_seed(0)
    found = [silent_difference(name, *call) for call in mixed_calls(name)]
    assert found
    wrong = [text for text in found if text is not None]
    assert not wrong, "\n".join(wrong)


PAIRS = list(itertools.product(("float16", "float32", "float64", "int64", "complex128"), repeat=2))


@pytest.mark.parametrize("dtypes", PAIRS)
@pytest.mark.parametrize(
    "equation", ["i,->i", ",->", "i,->", "i,j->ij", "i,j->", "ij,j->ij", "ij,->i", "ij,jk->ik", "i,i->", "i,i->i"]
)
def test_einsum_of_two_dtypes(equation, dtypes):
    sizes = {"i": 2, "j": 3, "k": 4}
    generator = np.random.default_rng(0)
    operands = [
        tl.tensor(generator.standard_normal([sizes[x] for x in term]) * 3).to(getattr(tl, dtype))
        for term, dtype in zip(equation.partition("->")[0].split(","), dtypes)
    ]
    result, error = outcome(quietly, tl.einsum, equation, *operands)
    expected, their_error = outcome(quietly, torch.einsum, equation, *to_torch(operands))
    assert (error is None) == (their_error is None), (error, their_error)
    if error is None:
        tolerance = HALF_TOLERANCE if "float16" in dtypes else TOLERANCE
        assert_like_torch(result, expected, equation, tolerance)
    else:
        assert isinstance(error, type(their_error))


def test_a_product_with_a_scalar_is_as_precise_as_its_dtype():
    third = 1 / 3
    for equation, operands in (
        ("i,->", (tl.ones(1), tl.tensor(third, dtype=tl.float64))),
        (",,->", (tl.tensor(1.0), tl.tensor(third, dtype=tl.float64), tl.tensor(1))),
    ):
        result = tl.einsum(equation, *operands)
        assert result.dtype is tl.float64
        assert result.item() == third


# ---------------------------------------------------------------------------------------------------------- dimensions

#: Memory is laid out differently where there is none; PyTorch's `Tensor.index` is about dimensions of another kind.
OTHER_DIMS = frozenset(("tensorlike.Tensor.stride", "tensorlike.Tensor.index"))

#: Operations whose samples start with another argument than a tensor.
NO_TENSOR = frozenset(("tensorlike.cat", "tensorlike.stack"))

#: Parameters that name dimensions.
NAMES = ("dim", "dims", "dim0", "dim1", "start_dim", "end_dim")

DIMS_KNOWN = {
    "MKL FFT error": "PyTorch's library of transforms refuses tensors without elements, which transform to the same",
    "because the unspecified dimension size -1": "PyTorch cannot reshape what has no elements",
    "doesn't match the broadcast shape": "PyTorch's logsumexp over no dimensions forgets to reduce its maximum",
    "tile(): argument 'dims' (position 2) must be tuple of ints": "one number is taken for a tuple of one",
    "permute_copy(): argument 'dims' (position 2)": "one number is taken for a tuple of one, as by permute",
    "permute(): argument 'dims' (position 2)": "one number is taken for a tuple of one, as by the method",
}


def dim_calls(name):
    """Yield the samples of an operation with tensors of few dimensions, and dimensions in and out of range."""
    function = families()[name][0].function
    parameters = list(inspect.signature(function).parameters)
    declared = SAMPLES[name].dtypes
    seen = set()
    for sample in samples_of(name, "float32" if "float32" in declared else declared[0])[:4]:
        if not sample.args or not isinstance(sample.args[0], tl.Tensor):
            continue
        values = sample.args[0].detach().numpy().ravel()
        for parameter, shape, dim in itertools.product([n for n in NAMES if n in parameters], SHAPES, DIMS):
            place = parameters.index(parameter)
            rest = list(sample.args[1:])
            kwargs = dict(sample.kwargs)
            if place <= len(rest):
                rest[place - 1] = dim
            else:
                kwargs[parameter] = dim
            if (key := repr((parameter, shape, rest, kwargs))) in seen:
                continue
            seen.add(key)
            count = math.prod(shape)
            # Different elements: which of two equal ones is found is another question.
            given = (values[:count] if values.size >= count else np.arange(count).astype(values.dtype)).reshape(shape)
            # A tensor of its own: PyTorch's views of NumPy's empty arrays have other strides.
            first = tl.empty(shape, dtype=sample.args[0].dtype).copy_(tl.from_numpy(given))
            yield [first, *rest], kwargs, f"{name} of shape {shape}, {parameter}={dim}, {rest}, {kwargs}", None


def with_dims():
    return [
        name
        for name in families()
        if theirs_of(name) is not None
        and name not in OTHER_DIMS
        and not set(NAMES).isdisjoint(inspect.signature(families()[name][0].function).parameters)
        and name not in NO_TENSOR
    ]


@pytest.mark.parametrize("name", with_dims())
def test_dimensions_in_and_out_of_range(name):
    found = [silent_difference(name, *call) for call in dim_calls(name)]
    assert found
    wrong = [text for text in found if text is not None and not any(part in text for part in DIMS_KNOWN)]
    assert not wrong, "\n".join(wrong)


REDUCTIONS = (
    "sum", "mean", "amax", "amin", "std", "var", "cumsum", "cumprod", "sort", "argsort", "topk", "kthvalue", "median",
    "nanmedian", "mode", "argmax", "argmin", "softmax", "log_softmax", "logsumexp", "norm", "unbind", "flip", "roll",
    "prod", "nansum", "nanmean", "all", "any", "max", "min", "cummax", "cummin", "logcumsumexp", "std_mean", "var_mean",
    "count_nonzero", "unsqueeze", "squeeze", "select", "narrow", "gather", "index_select", "diff", "renorm", "quantile",
)  # fmt: skip

#: What comes before and after `dim` in the call, where it is not the tensor alone.
ARGUMENTS = {
    "topk": ([1], []), "kthvalue": ([1], []), "logsumexp": ([], []), "norm": ([2], []), "roll": ([1], []),
    "select": ([], [0]), "narrow": ([], [0, 1]), "gather": ([], ["index"]), "index_select": ([], ["index"]),
    "diff": ([1], []), "renorm": ([2], [1.0]), "quantile": ([0.5], []),
}  # fmt: skip


def called(library, name, shape, dim):
    before, after = ARGUMENTS.get(name, ([], []))
    x = library.arange(float(math.prod(shape))).reshape(shape)
    index = library.zeros((1,) * (len(shape) if name == "gather" else 1), dtype=library.int64)
    return getattr(library, name)(x, *before, dim, *[index if value == "index" else value for value in after])


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_scalars_and_out_of_range(name):
    raised = 0
    for shape, dims in (((), (-2, -1, 0, 1)), ((3,), (-3, -2, 2, 1)), ((2, 3), (-4, -3, 2, 3))):
        for dim in dims:
            result, error = outcome(quietly, called, tl, name, shape, dim)
            expected, their_error = outcome(quietly, called, torch, name, shape, dim)
            what = f"{name}, shape {shape}, dim={dim}"
            assert (error is None) == (their_error is None), f"{what}: {error!r}, PyTorch {their_error!r}"
            if error is None:
                assert_like_torch(result, expected, what)
            else:
                raised += 1
                assert type(error) is type(their_error), f"{what}: {error!r}, PyTorch {their_error!r}"
    assert raised


# ----------------------------------------------------------------------------------------------------------------- mode


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 16])
def test_mode_with_nan(size, dtype):
    values = np.random.default_rng(size).choice([math.nan, 1.0, 2.0, 3.0, math.inf, 0.0, -0.0], (200, size))
    x = tl.tensor(values).to(getattr(tl, dtype))
    assert bool(x.isnan().any())
    for ours, dim in ((x, -1), (x.t(), 0), (x[0], 0), (x[0, 0], 0), (x.reshape(2, 100, size), 2)):
        for keepdim in (False, True):
            assert_like_torch(ours.mode(dim, keepdim), to_torch(ours.contiguous()).mode(dim, keepdim), f"mode({dim})")


def test_mode_with_nan_of_long_lines():
    x = tl.tensor([tl.nan, 3.0, tl.nan, 3.0, *range(10, 30)])
    assert (x.mode().values.item(), x.mode().indices.item()) == (3, 3)
    assert tl.tensor([tl.nan] * 20).mode().values.isnan()


def test_mode_of_nothing():
    for shape, dim in (((0,), 0), ((2, 0), 1), ((0, 2), 1), ((0, 2), 0), ((), 0), ((), 1)):
        result, error = outcome(tl.mode, tl.zeros(shape), dim)
        expected, their_error = outcome(torch.mode, torch.zeros(shape), dim)
        assert type(error) is type(their_error), (shape, dim)
        if error is None:
            assert_like_torch(result, expected, f"mode of {shape}")


# ------------------------------------------------------------------------------------------------------ single findings


def test_transforms_of_nothing_have_no_memory_of_others():
    for _ in range(20):
        tl.full((2, 4), 7.0)
        assert tl.fft.irfft(tl.zeros(2, 0), 4, -1).tolist() == [[0] * 4] * 2


def test_the_size_of_repeats_is_checked():
    x = tl.arange(3)
    assert x.repeat_interleave(2, output_size=6).tolist() == [0, 0, 1, 1, 2, 2]
    for call in (
        lambda library, x: library.repeat_interleave(x, 2, 0, output_size=5),
        lambda library, x: library.repeat_interleave(x, x, 0, output_size=4),
        lambda library, x: library.repeat_interleave(x, output_size=1),
    ):
        for library, operand in ((tl, x), (torch, torch.arange(3))):
            with pytest.raises(RuntimeError):
                call(library, operand)


def test_cosines_of_vectors_that_broadcast():
    ours, theirs = tl.arange(1.0, 4.0).reshape(3, 1), torch.arange(1.0, 4.0).reshape(3, 1)
    expected = torch.cosine_similarity(theirs, theirs.T, 1)
    assert_like_torch(tl.cosine_similarity(ours, ours.T, 1), expected, "cosine_similarity")


@pytest.mark.parametrize("name", ["batch_norm", "layer_norm", "group_norm"])
@pytest.mark.parametrize("dtypes", list(itertools.product(("float16", "bfloat16", "float32", "float64"), repeat=3)))
def test_parameters_of_normalizations_have_the_dtype_of_the_input(name, dtypes):
    def call(library):
        x = library.arange(24.0).reshape(4, 6).to(getattr(library, dtypes[0]))
        weight, bias = (library.ones(6, dtype=getattr(library, dtype)) for dtype in dtypes[1:])
        function = getattr(library.nn.functional, name)
        if name == "batch_norm":
            return function(x, None, None, weight, bias, True)
        return function(x, [6] if name == "layer_norm" else 2, weight, bias)

    result, error = outcome(call, tl)
    expected, their_error = outcome(call, torch)
    assert type(error) is type(their_error), f"{error!r}, PyTorch {their_error!r}"
    if error is None:
        assert_like_torch(result, expected, name, HALF_TOLERANCE * 5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64"])
def test_evenly_spaced_numbers_are_rounded_as_pytorch_rounds_them(dtype):
    drawn = np.random.default_rng(0)
    for _ in range(50):
        start, end = (50 * drawn.standard_normal(2)).tolist()
        steps = int(drawn.integers(0, 200))
        mine, theirs = (
            lib.view_as_real(found) if found.is_complex() else found.double()
            for lib in (tl, torch)
            for found in [lib.linspace(start, end, steps, dtype=getattr(lib, dtype))]
        )
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_evenly_spaced_integers_start_and_end_at_integers(dtype):
    for start, end, steps in [(0.9, 10.9, 4), (1, 8, 15), (7.5, 2.5, 6), (3, 3, 4), (5, 6, 1)]:
        found = [lib.linspace(start, end, steps, dtype=getattr(lib, dtype)).tolist() for lib in (tl, torch)]
        assert found[0] == found[1]


@pytest.mark.parametrize(("end", "dtype"), [(1, "bool"), (1e39, "float32"), (300, "uint8")])
def test_evenly_spaced_numbers_that_a_dtype_has_not(end, dtype):
    errors = []
    for lib in (tl, torch):
        with pytest.raises((RuntimeError, NotImplementedError)) as error:
            lib.linspace(0, end, 3, dtype=getattr(lib, dtype))
        errors.append(error)
    assert errors[0].type is errors[1].type
    assert bare(errors[0].value)[:30] == bare(errors[1].value)[:30]
