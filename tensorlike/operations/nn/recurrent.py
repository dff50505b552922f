"""The functions behind `nn.RNN`, `nn.GRU`, `nn.LSTM` and their cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tensorlike.autograd.backward_and_grad import grad as gradients
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.operations.linalg.matmul import times
from tensorlike.operations.shape.joining import cat, stack
from tensorlike.tensor.backends import namespace_of
from tensorlike.tensor.declarations.declare import composite, derivatives, internal, undispatched
from tensorlike.tensor.declarations.runtime import dtype_name, guarded, run_quietly, wrong_type
from tensorlike.tensor.types import Array, Namespace, Tensor

from ..shared import as_number, require_tensor
from .declaring import narrowed
from .dropout import dropout as dropout_function
from .recurrent_kernels import CELL, FORWARD, GATES, Weights, backward
from .recurrent_steps import cell_by_operations, layer_by_operations

# Note [Two ways back through time]
# A layer is one operation with one kernel for all its gradients. Where these are to be differentiated themselves
# (`create_graph`) the layer is computed once more with public operations, and differentiated through them: slower, and
# right to any order. The tests compare the two.

_STATE_NAMES = ("hidden", "cell")
_STATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 1, "lstm": 2}


def _as_operand(results: Sequence[Any], like: Array, count: int) -> tuple[Any, ...]:
    """Cast the first results to the operands' dtype; values saved for the gradient stay as they are."""
    return (*(narrowed(r, like) for r in results[:count]), *results[count:])


def _by_operations(compute: Callable[[list[Any]], Any], operands: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """Return differentiable gradients of `compute`: see Note [Two ways back through time]."""
    # Copies, so that the graph ends here: one operand may depend on another.
    copies = [operand.clone() if operand._tl_tracked else operand for operand in operands]
    results = compute(copies)
    wanted = [copy for copy, operand in zip(copies, operands) if operand._tl_tracked]
    found = iter(gradients(results, wanted, grads[: len(results)], create_graph=True, allow_unused=True))
    return [next(found) if operand._tl_tracked else None for operand in operands]


# -------------------------------------------------------------------------------------------------------------- layers


@internal(outputs=True)
def recurrent_layer(
    xp: Namespace, operands: Sequence[Array], kind: str, names: tuple[str, ...], sizes: list[int], reverse: bool,
    keep: bool,
) -> Any:  # fmt: skip
    """Run one layer in one direction; return its states after each step, the last ones, and the saved values."""
    w = Weights(names, operands)
    out, *rest = FORWARD[kind](xp, kind, w, sizes, reverse, keep)
    out = out.reshape(*w.input.shape[:-1], out.shape[-1])
    return _as_operand((out, *rest), w.input, 1 + _STATES[kind])


@internal(differentiable=False, outputs=True)
def recurrent_layer_grad(
    xp: Namespace, operands: Sequence[Array], grads: Sequence[Array], results: Sequence[Array], kind: str,
    names: tuple[str, ...], sizes: list[int], reverse: bool, of_input: bool,
) -> Any:  # fmt: skip
    """Return the gradients of a layer's operands."""
    return backward(xp, kind, Weights(names, operands), grads, results, sizes, reverse, of_input)


_layer = undispatched(recurrent_layer)
_layer_grad = undispatched(recurrent_layer_grad)


def _layer_backward(
    grads: list[Tensor], operands: list[Tensor], results: list[Tensor], kind: str, names: tuple[str, ...],
    sizes: list[int], reverse: bool,
) -> list[Any]:  # fmt: skip
    if grad_enabled():
        return _by_operations(lambda copies: layer_by_operations(kind, names, copies, sizes, reverse), operands, grads)
    of_input = operands[0]._tl_tracked
    found = _layer_grad(operands, grads[: 1 + _STATES[kind]], results, kind, names, sizes, reverse, of_input)
    return list(found) if of_input else [None, *found]


derivatives(recurrent_layer, operands=_layer_backward)


# --------------------------------------------------------------------------------------------------------------- cells


def _after_step(xp: Namespace, operands: Sequence[Any], kind: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    found: tuple[Any, ...] = CELL[kind](xp, kind, Weights(names, operands))
    dtype = operands[0].dtype
    # Integers have no tangent.
    return _as_operand(found, operands[0], _STATES[kind]) if dtype.itemsize == 2 and dtype.kind != "i" else found


@internal()
def rnn_cell(xp: Namespace, operands: Sequence[Array], kind: str, names: tuple[str, ...]) -> Array:
    """Run one step; return the state after it: recorded in 30 us, where several results take 36."""
    return _after_step(xp, operands, kind, names)[0]  # type: ignore[no-any-return]


@internal(outputs=True)
def gated_cell(xp: Namespace, operands: Sequence[Array], kind: str, names: tuple[str, ...]) -> Any:
    """Run one step; return two saved values, and the states after it."""
    found = _after_step(xp, operands, kind, names)
    return (*found[-2:], *found[:-2])


def _cell_arrays(
    xp: Namespace, operands: list[Any], grads: list[Any], results: list[Any], kind: str, names: tuple[str, ...],
    first: bool,
) -> list[Any]:  # fmt: skip
    w, upstream = Weights(names, operands), xp.zeros_like(grads[0])
    if kind != "rnn_tanh" and kind != "rnn_relu":
        # A layer of one step: of its states those before the step are read alone, and the number of their rows.
        results = [w.hidden, results[0], *([] if w.cell is None else [w.cell]), results[1]]
    return backward(xp, kind, w, [upstream, *grads], results, [w.input.shape[0]], False, first)


@guarded
def _cell_gradients(operands: list[Any], *arguments: Any) -> list[Any]:
    """Return the gradients of a cell's operands, from raw arrays: 31 us, and 54 as a declared operation."""
    found: list[Any] = run_quietly(_cell_arrays, namespace_of(operands[0]), operands, *arguments)
    return found


_rnn_cell = undispatched(rnn_cell)
_gated_cell = undispatched(gated_cell)


def _cell_backward(
    grads: list[Tensor], operands: list[Tensor], results: list[Tensor], kind: str, names: tuple[str, ...]
) -> list[Any]:
    grads = grads[-_STATES[kind] :]
    if grad_enabled():
        return _by_operations(lambda copies: cell_by_operations(kind, names, copies), operands, grads)
    arrays, first = [operand._tl_data for operand in operands], operands[0]._tl_tracked
    of_states, saved = [g._tl_data for g in grads], [r._tl_data for r in results]
    found = [wrap(gradient) for gradient in _cell_gradients(arrays, of_states, saved, kind, names, first)]
    return found if first else [None, *found]


derivatives(
    rnn_cell,
    operands=lambda grad, operands, result, kind, names: _cell_backward([grad], operands, [result], kind, names),
)
derivatives(
    gated_cell,
    # The states are not saved: users may write into them.
    operands=lambda grads, operands, result0, result1, kind, names: _cell_backward(
        grads, operands, [result0, result1], kind, names
    ),
)


# -------------------------------------------------------------------------------------------------------------- checks


def _check_dtypes(function: str, kind: str, operands: Sequence[Any], *, integers: bool) -> None:
    dtype = operands[0]._tl_data.dtype
    for operand in operands:
        if operand._tl_data.dtype != dtype:
            raise RuntimeError(
                f"{function}(): mat1 and mat2 must have the same dtype, but got {dtype_name(dtype)} and "
                f"{dtype_name(operand._tl_data.dtype)}; convert one of them with .to(dtype)"
            )
    if dtype.kind == "b":
        raise NotImplementedError(f"\"{function}\" not implemented for 'Bool': convert it, e.g. with .float()")
    if dtype.kind == "c" and kind == "rnn_relu":
        raise NotImplementedError(f"{function}(): clamp is not supported for complex types: they have no order")
    if dtype.kind in "iu" and not integers:
        raise RuntimeError(
            f"{function}(): result type Float can't be cast to the desired output type {dtype_name(dtype)}: convert "
            "the operands, e.g. with .float()"
        )


def _need_tensors(function: str, argument: str, position: int, values: Tensor | Sequence[Tensor]) -> list[Any]:
    if not isinstance(values, (list, tuple)):
        wrong_type(function, argument, position, values, "tuple of Tensors")
    for index, value in enumerate(values):
        if not isinstance(value, TensorBase):
            raise TypeError(
                f"{function}(): argument '{argument}' (position {position}) must be tuple of Tensors, not "
                f"{type(values).__name__} with a {type(value).__name__} as element {index}"
            )
    return list(values)


def _check_layer(function: str, kind: str, input: Tensor, w: Weights, rows: int) -> None:
    """Raise for weights and states that do not match the input."""
    gates, features = GATES[kind], input._tl_data.shape[-1]
    width = w.hidden._tl_data.shape[-1]
    cells = width if w.cell is None else w.cell._tl_data.shape[-1]
    if w.w_ih._tl_data.ndim == 2 and w.w_ih._tl_data.shape[1] != features:
        count = math.prod(input._tl_data.shape[:-1])
        raise RuntimeError(
            f"{function}(): mat1 and mat2 shapes cannot be multiplied ({times(count, features)} and "
            f"{times(*w.w_ih._tl_data.shape[::-1])}): the input has {features} features, the weights are for "
            f"{w.w_ih._tl_data.shape[1]}"
        )
    expected: dict[str, tuple[int, ...]] = {"w_ih": (gates * cells, features), "w_hh": (gates * cells, width)}
    expected |= {"b_ih": (gates * cells,), "b_hh": (gates * cells,)}
    expected |= {"hidden": (rows, width), "cell": (rows, cells), "w_hr": (width, cells)}
    for name, shape in expected.items():
        value = getattr(w, name)
        if value is not None and tuple(value._tl_data.shape) != shape:
            what = {"hidden": "hx", "cell": "the cell state of hx"}.get(name, f"{name} of params")
            raise RuntimeError(
                f"{function}(): expected {what} to have the size {list(shape)} for each layer and direction, but got "
                f"{list(value._tl_data.shape)}"
            )


# -------------------------------------------------------------------------------------------------------- public layers


def _sizes_of(function: str, data: Tensor, batch_sizes: Tensor) -> list[int]:
    """Return the rows of each step of packed sequences."""
    if batch_sizes._tl_data.dtype != np.int64:
        found = dtype_name(batch_sizes._tl_data.dtype)
        raise RuntimeError(f"{function}(): expected scalar type Long but found {found}")
    sizes: list[int] = batch_sizes.tolist()
    if not sizes:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if sizes[-1] < 0 or any(later > earlier for earlier, later in pairwise(sizes)):
        raise RuntimeError(f"{function}(): batch_sizes must not increase, nor be negative, but got {sizes}")
    if sum(sizes) != data._tl_data.shape[0]:
        raise RuntimeError(
            f"{function}(): batch_sizes add up to {sum(sizes)}, but data has {data._tl_data.shape[0]} rows"
        )
    return sizes


def _run_layers(
    function: str, kind: str, input: Tensor, sizes: list[int], states: list[Any], params: list[Any], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Run all layers in all directions; return the output and the last states."""
    directions = 2 if bidirectional else 1
    names = ["input", *_STATE_NAMES[: len(states)], "w_ih", "w_hh"]
    if has_biases:
        names += ["b_ih", "b_hh"]
    if kind == "lstm" and states[0]._tl_data.shape[-1] != states[1]._tl_data.shape[-1]:
        names.append("w_hr")
    count = len(names) - 1 - len(states)
    if len(params) % count:
        raise RuntimeError(
            f"{function}(): got an incorrect number of RNN parameters: {len(params)}, where each layer and direction "
            f"has {count}"
        )
    if len(params) != count * num_layers * directions:
        raise RuntimeError(
            f"{function}(): Expected {'more' if len(params) > count * num_layers * directions else 'fewer'} "
            f"weights in stacked_rnn: params are for {len(params) // count} layers and directions, but num_layers is "
            f"{num_layers} and bidirectional {bidirectional}"
        )
    for state in states:
        if state._tl_data.ndim != 3 or state._tl_data.shape[0] != num_layers * directions:
            raise RuntimeError(
                f"{function}(): Expected more hidden states in stacked_rnn: hx must have the shape "
                f"({num_layers * directions}, batch, features), but got {list(state._tl_data.shape)}"
            )
    _check_dtypes(function, kind, [input, *states, *params], integers=kind == "rnn_relu")
    apart = [state.unbind(0) for state in states]
    keep = grad_enabled() and any(t._tl_tracked for t in (input, *states, *params))
    last: list[list[Any]] = [[] for _ in states]
    for layer in range(num_layers):
        if layer and dropout and train:
            input = dropout_function(input, dropout)
        outputs = []
        for direction in range(directions):
            index = layer * directions + direction
            operands = [input, *(a[index] for a in apart), *params[index * count : (index + 1) * count]]
            _check_layer(function, kind, input, Weights(names, operands), sizes[0])
            output, *after = _layer(operands, kind, tuple(names), sizes, direction == 1, keep)
            outputs.append(output)
            for found, state in zip(last, after):
                found.append(state)
        # Of the last layer a copy: its own states are saved for the gradient, and users may write into theirs.
        alone = directions == 1 and not (keep and layer == num_layers - 1)
        input = outputs[0] if alone else cat(outputs, -1)
    return input, *(stack(found) if keep or len(found) > 1 else found[0].unsqueeze(0) for found in last)


#: The options of both forms, in their order, and the type that each has.
_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("has_biases", bool), ("num_layers", int), ("dropout", (int, float)), ("train", bool), ("bidirectional", bool),
)  # fmt: skip


def _checked_options(function: str, options: Sequence[Any], first: int) -> list[Any]:
    checked = []
    for position, ((name, kind), given) in enumerate(zip(_OPTIONS, options, strict=True), first):
        value = given if kind is bool else as_number(given, integral=kind is int)
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            expected = "bool" if kind is bool else "int" if kind is int else "float"
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be {expected}, not {type(value).__name__} "
                f"({value!r:.60})"
            )
        checked.append(value)
    return checked


def _run(function: str, kind: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Run a public function's call in either form."""
    of_lstm = kind == "lstm"
    packed = isinstance(arguments[1], TensorBase) and (of_lstm or isinstance(arguments[2], TensorBase))
    if packed:
        data, batch_sizes, hx, params, *options = arguments
        first, positions = "data", (3, 4)
    else:
        data, hx, params, *options, batch_first = arguments
        first, positions = "input", (2, 3)
    require_tensor(function, data, first)
    if of_lstm:
        states = _need_tensors(function, "hx", positions[0], hx)
        if len(states) != 2:
            raise RuntimeError(f"lstm expects two hidden states, but got {len(states)}")
    else:
        states = [require_tensor(function, hx, "hx", positions[0])]
    weights = _need_tensors(function, "params", positions[1], params)
    options = _checked_options(function, options, positions[1] + 1)
    if packed:
        if data._tl_data.ndim != 2:
            raise RuntimeError(f"{function}(): data must have 2 dimensions, but got {list(data._tl_data.shape)}")
        return _run_layers(function, kind, data, _sizes_of(function, data, batch_sizes), states, weights, *options)
    if data._tl_data.ndim != 3:
        raise RuntimeError(f"{function}(): input must have 3 dimensions, but got {list(data._tl_data.shape)}")
    if batch_first:
        data = data.transpose(0, 1)
    length, batch = data._tl_data.shape[:2]
    if not length:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    output, *last = _run_layers(function, kind, data, [batch] * length, states, weights, *options)
    return (output.transpose(0, 1) if batch_first else output), *last


@composite(random=None)
def rnn_tanh(
    input: Tensor, hx: Tensor, params: Tensor | Sequence[Tensor], has_biases: bool | Sequence[Tensor],
    num_layers: int | bool, dropout: float, train: bool | float, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Run the recurrence h' = tanh(W x + b + V h + c) over sequences.

    `input` has the shape (steps, batch, features), or (batch, steps, features) with `batch_first`; `hx` has the shape
    (layers * directions, batch, hidden); `params` are, for each layer and direction, W, V and, with `has_biases`, b, c.
    Returns the states of the last layer after each step, and those of all layers after the last step. With `train`,
    `dropout` is the probability of zeros between layers. Raises RuntimeError for numbers, shapes or dtypes that do not
    match.

    The form for packed sequences takes, by position, (data, batch_sizes, hx, params, has_biases, num_layers, dropout,
    train, bidirectional): `data` are the rows of all steps, `batch_sizes` are the numbers of rows of the steps.

    >>> x, h, params = tl.ones(3, 1, 2), tl.zeros(1, 1, 1), [tl.ones(1, 2), tl.ones(1, 1)]
    >>> output, last = tl.rnn_tanh(x, h, params, False, 1, 0.0, False, False, False)
    >>> output.flatten()
    tensor([0.9640, 0.9947, 0.9950])
    """
    arguments = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _run("rnn_tanh", "rnn_tanh", arguments)


@composite(random=None)
def rnn_relu(
    input: Tensor, hx: Tensor, params: Tensor | Sequence[Tensor], has_biases: bool | Sequence[Tensor],
    num_layers: int | bool, dropout: float, train: bool | float, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Run the recurrence h' = max(0, W x + b + V h + c) over sequences; the arguments are those of `rnn_tanh`.

    >>> x, h, params = tl.ones(3, 1, 2), tl.zeros(1, 1, 1), [tl.ones(1, 2), tl.ones(1, 1)]
    >>> output, last = tl.rnn_relu(x, h, params, False, 1, 0.0, False, False, False)
    >>> output.flatten()
    tensor([2., 4., 6.])
    """
    arguments = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _run("rnn_relu", "rnn_relu", arguments)


@composite(random=None)
def gru(
    input: Tensor, hx: Tensor, params: Tensor | Sequence[Tensor], has_biases: bool | Sequence[Tensor],
    num_layers: int | bool, dropout: float, train: bool | float, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Run gated recurrent units over sequences; the arguments are those of `rnn_tanh`.

    The rows of the weights are those of the reset gate r, the update gate z and the new state n; h' = (1 - z) n + z h,
    where n = tanh(W x + b + r (V h + c)).

    >>> x, h, params = tl.ones(3, 1, 2), tl.zeros(1, 1, 1), [tl.ones(3, 2), tl.ones(3, 1)]
    >>> output, last = tl.gru(x, h, params, False, 1, 0.0, False, False, False)
    >>> output.flatten()
    tensor([0.1149, 0.2070, 0.2832])
    """
    arguments = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _run("gru", "gru", arguments)


@composite(random=None)
def lstm(
    input: Tensor, hx: Tensor | Sequence[Tensor], params: Tensor | Sequence[Tensor],
    has_biases: bool | Sequence[Tensor], num_layers: int | bool, dropout: float, train: bool | float,
    bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Run long short-term memory over sequences; the arguments are those of `rnn_tanh`, but for `hx`.

    `hx` are two tensors, the states h and c. The rows of the weights are those of the gates i, f, g, o; c' = f c + i g
    and h' = o tanh(c'). Where h is narrower than c, each layer has one more weight, which multiplies h'. Returns the
    output and the last h and c.

    >>> x, h, params = tl.ones(3, 1, 2), tl.zeros(1, 1, 1), [tl.ones(4, 2), tl.ones(4, 1)]
    >>> output, h, c = tl.lstm(x, (h, h), params, False, 1, 0.0, False, False, False)
    >>> output.flatten()
    tensor([0.6083, 0.8726, 0.9353])
    """
    arguments = (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _run("lstm", "lstm", arguments)


# --------------------------------------------------------------------------------------------------------- public cells


def _fitting(gates: int, arrays: Sequence[Any], states: int) -> bool:
    """Return whether the operands of a cell certainly match: a quick check that nearly always succeeds."""
    x, h, w_ih, w_hh = arrays[0], arrays[1].shape, arrays[1 + states], arrays[2 + states]
    if x.ndim != 2 or len(h) != 2 or arrays[states].shape != h or x.dtype.kind != "f":
        return False
    rows, dtype = gates * h[1], x.dtype
    return (
        h[0] == x.shape[0]
        and w_ih.shape == (rows, x.shape[1])
        and w_hh.shape == (rows, h[1])
        and all(a.dtype is dtype for a in arrays)
        and all(bias.shape == (rows,) for bias in arrays[3 + states :])
    )


def _check_cell(function: str, kind: str, names: Sequence[str], operands: Sequence[Any], states: int) -> None:
    """Raise for operands that do not match each other."""
    x, shape = operands[0]._tl_data, operands[1 + states]._tl_data.shape
    hidden = operands[2 + states]._tl_data.shape[-1]
    if x.ndim < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-1, 0], but got 1): {function}() takes an input of 2 "
            f"dimensions, not {x.ndim}"
        )
    if len(shape) != 2 or x.shape[1] != shape[1] or x.ndim != 2:
        raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {shape[-1]}")
    for number, state in enumerate(operands[1 : 1 + states]):
        found = state._tl_data.shape
        if len(found) != 2 or found[0] != x.shape[0]:
            size = found[0] if found else 0
            raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{number} batch size {size}")
        if found[1] != hidden:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {found[1]}, expected {hidden}")
    gates = GATES[kind]
    for name, operand in zip(names[1 + states :], operands[1 + states :]):
        if operand._tl_data.shape[:1] != (gates * hidden,):
            raise RuntimeError(
                f"{name.replace('w_', 'weight_').replace('b_', 'bias_')} first dim must be {gates} * hidden_size = "
                f"{gates * hidden}, but got {operand._tl_data.shape[0]}"
            )
    _check_dtypes(function, kind, operands, integers=kind.startswith("rnn"))


#: (how many states, whether there is b_ih, whether there is b_hh) -> the names of a cell's operands.
_CELL_NAMES = {
    (states, ih, hh): (
        "input", *_STATE_NAMES[:states], "w_ih", "w_hh", *(("b_ih",) if ih else ()), *(("b_hh",) if hh else ()),
    )
    for states in (1, 2) for ih in (False, True) for hh in (False, True)
}  # fmt: skip


def _run_cell(
    kind: str, input: Tensor, states: Sequence[Any], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> Any:  # fmt: skip
    function, count = f"{kind}_cell", len(states)
    operands = [input, *states, w_ih, w_hh, *(bias for bias in (b_ih, b_hh) if bias is not None)]
    names = _CELL_NAMES[count, b_ih is not None, b_hh is not None]
    for operand in operands:
        if not isinstance(operand, TensorBase):
            positions = {"input": 1, "w_ih": 3, "w_hh": 4, "b_ih": 5, "b_hh": 6}
            for name, value in zip(names, operands):
                require_tensor(function, value, name, positions.get(name, 2))
    if not _fitting(GATES[kind], [operand._tl_data for operand in operands], count):
        _check_cell(function, kind, names, operands, count)
    return _gated_cell(operands, kind, names)[2:] if kind in ("gru", "lstm") else (_rnn_cell(operands, kind, names),)


@composite(guard=False)
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """Return tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh): one step of `rnn_tanh`.

    `input` has the shape (batch, features), `hx` (batch, hidden). Raises RuntimeError for shapes or dtypes that do not
    match.

    >>> tl.rnn_tanh_cell(tl.ones(1, 2), tl.zeros(1, 1), tl.ones(1, 2), tl.ones(1, 1))
    tensor([[0.9640]])
    """
    return _run_cell("rnn_tanh", input, [require_tensor("rnn_tanh_cell", hx, "hx", 2)], w_ih, w_hh, b_ih, b_hh)[0]  # type: ignore[no-any-return]


@composite(guard=False)
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """Return max(0, input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh): one step of `rnn_relu`.

    `input` has the shape (batch, features), `hx` (batch, hidden). Raises RuntimeError for shapes or dtypes that do not
    match.

    >>> tl.rnn_relu_cell(tl.ones(1, 2), tl.zeros(1, 1), tl.ones(1, 2), tl.ones(1, 1))
    tensor([[2.]])
    """
    return _run_cell("rnn_relu", input, [require_tensor("rnn_relu_cell", hx, "hx", 2)], w_ih, w_hh, b_ih, b_hh)[0]  # type: ignore[no-any-return]


@composite(guard=False)
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """Return the state after one step of `gru`.

    `input` has the shape (batch, features), `hx` (batch, hidden). Raises RuntimeError for shapes or dtypes that do not
    match.

    >>> tl.gru_cell(tl.ones(1, 2), tl.zeros(1, 1), tl.ones(3, 2), tl.ones(3, 1))
    tensor([[0.1149]])
    """
    return _run_cell("gru", input, [require_tensor("gru_cell", hx, "hx", 2)], w_ih, w_hh, b_ih, b_hh)[0]  # type: ignore[no-any-return]


@composite(guard=False)
def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the states h and c after one step of `lstm`.

    `input` has the shape (batch, features), `hx` are the two states of the shape (batch, hidden). Raises RuntimeError
    for numbers, shapes or dtypes that do not match.

    >>> tl.lstm_cell(tl.ones(1, 2), (tl.zeros(1, 1), tl.zeros(1, 1)), tl.ones(4, 2), tl.ones(4, 1))
    (tensor([[0.6083]]), tensor([[0.8491]]))
    """
    states = _need_tensors("lstm_cell", "hx", 2, hx)
    if len(states) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, but got {len(states)}")
    return tuple(_run_cell("lstm", input, states, w_ih, w_hh, b_ih, b_hh))
