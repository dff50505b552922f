"""The operations, one file a family. Importing this package declares them all."""

from . import arithmetic, views

__all__ = ["arithmetic", "views"]
