"""Linear algebra in chunks: matrices that are each in one chunk, and tall matrices in chunks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

from tensorlike._originals import tl
from tensorlike.dispatch.operation import MATRICES, Form, operation_of
from tensorlike.dispatch.registry import moving
from tensorlike.tensor import Tensor

from .along import check_whole
from .chunked import called, chunked, is_chunked, name_of, numpy_meta, refused, rule
from .pullback import differentiated
from .recording import arguments, record
from .tasks import ChunkFunction, array_in, chunk_from

L: Any = tl.linalg

Shape = tuple[int, ...]


def _matrix_of_one(tensor: Tensor) -> Any:
    """Return a sample of one matrix of one element, which every decomposition takes."""
    return tensor._tl_data.sample * 0 + 1


def _of_matrices(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    first = next(iter(given))
    tensor = given.pop(first)
    rest = {k: v for k, v in given.items() if k in {p.name for p in form.operation.forms[0].parameters}}
    function = form.operation.function
    if not is_chunked(tensor) or any(isinstance(v, tl.Tensor) and v.dim() for v in rest.values()):
        raise refused(form, "only its first operand may be in chunks")
    sample = function(_matrix_of_one(tensor), **rest) if tensor.dim() >= 2 else called(function, (tensor,), rest)
    m, n = tensor._tl_data.shape[-2:]
    before, _, after = form.operation.dims.core.partition("->")
    sizes = {"m": m, "n": n, "k": min(m, n)}
    shapes = [tuple(sizes[letter] for letter in one) for one in after.split(",")]
    if m != n and before == "mm":
        raise RuntimeError(f"{name_of(form)}(): A must be batches of square matrices, but they are {m} by {n} matrices")
    ndim = tensor.dim()
    check_whole(form, tensor, (ndim - 2, ndim - 1))
    return _placed(form, function, tensor, rest, sample, shapes)


def _placed(form: Form, function: Any, tensor: Tensor, rest: Any, sample: Tensor, shapes: Sequence[Shape]) -> Any:
    """Return the results of a function of each matrix, of the given shapes."""
    ndim = tensor.dim()
    numbers = tuple(range(ndim))
    several = isinstance(sample, (tuple, list))
    results = []
    for number, (one, shape) in enumerate(zip(sample if several else (sample,), shapes, strict=True)):
        own = tuple(range(ndim, ndim + len(shape)))
        results.append(
            differentiated(
                name_of(form), function, (tensor,), rest, one, [numbers], (*numbers[:-2], *own),
                new=dict(zip(own, shape, strict=True)), number=number if several else None,
            )
        )  # fmt: skip
    return type(sample)(results) if several else results[0]


rule(*(f for f in moving(MATRICES) if not operation_of(f).dims.core.endswith("...")))(_of_matrices)


# ------------------------------------------------------------------------------------------- matrices in chunks of rows


def _tall(form: Form, tensor: Tensor) -> None:
    """Raise for a matrix that is not in chunks of whole rows, more of them than columns."""
    if tensor.dim() != 2:
        raise refused(form, "it takes one matrix in chunks of rows, or batches of matrices in one chunk each")
    check_whole(form, tensor, (1,))
    m, n = tensor._tl_data.shape
    if m < n:
        raise refused(form, f"a matrix in chunks of rows has to have more rows than columns, not {m} by {n}")


@rule(L.qr)
def _qr(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, mode = given["A"], given.get("mode", "reduced")
    sample = L.qr(_matrix_of_one(tensor), mode) if tensor.dim() >= 2 else called(form.function, (tensor, mode), {})
    array = tensor._tl_data.array
    m, n = tensor._tl_data.shape[-2:]
    k = min(m, n)
    if max(array.numblocks[-2:]) == 1:
        known: dict[str, list[Shape]] = {"reduced": [(m, k), (k, n)], "complete": [(m, m), (m, n)]}
        shapes = known.get(mode, [])
        if not shapes:
            raise refused(form, "mode 'r' has no rule: take R of mode 'reduced'")
        return _placed(form, L.qr, tensor, {"mode": mode}, sample, shapes)
    _tall(form, tensor)
    if mode != "reduced":
        raise refused(form, "of a matrix in chunks of rows it computes mode 'reduced' alone")
    q, r = da.linalg.tsqr(_arrays(array))
    return record(form.operation, {"A": tensor, "mode": mode}, (_tensors(q, sample[0]), _tensors(r, sample[1])))


@rule(L.svd)
def _svd(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = arguments(form, args, kwargs)
    tensor, full = given["A"], given.get("full_matrices", True)
    sample = L.svd(_matrix_of_one(tensor), full) if tensor.dim() >= 2 else called(form.function, (tensor,), {})
    array = tensor._tl_data.array
    m, n = tensor._tl_data.shape[-2:]
    k = min(m, n)
    if max(array.numblocks[-2:]) == 1:
        shapes: list[Shape] = [(m, m), (k,), (n, n)] if full else [(m, k), (k,), (k, n)]
        return _placed(form, L.svd, tensor, {"full_matrices": full}, sample, shapes)
    _tall(form, tensor)
    if full and m != n:
        raise refused(form, "of a matrix in chunks of rows it computes full_matrices=False alone")
    with warnings.catch_warnings():
        # dask casts a sample of complex numbers to the real dtype of the singular values.
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        parts = da.linalg.tsqr(_arrays(array), compute_svd=True)
    return record(
        form.operation,
        {**given, "full_matrices": full},
        tuple(_tensors(p, s) for p, s in zip(parts, sample, strict=True)),
    )


def _arrays(array: da.Array) -> Any:
    return array.map_blocks(array_in, dtype=array.dtype, meta=numpy_meta(array.ndim, array.dtype))


def _tensors(array: da.Array, sample: Tensor) -> Any:
    """Return the chunked tensor of a dask array of arrays that dask computes by itself."""
    found = array.map_blocks(
        chunk_from, dtype=sample._tl_data.dtype, meta=numpy_meta(array.ndim, sample._tl_data.dtype)
    )
    return chunked(found, sample)


# ------------------------------------------------------------------------------------------------------------- solving


@rule(L.solve, L.solve_triangular)
def _solve(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Solve for each matrix in one chunk; the columns of the other side may be in several."""
    given = arguments(form, args, kwargs)
    a, b = given.pop("A"), given.pop("B")
    left = given.get("left", True)
    n = a.shape[-1]
    if a.dim() < 2 or a.shape[-2] != n:
        raise RuntimeError(
            f"{name_of(form)}(): A must be batches of square matrices, but they are "
            f"{' by '.join(map(str, a.shape[-2:]))} "
            "matrices"
        )
    vector = b.dim() == 1 and a.dim() == 2 and form.operation is operation_of(L.solve)
    if not vector and a.dim() != b.dim():
        raise refused(form, "both operands must have the same number of dimensions, or B be one vector")
    if b.shape[0 if vector else -2 if left else -1] != n:
        raise RuntimeError(
            f"{name_of(form)}(): Incompatible shapes of A and B for the equation AX = B ({list(a.shape)} and "
            f"{list(b.shape)})"
        )
    if is_chunked(a):
        check_whole(form, a, (a.dim() - 2, a.dim() - 1))
    if is_chunked(b):
        check_whole(form, b, (0,) if vector else (b.dim() - (2 if left else 1),))
    rank = a.dim()
    batch = tuple(range(rank - 2))
    one = (*batch, rank, rank + 1)
    two = (rank + 2,) if vector else (*batch, rank + 2, rank + 3)
    points = [t._tl_data.sample if is_chunked(t) else t.detach()[(slice(0, 1),) * t.dim()] for t in (a, b)]
    sample = form.function(points[0] * 0 + 1, points[1], **given)
    return differentiated(name_of(form), form.function, (a, b), given, sample, [one, two], two)


@rule(L.lstsq)
def _lstsq(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Solve with Q and R of a tall matrix in chunks of rows; its rank is checked by the task that has R."""
    given = arguments(form, args, kwargs)
    a, b = given["A"] if "A" in given else given["input"], given["B"] if "B" in given else given["b"]
    if given.get("driver") not in (None, "gelsy", "gels") or given.get("rcond") is not None:
        raise refused(form, "drivers of singular values and rcond have no rule")
    if a.dim() != 2 or b.dim() != 2 or not is_chunked(a):
        raise refused(form, "it takes a matrix in chunks of rows, and a matrix of right-hand sides")
    if a.requires_grad or b.requires_grad:
        raise refused(form, "its gradient has none: take linalg.solve(A.T @ A, A.T @ B)")
    if a.shape[0] != b.shape[0]:
        raise RuntimeError(
            f"lstsq(): input.size(-2) should match other.size(-2), got {list(a.shape)} and {list(b.shape)}"
        )
    _tall(form, a)
    q, r = L.qr(a)
    r = r.rechunk(-1).map_chunks(_FullRank(int(a.shape[0]), int(a.shape[1])))
    solution = L.solve_triangular(r, (q.mT @ b).rechunk({0: -1}), upper=True)
    named = form.function(a._tl_data.sample * 0 + 1, a._tl_data.sample * 0 + 1)
    # As of an ordinary tensor, one driver tells the rank, the other one the residuals.
    if given.get("driver") == "gels":
        away = (a @ solution - b).abs()
        rank, residuals = a.new_zeros(0, dtype=tl.int64), (away * away).sum(0)
        residuals = residuals if a.shape[0] > a.shape[1] else residuals[:0]
    else:
        rank, residuals = (r.diagonal() != 0).sum(), a.new_zeros(0)
    return type(named)((solution, residuals, rank, named.singular_values))


class _FullRank(ChunkFunction):
    """Passes R on, and raises for one of less than full rank."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.__name__ = "lstsq"

    def __call__(self, r: Tensor) -> Any:
        sizes = r.diagonal().abs()
        if tuple(r.shape) == (self.columns, self.columns) and sizes.numel():
            smallest = sizes.max() * tl.finfo(r.dtype).eps * self.rows
            if bool((sizes <= smallest).any()):
                raise RuntimeError("the matrix has not full rank, and in chunks of rows there is no other solution")
        return r
