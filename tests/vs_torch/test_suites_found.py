"""What PyTorch's own test suites found: the same answers and the same errors as PyTorch's."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tensorlike as tl
from tests.helpers.messages import bare

LARGE = 2**29


def _write(lib: Any, values: Any) -> None:
    x = lib.arange(4)
    x[x > -1] = lib.tensor(values)


#: A call that both refuse, and words that both messages have.
REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an index into a dimension without elements": (
        lambda lib: lib.empty(10, 0)[:, [0, 1]], "index is out of bounds for dimension with size 0"
    ),
    "indices into two dimensions, one without elements": (
        lambda lib: lib.empty(0, 3)[[1], [7]], "index is out of bounds for dimension with size 0"
    ),
    "too few values of another dtype for a mask": (
        lambda lib: _write(lib, [1.0, 2.0, 3.0]),
        "shape mismatch: value tensor of shape [3] cannot be broadcast to indexing result of shape [4]",
    ),
    "no values for a mask": (
        lambda lib: _write(lib, []),
        "shape mismatch: value tensor of shape [0] cannot be broadcast to indexing result of shape [4]",
    ),
    "values of another dtype and of more dimensions for a mask": (
        lambda lib: _write(lib, [[[1.0, 2.0, 3.0, 4.0]]]), "Index put requires the source and destination dtypes match"
    ),
    "values of another dtype for a mask": (
        lambda lib: _write(lib, [1.0, 2.0, 3.0, 4.0]), "Index put requires the source and destination dtypes match"
    ),
    "out= of nonzero as a tuple": (
        lambda lib: lib.nonzero(lib.ones(2), as_tuple=True, out=lib.empty(0, dtype=lib.int64)),
        "does not support the out kwarg when as_tuple is True",
    ),
    "out= of nonzero of another dtype": (
        lambda lib: lib.nonzero(lib.ones(2), out=lib.empty(0)), "Expected out tensor to have scalar type Long"
    ),
    "a row that a bag's table lacks, with padding": (
        lambda lib: lib.nn.functional.embedding_bag(lib.tensor([[-1, 1]]), lib.ones(3, 2), padding_idx=0),
        "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be -1",
    ),
    "a row that a bag's table lacks, for the maximum": (
        lambda lib: lib.embedding_bag(lib.ones(3, 2), lib.tensor([11, 1]), lib.tensor([0]), mode=2),
        "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 11",
    ),
    "padding outside of a bag's table": (
        lambda lib: lib.nn.functional.embedding_bag(lib.tensor([[1]]), lib.ones(4, 2), padding_idx=-5),
        "padding_idx must be within the number of embeddings, -4 through 3, but got -5",
    ),
    "padding outside of the table of torch.embedding_bag": (
        lambda lib: lib.embedding_bag(
            lib.ones(4, 2), lib.tensor([1]), lib.tensor([0]), False, 0, False, None, False, 4
        ),
        "padding_idx must be within the number of embeddings, -4 through 3, but got 4",
    ),
    "bags of indices in three dimensions": (
        lambda lib: lib.embedding_bag(lib.ones(4, 2), lib.tensor([[[1]]]), lib.tensor([0])),
        "input has to be a 1D or 2D Tensor, but got Tensor of dimension 3",
    ),
    "a lazy module as a program": (
        lambda lib: lib.jit.script(lib.nn.Sequential(lib.nn.LazyLinear(3))),
        "LazyLinear' has uninitialized parameters weight. Did you forget to run a forward pass?",
    ),
    "a lazy buffer as a program": (
        lambda lib: lib.jit.script(lib.nn.LazyBatchNorm1d(affine=False)),
        "LazyBatchNorm1d' has uninitialized buffers running_mean. Did you forget to run a forward pass?",
    ),
    "a trace of a lazy module": (
        lambda lib: lib.jit.trace(lib.nn.LazyLinear(3), lib.ones(1, 2)),
        "has uninitialized parameters weight. Did you forget to run a forward pass?",
    ),
    "no sequence of operands": (lambda lib: lib.overrides.has_torch_function(object()), "expected a sequence"),
    "more bytes than can be counted": (
        lambda lib: lib.empty((), dtype=lib.float64).resize_([2, 4, LARGE, LARGE]),
        "Storage size calculation overflowed with sizes=[2, 4, 536870912, 536870912]",
    ),
    "strides that cannot be counted": (
        lambda lib: lib.empty(()).resize_([0, 4, 2**61]), "Stride calculation overflowed"
    ),
    "too few tensors as out=": (
        lambda lib: lib.split_copy(lib.arange(4.0), 2, out=[lib.empty(2)]),
        "expected an out= argument of size 2, got size 1",
    ),
    "maxima of a batch without channels": (
        lambda lib: lib.nn.functional.adaptive_max_pool1d(lib.ones(1, 0, 4), 3),
        "adaptive_max_pool1d(): Expected input to have non-zero size for non-batch dimensions",
    ),
    "averages of volumes without channels": (
        lambda lib: lib.nn.functional.adaptive_avg_pool3d(lib.ones(1, 0, 4, 4, 4), 3),
        "adaptive_avg_pool3d(): Expected input to have non-zero size for non-batch dimensions",
    ),
    "unpooling without channels": (
        lambda lib: lib.nn.functional.max_unpool2d(lib.ones(1, 0, 2, 2), lib.ones(1, 0, 2, 2).long(), 2),
        "Expected input to have non-zero size for non-batch dimensions",
    ),
    "too few sizes of a random pooling's windows": (
        lambda lib: lib.nn.functional.fractional_max_pool2d(lib.ones(2, 7, 7), (1,), 3),
        "fractional_max_pool2d: kernel_size must either be a single Int or tuple of",
    ),
    "too few sizes of a random pooling's result": (
        lambda lib: lib.nn.functional.fractional_max_pool3d(lib.ones(2, 7, 7, 7), 2, (3,)),
        "fractional_max_pool3d: output_size must either be a single Int or tuple of",
    ),
    "more windows than can be counted": (
        lambda lib: lib.nn.AdaptiveMaxPool1d(2**62 - 1)(lib.ones(2, 2, 2)), "sizes"
    ),
    "the size of an element of no dtype": (lambda lib: lib._utils._element_size(3), "expected torch.dtype"),
}  # fmt: skip


# PyTorch warns that its programs are going away.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_pytorch(name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(Exception, match=re.escape(words)) as theirs:
        call(torch)
    with pytest.raises(theirs.type, match=re.escape(words.replace("torch.", "tensorlike."))):
        call(tl)


@pytest.mark.parametrize("name", ["bool", "int16", "float64", "complex128", "bfloat16"])
def test_element_size(name: str) -> None:
    assert tl._utils._element_size(getattr(tl, name)) == torch._utils._element_size(getattr(torch, name))  # type: ignore[no-untyped-call]


def test_split_copy_writes_out() -> None:
    for lib in (tl, torch):
        parts = [lib.zeros(2), lib.zeros(1)]
        lib.split_copy(lib.arange(3.0), 2, out=parts)  # type: ignore[operator]
        assert [part.tolist() for part in parts] == [[0.0, 1.0], [2.0]]


def test_current_modes() -> None:
    for lib in (tl, torch):
        overrides: Any = lib.overrides
        assert (overrides._get_current_function_mode(), overrides._get_current_function_mode_stack()) == (None, [])
        with overrides.BaseTorchFunctionMode() as outer, overrides.BaseTorchFunctionMode() as inner:
            assert overrides._get_current_function_mode() is inner
            assert overrides._get_current_function_mode_stack() == [outer, inner]


@pytest.mark.parametrize("name", ["LazyLinear", "LazyConv2d", "LazyBatchNorm1d"])
def test_lazy_modules_are_pickled(name: str) -> None:
    for lib in (tl, torch):
        layer = getattr(lib.nn, name)(*{"LazyLinear": (3,), "LazyConv2d": (3, 2)}.get(name, ()))
        copy = pickle.loads(pickle.dumps(layer))
        state = {**dict(copy.named_parameters()), **dict(copy.named_buffers())}
        assert [type(value).__name__ for value in state.values()] == [
            type(value).__name__ for value in (*layer.parameters(), *layer.buffers())
        ]
        assert type(copy.weight) is lib.nn.UninitializedParameter
        assert copy.weight.requires_grad


VIEWED = {
    "rows": lambda x: x.reshape(4, 6),
    "transposed": lambda x: x.reshape(4, 6).T,
    "steps": lambda x: x.reshape(4, 6)[:, ::2],
    "odd offset": lambda x: x.reshape(4, 6)[:, 1:3],
    "odd rows": lambda x: x[:21].reshape(3, 7)[:, :2],
    "even part": lambda x: x.reshape(3, 8)[:, 2:6],
    "outer dimensions": lambda x: x.reshape(2, 3, 4).transpose(0, 1),
    "expanded": lambda x: x[:3].reshape(3, 1).expand(3, 4),
    "one element": lambda x: x[0],
    "no rows": lambda x: x[:0].reshape(0, 4),
    "one column": lambda x: x.reshape(12, 2)[:, :1],
    "one of two": lambda x: x[::2][:1],
}


@pytest.mark.parametrize("to", ["float64", "int32", "int16", "uint8"])
@pytest.mark.parametrize("of", ["float64", "float32", "int16", "int8"])
@pytest.mark.parametrize("shape", list(VIEWED))
def test_a_view_of_another_element_size(shape, of, to):
    def found(t):
        x = VIEWED[shape](t.arange(24).to(getattr(t, of)))
        try:
            y = x.view(getattr(t, to))
        except RuntimeError as error:
            return str(error).removeprefix("view(): ").partition("; call")[0]
        return tuple(y.shape), y.stride(), y.storage_offset(), y.tolist()

    # Not by their text: numbers of bits that are no number are not equal to themselves.
    assert repr(found(tl)) == repr(found(torch))


def test_gradients_are_asked_for_by_tuples() -> None:
    def seen(lib: Any) -> list[Any]:
        calls: list[Any] = []

        class Recording(lib.Tensor):  # type: ignore[name-defined,misc]
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
            ) -> Any:
                calls.append((func.__name__, [type(a).__name__ for a in args]))
                return super().__torch_function__(func, types, args, kwargs or {})

        x = lib.tensor([1.0], requires_grad=True).as_subclass(Recording)
        y = x * 2
        lib.autograd.grad(y, x, retain_graph=True)
        lib.autograd.grad([y], [x])
        return calls

    assert seen(tl) == seen(torch)
    assert seen(tl)[1:] == [("grad", ["tuple", "tuple"])] * 2


def test_zeros_for_unused_inputs_can_be_differentiated_again() -> None:
    for lib in (tl, torch):
        x, a = lib.tensor(0.5, requires_grad=True), lib.tensor(1.0, requires_grad=True)
        first = lib.autograd.grad(x * a, x, create_graph=True)
        second = lib.autograd.grad(first, x, create_graph=True, allow_unused=True, materialize_grads=True)
        assert second[0].requires_grad
        assert lib.autograd.grad(second, x, materialize_grads=True)[0].item() == 0


def test_nodes_are_called_with_gradients() -> None:
    for lib in (tl, torch):
        x = lib.tensor([3.0, 4.0], requires_grad=True)
        assert (x + x).grad_fn(lib.ones(2))[0].tolist() == [1.0, 1.0]
        assert x.exp().log().grad_fn(lib.ones(2)).tolist() == pytest.approx([1 / 20.0855, 1 / 54.5982], rel=1e-4)
        parts = x.unbind()
        assert parts[0].grad_fn(lib.tensor(5.0), lib.tensor(6.0)).tolist() == [5.0, 6.0]
        for given in ((), (lib.ones(2), lib.ones(2))):
            with pytest.raises(TypeError, match=f"expected 1 arguments, got {len(given)} instead"):
                x.exp().grad_fn(*given)


def test_a_mode_with_a_classmethod_is_refused() -> None:
    for lib in (tl, torch):

        class Mode(lib.overrides.TorchFunctionMode):  # type: ignore[name-defined,misc]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return -1

        refused = pytest.raises(RuntimeError, match="as a classmethod is not supported, please make it a plain method")
        with refused, Mode():
            lib.ones(2)


def test_modes_see_sparse_tensors_being_made() -> None:
    for lib in (tl, torch):

        class Mode(lib.overrides.TorchFunctionMode):  # type: ignore[name-defined,misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return func.__name__

        with Mode():
            assert lib.sparse_coo_tensor([[1]], [1.0], (2,)) == "sparse_coo_tensor"


def test_dispatch_is_switched_on_again() -> None:
    for lib in (tl, torch):

        class Mode(lib.overrides.TorchFunctionMode):  # type: ignore[name-defined,misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return "seen"

        with Mode(), lib._C.DisableTorchFunction():
            assert lib.ones(1) != "seen"
            with lib._C._EnableTorchFunction():
                assert lib.ones(1) == "seen"
            assert lib.ones(1) != "seen"


def test_arguments_of_to_are_parsed() -> None:
    def parsed(lib: Any, *args: Any, **kwargs: Any) -> list[str]:
        found = lib._C._nn._parse_to(*args, **kwargs)
        return [str(item).removeprefix("torch.").removeprefix("tensorlike.") for item in found]

    for call in (
        lambda lib: parsed(lib, "cpu"),
        lambda lib: parsed(lib, lib.float64, True),
        lambda lib: parsed(lib, lib.ones(1, dtype=lib.float16)),
        lambda lib: parsed(lib, device="cpu", dtype=lib.float32, non_blocking=True),
        lambda lib: parsed(lib, memory_format=lib.channels_last),
    ):
        assert call(tl) == call(torch)


def test_switches_are_set_by_contexts_alone_once_they_are_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorlike.backends import _flags

    for lib in (tl, torch):
        if lib is tl:
            monkeypatch.setattr(_flags, "_frozen", False)
        else:
            monkeypatch.setattr(torch.backends, "__allow_nonbracketed_mutation_flag", True)
        backends: Any = lib.backends
        assert not backends.flags_frozen()
        backends.disable_global_flags()
        assert backends.flags_frozen()
        for module in (backends.cudnn, backends.mkldnn):
            with pytest.raises(RuntimeError, match="flags after disable_global_flags; please use flags"):
                module.enabled = False
        with backends.cudnn.flags(enabled=False):
            assert not backends.cudnn.enabled
        assert backends.cudnn.enabled
        assert backends.flags_frozen()


def test_modes_are_compared() -> None:
    from torch.utils._mode_utils import all_same_mode

    from tensorlike.utils import _mode_utils

    for modes in ([1, 1], [1, 2], [3]):
        assert _mode_utils.all_same_mode(modes) == all_same_mode(modes)


def test_the_number_of_a_level() -> None:
    for lib in (tl, torch):
        forward_ad: Any = lib.autograd.forward_ad
        assert forward_ad._current_level == -1
        with forward_ad.dual_level():
            assert forward_ad._current_level == 0


def test_shapes_of_given_gradients() -> None:
    for lib in (tl, torch):
        x = lib.ones(2, 2, requires_grad=True)
        with pytest.raises(RuntimeError) as error:
            lib.autograd.grad(x * 1, x, lib.ones(2))
        text = bare(error.value).replace("tensorlike", "torch")
        assert text == (
            "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of "
            "torch.Size([2, 2])."
        )


NAN = float("nan")

#: Tables of one or two columns, and indices in one bag each: equal maxima, NaN in different places, infinities.
MAXIMA = {
    "equal rows": ([[1.0, 2.0], [1.0, 2.0], [0.0, 2.0]], [[2, 1, 0, 1], [0, 1, 2, 2], [1, 0, 0, 1]]),
    "NaN": ([[1.0], [NAN], [2.0]], [[0, 1, 2], [1, 0, 2], [0, 2, 1]]),
    "infinities": ([[-float("inf")], [float("inf")], [-float("inf")]], [[2, 0], [0, 1], [0, 2]]),
}


@pytest.mark.parametrize("padding_idx", [None, 0])
@pytest.mark.parametrize("name", MAXIMA)
def test_the_first_maximum_of_a_bag_gets_the_gradient(name: str, padding_idx: int | None) -> None:
    table, bags = MAXIMA[name]

    def found(lib: Any) -> str:
        weight = lib.tensor(table, requires_grad=True)
        out = lib.nn.functional.embedding_bag(lib.tensor(bags), weight, mode="max", padding_idx=padding_idx)
        out.sum().backward()
        rows = lib.embedding_bag(
            weight, lib.tensor(bags[0]), lib.tensor([0]), False, 2, False, None, False, padding_idx
        )  # fmt: skip
        return repr((out.tolist(), weight.grad.tolist(), rows[3].tolist()))

    assert found(tl) == found(torch)


@pytest.mark.parametrize("last", [2, 3, 4])
@pytest.mark.parametrize("padding_idx", [None, 6, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_where_the_last_bag_ends(mode: str, dtype: str, padding_idx: int | None, last: int) -> None:
    if mode == "mean" and padding_idx is None and dtype != "float64" and last != 4:
        pytest.skip("PyTorch divides by the number of indices of a bag that goes on to the end of the input")

    def found(lib: Any) -> tuple[Any, ...]:
        table = lib.arange(1.0, 11.0).reshape(10, 1).to(getattr(lib, dtype)).requires_grad_()
        arguments = (lib.tensor([0, 1, 2, 3]), table, lib.tensor([0, 2, last]))
        out = lib.nn.functional.embedding_bag(*arguments, mode=mode, include_last_offset=True, padding_idx=padding_idx)
        number = ["sum", "mean", "max"].index(mode)
        same = lib.embedding_bag(
            table, arguments[0], arguments[2], False, number, False, None, True, padding_idx
        )  # fmt: skip
        assert same[0].tolist() == out.tolist()
        if last == 4 or mode == "max" or padding_idx is not None or dtype == "float64":
            # Elsewhere the memory that PyTorch's backward pass reads was not written.
            out.sum().backward()
            return out.tolist(), table.grad.tolist()
        return (out.tolist(),)

    assert found(tl) == found(torch)


@pytest.mark.parametrize("rows", [0, 3])
def test_sparse_gradients_of_a_table_without_columns(rows: int) -> None:
    for lib in (tl, torch):
        embedding = lib.nn.Embedding(rows, 0, sparse=True)  # type: ignore[attr-defined]
        embedding(lib.tensor([0, 1, 1][:rows], dtype=lib.int64)).sum().backward()
        grad = embedding.weight.grad
        assert (grad.is_sparse, tuple(grad.shape), grad._nnz()) == (True, (rows, 0), 0)
