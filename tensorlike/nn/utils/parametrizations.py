"""Parametrizations of weights: orthogonal matrices, weight and spectral normalisation."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, TypeVar

from tensorlike._originals import functional as F
from tensorlike._originals import tl
from tensorlike.autograd.grad_mode import recording_block
from tensorlike.nn.modules.module import Module
from tensorlike.tensor import Tensor

from . import parametrize
from .spectral_norm import as_matrix, output_dim, power_iterations
from .weight_norm import normalized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


def _is_orthogonal(Q: Tensor) -> bool:
    n, k = Q.size(-2), Q.size(-1)
    identity = tl.eye(k, dtype=Q.dtype, device=Q.device)
    # Rounding grows with the number of terms in each product.
    return bool(tl.allclose(Q.mH @ Q, identity, atol=10.0 * n * tl.finfo(Q.dtype).eps))


def _make_orthogonal(A: Tensor) -> Tensor:
    """Return the factor Q of A = QR for the R with a positive diagonal, which makes it unique."""
    X, tau = tl.geqrf(A)
    return tl.linalg.householder_product(X, tau) * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps a matrix to one with orthonormal columns, or rows where it is wider than high."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        n, k = X.size(-2), X.size(-1)
        Q: Tensor
        if self.orthogonal_map is _OrthMaps.householder:
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            # The diagonal holds signs: the map reaches matrices of either determinant.
            Q = tl.linalg.householder_product(A, tau) * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = tl.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                Q = tl.matrix_exp(A)
            else:
                identity = tl.eye(n, dtype=A.dtype, device=A.device)
                Q = tl.linalg.solve(tl.add(identity, A, alpha=-0.5), tl.add(identity, A, alpha=0.5))
            if n != k:
                Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        with recording_block(False):
            if Q.shape != self.shape:
                raise ValueError(
                    f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
                )
            given = Q
            wide = Q.size(-2) < Q.size(-1)
            if wide:
                Q = Q.mT
            n, k = Q.size(-2), Q.size(-1)
            if not hasattr(self, "base"):
                if self.orthogonal_map is not _OrthMaps.householder:
                    raise NotImplementedError(
                        "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                        "use_trivialization=False."
                    )
                A, tau = tl.geqrf(Q)
                diagonal = A.diagonal(dim1=-2, dim2=-1)
                # Reflections of length zero are the identity, the others change a sign.
                diagonal.copy_(tl.where(tau == 0, -diagonal.sign(), diagonal.sign()))
                return A.mT if wide else A
            if n != k:
                # Columns that complete a basis; the map itself uses the first k.
                Q = _make_orthogonal(tl.cat([Q, tl.randn((*Q.size()[:-2], n, n - k), dtype=Q.dtype)], dim=-1))
            else:
                Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
            self.base = Q
            # Every map takes minus the identity to the identity, so that the result is `base`.
            origin = tl.zeros_like(given)
            origin.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return origin


def orthogonal(
    module: M, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> M:
    """Parametrize the tensor `name` of `module` as an orthogonal, or unitary, matrix, and return the module.

    Args:
        module: the module that has the tensor.
        name: the tensor's name; it has two or more dimensions, the last two of which make the matrices.
        orthogonal_map: "matrix_exp" (the default for square and complex matrices), "cayley" or "householder" (the
            default for the others).
        use_trivialization: keep a matrix that the map's result is multiplied with, which lets one assign any orthogonal
            matrix, and makes training more stable.

    Raises ValueError for another map, a tensor that is missing or has fewer dimensions, or complex numbers with
    "householder".

    >>> weight = tl.nn.utils.parametrizations.orthogonal(tl.nn.Linear(20, 40)).weight
    >>> tl.allclose(weight.mT @ weight, tl.eye(20), atol=1e-5)
    True

    Source: Lezcano-Casado, "Trivializations for Gradient-Based Optimization on Manifolds", 2019.
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if not isinstance(chosen, _OrthMaps):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module


class _WeightNorm(Module):
    """Scales a direction to a norm."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return tl.norm_except_dim(weight, 2, self.dim), weight


class _ReadOldNames:
    """Reads states saved with `nn.utils.weight_norm`; a class, not a closure, so that modules can be copied."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        old = [f"{prefix}{self.name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{self.name}.original{i}"] = state_dict.pop(key)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Parametrize the tensor `name` of `module` by its norm and its direction, and return the module.

    The norm over all dimensions but `dim` (over all, with None) is `parametrizations.weight.original0`, the direction
    `original1`. States saved with the older `nn.utils.weight_norm` can be loaded.

    >>> layer = tl.nn.utils.parametrizations.weight_norm(tl.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.size()
    tensorlike.Size([40, 1])

    Source: Salimans and Kingma, "Weight Normalization", 2016.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_ReadOldNames(name))
    return module


class _SpectralNorm(Module):
    """Divides a weight by its largest singular value, which power iterations approximate."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            rows, columns = matrix.size()
            for name, size in (("_u", rows), ("_v", columns)):
                start = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, F.normalize(start, dim=0, eps=eps))
            # Enough for a good first value; each forward in training mode improves it.
            power_iterations(matrix, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_iterations(matrix.detach(), self._u, self._v, self.n_power_iterations, self.eps)
        # Clones: the buffers change in the next forward, before this one's backward perhaps.
        sigma = tl.vdot(self._u.clone(), tl.mv(matrix, self._v.clone()))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Parametrize the tensor `name` of `module` as itself divided by its largest singular value; return the module.

    Args:
        module: the module that has the tensor.
        name: the tensor's name.
        n_power_iterations: steps in which each reading in training mode improves the singular vectors.
        eps: the smallest norm that vectors are divided by.
        dim: the dimension of the weight that counts outputs: 0, for transposed convolutions 1.

    Raises ValueError for a tensor that is missing or a number of steps below one.

    >>> layer = tl.nn.utils.parametrizations.spectral_norm(tl.nn.Linear(20, 40))
    >>> tl.linalg.matrix_norm(layer.weight, 2) < 1.1
    tensor(True)

    Source: Miyato and others, "Spectral Normalization for Generative Adversarial Networks", 2018.
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = output_dim(module)
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
