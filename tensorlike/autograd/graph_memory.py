"""The memory that the graph keeps alive: the values saved by nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .node import RELEASED, AccumulateGrad, GradientEdge, Node, Packed, edge_of, name_of
from .tensor_base import TensorBase

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = ["GraphMemory", "MemoryRow", "Saved", "graph_nodes", "memory", "saved_by", "shown_bytes"]


class Saved(NamedTuple):
    """One value that a node saved: its name in the formulas, and the arrays that stand for it."""

    name: str
    arrays: tuple[Any, ...]
    #: "", "packed" for a value packed by a saved-tensor hook, or "freed".
    state: str = ""


def _arrays(value: object) -> Iterator[Any]:
    if isinstance(value, TensorBase):
        if not value._tl_transformed:
            yield value._tl_data
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _one(name: str, value: object) -> Iterator[Saved]:
    if value is RELEASED:
        yield Saved(name, (), "freed")
    elif type(value) is Packed:
        kept = value.value
        inner = getattr(kept, "saved", kept)
        yield Saved(name, tuple(_arrays(inner)), "packed")
    elif type(value) is tuple and len(value) == 3 and isinstance(value[1], list):
        yield Saved(name, (value[0],))
    elif type(value) is list:
        for index, item in enumerate(value):
            yield from _one(f"{name}[{index}]", item)


def saved_by(node: Node) -> list[Saved]:
    """Return the values that `node` saved for its backward."""
    found: list[Saved] = []
    for kind in type(node).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot.startswith("_saved_") and hasattr(node, slot):
                found += _one(slot.removeprefix("_saved_"), getattr(node, slot))
    function = getattr(node, "_tl_function", None)
    if isinstance(function, Node):  # An in-place operation through a view stands inside the node of its base.
        found += saved_by(function)
    if not node._tl_materializes:
        items = getattr(node, "_tl_saved", ())
        for index, item in enumerate(() if items is RELEASED else items):
            if item is not None:
                if item.packed is not None:
                    found += _one(f"saved_tensors[{index}]", item.packed)
                else:
                    found.append(Saved(f"saved_tensors[{index}]", (item.array,)))
        if items is RELEASED:
            found.append(Saved("saved_tensors", (), "freed"))
        for name, value in node.__dict__.items():
            arrays = () if name.startswith("_tl_") else tuple(_arrays(value))
            if arrays:
                found.append(Saved(f"ctx.{name}", arrays))
    return found


def graph_nodes(output: Tensor | Sequence[Tensor], called: str) -> tuple[list[tuple[Node, int]], list[Node]]:
    """Return the edges that `output` (a tensor, an edge, a node, or several) starts from, and all nodes, oldest first.

    Leaves come first of all. Raises TypeError for anything else and RuntimeError for a tensor without a graph.
    """
    roots: list[tuple[Node, int]] = []
    several = isinstance(output, (tuple, list)) and not isinstance(output, GradientEdge)
    for item in output if several else (output,):
        if isinstance(item, GradientEdge):
            roots.append((item.node, item.output_nr))
        elif isinstance(item, Node):
            roots.append((item, 0))
        elif isinstance(item, TensorBase):
            edge = edge_of(item) if item._tl_tracked else None
            if edge is None:
                raise RuntimeError(
                    f"{called}(): the output does not require grad and has no graph: make an input require grad, and "
                    "do not compute it under no_grad()"
                )
            roots.append(edge)
        else:
            raise TypeError(
                f"{called}(): argument 'output' must be a Tensor, a GradientEdge, a Node or a sequence of them, not "
                f"{type(item).__name__}"
            )
    seen: set[Node] = set()
    stack = [node for node, _ in roots]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(edge[0] for edge in node._tl_edges if edge is not None)
    return roots, sorted(seen, key=lambda node: node._tl_sequence_number)


def shown_bytes(count: int) -> str:
    """Return a number of bytes as readable text."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


def _owner(array: Any) -> Any:
    """Return the array that owns the memory."""
    while hasattr(getattr(array, "base", None), "nbytes"):
        array = array.base
    return array


class MemoryRow(NamedTuple):
    """The memory kept alive by the nodes of one operation."""

    operation: str
    #: The number of nodes.
    nodes: int
    #: The number of saved values.
    saved: int
    #: The memory that they are the first to save.
    bytes: int


class GraphMemory:
    """The memory kept alive by a graph, by operation; shown as a table."""

    def __init__(self, rows: Sequence[MemoryRow], leaves: int) -> None:
        #: One row for each operation, the largest first.
        self.rows = tuple(rows)
        #: The bytes of leaves that were saved, which are alive without the graph.
        self.leaves = leaves

    @property
    def total(self) -> int:
        """The bytes that live because of the graph, each counted once."""
        return sum(row.bytes for row in self.rows)

    def __repr__(self) -> str:
        table = [("operation", "nodes", "saved", "memory")]
        table += [(r.operation, str(r.nodes), str(r.saved), shown_bytes(r.bytes)) for r in self.rows]
        nodes, saved = sum(r.nodes for r in self.rows), sum(r.saved for r in self.rows)
        table.append(("total", str(nodes), str(saved), shown_bytes(self.total)))
        if self.leaves:
            table.append(("(saved leaves)", "", "", shown_bytes(self.leaves)))
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        )


def memory(output: Tensor | Sequence[Tensor]) -> GraphMemory:
    """Total what the graph of `output` keeps alive, by operation.

    Memory that several nodes saved counts once, for the operation that saved it first; a saved view counts as all of
    the memory it keeps. What belongs to leaves, which are alive anyway, is counted separately. `output` is a tensor, a
    GradientEdge, a Node, or several. Raises RuntimeError for a tensor without a graph.

    >>> x = tl.ones(256, requires_grad=True)
    >>> tl.autograd.graph.memory(x.exp().sin().sum())
    operation     nodes  saved  memory
    ExpBackward0      1      1  1.0 KB
    SinBackward0      1      1     0 B
    SumBackward0      1      0     0 B
    total             3      2  1.0 KB
    """
    _, nodes = graph_nodes(output, "memory")
    counted: dict[int, Any] = {}
    leaves = 0
    of_leaves: set[int] = set()
    for node in nodes:
        variable = node.variable if isinstance(node, AccumulateGrad) else None
        if variable is not None and not variable._tl_transformed:
            of_leaves.add(id(_owner(variable._tl_data)))
    totals: dict[str, list[int]] = {}
    for node in nodes:
        if isinstance(node, AccumulateGrad):
            continue
        total = totals.setdefault(name_of(node), [0, 0, 0])
        total[0] += 1
        for saved in saved_by(node):
            total[1] += bool(saved.arrays)
            for array in saved.arrays:
                owner = _owner(array)
                if id(owner) not in counted:
                    counted[id(owner)] = owner
                    if id(owner) in of_leaves:
                        leaves += owner.nbytes
                    else:
                        total[2] += owner.nbytes
    rows = [MemoryRow(name, *numbers) for name, numbers in totals.items()]
    return GraphMemory(sorted(rows, key=lambda row: -row.bytes), leaves)
