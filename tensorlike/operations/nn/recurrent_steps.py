"""Recurrent layers and cells step by step, by public operations: the source of their second derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorlike.operations.linalg.matmul import linear
from tensorlike.operations.shape.joining import cat
from tensorlike.tensor.types import Tensor

from .recurrent_kernels import Weights


def _step(kind: str, w: Weights, projected: Tensor, states: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the states after a step from those before it and `projected`, the projection of the input."""
    state = states[0]
    of_state = linear(state, w.w_hh, w.b_hh)
    if kind == "lstm":
        i, f, g, o = (projected + of_state).chunk(4, -1)
        cell = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
        new = o.sigmoid() * cell.tanh()
        return (new if w.w_hr is None else linear(new, w.w_hr)), cell
    if kind == "gru":
        r, z, n = projected.chunk(3, -1)
        r_state, z_state, n_state = of_state.chunk(3, -1)
        n = (n + (r + r_state).sigmoid() * n_state).tanh()
        return (n + (z + z_state).sigmoid() * (state - n),)
    total = projected + of_state
    return (total.tanh() if kind == "rnn_tanh" else total.relu(),)


def cell_by_operations(kind: str, names: Sequence[str], operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the states after one step."""
    w = Weights(names, operands)
    states = (w.hidden,) if w.cell is None else (w.hidden, w.cell)
    return _step(kind, w, linear(w.input, w.w_ih, w.b_ih), states)


def layer_by_operations(
    kind: str, names: Sequence[str], operands: Sequence[Any], sizes: Sequence[int], reverse: bool
) -> tuple[Any, ...]:
    """Return the states of a layer after each step, and the last ones."""
    w = Weights(names, operands)
    initial = (w.hidden,) if w.cell is None else (w.hidden, w.cell)
    shape = w.input.shape
    rows = linear(w.input.reshape(sum(sizes), shape[-1]), w.w_ih, w.b_ih).split(list(sizes))
    outputs: list[Any] = [None] * len(sizes)
    finished: list[list[Any]] = [[] for _ in initial]
    states = tuple(s[: sizes[-1 if reverse else 0]] for s in initial)
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        size, before = sizes[t], states[0].shape[0]
        if size < before:
            for found, state in zip(finished, states):
                found.append(state[size:])
            states = tuple(s[:size] for s in states)
        elif size > before:
            states = tuple(cat([s, first[before:size]]) for s, first in zip(states, initial))
        states = _step(kind, w, rows[t], states)
        outputs[t] = states[0]
    last = (cat([state, *reversed(found)]) if found else state for state, found in zip(states, finished))
    return cat(outputs).reshape(*shape[:-1], states[0].shape[-1]), *last
