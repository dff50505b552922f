"""`DataParallel` on one device.

Source: PyTorch's module of that name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tensorlike._above import above
from tensorlike.nn.modules.module import Module
from tensorlike.tensor.device import device as Device

__all__ = ["DataParallel", "data_parallel"]

Devices = Sequence[Device | int | str]


def _device_indices(device_ids: Devices | None) -> list[int]:
    """Return the index of the GPU as a list; an empty one without a GPU. RuntimeError for several."""
    if not above("cuda").is_available():
        return []
    chosen = device_ids if device_ids is not None else [above("cuda")._chosen("DataParallel", None)[1]]
    if len(chosen) > 1:
        raise RuntimeError(
            f"DataParallel computes on one device, got device_ids={list(chosen)}; pass one of them, and split batches "
            "over processes of your own"
        )
    indices = [above("cuda")._chosen("DataParallel", device)[1].index for device in chosen]
    return [index for index in indices if index is not None]


class DataParallel(Module):
    """The module `module`, under that name, on one device: without a GPU that of its parameters.

    PyTorch splits batches over all GPUs. With one GPU, or none, it computes what this does. Raises RuntimeError for
    `device_ids` of several GPUs.

    >>> module = tl.nn.DataParallel(tl.nn.Linear(2, 3))
    >>> list(module.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: Devices | None = None,
        output_device: Device | int | str | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.module = module
        self.device_ids = _device_indices(device_ids)
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else output_device
            self.src_device_obj = Device("cuda", self.device_ids[0])
            self.module.to(self.src_device_obj)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Devices | None = None,
    output_device: Device | int | str | None = None,
    dim: int = 0,
    module_kwargs: Mapping[str, Any] | None = None,
) -> Any:
    """Call `module` with `inputs`, one or a tuple of them, on one device."""
    _device_indices(device_ids)
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
