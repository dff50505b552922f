"""Questions about tracing that code asks.

Source: PyTorch's `torch.fx.experimental`.
"""
