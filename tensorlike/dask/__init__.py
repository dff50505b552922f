"""Training on data in chunks, with Dask: on one machine's cores, or on a cluster whose memory holds the data.

The forward and the backward of each chunk run on the worker where the chunk lies; sums of gradients travel. It needs
Dask: `pip install "tensorlike[dask]"`.
"""

from __future__ import annotations

from .data_parallel import DataParallel, data_parallel, value_and_grad

__all__ = ["DataParallel", "data_parallel", "value_and_grad"]
