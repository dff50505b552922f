"""The memory formats of results and of input gradients beside PyTorch's, function by function.

Each function is called with an input in the format of images (or volumes) and with a contiguous one; a gradient in
either format, or expanded from one element, then goes back through it. Compared are values and strides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tensorlike as tl
from tests.helpers.parity import quietly

#: The format of the input and that of the gradient: channels last, contiguous, or expanded from one element.
CASES = ("last last", "last contiguous", "last expanded", "contiguous last", "contiguous contiguous")

Program = Callable[[Any, Any, Any], Any]


def waves(library: Any, *shape: int) -> Any:
    """Return numbers without pattern, the same in both libraries."""
    return (library.arange(math.prod(shape)).reshape(shape) + 1.0).sin()


def places(library: Any, *shape: int) -> Any:
    """Return indices for max unpooling with windows of two elements."""
    count = len(shape) - 2
    found = library.arange(math.prod(shape[2:])).reshape((1, 1, *shape[2:])) * 2**count
    return found.expand(shape).contiguous()


#: Functions of images of the shape (2, 4, 6, 6): of the library, its `nn.functional` and the image.
IMAGES: dict[str, Program] = {
    "conv2d": lambda L, F, x: F.conv2d(x, waves(L, 5, 4, 3, 3), waves(L, 5)),
    "conv2d, weight last": lambda L, F, x: F.conv2d(x, waves(L, 5, 4, 3, 3).to(memory_format=L.channels_last)),
    "conv2d, groups": lambda L, F, x: F.conv2d(x, waves(L, 8, 1, 3, 3), groups=4, padding=1),
    "conv2d, points": lambda L, F, x: F.conv2d(x, waves(L, 8, 4, 1, 1)),
    "conv2d, one channel": lambda L, F, x: F.conv2d(x, waves(L, 1, 4, 1, 1)),
    "conv2d, one image": lambda L, F, x: F.conv2d(x[0], waves(L, 5, 4, 3, 3)),
    "conv2d, one image, weight last": lambda L, F, x: F.conv2d(
        x[0], waves(L, 5, 4, 3, 3).to(memory_format=L.channels_last)
    ),
    "conv2d, slices of channels": lambda L, F, x: F.conv2d(x[:, 1:3], waves(L, 5, 2, 3, 3)),
    "conv_transpose2d": lambda L, F, x: F.conv_transpose2d(x, waves(L, 4, 5, 3, 3), stride=2),
    "a block": lambda L, F, x: F.max_pool2d(
        F.relu(F.batch_norm(F.conv2d(x, waves(L, 5, 4, 3, 3)), None, None, training=True)), 2
    ),
    "batch_norm": lambda L, F, x: F.batch_norm(x, None, None, waves(L, 4), waves(L, 4), training=True),
    "batch_norm, running": lambda L, F, x: F.batch_norm(x, L.zeros(4), L.ones(4), waves(L, 4)),
    "group_norm": lambda L, F, x: F.group_norm(x, 2, waves(L, 4), waves(L, 4)),
    "group_norm, plain": lambda L, F, x: F.group_norm(x, 2),
    "native_group_norm": lambda L, F, x: L.native_group_norm(x, None, None, 2, 4, 36, 2, 1e-5)[0],
    "instance_norm": lambda L, F, x: F.instance_norm(x, None, None, waves(L, 4), waves(L, 4)),
    "layer_norm": lambda L, F, x: F.layer_norm(x, (4, 6, 6)),
    "rms_norm": lambda L, F, x: F.rms_norm(x, (6,)),
    "local_response_norm": lambda L, F, x: F.local_response_norm(x, 2),
    "normalize": lambda L, F, x: F.normalize(x),
    "max_pool2d": lambda L, F, x: F.max_pool2d(x, 2),
    "max_pool2d, indices": lambda L, F, x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "avg_pool2d": lambda L, F, x: F.avg_pool2d(x, 2),
    "avg_pool2d, padded": lambda L, F, x: F.avg_pool2d(x, 3, 2, 1),
    "lp_pool2d": lambda L, F, x: F.lp_pool2d(x, 2, 2),
    "adaptive_avg_pool2d": lambda L, F, x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_avg_pool2d, uneven": lambda L, F, x: F.adaptive_avg_pool2d(x, 4),
    "adaptive_avg_pool2d, one": lambda L, F, x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_max_pool2d": lambda L, F, x: F.adaptive_max_pool2d(x, 2),
    "adaptive_max_pool2d, indices": lambda L, F, x: F.adaptive_max_pool2d(x, 4, return_indices=True),
    "fractional_max_pool2d": lambda L, F, x: F.fractional_max_pool2d(
        x, 2, output_size=3, _random_samples=L.full((2, 4, 2), 0.3)
    ),
    "max_unpool2d": lambda L, F, x: F.max_unpool2d(x, places(L, 2, 4, 6, 6), 2),
    "nearest": lambda L, F, x: F.interpolate(x, scale_factor=2),
    "nearest, same size": lambda L, F, x: F.interpolate(x, size=(6, 6)),
    "nearest-exact": lambda L, F, x: F.interpolate(x, size=(9, 5), mode="nearest-exact"),
    "bilinear": lambda L, F, x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bilinear, same size": lambda L, F, x: F.interpolate(x, size=(6, 6), mode="bilinear"),
    "bilinear, aligned": lambda L, F, x: F.interpolate(x, size=(4, 9), mode="bilinear", align_corners=True),
    "bilinear, smooth": lambda L, F, x: F.interpolate(x, size=(4, 3), mode="bilinear", antialias=True),
    "bicubic": lambda L, F, x: F.interpolate(x, size=(4, 9), mode="bicubic"),
    "bicubic, smooth": lambda L, F, x: F.interpolate(x, size=(4, 3), mode="bicubic", antialias=True),
    "area": lambda L, F, x: F.interpolate(x, size=(3, 3), mode="area"),
    "grid_sample": lambda L, F, x: F.grid_sample(x, waves(L, 2, 3, 3, 2), align_corners=False),
    "pad": lambda L, F, x: F.pad(x, (1, 2, 1, 1), value=3.0),
    "pad, cutting": lambda L, F, x: F.pad(x, (-1, 2, 1, -1)),
    "pad, channels": lambda L, F, x: F.pad(x, (0, 0, 0, 0, 0, 3)),
    "pad, reflect": lambda L, F, x: F.pad(x, (1, 2, 1, 1), mode="reflect"),
    "pad, reflect channels": lambda L, F, x: F.pad(x, (1, 2, 1, 1, 1, 1), mode="reflect"),
    "pad, replicate": lambda L, F, x: F.pad(x, (1, 2, 1, 1), mode="replicate"),
    "pad, circular": lambda L, F, x: F.pad(x, (1, 2, 1, 1), mode="circular"),
    "pixel_shuffle": lambda L, F, x: F.pixel_shuffle(x, 2),
    "pixel_shuffle, channels": lambda L, F, x: F.pixel_shuffle(L.cat([x, x], 1), 2),
    "pixel_unshuffle": lambda L, F, x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda L, F, x: F.channel_shuffle(x, 2),
    "dropout": lambda L, F, x: F.dropout(x, 0.5),
    "dropout2d": lambda L, F, x: F.dropout2d(x, 0.5),
    "alpha_dropout": lambda L, F, x: F.alpha_dropout(x, 0.5, True),
    "feature_alpha_dropout": lambda L, F, x: F.feature_alpha_dropout(x, 0.5, True),
    "native_dropout": lambda L, F, x: L.native_dropout(x, 0.5, True),
    "softmax": lambda L, F, x: F.softmax(x, 1),
    "log_softmax": lambda L, F, x: F.log_softmax(x, 3),
    "glu": lambda L, F, x: F.glu(x, 1),
    "prelu": lambda L, F, x: F.prelu(x, waves(L, 4)),
    "relu": lambda L, F, x: F.relu(x),
    "silu": lambda L, F, x: F.silu(x),
    "gelu": lambda L, F, x: F.gelu(x),
    "leaky_relu": lambda L, F, x: F.leaky_relu(x),
    "elu": lambda L, F, x: F.elu(x),
    "hardtanh": lambda L, F, x: F.hardtanh(x),
    "hardswish": lambda L, F, x: F.hardswish(x),
    "softplus": lambda L, F, x: F.softplus(x),
    "logsigmoid": lambda L, F, x: F.logsigmoid(x),
    "unfold": lambda L, F, x: F.unfold(x, 2),
    "clone": lambda L, F, x: x.clone(),
    "contiguous": lambda L, F, x: x.contiguous(),
    "flatten": lambda L, F, x: x.flatten(1),
    "scale of channels": lambda L, F, x: x * waves(L, 2, 4, 1, 1),
    "sum with its result": lambda L, F, x: x + F.relu(x),
    "cat": lambda L, F, x: L.cat([x, x * 2], 1),
    "cat of batches": lambda L, F, x: L.cat([x, x * 2], 0),
    "cat with a contiguous one": lambda L, F, x: L.cat([x, waves(L, 2, 4, 6, 6)], 1),
    "stack": lambda L, F, x: L.stack([x, x]),
    "chunk": lambda L, F, x: x.chunk(2, 1)[0] * 1,
    "flip": lambda L, F, x: x.flip(3),
    "roll": lambda L, F, x: x.roll(1, 3),
    "index of channels": lambda L, F, x: x[:, [0, 2]],
    "index of the batch": lambda L, F, x: x[[1, 0]],
    "index_select": lambda L, F, x: x.index_select(1, L.tensor([0, 2])),
    "amax": lambda L, F, x: x.amax(1, keepdim=True),
    "cumsum": lambda L, F, x: x.cumsum(1),
    "transpose": lambda L, F, x: x.transpose(2, 3) * 2,
}

#: Functions of volumes of the shape (2, 4, 4, 4, 4).
VOLUMES: dict[str, Program] = {
    "conv3d": lambda L, F, x: F.conv3d(x, waves(L, 5, 4, 2, 2, 2)),
    "conv_transpose3d": lambda L, F, x: F.conv_transpose3d(x, waves(L, 4, 5, 2, 2, 2)),
    "batch_norm, volumes": lambda L, F, x: F.batch_norm(x, None, None, training=True),
    "group_norm, volumes": lambda L, F, x: F.group_norm(x, 2, waves(L, 4), waves(L, 4)),
    "instance_norm, volumes": lambda L, F, x: F.instance_norm(x),
    "local_response_norm, volumes": lambda L, F, x: F.local_response_norm(x, 2),
    "max_pool3d": lambda L, F, x: F.max_pool3d(x, 2),
    "max_pool3d, indices": lambda L, F, x: F.max_pool3d(x, 2, return_indices=True),
    "avg_pool3d": lambda L, F, x: F.avg_pool3d(x, 2),
    "lp_pool3d": lambda L, F, x: F.lp_pool3d(x, 2, 2),
    "adaptive_avg_pool3d": lambda L, F, x: F.adaptive_avg_pool3d(x, 2),
    "adaptive_avg_pool3d, uneven": lambda L, F, x: F.adaptive_avg_pool3d(x, 3),
    "adaptive_avg_pool3d, one": lambda L, F, x: F.adaptive_avg_pool3d(x, 1),
    "adaptive_max_pool3d": lambda L, F, x: F.adaptive_max_pool3d(x, 2),
    "fractional_max_pool3d": lambda L, F, x: F.fractional_max_pool3d(
        x, 2, output_size=2, _random_samples=L.full((2, 4, 3), 0.3)
    ),
    "max_unpool3d": lambda L, F, x: F.max_unpool3d(x, places(L, 2, 4, 4, 4, 4), 2),
    "nearest, volumes": lambda L, F, x: F.interpolate(x, scale_factor=2),
    "trilinear": lambda L, F, x: F.interpolate(x, scale_factor=2, mode="trilinear"),
    "area, volumes": lambda L, F, x: F.interpolate(x, size=(2, 2, 2), mode="area"),
    "pad, volumes": lambda L, F, x: F.pad(x, (1, 2, 1, 1)),
    "pad, reflect volumes": lambda L, F, x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="reflect"),
    "pad, replicate volumes": lambda L, F, x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="replicate"),
    "pad, circular volumes": lambda L, F, x: F.pad(x, (1, 1, 1, 1, 1, 1), mode="circular"),
    "dropout3d": lambda L, F, x: F.dropout3d(x, 0.5),
    "channel_shuffle, volumes": lambda L, F, x: F.channel_shuffle(x, 2),
    "prelu, volumes": lambda L, F, x: F.prelu(x, waves(L, 4)),
    "softmax, volumes": lambda L, F, x: F.softmax(x, 1),
    "grid_sample, volumes": lambda L, F, x: F.grid_sample(x, waves(L, 2, 3, 3, 3, 3), align_corners=False),
    "cat, volumes": lambda L, F, x: L.cat([x, x * 2], 1),
}

RANDOM = {
    "dropout", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "native_dropout",
}  # fmt: skip

MIXED = (
    "the operands of an elementwise function (the gradient and a saved value) lie in different orders: NumPy's result "
    "is contiguous then, PyTorch's in the order of the first operand"
)
EXPANDED = "a gradient that is one number expanded has no order: ours is that of the other operand, or of none"
KEPT = "PyTorch's result or gradient is contiguous for a reason of its kernel; ours keeps the format"
VIEW = "the gradient of a mean is a view, one number expanded for each mean; PyTorch writes it out"
LOST = "the function is written for any dimensions, and gives contiguous results or gradients"

#: The known differences: names and the cases in which they differ, with the reason.
DIFFERENT: tuple[tuple[str, str, str], ...] = (
    ("silu; gelu; elu; hardtanh; hardswish; softplus; sum with its result", "contiguous last", MIXED),
    ("rms_norm; normalize; dropout; alpha_dropout; native_dropout", "contiguous last", MIXED),
    ("prelu; prelu, volumes; relu; leaky_relu", "last contiguous", MIXED),
    ("rms_norm; native_dropout; leaky_relu; elu", "last expanded", EXPANDED),
    ("logsigmoid", "last last; last contiguous; last expanded; contiguous last", KEPT),
    ("rms_norm", "last contiguous", KEPT),
    ("adaptive_avg_pool2d, one", "; ".join(CASES), VIEW),
    ("adaptive_avg_pool3d, one", "; ".join(CASES), VIEW),
    ("local_response_norm; local_response_norm, volumes", "last last; contiguous last", LOST),
    ("stack; index of the batch", "last last; last contiguous; last expanded", LOST),
)


def reason_of(name: str, case: str) -> str | None:
    for names, cases, reason in DIFFERENT:
        if name in names.split("; ") and case in cases.split("; "):
            return reason
    return None


def in_format(library: Any, tensor: Any, last: bool) -> Any:
    found = {4: library.channels_last, 5: library.channels_last_3d}.get(tensor.dim()) if last else None
    return tensor.clone(memory_format=found or library.contiguous_format)


def steps(tensor: Any) -> Any:
    """Return the strides; those of dimensions of one element say nothing."""
    return [step for step, n in zip(tensor.stride(), tensor.shape) if n != 1]


def run(library: Any, function: Program, shape: tuple[int, ...], case: str) -> tuple[list[Any], list[Any]]:
    of_input, of_gradient = case.split()
    x = in_format(library, waves(library, *shape), of_input == "last").requires_grad_()
    found = function(library, library.nn.functional, x)
    results = list(found) if isinstance(found, tuple) else [found]
    size = tuple(results[0].shape)
    if of_gradient == "expanded":
        upstream = library.ones(()).expand(size)
    else:
        upstream = in_format(library, library.ones(size), of_gradient == "last")
    results.append(library.autograd.grad(results[0], x, upstream)[0])
    return [t.detach().tolist() for t in results], [steps(t) for t in results]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", [*IMAGES, *VOLUMES])
def test_formats_are_pytorchs(name: str, case: str) -> None:
    function, shape = (IMAGES[name], (2, 4, 6, 6)) if name in IMAGES else (VOLUMES[name], (2, 4, 4, 4, 4))
    values, strides = run(tl, function, shape, case)
    expected, expected_strides = quietly(run, torch, function, shape, case)
    if name not in RANDOM:
        for ours, theirs in zip(values, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    reason = reason_of(name, case)
    if reason is None:
        assert strides == expected_strides
    else:
        assert strides != expected_strides, f"no longer different: {reason}"


#: Leaves in any order, and losses whose gradients reach them in another: of the library, and a function of the leaf.
LEAVES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "an image": (
        lambda L: waves(L, 2, 3, 4, 4).to(memory_format=L.channels_last), lambda L, x: (x * waves(L, 2, 3, 4, 4)).sum()
    ),
    "an image, summed": (lambda L: waves(L, 2, 3, 4, 4).to(memory_format=L.channels_last), lambda L, x: x.sum()),
    "an image, flattened": (
        lambda L: waves(L, 2, 3, 4, 4).to(memory_format=L.channels_last), lambda L, x: x.flatten(1).square().sum()
    ),
    "a transposed matrix": (lambda L: waves(L, 3, 4).t(), lambda L, x: (x * waves(L, 4, 3)).sum()),
    "a weight": (lambda L: waves(L, 3, 4).t(), lambda L, x: L.nn.functional.linear(L.ones(2, 3), x).sum()),
    "rows with gaps": (lambda L: waves(L, 8, 6)[::2, ::2], lambda L, x: (x.t() * 2).sum()),
    "a contiguous matrix": (lambda L: waves(L, 3, 4), lambda L, x: (x.t() * waves(L, 4, 3)).sum()),
    "numbers expanded": (lambda L: waves(L, 3, 1).expand(3, 4), lambda L, x: (x.t() * waves(L, 4, 3)).sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
def test_the_gradient_of_a_leaf_lies_as_the_leaf(name: str) -> None:
    make, loss = LEAVES[name]

    def found(library: Any) -> Any:
        leaf, seen = make(library).requires_grad_(), []
        for _ in range(2):
            loss(library, leaf).backward()
            seen.append((leaf.grad.stride(), leaf.grad.tolist()))
        return seen

    for (ours, values), (theirs, expected) in zip(found(tl), found(torch), strict=True):
        assert ours == theirs
        np.testing.assert_allclose(values, expected, rtol=1e-5)


def test_modules_and_their_gradients_take_a_format() -> None:
    def found(library: Any) -> Any:
        last = library.channels_last
        model = library.nn.Sequential(
            library.nn.Conv2d(1, 4, 3, padding=1), library.nn.BatchNorm2d(4), library.nn.ReLU(inplace=True),
            library.nn.Conv2d(4, 2, 3), library.nn.Flatten(), library.nn.Linear(32, 3),
        )  # fmt: skip
        seen = []
        back = {"dtype": library.float64, "memory_format": library.contiguous_format}
        for options in ({"memory_format": last}, back):
            assert model.to(**options) is model
            dtype = options.get("dtype", library.float32)
            x = waves(library, 2, 1, 6, 6).to(dtype=dtype, memory_format=last)
            model(x).sum().backward()
            seen += [(p.stride(), p.grad.stride()) for p in model.parameters()]
            seen += [model[:4](x).stride(), model[0](x).stride()]
        return seen

    assert found(tl) == found(torch)


@pytest.mark.parametrize("library", [tl, torch])
def test_modules_refuse_other_formats(library: Any) -> None:
    with pytest.raises(TypeError, match="memory_format"):
        library.nn.Linear(2, 2).to(memory_format=3)
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        library.nn.Conv3d(1, 2, 2).to(memory_format=library.channels_last)


#: What PyTorch takes for an image with the channels last: strides of dimensions of one element count for `to`.
CONVERSIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "to": lambda L, x, last: x.to(memory_format=last),
    "to, again": lambda L, x, last: x.to(memory_format=last).to(memory_format=last),
    "to contiguous": lambda L, x, last: x.to(memory_format=last).to(memory_format=L.contiguous_format),
    "transposed, to contiguous": lambda L, x, last: x.transpose(2, 3).to(memory_format=L.contiguous_format),
    "contiguous": lambda L, x, last: x.contiguous(memory_format=last),
    "clone": lambda L, x, last: x.clone(memory_format=last),
    "convolved": lambda L, x, last: L.nn.functional.conv2d(x.to(memory_format=last), L.ones(3, x.size(1), 1, 1)),
}


@pytest.mark.parametrize("shape", [(2, 1, 4, 4), (2, 5, 1, 1), (1, 1, 1, 1), (2, 3, 4, 1)])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_of_images_with_dimensions_of_one_element(name: str, shape: tuple[int, ...]) -> None:
    def found(library: Any) -> Any:
        x = library.ones(shape)
        y = CONVERSIONS[name](library, x, library.channels_last)
        return y.stride(), y is x, y.data_ptr() == x.data_ptr() and bool(x.numel())

    assert found(tl) == found(torch)
