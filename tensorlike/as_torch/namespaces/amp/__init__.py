"""Automatic mixed precision: operations that gain by it run in half precision, those that suffer by it in float32."""

from tensorlike._above import explain_absent_names

from .autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

explain_absent_names(__name__)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
