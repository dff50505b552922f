"""Programs as users write them, side by side: small networks in `channels_last`, in-place activations, shared weights.

Compared are the values and the strides of results, gradients and states.
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


def waves(library: Any, *shape: int) -> Any:
    return (library.arange(math.prod(shape), dtype=library.float32) * 0.37).cos().reshape(shape)


def image(library: Any, *shape: int) -> Any:
    return waves(library, *shape).to(memory_format=library.channels_last).requires_grad_()


def prepared(library: Any, module: Any) -> Any:
    """Return a module in the format of images, with weights that are the same in both libraries."""
    module = module.to(memory_format=library.channels_last)
    with library.no_grad():
        for number, parameter in enumerate(module.parameters()):
            values = (library.arange(parameter.numel(), dtype=library.float32) + number).sin() * 0.3
            parameter.copy_(values.reshape(parameter.shape))
    return module


def gradients(module: Any) -> list[Any]:
    return [parameter.grad for parameter in module.parameters()]


def u_net(L: Any) -> list[Any]:
    nn, F = L.nn, L.nn.functional

    def block(before: int, after: int) -> Any:
        return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(2, after), nn.SiLU(inplace=True))

    names = {"down": block(1, 4), "deep": block(4, 8), "up": nn.ConvTranspose2d(8, 4, 2, stride=2), "join": block(8, 4),
             "out": nn.Conv2d(4, 1, 1)}  # fmt: skip
    net = prepared(L, nn.ModuleDict(names))
    x = image(L, 2, 1, 9, 9)
    first = net["down"](x)
    deep = net["deep"](F.max_pool2d(first, 2))
    up = F.pad(net["up"](deep), (0, 1, 0, 1))
    joined = net["join"](L.cat([first, up], 1))
    resized = F.interpolate(deep, size=joined.shape[2:], mode="bilinear")
    result = net["out"](joined)
    (result.square().mean() + resized.sum()).backward()
    return [result, joined, resized, first, deep, up, x.grad, *gradients(net)]


def residual_block(L: Any) -> list[Any]:
    nn = L.nn
    net = prepared(L, nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True),
                                    nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)))  # fmt: skip
    head = prepared(L, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)))
    optimizer = L.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    x, seen = waves(L, 2, 4, 6, 6).to(memory_format=L.channels_last), []
    for _ in range(2):
        optimizer.zero_grad()
        y = net(x)
        y += x
        loss = nn.functional.cross_entropy(head(nn.functional.relu(y, inplace=True)), L.tensor([0, 2]))
        loss.backward()
        optimizer.step()
        seen += [loss, y]
    return [*seen, *net.parameters(), *gradients(net), *net.buffers()]


def excitation(L: Any) -> list[Any]:
    nn = L.nn
    layers = (nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(2, 4, 1))
    net = prepared(L, nn.Sequential(*layers, nn.Hardsigmoid(inplace=True)))
    x = image(L, 2, 4, 6, 6)
    y = x * net(x)
    y.sum().backward()
    return [y, x.grad, *gradients(net)]


def upscaling(L: Any) -> list[Any]:
    nn = L.nn
    layers = (
        nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=4), nn.BatchNorm2d(8), nn.Hardswish(inplace=True),
        nn.PixelShuffle(2), nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1), nn.Conv2d(2, 3, 3),
    )  # fmt: skip
    net = prepared(L, nn.Sequential(*layers)).eval()
    x = image(L, 2, 4, 6, 6)
    y = net(x)
    y.square().sum().backward()
    return [y, x.grad, *gradients(net)]


def lstm_written_to(L: Any) -> list[Any]:
    net = prepared(L, L.nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True))
    x = waves(L, 2, 5, 3).requires_grad_()
    y, (h, c) = net(x)
    y.relu_()
    h.mul_(2)
    c.add_(1)
    (y.sum() + (h * h).sum() + c.prod()).backward()
    return [y, h, c, x.grad, *gradients(net)]


def gru_written_to(L: Any) -> list[Any]:
    net = prepared(L, L.nn.GRU(3, 4))
    x = waves(L, 5, 2, 3).requires_grad_()
    y, h = net(x)
    y[0].zero_()
    y[1:].mul_(2)
    h.squeeze_(0)
    (y.sum() + h.sum()).backward()
    return [y, h, x.grad, *gradients(net)]


def cells_in_a_loop(L: Any) -> list[Any]:
    cells = prepared(L, L.nn.ModuleList([L.nn.LSTMCell(3, 4), L.nn.GRUCell(4, 4)]))
    x, h, c, s = waves(L, 6, 2, 3), L.zeros(2, 4), L.zeros(2, 4), L.zeros(2, 4)
    for step in range(6):
        h, c = cells[0](x[step], (h, c))
        s = cells[1](h, s)
    c.mul_(2)
    s.clamp_(-0.1, 0.1)
    (s.sum() + c.sum()).backward()
    return [h, c, s, *gradients(cells)]


def tied_weights(L: Any) -> list[Any]:
    embedding, decoder = L.nn.Embedding(6, 4), L.nn.Linear(4, 6, bias=False)
    decoder.weight = embedding.weight
    net = prepared(L, L.nn.ModuleList([embedding, decoder]))
    index = L.tensor([[0, 2, 5], [1, 1, 3]])
    y = decoder(embedding(index))
    L.nn.functional.cross_entropy(y.flatten(0, 1), index.flatten()).backward()
    return [y, embedding.weight.grad, *net.parameters()]


def recomputed(L: Any) -> list[Any]:
    class Recomputed(L.autograd.Function):
        @staticmethod
        def forward(ctx: Any, function: Any, *args: Any) -> Any:
            ctx.compute = function
            ctx.save_for_backward(*args)
            with L.no_grad():
                return function(*args)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            args = [t.detach().requires_grad_() for t in ctx.saved_tensors]
            with L.enable_grad():
                y = ctx.compute(*args)
            y.backward(grad)
            return None, *[t.grad for t in args]

    x, w = image(L, 2, 4, 6, 6), waves(L, 4, 4, 3, 3).requires_grad_()
    y = Recomputed.apply(lambda x, w: L.nn.functional.conv2d(x, w).relu(), x, w)
    y.mul_(2)
    y.square().sum().backward()
    return [y, x.grad, w.grad]


def accumulated(L: Any) -> list[Any]:
    net = prepared(L, L.nn.Conv2d(4, 4, 3))
    optimizer = L.optim.AdamW(net.parameters(), 0.1)
    x = waves(L, 2, 4, 6, 6)
    for factor in range(1, 4):
        (net(x) * factor).sum().backward()
    L.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    optimizer.step()
    other = L.nn.Conv2d(4, 4, 3)
    other.load_state_dict(net.state_dict())
    return [*net.parameters(), *gradients(net), other.weight, *other.to(memory_format=L.channels_last).parameters()]


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (
    u_net, residual_block, excitation, upscaling, lstm_written_to, gru_written_to, cells_in_a_loop, tied_weights,
    recomputed, accumulated,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_and_strides_are_pytorchs(program: Any) -> None:
    ours, theirs = program(tl), quietly(program, torch)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(one.tolist(), other.tolist(), rtol=1e-3, atol=1e-4, err_msg=f"number {number}")
        steps = [[s for s, n in zip(t.stride(), t.shape) if n != 1] for t in (one, other)]
        assert steps[0] == steps[1], f"strides of number {number}, of the size {list(other.shape)}"
