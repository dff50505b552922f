"""Every operation with samples, on memory that cannot be written: the values and gradients of the CPU, or an error.

The samples come from the registry, so that an operation is covered the day it is declared. The memory is that of the
stand-in in `helpers/strict_immutable`, which raises for anything that the Array API standard does not have; what is
computed elsewhere would be found on the CPU.
"""

from __future__ import annotations

import pytest

from tests.helpers.opaque import JAX, immutable, jax
from tests.helpers.strict_immutable import DEVICE
from tests.helpers.values import fresh
from tests.tensor.test_cuda_ops import BY_MEANING, NAMES, SAMPLES, calls, check, dtype_of, run
from tests.tensor.test_cuda_ops import test_gradients as check_gradients

#: What raises on the stand-in, by reason: the error, and the operations. One that no longer raises must leave the list.
REFUSED = {
    "the library has no float16": (TypeError, r"'immutable' has no dtype float16", ["tensorlike.Tensor.half"]),
}
REFUSALS = {name: (error, text) for error, text, names in REFUSED.values() for name in names}

#: Of each kind of kernel one or two, so that the quick tests meet all of them: the others are slow only as a whole.
QUICK = [
    "add", "exp", "where", "clamp", "sum", "amax", "cumsum", "sort", "matmul", "linalg.qr", "fft.fft", "Tensor.view",
    "Tensor.__getitem__", "Tensor.__setitem__", "Tensor.copy_", "unbind", "index_add", "nn.functional.conv2d",
    "nn.functional.cross_entropy", "lgamma", "multinomial",
]  # fmt: skip


def spread(names):
    quick = {f"tensorlike.{name}" for name in QUICK}
    assert quick <= set(names), quick - set(names)
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


@pytest.fixture(scope="module")
def memory():
    with immutable() as found:
        yield found


@pytest.mark.parametrize("name", spread([name for name in NAMES if name not in REFUSALS]))
def test_values_and_gradients(memory, name):
    check(memory, name, DEVICE)
    if SAMPLES[name].gradcheck:
        check_gradients(memory, name, DEVICE)


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(memory, name):
    error, text = REFUSALS[name]
    for row, sample in calls(name, dtype_of(SAMPLES[name])):
        run(row, fresh(sample.args), fresh(sample.kwargs))
        with pytest.raises(error, match=text):
            run(row, memory.moved(sample.args, DEVICE), memory.moved(sample.kwargs, DEVICE))


def test_lists_name_operations():
    assert set(REFUSALS) <= set(NAMES)
    assert not set(REFUSALS) & set(BY_MEANING)


@pytest.mark.slow
@pytest.mark.skipif(not JAX, reason="JAX is not installed")
@pytest.mark.parametrize("name", [name for name in NAMES[::5] if name not in REFUSALS])
def test_values_on_jax(name):
    """Of a fifth of the operations: XLA compiles half a second for each."""
    check(jax(), name, "jax:0")


@pytest.mark.skipif(not JAX, reason="JAX is not installed")
@pytest.mark.parametrize("name", ["tensorlike.add", "tensorlike.Tensor.__setitem__", "tensorlike.matmul"])
def test_gradients_on_jax(name):
    check_gradients(jax(rounds=True), name, "jax:0")
