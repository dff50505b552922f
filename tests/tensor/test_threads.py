"""Large elementwise work in several threads gives what it gives in one."""

import os
import threading
import warnings

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.tensor.declarations.threads import LARGE, in_parts


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = tl.get_num_threads()
    tl.set_num_threads(request.param)
    yield request.param
    tl.set_num_threads(before)


def _arrays():
    generator = np.random.default_rng(0)
    shape = (LARGE // 500 + 1, 500)
    return generator.standard_normal(shape).astype(np.float32), generator.standard_normal(shape).astype(np.float32)


A, B = _arrays()

OPERATIONS = {
    "add": (lambda x, y: x + y, A + B),
    "number": (lambda x, y: x * 2.5, A * np.float32(2.5)),
    "reflected number": (lambda x, y: 2.0 - x, 2 - A),
    "broadcast row": (lambda x, y: x + y[0], A + B[0]),
    "broadcast column": (lambda x, y: x * y[:, :1], A * B[:, :1]),
    "unary": (lambda x, y: x.sin(), np.sin(A)),
    "comparison": (lambda x, y: x < y, A < B),
    "division by zero": (lambda x, y: x / (y * 0), None),
    "gaps": (lambda x, y: x.t() + y.t(), (A + B).T),
    "in place": (lambda x, y: x.clone().add_(y), A + B),
    "in place, unary": (lambda x, y: x.clone().neg_(), -A),
    "sum": (lambda x, y: x.sum(), None),
    "softmax": (lambda x, y: x.softmax(1), None),
    "integers": (lambda x, y: (x * 100).to(tl.int32) * 3, (A * 100).astype(np.int32) * 3),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_results_do_not_depend_on_the_number_of_threads(name, threads):
    operation, expected = OPERATIONS[name]
    x, y = tl.from_numpy(A.copy()), tl.from_numpy(B.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = operation(x, y)
    if expected is None:
        tl.set_num_threads(1)
        expected = operation(x, y).numpy()
    np.testing.assert_allclose(result.numpy(), expected, rtol=2e-5, atol=1e-6)
    assert result.is_contiguous() or name == "gaps"
    assert np.array_equal(x.numpy(), A)


def test_gradients_and_optimizers(threads):
    x = tl.from_numpy(A.copy()).requires_grad_()
    (x.exp() * 2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(A) * 2, rtol=1e-5)
    before = x.detach().clone()
    tl.optim.SGD([x], lr=0.5).step()
    np.testing.assert_allclose(x.detach().numpy(), (before - 0.5 * x.grad).numpy(), rtol=1e-6)


def test_the_parts_cover_the_range_once():
    for count in (2, 7, 1000):
        seen = []
        lock = threading.Lock()

        def work(start, stop, seen=seen, lock=lock):
            with lock:
                seen.extend(range(start, stop))

        in_parts(work, count, LARGE)
        assert sorted(seen) == list(range(count))


def test_errors_are_raised_when_all_parts_have_ended():
    tl.set_num_threads(2)
    ended = []

    def work(start, stop):
        ended.append(start)
        if start:
            raise MemoryError("no more")

    with pytest.raises(MemoryError, match="no more"):
        in_parts(work, 10, LARGE)
    assert len(ended) == 2
    assert tl.equal(tl.ones(LARGE) + 1.0, tl.full((LARGE,), 2.0))


def test_several_python_threads_at_once(threads):
    x, y = tl.from_numpy(A), tl.from_numpy(B)
    found = []

    def run():
        found.extend(tl.equal(x + y, tl.from_numpy(A + B)) for _ in range(3))

    workers = [threading.Thread(target=run) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    tl.set_num_threads(2)
    x = tl.ones(LARGE)
    assert float((x + x).sum()) == 2 * LARGE
    child = os.fork()
    if not child:
        os._exit(0 if float((x + x).sum()) == 2 * LARGE else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_wrong_numbers_of_threads():
    before = tl.get_num_threads()
    for wrong in (0, -1):
        with pytest.raises(RuntimeError, match="positive integer"):
            tl.set_num_threads(wrong)
    for wrong in (1.5, "2", True, None):
        with pytest.raises(RuntimeError, match="expects an int"):
            tl.set_num_threads(wrong)
    for wrong in (10**6, 2**31 - 1):
        with pytest.raises(RuntimeError, match="at most"):
            tl.set_num_threads(wrong)
    for wrong in (2**31, 10**30, -(2**40)):
        with pytest.raises(ValueError, match="Overflow when unpacking long"):
            tl.set_num_threads(wrong)
    assert tl.get_num_threads() == before
