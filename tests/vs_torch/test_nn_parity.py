"""Modules and optimizers against PyTorch's: the same steps in both, and what they print, raise and compute."""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
from tests.helpers.messages import bare

torch = pytest.importorskip("torch", reason="PyTorch is what modules and optimizers are compared with")

Scenario = Callable[[Any], Any]


def outcome(scenario: Scenario, library: Any) -> tuple[str, list[str]]:
    """Return what the scenario gives or raises in `library`, as text, and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            text = repr(scenario(library))
        except Exception as error:
            text = f"{type(error).__name__}: {bare(error)}"
    return text.replace("torch", "tensorlike"), [w.category.__name__ for w in caught]


def numbers(value: Any) -> Any:
    """Return `value` with every tensor in it as nested lists."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    return value.detach().tolist() if hasattr(value, "detach") else value


def assert_close(actual: Any, expected: Any, where: str = "value") -> None:
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        for key, item in expected.items():
            assert_close(actual[key], item, f"{where}[{key!r}]")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for i, item in enumerate(expected):
            assert_close(actual[i], item, f"{where}[{i}]")
    elif isinstance(expected, float):
        assert actual == pytest.approx(expected, rel=1e-4, abs=2e-6, nan_ok=True), where
    else:
        assert actual == expected, where


def linear(t: Any, rows: int = 3, columns: int = 2) -> Any:
    """Return a Linear with the same weights in both libraries."""
    module = t.nn.Linear(columns, rows)
    with t.no_grad():
        module.weight.copy_(t.arange(rows * columns, dtype=t.float32).reshape(rows, columns) / 10)
        module.bias.copy_(t.arange(rows, dtype=t.float32) - 1)
    return module


def with_buffer(t: Any) -> Any:
    class Holder(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", t.ones(2))
            self.register_buffer("hidden", t.ones(2), persistent=False)
            self.sub = linear(t)

    return Holder()


def parameter(t: Any) -> Any:
    return t.nn.Parameter(t.ones(2))


def changed(make: Scenario, change: Callable[[Any, Any], Any]) -> Scenario:
    """Return a scenario that changes what `make` returns, and returns it."""

    def scenario(t: Any) -> Any:
        value = make(t)
        change(t, value)
        return value

    return scenario


# Layers: the text they print, and the parameters and buffers they have

LAYERS: dict[str, Scenario] = {
    "Linear": lambda t: t.nn.Linear(2, 3),
    "Linear without bias": lambda t: t.nn.Linear(2, 3, bias=False),
    "Linear empty": lambda t: t.nn.Linear(0, 3),
    "Identity": lambda t: t.nn.Identity(3, a=4),
    "Conv1d": lambda t: t.nn.Conv1d(2, 4, 5),
    "Conv1d valid": lambda t: t.nn.Conv1d(2, 2, 3, padding="valid"),
    "Conv2d": lambda t: t.nn.Conv2d(2, 2, 3, padding=1, stride=2),
    "Conv2d everything": lambda t: t.nn.Conv2d(
        2, 2, (3, 4), padding="same", padding_mode="circular", dilation=(1, 2), groups=2, bias=False
    ),
    "Conv2d no input channels": lambda t: t.nn.Conv2d(0, 2, 3),
    **{
        f"{name}{arguments}": lambda t, name=name, arguments=arguments: getattr(t.nn, name)(*arguments)
        for name in ("MaxPool1d", "MaxPool2d", "AvgPool1d", "AvgPool2d")
        for arguments in ((2,), (2, 3, 1), ((2,), (3,), (1,)))
    },
    "MaxPool2d all": lambda t: t.nn.MaxPool2d(2, 1, 0, 2, True, True),
    "AvgPool2d all": lambda t: t.nn.AvgPool2d(2, count_include_pad=False, divisor_override=3),
    "AdaptiveAvgPool1d": lambda t: t.nn.AdaptiveAvgPool1d(3),
    "AdaptiveAvgPool2d": lambda t: t.nn.AdaptiveAvgPool2d((3, None)),
    **{
        f"{name} inplace={inplace}": lambda t, name=name, inplace=inplace: getattr(t.nn, name)(inplace=inplace)
        for name in ("ReLU", "SiLU", "ELU", "LeakyReLU", "Hardtanh", "ReLU6", "Dropout", "Dropout1d", "Dropout2d")
        for inplace in (False, True)
    },
    "GELU": lambda t: t.nn.GELU(),
    "GELU tanh": lambda t: t.nn.GELU("tanh"),
    "Sigmoid": lambda t: t.nn.Sigmoid(),
    "Tanh": lambda t: t.nn.Tanh(),
    "Softmax": lambda t: t.nn.Softmax(1),
    "LogSoftmax": lambda t: t.nn.LogSoftmax(),
    "Softplus": lambda t: t.nn.Softplus(2, 3),
    "Hardtanh": lambda t: t.nn.Hardtanh(-2, 2),
    "Hardtanh renamed": lambda t: t.nn.Hardtanh(min_value=-3),
    "BatchNorm1d": lambda t: t.nn.BatchNorm1d(3),
    "BatchNorm1d bare": lambda t: t.nn.BatchNorm1d(3, 1e-3, None, False, False),
    "BatchNorm1d without bias": lambda t: t.nn.BatchNorm1d(3, bias=False),
    "BatchNorm2d": lambda t: t.nn.BatchNorm2d(3),
    "BatchNorm2d without statistics": lambda t: t.nn.BatchNorm2d(3, track_running_stats=False),
    "LayerNorm": lambda t: t.nn.LayerNorm(3),
    "LayerNorm bare": lambda t: t.nn.LayerNorm((3, 4), 1e-3, False),
    "LayerNorm without bias": lambda t: t.nn.LayerNorm([3], bias=False),
    "GroupNorm": lambda t: t.nn.GroupNorm(2, 4),
    "GroupNorm bare": lambda t: t.nn.GroupNorm(2, 4, affine=False),
    "GroupNorm without bias": lambda t: t.nn.GroupNorm(2, 4, bias=False),
    "Embedding": lambda t: t.nn.Embedding(3, 4),
    "Embedding all": lambda t: t.nn.Embedding(3, 4, 1, 2.0, 1.0, True, True),
    "Embedding from the end": lambda t: t.nn.Embedding(3, 4, padding_idx=-1),
    "CrossEntropyLoss": lambda t: t.nn.CrossEntropyLoss(),
    "CrossEntropyLoss weighted": lambda t: t.nn.CrossEntropyLoss(t.ones(2)),
    "NLLLoss": lambda t: t.nn.NLLLoss(),
    "MSELoss": lambda t: t.nn.MSELoss(),
    "MSELoss old": lambda t: t.nn.MSELoss(size_average=False),
    "L1Loss": lambda t: t.nn.L1Loss(reduce=False),
    "BCELoss": lambda t: t.nn.BCELoss(t.ones(2)),
    "BCEWithLogitsLoss": lambda t: t.nn.BCEWithLogitsLoss(t.ones(2), pos_weight=t.ones(2)),
    "SmoothL1Loss": lambda t: t.nn.SmoothL1Loss(),
    "HuberLoss": lambda t: t.nn.HuberLoss(),
    "KLDivLoss": lambda t: t.nn.KLDivLoss(),
    "Flatten": lambda t: t.nn.Flatten(0, 2),
    "Unflatten": lambda t: t.nn.Unflatten(1, [2, 3]),
    "nested": lambda t: t.nn.Sequential(
        t.nn.Linear(2, 3),
        t.nn.Sequential(t.nn.Linear(3, 3), t.nn.ReLU()),
        t.nn.ModuleList([t.nn.ReLU(), t.nn.ReLU(), t.nn.Sequential(t.nn.Tanh()), t.nn.Sequential(t.nn.Tanh())]),
        t.nn.ModuleDict({"a": t.nn.Tanh(), "b": t.nn.ModuleList()}),
    ),
    "ParameterList": lambda t: t.nn.ParameterList([parameter(t), t.ones(2, 3), 3, t.nn.Parameter(t.tensor(1.0))]),
    "ParameterList of one": lambda t: t.nn.ParameterList([parameter(t)]),
    "ParameterDict": lambda t: t.nn.ParameterDict({"b": parameter(t), "a": t.ones(2, 3), "c": 3}),
    "empty containers": lambda t: t.nn.Sequential(
        t.nn.Sequential(), t.nn.ModuleList(), t.nn.ModuleDict(), t.nn.ParameterList()
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_print_alike(name: str) -> None:
    assert outcome(LAYERS[name], tl) == outcome(LAYERS[name], torch)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LAYERS)
def test_layers_have_the_same_state_and_attributes(name: str) -> None:
    ours, theirs = LAYERS[name](tl), LAYERS[name](torch)
    for members in ("state_dict", "named_parameters", "named_buffers"):
        actual, expected = (dict(getattr(module, members)()) for module in (ours, theirs))
        assert list(actual) == list(expected)
        for key, value in expected.items():
            assert tuple(actual[key].shape) == tuple(value.shape)
            assert str(actual[key].dtype).partition(".")[2] == str(value.dtype).partition(".")[2]
            assert actual[key].requires_grad == value.requires_grad
    public = {key: value for key, value in vars(theirs).items() if not key.startswith("_")}
    actual = {key: value for key, value in vars(ours).items() if not key.startswith("_")}
    assert actual == public
    metadata = theirs.state_dict()._metadata
    assert ours.state_dict()._metadata == metadata


MODULES = sorted(
    {name.split("(")[0].split(" ")[0] for name in LAYERS if hasattr(torch.nn, name.split("(")[0].split(" ")[0])}
)


@pytest.mark.parametrize("name", [*MODULES, "Module", "Sequential", "ModuleList", "ModuleDict"])
def test_constructors_take_the_same_arguments(name: str) -> None:
    ours, theirs = (getattr(t.nn, name).__init__ for t in (tl, torch))

    def shown(function: Any) -> list[tuple[str, Any, Any]]:
        parameters = inspect.signature(function).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    assert shown(ours) == shown(theirs)


# Texts: what is printed or raised

CONTAINER_CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    **{f"get {i!r}": lambda t, m, i=i: m[i] for i in (0, -1, 3, -4, "x", 1.5, slice(0, 2), slice(None, None, 2))},
    **{f"del {i!r}": lambda t, m, i=i: m.__delitem__(i) for i in (0, -1, 3, slice(0, 2), slice(1, None))},
    **{f"set {i!r}": lambda t, m, i=i: m.__setitem__(i, t.nn.GELU()) for i in (0, -1, 3, slice(0, 2))},
    "append": lambda t, m: m.append(t.nn.GELU()),
    "append a number": lambda t, m: m.append(3),
    "insert": lambda t, m: m.insert(1, t.nn.GELU()),
    "extend": lambda t, m: m.extend([t.nn.GELU()]),
    "extend a number": lambda t, m: m.extend(3),
    "pop": lambda t, m: m.pop(0),
    "pop too far": lambda t, m: m.pop(5),
    "add in place": lambda t, m: m.__iadd__(t.nn.Sequential(t.nn.GELU(), t.nn.ReLU())),
    "contains": lambda t, m: (m[0] in m, t.nn.ReLU() in m, len(m)),
    "dir": lambda t, m: [name for name in dir(m) if name.isdigit()],
    "reversed": lambda t, m: list(reversed(m)),
}


def sequence(kind: str) -> Scenario:
    def make(t: Any) -> Any:
        modules = [linear(t), t.nn.ReLU(), t.nn.Tanh()]
        return t.nn.Sequential(*modules) if kind == "Sequential" else t.nn.ModuleList(modules)

    return make


def pairs(make: Scenario, change: Callable[[Any, Any], Any]) -> Scenario:
    def scenario(t: Any) -> Any:
        container = make(t)
        return change(t, container), container

    return scenario


def module_dict(t: Any) -> Any:
    return t.nn.ModuleDict({"a": t.nn.ReLU(), "b": t.nn.Tanh()})


def parameter_list(t: Any) -> Any:
    return t.nn.ParameterList([t.ones(1), parameter(t), 3])


def parameter_dict(t: Any) -> Any:
    return t.nn.ParameterDict({"a": t.ones(1), "b": parameter(t), "c": 3})


TEXTS: dict[str, Scenario] = {
    **{
        f"{kind}: {name}": pairs(sequence(kind), change)
        for kind in ("Sequential", "ModuleList")
        for name, change in CONTAINER_CHANGES.items()
    },
    "Sequential: add": lambda t: sequence("Sequential")(t) + sequence("Sequential")(t),
    "Sequential: add a list": lambda t: sequence("Sequential")(t).__add__([t.nn.GELU()]),
    "Sequential: times": lambda t: sequence("Sequential")(t) * 2,
    "Sequential: two times": lambda t: 2 * sequence("Sequential")(t),
    "Sequential: times zero": lambda t: sequence("Sequential")(t) * 0,
    "Sequential: times text": lambda t: sequence("Sequential")(t) * "a",
    "Sequential: in-place times": lambda t: sequence("Sequential")(t).__imul__(2),
    "Sequential: insert at the end": lambda t: sequence("Sequential")(t).insert(3, t.nn.GELU()),
    "Sequential: insert before the last": lambda t: sequence("Sequential")(t).insert(-1, t.nn.GELU()),
    "Sequential: insert too far": lambda t: sequence("Sequential")(t).insert(9, t.nn.GELU()),
    "Sequential: named": lambda t: t.nn.Sequential(OrderedDict(a=t.nn.ReLU(), b=t.nn.Tanh())),
    "Sequential: named part": lambda t: t.nn.Sequential(OrderedDict(a=t.nn.ReLU(), b=t.nn.Tanh()))[1:],
    "Sequential: of a dict": lambda t: t.nn.Sequential({"a": t.nn.ReLU()}),
    "Sequential: of a number": lambda t: t.nn.Sequential(3),
    "Sequential: delete named": changed(
        lambda t: t.nn.Sequential(OrderedDict(a=t.nn.ReLU(), b=t.nn.Tanh())), lambda t, m: m.__delitem__(0)
    ),
    "Sequential: call": lambda t: sequence("Sequential")(t)(t.ones(1, 2)).detach(),
    "ModuleList: add": lambda t: sequence("ModuleList")(t).__add__([t.nn.GELU()]),
    "ModuleList: add a number": lambda t: sequence("ModuleList")(t) + 3,
    "ModuleList: of a number": lambda t: t.nn.ModuleList(3),
    "ModuleList: of None": lambda t: t.nn.ModuleList([None]),
    "ModuleList: call": lambda t: sequence("ModuleList")(t)(t.ones(1)),
    "ModuleDict: missing": lambda t: module_dict(t)["z"],
    "ModuleDict: pop": lambda t: module_dict(t).pop("a"),
    "ModuleDict: views": lambda t: [
        (list(m), len(m), "a" in m, list(m.keys()), list(m.items()), list(m.values())) for m in [module_dict(t)]
    ],
    "ModuleDict: update": changed(module_dict, lambda t, m: m.update({"c": t.nn.GELU()})),
    "ModuleDict: update by pairs": changed(module_dict, lambda t, m: m.update([("c", t.nn.GELU())])),
    "ModuleDict: update by another": changed(module_dict, lambda t, m: m.update(t.nn.ModuleDict({"d": t.nn.ReLU()}))),
    "ModuleDict: update by a number": changed(module_dict, lambda t, m: m.update(3)),
    "ModuleDict: update by a single": changed(module_dict, lambda t, m: m.update([(1,)])),
    "ModuleDict: key of no text": changed(module_dict, lambda t, m: m.update({1: t.nn.ReLU()})),
    "ModuleDict: clear": changed(module_dict, lambda t, m: m.clear()),
    "ModuleDict: set a number": changed(module_dict, lambda t, m: m.__setitem__("a", 3)),
    "ModuleDict: delete missing": changed(module_dict, lambda t, m: m.__delitem__("z")),
    **{f"ParameterList: get {i!r}": lambda t, i=i: parameter_list(t)[i] for i in (0, -1, 3, -4, "x", slice(0, 2))},
    "ParameterList: elements": lambda t: (list(parameter_list(t)), parameter_list(t).state_dict()),
    "ParameterList: append": lambda t: parameter_list(t).append(t.ones(1)),
    "ParameterList: extend": lambda t: parameter_list(t).extend([t.ones(1)]),
    "ParameterList: extend by a tensor": lambda t: parameter_list(t).extend(t.ones(1)),
    "ParameterList: set": changed(parameter_list, lambda t, m: (m.__setitem__(0, t.zeros(1)), m.__setitem__(-1, 4))),
    "ParameterList: set too far": changed(parameter_list, lambda t, m: m.__setitem__(5, 1)),
    "ParameterList: call": lambda t: parameter_list(t)(1),
    "ParameterDict: missing": lambda t: parameter_dict(t)["z"],
    "ParameterDict: views": lambda t: [
        (len(m), list(m), list(m.keys()), list(m.items()), list(reversed(m)), "a" in m) for m in [parameter_dict(t)]
    ],
    "ParameterDict: copy": lambda t: parameter_dict(t).copy(),
    "ParameterDict: pop": lambda t: parameter_dict(t).pop("a"),
    "ParameterDict: popitem": lambda t: parameter_dict(t).popitem(),
    "ParameterDict: get": lambda t: parameter_dict(t).get("z", 9),
    "ParameterDict: setdefault": changed(parameter_dict, lambda t, m: m.setdefault("z", t.ones(1))),
    "ParameterDict: fromkeys": lambda t: parameter_dict(t).fromkeys(["q", "r"], t.ones(1)),
    "ParameterDict: or": lambda t: parameter_dict(t) | {"x": 1},
    "ParameterDict: reflected or": lambda t: {"x": t.ones(1)} | parameter_dict(t),
    "ParameterDict: update": changed(parameter_dict, lambda t, m: m.update({"z": 1, "y": 2})),
    "ParameterDict: update by pairs": changed(parameter_dict, lambda t, m: m.update([("z", 1), ("y", 2)])),
    "ParameterDict: update by a triple": changed(parameter_dict, lambda t, m: m.update([(1, 2, 3)])),
    "ParameterDict: clear": changed(parameter_dict, lambda t, m: m.clear()),
    "ParameterDict: delete missing": changed(parameter_dict, lambda t, m: m.__delitem__("z")),
    "ParameterDict: taken name": lambda t: t.nn.ParameterDict({"keys": t.ones(1)}),
    "ParameterDict: call": lambda t: parameter_dict(t)(1),
    "set a tensor as parameter": changed(linear, lambda t, m: setattr(m, "weight", t.ones(2))),
    "set a number as parameter": changed(linear, lambda t, m: setattr(m, "weight", 3)),
    "set a module as parameter": changed(linear, lambda t, m: setattr(m, "weight", t.nn.ReLU())),
    "set a number as buffer": changed(with_buffer, lambda t, m: setattr(m, "b", 3)),
    "set a number as module": changed(with_buffer, lambda t, m: setattr(m, "sub", 3)),
    "set None as parameter": changed(linear, lambda t, m: setattr(m, "bias", None)),
    "set None as module": changed(with_buffer, lambda t, m: setattr(m, "sub", None)),
    "set a parameter as buffer": lambda t: list(
        changed(with_buffer, lambda t, m: setattr(m, "b", parameter(t)))(t).state_dict()
    ),
    "set a module as buffer": lambda t: list(
        changed(with_buffer, lambda t, m: setattr(m, "b", linear(t)))(t).state_dict()
    ),
    "set a Buffer": lambda t: list(
        changed(linear, lambda t, m: setattr(m, "c", t.nn.Buffer(t.ones(1))))(t).state_dict()
    ),
    "missing attribute": lambda t: linear(t).nope,
    "delete a missing attribute": changed(linear, lambda t, m: delattr(m, "nope")),
    "no forward": lambda t: t.nn.Module()(1),
    **{
        f"{method} {name!r}": changed(linear, lambda t, m, method=method, name=name: getattr(m, method)(name, None))
        for method in ("register_parameter", "register_buffer", "add_module")
        for name in (3, "a.b", "", "weight", "training")
    },
    "register a tensor": changed(linear, lambda t, m: m.register_parameter("q", t.ones(2))),
    "register a number": changed(linear, lambda t, m: m.register_parameter("q", 2)),
    "register a number as buffer": changed(linear, lambda t, m: m.register_buffer("q", 2)),
    "add a number as module": changed(linear, lambda t, m: m.add_module("q", 2)),
    "add a tensor as module": changed(linear, lambda t, m: m.register_module("q", t.ones(1))),
    "parameter before init": lambda t: t.nn.Module.register_parameter(object.__new__(t.nn.Module), "q", parameter(t)),
    "buffer before init": lambda t: t.nn.Module.register_buffer(object.__new__(t.nn.Module), "q", t.ones(1)),
    "set parameter before init": lambda t: setattr(object.__new__(t.nn.Module), "q", parameter(t)),
    "set module before init": lambda t: setattr(object.__new__(t.nn.Module), "q", linear(t)),
    "set buffer before init": lambda t: setattr(object.__new__(t.nn.Module), "q", t.nn.Buffer(t.ones(1))),
    **{
        f"{method}({target!r})": lambda t, method=method, target=target: getattr(with_buffer(t), method)(target)
        for method in ("get_submodule", "get_parameter", "get_buffer")
        for target in ("", "sub", "sub.weight", "b", "zz", "sub.x")
        if (method, target) not in (("get_parameter", ""), ("get_buffer", ""))
    },
    "set_submodule": changed(with_buffer, lambda t, m: m.set_submodule("sub", t.nn.ReLU())),
    "set_submodule new": changed(with_buffer, lambda t, m: m.set_submodule("new", t.nn.ReLU())),
    "set_submodule new, strictly": changed(with_buffer, lambda t, m: m.set_submodule("new", t.nn.ReLU(), strict=True)),
    "set_submodule nowhere": changed(with_buffer, lambda t, m: m.set_submodule("a.b", t.nn.ReLU())),
    "set_submodule no name": changed(with_buffer, lambda t, m: m.set_submodule("", t.nn.ReLU())),
    "set_submodule a number": changed(with_buffer, lambda t, m: m.set_submodule("sub", 3)),
    "train": lambda t: linear(t).train("a"),
    "to an integer dtype": lambda t: linear(t).to(t.int32),
    "named_modules": lambda t: [name for name, _ in with_buffer(t).named_modules(prefix="p")],
    "named_parameters": lambda t: [name for name, _ in with_buffer(t).named_parameters("p", recurse=False)],
    "shared module": lambda t: [
        [name for name, _ in m.named_parameters(remove_duplicate=d)]
        for d in (True, False)
        for m in [t.nn.Sequential(*[linear(t)] * 2)]
    ],
    "dir": lambda t: sorted(
        set(dir(linear(t))) - set(dir(t.nn.Module)) - {"__constants__", "__slotnames__"} - set(vars(t.nn.Module()))
    ),
    "load nothing": lambda t: with_buffer(t).load_state_dict({}),
    "load much that is wrong": lambda t: with_buffer(t).load_state_dict(
        {"b": t.ones(3), "sub.weight": 2, "sub.bias": t.ones(3), "x.y": 1, "sub.q.r": 2, "sub.z": 1, "hidden": 1}
    ),
    "load loosely": lambda t: with_buffer(t).load_state_dict({"b": t.ones(2), "c": 1}, strict=False),
    "load a list": lambda t: with_buffer(t).load_state_dict([1]),
    "load its own": lambda t: with_buffer(t).load_state_dict(with_buffer(t).state_dict()),
    "state under a prefix": lambda t: with_buffer(t).state_dict(prefix="a."),
    "state by position": lambda t: linear(t).state_dict(OrderedDict(), "a.", False),
    "pre-hook of three": lambda t: hooked(t, "register_forward_pre_hook", lambda m, a, k: (1, 2, 3), with_kwargs=True),
    "state hook that answers": changed(
        linear, lambda t, m: (m.register_state_dict_post_hook(lambda *a: 3), m.state_dict())
    ),
    "load hook that answers": changed(
        linear, lambda t, m: (m.register_load_state_dict_post_hook(lambda *a: 3), m.load_state_dict(m.state_dict()))
    ),
    "conv groups": lambda t: t.nn.Conv1d(3, 4, 5, groups=2),
    "conv groups out": lambda t: t.nn.Conv1d(4, 3, 5, groups=2),
    "conv no groups": lambda t: t.nn.Conv1d(4, 4, 5, groups=0),
    "conv same with stride": lambda t: t.nn.Conv1d(3, 4, 5, padding="same", stride=2),
    "dropout too much": lambda t: t.nn.Dropout(1.5),
    "hardtanh upside down": lambda t: t.nn.Hardtanh(2, 1),
    "group norm": lambda t: t.nn.GroupNorm(3, 4),
    "batch norm dimensions": lambda t: [t.nn.BatchNorm1d(3)(t.ones(1))],
    "batch norm dimensions 2": lambda t: [t.nn.BatchNorm2d(3)(t.ones(1, 3))],
    "embedding padding": lambda t: t.nn.Embedding(3, 4, padding_idx=5),
    "embedding weight": lambda t: t.nn.Embedding(3, 4, _weight=t.ones(2, 2)),
    "embedding pretrained": lambda t: t.nn.Embedding.from_pretrained(t.ones(2)),
    "unflatten": lambda t: t.nn.Unflatten(1, 3),
    "unflatten float": lambda t: t.nn.Unflatten(1, (2, 3.0)),
    **{f"gain {n}": lambda t, n=n: t.nn.init.calculate_gain(n) for n in ("linear", "tanh", "relu", "selu", "gelu")},
    **{f"gain {p}": lambda t, p=p: t.nn.init.calculate_gain("leaky_relu", p) for p in (None, 0.3, True, "a")},
    "fan of a vector": lambda t: t.nn.init.xavier_uniform_(t.ones(2)),
    "fan mode": lambda t: t.nn.init.kaiming_uniform_(t.ones(2, 3), mode="x"),
    "fan": lambda t: t.nn.init._calculate_fan_in_and_fan_out(t.ones(2, 3, 4, 5)),
    "kaiming of nothing": lambda t: tuple(t.nn.init.kaiming_normal_(t.ones(2, 0)).shape),
    "eye": lambda t: t.nn.init.eye_(t.ones(4, 2)),
    "eye of a vector": lambda t: t.nn.init.eye_(t.ones(2)),
    "dirac": lambda t: t.nn.init.dirac_(t.ones(4, 2, 3), 2),
    "dirac in two dimensions": lambda t: t.nn.init.dirac_(t.ones(3, 2, 2, 3)),
    "dirac of a vector": lambda t: t.nn.init.dirac_(t.ones(2)),
    "dirac groups": lambda t: t.nn.init.dirac_(t.ones(3, 2, 3), 2),
    "orthogonal of a vector": lambda t: t.nn.init.orthogonal_(t.ones(2)),
    "sparse of a vector": lambda t: t.nn.init.sparse_(t.ones(2), 0.5),
    "constant": lambda t: t.nn.init.constant_(parameter(t), 3.0),
    "clip nothing": lambda t: t.nn.utils.clip_grad_norm_([parameter(t)], 1.0),
    "vector of a number": lambda t: t.nn.utils.vector_to_parameters(3, [parameter(t)]),
    **{
        f"{name} {options}": lambda t, name=name, options=options: getattr(t.optim, name)([parameter(t)], **options)
        for name, options in [
            ("SGD", {}),
            ("SGD", {"lr": -1}),
            ("SGD", {"momentum": -1}),
            ("SGD", {"weight_decay": -1}),
            ("SGD", {"nesterov": True}),
            ("SGD", {"betas": (0.9, 0.9)}),
            ("SGD", {"foreach": True, "fused": True}),
            ("SGD", {"differentiable": True, "fused": True}),
            ("Adam", {}),
            ("Adam", {"lr": -1}),
            ("Adam", {"betas": (1.0, 0)}),
            ("Adam", {"betas": (0, 1.0)}),
            ("Adam", {"eps": -1}),
            ("Adam", {"weight_decay": -1}),
            ("AdamW", {}),
            ("AdamW", {"lr": -1}),
        ]
    },
    "lr of two": lambda t: t.optim.SGD([parameter(t)], lr=t.ones(2)),
    "betas of two kinds": lambda t: t.optim.Adam([parameter(t)], betas=(t.tensor(0.1), 0.2)),
    "groups": lambda t: t.optim.Adam([{"params": parameter(t), "lr": 3}, {"params": [parameter(t)]}]),
    "named": lambda t: t.optim.SGD([("a", parameter(t))]).state_dict(),
    "half named": lambda t: t.optim.SGD([("a", parameter(t)), parameter(t)]),
    "half of the groups named": lambda t: t.optim.SGD([{"params": [("a", parameter(t))]}, {"params": [parameter(t)]}]),
    "no parameters": lambda t: t.optim.SGD([]),
    "a tensor": lambda t: t.optim.SGD(t.ones(1)),
    "a number": lambda t: t.optim.SGD([1]),
    "computed": lambda t: t.optim.SGD([parameter(t) * 2]),
    "the same twice": lambda t: t.optim.SGD([parameter(t)] * 2),
    "the same in two groups": lambda t: [t.optim.SGD([{"params": [p]}, {"params": [p]}]) for p in [parameter(t)]],
    "a set": lambda t: t.optim.SGD([{"params": {parameter(t)}}]),
    "group of no dict": lambda t: t.optim.SGD([parameter(t)]).add_param_group(3),
    "load other groups": lambda t: t.optim.SGD([parameter(t)]).load_state_dict(
        t.optim.SGD([{"params": [parameter(t)]}, {"params": [parameter(t)]}]).state_dict()
    ),
    "load a larger group": lambda t: t.optim.SGD([parameter(t)]).load_state_dict(
        t.optim.SGD([parameter(t), parameter(t)]).state_dict()
    ),
    "scheduler of a number": lambda t: t.optim.lr_scheduler.StepLR(3, 1),
    "lambdas": lambda t: t.optim.lr_scheduler.LambdaLR(t.optim.SGD([parameter(t)]), [lambda e: 1, lambda e: 2]),
    "start factor": lambda t: t.optim.lr_scheduler.LinearLR(t.optim.SGD([parameter(t)]), 0),
    "end factor": lambda t: t.optim.lr_scheduler.LinearLR(t.optim.SGD([parameter(t)]), 0.5, 2),
    **{
        f"plateau {options}": lambda t, options=options: t.optim.lr_scheduler.ReduceLROnPlateau(
            t.optim.SGD([parameter(t)]), **options
        ).state_dict()
        for options in ({}, {"factor": 1.0}, {"mode": "x"}, {"threshold_mode": "x"}, {"min_lr": [1, 2]})
    },
    "get_lr outside": lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD([parameter(t)]), 1).get_lr(),
    "wrong order": lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD([parameter(t)]), 1).step(),
}


def hooked(t: Any, method: str, hook: Callable[..., Any], **options: Any) -> Any:
    module = linear(t)
    getattr(module, method)(hook, **options)
    return module(t.ones(1, 2))


@pytest.mark.parametrize("name", TEXTS)
def test_results_and_errors_read_alike(name: str) -> None:
    assert outcome(TEXTS[name], tl) == outcome(TEXTS[name], torch)


# Values

GRADIENTS = [[0.5, -1.0, 2.0], [0.1, 0.3, -4.0], [-2.0, 0.0, 1e-3], [1.5, 1.5, 1.5], [0.0, -0.2, 10.0]]

OPTIMIZERS: dict[str, Scenario] = {
    "SGD": lambda t: lambda p: t.optim.SGD(p, lr=0.1),
    "SGD momentum": lambda t: lambda p: t.optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD dampening": lambda t: lambda p: t.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1),
    "SGD nesterov": lambda t: lambda p: t.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "SGD maximize": lambda t: lambda p: t.optim.SGD(p, lr=0.1, momentum=0.9, maximize=True),
    "SGD tensor lr": lambda t: lambda p: t.optim.SGD(p, lr=t.tensor(0.1)),
    "Adam": lambda t: lambda p: t.optim.Adam(p, lr=0.1),
    "Adam amsgrad": lambda t: lambda p: t.optim.Adam(p, lr=0.1, amsgrad=True, eps=1e-3),
    "Adam weight decay": lambda t: lambda p: t.optim.Adam(p, lr=0.1, weight_decay=0.1, betas=(0.5, 0.7)),
    "Adam decoupled": lambda t: lambda p: t.optim.Adam(p, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "Adam maximize": lambda t: lambda p: t.optim.Adam(p, lr=0.1, maximize=True),
    "AdamW": lambda t: lambda p: t.optim.AdamW(p, lr=0.1),
    "AdamW amsgrad": lambda t: lambda p: t.optim.AdamW(p, lr=0.1, amsgrad=True, weight_decay=0.5),
}


def trajectory(t: Any, make: Any, dtype: str, reload_at: int | None = None) -> Any:
    """Return the parameters after each step on fixed gradients, and the final state."""
    values = t.tensor([1.0, -2.0, 3.0], dtype=getattr(t, dtype))
    parameters = [t.nn.Parameter(values.clone()), t.nn.Parameter(values[:1].clone()), t.nn.Parameter(values.clone())]
    optimizer = make(parameters)
    history = []
    for number, gradient in enumerate(GRADIENTS):
        if number == reload_at:
            state = optimizer.state_dict()
            optimizer = make(parameters)
            optimizer.load_state_dict(state)
        for index, parameter in enumerate(parameters[:2]):
            # The third never has a gradient, the second none at first.
            parameter.grad = None
            if index == 0 or number > 0:
                row = t.tensor(gradient[: len(parameter)], dtype=t.float64)
                if dtype.startswith("complex"):
                    row = t.complex(row, row.flip(0))
                parameter.grad = row.to(getattr(t, dtype))
        optimizer.step()
        history.append([parameter.clone() for parameter in parameters])
    return numbers([history, optimizer.state_dict()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reload_at", [None, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_the_same_steps(name: str, reload_at: int | None, dtype: str) -> None:
    make = OPTIMIZERS[name]
    assert_close(trajectory(tl, make(tl), dtype, reload_at), trajectory(torch, make(torch), dtype, reload_at))


def parts(value: Any) -> Any:
    """Return `value` with complex numbers as lists of their two parts."""
    if isinstance(value, dict):
        return {key: parts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [parts(item) for item in value]
    return [value.real, value.imag] if isinstance(value, complex) else value


@pytest.mark.parametrize("name", ["SGD nesterov", "Adam amsgrad", "AdamW"])
def test_optimizers_take_the_same_steps_with_complex_parameters(name: str) -> None:
    make = OPTIMIZERS[name]
    ours, theirs = (parts(trajectory(t, make(t), "complex128")) for t in (tl, torch))
    assert_close(ours, theirs)


SCHEDULERS: dict[str, Callable[..., Any]] = {
    "StepLR": lambda t, o, **k: t.optim.lr_scheduler.StepLR(o, 2, **k),
    "MultiStepLR": lambda t, o, **k: t.optim.lr_scheduler.MultiStepLR(o, [3, 3, 5], **k),
    "ExponentialLR": lambda t, o, **k: t.optim.lr_scheduler.ExponentialLR(o, 0.9, **k),
    "CosineAnnealingLR": lambda t, o, **k: t.optim.lr_scheduler.CosineAnnealingLR(o, 4, eta_min=0.01, **k),
    "LambdaLR": lambda t, o, **k: t.optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.5**epoch, **k),
    "LinearLR": lambda t, o, **k: t.optim.lr_scheduler.LinearLR(o, total_iters=4, **k),
}


def two_groups(t: Any) -> Any:
    return t.optim.SGD([{"params": [parameter(t)], "lr": 0.5}, {"params": [parameter(t)]}], lr=0.02)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_give_the_same_rates(name: str) -> None:
    def rates(t: Any) -> Any:
        optimizer = two_groups(t)
        scheduler = SCHEDULERS[name](t, optimizer)
        history = [list(scheduler.get_last_lr())]
        for _ in range(10):
            optimizer.step()
            scheduler.step()
            history.append(list(scheduler.get_last_lr()))
        state = scheduler.state_dict()
        # Going on in another process: a new optimizer, the old rates.
        resumed = two_groups(t)
        for group, initial, now in zip(resumed.param_groups, scheduler.base_lrs, history[3]):
            group["initial_lr"], group["lr"] = initial, now
        scheduler = SCHEDULERS[name](t, resumed, last_epoch=3)
        for _ in range(4):
            history.append(list(scheduler.get_last_lr()))
            resumed.step()
            scheduler.step()
        return [history, state, [group["lr"] for group in resumed.param_groups]]

    assert_close(rates(tl), rates(torch))


@pytest.mark.filterwarnings("ignore:The epoch parameter")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_jump_to_the_same_epochs(name: str) -> None:
    def rates(t: Any) -> Any:
        optimizer = two_groups(t)
        scheduler = SCHEDULERS[name](t, optimizer)
        optimizer.step()
        history = []
        for epoch in (0, 2, 5, 3):
            scheduler.step(epoch)
            history.append(list(scheduler.get_last_lr()))
        return history

    assert_close(rates(tl), rates(torch))


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 1},
        {"patience": 0, "cooldown": 2, "factor": 0.5},
        {"mode": "max", "patience": 1, "threshold_mode": "abs", "threshold": 0.5},
        {"mode": "min", "patience": 0, "threshold": 0.3, "min_lr": [0.1, 0.001], "factor": 0.3},
        {"mode": "max", "patience": 0, "eps": 0.01},
    ],
)
def test_plateaus_are_seen_alike(options: dict[str, Any]) -> None:
    measures = [3.0, 2.0, 2.5, 1.9, -1.0, -1.1, -1.05, -1.05, float("nan"), -5.0, 4.0, 4.2, 4.2, 4.2, 4.2]

    def rates(t: Any) -> Any:
        optimizer = two_groups(t)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        history = []
        for measure in measures:
            optimizer.step()
            scheduler.step(measure)
            history.append([list(scheduler.get_last_lr()), scheduler.num_bad_epochs, scheduler.best])
        return history

    assert_close(rates(tl), rates(torch))


@pytest.mark.parametrize("order", [2.0, 1, float("inf"), "inf", 3])
def test_gradients_are_clipped_alike(order: Any) -> None:
    def clipped(t: Any) -> Any:
        first, second = parameter(t), t.nn.Parameter(t.ones(1))
        first.grad, second.grad = t.tensor([3.0, -4.0]), t.tensor([12.0])
        norm = t.nn.utils.clip_grad_norm_((p for p in [first, second]), 2.0, order)
        values = [norm, first.grad.clone(), second.grad.clone()]
        t.nn.utils.clip_grad_value_([first, second], 0.5)
        return numbers([*values, first.grad, second.grad])

    assert_close(clipped(tl), clipped(torch))


# Hooks: what they see, in which order


def forward_hooks(t: Any) -> Any:
    order: list[Any] = []
    module = linear(t)
    module.register_forward_hook(lambda m, a, o: order.append(["second", a, o]))
    module.register_forward_hook(lambda m, a, o: order.append("first") or o * 2, prepend=True)
    module.register_forward_hook(lambda m, a, k, o: order.append([list(k), o]), with_kwargs=True)
    module.register_forward_pre_hook(lambda m, a: order.append(a) or a[0] + 1)
    module.register_forward_pre_hook(lambda m, a, k: order.append([a, k]) or (a, {}), with_kwargs=True)
    return [module(t.ones(1, 2)), order]


def failing_forward(t: Any) -> Any:
    order: list[Any] = []

    class Failing(t.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("forward")

    module = Failing()
    module.register_forward_hook(lambda m, a, o: order.append("not called"))
    module.register_forward_hook(lambda m, a, o: order.append([a, o]) or 7, always_call=True)
    module.register_forward_hook(
        lambda m, a, k, o: order.append([a, k, o]), always_call=True, with_kwargs=True, prepend=True
    )
    with pytest.raises(ValueError, match="forward"):
        module(1, z=2)
    return order


def backward_hooks(used: list[int], first_requires_grad: bool = True, replace: bool = False) -> Scenario:
    def scenario(t: Any) -> Any:
        class Two(t.nn.Module):
            def forward(self, a: Any, b: Any, c: Any) -> Any:
                return a * 2, b * 3, "text"

        seen: list[Any] = []

        def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
            seen.append([grad_input, grad_output])
            return tuple(None if g is None else g + 1 for g in grad_input) if replace else None

        def pre_hook(module: Any, grad_output: Any) -> Any:
            seen.append(grad_output)
            return tuple(None if g is None else g * 10 for g in grad_output) if replace else None

        module = Two()
        module.register_full_backward_hook(hook)
        module.register_full_backward_pre_hook(pre_hook)
        a, b = t.ones(1, requires_grad=first_requires_grad), t.ones(1, requires_grad=True)
        outputs = module(a, b, 5)
        sum(outputs[i] for i in used).sum().backward()
        return [seen, a.grad, b.grad, [type(o).__name__ for o in outputs]]

    return scenario


def backward_without_inputs(t: Any) -> Any:
    seen: list[Any] = []
    module = linear(t)
    module.register_full_backward_hook(lambda m, i, o: seen.append([i, o]))
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        module(t.ones(1, 2)).sum().backward()
    return [seen, module.weight.grad]


HOOKS: dict[str, Scenario] = {
    "forward": forward_hooks,
    "failing": failing_forward,
    "backward": backward_hooks([0, 1]),
    "backward of one output": backward_hooks([0]),
    "backward of the other": backward_hooks([1], first_requires_grad=False),
    "backward replacing": backward_hooks([0, 1], replace=True),
    "backward without inputs": backward_without_inputs,
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_see_the_same(name: str) -> None:
    assert_close(numbers(HOOKS[name](tl)), numbers(HOOKS[name](torch)))


@pytest.mark.parametrize("stage", ["hook", "pre_hook"])
def test_backward_hooks_that_answer_wrongly(stage: str) -> None:
    def scenario(t: Any) -> Any:
        module = linear(t)
        if stage == "hook":
            module.register_full_backward_hook(lambda m, i, o: (1, 2))
        else:
            module.register_full_backward_pre_hook(lambda m, o: (1, 2))
        module(t.ones(1, 2, requires_grad=True)).sum().backward()

    assert outcome(scenario, tl) == outcome(scenario, torch)


# Layers compute what PyTorch's do, with weights carried over


def ramp(t: Any, *shape: int) -> Any:
    count = 1
    for size in shape:
        count *= size
    return (t.arange(count, dtype=t.float32) * 0.37).sin().reshape(shape)


COMPUTED: dict[str, tuple[Scenario, tuple[int, ...]]] = {
    "Linear": (lambda t: t.nn.Linear(4, 3), (2, 4)),
    "Conv1d": (lambda t: t.nn.Conv1d(2, 4, 3, stride=2, padding=1, groups=2), (2, 2, 9)),
    "Conv1d same": (lambda t: t.nn.Conv1d(2, 4, 4, padding="same", dilation=2), (2, 2, 9)),
    "Conv2d": (lambda t: t.nn.Conv2d(2, 3, (2, 3), stride=(2, 1), padding=(1, 0)), (2, 2, 5, 6)),
    "Conv2d circular": (lambda t: t.nn.Conv2d(2, 3, 3, padding="same", padding_mode="circular"), (2, 2, 5, 6)),
    "Conv2d reflect": (lambda t: t.nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="reflect"), (2, 2, 5, 6)),
    "Conv2d replicate": (lambda t: t.nn.Conv2d(2, 3, 3, padding=1, padding_mode="replicate"), (2, 2, 5, 6)),
    "MaxPool1d": (lambda t: t.nn.MaxPool1d(3, 2, 1), (2, 2, 9)),
    "MaxPool2d": (lambda t: t.nn.MaxPool2d(2, ceil_mode=True), (2, 2, 5, 5)),
    "AvgPool1d": (lambda t: t.nn.AvgPool1d(3, 2, 1), (2, 2, 9)),
    "AvgPool2d": (lambda t: t.nn.AvgPool2d(2, 1, 1, count_include_pad=False), (2, 2, 5, 5)),
    "AdaptiveAvgPool1d": (lambda t: t.nn.AdaptiveAvgPool1d(4), (2, 2, 9)),
    "AdaptiveAvgPool2d": (lambda t: t.nn.AdaptiveAvgPool2d((3, None)), (2, 2, 5, 5)),
    **{
        name: (lambda t, name=name: getattr(t.nn, name)(), (3, 4))
        for name in ("ReLU", "GELU", "Sigmoid", "Tanh", "LeakyReLU", "ELU", "SiLU", "Softplus", "Hardtanh", "ReLU6")
    },
    "GELU tanh": (lambda t: t.nn.GELU("tanh"), (3, 4)),
    "Softmax": (lambda t: t.nn.Softmax(1), (3, 4)),
    "LogSoftmax": (lambda t: t.nn.LogSoftmax(0), (3, 4)),
    "BatchNorm1d": (lambda t: t.nn.BatchNorm1d(3), (4, 3)),
    "BatchNorm1d mean": (lambda t: t.nn.BatchNorm1d(3, momentum=None), (4, 3, 2)),
    "BatchNorm1d evaluating": (lambda t: t.nn.BatchNorm1d(3).eval(), (4, 3)),
    "BatchNorm2d": (lambda t: t.nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 4)),
    "LayerNorm": (lambda t: t.nn.LayerNorm((3, 4)), (2, 3, 4)),
    "GroupNorm": (lambda t: t.nn.GroupNorm(2, 4), (2, 4, 3)),
    "Flatten": (lambda t: t.nn.Flatten(), (2, 3, 4)),
    "Unflatten": (lambda t: t.nn.Unflatten(1, (2, 2)), (3, 4)),
    "Sequential": (lambda t: t.nn.Sequential(t.nn.Linear(4, 3), t.nn.Tanh(), t.nn.Linear(3, 2)), (2, 4)),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_layers_compute_the_same(name: str) -> None:
    make, shape = COMPUTED[name]

    def computed(t: Any) -> Any:
        module = make(t)
        with t.no_grad():
            for parameter in module.parameters():
                parameter.copy_(ramp(t, *parameter.shape))
        input = ramp(t, *shape).requires_grad_()
        output = module(input) + module(input)
        (output * ramp(t, *output.shape)).sum().backward()
        return numbers([output, input.grad, [p.grad for p in module.parameters()], dict(module.named_buffers())])

    assert_close(computed(tl), computed(torch))


LOSSES: dict[str, tuple[Scenario, Scenario]] = {
    "L1Loss": (lambda t: t.nn.L1Loss(), lambda t: ramp(t, 2, 3) * 2),
    "MSELoss": (lambda t: t.nn.MSELoss(reduction="sum"), lambda t: ramp(t, 2, 3) * 2),
    "MSELoss none": (lambda t: t.nn.MSELoss(reduction="none"), lambda t: ramp(t, 2, 3) * 2),
    "SmoothL1Loss": (lambda t: t.nn.SmoothL1Loss(beta=0.3), lambda t: ramp(t, 2, 3) * 3),
    "HuberLoss": (lambda t: t.nn.HuberLoss(delta=0.3), lambda t: ramp(t, 2, 3) * 3),
    "BCEWithLogitsLoss": (
        lambda t: t.nn.BCEWithLogitsLoss(t.tensor([1.0, 2.0, 3.0]), pos_weight=t.tensor([2.0, 1.0, 0.5])),
        lambda t: ramp(t, 2, 3).abs(),
    ),
    "BCELoss": (lambda t: sigmoid_then(t), lambda t: ramp(t, 2, 3).abs()),
    "CrossEntropyLoss": (lambda t: t.nn.CrossEntropyLoss(), lambda t: t.tensor([1, 2])),
    "CrossEntropyLoss all": (
        lambda t: t.nn.CrossEntropyLoss(t.tensor([1.0, 2.0, 3.0]), ignore_index=2, label_smoothing=0.1),
        lambda t: t.tensor([1, 2]),
    ),
    "CrossEntropyLoss probabilities": (lambda t: t.nn.CrossEntropyLoss(), lambda t: ramp(t, 2, 3).softmax(1)),
    "NLLLoss": (lambda t: t.nn.NLLLoss(t.tensor([1.0, 2.0, 3.0])), lambda t: t.tensor([1, 2])),
    "KLDivLoss": (lambda t: t.nn.KLDivLoss(reduction="batchmean"), lambda t: ramp(t, 2, 3).softmax(1)),
    "KLDivLoss log": (
        lambda t: t.nn.KLDivLoss(reduction="sum", log_target=True),
        lambda t: ramp(t, 2, 3).log_softmax(1),
    ),
}


def sigmoid_then(t: Any) -> Any:
    loss = t.nn.BCELoss(t.tensor([1.0, 2.0, 3.0]))
    return lambda input, target: loss(input.sigmoid(), target)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_compute_the_same(name: str) -> None:
    make, target = LOSSES[name]

    def computed(t: Any) -> Any:
        input = ramp(t, 2, 3).requires_grad_()
        loss = make(t)(input, target(t))
        loss.sum().backward()
        return numbers([loss, input.grad])

    assert_close(computed(tl), computed(torch))
