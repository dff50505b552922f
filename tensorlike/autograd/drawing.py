"""Drawing a graph: `draw`, as Graphviz source and as SVG."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tensorlike.autograd.graph_memory import graph_nodes, saved_by, shown_bytes
from tensorlike.autograd.node import AccumulateGrad, Node, like_edge, name_of
from tensorlike.autograd.tensor_base import TensorBase

from .layered_drawing import Box, Link, svg_of

if TYPE_CHECKING:
    import os

    from tensorlike.nn.modules.module import Module
    from tensorlike.tensor import Tensor

__all__ = ["Drawing", "draw"]


class Drawing:
    """A drawn graph. Notebooks show it; `str()` gives the Graphviz source."""

    def __init__(self, boxes: list[Box], links: list[Link]) -> None:
        self.boxes, self.links = boxes, links

    @property
    def source(self) -> str:
        """The graph in Graphviz's language DOT."""
        lines = ["digraph graph_of_tensor {", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
        for number, box in enumerate(self.boxes):
            label = "\\n".join(_escaped(line) for line in box.lines)
            lines.append(f'  n{number} [label="{label}", fillcolor="{_FILLS[box.kind]}"];')
        for link in self.links:
            label = f' [label="{_escaped(link.label)}"]' if link.label else ""
            lines.append(f"  n{link.source} -> n{link.target}{label};")
        return "\n".join([*lines, "}\n"])

    def to_svg(self, *, engine: str = "tensorlike") -> str:
        """Return the drawing as SVG; with `engine="graphviz"` drawn by Graphviz, through its package of that name."""
        if engine == "graphviz":
            graphviz = importlib.import_module("graphviz")
            return str(graphviz.Source(self.source).pipe(format="svg", encoding="utf-8"))
        if engine != "tensorlike":
            raise ValueError(f"to_svg(): engine must be 'tensorlike' or 'graphviz', not {engine!r}")
        return svg_of(self.boxes, self.links, _FILLS)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file: SVG when its name ends in .svg, Graphviz source otherwise."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_svg() if str(path).endswith(".svg") else self.source)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return f"<drawing of {len(self.boxes)} boxes and {len(self.links)} arrows: see .source and .to_svg()>"


_FILLS = {"operation": "#f4f4f2", "leaf": "#dbeafe", "output": "#dcfce7", "nowhere": "#ffffff"}


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def draw(
    output: Tensor | Sequence[Tensor], *, parameters: Module | Mapping[str, Tensor] | Iterable[Tensor] | None = None,
    shapes: bool = True, saved: bool = True, max_nodes: int = 2000,
) -> Drawing:  # fmt: skip
    """Draw the graph of `output`: operations with the shapes of their results, what they saved, and the leaves.

    `output` is a tensor, a GradientEdge, a Node, or several. Leaves are named after `parameters`: a module, its
    `named_parameters()`, or a dict of tensors by name. `shapes` and `saved` say whether to show shapes and saved
    tensors. Raises ValueError for a graph of more than `max_nodes` nodes.

    >>> x = tl.ones(2, requires_grad=True)
    >>> drawing = tl.autograd.graph.draw(x.exp().sum(), parameters={"x": x})
    >>> print(drawing.source)
    digraph graph_of_tensor {
      node [shape=box, style="rounded,filled", fontname="Helvetica"];
      n0 [label="x\\nfloat32 [2]", fillcolor="#dbeafe"];
      n1 [label="Exp\\nfloat32 [2]\\nsaves result [2], 8 B", fillcolor="#f4f4f2"];
      n2 [label="Sum\\nfloat32 []", fillcolor="#f4f4f2"];
      n3 [label="output\\nfloat32 []", fillcolor="#dcfce7"];
      n0 -> n1;
      n1 -> n2;
      n2 -> n3;
    }
    <BLANKLINE>
    """
    roots, nodes = graph_nodes(output, "draw")
    if len(nodes) > max_nodes:
        raise ValueError(
            f"draw(): the graph has {len(nodes)} nodes, more than max_nodes={max_nodes}: draw a part of it, or raise "
            "max_nodes"
        )
    names = _names(parameters)
    numbers = {node: number for number, node in enumerate(nodes)}
    boxes = [_box(node, names, shapes, saved) for node in nodes]
    links = []
    for node in nodes:
        for edge in node._tl_edges:
            if edge is not None:
                several = edge[0]._tl_outputs != 1 and len(edge[0]._tl_shape) > 1
                links.append(Link(numbers[edge[0]], numbers[node], f"output {edge[1]}" if several else ""))
    for index, (node, number) in enumerate(roots):
        title = "output" if len(roots) == 1 else f"output {index}"
        boxes.append(Box("output", [title, *([_described(node, number)] if shapes else [])]))
        links.append(Link(numbers[node], len(boxes) - 1, ""))
    return Drawing(boxes, links)


def _names(parameters: Any) -> dict[int, str]:
    """Return the names of leaves by the identity of the tensor."""
    if parameters is None:
        return {}
    if hasattr(parameters, "named_parameters"):
        parameters = parameters.named_parameters()
    pairs: Iterable[Any] = parameters.items() if isinstance(parameters, Mapping) else parameters
    found: dict[int, str] = {}
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], TensorBase):
            raise TypeError(
                "draw(): parameters must be a module, its named_parameters() or a dict of tensors by name, and has an "
                f"item {type(pair).__name__}"
            )
        found.setdefault(id(pair[1]), str(pair[0]))
    return found


def _described(node: Node, number: int = 0) -> str:
    shape, dtype = like_edge(node, number)
    return f"{'' if dtype is None else f'{dtype} '}{list(shape)}"


def _box(node: Node, names: dict[int, str], shapes: bool, saved: bool) -> Box:
    if isinstance(node, AccumulateGrad):
        variable = node.variable
        title = "leaf" if variable is None else names.get(id(variable), "leaf")
        return Box("leaf", [title, *([_described(node)] if shapes else [])])
    lines = [name_of(node).removesuffix("Backward0")]
    if shapes:
        single = node._tl_outputs == 1
        described = [_described(node, i) for i in range(1 if single else len(node._tl_shape))]
        lines += described if len(described) <= 4 else [*described[:3], f"... {len(described)} outputs"]
    if saved:
        for item in saved_by(node):
            if item.state == "freed":
                lines.append(f"{item.name}: freed")
            elif item.arrays:
                size = shown_bytes(sum(a.nbytes for a in item.arrays))
                shape = ", ".join(str(list(a.shape)) for a in item.arrays[:3])
                lines.append(f"{item.state or 'saves'} {item.name} {shape}, {size}")
            else:
                lines.append(f"packed {item.name}")
    return Box("operation", lines)
