"""Looking at overrides."""

from tensorlike.dispatch import DisableTorchFunction, DisableTorchFunctionSubclass, TorchFunctionMode
from tensorlike.tensor.tensor import disabled_torch_function

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode", "disabled_torch_function"]
