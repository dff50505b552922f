"""PyTorch's old names of automatic mixed precision for the device type "cpu": use `tensorlike.amp`."""

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
