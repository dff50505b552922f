"""Function transforms: gradients, Jacobians, vectorization. They nest to any depth.

Built on the dispatch layer: inside a transform, tensors are of a type that implements it; see `tensorlike.transforms`.
Same names as PyTorch's module `torch.func`.
"""

from __future__ import annotations

from tensorlike._above import explain_absent_names
from tensorlike.transforms.differentiating import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from tensorlike.transforms.mapping import vmap
from tensorlike.transforms.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state

explain_absent_names(__name__)

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
