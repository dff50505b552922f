"""What goes wrong on a cluster, and what a user is told: each on real processes."""

import contextlib
import functools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="a cluster takes Dask and Distributed, of the extra 'dask'")

import dask.array as da
import distributed

import tensorlike as tl
import tensorlike.dask
from tensorlike import nn
from tensorlike.nn import functional as F
from tests.helpers import chunk_losses as losses
from tests.helpers.chunk_cluster import local_cluster

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


def chunked(rows=40, size=10):
    X, y = losses.random_rows(rows)
    return da.from_array(X, chunks=(size, 3)), da.from_array(y, chunks=size)


def weight():
    return tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64, requires_grad=True)


def expected(X, y, loss=losses.squares):
    leaf = weight()
    value = loss(leaf, tl.from_numpy(X.compute(scheduler="sync")), tl.from_numpy(y.compute(scheduler="sync")))
    return value.item(), tl.autograd.grad(value, leaf)[0]


def same(found, X, y):
    value, gradient = expected(X, y)
    return math.isclose(found[0].item(), value, rel_tol=1e-12) and bool(tl.allclose(found[1], gradient, rtol=1e-12))


class OfWeight(nn.Module):
    """A module that calls a loss with its weight."""

    def __init__(self, loss):
        super().__init__()
        self.weight = nn.Parameter(weight().detach())
        self.loss = loss

    def forward(self, X, y):
        return self.loss(self.weight, X, y)


class TestErrorsOfChunks:
    @pytest.mark.parametrize("scheduler", ["distributed", "threads"])
    def test_they_keep_their_type_and_name_the_chunk(self, client, scheduler):
        X, y = chunked()
        marker = float(X[25, 0].compute(scheduler="sync"))
        lazy = tl.dask.value_and_grad(functools.partial(losses.raises_in_chunk, marker), weight(), X, y)
        with pytest.raises(losses.ChunkError, match="this chunk is bad") as caught:
            lazy.compute() if scheduler == "distributed" else lazy.compute(scheduler=scheduler)
        assert caught.value.number == 3
        assert caught.value.__notes__ == ["raised by chunk 2 of 4 (rows 20 to 30) of value_and_grad()"]
        # The cluster works on.
        assert same(tl.dask.value_and_grad(losses.squares, weight(), X, y).compute(), X, y)

    def test_one_that_cannot_be_pickled_is_told_as_text(self, client):
        X, y = chunked()
        with pytest.raises(RuntimeError, match="UnpicklableError: 1 and 2") as caught:
            tl.dask.value_and_grad(losses.raises_unpicklable, weight(), X[:10], y[:10]).compute()
        assert "chunk 0 of 1 (rows 0 to 10)" in caught.value.__notes__[0]

    def test_of_a_type_of_the_users(self, client):
        X, y = chunked()
        typed = X.map_blocks(losses.as_type(losses.Raising), dtype=X.dtype, meta=np.empty((0, 0)))
        with pytest.raises(losses.ChunkError, match="no matmul of this type") as caught:
            tl.dask.value_and_grad(losses.squares, weight(), typed[:10], y[:10]).compute()
        assert "chunk 0 of 1" in caught.value.__notes__[0]

    def test_no_gradient_is_written(self, client):
        X, y = chunked()
        marker = float(X[35, 0].compute(scheduler="sync"))
        module = OfWeight(functools.partial(losses.raises_in_chunk, marker))
        with pytest.raises(losses.ChunkError):
            tl.dask.data_parallel(module, reduction="sum")(client, X, y)
        assert module.weight.grad is None

    @pytest.mark.parametrize(
        "loss, kind, message",
        [
            (losses.returns_a_vector, RuntimeError, r"must return a Tensor of one element, not of shape \(10,\)"),
            (losses.returns_a_number, TypeError, "must return a Tensor of one element, not float"),
            (losses.without_parameters, RuntimeError, "does not require grad in any chunk"),
            (losses.writes_to_its_chunk, ValueError, "read-only"),
            (losses.writes_to_a_parameter, ValueError, "read-only"),
        ],
        ids=["vector", "number", "no parameters", "writes to its chunk", "writes to a parameter"],
    )
    @pytest.mark.parametrize("scheduler", ["distributed", "synchronous"])
    def test_losses_that_are_none(self, client, loss, kind, message, scheduler):
        X, y = chunked()
        lazy = tl.dask.value_and_grad(loss, weight(), X, y)
        with pytest.raises(kind, match=message):
            lazy.compute() if scheduler == "distributed" else lazy.compute(scheduler=scheduler)

    def test_chunks_that_turn_out_not_to_line_up(self, client):
        X, y = chunked()
        lazy = tl.dask.value_and_grad(losses.squares, weight(), X[X[:, 0] > -1], y[y > 1])
        with pytest.raises(ValueError, match="arrays 0 and 1 have 10 and [0-9] rows: .* not line up") as caught:
            lazy.compute()
        assert "chunk" in caught.value.__notes__[0]

    def test_a_masked_chunk(self, client):
        X, y = chunked()
        with pytest.raises(TypeError, match="masked array"):
            tl.dask.value_and_grad(losses.squares, weight(), da.ma.masked_greater(X, 2), y).compute()

    def test_retries(self, client, tmp_path):
        X, y = chunked()
        module = OfWeight(functools.partial(losses.fails_once, str(tmp_path)))
        step = tl.dask.data_parallel(module, reduction="sum", retries=2)
        assert same((step(client, X, y), module.weight.grad), X, y)
        assert len(list(tmp_path.iterdir())) == 4
        module = OfWeight(functools.partial(losses.fails_once, str(tmp_path / "absent")))
        with pytest.raises(FileNotFoundError):
            tl.dask.data_parallel(module, reduction="sum", retries=1)(client, X, y)


class TestArguments:
    """Errors that are raised before any work."""

    @pytest.fixture(autouse=True)
    def no_task_is_sent(self, monkeypatch):
        def refused(*args, **kwargs):
            raise AssertionError("a task was sent")

        monkeypatch.setattr(distributed.Client, "compute", refused)
        monkeypatch.setattr(distributed.Client, "get", refused)

    def raises(self, kind, match, *args, **options):
        return pytest.raises(kind, match=match)

    def test_chunks_that_do_not_line_up(self, client):
        X, y = chunked()
        message = r"arrays 0 and 1 do not line up by rows: .* \(10, 10, 10, 10\) and \(20, 20\) rows, 4 and 2 chunks"
        with pytest.raises(ValueError, match=message):
            tl.dask.value_and_grad(losses.squares, weight(), X, y.rechunk(20))
        with pytest.raises(ValueError, match="do not line up"):
            tl.dask.value_and_grad(losses.squares, weight(), X, y.rechunk(((9, 11, 10, 10),)))
        with pytest.raises(ValueError, match=r"\(10, 10, 10, 10, ...\) and \(10, 10, 10, 10\) rows, 5 and 4 chunks"):
            tl.dask.value_and_grad(losses.squares, weight(), chunked(50)[0], y)

    def test_chunks_of_columns(self, client):
        X, y = chunked()
        message = r"array 0 is cut along dimension 1 into chunks of \(2, 1\): .*array.rechunk\(\{1: -1\}\)"
        with pytest.raises(ValueError, match=message):
            tl.dask.value_and_grad(losses.squares, weight(), X.rechunk((10, 2)), y)

    @pytest.mark.parametrize(
        "value, kind, message",
        [
            (np.ones(3), TypeError, "array 0 must be a dask array, not ndarray; .*from_array"),
            (tl.ones(3), TypeError, "array 0 must be a dask array, not Tensor"),
            (3, TypeError, "array 0 must be a dask array, not int"),
            (da.ones(()), ValueError, "array 0 has no dimensions"),
            (da.from_array(np.array(["a", None], object), chunks=1), TypeError, "dtype object"),
            (da.ones((0, 3)), ValueError, "have no rows"),
            ((), TypeError, "at least one dask array"),
        ],
        ids=["numpy", "tensor", "number", "no dimensions", "objects", "no rows", "none"],
    )
    def test_what_is_no_array(self, client, value, kind, message):
        with pytest.raises(kind, match=message):
            tl.dask.value_and_grad(losses.squares, weight(), value)

    def test_a_function_that_cannot_be_pickled(self, client):
        X, y = chunked()
        message = "the loss function cannot be sent to the workers, .*lock.*__getstate__"
        with pytest.raises(TypeError, match=message):
            tl.dask.value_and_grad(losses.Thread(), weight(), X, y)
        module = OfWeight(losses.Thread())
        with pytest.raises(TypeError, match="DataParallel.*the parameters cannot be sent to the workers"):
            tl.dask.data_parallel(module, reduction="sum")(client, X, y)
        with pytest.raises(TypeError, match="the parameters cannot be sent"):
            tl.dask.value_and_grad(losses.unused, [weight(), threading.Lock()], X, y)

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"reduction": "max"}, "'reduction' must be 'sum' or 'mean', not 'max'"),
            ({"split_every": 1}, "'split_every' must be an int above 1, not 1"),
            ({"split_every": True}, "'split_every' must be"),
            ({"seed": -1}, "'seed' must be an int of at least 0 or None, not -1"),
            ({"seed": 0.5}, "'seed' must be"),
        ],
    )
    def test_options(self, client, options, message):
        X, y = chunked()
        with pytest.raises(ValueError, match=message):
            tl.dask.value_and_grad(losses.squares, weight(), X, y, **options)

    def test_parameters(self, client):
        X, y = chunked()
        with pytest.raises(RuntimeError, match="no parameter requires grad: call requires_grad_"):
            tl.dask.value_and_grad(losses.squares, tl.ones(3, dtype=tl.float64), X, y)
        with pytest.raises(RuntimeError, match="no parameter requires grad"):
            tl.dask.value_and_grad(losses.module_squares, nn.Linear(3, 1).requires_grad_(False), X, y)
        with pytest.raises(ValueError, match="lazy parameters"):
            tl.dask.value_and_grad(losses.module_squares, nn.LazyLinear(1), X, y)
        with pytest.raises(TypeError, match="the loss function must be callable, not Tensor"):
            tl.dask.value_and_grad(weight(), losses.squares, X, y)
        with pytest.raises(TypeError, match="must be tensorlike.nn.Module, not list; .*value_and_grad"):
            tl.dask.data_parallel([weight()], losses.squares)
        with pytest.raises(ValueError, match="'buffers' must be 'mean' or 'keep', not 'sum'"):
            tl.dask.data_parallel(nn.Linear(3, 1), buffers="sum")

    def test_autocast_does_not_reach_the_workers(self, client):
        X, y = chunked()
        with tl.autocast("cpu"), pytest.raises(RuntimeError, match="autocast is on .* inside of the loss function"):
            tl.dask.value_and_grad(losses.squares, weight(), X, y)

    def test_clients(self, client):
        X, y = chunked()
        step = tl.dask.data_parallel(nn.Linear(3, 1).double(), F.mse_loss)
        with pytest.raises(TypeError, match="first argument must be a distributed.Client or None, not Array"):
            step(X, y)


def test_versions_that_differ(client):
    X, y = chunked()
    one, _ = sorted(client.scheduler_info()["workers"])

    def pretend(version):
        import tensorlike

        former, tensorlike.__version__ = tensorlike.__version__, version
        return former

    former = client.run(pretend, "0.0.7", workers=[one])[one]
    message = f"tensorlike 0.0.7 and the driver {former}"
    try:
        with distributed.Client(client.scheduler.address, set_as_default=False) as other:
            module = OfWeight(losses.squares)
            step = tl.dask.data_parallel(module, reduction="sum")
            with pytest.raises(RuntimeError, match=f"DataParallel.*worker {one} cannot take part: .*{message}"):
                step(other, X, y)
            assert module.weight.grad is None
            # Lazy values and workers that come later are checked where they run.
            lazy = tl.dask.value_and_grad(losses.squares, weight(), X, y)
            with pytest.raises(RuntimeError, match=message):
                other.compute(lazy, workers=[one]).result()
    finally:
        client.run(pretend, former, workers=[one])


def test_workers_are_asked_for_their_version_once(client, monkeypatch):
    X, y = chunked()
    asked = []
    run = distributed.Client.run
    monkeypatch.setattr(distributed.Client, "run", lambda *args, **kw: asked.append(1) or run(*args, **kw))
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        step = tl.dask.data_parallel(OfWeight(losses.squares), reduction="sum")
        for _ in range(3):
            step(other, X, y)
    assert len(asked) == 1


@pytest.mark.parametrize("persisted", [False, True])
def test_a_worker_that_dies_loses_nothing(client, tmp_path, persisted):
    X, y = chunked(80)
    arrays = client.persist([X, y]) if persisted else [X, y]
    distributed.wait(arrays)
    before = set(client.run(losses.worker_pid).values())
    module = OfWeight(functools.partial(losses.kills_its_worker_once, str(tmp_path)))
    loss = tl.dask.data_parallel(module, reduction="sum")(client, *arrays)
    assert same((loss, module.weight.grad), X, y)
    client.wait_for_workers(2, timeout=30)
    assert len(before & set(client.run(losses.worker_pid).values())) == 1


@pytest.fixture
def interrupted_after():
    """A function that interrupts this process, as Ctrl-C does, once a file is there."""
    threads = []

    def start(ready):
        def interrupt():
            deadline = time.monotonic() + 20
            while not ready() and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threads.append(threading.Thread(target=interrupt))
        threads[-1].start()

    yield start
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("progress", [False, True])
def test_an_interrupt_leaves_no_trace(client, tmp_path, interrupted_after, progress, capsys):
    X, y = chunked(400)
    module = OfWeight(functools.partial(losses.slow, 0.3, str(tmp_path)))
    module.weight.grad = former = tl.ones(3, dtype=tl.float64)
    step = tl.dask.data_parallel(module, reduction="sum", progress=progress)
    interrupted_after(lambda: any(tmp_path.iterdir()))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        step(client, X, y)
    # All 40 chunks take 6 seconds.
    assert time.monotonic() - begin < 4
    assert module.weight.grad is former
    assert bool((former == 1).all())
    # Chunks that run end; none is begun any more, and the cluster is free for the next step.
    time.sleep(0.7)
    begun = len(list(tmp_path.iterdir()))
    module.loss, module.weight.grad = losses.squares, None
    assert same((step(client, X, y), module.weight.grad), X, y)
    assert len(list(tmp_path.iterdir())) == begun < 40


def test_an_interrupt_while_gradients_are_written_undoes_them(client, monkeypatch):
    X, y = chunked()
    module = nn.Sequential(losses.Calls(3), nn.Linear(1, 1, dtype=tl.float64))
    step = tl.dask.data_parallel(module, F.mse_loss)
    step(client, X, y[:, None])
    names = [name for name, _ in module.named_parameters()]
    before = [p.grad for p in module.parameters()]
    kept = [g.clone() for g in before]
    buffers = [b.clone() for b in module.buffers()]
    copy = tl.Tensor.copy_
    done = []

    def interrupted(self, *args):
        done.append(self)
        if len(done) == 2:
            raise KeyboardInterrupt
        return copy(self, *args)

    monkeypatch.setattr(tl.Tensor, "copy_", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step(client, X, y[:, None])
    monkeypatch.undo()
    assert len(names) == 4
    assert all(p.grad is g for p, g in zip(module.parameters(), before, strict=True))
    assert all(bool((g == k).all()) for g, k in zip(before, kept, strict=True))
    assert all(bool((b == k).all()) for b, k in zip(module.buffers(), buffers, strict=True))


@contextlib.contextmanager
def cluster_of_programs(folder):
    """Start a scheduler and a worker as programs of their own, and yield the scheduler's file and process."""
    file = str(folder / "scheduler.json")
    options = ["--scheduler-file", file, "--no-dashboard"]
    programs = [
        ["distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1"],
        ["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny"],
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        for program in programs
    ]
    try:
        deadline = time.monotonic() + 30
        while not os.path.exists(file) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield file, started[0]
    finally:
        for program in started:
            program.kill()
            program.wait()


def test_a_step_that_is_cancelled_elsewhere(client, tmp_path):
    X, y = chunked(400)
    module = OfWeight(functools.partial(losses.slow, 0.2, str(tmp_path)))

    def cancel():
        deadline = time.monotonic() + 20
        while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.01)
        client.cancel([distributed.Future(key, client) for key in list(client.futures)], force=True)

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(RuntimeError, match="the step was cancelled, by client.cancel"):
        tl.dask.data_parallel(module, reduction="sum")(client, X, y)
    cancelling.join()
    assert module.weight.grad is None


def test_a_scheduler_that_is_gone(tmp_path):
    X, y = chunked(400)
    marks = tmp_path / "marks"
    marks.mkdir()
    module = OfWeight(functools.partial(losses.slow, 0.2, str(marks)))
    step = tl.dask.data_parallel(module, reduction="sum")
    with (
        cluster_of_programs(tmp_path) as (file, scheduler),
        distributed.Client(scheduler_file=file, set_as_default=False, timeout=8) as client,
    ):
        client.wait_for_workers(1, timeout=30)
        killed = threading.Thread(target=kill_once_started, args=(marks, scheduler.pid))
        killed.start()
        begin = time.monotonic()
        with pytest.raises(ConnectionError, match="the scheduler does not answer. No gradient was written"):
            step(client, X, y)
        killed.join()
        assert time.monotonic() - begin < 15
        assert module.weight.grad is None
        # The client tries to connect again for as long as its timeout says, and then closes.
        begin = time.monotonic()
        with pytest.raises(ConnectionError, match="Connect a new distributed.Client"):
            step(client, X, y)
        assert time.monotonic() - begin < 15


def kill_once_started(folder, pid):
    deadline = time.monotonic() + 20
    while not any(Path(folder).iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
