"""Recurrent layers on raw arrays: a whole sequence forwards and backwards, one layer in one direction.

# Note [One product for all steps]
The products of a layer with its input do not depend on its state: one matrix product serves all time steps, forwards
and backwards, as one serves the gradients of the weights. Only the products with the state are taken step by step. The
steps are views of arrays that hold the rows of all steps one after the other, the longest sequences first, as in a
PackedSequence; `sizes` are the numbers of rows of the steps. The rows of one sequence are the same row of each step, so
a state loses its last rows when sequences end, and gains rows of the initial state when (backwards) they begin.

# Note [One function for all gates]
sigmoid(x) is tanh(x / 2) / 2 + 1 / 2, so that with weights of half the size one tanh does for all gates: 9 us for 16384
elements, where exponentials and quotients on a part of each row took 44.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tensorlike.tensor.dtypes import default_float
from tensorlike.tensor.types import Array, Namespace

from .declaring import widened

if TYPE_CHECKING:
    import numpy as np

#: The number of gates of each kind of network: its weights have that many rows for each element of the state.
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}


class Weights:
    """The operands of a layer by name: raw arrays, or tensors in the formulation by public operations."""

    __slots__ = ("b_hh", "b_ih", "cell", "hidden", "input", "w_hh", "w_hr", "w_ih")

    input: Any
    hidden: Any
    cell: Any
    w_ih: Any
    w_hh: Any
    b_ih: Any
    b_hh: Any
    w_hr: Any

    def __init__(self, names: Sequence[str], operands: Sequence[Any]) -> None:
        self.cell = self.b_ih = self.b_hh = self.w_hr = None
        for name, operand in zip(names, operands):
            setattr(self, name, operand)


def _rows(array: Array) -> Array:
    """Return `array` as a matrix of its last dimension."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def _steps(array: Any, sizes: Sequence[int]) -> list[Any]:
    """Return the rows of each step."""
    if sizes[0] == sizes[-1]:
        return list(array.reshape(len(sizes), sizes[0], array.shape[-1]))
    parts, start = [], 0
    for size in sizes:
        parts.append(array[start : start + size])
        start += size
    return parts


def _columns(steps: list[Any], width: int, first: int, last: int) -> list[Any]:
    return [step[:, first * width : last * width] for step in steps]


def _resized(xp: Namespace, state: Array, initial: Any, size: int, finished: list[Any]) -> Array:
    """Resize a state to `size` rows: store ended sequences in `finished`, take beginning ones from `initial`."""
    before = state.shape[0]
    if size < before:
        finished.append(state[size:])
        return state[:size]
    return xp.concatenate((state, initial[before:size]))


def _final(xp: Namespace, state: Array, finished: list[Any]) -> Array:
    return xp.concatenate((state, *reversed(finished))) if finished else state


def _previous(xp: Namespace, states: Any, initial: Any, sizes: Sequence[int], reverse: bool) -> Any:
    """Return the state before each step, from the one after each."""
    count = len(sizes)
    if count == 1:
        return initial[: sizes[0]]
    before: Array = xp.empty_like(states)
    if sizes[0] == sizes[-1]:
        size = sizes[0]
        if reverse:
            before[:-size], before[-size:] = states[size:], initial
        else:
            before[size:], before[:size] = states[:-size], initial
        return before
    parts, targets = _steps(states, sizes), _steps(before, sizes)
    for t, target in enumerate(targets):
        size = sizes[t]
        if not reverse:
            target[...] = parts[t - 1][:size] if t else initial[:size]
            continue
        known = sizes[t + 1] if t + 1 < count else 0
        if known:
            target[:known] = parts[t + 1]
        target[known:] = initial[known:size]
    return before


def _order(sizes: Sequence[int], reverse: bool) -> range:
    return range(len(sizes) - 1, -1, -1) if reverse else range(len(sizes))


def _halves(xp: Namespace, kind: str, hidden: int, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the factor of the gates before and after their tanh, and the summand: 1 and 0 for gates without sigmoid.
    """
    factor = xp.full(GATES[kind] * hidden, 0.5, dtype)
    last = 4 if kind == "gru" else 3
    factor[2 * hidden : last * hidden] = 1
    return factor, 1 - factor


def _projected(xp: Namespace, x: Array | None, weight: Array, bias: Array | None, factor: Any) -> Array:
    """Return the product of all rows with the weights, with bias and factor."""
    weight = widened(weight)
    if factor is None:
        gates = xp.matmul(x, weight.T)
    else:
        gates = xp.matmul(x, xp.multiply(weight.T, factor))
    if bias is not None:
        gates += bias if factor is None else bias * factor
    return gates


# ------------------------------------------------------------------------------------------------------------ forwards


def _rnn(xp: Namespace, kind: str, w: Weights, sizes: Sequence[int], reverse: bool, keep: bool) -> tuple[Array, Array]:
    initial = widened(w.hidden)
    bias = None if w.b_ih is None else widened(w.b_ih) + widened(w.b_hh)
    out = _projected(xp, widened(_rows(w.input)), w.w_ih, bias, None)
    weight = xp.ascontiguousarray(widened(w.w_hh).T)
    buffer = xp.empty((max(sizes), out.shape[1]), out.dtype)
    steps = _steps(out, sizes)
    state = initial[: sizes[-1 if reverse else 0]]
    finished: list[Any] = []
    for t in _order(sizes, reverse):
        size = sizes[t]
        if size != state.shape[0]:
            state = _resized(xp, state, initial, size, finished)
        step = steps[t]
        step += xp.matmul(state, weight, out=buffer[:size])
        if kind == "rnn_tanh":
            xp.tanh(step, out=step)
        else:
            xp.maximum(step, 0, out=step)
        state = step
    return out, _final(xp, state, finished).copy()


def _gru(xp: Namespace, kind: str, w: Weights, sizes: Sequence[int], reverse: bool, keep: bool) -> tuple[Array, ...]:
    initial = widened(w.hidden)
    hidden = initial.shape[1]
    factor, _ = _halves(xp, kind, hidden, initial.dtype)
    bias = last_bias = None
    if w.b_ih is not None:
        bias, last_bias = widened(w.b_ih).copy(), widened(w.b_hh)[2 * hidden :]
        bias[: 2 * hidden] += widened(w.b_hh)[: 2 * hidden]
    gates = _projected(xp, widened(_rows(w.input)), w.w_ih, bias, factor)
    weight = xp.multiply(widened(w.w_hh).T, factor)
    buffer = xp.empty((max(sizes), 3 * hidden), gates.dtype)
    out = xp.empty((gates.shape[0], hidden), gates.dtype)
    inner = xp.empty((gates.shape[0] if keep else max(sizes), hidden), gates.dtype)
    inners = _steps(inner, sizes) if keep else [inner[:size] for size in sizes]
    rows, outs = _steps(gates, sizes), _steps(out, sizes)
    opened = [_columns(rows, hidden, *part) for part in ((0, 2), (0, 1), (1, 2), (2, 3))]
    steps = list(zip(outs, inners, *opened))
    state = initial[: sizes[-1 if reverse else 0]]
    finished: list[Any] = []
    for t in _order(sizes, reverse):
        size = sizes[t]
        if size != state.shape[0]:
            state = _resized(xp, state, initial, size, finished)
        new, q, both, r, z, n = steps[t]
        of_state = xp.matmul(state, weight, out=buffer[:size])
        both += of_state[:, : 2 * hidden]
        xp.tanh(both, out=both)
        both *= 0.5
        both += 0.5
        if last_bias is None:
            q[...] = of_state[:, 2 * hidden :]
        else:
            xp.add(of_state[:, 2 * hidden :], last_bias, out=q)
        n += xp.multiply(r, q, out=new)
        xp.tanh(n, out=n)
        xp.subtract(state, n, out=new)
        new *= z
        new += n
        state = new
    reserve = (gates, inner) if keep else ()
    return out, _final(xp, state, finished).copy(), *reserve


def _lstm(xp: Namespace, kind: str, w: Weights, sizes: Sequence[int], reverse: bool, keep: bool) -> tuple[Array, ...]:
    initial, initial_cell = widened(w.hidden), widened(w.cell)
    hidden = initial_cell.shape[1]
    factor, shift = _halves(xp, kind, hidden, initial.dtype)
    bias = None if w.b_ih is None else widened(w.b_ih) + widened(w.b_hh)
    gates = _projected(xp, widened(_rows(w.input)), w.w_ih, bias, factor)
    weight = xp.multiply(widened(w.w_hh).T, factor)
    projection = None if w.w_hr is None else xp.ascontiguousarray(widened(w.w_hr).T)
    count, largest = gates.shape[0], max(sizes)
    buffer, factors, shifts = xp.empty((3, largest, 4 * hidden), gates.dtype)
    # Written out: a row that is broadcast takes 4.1 us for 4096 elements, a matrix 1.6.
    factors[...], shifts[...] = factor, shift
    out = xp.empty((count, initial.shape[1]), gates.dtype)
    rows, outs = _steps(gates, sizes), _steps(out, sizes)
    if keep:
        cells, squashed = (xp.empty((count, hidden), gates.dtype) for _ in range(2))
        new_cells, new_squashed = _steps(cells, sizes), _steps(squashed, sizes)
    else:
        # Two buffers, used in turn.
        pair, squashed = xp.empty((2, largest, hidden), gates.dtype), xp.empty((largest, hidden), gates.dtype)
        new_cells = [pair[t % 2, :size] for t, size in enumerate(sizes)]
        new_squashed = [squashed[:size] for size in sizes]
    single = [_columns(rows, hidden, k, k + 1) for k in range(4)]
    steps = list(zip(rows, outs, new_cells, new_squashed, *single))
    first = sizes[-1 if reverse else 0]
    state, cell = initial[:first], initial_cell[:first]
    finished: list[Any] = []
    finished_cells: list[Any] = []
    for t in _order(sizes, reverse):
        size = sizes[t]
        if size != state.shape[0]:
            state = _resized(xp, state, initial, size, finished)
            cell = _resized(xp, cell, initial_cell, size, finished_cells)
            if not keep and finished_cells:
                finished_cells[-1] = finished_cells[-1].copy()
        row, new, new_cell, tanh_cell, i, f, g, o = steps[t]
        row += xp.matmul(state, weight, out=buffer[:size])
        xp.tanh(row, out=row)
        row *= factors[:size]
        row += shifts[:size]
        xp.multiply(f, cell, out=new_cell)
        new_cell += xp.multiply(i, g, out=tanh_cell)
        xp.tanh(new_cell, out=tanh_cell)
        if projection is None:
            xp.multiply(o, tanh_cell, out=new)
        else:
            xp.matmul(xp.multiply(o, tanh_cell), projection, out=new)
        state, cell = new, new_cell
    reserve = (gates, cells, squashed) if keep else ()
    return out, _final(xp, state, finished).copy(), _final(xp, cell, finished_cells).copy(), *reserve


#: kind -> kernel. It returns the states after all steps, the last ones, and the values saved for the gradient.
FORWARD = {"rnn_tanh": _rnn, "rnn_relu": _rnn, "gru": _gru, "lstm": _lstm}


# ------------------------------------------------------------------------------------------------------ single steps


def _rnn_cell(xp: Namespace, kind: str, w: Weights) -> tuple[Array]:
    gates = _sum(xp, w)
    if kind == "rnn_relu":
        return (xp.maximum(gates, 0, out=gates),)
    if gates.dtype.kind in "iu":
        gates = gates.astype(default_float())
    return (xp.tanh(gates, out=gates),)


def _sum(xp: Namespace, w: Weights) -> Array:
    gates = xp.matmul(widened(w.input), widened(w.w_ih).T)
    gates += xp.matmul(widened(w.hidden), widened(w.w_hh).T)
    for bias in (w.b_ih, w.b_hh):
        if bias is not None:
            gates += widened(bias)
    return gates


def _opened(xp: Namespace, gates: Array) -> Array:
    """Turn `gates` into their sigmoid, in place."""
    gates *= 0.5
    xp.tanh(gates, out=gates)
    gates *= 0.5
    gates += 0.5
    return gates


def _gru_cell(xp: Namespace, kind: str, w: Weights) -> tuple[Array, Array, Array]:
    state = widened(w.hidden)
    hidden = state.shape[1]
    gates = xp.matmul(widened(w.input), widened(w.w_ih).T)
    of_state = xp.matmul(state, widened(w.w_hh).T)
    if w.b_ih is not None:
        gates += widened(w.b_ih)
    if w.b_hh is not None:
        of_state += widened(w.b_hh)
    both, n, q = gates[:, : 2 * hidden], gates[:, 2 * hidden :], of_state[:, 2 * hidden :]
    both += of_state[:, : 2 * hidden]
    _opened(xp, both)
    n += both[:, :hidden] * q
    xp.tanh(n, out=n)
    new = state - n
    new *= both[:, hidden:]
    new += n
    return new, gates, q


def _lstm_cell(xp: Namespace, kind: str, w: Weights) -> tuple[Array, Array, Array, Array]:
    gates = _sum(xp, w)
    hidden = widened(w.cell).shape[1]
    g = xp.tanh(gates[:, 2 * hidden : 3 * hidden])
    _opened(xp, gates)
    gates[:, 2 * hidden : 3 * hidden] = g
    cell = gates[:, hidden : 2 * hidden] * widened(w.cell)
    g *= gates[:, :hidden]
    cell += g
    squashed = xp.tanh(cell, out=g)
    return gates[:, 3 * hidden :] * squashed, cell, gates, squashed


#: kind -> kernel of a single step. It returns the states after it, and the values saved for the gradient.
CELL = {"rnn_tanh": _rnn_cell, "rnn_relu": _rnn_cell, "gru": _gru_cell, "lstm": _lstm_cell}


# ----------------------------------------------------------------------------------------------------------- backwards


def _conj(xp: Namespace, array: Any) -> Any:
    return xp.conj(array) if array.dtype.kind == "c" else array


def _of_weight(xp: Namespace, grad: Array, rows: Array | None) -> Array:
    return xp.matmul(grad.T, _conj(xp, rows))


def _rnn_backward(
    xp: Namespace, kind: str, w: Weights, grads: list[Array], results: list[Array], sizes: Any, reverse: bool
) -> Any:
    initial, out = widened(w.hidden), widened(_rows(results[0]))
    upstream, last = widened(_rows(grads[0])), widened(grads[1])
    weight = _conj(xp, widened(w.w_hh))
    gates = (1 - _conj(xp, out * out)) if kind == "rnn_tanh" else (out > 0).astype(out.dtype)
    steps, arriving = _steps(gates, sizes), _steps(upstream, sizes)
    order = _order(sizes, not reverse)
    state = last[: sizes[order[0]]]
    finished: list[Any] = []
    for t in order:
        size = sizes[t]
        if size != state.shape[0]:
            state = _resized(xp, state, last, size, finished)
        step = steps[t]
        step *= state + arriving[t]
        state = xp.matmul(step, weight)
    before = _previous(xp, out, initial, sizes, reverse)
    return gates, gates, before, (_final(xp, state, finished),), None


def _gru_backward(
    xp: Namespace, kind: str, w: Weights, grads: Any, results: list[Array], sizes: Any, reverse: bool
) -> Any:
    initial, out = widened(w.hidden), widened(_rows(results[0]))
    gates, inner = results[-2:]
    hidden, count = initial.shape[1], out.shape[0]
    upstream, last = widened(_rows(grads[0])), widened(grads[1])
    before = _previous(xp, out, initial, sizes, reverse)
    weight = _conj(xp, widened(w.w_hh))
    r, z, n = (gates[:, k * hidden : (k + 1) * hidden] for k in range(3))
    # Gradients of the new gate, the reset gate, the update gate and the reset gate's factor: in this order the gates of
    # the input are contiguous, and so are those of the state.
    all_gates = xp.empty((count, 4, hidden), gates.dtype)
    by_n, by_r, by_z, by_q = (all_gates[:, k] for k in range(4))
    xp.subtract(1, n * n, out=by_n)
    by_n *= 1 - z
    xp.multiply(by_n, r, out=by_q)
    xp.multiply(by_q, 1 - r, out=by_r)
    by_r *= inner
    xp.subtract(before, n, out=by_z)
    by_z *= z
    by_z *= 1 - z
    if all_gates.dtype.kind == "c":
        all_gates, z = xp.conj(all_gates), xp.conj(z)
    flat = all_gates.reshape(count, 4 * hidden)
    rows = _steps(flat, sizes)
    steps = [row.reshape(row.shape[0], 4, hidden) for row in rows]
    of_state = _columns(rows, hidden, 1, 4)
    kept, arriving = _steps(z, sizes), _steps(upstream, sizes)
    order = _order(sizes, not reverse)
    state = last[: sizes[order[0]]]
    finished: list[Any] = []
    for t in order:
        size = sizes[t]
        if size != state.shape[0]:
            state = _resized(xp, state, last, size, finished)
        total = state + arriving[t]
        steps[t] *= total[:, None]
        total *= kept[t]
        state = xp.matmul(of_state[t], weight)
        state += total
    by_input = xp.concatenate((flat[:, hidden : 3 * hidden], flat[:, :hidden]), axis=1)
    return by_input, flat[:, hidden:], before, (_final(xp, state, finished),), None


def _lstm_backward(
    xp: Namespace, kind: str, w: Weights, grads: Any, results: list[Array], sizes: Any, reverse: bool
) -> Any:
    initial, initial_cell = widened(w.hidden), widened(w.cell)
    gates, cells, squashed = results[-3:]
    hidden, count = initial_cell.shape[1], gates.shape[0]
    upstream, last, last_cell = widened(_rows(grads[0])), widened(grads[1]), widened(grads[2])
    weight = _conj(xp, widened(w.w_hh))
    projection = None if w.w_hr is None else _conj(xp, widened(w.w_hr))
    i, f, g, o = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
    by_gates = xp.subtract(1, gates)
    by_gates *= gates
    by_i, by_f, by_g, by_o = (by_gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
    by_i *= g
    by_f *= _previous(xp, cells, initial_cell, sizes, reverse)
    xp.multiply(g, g, out=by_g)
    xp.subtract(1, by_g, out=by_g)
    by_g *= i
    by_o *= squashed
    by_cell = squashed * squashed
    xp.subtract(1, by_cell, out=by_cell)
    by_cell *= o
    if by_gates.dtype.kind == "c":
        by_gates, by_cell, f = xp.conj(by_gates), xp.conj(by_cell), xp.conj(f)
    rows, arriving = _steps(by_gates, sizes), _steps(upstream, sizes)
    of_cell = [row[:, : 3 * hidden].reshape(row.shape[0], 3, hidden) for row in rows]
    of_output = _columns(rows, hidden, 3, 4)
    kept, squash = _steps(f, sizes), _steps(by_cell, sizes)
    totals = None if projection is None else xp.empty((count, initial.shape[1]), by_gates.dtype)
    order = _order(sizes, not reverse)
    first = sizes[order[0]]
    state, cell = last[:first], last_cell[:first].copy()
    finished: list[Any] = []
    finished_cells: list[Any] = []
    all_totals = None if totals is None else _steps(totals, sizes)
    for t in order:
        size = sizes[t]
        if size != state.shape[0]:
            state = _resized(xp, state, last, size, finished)
            cell = _resized(xp, cell, last_cell, size, finished_cells)
        total = state + arriving[t]
        if all_totals is not None:
            all_totals[t][...] = total
            total = xp.matmul(total, projection)
        cell += total * squash[t]
        of_cell[t] *= cell[:, None]
        of_output[t] *= total
        state = xp.matmul(rows[t], weight)
        cell *= kept[t]
    out = widened(_rows(results[0]))
    before = _previous(xp, out, initial, sizes, reverse)
    by_projection = None if totals is None else _of_weight(xp, totals, o * squashed)
    states = _final(xp, state, finished), _final(xp, cell, finished_cells)
    return by_gates, by_gates, before, states, by_projection


_STEPS = {"rnn_tanh": _rnn_backward, "rnn_relu": _rnn_backward, "gru": _gru_backward, "lstm": _lstm_backward}


def backward(
    xp: Namespace, kind: str, w: Weights, grads: Any, results: Any, sizes: Sequence[int], reverse: bool, of_input: bool
) -> list[Any]:
    """Return the gradients of all operands of a layer, in their order; that of the input only if asked for."""
    by_input, by_state, before, states, by_projection = _STEPS[kind](xp, kind, w, grads, results, sizes, reverse)
    found = []
    if of_input:
        found.append(xp.matmul(by_input, _conj(xp, widened(w.w_ih))).reshape(w.input.shape))
    found += states
    found.append(_of_weight(xp, by_input, widened(_rows(w.input))))
    found.append(_of_weight(xp, by_state, before))
    if w.b_ih is not None:
        found.append(by_input.sum(axis=0))
    if w.b_hh is not None:
        found.append(found[-1].copy() if w.b_ih is not None and by_state is by_input else by_state.sum(axis=0))
    if by_projection is not None:
        found.append(by_projection)
    return found
