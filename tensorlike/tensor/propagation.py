"""Propagation of the attributes that a subclass of Tensor declares to results.

# Note [Declared attributes]
A class that declares attributes gives up the shortcut for types that inherit the default implementation: its plans have
no `default`, so that every call passes `Tensor.__torch_function__`. Classes that declare nothing do not pay for this.
The attributes are determined before the function runs: a merge that refuses leaves every operand as it was, in-place
operations included.

An index is no data: its attributes take no part in `x[index]` and `x[index] = y`.
"""

from __future__ import annotations

import inspect
from types import MemberDescriptorType
from typing import Any

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.core import STATE
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.pytree import instances
from tensorlike.dispatch.signature import NESTED


def check_declaration(cls: type, base: type) -> None:
    """Check `__tensor_attributes__` of a class, and add those of its bases. Called when the class is created."""
    found: dict[str, None] = {}
    for kind in reversed(cls.__mro__):
        declared = kind.__dict__.get("__tensor_attributes__", ())
        if isinstance(declared, str) or not isinstance(declared, (tuple, list)):
            raise TypeError(
                f"{kind.__name__}.__tensor_attributes__ must be a tuple of attribute names, got {declared!r}; "
                'write e.g. __tensor_attributes__ = ("unit",)'
            )
        for name in declared:
            if not isinstance(name, str) or not name.isidentifier():
                raise TypeError(f"{kind.__name__}.__tensor_attributes__ holds {name!r}, which is no attribute name")
            if hasattr(base, name):
                raise TypeError(
                    f"{kind.__name__}.__tensor_attributes__ holds {name!r}, an attribute that every Tensor has; "
                    "choose another name"
                )
            if isinstance(kind.__dict__.get(name), property) and kind.__dict__[name].fset is None:
                raise TypeError(
                    f"{kind.__name__}.__tensor_attributes__ holds {name!r}, a property that cannot be set; give it a "
                    "setter"
                )
            if name.startswith("__") and not name.endswith("__"):  # As Python calls it inside the class.
                name = f"_{kind.__name__.lstrip('_')}{name}"
            found[name] = None
        if inspect.isfunction(kind.__dict__.get("__tensor_merge__")):
            raise TypeError(
                f"{kind.__name__}.__tensor_merge__ must be a classmethod (cls, name, values); write @classmethod above "
                "it"
            )
    if found:
        cls.__tensor_attributes__ = tuple(found)  # type: ignore[attr-defined]


def carried(tensor: Any, name: str) -> Any:
    """Return the attribute stored on this tensor, MISSING if it only has its class's default."""
    if tensor._tl_transformed:
        tensor = tensor.innermost()
    value = tensor.__dict__.get(name, MISSING)
    if value is MISSING:
        descriptor = getattr(type(tensor), name, None)
        # The value of a property is stored under another name; on a tensor that stores nothing it is a default.
        if isinstance(descriptor, MemberDescriptorType) or (hasattr(descriptor, "__set__") and _stores(tensor)):
            value = getattr(tensor, name, MISSING)
    return value


def attributes_of(tensor: Any) -> dict[str, Any]:
    """Return the declared attributes that are stored on this tensor, by their names."""
    found = {name: carried(tensor, name) for name in type(tensor).__tensor_attributes__}
    return {name: value for name, value in found.items() if value is not MISSING}


def _stores(tensor: Any) -> bool:
    return bool(tensor.__dict__)


def copy_attributes(source: Any, target: Any, names: tuple[str, ...]) -> None:
    """Copy to `target` the declared attributes of `source` that it lacks."""
    for name in names:
        value = carried(source, name)
        if value is not MISSING and carried(target, name) is MISSING:
            setattr(target, name, value)


def _agree(first: str, other: str) -> bool:
    if first is other:
        return True
    try:
        return bool(first == other)
    except (TypeError, ValueError, RuntimeError):  # Comparing arrays and tensors gives no single bool.
        return False


def settled(
    cls: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the tensors among the operands, and the attributes for results made from them."""
    operands = instances(args, TensorBase)
    operands += [t for name, value in kwargs.items() if name != "out" for t in instances(value, TensorBase)]
    sources = operands
    form = form_of(func)
    if form is not None and any(p.operand == NESTED for p in form.parameters):  # An index is no data.
        sources = [
            t
            for p, value in zip(form.parameters, args, strict=False)
            if p.operand != NESTED
            for t in instances(value, TensorBase)
        ]
    values: dict[str, Any] = {}
    for name in cls.__tensor_attributes__:
        found = [v for v in (carried(t, name) for t in sources) if v is not MISSING]
        if not found:
            continue
        merge = cls.__tensor_merge__
        if merge is not None and not all(_agree(found[0], v) for v in found[1:]):
            values[name] = merge(name, found)
        else:
            values[name] = found[0]
    return tuple(operands), values


def finalized(
    cls: Any, func: Any, result: Any, settled: tuple[tuple[Any, ...], dict[str, Any]], kwargs: dict[str, Any]
) -> Any:
    """Set the attributes of the tensors in `result`; return it."""
    operands, values = settled
    form = form_of(func)
    in_place = form is not None and form.inplace
    outs = instances(kwargs.get("out"), TensorBase)
    results = instances(result, TensorBase)
    if in_place and result is None:  # As `__setitem__`.
        results = list(operands[:1])
    for tensor in results:
        if not isinstance(tensor, cls):
            continue
        written = any(tensor is t for t in outs) or (in_place and bool(operands) and tensor is operands[0])
        if not written and any(tensor is t for t in operands):
            continue
        for key, value in values.items():
            # A deep copy carries copies of its own already.
            if written or carried(tensor, key) is MISSING:
                setattr(tensor, key, value)
        if cls.__tensor_finalize__ is not None:
            # Operations in the hook must not call it again.
            state = STATE.get()
            try:
                STATE.set(state.silenced())
                cls.__tensor_finalize__(tensor, operands)
            finally:
                STATE.set(state)
    return result
