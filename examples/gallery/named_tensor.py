"""Named dimensions: operands are aligned by the names of their dimensions, and no axis is mistaken for another.

What it shows of the protocol: a type whose results follow from its arguments. Elementwise functions align operands,
reductions take names where they take numbers, and functions that would make names wrong are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides

Names = tuple[str | None, ...]


class NamedTensor(overrides.TensorLike, unhandled=overrides.refuse):
    """A tensor and a name for each of its dimensions; None is a dimension without a name."""

    # For `tensorlike audit`: functions without a rule are refused on purpose.
    __tensor_audit__ = {"refusals": "ok"}

    def __init__(self, data: Any, names: Names | list[str | None]) -> None:
        self.held: tl.Tensor = tl.as_tensor(data)
        self.names = tuple(names)
        given = [name for name in self.names if name is not None]
        if len(self.names) != self.held.ndim:
            raise ValueError(f"NamedTensor: {self.held.ndim} dimensions need as many names, got {self.names}")
        if len(set(given)) < len(given):
            raise ValueError(f"NamedTensor: two dimensions have one name: {self.names}")

    def __repr__(self) -> str:
        return f"NamedTensor({self.held.tolist()}, names={self.names})"

    @property
    def shape(self) -> tl.Size:
        return self.held.shape

    @property
    def sizes(self) -> dict[str | None, int]:
        """The size of each dimension by its name."""
        return dict(zip(self.names, self.held.shape))

    def place(self, dim: Any) -> Any:
        """Return the number of a dimension that is given by name, or numbers for several; numbers stay."""
        if isinstance(dim, (tuple, list)):
            return tuple(map(self.place, dim))
        if isinstance(dim, str):
            if dim not in self.names:
                raise ValueError(f"there is no dimension {dim!r}: the names are {self.names}")
            return self.names.index(dim)
        return dim

    def __bool__(self) -> bool:
        return bool(self.held)

    def rename(self, **names: str) -> NamedTensor:
        """Return the same tensor with other names: `x.rename(time="day")`."""
        for name in names:
            self.place(name)
        return NamedTensor(self.held, [names.get(name, name) if name else name for name in self.names])

    def align_to(self, *names: str) -> NamedTensor:
        """Return the tensor with its dimensions in this order; new names become dimensions of size 1."""
        missing = [name for name in self.names if name not in names]
        if missing:
            raise ValueError(f"align_to(): {missing} of {self.names} are not among {names}")
        data = self.held.permute([self.place(name) for name in names if name in self.names])
        for index, name in enumerate(names):
            if name not in self.names:
                data = data.unsqueeze(index)
        return NamedTensor(data, names)

    def dot(self, other: NamedTensor, name: str) -> NamedTensor:
        """Multiply and sum over the dimension `name`, wherever it is in both."""
        result: NamedTensor = (self * other).sum(name)
        return result

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> NamedTensor:
        return cls(tensor, [f"d{index}" for index in range(tensor.ndim)])

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.held


implements = partial(overrides.implements, variants=True, for_type=NamedTensor)


def data_of(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(data_of, value))
    return value.held if isinstance(value, NamedTensor) else value


def labelled(result: Any, names: Callable[[tl.Tensor], Names]) -> Any:
    """Return a result of plain tensors with the names that `names` gives each of them."""
    if isinstance(result, tl.Tensor):
        return NamedTensor(result, names(result))
    if isinstance(result, tuple):  # also the named tuples of max, sort and the like
        return type(result)([labelled(item, names) for item in result])
    if isinstance(result, list):
        return [labelled(item, names) for item in result]
    return result


def written(result: Any, out: Any) -> Any:
    """Return the result, in `out` if there is one."""
    if out is None:
        return result
    if not isinstance(out, NamedTensor):
        return NotImplemented  # a plain tensor has no place for the names
    if result.held.ndim == out.held.ndim:
        out.names = result.names
    out.held.copy_(result.held)
    return out


# With it, functions that write in place (add_, +=) write the result of the ordinary function.
@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    data, names = aligned("copy_", [self, src])
    return written(NamedTensor(data[1].expand(data[0].shape), names), self)


# Elementwise functions. Operands with names are aligned by them; others, as ever, from the last dimension on.
def aligned(what: str, operands: list[Any]) -> tuple[list[Any], Names]:
    tensors: list[Any] = [v for v in operands if isinstance(v, NamedTensor) or (isinstance(v, tl.Tensor) and v.ndim)]
    if all(isinstance(v, NamedTensor) and None not in v.names for v in tensors):
        names = tuple(dict.fromkeys(name for v in tensors for name in v.names))
        if len(tensors) > 1:
            operands = [v.align_to(*names) if isinstance(v, NamedTensor) else v for v in operands]
        return list(map(data_of, operands)), names
    found: list[str | None] = []
    for v in tensors:
        mine: Names = v.names if isinstance(v, NamedTensor) else (None,) * v.ndim
        found = [*(None,) * (len(mine) - len(found)), *found]
        for back, name in enumerate(reversed(mine), 1):
            if name is not None and found[-back] not in (None, name):
                raise ValueError(
                    f"{what}(): the names {found[-back]!r} and {name!r} stand at one dimension from the end"
                )
            found[-back] = found[-back] if name is None else name
    return list(map(data_of, operands)), tuple(found)


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def implementation(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        operands, names = aligned(function.__name__, [*args, *kwargs.values()])
        result = function(*operands[: len(args)], **dict(zip(kwargs, operands[len(args) :])))
        return written(labelled(result, lambda tensor: names), out)

    return implementation


for function in overrides.get_overridable_functions()[tl] + overrides.get_overridable_functions()[tl.special]:
    if function.operation.elementwise:
        implements(function)(elementwise(function))
implements(tl.where)(elementwise(tl.where))


# Functions of one tensor along dimensions, which may be given by name. A dimension that goes takes its name along.
def along(function: Callable[..., Any], parameter: str = "dim") -> Callable[..., Any]:
    signature = inspect.signature(function)
    default = signature.parameters[parameter].default if parameter in signature.parameters else None

    def implementation(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        out = bound.arguments.pop("out", None)
        input = next(iter(bound.arguments.values()))
        others = list(bound.arguments.values())[1:]
        if not isinstance(input, NamedTensor) or any(isinstance(value, NamedTensor) for value in others):
            return NotImplemented
        dim = bound.arguments.get(parameter, default)
        if isinstance(dim, tl.Tensor):
            return NotImplemented  # max(x, y) of two tensors is maximum(x, y)
        dim = input.place(dim)
        if parameter in bound.arguments:
            bound.arguments[parameter] = dim
        bound.arguments[next(iter(bound.arguments))] = input.held

        def names(tensor: tl.Tensor) -> Names:
            if tensor.ndim == input.held.ndim:
                return input.names
            dims = dim if isinstance(dim, (tuple, list)) else () if dim is None else (dim,)
            gone = {d % input.held.ndim for d in dims} or set(range(input.held.ndim))
            return tuple(name for index, name in enumerate(input.names) if index not in gone)

        result = labelled(function(*bound.args, **bound.kwargs), names)
        if isinstance(out, tuple):
            return type(result)(map(written, result, out))
        return written(result, out)

    return implementation


ALONG = (
    "all amax amin any argmax argmin argsort chunk clone count_nonzero cummax cummin cumprod cumsum diff "
    "logcumsumexp logsumexp max mean median min mode nanmean nansum narrow index_select prod select softmax "
    "log_softmax sort split std sum tensor_split topk kthvalue unbind var"
)
for name in ALONG.split():
    implements(getattr(tl, name))(along(getattr(tl, name)))
for function in (tl.nn.functional.softmax, tl.nn.functional.log_softmax):
    implements(function)(along(function))
for name in ("flip", "roll"):
    implements(getattr(tl, name))(along(getattr(tl, name), "dims"))


# Functions that move dimensions: the names go with them.
@implements(tl.permute)
def permute(input: NamedTensor, dims: Any) -> NamedTensor:
    dims = input.place(dims)
    return NamedTensor(input.held.permute(dims), [input.names[d] for d in dims])


@implements(tl.transpose)
def transpose(input: NamedTensor, dim0: Any, dim1: Any) -> NamedTensor:
    names = list(input.names)
    if names:
        first, second = input.place(dim0), input.place(dim1)
        names[first], names[second] = names[second], names[first]
    return NamedTensor(input.held.transpose(*input.place((dim0, dim1))), names)


@implements(tl.t)
def t(input: NamedTensor) -> NamedTensor:
    return NamedTensor(input.held.t(), input.names[::-1])


@implements(tl.unsqueeze)
def unsqueeze(input: NamedTensor, dim: int) -> NamedTensor:
    data = input.held.unsqueeze(dim)
    names = list(input.names)
    names.insert(dim % data.ndim, None)
    return NamedTensor(data, names)


@implements(tl.squeeze)
def squeeze(input: NamedTensor, dim: Any = None) -> NamedTensor:
    found = input.place(dim if isinstance(dim, (tuple, list)) else (dim,))
    dims = range(input.held.ndim) if dim is None else {d % input.held.ndim for d in found if input.held.ndim}
    names = [name for index, name in enumerate(input.names) if index not in dims or input.shape[index] != 1]
    return NamedTensor(input.held.squeeze() if dim is None else input.held.squeeze(input.place(dim)), names)


@implements(tl.cat)
def cat(tensors: Any, dim: Any = 0, *, out: Any = None) -> Any:
    named = next(v for v in tensors if isinstance(v, NamedTensor)) if out is None else None
    if named is None:
        return NotImplemented
    operands, names = aligned("cat", [v[...] if isinstance(v, NamedTensor) else v for v in tensors])
    return NamedTensor(tl.cat(operands, NamedTensor.place(named, dim)), names)


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    first, second = (v.names if isinstance(v, NamedTensor) else (None,) * v.ndim for v in (input, other))
    inner = first[-1], second[-2 if len(second) > 1 else -1]
    if None not in inner and inner[0] != inner[1]:
        raise ValueError(f"matmul(): it would sum over {inner[0]!r} of the one and {inner[1]!r} of the other operand")
    batch = max(first[:-2], second[:-2], key=len)
    names = (*batch, *first[-2:-1], *second[-1:][: len(second) - 1])
    return written(NamedTensor(tl.matmul(data_of(input), data_of(other)), names), out)


@implements(tl.Tensor.__getitem__)
def getitem(self: NamedTensor, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is None or part is ... or isinstance(part, (int, slice)) for part in parts):
        return NotImplemented  # the place of a dimension made by an array of indices is a puzzle
    taken = sum(part is not None and part is not ... for part in parts)
    if ... not in parts:
        parts = (*parts, ...)
    names = iter(self.names)
    kept: list[str | None] = []
    for part in parts:
        if part is None:
            kept.append(None)
        elif part is ...:
            kept += [next(names) for _ in range(len(self.names) - taken)]
        else:
            name = next(names)
            kept += [name] if isinstance(part, slice) else []
    return NamedTensor(self.held[index], kept)


def main() -> None:
    prices = NamedTensor([[1.0, 2.0, 3.0], [2.0, 4.0, 9.0]], ("shop", "day"))
    print("mean of each shop:", prices.mean("day"))
    print("largest change:", prices.diff(dim="day").amax("day"))
    # Each operand has its dimensions in an order of its own.
    tax = NamedTensor([0.1, 0.2, 0.3], ("day",))
    fee = NamedTensor([10.0, 20.0], ("shop",))
    print("with tax and fee:", (fee + prices * (1 + tax)).round(decimals=2))
    print("turned:", prices.transpose("shop", "day").names, prices[:, 0].names, prices[None].names)
    units = NamedTensor([5.0, 1.0, 1.0], ("day",))
    print("turnover:", prices.dot(units, "day"), "or", prices @ units)

    def attempt(call: Callable[[], Any]) -> None:
        try:
            call()
        except (ValueError, TypeError) as error:
            print(f"{type(error).__name__}:", str(error).partition("\n")[0])

    attempt(lambda: prices.sum("hour"))
    attempt(lambda: prices.t() @ prices.t())
    attempt(lambda: tl.kron(prices, prices))


if __name__ == "__main__":
    main()
