"""Losses, modules and types for tests on clusters: workers import them by the name of this module."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

import tensorlike as tl
from tensorlike import nn
from tensorlike.nn import functional as F


def squares(weight, X, y):
    return ((X @ weight - y) ** 2).sum()


def mean_squares(weight, X, y):
    return ((X @ weight - y) ** 2).mean()


def layered(params, X, y):
    hidden = (X @ params["hidden"][0] + params["hidden"][1]).tanh()
    return F.mse_loss(hidden @ params["out"], y, reduction="sum")


def module_squares(module, X, y):
    return ((module(X)[:, 0] - y) ** 2).sum()


class Cube(tl.autograd.Function):
    """A custom function whose gradient is not the derivative, so that a test sees that it ran."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 30 * x**2


def cubes(weight, X, y):
    return Cube.apply(X @ weight - y).sum()


class Labelled(tl.Tensor):
    """A subclass with an attribute, which its results keep by the default `__torch_function__`."""

    label = "none"


class Recording(tl.Tensor):
    """A type that answers for every call and counts them in an attribute of the class."""

    calls = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Recording.calls += 1
        return super().__torch_function__(func, types, args, kwargs or {})


class Raising(tl.Tensor):
    """A type that fails in its own implementation."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", "") == "matmul":
            raise ChunkError("no matmul of this type", 7)
        return super().__torch_function__(func, types, args, kwargs or {})


class ChunkError(Exception):
    """An error with arguments of its own, which survives pickling."""

    def __init__(self, text, number):
        super().__init__(text, number)
        self.number = number


class UnpicklableError(Exception):
    """An error that cannot be read back: its constructor takes other arguments than it keeps."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def sees_labels(params, X, y):
    weight = params["weight"]
    assert type(weight) is Labelled
    assert weight.label == "of the driver"
    assert weight.is_leaf
    assert weight.requires_grad
    return squares(weight.as_subclass(tl.Tensor), X, y)


def sees_recording_chunks(weight, X, y):
    assert type(X) is Recording
    before = Recording.calls
    loss = squares(weight, X, y)
    assert Recording.calls > before
    return loss.as_subclass(tl.Tensor)


def as_type(kind):
    return lambda block: tl.from_numpy(block.copy()).as_subclass(kind)


def noisy(weight, X, y):
    kept = F.dropout(X, 0.5)
    return squares(weight, kept, y) + tl.randn(()) * weight.sum() + tl.rand(3).sum()


def draws(weight, X):
    """A loss whose gradient is what random functions of every kind draw in this chunk."""
    drawn = tl.stack([
        tl.rand(()), tl.randn(()), tl.bernoulli(tl.tensor(0.5)), tl.randint(0, 1000, ()).float(),
        tl.randperm(1000)[0].float(), tl.empty(()).exponential_(), tl.poisson(tl.tensor(50.0)),
        tl.multinomial(tl.ones(1000), 1)[0].float(), F.dropout(tl.ones(64), 0.5).sum(),
    ])  # fmt: skip
    return (weight * drawn).sum() + 0 * X.sum()


def unused(params, X, y):
    return squares(params[0], X, y)


def raises_in_chunk(marker, weight, X, y):
    if bool((X[:, 0] == marker).any()):
        raise ChunkError("this chunk is bad", 3)
    return squares(weight, X, y)


def raises_unpicklable(weight, X, y):
    raise UnpicklableError(1, 2)


def fails_once(folder, weight, X, y):
    """Raise the first time that each chunk comes, which a file remembers."""
    mark = Path(folder) / f"{float(X[0, 0])}"
    if not mark.exists():
        mark.touch()
        raise ConnectionResetError("the first try of each chunk fails")
    return squares(weight, X, y)


def kills_its_worker_once(folder, weight, X, y):
    """End the process of the worker without a word, in the third chunk that any worker takes."""
    with open(Path(folder) / "chunks", "a") as file:
        file.write("x")
    if Path(folder, "chunks").stat().st_size == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(weight, X, y)


def slow(seconds, folder, weight, X, y):
    Path(folder, f"started-{float(X[0, 0])}").touch()
    time.sleep(seconds)
    return squares(weight, X, y)


def writes_to_its_chunk(weight, X, y):
    X += 1
    return squares(weight, X, y)


def writes_to_a_parameter(weight, X, y):
    with tl.no_grad():
        weight.mul_(2)
    return squares(weight, X, y)


def returns_a_vector(weight, X, y):
    return X @ weight - y


def returns_a_number(weight, X, y):
    return float(squares(weight, X, y))


def without_parameters(weight, X, y):
    return (X.sum() - y.sum()) ** 2


def masked(weight, X, y):
    """A loss that does not depend on the weight in chunks without positive targets."""
    if not bool((y > 0).any()):
        return tl.zeros((), dtype=X.dtype)
    return squares(weight, X[y > 0], y[y > 0])


def pair(weight, inputs, y):
    return squares(weight, inputs["left"] + inputs["right"], y)


class Thread:
    """A class whose instances cannot be pickled."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, weight, X, y):
        return squares(weight, X, y)


class Calls(nn.Module):
    """A module that counts its calls in a buffer of integers and keeps the sum of its inputs in one of floats."""

    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, 1, dtype=tl.float64)
        self.register_buffer("calls", tl.zeros((), dtype=tl.int64))
        self.register_buffer("mean", tl.zeros(features, dtype=tl.float64))
        self.register_buffer("untouched", tl.ones(2))

    def forward(self, X):
        if self.training:
            self.calls += 1
            self.mean = X.mean(0)
        return self.linear(X)


class LastShape(nn.Module):
    """A module with a buffer whose shape is that of its last input."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 1, dtype=tl.float64)
        self.register_buffer("last", tl.zeros(0, dtype=tl.float64))

    def forward(self, X):
        self.last = X.detach().clone()
        return self.linear(X)


def worker_pid():
    return os.getpid()


def peak_memory():
    """Return the peak of this process's memory in bytes."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) * 1024


def random_rows(rows, features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    X[:, 0] = np.arange(rows)
    return X / [rows, *[1] * (features - 1)], X @ np.arange(1.0, features + 1) / rows
