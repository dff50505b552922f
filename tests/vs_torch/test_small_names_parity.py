"""Small modules of PyTorch's beside PyTorch: `swap_tensors`, `__future__`, `weak`, `from_file`, ..."""

from __future__ import annotations

import copy
import gc
import importlib
import warnings
import weakref

import numpy as np
import pytest
import tensorlike.__future__
import torch
import torch.__future__
import torch.utils.checkpoint
import torch.utils.deterministic
import torch.utils.hooks
import torch.utils.weak

import tensorlike as tl
import tensorlike.utils.weak

BOTH = pytest.mark.parametrize("library", [torch, tl], ids=["torch", "tensorlike"])


@BOTH
def test_tensors_are_swapped(library):
    x, y = library.ones(2), library.nn.Parameter(library.zeros(3))
    x.note = "a note"
    (y * 2).sum().backward()
    gc.collect()
    library.utils.swap_tensors(x, y)
    assert type(x) is library.nn.Parameter
    assert type(y) is library.Tensor
    assert (x.tolist(), y.tolist()) == ([0, 0, 0], [1, 1])
    assert (x.requires_grad, y.requires_grad) == (True, False)
    assert y.note == "a note"
    assert not hasattr(x, "note")
    assert x.grad.tolist() == [2, 2, 2]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]


@BOTH
def test_tensors_that_cannot_be_swapped(library):
    class Slotted(library.Tensor):
        __slots__ = ("unit",)

    x, y = library.ones(2), library.ones(2)
    reference = weakref.ref(x)
    with pytest.raises(RuntimeError, match="Cannot swap t1 because it has weakref"):
        library.utils.swap_tensors(x, y)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        library.utils.swap_tensors(y, x)
    assert reference() is x
    with pytest.raises(RuntimeError, match="different slots"):
        library.utils.swap_tensors(library.ones(2).as_subclass(Slotted), library.ones(2))
    leaf = library.ones(2, requires_grad=True)
    used = leaf * leaf
    with pytest.raises(RuntimeError):
        library.utils.swap_tensors(leaf, library.ones(2))
    del used


@BOTH
@pytest.mark.parametrize("overwriting", [False, True])
def test_parameters_are_overwritten(library, overwriting):
    model = library.nn.Linear(2, 1)
    model(library.ones(2)).sum().backward()
    before = model.weight
    library.__future__.set_overwrite_module_params_on_conversion(overwriting)
    try:
        assert library.__future__.get_overwrite_module_params_on_conversion() is overwriting
        model.double()
    finally:
        library.__future__.set_overwrite_module_params_on_conversion(False)
    assert (model.weight is before) is not overwriting
    assert model.weight.dtype == model.weight.grad.dtype == library.float64
    assert before.dtype == (library.float32 if overwriting else library.float64)


@BOTH
def test_parameters_are_swapped(library):
    class Wrapped(library.Tensor):
        pass

    model = library.nn.Linear(2, 1)
    model(library.ones(2)).sum().backward()
    gc.collect()
    before, gradient = model.weight, model.weight.grad
    library.__future__.set_swap_module_params_on_conversion(True)
    try:
        model.double()
        assert model.weight is before
        assert model.weight.grad is gradient
        assert before.dtype == gradient.dtype == library.float64
        state = copy.deepcopy(model.state_dict())
        model.weight.grad = None
        # A view of the parameter in the dictionary of its state keeps it from being swapped in PyTorch.
        library.nn.init.zeros_(model.weight)
        model.load_state_dict(state)
        assert model.weight is before
        assert model.weight.tolist() == state["weight"].tolist()
        model.load_state_dict({name: value.as_subclass(Wrapped) for name, value in state.items()}, assign=True)
        assert model.weight is before
    finally:
        library.__future__.set_swap_module_params_on_conversion(False)
    assert model.weight.requires_grad


@BOTH
def test_mappings_from_tensors(library):
    x, y = library.ones(2), library.ones(2)
    weak = library.utils.weak
    for kind in (weak.WeakIdKeyDictionary, weak.WeakTensorKeyDictionary):
        notes = kind({x: 1})
        notes[y] = 2
        assert (notes[x], notes[y], len(notes)) == (1, 2, 2)
        assert x in notes
        assert 3 not in notes
        assert x.clone() not in notes
        assert [key is x for key in notes] == [True, False]
        assert notes.pop(y) == 2
        assert notes.setdefault(y, 5) == 5
        assert len(notes.copy()) == 2
        with pytest.raises(KeyError):
            notes[x.clone()]
    del y, notes
    notes = weak.WeakIdKeyDictionary({x: 1})
    assert (weak.WeakIdRef(x) == weak.WeakIdRef(x), hash(weak.WeakIdRef(x))) == (True, id(x))
    reference = weak.TensorWeakRef(x)
    assert reference() is x
    del x
    gc.collect()
    assert reference() is None
    assert len(notes) == 0
    with pytest.raises(AssertionError, match="Tensor, got"):
        weak.TensorWeakRef(3)


@BOTH
def test_tensors_from_files(library, tmp_path):
    path = str(tmp_path / "elements")
    library.from_file(path, shared=True, size=3).fill_(2)
    assert np.fromfile(path, "f4").tolist() == [2, 2, 2]
    private = library.from_file(path, size=2, dtype=library.float32)
    private[0] = 5
    assert private.tolist() == [5, 2]
    assert np.fromfile(path, "f4").tolist() == [2, 2, 2]
    assert library.from_file(path, size=3, dtype=library.int32).dtype == library.int32
    library.from_file(path, shared=True, size=5)
    assert (tmp_path / "elements").stat().st_size == 20
    with pytest.raises(RuntimeError):
        library.from_file(path, size=6)
    with pytest.raises((RuntimeError, OSError)):
        library.from_file(str(tmp_path / "none"), size=1)


@BOTH
def test_switches(library):
    assert library.utils.deterministic.fill_uninitialized_memory is True
    with pytest.raises(RuntimeError, match="bool, but got int"):
        library.utils.deterministic.fill_uninitialized_memory = 3
    library.utils.deterministic.fill_uninitialized_memory = False
    assert library.utils.deterministic.fill_uninitialized_memory is False
    library.utils.deterministic.fill_uninitialized_memory = True
    library.set_anomaly_enabled(True, False)
    try:
        assert library.is_anomaly_enabled()
        assert not library.is_anomaly_check_nan_enabled()
    finally:
        library.set_anomaly_enabled(False)
    assert not library.is_anomaly_enabled()
    assert library.init_num_threads() is None
    assert library.thread_safe_generator() is None
    variable = importlib.import_module(f"{library.__name__}.autograd.variable")
    assert isinstance(library.ones(1), library.autograd.Variable)
    assert isinstance(library.autograd.Variable, variable.VariableMeta)
    assert library.return_types.max in library.return_types.all_return_types
    assert library.utils.checkpoint.get_device_states(library.ones(1), 3) == ([], [])
    assert library.utils.checkpoint.set_device_states([], []) is None
    devices = library.utils.checkpoint.DefaultDeviceType
    before = devices.get_device_type()
    devices.set_device_type("cuda:1")
    assert devices.get_device_type() == "cuda:1"
    devices.set_device_type(before)


@BOTH
def test_hooks_that_are_not_pickled(library):
    hooks = library.utils.hooks
    x = library.ones(1, requires_grad=True)
    x.register_hook(hooks.unserializable_hook(lambda grad: grad))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hooks.warn_if_has_hooks(x)
    x.register_hook(lambda grad: grad)
    with pytest.warns(UserWarning, match="will not be serialized"):
        hooks.warn_if_has_hooks(x)


@BOTH
def test_keyword_arguments_of_modules(library):
    given = {"dtype": library.float64, "factory_kwargs": {"device": "cpu"}}
    assert library.nn.factory_kwargs(given) == {"dtype": library.float64, "device": "cpu"}
    assert library.nn.factory_kwargs(None) == {}
    for wrong in ({"color": 1}, {"dtype": 1, "factory_kwargs": {"dtype": 1}}):
        with pytest.raises(TypeError):
            library.nn.factory_kwargs(wrong)


@BOTH
def test_batch_norms_without_statistics(library):
    model = library.nn.Sequential(library.nn.BatchNorm1d(2), library.nn.Sequential(library.nn.BatchNorm2d(2)))
    assert library.func.replace_all_batch_norm_modules_(model) is model
    for module in (model[0], model[1][0]):
        assert module.running_mean is module.running_var is module.num_batches_tracked is None
        assert module.track_running_stats is False


CLOSE = [
    (lambda t: t.ones(2), lambda t: t.ones(2)),
    (lambda t: t.ones(2), lambda t: [1.0, 1.00001]),
    (lambda t: t.ones(2), lambda t: [1.0, 1.001]),
    (lambda t: t.ones(2), lambda t: t.ones(2, dtype=t.float64) * 1.00005),
    (lambda t: t.ones(2, dtype=t.float64), lambda t: t.ones(2, dtype=t.float64) * 1.00005),
    (lambda t: t.ones(2, dtype=t.float16), lambda t: t.ones(2) * 1.0005),
    (lambda t: t.ones(2, dtype=t.complex64), lambda t: t.ones(2, dtype=t.complex64) * 1.00001),
    (lambda t: float("nan"), lambda t: float("nan")),
    (lambda t: 3, lambda t: 3),
    (lambda t: 3, lambda t: 4),
    (lambda t: t.ones(2), lambda t: t.ones(3)),
]


@pytest.mark.parametrize("number", range(len(CLOSE)))
def test_assert_allclose(number):
    def found(t):
        actual, expected = (make(t) for make in CLOSE[number])
        try:
            with pytest.warns(FutureWarning, match="assert_close"):
                return t.testing.assert_allclose(actual, expected)
        except AssertionError as error:
            return type(error)

    assert found(tl) == found(torch)
