"""Transformers: layers of attention and of two linear maps, with residual connections."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

import tensorlike.nn.functional as F
from tensorlike._originals import tl
from tensorlike.nn import init
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype

from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _activation_of(activation: object) -> Any:
    """Return the function named by an `activation` argument."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    #: Whether there is a second attention, as in decoders, with its own norm and dropout.
    _attends_to_memory: ClassVar[bool]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}

        def attention() -> MultiheadAttention:
            return MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)

        self.self_attn = attention()
        if self._attends_to_memory:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = norm()
        self.norm2 = norm()
        if self._attends_to_memory:
            self.norm3 = norm()
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if self._attends_to_memory:
            self.dropout3 = Dropout(dropout)
        self._take_activation(_activation_of(activation))

    def _take_activation(self, activation: Any) -> None:
        self.activation = activation

    def _attended(
        self, attention: Module, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, causal: bool
    ) -> Any:
        return attention(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=causal
        )[0]

    def _mapped(self, x: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Encoder layer: self-attention, then two linear maps, each with dropout, a residual connection and a norm.

    `src` has the shape (S, N, d_model), or (N, S, d_model) with `batch_first`, or is without the batch N; the result
    has the same. The masks are those of `MultiheadAttention`. `activation` is "relu", "gelu" or a function; with
    `norm_first` the norms come before attention and linear maps.

    >>> tl.nn.TransformerEncoderLayer(d_model=4, nhead=2, dim_feedforward=8)(tl.ones(3, 1, 4)).shape
    tensorlike.Size([3, 1, 4])
    """

    _attends_to_memory = False

    def _take_activation(self, activation: Any) -> None:
        relu = activation is F.relu or isinstance(activation, ReLU)
        gelu = activation is F.gelu or isinstance(activation, GELU)
        self.activation_relu_or_gelu = 1 if relu else 2 if gelu else 0
        super()._take_activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        own = (src_mask, src_key_padding_mask, is_causal)
        x: Tensor = src
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attended(self.self_attn, y, y, *own))
            x = x + self.dropout2(self._mapped(self.norm2(x)))
            return x
        x = self.norm1(x + self.dropout1(self._attended(self.self_attn, x, x, *own)))
        result: Tensor = self.norm2(x + self.dropout2(self._mapped(x)))
        return result


class TransformerDecoderLayer(_Layer):
    """Decoder layer: self-attention, attention to `memory`, two linear maps: as in `TransformerEncoderLayer`.

    `tgt` has the shape (T, N, d_model) and `memory` (S, N, d_model), N first with `batch_first`, or both are without
    it; the result has that of `tgt`.

    >>> layer = tl.nn.TransformerDecoderLayer(d_model=4, nhead=2, dim_feedforward=8)
    >>> layer(tl.ones(3, 1, 4), tl.ones(5, 1, 4)).shape
    tensorlike.Size([3, 1, 4])
    """

    _attends_to_memory = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x: Tensor = tgt
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self._attended(self.self_attn, y, y, *own))
            x = x + self.dropout2(self._attended(self.multihead_attn, self.norm2(x), memory, *other))
            x = x + self.dropout3(self._mapped(self.norm3(x)))
            return x
        x = self.norm1(x + self.dropout1(self._attended(self.self_attn, x, x, *own)))
        x = self.norm2(x + self.dropout2(self._attended(self.multihead_attn, x, memory, *other)))
        result: Tensor = self.norm3(x + self.dropout3(self._mapped(x)))
        return result


class TransformerEncoder(Module):
    """Transformer encoder: `num_layers` copies of a layer, one after the other, and a norm if given.

    There are no nested tensors here: `enable_nested_tensor` and `mask_check` make no difference.

    >>> layer = tl.nn.TransformerEncoderLayer(d_model=4, nhead=2, dim_feedforward=8)
    >>> tl.nn.TransformerEncoder(layer, num_layers=2)(tl.ones(3, 1, 4)).shape
    tensorlike.Size([3, 1, 4])
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        result = src
        for layer in self.layers:
            result = layer(
                result, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask
            )
        return result if self.norm is None else self.norm(result)


class TransformerDecoder(Module):
    """Transformer decoder: `num_layers` copies of a layer, one after the other, and a norm if given.

    >>> layer = tl.nn.TransformerDecoderLayer(d_model=4, nhead=2, dim_feedforward=8)
    >>> tl.nn.TransformerDecoder(layer, num_layers=2)(tl.ones(3, 1, 4), tl.ones(5, 1, 4)).shape
    tensorlike.Size([3, 1, 4])
    """

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        result = tgt
        for layer in self.layers:
            result = layer(
                result,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return result if self.norm is None else self.norm(result)


class Transformer(Module):
    """Transformer: an encoder of the sequence `src`, and a decoder of `tgt` that attends to the encoder's output.

    `src` has the shape (S, N, d_model) and `tgt` (T, N, d_model), N first with `batch_first`, or both are without it;
    the result has that of `tgt`. Raises RuntimeError for sizes that do not match. See `TransformerEncoderLayer` for the
    arguments.

    >>> model = tl.nn.Transformer(4, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=8)
    >>> model(tl.ones(5, 1, 4), tl.ones(3, 1, 4)).shape
    tensorlike.Size([3, 1, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        options: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options, **place), num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options, **place), num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and tgt.dim() == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError(
                "the batch number of src and tgt must be equal, but got "
                f"{src.shape[batch_dim]} and {tgt.shape[batch_dim]}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, {self.d_model}, but got "
                f"{src.shape[-1]} and {tgt.shape[-1]}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | str | None = None, dtype: Dtype | None = None
    ) -> Tensor:
        """Return the mask (sz, sz) that lets each step attend to itself and those before: 0 there, -inf elsewhere.

        >>> tl.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return tl.full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)
