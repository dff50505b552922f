"""Facts of optimizers and averages that need no comparison with PyTorch."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import optim
from tensorlike.optim import lr_scheduler, swa_utils
from tensorlike.optim.blocks import _BLOCK
from tensorlike.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

#: Optimizers whose rule is written once, for blocks of memory and for tensors, with options that reach all of it.
RULES = {
    "Adadelta": {"weight_decay": 0.1},
    "Adagrad": {"lr_decay": 0.1, "weight_decay": 0.1},
    "Adamax": {"weight_decay": 0.1},
    "ASGD": {"t0": 2},
    "NAdam": {"weight_decay": 0.1, "decoupled_weight_decay": True},
    "RAdam": {"betas": (0.5, 0.6)},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "Rprop": {},
}


class Seen(tl.Tensor):
    """A tensor that notes the functions that it is handed to."""

    names: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.names.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def run(name, options, start, gradients, dtype, kind=None):
    parameter = tl.tensor(start, dtype=dtype)
    parameter = tl.nn.Parameter(parameter if kind is None else parameter.as_subclass(kind))
    optimizer = getattr(optim, name)([parameter], **options)
    for gradient in gradients:
        parameter.grad = tl.tensor(gradient, dtype=dtype)
        optimizer.step()
    return parameter.detach().numpy(), parameter


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("name", RULES)
def test_rules_on_memory_and_on_tensors_agree(name, dtype):
    generator = np.random.default_rng(0)
    size = 2 * _BLOCK + 17
    start, gradients = generator.standard_normal(size), generator.standard_normal((8, size))
    fast, _ = run(name, RULES[name], start, gradients, dtype)
    Seen.names.clear()
    slow, parameter = run(name, RULES[name], start, gradients, dtype, Seen)
    assert isinstance(parameter, Seen)
    assert "__isub__" in Seen.names or "sub_" in Seen.names or "__sub__" in Seen.names
    np.testing.assert_allclose(fast, slow, rtol=2e-5 if dtype is tl.float32 else 1e-12, atol=1e-6)


class SparseGradient(tl.Tensor):
    """A gradient that names some rows, as those of an embedding do."""

    is_sparse = True

    def __new__(cls, shape, rows, values):
        made = tl.zeros(shape).as_subclass(cls)
        made.rows, made.given = rows, values
        return made

    def coalesce(self):
        rows, places = np.unique(self.rows, return_inverse=True)
        values = np.zeros((len(rows), *self.given.shape[1:]), self.given.dtype)
        np.add.at(values, places, self.given)
        return SparseGradient(tuple(self.shape), rows, values)

    def _indices(self):
        return tl.tensor(self.rows)[None]

    def _values(self):
        return tl.tensor(self.given)

    def __neg__(self):
        return SparseGradient(tuple(self.shape), self.rows, -self.given)


ROWS = [3, 1, 3]
VALUES = np.array([[1.0, -2.0], [0.5, 0.25], [1.0, 1.0]], "f")


def dense():
    gradient = np.zeros((5, 2), "f")
    np.add.at(gradient, ROWS, VALUES)
    return tl.tensor(gradient)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(
    "name, like, options",
    [("SparseAdam", "Adam", {}), ("Adagrad", "Adagrad", {"lr_decay": 0.1}), ("Adagrad", "Adagrad", {"eps": 1e-3})],
)
def test_sparse_gradients_update_their_rows_as_dense_ones_do(name, like, options, maximize):
    results = []
    for kind, gradient in ((name, SparseGradient((5, 2), ROWS, VALUES)), (like, dense())):
        parameter = tl.nn.Parameter(tl.ones(5, 2))
        optimizer = getattr(optim, kind)([parameter], lr=0.1, maximize=maximize, **options)
        for _ in range(3):
            parameter.grad = gradient
            optimizer.step()
        results.append(parameter.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-6)
    assert (results[0][[0, 2, 4]] == 1).all()
    assert (results[0][[1, 3]] != 1).any()


def test_means_of_rows_without_gradient_stay():
    parameter = tl.nn.Parameter(tl.ones(5, 2))
    optimizer = optim.SparseAdam([parameter])
    parameter.grad = SparseGradient((5, 2), ROWS, VALUES)
    optimizer.step()
    before = optimizer.state[parameter]["exp_avg"].clone()
    parameter.grad = SparseGradient((5, 2), [0], VALUES[:1])
    optimizer.step()
    after = optimizer.state[parameter]["exp_avg"]
    assert tl.equal(before[1:], after[1:])
    assert after[0, 0] != 0
    assert optimizer.state[parameter]["step"] == 2


@pytest.mark.parametrize("name", [*RULES, "Adam", "AdamW", "Adafactor"])
def test_sparse_gradients_are_refused(name):
    if name == "Adagrad":
        options, text = {"weight_decay": 0.1}, "weight_decay option is not compatible with sparse gradients"
    else:
        options, text = {}, f"{name} does not support sparse gradients"
    parameter = tl.nn.Parameter(tl.ones(5, 2))
    optimizer = getattr(optim, name)([parameter], **options)
    parameter.grad = SparseGradient((5, 2), ROWS, VALUES)
    with pytest.raises(RuntimeError, match=text):
        optimizer.step()
    assert tl.equal(parameter, tl.ones(5, 2))


def test_lbfgs_finds_a_minimum():
    point = tl.nn.Parameter(tl.tensor([-1.2, 1.0], dtype=tl.float64))
    optimizer = optim.LBFGS([point], line_search_fn="strong_wolfe", max_iter=100)

    def closure():
        optimizer.zero_grad()
        loss = 100 * (point[1] - point[0] ** 2) ** 2 + (1 - point[0]) ** 2
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == pytest.approx(24.2)
    # The step ends where the loss changes by less than 1e-9.
    np.testing.assert_allclose(point.detach().numpy(), [1.0, 1.0], rtol=1e-4)
    assert optimizer.step(closure).item() < 1e-8


def test_an_error_of_the_closure_leaves_lbfgs_usable():
    point = tl.nn.Parameter(tl.tensor([3.0]))
    optimizer = optim.LBFGS([point], lr=0.1)

    def fails():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimizer.step(fails)
    assert tl.is_grad_enabled()

    def closure():
        optimizer.zero_grad()
        loss = (point**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert point.item() < 3.0


def test_hooks_of_all_optimizers():
    parameter = tl.nn.Parameter(tl.ones(1))
    optimizer, seen = optim.RMSprop([parameter]), []
    before = register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append(("before", o)))
    after = register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append(("after", o)))
    optimizer.step()
    assert seen == [("before", optimizer), ("after", optimizer)]
    before.remove()
    after.remove()
    optimizer.step()
    assert len(seen) == 2


def test_schedulers_are_freed_with_their_optimizer():
    gc.collect()
    gc.disable()
    try:
        optimizer = optim.Adam([tl.nn.Parameter(tl.ones(1))])
        found = [
            weakref.ref(lr_scheduler.CyclicLR(optimizer, 0.1, 0.2, cycle_momentum=False)),
            weakref.ref(lr_scheduler.OneCycleLR(optimizer, 0.1, 5)),
            weakref.ref(lr_scheduler.ExponentialLR(optimizer, 0.9)),
        ]
        assert [reference() for reference in found] == [None] * 3
        reference = weakref.ref(optimizer)
        del optimizer
        assert reference() is None
    finally:
        gc.enable()


def test_a_failing_loader_leaves_the_model_as_it_was():
    model = tl.nn.Sequential(tl.nn.BatchNorm1d(2, momentum=0.3)).eval()

    def loader():
        yield tl.rand(4, 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        swa_utils.update_bn(loader(), model)
    assert model[0].momentum == 0.3
    assert not model.training


def test_averaged_models_are_pickled():
    model = tl.nn.Linear(2, 3)
    averaged = swa_utils.AveragedModel(model)
    averaged.update_parameters(model)
    again = pickle.loads(pickle.dumps(averaged))
    model.weight.data.zero_()
    again.update_parameters(model)
    np.testing.assert_allclose(again.module.weight.detach().numpy(), averaged.module.weight.detach().numpy() / 2)
    assert again.n_averaged == 2


def test_optimizers_written_with_pytorchs_private_names():
    from tensorlike.optim.optimizer import (
        Optimizer,
        _default_to_fused_or_foreach,
        _get_value,
        _use_grad_for_differentiable,
        _view_as_real,
        required,
    )

    class Descent(Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr, "differentiable": False})

        @_use_grad_for_differentiable
        def step(self, closure=None):
            assert not tl.is_grad_enabled()
            assert _default_to_fused_or_foreach([], False) == (False, False)
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                grads = [p.grad for p in params]
                _view_as_real(params, grads)
                for parameter, gradient in zip(params, grads):
                    parameter.add_(gradient, alpha=-_get_value(group["lr"]))

    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Descent([tl.nn.Parameter(tl.ones(2))])
    parameter = tl.nn.Parameter(tl.tensor([1 + 2j]))
    parameter.grad = tl.tensor([2 - 4j])
    Descent([parameter], lr=tl.tensor(0.5)).step()
    assert parameter.item() == 4j
