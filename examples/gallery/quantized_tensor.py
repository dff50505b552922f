"""Quantised tensors: int8 in place of float32, with the scale and the zero point by which they stand for numbers.

A network with quantised weights takes a quarter of the memory. Products are sums of integers and therefore exact; what
has no rule for integers is computed on the numbers they stand for.

What it shows of the protocol: another representation behind the same functions, through modules written for tensors,
with the policy `to_dense` for whatever is not worth a rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorlike as tl
from tensorlike import overrides

LEAST, GREATEST = -128, 127


class QuantizedTensor(overrides.TensorLike, unhandled=overrides.to_dense):
    """The numbers `(stored - zero_point) * scale`, where `stored` is int8."""

    # For `tensorlike audit`: functions without a rule are refused on purpose, and some results are plain tensors.
    __tensor_audit__ = {"refusals": "ok", "plain_results": "ok"}

    def __init__(self, stored: tl.Tensor, scale: float, zero_point: int) -> None:
        if stored.dtype != tl.int8:
            raise TypeError(f"QuantizedTensor: the stored integers must be int8, not {stored.dtype}; see quantize()")
        if not scale > 0:
            raise ValueError(f"QuantizedTensor: the scale must be above 0, got {scale}")
        self.stored, self.scale, self.zero_point = stored, float(scale), int(zero_point)

    @classmethod
    def quantize(cls, tensor: tl.Tensor, scale: float | None = None, zero_point: int | None = None) -> QuantizedTensor:
        """Return the nearest quantised tensor; scale and zero point are those that the range of the numbers needs."""
        if not tensor.dtype.is_floating_point:
            raise TypeError(f"quantize(): floating numbers are quantised, not {tensor.dtype}")
        if not bool(tensor.isfinite().all()):
            raise ValueError("quantize(): no integer stands for infinity or nan")
        # Zero must be stood for exactly: padding, relu and missing weights are zeros.
        low, high = (min(tensor.min().item(), 0.0), max(tensor.max().item(), 0.0)) if tensor.numel() else (0.0, 0.0)
        if scale is None:
            scale = (high - low) / (GREATEST - LEAST) or 1.0
        if zero_point is None:
            zero_point = max(LEAST, min(GREATEST, round(LEAST - low / scale)))
        stored = (tensor.detach() / scale).round() + zero_point
        return cls(stored.clamp(LEAST, GREATEST).to(tl.int8), scale, zero_point)

    def __repr__(self) -> str:
        numbers = self.to_dense()
        return f"QuantizedTensor({numbers.tolist()}, scale={self.scale:.4g}, zero_point={self.zero_point})"

    @property
    def shape(self) -> tl.Size:
        return self.stored.shape

    @property
    def ndim(self) -> int:
        return self.stored.ndim

    @property
    def data(self) -> QuantizedTensor:
        return QuantizedTensor(self.stored, self.scale, self.zero_point)

    @data.setter
    def data(self, value: QuantizedTensor) -> None:
        if not isinstance(value, QuantizedTensor):
            raise TypeError("the data of a QuantizedTensor are quantised: quantize() them first")
        self.stored, self.scale, self.zero_point = value.stored, value.scale, value.zero_point

    real = data  # Of real numbers the whole.

    def centred(self) -> tl.Tensor:
        """The integers less the zero point, as int32: sums of their products do not overflow."""
        return self.stored.to(tl.int32) - self.zero_point

    def to_dense(self) -> tl.Tensor:
        return self.centred().to(tl.float32) * self.scale

    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> QuantizedTensor:
        if tensor.dtype != tl.float32:
            raise TypeError("a QuantizedTensor stands for float32")
        return cls.quantize(tensor)

    __tensorlike_to_dense__ = to_dense


implements = partial(overrides.implements, variants=True, for_type=QuantizedTensor)


def densely(function: Any, *args: Any, **kwargs: Any) -> Any:
    return overrides.to_dense(QuantizedTensor, function, (QuantizedTensor,), args, kwargs)


@implements(tl.detach)
def detach(input: QuantizedTensor) -> QuantizedTensor:
    return input.data


@implements(tl.Tensor.copy_)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(self, QuantizedTensor):
        return self.copy_(src.to_dense())
    if not isinstance(src, QuantizedTensor):
        return NotImplemented  # Rounding is asked for by name: quantize().
    self.stored, self.scale, self.zero_point = src.stored.clone(), src.scale, src.zero_point
    return self


def like(x: QuantizedTensor, stored: tl.Tensor) -> QuantizedTensor:
    return QuantizedTensor(stored, x.scale, x.zero_point)


# Functions that arrange elements, and those that pick one by its size, work on the integers as they are: no rounding.
def on_integers(function: Callable[..., Any]) -> None:
    first = function.operation.parameters[0].name  # type: ignore[attr-defined]

    def implementation(*args: Any, **kwargs: Any) -> Any:
        x, rest = (args[0], args[1:]) if args else (kwargs.get(first), ())
        named = {name: value for name, value in kwargs.items() if name != first}
        others = (*rest, *named.values())
        if not isinstance(x, QuantizedTensor) or any(isinstance(v, (QuantizedTensor, tl.Tensor)) for v in others):
            return densely(function, *args, **kwargs)
        result = function(x.stored, *rest, **named)
        return type(result)(like(x, part) for part in result) if isinstance(result, (list, tuple)) else like(x, result)

    implements(function, check=False)(implementation)


ON_INTEGERS = (
    "amax amin broadcast_to chunk clone diagonal flatten flip movedim narrow permute ravel reshape roll select "
    "split squeeze swapaxes t tile transpose unbind unflatten unsqueeze Tensor.__getitem__ Tensor.expand"
)
for name in ON_INTEGERS.split():
    on_integers(getattr(tl.Tensor if name.startswith("Tensor.") else tl, name.removeprefix("Tensor.")))


@implements(tl.relu)
def relu(input: QuantizedTensor) -> QuantizedTensor:
    return like(input, input.stored.clamp(min=input.zero_point))


@implements(tl.argmax)
def argmax(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    return tl.argmax(input.stored if isinstance(input, QuantizedTensor) else input, dim, keepdim, out=out)


@implements(tl.argmin)
def argmin(input: Any, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    return tl.argmin(input.stored if isinstance(input, QuantizedTensor) else input, dim, keepdim, out=out)


@implements(tl.mul)
def mul(input: Any, other: Any, *, out: Any = None) -> Any:
    """A number changes the scale alone."""
    x, factor = (input, other) if isinstance(input, QuantizedTensor) else (other, input)
    if out is None and isinstance(x, QuantizedTensor) and type(factor) in (int, float) and 0 < factor < tl.inf:
        return QuantizedTensor(x.stored, x.scale * factor, x.zero_point)
    return densely(tl.mul, input, other, out=out)


@implements(tl.matmul)
def matmul(input: Any, other: Any, *, out: Any = None) -> Any:
    """Two quantised operands: a sum of integers, scaled once at the end. One: the scale goes last all the same."""
    if out is not None:
        return densely(tl.matmul, input, other, out=out)
    if isinstance(input, QuantizedTensor) and isinstance(other, QuantizedTensor):
        return tl.matmul(input.centred(), other.centred()).to(tl.float32) * (input.scale * other.scale)
    if isinstance(input, QuantizedTensor):
        return tl.matmul(input.centred().to(other.dtype), other) * input.scale
    return tl.matmul(input, other.centred().to(input.dtype)) * other.scale


@implements(tl.nn.functional.linear)
def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:
    if out is not None or weight.ndim != 2:
        return densely(tl.nn.functional.linear, input, weight, bias, out=out)
    result = tl.matmul(input, weight.t())
    return result if bias is None else tl.add(result, bias)


def main() -> None:
    x = QuantizedTensor.quantize(tl.tensor([-1.0, 0.0, 0.3, 1.5]))
    print(x)
    error = (x.to_dense() - tl.tensor([-1.0, 0.0, 0.3, 1.5])).abs().max().item()
    print(f"largest error: {error:.4f}, with steps of {x.scale:.4f}")
    print("rearranged, exactly:", x.reshape(2, 2).t())
    print("relu:", tl.relu(x))
    print("no rule, so on numbers:", tl.exp(x))

    # The weights of a trained layer, in int8: gradients still reach what comes before it.
    tl.manual_seed(0)
    layer = tl.nn.Linear(64, 10)
    _, bias = layer.parameters()
    weight = QuantizedTensor.quantize(layer.weight)
    batch = tl.randn(32, 64, requires_grad=True)
    exact, rounded = layer(batch), tl.nn.functional.linear(batch, weight, bias)
    print(f"bytes: {layer.weight.nbytes} and {weight.stored.nbytes}")
    print(f"largest difference of {exact.numel()} outputs: {(exact - rounded).abs().max().item():.4f}")
    print("same class:", (exact.argmax(1) == rounded.argmax(1)).float().mean())
    (gradient,) = tl.autograd.grad(rounded.sum(), batch)
    print("gradient of the input:", tuple(gradient.shape))

    both = tl.matmul(QuantizedTensor.quantize(batch), weight.t())
    print(f"input quantised too: {(exact - bias - both).abs().max().item():.4f}")
    try:
        QuantizedTensor.quantize(tl.tensor([1, 2]))
    except TypeError as error:
        print("TypeError:", error)


if __name__ == "__main__":
    main()
