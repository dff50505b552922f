"""Steps of training."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import data, is_tensors, random, row

__all__: list[str] = []


def _mlp(optimizer: str) -> Any:
    def make(library: Any, kind: str) -> Any:
        inputs, targets = random(64, 784), np.random.default_rng(1).integers(0, 10, 64)
        first, second = random(256, 784, seed=2, scale=0.03), random(10, 256, seed=3, scale=0.05)
        if kind == "numpy" and optimizer == "SGD":
            return _numpy_mlp(inputs, targets, first, second)
        if not is_tensors(kind):
            return None
        nn = library.nn
        model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
        with library.no_grad():
            model[0].weight.copy_(library.from_numpy(first))
            model[2].weight.copy_(library.from_numpy(second))
            model[0].bias.zero_()
            model[2].bias.zero_()
        rate = 0.01 if optimizer == "SGD" else 1e-4
        steps = getattr(library.optim, optimizer)(model.parameters(), lr=rate)
        x, y = library.from_numpy(inputs), library.from_numpy(targets)
        cross_entropy = nn.functional.cross_entropy

        def step() -> Any:
            steps.zero_grad()
            loss = cross_entropy(model(x), y)
            loss.backward()
            steps.step()
            return loss

        return step

    return make


row("MLP 784-256-10, batch 64: SGD step", torch=0.5)(_mlp("SGD"))
row("MLP 784-256-10, batch 64: Adam step", torch=0.45)(_mlp("Adam"))


def _small_parameters(optimizer: str, **options: Any) -> Any:
    def make(library: Any, kind: str) -> Any:
        if not is_tensors(kind):
            return None
        parameters = [data(library, kind, random(64, seed=number), True) for number in range(100)]
        for parameter in parameters:
            parameter.grad = library.ones(64)
        steps = getattr(library.optim, optimizer)(parameters, lr=1e-4, **options)

        def step() -> Any:
            steps.step()
            return parameters[0]

        return step

    return make


row("SGD step with momentum, 100 parameters of 64", torch=0.2)(_small_parameters("SGD", momentum=0.9))
row("Adam step, 100 parameters of 64", torch=0.2)(_small_parameters("Adam"))


def _numpy_mlp(inputs: Any, targets: Any, first: Any, second: Any) -> Any:
    first, second = first.copy(), second.copy()
    first_bias, second_bias = np.zeros(256, np.float32), np.zeros(10, np.float32)
    rows = np.arange(len(targets))

    def step() -> Any:
        hidden = inputs @ first.T + first_bias
        active = np.maximum(hidden, 0)
        logits = active @ second.T + second_bias
        shifted = logits - logits.max(1, keepdims=True)
        exponents = np.exp(shifted)
        sums = exponents.sum(1, keepdims=True)
        loss = np.float32((np.log(sums[:, 0]) - shifted[rows, targets]).mean())
        gradient = exponents / sums
        gradient[rows, targets] -= 1
        gradient /= len(targets)
        back = gradient @ second
        back[hidden <= 0] = 0
        np.subtract(second, 0.01 * (gradient.T @ active), out=second)
        np.subtract(second_bias, 0.01 * gradient.sum(0), out=second_bias)
        np.subtract(first, 0.01 * (back.T @ inputs), out=first)
        np.subtract(first_bias, 0.01 * back.sum(0), out=first_bias)
        return loss

    return step


@row("conv net, batch 32x1x28x28: SGD step", torch=0.85, tolerance=1e-3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    nn = library.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 49, 10),
    )  # fmt: skip
    with library.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(library.from_numpy(random(*parameter.shape, seed=number, scale=0.1)))
    steps = library.optim.SGD(model.parameters(), lr=0.001)
    x = library.from_numpy(random(32, 1, 28, 28))
    y = library.from_numpy(np.random.default_rng(1).integers(0, 10, 32))
    cross_entropy = nn.functional.cross_entropy

    def step() -> Any:
        steps.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        steps.step()
        return loss

    return step


@row("RNN cell, 50 steps and backward", torch=0.6)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    inputs = data(library, kind, random(50, 16, 32))
    weight, recurrent = (
        data(library, kind, random(64, 32, scale=0.1), True),
        data(library, kind, random(64, 64, seed=1, scale=0.1), True),
    )
    bias = data(library, kind, np.zeros(64), True)
    linear = library.nn.functional.linear
    start = library.zeros(16, 64)

    def step() -> Any:
        for leaf in (weight, recurrent, bias):
            leaf.grad = None
        state = start
        for one in inputs:
            state = (linear(one, weight, bias) + linear(state, recurrent)).tanh()
        state.sum().backward()
        return recurrent.grad

    return step


@row("layer_norm and attention, (8, 64, 128), and backward", torch=1.1, tolerance=1e-3)
def _(library: Any, kind: str) -> Any:
    if not is_tensors(kind):
        return None
    functional = library.nn.functional
    x = data(library, kind, random(8, 64, 128), True)
    weights = [data(library, kind, random(128, 128, seed=i, scale=0.05), True) for i in range(3)]
    scale, shift = data(library, kind, np.ones(128), True), data(library, kind, np.zeros(128), True)

    def step() -> Any:
        for leaf in (x, scale, shift, *weights):
            leaf.grad = None
        normed = functional.layer_norm(x, (128,), scale, shift)
        q, k, v = (functional.linear(normed, w).reshape(8, 64, 4, 32).transpose(1, 2) for w in weights)
        functional.scaled_dot_product_attention(q, k, v).sum().backward()
        return x.grad

    return step
