"""Recurrent layers and cells."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from tensorlike._originals import tl
from tensorlike.nn import init
from tensorlike.nn.utils.rnn import PackedSequence
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter

from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

#: mode -> function, and its number of gates.
_MODES = {"LSTM": ("lstm", 4), "GRU": ("gru", 3), "RNN_TANH": ("rnn_tanh", 1), "RNN_RELU": ("rnn_relu", 1)}


def _non_default(module: Module, **defaults: Any) -> str:
    """Return the attributes that differ from their defaults, as text of constructor arguments."""
    found = ((name, getattr(module, name)) for name, default in defaults.items() if getattr(module, name) != default)
    return "".join(f", {name}={value}" for name, value in found)


def _reset(module: Module) -> None:
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


def _permuted(state: Tensor, permutation: Tensor | None) -> Tensor:
    return state if permutation is None else state.index_select(1, permutation)


class RNNBase(Module):
    """Base class of recurrent layers: their arguments, parameters, checks and text.

    `mode` is "LSTM", "GRU", "RNN_TANH" or "RNN_RELU". The parameters of layer k are `weight_ih_l[k]`, `weight_hh_l[k]`,
    with `bias` `bias_ih_l[k]` and `bias_hh_l[k]`, with `proj_size` `weight_hr_l[k]`, each once more with `_reverse`
    when `bidirectional`: all uniform within 1/√hidden_size at first.

    >>> [name for name, _ in tl.nn.RNNBase("GRU", 2, 3, bias=False).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0']
    """

    _flat_weights_names: list[str]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        probability: Any = dropout
        if isinstance(probability, bool) or not isinstance(probability, numbers.Number) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
                f"but got {dropout!r}"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError(f"hidden_size must be greater than zero, but got {hidden_size}")
        if num_layers <= 0:
            raise ValueError(f"num_layers must be greater than zero, but got {num_layers}")
        if proj_size < 0:
            raise ValueError(f"proj_size should be a positive integer or zero to disable projections: {proj_size}")
        if proj_size >= hidden_size:
            raise ValueError(f"proj_size has to be smaller than hidden_size, but got {proj_size} and {hidden_size}")
        if mode not in _MODES:
            raise ValueError(f"Unrecognized RNN mode: {mode}; use one of {', '.join(_MODES)}")
        rows = _MODES[mode][1] * hidden_size
        width = proj_size or hidden_size
        self._flat_weights_names = []
        #: The names for each layer and direction, which PyTorch's class asks a pickle for.
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                columns = width * directions if layer else input_size
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, width)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for full_name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, full_name, Parameter(tl.empty(shape, device=device, dtype=dtype)))
                    self._flat_weights_names.append(full_name)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        _reset(self)

    def _named_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def _flat_weights(self) -> list[Any]:
        weights, given = self._named_weights(), self.__dict__.get("_given_flat_weights")
        if given is None:
            return weights
        # As PyTorch's, a list that was set counts until one of the weights is another object.
        found, before = given
        if all(old is new for old, new in zip(before, weights)):
            return found  # type: ignore[no-any-return]
        del self.__dict__["_given_flat_weights"]
        return weights

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        self.__dict__["_given_flat_weights"] = weights, self._named_weights()

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        self.__dict__.pop("_given_flat_weights", None)
        return super()._apply(fn, recurse)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list for each layer and direction.

        >>> [[tuple(w.shape) for w in layer] for layer in tl.nn.RNN(2, 3).all_weights]
        [[(3, 2), (3, 3), (3,), (3,)]]
        """
        weights: Any = self._flat_weights
        count = len(weights) // (self.num_layers * (2 if self.bidirectional else 1))
        return [weights[start : start + count] for start in range(0, len(weights), count)]

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch's class asks a pickle for its list.
        state = {name: value for name, value in vars(self).items() if name != "_given_flat_weights"}
        return state | {"_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if name != "_flat_weights"})

    def flatten_parameters(self) -> None:
        """Do nothing: no other layout of the parameters would be faster here."""

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + _non_default(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False
        )

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise ValueError or RuntimeError unless `input` matches the weights."""
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the state for `input`."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.shape[0] if self.batch_first else input.shape[1]
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, ...], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError unless `hx` has the shape `expected_hidden_size`."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise ValueError or RuntimeError unless the arguments match each other and the weights."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the state with the sequences of the batch in the order `permutation`."""
        return _permuted(hx, permutation)

    def _states(self, hx: Any) -> tuple[Tensor, ...]:
        return (hx,)

    def _check_dimensions(self, hx: Tensor, batched: bool) -> None:
        if hx.dim() != (3 if batched else 2):
            words = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {words} input, hx should also be {3 if batched else 2}-D but got {hx.dim()}-D tensor"
            )

    def _zeros(self, input: Tensor, batch: int) -> Any:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return tl.zeros(layers, batch, self.proj_size or self.hidden_size, dtype=input.dtype, device=input.device)

    def _run(self, input: Any, hx: Any) -> tuple[Any, Any]:
        """Run the layers; the state is one tensor, or two."""
        function = getattr(tl, _MODES[self.mode][0])
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                hx = self._zeros(data, int(batch_sizes[0]))
            else:
                hx = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, hx, batch_sizes)
            output, *last = function(data, batch_sizes, hx, self._flat_weights, *options)
            packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed, self.permute_hidden(self._joined(last), unsorted_indices)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead"
            )
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._zeros(input, input.shape[batch_dim])
        else:
            self._check_dimensions(hx, batched)
            if not batched:
                hx = self._joined([state.unsqueeze(1) for state in self._states(hx)])
        self.check_forward_args(input, hx, None)
        output, *last = function(input, hx, self._flat_weights, *options, self.batch_first)
        if not batched:
            output, last = output.squeeze(batch_dim), [state.squeeze(1) for state in last]
        return output, self._joined(last)

    def _joined(self, states: Any) -> Any:
        return states[0]


class RNN(RNNBase):
    """Elman network: h' = tanh(W x + b + V h + c), in several layers; max(0, ·) with `nonlinearity="relu"`.

    The input has the shape (steps, batch, input_size), or (batch, steps, input_size) with `batch_first`, or without
    the batch, or is a PackedSequence. Returns the states of the last layer after each step, in the same form, and those
    of all layers after the last step. `dropout` is the probability of zeros between layers in training. See `RNNBase`
    for the parameters.

    >>> output, h = tl.nn.RNN(2, 3, num_layers=2)(tl.ones(5, 1, 2))
    >>> output.shape, h.shape
    (tensorlike.Size([5, 1, 3]), tensorlike.Size([2, 1, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'.")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor | PackedSequence, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class GRU(RNNBase):
    """Gated recurrent units in several layers; input, results and `dropout` are those of `RNN`.

    The rows of the weights are those of the reset gate r, the update gate z and the new state n; h' = (1 - z) n + z h,
    where n = tanh(W x + b + r (V h + c)).

    >>> output, h = tl.nn.GRU(2, 3, bidirectional=True)(tl.ones(5, 1, 2))
    >>> output.shape, h.shape
    (tensorlike.Size([5, 1, 6]), tensorlike.Size([2, 1, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    def forward(self, input: Tensor | PackedSequence, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        return self._run(input, hx)


class LSTM(RNNBase):
    """Long short-term memory in several layers; input, output and `dropout` are those of `RNN`.

    The state is (h, c). The rows of the weights are those of the gates i, f, g, o; c' = f c + i g and h' = o tanh(c').
    With `proj_size`, smaller than `hidden_size`, h' is projected to that size by one more weight.

    >>> output, (h, c) = tl.nn.LSTM(2, 3, proj_size=1)(tl.ones(5, 1, 2))
    >>> output.shape, h.shape, c.shape
    (tensorlike.Size([5, 1, 1]), tensorlike.Size([1, 1, 1]), tensorlike.Size([1, 1, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        return self._run(input, hx)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the cell state for `input`."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise ValueError or RuntimeError unless the arguments match each other and the weights."""
        self.check_input(input, batch_sizes)
        h, c = self._states(hidden)
        expected = self.get_expected_hidden_size(input, batch_sizes)
        self.check_hidden_size(h, expected, "Expected hidden[0] size {}, got {}")
        expected = self.get_expected_cell_size(input, batch_sizes)
        self.check_hidden_size(c, expected, "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the states with the sequences of the batch in the order `permutation`."""
        h, c = self._states(hx)
        return _permuted(h, permutation), _permuted(c, permutation)

    def _states(self, hx: Any) -> tuple[Tensor, ...]:
        if not isinstance(hx, (tuple, list)) or len(hx) != 2:
            raise TypeError(f"LSTM: Expected hx to be a tuple of two tensors (h, c), but got {type(hx).__name__}")
        return tuple(hx)

    def _check_dimensions(self, hx: Tensor, batched: bool) -> None:
        h, c = self._states(hx)
        dimensions = 3 if batched else 2
        if h.dim() != dimensions or c.dim() != dimensions:
            words = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {words} input, hx and cx should also be {dimensions}-D but got ({h.dim()}-D, {c.dim()}-D) tensors"
            )

    def _zeros(self, input: Tensor, batch: int) -> Any:
        h = super()._zeros(input, batch)
        return h, tl.zeros(h.shape[0], batch, self.hidden_size, dtype=input.dtype, device=input.device)

    def _joined(self, states: Any) -> Any:
        return tuple(states)


class RNNCellBase(Module):
    """Base class of cells: their parameters, for `num_chunks` gates, initially uniform within 1/√hidden_size.

    >>> tl.nn.RNNCellBase(2, 3, bias=False, num_chunks=4).weight_ih.shape
    tensorlike.Size([12, 2])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(tl.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(tl.empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(tl.empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(tl.empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        _reset(self)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}" + _non_default(self, bias=True)
        return text + (_non_default(self, nonlinearity="tanh") if hasattr(self, "nonlinearity") else "")

    def _check(self, name: str, value: Tensor) -> None:
        if value.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {value.dim()}D instead"
            )

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _step(self, function: Callable[..., Any], input: Tensor, hx: Tensor | None) -> Tensor:
        """Return the state after a step of `function`, for one state."""
        self._check("input", input)
        if hx is not None:
            self._check("hidden", hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = tl.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        result: Tensor = function(input, hx, *self._weights())
        return result if batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """One step h' = tanh(W x + b + V h + c); max(0, ·) with `nonlinearity="relu"`.

    The input has the shape (batch, input_size) or (input_size,), the state (batch, hidden_size) or (hidden_size,); it
    is zero unless given.

    >>> tl.nn.RNNCell(2, 3)(tl.ones(5, 2)).shape
    tensorlike.Size([5, 3])
    """

    _functions: ClassVar[dict[str, str]] = {"tanh": "rnn_tanh_cell", "relu": "rnn_relu_cell"}

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in self._functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; use 'tanh' or 'relu'")
        return self._step(getattr(tl, self._functions[self.nonlinearity]), input, hx)


class GRUCell(RNNCellBase):
    """One step of `GRU`; input and state are those of `RNNCell`.

    >>> tl.nn.GRUCell(2, 3)(tl.ones(5, 2)).shape
    tensorlike.Size([5, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(tl.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: the state is (h, c), each of the shape of `RNNCell`'s.

    >>> h, c = tl.nn.LSTMCell(2, 3)(tl.ones(5, 2))
    >>> h.shape, c.shape
    (tensorlike.Size([5, 3]), tensorlike.Size([5, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        self._check("input", input)
        batched = input.dim() == 2
        if hx is not None:
            for index, state in enumerate(hx):
                self._check(f"hx[{index}]", state)
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = tl.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        elif not batched:
            hx = (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        h, c = tl.lstm_cell(input, hx, *self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))
