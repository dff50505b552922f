"""Source templates of fast paths, which the generated wrappers try first.

# Note [The hot path]
`hot_source` is the whole life of a plain call in one frame: two type tests, two attribute reads, the dtype test, the
kernel, the wrap. A second frame would cost 40 to 70 ns, a promotion that finds nothing to do 50, five slot stores
instead of one 40. Other cases (another dtype, a number that NumPy would treat differently, an error) leave the fast
path without effects and are computed, or raised, by the implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tensorlike.autograd.tensor_base import new_tensor_source
from tensorlike.dispatch.core import MISSING
from tensorlike.dispatch.signature import ONE, POSITIONAL, Parameter

from . import fast_paths
from .fast_paths import FastPath
from .generate import allows_number, operands_of
from .promotion_rules import Promotion

if TYPE_CHECKING:
    from .declare import Declaration

__all__ = ["fast_operands", "hot_source", "inherited_lines", "inherited_source", "inplace_hot_source", "writes_fast"]

#: Ufuncs that give two operands of one dtype that dtype, whichever it is: nothing to test but for a scalar.
_CLOSED = frozenset((np.add, np.multiply))


def fast_operands(d: Declaration, parameters: Sequence[Parameter]) -> list[Parameter] | None:
    """Return the operands of a form that has the fast path of elementwise functions; None where it has none."""
    operands = operands_of(parameters)
    if not fast_paths.ENABLED or not d.elementwise or d.several or d.fast_kinds is None:
        return None
    if not 1 <= len(operands) <= 2 or any(p.operand != ONE for p in operands):
        return None
    return operands if [p for p in parameters if p.default is MISSING] == operands else None


def writes_fast(d: Declaration) -> bool:
    """Return whether in-place forms of `d` may write as they compute: not if NumPy could refuse halfway."""
    return isinstance(d.hot, str) and not d.boolean and d.promotion not in (Promotion.BOUNDS, Promotion.POWER)


def hot_source(d: Declaration, parameters: Sequence[Parameter]) -> str:
    """Return the fast path of an elementwise function, or nothing: see Note [The hot path]."""
    if isinstance(d.hot, FastPath):
        return d.hot.written(parameters)
    operands, kinds = fast_operands(d, parameters), d.fast_kinds
    if operands is None:
        return ""
    a = operands[0].name
    optional = [p.name for p in parameters if p.kind == POSITIONAL and p.default is not MISSING]
    absent = "".join(f" and {name} is MISSING" for name in optional)
    record = f"record(result, {', '.join(p.name for p in operands)}{_defaults(d, parameters)})"
    kernel = "kernel" if d.hot else "kernel, numpy"
    guard = "" if d.hot else " and type(a) is ndarray"
    same = "result.dtype is BOOL" if d.boolean else "result.dtype is a.dtype"
    if kinds:
        same += f" and a.dtype.kind in {kinds!r}"
    closed = isinstance(d.hot, str) and getattr(np, d.hot) in _CLOSED and not kinds  # 45 ns less

    def run(arguments: str) -> str:
        if not isinstance(d.hot, str):
            return f"quiet({kernel}, {arguments})"
        # 35 ns: see Note [Threads].
        return f"quiet(kernel, {arguments}) if a.size < LARGE else spread(kernel, {arguments})"

    def finish(tracked: str, indent: str, arrays: str = "a") -> list[str]:
        if closed and arrays != "a":
            test = f"type(result) is ndarray or (result := hot_array(result, {arrays})).dtype is a.dtype"
            lines = [f"{indent}if {test}:"]
        else:
            lines = [
                f"{indent}if type(result) is not ndarray:",
                f"{indent}    result = hot_array(result, {arrays})",
                f"{indent}if {same}:",
            ]
        if d.differentiable:
            lines += [f"{indent}    if {tracked}:", f"{indent}        return {record}"]
        lines += [f"{indent}    {line}" for line in (*new_tensor_source("tensor", "result"), "return tensor")]
        return lines

    lines: list[str] = []
    if len(operands) == 1:
        lines += [
            f"if type({a}) in TENSORS and not keywords{absent}:",
            f"    a = {a}._tl_data",
            "    try:",
            f"        result = {run('a')}"
            if not guard
            else f"        result = quiet({kernel}, a) if type(a) is ndarray else None",
            "    except Exception:",
            "        result = None",
            "    if result is not None:",
            *finish(f"{a}._tl_tracked", "        "),
        ]
        return "\n".join(lines)
    b = operands[1].name
    lines += [
        f"if type({a}) in TENSORS and not keywords{absent}:",
        f"    a = {a}._tl_data",
        f"    if type({b}) in TENSORS:",
        f"        b = {b}._tl_data",
        f"        if a.dtype is b.dtype{guard}:",
        "            try:",
        f"                result = {run('a, b')}",
        "            except Exception:",
        "                pass",
        "            else:",
        *finish(f"{a}._tl_tracked or {b}._tl_tracked", "                ", "a, b"),
    ]
    if d.hot and d.weak_numbers and allows_number(operands[1]):
        # NumPy 2 treats a Python number as weak, as PyTorch does; where the two disagree the dtype of the result does
        # not match. Comparisons of integers with a float would be done in double precision, so they are left out.
        numbers = f"type({b}) in FLOATS and a.dtype.kind == 'f'" if "is BOOL" in same else f"type({b}) in FLOATS"
        lines += [
            f"    elif {numbers}:",
            "        try:",
            f"            result = {run(f'a, {b}')}",
            "        except Exception:",
            "            pass",
            "        else:",
            *finish(f"{a}._tl_tracked", "            "),
        ]
    return "\n".join(lines)


def inplace_hot_source(d: Declaration, parameters: Sequence[Parameter]) -> str:
    """Return the fast path of an in-place form whose kernel is a ufunc, or nothing: see Note [The hot path].

    It writes where the implementation would make a temporary array and copy it, which takes twice as long for large
    ones. It is for tensors that are not recorded and have no gaps, with a number or a tensor of the same shape and
    dtype.
    """
    operands, kinds = fast_operands(d, parameters), d.fast_kinds
    if operands is None or not writes_fast(d):
        return ""
    me = operands[0].name
    optional = [p.name for p in parameters if p.kind == POSITIONAL and p.default is not MISSING]
    absent = "".join(f" and {name} is MISSING" for name in optional)
    kind = f" and a.dtype.kind in {kinds!r}" if kinds else ""
    untracked = f"not {me}._tl_tracked"
    lines = [f"if type({me}) in TENSORS and not keywords{absent}:", f"    a = {me}._tl_data"]
    if len(operands) == 1:
        lines.append("    fits = True")
        arguments, large = "a, a", "a, None, a"
    else:
        b = operands[1].name
        arguments = large = "a, b, a"
        lines += [
            f"    if type({b}) in TENSORS:",
            f"        b = {b}._tl_data",
            "        fits = b.dtype is a.dtype and b.shape == a.shape",
            f"        history = {me}._tl_tracked or {b}._tl_tracked",
            "    else:",
            f"        b = {b}",
            f"        fits = type(b) in FLOATS{'' if d.weak_numbers and allows_number(operands[1]) else ' and False'}",
            f"        history = {me}._tl_tracked",
        ]
        untracked = "not history"
    lines += [
        f"    if fits and type(a) is ndarray and ({untracked} or not get_state().recording)"
        f" and ({me}._tl_meta is None or not {me}._tl_meta.inference){kind}:",
        f"        counter = {me}._tl_counter",
        # Tensors on the same memory share a version counter: the implementation checks whether the elements overlap.
        f"        if a.flags.c_contiguous and (counter is None or {_unshared(operands)}):",
        "            try:",
        f"                quiet(kernel, {arguments}) if a.size < LARGE else spread(kernel, {large})",
        "            except Exception:",
        "                pass",
        "            else:",
        "                if counter is None:",
        f"                    {me}._tl_counter = [1]",
        "                else:",
        "                    counter[0] += 1",
        f"                return {me}",
    ]
    return "\n".join(lines)


def _unshared(operands: Sequence[Parameter]) -> str:
    if len(operands) == 1:
        return "True"
    me, other = (p.name for p in operands)
    return f"b is {other} or {other} is {me} or {other}._tl_counter is not counter"


def inherited_lines(d: Declaration, parameters: Sequence[Parameter]) -> list[str]:
    """Return the fast path for subclasses that inherit the default `__torch_function__`, or nothing.

    It is the hot path once more, for operands that are tensors of any class, and gives the result its class, `cls`, at
    once. Public functions have it in their own frame (300 ns less than behind `dispatch`), and as a function it serves
    `super().__torch_function__`.
    """
    operands, kinds = fast_operands(d, parameters), d.fast_kinds
    if operands is None or not d.hot:
        return []
    compared = d.boolean
    same = "result.dtype is BOOL" if compared else "result.dtype is a.dtype"
    if kinds:
        same += f" and a.dtype.kind in {kinds!r}"
    names = [p.name for p in operands]
    arrays = "a" if len(names) == 1 else "a, b"
    tracked = " or ".join(f"{n}._tl_tracked" for n in names)
    lines = ["try:", f"    a = {names[0]}._tl_data"]
    run = f"quiet(kernel, {arrays})"
    if len(names) == 2:
        numbers = d.weak_numbers and allows_number(operands[1]) and not compared
        array = f"{names[1]}._tl_data"
        if numbers:
            array = f"{names[1]} if type({names[1]}) in FLOATS else {array}"
        tracked = f"{names[0]}._tl_tracked or (b is not {names[1]} and {names[1]}._tl_tracked)" if numbers else tracked
        test = f"b is {names[1]} or a.dtype is b.dtype" if numbers else "a.dtype is b.dtype"
        lines.append(f"    b = {array}")
        run += f" if {test} else None"
    lines += [
        f"    result = {run}",
        "except Exception:",
        "    result = None",
        "if result is not None:",
        "    if type(result) is not ndarray:",
        f"        result = hot_array(result, {arrays if len(names) == 1 or not numbers else 'a'})",
        f"    if {same}:",
    ]
    if d.differentiable:
        lines += [
            f"        if {tracked}:",
            f"            tensor = record(result, {', '.join(names)}{_defaults(d, parameters)})",
            "            try:",
            "                tensor.__class__ = cls",
            "            except TypeError:",
            "                return retyped(tensor, cls)",
            "            return tensor",
        ]
    return [*lines, *("        " + line for line in (*new_tensor_source("tensor", "result", "cls"), "return tensor"))]


def inherited_source(d: Declaration, parameters: Sequence[Parameter]) -> str:
    """Return the source of `inherited(cls, args)`, which returns NotImplemented where the fast path does not apply."""
    names = [p.name for p in operands_of(parameters)]
    lines = inherited_lines(d, parameters)
    if not lines:
        return "def inherited(cls, args):\n    return NotImplemented"
    body = "\n".join("        " + line for line in lines)
    return (
        f"def inherited(cls, args):\n    if len(args) == {len(names)}:\n        {', '.join(names)}, = args\n{body}\n"
        "    return NotImplemented"
    )


def _defaults(d: Declaration, parameters: Sequence[Parameter]) -> str:
    extra = [p for p in parameters if not p.operand]
    return "".join(f", default_{p.name}" for p in extra)
