"""Training on more data than the workers' memory holds, on two processes of this machine or on any Dask cluster.

First a data set is written, to Zarr or to Parquet, then a network with a custom activation is trained on it in batches
of a few chunks. Each chunk is read, and its forward and backward run, on one worker; gradients come back summed, and
the optimizer runs here. `--compare` trains once more in this process alone, in float64, and compares losses and
weights.
Needs: pip install "tensorlike[dask]" (and pyarrow for Parquet)
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl
from tensorlike import nn
from tensorlike.autograd import Function

try:
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster

    import tensorlike.dask
except ImportError as error:
    sys.exit(f'dask_training.py: {error}. It needs Dask: pip install "tensorlike[dask]"')

FEATURES = 63


class Swish(Function):
    """x * sigmoid(x), with a derivative that needs the input alone."""

    @staticmethod
    def forward(ctx: Any, x: tl.Tensor) -> tl.Tensor:
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx: Any, grad_output: tl.Tensor) -> tl.Tensor:
        x: tl.Tensor = ctx.saved_tensors[0]
        sigmoid = x.sigmoid()
        return grad_output * sigmoid * (1 + x * (1 - sigmoid))


class Classifier(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.hidden = nn.Linear(FEATURES, hidden)
        self.output = nn.Linear(hidden, 1)

    def forward(self, rows: tl.Tensor) -> tl.Tensor:
        return self.output(Swish.apply(self.hidden(rows)))[:, 0]


def made(rows: int, kind: str, block_id: tuple[int, ...]) -> Any:
    """Return one chunk of the data set: features, and in the last column the class that two of their sums decide."""
    random = np.random.default_rng(block_id[0])
    table = random.standard_normal((rows, FEATURES + 1), dtype=np.float32).astype(kind, copy=False)
    table[:, -1] = (table[:, :8].sum(1) * table[:, 8:16].sum(1) + table[:, 16] > 0).astype(kind)
    return table


def write(folder: Path, form: str, chunks: int, rows: int, dtype: str) -> None:
    """Write the data set chunk by chunk, on the workers."""
    table = da.map_blocks(
        partial(made, rows, dtype), chunks=((rows,) * chunks, (FEATURES + 1,)), meta=np.empty((0, 0), dtype)
    )
    if form == "zarr":
        table.to_zarr(str(folder / "table.zarr"))
    else:
        import dask.dataframe as dd

        frame = dd.from_dask_array(table, columns=[f"x{i}" for i in range(FEATURES)] + ["class"])
        frame.to_parquet(str(folder / "table.parquet"), write_index=False)


def read(folder: Path, form: str, chunks: int, rows: int) -> tuple[Any, Any]:
    """Return the features and the classes as dask arrays, of which nothing is read yet."""
    if form == "zarr":
        table = da.from_zarr(str(folder / "table.zarr"))
    else:
        import dask.dataframe as dd

        # A file is a chunk. How many rows it has is known here, and need not be counted.
        options: dict[str, Any] = {"split_row_groups": False, "blocksize": None}
        frame = dd.read_parquet(str(folder / "table.parquet"), **options)
        table = frame.to_dask_array(lengths=(rows,) * chunks)
    return table[:, :FEATURES], table[:, FEATURES]


def batches(chunks: int, rows: int, size: int, epochs: int) -> Iterator[slice]:
    """Yield the rows of each batch: those of `size` chunks."""
    for _ in range(epochs):
        for begin in range(0, chunks, size):
            yield slice(begin * rows, min(begin + size, chunks) * rows)


def train(model: nn.Module, parts: list[slice], gradients: Callable[[slice], tl.Tensor], show: bool) -> list[float]:
    """Train on the batches `parts`; `gradients` fills the gradients of the parameters, and returns the loss."""
    optimizer = tl.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    begin = time.perf_counter()
    for number, part in enumerate(parts, 1):
        optimizer.zero_grad()
        losses.append(gradients(part).item())
        optimizer.step()
        if show and (number % 5 == 0 or number in (1, len(parts))):
            pace = (time.perf_counter() - begin) / number
            print(f"step {number:3}: loss {losses[-1]:.4f}, {pace:.2f} s a step", flush=True)
    return losses


def new_model(double: bool) -> nn.Module:
    tl.manual_seed(0)
    return Classifier().double() if double else Classifier()


def compare(found: tuple[list[float], nn.Module], parts: list[slice], X: Any, y: Any) -> None:
    """Train in this process alone, and exit with an error unless losses and weights are the same."""
    losses, model = found
    alone = new_model(double=True)
    loss_function = nn.functional.binary_cross_entropy_with_logits

    def gradients(part: slice) -> tl.Tensor:
        arrays = dask.compute(X[part], y[part], scheduler="threads")  # pyright: ignore[reportPrivateImportUsage]
        rows, classes = map(tl.from_numpy, arrays)
        loss: tl.Tensor = loss_function(alone(rows), classes)
        loss.backward()
        return loss.detach()

    others = train(alone, parts, gradients, show=False)
    differences = {
        "losses": float(np.abs(np.subtract(losses, others)).max()),
        "weights": max(
            (one - other).abs().max().item() for one, other in zip(model.parameters(), alone.parameters(), strict=True)
        ),
    }
    print("largest differences from one process:", ", ".join(f"{k} {v:.1e}" for k, v in differences.items()))
    if max(differences.values()) > 1e-10:
        sys.exit("dask_training.py: the cluster computes something else than one process")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--address", help="of a Dask scheduler; two processes on this machine by default")
    parser.add_argument("--folder", help="for the data set, seen by all workers; a temporary one by default")
    parser.add_argument("--format", choices=("zarr", "parquet"), default="zarr")
    parser.add_argument("--megabytes", type=float, default=1280, help="the size of the data set")
    parser.add_argument("--chunk-megabytes", type=float, default=16, help="the size of a chunk")
    parser.add_argument("--memory-limit", default="640MB", help="of each of the two processes")
    parser.add_argument("--batch", type=int, default=8, help="the number of chunks in a batch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--compare", action="store_true", help="with one process, in float64")
    options = parser.parse_args()

    dtype = "float64" if options.compare else "float32"
    rows = int(options.chunk_megabytes * 1e6 / (FEATURES + 1) / np.dtype(dtype).itemsize)
    chunks = max(1, round(options.megabytes / options.chunk_megabytes))
    parts = list(batches(chunks, rows, options.batch, options.epochs))
    cluster = options.address or LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=options.memory_limit,
        dashboard_address=":0",  # any port that is free
        silence_logs=logging.ERROR,  # workers tell when they are nearly full
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, Client(cluster) as client:
        begin = time.perf_counter()
        write(Path(folder), options.format, chunks, rows, dtype)
        X, y = read(Path(folder), options.format, chunks, rows)
        print(
            f"{chunks} chunks of {rows:,} rows, {(X.nbytes + y.nbytes) / 1e6:,.0f} MB, written as {options.format} in "
            f"{time.perf_counter() - begin:.1f} s"
        )
        model = new_model(double=options.compare)
        step = tl.dask.data_parallel(model, nn.functional.binary_cross_entropy_with_logits)
        losses = train(model, parts, lambda part: step(client, X[part], y[part]), show=True)
        if options.compare:
            compare((losses, model), parts, X, y)
    if not options.address:
        cluster.close()


if __name__ == "__main__":
    main()
