"""Changing shapes: reshaping, expanding, joining, splitting, rearranging."""
