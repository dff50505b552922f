"""Random calls of the functions that the native core answers by families, and what is compared of their results."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch import core as dispatching
from tensorlike.dispatch.collect import numpy_names
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import form_of
from tensorlike.operations.native_calls import describe
from tensorlike.operations.native_families import family_of

ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy itself has no bfloat16")

#: What the function behind a handler returns in these tests: C left the call to Python.
LEFT = object()

F = tl.nn.functional
VIEWS = [
    tl.Tensor.__getitem__, tl.reshape, tl.Tensor.reshape, tl.Tensor.view, tl.flatten, tl.Tensor.flatten, tl.permute,
    tl.Tensor.permute, tl.transpose, tl.Tensor.transpose, tl.swapaxes, tl.swapdims, tl.t, tl.squeeze, tl.unsqueeze,
    tl.Tensor.expand, tl.broadcast_to,
]  # fmt: skip
REDUCTIONS = [
    tl.sum, tl.Tensor.sum, tl.mean, tl.Tensor.mean, tl.prod, tl.amax, tl.amin, tl.max, tl.min, tl.all, tl.any,
]  # fmt: skip
PRODUCTS = [tl.matmul, tl.Tensor.__matmul__, tl.mm, tl.mv, tl.dot, F.linear]
COPIES = [tl.Tensor.detach, tl.Tensor.item, tl.clone, tl.Tensor.clone]
JOINS = [tl.cat, tl.concat, tl.stack, tl.where, tl.softmax, F.softmax]
ASSIGNMENTS = [tl.Tensor.__setitem__]
DTYPES = [*"?bBhHiIlLefdFD", ml_dtypes.bfloat16, ">f4", ">i8"]


def python_of(function: Any) -> Any:
    """Return the Python function behind a public function, in either mode."""
    return getattr(function, "_tl_python", function)


def native_of(function: Any) -> Any:
    """Return a function of the core that has the handler of `function`, and LEFT as what Python answers."""

    def left(*args: Any, **kwargs: Any) -> Any:
        return LEFT

    made = core.Function(left)
    form = form_of(function)
    assert form is not None
    assert describe(made, form.parameters, form.operation)
    family = family_of(form)
    assert family is not None
    family.attach(made, form)
    return made


def provide() -> None:
    """Give the core what it needs of the Python side, where the library has not done so itself."""
    if not hasattr(tl.sum, "_tl_python"):
        core.provide(
            tensor=tl.Tensor, parameter=tl.nn.Parameter, tensors=dispatching.TENSORS, plain=dispatching.PLAIN,
            state=dispatching.STATE, clear=dispatching.CLEAR, missing=MISSING,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- arrays


def some_shape(r: random.Random, most: int = 4) -> tuple[int, ...]:
    return tuple(r.choice((1, 1, 2, 3, 3, 4, 5, 0 if r.random() < 0.1 else 2)) for _ in range(r.randint(0, most)))


def fill(r: random.Random, array: Any) -> None:
    values = np.random.default_rng(r.getrandbits(32))
    if array.dtype.kind in "fcV":
        drawn = values.standard_normal(array.shape) * r.choice((1.0, 1e-3, 30.0, 1e4))
        special = values.random(array.shape)
        if r.random() < 0.3:
            for chance, value in ((0.9, 0.0), (0.93, -0.0), (0.96, np.inf), (0.98, np.nan)):
                drawn = np.where(special > chance, value, drawn)
        if array.dtype.kind == "c":
            drawn = drawn + 1j * values.standard_normal(array.shape)
        with np.errstate(all="ignore"):
            array[...] = drawn
    else:
        array[...] = values.integers(0, 2 if array.dtype.kind == "b" else 100, array.shape)


def some_array(r: random.Random, dtype: Any, shape: tuple[int, ...], tidy: float = 0.5) -> Any:
    """Return an array of any layout."""
    dtype = np.dtype(dtype)
    if r.random() < tidy:
        array = np.empty(shape, dtype)
        fill(r, array)
        return array
    kind = r.choice(("transposed", "steps", "negative", "expanded", "misaligned", "read-only", "odd strides", "inner"))
    if kind == "transposed":
        array = np.empty(shape[::-1], dtype)
        fill(r, array)
        return array.T
    if kind in ("steps", "negative") and len(shape) < 10:
        array = np.empty(tuple(2 * n for n in shape), dtype)
        fill(r, array)
        return array[tuple(slice(None, None, 2 if kind == "steps" else -2) for _ in shape)]
    if kind == "expanded":
        array = np.empty(tuple(1 if r.random() < 0.5 else n for n in shape), dtype)
        fill(r, array)
        return np.broadcast_to(array, shape)
    if kind == "misaligned":
        memory = np.zeros(int(np.prod(shape)) * dtype.itemsize + 1, np.uint8)
        array = np.ndarray(shape, dtype, memory, 1)
        fill(r, array)
        return array
    array = np.empty(shape, dtype)
    fill(r, array)
    if kind == "read-only":
        array.flags.writeable = False
    elif kind == "odd strides":
        odd = tuple(7 * dtype.itemsize if n == 1 else s for n, s in zip(shape, array.strides, strict=True))
        return np.lib.stride_tricks.as_strided(array, shape, odd)
    elif kind == "inner":
        return np.concatenate([array, array])[: shape[0]] if shape else array
    return array


STATES = ("plain",) * 6 + (
    "view", "view of view", "version", "leaf", "view of leaf", "detached", "history", "no_grad view", "later leaf",
    "parameter", "inference", "view of result", "subclass", "no_grad view of leaf",
)  # fmt: skip


def some_tensor(r: random.Random, shape: tuple[int, ...] | None = None, dtype: Any = None, tidy: float = 0.5) -> Any:
    """Return a tensor of any state: a view, a leaf, of a changed version, ..."""
    if shape is None:
        shape = (1,) * r.randint(60, 64) if r.random() < 0.03 else some_shape(r)
    array = some_array(r, r.choice(DTYPES) if dtype is None else dtype, shape, tidy)
    tensor = wrap(array)
    differentiable = array.dtype.kind in "fc"
    state = r.choice(STATES)
    if state == "view":
        tensor = tl.Tensor.__getitem__(tensor, ...)
    elif state == "view of view":
        tensor = tl.Tensor.__getitem__(tl.Tensor.__getitem__(tensor, ...), ...)
    elif state == "version":
        tensor._tl_counter = [3]
    elif state == "detached":
        tensor = tensor.detach()
    elif state == "no_grad view":
        with tl.no_grad():
            tensor = tl.Tensor.__getitem__(tensor, ...)
    elif state == "inference":
        with tl.inference_mode():
            tensor = tensor.clone()
    elif state == "subclass":
        tensor = tensor.as_subclass(Sub)
    elif differentiable and array.dtype.isnative:
        if state == "leaf":
            tensor.requires_grad_()
        elif state == "view of leaf":
            tensor = tl.Tensor.__getitem__(tensor.requires_grad_(), ...)
        elif state == "no_grad view of leaf":
            with tl.no_grad():
                tensor = tl.Tensor.__getitem__(tensor.requires_grad_(), ...)
        elif state == "history":
            tensor = tensor.requires_grad_() * 1
        elif state == "view of result":
            tensor = tl.Tensor.__getitem__(tensor.requires_grad_() * 1, ...)
        elif state == "later leaf":
            base = tensor
            tensor = tl.Tensor.__getitem__(base, ...)
            base.requires_grad_()
        elif state == "parameter":
            tensor = tl.nn.Parameter(tensor, requires_grad=r.random() < 0.5)
    return tensor


class Sub(tl.Tensor):
    pass


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@contextlib.contextmanager
def some_mode(r: random.Random) -> Iterator[None]:
    kind = r.random()
    if kind < 0.75:
        yield
    elif kind < 0.9:
        with tl.no_grad():
            yield
    elif kind < 0.95:
        with tl.inference_mode():
            yield
    else:
        with tl.overrides.TorchFunctionMode():
            yield


# -------------------------------------------------------------------------------------------------------------- calls

Call = tuple[tuple[Any, ...], dict[str, Any]]


def some_int(r: random.Random, least: int, most: int) -> Any:
    n = r.randint(least, most)
    odd = r.random()
    if odd > 0.05:
        return n
    return r.choice((n == 1, np.int64(n), Index(n), 2**70, -(2**70), 1.0, None, str(n), 2**63 - 1, -(2**63)))


def some_part(r: random.Random, size: int) -> Any:
    kind = r.random()
    if kind < 0.35:
        return some_int(r, -size - (r.random() < 0.05), max(size - 1, 0))
    if kind < 0.7:
        bounds = [None if r.random() < 0.3 else some_int(r, -size - 2, size + 2) for _ in range(2)]
        step = None if r.random() < 0.5 else some_int(r, 1, 3) if r.random() < 0.9 else r.choice((0, -1, 2**70, 2**62))
        return slice(*bounds, step)
    return r.choice((None, Ellipsis, Ellipsis, slice(None)))


def sizes_like(r: random.Random, tensor: Any) -> list[Any]:
    count = max(int(tensor._tl_data.size), 1)
    if r.random() < 0.2:
        return list(tensor._tl_data.shape)
    found: list[Any] = []
    while count > 1 and len(found) < 5:
        divisor = r.choice([d for d in range(1, count + 1) if count % d == 0][:6])
        found.append(divisor)
        count //= divisor
        if r.random() < 0.3:
            found.append(1)
    if count > 1 or r.random() < 0.3:
        found.append(count)
    if found and r.random() < 0.3:
        found[r.randrange(len(found))] = -1
    if r.random() < 0.08:
        found.append(some_int(r, -2, 3))
    r.shuffle(found)
    return found


def given_sizes(r: random.Random, function: Any, sizes: list[Any]) -> tuple[Any, ...]:
    """Return sizes one by one or as one sequence."""
    if r.random() < (0.6 if python_of(function).__qualname__.startswith("Tensor.") else 0.05):
        return tuple(sizes)
    return (r.choice((tuple, tuple, list, _size))(sizes),)


def _size(sizes: Any) -> Any:
    return tl.Size(sizes) if all(type(n) is int and abs(n) < 2**62 for n in sizes) else tuple(sizes)


def view_call(r: random.Random, function: Any) -> Call:
    tensor = some_tensor(r)
    shape = tensor._tl_data.shape
    ndim = len(shape)
    name = python_of(function).__qualname__.removeprefix("Tensor.")
    if name == "__getitem__":
        parts = [some_part(r, shape[d] if d < ndim else 1) for d in range(r.randint(0, min(ndim, 5) + 1))]
        return (tensor, parts[0] if len(parts) == 1 and r.random() < 0.5 else tuple(parts)), {}
    if name in ("reshape", "view"):
        return (tensor, *given_sizes(r, function, sizes_like(r, tensor))), {}
    if name in ("expand", "broadcast_to"):
        lead = [some_int(r, 1, 3) for _ in range(r.randint(0, 2))]
        wide = [r.choice((-1, n, n if n != 1 else some_int(r, -1, 3))) for n in shape]
        return (tensor, *given_sizes(r, function, lead + wide)), {}
    if name == "permute":
        order = list(range(ndim))
        r.shuffle(order)
        order = [d - ndim if r.random() < 0.3 else d for d in order]
        if r.random() < 0.1:
            order.append(0)
        return (tensor, *given_sizes(r, function, order)), {}
    count = {"transpose": 2, "swapaxes": 2, "swapdims": 2, "unsqueeze": 1, "t": 0}.get(name)
    if count is None:
        count = r.randint(0, 1 if name == "squeeze" else 2)
    dims = tuple(some_int(r, -ndim - (r.random() < 0.05), max(ndim - 1, 0)) for _ in range(count))
    if name == "flatten" and r.random() < 0.7:
        dims = tuple(sorted(d for d in dims if type(d) is int))
    return (tensor, *dims), {}


def assign_call(r: random.Random, function: Any) -> Call:
    usual = r.choice("fdl?") if r.random() < 0.7 else None
    tensor = some_tensor(r, dtype=usual, tidy=0.7)
    shape = tensor._tl_data.shape
    parts = [some_part(r, n) for n in shape[: r.randint(0, len(shape))]]
    index = parts[0] if len(parts) == 1 and r.random() < 0.7 else tuple(parts)
    kind = r.random()
    value: Any = r.choice((0, 1, 7, -3, 300, 2**40, 2**70, 0.0, 3.5, -1e5, 1e300, 3e38, float("inf"), float("nan"), 1j,
                           True, False, None, np.float32(2), np.int64(3), "text"))  # fmt: skip
    if kind < 0.6:
        try:
            chosen = tensor._tl_data[(*parts, ...)].shape
        except (IndexError, TypeError, ValueError, OverflowError):
            chosen = ()
        given = [n if r.random() < 0.85 else r.choice((1, 1, 2)) for n in chosen][r.choice((0, 0, 0, 1)) :]
        given = [1] * r.choice((0, 0, 0, 1)) + given
        value = some_tensor(r, tuple(given), tensor._tl_data.dtype if r.random() < 0.9 else "f", 0.7)
    elif kind < 0.7:
        with contextlib.suppress(IndexError, TypeError, ValueError, OverflowError):
            value = python_of(tl.Tensor.__getitem__)(tensor, index if r.random() < 0.5 else some_part(r, 3))
    return (tensor, index, value), {}


def by_name(r: random.Random, function: Any, call: Call) -> Call:
    """Return a call with some arguments passed by name: NumPy's, defaults, and names that there are not."""
    args, kwargs = list(call[0]), dict(call[1])
    form = form_of(function)
    assert form is not None
    aliases = {target: alias for alias, target in numpy_names(form.parameters).items()}
    for _ in range(r.choice((0, 1, 1, 2, 3))):
        if args and len(args) <= len(form.parameters):
            name = form.parameters[len(args) - 1].name
            kwargs[aliases.get(name, name) if r.random() < 0.3 else name] = args.pop()
    if r.random() < 0.3:
        parameter = r.choice(form.parameters)
        kwargs.setdefault(parameter.name, None if parameter.default is MISSING else parameter.default)
    if r.random() < 0.05:
        kwargs["nothing"] = 1
    order = list(kwargs.items())
    r.shuffle(order)
    return tuple(args), dict(order)


def copy_call(r: random.Random, function: Any) -> Call:
    one = (1,) * r.randint(0, 3)
    return (some_tensor(r, one if python_of(function).__name__ == "item" else None),), {}


def reduction_call(r: random.Random, function: Any) -> Call:
    shape = some_shape(r)
    if r.random() < 0.2:
        shape = tuple(r.choice((1, 7, 8, 9, 16, 33, 130)) for _ in range(r.randint(1, 2)))
    usual = "?" if python_of(function).__qualname__ in ("all", "any") else r.choice("fd")
    tensor = some_tensor(r, shape, dtype=usual if r.random() < 0.5 else None, tidy=0.8)
    args: list[Any] = [tensor]
    kwargs: dict[str, Any] = {}
    if r.random() < 0.6:
        dim = some_int(r, -len(shape), max(len(shape) - 1, 0))
        if r.random() < 0.05:
            dim = r.choice(((), (0,), (0, 1), None))
        if r.random() < 0.3:
            kwargs["dim"] = dim
        else:
            args.append(dim)
        if r.random() < 0.4:
            keepdim = r.choice((True, False, False, 1))
            if kwargs or r.random() < 0.3:
                kwargs["keepdim"] = keepdim
            else:
                args.append(keepdim)
    if r.random() < 0.03:
        kwargs["dtype"] = tl.float64
    return tuple(args), kwargs


def product_call(r: random.Random, function: Any) -> Call:
    dtype = r.choice("ffffddFDeil")
    m, n, p = (r.choice((1, 1, 2, 3, 4, 5, 8, 17)) for _ in range(3))
    name = python_of(function).__qualname__
    first, second = {"mm": ((m, n), (n, p)), "mv": ((m, n), (n,)), "dot": ((n,), (n,)), "linear": ((m, n), (p, n))}.get(
        name,
        (r.choice(((n,), (m, n), (m, n), (2, m, n))), r.choice(((n,), (n, p), (n, p), (2, n, p)))),
    )
    if name == "linear":
        first = r.choice(((m, n), (n,), (2, m, n)))
    if r.random() < 0.03:
        first = (*first, 2)
    args = [some_tensor(r, first, dtype, 0.6), some_tensor(r, second, dtype if r.random() < 0.95 else "f", 0.6)]
    if name == "linear" and r.random() < 0.6:
        bias = r.choice((None, some_tensor(r, (p,), dtype, 0.7), some_tensor(r, (1,), dtype)))
        if r.random() < 0.3:
            return tuple(args), {"bias": bias}
        args.append(bias)
    return tuple(args), {}


def join_call(r: random.Random, function: Any) -> Call:
    name = python_of(function).__qualname__
    dtype = r.choice(DTYPES) if r.random() < 0.5 else r.choice("fd")
    shape = some_shape(r)
    if name == "softmax":
        return (some_tensor(r, shape, dtype, 0.8), some_int(r, -1, max(len(shape) - 1, 0))), {}
    if name == "where":
        values = [some_tensor(r, shape if r.random() < 0.8 else (), dtype, 0.8) for _ in range(2)]
        if r.random() < 0.2:
            values[1] = r.choice((0.0, -1.5, 1e300, float("nan"), 1, True))
        return (some_tensor(r, shape if r.random() < 0.9 else (), "?", 0.8), *values), {}
    dim = some_int(r, -len(shape), max(len(shape) - 1, 0))
    tensors = []
    for _ in range(r.randint(0 if r.random() < 0.05 else 1, 4)):
        own = list(shape)
        if name != "stack" and type(dim) is int and -len(shape) <= dim < len(shape) and shape:
            own[dim] = r.randint(0 if r.random() < 0.1 else 1, 3)
        tensors.append(some_tensor(r, tuple(own), dtype if r.random() < 0.97 else "f", 0.85))
    group = r.choice((list, tuple))(tensors)
    how = r.random()
    return ((group,), {"dim": dim}) if how < 0.2 else ((group, dim), {}) if how < 0.8 else ((group,), {})


# ----------------------------------------------------------------------------------------------------------- comparing


def tensors_of(call: Call) -> list[Any]:
    found = []
    for value in (*call[0], *call[1].values()):
        found += [v for v in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(v, tl.Tensor)]
    return found


def _which(value: Any, known: list[Any]) -> Any:
    """Return which of the known objects a value is, so that two runs can be compared."""
    if value is None:
        return None
    return next((i for i, k in enumerate(known) if k is value), "new")


def _memory(array: Any, known: list[Any]) -> Any:
    """Return whose memory an array has. New memory may be its own or that of an array that nobody else has."""
    return "new" if array.base is None else _which(array.base, known)


def _flags(array: Any) -> str:
    return "\n".join(line for line in str(array.flags).splitlines() if "OWNDATA" not in line)


def _saved(value: Any, known: list[Any]) -> Any:
    """Return a saved value in a form that can be compared: an array's bytes, its counter and version, or a value."""
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[1], list):
        array, counter, version = value
        return array.shape, array.strides, array.dtype.str, array.tobytes(), _which(counter, known), version
    if isinstance(value, list):
        return [_saved(v, known) for v in value]
    return type(value), repr(value)


def _history(tensor: Any, known: list[Any]) -> Any:
    """Return the node of a tensor in a form that can be compared."""
    if tensor._tl_edge is None:
        return None
    node, number = tensor._tl_edge
    slots = [name for cls in type(node).__mro__ for name in cls.__dict__.get("__slots__", ())]
    edges = [None if e is None else (type(e[0]).__name__, e[1], _which(e[0], known)) for e in node._tl_edges]
    saved = {name: _saved(getattr(node, name), known) for name in sorted(slots) if name.startswith("_saved")}
    return type(node).__name__, number, node._tl_shape, str(node._tl_dtype), edges, saved


META = (
    "requires_grad", "view_version", "view_refuses", "grad_value", "grad_dtype", "hooks", "retains_grad",
    "post_accumulate_hooks", "inference",
)  # fmt: skip


def state_of(tensor: Any, given: list[Any]) -> dict[str, Any]:
    """Return all that is observable of a tensor, with the operands of its call and what belongs to them by number."""
    known = [*given, *(g._base for g in given), *(g._tl_counter for g in given), *(g._tl_data for g in given)]
    known += [g._tl_data.base for g in given]
    edges = [g._tl_edge for g in given] + [g._tl_meta and g._tl_meta.leaf_edge for g in given]
    known += [edge and edge[0] for edge in edges]
    array, meta = tensor._tl_data, tensor._tl_meta
    found: dict[str, Any] = {
        "type": type(tensor), "itself": _which(tensor, given), "array": _which(array, known), "shape": array.shape,
        "strides": array.strides, "flags": _flags(array), "bytes": array.tobytes(), "memory": _memory(array, known),
        "dtype": array.dtype.str, "descr": array.dtype.isnative and array.dtype.kind != "V" and id(array.dtype),
        "tracked": tensor._tl_tracked, "history": _history(tensor, known), "counter": _which(tensor._tl_counter, known),
        "version": None if tensor._tl_counter is None else list.__getitem__(tensor._tl_counter, 0),
        "counter type": type(tensor._tl_counter), "requires_grad": tensor.requires_grad,
        "base": _which(tensor._base, known), "meta": meta is None, "dict": dict(tensor.__dict__),
    }  # fmt: skip
    if meta is not None:
        for name in META:
            found["meta." + name] = getattr(meta, name)
    return found


def outcome(function: Callable[..., Any], call: Call) -> Any:
    """Return the observable outcome of a call on its result and its operands; LEFT where C leaves it to Python."""
    args, kwargs = call
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    if result is LEFT:
        return LEFT
    given = tensors_of(call)
    if result is None:
        return [state_of(g, given) for g in given]
    if not isinstance(result, tl.Tensor):
        return type(result), repr(result)
    return [state_of(result, given), *(state_of(g, given) for g in given)]
