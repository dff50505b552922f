"""`nn.utils` where there is nothing to compare with PyTorch: types, threads, copies, what is not initialised."""

import copy
import importlib
import threading

import pytest

import tensorlike as tl

parametrize = tl.nn.utils.parametrize


class Double(tl.nn.Module):
    def forward(self, x):
        return 2 * x


class Tagged(tl.Tensor):
    pass


def test_a_copy_keeps_its_parametrization_when_the_original_loses_it():
    # PyTorch's copy has the class of the original, whose property is gone.
    module = parametrize.register_parametrization(tl.nn.Linear(2, 2), "weight", Double())
    other = copy.deepcopy(module)
    before = other.weight
    parametrize.remove_parametrizations(module, "weight")
    assert tl.equal(other.weight, before)
    assert not parametrize.is_parametrized(module)


def test_a_parameter_of_a_subclass_is_parametrized():
    module = tl.nn.Linear(2, 2)
    module.weight = tl.nn.Parameter(tl.ones(2, 2).as_subclass(Tagged))
    parametrize.register_parametrization(module, "weight", Double())
    assert isinstance(module.weight, Tagged)
    parametrize.remove_parametrizations(module, "weight")
    assert isinstance(module.weight, Tagged)
    assert isinstance(module.weight, tl.nn.Parameter)


def test_a_mode_sees_what_a_parametrization_calls():
    seen = []

    class Watch(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    module = tl.nn.utils.parametrizations.orthogonal(tl.nn.Linear(3, 3))
    with Watch():
        module(tl.ones(1, 3))
    assert tl.matrix_exp in seen


def test_the_cache_is_that_of_the_thread():
    module = parametrize.register_parametrization(tl.nn.Linear(2, 2), "weight", Double())
    found = []
    with parametrize.cached():
        mine = module.weight
        thread = threading.Thread(target=lambda: found.append(module.weight))
        thread.start()
        thread.join()
        assert module.weight is mine
    assert found[0] is not mine


def test_an_error_in_a_cached_block_ends_the_cache():
    module = parametrize.register_parametrization(tl.nn.Linear(2, 2), "weight", Double())
    with pytest.raises(KeyboardInterrupt), parametrize.cached():
        raise KeyboardInterrupt
    assert module.weight is not module.weight


def test_a_parametrization_that_raises_leaves_the_module():
    class Refuses(tl.nn.Module):
        def forward(self, x):
            raise ZeroDivisionError

    module = tl.nn.Linear(2, 2)
    with pytest.raises(ZeroDivisionError):
        parametrize.register_parametrization(module, "weight", Refuses())
    assert type(module) is tl.nn.Linear
    assert sorted(module.state_dict()) == ["bias", "weight"]


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        (tl.nn.Linear, (2, 3)),
        (tl.nn.Conv2d, (2, 3, 2)),
        (tl.nn.Embedding, (5, 4, 1)),
        (tl.nn.LSTM, (2, 3)),
        (tl.nn.MultiheadAttention, (4, 2)),
        (tl.nn.TransformerEncoderLayer, (4, 2)),
    ],
)
def test_skip_init_draws_nothing(cls, arguments):
    before = tl.get_rng_state()
    module = tl.nn.utils.skip_init(cls, *arguments, device="cpu")
    assert tl.equal(tl.get_rng_state(), before)
    shapes = [p.shape for p in module.parameters()]
    assert shapes == [p.shape for p in cls(*arguments).parameters()]
    assert not tl.equal(tl.get_rng_state(), before)


def test_names_of_functions_are_functions_after_an_import_of_the_module():
    for name in ("weight_norm", "spectral_norm"):
        module = importlib.import_module(f"tensorlike.nn.utils.{name}")
        assert callable(getattr(tl.nn.utils, name))
        assert getattr(tl.nn.utils, name) is getattr(module, name)


def test_lazy_names():
    for name in tl.nn.utils.__all__:
        assert getattr(tl.nn.utils, name) is not None, name
        assert name in dir(tl.nn.utils)
