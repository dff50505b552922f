"""A layered drawing of a directed graph, as SVG.

Boxes stand in layers, so that every arrow points down (a box stands right above the highest that uses it); the boxes
of a layer are put in the order in which arrows cross least, found by moving each to the mean of its neighbours; then
each is shifted towards that mean as far as the others leave room. Arrows over several layers bend around the boxes
between. Source: Sugiyama, Tagawa and Toda, 1981.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Box", "Link", "svg_of"]

_LINE, _CHARACTER, _PADDING, _GAP, _RISE = 15.0, 6.7, 9.0, 22.0, 34.0
_SWEEPS = 12


class Box(NamedTuple):
    """A box with lines of text, the first its title."""

    kind: str
    lines: list[str]


class Link(NamedTuple):
    """An arrow from one box to another, by their numbers."""

    source: int
    target: int
    label: str = ""


class _Place:
    """A box, or a point that an arrow passes, in its layer."""

    __slots__ = ("above", "below", "height", "layer", "width", "x", "y")

    def __init__(self, layer: int, width: float, height: float) -> None:
        self.layer, self.width, self.height = layer, width, height
        self.x = self.y = 0.0
        self.above: list[_Place] = []
        self.below: list[_Place] = []


def _layers(count: int, links: list[Link]) -> list[int]:
    """Return the layer of each box, counted from the bottom: one more than the highest box that it points to."""
    users: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for link in links:
        users[link.target].append(link.source)
        waiting[link.source] += 1
    found = [0] * count
    ready = [i for i in range(count) if not waiting[i]]
    while ready:
        number = ready.pop()
        for source in users[number]:
            found[source] = max(found[source], found[number] + 1)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return found


def _mean(places: list[_Place], default: float) -> float:
    return sum(p.x for p in places) / len(places) if places else default


def _order(rows: list[list[_Place]]) -> None:
    for row in rows:
        for position, place in enumerate(row):
            place.x = float(position)
    for sweep in range(_SWEEPS):
        for row in rows[1:] if sweep % 2 == 0 else rows[-2::-1]:
            wishes = {id(p): _mean(p.above if sweep % 2 == 0 else p.below, p.x) for p in row}
            row.sort(key=lambda p: wishes[id(p)])
            for position, place in enumerate(row):
                place.x = float(position)


def _spread(row: list[_Place], wishes: list[float]) -> None:
    """Put the boxes of a row as near to where they wish to be as their order and widths leave room for."""
    # Boxes that would overlap are merged into a block, centred on the mean of their targets.
    blocks: list[tuple[float, int, list[float]]] = []
    offset, offsets = 0.0, []
    for index, place in enumerate(row):
        if index:
            offset += row[index - 1].width / 2 + _GAP + place.width / 2
        offsets.append(offset)
        total, size, members = wishes[index] - offset, 1, [offset]
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / size:
            before = blocks.pop()
            total, size, members = total + before[0], size + before[1], before[2] + members
        blocks.append((total, size, members))
    position = 0
    for total, size, members in blocks:
        for member in members:
            row[position].x = total / size + member
            position += 1


def _place(rows: list[list[_Place]]) -> None:
    for row in rows:
        x = 0.0
        for place in row:
            place.x = x + place.width / 2
            x += place.width + _GAP
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 0
        for row in rows[1:] if down else rows[-2::-1]:
            _spread(row, [_mean(p.above if down else p.below, p.x) for p in row])
    for row in rows:
        _spread(row, [_mean([*p.above, *p.below], p.x) for p in row])
    y = _PADDING
    for row in rows:
        height = max(p.height for p in row)
        for place in row:
            place.y = y + height / 2
            if not place.height:  # An arrow passes the boxes of its layer upright.
                place.height = height
        y += height + _RISE
    left = min(p.x - p.width / 2 for row in rows for p in row) - _PADDING
    for row in rows:
        for place in row:
            place.x -= left


def svg_of(boxes: list[Box], links: list[Link], fills: dict[str, str]) -> str:
    """Return the drawing of `boxes` and `links`; `fills` has a colour for each kind of box."""
    layers = _layers(len(boxes), links)
    top = max(layers)
    rows: list[list[_Place]] = [[] for _ in range(top + 1)]
    places = []
    for box, layer in zip(boxes, layers, strict=True):
        width = max(len(line) for line in box.lines) * _CHARACTER + 2 * _PADDING
        place = _Place(top - layer, width, len(box.lines) * _LINE + _PADDING)
        places.append(place)
        rows[place.layer].append(place)
    ways: list[list[_Place]] = []
    for link in links:
        way = [places[link.source]]
        target = places[link.target]
        for layer in range(way[0].layer + 1, target.layer):
            point = _Place(layer, 2.0, 0.0)
            rows[layer].append(point)
            way.append(point)
        way.append(target)
        for one, other in pairwise(way):
            one.below.append(other)
            other.above.append(one)
        ways.append(way)
    _order(rows)
    _place(rows)
    for row in rows:
        for place in row:  # They refer to each other, and only where they are matters from here on.
            place.above.clear()
            place.below.clear()
    width = max(p.x + p.width / 2 for row in rows for p in row) + _PADDING
    height = max(p.y + p.height / 2 for row in rows for p in row) + _PADDING
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#555"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
    ]
    for link, way in zip(links, ways, strict=True):
        parts.append(_arrow(link, way))
    for box, place in zip(boxes, places, strict=True):
        parts.append(_drawn(box, place, fills[box.kind]))
    return "\n".join([*parts, "</svg>\n"])


def _arrow(link: Link, way: list[_Place]) -> str:
    start, end = way[0], way[-1]
    points = [(start.x, start.y + start.height / 2)]
    for p in way[1:-1]:
        points += [(p.x, p.y - p.height / 2), (p.x, p.y + p.height / 2)]
    points.append((end.x, end.y - end.height / 2))
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (u, v) in pairwise(points):
        middle = (y + v) / 2
        path += f"C{x:.1f} {middle:.1f} {u:.1f} {middle:.1f} {u:.1f} {v:.1f}"
    drawn = f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#arrow)"/>'
    if link.label:
        (x, y), (u, v) = points[0], points[1]
        drawn += (
            f'<text x="{(x + u) / 2 + 5:.1f}" y="{(y + v) / 2 + 4:.1f}" font-size="10" fill="#555">'
            f"{escape(link.label)}</text>"
        )
    return drawn


def _drawn(box: Box, place: _Place, fill: str) -> str:
    left, above = place.x - place.width / 2, place.y - place.height / 2
    parts = [
        f'<rect x="{left:.1f}" y="{above:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" rx="5" '
        f'fill="{fill}" stroke="#888"/>'
    ]
    for number, line in enumerate(box.lines):
        style = 'font-weight="bold" fill="#111"' if number == 0 else 'fill="#555" font-size="11"'
        y = above + _PADDING / 2 + (number + 0.75) * _LINE
        parts.append(f'<text x="{place.x:.1f}" y="{y:.1f}" text-anchor="middle" {style}>{escape(line)}</text>')
    return "".join(parts)
