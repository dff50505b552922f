"""Optimizers and schedulers."""

import copy
import math
import pickle

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.optim import SGD, Adam, AdamW, Optimizer, lr_scheduler


def weight(values=(1.0, -2.0), gradient=(0.5, 1.0)):
    parameter = tl.nn.Parameter(tl.tensor(list(values), dtype=tl.float64))
    if gradient is not None:
        parameter.grad = tl.tensor(list(gradient), dtype=tl.float64)
    return parameter


def close(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-12)


class TestSteps:
    def test_sgd(self):
        p = weight()
        optimizer = SGD([p], lr=0.1)
        assert optimizer.step() is None
        close(p, [0.95, -2.1])
        assert optimizer.state_dict()["state"] == {}

    def test_sgd_momentum(self):
        p = weight()
        optimizer = SGD([p], lr=0.1, momentum=0.5, dampening=0.25, weight_decay=0.1)
        x, velocity = p.detach().numpy().copy(), None
        for _ in range(3):
            gradient = np.array([0.5, 1.0]) + 0.1 * x
            velocity = gradient if velocity is None else 0.5 * velocity + 0.75 * gradient
            x = x - 0.1 * velocity
            optimizer.step()
            close(p, x)
        close(optimizer.state[p]["momentum_buffer"], velocity)

    @pytest.mark.parametrize("sign, maximize", [(1, False), (-1, True)])
    def test_sgd_nesterov(self, sign, maximize):
        p = weight()
        optimizer = SGD([p], lr=0.1, momentum=0.5, nesterov=True, maximize=maximize)
        optimizer.step()
        optimizer.step()
        gradient = sign * np.array([0.5, 1.0])
        close(p, [1.0, -2.0] - 0.1 * (1.5 * gradient) - 0.1 * (gradient + 0.5 * 1.5 * gradient))
        close(p.grad, [0.5, 1.0])

    @pytest.mark.parametrize("amsgrad", [False, True])
    def test_adam(self, amsgrad):
        p = weight()
        optimizer = Adam([p], lr=0.1, betas=(0.5, 0.7), eps=1e-3, amsgrad=amsgrad)
        x, mean, square, largest = p.detach().numpy().copy(), 0.0, 0.0, 0.0
        for step, gradient in enumerate(([0.5, 1.0], [0.1, -3.0], [0.0, 0.2]), start=1):
            p.grad = tl.tensor(gradient, dtype=tl.float64)
            gradient = np.array(gradient)
            mean = 0.5 * mean + 0.5 * gradient
            square = 0.7 * square + 0.3 * gradient**2
            largest = np.maximum(largest, square)
            divisor = np.sqrt((largest if amsgrad else square) / (1 - 0.7**step)) + 1e-3
            x = x - 0.1 * mean / (1 - 0.5**step) / divisor
            optimizer.step()
            close(p, x)
        assert optimizer.state[p]["step"].item() == 3

    def test_weight_decay_is_decoupled_in_adamw(self):
        plain, decayed = weight(), weight()
        Adam([plain], lr=0.1).step()
        AdamW([decayed], lr=0.1, weight_decay=0.5).step()
        close(decayed, plain.detach().numpy() - 0.1 * 0.5 * np.array([1.0, -2.0]))

    def test_the_closure_computes_the_gradients(self):
        p = weight(gradient=None)
        optimizer = SGD([p], lr=0.1)

        def closure():
            optimizer.zero_grad()
            loss = (p**2).sum()
            loss.backward()
            return loss

        with tl.no_grad():
            assert optimizer.step(closure).item() == 5
        close(p, [0.8, -1.6])

    def test_parameters_without_gradient_stay(self):
        p, q = weight(), weight(gradient=None)
        Adam([p, q]).step()
        close(q, [1.0, -2.0])

    def test_steps_are_not_recorded_and_keep_the_parameter(self):
        p = weight()
        data = p.data
        Adam([p], lr=0.1).step()
        assert p.is_leaf
        assert p.requires_grad
        close(data, p.detach().numpy())

    def test_groups_have_their_own_options(self):
        p, q = weight(), weight()
        optimizer = SGD([{"params": p, "lr": 1.0}, {"params": [q]}], lr=0.1)
        optimizer.step()
        close(p, [0.5, -3.0])
        close(q, [0.95, -2.1])
        r = weight()
        optimizer.add_param_group({"params": r, "momentum": 0.9})
        assert optimizer.param_groups[2]["lr"] == 0.1
        optimizer.step()
        assert "momentum_buffer" in optimizer.state[r]

    @pytest.mark.parametrize(
        "make",
        [
            lambda p, lr: SGD([p], lr=lr, momentum=0.9, differentiable=True),
            lambda p, lr: Adam([p], lr=lr, amsgrad=True, differentiable=True),
            lambda p, lr: AdamW([p], lr=lr, differentiable=True),
        ],
    )
    def test_recorded_steps_can_be_differentiated(self, make):
        def final(start, rate):
            p = start.clone()
            optimizer = make(p, rate)
            for gradient in ([0.5, 1.0], [-0.2, 3.0], [1.0, 1.0]):
                p.grad = tl.tensor(gradient, dtype=tl.float64)
                optimizer.step()
            return (p**2).sum()

        values, rate = tl.tensor([1.0, -2.0], dtype=tl.float64), tl.tensor(0.1, dtype=tl.float64)
        start, lr = values.clone().requires_grad_(), rate.clone().requires_grad_()
        final(start, lr).backward()
        step = 1e-6
        numeric = (final(values, rate + step) - final(values, rate - step)) / (2 * step)
        assert lr.grad.item() == pytest.approx(numeric.item(), rel=1e-6)
        for i in range(2):
            moved = tl.eye(2, dtype=tl.float64)[i] * step
            numeric = (final(values + moved, rate) - final(values - moved, rate)) / (2 * step)
            assert start.grad[i].item() == pytest.approx(numeric.item(), rel=1e-6)

    def test_zero_grad(self):
        p = weight()
        optimizer = SGD([p])
        optimizer.zero_grad(set_to_none=False)
        close(p.grad, [0.0, 0.0])
        optimizer.zero_grad()
        assert p.grad is None

    def test_complex_parameters_step_as_their_parts(self):
        p = tl.nn.Parameter(tl.tensor([1 + 2j], dtype=tl.complex128))
        q = tl.nn.Parameter(tl.tensor([1.0, 2.0], dtype=tl.float64))
        optimizer = Adam([p, q], lr=0.1, amsgrad=True)
        for _ in range(3):
            p.grad = tl.tensor([3 - 1j], dtype=tl.complex128)
            q.grad = tl.tensor([3.0, -1.0], dtype=tl.float64)
            optimizer.step()
        close(tl.view_as_real(p.detach())[0], q.detach().numpy())


class TestState:
    @pytest.mark.parametrize("make", [lambda p: SGD(p, lr=0.1, momentum=0.9), lambda p: Adam(p, lr=0.1, amsgrad=True)])
    def test_training_goes_on_where_it_was(self, make):
        p, q = weight(), weight()
        straight, first = make([p]), make([q])
        for _ in range(4):
            straight.step()
        first.step()
        first.step()
        second = make([q])
        second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
        second.step()
        second.step()
        close(q, p.detach().numpy())

    def test_loading_copies_and_converts(self):
        p = weight()
        source = Adam([p])
        source.step()
        q = tl.nn.Parameter(tl.ones(2, dtype=tl.float32))
        target = Adam([q])
        target.load_state_dict(source.state_dict())
        state = target.state[q]
        assert state["exp_avg"].dtype == tl.float32
        assert state["step"].item() == 1
        source.step()
        assert state["step"].item() == 1
        assert target.param_groups[0]["params"] == [q]

    def test_loading_checks_the_groups(self):
        optimizer = SGD([weight()])
        with pytest.raises(ValueError, match="different number of parameter groups"):
            optimizer.load_state_dict(SGD([{"params": weight()}, {"params": weight()}]).state_dict())
        with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
            optimizer.load_state_dict(SGD([weight(), weight()]).state_dict())

    def test_named_parameters(self):
        module = tl.nn.Linear(2, 1)
        optimizer = SGD(module.named_parameters())
        assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
        assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
        with pytest.raises(ValueError, match="with/without names"):
            optimizer.add_param_group({"params": [weight()]})

    @pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
    def test_copies_go_on_by_themselves(self, duplicate):
        p = weight()
        optimizer = SGD([p], lr=0.1, momentum=0.9)
        optimizer.step()
        other = duplicate(optimizer)
        q = other.param_groups[0]["params"][0]
        q.grad = p.grad.clone()
        optimizer.step()
        close(q, [0.95, -2.1])
        other.step()
        close(q, p.detach().numpy())

    def test_text(self):
        text = repr(SGD([{"params": weight()}, {"params": weight(), "lr": 2}], lr=1))
        assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n    differentiable: False\n")
        assert "\n    lr: 1\n" in text
        assert "\n\nParameter Group 1\n" in text
        assert text.endswith("\n    weight_decay: 0\n)")

    def test_hooks(self):
        p, seen = weight(), []
        optimizer = SGD([p], lr=0.1)
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", args[0] is o, kwargs)))
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
        optimizer.step(closure=None)
        assert seen == [("before", True, {"closure": None}), "after"]
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("saving"))
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, state: seen.append(state["more"]))
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
        optimizer.load_state_dict(optimizer.state_dict())
        assert seen[2:] == ["saving", 1, "loaded"]
        with optimizer.register_step_pre_hook(lambda *a: 3), pytest.raises(RuntimeError, match="must return None or a"):
            optimizer.step()

    def test_hooks_run_once_when_a_step_calls_the_one_it_overrides(self):
        class Twice(SGD):
            def step(self, closure=None):
                super().step(closure)
                return super().step(closure)

        p, calls = weight(), []
        optimizer = Twice([p], lr=0.1)
        optimizer.register_step_post_hook(lambda *a: calls.append(1))
        optimizer.step()
        assert calls == [1]
        close(p, [0.9, -2.2])


class TestErrors:
    @pytest.mark.parametrize(
        "make, text",
        [
            (lambda p: SGD(p, lr=-1), "Invalid learning rate: -1"),
            (lambda p: SGD(p, momentum=-1), "Invalid momentum value: -1"),
            (lambda p: SGD(p, weight_decay=-1), "Invalid weight_decay value: -1"),
            (lambda p: SGD(p, nesterov=True), "Nesterov momentum requires a momentum and zero dampening"),
            (lambda p: Adam(p, betas=(1.0, 0.9)), "Invalid beta parameter at index 0: 1.0"),
            (lambda p: Adam(p, betas=(0.9, -0.1)), "Invalid beta parameter at index 1: -0.1"),
            (lambda p: Adam(p, eps=-1), "Invalid epsilon value: -1"),
            (lambda p: AdamW(p, weight_decay=-1), "Invalid weight_decay value: -1"),
            (lambda p: SGD([]), "optimizer got an empty parameter list"),
            (lambda p: SGD([p[0] * 2]), "can't optimize a non-leaf Tensor"),
            (lambda p: SGD([{"params": p}, {"params": p}]), "some parameters appear in more than one parameter group"),
        ],
    )
    def test_values(self, make, text):
        with pytest.raises(ValueError, match=text):
            make([weight()])

    @pytest.mark.parametrize(
        "params, text",
        [
            (tl.ones(1), "params argument given to the optimizer should be an iterable of Tensors or dicts, but got"),
            ([1], "optimizer can only optimize Tensors, but one of the params is int"),
            ([{"params": {tl.ones(1)}}], "need to be organized in ordered collections"),
        ],
    )
    def test_types(self, params, text):
        with pytest.raises(TypeError, match=text):
            SGD(params)

    def test_duplicates_are_warned_of(self):
        p = weight()
        with pytest.warns(UserWarning, match="duplicate parameters"):
            SGD([p, p])

    def test_required_options(self):
        class Strict(Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": tl.optim.optimizer.required})

        with pytest.raises(ValueError, match="required optimization parameter lr"):
            Strict([weight()])
        optimizer = Strict([{"params": weight(), "lr": 1}])
        with pytest.raises(NotImplementedError, match=r"Strict does not define step\(\)"):
            optimizer.step()


def rates(make, epochs=8, lr=1.0):
    optimizer = SGD([weight()], lr=lr)
    scheduler = make(optimizer)
    seen = []
    for _ in range(epochs):
        assert scheduler.get_last_lr() == [optimizer.param_groups[0]["lr"]]
        seen.append(round(optimizer.param_groups[0]["lr"], 6))
        optimizer.step()
        scheduler.step()
    return seen


class TestSchedulers:
    def test_step(self):
        assert rates(lambda o: lr_scheduler.StepLR(o, 3, 0.5)) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]

    def test_milestones(self):
        assert rates(lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5], 0.5)) == [1, 1, 0.5, 0.5, 0.5] + [0.125] * 3

    def test_exponential(self):
        assert rates(lambda o: lr_scheduler.ExponentialLR(o, 0.5), 4) == [1, 0.5, 0.25, 0.125]

    def test_lambda(self):
        assert rates(lambda o: lr_scheduler.LambdaLR(o, lambda e: 1 / (e + 1)), 4) == [1, 0.5, 0.333333, 0.25]

    def test_linear(self):
        found = rates(lambda o: lr_scheduler.LinearLR(o, 0.5, 1.0, total_iters=4), 7)
        assert found == [0.5, 0.625, 0.75, 0.875, 1.0, 1.0, 1.0]

    def test_cosine_goes_down_and_up(self):
        found = rates(lambda o: lr_scheduler.CosineAnnealingLR(o, 4, eta_min=0.1), 9)
        assert found == [round(0.1 + 0.9 * (1 + math.cos(math.pi * e / 4)) / 2, 6) for e in range(9)]

    def test_plateau(self):
        optimizer = SGD([weight()], lr=1.0)
        scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.3)
        seen = []
        for loss in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0):
            optimizer.step()
            scheduler.step(tl.tensor(loss))
            seen.append(optimizer.param_groups[0]["lr"])
        assert seen == [1, 1, 1, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3]

    def test_rates_in_tensors_are_filled(self):
        rate = tl.tensor(1.0)
        optimizer = SGD([weight()], lr=rate)
        scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
        optimizer.step()
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] is rate
        assert rate.item() == 0.5
        assert scheduler.base_lrs[0].item() == 1

    def test_state_goes_along(self):
        optimizer = SGD([weight()], lr=1.0)
        scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        other_optimizer = SGD([weight()], lr=1.0)
        other = lr_scheduler.StepLR(other_optimizer, 7)
        other_optimizer.load_state_dict(optimizer.state_dict())
        other.load_state_dict(pickle.loads(pickle.dumps(scheduler.state_dict())))
        other_optimizer.step()
        other.step()
        assert other.get_last_lr() == [0.25]

    def test_state_of_lambdas(self):
        class Power:
            def __init__(self, base):
                self.base = base

            def __call__(self, epoch):
                return self.base**epoch

        optimizer = SGD([{"params": weight()}, {"params": weight()}], lr=1.0)
        scheduler = lr_scheduler.LambdaLR(optimizer, [Power(0.5), lambda e: 1.0])
        state = scheduler.state_dict()
        assert state["lr_lambdas"] == [{"base": 0.5}, None]
        other = lr_scheduler.LambdaLR(optimizer, [Power(0.9), lambda e: 1.0])
        other.load_state_dict(state)
        assert other.lr_lambdas[0].base == 0.5

    def test_an_epoch_can_be_named(self):
        optimizer = SGD([weight()], lr=1.0)
        scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5)
        optimizer.step()
        with pytest.warns(UserWarning, match="The epoch parameter"):
            scheduler.step(5)
        assert scheduler.get_last_lr() == [0.25]

    def test_wrong_use(self):
        optimizer = SGD([weight()], lr=1.0)
        with pytest.raises(TypeError, match="int is not an Optimizer"):
            lr_scheduler.StepLR(3, 1)
        with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
            lr_scheduler.StepLR(optimizer, 1, last_epoch=2)
        scheduler = lr_scheduler.StepLR(optimizer, 1)
        with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
            scheduler.step()
        with pytest.warns(UserWarning, match="please use `get_last_lr"):
            scheduler.get_lr()
        with pytest.raises(ValueError, match="Expected 1 lr_lambdas, but got 2"):
            lr_scheduler.LambdaLR(optimizer, [abs, abs])
        with pytest.raises(ValueError, match="Starting multiplicative factor"):
            lr_scheduler.LinearLR(optimizer, 0)
        with pytest.raises(ValueError, match="Factor should be < 1"):
            lr_scheduler.ReduceLROnPlateau(optimizer, factor=1.0)
        with pytest.raises(ValueError, match="mode x is unknown"):
            lr_scheduler.ReduceLROnPlateau(optimizer, mode="x")
