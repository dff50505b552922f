"""Looking at the graph (`draw`, `memory`), its edges, and what may be done to saved values."""

from __future__ import annotations

import gc
import re
import weakref
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.autograd import graph
from tensorlike.autograd.layered_drawing import Box, Link, svg_of

SVG = "{http://www.w3.org/2000/svg}"


def mlp() -> tuple[Any, Any]:
    module = tl.nn.Sequential(tl.nn.Linear(20, 64), tl.nn.Tanh(), tl.nn.Linear(64, 5))
    output = module(tl.ones(32, 20))
    return module, tl.nn.functional.cross_entropy(output, tl.zeros(32, dtype=tl.int64))


def texts(svg: str) -> list[str]:
    return [t.text or "" for t in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("given", ["module", "named_parameters", "dict"])
def test_a_drawing_names_parameters_shapes_and_saved_tensors(given: str) -> None:
    module, loss = mlp()
    parameters = {
        "module": module, "named_parameters": module.named_parameters(), "dict": dict(module.named_parameters())
    }[given]  # fmt: skip
    drawing = graph.draw(loss, parameters=parameters)
    for shown in (drawing.source, drawing.to_svg()):
        for wanted in ("0.weight", "2.bias", "float32 [32, 64]", "saves result [32, 64], 8.0 KB", "CrossEntropy"):
            assert wanted in shown
    assert str(drawing) == drawing.source
    assert drawing._repr_svg_() == drawing.to_svg()


def test_a_drawing_without_shapes_and_saved_tensors() -> None:
    x = tl.ones(3, requires_grad=True)
    assert texts(graph.draw(x.exp().sum(), shapes=False, saved=False).to_svg()) == ["leaf", "Exp", "Sum", "output"]


def test_boxes_do_not_overlap_and_arrows_point_down() -> None:
    x = tl.ones(4, 6, requires_grad=True)
    parts = x.split(2, dim=1)
    y = parts[0].sin() * parts[1].cos() + parts[2]
    svg = graph.draw((y.sum(), x.exp().sum() + y.prod()), parameters={"x": x}).to_svg()
    root = ElementTree.fromstring(svg)
    boxes = [
        tuple(float(r.get(k, "0")) for k in ("x", "y", "width", "height"))
        for r in root.iter(f"{SVG}rect")
        if r.get("rx")
    ]
    assert len(boxes) == 13
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for i, (x0, y0, w0, h0) in enumerate(boxes):
        assert x0 >= 0
        assert y0 >= 0
        assert x0 + w0 <= width
        assert y0 + h0 <= height
        for x1, y1, w1, h1 in boxes[:i]:
            assert x0 + w0 <= x1 or x1 + w1 <= x0 or y0 + h0 <= y1 or y1 + h1 <= y0
    for path in root.iter(f"{SVG}path"):
        if path.get("marker-end"):
            numbers = [float(n) for n in re.findall(r"[-\d.]+", path.get("d", ""))]
            assert numbers[-1] > numbers[1]
    assert {"output 0", "output 1", "output 2"} <= set(texts(svg))


def test_arrows_go_around_the_boxes_between() -> None:
    boxes = [Box("operation", [f"box {i}"]) for i in range(4)]
    svg = svg_of(boxes, [Link(0, 1), Link(1, 2), Link(2, 3), Link(0, 3)], {"operation": "white"})
    root = ElementTree.fromstring(svg)
    rects = [r for r in root.iter(f"{SVG}rect") if r.get("rx")]
    long = [p.get("d", "") for p in root.iter(f"{SVG}path") if p.get("marker-end")][3]
    numbers = [float(n) for n in re.findall(r"[-\d.]+", long)]
    points = list(zip(numbers[::2], numbers[1::2], strict=True))
    for rect in rects[1:3]:
        left, top, w, h = (float(rect.get(k, "0")) for k in ("x", "y", "width", "height"))
        assert not any(left < x < left + w and top < y < top + h for x, y in points)


def test_names_are_escaped(tmp_path: Path) -> None:
    x = tl.ones(2, requires_grad=True)
    drawing = graph.draw(x.sum(), parameters={'a<b>&"c"': x})
    assert 'a<b>&"c"' in texts(drawing.to_svg())
    assert 'label="a<b>&\\"c\\"' in drawing.source
    drawing.save(tmp_path / "graph.svg")
    drawing.save(tmp_path / "graph.dot")
    assert (tmp_path / "graph.svg").read_text().startswith("<svg")
    assert (tmp_path / "graph.dot").read_text().startswith("digraph")


def test_what_cannot_be_drawn() -> None:
    x = tl.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="no graph"):
        graph.draw(tl.ones(2))
    with pytest.raises(TypeError, match="must be a Tensor"):
        graph.draw(3)
    with pytest.raises(TypeError, match="parameters must be"):
        graph.draw(x.sum(), parameters=[x])
    with pytest.raises(ValueError, match="max_nodes"):
        graph.draw(x.sin().sin().sum(), max_nodes=3)
    with pytest.raises(ValueError, match="engine"):
        graph.draw(x.sum()).to_svg(engine="cairo")


def test_a_drawing_says_what_backward_freed() -> None:
    x = tl.ones(2, requires_grad=True)
    y = x.exp().sum()
    y.backward()
    assert "result: freed" in texts(graph.draw(y).to_svg())


def test_a_drawing_of_custom_functions_hooks_and_views() -> None:
    class Twice(tl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.kept = tl.zeros(3)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = tl.ones(4, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t.tolist(), lambda v: tl.tensor(v)):
        y = x.exp()
    z = Twice.apply(y)
    z[:2].mul_(y[2:])
    lines = texts(graph.draw(z.sum()).to_svg())
    assert "packed result" in lines
    assert "saves saved_tensors[0] [4], 16 B" in lines
    assert "saves ctx.kept [3], 12 B" in lines
    assert "CopySlices" in lines


def test_memory_counts_shared_memory_once_and_leaves_apart() -> None:
    x = tl.ones(1000, requires_grad=True)
    y = x.exp()
    z = y * y + y.sin() * x
    found = graph.memory(z.sum())
    rows = {row.operation: row for row in found.rows}
    assert (rows["ExpBackward0"].nodes, rows["ExpBackward0"].bytes) == (1, 4000)
    # y is kept already; what is new is sin(y). x belongs to the user.
    assert (rows["MulBackward0"].nodes, rows["MulBackward0"].saved, rows["MulBackward0"].bytes) == (2, 4, 4000)
    assert rows["SinBackward0"].bytes == 0
    assert (found.total, found.leaves) == (8000, 4000)
    assert re.search(r"total +6 +6 +7.8 KB\n\(saved leaves\) +3.9 KB$", repr(found))


def test_memory_of_a_saved_view_is_all_that_it_keeps() -> None:
    big = tl.ones(100, 100)
    x = tl.ones(100, requires_grad=True)
    assert graph.memory((x * big[0]).sum()).total == 40000
    y = (x * 3).exp().sum()
    assert graph.memory(y).total == 400
    y.backward()
    assert graph.memory(y).total == 0


def test_drawing_and_memory_keep_nothing_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        x = tl.ones(3, requires_grad=True)
        y = x.exp().sum()
        seen = weakref.ref(y.grad_fn)
        graph.memory(y)
        graph.draw(y)
        del y
        assert seen() is None
    finally:
        gc.enable()


def test_an_edge_stands_for_a_tensor_whose_values_are_gone() -> None:
    x = tl.tensor([2.0, 3.0], dtype=tl.float64, requires_grad=True)
    y = x * x
    edge = graph.get_gradient_edge(y)
    out = y.sum()
    array = weakref.ref(y)
    del y
    assert array() is None
    assert tl.autograd.grad(out, edge, retain_graph=True)[0].tolist() == [1.0, 1.0]
    assert tl.autograd.grad(edge, x, tl.ones(2, dtype=tl.float64))[0].tolist() == [4.0, 6.0]


def test_a_gradient_edge_of_one_element_starts_with_one() -> None:
    x = tl.tensor([2.0, 3.0], requires_grad=True)
    tl.autograd.backward(graph.get_gradient_edge((x * x).sum()))
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 6.0]


def test_saved_values_are_copied_before_they_are_written_to() -> None:
    x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 2
        out = (y * y).sum()
        y += 1
        y[0] = 7.0
        y.view(2).mul_(3)
        out.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [8.0, 16.0]


def test_writes_that_nobody_saw_are_still_errors() -> None:
    x = tl.ones(2, requires_grad=True)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 2
        out = y.exp().sin().sum() + (y * y).sum()
        graph.increment_version(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward()


def test_save_on_cpu_keeps_device_and_values() -> None:
    x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    with graph.save_on_cpu(pin_memory=True):
        y = (x * x).exp()
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.tolist(), 2 * np.array([1, 2]) * np.exp([1, 4]))


def test_the_innermost_hooks_pack() -> None:
    seen: list[str] = []
    x = tl.ones(2, requires_grad=True)

    def hooks(name: str) -> Any:
        return graph.saved_tensors_hooks(lambda t: seen.append(name) or t, lambda t: t)

    with hooks("outer"):
        with hooks("inner"):
            y = x.sin()
        y.sin().sum().backward()
    assert seen == ["inner", "outer"]
