"""The earlier name of the download of weights.

Source: PyTorch's `torch.utils.model_zoo`.
"""

from __future__ import annotations

from tensorlike._above import above

__all__ = ["load_url"]

load_url = above("hub").load_state_dict_from_url
