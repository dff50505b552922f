"""Random calls of every public function, each made natively and in Python, and compared in everything that can be seen.

    python -m tests.native.random_calls --count 100000 --seed 0
    python -m tests.native.random_calls --against pure --count 10000

The arguments are those of the samples (`tensorlike.audit.samples`), changed at random. A call is made twice, with
arguments that are built anew: through the public function, and through the Python function behind it. `--against pure`
makes the second call in a process without the core, where composites and backward run without it, too. A program that
shows a difference is printed. Seeds reproduce calls: seed 7 of any run is the same call.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import functools
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import Samples, serving
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch.collect import numpy_names
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.state import STATE

ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")

__all__ = [
    "FORMS", "Call", "Name", "Spec", "build", "change", "difference", "draw", "dtype_of", "entered", "given", "outcome",
    "program", "python_of", "shrink",
]  # fmt: skip

#: Functions that are not called, with the reason.
_LEFT_OUT = {
    "tensorlike.Tensor.share_memory_": "each call makes a file",
    "tensorlike.Tensor.data_ptr": "returns an address",
    "tensorlike.Tensor.const_data_ptr": "returns an address",
    "tensorlike.Tensor.mutable_data_ptr": "returns an address",
    "tensorlike.Tensor.__dlpack__": "returns a capsule with an address",
    "tensorlike.Tensor.__cuda_array_interface__.__get__": "holds an address",
}
_UNWRITTEN = re.compile(r"empty|resize|\.new$")  # Values of new memory are whatever was there.
# The name of this module differs too, between the processes that are compared.
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}|\b(?:__main__|tests\.native\.random_calls)\.")
_DTYPES = (
    "float32",
    "float64",
    "int64",
    "int32",
    "uint8",
    "int8",
    "int16",
    "bool",
    "complex64",
    "complex128",
    "float16",
    "uint16",
    "uint32",
    "uint64",
    "bfloat16",
)
_SPECIAL = (0, 1, -1, 2, 3, 0.0, -0.0, 0.5, -2.5, 1e300, 1e-320, float("inf"), float("nan"), True, False, 1j, 2**31,
            2**63, -(2**70))  # fmt: skip
_SCALARS = ("float32(2.5)", "float64(-1.5)", "int64(3)", "int8(-2)", "uint8(7)", "bool_(True)", "complex64(1+2j)")

LAYOUTS = ("C", "F", "strided", "transposed", "broadcast", "misaligned", "read-only", "swapped", "reversed", "view",
           "overlap", "overlapping view")  # fmt: skip
CLASSES = ("Plain", "Logging", "Attributed", "Late", "Lost", "Parameter", "Duck", "Refuser")
CONTEXTS = ("no_grad", "inference", "mode", "refusing mode", "mode elsewhere", "disabled", "all disabled", "hooks",
            "anomaly", "autocast")  # fmt: skip

#: The calls that types and modes saw since the last call began.
LOG: list[Any] = []


def _note(who: str, func: Any, types: Any, args: Any, kwargs: Any) -> None:
    named = f"{getattr(func, '__module__', '')}.{getattr(func, '__qualname__', func)}"
    shown = _brief((args, kwargs if kwargs is None else sorted(kwargs.items())))
    LOG.append((who, named, tuple(t.__name__ for t in types), shown))


def _brief(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value).__name__, tuple(_brief(item) for item in value)
    if isinstance(value, (bool, int, float, complex, str)) or value is None:
        return repr(value)
    return type(value).__name__


class Plain(tl.Tensor):
    """A subclass that says nothing."""


class Logging(tl.Tensor):
    """A subclass that notes its calls and goes on."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _note("Logging", func, types, args, kwargs)
        return super().__torch_function__(func, types, args, kwargs)


def _late_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A `__torch_function__` that a class is given after its first call."""
    _note("Late", func, types, args, kwargs)
    return tl.Tensor.__torch_function__.__func__(cls, func, types, args, kwargs)


class Attributed(tl.Tensor):
    """A subclass with attributes of its own, which is made in its constructor's way."""

    unit = "m"


class Duck:
    """No tensor: answers every function with a text."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _note("Duck", func, types, args, kwargs)
        return "quack"


class Refuser:
    """No tensor: leaves every function to others."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _note("Refuser", func, types, args, kwargs)
        return NotImplemented


class Mode(tl.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _note("Mode", func, types, args, kwargs)
        return func(*args, **(kwargs or {}))


class RefusingMode(tl.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _note("RefusingMode", func, types, args, kwargs)
        return NotImplemented


def _changing(name: str) -> Any:
    """Return a new class whose `__torch_function__` comes (Late) or goes (Lost) after its first calls."""
    members = {"__torch_function__": classmethod(_late_function)} if name == "Lost" else {}
    return type(name, (tl.Tensor,), members)


def _change_now(cls: Any) -> None:
    """Give a class of `_changing` its `__torch_function__`, or take it away."""
    if cls.__name__ == "Lost":
        del cls.__torch_function__
    else:
        cls.__torch_function__ = classmethod(_late_function)


@dataclass(frozen=True)
class Name:
    """The place of an argument that is one of the specs: one may be given twice."""

    number: int

    def __repr__(self) -> str:
        return f"v{self.number}"


@dataclass
class Spec:
    """An object that is built anew for each call: a tensor or an array, or a type that is no tensor."""

    values: Any = None
    layout: str = "C"
    cls: str = "Tensor"
    #: "", "leaf", "node", or "inference".
    history: str = ""

    def build(self, classes: dict[str, Any] | None = None, memory: Any = None) -> Any:
        """Return a new object. `classes` are those of `_changing`, and `memory` what `_overlapping` says."""
        if self.cls in ("Duck", "Refuser"):
            return globals()[self.cls]()
        array = _laid_out(self.values, self.layout) if memory is None else memory
        if isinstance(array, tl.Tensor):
            return array
        if self.cls == "array":
            return array
        if self.history == "inference":
            with tl.inference_mode():
                tensor = wrap(np.array(array))
        else:
            tensor = wrap(array)
        if self.history == "leaf" or self.history == "node":
            with contextlib.suppress(RuntimeError):  # Integers.
                tensor.requires_grad_()
        if self.layout == "view":
            tensor = tensor[1:] if tensor.ndim else tensor
        if self.history == "node":
            tensor = tl.Tensor.clone(tensor)
        if self.cls == "Parameter":
            return tl.nn.Parameter(tensor.detach(), requires_grad=self.history == "leaf")
        if self.cls in ("Late", "Lost"):
            tensor = tensor.as_subclass((classes or {}).get(self.cls) or _changing(self.cls))
        elif self.cls != "Tensor":
            tensor = tensor.as_subclass(globals()[self.cls])
            if self.cls == "Attributed":
                tensor.unit = "km"
        return tensor

    def source(self) -> str:
        if self.values is None:
            return f"Spec(cls={self.cls!r})"
        values = self.values
        if values.size > 200:
            data = f"np.zeros({values.shape}, dtype_of({values.dtype.name!r}))"
        else:
            data = f"np.array({values.tolist()!r}, dtype_of({values.dtype.name!r})).reshape({values.shape})"
        return f"Spec({data}, {self.layout!r}, {self.cls!r}, {self.history!r})"


def build(specs: Sequence[Spec], *, changed: bool = True) -> list[Any]:
    """Return the objects of all specs. Their classes that change have been called once, and have `changed` since."""
    classes = {spec.cls: _changing(spec.cls) for spec in specs if spec.cls in ("Late", "Lost")}
    memory = _overlapping(specs)
    built = [spec.build(classes, memory.get(number)) for number, spec in enumerate(specs)]
    for value in built:
        if type(value) in classes.values():
            with contextlib.suppress(Exception):  # Of arrays that no tensor should have.
                tl.add(value, 1)
                tl.neg(value)
    if changed:
        change(built)
    return built


def change(built: Sequence[Any]) -> None:
    """Change the classes of `_changing` among those of built objects."""
    for cls in {type(value) for value in built if type(value).__name__ in ("Late", "Lost")}:
        _change_now(cls)


def _overlapping(specs: Sequence[Spec]) -> dict[int, Any]:
    """Return the memory of those specs that share some: arrays, or views of one tensor, an element apart."""
    found: dict[int, Any] = {}
    for number, spec in enumerate(specs):
        if not spec.layout.startswith("overlap") or not number or specs[0].values is None or number in found:
            continue
        values = np.asarray(specs[0].values)
        if values.dtype != spec.values.dtype or values.shape != spec.values.shape or 0 in found:
            continue
        memory: Any = np.concatenate([values.reshape(-1), values.reshape(-1)[:1]])
        if spec.layout == "overlapping view" and specs[0].cls == spec.cls == "Tensor":
            memory = wrap(memory)
        found[0] = memory[: values.size].reshape(values.shape)
        found[number] = memory[min(1, values.size) :][: values.size].reshape(values.shape)
    return found


def _laid_out(values: Any, layout: str) -> Any:
    """Return a new array with these values in memory of another layout."""
    values = np.asarray(values)  # Changes of the shape may have made it a scalar.
    if layout == "view":
        return np.concatenate([values[:1], values]) if values.ndim and values.size else values.copy()
    if layout == "broadcast":
        return np.broadcast_to(values[:1], values.shape) if values.ndim and values.size else values.copy()
    if layout == "F":
        return np.array(values, order="F")
    if layout == "transposed":
        return np.ascontiguousarray(values.swapaxes(0, -1)).swapaxes(0, -1) if values.ndim > 1 else values.copy()
    if layout in ("strided", "reversed"):
        if not values.ndim:
            return values.copy()
        step = 2 if layout == "strided" else -1
        wide = np.zeros((*values.shape[:-1], values.shape[-1] * abs(step)), values.dtype)
        array = wide[..., ::step]
        array[...] = values
        return array
    if layout == "misaligned":
        memory = np.zeros(values.nbytes + 1, np.uint8)
        array = np.frombuffer(memory.data, values.dtype, values.size, 1).reshape(values.shape)
        array[...] = values
        return array
    array = values.astype(values.dtype.newbyteorder(">")) if layout == "swapped" else values.copy()
    if layout == "read-only":
        array.flags.writeable = False
    return array


@dataclass
class Call:
    """One call, as data: it is made as often as wanted."""

    seed: int
    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    specs: list[Spec] = field(default_factory=list)
    context: str = ""
    #: Gradients are computed of the result.
    backward: bool = False
    #: The same call was made before, with classes that have changed since.
    again: bool = False


def _forms() -> dict[str, tuple[Form, Samples | None]]:
    found = {}
    for name, form in REGISTRY.items():
        server = serving(form)
        # Internal operations without samples are seen in the public ones that are made of them.
        if name not in _LEFT_OUT and (server is not None or form.namespace != "tensorlike._internal"):
            found[name] = form, None if server is None else server.samples
    return found


#: What is called: every form of the registry, with the samples of its arguments.
FORMS = _forms()
_NAMES = sorted(FORMS)
#: Those that the core has handlers for, most of them.
_FAST = [n for n in _NAMES if getattr(FORMS[n][0].operation, "fast_kernel", None) or FORMS[n][0].operation.view]


def dtype_of(name: str) -> Any:
    """Return the dtype of this name of NumPy's, or of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))


def python_of(function: Any) -> Any:
    """Return the Python function behind a public function, itself where there is no other."""
    return getattr(function, "_tl_python", function)


@functools.lru_cache(maxsize=512)
def _samples(name: str, dtype: str) -> list[Any]:
    samples = FORMS[name][1]
    assert samples is not None
    return samples.generate(dtype)


# ---- drawing


def draw(seed: int, names: Sequence[str] = ()) -> Call:
    """Return the call of a seed."""
    rng = random.Random(seed)
    name = rng.choice(names or (_FAST if rng.random() < 0.5 else _NAMES))
    call = Call(seed, name)
    _, samples = FORMS[name]
    if samples is None:
        call.args = (_take(call, wrap(np.array([[1.5, 2.0], [0.0, 4.0]]).astype(dtype_of(rng.choice(_DTYPES))))),)
    else:
        found = _samples(name, rng.choice(samples.dtypes)) if samples.dtypes else []
        if found:
            sample = rng.choice(found)
            call.args = tuple(_take(call, a) for a in sample.args)
            call.kwargs = {k: _take(call, a) for k, a in sample.kwargs.items()}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
            _change(call, rng)
    if rng.random() < 0.35:
        call.context = rng.choice(CONTEXTS)
    if rng.random() < 0.4:
        for spec in call.specs:
            if spec.values is not None and spec.values.dtype.kind in "fc" and rng.random() < 0.7:
                spec.history = rng.choice(("leaf", "leaf", "node"))
        call.backward = rng.random() < 0.7
    call.again = rng.random() < 0.1
    return call


def _take(call: Call, value: Any) -> Any:
    """Replace tensors and arrays by names, and note how they are built."""
    if isinstance(value, tl.Tensor):
        call.specs.append(Spec(np.array(value._tl_data)))
        return Name(len(call.specs) - 1)
    if isinstance(value, np.ndarray):
        call.specs.append(Spec(np.array(value), cls="array"))
        return Name(len(call.specs) - 1)
    if type(value) in (tuple, list):
        return type(value)(_take(call, item) for item in value)
    return value


def _change(call: Call, rng: random.Random) -> None:
    """Change one thing of a call."""
    specs = [spec for spec in call.specs if spec.values is not None]
    kind = rng.choice(("dtype", "layout", "layout", "class", "class", "shape", "values", "operand", "same", "option",
                       "out", "history", "keyword", "given", "less"))  # fmt: skip
    spec = rng.choice(specs) if specs else None
    if kind == "dtype" and spec:
        spec.values = spec.values.astype(dtype_of(rng.choice(_DTYPES)))
    elif kind == "layout" and spec:
        spec.layout = rng.choice(LAYOUTS)
        if spec.layout.startswith("overlap") and call.specs[0].values is not None and rng.random() < 0.7:
            spec.values = call.specs[0].values
    elif kind == "class" and spec:
        spec.cls = rng.choice((*CLASSES, "array"))
    elif kind == "shape" and spec:
        spec.values = np.asarray(_reshaped(spec.values, rng))
    elif kind == "values" and spec and spec.values.dtype.kind in "fc" and spec.values.size:
        spec.values = np.array(spec.values, order="C")
        # LAPACK may not return from infinities.
        extremes = (-0.0, 1e-40, 2.0) if _of_linalg(call.name) else (np.inf, -np.inf, np.nan, -0.0, 1e30, 1e-40)
        spec.values.reshape(-1)[rng.randrange(spec.values.size)] = rng.choice(extremes)
    elif kind == "history" and spec:
        spec.history = rng.choice(("leaf", "node", "inference"))
    elif kind == "same" and len(call.specs) > 1:
        number = Name(rng.randrange(len(call.specs)))
        call.args = tuple(number if isinstance(a, Name) and rng.random() < 0.5 else a for a in call.args)
    elif kind in ("operand", "option") and call.args:
        place = rng.randrange(len(call.args))
        if isinstance(call.args[place], Name) is (kind == "operand"):
            number = rng.choice(_SPECIAL if kind == "operand" else (0, 1, -1, 2, None, True, "text", 1.5, (0,), [1]))
            if kind == "operand" and rng.random() < 0.3:
                number = eval(f"np.{rng.choice(_SCALARS)}", {"np": np})
            call.args = (*call.args[:place], number, *call.args[place + 1 :])
    elif kind == "out" and spec and (rng.random() < 0.1 or "out" in _parameters(call.name)):
        shape = spec.values.shape if rng.random() < 0.7 else ()
        call.specs.append(Spec(np.zeros(shape, rng.choice(_DTYPES[:3])), rng.choice(("C", "C", "F", "read-only"))))
        call.kwargs["out"] = Name(len(call.specs) - 1) if rng.random() < 0.9 else rng.choice(call.args or (None,))
    elif kind == "keyword" and call.args:
        parameters = _parameters(call.name)
        aliases = {target: alias for alias, target in numpy_names(FORMS[call.name][0].parameters).items()}
        for _ in range(rng.choice((1, 1, 2, 3))):
            last = len(call.args) - 1
            if 0 <= last < len(parameters):
                name = parameters[last]
                call.kwargs[aliases.get(name, name) if rng.random() < 0.2 else name] = call.args[last]
                call.args = call.args[:-1]
    elif kind == "given" and len(call.args) < len(FORMS[call.name][0].parameters):
        parameter = rng.choice(FORMS[call.name][0].parameters[len(call.args) :])
        odd = (0, 1, 2, -1, 0.5, -2.5, 1e300, 1.0, True, None, "floor", (0,))
        is_default = parameter.default is not MISSING and rng.random() < 0.4
        call.kwargs[parameter.name] = parameter.default if is_default else rng.choice(odd)
    elif kind == "less" and call.args and rng.random() < 0.3:
        call.args = call.args[:-1]


def _parameters(name: str) -> list[str]:
    return [parameter.name for parameter in FORMS[name][0].parameters]


def _of_linalg(name: str) -> bool:
    samples = FORMS[name][1]
    return samples is not None and ".linalg" in samples._generate.__module__


def _reshaped(values: Any, rng: random.Random) -> Any:
    kind = rng.choice(("scalar", "empty", "one", "many", "64", "first", "grown"))
    if kind == "scalar" and values.size:
        return values.reshape(-1)[0].reshape(())
    if kind == "empty":
        return values[:0] if values.ndim else values.reshape(1)[:0]
    if kind == "one" and values.size:
        return values.reshape(-1)[:1].reshape((1,) * values.ndim)
    if kind == "many" and values.ndim < 60:
        return values.reshape((1,) * rng.randrange(1, 4) + values.shape)
    if kind == "64":
        return values.reshape((1,) * (64 - values.ndim) + values.shape)
    if kind == "first" and values.ndim and values.size:
        return values[0]
    # Beyond the size up to which a core may run the inner loop itself, and not a multiple of a vector.
    return np.resize(values, (rng.choice((17, 1025, 4097, 5003)),)) if values.size else values


# ---- calling


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """A mode that another thread has entered."""
    entered, left = threading.Event(), threading.Event()

    def run() -> None:
        with Mode():
            entered.set()
            left.wait(60)

    thread = threading.Thread(target=run)
    thread.start()
    entered.wait(60)
    try:
        yield
    finally:
        left.set()
        thread.join()


def entered(context: str) -> Any:
    """Return the context of this name."""
    return {
        "": contextlib.nullcontext,
        "no_grad": tl.no_grad,
        "inference": tl.inference_mode,
        "mode": Mode,
        "refusing mode": RefusingMode,
        "mode elsewhere": _elsewhere,
        "disabled": tl._C.DisableTorchFunctionSubclass,
        "all disabled": tl._C.DisableTorchFunction,
        "hooks": lambda: tl.autograd.graph.saved_tensors_hooks(_packed, _unpacked),
        "anomaly": lambda: tl.autograd.detect_anomaly(check_nan=False),
        "autocast": lambda: tl.autocast("cpu", dtype=tl.float16),
    }[context]()


def _packed(value: Any) -> Any:
    LOG.append(("pack", type(value).__name__, tuple(value.shape)))
    return value


def _unpacked(value: Any) -> Any:
    LOG.append(("unpack", type(value).__name__, tuple(value.shape)))
    return value


def given(value: Any, built: list[Any]) -> Any:
    if isinstance(value, Name):
        return built[value.number]
    if type(value) in (tuple, list):
        return type(value)(given(item, built) for item in value)
    if type(value) is dict:
        return {key: given(item, built) for key, item in value.items()}
    return value


def outcome(call: Call, choose: Callable[[Any], Any] = lambda function: function) -> dict[str, Any]:
    """Make a call of `choose(function)`, and return all that can be seen of it, as texts, numbers and tuples."""
    LOG.clear()
    tl.manual_seed(call.seed)
    seen: dict[str, Any] = {}
    form = FORMS[call.name][0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            built = build(call.specs, changed=not call.again)
            if call.again:
                with contextlib.suppress(Exception):
                    choose(form.function)(*given(call.args, built), **given(call.kwargs, built))
                change(built)
                tl.manual_seed(call.seed)
        except (ValueError, TypeError, RuntimeError) as error:
            return {"not built": _error(error)}
        args, kwargs = given(call.args, built), given(call.kwargs, built)
        counts = [_count(value) for value in built]
        LOG.clear()
        caught.clear()
        before, errors = STATE.get(), np.geterr()
        describer = _Describer(built, values=not _UNWRITTEN.search(call.name) and form.operation.comparable)
        result = None
        try:
            with entered(call.context):
                result = choose(form.function)(*args, **kwargs)
        except Exception as error:
            seen["error"] = _error(error)
        else:
            if isinstance(result, Iterator):
                result = list(result)
            seen["result"] = describer(result)
        if STATE.get() is not before:
            seen["state"] = "the call left the thread's State changed"
        if np.geterr() != errors:
            seen["errstate"] = "the call left np.errstate changed"
        seen["arguments"] = tuple(describer(value) for value in built)
        seen["references"] = tuple(_count(value) - count for value, count in zip(built, counts))
        seen["log"] = tuple(LOG)
        if call.backward and "result" in seen:
            LOG.clear()
            seen["gradients"] = _gradients(result, built, describer)
            seen["log of backward"] = tuple(LOG)
        seen["warnings"] = tuple((w.category.__name__, str(w.message)) for w in caught)
    return seen


def _count(value: Any) -> int:
    array = value._tl_data if isinstance(value, tl.Tensor) else value
    return sys.getrefcount(value) + sys.getrefcount(array)


def _error(error: BaseException) -> tuple[str, ...]:
    return type(error).__name__, _ADDRESS.sub("0x", str(error)), *getattr(error, "__notes__", ())


def _gradients(result: Any, built: list[Any], describer: _Describer) -> Any:
    roots = [r for r in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(r, tl.Tensor)]
    try:
        roots = [root for root in roots if root.requires_grad]
        leaves = [b for b in built if isinstance(b, tl.Tensor) and b.requires_grad]
        if not (roots and leaves):
            return None
        ones = [wrap(np.ones(root._tl_data.shape, root._tl_data.dtype)) for root in roots]
        found = tl.autograd.grad(roots, leaves, ones, allow_unused=True)
    except Exception as error:
        return _error(error)
    return describer(found)


class _Describer:
    """Describes objects by all that can be seen of them, in texts, numbers and tuples, which processes can exchange."""

    def __init__(self, built: list[Any], *, values: bool) -> None:
        self.built = built
        self.values = values
        self.depth = 0

    def __call__(self, value: Any) -> Any:
        if value is NotImplemented or value is None or isinstance(value, (str, bytes)):
            return repr(value)
        if isinstance(value, tl.Tensor):
            return self.tensor(value)
        if isinstance(value, np.ndarray):
            return self.array(value)
        if isinstance(value, (bool, int, np.generic)):
            return type(value).__name__, repr(value) if self.values else ""
        if isinstance(value, (float, complex)):
            parts = (value.real, value.imag)
            return type(value).__name__, struct.pack("2d", *parts).hex() if self.values else ""
        if isinstance(value, (tuple, list)):
            return type(value).__name__, tuple(self(item) for item in value)
        if isinstance(value, dict):
            return "dict", tuple((repr(k), self(v)) for k, v in value.items())
        return type(value).__name__, _ADDRESS.sub("0x", repr(value)) if self.values else ""

    def array(self, array: Any) -> Any:
        content = array.tobytes() if self.values else b""
        if len(content) > 512:
            content = zlib.crc32(content).to_bytes(4, "big")
        flags = array.flags
        return (
            type(array).__name__, array.dtype.str, array.shape, array.strides, flags.c_contiguous, flags.f_contiguous,
            flags.writeable, flags.aligned, content,
        )  # fmt: skip

    def tensor(self, tensor: Any) -> Any:
        number = next((i for i, other in enumerate(self.built) if other is tensor), None)
        meta, counter, edge = tensor._tl_meta, tensor._tl_counter, tensor._tl_edge
        facts: dict[str, Any] = {
            "class": type(tensor).__name__,
            "is": number,
            "array": self.array(tensor._tl_data) if isinstance(tensor._tl_data, np.ndarray) else "no array",
            "tracked": bool(tensor._tl_tracked),
            "version": counter[0] if type(counter) is list else type(counter).__name__,
            "attributes": tuple((k, self(v)) for k, v in tensor.__dict__.items()),
        }
        if isinstance(tensor._tl_data, np.ndarray):
            arrays = [b._tl_data if isinstance(b, tl.Tensor) else b for b in self.built]
            facts["memory"] = tuple(
                i for i, a in enumerate(arrays) if isinstance(a, np.ndarray) and np.may_share_memory(a, tensor._tl_data)
            )
            facts["counter"] = tuple(
                i for i, b in enumerate(self.built)
                if isinstance(b, tl.Tensor) and b._tl_counter is counter and counter is not None
            )  # fmt: skip
        if meta is not None:
            base = meta.view_base
            facts["meta"] = (
                meta.requires_grad, meta.view_version, meta.view_refuses, meta.retains_grad, meta.inference,
                next((i for i, other in enumerate(self.built) if other is base), type(base).__name__),
                meta.grad_value is None or self(meta.grad_value),
            )  # fmt: skip
        if edge is not None:
            facts["node"] = edge[1], self.node(edge[0])
        return tuple(facts.items())

    def node(self, node: Any) -> Any:
        if self.depth > 2:
            return type(node).__name__
        self.depth += 1
        try:
            slots = [s for c in type(node).__mro__ for s in c.__dict__.get("__slots__", ()) if s.startswith("_saved")]
            saved = tuple((slot, self.saved(getattr(node, slot, None))) for slot in slots)
            edges = tuple(e if e is None else (e[1], self.node(e[0])) for e in node._tl_edges)
            variable = getattr(node, "variable", None)
            number = next((i for i, other in enumerate(self.built) if other is variable), None)
            return type(node).__name__, str(node._tl_shape), str(node._tl_dtype), saved, edges, number
        finally:
            self.depth -= 1

    def saved(self, value: Any) -> Any:
        # (array, version counter, version), or a number, or a list of such.
        if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
            return type(value).__name__, tuple(self.saved(item) for item in value)
        return self(value)


# ---- comparing


def difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Return what two outcomes differ in, "" where they agree."""
    for key in sorted({*one, *other}):
        if one.get(key) != other.get(key):
            first, second = _part(one.get(key), other.get(key))
            return f"{key}: {str(first)[:600]}\n    in Python: {str(second)[:600]}"
    return ""


def _part(one: Any, other: Any) -> tuple[Any, Any]:
    """Return the smallest part in which two descriptions differ."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        places = [i for i, (a, b) in enumerate(zip(one, other)) if a != b]
        if len(places) == 1:
            first, second = _part(one[places[0]], other[places[0]])
            if places[0] and isinstance(one[places[0] - 1], str) and isinstance(first, (str, int, bool, type(None))):
                return (one[places[0] - 1], first), (other[places[0] - 1], second)
            return first, second
    return one, other


def shrink(call: Call, differs: Callable[[Call], bool]) -> Call:
    """Return a smaller call that still differs."""
    changed = True
    while changed:
        changed = False
        for candidate in _smaller(call):
            with contextlib.suppress(Exception):
                if differs(candidate):
                    call, changed = candidate, True
                    break
    return call


def _smaller(call: Call) -> Iterator[Call]:
    def copy(**changes: Any) -> Call:
        fields = {name: getattr(call, name) for name in ("args", "context", "backward", "again")}
        fields["kwargs"] = dict(call.kwargs)
        specs = [Spec(s.values, s.layout, s.cls, s.history) for s in call.specs]
        return Call(call.seed, call.name, specs=specs, **{**fields, **changes})

    if call.context:
        yield copy(context="")
    if call.backward:
        yield copy(backward=False)
    if call.again:
        yield copy(again=False)
    for name in call.kwargs:
        yield copy(kwargs={k: v for k, v in call.kwargs.items() if k != name})
    for number, spec in enumerate(call.specs):
        simpler = [("layout", "C"), ("cls", "Tensor"), ("history", "")]
        for attribute, value in simpler:
            if getattr(spec, attribute) != value:
                candidate = copy()
                setattr(candidate.specs[number], attribute, value)
                yield candidate
        values = spec.values
        if values is not None and values.size:
            smaller = [values[:1]] if values.ndim and len(values) > 1 else []
            smaller += [values[0]] if values.ndim else []
            smaller += [np.ones_like(values)] if (values != 1).any() else []
            for content in smaller:
                candidate = copy()
                candidate.specs[number].values = np.array(content)
                yield candidate


def program(call: Call) -> str:
    """Return a program that makes a call both ways and prints what differs."""
    used = [f"v{i}" for i in range(len(call.specs))]
    lines = [
        f"# seed {call.seed}: {call.name}",
        "import numpy as np, tensorlike as tl",
        "from numpy import *  # noqa: F403 - for numbers as they print themselves",
        "from tests.native.random_calls import FORMS, Spec, build, change, dtype_of, entered, python_of",
        f"function = FORMS[{call.name!r}][0].function",
        "for choice in (function, python_of(function)):",
    ]
    if used:
        lines += [f"    {', '.join(used)}, = built = build(["]
        lines += [f"        {spec.source()}," for spec in call.specs]
        lines += [f"    ], changed={not call.again})"]
    arguments = [*(repr(a) for a in call.args), *(f"{k}={v!r}" for k, v in call.kwargs.items())]
    made = f"choice({', '.join(arguments)})"
    if call.again:
        lines += ["    try:", f"        {made}", "    except Exception:", "        pass", "    change(built)"]
    lines += [f"    with entered({call.context!r}):", f"        result = {made}"]
    if call.backward:
        lines += [f"    print(tl.autograd.grad(result, [{', '.join(used)}], tl.ones_like(result)))"]
    return "\n".join([*lines, "    print(repr(result))"])


# ---- the command


def outcomes(seeds: range, names: Sequence[str], choose: Callable[[Any], Any]) -> Iterator[dict[str, Any]]:
    """Yield the outcomes of the calls of these seeds."""
    for seed in seeds:
        # A call that does not return ends the process, with the traceback that says where it is. Nothing is yielded
        # meanwhile: who stops asking would leave a process that ends two minutes later, wherever it is then.
        faulthandler.dump_traceback_later(120, exit=True)
        try:
            found = outcome(draw(seed, names), choose)
        finally:
            faulthandler.cancel_dump_traceback_later()
        yield found


def _in_pure_mode(seeds: range, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the outcomes of the same calls in a process without the core."""
    command = [sys.executable, "-m", "tests.native.random_calls", "--dump", "--count", str(len(seeds))]
    command += ["--seed", str(seeds.start), *names]
    environment = {**os.environ, "TENSORLIKE_PURE": "1"}
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=root) as process:
        assert process.stdout is not None
        for _ in seeds:
            yield pickle.load(process.stdout)


def compare(
    seeds: range, names: Sequence[str] = (), *, against: str = "python", choose: Callable[[Any], Any] = lambda f: f
) -> Iterator[tuple[Call, dict[str, Any], str]]:
    """Yield each call with its outcome and what differs, "" for nothing.

    `choose` takes a public function and returns what is called in its place: the tests of this program lie there.
    """
    others = _in_pure_mode(seeds, names) if against == "pure" else outcomes(seeds, names, python_of)
    for seed, other in zip(seeds, others):
        call = draw(seed, names)
        here = outcome(call, choose)
        yield call, here, difference(here, other)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.native.random_calls", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions to call, as tensorlike.add; all without one")
    parser.add_argument("--count", type=int, default=20_000, help="calls to make (20000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first call; the others follow it (0)")
    parser.add_argument("--show", type=int, default=10, help="differences to print, each of another function (10)")
    parser.add_argument("--against", choices=("python", "pure"), default="python", help="what calls are compared with")
    parser.add_argument("--dump", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    if options.dump:
        for found in outcomes(seeds, options.names, lambda function: function):
            pickle.dump(found, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return 0

    from tensorlike import _native

    if _native.core is None:
        print(f"random calls compare with the native core, which is not used: {_native.reason}", file=sys.stderr)
        return 2
    different: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for call, found, differs in compare(seeds, options.names, against=options.against):
        ended["raised" if "error" in found else "returned" if "result" in found else "not built"] += 1
        if differs:
            different[call.name] += 1
            if different[call.name] == 1 and len(different) <= options.show:
                small = call
                if options.against == "python":
                    small = shrink(call, lambda c: bool(difference(outcome(c), outcome(c, python_of))))
                print(f"{program(small)}\n# {differs}\n".replace("\n    in", "\n#     in"), flush=True)
    print(f"{options.count:,} calls: {dict(ended)}, {different.total()} differ")
    for name, count in different.most_common():
        print(f"  {count:,} {name}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
