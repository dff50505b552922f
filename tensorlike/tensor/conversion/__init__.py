"""Tensors as something else: in another dtype or on another device, as text, and in Python's protocols."""
