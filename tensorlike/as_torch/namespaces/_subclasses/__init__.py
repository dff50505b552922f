"""PyTorch's own types of tensors, by which code asks whether it is traced.

Source: PyTorch's `torch._subclasses`.
"""
