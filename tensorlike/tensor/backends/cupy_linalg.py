"""`numpy.linalg` for CuPy arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .backend import Array, on_host


class CupyLinalg:
    """`numpy.linalg` over CuPy, raising LinAlgError where NumPy and PyTorch do.

    CuPy by itself fills the result of a failed decomposition with NaN or with garbage, to save the wait.
    """

    def __init__(self, cupy: Any, namespace: Any) -> None:
        self._cupy = cupy
        self._namespace = namespace
        self._linalg = cupy.linalg
        self.LinAlgError = np.linalg.LinAlgError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module 'cupy.linalg' has no attribute {name!r}")
        backend: Any = self._namespace._backend
        try:
            function = getattr(self._linalg, name)
        except AttributeError:
            # `eig`, which CuPy 13 lacks, and the norms: the host's.
            function = on_host(backend, getattr(np.linalg, name))
        else:
            function = self._raising(function)
        setattr(self, name, function)
        return function

    def _raising(self, function: Callable[..., Any]) -> Callable[..., Any]:
        backend: Any = self._namespace._backend

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with backend.extension("errstate")(linalg="raise"):
                return function(*args, **kwargs)

        return checked

    def cholesky(self, a: Array, /, *, upper: bool = False) -> Array:
        lower = self._raising(self._linalg.cholesky)(a)
        return self._cupy.swapaxes(lower, -1, -2).conj() if upper else lower

    def svd(self, a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
        # The general algorithm is right for Hermitian matrices too.
        return self._raising(self._linalg.svd)(a, full_matrices=full_matrices, compute_uv=compute_uv)

    def svdvals(self, x: Array, /) -> Array:
        return self.svd(x, compute_uv=False)

    def pinv(
        self, a: Array, rcond: Array | None = None, hermitian: bool = False, *, rtol: float | None = None
    ) -> Array:
        """From the singular values, batched, with a cutoff per matrix: CuPy's takes one number, and not by `rtol`."""
        if rcond is None:
            rcond = rtol if rtol is not None else max(a.shape[-2:]) * np.finfo(a.dtype).eps
        if a.size == 0:
            return self._cupy.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype=a.dtype)
        left, values, right = self.svd(a, full_matrices=False)
        largest = self._cupy.max(values, axis=-1, keepdims=True)
        cutoff = (rcond if isinstance(rcond, float | int | np.number) else rcond[..., None]) * largest
        kept = values > cutoff
        inverse = self._namespace.where(
            kept, 1 / self._namespace.where(kept, values, values.dtype.type(1)), values.dtype.type(0)
        )
        transposed = self._cupy.swapaxes(right, -1, -2).conj() * inverse[..., None, :]
        return self._cupy.matmul(transposed, self._cupy.swapaxes(left, -1, -2).conj())

    def matrix_rank(
        self, A: Array, tol: float | None = None, hermitian: bool = False, *, rtol: float | None = None
    ) -> Array:
        """The number of singular values above the cutoff, batched: CuPy's knows a single matrix and no `rtol`."""
        if A.ndim < 2:
            return self._cupy.any(A != 0).astype(np.intp)
        values = self.svdvals(A)
        if tol is None:
            rtol = max(A.shape[-2:]) * np.finfo(values.dtype).eps if rtol is None else rtol
            tol = self._cupy.max(values, axis=-1) * rtol
        tol = tol if isinstance(tol, float | int | np.number) else tol[..., None]
        return self._cupy.sum(values > tol, axis=-1)

    def multi_dot(self, arrays: Sequence[Array]) -> Array:
        return functools.reduce(self._cupy.dot, arrays)

    def vecdot(self, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
        return self._namespace.vecdot(x1, x2, axis=axis)

    def outer(self, x1: Array, x2: Array, /) -> Array:
        return self._cupy.outer(x1, x2)

    def tensordot(self, x1: Array, x2: Array, /, *, axes: Any = 2) -> Array:
        return self._cupy.tensordot(x1, x2, axes=axes)

    def matmul(self, x1: Array, x2: Array, /) -> Array:
        return self._cupy.matmul(x1, x2)

    def matrix_transpose(self, x: Array, /) -> Array:
        return self._cupy.swapaxes(x, -1, -2)

    def diagonal(self, x: Array, /, *, offset: int = 0) -> Array:
        return self._cupy.diagonal(x, offset, axis1=-2, axis2=-1)

    def trace(self, x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
        return self._cupy.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)
