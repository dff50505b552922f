"""What a tensor says of its place in the graph and in memory, under the names that types and libraries read."""

from __future__ import annotations

import warnings
from collections import OrderedDict

import pytest
import torch

import tensorlike as tl

ATTRIBUTES = (
    "_version", "_base", "_grad", "grad", "grad_fn", "_grad_fn", "output_nr", "is_leaf", "requires_grad",
    "retains_grad", "_backward_hooks", "_post_accumulate_grad_hooks", "name", "volatile", "is_sparse",
    "is_sparse_csr", "is_quantized", "is_nested", "is_mkldnn", "is_mps", "is_meta", "is_xla", "is_ipu", "is_xpu",
    "is_vulkan", "is_maia", "is_mtia", "is_cpu", "is_cuda", "itemsize", "nbytes", "ndim", "shape", "dtype", "layout",
)  # fmt: skip
METHODS = (
    "_is_view", "is_pinned", "is_coalesced", "dense_dim", "sparse_dim", "is_inference", "is_distributed", "is_shared",
    "is_contiguous", "is_conj", "is_neg", "is_complex", "is_floating_point", "is_signed", "storage_offset", "stride",
    "numel", "element_size", "data_ptr", "get_device", "dim", "nelement", "ndimension",
)  # fmt: skip


def tensors(library):
    leaf = library.ones(2, requires_grad=True)
    computed = leaf * 2
    plain = library.ones(2, 3)
    written = library.ones(4)
    written.add_(1)
    written[:2].mul_(2)
    hooked = library.ones(2, requires_grad=True)
    hooked.register_hook(lambda grad: grad)
    hooked_computed = library.ones(2, requires_grad=True) * 2
    hooked_computed.register_hook(lambda grad: None)
    post = library.ones(2, requires_grad=True)
    post.register_post_accumulate_grad_hook(lambda tensor: None)
    with_grad = library.ones(2, requires_grad=True)
    (with_grad * 3).sum().backward()
    retaining = library.ones(2, requires_grad=True) * 2
    retaining.retain_grad()
    with library.no_grad():
        under_no_grad = leaf[:1]
    with library.inference_mode():
        inferred = library.ones(2)
    return {
        "leaf": leaf,
        "computed": computed,
        "plain": plain,
        "view": plain[:1],
        "view of view": plain.t()[1:],
        "view of computed": computed[:1],
        "second of unbind": library.unbind(leaf * 1)[1],
        "detached": computed.detach(),
        "data": leaf.data,
        "written": written,
        "view of written": written[1:],
        "parameter": library.nn.Parameter(library.ones(2)),
        "frozen": library.nn.Parameter(library.ones(2), requires_grad=False),
        "hooked": hooked,
        "hooked computed": hooked_computed,
        "post hook": post,
        "with grad": with_grad,
        "retaining": retaining,
        "view under no_grad": under_no_grad,
        "inference": inferred,
        "expanded": library.ones(1).expand(3),
        "empty": library.ones(0),
        "zero-dimensional": library.tensor(3),
        "bool": library.tensor([True]),
        "complex": library.ones(2, dtype=library.complex64),
    }


THEIRS, OURS = tensors(torch), tensors(tl)


def described(value):
    """What both libraries can be compared by."""
    if isinstance(value, (torch.Tensor, tl.Tensor)):
        return ("tensor", tuple(value.shape), value.detach().tolist())
    if isinstance(value, OrderedDict):
        return ("hooks", len(value))
    if type(value).__name__.endswith("Backward0"):
        return ("node", type(value).__name__)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return tuple(value)
    return str(value).replace("torch", "tensorlike")


def asked(question):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(question())
        except Exception as error:
            return (type(error).__name__, str(error).partition("\n")[0])


@pytest.mark.parametrize("state", THEIRS)
def test_attributes(state):
    for name in ATTRIBUTES:
        theirs, ours = (asked(lambda side=side, name=name: getattr(side[state], name)) for side in (THEIRS, OURS))
        assert theirs == ours, name


@pytest.mark.parametrize("state", THEIRS)
def test_methods(state):
    for name in METHODS:
        if name == "data_ptr":
            assert isinstance(OURS[state].data_ptr(), int)
            continue
        theirs, ours = (asked(lambda side=side, name=name: getattr(side[state], name)()) for side in (THEIRS, OURS))
        assert theirs == ours, name


READ_ONLY = (
    "_version", "output_nr", "is_leaf", "grad_fn", "_base", "retains_grad", "device", "dtype", "shape", "layout",
    "is_sparse", "itemsize", "nbytes", "ndim", "T", "is_cuda", "is_quantized", "name",
)  # fmt: skip


@pytest.mark.parametrize("name", READ_ONLY)
def test_what_cannot_be_set_or_deleted(name):
    for library in (torch, tl):
        x = library.ones(2)
        with pytest.raises(AttributeError):
            setattr(x, name, 1)
        with pytest.raises(AttributeError):
            delattr(x, name)


@pytest.mark.parametrize("library", [torch, tl], ids=["torch", "tensorlike"])
class TestHooks:
    def test_they_can_be_replaced(self, library):
        x = library.ones(2, requires_grad=True)
        x.register_hook(lambda grad: grad * 10)
        x._backward_hooks = OrderedDict({0: lambda grad: grad * 3})
        x.sum().backward()
        assert x.grad.tolist() == [3, 3]
        x._backward_hooks = None
        x.grad = None
        x.sum().backward()
        assert x.grad.tolist() == [1, 1]
        assert x._backward_hooks is None

    def test_those_after_accumulation_too(self, library):
        seen = []
        x = library.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(seen.append)
        assert list(x._post_accumulate_grad_hooks.values()) == [seen.append]
        x.sum().backward()
        assert [y is x for y in seen] == [True]

    def test_they_stay_with_new_data(self, library):
        x = library.ones(2, requires_grad=True)
        x.register_hook(lambda grad: grad * 10)
        x.data = library.zeros(3)
        x.sum().backward()
        assert x.grad.tolist() == [10, 10, 10]

    def test_they_cannot_be_deleted(self, library):
        with pytest.raises(RuntimeError, match="not allowed"):
            del library.ones(2)._backward_hooks

    def test_gradients_can_be_deleted_by_either_name(self, library):
        for name in ("grad", "_grad"):
            x = library.ones(2, requires_grad=True)
            x.sum().backward()
            delattr(x, name)
            assert x.grad is None
            assert x._grad is None


def test_requires_grad_is_a_bool():
    for library in (torch, tl):
        x = library.ones(2)
        with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
            x.requires_grad = 1
        with pytest.raises(TypeError, match="bool"):
            library.nn.Parameter(x, 1)


def test_legacy_new():
    for library in (torch, tl):
        x = library.ones(2, dtype=library.float64)
        assert x.new([1, 2]).tolist() == [1.0, 2.0]
        assert x.new((2, 3)).tolist() == [2.0, 3.0]
        assert tuple(x.new(2, 3).shape) == tuple(x.new(library.Size([2, 3])).shape) == (2, 3)
        assert tuple(x.new().shape) == (0,)
        assert {str(y.dtype).rpartition(".")[2] for y in (x.new(), x.new(1), x.new([1]))} == {"float64"}
        alias = x.new(x)
        assert alias is not x
        assert alias.data_ptr() == x.data_ptr()
        for wrong in (3.0, None, "a", x.float()):
            with pytest.raises(TypeError):
                x.new(wrong)


def test_names_of_types():
    class Named:
        pass

    for make in (
        lambda L: L.ones(1), lambda L: L.ones(1, dtype=L.int64), lambda L: 3, lambda L: Named, lambda L: Named(),
        lambda L: L.nn.Linear(1, 1), lambda L: len,
    ):  # fmt: skip
        theirs, ours = (L.typename(make(L)).replace("torch.", "tensorlike.") for L in (torch, tl))
        assert theirs == ours
    assert [L.is_storage(L.ones(1).untyped_storage()) for L in (torch, tl)] == [True, True]
    assert [L.is_storage(L.ones(1)) for L in (torch, tl)] == [False, False]


@pytest.mark.parametrize(
    "name", ["loss._Loss", "loss._WeightedLoss", "batchnorm._NormBase", "conv._ConvNd", "dropout._DropoutNd"]
)
def test_base_classes_of_modules(name):
    """Libraries ask `isinstance` of a family of modules, and derive their own from its base class."""
    module, _, base = name.partition(".")
    expected, ours = (getattr(getattr(library.nn.modules, module), base) for library in (torch, tl))
    derived = {
        key
        for key, cls in vars(torch.nn).items()
        if isinstance(cls, type) and issubclass(cls, expected) and hasattr(tl.nn, key)
    }
    assert len(derived) >= 5
    assert derived == {key for key, cls in vars(tl.nn).items() if isinstance(cls, type) and issubclass(cls, ours)}
