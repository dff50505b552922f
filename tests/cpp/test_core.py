"""What C++ asks the native core is what Python answers, and what C++ asks in pure mode."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import _native
from tests.cpp.building import extension, in_full, require_compiler

pytestmark = [pytest.mark.slow, in_full]

ROOT = Path(__file__).parent.parent.parent
FACTORIES = [prefix + name for name in ("empty", "zeros", "ones") for prefix in ("", "new_")]
LIKE = ["empty_like", "zeros_like", "ones_like"]
FILLED = {"empty": 7, "zeros": 0, "ones": 1}


@pytest.fixture(scope="module")
def core():
    require_compiler()
    return extension("core")


class Seen(tl.overrides.TorchFunctionMode):
    """Notes the functions that are called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(tl.overrides.resolve_name(func) or func.__name__)
        return func(*args, **(kwargs or {}))


class Sub(tl.Tensor):
    pass


def test_the_core_is_used_where_python_uses_it(core):
    assert core.uses_core() == (_native.core is not None)


def test_one_file_works_in_the_other_mode(core):
    mode = "0" if _native.core is None else "1"
    program = (
        "import importlib.util, sys, tensorlike as tl\n"
        "spec = importlib.util.spec_from_file_location('core', sys.argv[1])\n"
        "core = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(core)\n"
        "x = tl.tensor([2.0], requires_grad=True)\n"
        "core.nested(x, 1).backward()\n"
        "print(core.uses_core(), core.fields(x)[:2], x.grad.item(), core.made('zeros_like', x, []).tolist())\n"
    )
    environment = {**os.environ, "TENSORLIKE_PURE": mode, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-c", program, core.__file__], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    used, _, rest = result.stdout.partition(" ")
    assert rest == "(True, True) 12.0 [0.0]\n"
    assert used == "False" or mode == "0"


def tensors():
    """Return tensors of every history, by what they are."""
    leaf = tl.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with_grad = tl.ones(2, requires_grad=True)
    (with_grad * 3).sum().backward()
    written = tl.zeros(3)
    written.add_(1)
    written += 1
    base = tl.ones(2, 2)
    early_view = base[0]
    base.mul_(leaf)  # The view has a history now.
    with tl.no_grad():
        view_of_leaf = leaf[0]
    with tl.inference_mode():
        inference = tl.ones(2)
    retained = leaf * 2
    retained.retain_grad()
    retained.sum().backward()
    return {
        "plain": tl.ones(2, 3), "leaf": leaf, "result": leaf * 2, "view": leaf.t(), "detached": leaf.detach(),
        "with a gradient": with_grad, "written": written, "base with a history": base, "view of it": early_view,
        "view without one": view_of_leaf, "inference": inference, "retained": retained,
        "parameter": tl.nn.Parameter(tl.ones(2)), "subclass": Sub([1.0, 2.0]),
        "subclass that is a leaf": Sub([1.0]).requires_grad_(), "no elements": tl.ones(0, 3).t(),
        "integers": tl.arange(4), "no dimensions": tl.tensor(1.0),
    }  # fmt: skip


@pytest.mark.parametrize("name", tensors())
def test_fields_are_those_that_python_reads(core, name):
    x = tensors()[name]
    if name == "inference":
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            core.fields(x)
        return
    assert core.fields(x)[:3] == (x.requires_grad, x.is_leaf, x._version)
    assert core.fields(x)[3] is x.grad
    assert core.fields(x)[4] == x.is_contiguous()
    assert (core.contiguous(x) is x) == x.is_contiguous()
    assert core.contiguous(x).stride() == x.contiguous().stride()


def test_modes_and_subclasses_see_reads(core):
    with Seen() as seen:
        core.fields(tl.ones(2))
        core.contiguous(tl.ones(2))
    asked = " ".join(seen.names)
    for name in ("requires_grad", "is_leaf", "_version", "grad", "contiguous"):
        assert name in asked

    class Asked(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func == tl.Tensor.requires_grad.__get__:
                return True
            return super().__torch_function__(func, types, args, kwargs)

    assert core.fields(Asked([1.0]))[0] is True


@pytest.mark.parametrize("name", FACTORIES + LIKE)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 4), (40, 50, 60)])
def test_new_tensors(core, name, shape):
    for dtype in (tl.float32, tl.int64, tl.bool, tl.complex128, tl.float16, tl.bfloat16, tl.uint16):
        given = tl.zeros(shape if name in LIKE else 2, dtype=tl.float64)
        for like in (given, given.to(dtype)):
            x = core.made_of(name, like, shape, dtype, False)
            assert (type(x), x.dtype, tuple(x.shape), x.is_contiguous()) == (tl.Tensor, dtype, shape, True)
            assert not x.requires_grad
            number = FILLED[name.removeprefix("new_").removesuffix("_like")]
            assert np.all(x.to(tl.float64).numpy() == (bool(number) if dtype is tl.bool else number))
    assert core.made_of(name, given, shape, tl.float32, True).requires_grad
    assert core.made(name, given, shape).dtype is (tl.float32 if name in FILLED else tl.float64)


def test_tensors_like_others_keep_their_order(core):
    x = tl.ones(4, 3).t()
    assert core.made("zeros_like", x, []).stride() == x.stride()
    assert type(core.made("zeros_like", Sub([1.0]), [])) is type(tl.zeros_like(Sub([1.0])))
    assert type(core.made("zeros_like", tl.nn.Parameter(tl.ones(2)), [])) is tl.Tensor


def test_wrong_shapes_are_refused_as_in_python(core):
    for shape in ([-1], [2, -3]):
        with pytest.raises(RuntimeError, match="negative"):
            core.made_of("zeros", tl.ones(1), shape, tl.float32, False)
    with pytest.raises((RuntimeError, MemoryError, ValueError)):
        core.made_of("empty", tl.ones(1), [2**40, 2**40], tl.float32, False)


def test_modes_see_factories(core):
    x = tl.ones(2)
    for name in FACTORIES + LIKE:
        with Seen() as seen:
            core.made_of(name, x, [2], tl.float32, False)
        assert any(n.rpartition(".")[2] == name for n in seen.names), (name, seen.names)
    with tl.inference_mode():
        made = core.made_of("zeros", x, [2], tl.float32, False)
    assert made.is_inference()


def test_a_paused_core_leaves_all_to_python(core):
    x = tl.ones(2, requires_grad=True)
    with _native.paused():
        assert core.fields(x)[:3] == (True, True, 0)
        assert core.made_of("ones_like", x, [], tl.float32, False).tolist() == [1.0, 1.0]
        assert core.on_memory([2], [1], tl.uint8, False).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [tl.uint8, tl.float32, tl.int64, tl.complex64, tl.bfloat16])
def test_memory_of_others_is_freed_after_the_last_tensor(core, dtype):
    before = core.count_freed()
    x = core.on_memory([2, 3], [1, 4], dtype, False)
    assert (x.dtype, tuple(x.shape), x.stride(), x.storage_offset()) == (dtype, (2, 3), (1, 4), 0)
    row = x[1]
    del x
    gc.collect()
    assert core.count_freed() == before
    assert row.data_ptr() % 4 == row.element_size() % 4
    del row
    gc.collect()
    assert core.count_freed() == before + 1
    if dtype.is_floating_point:
        assert core.on_memory([2], [1], dtype, True).requires_grad


def test_memory_of_others_is_written_in_place(core):
    owner = np.arange(6, dtype=np.float32)
    x = core.without_owner(owner.ctypes.data, 6)
    x.add_(1)
    x[2:4] = 0
    assert owner.tolist() == [1, 2, 0, 0, 5, 6]
    assert x._version == 2
    assert x.untyped_storage().nbytes() == 24


def test_functions_call_each_other_and_themselves(core):
    x = tl.tensor([2.0, -1.0], requires_grad=True)
    y = core.nested(x, 2)
    assert y.tolist() == [16.0, 1.0]
    y.sum().backward()
    assert x.grad.tolist() == [32.0, -4.0]
    assert "Nested" in y.grad_fn.name()
    assert y.grad_fn.needs_input_grad == (True, False, False)


def test_forward_is_called_by_apply_alone(core):
    x = tl.tensor([2.0], requires_grad=True)
    function = core.nested(x, 0).grad_fn._tl_function
    for call, arguments in ((function.forward, (None, x)), (function.apply, (x, None)), (function.forward, ())):
        with pytest.raises(TypeError, match=r"forward\(\) of a C\+\+ function is called by its apply\(\)"):
            call(*arguments)


def test_a_call_repeats_its_keywords(core):
    x = tl.ones(2)
    for _ in range(2):
        assert core.converted(x, tl.float64, False).dtype is tl.float64
        assert core.converted(x, tl.float32, True) is not x
        assert core.converted(x, tl.float32, False) is x


def test_nothing_is_left_behind(core):
    x = tl.ones(2, requires_grad=True)

    def calls():
        core.nested(x, 1).sum().backward()
        core.fields(x)
        core.made_of("zeros_like", x, [], tl.float64, False)
        core.on_memory([2], [1], tl.float32, False)
        core.converted(x, tl.float64, False)
        x.grad = None

    def counted():
        gc.collect()
        return len(gc.get_objects()), sys.getrefcount(x), sys.getrefcount(tl.float64)

    for _ in range(3):
        calls()
    before = counted()
    for _ in range(50):
        calls()
    # One that a call left would be 50.
    assert all(now < then + 25 for now, then in zip(counted(), before, strict=True))
