"""Every operation with samples, on a CUDA device: the values and gradients of the CPU, and none of them elsewhere.

The samples come from the registry, so that an operation is covered the day it is declared. They run on the device that
is current and, where there are two, on one that is not: CuPy computes on the current device whatever it is handed.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tests.helpers.rows import families, mutates
from tests.helpers.values import assert_same, fresh, tensors_in
from tests.tensor.test_ops import in_own_words

#: What differs on a GPU by its meaning, and has tests of its own in `test_cuda`.
BY_MEANING = {
    "tensorlike.Tensor.__array__": "NumPy is refused what is on a GPU",
    "tensorlike.Tensor.__repr__": "the text names the device",
    "tensorlike.Tensor.__reduce_ex__": "what is pickled names the device",
    "tensorlike.Tensor.cpu": "the result is on the CPU",
    "tensorlike.Tensor.get_device": "the index of the device; -1 on the CPU",
    "tensorlike.get_device": "the index of the device; -1 on the CPU",
    "tensorlike.Tensor.numpy": "NumPy is refused what is on a GPU",
    "tensorlike.Tensor.type": "the name of the type names the device",
    "tensorlike.Tensor.is_shared": "processes share what is on a GPU",
    "tensorlike.Tensor.apply_": "Python functions are called with what is on the CPU",
    "tensorlike.Tensor.map_": "Python functions are called with what is on the CPU",
    "tensorlike.Tensor.map2_": "Python functions are called with what is on the CPU",
}

NAMES = [name for name in families() if name not in BY_MEANING]


def dtype_of(samples):
    return next((dtype for dtype in ("float32", "float64") if dtype in samples.dtypes), samples.dtypes[0])


def asks_for_the_host(sample):
    """Whether a sample has no tensor to say where the result goes, or names the CPU."""
    named = any(isinstance(value, str) and value == "cpu" for value in (*sample.args, *sample.kwargs.values()))
    return named or not any(True for _ in tensors_in([sample.args, sample.kwargs]))


def run(row, args, kwargs):
    tl.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return row.function(*args, **kwargs)


def compare(gpu, samples, actual, expected, device, what):
    actual = gpu.host(actual, device)
    if samples.deterministic:
        tolerance = samples.tolerance
        assert_same(actual, expected, what, max(tolerance or 0, 1e-4) if gpu.real else tolerance)
        return
    ours, theirs = list(tensors_in(actual)), list(tensors_in(expected))
    assert [(t.shape, t.dtype) for t in ours] == [(t.shape, t.dtype) for t in theirs], what


def calls(name, dtype, **options):
    """Yield each form of an operation with each sample that fits it."""
    members = families()[name]
    for row in members:
        for given in SAMPLES[name].generate(dtype, **options):
            sample = in_own_words(row, members[0], given)
            if sample is not None and not (given.broadcasts and mutates(row)):
                yield row, sample


def check(gpu, name, device):
    samples = SAMPLES[name]
    for row, sample in calls(name, dtype_of(samples)):
        what = f"{row.full_name}{sample} on {device}"
        try:
            expected = run(row, fresh(sample.args), fresh(sample.kwargs))
        except (RuntimeError, TypeError, NotImplementedError) as error:
            # In-place forms refuse what their function takes. So they must here.
            with pytest.raises(type(error)):
                run(row, gpu.moved(sample.args, device), gpu.moved(sample.kwargs, device))
            continue
        args, kwargs = gpu.moved(sample.args, device), gpu.moved(sample.kwargs, device)
        result = run(row, args, kwargs)
        there = None if asks_for_the_host(sample) else device
        compare(gpu, samples, result, expected, there, what)
        if mutates(row) and isinstance(expected, tl.Tensor):
            assert result is args[0], what


@pytest.mark.parametrize("name", NAMES)
def test_values(gpu, name):
    check(gpu, name, "cuda:0")
    if gpu.count > 1:
        check(gpu, name, "cuda:1")


def gradients(gpu, row, args, kwargs, device, create_graph):
    """What comes back to the arguments for the same random gradients of the results, on any device."""
    inputs = [t for t in tensors_in([args, kwargs]) if t.requires_grad]
    results = [t for t in tensors_in(run(row, args, kwargs)) if t.requires_grad]
    if not inputs or not results:
        return []
    random = np.random.default_rng(0)
    seeds = [tl.as_tensor(np.asarray(random.uniform(0.5, 1.5, t.shape))).to(t.dtype) for t in results]
    seeds = seeds if device == "cpu" else gpu.moved(seeds, device)
    found = tl.autograd.grad(results, inputs, seeds, allow_unused=True, create_graph=create_graph)
    return [gradient for gradient in found if gradient is not None]


@pytest.mark.parametrize("name", [name for name in NAMES if SAMPLES[name].gradcheck])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_gradients(gpu, name, device):
    """With formulas on raw arrays, and with those that are recorded."""
    samples = SAMPLES[name]
    if device == "cuda:1" and gpu.count < 2:
        pytest.skip("this machine has one GPU, and a device that is not current takes two")
    row = families()[name][0]
    if mutates(row) or dtype_of(samples)[0] != "f" or not samples.deterministic:
        return
    for sample in samples.generate(dtype_of(samples), requires_grad=True):
        if asks_for_the_host(sample):
            continue
        for create_graph in (False, True):
            what = f"gradient of {row.full_name}{sample} on {device}, create_graph={create_graph}"
            expected = gradients(gpu, row, sample.args, sample.kwargs, "cpu", create_graph)
            args, kwargs = gpu.moved(sample.args, device), gpu.moved(sample.kwargs, device)
            actual = gradients(gpu, row, args, kwargs, device, create_graph)
            compare(gpu, samples, actual, expected, device, what)
