"""Layers, the values their parameters start with, and the helpers around parameters."""

import math

import numpy as np
import pytest

import tensorlike as tl
from tensorlike import nn
from tensorlike.nn import init
from tensorlike.nn.utils import clip_grad_norm_, clip_grad_value_, parameters_to_vector, vector_to_parameters


def close(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


class TestLayers:
    def test_linear(self):
        layer = nn.Linear(4, 3)
        x = tl.randn(5, 2, 4)
        close(layer(x), x.numpy() @ layer.weight.detach().numpy().T + layer.bias.detach().numpy(), 1e-5)
        assert bool((layer.weight.abs() <= 0.5).all())
        assert bool((layer.bias.abs() <= 0.5).all())
        assert nn.Linear(4, 3, bias=False).bias is None
        assert nn.Linear(4, 3, dtype=tl.float64).weight.dtype == tl.float64

    # Even kernels need one more element on one side.
    @pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
    @pytest.mark.parametrize("kernel, dilation", [(3, 1), (4, 1), (3, 2)])
    def test_same_padding_keeps_the_length(self, kernel, dilation):
        assert tuple(nn.Conv1d(2, 4, kernel, padding="same", dilation=dilation)(tl.ones(1, 2, 9)).shape) == (1, 4, 9)
        layer = nn.Conv2d(2, 4, kernel, padding="same", dilation=dilation, padding_mode="circular")
        assert tuple(layer(tl.ones(1, 2, 9, 8)).shape) == (1, 4, 9, 8)

    @pytest.mark.parametrize(
        "mode, pad", [("zeros", "constant"), ("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
    )
    def test_padding_modes(self, mode, pad):
        layer = nn.Conv1d(1, 1, 3, padding=2, padding_mode=mode, bias=False)
        x = np.arange(5, dtype=np.float32)
        padded = np.pad(x, 2, mode=pad)
        kernel = layer.weight.detach().numpy()[0, 0]
        close(layer(tl.tensor(x.tolist()).reshape(1, 1, 5))[0, 0], np.convolve(padded, kernel[::-1], "valid"), 1e-5)

    def test_grouped_convolution_has_smaller_weights(self):
        layer = nn.Conv2d(4, 6, (3, 2), groups=2)
        assert tuple(layer.weight.shape) == (6, 2, 3, 2)
        bound = 1 / math.sqrt(2 * 3 * 2)
        assert bool((layer.weight.abs() <= bound).all())
        assert bool((layer.bias.abs() <= bound).all())

    @pytest.mark.parametrize(
        "arguments, text",
        [
            ({"groups": 0}, "groups must be a positive integer"),
            ({"groups": 3}, "in_channels must be divisible by groups"),
            ({"padding": "foo"}, "Invalid padding string 'foo', should be one of"),
            ({"padding": "same", "stride": 2}, "padding='same' is not supported for strided convolutions"),
            ({"padding_mode": "x"}, "padding_mode must be one of .*, but got padding_mode='x'"),
        ],
    )
    def test_convolution_arguments(self, arguments, text):
        with pytest.raises(ValueError, match=text):
            nn.Conv1d(4, 6, 3, **arguments)

    def test_pooling(self):
        x = tl.tensor([[[1.0, 5.0, 2.0, 4.0, 3.0]]])
        close(nn.MaxPool1d(2)(x), [[[5, 4]]])
        close(nn.MaxPool1d(2, ceil_mode=True)(x), [[[5, 4, 3]]])
        close(nn.AvgPool1d(2, stride=1, padding=1, count_include_pad=False)(x), [[[1, 3, 3.5, 3, 3.5, 3]]])
        close(nn.AdaptiveAvgPool1d(1)(x), [[[3]]])
        values, indices = nn.MaxPool2d((1, 2), return_indices=True)(x[None])
        close(values, [[[[5, 4]]]])
        assert indices.tolist() == [[[[1, 3]]]]
        close(nn.AvgPool2d((1, 2), divisor_override=4)(x[None]), [[[[1.5, 1.5]]]])
        assert tuple(nn.AdaptiveAvgPool2d((None, 2))(x[None]).shape) == (1, 1, 1, 2)

    @pytest.mark.parametrize(
        "layer, function",
        [
            (nn.ReLU(), lambda x: np.maximum(x, 0)),
            (nn.LeakyReLU(0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
            (nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
            (nn.SiLU(), lambda x: x / (1 + np.exp(-x))),
            (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
            (nn.Tanh(), np.tanh),
            (nn.Softplus(2.0), lambda x: np.log1p(np.exp(2 * x)) / 2),
            (nn.Hardtanh(-0.5, 0.7), lambda x: np.clip(x, -0.5, 0.7)),
            (nn.ReLU6(), lambda x: np.clip(x, 0, 6)),
            (nn.GELU(), lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2),
            (nn.Softmax(0), lambda x: np.exp(x) / np.exp(x).sum()),
            (nn.LogSoftmax(0), lambda x: x - np.log(np.exp(x).sum())),
            (nn.Identity(), lambda x: x),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_activations(self, layer, function):
        x = np.linspace(-3, 8, 23)
        close(layer(tl.tensor(x.tolist(), dtype=tl.float64)), function(x), 1e-7)

    @pytest.mark.parametrize("kind", [nn.ReLU, nn.LeakyReLU, nn.ELU, nn.SiLU, nn.Hardtanh, nn.ReLU6])
    def test_activations_in_place(self, kind):
        x = tl.linspace(-3, 8, 7)
        expected = kind()(x).numpy()
        assert kind(inplace=True)(x) is x
        close(x, expected)

    def test_dropout_scales_what_it_keeps(self):
        x = tl.ones(1000)
        y = nn.Dropout(0.25)(x)
        kept = y != 0
        assert 600 < int(kept.sum()) < 900
        close(y[kept], np.full(int(kept.sum()), 4 / 3))
        assert bool((nn.Dropout(0.25).eval()(x) == 1).all())
        channels = nn.Dropout2d(0.5)(tl.ones(4, 50, 3, 3)).sum((2, 3))
        assert set(channels.unique().tolist()) == {0.0, 18.0}
        with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got"):
            nn.Dropout(1.5)

    def test_batch_norm_follows_the_batches(self):
        layer = nn.BatchNorm1d(2)
        x = tl.tensor([[1.0, 10.0], [3.0, 30.0]])
        close(layer(x), [[-1, -1], [1, 1]], 1e-4)
        close(layer.running_mean, [0.2, 2.0])
        close(layer.running_var, [0.9 + 0.2, 0.9 + 20], 1e-5)
        assert layer.num_batches_tracked.item() == 1
        layer.eval()
        expected = (x.numpy() - layer.running_mean.numpy()) / np.sqrt(layer.running_var.numpy() + 1e-5)
        close(layer(x), expected, 1e-5)
        assert layer.num_batches_tracked.item() == 1
        layer.reset_running_stats()
        close(layer.running_mean, [0, 0])

    def test_batch_norm_without_momentum_takes_the_mean_of_all(self):
        layer = nn.BatchNorm1d(1, momentum=None)
        for value in (1.0, 4.0, 7.0):
            layer(tl.tensor([[value], [value]]))
        close(layer.running_mean, [4.0])

    def test_batch_norm_without_statistics_uses_the_batch_always(self):
        layer = nn.BatchNorm1d(1, track_running_stats=False, affine=False).eval()
        close(layer(tl.tensor([[1.0], [3.0]])), [[-1], [1]], 1e-4)
        assert list(layer.state_dict()) == []

    def test_batch_norm_loads_states_older_than_its_counter(self):
        layer = nn.BatchNorm1d(1)
        state = layer.state_dict()
        del state["num_batches_tracked"]
        state._metadata[""]["version"] = 1
        layer.num_batches_tracked.fill_(7)
        layer.load_state_dict(state)
        assert layer.num_batches_tracked.item() == 7
        state._metadata[""]["version"] = 2
        with pytest.raises(RuntimeError, match="Missing key"):
            layer.load_state_dict(state)

    @pytest.mark.parametrize("layer, text", [(nn.BatchNorm1d(3), "2D or 3D"), (nn.BatchNorm2d(3), "4D")])
    def test_batch_norm_checks_dimensions(self, layer, text):
        with pytest.raises(ValueError, match=f"expected {text} input \\(got 1D input\\)"):
            layer(tl.ones(3))

    def test_layer_and_group_norm(self):
        x = tl.randn(4, 6, 5, dtype=tl.float64)
        values = x.numpy()
        mean, variance = values.mean((1, 2), keepdims=True), values.var((1, 2), keepdims=True)
        expected = (values - mean) / np.sqrt(variance + 1e-5)
        close(nn.LayerNorm((6, 5), dtype=tl.float64)(x), expected, 1e-7)
        close(nn.GroupNorm(1, 6, dtype=tl.float64)(x), expected, 1e-7)
        grouped = values.reshape(4, 3, 10)
        grouped = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
        close(nn.GroupNorm(3, 6, dtype=tl.float64)(x), grouped.reshape(4, 6, 5), 1e-7)
        with pytest.raises(ValueError, match=r"num_channels \(4\) must be divisible by num_groups \(3\)"):
            nn.GroupNorm(3, 4)

    def test_embedding(self):
        table = nn.Embedding(5, 3, padding_idx=-1)
        assert table.padding_idx == 4
        assert bool((table.weight[4] == 0).all())
        rows = table(tl.tensor([[0, 4], [2, 0]]))
        close(rows[1, 0], table.weight[2].detach().numpy())
        rows.sum().backward()
        assert table.weight.grad[:, 0].tolist() == [2, 0, 1, 0, 0]
        frozen = nn.Embedding.from_pretrained(tl.ones(2, 3))
        assert not frozen.weight.requires_grad
        assert nn.Embedding.from_pretrained(tl.ones(2, 3), freeze=False).weight.requires_grad
        with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
            nn.Embedding(5, 3, padding_idx=5)

    def test_losses(self):
        input, target = tl.tensor([0.2, 0.9]), tl.tensor([0.0, 1.0])
        close(nn.MSELoss()(input, target), 0.025)
        close(nn.L1Loss(reduction="sum")(input, target), 0.3)
        close(nn.SmoothL1Loss(beta=0.1)(input, target), (0.15 + 0.05) / 2)
        close(nn.HuberLoss(delta=0.1)(input, target), (0.015 + 0.005) / 2)
        close(nn.BCELoss()(input, target), -(math.log(0.8) + math.log(0.9)) / 2)
        close(nn.BCEWithLogitsLoss(reduction="none")(input, target), np.log1p(np.exp([0.2, -0.9])))
        logits = tl.tensor([[1.0, 2.0, 0.5], [0.0, 0.0, 3.0]])
        logs = logits.numpy() - np.log(np.exp(logits.numpy()).sum(1, keepdims=True))
        close(nn.CrossEntropyLoss()(logits, tl.tensor([1, 0])), -(logs[0, 1] + logs[1, 0]) / 2)
        weights = tl.tensor([1.0, 2.0, 4.0])
        weighted = -(2 * logs[0, 1] + 4 * logs[1, 2]) / 6
        close(nn.NLLLoss(weights)(tl.tensor(logs.tolist()), tl.tensor([1, 2])), weighted)
        close(nn.CrossEntropyLoss(ignore_index=0)(logits, tl.tensor([1, 0])), -logs[0, 1])
        probabilities = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], np.float32)
        divergence = (probabilities * (np.log(probabilities) - logs)).sum() / 2
        close(
            nn.KLDivLoss(reduction="batchmean")(tl.tensor(logs.tolist()), tl.tensor(probabilities.tolist())), divergence
        )

    @pytest.mark.parametrize(
        "options, reduction",
        [({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"reduce": True}, "mean")],
    )
    def test_old_spellings_of_reduction(self, options, reduction):
        with pytest.warns(UserWarning, match=f"please use reduction='{reduction}' instead"):
            assert nn.MSELoss(**options).reduction == reduction

    def test_shapes(self):
        assert tuple(nn.Flatten()(tl.ones(2, 3, 4)).shape) == (2, 12)
        assert tuple(nn.Flatten(0, 1)(tl.ones(2, 3, 4)).shape) == (6, 4)
        assert tuple(nn.Unflatten(1, (2, -1))(tl.ones(2, 6)).shape) == (2, 2, 3)
        with pytest.raises(TypeError, match="must be tuple of ints, but found element of type float at pos 1"):
            nn.Unflatten(1, (2, 3.0))

    def test_a_network_learns(self):
        model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = tl.optim.Adam(model.parameters(), lr=0.05)
        x = tl.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        y = tl.tensor([[0.0], [1.0], [1.0], [0.0]])
        for _ in range(300):
            optimizer.zero_grad()
            loss = nn.MSELoss()(model(x), y)
            loss.backward()
            optimizer.step()
        assert loss.item() < 0.01


class TestInit:
    @pytest.mark.parametrize(
        "fill, mean, std",
        [
            (lambda t: init.uniform_(t, -1.0, 2.0), 0.5, 3 / math.sqrt(12)),
            (lambda t: init.normal_(t, 1.0, 0.5), 1.0, 0.5),
            (lambda t: init.trunc_normal_(t, std=2.0, a=-100.0, b=100.0), 0.0, 2.0),
            (lambda t: init.trunc_normal_(t), 0.0, 0.8796),
            (lambda t: init.xavier_uniform_(t, 2.0), 0.0, 2 * math.sqrt(2 / 300)),
            (lambda t: init.xavier_normal_(t), 0.0, math.sqrt(2 / 300)),
            (lambda t: init.kaiming_uniform_(t), 0.0, math.sqrt(2 / 1.0000 / 100) / math.sqrt(1)),
            (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), 0.0, math.sqrt(2 / 200)),
            (lambda t: init.kaiming_normal_(t, a=1.0), 0.0, math.sqrt(1 / 100)),
        ],
    )
    def test_distributions(self, fill, mean, std):
        tensor = nn.Parameter(tl.empty(200, 100))
        assert fill(tensor) is tensor
        assert tensor.grad_fn is None
        values = tensor.detach().numpy()
        assert abs(values.mean() - mean) < 5 * std / math.sqrt(values.size)
        assert abs(values.std() / std - 1) < 0.03

    def test_truncation_holds_in_the_tail(self):
        with pytest.warns(UserWarning, match="more than 2 std from"):
            values = init.trunc_normal_(tl.empty(2000), 0.0, 1.0, 4.0, 5.0)
        assert float(values.min()) >= 4
        assert float(values.max()) <= 5
        # The mean of the normal distribution between 4 and 5.
        assert abs(float(values.mean()) - 4.2249) < 0.03

    def test_constants(self):
        close(init.constant_(tl.empty(2), 0.3), [0.3, 0.3])
        close(init.ones_(tl.empty(2)), [1, 1])
        close(init.zeros_(tl.empty(2)), [0, 0])
        close(init.eye_(tl.empty(2, 3)), np.eye(2, 3))

    def test_dirac_passes_channels_through(self):
        weight = init.dirac_(tl.empty(4, 2, 3, 3), groups=2)
        x = tl.randn(1, 4, 5, 5)
        close(nn.functional.conv2d(x, weight, padding=1, groups=2), x.numpy())

    @pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3), (4, 4)])
    def test_orthogonal(self, shape):
        weight = init.orthogonal_(tl.empty(shape), gain=2.0).reshape(shape[0], -1)
        product = weight @ weight.mT if weight.shape[0] <= weight.shape[1] else weight.mT @ weight
        close(product, 4 * np.eye(min(weight.shape)), 1e-5)

    def test_sparse(self):
        weight = init.sparse_(tl.empty(10, 4), 0.25, std=1.0)
        assert (weight == 0).sum(0).tolist() == [3, 3, 3, 3]

    @pytest.mark.parametrize(
        "fill",
        [
            init.uniform_,
            init.normal_,
            init.trunc_normal_,
            init.xavier_uniform_,
            init.xavier_normal_,
            init.kaiming_uniform_,
            init.kaiming_normal_,
            init.orthogonal_,
            lambda t, generator: init.sparse_(t, 0.5, generator=generator),
        ],
    )
    def test_a_generator_decides(self, fill):
        first, second = (fill(tl.empty(4, 4), generator=tl.Generator().manual_seed(5)) for _ in range(2))
        assert bool((first == second).all())
        third = fill(tl.empty(4, 4), generator=tl.Generator().manual_seed(6))
        assert not bool((first == third).all())

    def test_wrong_arguments(self):
        for fill, shape, text in [
            (init.xavier_uniform_, (2,), "fewer than 2 dimensions"),
            (init.eye_, (2,), "Only tensors with 2 dimensions are supported"),
            (init.dirac_, (2, 2), "Only tensors with 3, 4, or 5 dimensions are supported"),
            (lambda t: init.dirac_(t, 2), (3, 2, 2), "dim 0 must be divisible by groups"),
            (init.orthogonal_, (2,), "Only tensors with 2 or more dimensions are supported"),
            (lambda t: init.sparse_(t, 0.5), (2,), "Only tensors with 2 dimensions are supported"),
            (lambda t: init.kaiming_normal_(t, mode="fan"), (2, 2), "Mode fan not supported"),
            (lambda t: init.kaiming_normal_(t, nonlinearity="step"), (2, 2), "Unsupported nonlinearity step"),
        ]:
            with pytest.raises(ValueError, match=text):
                fill(tl.empty(shape))
        with pytest.warns(UserWarning, match="zero-element"):
            init.kaiming_uniform_(tl.empty(0, 3))

    def test_filling_can_be_intercepted(self):
        class Duck:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func

        for fill in (init.uniform_, init.normal_, init.kaiming_uniform_):
            assert fill(Duck()) is fill
        assert init.constant_(Duck(), 1.0) is init.constant_


class TestUtils:
    @staticmethod
    def parameters():
        first, second = nn.Parameter(tl.zeros(2)), nn.Parameter(tl.zeros(1, 1))
        first.grad, second.grad = tl.tensor([3.0, -4.0]), tl.tensor([[12.0]])
        return [first, second, nn.Parameter(tl.zeros(1))]

    @pytest.mark.parametrize("order, norm", [(2.0, 13.0), (1, 19.0), (math.inf, 12.0)])
    def test_clipping_by_norm(self, order, norm):
        parameters = self.parameters()
        close(clip_grad_norm_(iter(parameters), norm / 2, order), norm)
        close(parameters[0].grad, [1.5, -2.0], 1e-5)
        close(parameters[1].grad, [[6.0]], 1e-5)
        close(clip_grad_norm_(parameters, 100.0, order), norm / 2, 1e-5)
        close(parameters[0].grad, [1.5, -2.0], 1e-5)

    def test_clipping_what_is_not_finite(self):
        parameters = self.parameters()
        parameters[0].grad[0] = math.nan
        with pytest.raises(
            RuntimeError, match=r"total norm of order 2\.0 for gradients from `parameters` is non-finite"
        ):
            clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
        assert math.isnan(clip_grad_norm_(parameters, 1.0).item())
        assert clip_grad_norm_([], 1.0).item() == 0

    def test_clipping_by_value(self):
        parameters = self.parameters()
        clip_grad_value_(parameters, 3.5)
        close(parameters[0].grad, [3.0, -3.5])
        clip_grad_value_(parameters[1], 2)
        close(parameters[1].grad, [[2.0]])

    def test_parameters_as_one_vector(self):
        parameters = self.parameters()
        vector = tl.arange(4.0)
        vector_to_parameters(vector, parameters)
        close(parameters[1], [[2.0]])
        close(parameters_to_vector(parameters), [0, 1, 2, 3])
        parameters_to_vector(parameters).sum().backward()
        close(parameters[0].grad, [4.0, -3.0])
        with pytest.raises(TypeError, match="but got: int"):
            vector_to_parameters(3, parameters)
