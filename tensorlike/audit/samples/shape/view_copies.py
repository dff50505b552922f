"""Samples of the copying forms of view operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sample import ALL, COMPLEX, FLOATING, Make, SampleInput, samples


@samples("tensorlike.alias_copy", dtypes=ALL)
def _alias_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make())


@samples("tensorlike.detach_copy", dtypes=ALL, gradcheck=False, reason="the copy has no history")
def _detach_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, requires_grad=False))


@samples("tensorlike.as_strided_copy", dtypes=ALL)
def _as_strided_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(6), (2, 2), (2, 1))
    yield SampleInput(make(6), (2, 2), (2, 1), 1)


@samples("tensorlike.diagonal_copy", dtypes=ALL)
def _diagonal_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 3))
    yield SampleInput(make(2, 3, 4), offset=1, dim1=2, dim2=0)


@samples("tensorlike.expand_copy", dtypes=ALL)
def _expand_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 1), (2, 3), broadcasts=True)
    yield SampleInput(make(2), (3, -1), implicit=True, broadcasts=True)


@samples("tensorlike.permute_copy", dtypes=ALL)
def _permute_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), (2, 0, 1))


def _recorded(make: Make, *shape: int) -> Any:
    # PyTorch differentiates these copies for real tensors only.
    return make(*shape, requires_grad=None if make.dtype.kind == "f" else False)


@samples("tensorlike.select_copy", dtypes=ALL)
def _select_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_recorded(make, 2, 3), 1, -1)
    yield SampleInput(_recorded(make, 3), 0, 1)


@samples("tensorlike.slice_copy", dtypes=ALL)
def _slice_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(_recorded(make, 4))
    yield SampleInput(_recorded(make, 2, 6), dim=1, start=1, end=5, step=2)


@samples("tensorlike.squeeze_copy", dtypes=ALL)
def _squeeze_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(1, 2, 1))
    yield SampleInput(make(1, 2, 1), 0)
    yield SampleInput(make(1, 2, 1), dim=(0, 2))


@samples("tensorlike.t_copy", dtypes=ALL)
def _t_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))
    yield SampleInput(make(2))


@samples("tensorlike.transpose_copy", dtypes=ALL)
def _transpose_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3, 4), 0, -1)


@samples("tensorlike.unfold_copy", dtypes=ALL)
def _unfold_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, 2), 0, 3, 1)


@samples("tensorlike.unsqueeze_copy", dtypes=ALL)
def _unsqueeze_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), 1)
    yield SampleInput(make(), -1)


@samples("tensorlike.view_copy", dtypes=ALL)
def _view_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3), (3, -1))


@samples("tensorlike.view_as_real_copy", dtypes=COMPLEX)
def _view_as_real_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(2, 3))


@samples(
    "tensorlike.view_as_complex_copy", dtypes=FLOATING, gradcheck=False, reason="PyTorch does not differentiate it"
)
def _view_as_complex_copy(make: Make) -> Iterator[SampleInput]:
    # PyTorch refuses to differentiate functions with a complex result.
    yield SampleInput(make(3, 2, requires_grad=False))


@samples("tensorlike.split_copy", dtypes=ALL)
def _split_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, 2), 2)
    yield SampleInput(make(2, 5), 3, dim=1)


@samples("tensorlike.split_with_sizes_copy", dtypes=ALL)
def _split_with_sizes_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(5, 2), [2, 3])
    yield SampleInput(make(2, 5), [1, 4], dim=1)


@samples("tensorlike.unbind_copy", dtypes=ALL)
def _unbind_copy(make: Make) -> Iterator[SampleInput]:
    yield SampleInput(make(3, 2))
    yield SampleInput(make(2, 3), dim=1)
