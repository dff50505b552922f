"""PyTorch's old name of the gradient scaler for the device type "cuda"."""

from ...amp._old_names import old_names

_, _, _, GradScaler = old_names("cuda", __name__)

__all__ = ["GradScaler"]
