"""The functions of `functorch.experimental`, those of `torch.func` under their old names."""

from __future__ import annotations

from tensorlike.transforms.differentiating import hessian, jacfwd, jvp
from tensorlike.transforms.modules import replace_all_batch_norm_modules_

__all__ = ["hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
