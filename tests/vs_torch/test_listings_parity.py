"""`get_ignored_functions`, `get_testing_overrides` and `get_overridable_functions` against PyTorch's, whole.

Every name that both libraries have is in the same lists, and every name that one of them lists is in the other one, but
for the differences below. Each has a reason, and one that is none any more fails.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from fnmatch import fnmatchcase

import pytest
import torch

import tensorlike as tl
from tensorlike.as_torch.absent import reason_of

# Not `random`: its functions are those of the main namespace, until PyTorch wraps the latter for its compiler.
NAMESPACES = (
    "", "Tensor", "autograd", "autograd.graph", "distributions", "fft", "functional", "linalg", "masked", "nn",
    "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "overrides", "serialization", "signal.windows",
    "special", "storage", "utils.dlpack",
)  # fmt: skip

SETTERS = "is asked about in PyTorch as well, which lists the getters alone"
IN_PLACE = "is asked about in PyTorch as well, which lists no function whose name ends with an underscore"
AS_ONE = "is asked about as one function here; PyTorch asks about the functions that it calls"
NOT_EXPORTED = "is among PyTorch's testing overrides, and is not in its torch.__all__"

#: What only this library lists, with the list and the reason.
ONLY_HERE: dict[str, dict[str, str]] = {
    "ignored": {},
    "testing": {
        **dict.fromkeys(
            (
                "Tensor._backward_hooks.__set__", "Tensor._grad.__set__", "Tensor._post_accumulate_grad_hooks.__set__",
                "Tensor.data.__set__", "Tensor.grad.__set__", "Tensor.grad_dtype.__set__", "Tensor.imag.__set__",
                "Tensor.real.__set__", "Tensor.requires_grad.__set__",
            ),
            SETTERS,
        ),
        **dict.fromkeys(
            (
                "alpha_dropout_", "celu_", "dropout_", "embedding_renorm_", "feature_alpha_dropout_",
                "feature_dropout_", "fill_", "nn.functional.celu_", "nn.functional.elu_", "nn.functional.hardtanh_",
                "nn.functional.leaky_relu_", "nn.functional.relu_", "nn.functional.rrelu_", "nn.functional.selu_",
                "nn.functional.threshold_", "relu_", "rrelu_", "selu_", "threshold_", "zero_",
            ),
            IN_PLACE,
        ),
        **dict.fromkeys(
            (
                "masked.amax", "masked.amin", "masked.argmax", "masked.argmin", "masked.cumprod", "masked.cumsum",
                "masked.log_softmax", "masked.logaddexp", "masked.logsumexp", "masked.mean", "masked.median",
                "masked.norm", "masked.normalize", "masked.prod", "masked.softmax", "masked.softmin", "masked.std",
                "masked.sum", "masked.var", "nn.init.dirac_", "nn.init.eye_", "nn.init.kaiming_normal_",
                "nn.init.ones_", "nn.init.orthogonal_", "nn.init.sparse_", "nn.init.trunc_normal_",
                "nn.init.xavier_normal_", "nn.init.xavier_uniform_", "nn.init.zeros_",
            ),
            AS_ONE,
        ),
        "Tensor.to_sparse_coo": "asks types here; PyTorch ignores it, and asks about `to_sparse`, which it calls",
    },
}  # fmt: skip
ONLY_HERE["overridable"] = {
    **ONLY_HERE["testing"],
    **dict.fromkeys(("nn.init.constant_", "nn.init.kaiming_uniform_", "nn.init.normal_", "nn.init.uniform_"), IN_PLACE),
    "segment_reduce": NOT_EXPORTED,
}

#: What only PyTorch lists although both have it.
_SYMBOLIC = "asks types here as well, and is in no list: it is loaded when it is asked for"
_SYMBOLS = dict.fromkeys(
    ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"), _SYMBOLIC
)
_ON_DEMAND = "never asks types here either, and is in no list: it is loaded when it is asked for"
_SPARSE = "asks types here as well, and is in no list: it is a private method of sparse tensors"
_PRIVATE = dict.fromkeys(("Tensor._indices", "Tensor._nnz", "Tensor._values"), _SPARSE)
ONLY_THERE: dict[str, dict[str, str]] = {
    "ignored": {
        "Tensor.to_sparse_coo": "asks types here",
        **dict.fromkeys(
            (
                "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "from_file",
                "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled",
                "is_autocast_cpu_enabled", "is_autocast_enabled", "set_anomaly_enabled", "set_autocast_cache_enabled",
                "set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled",
                "set_autocast_gpu_dtype", "thread_safe_generator",
            ),
            _ON_DEMAND,
        ),
    },
    "testing": {**_SYMBOLS, **_PRIVATE},
    "overridable": {**_SYMBOLS, **_PRIVATE, "autocast": "is a class, which PyTorch lists among the functions"},
}  # fmt: skip

#: What PyTorch lists and this library lacks, by patterns, beside what the table of absent names has.
ABSENT: dict[str, str] = {
    "Tensor._*": "is PyTorch's own, and free to change",
    "Tensor.__idiv__": "is from the time of Python 2",
    "Tensor.__torch_dispatch__": "is a second protocol, below autograd, which this library does not speak",
    "_*": "is PyTorch's own, and free to change",
    "*.boolean_dispatch": "is PyTorch's own, and imported there",
    "*.handle_torch_function": "is the function of `overrides`, imported there",
    "*.has_torch_function*": "is the function of `overrides`, imported there",
    "nn.functional._*": "is PyTorch's own, and free to change",
    "overrides._*": "is PyTorch's own, and free to change",
}  # fmt: skip

#: What PyTorch lists under no name of the namespaces above, by the module that it is from.
UNNAMED = {
    "builtins": "True and False, which are settings such as torch.has_mkl",
    "torch.distributed.distributed_c10d": "is for several processes",
    "torch.export": "is for programs that are compiled",
    "torch._C._nested": "is for nested tensors",
}


def owner(library, namespace):
    for part in namespace.split(".") if namespace else ():
        library = getattr(library, part, None)
    return library


@functools.cache
def named(library):
    """Every attribute of the namespaces by its dotted name; of properties, the getters and setters."""
    found = {}
    for namespace in NAMESPACES:
        space = owner(library, namespace)
        for name in dir(space) if space is not None else ():
            static = inspect.getattr_static(space, name, None)
            path = f"{namespace}.{name}" if namespace else name
            if isinstance(space, type) and (isinstance(static, property) or inspect.isgetsetdescriptor(static)):
                found[f"{path}.__get__"] = static.__get__
                found[f"{path}.__set__"] = static.__set__
                continue
            value = getattr(space, name, None)
            # Equal to what is listed may be a number (`True` is) or a module's constant, which says nothing.
            if callable(value) or type(value).__name__ == "Generator":
                found[path] = _original(value)
    return found


def _original(function):
    """A function of PyTorch's as it was before its compiler, imported by another test, put another in its place."""
    return torch.random.manual_seed if function is torch.manual_seed else function


@functools.cache
def lists(library):
    asked = library.overrides
    overridable = asked.get_overridable_functions()
    return {
        "ignored": frozenset(map(_original, asked.get_ignored_functions())),
        "testing": frozenset(asked.get_testing_overrides()),
        "overridable": frozenset(f for functions in overridable.values() for f in functions),
    }


def listed(library, which):
    """The names of what a list has."""
    members = lists(library)[which]
    return {name for name, value in named(library).items() if _hashable(value) and value in members}


def _hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True


def unexplained(which):
    """What PyTorch lists, this library lacks, and the table of absent names does not have."""
    return {name for name in listed(torch, which) - named(tl).keys() if reason_of(f"torch.{name}") is None}


@pytest.mark.parametrize("which", ["ignored", "testing", "overridable"])
class TestLists:
    def test_only_here(self, which):
        both = named(tl).keys() & named(torch).keys()
        found = (listed(tl, which) - listed(torch, which)) & both
        assert found - ONLY_HERE[which].keys() == set()
        assert ONLY_HERE[which].keys() - found == set(), "no difference any more"

    def test_only_there(self, which):
        both = named(tl).keys() & named(torch).keys()
        found = (listed(torch, which) - listed(tl, which)) & both
        assert found - ONLY_THERE[which].keys() == set()
        assert ONLY_THERE[which].keys() - found == set(), "no difference any more"

    def test_many_are_compared(self, which):
        common = listed(tl, which) & listed(torch, which)
        assert len(common) > {"ignored": 110, "testing": 1300, "overridable": 1300}[which]

    def test_what_is_absent_has_a_reason(self, which):
        assert {name for name in unexplained(which) if not any(fnmatchcase(name, known) for known in ABSENT)} == set()

    def test_nothing_else_is_listed_here(self, which):
        unknown = listed(tl, which) - named(torch).keys()
        # The decorator of this library's own, and names of its parts that PyTorch keeps elsewhere.
        assert {name.rpartition(".")[2] for name in unknown} <= {
            "overridable", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
            "is_inference_mode_enabled", "empty_cache", "memory_stats", "set_memory_cache_limit", "__array_namespace__",
            "to_device",
        }  # fmt: skip

    def test_what_has_no_name_has_a_reason(self, which):
        names = {value for value in named(torch).values() if _hashable(value)}
        for function in lists(torch)[which] - names:
            module = getattr(function, "__module__", None) or type(function).__module__
            if function is type(torch.Tensor):
                continue
            if function in (torch.save, torch.load):
                continue
            assert any(module.startswith(known) for known in UNNAMED), function


def test_every_reason_is_of_use():
    found = set()
    for which in ("ignored", "testing", "overridable"):
        found |= unexplained(which)
    unused = [pattern for pattern in ABSENT if not any(fnmatchcase(name, pattern) for name in found)]
    assert unused == []


def test_the_namespaces_are_those_of_pytorch():
    """PyTorch lists a property under itself; the namespaces of both are the modules and the class."""
    # Namespaces of functions that are written down above: PyTorch lists none of theirs.
    names = {name.rpartition(".")[0] for name in ONLY_HERE["overridable"]}
    ours_alone = {f"tensorlike.{name}" for name in names & {"masked", "nn.init"}}
    theirs = [key for key in torch.overrides.get_overridable_functions() if isinstance(key, types.ModuleType | type)]
    ours = tl.overrides.get_overridable_functions()
    names = {key.__name__.replace("torch", "tensorlike") for key in theirs}
    assert names - {key.__name__ for key in ours} == set()
    assert {key.__name__ for key in ours} - names == ours_alone


def test_functions_that_are_listed_as_ignored_ask_in_both():
    """What `get_ignored_functions` says of these is PyTorch's word; what they do is PyTorch's too."""
    calls = {
        "Tensor.new": lambda L, x: x.new(2),
        "Tensor.new_empty": lambda L, x: x.new_empty(2),
        "Tensor.new_empty_strided": lambda L, x: x.new_empty_strided((2,), (1,)),
        "Tensor.new_full": lambda L, x: x.new_full((2,), 1.0),
        "Tensor.new_ones": lambda L, x: x.new_ones(2),
        "Tensor.new_tensor": lambda L, x: x.new_tensor([1.0]),
        "Tensor.new_zeros": lambda L, x: x.new_zeros(2),
        "Tensor.stride": lambda L, x: x.stride(),
        "Tensor.unflatten": lambda L, x: x.unflatten(0, (1, 2)),
        "as_strided": lambda L, x: L.as_strided(x, (1,), (1,)),
        "fill": lambda L, x: L.fill(x, 1.0),
        "nn.functional.hardsigmoid": lambda L, x: L.nn.functional.hardsigmoid(x),
        "nn.functional.hardswish": lambda L, x: L.nn.functional.hardswish(x),
        "normal": lambda L, x: L.normal(x, 1.0),
        "rand_like": lambda L, x: L.rand_like(x),
        "randint_like": lambda L, x: L.randint_like(x, 3),
        "randn_like": lambda L, x: L.randn_like(x),
        "result_type": lambda L, x: L.result_type(x, 1),
        "vander": lambda L, x: L.vander(x),
        # These ask nothing themselves: the name of what they call.
        "nn.functional.sigmoid": lambda L, x: L.nn.functional.sigmoid(x),
        "nn.functional.tanh": lambda L, x: L.nn.functional.tanh(x),
        "nn.functional.upsample": lambda L, x: L.nn.functional.upsample(x.reshape(1, 1, 2), 4),
        "nn.functional.upsample_nearest": lambda L, x: L.nn.functional.upsample_nearest(x.reshape(1, 1, 2), 4),
        "Tensor.as_subclass": lambda L, x: x.as_subclass(L.Tensor),
    }
    answers = {}
    for library in (torch, tl):
        root = library.__name__

        class Asked(library.Tensor):
            names: list[str] = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, library=library, root=root):
                name = library.overrides.resolve_name(func) or f"{root}.{func.__name__}"
                cls.names.append(name.removeprefix(root + "."))
                return super().__torch_function__(func, types, args, kwargs or {})

        x = library.ones(2).as_subclass(Asked)
        members = library.overrides.get_ignored_functions()
        for name, call in calls.items():
            function = functools.reduce(getattr, name.split("."), library)
            assert function in members, (library, name)
            Asked.names.clear()
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "`nn.functional.upsample")  # PyTorch has deprecated it.
                call(library, x)
            answers.setdefault(name, []).append(list(Asked.names))
    for name, (theirs, ours) in answers.items():
        assert [n for n in theirs if n not in ("Tensor.reshape",)] == [n for n in ours if n != "Tensor.reshape"], name
        assert theirs or name == "Tensor.as_subclass"
