"""The operations, one file a family. Importing this package declares them all."""

from . import arithmetic, minmax, norms, reductions, sampling, scans, searching, selection, sorting, statistics, views

__all__ = [
    "arithmetic",
    "minmax",
    "norms",
    "reductions",
    "sampling",
    "scans",
    "searching",
    "selection",
    "sorting",
    "statistics",
    "views",
]
