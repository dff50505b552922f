"""Tensors sent to other processes: what arrives, which memory it is on, how failures are told, what stays behind."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import multiprocessing as mp

METHODS = mp.get_all_start_methods()


class Marked(tl.Tensor):
    __tensor_attributes__ = ("unit",)


class Own(tl.Tensor):
    def __reduce_ex__(self, protocol):
        return (tl.zeros, (7,))


def pipe(value, method="fork"):
    """Send a value through a queue of this process."""
    queue = mp.get_context(method).SimpleQueue()
    try:
        queue.put(value)
        return queue.get()
    finally:
        queue.close()


@pytest.mark.parametrize("method", METHODS)
def test_writes_of_a_process_are_seen_by_the_other_one(method):
    context = mp.get_context(method)
    x = tl.zeros(3, 4)
    if method == "fork":
        x.share_memory_()  # Arguments of a forked process are not sent.
    there, back = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=_write, args=(x[1], there, back), daemon=True)
    process.start()
    assert back.get() == (True, 48)
    assert x.tolist() == [[0.0] * 4, [7.0] * 4, [0.0] * 4]
    x[1, 0] = 5.0
    there.put("look")
    assert back.get() == [5.0, 7.0, 7.0, 7.0]
    process.join()
    assert process.exitcode == 0
    assert x.is_shared()


def _write(row, there, back):
    row.fill_(7.0)
    back.put((row.is_shared(), row.untyped_storage().nbytes()))
    there.get()
    back.put(row.tolist())


@pytest.mark.parametrize("method", METHODS)
def test_tensors_travel_through_queues_both_ways(method):
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=_double, args=(inbox, outbox), daemon=True)
    process.start()
    x = tl.arange(6.0).reshape(2, 3)
    inbox.put({"x": x, "row": x[1]})
    found = outbox.get()
    # The tensors of one message, and the sender's own, are on the memory that was sent.
    assert found["row"].untyped_storage() is found["x"].untyped_storage() is x.untyped_storage()
    assert x.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    assert found["new"].tolist() == [1.0, 2.0]
    inbox.put(None)
    process.join()
    assert process.exitcode == 0


def _double(inbox, outbox):
    message = inbox.get()
    message["x"] *= 2
    new = tl.tensor([1.0, 2.0])
    outbox.put({**message, "new": new})
    inbox.get()


def test_share_memory_moves_every_tensor_on_the_memory():
    x = tl.arange(6.0).reshape(2, 3)
    storage, row, detached, column = x.untyped_storage(), x[1], x.detach(), x[:, 1]
    assert row.share_memory_() is row
    assert all(t.is_shared() for t in (x, row, detached, column, storage))
    assert x.untyped_storage() is storage is row.untyped_storage()
    x += 1
    assert row.tolist() == [4.0, 5.0, 6.0]
    assert detached.tolist() == x.tolist()
    assert column.tolist() == [2.0, 5.0]
    assert column.stride() == (3,)
    assert column.storage_offset() == 1


def test_share_memory_of_a_storage_moves_its_tensors():
    x = tl.ones(3)
    assert x.untyped_storage().share_memory_().is_shared()
    assert x.is_shared()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_module_shares_its_parameters_and_buffers():
    module = tl.nn.Sequential(tl.nn.Linear(2, 2), tl.nn.BatchNorm1d(2))
    before = list(module.parameters())
    assert module.share_memory() is module
    assert all(t.is_shared() for t in [*module.parameters(), *module.buffers()])
    assert all(a is b for a, b in zip(before, module.parameters()))


def test_shared_memory_trains_in_processes():
    model = tl.nn.Linear(3, 1)
    model.share_memory()
    before = model.weight.tolist()
    mp.start_processes(_step, (model,), nprocs=2, start_method="fork")
    assert model.weight.tolist() != before


def _step(index, model):
    optimizer = tl.optim.SGD(model.parameters(), lr=0.1)
    model(tl.ones(4, 3)).sum().backward()
    optimizer.step()


def test_kinds_of_tensors_survive():
    marked = tl.ones(3).as_subclass(Marked)
    marked.unit, marked.note = "m", ["n"]
    found = pipe(marked)
    assert (type(found), found.unit, found.note) == (Marked, "m", ["n"])
    assert marked.is_shared()
    found[0] = 4.0
    assert marked.tolist() == [4.0, 1.0, 1.0]

    parameter = tl.nn.Parameter(tl.ones(2))
    found = pipe(parameter)
    assert type(found) is tl.nn.Parameter
    assert found.requires_grad
    assert found.data_ptr() == parameter.data_ptr()

    leaf = tl.ones(2, requires_grad=True)
    found = pipe(leaf)
    assert found.requires_grad
    assert found.is_leaf

    transposed = tl.arange(6).reshape(2, 3).t()
    assert pipe(transposed).stride() == (1, 3)
    assert pipe(tl.empty(0, 3)).shape == (0, 3)
    assert pipe(tl.tensor(True)).item() is True
    assert pipe(tl.ones(2, dtype=tl.complex64)).dtype == tl.complex64
    storage = tl.tensor([1, 2], dtype=tl.uint8).untyped_storage()
    assert pipe(storage) is storage


def test_a_type_that_pickles_itself_is_asked():
    assert pipe(tl.ones(3).as_subclass(Own)).tolist() == [0.0] * 7


def test_a_tensor_with_a_history_is_refused():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        pipe(tl.ones(3, requires_grad=True) * 2)


def test_pickle_copies_as_before():
    x = tl.ones(3).share_memory_()
    found = pickle.loads(pickle.dumps(x))
    assert not found.is_shared()
    found[0] = 5.0
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_pools_return_tensors():
    with mp.Pool(2) as pool:
        assert [t.tolist() for t in pool.map(_square, [tl.tensor([1.0]), tl.tensor([2.0])])] == [[1.0], [4.0]]


def _square(x):
    return x * x


def test_descriptors_are_closed_with_their_tensors():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    tensors = [tl.ones(3).share_memory_() for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) > before
    del tensors
    assert len(os.listdir("/proc/self/fd")) == before


def segments():
    """Return the names of shared memory, without those of semaphores, and of PyTorch in other processes."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("sem.", "torch_"))}


@pytest.mark.parametrize("ending", ["return", "os._exit(0)", "os.kill(os.getpid(), 9)", "raise ValueError"])
def test_no_segment_and_no_warning_is_left_behind(ending, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, tensorlike as tl\n"
        "from tensorlike import multiprocessing as mp\n"
        "def work(queue):\n"
        "    queue.put(tl.ones(1000)); queue.put(tl.ones(10))\n"
        f"    {ending}\n"
        "if __name__ == '__main__':\n"
        "    context = mp.get_context('fork')\n"
        "    queue = context.Queue()\n"
        "    x = tl.zeros(1000).share_memory_()\n"
        "    process = context.Process(target=work, args=(queue,))\n"
        "    process.start(); process.join(); print('done')\n"
    )
    before = segments()
    found = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert found.stdout == "done\n"
    assert "resource_tracker" not in found.stderr
    assert "leaked" not in found.stderr
    assert segments() <= before


def succeed(index, queue):
    queue.put(index)


def fail(index):
    if index == 1:
        raise ValueError(f"no {index}")
    time.sleep(60)


def leave(index, how):
    if how == "exit":
        sys.exit(7)
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("method", METHODS)
def test_start_processes_runs_the_function_in_each(method):
    queue = mp.get_context(method).SimpleQueue()
    assert mp.start_processes(succeed, (queue,), nprocs=2, start_method=method) is None
    assert sorted(queue.get() for _ in range(2)) == [0, 1]


def test_an_error_ends_the_others_and_is_told_with_its_traceback():
    with pytest.raises(mp.ProcessRaisedException, match=r"-- Process 1 terminated with the following error") as caught:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert "ValueError: no 1" in str(caught.value)
    assert caught.value.error_index == 1
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.msg, copy.error_index, copy.error_pid) == (
        caught.value.msg, 1, caught.value.error_pid
    )  # fmt: skip


@pytest.mark.parametrize(
    ("how", "text", "code", "name"),
    [
        ("exit", "process 0 terminated with exit code 7", 7, None),
        ("kill", "process 0 terminated with signal SIGTERM", -15, "SIGTERM"),
    ],
)
def test_an_exit_is_told(how, text, code, name):
    with pytest.raises(mp.ProcessExitedException, match=text) as caught:
        mp.start_processes(leave, (how,), nprocs=1, start_method="fork")
    assert (caught.value.exit_code, caught.value.signal_name) == (code, name)


def test_a_context_is_joined_later():
    queue = mp.get_context("fork").SimpleQueue()
    context = mp.start_processes(succeed, (queue,), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    while not context.join(timeout=0.1):
        pass
    assert context.join()
    assert sorted(queue.get() for _ in range(2)) == [0, 1]


def test_spawn_warns_of_another_start_method():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mp.spawn(np.zeros, nprocs=0, start_method="fork")
    assert [w.category for w in caught] == [FutureWarning]


def test_sharing_strategies():
    assert mp.get_sharing_strategy() == "file_descriptor"
    try:
        mp.set_sharing_strategy("file_system")
        assert mp.get_sharing_strategy() == "file_system"
        assert pipe(tl.ones(2)).is_shared()
    finally:
        mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError, match="invalid sharing strategy 'other'"):
        mp.set_sharing_strategy("other")
