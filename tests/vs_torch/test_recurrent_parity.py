"""Recurrent networks, attention and transformers against PyTorch's, from the same weights."""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.nn.utils import rnn as our_rnn

their_rnn = torch.nn.utils.rnn
LIBRARIES = (tl, torch)


@pytest.fixture(autouse=True)
def differentiable_attention():
    """PyTorch's fused attention cannot be differentiated twice."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        yield


def random(seed, *shape, dtype="float64"):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)


def tensor(t, values, requires_grad=False):
    made = t.from_numpy(np.array(values))
    return made.requires_grad_() if requires_grad else made


def twins(make, dtype="float64"):
    """The same module in both libraries, with the weights of PyTorch's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = make(tl).to(getattr(tl, dtype)), make(torch).to(getattr(torch, dtype))
    ours.load_state_dict({key: tl.from_numpy(value.numpy().copy()) for key, value in theirs.state_dict().items()})
    return ours, theirs


def flat(value):
    if isinstance(value, (tl.Tensor, torch.Tensor)):
        return [value]
    return [part for item in value if item is not None for part in flat(item)]


def close(actual, expected, tolerance=1e-9):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected):
        assert repr(one.dtype).partition(".")[2] == repr(other.dtype).partition(".")[2]
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), tolerance, tolerance)


def numbers(*tensors):
    """A number that depends on all elements, each with another weight."""
    return sum((x * x.detach().cos()).sum() for x in tensors)


def gradients(t, results, inputs, *, second):
    known = [r for r in flat(results) if r.dtype.is_floating_point]
    first = t.autograd.grad(numbers(*known), inputs, create_graph=second, allow_unused=True)
    if not second:
        return [g for g in first if g is not None]
    found = [g for g in first if g is not None and g.requires_grad]
    again = t.autograd.grad(numbers(*found), inputs, allow_unused=True)
    return [*(g for g in first if g is not None), *(g for g in again if g is not None)]


def compare(make, call, *shapes, second=True, dtype="float64", tolerance=1e-8):
    """Results, gradients by inputs and parameters, and second gradients."""
    modules, found = twins(make, dtype), []
    for t, module in zip(LIBRARIES, modules):
        inputs = [tensor(t, random(i, *shape, dtype=dtype), True) for i, shape in enumerate(shapes)]
        results = call(t, module, *inputs)
        leaves = [*inputs, *module.parameters()]
        grads = gradients(t, results, leaves, second=False)
        if second:
            # By the differentiable formulas, and once more.
            grads += gradients(t, call(t, module, *inputs), leaves, second=True)
        found.append((flat(results), grads))
    close(found[0][0], found[1][0], tolerance)
    close(found[0][1], found[1][1], tolerance)


KINDS = {"RNN": {}, "RNN relu": {"nonlinearity": "relu"}, "GRU": {}, "LSTM": {}, "LSTM projected": {"proj_size": 2}}


def recurrent(kind, **options):
    name = kind.split()[0]
    return lambda t: getattr(t.nn, name)(3, 4, **KINDS[kind], **options)


OPTIONS = [
    {},
    {"num_layers": 2, "bias": False},
    {"num_layers": 2, "bidirectional": True},
    {"bidirectional": True, "batch_first": True},
]


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
class TestLayers:
    def test_batches(self, kind, options):
        compare(recurrent(kind, **options), lambda t, m, x: m(x), (5, 2, 3))

    def test_single_precision(self, kind, options):
        compare(
            recurrent(kind, **options), lambda t, m, x: m(x), (5, 2, 3), second=False, dtype="float32", tolerance=2e-4
        )

    def test_one_sequence_with_a_state(self, kind, options):
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        width = 2 if "projected" in kind else 4

        def call(t, module, x, h, c):
            return module(x, (h, c) if kind.startswith("LSTM") else h)

        compare(recurrent(kind, **options), call, (5, 3), (layers, width), (layers, 4), second=False)

    def test_packed_sequences(self, kind, options):
        layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        width = 2 if "projected" in kind else 4

        def call(t, module, x, h, c):
            rnn = t.nn.utils.rnn
            packed = rnn.pack_padded_sequence(x, t.tensor([2, 5, 1, 5]), enforce_sorted=False)
            output, last = module(packed, (h, c) if kind.startswith("LSTM") else h)
            padded, _ = rnn.pad_packed_sequence(output)
            return padded, last, output.data

        compare(recurrent(kind, **options), call, (5, 4, 3), (layers, 4, width), (layers, 4, 4))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells(name, bias):
    def call(t, module, x, h, c):
        state = (h, c) if name == "LSTMCell" else h
        for _ in range(3):
            state = module(x, state)
        alone = module(x[0])
        return state, alone

    compare(lambda t: getattr(t.nn, name)(3, 4, bias=bias), call, (2, 3), (2, 4), (2, 4))


def test_dropout_between_layers_is_for_training_alone():
    ours, theirs = twins(lambda t: t.nn.GRU(3, 4, 2, dropout=1.0))
    x = random(0, 5, 2, 3)
    close(flat(ours(tensor(tl, x))), flat(theirs(tensor(torch, x))))
    close(flat(ours.eval()(tensor(tl, x))), flat(theirs.eval()(tensor(torch, x))))


# ----------------------------------------------------------------------------------------------------------- attention

ATTENTION = {
    "plain": {},
    "without bias": {"bias": False},
    "other sizes": {"kdim": 3, "vdim": 5},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
    "batch first": {"batch_first": True},
}


def masks(t, name, turned):
    allowed = np.triu(np.ones((3, 3), bool), 1)
    padding = np.array([[False, False, True], [False, True, False]])
    return {
        "none": {},
        "boolean": {"attn_mask": tensor(t, allowed)},
        "heads": {"attn_mask": tensor(t, random(7, 4, 3, 3))},
        "padding": {"key_padding_mask": tensor(t, padding)},
        "both": {"attn_mask": tensor(t, allowed), "key_padding_mask": tensor(t, padding)},
        "causal": {"attn_mask": tensor(t, allowed), "is_causal": True},
    }[name]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("mask", ["none", "boolean", "heads", "padding", "both", "causal"])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name, mask, need_weights):
    options = ATTENTION[name]
    turned = "batch_first" in options

    def call(t, module, q, k, v):
        return module(q, k, v, need_weights=need_weights, average_attn_weights=mask == "none", **masks(t, mask, turned))

    batch = (2, 3) if turned else (3, 2)
    compare(
        lambda t: t.nn.MultiheadAttention(4, 2, **options),
        call,
        (*batch, 4),
        (*batch, options.get("kdim", 4)),
        (*batch, options.get("vdim", 4)),
        second=mask in ("none", "both"),
    )


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("shape", [(3, 2, 4), (3, 4)])
def test_attention_to_itself(shape, batch_first):
    def make(t):
        return t.nn.MultiheadAttention(4, 2, batch_first=batch_first)

    compare(make, lambda t, m, x: m(x, x, x), shape)
    compare(make, lambda t, m, x, y: m(x, y, y), shape, shape)


def test_a_causal_mask_must_be_given():
    for t in LIBRARIES:
        x = tensor(t, random(0, 3, 2, 4, dtype="float32"))
        with pytest.raises(RuntimeError, match="Need attn_mask"):
            t.nn.MultiheadAttention(4, 2)(x, x, x, is_causal=True)


# -------------------------------------------------------------------------------------------------------- transformers

LAYER = {"d_model": 4, "nhead": 2, "dim_feedforward": 6, "dropout": 0.0}


@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True}, {"activation": "gelu"}, {"bias": False}, {"batch_first": True}], ids=str
)
def test_transformer_layers(options):
    def encode(t, module, x):
        return module(x, t.nn.Transformer.generate_square_subsequent_mask(3, dtype=t.float64), is_causal=True)

    def decode(t, module, x, memory):
        padding = tensor(t, np.array([[False, False, True], [False, True, False]]))
        if options.get("batch_first"):
            x, memory = x[:2], memory[:2]
        return module(x, memory, memory_key_padding_mask=padding)

    compare(lambda t: t.nn.TransformerEncoderLayer(**LAYER, **options), encode, (3, 3, 4))
    second = (3, 3, 4) if options.get("batch_first") else (3, 2, 4)
    compare(lambda t: t.nn.TransformerDecoderLayer(**LAYER, **options), decode, second, second)


def test_a_transformer():
    def make(t):
        return t.nn.Transformer(4, 2, 2, 1, 6, dropout=0.0)

    def call(t, module, x, y):
        mask = module.generate_square_subsequent_mask(3, dtype=t.float64)
        return module(x, y, tgt_mask=mask, tgt_is_causal=True)

    compare(make, call, (5, 2, 4), (3, 2, 4))
    compare(make, lambda t, m, x, y: m(x, y), (5, 4), (3, 4))


# ----------------------------------------------------------------------------------------------- what modules look like

MODULES = {
    "RNN": lambda t: t.nn.RNN(2, 3),
    "RNN all": lambda t: t.nn.RNN(2, 3, 2, "relu", False, True, 0.5, True),
    "LSTM": lambda t: t.nn.LSTM(2, 3, num_layers=2, bidirectional=True),
    "LSTM projected": lambda t: t.nn.LSTM(2, 3, proj_size=2, dtype=t.float64),
    "GRU": lambda t: t.nn.GRU(2, 3, batch_first=True),
    "RNNBase": lambda t: t.nn.RNNBase("LSTM", 2, 3),
    "RNNCell": lambda t: t.nn.RNNCell(2, 3),
    "RNNCell relu": lambda t: t.nn.RNNCell(2, 3, False, "relu"),
    "LSTMCell": lambda t: t.nn.LSTMCell(2, 3),
    "GRUCell": lambda t: t.nn.GRUCell(2, 3, bias=False),
    "RNNCellBase": lambda t: t.nn.RNNCellBase(2, 3, True, 2),
    "MultiheadAttention": lambda t: t.nn.MultiheadAttention(4, 2),
    "MultiheadAttention all": lambda t: t.nn.MultiheadAttention(4, 2, 0.5, False, True, True, 3, 5, True),
    "TransformerEncoderLayer": lambda t: t.nn.TransformerEncoderLayer(4, 2, 8),
    "TransformerDecoderLayer": lambda t: t.nn.TransformerDecoderLayer(4, 2, 8, bias=False),
    "TransformerEncoder": lambda t: t.nn.TransformerEncoder(t.nn.TransformerEncoderLayer(4, 2, 8), 2),
    "TransformerDecoder": lambda t: t.nn.TransformerDecoder(t.nn.TransformerDecoderLayer(4, 2, 8), 2),
    "Transformer": lambda t: t.nn.Transformer(4, 2, 1, 1, 8),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", MODULES)
def test_modules_look_alike(name):
    ours, theirs = MODULES[name](tl), MODULES[name](torch)
    assert repr(ours) == repr(theirs)
    for members in ("state_dict", "named_parameters"):
        actual, expected = (dict(getattr(module, members)()) for module in (ours, theirs))
        assert list(actual) == list(expected)
        for key, value in expected.items():
            assert tuple(actual[key].shape) == tuple(value.shape)
            assert str(actual[key].dtype).partition(".")[2] == str(value.dtype).partition(".")[2]
    assert ours.state_dict()._metadata == theirs.state_dict()._metadata
    actual, public = (
        {key: value for key, value in vars(m).items() if not key.startswith("_") and key != "activation"}
        for m in (ours, theirs)
    )
    assert actual == public


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", sorted({name.split()[0] for name in MODULES} - {"RNN", "LSTM", "GRU"}))
def test_constructors_and_calls_take_the_same_arguments(name):
    def shown(function):
        found = []
        for p in inspect.signature(function).parameters.values():
            named = getattr(p.default, "__name__", p.default) if callable(p.default) else p.default
            found.append((p.name, p.kind, named))
        return found

    ours, theirs = getattr(tl.nn, name), getattr(torch.nn, name)
    assert shown(ours.__init__) == shown(theirs.__init__)
    if name not in ("RNNBase", "RNNCellBase"):
        assert shown(ours.forward) == shown(theirs.forward)


def spread(weight):
    values = weight.detach().numpy()
    return float(np.abs(values).max()), float(values.std())


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.nn.LSTM(40, 50),
        lambda t: t.nn.GRUCell(40, 50),
        lambda t: t.nn.MultiheadAttention(40, 2, add_bias_kv=True),
        lambda t: t.nn.MultiheadAttention(40, 2, kdim=60, vdim=30),
        lambda t: t.nn.Transformer(40, 2, 1, 1, 60),
    ],
)
def test_initial_values(make):
    tl.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = make(tl).state_dict(), make(torch).state_dict()
    for key, value in theirs.items():
        assert spread(ours[key]) == pytest.approx(spread(value), rel=0.5 if "bias" in key else 0.1), key


# ------------------------------------------------------------------------------------------------------ what is refused


def rand(t, *shape):
    return t.rand(*shape)


REFUSED = {
    "nonlinearity": lambda t: t.nn.RNN(2, 3, nonlinearity="x"),
    "cell nonlinearity": lambda t: t.nn.RNNCell(2, 3, nonlinearity="x")(rand(t, 1, 2)),
    "mode": lambda t: t.nn.RNNBase("X", 2, 3),
    "dropout": lambda t: t.nn.LSTM(2, 3, dropout=2),
    "hidden_size float": lambda t: t.nn.GRU(2, 3.0),
    "hidden_size 0": lambda t: t.nn.GRU(2, 0),
    "num_layers": lambda t: t.nn.GRU(2, 3, 0),
    "proj_size": lambda t: t.nn.LSTM(2, 3, proj_size=3),
    "proj_size negative": lambda t: t.nn.LSTM(2, 3, proj_size=-1),
    "input 1-D": lambda t: t.nn.RNN(2, 3)(rand(t, 2)),
    "input features": lambda t: t.nn.LSTM(2, 3)(rand(t, 2, 2, 5)),
    "input dtype": lambda t: t.nn.LSTM(2, 3)(rand(t, 2, 2, 2).double()),
    "state dimensions": lambda t: t.nn.GRU(2, 3)(rand(t, 4, 2), rand(t, 1, 2, 3)),
    "state size": lambda t: t.nn.GRU(2, 3)(rand(t, 4, 2, 2), rand(t, 1, 3, 3)),
    "states dimensions": lambda t: t.nn.LSTM(2, 3)(rand(t, 4, 2, 2), (rand(t, 1, 3), rand(t, 1, 3))),
    "cell state size": lambda t: t.nn.LSTM(2, 3)(rand(t, 4, 2, 2), (rand(t, 1, 2, 3), rand(t, 1, 2, 4))),
    "no steps": lambda t: t.nn.GRU(2, 3)(rand(t, 0, 2, 2)),
    "cell input": lambda t: t.nn.GRUCell(2, 3)(rand(t, 1, 2, 2)),
    "cell state": lambda t: t.nn.LSTMCell(2, 3)(rand(t, 4, 2), (rand(t, 1, 4, 3), rand(t, 4, 3))),
    "cell batch": lambda t: t.nn.RNNCell(2, 3)(rand(t, 4, 2), rand(t, 3, 3)),
    "cell function batch": lambda t: t.gru_cell(rand(t, 2, 3), rand(t, 3, 4), rand(t, 12, 3), rand(t, 12, 4)),
    "cell function features": lambda t: t.gru_cell(rand(t, 2, 5), rand(t, 2, 4), rand(t, 12, 3), rand(t, 12, 4)),
    "cell function hidden": lambda t: t.lstm_cell(rand(t, 2, 3), [rand(t, 2, 5)] * 2, rand(t, 16, 3), rand(t, 16, 4)),
    "cell function weights": lambda t: t.gru_cell(rand(t, 2, 3), rand(t, 2, 4), rand(t, 4, 3), rand(t, 12, 4)),
    "cell function 1-D": lambda t: t.gru_cell(rand(t, 3), rand(t, 4), rand(t, 12, 3), rand(t, 12, 4)),
    "cell function state": lambda t: t.lstm_cell(rand(t, 2, 3), None, rand(t, 12, 3), rand(t, 12, 4)),
    "function one state": lambda t: t.lstm(
        rand(t, 5, 2, 3), [rand(t, 1, 2, 4)], [rand(t, 16, 3), rand(t, 16, 4)], False, 1, 0.0, False, False, False
    ),
    "function weights": lambda t: t.gru(
        rand(t, 5, 2, 3), rand(t, 1, 2, 4), [rand(t, 12, 3)] * 3, False, 1, 0.0, False, False, False
    ),
    "function layers": lambda t: t.gru(
        rand(t, 5, 2, 3), rand(t, 2, 2, 4), [rand(t, 12, 3), rand(t, 12, 4)] * 2, False, 1, 0.0, False, False, False
    ),
    "function features": lambda t: t.gru(
        rand(t, 5, 2, 7), rand(t, 1, 2, 4), [rand(t, 12, 3), rand(t, 12, 4)], False, 1, 0.0, False, False, False
    ),
    "heads": lambda t: t.nn.MultiheadAttention(5, 2),
    "no heads": lambda t: t.nn.MultiheadAttention(0, 2),
    **{
        f"attention {name}": lambda t, shapes=shapes: t.nn.MultiheadAttention(4, 2)(*(rand(t, *s) for s in shapes))
        for name, shapes in {
            "features": [(3, 2, 5)] * 3,
            "dimensions": [(3, 2, 4), (3, 4), (3, 4)],
            "four dimensions": [(3, 2, 1, 4)] * 3,
            "lengths": [(3, 2, 4), (3, 2, 4), (4, 2, 4)],
        }.items()
    },
    **{
        f"attention mask {shape} {dtype}": lambda t, shape=shape, dtype=dtype: t.nn.MultiheadAttention(4, 2)(
            *[rand(t, 3, 2, 4)] * 3, attn_mask=t.zeros(shape, dtype=getattr(t, dtype))
        )
        for shape, dtype in [
            ((3, 4), "float32"),
            ((2, 3, 3), "float32"),
            ((1, 4, 3, 3), "float32"),
            ((3, 3), "int64"),
            ((3, 3), "float64"),
        ]
    },
    **{
        f"attention padding {shape} {dtype}": lambda t, shape=shape, dtype=dtype: t.nn.MultiheadAttention(4, 2)(
            *[rand(t, 3, 2, 4)] * 3, key_padding_mask=t.zeros(shape, dtype=getattr(t, dtype))
        )
        for shape, dtype in [((2, 4), "bool"), ((3,), "bool"), ((2, 3), "int64")]
    },
    "activation": lambda t: t.nn.TransformerEncoderLayer(4, 2, activation="x"),
    "transformer features": lambda t: t.nn.Transformer(4, 2, 1, 1, 8)(rand(t, 2, 3, 5), rand(t, 2, 3, 4)),
    "transformer batch": lambda t: t.nn.Transformer(4, 2, 1, 1, 8)(rand(t, 2, 3, 4), rand(t, 2, 2, 4)),
    "pack unsorted": lambda t: t.nn.utils.rnn.pack_padded_sequence(rand(t, 3, 2), [2, 3]),
    "pack nothing": lambda t: t.nn.utils.rnn.pack_padded_sequence(rand(t, 3, 2), [3, 0]),
    "pack lengths": lambda t: t.nn.utils.rnn.pack_padded_sequence(rand(t, 3, 2), [3]),
    "pack empty": lambda t: t.nn.utils.rnn.pack_padded_sequence(rand(t, 0, 2), [3, 2]),
    "pack 1-D": lambda t: t.nn.utils.rnn.pack_padded_sequence(rand(t, 3), [3]),
    "pack one": lambda t: t.nn.utils.rnn.PackedSequence(rand(t, 3)),
    "pad short": lambda t: t.nn.utils.rnn.pad_packed_sequence(
        t.nn.utils.rnn.pack_sequence([rand(t, 3)]), total_length=2
    ),
    "pad number": lambda t: t.nn.utils.rnn.pad_sequence(3),
    "pad none": lambda t: t.nn.utils.rnn.pad_sequence([]),
    "pad numbers": lambda t: t.nn.utils.rnn.pad_sequence([1, 2]),
    "pad shapes": lambda t: t.nn.utils.rnn.pad_sequence([rand(t, 2, 3), rand(t, 3, 4)]),
    "pad scalars": lambda t: t.nn.utils.rnn.pad_sequence([t.tensor(1.0)]),
    "pad side": lambda t: t.nn.utils.rnn.pad_sequence([rand(t, 3)], padding_side="x"),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 -- whatever it is
        REFUSED[name](torch)
    with pytest.raises(Exception) as ours:  # noqa: PT011 -- compared with PyTorch's
        REFUSED[name](tl)
    assert ours.type is theirs.type, ours.value
    assert len(str(ours.value)) > 12


# ------------------------------------------------------------------------------------------------------------ sequences


def sequences(t):
    return [t.arange(n * 2, dtype=t.float32).reshape(n, 2) + 10 * n for n in (2, 4, 1)]


SEQUENCES = {
    "pad": lambda t, r: r.pad_sequence(sequences(t), padding_value=-1),
    "pad batch first": lambda t, r: r.pad_sequence(sequences(t), True),
    "pad left": lambda t, r: r.pad_sequence(sequences(t), padding_side="left"),
    "pad a tensor": lambda t, r: r.pad_sequence(t.arange(6).reshape(2, 3)),
    "pad other dtypes": lambda t, r: r.pad_sequence([t.ones(2), t.ones(3).double()]),
    "unpad": lambda t, r: r.unpad_sequence(r.pad_sequence(sequences(t)), t.tensor([2, 4, 1])),
    "unpad batch first": lambda t, r: r.unpad_sequence(t.arange(6).reshape(2, 3), t.tensor([3, 1]), batch_first=True),
    "pack": lambda t, r: r.pack_sequence(sequences(t), enforce_sorted=False),
    "pack integers": lambda t, r: r.pack_padded_sequence(t.arange(6).reshape(3, 2), [3, 1]),
    "pack batch first": lambda t, r: r.pack_padded_sequence(t.arange(12).reshape(2, 3, 2), t.tensor([3, 2]), True),
    "pack float lengths": lambda t, r: r.pack_padded_sequence(t.arange(6).reshape(3, 2), t.tensor([3.0, 1.0])),
    "unpack": lambda t, r: r.unpack_sequence(r.pack_sequence(sequences(t), enforce_sorted=False)),
    "pad packed": lambda t, r: r.pad_packed_sequence(r.pack_sequence(sequences(t), False), True, -1.0, 6),
    "pad packed sorted": lambda t, r: r.pad_packed_sequence(r.pack_sequence([t.ones(3), t.ones(2)])),
    "invert": lambda t, r: r.invert_permutation(t.tensor([2, 0, 1])),
    "of two": lambda t, r: r.PackedSequence((t.ones(2), t.tensor([1, 1]))),
    "with an order": lambda t, r: r.PackedSequence(t.ones(2), t.tensor([2]), t.tensor([1, 0])),
    **{
        f"as {name}": lambda t, r, name=name: getattr(r.pack_sequence(sequences(t), False), name)()
        for name in ("double", "float", "half", "long", "int", "short", "char", "byte", "cpu")
    },
    "to": lambda t, r: r.pack_sequence(sequences(t), False).to(t.float64),
    "to itself": lambda t, r: [p.to(t.float32) is p and p.cpu() is p for p in [r.pack_sequence(sequences(t), False)]],
    "is_cuda": lambda t, r: r.pack_sequence(sequences(t), False).is_cuda,
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name):
    ours, theirs = SEQUENCES[name](tl, our_rnn), SEQUENCES[name](torch, their_rnn)
    assert repr(ours).replace("tensorlike", "torch") == repr(theirs)


def test_gradients_of_sequences():
    found = []
    for t in LIBRARIES:
        x = tensor(t, random(0, 4, 3, 2), True)
        packed = t.nn.utils.rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        padded, _ = t.nn.utils.rnn.pad_packed_sequence(packed, padding_value=2.0)
        parts = t.nn.utils.rnn.unpack_sequence(packed)
        again = t.nn.utils.rnn.pad_sequence(parts)
        found.append(gradients(t, [padded**2, again**3], [x], second=True))
    close(*found)


def test_a_deep_copy_computes_the_same():
    ours, _ = twins(lambda t: t.nn.LSTM(3, 4))
    x = tensor(tl, random(0, 5, 2, 3))
    close(flat(copy.deepcopy(ours)(x)), flat(ours(x)))
