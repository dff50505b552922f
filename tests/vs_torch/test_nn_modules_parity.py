"""Every module of `nn` against PyTorch's: text, state, signature, errors, outputs and gradients on the same inputs.

One table drives all: the module's name, its arguments, and what its `forward` is called with. In the tables a number or
a tuple of numbers in `I(...)` stands for an input tensor of that shape.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.overrides import TensorLike, rewrap

pytestmark = pytest.mark.filterwarnings("ignore")


class I(NamedTuple):  # noqa: E742
    """An input of a shape: of normal numbers, or of integers below `below`, or ones and minus ones."""

    shape: tuple[int, ...]
    below: int = 0
    least: int = 0
    signs: bool = False
    positive: bool = False
    log_softmax: bool = False


class Case(NamedTuple):
    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    inputs: tuple[Any, ...] = ()
    train: bool = True


def shapes(*sizes: int) -> I:
    return I(sizes)


def ints(below: int, *sizes: int) -> I:
    return I(sizes, below=below)


def signs(*sizes: int) -> I:
    return I(sizes, signs=True)


def positive(*sizes: int) -> I:
    return I(sizes, positive=True)


# A label of CTC is not the blank.
LABELS = I((2, 2), below=4, least=1)
X1, X2, X3 = shapes(2, 4, 7), shapes(2, 4, 6, 5), shapes(2, 2, 4, 5, 3)
PLAIN = (
    "LogSigmoid", "Softsign", "Tanhshrink", "Sigmoid", "Tanh", "Mish", "SELU", "Hardsigmoid", "Hardswish", "SiLU",
    "ReLU", "ReLU6", "GELU", "Hardshrink", "Softshrink", "CELU", "ELU", "LeakyReLU", "Hardtanh", "Softplus", "Identity",
)  # fmt: skip

CASES = [
    *(Case(name, inputs=(shapes(3, 4),)) for name in PLAIN),
    *(Case(name, (), {"inplace": True}) for name in ("Mish", "SELU", "CELU", "Hardsigmoid", "Hardswish", "RReLU")),
    Case("Hardshrink", (0.2,), inputs=(shapes(9),)),
    Case("Softshrink", (0.2,), inputs=(shapes(9),)),
    Case("CELU", (2.0,), inputs=(shapes(9),)),
    Case("Threshold", (0.1, 20), inputs=(shapes(9),)),
    Case("Threshold", (0.1, 20, True)),
    Case("PReLU", (), inputs=(shapes(3, 4),)),
    Case("PReLU", (4, 0.1), inputs=(X2,)),
    Case("RReLU", (0.1, 0.3), inputs=(shapes(9),), train=False),
    Case("RReLU", (0.2, 0.2), inputs=(shapes(9),)),
    Case("GLU", (), inputs=(shapes(3, 4),)),
    Case("GLU", (0,), inputs=(shapes(4, 3),)),
    Case("Softmin", (1,), inputs=(shapes(3, 4),)),
    Case("Softmin", ()),
    Case("Softmax2d", (), inputs=(X2,)),
    Case("Softmax2d", (), inputs=(shapes(3, 2, 2),)),
    Case("Softmax2d", (), inputs=(shapes(3, 2),)),
    # Pools
    *(Case(f"MaxPool{n}d", args, inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3)) for args in ((2,), (2, 1, 1, 2))),
    Case("MaxPool3d", (2,), {"return_indices": True, "ceil_mode": True}, (X3,)),
    Case("MaxPool3d", ((2, 1, 2), (1, 2, 1)), inputs=(X3,)),
    *(Case(f"AvgPool{n}d", args, inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3)) for args in ((2,), (3, 2, 1))),
    Case("AvgPool3d", ((2, 1, 2), 1, 0, True, False, 3), inputs=(X3,)),
    *(Case(f"AdaptiveAvgPool{n}d", (2,), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("AdaptiveAvgPool3d", ((1, None, 2),), inputs=(X3,)),
    *(Case(f"AdaptiveMaxPool{n}d", (2,), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("AdaptiveMaxPool2d", ((3, None), True), inputs=(X2,)),
    *(Case(f"LPPool{n}d", (2, 2), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("LPPool2d", (3.0, (2, 1), 2, True), inputs=(positive(2, 4, 5, 5),)),
    Case("MaxUnpool1d", (2,), inputs=(shapes(1, 2, 3), ints(6, 1, 2, 3))),
    Case("MaxUnpool1d", (2,), inputs=(shapes(1, 2, 3), ints(6, 1, 2, 3), [7])),
    Case("MaxUnpool2d", ((2, 3), 1, 1), inputs=()),
    Case("MaxUnpool2d", (2,), inputs=(shapes(1, 2, 1, 1), ints(4, 1, 2, 1, 1))),
    Case("MaxUnpool3d", (2,), inputs=(shapes(1, 1, 1, 1, 1), ints(8, 1, 1, 1, 1, 1))),
    *(
        Case(f"FractionalMaxPool{n}d", (2, 2), {"_random_samples": s}, (x,))
        for n, x, s in ((2, X2, positive(2, 4, 2)), (3, X3, positive(2, 2, 3)))
    ),
    Case("FractionalMaxPool2d", (2,), {"output_ratio": 0.5, "return_indices": True,
                                       "_random_samples": positive(2, 4, 2)}, (X2,)),
    *(Case("FractionalMaxPool2d", args) for args in ((2,), (2, 1, 0.5), (2, None, 1.5))),
    # Convolutions
    *(Case(f"Conv{n}d", (4 if n < 3 else 2, 2, 3), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("Conv3d", (2, 4, (1, 2, 3), 2, 1, 1, 2, False), inputs=(X3,)),
    Case("Conv3d", (2, 2, 3), {"padding": "same", "padding_mode": "replicate"}, (X3,)),
    Case("Conv3d", (2, 2, 3), {"padding": "same", "stride": 2}),
    *(Case(f"ConvTranspose{n}d", (4 if n < 3 else 2, 2, 3), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("ConvTranspose1d", (4, 6, 3, 2, 1, 1, 2, False, 2), inputs=(X1,)),
    Case("ConvTranspose1d", (4, 2, 3, 2), inputs=(X1, [16])),
    Case("ConvTranspose2d", (4, 2, (3, 2), (2, 1)), inputs=(X2, [2, 2, 14, 6])),
    *(Case("ConvTranspose1d", (4, 2, 3, 2), inputs=(X1, size)) for size in ([9], [1, 2], [1, 2, 3, 4])),
    Case("ConvTranspose1d", (4, 2, 3), {"padding_mode": "reflect"}),
    *(Case(f"ConvTranspose{n}d", (4, 6, 3), {"groups": g}) for n in (1, 2, 3) for g in (0, 2, 3)),
    *(Case(f"LazyConv{n}d", (2, 3), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("LazyConv1d", (4, 3), {"groups": 2, "padding": 1, "padding_mode": "circular", "bias": False}, (X1,)),
    Case("LazyConv1d", (4, 3), {"groups": 3}, ()),
    Case("LazyConv2d", (2, 3), inputs=(shapes(4, 6, 5),)),
    Case("LazyConv2d", (2, 3), inputs=(shapes(4, 6),)),
    *(Case(f"LazyConvTranspose{n}d", (2, 3), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("LazyConvTranspose2d", (4, 3, 2, 1, 1, 2, False), inputs=(X2,)),
    # Linear maps
    Case("Linear", (4, 3), inputs=(shapes(2, 4),)),
    Case("Bilinear", (2, 3, 4), inputs=(shapes(5, 2), shapes(5, 3))),
    Case("Bilinear", (2, 3, 4, False), inputs=(shapes(2, 5, 2), shapes(2, 5, 3))),
    Case("Bilinear", (0, 3, 4)),
    Case("LazyLinear", (3,), inputs=(shapes(2, 5),)),
    Case("LazyLinear", (3, False), inputs=(shapes(5),)),
    # Normalizations
    *(Case(f"BatchNorm{n}d", (c,), inputs=(x,), train=t) for n, c, x in ((1, 4, X1), (2, 4, X2), (3, 2, X3))
      for t in (True, False)),
    Case("BatchNorm3d", (2, 1e-3, None, False), inputs=(X3,)),
    Case("BatchNorm3d", (2,), inputs=(X2,)),
    *(Case(f"InstanceNorm{n}d", (c,), inputs=(x,)) for n, c, x in ((1, 4, X1), (2, 4, X2), (3, 2, X3))),
    *(Case(f"InstanceNorm{n}d", (c,), {"affine": True, "track_running_stats": True}, (x,), t)
      for n, c, x in ((1, 4, X1), (2, 4, X2), (3, 2, X3)) for t in (True, False)),
    Case("InstanceNorm1d", (4,), inputs=(shapes(4, 7),)),
    Case("InstanceNorm1d", (3,), inputs=(X1,)),
    Case("InstanceNorm1d", (3,), {"affine": True}, (X1,)),
    Case("InstanceNorm2d", (3,), {"affine": True, "bias": False}, (shapes(4),)),
    *(Case(f"LazyBatchNorm{n}d", inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    *(Case(f"LazyInstanceNorm{n}d", inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("LazyBatchNorm1d", (), {"affine": False, "momentum": None}, (X1,)),
    *(Case("SyncBatchNorm", (4,), {"momentum": m}, (x,), train)
      for m, x, train in ((0.1, X1, True), (None, X2, True), (0.2, X1, False), (0.1, shapes(5, 4), True))),
    *(Case("SyncBatchNorm", (4,), inputs=(x,)) for x in (shapes(4), shapes(2, 0, 3))),
    Case("LazyBatchNorm2d", (), {"track_running_stats": False, "bias": False}, (X2,)),
    Case("LazyInstanceNorm1d", (), {"affine": False, "track_running_stats": False}, (X1,)),
    Case("LazyBatchNorm1d", inputs=(X2,)),
    Case("GroupNorm", (2, 4), inputs=(X2,)),
    Case("LayerNorm", (5,), inputs=(X2,)),
    Case("RMSNorm", (5,), inputs=(X2,)),
    Case("RMSNorm", ((6, 5), 1e-3, False), inputs=(X2,)),
    Case("LocalResponseNorm", (3,), inputs=(X2,)),
    Case("LocalResponseNorm", (2, 0.5, 0.5, 2.0), inputs=(X1,)),
    # Padding
    *(
        Case(f"{kind}Pad{n}d", args, inputs=(x,))
        for n, x in ((1, X1), (2, X2), (3, X3))
        for kind in ("Reflection", "Replication", "Circular", "Zero")
        for args in ((1,), ((*range(2 * n - 2), 2, 1) if n < 3 else (1, 0, 2, 1, 0, 1),))
    ),
    *(Case(f"ConstantPad{n}d", (1, 3.5), inputs=(x,)) for n, x in ((1, X1), (2, X2), (3, X3))),
    Case("CircularPad2d", (1,), inputs=(X1, )),
    Case("CircularPad2d", (1,), inputs=(shapes(3),)),
    # Rearranging
    Case("Fold", ((4, 5), 2), inputs=(shapes(2, 8, 12),)),
    Case("Unfold", (2, (1, 2), 0, 3), inputs=(X2,)),
    Case("PixelShuffle", (2,), inputs=(shapes(2, 4, 2, 3),)),
    Case("PixelUnshuffle", (2,), inputs=(shapes(2, 1, 4, 6),)),
    Case("ChannelShuffle", (2,), inputs=(X2,)),
    Case("Flatten", inputs=(X2,)),
    Case("Upsample", (), {"scale_factor": 2}, (X2,)),
    Case("Upsample", ((3, 4),), {"mode": "bilinear", "align_corners": True}, (X2,)),
    Case("Upsample", (), {"scale_factor": (2, 1.5), "mode": "bicubic"}, (X2,)),
    Case("Upsample", (5,), {"mode": "linear"}, (X1,)),
    Case("UpsamplingNearest2d", (), {"scale_factor": 2}, (X2,)),
    Case("UpsamplingBilinear2d", (7,), inputs=(X2,)),
    # Dropout, of which the draws are not compared
    *(Case(f"{kind}", (0.5,), inputs=(X2,), train=False)
      for kind in ("Dropout", "Dropout2d", "AlphaDropout", "FeatureAlphaDropout")),
    Case("Dropout3d", (0.5,), inputs=(X3,), train=False),
    *(Case(kind, (1.0,), inputs=(X3,)) for kind in ("Dropout3d", "AlphaDropout", "FeatureAlphaDropout")),
    *(Case(kind, (1.5,)) for kind in ("Dropout3d", "AlphaDropout", "FeatureAlphaDropout")),
    # Distances
    Case("CosineSimilarity", (), inputs=(shapes(3, 4), shapes(3, 4))),
    Case("CosineSimilarity", (0, 0.1), inputs=(shapes(3, 4), shapes(3, 4))),
    Case("PairwiseDistance", (), inputs=(shapes(3, 4), shapes(3, 4))),
    Case("PairwiseDistance", (1.0, 0.1, True), inputs=(shapes(3, 4), shapes(3, 4))),
    # Tables
    Case("EmbeddingBag", (5, 3), inputs=(ints(5, 4, 2),)),
    *(Case("EmbeddingBag", (5, 3), {"mode": mode, "padding_idx": 1}, (ints(5, 4, 2),)) for mode in ("sum", "max")),
    Case("EmbeddingBag", (5, 3, None, 2.0, False, "sum", False), {"include_last_offset": True}, (ints(5, 4, 2),)),
    Case("EmbeddingBag", (5, 3), {"mode": "sum"}, (ints(5, 4, 2), None, shapes(4, 2))),
    Case("EmbeddingBag", (5, 3, 1.0, 1.0), {"padding_idx": -1}),
    Case("EmbeddingBag", (5, 3), {"padding_idx": 7}),
    # Losses
    *(
        Case(name, (), {"reduction": reduction}, inputs)
        for reduction in ("mean", "sum", "none")
        for name, inputs in (
            ("L1Loss", (shapes(3, 4), shapes(3, 4))),
            ("SoftMarginLoss", (shapes(3, 4), signs(3, 4))),
            ("HingeEmbeddingLoss", (shapes(3, 4), signs(3, 4))),
            ("MarginRankingLoss", (shapes(3), shapes(3), signs(3))),
            ("CosineEmbeddingLoss", (shapes(3, 4), shapes(3, 4), signs(3))),
            ("MultiLabelMarginLoss", (shapes(3, 4), ints(4, 3, 4))),
            ("MultiLabelSoftMarginLoss", (shapes(3, 4), positive(3, 4))),
            ("MultiMarginLoss", (shapes(3, 4), ints(4, 3))),
            ("TripletMarginLoss", (shapes(3, 4), shapes(3, 4), shapes(3, 4))),
            ("TripletMarginWithDistanceLoss", (shapes(3, 4), shapes(3, 4), shapes(3, 4))),
            ("PoissonNLLLoss", (shapes(3, 4), ints(5, 3, 4))),
            ("GaussianNLLLoss", (shapes(3, 4), shapes(3, 4), positive(3, 4))),
            ("NLLLoss2d", (shapes(2, 3, 2, 2), ints(3, 2, 2, 2))),
            ("CTCLoss", (I((6, 2, 4), log_softmax=True), LABELS, (6, 5), (2, 1))),
        )
    ),
    Case("HingeEmbeddingLoss", (0.5,), inputs=(shapes(3), signs(3))),
    Case("MarginRankingLoss", (0.5,), inputs=(shapes(3), shapes(3), signs(3))),
    Case("CosineEmbeddingLoss", (0.5,), inputs=(shapes(3, 4), shapes(3, 4), signs(3))),
    Case("MultiMarginLoss", (2, 0.5), inputs=(shapes(3, 4), ints(4, 3))),
    Case("MultiMarginLoss", (3,)),
    Case("MultiMarginLoss", (1, 1.0, positive(2, 2))),
    Case("MultiMarginLoss", (1, 1.0, positive(4)), inputs=(shapes(3, 4), ints(4, 3))),
    Case("MultiLabelSoftMarginLoss", (positive(4),), inputs=(shapes(3, 4), positive(3, 4))),
    Case("TripletMarginLoss", (2.0, 1.0, 1e-3, True), inputs=(shapes(3, 4), shapes(3, 4), shapes(3, 4))),
    Case("TripletMarginLoss", (-1.0,)),
    Case("TripletMarginWithDistanceLoss", (), {"margin": -1.0}),
    Case("PoissonNLLLoss", (False, True, None, 0.1), inputs=(positive(3, 4), ints(5, 3, 4))),
    Case("GaussianNLLLoss", (), {"full": True, "eps": 0.5}, (shapes(3, 4), shapes(3, 4), 0.3)),
    Case("SoftMarginLoss", (False,)),
    Case("CTCLoss", (3, "sum", True), inputs=(I((3, 2, 4), log_softmax=True), ints(3, 2, 3), (3, 3), (3, 1))),
    Case("AdaptiveLogSoftmaxWithLoss", (8, 12, [4, 8], 2.0), inputs=(shapes(5, 8), ints(12, 5))),
    Case("AdaptiveLogSoftmaxWithLoss", (8, 12, [4], 2.0, True), inputs=(shapes(8), ints(12))),
    *(Case("AdaptiveLogSoftmaxWithLoss", (8, 12, cutoffs)) for cutoffs in ([], [3, 3], [12], [0], [5, 3])),
    *(
        Case("AdaptiveLogSoftmaxWithLoss", (8, 12, [4], 2.0), inputs=inputs)
        for inputs in ((shapes(2, 8), ints(3, 1)), (shapes(2, 8), ints(2, 1, 2)), (shapes(2, 8), ints(2)))
    ),
    Case("LinearCrossEntropyLoss", (2, 3), inputs=(shapes(4, 2), ints(3, 4))),
    Case("LinearCrossEntropyLoss", (2, 3), {"out_features": (5,), "bias": True}, (shapes(4, 2), ints(3, 4, 5))),
    Case("LinearCrossEntropyLoss", (2, 3), {"weight": positive(3), "ignore_index": 1, "label_smoothing": 0.1,
                                            "reduction": "sum"}, (shapes(4, 2), ints(3, 4))),
]  # fmt: skip


def made(value: Any, library: Any, random: np.random.Generator, requires_grad: bool = False) -> Any:
    """Return what stands in a table as a value of one library."""
    if isinstance(value, I):
        if value.below:
            array = random.integers(value.least, value.below, value.shape)
        else:
            array = random.standard_normal(value.shape).astype(np.float32)
            if value.signs:
                array = np.where(array > 0, 1, -1).astype(np.float32)
            if value.positive:
                array = (np.abs(array) % 0.9 + 0.05).astype(np.float32)
        tensor = library.tensor(np.asarray(array).tolist(), dtype=library.int64 if value.below else library.float32)
        tensor = tensor.reshape(value.shape)
        if value.log_softmax:
            tensor = tensor.log_softmax(-1)
        # Targets of losses have no gradient in PyTorch.
        free = value.below or value.signs or value.positive
        return tensor.requires_grad_() if requires_grad and not free else tensor
    if isinstance(value, (tuple, dict)):
        if isinstance(value, dict):
            return {k: made(v, library, random, requires_grad) for k, v in value.items()}
        return tuple(made(v, library, random, requires_grad) for v in value)
    return value


def module_of(case: Case, library: Any) -> Any:
    random = np.random.default_rng(0)
    args, kwargs = made(case.args, library, random), made(case.kwargs, library, random)
    return getattr(library.nn, case.name)(*args, **kwargs).train(case.train)


def tensors(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in tensors(item)]
    return [value] if hasattr(value, "detach") else []


def filled(module: Any, library: Any) -> None:
    """Give parameters the same values in both libraries."""
    random = np.random.default_rng(1)
    with library.no_grad():
        for parameter in module.parameters():
            values = random.standard_normal(tuple(parameter.shape)).astype(np.float32)
            parameter.copy_(library.tensor(values.tolist(), dtype=library.float32).reshape(tuple(parameter.shape)))


def run(case: Case, library: Any) -> Any:
    """Return outputs, gradients and state of a module: everything that the libraries must agree on."""
    module = module_of(case, library)
    inputs = made(case.inputs, library, np.random.default_rng(2), requires_grad=True)
    if case.name.startswith("Lazy"):
        module(*inputs)
    filled(module, library)
    result = module(*inputs)
    outputs = [t for t in tensors(result) if t.requires_grad]
    leaves = [t for t in tensors(inputs) if t.requires_grad] + list(module.parameters())
    gradients = []
    if outputs:
        random = np.random.default_rng(3)
        weights = [
            library.tensor(random.standard_normal(tuple(t.shape)).tolist(), dtype=t.dtype).reshape(tuple(t.shape))
            for t in outputs
        ]
        gradients = library.autograd.grad(outputs, leaves, weights, allow_unused=True)
    return module, tensors(result), gradients


def attempt(function: Any, *args: Any) -> tuple[Any, Exception | None]:
    try:
        return function(*args), None
    except Exception as error:
        return None, error


def title(case: Case) -> str:
    return f"{case.name}{case.args}{case.kwargs or ''}{[tuple(i) if isinstance(i, I) else i for i in case.inputs]}"


def assert_values(ours: Any, theirs: Any, what: str) -> None:
    assert (ours is None) == (theirs is None), what
    if theirs is not None:
        assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2], what
        np.testing.assert_allclose(
            ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-4, atol=2e-5, err_msg=what, strict=True
        )


@pytest.mark.parametrize("case", [c for c in CASES if c.inputs], ids=title)
def test_outputs_and_gradients(case: Case) -> None:
    theirs, their_error = attempt(run, case, torch)
    ours, error = attempt(run, case, tl)
    if their_error is not None or error is not None:
        assert isinstance(error, type(their_error)), f"{error!r}, PyTorch raises {their_error!r}"
        return
    module, outputs, gradients = ours
    their_module, their_outputs, their_gradients = theirs
    assert repr(module) == repr(their_module)
    assert type(module).__name__ == type(their_module).__name__
    assert len(outputs) == len(their_outputs)
    for number, (one, other) in enumerate(zip(outputs, their_outputs)):
        assert one.requires_grad == other.requires_grad
        assert_values(one, other, f"output {number}")
    assert len(gradients) == len(their_gradients)
    for number, (one, other) in enumerate(zip(gradients, their_gradients)):
        assert_values(one, other, f"gradient {number}")
    state, their_state = module.state_dict(), their_module.state_dict()
    assert list(state) == list(their_state)
    for key, value in their_state.items():
        assert_values(state[key], value, key)


class Wrapped(TensorLike, unhandled=rewrap):
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def unwrap(self) -> Any:
        return self.tensor

    @classmethod
    def wrap(cls, tensor: Any, like: Wrapped) -> Wrapped:
        return cls(tensor)


def wrapped(value: Any) -> Any:
    return Wrapped(value) if isinstance(value, tl.Tensor) else value


@pytest.mark.parametrize("case", [c for c in CASES if c.inputs], ids=title)
def test_a_type_that_rewraps_is_taken(case: Case) -> None:
    """A tensor-like type in place of the inputs: the same values or the same kind of error, in its instances."""
    results = []
    for change in (lambda value: value, wrapped):
        tl.manual_seed(0)
        module, error = attempt(module_of, case, tl)
        if error is None:
            inputs = made(case.inputs, tl, np.random.default_rng(2))
            tl.manual_seed(0)
            results.append(attempt(module, *map(change, inputs)))
    if not results:
        return
    (dense, dense_error), (found, error) = results
    assert type(error) is type(dense_error), error
    dense, found = tensors(dense), tensors(found)
    assert len(dense) == len(found)
    for one, other in zip(dense, found):
        assert type(other) is Wrapped
        assert_values(other.tensor, one, case.name)


@pytest.mark.parametrize("case", CASES, ids=title)
def test_text_state_and_attributes(case: Case) -> None:
    theirs, their_error = attempt(module_of, case, torch)
    ours, error = attempt(module_of, case, tl)
    if their_error is not None or error is not None:
        assert isinstance(error, type(their_error)), f"{error!r}, PyTorch raises {their_error!r}"
        return
    assert repr(ours).replace("tensorlike", "torch") == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        if torch.nn.parameter.is_lazy(value):
            assert repr(ours.state_dict()[key]) == repr(value)
        else:
            assert tuple(ours.state_dict()[key].shape) == tuple(value.shape)
    public = {k: repr(v) for k, v in vars(theirs).items() if not k.startswith("_")}
    assert {k: repr(v) for k, v in vars(ours).items() if not k.startswith("_")} == public
    assert repr(copy.deepcopy(ours)) == repr(ours)
    assert repr(pickle.loads(pickle.dumps(ours))) == repr(ours)


#: The modules that are not compared here: containers, and those of other tests.
ELSEWHERE = {
    "Container", "CrossMapLRN2d",
    "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential", "LinearCrossEntropyOptions",
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "Embedding", "Unflatten",
}  # fmt: skip
RECURRENT = ("RNN", "GRU", "LSTM", "Transformer", "Multihead")


def module_names() -> list[str]:
    kinds = {n: getattr(tl.nn, n) for n in tl.nn.__all__ if not n.startswith(RECURRENT)}
    return [n for n, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, tl.nn.Module)]


@pytest.mark.parametrize("name", module_names())
def test_constructors_take_the_same_arguments(name: str) -> None:
    ours, theirs = (getattr(library.nn, name).__init__ for library in (tl, torch))
    shown = [
        [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()] for f in (ours, theirs)
    ]  # fmt: skip
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", [n for n in module_names() if not n.endswith(("Module", "List", "Dict", "Container"))])
def test_forward_takes_the_same_arguments(name: str) -> None:
    ours, theirs = (getattr(library.nn, name).forward for library in (tl, torch))
    assert [p.name for p in inspect.signature(ours).parameters.values()] == [
        p.name for p in inspect.signature(theirs).parameters.values()
    ]


def test_every_module_of_pytorch_is_here() -> None:
    theirs = [n for n in dir(torch.nn) if isinstance(getattr(torch.nn, n), type) and not n.startswith(RECURRENT)]
    assert [n for n in theirs if not hasattr(tl.nn, n)] == []


def test_every_module_is_compared() -> None:
    assert sorted(set(module_names()) - {c.name for c in CASES} - ELSEWHERE - {"BCELoss", "BCEWithLogitsLoss"}) == [
        "CrossEntropyLoss", "Dropout1d", "HuberLoss", "KLDivLoss", "LogSoftmax", "MSELoss", "NLLLoss", "SmoothL1Loss",
        "Softmax",
    ]  # fmt: skip
