"""Samples of products of matrices and vectors, and of composed products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..sample import FLOATING, NUMERIC, Make, SampleInput, samples


@samples("tensorlike.matmul", dtypes=NUMERIC, reference=np.matmul)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 4))
    yield SampleInput(make(3), make(3))
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(3), make(3, 4))
    yield SampleInput(make(2, 3, 4), make(2, 4, 5))
    yield SampleInput(make(2, 3, 4), make(4, 5), name="one matrix for the batch")
    yield SampleInput(make(3, 4), make(2, 4, 5), name="one matrix on the left for the batch")
    yield SampleInput(make(2, 3, 4), make(4))
    yield SampleInput(make(4), make(2, 4, 3))
    yield SampleInput(make(3, 1, 2, 4), make(2, 4, 2), name="batches broadcast")
    yield SampleInput(make(2, 3, contiguous=False), make(3, 4, contiguous=False))
    yield SampleInput(make(0, 3), make(3, 2), name="empty")
    yield SampleInput(make(2, 0), make(0, 3), name="nothing to sum")
    yield SampleInput(make(0, 2, 3), make(3, 2), name="empty batch")
    yield SampleInput(make(2, 0, 3), make(2, 3, 0))
    yield SampleInput(make(3, 3), make(3, 3), name="square")


@samples("tensorlike.Tensor.__rmatmul__", dtypes=NUMERIC, reference=lambda a, b: b @ a)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 4), make(2, 3))
    yield SampleInput(make(3), make(3))
    yield SampleInput(make(3, 3), make(3, 3), name="square")


@samples("tensorlike.mm", dtypes=NUMERIC, reference=np.matmul)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 4))
    yield SampleInput(make(2, 3, contiguous=False), make(3, 1))
    yield SampleInput(make(2, 0), make(0, 3))
    yield SampleInput(make(0, 3), make(3, 2))
    yield SampleInput(make(3, 3), make(3, 3), name="square")


@samples("tensorlike.bmm", dtypes=NUMERIC, reference=np.matmul)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), make(2, 4, 5))
    yield SampleInput(make(2, 1, 4, contiguous=False), make(2, 4, 3))
    yield SampleInput(make(1, 2, 0), make(1, 0, 3))
    yield SampleInput(make(0, 2, 3), make(0, 3, 2))


@samples("tensorlike.mv", dtypes=NUMERIC, reference=np.matmul)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(3, 2, contiguous=False), make(2, contiguous=False))
    yield SampleInput(make(2, 0), make(0))
    yield SampleInput(make(0, 2), make(2))
    yield SampleInput(make(3, 3), make(3), name="square")


@samples("tensorlike.dot", dtypes=NUMERIC, reference=np.dot)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4), make(4))
    yield SampleInput(make(3, contiguous=False), make(3))
    yield SampleInput(make(0), make(0))


@samples("tensorlike.vdot", dtypes=NUMERIC, reference=np.vdot)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(4), make(4))
    yield SampleInput(make(0), make(0))


@samples("tensorlike.inner", dtypes=NUMERIC, reference=np.inner)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(3))
    yield SampleInput(make(2, 3), make(4, 3))
    yield SampleInput(make(2, 3), make(3))
    yield SampleInput(make(3), make(2, 3), broadcasts=True)
    yield SampleInput(make(2, 1, 3), make(4, 2, 3), broadcasts=True)
    yield SampleInput(make(), make(2, 3), broadcasts=True)
    yield SampleInput(make(2, 3), make())
    yield SampleInput(make(2, 0), make(3, 0))


@samples("tensorlike.outer", "tensorlike.ger", dtypes=(*NUMERIC, "bool"), reference=np.outer)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), make(3))
    yield SampleInput(make(0), make(3))
    yield SampleInput(make(2), make(3, dtype="float32"), name="two dtypes")


def _linear(input: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    result: np.ndarray = input @ weight.T
    return result if bias is None else result + bias


@samples("tensorlike.nn.functional.linear", dtypes=NUMERIC, reference=_linear)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(4, 3), make(4))
    yield SampleInput(make(2, 3), make(4, 3))
    yield SampleInput(make(3), make(4, 3), make(4))
    yield SampleInput(make(2, 5, 3), make(4, 3), bias=make(4))
    yield SampleInput(make(2, 5, 3), make(3))
    yield SampleInput(make(3), make(3), make())
    yield SampleInput(make(2, 3), make(4, 3), make(1), name="bias broadcasts")
    yield SampleInput(make(0, 3), make(4, 3), make(4), name="empty")
    yield SampleInput(make(2, 0), make(4, 0), make(4), name="nothing to sum")
    yield SampleInput(make(2, 3, contiguous=False), make(4, 3, contiguous=False), make(4))


def _sum_of_products(input: np.ndarray, first: np.ndarray, second: np.ndarray, beta: complex = 1, alpha: complex = 1):  # type: ignore[no-untyped-def]
    # With `beta` 0 `input` is not read.
    found = alpha * (first @ second)
    return found if beta == 0 else beta * input + found


@samples("tensorlike.addmm", dtypes=NUMERIC, reference=_sum_of_products)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), make(2, 3), make(3, 4))
    yield SampleInput(make(2, 4), make(2, 3), make(3, 4), beta=2, alpha=3)
    yield SampleInput(make(2, 4), make(2, 3), make(3, 4), beta=0)
    yield SampleInput(make(2, 4), make(2, 3), make(3, 4), alpha=0)
    yield SampleInput(make(4), make(2, 3), make(3, 4), broadcasts=True)
    yield SampleInput(make(), make(2, 3), make(3, 4), broadcasts=True)
    yield SampleInput(make(2, 3), make(2, 0), make(0, 3))
    yield SampleInput(make(0, 3), make(0, 2), make(2, 3))
    yield SampleInput(make(3, 3), make(3, 3), make(3, 3), name="square")


@samples("tensorlike.addmv", dtypes=NUMERIC, reference=_sum_of_products)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2), make(2, 3), make(3))
    yield SampleInput(make(2), make(2, 3), make(3), beta=2, alpha=3)
    yield SampleInput(make(2), make(2, 3), make(3), beta=0)
    yield SampleInput(make(), make(2, 3), make(3), broadcasts=True)
    yield SampleInput(make(2), make(2, 0), make(0))
    yield SampleInput(make(3), make(3, 3), make(3), name="square")


def _addr(input: np.ndarray, vec1: np.ndarray, vec2: np.ndarray, beta: complex = 1, alpha: complex = 1):  # type: ignore[no-untyped-def]
    return _sum_of_products(input, vec1[:, None], vec2[None], beta, alpha)


@samples("tensorlike.addr", dtypes=NUMERIC, reference=_addr)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(2), make(3))
    yield SampleInput(make(2, 3), make(2), make(3), beta=2, alpha=3)
    yield SampleInput(make(2, 3), make(2), make(3), beta=0)
    yield SampleInput(make(3), make(2), make(3), broadcasts=True)
    yield SampleInput(make(2, 0), make(2), make(0))


def _addbmm(input: np.ndarray, batch1: np.ndarray, batch2: np.ndarray, beta: complex = 1, alpha: complex = 1):  # type: ignore[no-untyped-def]
    found = alpha * (batch1 @ batch2).sum(0).astype(input.dtype)
    return found if beta == 0 else beta * input + found


@samples("tensorlike.addbmm", dtypes=NUMERIC, reference=_addbmm)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 4), make(5, 2, 3), make(5, 3, 4))
    yield SampleInput(make(2, 4), make(5, 2, 3), make(5, 3, 4), beta=2, alpha=3)
    yield SampleInput(make(2, 4), make(5, 2, 3), make(5, 3, 4), beta=0)
    yield SampleInput(make(4), make(5, 2, 3), make(5, 3, 4), broadcasts=True)
    yield SampleInput(make(2, 4), make(0, 2, 3), make(0, 3, 4))


@samples("tensorlike.baddbmm", dtypes=NUMERIC, reference=_sum_of_products)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, 2, 4), make(5, 2, 3), make(5, 3, 4))
    yield SampleInput(make(5, 2, 4), make(5, 2, 3), make(5, 3, 4), beta=2, alpha=3)
    yield SampleInput(make(5, 2, 4), make(5, 2, 3), make(5, 3, 4), beta=0)
    yield SampleInput(make(2, 4), make(5, 2, 3), make(5, 3, 4), broadcasts=True)
    yield SampleInput(make(0, 2, 4), make(0, 2, 3), make(0, 3, 4))


@samples("tensorlike.einsum", dtypes=NUMERIC)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput("ij,jk->ik", make(2, 3), make(3, 4))
    yield SampleInput("ij,jk", make(2, 3), make(3, 4), name="output left out")
    yield SampleInput("ba", make(2, 3), name="a transpose")
    yield SampleInput("ii->i", make(3, 3))
    yield SampleInput("ii", make(3, 3))
    yield SampleInput("iij,i->j", make(2, 2, 3), make(2))
    yield SampleInput("ij->", make(2, 3))
    yield SampleInput("i,j->ij", make(2), make(3))
    yield SampleInput("i,j->", make(2), make(3), name="sums of each")
    yield SampleInput("bij,bjk->bik", make(2, 3, 4), make(2, 4, 2))
    yield SampleInput("bij,bij->bi", make(2, 3, 4), make(2, 3, 4))
    yield SampleInput("...ij,...jk->...ik", make(2, 1, 2, 3), make(3, 3, 2), name="an ellipsis that broadcasts")
    yield SampleInput("...j,jk", make(2, 2, 3), make(3, 2))
    yield SampleInput("i...->...", make(2, 3))
    yield SampleInput("ij,jk->ik", make(2, 1), make(3, 4), name="a summed size of 1")
    yield SampleInput("ij,ij->ij", make(2, 1), make(1, 3), name="sizes of 1")
    yield SampleInput("ij,jk,kl->il", make(2, 3), make(3, 4), make(4, 2))
    yield SampleInput("ij,kj,j,ik->k", make(2, 3), make(4, 3), make(3), make(2, 4))
    yield SampleInput("ij,jk->ik", [make(2, 3), make(3, 4)], name="operands as a list")
    yield SampleInput(make(2, 3), [0, 1], make(3, 4), [1, 2], [2, 0], name="subscripts as numbers")
    yield SampleInput(make(2, 2, 3), [..., 1], make(3, 4), [1, 2], name="an ellipsis among numbers")
    yield SampleInput("", make())
    yield SampleInput("ij,jk->ik", make(2, 0), make(0, 3), name="nothing to sum")


@samples("tensorlike.tensordot", dtypes=NUMERIC)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), make(3, 4, 2))
    yield SampleInput(make(2, 3), make(3, 4), 1)
    yield SampleInput(make(2), make(3), dims=0)
    yield SampleInput(make(2, 3, 4), make(4, 5, 2), dims=([0, 2], [2, 0]))
    yield SampleInput(make(2, 3), make(4, 3), dims=([-1], [-1]))
    yield SampleInput(make(2, 1), make(4, 2), dims=1, name="a size of 1")
    yield SampleInput(make(2, 0), make(0, 3), dims=1)


@samples("tensorlike.kron", dtypes=(*NUMERIC, "bool"), reference=np.kron)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 2), broadcasts=True)
    yield SampleInput(make(2), make(3), broadcasts=True)
    yield SampleInput(make(2, 3), make(2), broadcasts=True)
    yield SampleInput(make(2), make(2, 3), broadcasts=True)
    yield SampleInput(make(), make(3), broadcasts=True)
    yield SampleInput(make(), make())
    yield SampleInput(make(2, 0), make(3), broadcasts=True)
    yield SampleInput(make(2), make(3, dtype="float32"), name="two dtypes", broadcasts=True)


@samples("tensorlike.chain_matmul", dtypes=NUMERIC)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(3, 4), make(4, 2))
    yield SampleInput(make(2, 5), make(5, 1), make(1, 5), make(5, 3))
    yield SampleInput(make(2, 3), make(3, 4))
    yield SampleInput(make(3, 3), make(3, 3), make(3, 3), name="square")


def _power(input: np.ndarray, n: int) -> np.ndarray:
    return np.linalg.matrix_power(input, n)


@samples("tensorlike.matrix_power", dtypes=NUMERIC, reference=_power)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3, low=-1, high=1), 3)
    yield SampleInput(make(3, 3), 1)
    yield SampleInput(make(2, 3, 3), 0)
    yield SampleInput(make(2, 2, 2), n=6)
    if make.dtype.kind in "fc":
        yield SampleInput(make(2, 2, low=1, high=2), -2)
    yield SampleInput(make(0, 0), 2)


@samples("tensorlike.cross", dtypes=NUMERIC)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3), make(3))
    yield SampleInput(make(2, 3), make(2, 3), dim=1)
    yield SampleInput(make(3, 2), make(3, 2), dim=-2)
    yield SampleInput(make(4, 3, 3), make(4, 3, 3), name="the first dimension of size 3")
    yield SampleInput(make(2, 3), make(1, 3), dim=1)
    yield SampleInput(make(1, 3), make(2, 3), dim=1, broadcasts=True)
    yield SampleInput(make(0, 3), make(0, 3), dim=1)


# PyTorch has no second derivative to compare with; tests/linalg/test_products.py looks at ours.
@samples("tensorlike.cdist", dtypes=FLOATING, gradgradcheck=False)
def _(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), make(4, 3))
    yield SampleInput(make(2, 1, 3, 2), make(2, 4, 2), name="batches broadcast")
    yield SampleInput(make(2, 3), make(4, 3), p=1.0)
    yield SampleInput(make(2, 3), make(4, 3), p=3.5)
    yield SampleInput(make(2, 3), make(4, 3), p=float("inf"))
    yield SampleInput(make(2, 3), make(4, 3), compute_mode="use_mm_for_euclid_dist")
    yield SampleInput(make(2, 3), make(4, 3), compute_mode="donot_use_mm_for_euclid_dist")
    yield SampleInput(make(30, 3), make(2, 3), name="many rows")
    yield SampleInput(make(2, 0), make(3, 0))
