"""Weight normalisation by a hook: PyTorch's old form, which `parametrizations.weight_norm` replaces."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.nn.parameter import Parameter, UninitializedParameter
from tensorlike.tensor import Tensor

if TYPE_CHECKING:
    # nn.modules imports this package.
    from tensorlike.nn.modules.module import Module

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound="Module")


def normalized(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """Return `v` scaled so that its norm over all dimensions but `dim` is `g`; with dim -1 over all."""
    return v * (g / tl.norm_except_dim(v, 2, dim))


class WeightNorm:
    """The hook that computes a weight from its norm and direction before each forward."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Module) -> Any:
        """Return the weight: the direction `..._v` with the norm `..._g`."""
        return normalized(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Put the hook for the parameter `name` on `module`."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(tl.norm_except_dim(weight, 2, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace the parameter `name` by its norm `..._g` and its direction `..._v`, and return the module.

    The norm is taken over all dimensions but `dim`; with None over all. Gives a FutureWarning: use
    `parametrizations.weight_norm`. Raises RuntimeError where it is applied already.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     layer = tl.nn.utils.weight_norm(tl.nn.Linear(2, 3))
    >>> layer.weight_g.shape == (3, 1), layer.weight_v.shape == (3, 2)
    (True, True)

    Source: Salimans and Kingma, "Weight Normalization", 2016.
    """
    warnings.warn(
        f"`{LIBRARY}.nn.utils.weight_norm` is deprecated in favor of "
        f"`{LIBRARY}.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the parameter `name` that `weight_norm` replaced a parameter again; return the module.

    Raises ValueError where it was not replaced.
    """
    for identifier, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[identifier]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
