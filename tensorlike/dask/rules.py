"""The rules of operations in chunks: each of these modules attaches its own when it is imported."""

from __future__ import annotations

from . import (
    along,
    assignment,
    conversion,
    elementwise,
    indexing,
    inplace,
    joining,
    linalg,
    lookups,
    metadata,
    moments,
    nn,
    places,
    products,
    random,
    reductions,
    shaping,
    statistics,
    vector_norms,
)

__all__ = [
    "along", "assignment", "conversion", "elementwise", "indexing", "inplace", "joining", "linalg", "lookups",
    "metadata", "moments", "nn", "places", "products", "random", "reductions", "shaping", "statistics", "vector_norms",
]  # fmt: skip
