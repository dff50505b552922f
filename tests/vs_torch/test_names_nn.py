"""The names of `torch.nn` that extension code imports: files, base classes, deprecated functions, one device."""

import copy
import importlib
import inspect
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl

RNG = np.random.default_rng(0)


def own_classes(file: str) -> list[str]:
    module = importlib.import_module(f"torch.nn.modules.{file}")
    return [n for n, kind in vars(module).items() if inspect.isclass(kind) and kind.__module__ == module.__name__]


FILES = (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
    "fold", "instancenorm", "lazy", "linear", "loss", "module", "normalization", "padding", "pixelshuffle", "pooling",
    "rnn", "sparse", "transformer", "upsampling", "utils",
)  # fmt: skip
#: Classes of PyTorch's own that nothing derives from, with the reason.
PRIVATE = {
    "_WrappedHook": "holds a hook", "_IncompatibleKeys": "is IncompatibleKeys of nn.modules._state",
    "_LazyProtocol": "is for PyTorch's type checker", "_LazyConvXdMixin": "is LazyConvolution",
    "_LazyNormBase": "is LazyNorm", "_ConvTransposeMixin": "is from before _ConvTransposeNd",
}  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_files_have_their_classes(file):
    module = importlib.import_module(f"tensorlike.nn.modules.{file}")
    absent = [n for n in own_classes(file) if not hasattr(module, n)]
    assert [n for n in absent if n not in PRIVATE] == []
    for name in own_classes(file):
        if hasattr(tl.nn, name):
            assert getattr(module, name) is getattr(tl.nn, name)


@pytest.mark.parametrize(
    "base, derived",
    [
        ("conv._ConvNd", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "LazyConv2d"]),
        ("conv._ConvTransposeNd", ["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]),
        ("batchnorm._BatchNorm", ["BatchNorm1d", "BatchNorm3d", "SyncBatchNorm"]),
        ("batchnorm._NormBase", ["BatchNorm2d", "InstanceNorm2d"]),
        ("instancenorm._InstanceNorm", ["InstanceNorm1d"]),
        ("pooling._MaxPoolNd", ["MaxPool1d", "MaxPool3d"]),
        ("pooling._AvgPoolNd", ["AvgPool1d", "AvgPool2d"]),
        ("pooling._AdaptiveMaxPoolNd", ["AdaptiveMaxPool2d"]),
        ("pooling._AdaptiveAvgPoolNd", ["AdaptiveAvgPool2d"]),
        ("pooling._LPPoolNd", ["LPPool2d"]),
        ("pooling._MaxUnpoolNd", ["MaxUnpool2d"]),
        ("padding._ReflectionPadNd", ["ReflectionPad2d"]),
        ("padding._ReplicationPadNd", ["ReplicationPad2d"]),
        ("padding._CircularPadNd", ["CircularPad2d"]),
        ("padding._ConstantPadNd", ["ConstantPad2d", "ZeroPad2d"]),
        ("dropout._DropoutNd", ["Dropout", "Dropout2d"]),
        ("loss._Loss", ["MSELoss", "CrossEntropyLoss", "TripletMarginLoss"]),
        ("loss._WeightedLoss", ["CrossEntropyLoss", "MultiMarginLoss"]),
    ],
)
def test_base_classes(base, derived):
    for library in (torch, tl):
        file, name = base.split(".")
        kind = getattr(importlib.import_module(f"{library.__name__}.nn.modules.{file}"), name)
        assert all(issubclass(getattr(library.nn, one), kind) for one in derived)


class TestConvolutionsOfUsers:
    """Classes derived from `_ConvNd` pass it PyTorch's arguments."""

    @pytest.mark.parametrize(
        "padding, mode", [((1, 2), "zeros"), ("same", "zeros"), ("valid", "reflect"), ((1, 1), "circular")]
    )
    def test_arguments_and_attributes(self, padding, mode):
        facts = []
        for library in (torch, tl):
            conv = importlib.import_module(f"{library.__name__}.nn.modules.conv")

            class Standardized(conv._ConvNd):
                def __init__(self):
                    super().__init__(
                        4, 6, (3, 5), (1, 1), padding, (1, 1), False, (0, 0), 2, True, mode
                    )  # fmt: skip

            module = Standardized()
            facts.append((
                tuple(module.weight.shape), tuple(module.bias.shape), list(module._reversed_padding_repeated_twice),
                repr(module), sorted(module.__constants__) if library is torch else None,
            )[:4])  # fmt: skip
        assert facts[0] == facts[1]

    def test_transposed(self):
        shapes = []
        for library in (torch, tl):
            conv = importlib.import_module(f"{library.__name__}.nn.modules.conv")
            module = conv._ConvTransposeNd(4, 6, (3,), (2,), (0,), (1,), True, (1,), 2, False, "zeros")
            shapes.append((tuple(module.weight.shape), module.output_padding, module.transposed, module.bias))
            with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for'):
                conv._ConvTransposeNd(4, 6, (3,), (2,), (0,), (1,), True, (1,), 2, False, "reflect")
        assert shapes[0] == shapes[1]


class TestUtils:
    @pytest.mark.parametrize("name", ["_single", "_pair", "_triple", "_quadruple"])
    def test_tuples(self, name):
        for value in (3, (1, 2), [4, 5], "ab"):
            results = [
                getattr(importlib.import_module(f"{library.__name__}.nn.modules.utils"), name)(value)
                for library in (torch, tl)
            ]
            assert results[0] == results[1]

    def test_reversed_and_defaults(self):
        results = []
        for library in (torch, tl):
            utils = importlib.import_module(f"{library.__name__}.nn.modules.utils")
            found = [utils._reverse_repeat_tuple((1, 2, 3), 2), utils._list_with_default([None, 3], [5, 6, 7])]
            with pytest.raises(ValueError, match="Input dimension should be at least 3"):
                utils._list_with_default([None, 3], [5, 6])
            results.append(found)
        assert results[0] == results[1]

    def test_prefix(self):
        found = []
        for library in (torch, tl):
            utils = importlib.import_module(f"{library.__name__}.nn.modules.utils")
            linear = library.nn.Linear(2, 2)
            state = library.nn.DataParallel(library.nn.Sequential(linear, library.nn.BatchNorm1d(2))).state_dict()
            utils.consume_prefix_in_state_dict_if_present(state, "module.")
            found.append((list(state), {k: dict(v) for k, v in state._metadata.items()}))
        assert found[0][0] == found[1][0]
        assert "0" in found[1][1]
        assert "module.0" not in found[1][1]
        assert set(found[0][1]) - {"", "module"} == set(found[1][1]) - {"", "module"}


NAMES_OF_INIT = {
    "uniform": (), "normal": (), "constant": (2.0,), "eye": (), "dirac": (), "xavier_uniform": (), "xavier_normal": (),
    "kaiming_uniform": (), "kaiming_normal": (), "orthogonal": (), "sparse": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES_OF_INIT)
def test_deprecated_names_of_init(name):
    shape = (2, 2, 3) if name == "dirac" else (4, 4)
    messages = []
    for library in (torch, tl):
        function = getattr(library.nn.init, name)
        assert function.__name__ == name
        tensor = library.zeros(*shape)
        with pytest.warns(FutureWarning) as caught:
            assert function(tensor, *NAMES_OF_INIT[name]) is tensor
        assert bool(tensor.any())
        messages.append([str(w.message) for w in caught])
        assert caught[0].filename == __file__
    assert messages[0] == messages[1]


def test_unrecorded_fills():
    for library in (torch, tl):
        init = library.nn.init
        leaf = library.ones(100, requires_grad=True)
        assert init._no_grad_fill_(leaf, 3.0).eq(3).all()
        assert init._no_grad_zero_(leaf).eq(0).all()
        assert init._no_grad_uniform_(leaf, 1.0, 2.0).min() >= 1
        assert init._no_grad_normal_(leaf, 50.0, 1.0).min() > 40
        assert init._no_grad_trunc_normal_(leaf, 0.0, 1.0, -1.0, 1.0).abs().max() <= 1
        assert leaf.is_leaf
        assert leaf.requires_grad


def test_reductions():
    from torch.nn import _reduction as theirs

    from tensorlike.nn import _reduction as ours

    for name in ("none", "mean", "elementwise_mean", "sum"):
        if name != "elementwise_mean":
            assert ours.get_enum(name) == theirs.get_enum(name)
    for average in (None, True, False):
        for reduce in (None, True, False):
            with warnings.catch_warnings(record=True):
                warnings.simplefilter("always")
                assert ours.legacy_get_string(average, reduce) == theirs.legacy_get_string(average, reduce)
            assert ours.legacy_get_enum(average, reduce, False) == theirs.legacy_get_enum(average, reduce, False)
    for one in (ours, theirs):
        with pytest.raises(ValueError, match="x is not a valid value for reduction"):
            one.get_enum("x")


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_convolutions(n, groups):
    size = (7, 6, 5)[:n]
    image, weight = RNG.standard_normal((2, 4, *size)), RNG.standard_normal((6, 4 // groups, *(3,) * n))
    options = {"stride": 2, "padding": 1, "dilation": 1, "groups": groups}
    found = []
    for library in (torch, tl):
        grad = importlib.import_module(f"{library.__name__}.nn.grad")
        conv = getattr(library.nn.functional, f"conv{n}d")
        x, w = library.tensor(image), library.tensor(weight)
        output = conv(x, w, None, **options)
        upstream = library.ones_like(output)
        assert not getattr(grad, f"conv{n}d_input")(image.shape, w, upstream, **options).requires_grad
        upstream.requires_grad_()
        by_input = getattr(grad, f"conv{n}d_input")(image.shape, w, upstream, **options)
        by_weight = getattr(grad, f"conv{n}d_weight")(x, weight.shape, upstream, **options)
        (second,) = library.autograd.grad(by_input.square().sum() + by_weight.sum(), upstream)
        found.append([t.detach().numpy() for t in (by_input, by_weight, second)])
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_cross_map_normalization(size):
    values = RNG.standard_normal((2, 6, 3, 2))
    results = [library.nn.CrossMapLRN2d(size, 0.1, 0.7, 1.5)(library.tensor(values)).numpy() for library in (torch, tl)]
    np.testing.assert_allclose(*results, atol=1e-12)
    assert repr(tl.nn.CrossMapLRN2d(size)) == repr(torch.nn.CrossMapLRN2d(size))
    tl.autograd.gradcheck(tl.nn.CrossMapLRN2d(size), tl.tensor(values, requires_grad=True))


class TestSynchronizedBatchNormalization:
    def test_converted(self):
        texts = []
        for library in (torch, tl):
            nn = library.nn
            inner = nn.BatchNorm2d(3, affine=False, momentum=None)
            module = nn.Sequential(nn.BatchNorm1d(2, eps=1e-3), nn.Linear(2, 2), nn.Sequential(inner)).eval()
            weight = module[0].weight
            converted = nn.SyncBatchNorm.convert_sync_batchnorm(module, "group")
            assert converted is module
            assert converted[0].weight is weight
            assert converted[2][0].running_var is inner.running_var
            assert converted[0].process_group == "group"
            assert not converted[0].training
            texts.append(repr(converted))
            alone = nn.BatchNorm1d(2)
            assert nn.SyncBatchNorm.convert_sync_batchnorm(alone) is not alone
        assert texts[0] == texts[1]


class TestOneDevice:
    def test_data_parallel(self):
        facts = []
        for library in (torch, tl):
            module = library.nn.DataParallel(library.nn.Linear(2, 3))
            facts.append((repr(module), list(module.state_dict()), module.device_ids))
            x = library.ones(4, 2)
            assert library.equal(module(x), module.module(x))
            assert copy.deepcopy(module).state_dict().keys() == module.state_dict().keys()
        assert facts[0] == facts[1]
        # PyTorch's asks for a GPU.
        assert tl.equal(tl.nn.parallel.data_parallel(module.module, (x,)), module(x))

    def test_distributed_data_parallel(self):
        from tensorlike.nn.parallel import DistributedDataParallel

        assert not isinstance(tl.nn.Linear(1, 1), DistributedDataParallel)
        with pytest.raises(RuntimeError, match="no processes compute together"):
            DistributedDataParallel(tl.nn.Linear(1, 1))


def test_container():
    for library in (torch, tl):
        with pytest.warns(FutureWarning, match=r"`nn.Container` is deprecated"):
            module = library.nn.Container(first=library.nn.Linear(1, 1))
        assert list(module.state_dict()) == ["first.weight", "first.bias"]


def test_common_types():
    from torch.nn import common_types as theirs

    from tensorlike.nn import common_types as ours

    for name in dir(theirs):
        if name.endswith("_t"):
            text = str(getattr(ours, name)).replace("tensorlike.tensor.tensor.Tensor", "torch.Tensor")
            assert text == str(getattr(theirs, name)), name
