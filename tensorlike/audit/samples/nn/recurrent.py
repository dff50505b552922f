"""Samples of recurrent layers and cells, and of multi-head attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..sample import COMPLEX, FLOATING, Make, SampleInput, samples


def _small(make: Make, *shape: int) -> Any:
    return make(*shape, low=-1, high=1)


def _params(
    make: Make, gates: int, features: int, hidden: int, *, biases: bool = True, layers: int = 1, directions: int = 1,
    projected: int = 0,
) -> list[Any]:  # fmt: skip
    width, rows, found = projected or hidden, gates * hidden, []
    for layer in range(layers):
        for _ in range(directions):
            found += [_small(make, rows, width * directions if layer else features), _small(make, rows, width)]
            found += [_small(make, rows), _small(make, rows)] if biases else []
            found += [_small(make, projected, hidden)] if projected else []
    return found


def _layers(make: Make, gates: int) -> Iterator[SampleInput]:
    def states(count: int, batch: int) -> Any:
        found = [_small(make, count, batch, 3) for _ in range(2 if gates == 4 else 1)]
        return tuple(found) if gates == 4 else found[0]

    batch_sizes = make.integers(3)
    batch_sizes._tl_data[...] = [3, 2, 1]
    yield SampleInput(
        _small(make, 3, 2, 2), states(1, 2), _params(make, gates, 2, 3), True, 1, 0.0, False, False, False
    )
    yield SampleInput(
        _small(make, 2, 3, 2), states(4, 2), _params(make, gates, 2, 3, biases=False, layers=2, directions=2),
        False, 2, 0.5, False, True, True,
    )  # fmt: skip
    yield SampleInput(
        _small(make, 6, 2), batch_sizes, states(2, 3), _params(make, gates, 2, 3, directions=2),
        True, 1, 0.0, True, True,
    )  # fmt: skip
    yield SampleInput(
        _small(make, 2, 0, 2), states(1, 0), _params(make, gates, 2, 3), True, 1, 0.0, False, False, batch_first=False
    )


@samples("tensorlike.rnn_tanh", dtypes=(*FLOATING, *COMPLEX))
def _rnn_tanh(make: Make) -> Iterator[SampleInput]:
    yield from _layers(make, 1)


@samples("tensorlike.rnn_relu", dtypes=(*FLOATING, "int64", "uint8"))
def _rnn_relu(make: Make) -> Iterator[SampleInput]:
    yield from _layers(make, 1)


@samples("tensorlike.gru", dtypes=(*FLOATING, *COMPLEX))
def _gru(make: Make) -> Iterator[SampleInput]:
    yield from _layers(make, 3)


@samples("tensorlike.lstm", dtypes=(*FLOATING, *COMPLEX))
def _lstm(make: Make) -> Iterator[SampleInput]:
    yield from _layers(make, 4)
    yield SampleInput(
        _small(make, 3, 2, 2), (_small(make, 1, 2, 2), _small(make, 1, 2, 3)), _params(make, 4, 2, 3, projected=2),
        True, 1, 0.0, False, False, False,
    )  # fmt: skip


def _cells(make: Make, gates: int) -> Iterator[SampleInput]:
    def states(batch: int) -> Any:
        found = [_small(make, batch, 3) for _ in range(2 if gates == 4 else 1)]
        return tuple(found) if gates == 4 else found[0]

    weights = _small(make, gates * 3, 2), _small(make, gates * 3, 3)
    yield SampleInput(_small(make, 4, 2), states(4), *weights)
    yield SampleInput(_small(make, 2, 2), states(2), *weights, _small(make, gates * 3), _small(make, gates * 3))
    yield SampleInput(_small(make, 2, 2), states(2), *weights, b_hh=_small(make, gates * 3))
    yield SampleInput(_small(make, 0, 2), states(0), *weights)


@samples("tensorlike.rnn_tanh_cell", dtypes=(*FLOATING, *COMPLEX, "int64"))
def _rnn_tanh_cell(make: Make) -> Iterator[SampleInput]:
    yield from _cells(make, 1)


@samples("tensorlike.rnn_relu_cell", dtypes=(*FLOATING, "int64"))
def _rnn_relu_cell(make: Make) -> Iterator[SampleInput]:
    yield from _cells(make, 1)


@samples("tensorlike.gru_cell", dtypes=(*FLOATING, *COMPLEX))
def _gru_cell(make: Make) -> Iterator[SampleInput]:
    yield from _cells(make, 3)


@samples("tensorlike.lstm_cell", dtypes=(*FLOATING, *COMPLEX))
def _lstm_cell(make: Make) -> Iterator[SampleInput]:
    yield from _cells(make, 4)


@samples("tensorlike.nn.functional.multi_head_attention_forward", tolerance=1e-5)
def _multi_head_attention(make: Make) -> Iterator[SampleInput]:
    def call(query: Any, key: Any, value: Any, weight: Any, bias: Any, *rest: Any, **options: Any) -> SampleInput:
        extra = rest or (None, None, False)
        return SampleInput(
            query, key, value, 4, 2, weight, bias, *extra, 0.0, _small(make, 4, 4), _small(make, 4), **options
        )

    def three(length: int, *batch: int) -> tuple[Any, Any, Any]:
        return _small(make, 3, *batch, 4), _small(make, length, *batch, 4), _small(make, length, *batch, 4)

    def packed() -> tuple[Any, Any]:
        return _small(make, 12, 4), _small(make, 12)

    query, key, value = three(2, 2)
    yield call(query, key, value, *packed())
    yield call(query, key, value, *packed(), average_attn_weights=False, training=False)
    query, key, value = three(3)
    allowed = make.bools(3, 3)
    allowed._tl_data[...] = [[False, True, True], [False, False, True], [False, False, False]]
    yield call(query, key, value, *packed(), attn_mask=allowed, is_causal=True, need_weights=False)
    yield call(query, key, value, *packed(), attn_mask=allowed)
    yield call(query, key, value, *packed(), attn_mask=allowed, need_weights=False)
    query, key, value = three(2, 2)
    padded = make.bools(2, 2)
    padded._tl_data[...] = [[False, True], [False, False]]
    yield call(query, key, value, *packed(), key_padding_mask=padded)
    yield call(
        query, key, value, *packed(), _small(make, 1, 1, 4), _small(make, 1, 1, 4), True,
        attn_mask=make(4, 3, 2, requires_grad=False), key_padding_mask=make(2, 2, requires_grad=False),
    )  # fmt: skip
    yield call(
        query, _small(make, 2, 2, 3), _small(make, 2, 2, 5), None, _small(make, 12), use_separate_proj_weight=True,
        q_proj_weight=_small(make, 4, 4), k_proj_weight=_small(make, 4, 3), v_proj_weight=_small(make, 4, 5),
    )  # fmt: skip
    yield call(query, key, value, *packed(), static_k=_small(make, 4, 3, 2), static_v=_small(make, 4, 3, 2))
