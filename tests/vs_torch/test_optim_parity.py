"""Optimizers against PyTorch's, step by step: parameters, states, saved states both ways, errors."""

import copy
import pickle

import numpy as np
import pytest

import tensorlike as tl

torch = pytest.importorskip("torch", reason="PyTorch is what optimizers are compared with")

STEPS = 50
#: Optimizers with the sets of options that are compared.
OPTIONS = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"momentum": 0.5, "dampening": 0.3}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"decoupled_weight_decay": True, "weight_decay": 0.1}],
    "AdamW": [{}, {"amsgrad": True, "betas": (0.5, 0.8)}],
    "Adadelta": [{}, {"rho": 0.5, "eps": 1e-3, "weight_decay": 0.1}, {"lr": 0.1, "rho": 0.99}],
    "Adafactor": [{}, {"beta2_decay": -0.5, "eps": (1e-6, 0.1), "d": 2.0, "weight_decay": 0.1}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1}, {"initial_accumulator_value": 0.5, "eps": 1e-3}],
    "Adamax": [{}, {"betas": (0.5, 0.8), "weight_decay": 0.1, "eps": 1e-2}],
    "ASGD": [{}, {"t0": 10, "lambd": 0.1, "alpha": 0.5}, {"t0": 3, "weight_decay": 0.1}],
    "NAdam": [
        {},
        {"momentum_decay": 0.1, "weight_decay": 0.1},
        {"betas": (0.5, 0.8), "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "RAdam": [
        {},
        {"betas": (0.5, 0.8), "weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "eps": 1e-2},
    ],
    "RMSprop": [
        {},
        {"momentum": 0.9, "centered": True, "weight_decay": 0.1},
        {"alpha": 0.5, "centered": True, "eps": 1e-3},
        {"momentum": 0.5},
    ],
    "Rprop": [{}, {"etas": (0.3, 1.9), "step_sizes": (1e-3, 0.1)}],
}
MUON_OPTIONS = [
    {},
    {"nesterov": False, "weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"},
    {"momentum": 0.5, "ns_steps": 3, "eps": 1e-3, "adjust_lr_fn": "original"},
]
CASES = [
    pytest.param(name, options, id=f"{name}-{number}")
    for name, sets in OPTIONS.items()
    for number, options in enumerate(sets)
]
#: How far two runs of all steps may be apart.
TOLERANCES = {"float32": 2e-5, "float64": 1e-11}


def gradients(shapes, seed, dtype):
    """Yield lists of gradients, the same ones for both libraries. Some elements are zero."""
    generator = np.random.default_rng(seed)
    while True:
        drawn = [generator.standard_normal(shape) for shape in shapes]
        for gradient in drawn:
            gradient[generator.random(gradient.shape) < 0.1] = 0
        yield [gradient.astype(dtype) for gradient in drawn]


class Run:
    """One optimizer on two groups of parameters."""

    def __init__(self, library, name, options, dtype="float64", shapes=((5, 3), (3, 4), (4,)), **more):
        self.library = library
        generator = np.random.default_rng(1)
        self.parameters = [
            library.nn.Parameter(library.from_numpy(generator.standard_normal(shape).astype(dtype))) for shape in shapes
        ]
        groups = [{"params": self.parameters[:2]}, {"params": self.parameters[2:], "lr": 0.05}]
        self.optimizer = getattr(library.optim, name)(groups, **options, **more)
        self.gradients = gradients(shapes, 2, dtype)

    def step(self):
        for parameter, gradient in zip(self.parameters, next(self.gradients)):
            parameter.grad = self.library.from_numpy(gradient)
        self.optimizer.step()

    def values(self):
        return [parameter.detach().numpy().copy() for parameter in self.parameters]


def plain(value):
    """Return the structure of `value` with arrays in the place of tensors."""
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        return value.detach().numpy()
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def translated(value, library):
    """Return a copy of `value` with the tensors of `library`."""
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        return library.from_numpy(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {key: translated(entry, library) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(entry, library) for entry in value)
    return value


def assert_same(ours, theirs, tolerance, path=""):
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), path
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), path
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=path)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), path
        for key, value in theirs.items():
            assert_same(ours[key], value, tolerance, f"{path}[{key!r}]")
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs), path
        assert len(ours) == len(theirs), path
        for number, (one, other) in enumerate(zip(ours, theirs)):
            assert_same(one, other, tolerance, f"{path}[{number}]")
    else:
        assert type(ours) is type(theirs), path
        assert ours == pytest.approx(theirs, rel=tolerance) if isinstance(theirs, float) else ours == theirs, path


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("name, options", CASES)
def test_steps_and_states_are_pytorchs(name, options, maximize, dtype):
    more = {"maximize": True} if maximize else {}
    ours, theirs = (Run(library, name, options, dtype, **more) for library in (tl, torch))
    tolerance = TOLERANCES[dtype]
    for number in range(STEPS):
        ours.step()
        theirs.step()
        assert_same(ours.values(), theirs.values(), tolerance, f"step {number}: ")
        states = [plain(run.optimizer.state_dict()["state"]) for run in (ours, theirs)]
        assert_same(*states, max(tolerance, 1e-4 if dtype == "float32" else 0), f"step {number}: ")
    assert_same(*(plain(run.optimizer.state_dict()) for run in (ours, theirs)), max(tolerance, 1e-4))
    assert repr(ours.optimizer) == repr(theirs.optimizer)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", MUON_OPTIONS, ids=str)
def test_steps_of_muon_are_pytorchs(options, dtype):
    """They compute in bfloat16, whose roundings depend on the order of sums: each step is compared by itself."""
    shapes = ((5, 3), (3, 4), (2, 2))
    ours, theirs = (Run(library, "Muon", options, dtype, shapes) for library in (tl, torch))
    for number in range(STEPS):
        before = theirs.values()
        ours.step()
        theirs.step()
        for group, first, last in ((0, 0, 2), (1, 2, 3)):
            lr = theirs.optimizer.param_groups[group]["lr"]
            changes = [
                [(after - start) / lr for after, start in zip(run.values(), before)][first:last]
                for run in (ours, theirs)
            ]
            assert_same(*changes, 0.02, f"step {number}: ")
        for mine, other in zip(ours.parameters, theirs.parameters):
            mine.data.copy_(tl.from_numpy(other.detach().numpy()))
    # The means of the gradients are not rounded.
    assert_same(*(plain(run.optimizer.state_dict()) for run in (ours, theirs)), TOLERANCES[dtype])
    assert repr(ours.optimizer) == repr(theirs.optimizer)


@pytest.mark.parametrize("name, options", CASES)
def test_states_are_loaded_from_pytorch_and_given_to_it(name, options):
    tolerance = TOLERANCES["float64"]
    ours, theirs = (Run(library, name, options) for library in (tl, torch))
    for _ in range(STEPS // 2):
        ours.step()
        theirs.step()
    for first, second in ((theirs, ours), (ours, theirs)):
        # The second goes on from the state of the first.
        state = translated(first.optimizer.state_dict(), second.library)
        second.optimizer.load_state_dict(state)
        for parameter, value in zip(second.parameters, first.values()):
            parameter.data.copy_(second.library.from_numpy(value))
        for _ in range(STEPS // 2):
            ours.step()
            theirs.step()
        assert_same(ours.values(), theirs.values(), tolerance)


@pytest.mark.parametrize("name, options", CASES)
def test_copies_and_pickles_go_on_alike(name, options):
    run = Run(tl, name, options)
    run.step()
    copied = copy.deepcopy(run.optimizer)
    pickled = pickle.loads(pickle.dumps(run.optimizer))
    run.step()
    for other in (copied, pickled):
        mine = [parameter for group in other.param_groups for parameter in group["params"]]
        for parameter, original in zip(mine, run.parameters):
            parameter.grad = original.grad.clone()
        other.step()
        assert_same([parameter.detach().numpy() for parameter in mine], run.values(), 0)
        assert type(other.state[mine[0]]) is type(run.optimizer.state[run.parameters[0]])


def with_lr(library, name, options, lr):
    run = Run(library, name, {**options, "lr": lr(library)})
    for _ in range(3):
        run.step()
    return run.values()


@pytest.mark.parametrize("lr", [lambda t: t.tensor(0.02), lambda t: t.tensor([0.02])], ids=["scalar", "of one element"])
@pytest.mark.parametrize("name", OPTIONS)
def test_the_rate_may_be_a_tensor(name, lr):
    # The fused and foreach forms convert it in other ways, so that the roundings of float32 rates differ.
    assert_same(*(with_lr(library, name, {}, lr) for library in (tl, torch)), max(TOLERANCES["float64"], 1e-7))


@pytest.mark.parametrize("flag", ["foreach", "fused"])
@pytest.mark.parametrize("name", OPTIONS)
def test_other_implementations_are_accepted(name, flag):
    def outcome(library):
        try:
            run = Run(library, name, {flag: True})
            run.step()
        except Exception as error:
            return type(error).__name__
        return run.values()

    ours, theirs = outcome(tl), outcome(torch)
    assert_same(ours, theirs, TOLERANCES["float64"])


ELEMENTWISE = [name for name in OPTIONS if name != "Adafactor"]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_complex_parameters(name):
    def values(library):
        generator = np.random.default_rng(3)
        start = generator.standard_normal(4) + 1j * generator.standard_normal(4)
        parameter = library.nn.Parameter(library.from_numpy(start))
        optimizer = getattr(library.optim, name)([parameter], lr=0.1)
        for _ in range(10):
            gradient = generator.standard_normal(4) + 1j * generator.standard_normal(4)
            parameter.grad = library.from_numpy(gradient)
            optimizer.step()
        return [parameter.detach().numpy(), plain(optimizer.state_dict()["state"])]

    assert_same(values(tl), values(torch), 1e-6 if name == "ASGD" else 1e-11)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_recorded_steps_have_pytorchs_gradients(name):
    def derivatives(library):
        generator = np.random.default_rng(4)
        start = library.from_numpy(generator.standard_normal(4)).requires_grad_()
        scale = library.from_numpy(generator.standard_normal(4)).requires_grad_()
        parameter = start.clone()
        optimizer = (
            getattr(library.optim, name)([parameter], lr=0.1, differentiable=True, weight_decay=0.1)
            if (name != "Rprop")
            else library.optim.Rprop([parameter], lr=0.1, differentiable=True)
        )
        # PyTorch cannot differentiate several steps of these.
        for _ in range(1 if name in ("Rprop", "Adamax") else 3):
            parameter.grad = library.from_numpy(generator.standard_normal(4)) * scale
            optimizer.step()
        (parameter * parameter).sum().backward()
        return [start.grad.numpy(), scale.grad.numpy()]

    # Some numbers are float32 in PyTorch's recorded steps.
    in_float32 = name in ("ASGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax")
    assert_same(derivatives(tl), derivatives(torch), 1e-4 if in_float32 else 1e-9)


def rosenbrock(library, options, dtype="float64", steps=10, scale=10):
    """Return the points and states of LBFGS on a curved valley."""
    point = library.nn.Parameter(library.from_numpy(np.array([-1.2, 1.0, 0.5], dtype)))
    other = library.nn.Parameter(library.from_numpy(np.array([[0.3]], dtype)))
    optimizer = library.optim.LBFGS([point, other], **options)
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        x, y = point[:-1], point[1:]
        loss = (scale * (y - x**2) ** 2 + (1 - x) ** 2).sum() + (other - point[0]).square().sum()
        loss.backward()
        return loss

    points = []
    for _ in range(steps):
        loss = optimizer.step(closure)
        points.append([loss.item(), calls, point.detach().numpy().copy(), other.detach().numpy().copy()])
    return points, optimizer


LBFGS_OPTIONS = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 5, "history_size": 3},
    {"line_search_fn": "strong_wolfe", "lr": 0.1, "max_iter": 4, "max_eval": 6},
    {"line_search_fn": "strong_wolfe", "lr": 30.0, "max_iter": 3},
    {"lr": 0.02, "max_iter": 5},
    {"lr": 0.01, "max_iter": 3, "history_size": 2},
    {"lr": 0.05, "tolerance_grad": 1e-2, "tolerance_change": 1e-3},
]


@pytest.mark.parametrize("options", LBFGS_OPTIONS, ids=str)
def test_lbfgs_takes_pytorchs_path(options):
    ours, theirs = (rosenbrock(library, options) for library in (tl, torch))
    for number, (mine, other) in enumerate(zip(ours[0], theirs[0])):
        assert_same(mine, other, 1e-6, f"step {number}: ")
    state = plain(ours[1].state_dict()), plain(theirs[1].state_dict())
    assert state[0]["param_groups"] == state[1]["param_groups"]
    assert sorted(state[0]["state"][0]) == sorted(state[1]["state"][0])
    for key in ("func_evals", "n_iter"):
        assert state[0]["state"][0][key] == state[1]["state"][0][key]


def test_lbfgs_loads_and_gives_pytorchs_state():
    options = {"line_search_fn": "strong_wolfe", "max_iter": 3}
    states = {library: rosenbrock(library, options, steps=2)[1].state_dict() for library in (tl, torch)}

    def resumed(library):
        results = []
        for state in states.values():
            point = library.nn.Parameter(library.from_numpy(np.array([0.5, 0.4, 0.2])))
            other = library.nn.Parameter(library.from_numpy(np.array([[0.3]])))
            optimizer = library.optim.LBFGS([point, other], **options)
            optimizer.load_state_dict(translated(state, library))

            def closure(optimizer=optimizer, point=point, other=other):
                optimizer.zero_grad()
                loss = (point**4).sum() + (other - point[0]).square().sum()
                loss.backward()
                return loss

            optimizer.step(closure)
            results.append(point.detach().numpy())
        return results

    assert_same(resumed(tl), resumed(torch), 1e-9)


def parameter(t, *shape):
    return t.nn.Parameter(t.ones(*(shape or (2, 2))))


def stepped(t, name, gradient=None, **options):
    p = parameter(t)
    p.grad = t.ones(2, 2) if gradient is None else gradient(t)
    optimizer = getattr(t.optim, name)([p], **options)
    optimizer.step()
    return p.detach().numpy()


NEGATIVE = ("lr", "eps", "weight_decay", "momentum", "alpha", "rho", "lr_decay", "initial_accumulator_value")
ERRORS = {
    **{
        f"{name} {option}": lambda t, name=name, option=option: getattr(t.optim, name)([parameter(t)], **{option: -1.0})
        for name in (*OPTIONS, "Muon")
        for option in NEGATIVE
    },
    **{
        f"{name} {betas}": lambda t, name=name, betas=betas: getattr(t.optim, name)([parameter(t)], betas=betas)
        for name in ("Adamax", "NAdam", "RAdam", "SparseAdam")
        for betas in ((1.0, 0.5), (0.5, -0.1))
    },
    **{
        f"{name} lr of two": lambda t, name=name: getattr(t.optim, name)([parameter(t)], lr=t.ones(2))
        for name in (*OPTIONS, "LBFGS", "Muon", "SparseAdam")
    },
    **{
        f"{name} fused {other}": lambda t, name=name, other=other: stepped(t, name, fused=True, **{other: True})
        for name in ("SGD", "Adam", "AdamW", "Adagrad")
        for other in ("foreach", "differentiable")
    },
    "Adadelta rho": lambda t: t.optim.Adadelta([parameter(t)], rho=1.5),
    "Rprop etas": lambda t: t.optim.Rprop([parameter(t)], etas=(0.5, 0.9)),
    "NAdam momentum_decay": lambda t: t.optim.NAdam([parameter(t)], momentum_decay=-1.0),
    "Adafactor beta2_decay": lambda t: t.optim.Adafactor([parameter(t)], beta2_decay=0.5),
    "Adafactor eps 1": lambda t: t.optim.Adafactor([parameter(t)], eps=(-1.0, 0.1)),
    "Adafactor eps 2": lambda t: t.optim.Adafactor([parameter(t)], eps=(None, -0.1)),
    "Adafactor d": lambda t: t.optim.Adafactor([parameter(t)], d=0.5),
    "Adam tensor foreach": lambda t: t.optim.Adam([parameter(t)], lr=t.tensor(0.1), foreach=True),
    "Muon of a vector": lambda t: t.optim.Muon([parameter(t, 3)]),
    "Muon adjust_lr_fn": lambda t: t.optim.Muon([parameter(t)], adjust_lr_fn="none"),
    "Muon ns_steps": lambda t: stepped(t, "Muon", ns_steps=100),
    "Muon ns_coefficients": lambda t: stepped(t, "Muon", ns_coefficients=(1.0, 2.0)),
    "LBFGS of groups": lambda t: t.optim.LBFGS([{"params": [parameter(t)]}, {"params": [parameter(t)]}]),
    "LBFGS line search": lambda t: rosenbrock(t, {"line_search_fn": "weak_wolfe"}),
    "SparseAdam lr": lambda t: t.optim.SparseAdam([parameter(t)], lr=0.0),
    "SparseAdam eps": lambda t: t.optim.SparseAdam([parameter(t)], eps=0.0),
    "SparseAdam dense gradient": lambda t: stepped(t, "SparseAdam"),
    "SparseAdam complex": lambda t: t.optim.SparseAdam([t.nn.Parameter(t.ones(2, dtype=t.complex64))]),
}
#: Options that an optimizer does not have, which each library refuses with a TypeError of its own words.
UNKNOWN = TypeError


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_pytorchs(case):
    def outcome(library):
        try:
            ERRORS[case](library)
        except UNKNOWN:
            return "TypeError"
        except Exception as error:
            return type(error).__name__, str(error).replace("tensorlike.Size", "torch.Size")
        return None

    assert outcome(tl) == outcome(torch)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("SGD", "Adagrad", "Adafactor")])
def test_capturable_is_refused_on_a_cpu(name):
    for library in (tl, torch):
        with pytest.raises(AssertionError, match="If capturable=True, params.* must be on supported devices: "):
            stepped(library, name, capturable=True)


def test_hooks_of_all_optimizers_run_around_its_own():
    def calls(library):
        seen = []
        optimizer = library.optim.SGD([parameter(library)], lr=0.1)
        module = __import__(f"{library.__name__}.optim.optimizer", fromlist=["x"])
        handles = [
            module.register_optimizer_step_pre_hook(lambda o, a, k: seen.append("all pre")),
            module.register_optimizer_step_post_hook(lambda o, a, k: seen.append("all post")),
            optimizer.register_step_pre_hook(lambda o, a, k: seen.append(("pre", len(a), k))),
            optimizer.register_step_post_hook(lambda o, a, k: seen.append(("post", len(a), k))),
        ]
        optimizer.step()
        for handle in handles:
            handle.remove()
        optimizer.step()
        return seen

    assert calls(tl) == calls(torch) != []


def test_older_saved_states_are_read():
    """States from before the options were added, and with counts of steps that are numbers."""

    def values(library, name):
        run = Run(library, name, {})
        run.step()
        state = run.optimizer.state_dict()
        for group in state["param_groups"]:
            for option in ("maximize", "foreach", "differentiable", "capturable", "amsgrad"):
                group.pop(option, None)
        for entry in state["state"].values():
            for key in ("step", "mu_product", "eta", "mu"):
                if key in entry:
                    entry[key] = entry[key].item()
        again = Run(library, name, {})
        again.optimizer.load_state_dict(state)
        again.step()
        return again.values(), plain(again.optimizer.state_dict())

    for name in ("Adam", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adamax", "ASGD", "Rprop", "Adadelta"):
        assert_same(values(tl, name), values(torch, name), 1e-6)


FUNCTIONS = {
    "sgd": (["momentum_buffer_list"],
            {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0, "nesterov": True}),
    "adam": (["exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"],
             {"amsgrad": True, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}),
    "adamw": (["exp_avgs", "exp_avg_sqs", None],
              {"amsgrad": False, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.1, "eps": 1e-8}),
    "adadelta": (["square_avgs", "acc_deltas"], {"lr": 0.1, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1}),
    "adagrad": (["state_sums"], {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.1, "eps": 1e-8}),
    "adamax": (["exp_avgs", "exp_infs"], {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1}),
    "radam": (["exp_avgs", "exp_avg_sqs"], {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1}),
    "rmsprop": (["square_avgs", "grad_avgs", "momentum_buffer_list"],
                {"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.5, "centered": True}),
    "rprop": (["prevs", "step_sizes"],
              {"step_size_min": 1e-3, "step_size_max": 10.0, "etaminus": 0.5, "etaplus": 1.2}),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_step(name):
    lists, options = FUNCTIONS[name]
    if name not in ("adamax", "rmsprop", "rprop", "radam"):
        options = {**options, "maximize": True}

    def values(library):
        module = __import__(f"{library.__name__}.optim.{name}", fromlist=[name])
        generator = np.random.default_rng(6)
        parameters, grads, *states = (
            [] if states is None else [library.from_numpy(generator.random(3)) for _ in range(2)]
            for states in ("params", "grads", *lists)
        )
        if name == "sgd":
            states[0][0] = None
        steps = [] if name == "sgd" else [[library.tensor(4.0), library.tensor(7.0)]]
        getattr(module, name)(parameters, grads, *states, *steps, foreach=False, **options)
        return [[value.numpy() for value in tensors] for tensors in (parameters, *states, *steps)]

    assert_same(values(tl), values(torch), 1e-12)
