"""Missing values: numbers and which of them are there; sums leave the others out, and gradients do not reach them.

What it shows of the protocol: implementations for whole families of functions, found by what the library knows of each
(`tl.exp.operation.elementwise`), registered with all their variants; the policy `refuse` for the rest, because a
function that does not know of missing values would return wrong numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides


class MaskedTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """`held` where `mask` is true, and nothing elsewhere."""

    # For `tensorlike audit`: functions without a rule are refused on purpose.
    __tensor_audit__ = {"refusals": "ok"}

    def __init__(self, data: Any, mask: Any = True) -> None:
        self.held: tl.Tensor = tl.as_tensor(data)
        self.mask: tl.Tensor = tl.as_tensor(mask, dtype=tl.bool).expand(self.held.shape)

    def __repr__(self) -> str:
        values = [str(v) if m else "--" for v, m in zip(self.held.ravel().tolist(), self.mask.ravel().tolist())]
        return f"MaskedTensor([{', '.join(values)}], shape={tuple(self.held.shape)})"

    @property
    def shape(self) -> tl.Size:
        return self.held.shape

    def filled(self, value: Any) -> tl.Tensor:
        """An ordinary tensor with `value` where there is none."""
        return tl.where(self.mask, self.held, tl.as_tensor(value).to(self.held.dtype))

    def item(self) -> Any:
        if not self.mask.item():
            raise ValueError("item(): the value is missing; filled(value).item() returns one in its place")
        return self.held.item()

    def __bool__(self) -> bool:
        return bool(self.item())

    # What the audit makes instances with, and reads them with.
    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> MaskedTensor:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.held


# The function, its aliases, the method and the operators at once.
implements = partial(overrides.implements, variants=True, for_type=MaskedTensor)


def data_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(data_of, value))
    return value.held if isinstance(value, MaskedTensor) else value


def mask_of(value: Any) -> Any:
    """Which elements of an operand are there: of an ordinary tensor, all."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(mask_of, value))
    return value.mask if isinstance(value, MaskedTensor) else tl.ones(value.shape, dtype=tl.bool)


def written(result: MaskedTensor, out: Any) -> Any:
    if out is None:
        return result
    if not isinstance(out, MaskedTensor):
        return NotImplemented  # a plain tensor has no place for what is missing
    out.held.copy_(result.held)
    out.mask = result.mask.expand(out.shape)
    return out


# With it, functions that write in place (add_, relu_, +=) write the result of the ordinary function.
@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    return written(src if isinstance(src, MaskedTensor) else MaskedTensor(src), self)


# Elementwise functions: a result is there where every operand is.
def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def implementation(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        present = tl.tensor(True)
        for value in (*args, *kwargs.values()):
            if isinstance(value, MaskedTensor):
                present = present & value.mask
        named = {name: data_of(value) for name, value in kwargs.items()}
        data = function(*map(data_of, args), **named)
        return written(MaskedTensor(data, present), out)

    return implementation


# allclose returns one answer for all elements, and the parts of complex() and polar() are real.
SPECIAL_CASES = {"allclose", "complex", "polar"}
ELEMENTWISE = {
    function.operation: function
    for namespace in (tl, tl.special)
    for function in reversed(overrides.get_overridable_functions()[namespace])
    if function.operation.elementwise and function.__name__ not in SPECIAL_CASES
}
for function in [*ELEMENTWISE.values(), tl.where]:
    implements(function)(elementwise(function))


# Functions that arrange elements: what they do to the numbers, they do to the mask.
def arranges(function: Callable[..., Any]) -> Callable[..., Any]:
    first = function.operation.parameters[0].name  # type: ignore[attr-defined]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        operand, rest = (args[0], args[1:]) if args else (kwargs.pop(first), ())
        out = kwargs.pop("out", None)
        if any(isinstance(value, MaskedTensor) for value in (*rest, *kwargs.values())):
            return NotImplemented  # an index must not be missing
        data, mask = function(data_of(operand), *rest, **kwargs), function(mask_of(operand), *rest, **kwargs)
        if isinstance(data, (list, tuple)):
            return type(data)(map(MaskedTensor, data, mask))
        return written(MaskedTensor(data, mask), out)

    return implementation


ARRANGING = (
    "atleast_1d atleast_2d atleast_3d broadcast_to cat chunk clone column_stack diagonal dsplit dstack flatten "
    "flip fliplr flipud gather hsplit hstack index_select meshgrid movedim narrow permute ravel reshape roll "
    "rot90 row_stack select split squeeze stack swapaxes t take_along_dim tensor_split tile transpose unbind "
    "unflatten unsqueeze vsplit vstack Tensor.__getitem__ Tensor.expand Tensor.repeat Tensor.unfold"
)
for name in ARRANGING.split():
    function = getattr(tl.Tensor if name.startswith("Tensor.") else tl, name.removeprefix("Tensor."))
    implements(function)(arranges(function))


# Reductions: a missing element counts as the value that changes nothing; a result of missing elements alone is missing.
def lowest(dtype: Any) -> Any:
    return -tl.inf if dtype.is_floating_point else False if dtype == tl.bool else tl.iinfo(dtype).min


def highest(dtype: Any) -> Any:
    return tl.inf if dtype.is_floating_point else True if dtype == tl.bool else tl.iinfo(dtype).max


def present_along(input: MaskedTensor, dim: Any, keepdim: bool) -> tl.Tensor:
    dims = tuple(range(input.mask.ndim)) if dim is None or dim == () else dim
    return input.mask.any(dims, keepdim=keepdim)


def reduces(function: Callable[..., Any], fill: Callable[[Any], Any], all_dims: Any = None) -> None:
    # Some take the dimensions as None for all of them, others as ().
    def implementation(input: Any, dim: Any = all_dims, keepdim: bool = False, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if not isinstance(input, MaskedTensor):
            input = MaskedTensor(input)
        keywords = {"keepdim": True} if keepdim else {}
        data = function(input.filled(fill(input.held.dtype)), *(() if dim is None else (dim,)), **keywords, **kwargs)
        return written(MaskedTensor(data, present_along(input, dim, keepdim)), out)

    implements(function, check=False)(implementation)


reduces(tl.sum, lambda dtype: 0)
reduces(tl.nansum, lambda dtype: 0)
reduces(tl.prod, lambda dtype: 1)
reduces(tl.amax, lowest, ())
reduces(tl.amin, highest, ())
reduces(tl.any, lambda dtype: False)
reduces(tl.all, lambda dtype: True)
reduces(tl.argmax, lowest)
reduces(tl.argmin, highest)
reduces(tl.logsumexp, lowest)
reduces(tl.count_nonzero, lambda dtype: 0)


@implements(tl.mean)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    input = input if isinstance(input, MaskedTensor) else MaskedTensor(input)
    total: Any = tl.sum(input, dim, keepdim, dtype=dtype)
    # The count is 0 only where the result is missing.
    count = tl.sum(tl.ones_like(input.held) * input.mask, dim, keepdim).clamp(min=1)
    return written(MaskedTensor(total.held / count, total.mask), out)


@implements(tl.nn.functional.softmax)
def softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> MaskedTensor:
    return MaskedTensor(tl.softmax(input.filled(-tl.inf), dim, dtype=dtype), input.mask)


@implements(tl.cumsum)
def cumsum(input: Any, dim: Any, *, dtype: Any = None, out: Any = None) -> Any:
    if not isinstance(input, MaskedTensor):
        return NotImplemented
    return written(MaskedTensor(tl.cumsum(input.filled(0), dim, dtype=dtype), input.mask), out)


def main() -> None:
    rain = MaskedTensor([[1.0, 7.0, 3.0], [4.0, 0.0, 2.0]], [[True, False, True], [True, False, True]])
    print(rain)
    print("sum:", rain.sum())
    print("mean of each day:", rain.mean(dim=1))
    print("mean of each station:", rain.mean(dim=0))
    print("wettest:", tl.amax(rain))
    print("more than a tenth of an inch:", rain / 25.4 > 0.1)
    print("with an ordinary tensor:", tl.tensor([10.0, 20.0, 30.0]) + rain)
    print("both days of the last station:", rain[:, 2])

    # Gradients reach the elements that are there, and no others.
    data = tl.tensor([1.0, 2.0, 9.0], requires_grad=True)
    squares: MaskedTensor = tl.square(MaskedTensor(data, [True, True, False]))
    tl.mean(squares).held.backward()
    print("gradient:", data.grad)

    try:
        tl.median(rain)
    except TypeError as error:
        print("TypeError:", str(error).partition("\n")[0])


if __name__ == "__main__":
    main()
