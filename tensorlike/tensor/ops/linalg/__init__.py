"""Linear algebra: what `tensorlike.linalg` holds, and the older names of it in the main namespace."""

from . import (
    decompositions,
    determinants,
    householder,
    indefinite,
    iterative,
    least_squares,
    low_rank,
    lu,
    norms,
    older,
    products,
    solving,
    spectral,
)
from .common import LinAlgError

__all__ = [
    "LinAlgError",
    "decompositions",
    "determinants",
    "householder",
    "indefinite",
    "iterative",
    "least_squares",
    "low_rank",
    "lu",
    "norms",
    "older",
    "products",
    "solving",
    "spectral",
]
