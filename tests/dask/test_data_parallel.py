"""Losses and gradients over chunks, on a cluster of two processes, beside the same on one tensor."""

import collections
import functools
import gc

import numpy as np
import pytest

pytest.importorskip("distributed", reason="a cluster takes Dask and Distributed, of the extra 'dask'")

import dask
import dask.array as da
import distributed

import tensorlike as tl
import tensorlike.dask
from tensorlike import nn
from tensorlike.nn import functional as F
from tests.helpers import chunk_losses as losses
from tests.helpers.chunk_cluster import local_cluster

ROWS = 50


@pytest.fixture(scope="module")
def client():
    with local_cluster() as client:
        yield client


@pytest.fixture
def data():
    """Arrays in chunks of 13, 13, 13 and 11 rows, and the tensors of the same elements."""
    X, y = losses.random_rows(ROWS)
    return da.from_array(X, chunks=(13, 3)), da.from_array(y, chunks=13), tl.from_numpy(X), tl.from_numpy(y)


def leaf(*values, dtype=tl.float64):
    return tl.tensor(values, dtype=dtype, requires_grad=True)


def close(one, other, tolerance=1e-12):
    return one.shape == other.shape and bool(tl.allclose(one, other.to(one.dtype), rtol=tolerance, atol=tolerance))


class TestValueAndGrad:
    @pytest.mark.parametrize("reduction, loss", [("sum", losses.squares), ("mean", losses.mean_squares)])
    @pytest.mark.parametrize("split_every", [2, 8])
    def test_it_is_that_of_one_process(self, client, data, reduction, loss, split_every):
        X, y, whole_X, whole_y = data
        weight = leaf(0.5, -1.0, 2.0)
        value, gradient = dask.compute(
            *tl.dask.value_and_grad(loss, weight, X, y, reduction=reduction, split_every=split_every)
        )
        expected = loss(weight, whole_X, whole_y)
        assert close(value, expected.detach())
        assert close(gradient, tl.autograd.grad(expected, weight)[0])
        assert not value.requires_grad
        assert weight.grad is None

    def test_every_way_of_dask_takes_it(self, client, data):
        X, y, *_ = data
        lazy = tl.dask.value_and_grad(losses.squares, leaf(1.0, 2.0, 3.0), X, y)
        value, gradient = lazy.compute(scheduler="threads")
        persisted = client.persist(lazy)
        found = [
            lazy.compute(),
            client.compute(lazy).result(),
            persisted.compute(),
            dask.compute(lazy)[0],
            client.submit(tuple, client.compute(lazy)).result(),
            dask.delayed(tuple)(lazy).compute(),
            lazy.compute(scheduler="synchronous"),
            dask.persist(lazy)[0].compute(),
        ]
        assert all(bool(v == value) and bool((g == gradient).all()) for v, g in found)

    def test_params_are_a_pytree(self, client, data):
        X, y, whole_X, whole_y = data
        generator = tl.Generator().manual_seed(1)
        params = {
            "hidden": (
                tl.randn(3, 4, dtype=tl.float64, generator=generator).requires_grad_(),
                tl.zeros(4, dtype=tl.float64, requires_grad=True),
            ),
            "out": tl.randn(4, dtype=tl.float64, generator=generator).requires_grad_(),
            "name": "two layers",
            "constant": tl.ones(2),
        }
        _, gradients = tl.dask.value_and_grad(losses.layered, params, X, y).compute()
        losses.layered(params, whole_X, whole_y).backward()
        assert gradients["name"] is None
        assert gradients["constant"] is None
        assert type(gradients["hidden"]) is tuple
        for found, param in zip(
            (*gradients["hidden"], gradients["out"]), (*params["hidden"], params["out"]), strict=True
        ):
            assert close(found, param.grad, 1e-11)

    def test_params_are_a_module(self, client, data):
        X, y, whole_X, whole_y = data
        module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()
        module[0].bias.requires_grad_(False)
        _, gradients = tl.dask.value_and_grad(losses.module_squares, module, X, y).compute()
        losses.module_squares(module, whole_X, whole_y).backward()
        assert list(gradients) == [name for name, _ in module.named_parameters()]
        assert gradients["0.bias"] is None
        for name, parameter in module.named_parameters():
            if parameter.requires_grad:
                assert close(gradients[name], parameter.grad, 1e-11)

    def test_the_parameters_are_those_of_the_call(self, client, data):
        X, y, *_ = data
        weight = leaf(1.0, 2.0, 3.0)
        lazy = tl.dask.value_and_grad(losses.squares, weight, X, y)
        before = lazy.compute()[0]
        with tl.no_grad():
            weight.zero_()
        assert bool(lazy.compute()[0] == before)

    def test_a_custom_function_has_its_own_backward(self, client, data):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        _, gradient = tl.dask.value_and_grad(losses.cubes, weight, X, y).compute()
        assert close(gradient, tl.autograd.grad(losses.cubes(weight, whole_X, whole_y), weight)[0], 1e-10)

    def test_what_is_defined_in_a_function_travels(self, client, data):
        class Twice(tl.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 20

        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        loss = lambda w, X, y: Twice.apply(losses.squares(w, X, y))
        _, gradient = tl.dask.value_and_grad(loss, weight, X, y).compute()
        assert close(gradient, tl.autograd.grad(loss(weight, whole_X, whole_y), weight)[0], 1e-10)

    def test_a_parameter_keeps_its_type_and_its_attributes(self, client, data):
        X, y, whole_X, whole_y = data
        weight = tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64).as_subclass(losses.Labelled)
        weight.label = "of the driver"
        weight.requires_grad_()
        _, gradients = tl.dask.value_and_grad(losses.sees_labels, {"weight": weight}, X, y).compute()
        plain = leaf(1.0, 2.0, 3.0)
        losses.squares(plain, whole_X, whole_y).backward()
        assert close(gradients["weight"].as_subclass(tl.Tensor), plain.grad, 1e-11)

    def test_a_chunk_may_be_of_a_type_that_overrides(self, client, data):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        typed = X.map_blocks(losses.as_type(losses.Recording), dtype=X.dtype, meta=np.empty((0, 0)))
        _, gradient = tl.dask.value_and_grad(losses.sees_recording_chunks, weight, typed, y).compute()
        (expected,) = tl.autograd.grad(losses.squares(weight, whole_X, whole_y), weight)
        assert close(gradient.as_subclass(tl.Tensor), expected, 1e-11)

    def test_a_shared_parameter_has_one_gradient(self, client, data):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        loss = lambda params, X, y: losses.squares(params[0], X, y) + losses.squares(params[1], X, y)
        _, (one, other) = tl.dask.value_and_grad(loss, [weight, weight], X, y).compute()
        loss([weight, weight], whole_X, whole_y).backward()
        assert close(one, weight.grad, 1e-11)
        assert close(other, weight.grad, 1e-11)

    def test_an_unused_parameter_has_none(self, client, data):
        X, y, *_ = data
        _, (used, unused, constant) = tl.dask.value_and_grad(
            losses.unused, (leaf(1.0, 2.0, 3.0), leaf(1.0), tl.ones(1)), X, y
        ).compute()
        assert used.shape == (3,)
        assert unused is None
        assert constant is None

    def test_a_chunk_may_leave_the_parameters_alone(self, client):
        X, y = losses.random_rows(8)
        y[:4] = -1
        y[4:] = 1
        weight = leaf(1.0, 2.0, 3.0)
        arrays = da.from_array(X, chunks=(2, 3)), da.from_array(y, chunks=2)
        value, gradient = tl.dask.value_and_grad(losses.masked, weight, *arrays).compute()
        expected = losses.masked(weight, tl.from_numpy(X), tl.from_numpy(y))
        assert close(value, expected.detach())
        assert close(gradient, tl.autograd.grad(expected, weight)[0])

    def test_arguments_are_pytrees(self, client, data):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        value, _ = tl.dask.value_and_grad(losses.pair, weight, {"left": X, "right": X}, y).compute()
        assert close(value, losses.pair(weight, {"left": whole_X, "right": whole_X}, whole_y).detach())

    def test_whatever_has_to_dask_is_taken(self, client, data):
        class Chunked:
            def __init__(self, array):
                self.array = array

            def to_dask(self):
                return self.array

        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        value, _ = tl.dask.value_and_grad(losses.squares, weight, Chunked(X), Chunked(y)).compute()
        assert close(value, losses.squares(weight, whole_X, whole_y).detach())

    @pytest.mark.parametrize(
        "chunks",
        [(50,), (1,) * 50, (0, 20, 0, 0, 30, 0), (49, 1), (0, 50)],
        ids=["one", "a row each", "empty ones", "one row", "the first one empty"],
    )
    @pytest.mark.parametrize("reduction, loss", [("sum", losses.squares), ("mean", losses.mean_squares)])
    def test_chunks_of_any_size(self, client, data, chunks, reduction, loss):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        lazy = tl.dask.value_and_grad(
            loss, weight, X.rechunk((chunks, 3)), y.rechunk((chunks,)), reduction=reduction, split_every=3
        )
        value, gradient = lazy.compute()
        expected = loss(weight, whole_X, whole_y)
        assert close(value, expected.detach())
        assert close(gradient, tl.autograd.grad(expected, weight)[0])

    def test_numbers_of_rows_need_not_be_known(self, client, data):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        kept = whole_y > 0.5
        value, gradient = tl.dask.value_and_grad(
            losses.mean_squares, weight, X[y > 0.5], y[y > 0.5], reduction="mean"
        ).compute()
        expected = losses.mean_squares(weight, whole_X[kept], whole_y[kept])
        assert close(value, expected.detach())
        assert close(gradient, tl.autograd.grad(expected, weight)[0])

    @pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.float32])
    def test_lower_precision_is_summed_in_float32(self, client, dtype):
        # 40,000 rows with a gradient of 2 each: more than float16 holds, and than it counts to.
        X = da.ones((40_000, 1), chunks=(1000, 1), dtype="float32")
        weight = tl.ones(1, dtype=dtype, requires_grad=True)
        loss = lambda w, X: (X @ w.float()).mean() * 2
        value, gradient = tl.dask.value_and_grad(loss, weight, X, reduction="mean").compute()
        assert gradient.dtype == dtype
        assert gradient.item() == pytest.approx(2, rel=1e-6)
        assert value.item() == pytest.approx(2, rel=1e-6)

    def test_integers_are_data(self, client):
        labels = da.from_array(np.arange(10) % 3, chunks=4)
        scores = tl.zeros(3, requires_grad=True)
        loss = lambda s, labels: F.cross_entropy(s.expand(len(labels), 3), labels)
        value, gradient = tl.dask.value_and_grad(loss, scores, labels, reduction="mean").compute()
        expected = loss(scores, tl.arange(10) % 3)
        assert close(value, expected.detach(), 1e-6)
        assert close(gradient, tl.autograd.grad(expected, scores)[0], 1e-6)

    def test_reversed_and_transposed_chunks(self, client, data):
        X, y, whole_X, whole_y = data
        weight = leaf(1.0, 2.0, 3.0)
        turned = da.from_array(np.ascontiguousarray(whole_X.numpy().T)[:, ::-1], chunks=(3, 13)).T
        value, _ = tl.dask.value_and_grad(losses.squares, weight, turned, y).compute()
        assert close(value, losses.squares(weight, whole_X.flip(0), whole_y).detach())


class TestRandomNumbers:
    def test_they_follow_from_the_seed_and_the_chunk(self, client, data):
        X, y, *_ = data
        weight = leaf(1.0, 2.0, 3.0)

        def run(seed, **options):
            value, gradient = tl.dask.value_and_grad(losses.noisy, weight, X, y, seed=seed).compute(**options)
            return [value.item(), *gradient.tolist()]

        assert run(1) == run(1) == run(1, scheduler="synchronous") == run(1, scheduler="threads", num_workers=4)
        assert run(1) != run(2)

    def test_every_random_function_draws_from_the_chunk(self, client):
        weight = tl.ones(9, requires_grad=True)
        X = da.ones((64, 1), chunks=1)

        def run(**options):
            return tl.dask.value_and_grad(losses.draws, weight, X, seed=5).compute(**options)[1].tolist()

        # Several threads of one process draw at the same time.
        assert run(scheduler="threads", num_workers=8) == run(scheduler="synchronous") == run()

    def test_chunks_draw_different_numbers(self, client):
        weight = tl.ones(9, requires_grad=True)
        (alone,) = {
            tuple(tl.dask.value_and_grad(losses.draws, weight, da.ones((1, 1)), seed=5).compute()[1].tolist())
            for _ in range(3)
        }
        two = tl.dask.value_and_grad(losses.draws, weight, da.ones((2, 1), chunks=1), seed=5).compute()[1].tolist()
        assert two[0] != 2 * alone[0]

    def test_without_a_seed_they_follow_from_the_default_generator(self, client, data):
        X, y, *_ = data
        weight = leaf(1.0, 2.0, 3.0)

        def run():
            return tl.dask.value_and_grad(losses.noisy, weight, X, y).compute()[0].item()

        tl.manual_seed(3)
        first, second = run(), run()
        tl.manual_seed(3)
        assert first == run()
        assert first != second

    def test_the_generators_of_this_process_stay(self, data):
        X, y, *_ = data
        lazy = tl.dask.value_and_grad(losses.noisy, leaf(1.0, 2.0, 3.0), X, y, seed=0)
        before = tl.get_rng_state()
        lazy.compute(scheduler="synchronous")
        assert bool((tl.get_rng_state() == before).all())


def network():
    tl.manual_seed(2)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()


class TestDataParallel:
    def test_training_is_that_of_one_process(self, client, data):
        X, y, whole_X, whole_y = data
        module, alone = network(), network()
        step = tl.dask.data_parallel(module, F.mse_loss)
        optimizers = [tl.optim.Adam(m.parameters(), lr=0.05) for m in (module, alone)]
        for _ in range(4):
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss = step(client, X, y[:, None])
            expected = F.mse_loss(alone(whole_X), whole_y[:, None])
            expected.backward()
            assert close(loss, expected.detach())
            for optimizer in optimizers:
                optimizer.step()
        for one, other in zip(module.parameters(), alone.parameters(), strict=True):
            assert close(one.detach(), other.detach(), 1e-10)

    def test_gradients_accumulate(self, client, data):
        X, y, *_ = data
        module = network()
        step = tl.dask.data_parallel(module, F.mse_loss)
        step(client, X, y[:, None])
        once = [p.grad.clone() for p in module.parameters()]
        step(client, X, y[:, None])
        assert all(close(p.grad, 2 * g) for p, g in zip(module.parameters(), once, strict=True))

    def test_none_is_the_client_that_was_made_last(self, client, data):
        X, y, *_ = data
        pids = client.run(losses.worker_pid).values()
        module = network()
        here = da.map_blocks(lambda x: x * 0 + losses.worker_pid(), X, dtype=X.dtype)
        loss = tl.dask.data_parallel(module, lambda output, pid: (output * 0).mean() + pid.max(), reduction="mean")
        assert min(pids) <= loss(None, X, here).item() <= max(pids)

    def test_it_works_without_a_client(self, data, monkeypatch):
        import distributed

        def no_client():
            raise ValueError("No clients found")

        monkeypatch.setattr(distributed, "default_client", no_client)
        X, y, whole_X, whole_y = data
        module = network()
        loss = tl.dask.data_parallel(module, F.mse_loss)(None, X, y[:, None])
        assert close(loss, F.mse_loss(module(whole_X), whole_y[:, None]).detach())

    def test_a_loss_function_may_have_parameters(self, client, data):
        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(tl.ones((), dtype=tl.float64))

            def forward(self, output, target):
                return self.scale * F.mse_loss(output, target)

        X, y, *_ = data
        criterion = Scaled()
        loss = tl.dask.data_parallel(network(), criterion)(client, X, y[:, None])
        assert close(criterion.scale.grad, loss)

    def test_several_inputs_and_no_loss_function(self, client, data):
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.bilinear = nn.Bilinear(3, 3, 1, dtype=tl.float64)

            def forward(self, one, other):
                return self.bilinear(one, other).square().mean()

        X, _, whole_X, _ = data
        module = Both()
        loss = tl.dask.data_parallel(module)(client, X, X)
        assert close(loss, module(whole_X, whole_X).detach())
        of_outputs = tl.dask.data_parallel(module.bilinear, lambda out, x: out.square().mean(), inputs=2)
        assert close(of_outputs(client, X, X, X), loss)

    def test_shared_parameters(self, client, data):
        X, y, whole_X, whole_y = data

        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3, dtype=tl.float64)
                self.other = nn.Linear(3, 3, dtype=tl.float64)
                self.other.weight = self.one.weight

            def forward(self, X):
                return self.other(self.one(X).tanh())[:, :1]

        module = Tied()
        tl.dask.data_parallel(module, F.mse_loss)(client, X, y[:, None])
        found = module.one.weight.grad.clone()
        module.zero_grad()
        F.mse_loss(module(whole_X), whole_y[:, None]).backward()
        assert close(found, module.one.weight.grad)

    @pytest.mark.parametrize("training", [True, False])
    def test_modules_run_in_their_mode(self, client, data, training):
        X, y, *_ = data
        module = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.9), nn.Linear(8, 1)).double().train(training)
        step = tl.dask.data_parallel(module, F.mse_loss)
        assert (step(client, X, y[:, None]).item() == step(client, X, y[:, None]).item()) is not training
        seeded = [tl.dask.data_parallel(module, F.mse_loss, seed=4) for _ in range(2)]
        ran = [[step(client, X, y[:, None]).item() for _ in range(2)] for step in seeded]
        assert ran[0] == ran[1]
        assert (ran[0][0] == ran[0][1]) is not training

    def test_half_precision_of_a_module(self, client):
        module = nn.Linear(2, 1, bias=False).half()
        X = da.ones((30_000, 2), chunks=(10_000, 2), dtype="float16")
        loss = tl.dask.data_parallel(module, lambda out: out.mean())(client, X)
        assert module.weight.grad.dtype == tl.float16
        assert module.weight.grad.tolist() == [[1, 1]]
        assert loss.dtype == tl.float32

    def test_every_optimizer_takes_the_gradients(self, client, data):
        X, y, *_ = data
        module = network()
        optimizer = tl.optim.LBFGS(module.parameters(), max_iter=3)
        step = tl.dask.data_parallel(module, F.mse_loss)

        def closure():
            optimizer.zero_grad()
            return step(client, X, y[:, None])

        before = closure().item()
        optimizer.step(closure)
        assert closure().item() < before


class TestBuffers:
    def test_batch_normalisation_has_the_mean_over_the_rows(self, client, data):
        X, y, whole_X, _ = data
        module = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1)).double()
        tl.dask.data_parallel(module, F.mse_loss)(client, X, y[:, None])
        norm = module[0]
        assert close(norm.running_mean, 0.1 * whole_X.mean(0))
        sizes = X.chunks[0]
        within = sum(n * part.var(0) for n, part in zip(sizes, whole_X.split(sizes))) / ROWS
        assert close(norm.running_var, 0.9 + 0.1 * within)
        assert norm.num_batches_tracked.item() == 1

    def test_they_stay_in_evaluation_and_when_asked(self, client, data):
        X, y, *_ = data
        for module, options in ((losses.Calls(3).eval(), {}), (losses.Calls(3), {"buffers": "keep"})):
            tl.dask.data_parallel(module, F.mse_loss, **options)(client, X, y[:, None])
            assert module.calls.item() == 0
            assert not module.mean.any()
        module = losses.Calls(3)
        tl.dask.value_and_grad(losses.module_squares, module, X, y).compute()
        assert module.calls.item() == 0

    def test_new_ones_are_averaged_and_integers_come_from_the_first_chunk(self, client, data):
        X, y, whole_X, _ = data
        module = losses.Calls(3)
        calls = module.calls
        step = tl.dask.data_parallel(module, F.mse_loss)
        step(client, X, y[:, None])
        step(client, X, y[:, None])
        assert module.calls is calls
        assert calls.item() == 2
        assert close(module.mean, whole_X.mean(0))
        assert bool((module.untouched == 1).all())

    def test_shapes_that_differ_have_no_mean(self, client, data):
        X, y, *_ = data
        module = losses.LastShape()
        with pytest.raises(RuntimeError, match="the buffer 'last' in the shapes .*buffers='keep'"):
            tl.dask.data_parallel(module, F.mse_loss)(client, X, y[:, None])
        assert module.linear.weight.grad is None
        tl.dask.data_parallel(module, F.mse_loss, buffers="keep")(client, X, y[:, None])
        assert module.linear.weight.grad is not None

    def test_threads_of_a_worker_do_not_share_them(self, data):
        X, y, *_ = data
        module = losses.Calls(3)
        lazy = functools.partial(tl.dask.value_and_grad, losses.module_squares, module, X.rechunk((1, 3)), y.rechunk(1))
        one, other = lazy().compute(scheduler="threads", num_workers=8), lazy().compute(scheduler="synchronous")
        assert bool(one[0] == other[0])
        assert module.calls.item() == 0


class TestTasks:
    """The tasks of a step, which say what travels and how many chunks a worker holds."""

    @staticmethod
    def names(lazy):
        keys = (key[0] if isinstance(key, tuple) else key for key in lazy.__dask_graph__())
        return collections.Counter(key.rpartition("-")[0] for key in keys)

    def test_loading_a_chunk_is_part_of_its_task(self, client):
        made = lambda block_id: np.full((10, 3), block_id[0] + 1.0)
        source = da.map_blocks(made, chunks=((10,) * 6, (3,)), dtype=float)
        X, y = source[:, :] * 2, source[:40, 0] + 1
        lazy = tl.dask.value_and_grad(losses.squares, leaf(1.0, 2.0, 3.0), X[:40], y, split_every=2)
        assert self.names(lazy) == {"chunk-gradients": 4, "sum-of-gradients": 3, "gradients": 1, "parameters": 1}
        value, _ = lazy.compute()
        expected = losses.squares(leaf(1.0, 2.0, 3.0), tl.from_numpy(X[:40].compute()), tl.from_numpy(y.compute()))
        assert close(value, expected.detach())

    def test_what_several_chunks_need_is_computed_once(self, client):
        X = da.ones((40, 3), chunks=(10, 3))
        centred = X - X.mean(0)
        lazy = tl.dask.value_and_grad(losses.squares, leaf(1.0, 2.0, 3.0), centred, da.ones(40, chunks=10))
        found = self.names(lazy)
        assert found["chunk-gradients"] == 4
        assert sum(found.values()) > 7
        assert lazy.compute()[0].item() == 40

    def test_a_chunk_made_by_many_tasks_keeps_them(self, client):
        X = da.ones((200, 3), chunks=(1, 3)).map_blocks(lambda x: x + 1).rechunk((100, 3))
        lazy = tl.dask.value_and_grad(lambda w, X: (X @ w).sum(), leaf(1.0, 2.0, 3.0), X)
        assert sum(self.names(lazy).values()) > 200
        assert lazy.compute()[0].item() == 200 * 2 * 6

    def test_data_in_the_memory_of_workers_are_held(self, client, data):
        X, y, whole_X, whole_y = data
        X, y = client.persist([X + 0, y + 0])
        distributed.wait([X, y])
        weight = leaf(1.0, 2.0, 3.0)
        lazy = tl.dask.value_and_grad(losses.squares, weight, X * 1, y)
        del X, y
        gc.collect()
        assert close(lazy.compute()[0], losses.squares(weight, whole_X, whole_y).detach())


@pytest.mark.slow
def test_memory_is_bounded_by_the_chunks_that_run():
    """Data of four times the worker's limit, none of which is kept, in two threads."""
    chunk = 16_000_000
    with local_cluster(1, 2, memory_limit="400MB") as client:
        X = da.map_blocks(
            lambda block_id: np.random.default_rng(block_id[0]).normal(size=(100_000, 20)),
            chunks=((100_000,) * 100, (20,)), meta=np.empty((0, 0)),
        )  # fmt: skip
        assert X.nbytes == 4 * 400_000_000
        weight = tl.zeros(20, dtype=tl.float64, requires_grad=True)
        loss = lambda w, X: (X @ w).square().sum()
        warm = X[:100_000]
        tl.dask.value_and_grad(loss, weight, warm).compute()
        (before,) = client.run(losses.peak_memory).values()
        value, gradient = tl.dask.value_and_grad(loss, weight, X).compute()
        (after,) = client.run(losses.peak_memory).values()
        assert not gradient.any()
        # One chunk was alive when `before` was taken; two threads hold a chunk each, and what is computed of it.
        assert after - before < 2 * 2 * chunk
        assert after < 400_000_000


def test_large_parameters_travel_without_a_warning(client):
    weight = tl.zeros(3_000_000, requires_grad=True)

    class Large(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(weight)

        def forward(self, X):
            return (self.weight[:1] * X).sum()

    module = Large()
    tl.dask.data_parallel(module, reduction="sum")(client, da.ones((4, 1), chunks=2))
    assert module.weight.grad[0].item() == 4


def test_nothing_is_left_in_the_cluster(client, data):
    X, y, *_ = data
    module = network()
    tl.dask.data_parallel(module, F.mse_loss)(client, X, y[:, None])
    gc.collect()
    assert client.futures == {}
