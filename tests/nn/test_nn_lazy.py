"""Parameters without a shape, and the modules that have them."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import tensorlike as tl
from tensorlike import nn
from tensorlike.nn.modules.lazy import LazyModuleMixin
from tensorlike.nn.parameter import is_lazy


class TestUninitialized:
    def test_they_are_parameters_and_buffers(self):
        weight, buffer = nn.UninitializedParameter(), nn.UninitializedBuffer(persistent=False)
        assert isinstance(weight, nn.Parameter)
        assert isinstance(buffer, nn.Buffer)
        assert is_lazy(weight)
        assert is_lazy(buffer)
        assert not is_lazy(tl.ones(2))
        assert (weight.requires_grad, buffer.requires_grad, buffer.persistent) == (True, False, False)
        assert repr(weight) == str(weight) == "<UninitializedParameter>"
        assert nn.UninitializedParameter(requires_grad=False, dtype=tl.float64).dtype == tl.float64

    def test_materialize(self):
        weight = nn.UninitializedParameter()
        weight.materialize((2, 3), dtype=tl.float64)
        assert type(weight) is nn.Parameter
        assert (tuple(weight.shape), weight.dtype, weight.requires_grad) == ((2, 3), tl.float64, True)
        (weight * 2).sum().backward()
        assert weight.grad.tolist() == [[2.0] * 3] * 2
        buffer = nn.UninitializedBuffer()
        buffer.materialize((2,))
        assert type(buffer) is tl.Tensor

    @pytest.mark.parametrize(
        "use",
        [
            lambda p: p + 1,
            lambda p: tl.ones(2) * p,
            lambda p: p.detach(),
            lambda p: p.numel(),
            lambda p: len(p),
            lambda p: p.zero_(),
            lambda p: tl.stack([tl.ones(2), p]),
            lambda p: nn.init.zeros_(p),
            lambda p: nn.functional.linear(tl.ones(2), p),
        ],
    )
    def test_nothing_can_be_computed_with_them(self, use):
        for value in (nn.UninitializedParameter(), nn.UninitializedBuffer()):
            with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in tensorlike"):
                use(value)

    def test_they_have_no_shape(self):
        with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
            nn.UninitializedParameter().shape
        with pytest.raises(RuntimeError, match="Can't share memory"):
            nn.UninitializedBuffer().share_memory_()

    def test_they_are_moved_and_copied(self):
        weight = nn.UninitializedParameter()
        assert weight.to(tl.float64).dtype == tl.float64
        for other in (copy.deepcopy(weight), pickle.loads(pickle.dumps(weight))):
            assert is_lazy(other)
            assert other.requires_grad
            other.materialize((3,))
            assert is_lazy(weight)


LAZY = {
    "LazyLinear": ((3,), (2, 5)),
    "LazyConv1d": ((4, 3), (2, 3, 8)),
    "LazyConv2d": ((4, 3), (2, 3, 8, 8)),
    "LazyConv3d": ((4, 3), (2, 3, 4, 4, 4)),
    "LazyConvTranspose1d": ((4, 3), (2, 3, 8)),
    "LazyConvTranspose2d": ((4, 3), (2, 3, 8, 8)),
    "LazyConvTranspose3d": ((4, 3), (2, 3, 4, 4, 4)),
    "LazyBatchNorm1d": ((), (4, 3)),
    "LazyBatchNorm2d": ((), (2, 3, 4, 4)),
    "LazyBatchNorm3d": ((), (2, 3, 2, 2, 2)),
    "LazyInstanceNorm1d": ((), (2, 3, 4)),
    "LazyInstanceNorm2d": ((), (2, 3, 4, 4)),
    "LazyInstanceNorm3d": ((), (2, 3, 2, 2, 2)),
}


def lazy(name):
    return getattr(nn, name)(*LAZY[name][0])


@pytest.mark.parametrize("name", LAZY)
class TestLazyModules:
    def test_the_first_call_makes_them_ordinary(self, name):
        module, x = lazy(name), tl.randn(*LAZY[name][1])
        assert module.has_uninitialized_params()
        before = list(module.parameters())
        module(x)
        assert type(module) is getattr(nn, name.removeprefix("Lazy"))
        assert not module._forward_pre_hooks
        assert not module._load_state_dict_pre_hooks
        assert all(a is b for a, b in zip(before, module.parameters())), "an optimizer keeps its parameters"
        assert not any(is_lazy(v) for v in module.state_dict().values())
        other = type(module)(*_arguments(module, name))
        assert repr(other) == repr(module)
        shapes = [{k: v.shape for k, v in m.state_dict().items()} for m in (other, module)]
        assert shapes[0] == shapes[1]
        for value in module.state_dict().values():
            assert bool(value.isfinite().all())

    def test_loading_a_state_gives_the_shapes(self, name):
        source, x = lazy(name), tl.randn(*LAZY[name][1])
        source(x)
        target = lazy(name)
        assert str(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
        assert not target.has_uninitialized_params()
        source.eval()
        target.eval()
        assert tl.equal(source(x), target(x))
        assert repr(target) == repr(source)

    def test_copies_and_pickles_stay_lazy(self, name):
        module, x = lazy(name), tl.randn(*LAZY[name][1])
        for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert repr(other) == repr(module)
            other(x)
            assert not hasattr(other, "has_uninitialized_params")
        assert module.has_uninitialized_params()

    @pytest.mark.parametrize(
        "convert, dtype",
        [
            (lambda m: m.double(), tl.float64),
            (lambda m: m.to(tl.float64), tl.float64),
            (lambda m: m.to("cpu", tl.float64, non_blocking=True), tl.float64),
            (lambda m: m.to(tl.ones(1, dtype=tl.float64)), tl.float64),
            (lambda m: m.to("cpu"), tl.float32),
            (lambda m: m.to(tl.device("cpu")).cpu().float(), tl.float32),
        ],
    )
    def test_conversions_before_the_first_call_count(self, name, convert, dtype):
        lazy_one = lazy(name)
        module, x = convert(lazy_one), tl.randn(*LAZY[name][1], dtype=dtype)
        assert module is lazy_one
        assert all(is_lazy(p) for p in module.parameters())
        assert module(x).dtype == dtype
        assert all(p.dtype == dtype and p.requires_grad for p in module.parameters())

    def test_another_memory_format_needs_dimensions(self, name):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            lazy(name).to(memory_format=tl.channels_last)

    def test_a_state_without_shapes_fits_lazy_modules_only(self, name):
        state = lazy(name).state_dict()
        assert str(lazy(name).load_state_dict(state)) == "<All keys matched successfully>"
        ordinary = lazy(name)
        ordinary(tl.randn(*LAZY[name][1]))
        with pytest.raises(RuntimeError, match="Can't access the shape"):
            ordinary.load_state_dict(state)

    def test_it_is_freed_by_reference_counting(self, name):
        gc.disable()
        try:
            module = lazy(name)
            watched = weakref.ref(module)
            del module
            assert watched() is None
        finally:
            gc.enable()


def _arguments(module, name):
    if name == "LazyLinear":
        return module.in_features, module.out_features
    if "Conv" in name:
        return module.in_channels, module.out_channels, module.kernel_size
    if "Instance" in name:
        return module.num_features, module.eps, module.momentum, True, True
    return (module.num_features,)


def test_a_sequence_of_lazy_modules():
    module = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    optimizer = tl.optim.SGD(module.parameters(), 0.1)
    module(tl.randn(2, 3, 5, 5)).sum().backward()
    optimizer.step()
    assert [type(m).__name__ for m in module] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]


def test_what_a_lazy_module_has_to_define():
    class Nothing(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def forward(self, x):
            return x

    class TooLittle(Nothing):
        def initialize_parameters(self, x):
            pass

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Nothing"):
        Nothing()(tl.ones(2))
    with pytest.raises(RuntimeError, match="module TooLittle has not been fully initialized"):
        TooLittle()(tl.ones(2))


def test_channels_that_do_not_divide():
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv1d(4, 3, groups=2)(tl.ones(1, 3, 8))
    with pytest.raises(RuntimeError, match="Expected 2D .* or 3D"):
        nn.LazyConv1d(4, 3)(tl.ones(8))
