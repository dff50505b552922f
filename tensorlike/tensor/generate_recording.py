"""Source templates of the functions that record: from operands to a node, and from a node to gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorlike._native import core
from tensorlike.autograd.tensor_base import new_tensor_source
from tensorlike.dispatch.signature import MANY, ONE, Parameter

if TYPE_CHECKING:
    from .declare import Declaration

from .generate import allows_none, allows_number, operands_of

__all__ = ["Recorded", "make_source", "node_source", "record_source", "recorder", "register_node"]


def _is_tensor(name: str) -> str:
    # Most are plain tensors, for which `isinstance` would call the metaclass (40 ns).
    return f"(type({name}) is Tensor or isinstance({name}, TensorBase))"


def _edge_lines(p: Parameter, edge: str) -> list[str]:
    name = p.name
    # edge_of, written out for results and leaves: a call less, 80 ns of 800.
    # A tensor that is not tracked has none: one test instead of three (50 ns).
    tracked = f"{name}._tl_tracked"
    if allows_number(p) or allows_none(p):
        tracked = f"{_is_tensor(name)} and {tracked}"
    if p.operand == MANY:
        return [f"{edge} = [edge_of(t) if t._tl_tracked else None for t in {name}]"]
    return [
        f"{edge} = None",
        f"if {tracked}:",
        f"    {edge} = {name}._tl_edge",
        f"    if (meta := {name}._tl_meta) is not None:",
        f"        {edge} = (meta.requires_grad and meta.view_base is None and meta.leaf_edge) or edge_of({name})",
    ]


def _save_lines(p: Parameter, node: str = "node") -> list[str]:
    name, slot = p.name, f"{node}._saved_{p.name}"
    if p.operand == MANY:
        return [f"{slot} = [save(t) for t in {name}]"]
    if p.operand != ONE:
        return [f"{slot} = {name}"]
    save = [
        f"if (counter := {name}._tl_counter) is None:",
        f"    counter = {name}._tl_counter = [0]",
        f"{slot} = ({name}._tl_data, counter, counter[0])",
    ]
    if allows_number(p) or allows_none(p):
        return [
            f"if {_is_tensor(name)}:",
            *["    " + line for line in save],
            "else:",
            f"    {slot} = {name}",
        ]
    return save


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


def node_source(d: Declaration, recorded: Recorded) -> str:
    """Return the source of `_tl_apply` and `_tl_release` of a declaration's node."""
    many = next((i for i, p in enumerate(recorded.operands) if p.operand == MANY), None)
    count = len(recorded.operands)
    lines = ["def _tl_apply(self, grad):", "    edges = self._tl_edges"]
    if d.several:
        lines.append("    grads = grad")
        lines.append("    grad = grads[0]")
    edge_names: dict[str, str] = {}
    for index, p in enumerate(recorded.operands):
        edge = f"edge_{p.name}"
        edge_names[p.name] = edge
        if p.operand == MANY:
            after = count - index - 1
            lines.append(f"    {edge} = edges[{index}:{f'len(edges) - {after}' if after else ''}]")
        elif many is not None and index > many:
            lines.append(f"    {edge} = edges[{index - count}]")
        else:
            lines.append(f"    {edge} = edges[{index}]")
    outputs = []
    for p in recorded.operands:
        edge = edge_names[p.name]
        if p.name not in recorded.formulas:
            outputs.append(f"*[None] * len({edge})" if p.operand == MANY else "None")
            continue
        arguments = []
        for name in recorded.asked[p.name]:
            saved = f"self._saved_{name}"
            if name in ("grad", "grads"):
                arguments.append(name)
            elif name == "result":
                arguments.append(f"unpack({saved}, (self, 0), self)")
            elif name == "results":
                arguments.append(f"[unpack(s, (self, i), self) for i, s in enumerate(check({saved}))]")
            elif name in recorded.outputs:
                arguments.append(f"unpack({saved}, (self, {recorded.outputs[name]}), self)")
            elif name == "others":
                arguments.append(f"unpack_many({saved}, {edge_names[recorded.many.name]}, self)")  # type: ignore[union-attr]
            elif name not in recorded.by_name:
                arguments.append(saved)
            elif recorded.by_name[name].operand == MANY:
                arguments.append(f"unpack_many({saved}, {edge_names[name]}, self)")
            elif recorded.by_name[name].operand == ONE:
                arguments.append(f"unpack({saved}, {edge_names[name]}, self)")
            else:
                arguments.append(saved)
        call = f"formula_{p.name}({', '.join(arguments)})"
        if p.operand == MANY:
            lines.append(f"    if any([e is not None for e in {edge}]):")
            lines.append(f"        grad_{p.name} = {call}")
            lines.append("    else:")
            lines.append(f"        grad_{p.name} = [None] * len({edge})")
            outputs.append(f"*grad_{p.name}")
        else:
            outputs.append(f"None if {edge} is None else {call}")
    raw = _raw_outputs(d, recorded, edge_names)
    if raw:
        lines.append("    if not get_state().recording:")
        lines.append("        raw = grad._tl_data")
        lines += _raw_lines(d, recorded, edge_names)
        lines.append(f"        return ({', '.join(raw)},)")
    lines.append(f"    return ({', '.join(outputs)},)")
    released = _released(d, recorded)
    lines.append("def _tl_release(self):")
    for name, number_kept in released:
        test = f"if isinstance(self._saved_{name}, (tuple, Packed)): " if number_kept else ""
        if name == "others":  # A single operand is not saved.
            test = "if self._saved_others != [None]: "
        lines.append(f"    {test}self._saved_{name} = RELEASED")
    return "\n".join(lines if released else [*lines, "    pass"])


def _released(d: Declaration, recorded: Recorded) -> list[tuple[str, bool]]:
    """Return the names of the saved values that a run frees, each with whether a number is kept."""
    found = []
    for name in recorded.names:
        of_operand = name in recorded.by_name and recorded.by_name[name].operand in (ONE, MANY)
        if of_operand or name in ("result", "results", "others") or name in recorded.outputs:
            # A number that is not promoted is no tensor in PyTorch either, and need not be freed.
            found.append((name, of_operand and d.promotion is None and allows_number(recorded.by_name[name])))
    return found


def _raw_lines(d: Declaration, recorded: Recorded, edges: dict[str, str]) -> list[str]:
    """Return lines that run the raw formulas on NumPy's arrays in one frame: 200 ns less for each than by `wrap_raw`.

    A saved value that was modified or packed away, and a formula that fails because another thread is in the quiet
    context, are left to the lines below.
    """
    find, run = [], []
    for p in recorded.operands:
        found = f"grad_{p.name}"
        run.append(f"{found} = None")
        if p.name not in recorded.formulas:
            continue
        arguments, look = [], []
        formula = d.raw_vjp[p.name]
        for name in formula.__code__.co_varnames[: formula.__code__.co_argcount]:
            saved = f"self._saved_{name}"
            if name == "grad":
                arguments.append("raw")
            elif name == "result" or (name in recorded.by_name and recorded.by_name[name].operand == ONE):
                local = f"{p.name}_{name}"
                number = name in recorded.by_name and allows_number(recorded.by_name[name])
                look += [
                    f"{local} = {saved}",
                    f"if type({local}) is tuple and {local}[1][0] == {local}[2]:",
                    f"    {local} = {local}[0]",
                    f"elif type({local}) is not float and type({local}) is not int:" if number else "else:",
                    "    plain = False",
                ]
                arguments.append(local)
            else:
                arguments.append(saved)
        if look:
            find += [f"if {edges[p.name]} is not None:", *["    " + line for line in look]]
        run += [
            f"if {edges[p.name]} is not None:",
            f"    made = quiet({', '.join([f'raw_{p.name}', *arguments])})",
            *["    " + line for line in new_tensor_source(found, "made if type(made) is ndarray else as_array(made)")],
        ]
    outputs = ", ".join(f"grad_{p.name}" for p in recorded.operands)
    body = ["plain = True", *find] if find else []
    attempt = ["try:", *["    " + line for line in [*run, f"return ({outputs},)"]], "except RuntimeError:", "    pass"]
    body += ["if plain:", *["    " + line for line in attempt]] if find else attempt
    return ["        if type(raw) is ndarray:", *["            " + line for line in body]]


def _raw_outputs(d: Declaration, recorded: Recorded, edges: dict[str, str]) -> list[str]:
    """Return the lines that compute gradients by raw formulas, or none unless every formula has one."""
    if d.several or not d.raw_vjp or set(d.raw_vjp) != set(recorded.formulas):
        return []
    outputs = []
    for p in recorded.operands:
        if p.name not in recorded.formulas:
            outputs.append("None")
            continue
        formula = d.raw_vjp[p.name]
        arguments = []
        for name in formula.__code__.co_varnames[: formula.__code__.co_argcount]:
            saved = f"self._saved_{name}"
            of_tensor = name == "result" or (name in recorded.by_name and recorded.by_name[name].operand == ONE)
            arguments.append("raw" if name == "grad" else f"unpack_raw({saved}, self)" if of_tensor else saved)
        call = f"wrap_raw({', '.join([f'raw_{p.name}', *arguments])})"
        outputs.append(f"None if {edges[p.name]} is None else {call}")
    return outputs


def _node_lines(recorded: Recorded) -> tuple[list[str], list[str]]:
    """Return lines that find the edges, under a test that there is one, and lines that make and fill the node."""
    edges: list[str] = []
    tests: list[str] = []
    find: list[str] = []
    edge_names: dict[str, str] = {}
    for p in recorded.operands:
        edge = edge_names[p.name] = f"edge_{p.name}"
        if p.name not in recorded.formulas:
            find.append(f"{edge} = " + (f"[None] * len({p.name})" if p.operand == MANY else "None"))
        else:
            find += _edge_lines(p, edge)
            tests.append(f"any([e is not None for e in {edge}])" if p.operand == MANY else f"{edge} is not None")
        edges.append(f"*{edge}" if p.operand == MANY else edge)
    find.append(f"if not ({' or '.join(tests) or 'False'}):")
    fill = [
        "node = new(Node)",
        f"node._tl_edges = ({', '.join(edges)},)",
        "node._tl_sequence_number = next_sequence_number()",
    ]
    for name in recorded.names:
        slot = f"node._saved_{name}"
        users = recorded.users(name)
        if name in ("result", "results") or name in recorded.outputs:
            continue
        if name == "others":
            fill.append(f"{slot} = save_others({recorded.many.name}, {edge_names[recorded.many.name]})")  # type: ignore[union-attr]
            continue
        if name not in recorded.by_name:
            source = recorded.by_name[name.removesuffix("_shape")]
            if source.operand == MANY:
                fill.append(f"{slot} = [t._tl_data.shape for t in {source.name}]")
            elif allows_number(source) or allows_none(source):
                fill.append(f"{slot} = {source.name}._tl_data.shape if isinstance({source.name}, TensorBase) else ()")
            else:
                fill.append(f"{slot} = {source.name}._tl_data.shape")
            continue
        p = recorded.by_name[name]
        lines = _save_lines(p)
        if p.operand in (ONE, MANY) and set(users) != set(recorded.formulas):
            wanted = " or ".join(
                f"any([e is not None for e in {edge_names[u]}])"
                if recorded.by_name[u].operand == MANY
                else f"{edge_names[u]} is not None"
                for u in users
            )
            empty = f"[None] * len({name})" if p.operand == MANY else "None"
            fill += [f"if {wanted}:", *["    " + line for line in lines], "else:", f"    {slot} = {empty}"]
        else:
            fill += lines
    return find, fill


def _arguments(recorded: Recorded) -> str:
    return ", ".join(p.name for p in recorded.parameters)


def _asks_dtype(d: Declaration) -> bool:
    """Return whether the result may be asked for in another dtype: a sum of what requires grad in integers, say."""
    return any(p.name == "dtype" and p.default is None for p in d.parameters)


def record_source(d: Declaration, recorded: Recorded) -> str:
    """Return the source of `record`: from a result and the operands to the tensor."""
    find, fill = _node_lines(recorded)
    asked = _asks_dtype(d)
    # The locals must not have the name of a parameter: `dot` has one named `tensor`, `sum` one named `dtype`.
    lines = [
        *new_tensor_source("made", "result"),
        "made_dtype = result.dtype",
        # An elementwise operation with a derivative has a floating-point result when an operand requires grad.
        "if not get_state().recording:"
        if d.elementwise or asked
        else "if not get_state().recording or made_dtype.kind not in DIFFERENTIABLE:",
        "    return made",
        *find,
        "    return made",
        *(["if made_dtype.kind not in DIFFERENTIABLE:", f"    refuse_dtype({d.name!r}, made_dtype)"] if asked else []),
        *fill,
        "node._tl_shape = result.shape",
        "node._tl_dtype = made_dtype",
    ]
    if "result" in recorded.names:
        lines += ["counter = made._tl_counter = [0]", "node._saved_result = (result, counter, 0)"]
    lines += ["made._tl_edge = (node, 0)", "made._tl_tracked = True", "return made"]
    return "\n".join([f"def record(result, {_arguments(recorded)}):", *["    " + line for line in lines]])


def make_source(d: Declaration, recorded: Recorded) -> str:
    """Return the source of `make`, for views and for several results: from the operands to the node, or None."""
    find, fill = _node_lines(recorded)
    lines = [*find, "    return None", *fill, "return node"]
    return "\n".join([f"def make({_arguments(recorded)}):", *["    " + line for line in lines]])


def recorder(d: Declaration, python: Callable[..., Any]) -> Callable[..., Any]:
    """Return the twin of the function `record` in the native core, or `record` itself where there is none."""
    recorded = d.recorded()
    if core is None or d.several or recorded.many is not None:
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
    if core is None or d.several:
        return
    recorded = d.recorded()
    released = None
    if recorded.many is None:
        released = tuple((f"_saved_{name}", number_kept) for name, number_kept in _released(d, recorded))
    from .formula_programs import program_of  # Not where nothing is recorded.

    program = program_of(d, recorded)
    if program is not None:
        try:
            core.register_node(node, released, *program)
            return
        except ValueError:
            pass  # A ufunc without a loop for floating-point numbers alone, as of comparisons.
    core.register_node(node, released, None, ())
