"""The operations, one file a family. Importing this package declares them all."""

from . import arithmetic, sampling, views

__all__ = ["arithmetic", "sampling", "views"]
