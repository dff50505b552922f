"""`autocast` with types, modes, transforms, threads and errors."""

import threading

import pytest

import tensorlike as tl


def half():
    return tl.autocast("cpu", dtype=tl.float16)


class Sub(tl.Tensor):
    pass


class Wrapped:
    """A duck type whose handler runs the function on what it holds."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [a.value if isinstance(a, Wrapped) else a for a in args]
        return Wrapped(func(*plain, **(kwargs or {})))


def test_a_subclass_comes_out_in_the_lower_dtype():
    with half():
        found = tl.ones(2, 2).as_subclass(Sub) @ tl.ones(2, 2)
    assert type(found) is Sub
    assert found.dtype is tl.float16


def test_calls_of_a_handler_are_cast():
    with half():
        found = tl.matmul(Wrapped(tl.ones(2, 2)), tl.ones(2, 2))
        added = tl.add(Wrapped(tl.ones(2, 2)), tl.ones(2, 2))
    assert found.value.dtype is tl.float16
    assert added.value.dtype is tl.float32


def test_a_handler_receives_what_was_cast():
    seen = []

    class Looks(Wrapped):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, args[1].dtype))
            return None

    with half():
        tl.matmul(Looks(tl.ones(2, 2)), tl.ones(2, 2))
        tl.add(Looks(tl.ones(2, 2)), tl.ones(2, 2))
    assert seen == [(tl.matmul, tl.float16), (tl.add, tl.float32)]


@pytest.mark.parametrize("mode_first", [True, False])
def test_modes_of_the_user_see_the_call_as_it_is_written(mode_first):
    seen = []

    class Watch(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, [a.dtype for a in args if isinstance(a, tl.Tensor)]))
            return func(*args, **(kwargs or {}))

    blocks = (Watch(), half()) if mode_first else (half(), Watch())
    x = tl.ones(2, 2)
    with blocks[0], blocks[1]:
        found = tl.mm(x, x)
    assert seen == [(tl.mm, [tl.float32, tl.float32])]
    assert found.dtype is tl.float16
    assert tl.mm(x, x).dtype is tl.float32


def test_composites_are_cast_inside():
    with half():
        assert tl.linalg.multi_dot([tl.ones(2, 2)] * 3).dtype is tl.float16


def test_with_transforms():
    def loss(w, x):
        return (x @ w).float().square().sum()

    w, x = tl.ones(2, 2), tl.ones(3, 1, 2)
    with half():
        value = tl.func.grad(loss)(w, x)
        rows = tl.vmap(lambda row: row @ w)(x)
        both = tl.vmap(tl.func.grad(loss), in_dims=(None, 0))(w, x)
    assert value.dtype is tl.float32
    assert rows.dtype is tl.float16
    assert tl.equal(value, tl.full((2, 2), 12.0))
    assert tl.equal(both.sum(0), value)


def test_a_parameter_is_cast_once_in_a_block():
    w = tl.nn.Parameter(tl.ones(2, 2))
    casts = []

    class Counts(tl.overrides.TorchFunctionMode):
        _internal = True

    with half():
        first = tl.mm(w, w)
        second = tl.mm(w, tl.ones(2, 2))
    nodes = {node for result in (first, second) for node, _ in result.grad_fn.next_functions if node is not None}
    assert len(nodes) == 1
    (first.sum() + second.sum()).backward()
    assert w.grad.dtype is tl.float32
    assert not casts


def test_an_error_ends_the_block():
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), half():
            raise error
        assert not tl.is_autocast_enabled("cpu")
        assert tl.mm(tl.ones(2, 2), tl.ones(2, 2)).dtype is tl.float32


def test_a_block_is_that_of_the_thread():
    found = []
    with half():
        thread = threading.Thread(target=lambda: found.append(tl.mm(tl.ones(2, 2), tl.ones(2, 2)).dtype))
        thread.start()
        thread.join()
        assert tl.mm(tl.ones(2, 2), tl.ones(2, 2)).dtype is tl.float16
    assert found == [tl.float32]


def test_guards_do_not_switch_it_off():
    x = tl.ones(2, 2)
    with half(), tl._C.DisableTorchFunction():
        assert tl.mm(x, x).dtype is tl.float16
    with half(), tl._C.DisableTorchFunctionSubclass():
        assert tl.mm(x, x).dtype is tl.float16


def test_training_with_a_scaler():
    tl.manual_seed(0)
    model = tl.nn.Sequential(tl.nn.Linear(3, 8), tl.nn.ReLU(), tl.nn.Linear(8, 1))
    optimizer, scaler = tl.optim.SGD(model.parameters(), lr=0.1), tl.amp.GradScaler("cpu")
    x = tl.randn(32, 3)
    y = x.sum(1, keepdim=True)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with half():
            loss = tl.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
