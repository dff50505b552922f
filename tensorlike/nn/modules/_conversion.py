"""Moving modules between devices and dtypes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Self

from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.dispatch.tracebacks import short_tracebacks
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.layouts import format_name
from tensorlike.tensor.parameter import Parameter
from tensorlike.utils._swapping import swap_tensors

__all__ = ["ConversionMethods"]


def _set_data(tensor: Any, data: Any) -> None:
    if isinstance(tensor, Tensor):
        tensor.data = data
    else:  # It may keep something of its own under that name.
        setter: Any = vars(Tensor)["data"]
        setter.__set__(tensor, data)


class ConversionMethods:
    """The methods of `Module` that move or convert its parameters and buffers."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    children: Callable[[], Iterator[Any]]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace each parameter's data and gradient and each buffer by the result of `fn` for it.

        Parameters stay the objects they are, so that an optimizer keeps updating the module, unless they move to or
        from the "meta" device, or `__future__` says otherwise.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        switches: Any = sys.modules.get("tensorlike.__future__")
        overwriting = switches is not None and switches.get_overwrite_module_params_on_conversion()
        swapping = switches is not None and switches.get_swap_module_params_on_conversion()
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with recording_block(False):
                data = fn(parameter)
            gradient = parameter.grad
            if swapping:
                self._swap(name, parameter, data, gradient, fn)
                continue
            if overwriting and data is not parameter:
                parameter = self._parameters[name] = Parameter(data, requires_grad=parameter.requires_grad)
                if gradient is not None:
                    with recording_block(False):
                        changed: Any = fn(gradient)
                        parameter.grad = changed.requires_grad_(gradient.requires_grad)
                continue
            if data.is_meta != parameter.is_meta:
                # The meta device has no memory: the only case in which the parameter becomes another object.
                parameter = self._parameters[name] = Parameter(data, requires_grad=parameter.requires_grad)
            elif data is not parameter:
                _set_data(parameter, data)
            if gradient is not None:
                with recording_block(False):
                    changed = fn(gradient)
                if changed.is_meta != gradient.is_meta:
                    parameter.grad = changed
                elif changed is not gradient:
                    # The gradient too stays the same object; it is detached from its parameter while their dtypes
                    # differ.
                    parameter.grad = None
                    _set_data(gradient, changed)
                    parameter.grad = gradient
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, parameter: Any, data: Tensor, gradient: Tensor | None, fn: Callable[[Any], Any]) -> None:
        """Swap a parameter with its new form, and its gradient with that of the gradient. Called by `_apply`."""
        parameter.grad = None
        try:
            if data is not parameter:
                if not isinstance(data, Parameter):
                    data = Parameter(data, requires_grad=parameter.requires_grad)
                swap_tensors(parameter, data)
        except RuntimeError as error:
            parameter.grad = gradient
            raise RuntimeError(f"_apply(): Couldn't swap {type(self).__name__}.{name}: {error}") from error
        if gradient is not None:
            with recording_block(False):
                changed = fn(gradient)
            if changed is not gradient:
                changed.requires_grad_(gradient.requires_grad)
                swap_tensors(gradient, changed)
            parameter.grad = gradient

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move the parameters and buffers to a device, or convert those of floating point to a dtype, and return self.

        Takes `(device=None, dtype=None, non_blocking=False)`, `(dtype, non_blocking=False)` or
        `(tensor, non_blocking=False)`, whose device and dtype are taken. `memory_format` is for tensors of four or five
        dimensions. Raises TypeError for an integer dtype.

        >>> tl.nn.Linear(2, 3).to(tl.float64).weight.dtype == tl.float64
        True
        """
        device, dtype, non_blocking, memory_format = parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(tensor: Tensor) -> Tensor:
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            return tensor.to(
                device=device or tensor.device, dtype=target or tensor.dtype, non_blocking=non_blocking,
                # Parameters that are not initialised yet have no dimensions, and are moved and converted all the same.
                memory_format=memory_format if memory_format is not None and tensor.dim() in (4, 5) else None,
            )  # fmt: skip

        return self._apply(convert)

    def to_empty(self, *, device: Device | str | None, recurse: bool = True) -> Self:
        """Move the parameters and buffers to `device` without their values, and return self."""
        return self._apply(lambda tensor: tl.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: Dtype | str) -> Self:
        """Convert all parameters and buffers to the dtype `dst_type`, and return self."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def _to_floating(self, dtype: Dtype | None) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Convert parameters and buffers of floating point to float32."""
        return self._to_floating(tl.float32)

    def double(self) -> Self:
        """Convert parameters and buffers of floating point to float64."""
        return self._to_floating(tl.float64)

    def half(self) -> Self:
        """Convert parameters and buffers of floating point to float16."""
        return self._to_floating(tl.float16)

    def bfloat16(self) -> Self:
        """Convert parameters and buffers of floating point to bfloat16."""
        return self._to_floating(tl.bfloat16)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that processes share, and return self.

        >>> tl.nn.Linear(2, 3).share_memory().weight.is_shared()
        True
        """
        return self._apply(lambda tensor: tensor.share_memory_())

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Device | int | None = None) -> Self:
        """Move all parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))


_FLAGS = ("non_blocking", "copy")


@short_tracebacks
def parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """Parse the arguments of `to`; return the device, dtype, `non_blocking` and memory format."""
    memory_format = kwargs.pop("memory_format", None)
    format_name(memory_format, "Module.to")
    names: tuple[str, ...] = ("device", "dtype", "non_blocking", "copy")
    if args and isinstance(args[0], tl.dtype):
        names = names[1:]
    elif (args and isinstance(args[0], Tensor)) or "tensor" in kwargs:
        names = ("tensor", "non_blocking", "copy")
    given = dict(zip(names, args))
    unknown = [name for name in kwargs if name not in names]
    no_bool = any(not isinstance(value, bool) for name, value in (given | kwargs).items() if name in _FLAGS)
    if len(args) > len(names) or unknown or no_bool or given.keys() & kwargs.keys():
        kinds = [type(a).__name__ for a in args] + [f"{name}={type(v).__name__}" for name, v in kwargs.items()]
        raise TypeError(
            f"Module.to() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected "
            "(device=None, dtype=None, non_blocking=False), (dtype, non_blocking=False) or "
            "(tensor, non_blocking=False)"
        )
    given.update(kwargs)
    if "tensor" in given:
        given["device"], given["dtype"] = given["tensor"].device, given["tensor"].dtype
    if given.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    device = given.get("device")
    if device is not None and not isinstance(device, tl.device):
        device = tl.device(device)
    return device, given.get("dtype"), bool(given.get("non_blocking", False)), memory_format
