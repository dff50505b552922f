"""Schedulers and averages of models against PyTorch's, epoch by epoch."""

import copy
import functools
import math
import pickle
import types
import warnings

import numpy as np
import pytest

import tensorlike as tl

torch = pytest.importorskip("torch", reason="PyTorch is what schedulers are compared with")

# A chain in a sequence steps out of order, in PyTorch as well.
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
EPOCHS = 50


class Decay:
    """A function of the epoch with an attribute, which is saved."""

    def __init__(self, base):
        self.base = base

    def __call__(self, epoch):
        return self.base**epoch


def half(epoch):
    return 0.5


def made(name, **options):
    return lambda t, o, **more: getattr(t.optim.lr_scheduler, name)(o, **options, **more)


def sequence(t, o, parts, milestones):
    return t.optim.lr_scheduler.SequentialLR(o, [part(t, o) for part in parts], milestones)


def chain(t, o, parts):
    return t.optim.lr_scheduler.ChainedScheduler([part(t, o) for part in parts], o)


SIMPLE = {
    "lambda": made("LambdaLR", lr_lambda=lambda epoch: 0.95**epoch),
    "lambdas": made("LambdaLR", lr_lambda=[lambda epoch: 0.95**epoch, lambda epoch: 1 / (1 + epoch)]),
    "object": made("LambdaLR", lr_lambda=Decay(0.9)),
    "multiplicative": made("MultiplicativeLR", lr_lambda=lambda epoch: 1 - 0.01 * epoch),
    "multiplicative object": made("MultiplicativeLR", lr_lambda=[Decay(0.999), half]),
    "step": made("StepLR", step_size=7, gamma=0.5),
    "multistep": made("MultiStepLR", milestones=[3, 9, 9, 30], gamma=0.3),
    "constant": made("ConstantLR", factor=0.3, total_iters=8),
    "constant default": made("ConstantLR"),
    "linear": made("LinearLR", start_factor=0.2, end_factor=0.9, total_iters=20),
    "linear default": made("LinearLR"),
    "exponential": made("ExponentialLR", gamma=0.9),
    "polynomial": made("PolynomialLR", total_iters=30, power=2.5),
    "polynomial default": made("PolynomialLR"),
    "cosine": made("CosineAnnealingLR", T_max=12, eta_min=0.01),
    "restarts": made("CosineAnnealingWarmRestarts", T_0=7, eta_min=0.01),
    "longer restarts": made("CosineAnnealingWarmRestarts", T_0=3, T_mult=2),
}
CYCLES = {
    "cyclic": made("CyclicLR", base_lr=0.1, max_lr=1.0, step_size_up=7),
    "cyclic 2": made("CyclicLR", base_lr=[0.1, 0.2], max_lr=[1.0, 2.0], step_size_up=4, step_size_down=9,
                     mode="triangular2", base_momentum=[0.7, 0.75], max_momentum=[0.9, 0.99]),
    "cyclic exponential": made("CyclicLR", base_lr=0.1, max_lr=1.0, step_size_up=5, mode="exp_range", gamma=0.97,
                               cycle_momentum=False),
    "cyclic of a function": made("CyclicLR", base_lr=0.1, max_lr=1.0, step_size_up=5, scale_fn=Decay(0.9),
                                 scale_mode="iterations"),
    "one cycle": made("OneCycleLR", max_lr=1.0, total_steps=60),
    "one cycle of epochs": made("OneCycleLR", max_lr=[1.0, 0.5], epochs=6, steps_per_epoch=10, pct_start=0.4,
                                anneal_strategy="linear", div_factor=10.0, final_div_factor=100.0),
    "one cycle of three phases": made("OneCycleLR", max_lr=1.0, total_steps=51, three_phase=True,
                                      base_momentum=[0.8, 0.7], max_momentum=0.9),
    "one cycle without momentum": made("OneCycleLR", max_lr=1.0, total_steps=51, cycle_momentum=False),
}  # fmt: skip
COMPOSED = {
    "sequence": lambda t, o: sequence(t, o, [SIMPLE["constant"], SIMPLE["exponential"]], [10]),
    "sequence of three": lambda t, o: sequence(t, o, [SIMPLE["linear"], SIMPLE["cosine"], SIMPLE["step"]], [5, 20]),
    "sequence from the start": lambda t, o: sequence(t, o, [SIMPLE["linear"], SIMPLE["polynomial"]], [0]),
    "sequence with restarts": lambda t, o: sequence(t, o, [SIMPLE["linear"], SIMPLE["restarts"]], [5]),
    "chain": lambda t, o: chain(t, o, [SIMPLE["constant"], SIMPLE["exponential"], SIMPLE["multistep"]]),
    "sequence of a chain": lambda t, o: t.optim.lr_scheduler.SequentialLR(
        o, [chain(t, o, [SIMPLE["constant"], SIMPLE["exponential"]]), SIMPLE["step"](t, o)], [12]
    ),
    "swa": lambda t, o: t.optim.swa_utils.SWALR(o, swa_lr=0.05, anneal_epochs=12),
    "swa linear": lambda t, o: t.optim.swa_utils.SWALR(o, [0.05, 0.5], anneal_epochs=7, anneal_strategy="linear"),
    "swa at once": lambda t, o: t.optim.swa_utils.SWALR(o, swa_lr=0.05, anneal_epochs=0),
}
SCHEDULERS = SIMPLE | CYCLES | COMPOSED


def sgd(t, tensor=False):
    first, second = t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(3))
    rates = [t.tensor(rate, dtype=t.float64) if tensor else rate for rate in (0.5, 0.3)]
    return t.optim.SGD(
        [{"params": [first], "lr": rates[0]}, {"params": [second], "lr": rates[1]}], lr=0.5, momentum=0.9
    )


def adam(t):
    first, second = t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(3))
    return t.optim.Adam([{"params": [first]}, {"params": [second], "lr": 0.3}], lr=0.5)


def numbers(value):
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        return value.item()
    if isinstance(value, dict):
        return {key: numbers(entry) for key, entry in value.items() if key not in ("params", "fused", "foreach")}
    if isinstance(value, (list, tuple)):
        return [numbers(entry) for entry in value]
    if callable(value):
        return "a function"
    return value


def close(ours, theirs, path=""):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), path
        for key, value in theirs.items():
            close(ours[key], value, f"{path}[{key!r}]")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), path
        for number, (one, other) in enumerate(zip(ours, theirs)):
            close(one, other, f"{path}[{number}]")
    elif isinstance(theirs, float):
        assert isinstance(ours, float), path
        assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-14) or ours == theirs, (path, ours, theirs)
    else:
        assert ours == theirs, path


def facts(optimizer, scheduler):
    return numbers([optimizer.param_groups, scheduler.state_dict(), scheduler.get_last_lr()])


def run(t, optimizer, scheduler, epochs):
    results = []
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        results.append(facts(optimizer, scheduler))
    return results


@pytest.mark.parametrize(
    "make_optimizer", [sgd, adam, functools.partial(sgd, tensor=True)], ids=["sgd", "adam", "tensor"]
)
@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_and_states_are_pytorchs(name, make_optimizer):
    results = []
    for t in (tl, torch):
        optimizer = make_optimizer(t)
        scheduler = SCHEDULERS[name](t, optimizer)
        results.append([facts(optimizer, scheduler), *run(t, optimizer, scheduler, EPOCHS)])
    for epoch, (ours, theirs) in enumerate(zip(*results)):
        close(ours, theirs, f"epoch {epoch}: ")


@pytest.mark.parametrize("name", SCHEDULERS)
def test_states_are_loaded_from_pytorch_and_given_to_it(name):
    pairs = {}
    for t in (tl, torch):
        optimizer = sgd(t)
        scheduler = SCHEDULERS[name](t, optimizer)
        run(t, optimizer, scheduler, 13)
        pairs[t] = optimizer, scheduler
    for source in (tl, torch):
        results = []
        for t in (tl, torch):
            optimizer = sgd(t)
            scheduler = SCHEDULERS[name](t, optimizer)
            saved_optimizer, saved_scheduler = (copy.deepcopy(part.state_dict()) for part in pairs[source])
            saved_optimizer["state"] = {}
            optimizer.load_state_dict(saved_optimizer)
            scheduler.load_state_dict(saved_scheduler)
            results.append(run(t, optimizer, scheduler, 20))
        close(*results)


@pytest.mark.parametrize("name", {**SIMPLE, **CYCLES})
def test_resuming_at_an_epoch(name):
    results = []
    for t in (tl, torch):
        optimizer = sgd(t)
        run(t, optimizer, SCHEDULERS[name](t, optimizer), 9)
        again = SCHEDULERS[name](t, optimizer, last_epoch=8)
        results.append([facts(optimizer, again), *run(t, optimizer, again, 10)])
    close(*results)


@pytest.mark.parametrize("name", SIMPLE)
def test_steps_to_an_epoch(name):
    results = []
    for t in (tl, torch):
        optimizer = sgd(t)
        scheduler = SCHEDULERS[name](t, optimizer)
        optimizer.step()
        found = []
        for epoch in (3, 0, 7, 30, 31):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                scheduler.step(epoch)
            found += [facts(optimizer, scheduler), [[w.category.__name__, str(w.message)[:200]] for w in seen]]
        results.append(found)
    close(*results)


@pytest.mark.parametrize("name", [name for name in SCHEDULERS if "lambda" not in name and name != "multiplicative"])
def test_copies_and_pickles_go_on_alike(name):
    optimizer = sgd(tl)
    scheduler = SCHEDULERS[name](tl, optimizer)
    run(tl, optimizer, scheduler, 5)
    for copied in (copy.deepcopy(scheduler), pickle.loads(pickle.dumps(scheduler))):
        state = copy.deepcopy(optimizer.param_groups[0]["lr"])
        close(run(tl, copied.optimizer, copied, 5)[-1][2], run(tl, *resumed(name), 10)[-1][2])
        assert optimizer.param_groups[0]["lr"] == state


def resumed(name):
    optimizer = sgd(tl)
    return optimizer, SCHEDULERS[name](tl, optimizer)


PLATEAUS = [
    {},
    {"patience": 2, "factor": 0.5, "cooldown": 3},
    {"mode": "max", "patience": 1, "threshold": 0.05, "threshold_mode": "abs"},
    {"patience": 0, "min_lr": [0.01, 0.1], "eps": 1e-3},
    {"mode": "max", "patience": 3, "threshold": 0.1},
    {"patience": 1, "threshold_mode": "abs", "min_lr": 0.05},
]


@pytest.mark.parametrize("tensor", [False, True])
@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateaus(options, tensor):
    measures = np.random.default_rng(0).random(EPOCHS).round(2)
    results = []
    for t in (tl, torch):
        optimizer = sgd(t, tensor)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        found = []
        for measure in measures:
            optimizer.step()
            scheduler.step(t.tensor(measure))
            found.append(facts(optimizer, scheduler))
            again = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
            again.load_state_dict(scheduler.state_dict())
            scheduler = again
        results.append(found)
    close(*results)


def stepping(t, scheduler, epochs, optimizer=None):
    for _ in range(epochs):
        (optimizer or scheduler.optimizer).step()
        scheduler.step()
    return numbers(scheduler.get_last_lr())


def overridden(t):
    optimizer = sgd(t)
    scheduler = t.optim.lr_scheduler.StepLR(optimizer, 3)
    before = optimizer.step
    optimizer.step = types.MethodType(lambda self: before(), optimizer)
    optimizer.step()
    scheduler.step()
    optimizer.step()
    scheduler.step()
    return numbers(scheduler.get_last_lr())


def overridden_before(t):
    optimizer = sgd(t)
    before = optimizer.step
    optimizer.step = types.MethodType(lambda self: before(), optimizer)
    return stepping(t, t.optim.lr_scheduler.StepLR(optimizer, 3), 4)


def added(t, name):
    optimizer = sgd(t)
    scheduler = SIMPLE[name](t, optimizer)
    optimizer.add_param_group({"params": [t.nn.Parameter(t.ones(1))]})
    return stepping(t, scheduler, 2)


def without_momentum(t):
    return t.optim.Rprop([t.nn.Parameter(t.ones(1))])


lr = "optim.lr_scheduler"
MISUSES = {
    "wrong order": lambda t: SIMPLE["step"](t, sgd(t)).step(),
    "overridden step": overridden,
    "step overridden before": overridden_before,
    "get_lr outside": lambda t: SIMPLE["cosine"](t, sgd(t)).get_lr(),
    "get_lr of a cycle outside": lambda t: CYCLES["one cycle"](t, sgd(t)).get_lr(),
    "get_lr of SWALR outside": lambda t: COMPOSED["swa"](t, sgd(t)).get_lr(),
    "no get_lr": lambda t: t.optim.lr_scheduler.LRScheduler(sgd(t)),
    "resumed without initial_lr": lambda t: SIMPLE["step"](t, sgd(t), last_epoch=3),
    "a group more": lambda t: added(t, "lambda"),
    "a group more, by rates": lambda t: added(t, "exponential"),
    **{
        f"no optimizer: {name}": lambda t, name=name, options=options: getattr(t.optim.lr_scheduler, name)(3, **options)
        for name, options in {
            "StepLR": {"step_size": 1}, "CyclicLR": {"base_lr": 1, "max_lr": 2}, "OneCycleLR": {"max_lr": 1},
            "ReduceLROnPlateau": {},
        }.items()
    },
    "lambdas": lambda t: made("LambdaLR", lr_lambda=[half])(t, sgd(t)),
    "multiplicative lambdas": lambda t: made("MultiplicativeLR", lr_lambda=[half])(t, sgd(t)),
    "no lambda": lambda t: made("MultiplicativeLR", lr_lambda=0.5)(t, sgd(t)),
    "constant factor": lambda t: made("ConstantLR", factor=1.5)(t, sgd(t)),
    "T_0": lambda t: made("CosineAnnealingWarmRestarts", T_0=0)(t, sgd(t)),
    "T_0 of a part": lambda t: made("CosineAnnealingWarmRestarts", T_0=1.5)(t, sgd(t)),
    "T_mult": lambda t: made("CosineAnnealingWarmRestarts", T_0=2, T_mult=0)(t, sgd(t)),
    "eta_min": lambda t: made("CosineAnnealingWarmRestarts", T_0=2, eta_min="1")(t, sgd(t)),
    "negative epoch": lambda t: SIMPLE["restarts"](t, sgd(t)).step(-1),
    "epoch of a part": lambda t: (
        lambda s: [s.step(0.5), s.get_last_lr(), s.step(7.25), s.get_last_lr(), s.step(40.5), s.get_last_lr()]
    )(SIMPLE["longer restarts"](t, sgd(t))),
    "cyclic mode": lambda t: made("CyclicLR", base_lr=0.1, max_lr=1.0, mode="square")(t, sgd(t)),
    "cyclic base_lr": lambda t: made("CyclicLR", base_lr=[0.1], max_lr=1.0)(t, sgd(t)),
    "cyclic momentum": lambda t: made("CyclicLR", base_lr=0.1, max_lr=1.0)(t, without_momentum(t)),
    "one cycle momentum": lambda t: made("OneCycleLR", max_lr=0.1, total_steps=3)(t, without_momentum(t)),
    "one cycle without steps": lambda t: made("OneCycleLR", max_lr=0.1)(t, sgd(t)),
    "one cycle total_steps": lambda t: made("OneCycleLR", max_lr=0.1, total_steps=0)(t, sgd(t)),
    "one cycle epochs": lambda t: made("OneCycleLR", max_lr=0.1, epochs=-1, steps_per_epoch=2)(t, sgd(t)),
    "one cycle steps_per_epoch": lambda t: made("OneCycleLR", max_lr=0.1, epochs=1, steps_per_epoch=1.5)(t, sgd(t)),
    "one cycle pct_start": lambda t: made("OneCycleLR", max_lr=0.1, total_steps=3, pct_start=1.5)(t, sgd(t)),
    "one cycle strategy": lambda t: made("OneCycleLR", max_lr=0.1, total_steps=3, anneal_strategy="sine")(t, sgd(t)),
    "one cycle beyond": lambda t: stepping(t, made("OneCycleLR", max_lr=0.1, total_steps=3)(t, sgd(t)), 5),
    "sequence of none": lambda t: sequence(t, sgd(t), [], []),
    "sequence without milestones": lambda t: sequence(t, sgd(t), [SIMPLE["step"], SIMPLE["step"]], []),
    "sequence of numbers": lambda t: t.optim.lr_scheduler.SequentialLR(sgd(t), [3], []),
    "sequence with a plateau": lambda t: sequence(t, sgd(t), [made("ReduceLROnPlateau")], []),
    "chain of none": lambda t: chain(t, sgd(t), []),
    "chain of numbers": lambda t: t.optim.lr_scheduler.ChainedScheduler([3], sgd(t)),
    "chain with a plateau": lambda t: chain(t, sgd(t), [made("ReduceLROnPlateau")]),
    "swa_lr": lambda t: t.optim.swa_utils.SWALR(sgd(t), [0.1]),
    "swa strategy": lambda t: t.optim.swa_utils.SWALR(sgd(t), 0.1, anneal_strategy="sine"),
    "swa epochs": lambda t: t.optim.swa_utils.SWALR(sgd(t), 0.1, anneal_epochs=-1),
    "ema decay": lambda t: t.optim.swa_utils.get_ema_avg_fn(1.5),
    "ema decay of lists": lambda t: t.optim.swa_utils.get_ema_multi_avg_fn(-0.5),
    "two averages": lambda t: t.optim.swa_utils.AveragedModel(t.nn.Linear(1, 1), avg_fn=half, multi_avg_fn=half),
}  # fmt: skip
#: Texts that continue in another way, with their first words: PyTorch's name its own versions and pages.
OTHER_WORDS = {
    "wrong order": "Detected call of `lr_scheduler.step()` before `optimizer.step()`. ",
    "overridden step": "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization",
    "no get_lr": "",
    "resumed without initial_lr": "param 'initial_lr' is not specified in param_groups[0] when resuming scheduler with",
}


@pytest.mark.parametrize("case", MISUSES)
def test_warnings_and_errors_are_pytorchs(case):
    def outcome(t):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = MISUSES[case](t)
            except Exception as error:
                result = [type(error).__name__, str(error.args[0]) if error.args else ""]
        texts = [[w.category.__name__, str(w.message)] for w in seen]
        for text in [*texts, result] if case in OTHER_WORDS else []:
            if isinstance(text, list) and isinstance(text[-1], str):
                assert text[-1].startswith(OTHER_WORDS[case])
                text[-1] = ""
        return [texts, numbers(result) if isinstance(result, list) else None]

    close(outcome(tl), outcome(torch))


def network(t, seed):
    generator = np.random.default_rng(seed)
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.BatchNorm1d(4), t.nn.Linear(4, 2))
    with t.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(t.from_numpy(generator.random(tuple(tensor.shape)).astype("f")))
    return model


AVERAGES = {
    "mean": lambda u: {},
    "mean of a function": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "mean of lists": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "moving average": lambda u: {"avg_fn": u.get_ema_avg_fn(0.7)},
    "moving average of lists": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.7)},
    "own function": lambda u: {"avg_fn": lambda mean, new, number: mean + (new - mean) * 0.25 / (number + 1)},
}


@pytest.mark.parametrize(
    "name, use_buffers",
    # PyTorch refuses to average the integers among the buffers so.
    [(name, use) for name in AVERAGES for use in (False, True) if (name, use) != ("mean of lists", True)],
)
def test_averaged_models(name, use_buffers):
    results = []
    for t in (tl, torch):
        averaged = t.optim.swa_utils.AveragedModel(
            network(t, 0), **AVERAGES[name](t.optim.swa_utils), use_buffers=use_buffers
        )
        found = []
        for seed in range(6):
            averaged.update_parameters(network(t, seed))
            found.append({key: value.numpy().tolist() for key, value in averaged.state_dict().items()})
        data = np.random.default_rng(9).random((4, 8, 3)).astype("f")
        averaged.eval()
        t.optim.swa_utils.update_bn([[t.from_numpy(batch)] for batch in data], averaged)
        assert not averaged.training
        found.append(averaged.module[1].running_var.numpy().tolist())
        found.append(averaged(t.from_numpy(data[0])).detach().numpy().tolist())
        results.append(found)
    np.testing.assert_allclose(results[0][-2], results[1][-2], rtol=1e-5)
    np.testing.assert_allclose(results[0][-1], results[1][-1], rtol=1e-4)
    for ours, theirs in zip(results[0][:-2], results[1][:-2]):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            np.testing.assert_allclose(ours[key], value, rtol=1e-5, err_msg=key)


def momentum_sgd(t):
    parameters = [t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(3))]
    optimizer = t.optim.SGD(parameters, lr=0.1, momentum=0.9)
    for parameter in parameters:
        parameter.grad = t.ones_like(parameter)
    optimizer.step()
    return optimizer, parameters


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state,
        lambda state: 3,
        lambda state: {**state, "state": 3},
        lambda state: {**state, "state": {0: 3}},
        lambda state: {**state, "state": {**state["state"], 9: {}}},
        lambda state: {**state, "param_groups": 3},
        lambda state: {**state, "param_groups": []},
        lambda state: {**state, "param_groups": [3]},
        lambda state: {**state, "param_groups": [{**state["param_groups"][0], "params": 3}]},
        lambda state: {**state, "param_groups": [{**state["param_groups"][0], "params": [0]}]},
        lambda state: {**state, "param_groups": [{**state["param_groups"][0], "more": 3}]},
        lambda state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.5}]},
    ],
)
def test_other_parameters_swapped_in(change):
    def outcome(t):
        optimizer, parameters = momentum_sgd(t)
        others = {"a": t.nn.Parameter(t.zeros(2)), "b": t.nn.Parameter(t.zeros(3))}
        for other in others.values():
            other.grad = t.ones_like(other)
        try:
            with t.optim.swap_in_optimizer_params_and_state(optimizer, others, change(optimizer.state_dict())):
                optimizer.step()
        except RuntimeError as error:
            return str(error)
        assert [*optimizer.state] == parameters
        return [tensor.detach().numpy().tolist() for tensor in (*others.values(), *parameters)] + [
            optimizer.param_groups[0]["lr"]
        ]

    close(outcome(tl), outcome(torch))
