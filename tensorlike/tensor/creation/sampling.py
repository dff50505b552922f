"""Random tensors: the sampling functions. The generators are in `generator`.

The distributions are PyTorch's, the numbers are not: see the docstring of `Generator`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor.declarations.declare import internal

from ..backends import backend_for, check_same_device, device_of, namespace_of
from ..declarations.declare import composite, derivatives, factory, primitive
from ..declarations.runtime import broadcast_error, device_guard, dtype_name, run_quietly, spelled, wanted_dtype
from ..device import as_device, cpu
from ..device import device as Device
from ..dims import checked_size
from ..dtypes import default_float, dtype_of
from ..dtypes import dtype as Dtype
from ..generator import Generator, generator_for
from ..layouts import empty_array, format_name
from ..types import Array, Namespace, Number, Tensor
from . import random_arrays as draw
from .from_data import finish

_INT64 = np.dtype(np.int64)


def _drawn(
    name: str, shape: tuple[int, ...], sample: Callable[..., Any], *, generator: Generator | int | None,
    out: Any = None, dtype: Any = None, default: Any = None, device: Any = None, requires_grad: bool = False,
    check: Callable[[Any], None] | None = None,
) -> Tensor:  # fmt: skip
    """Return a tensor of `sample(source, xp, shape, dtype)`, or write it to `out`."""
    wanted = wanted_dtype(name, dtype, out)
    if wanted is None:
        wanted = default_float() if default is None else default
    if check is not None:
        check(wanted)
    where = as_device(device, name) if device is not None else cpu if out is None else device_of(out._tl_data)
    xp = np if where.type == "cpu" else backend_for(where).namespace
    generator = generator_for(generator, where, name)
    with generator.drawing():
        source = generator.source()
        array = run_quietly(sample, source, xp, shape, wanted)
    return finish(array, requires_grad, name, out, device)


def integer(value: Any, function: str, argument: str) -> int:
    """Return an argument as an integer, also from a tensor of one; raise for other values."""
    if isinstance(value, TensorBase) and value._tl_data.size == 1 and value._tl_data.dtype.kind in "iu":
        value = value.item()  # type: ignore[attr-defined]
    if not isinstance(value, (int, np.integer)):
        raise TypeError(f"{function}(): argument '{argument}' must be int, not {type(value).__name__}: got {value!r}")
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{function}(): Overflow when unpacking long long: '{argument}' is {number}")
    return number


def real(value: float, function: str, argument: str) -> float:
    """Return an argument that must be a real number, or a tensor of one that needs no gradient."""
    tensor: Any = value
    if isinstance(value, TensorBase) and not (tensor.dim() or tensor.requires_grad or tensor.is_complex()):
        value = tensor.item()
    if isinstance(value, (bool, int, float, np.integer, np.floating)):
        return float(value)
    raise TypeError(f"{function}(): argument '{argument}' must be float, not {type(value).__name__}: got {value!r}")


def check_std(value: float, function: str) -> None:
    """Raise for a negative standard deviation."""
    if not value >= 0:
        raise RuntimeError(f"{function}(): normal expects std >= 0.0, but found std {value:g}")


def _unit_uniform(source: Any, xp: Namespace, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return draw.uniform(source, xp, 0, 1, shape, dtype)


def _continuous(name: str) -> Callable[[Any], None]:
    return lambda dtype: draw.check_continuous(name, dtype)


# ------------------------------------------------------------------------------------------------------ from a shape


@factory(random=True)
def rand(
    *size: int, generator: Generator | None = None, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return a tensor of the shape `size` of numbers drawn uniformly from [0, 1).

    Raises NotImplementedError for an integer or boolean dtype.

    >>> tl.rand(2, 3).shape
    tensorlike.Size([2, 3])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    if keywords or not size:
        size = spelled("rand", "size", size, keywords)
    return _drawn(
        "rand", checked_size(size, "rand"), _unit_uniform, generator=generator, out=out, dtype=dtype, device=device,
        requires_grad=requires_grad, check=_continuous("rand"),
    )  # fmt: skip


@factory(random=True)
def randn(
    *size: int, generator: Generator | None = None, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    **keywords: Any,
) -> Tensor:  # fmt: skip
    """Return a tensor of the shape `size` of numbers drawn from the normal distribution of mean 0 and variance 1.

    Complex numbers have that variance too, half of it in each part. Raises NotImplementedError for an integer or
    boolean dtype.

    >>> tl.randn(2, 3).dtype
    tensorlike.float32

    Same as PyTorch's function of that name, with numbers of its own.
    """
    if keywords or not size:
        size = spelled("randn", "size", size, keywords)
    return _drawn(
        "randn", checked_size(size, "randn"), draw.standard_normal, generator=generator, out=out, dtype=dtype,
        device=device, requires_grad=requires_grad, check=_continuous("randn"),
    )  # fmt: skip


def _integers(
    name: str, low: int, high: float | None, dtype: Dtype | None
) -> tuple[Callable[..., Any], Callable[[Any], None]]:
    """Return a function that draws integers of a range, and one that checks the range against a dtype."""
    first, last = integer(low, name, "low"), integer(high, name, "high")
    return (
        lambda source, xp, shape, wanted: draw.integers(source, xp, first, last, shape, wanted),
        lambda wanted: draw.check_integer_range(name, first, last, wanted),
    )


@factory(random=True)
def randint(
    low: Any = 0, high: Any = None, size: Any = None, *, generator: Generator | None = None,
    out: Tensor | None = None, dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of the shape `size` of integers from `low` up to, and without, `high`.

    `randint(high, size)` draws from 0 on. The dtype is int64 unless another is given, which may be a floating-point
    one. Raises RuntimeError when the range is empty or not within the dtype.

    >>> tl.randint(3, 4, (2,))
    tensor([3, 3])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    if size is None and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}: call randint(high, size) or "
            "randint(low, high, size)"
        )
    sample, check = _integers("randint", low, high, dtype)
    return _drawn(
        "randint", checked_size(size, "randint"), sample, generator=generator, out=out, dtype=dtype, default=_INT64,
        device=device, requires_grad=requires_grad, check=check,
    )  # fmt: skip


def _check_permutation(count: int) -> Callable[[Any], None]:
    def check(dtype: np.dtype[Any]) -> None:
        if dtype.kind in "iu":
            if count - 1 > np.iinfo(dtype).max:
                raise RuntimeError(
                    f"randperm(): value cannot be converted to type {dtype_of(dtype)} without overflow: {count}"
                )
        elif not draw.is_floating(dtype):
            raise NotImplementedError(
                f"\"randperm\" not implemented for '{dtype_name(dtype)}': it needs an integer or floating-point dtype"
            )
        elif count > 2 ** draw.digits_of(dtype) + 1:
            raise RuntimeError(
                f"randperm(): n cannot be greater than {2 ** draw.digits_of(dtype) + 1} for {dtype_name(dtype)} type, "
                f"got {count}"
            )

    return check


@factory(random=True)
def randperm(
    n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return the integers from 0 up to, and without, `n`, in random order.

    The dtype is int64 unless another is given. Raises RuntimeError when that cannot hold them, or `n` is negative.

    >>> tl.randperm(1)
    tensor([0])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    shape = checked_size(integer(n, "randperm", "n"), "randperm")

    def sample(source: Any, xp: Namespace, size: tuple[int, ...], wanted: np.dtype[Any]) -> Array:
        return xp.asarray(source.permutation(size[0])).astype(wanted)

    return _drawn(
        "randperm", shape, sample, generator=generator, out=out, dtype=dtype, default=_INT64, device=device,
        requires_grad=requires_grad, check=_check_permutation(shape[0]),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ like another tensor


def _like(
    name: str, input: Any, sample: Callable[..., Any], check: Callable[..., Any], memory_format: Any, **options: Any
) -> Tensor:
    array = input._tl_data
    if options["device"] is None:
        options["device"] = device_of(array)
    wanted = format_name(memory_format, name)
    result = _drawn(name, array.shape, sample, default=array.dtype, check=check, **options)
    if wanted not in (None, "preserve_format", "contiguous_format") or not (wanted or array.flags.c_contiguous):
        drawn = result._tl_data
        with device_guard(drawn):
            result._tl_data = empty_array(namespace_of(drawn), drawn.shape, drawn.dtype, wanted, array)
            result._tl_data[...] = drawn
    return result


@composite(guard=False, differentiable=False, random=True)
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return numbers drawn uniformly from [0, 1), with the shape, dtype and device of `input`.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.rand_like(tl.ones(2, 3)).shape
    tensorlike.Size([2, 3])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    return _like(
        "rand_like", input, _unit_uniform, _continuous("rand_like"), memory_format, generator=generator, dtype=dtype,
        device=device, requires_grad=requires_grad,
    )  # fmt: skip


@composite(guard=False, differentiable=False, random=True)
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Dtype | None = None, layout: Any = None,
    device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return normally distributed numbers of mean 0 and variance 1, with the shape, dtype and device of `input`.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.randn_like(tl.ones(2, 3)).shape
    tensorlike.Size([2, 3])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    return _like(
        "randn_like", input, draw.standard_normal, _continuous("randn_like"), memory_format, generator=generator,
        dtype=dtype, device=device, requires_grad=requires_grad,
    )  # fmt: skip


@composite(guard=False, operands=("input",), differentiable=False, random=True)
def randint_like(
    input: Tensor, low: Any = None, high: Any = None, *, generator: Generator | None = None, dtype: Dtype | None = None,
    layout: Any = None, device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Return integers from `low` up to, and without, `high`, with the shape, dtype and device of `input`.

    `randint_like(input, high)` draws from 0 on.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.randint_like(tl.ones(2), 3, 4)
    tensor([3., 3.])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    if high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    sample, check = _integers("randint_like", low, high, dtype)
    return _like(
        "randint_like", input, sample, check, memory_format, generator=generator, dtype=dtype, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


# ------------------------------------------------------------------------------------- from the parameters in tensors


def no_gradient(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Return zeros: the gradient of random numbers with respect to the parameters of their distribution."""
    return grad._tl_zeros(tuple(shape), grad._tl_data.dtype)


@internal(name="_normal", out="cast")
def _normal(xp: Namespace, mean: Array | Number, std: Array | Number, generator: Generator | None) -> Array:
    """Return normally distributed numbers; at least one parameter is a tensor."""
    center: Any = mean
    width: Any = std
    arrays = [a for a in (center, width) if hasattr(a, "ndim")]
    for value, label in ((center, "mean"), (width, "std")):
        if not hasattr(value, "ndim"):
            real(value, "normal", label)
    dtype = arrays[0].dtype
    if hasattr(width, "ndim"):
        if width.dtype.kind == "c":
            raise RuntimeError("normal(): normal expects standard deviation to be non-complex, got a complex tensor")
        if not bool((width >= 0).all()):
            raise RuntimeError("normal(): normal expects all elements of std >= 0.0")
    else:
        check_std(width, "normal")
    draw.check_continuous("normal", dtype)
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as error:
        raise broadcast_error("normal", error, arrays) from None
    generator = generator_for(generator, check_same_device(arrays, "normal"), "normal")
    with generator.drawing():
        source = generator.source()
        return draw.normal(source, xp, center, width, shape, dtype)


derivatives(
    _normal,
    mean=lambda grad, mean_shape: no_gradient(grad, mean_shape),
    std=lambda grad, std_shape: no_gradient(grad, std_shape),
)


@composite(guard=True, operands=("mean", "std", "out"), random=True)
def normal(
    mean: Any, std: Any = None, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None,
    dtype: Dtype | None = None, layout: Any = None, device: Device | str | None = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return normally distributed numbers of that mean and standard deviation.

    With a tensor for `mean`, `std` or both, each element is drawn with its own parameters, which broadcast, and `std`
    is 1 unless given; with two numbers, the result has the shape `size`. Raises RuntimeError for a negative `std`. The
    gradient of the parameters is zero.

    It is overridable, although `overrides.get_ignored_functions()` lists it: both as in PyTorch.

    >>> tl.normal(tl.tensor([1.0, 2.0]), 0.0), tl.normal(5.0, 0.0, (2,))
    (tensor([1., 2.]), tensor([5., 5.]))

    Same as PyTorch's function of that name, with numbers of its own.
    """
    tensors = isinstance(mean, TensorBase) or isinstance(std, TensorBase)
    if tensors == (size is not None) or (size is not None and std is None):
        raise TypeError(
            f"normal() received an invalid combination of arguments - got mean={type(mean).__name__}, "
            f"std={type(std).__name__}, size={size!r}: call normal(mean, std, size) with two numbers, or "
            "normal(mean, std) with at least one tensor"
        )
    if tensors:
        return _normal(mean, 1.0 if std is None else std, generator, out=out)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"normal(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    center, width = real(mean, "normal", "mean"), real(std, "normal", "std")
    check_std(width, "normal")
    return _drawn(
        "normal",
        checked_size(size, "normal"),
        lambda source, xp, shape, wanted: draw.normal(source, xp, center, width, shape, wanted),
        generator=generator, out=out, dtype=dtype, device=device, requires_grad=requires_grad,
        check=_continuous("normal"),
    )  # fmt: skip


def checked_probability(function: str, value: float) -> float:
    """Return a probability given as a number, which must be within [0, 1]."""
    number = real(value, function, "p")
    if not 0 <= number <= 1:
        raise RuntimeError(f"{function}(): bernoulli_ expects p to be in [0, 1], but got p={number:g}")
    return number


def check_probabilities(function: str, array: Array) -> None:
    """Raise for an array with elements outside [0, 1]."""
    if not draw.is_floating(array.dtype):
        raise NotImplementedError(
            f"\"{function}\" not implemented for '{dtype_name(array.dtype)}': probabilities need a floating-point dtype"
        )
    if not bool(((array >= 0) & (array <= 1)).all()):
        raise RuntimeError(f"{function}(): Expected p_in >= 0 && p_in <= 1 to be true: a probability is not in [0, 1]")


@primitive(out="any", random=True)
def bernoulli(xp: Namespace, input: Array, p: float | None = None, *, generator: Generator | None = None) -> Array:
    """Return a tensor like `input` of ones, with the probabilities in `input`, and zeros.

    With a number `p`, that is the probability of each one, and `input` gives shape and dtype alone. Raises RuntimeError
    for a probability outside [0, 1], NotImplementedError for an `input` of probabilities that is not floating-point.
    The gradient of the probabilities is zero.

    >>> tl.bernoulli(tl.tensor([0.0, 1.0]))
    tensor([0., 1.])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    if p is None:
        check_probabilities("bernoulli", input)
        chance: Any = input
    else:
        chance = checked_probability("bernoulli", p)
    generator = generator_for(generator, device_of(input), "bernoulli")
    with generator.drawing():
        source = generator.source()
        return draw.bernoulli(source, xp, chance, input.shape, input.dtype)


derivatives(bernoulli, input=lambda grad, input_shape: no_gradient(grad, input_shape))


@primitive(method=False, random=True)
def poisson(xp: Namespace, input: Array, generator: Generator | None = None) -> Array:
    """Return a tensor like `input` of numbers of Poisson distributions with the rates in `input`.

    Raises RuntimeError for a negative rate, NotImplementedError for rates that are not floating-point. The gradient of
    the rates is zero.

    >>> tl.poisson(tl.zeros(2))
    tensor([0., 0.])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    draw.check_continuous("poisson", input.dtype, complex=False)
    if not bool(xp.all(input >= 0)):
        raise RuntimeError("poisson(): invalid Poisson rate, expected rate to be non-negative")
    generator = generator_for(generator, device_of(input), "poisson")
    with generator.drawing():
        source = generator.source()
        return xp.asarray(source.poisson(input.astype(np.float64))).astype(input.dtype)


derivatives(poisson, input=lambda grad, input_shape: no_gradient(grad, input_shape))


@primitive(out=True, differentiable=False, random=True)
def multinomial(
    xp: Namespace, input: Array, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Array:  # fmt: skip
    """Return `num_samples` indices for each row of `input` (or for `input` itself), drawn in proportion to its values.

    The values need not sum to 1. The result is int64 of shape (rows, num_samples), or (num_samples,) for one dimension.
    Raises RuntimeError for values that are negative or not finite, for a row without a positive one, and for more
    samples than values without `replacement`.

    >>> tl.multinomial(tl.tensor([0.0, 3.0, 0.0]), 1)
    tensor([1])

    Same as PyTorch's function of that name, with numbers of its own.
    """
    count = integer(num_samples, "multinomial", "num_samples")
    if not draw.is_floating(input.dtype):
        raise RuntimeError(
            f"multinomial(): multinomial only supports floating-point dtypes for input, got: {dtype_name(input.dtype)}"
        )
    if input.ndim not in (1, 2):
        raise RuntimeError(f"multinomial(): prob_dist must be 1 or 2 dim, got {input.ndim} dimensions")
    if count <= 0:
        raise RuntimeError(f"multinomial(): cannot sample n_sample <= 0 samples, got {count}")
    if not replacement and count > input.shape[-1]:
        raise RuntimeError(
            "multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{count} of {input.shape[-1]}; pass replacement=True"
        )
    rows = input if input.ndim == 2 else input[None]
    if rows.shape[0] == 0:
        return xp.empty((0, count), np.int64)
    if not bool((xp.isfinite(rows) & (rows >= 0)).all()):
        raise RuntimeError("multinomial(): probability tensor contains either `inf`, `nan` or element < 0")
    if not bool((rows.sum(axis=1) > 0).all()):
        raise RuntimeError("multinomial(): invalid multinomial distribution (sum of probabilities <= 0)")
    generator = generator_for(generator, device_of(input), "multinomial")
    with generator.drawing():
        source = generator.source()
        found = draw.multinomial(source, xp, rows, count, bool(replacement))
    return found if input.ndim == 2 else found[0]  # type: ignore[no-any-return]
