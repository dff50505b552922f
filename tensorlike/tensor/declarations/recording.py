"""How the results of a primitive are recorded: from operands to a node, and from a node to gradients.

One interpreter for all operations, of what their formulas name. The native core has its twins: `core.Recorder` of what
`record_of` returns, and programs of simple formulas (`formula_programs`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

from tensorlike._native import core
from tensorlike.autograd.grad_mode import get_state
from tensorlike.autograd.node import (
    RELEASED,
    Packed,
    edge_of,
    next_sequence_number,
    unpack,
    unpack_many,
    unpack_raw,
)
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.signature import MANY, ONE

from ..types import Array, Tensor
from . import runtime
from .operands import allows_none, allows_number, operands_of

if TYPE_CHECKING:  # The function is given when the package is loaded: see Note [Calls import nothing].
    from tensorlike.operations.formula_programs import program_of

    from .declaration import Declaration

# bfloat16, a type of another package, is of kind V.
DIFFERENTIABLE = frozenset("fcV")

_new = object.__new__


class Recorded:
    """The names used by the formulas of a declaration: the inputs with a formula, and the names in each."""

    def __init__(self, d: Declaration) -> None:
        assert d.vjp is not None
        self.parameters = [p for p in d.parameters if p.name != "out"]
        self.by_name = {p.name: p for p in self.parameters}
        self.operands = operands_of(self.parameters)
        self.formulas = {p.name: d.vjp[p.name] for p in self.operands if p.name in d.vjp}
        self.asked: dict[str, tuple[str, ...]] = {
            name: f.__code__.co_varnames[: f.__code__.co_argcount] for name, f in self.formulas.items()
        }
        #: A formula may name one output of several (`indices`, say), so that the others may be overwritten.
        self.outputs = {field: index for index, field in enumerate(d.fields()) if field not in self.by_name}
        self.names = sorted({n for names in self.asked.values() for n in names} - {"grad", "grads"})

        self.many = next((p for p in self.operands if p.operand == MANY), None)

    def users(self, name: str) -> list[str]:
        """Return the inputs whose formula uses `name`."""
        return [operand for operand, names in self.asked.items() if name in names]

    def slots(self) -> tuple[str, ...]:
        """Return the attributes of the node."""
        return tuple(f"_saved_{name}" for name in self.names)


def _asks_dtype(d: Declaration) -> bool:
    """Return whether the result may be asked for in another dtype: a sum of what requires grad in integers, say."""
    return any(p.name == "dtype" and p.default is None for p in d.parameters)


# ------------------------------------------------------------------------------------------- from operands to a node


def save(tensor: TensorBase) -> Any:
    """Return what a node keeps of a tensor: the array, and the version that it is of."""
    counter = tensor._tl_counter
    if counter is None:
        counter = tensor._tl_counter = [0]
    return (tensor._tl_data, counter, counter[0])


def _save_others(tensors: Sequence[Any], edges: Sequence[Any]) -> list[Any]:
    """Save the tensors of a list that the gradients of others in it need; None stands for one that is not saved.

    That is the only one with an edge, if there is only one.
    """
    tracked = [i for i, edge in enumerate(edges) if edge is not None]
    return [None if tracked == [i] else save(t) for i, t in enumerate(tensors)]


def _saved_operand(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return save(value)
    return [save(t) for t in value] if type(value) in (list, tuple) else value


def _saved_shape(value: Tensor | list[Tensor]) -> Any:
    if isinstance(value, TensorBase):
        return value._tl_data.shape
    return [t._tl_data.shape for t in value] if type(value) in (list, tuple) else ()


def _edge_of(value: Tensor) -> Any:
    # A tensor that is not tracked has none: one test instead of three (50 ns).
    return edge_of(value) if isinstance(value, TensorBase) and value._tl_tracked else None


def make_of(d: Declaration) -> Callable[..., Any]:
    """Return the function that makes the node of a call from the values of its parameters.

    It returns None where no operand with a formula requires a gradient. What results a node keeps is set later.
    """
    recorded = d.recorded()
    kind: Any = d.node_class()
    places = {p.name: place for place, p in enumerate(recorded.parameters)}
    operands = [(places[p.name], p.operand == MANY, p.name in recorded.formulas) for p in recorded.operands]
    bits = {p.name: 1 << index for index, p in enumerate(recorded.operands)}
    shapes, options, values, others = [], [], [], []
    for name in recorded.names:
        slot = f"_saved_{name}"
        if name in ("result", "results") or name in recorded.outputs:
            continue
        if name == "others":
            many = recorded.many
            assert many is not None
            others.append((slot, places[many.name], recorded.operands.index(many)))
        elif name not in recorded.by_name:
            shapes.append((slot, places[name.removesuffix("_shape")]))
        elif recorded.by_name[name].operand in (ONE, MANY):
            needed_by = sum(bits[user] for user in recorded.users(name))
            values.append((slot, places[name], needed_by, recorded.by_name[name].operand == MANY))
        else:
            options.append((slot, places[name]))

    count = len(recorded.parameters)

    def make(*given: Any) -> Any:
        if len(given) != count:
            raise TypeError(f"recording of {d.full_name}: expected {count} operands and options, not {len(given)}")
        edges: list[Any] = []
        with_edges, bit = 0, 1
        for place, many, has_formula in operands:
            value = given[place]
            if many:
                found = [_edge_of(t) if has_formula else None for t in value]
                if any(edge is not None for edge in found):
                    with_edges |= bit
                edges += found
            else:
                # `isinstance` would call the metaclass for numbers (40 ns).
                edge = edge_of(value) if has_formula and isinstance(value, TensorBase) and value._tl_tracked else None
                if edge is not None:
                    with_edges |= bit
                edges.append(edge)
            bit <<= 1
        if not with_edges:
            return None
        node = _new(kind)
        node._tl_edges = tuple(edges)
        node._tl_sequence_number = next_sequence_number()
        for slot, place, needed_by, many in values:
            if needed_by & with_edges:
                setattr(node, slot, _saved_operand(given[place]))
            else:
                setattr(node, slot, [None] * len(given[place]) if many else None)
        for slot, place in shapes:
            setattr(node, slot, _saved_shape(given[place]))
        for slot, place in options:
            setattr(node, slot, given[place])
        for slot, place, first in others:
            setattr(node, slot, _save_others(given[place], edges[first : first + len(given[place])]))
        return node

    return make


def record_of(d: Declaration) -> Callable[..., Any]:
    """Return `record(result, *values)`, which makes the tensor of a result, with its node if one is recorded."""
    make = make_of(d)
    asked = _asks_dtype(d)
    # An elementwise operation with a derivative has a floating-point result when an operand requires grad.
    any_dtype = d.elementwise or asked
    saves_result = "result" in d.recorded().names

    def record(result: Array, *values: Any) -> Any:
        made: Any = wrap(result)
        dtype = result.dtype
        if not get_state().recording or not (any_dtype or dtype.kind in DIFFERENTIABLE):
            return made
        if asked and dtype.kind not in DIFFERENTIABLE:
            if make(*values) is not None:
                _refuse_dtype(d.name, dtype)
            return made
        node = make(*values)
        if node is None:
            return made
        node._tl_shape = result.shape
        node._tl_dtype = dtype
        if saves_result:
            counter = made._tl_counter = [0]
            node._saved_result = (result, counter, 0)
        made._tl_edge = (node, 0)
        made._tl_tracked = True
        return made

    return record


def _refuse_dtype(name: str, dtype: Any) -> NoReturn:
    raise RuntimeError(
        f"{name}(): Autograd does not support dtype {runtime.dtype_name(dtype)}, and the input requires grad: detach() "
        "it, or call the function under no_grad()"
    )


# ------------------------------------------------------------------------------------------- from a node to gradients


def _edges_of(recorded: Recorded) -> dict[str, int | slice]:
    """Return where the edges of each operand are among those of a node: a slice for a sequence of tensors."""
    found: dict[str, int | slice] = {}
    many = None if recorded.many is None else recorded.operands.index(recorded.many)
    count = len(recorded.operands)
    for index, p in enumerate(recorded.operands):
        if p.operand == MANY:
            found[p.name] = slice(index, (index + 1 - count) or None)
        else:
            found[p.name] = index - count if many is not None and index > many else index
    return found


_Reader = Callable[[Any, Any], Any]


def _reader(recorded: Recorded, name: str, edges: dict[str, int | slice], several: bool) -> _Reader:
    """Return what finds an argument of a formula: a function of a node and the gradient, or those of several results.
    """
    if name == "grads" or (name == "grad" and not several):
        return lambda node, grad: grad
    if name == "grad":
        return lambda node, grads: grads[0]
    saved = attrgetter(f"_saved_{name}")
    p = recorded.by_name.get(name)
    if name == "results":
        return lambda node, grad: [unpack(s, (node, i), node) for i, s in enumerate(_not_freed(saved(node)))]
    if name == "result" or name in recorded.outputs:
        number = recorded.outputs.get(name, 0)
        return lambda node, grad: unpack(saved(node), (node, number), node)
    if name == "others":
        assert recorded.many is not None
        place = edges[recorded.many.name]
        return lambda node, grad: unpack_many(saved(node), node._tl_edges[place], node)
    if p is None or p.operand not in (ONE, MANY):
        return lambda node, grad: saved(node)
    place = edges[name]
    if p.operand == MANY:
        return lambda node, grad: unpack_many(saved(node), node._tl_edges[place], node)
    return lambda node, grad: unpack(saved(node), node._tl_edges[place], node)


def _raw_reader(recorded: Recorded, name: str) -> _Reader:
    """Return what finds an argument of a formula on raw arrays: a function of a node and the array of the gradient."""
    if name == "grad":
        return lambda node, raw: raw
    saved = attrgetter(f"_saved_{name}")
    p = recorded.by_name.get(name)
    if name == "result" or (p is not None and p.operand == ONE):
        return lambda node, raw: unpack_raw(saved(node), node)
    return lambda node, raw: saved(node)


def _not_freed(saved: Any) -> Any:
    return (RELEASED,) if saved is RELEASED else saved


def _names_of(formula: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = formula.__code__.co_varnames[: formula.__code__.co_argcount]
    return names


def node_methods(d: Declaration) -> tuple[Callable[..., Any], Callable[..., None]]:
    """Return `_tl_apply` and `_tl_release` of the nodes of `d`."""
    recorded = d.recorded()
    edges = _edges_of(recorded)
    several = bool(d.outputs)
    # Raw formulas are for all operands or for none.
    is_raw = not several and bool(d.raw_vjp) and set(d.raw_vjp) == set(recorded.formulas)
    plan = []
    for p in recorded.operands:
        formula = recorded.formulas.get(p.name)
        readers = [] if formula is None else [_reader(recorded, n, edges, several) for n in recorded.asked[p.name]]
        raw = d.raw_vjp.get(p.name) if is_raw else None
        raw_readers = [] if raw is None else [_raw_reader(recorded, name) for name in _names_of(raw)]
        plan.append((edges[p.name], p.operand == MANY, formula, readers, raw, raw_readers))

    def apply(self: Any, grad: Any) -> tuple[Any, ...]:
        edges = self._tl_edges
        found: list[Any] = []
        if is_raw and not grad._tl_transformed and not get_state().recording:
            array = grad._tl_data
            for place, _, _, _, raw, readers in plan:
                wanted = raw is not None and edges[place] is not None
                found.append(_wrap_raw(raw, *[read(self, array) for read in readers]) if wanted else None)
            return tuple(found)
        for place, many, formula, readers, _, _ in plan:
            edge = edges[place]
            if many:
                if formula is not None and any(e is not None for e in edge):
                    found += formula(*[read(self, grad) for read in readers])
                else:
                    found += [None] * len(edge)
            elif formula is None or edge is None:
                found.append(None)
            else:
                found.append(formula(*[read(self, grad) for read in readers]))
        return tuple(found)

    released = _released(d, recorded)

    def release(self: Any) -> None:
        for name, number_kept in released:
            slot = f"_saved_{name}"
            if number_kept and not isinstance(getattr(self, slot), (tuple, Packed)):
                continue
            if name == "others" and self._saved_others == [None]:  # A single operand is not saved.
                continue
            setattr(self, slot, RELEASED)

    return apply, release


def _released(d: Declaration, recorded: Recorded) -> list[tuple[str, bool]]:
    """Return the names of the saved values that a run frees, each with whether a number is kept."""
    found = []
    for name in recorded.names:
        of_operand = name in recorded.by_name and recorded.by_name[name].operand in (ONE, MANY)
        if of_operand or name in ("result", "results", "others") or name in recorded.outputs:
            # A number that is not promoted is no tensor in PyTorch either, and need not be freed.
            found.append((name, of_operand and d.promotion is None and allows_number(recorded.by_name[name])))
    return found


def _wrap_raw(formula: Any, *values: Any) -> Tensor:
    if type(values[0]) is not runtime.ndarray:
        guard = runtime.elsewhere(*values)
        if guard is not None:
            with guard:
                return _wrap_raw(formula, *values)
    try:
        result = runtime.quiet(formula, *values)
    except RuntimeError:
        result = runtime.again(formula, *values)
    except ValueError as error:
        # NumPy's error for shapes that do not match: a hook unpacked another value than was packed.
        raise RuntimeError(f"backward: {error}") from None
    return wrap(result if type(result) is runtime.ndarray else runtime.as_array(result))


# ------------------------------------------------------------------------------------- the native core


def recorder(d: Declaration, python: Callable[..., Any]) -> Callable[..., Any]:
    """Return the twin of the function `record` in the native core, or `record` itself where there is none."""
    recorded = d.recorded()
    if core is None or d.outputs or recorded.many is not None:
        return python
    places = {p.name: index for index, p in enumerate(recorded.parameters)}
    operands = [
        (places[p.name], p.name in recorded.formulas, not (allows_number(p) or allows_none(p)))
        for p in recorded.operands
    ]
    saved: list[tuple[str, str, int, int]] = []
    for name in recorded.names:
        users = sum(1 << index for index, p in enumerate(recorded.operands) if p.name in recorded.users(name))
        if name == "result":
            saved.append(("_saved_result", "result", 0, users))
        elif name not in recorded.by_name:
            saved.append((f"_saved_{name}", "shape", places[name.removesuffix("_shape")], users))
        else:
            kind = "operand" if recorded.by_name[name].operand == ONE else "option"
            saved.append((f"_saved_{name}", kind, places[name], users))
    rule = 2 if _asks_dtype(d) else 0 if d.elementwise else 1
    defaults = tuple(p.default for p in recorded.parameters)
    found: Callable[..., Any] = core.Recorder(python, d.node_class(), defaults, rule, tuple(operands), tuple(saved))
    return found


def register_node(d: Declaration, node: type[Any]) -> None:
    """Tell the native core which values of a node of `d` a run frees, and how it computes simple formulas."""
    if core is None or d.outputs:
        return
    recorded = d.recorded()
    released = None
    if recorded.many is None:
        released = tuple((f"_saved_{name}", number_kept) for name, number_kept in _released(d, recorded))
    program = program_of(d, recorded)
    if program is not None:
        try:
            core.register_node(node, released, *program)
            return
        except ValueError:
            pass  # A ufunc without a loop for floating-point numbers alone, as of comparisons.
    core.register_node(node, released, None, ())
