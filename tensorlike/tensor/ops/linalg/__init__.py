"""Linear algebra: what `tensorlike.linalg` holds, and the older names of it in the main namespace."""

from . import decompositions, determinants, least_squares, lu, norms, products, solving, spectral
from .common import LinAlgError

__all__ = [
    "LinAlgError",
    "decompositions",
    "determinants",
    "least_squares",
    "lu",
    "norms",
    "products",
    "solving",
    "spectral",
]
