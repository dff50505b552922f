"""PyTorch's old names of autocast for the device type "cuda"."""

from ...amp._old_names import old_names

autocast, custom_fwd, custom_bwd, _ = old_names("cuda", __name__)

__all__ = ["autocast", "custom_bwd", "custom_fwd"]
