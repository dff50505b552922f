"""Worker processes of a DataLoader: what arrives, errors, workers that die, and that no process stays behind."""

import gc
import os
import random
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info


class Squares(Dataset):
    def __init__(self, size=20):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return index**2, tl.full((3, 500), float(index))


class Failing(Squares):
    def __getitem__(self, index):
        if index == 5:
            raise KeyError("five")
        return index


class Stuck(Squares):
    def __getitem__(self, index):
        if index == 4:
            time.sleep(60)
        return index


class Dying(Squares):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def __getitem__(self, index):
        if index == 6:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            os._exit(3)
        return index


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(7))
        return iter(range(info.id, 7, info.num_workers))


class Facts(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        return (
            info.id, info.num_workers, info.seed, tl.initial_seed(), random.random(), float(np.random.rand()),
            float(tl.rand(1)), tl.get_num_threads(), info.dataset is self,
        )  # fmt: skip


class Odd:
    """No tensor; cannot be pickled either."""

    def __reduce__(self):
        raise TypeError("no pickle")


class Odds(Squares):
    def __getitem__(self, index):
        return Odd() if index == 1 else index


class Shapes(Squares):
    """Batches of every size, from less than a pipe holds to several chunks of memory."""

    def __getitem__(self, index):
        return tl.full((10 ** (index % 7),), float(index), dtype=tl.float32)


def as_is(samples):
    return samples


def unused(pids):
    """Whether these processes are gone."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("method", "persistent"), [("fork", False), ("fork", True), ("spawn", True), ("forkserver", True)]
)
def test_batches_are_those_of_one_process(method, persistent):
    one = list(DataLoader(Squares(), batch_size=3))
    loader = DataLoader(
        Squares(), batch_size=3, num_workers=2, multiprocessing_context=method, persistent_workers=persistent
    )
    for _ in range(2):
        found = list(loader)
        assert len(found) == len(one) == len(loader)
        for (a, b), (c, d) in zip(found, one):
            assert a.tolist() == c.tolist()
            assert b.equal(d)


def test_batches_can_be_kept_and_written_to():
    loader = DataLoader(Shapes(21), batch_size=1, num_workers=2)
    kept = list(loader)
    for i, batch in enumerate(kept):
        assert batch.shape == (1, 10 ** (i % 7))
        assert bool((batch == i).all())
        batch += 100
    for i, batch in enumerate(kept):
        assert bool((batch == i + 100).all())


def test_memory_is_not_used_again_while_a_view_is_on_it():
    loader = DataLoader(Squares(60), batch_size=2, num_workers=1)
    rows = [images[1].detach() for _, images in loader]
    gc.collect()
    for index, row in enumerate(rows):
        assert bool((row == index * 2 + 1).all())


def test_memory_is_used_again_when_its_batch_is_gone():
    addresses = {images.data_ptr() for _, images in DataLoader(Squares(100), batch_size=2, num_workers=1)}
    assert len(addresses) < 10


def test_a_row_of_a_dataset_travels_alone():
    data = tl.arange(3_000_000.0).reshape(3, 1_000_000)
    loader = DataLoader(TensorDataset(data), batch_size=None, num_workers=1)
    for index, (row,) in enumerate(loader):
        assert row.untyped_storage().nbytes() == 4_000_000
        assert row.equal(data[index])


def test_tensors_on_one_memory_arrive_on_one_memory():
    loader = DataLoader([1], num_workers=1, collate_fn=_twice)
    for first, second, marked in loader:
        assert first.untyped_storage() is second.untyped_storage()
        second[0] = 9.0
        assert first[0] == 9.0
        assert type(marked) is tl.nn.Parameter
        assert marked.requires_grad


def _twice(samples):
    x = tl.ones(1000)
    return x, x.view(1000), tl.nn.Parameter(tl.ones(1000))


@pytest.mark.parametrize("batch_size", [None, 1, 2, 5])
def test_iterable_datasets_are_split_by_the_workers(batch_size):
    loader = DataLoader(Stream(), batch_size=batch_size, num_workers=2)
    found = [item if batch_size is None else item.tolist() for item in loader]
    flat = found if batch_size is None else [number for batch in found for number in batch]
    assert sorted(flat) == list(range(7))
    if batch_size == 2:
        assert found == [[0, 2], [1, 3], [4, 6], [5]]


def test_persistent_workers_iterate_the_dataset_again():
    loader = DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    assert [b.tolist() for b in first] == [b.tolist() for b in second] == [[0, 2], [1, 3], [4, 6], [5]]
    iterator = iter(loader)
    next(iterator)
    pids = [process.pid for process in iterator._workers]
    # A new epoch while tasks of the former one are under way.
    assert [b.tolist() for b in loader] == [[0, 2], [1, 3], [4, 6], [5]]
    assert [process.pid for process in iterator._workers] == pids


def test_workers_know_themselves_and_are_seeded():
    def facts(seed):
        loader = DataLoader(Facts(), batch_size=None, num_workers=2, generator=tl.Generator().manual_seed(seed))
        return list(loader)

    found = facts(0)
    assert [fact[0] for fact in found] == [0, 1, 0, 1]
    assert all(fact[1] == 2 and fact[7] == 1 and fact[8] for fact in found)
    assert all(fact[2] == fact[3] for fact in found)
    assert found[1][2] == found[0][2] + 1
    assert len({fact[4] for fact in found} | {fact[5] for fact in found} | {fact[6] for fact in found}) == 12
    assert found == facts(0) != facts(1)


def test_worker_init_fn_is_called_in_each_worker():
    loader = DataLoader(Facts(), batch_size=None, num_workers=2, worker_init_fn=_init, collate_fn=_environment)
    assert list(loader) == ["0", "1", "0", "1"]


def _init(worker_id):
    os.environ["TENSORLIKE_TEST_WORKER"] = str(worker_id)


def _environment(sample):
    return os.environ["TENSORLIKE_TEST_WORKER"]


def _refuse(worker_id):
    raise ValueError(f"not {worker_id}")


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_an_error_is_raised_with_its_traceback_and_the_rest_goes_on(method):
    loader = DataLoader(Failing(), batch_size=4, num_workers=2, multiprocessing_context=method)
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1, 2, 3]
    with pytest.raises(KeyError) as caught:
        next(iterator)
    text = str(caught.value)
    assert text.startswith(
        "Caught KeyError in DataLoader worker process 1.\nOriginal Traceback (most recent call last)"
    )
    assert 'raise KeyError("five")' in text
    assert [batch.tolist()[0] for batch in iterator] == [8, 12, 16]


def test_an_error_of_the_first_function_is_raised():
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 0") as caught:
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=_refuse))
    assert "not 0" in str(caught.value)


def test_a_batch_that_cannot_be_pickled_is_an_error_of_its_own():
    iterator = iter(DataLoader(Odds(3), batch_size=None, num_workers=1))
    assert next(iterator) == 0
    with pytest.raises(TypeError, match="no pickle"):
        next(iterator)
    assert next(iterator) == 2


def test_a_batch_with_a_history_is_refused():
    _history([1])  # Its modules are imported here: pytest cannot rewrite them in a forked process.
    loader = DataLoader([1], num_workers=1, collate_fn=_history)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        next(iter(loader))


def _history(samples):
    return tl.ones(1, requires_grad=True) * 2


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("kill", r"DataLoader worker \(pid \d+\) is killed by signal: Killed"),
        ("exit", "exited unexpectedly with exit code 3"),
    ],
)
def test_a_worker_that_dies_is_noticed(how, cause):
    iterator = iter(DataLoader(Dying(how), batch_size=2, num_workers=2))
    pids = [process.pid for process in iterator._workers]
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"DataLoader worker \(pid\(s\) {pids[1]}\) exited unexpectedly") as caught:
        list(iterator)
    assert caught.match("exited unexpectedly")
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert re.search(cause, str(caught.value.__cause__))
    assert time.monotonic() - begin < 5
    del iterator, caught
    gc.collect()
    assert unused(pids)


def test_a_timeout_is_raised():
    iterator = iter(DataLoader(Stuck(), batch_size=2, num_workers=1, timeout=0.3))
    assert [next(iterator).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        next(iterator)
    for process in iterator._workers:
        process.terminate()


def test_a_half_consumed_iterator_leaves_no_process():
    loader = DataLoader(Squares(1000), batch_size=2, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    workers = iterator._workers
    pids = [process.pid for process in workers]
    del iterator
    assert unused(pids)
    assert [process.exitcode for process in workers] == [0, 0]


def test_nothing_stays_open():
    loader = DataLoader(Squares(), batch_size=2, num_workers=2)
    list(loader)
    gc.collect()
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        list(loader)
        next(iter(loader))
    gc.collect()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_out_of_order_batches_come_as_they_are_ready():
    loader = DataLoader(_Slow(), batch_size=1, num_workers=2, in_order=False, prefetch_factor=1)
    found = [int(batch) for batch in loader]
    assert sorted(found) == list(range(6))
    assert found[0] == 1


class _Slow(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        time.sleep(0.5 if index == 0 else 0.0)
        return index


PROGRAM = """
import os, signal, sys, time
import tensorlike as tl
from tensorlike.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        time.sleep(0.01)
        return index

if __name__ == "__main__":
    iterator = iter(DataLoader(Slow(), batch_size=2, num_workers=2, persistent_workers=PERSISTENT))
    next(iterator)
    print(*[process.pid for process in iterator._workers], flush=True)
    ENDING
"""


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("pass", 0),
        ("raise ValueError", 1),
        ("os._exit(0)", 0),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("os.kill(os.getpid(), signal.SIGINT); next(iterator)", 130),
    ],
)
def test_the_end_of_the_main_process_leaves_no_worker(ending, status, persistent, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.replace("ENDING", ending).replace("PERSISTENT", str(persistent)))
    found = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    pids = found.stdout.split()
    assert len(pids) == 2
    assert found.returncode in (status, -signal.SIGINT if status == 130 else status)
    assert "leaked" not in found.stderr
    if status == 0:
        assert found.stderr == ""
    assert unused(pids)


def test_more_workers_than_processors_are_warned_of():
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total"):
        DataLoader([1], num_workers=1000)


def test_workers_load_at_least_one_batch_in_advance():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader([1], num_workers=1, prefetch_factor=0))


def test_batches_of_many_tensors():
    loader = DataLoader(range(2), batch_size=1, num_workers=1, collate_fn=_many)
    for index, batch in enumerate(loader):
        assert len(batch) == 500
        assert all(tensor.tolist() == [index, place] for place, tensor in enumerate(batch))


def _many(samples):
    return [tl.tensor([samples[0], place]) for place in range(500)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the copy of an iterator is that of a forked process")
def test_the_copy_of_an_iterator_in_a_child_leaves_its_workers_running():
    iterator = iter(DataLoader(Squares(), num_workers=1, multiprocessing_context="fork"))
    next(iterator)
    child = os.fork()
    if child == 0:
        # The child's copy of the iterator is gone with its last reference.
        del iterator
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [int(square) for square, _ in iterator] == [i**2 for i in range(1, 20)]
