"""Timings beside NumPy and PyTorch: `python -m benchmarks`."""
