"""Nothing public without samples, a docstring, an example, a derivative; nothing public that is not registered."""

from __future__ import annotations

import inspect
import types

import pytest

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tensorlike.dispatch import MISSING
from tensorlike.dispatch.registry import IGNORED, REGISTRY, UNLISTED
from tensorlike.overrides.introspection import owner_of
from tensorlike.tensor.declarations.declare import DECLARATIONS
from tests.helpers.rows import families, is_operator, rows, samples_key

ROWS = {row.full_name: row for row in rows()}
FUNCTIONS = {name: row for name, row in ROWS.items() if row.kind not in ("property", "setter")}

#: Parameters whose other values mean nothing here, or are tested elsewhere.
IMMATERIAL = {
    "out": "test_ops.py calls every function that has it with tensors of its own",
    "memory_format": "layouts are no values: test_views.py",
    "layout": "there are strided tensors only",
    "pin_memory": "there is no pinned memory",
    "non_blocking": "copies wait",
    "driver": "the singular value decomposition has one, and refuses others, as PyTorch does on the CPU",
    "pivot": "refused when False, as PyTorch does on the CPU",
    "device": "samples live on the CPU; devices are tested in test_cuda.py",
    "generator": "generators are tested with the random functions",
    "requires_grad": "samples of differentiable operations are made with and without",
    "inplace": "tested with the modules that pass it on",
    "indices": "segment_reduce refuses them, as PyTorch does",
    "tracker": "lobpcg refuses it, since SciPy iterates without telling",
    "sparse": "the gradient is sparse then: tests/sparse",
    "sparse_grad": "there are strided tensors only",
    "reduce": "an older spelling of `reduction` that warns",
    "size_average": "an older spelling of `reduction` that warns",
}

#: Methods that change or ask the graph, or hand the tensor to Python: no values to compare.
WITHOUT_SAMPLES = {
    "tensorlike.Tensor.backward": "tests of the engine",
    "tensorlike.Tensor.register_hook": "tests of hooks",
    "tensorlike.Tensor.register_post_accumulate_grad_hook": "tests of hooks",
    "tensorlike.Tensor.retain_grad": "tests of hooks",
    "tensorlike.Tensor.requires_grad_": "tests of the engine",
    "tensorlike.Tensor.cuda": "tests of backends",
    "tensorlike.Tensor.data_ptr": "an address is no value",
    "tensorlike.Tensor.bfloat16": "NumPy has no such dtype without an extra; test_promotion.py",
    "tensorlike.Tensor.is_coalesced": "raises for every dense tensor",
    **dict.fromkeys(
        (f"tensorlike.Tensor.{name}" for name in ("coalesce", "indices", "values")),
        "raises for every dense tensor: tests/sparse",
    ),
    "tensorlike.Tensor.sparse_mask": "the mask is sparse: tests/sparse",
    "tensorlike.Tensor.to_sparse": "the result is sparse: tests/sparse",
    "tensorlike.Tensor.to_sparse_coo": "the result is sparse: tests/sparse",
    "tensorlike.Tensor.pin_memory": "raises for every tensor",
    "tensorlike.Tensor._is_view": "test_private_names_parity.py",
    "tensorlike.Tensor.__array_wrap__": "NumPy calls it: test_elementwise.py",
    "tensorlike.Tensor.__deepcopy__": "tests of serialization",
    "tensorlike.Tensor.__reduce_ex__": "tests of serialization",
    "tensorlike.Tensor.__setstate__": "tests of serialization",
    "tensorlike.Tensor.__dlpack__": "test_dlpack.py",
    "tensorlike.Tensor.__dlpack_device__": "test_dlpack.py",
    "tensorlike.Tensor.const_data_ptr": "an address is no value",
    "tensorlike.Tensor.untyped_storage": "test_storage.py",
    "tensorlike.Tensor.storage": "test_storage.py",
    "tensorlike.Tensor.storage_type": "test_storage.py",
    "tensorlike.Tensor.share_memory_": "test_storage.py",
    "tensorlike.Tensor.__repr__": "test_printing.py",
    "tensorlike.Tensor.__format__": "test_printing.py",
}


def is_dunder(row):
    return row.name.rpartition(".")[2].startswith("__")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_has_samples(name):
    row = FUNCTIONS[name]
    assert (samples_key(row) is not None) != (name in WITHOUT_SAMPLES), (
        f"{name} has no samples: give it some in tensorlike/audit/samples"
    )


def test_samples_belong_to_something():
    strays = sorted(set(SAMPLES) - set(families()))
    assert strays == [], "samples of functions that nobody declared"
    assert sorted(set(WITHOUT_SAMPLES) - set(FUNCTIONS)) == []


@pytest.mark.parametrize("name", ROWS)
def test_it_has_a_docstring(name):
    row = ROWS[name]
    text = (row.function.__doc__ or "").strip()
    if row.kind == "setter":
        return
    first = text.partition("\n\n")[0]
    assert first.endswith("."), f"{name}: the docstring starts with one sentence"
    assert len(first.split()) >= 3, name
    if row.kind == "property":
        return
    if not is_dunder(row) and name not in WITHOUT_SAMPLES:
        assert ">>> " in text, f"{name}: the docstring has an example"


@pytest.mark.parametrize("name", DECLARATIONS)
def test_it_has_a_derivative(name):
    declaration = DECLARATIONS[name]
    if not declaration.differentiable:
        assert not declaration.vjp, f"{name} is declared without a derivative and has formulas"
        return
    if not any(p.operand for p in declaration.parameters):
        return
    assert declaration.vjp, f"{name} has no derivative: give it derivatives(...), or differentiable=False"
    operands = {p.name for p in declaration.parameters if p.operand}
    assert set(declaration.vjp) <= operands, f"{name}: formulas for what is no operand"


@pytest.mark.parametrize("name", families())
def test_every_parameter_is_exercised(name):
    [primary, *_] = families()[name]
    if is_operator(primary):
        return  # Python calls it with the operands alone.
    dtypes = SAMPLES[name].dtypes
    inputs = [s for dtype in {dtypes[0], dtypes[-1]} for s in SAMPLES[name].generate(dtype)]
    signature = inspect.signature(primary.function)
    untouched = {p.name: p.default for p in primary.parameters if p.default is not MISSING and p.name not in IMMATERIAL}
    for sample in inputs:
        for parameter, value in signature.bind(*sample.args, **sample.kwargs).arguments.items():
            default = untouched.get(parameter, MISSING)
            if default is not MISSING and (type(value) is not type(default) or value != default):
                del untouched[parameter]
    assert not untouched, f"{name}: no sample sets {', '.join(untouched)} to another value than the default"


#: Names that PyTorch's functions have, and that implementations which look at names are written for.
PYTORCH_NAMES = {"__rtruediv__": "__rdiv__", "__pow__": "pow", "__ipow__": "pow_"}


@pytest.mark.parametrize("name", ROWS)
def test_it_is_where_its_name_says(name):
    row = ROWS[name]
    owner = owner_of(row)
    assert owner is not None
    last = row.name.split(".")[-1]
    if row.kind in ("property", "setter"):
        found = inspect.getattr_static(owner, row.name.split(".")[-2])
        assert row.key in (found.__get__, found.__set__)
        return
    found = inspect.getattr_static(owner, last)
    assert found is row.function
    assert (found.__module__, found.__qualname__) == (row.namespace, row.name)
    assert found.__name__ == PYTORCH_NAMES.get(last, last)


def namespaces():
    found = {id(owner): owner for row in ROWS.values() if (owner := owner_of(row)) is not None}
    return [owner for owner in found.values() if owner.__name__.startswith("tensorlike") or owner is tl.Tensor]


def public_callables(namespace):
    for name, value in sorted(vars(namespace).items()):
        if name.startswith("_") and not (isinstance(namespace, type) and name.endswith("__")):
            continue
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, (types.ModuleType, type)) or not callable(value):
            continue
        if getattr(value, "__module__", "") in ("typing", "collections.abc", "functools", "tensorlike._above"):
            continue
        yield name, value


@pytest.mark.parametrize("namespace", namespaces(), ids=lambda n: n.__name__)
def test_every_public_function_is_registered_or_ignored(namespace):
    known = {id(row.function) for row in REGISTRY.values()}
    known |= {id(row.function) for row in UNLISTED.values()}
    known |= {id(getattr(function, "__func__", function)) for function, _ in IGNORED.values()}
    unknown = [name for name, function in public_callables(namespace) if id(function) not in known]
    assert unknown == [], f"in {namespace.__name__}: neither overridable nor ignored with a reason"


@pytest.mark.parametrize("namespace", namespaces(), ids=lambda n: n.__name__)
def test_public_classes_have_docstrings(namespace):
    names = getattr(namespace, "__all__", None) or [n for n in vars(namespace) if not n.startswith("_")]
    for name in names:
        value = getattr(namespace, name)
        if isinstance(value, type):
            assert value.__doc__, name
            assert value.__module__.startswith("tensorlike"), f"{name} of {value.__module__} is no part of this library"


def test_ignored_functions_are_where_their_names_say():
    for name, (function, _) in IGNORED.items():
        found = tl
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        assert found == function, name


class TestTheChecksThemselves:
    def test_a_function_that_nobody_registered_is_found(self):
        def stray(x):
            return x

        namespace = types.ModuleType("tensorlike.stray")
        namespace.stray = stray
        with pytest.raises(AssertionError, match="neither overridable nor ignored"):
            test_every_public_function_is_registered_or_ignored(namespace)

    def test_a_parameter_that_no_sample_sets_is_found(self, monkeypatch):
        from tensorlike.audit.samples import SampleInput

        name = next(name for name, members in families().items() if members[0].full_name == "tensorlike.add")
        monkeypatch.setattr(SAMPLES[name], "_generate", lambda make: iter([SampleInput(make(2), make(2))]))
        with pytest.raises(AssertionError, match="no sample sets alpha"):
            test_every_parameter_is_exercised(name)
        monkeypatch.setattr(SAMPLES[name], "_generate", lambda make: iter([SampleInput(make(2), make(2), alpha=1)]))
        with pytest.raises(AssertionError, match="no sample sets alpha"):
            test_every_parameter_is_exercised(name)
