"""Names for blocks of code in a profile.

Source: PyTorch's `torch.profiler`, without its profiler: Python's own, such as cProfile, see all that runs.
"""

from tensorlike.autograd.profiler import record_function

__all__ = ["record_function"]
