"""Recurrent networks, attention and transformers: what samples of single functions cannot say."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.nn.utils import rnn

KINDS = {"RNN": {}, "RNN relu": {"nonlinearity": "relu"}, "GRU": {}, "LSTM": {}, "LSTM projected": {"proj_size": 2}}


def module(kind, *, seed=0, **options):
    tl.manual_seed(seed)
    return getattr(tl.nn, kind.split()[0])(3, 4, **KINDS[kind], **options).double()


def random(seed, *shape):
    return tl.from_numpy(np.random.default_rng(seed).uniform(-1, 1, shape))


def flat(value):
    return [value] if isinstance(value, tl.Tensor) else [part for item in value for part in flat(item)]


def assert_close(actual, expected, tolerance=1e-12):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), tolerance, tolerance)


# ------------------------------------------------------------------------------------------- against the definition


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def defined_step(kind, x, state, w_ih, w_hh, b_ih, b_hh, w_hr=None):
    """One step as textbooks have it."""
    h = state[0]
    if kind.startswith("RNN"):
        total = w_ih @ x + b_ih + w_hh @ h + b_hh
        return (np.maximum(total, 0) if "relu" in kind else np.tanh(total),)
    if kind == "GRU":
        (xr, xz, xn), (hr, hz, hn) = np.split(w_ih @ x + b_ih, 3), np.split(w_hh @ h + b_hh, 3)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        return ((1 - z) * np.tanh(xn + r * hn) + z * h,)
    i, f, g, o = np.split(w_ih @ x + b_ih + w_hh @ h + b_hh, 4)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (h if w_hr is None else w_hr @ h), c


@pytest.mark.parametrize("kind", KINDS)
def test_one_layer_is_what_its_definition_says(kind):
    net = module(kind)
    x = random(0, 6, 3)
    output, last = net(x)
    weights = [w.detach().numpy() for w in net.parameters()]
    state = (np.zeros(net.proj_size or 4), np.zeros(4))
    expected = []
    for row in x.numpy():
        state = defined_step(kind, row, state, *weights)
        expected.append(state[0])
    np.testing.assert_allclose(output.detach().numpy(), np.array(expected), 1e-12)
    for found, known in zip(flat(last), state):
        np.testing.assert_allclose(found.detach().numpy()[0], known, 1e-12)


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells_go_the_way_of_their_layer(name):
    net = module(name.removesuffix("Cell"))
    cell = getattr(tl.nn, name)(3, 4).double()
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in net.state_dict().items()})
    x, state = random(0, 5, 2, 3), None
    for row in x:
        state = cell(row, state)
    assert_close(flat(state), [last[0] for last in flat(net(x)[1])])


@pytest.mark.parametrize("kind", KINDS)
def test_packed_sequences_are_as_if_each_were_alone(kind):
    net = module(kind, num_layers=2, bidirectional=True)
    parts = [random(n, n, 3) for n in (2, 5, 1, 5)]
    output, last = net(rnn.pack_sequence(parts, enforce_sorted=False))
    for number, (part, found) in enumerate(zip(parts, rnn.unpack_sequence(output))):
        alone, alone_last = net(part)
        assert_close([found], [alone])
        assert_close([state[:, number] for state in flat(last)], flat(alone_last))


# ---------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_fused_gradients_are_those_by_operations(kind, options, packed):
    net = module(kind, **options)
    x = random(0, 5, 4, 3).requires_grad_()

    def results():
        given = rnn.pack_padded_sequence(x, [5, 4, 4, 1]) if packed else x
        output, last = net(given)
        return [output.data if packed else output, *flat(last)]

    outputs = results()
    weights = [random(i, *o.shape) for i, o in enumerate(outputs)]
    inputs = [x, *net.parameters()]
    fused = tl.autograd.grad(outputs, inputs, weights)
    by_operations = tl.autograd.grad(results(), inputs, weights, create_graph=True)
    assert not any(g.requires_grad for g in fused)
    assert any(g.requires_grad for g in by_operations)
    assert_close(fused, by_operations, 1e-10)


def test_operands_that_depend_on_each_other_are_told_apart():
    """The second way differentiates inside a formula: it must stop at the layer's own operands."""
    net = module("GRU")

    def loss(x):
        return (net(x, x[:1].repeat(1, 1, 2)[:, :, :4])[0] ** 2).sum()

    x = random(0, 5, 2, 3).requires_grad_()
    [fused] = tl.autograd.grad(loss(x), [x])
    [by_operations] = tl.autograd.grad(loss(x), [x], create_graph=True)
    assert_close([fused], [by_operations])
    assert tl.autograd.gradcheck(loss, [x])
    assert tl.autograd.gradgradcheck(loss, [x])


def test_gradients_of_some_results_and_operands_alone():
    net = module("LSTM")
    x = random(0, 5, 2, 3).requires_grad_()
    _, (h, c) = net(x)
    [of_cell] = tl.autograd.grad(c.sum(), [x], retain_graph=True)
    [of_both] = tl.autograd.grad(c.sum() + 0 * h.sum(), [x])
    assert_close([of_cell], [of_both])
    net.requires_grad_(False)
    net(x)[0].sum().backward()
    assert x.grad is not None
    assert net.weight_ih_l0.grad is None


def test_the_graph_is_freed_and_results_may_be_overwritten():
    net = module("LSTM")
    output, _ = net(random(0, 5, 2, 3))
    output.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        output.sum().backward()
    x, gradients = random(0, 5, 2, 3), []
    for factor in (1, 2):
        output, (hidden, cell) = net(x)
        for result in (output, hidden, cell):
            result.mul_(factor)
        gradients.append(tl.autograd.grad([output.sum() + hidden.sum() * cell.sum() / factor], list(net.parameters())))
    assert_close([g / 2 for g in gradients[1]], list(gradients[0]), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision(kind):
    net = module(kind, num_layers=2)
    x = random(0, 5, 2, 3)
    expected = flat(net(x))
    result = flat(net.half()(x.half()))
    assert all(r.dtype is tl.float16 for r in result)
    assert_close([r.double() for r in result], expected, 1e-2)
    result[0].sum().backward()
    assert all(p.grad.dtype is tl.float16 for p in net.parameters())


def test_an_empty_batch():
    for kind in KINDS:
        net = module(kind)
        output, _ = net(tl.zeros(5, 0, 3, dtype=tl.float64))
        assert output.shape[:2] == (5, 0)
        output.sum().backward()
        assert not net.weight_ih_l0.grad.any()


def test_dropout_between_layers_is_drawn_anew():
    net = module("GRU", num_layers=2, dropout=0.5)
    x = random(0, 5, 2, 3)
    assert not tl.equal(net(x)[0], net(x)[0])
    net.eval()
    assert tl.equal(net(x)[0], net(x)[0])


# ---------------------------------------------------------------------------------------------------- forms and modules


def test_both_forms_of_a_function_give_the_same():
    params = list(module("GRU").parameters())
    x, h = random(0, 5, 2, 3), random(1, 1, 2, 4)
    output, last = tl.gru(x, h, params, True, 1, 0.0, False, False, False)
    data, packed_last = tl.gru(x.reshape(10, 3), tl.tensor([2] * 5), h, params, True, 1, 0.0, False, False)
    assert_close([data.reshape(5, 2, 4), packed_last], [output, last])
    output, last = tl.gru(
        input=x, hx=h, params=params, has_biases=True, num_layers=1, dropout=0.0, train=False, bidirectional=False,
        batch_first=False,
    )  # fmt: skip
    assert_close([packed_last], [last])


def test_types_are_asked_about_the_functions_that_modules_call():
    seen = []

    class Noting(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    x = random(0, 5, 2, 3).as_subclass(Noting)
    module("LSTM")(x)
    assert tl.lstm in seen
    tl.nn.GRUCell(3, 4).double()(x[0])
    assert tl.gru_cell in seen
    y = random(0, 5, 2, 4).as_subclass(Noting)
    tl.nn.TransformerEncoderLayer(4, 2, 6).double()(y)
    assert tl.nn.functional.multi_head_attention_forward in seen


def test_state_dicts_copies_and_pickles():
    for make in (
        lambda: tl.nn.LSTM(3, 4, 2, bidirectional=True),
        lambda: tl.nn.TransformerEncoderLayer(3, 1, 4, dropout=0.0),
    ):
        one, other = make(), make()
        x = random(0, 5, 2, 3).float()
        other.load_state_dict(one.state_dict())
        assert_close(flat(other(x)), flat(one(x)))
        assert_close(flat(copy.deepcopy(one)(x)), flat(one(x)))
    net = module("GRU")
    assert repr(pickle.loads(pickle.dumps(net))) == repr(net)
    packed = rnn.pack_sequence([tl.ones(3), tl.ones(2)])
    assert_close(flat(pickle.loads(pickle.dumps(packed))[:2]), flat(packed[:2]))


def test_weights_by_layer():
    net = tl.nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)
    assert [len(part) for part in net.all_weights] == [5] * 4
    assert net.all_weights[1][0] is net.weight_ih_l0_reverse
    net.flatten_parameters()


WRONG = {
    "batch_sizes that grow": (RuntimeError, "must not increase", (6, 3), tl.tensor([1, 2, 3])),
    "batch_sizes that are too few": (RuntimeError, "add up to 5", (6, 3), tl.tensor([3, 2])),
    "batch_sizes of int32": (RuntimeError, "expected scalar type Long", (6, 3), tl.tensor([3, 3], dtype=tl.int32)),
    "no batch_sizes": (RuntimeError, "larger than 0", (0, 3), tl.zeros(0, dtype=tl.int64)),
    "data of three dimensions": (RuntimeError, "2 dimensions", (2, 3, 3), tl.tensor([3, 3])),
}


@pytest.mark.parametrize("name", WRONG)
def test_packed_arguments_that_do_not_fit(name):
    error, words, shape, batch_sizes = WRONG[name]
    params = [tl.ones(12, 3), tl.ones(12, 4)]
    with pytest.raises(error, match=words):
        tl.gru(tl.ones(*shape), batch_sizes, tl.zeros(1, 3, 4), params, False, 1, 0.0, False, False)


def test_options_of_a_wrong_type():
    x, h, params = tl.ones(5, 2, 3), tl.zeros(1, 2, 4), [tl.ones(12, 3), tl.ones(12, 4)]
    with pytest.raises(TypeError, match=r"'num_layers' \(position 5\) must be int, not bool"):
        tl.gru(x, h, params, False, True, 0.0, False, False, False)
    with pytest.raises(TypeError, match="'params'.*must be tuple of Tensors"):
        tl.gru(x, h, 3, False, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="expected hx to have the size"):
        tl.gru(x, tl.zeros(1, 3, 4), params, False, 1, 0.0, False, False, False)
    with pytest.raises(RuntimeError, match="3 dimensions"):
        tl.gru(tl.ones(5, 3), h, params, False, 1, 0.0, False, False, False)
    with pytest.raises(TypeError, match="tuple of two tensors"):
        tl.nn.LSTM(3, 4)(x, h)


def test_lengths_beyond_the_input():
    with pytest.raises(RuntimeError, match="the input has 3 steps, but a sequence has 4"):
        rnn.pack_padded_sequence(tl.ones(3, 2), [4, 2])


# ------------------------------------------------------------------------------------------ attention and transformers


@pytest.mark.parametrize("need_weights", [True, False])
def test_attention_is_the_same_for_one_tensor_and_for_equal_ones(need_weights):
    """One tensor is projected by one product."""
    attention = tl.nn.MultiheadAttention(4, 2).double()
    x, y = random(0, 3, 2, 4), random(1, 5, 2, 4)
    for arguments in ((x, x, x), (x, y, y)):
        apart = [a.clone() for a in arguments]
        one, weights = attention(*arguments, need_weights=need_weights)
        other, known = attention(*apart)
        assert_close([one], [other])
        assert weights is None if not need_weights else tl.allclose(weights, known)


def test_attention_turned():
    attention = tl.nn.MultiheadAttention(4, 2).double()
    turned = tl.nn.MultiheadAttention(4, 2, batch_first=True).double()
    turned.load_state_dict(attention.state_dict())
    x = random(0, 3, 2, 4)
    (one, weights), (other, same) = attention(x, x, x), turned(*[x.transpose(0, 1)] * 3)
    assert_close([one, weights], [other.transpose(0, 1), same])


def test_mismatched_masks_warn():
    x = tl.ones(3, 2, 4)
    with pytest.warns(UserWarning, match="mismatched key_padding_mask"):
        tl.nn.MultiheadAttention(4, 2)(
            x, x, x, attn_mask=tl.zeros(3, 3), key_padding_mask=tl.zeros(2, 3, dtype=tl.bool)
        )


def test_a_transformer_learns_to_copy():
    tl.manual_seed(0)
    model = tl.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    optimizer = tl.optim.Adam(model.parameters(), lr=0.01)
    source = tl.from_numpy(np.random.default_rng(0).standard_normal((4, 5, 8)).astype(np.float32))
    mask = model.generate_square_subsequent_mask(5)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = tl.nn.functional.mse_loss(model(source, source, tgt_mask=mask, tgt_is_causal=True), source)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_layers_of_a_transformer_have_weights_of_their_own():
    encoder = tl.nn.TransformerEncoder(tl.nn.TransformerEncoderLayer(4, 2, 6), 2, tl.nn.LayerNorm(4))
    one, other = encoder.layers
    assert one.linear1.weight is not other.linear1.weight
    assert tl.equal(one.linear1.weight, other.linear1.weight)
    assert encoder(tl.ones(3, 1, 4)).shape == (3, 1, 4)
