"""JAX's arrays as the memory of tensors: what is JAX's own. `test_opaque` and `test_opaque_ops` have the rest."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.tensor.backends import library_array
from tests.helpers.opaque import JAX

NEEDS_JAX = pytest.mark.skipif(not JAX, reason="JAX is not installed")

MAKERS = {
    "tensor": tl.tensor,
    "as_tensor": tl.as_tensor,
    "asarray": tl.asarray,
    "from_dlpack": tl.from_dlpack,
}


@NEEDS_JAX
@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_an_array_of_jax_stays_on_jax(make):
    import jax.numpy as jnp

    given = jnp.arange(6, dtype="float32").reshape(2, 3)
    x = make(given)
    assert x.device == tl.device("jax", 0)
    assert (x.dtype, x.shape) == (tl.float32, (2, 3))
    assert library_array(x) is given
    x[0] = 7
    assert given.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.tolist() == [[7, 7, 7], [3, 4, 5]]
    assert type(library_array(x[:, 1])) is type(given)


@NEEDS_JAX
def test_moving_an_array_of_jax_is_asked_for():
    import jax.numpy as jnp

    given = jnp.ones(3, "float32")
    assert str(tl.tensor(given, device="cpu").device) == "cpu"
    assert str(tl.from_dlpack(given, device="cpu").device) == "cpu"
    with pytest.raises(ValueError, match="without copying"):
        tl.from_dlpack(given, device="cpu", copy=False)
    with pytest.raises(TypeError, match="expected np.ndarray"):
        tl.from_numpy(given)
    for mix in (lambda: tl.ones(3) + given, lambda: given + tl.ones(3), lambda: tl.exp(given)):
        with pytest.raises(TypeError):
            mix()
    host = tl.as_tensor(given).cpu().numpy()
    host[0] = 5
    assert given.tolist() == [1.0, 1.0, 1.0]


@NEEDS_JAX
def test_dlpack_hands_out_what_a_tensor_holds():
    import jax.numpy as jnp

    x = tl.arange(3.0, device="jax")
    shared = jnp.from_dlpack(x)
    x += 1
    assert shared.tolist() == [0.0, 1.0, 2.0]
    assert jnp.from_dlpack(x[1:]).tolist() == [2.0, 3.0]
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(BufferError, match="require gradient"):
        jnp.from_dlpack(x.requires_grad_())


@NEEDS_JAX
def test_64_bit_types_do_not_depend_on_the_setting_and_leave_it():
    import jax

    before = jax.config.jax_enable_x64
    for setting in (False, True):
        jax.config.update("jax_enable_x64", setting)
        try:
            x = tl.tensor([1.0, 2.0], dtype=tl.float64, device="jax")
            y = x[1:] * (1 + 2.0**-40)
            y[0] = y[0] - 2
            n = tl.arange(3, device="jax") * 2**40
            assert (x.dtype, y.dtype, n.dtype) == (tl.float64, tl.float64, tl.int64)
            assert y.item() == 2.0**-39
            assert n.tolist() == [0, 2**40, 2**41]
            assert x.argmax().dtype is tl.int64
            assert tl.ones(2, device="jax").dtype is tl.float32
            assert jax.config.jax_enable_x64 is setting
            assert jax.numpy.asarray([1.5]).dtype == ("float64" if setting else "float32")
        finally:
            jax.config.update("jax_enable_x64", before)


@NEEDS_JAX
@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.uint16, tl.complex128], ids=str)
def test_dtypes(dtype):
    x = tl.tensor([1, 2, 3], device="jax").to(dtype)
    y = x * 2 + x[0]
    assert (y.dtype, str(y.device)) == (dtype, "jax:0")
    x[1:] = 5
    assert x.to("cpu", tl.int64).tolist() == [1, 5, 5]
    assert y.cpu().to(tl.int64).tolist() == [3, 5, 7]


@NEEDS_JAX
def test_powers_of_zero():
    x = tl.tensor([0j, 0j, 2j], device="jax", dtype=tl.complex128)
    y = tl.tensor([2 + 1j, 0j, 2 + 0j], device="jax", dtype=tl.complex128)
    assert tl.allclose((x**y).cpu(), tl.tensor([0j, 1 + 0j, -4 + 0j], dtype=tl.complex128))


@NEEDS_JAX
def test_jit_compiles_programs_of_tensors():
    """Views, in-place operations and gradients of tensors, compiled by JAX as one."""
    import jax
    import jax.numpy as jnp

    def step(weight, bias, x, wanted):
        w, b = (tl.as_tensor(array).requires_grad_() for array in (weight, bias))
        hidden = tl.as_tensor(x) @ w
        hidden += b
        hidden[:, 0].mul_(2)
        loss = ((hidden.tanh() - tl.as_tensor(wanted)) ** 2).mean()
        loss.backward()
        with tl.no_grad():
            for parameter in (w, b):
                parameter -= 0.1 * parameter.grad
        return tuple(map(library_array, (w, b, loss)))

    random = np.random.default_rng(0)
    arrays = [random.normal(size=shape).astype("float32") for shape in ((4, 3), (3,), (8, 4), (8, 3))]
    compiled = jax.jit(step)(*map(jnp.asarray, arrays))
    expected = step(*(tl.tensor(array) for array in arrays))
    for one, other in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@NEEDS_JAX
def test_what_jit_cannot_compile_raises():
    import jax
    import jax.numpy as jnp

    kept = tl.zeros(3, device="jax")

    def by_value(array):
        x = tl.as_tensor(array)
        return library_array(x[x > 0])

    def leaking(array):
        kept.copy_(tl.as_tensor(array))
        return array

    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(by_value)(jnp.ones(3))
    jax.jit(leaking)(jnp.ones(3))
    with pytest.raises(jax.errors.JAXTypeError):
        kept.tolist()
    with pytest.raises(jax.errors.UnexpectedTracerError):
        kept + 1


@NEEDS_JAX
@pytest.mark.slow
def test_several_devices():
    program = """
import tensorlike as tl
x = tl.ones(3, device="jax:1")
assert str(x.device) == "jax:1" and str(tl.ones(1, device="jax").device) == "jax:0"
w = tl.full((3,), 2.0, device="jax:1", requires_grad=True)
y = (x * w).sum()
y.backward()
x[0] = 5
assert str(y.device) == str(w.grad.device) == str((x + 1).device) == "jax:1"
assert (x * 2).tolist() == [10.0, 2.0, 2.0]
moved = x.to("jax:0")
assert str(moved.device) == "jax:0" and moved.tolist() == [5.0, 1.0, 1.0]
assert moved._tl_data.library_array().devices() != x._tl_data.library_array().devices()
import jax
from tensorlike.tensor.backends import library_array
mesh = jax.sharding.Mesh(jax.devices(), ("d",))
spread = jax.device_put(jax.numpy.ones(4), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d")))
try:
    tl.as_tensor(spread)
except RuntimeError as error:
    assert "on 2 devices" in str(error), error
else:
    raise AssertionError("an array on two devices was taken")
assert jax.jit(lambda a: library_array(tl.as_tensor(a).add_(1)))(jax.numpy.ones(2)).tolist() == [2.0, 2.0]
try:
    x + moved
except RuntimeError as error:
    assert "jax:1 and jax:0" in str(error), error
else:
    raise AssertionError("two devices were mixed")
"""
    run(program, XLA_FLAGS="--xla_force_host_platform_device_count=2")


def run(program, **environment):
    import os

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_without_jax_the_device_says_what_to_install():
    program = """
import sys
sys.modules["jax"] = None
import tensorlike as tl
assert str(tl.device("jax:3")) == "jax:3"
for make in (lambda: tl.ones(2, device="jax"), lambda: tl.ones(2).to("jax"), lambda: tl.nn.Linear(2, 2).to("jax")):
    try:
        make()
    except RuntimeError as error:
        assert 'pip install "tensorlike[jax]"' in str(error), error
    else:
        raise AssertionError
"""
    run(program)


def test_importing_the_library_does_not_import_jax():
    program = "import sys, tensorlike as tl; tl.ones(2) + 1\n"
    run(program + "assert not {'jax', 'jaxlib', 'array_api_strict'} & {*sys.modules}")
