"""Operators defined in Python."""
