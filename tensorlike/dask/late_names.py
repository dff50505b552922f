"""Functions given to the modules that call them and are imported before them: as in operations/late_names.py."""

from __future__ import annotations

from typing import Any

from . import along, chunked, collection, creation, elementwise, inplace, mapping, pullback, reading, recording, shaping


def _give(module: Any, **functions: Any) -> None:
    vars(module).update(functions)


_give(
    chunked, along=along.along, filled=creation.filled, elementwise=elementwise.elementwise, rebound=inplace.rebound,
    share=inplace.share, turned_into=inplace.turned_into, like_output=mapping.like_output,
    map_chunks=mapping.map_chunks,
)  # fmt: skip
_give(
    collection, compute_chunk_sizes=mapping.compute_chunk_sizes, map_chunks=mapping.map_chunks, rebuilt=mapping.rebuilt,
    to_dask=reading.to_dask, rechunked=shaping.rechunked,
)  # fmt: skip
_give(inplace, kept=recording.kept, step=recording.step)
_give(mapping, differentiated=pullback.differentiated)
