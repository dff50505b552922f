"""Spectral normalisation by a hook: PyTorch's old form, which `parametrizations.spectral_norm` replaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.nn.parameter import Parameter, UninitializedParameter
from tensorlike.tensor import Tensor

if TYPE_CHECKING:
    # nn.modules imports this package.
    from tensorlike.nn.modules.module import Module

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]

M = TypeVar("M", bound="Module")


def output_dim(module: Module) -> int:
    """Return the dimension of a module's weight that counts its outputs."""
    return 1 if getattr(module, "transposed", False) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return the weight with `dim` first and all other dimensions as one."""
    return weight.movedim(dim, 0).flatten(1)


def power_iterations(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> None:
    """Move `u` and `v` in place towards the first singular vectors of `matrix` by `count` steps."""
    with recording_block(False):
        for _ in range(count):
            u.copy_(F.normalize(tl.mv(matrix, v), dim=0, eps=eps))
            v.copy_(F.normalize(tl.mv(matrix.mH, u), dim=0, eps=eps))


class SpectralNorm:
    """The hook that divides a weight by its largest singular value before each forward.

    Buffers `..._u` and `..._v` of the module hold approximations of the singular vectors, which each forward in
    training mode improves by `n_power_iterations` steps.
    """

    #: The version of what it saves: 1 since `..._v` is saved too.
    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with a row for each output."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Return the normalised weight, after improving the singular vectors if asked."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with recording_block(False):
                for _ in range(self.n_power_iterations):
                    # v first: what older files saved was u alone.
                    v.copy_(F.normalize(tl.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(tl.mv(matrix, v), dim=0, eps=self.eps))
                # Clones: the buffers change in the next forward, before this one's backward perhaps.
                u, v = u.clone(), v.clone()
        return weight / tl.dot(u, tl.mv(matrix, v))  # type: ignore[no-any-return]

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with recording_block(False):
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Put the hook for the parameter `name` on `module`."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with recording_block(False):
            rows, columns = hook.reshape_weight_to_matrix(weight).size()
            u = F.normalize(weight.new_empty(rows).normal_(0, 1), dim=0, eps=hook.eps)
            v = F.normalize(weight.new_empty(columns).normal_(0, 1), dim=0, eps=hook.eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # An attribute, not a parameter: it is computed anew by each forward.
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """Reads states that were saved before `..._v` was: computes it from the weight, its normalised form and `..._u`."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(fn.name + ".version")
        key = prefix + fn.name
        names = [key + "_orig", key, key + "_u"]
        if (version is not None and version >= 1) or key + "_v" in state_dict:
            return
        if any(name not in state_dict for name in names):
            missing_keys += [name for name in names if strict and name not in state_dict]
            return
        original, weight, u = (state_dict[name] for name in names)
        with recording_block(False):
            sigma = (original / weight).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            v = tl.linalg.multi_dot([matrix.t().mm(matrix).pinverse(), matrix.t(), u.unsqueeze(1)]).squeeze(1)
            state_dict[key + "_v"] = v.mul_(sigma / tl.dot(u, tl.mv(matrix, v)))
        del state_dict[key]


class SpectralNormStateDictHook:
    """Notes the version of what is saved."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide the parameter `name` by its largest singular value before each forward; return the module.

    Args:
        module: the module that has the parameter.
        name: the parameter's name.
        n_power_iterations: steps in which each forward in training mode improves the singular vectors.
        eps: the smallest norm that vectors are divided by.
        dim: the dimension of the weight that counts outputs: 0, for transposed convolutions 1.

    Raises ValueError for a number of steps below one, RuntimeError where it is applied already.

    >>> layer = tl.nn.utils.spectral_norm(tl.nn.Linear(20, 40))
    >>> layer.weight_u.size()
    tensorlike.Size([40])

    Source: Miyato and others, "Spectral Normalization for Generative Adversarial Networks", 2018.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the parameter `name` that `spectral_norm` normalises a plain parameter again; return the module.

    Raises ValueError where it is not normalised.
    """
    tables: tuple[tuple[Any, Any], ...] = (
        (module._forward_pre_hooks, lambda hook: hook),
        (module._state_dict_hooks, lambda hook: hook.fn if isinstance(hook, SpectralNormStateDictHook) else None),
        (
            module._load_state_dict_pre_hooks,
            lambda hook: hook.fn if isinstance(hook, SpectralNormLoadStateDictPreHook) else None,
        ),
    )
    found = None
    for table, norm_of in tables:
        for identifier, hook in list(table.items()):
            norm = norm_of(hook)
            if isinstance(norm, SpectralNorm) and norm.name == name:
                found = norm
                del table[identifier]
    if found is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    found.remove(module)
    return module
