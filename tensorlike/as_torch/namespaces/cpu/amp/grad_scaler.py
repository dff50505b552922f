"""PyTorch's old name of the gradient scaler for the device type "cpu"."""

from ...amp._old_names import old_names

_, _, _, GradScaler = old_names("cpu", __name__)

__all__ = ["GradScaler"]
