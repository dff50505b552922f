"""Function transforms: gradients, Jacobians, vectorization. They nest to any depth.

Built on the dispatch layer: inside a transform, tensors are of a type that implements it; see `tensorlike.transforms`.
Same names as PyTorch's module `torch.func`.
"""

from __future__ import annotations

from .transforms.differentiating import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .transforms.mapping import vmap
from .transforms.modules import functional_call, stack_module_state

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
