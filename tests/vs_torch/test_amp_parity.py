"""Mixed precision beside PyTorch's: dtypes of many calls in `autocast`, gradients, custom Functions, the scaler."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl

torch = pytest.importorskip("torch", reason="PyTorch is what mixed precision is compared with")
pytest.importorskip("ml_dtypes", reason="autocast on the CPU computes in bfloat16, which NumPy has from ml_dtypes")

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda t, x: x @ x,
    "linear": lambda t, x: t.nn.functional.linear(x, x),
    "conv": lambda t, x: t.nn.functional.conv1d(x[None], x[None]),
    "lstm": lambda t, x: t.nn.LSTM(3, 3)(x[None])[0],
    "gru": lambda t, x: t.nn.GRU(3, 3)(x[None])[0],
    "rnn": lambda t, x: t.nn.RNN(3, 3)(x[None])[0],
    "lstmcell": lambda t, x: t.nn.LSTMCell(3, 3)(x)[0],
    "mha": lambda t, x: t.nn.MultiheadAttention(4, 2)(t.randn(1, 2, 4), t.randn(1, 2, 4), t.randn(1, 2, 4))[0],
    "einsum": lambda t, x: t.einsum("ij,jk->ik", x, x),
    "bilinear": lambda t, x: t.nn.functional.bilinear(x, x, t.randn(2, 3, 3)),
    "softmax": lambda t, x: t.nn.functional.softmax(x @ x, -1),
    "ce": lambda t, x: t.nn.functional.cross_entropy(x @ x, t.tensor([0, 1, 2])),
    "mse": lambda t, x: t.nn.functional.mse_loss(x @ x, x),
    "mean": lambda t, x: (x @ x).mean(),
    "add": lambda t, x: (x @ x) + x,
    "cat": lambda t, x: t.cat([x @ x, x]),
    "stack": lambda t, x: t.stack([x @ x, x]),
    "dot": lambda t, x: t.dot(x[0], x[0]),
    "mv": lambda t, x: t.mv(x, x[0]),
    "addmm": lambda t, x: t.addmm(x, x, x),
    "addmv": lambda t, x: t.addmv(x[0], x, x[0]),
    "chain": lambda t, x: t.linalg.multi_dot([x, x, x]),
    "tensordot": lambda t, x: t.tensordot(x, x, 1),
    "layernorm": lambda t, x: t.nn.functional.layer_norm(x @ x, (3,)),
    "bn": lambda t, x: t.nn.functional.batch_norm(x @ x, None, None, training=True),
    "prelu": lambda t, x: t.nn.functional.prelu(x, t.ones(1)),
    "prod": lambda t, x: (x @ x).prod(),
    "outer": lambda t, x: t.outer(x[0], x[0]),
    "sdpa": lambda t, x: t.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "matmul64": lambda t, x: x.double() @ x.double(),
    "mm_int": lambda t, x: t.ones(2, 2, dtype=t.int64) @ t.ones(2, 2, dtype=t.int64),
    "cdist": lambda t, x: t.cdist(x, x),
    "inv": lambda t, x: t.inverse(x @ x + t.eye(3)),
    "mm_out": lambda t, x: t.mm(x, x, out=t.empty(3, 3)),
    "baddbmm": lambda t, x: t.baddbmm(x[None], x[None], x[None]),
    "inplace": lambda t, x: x.clone().addmm_(x, x),
    "l1": lambda t, x: t.nn.functional.l1_loss(x @ x, x),
    "bce": lambda t, x: t.nn.functional.binary_cross_entropy(t.sigmoid(x @ x), t.rand(3, 3)),
    "kron": lambda t, x: t.kron(x, x),
    "vecdot": lambda t, x: t.linalg.vecdot(x, x),
    "norm": lambda t, x: (x @ x).norm(),
    "gelu": lambda t, x: t.nn.functional.gelu(x @ x),
    "maxpool3": lambda t, x: t.nn.functional.max_pool3d(t.randn(1, 1, 2, 2, 2).bfloat16(), 2),
    "where": lambda t, x: t.where(x > 0, x @ x, x),
    "addcmul": lambda t, x: t.addcmul(x, x @ x, x),
    "atan2": lambda t, x: t.atan2(x @ x, x),
    "ln64": lambda t, x: t.nn.functional.linear(x.double(), x.double()),
    "cosine": lambda t, x: t.nn.functional.cosine_similarity(x @ x, x),
    "dropout": lambda t, x: t.nn.functional.dropout(x @ x),
    "cumsum": lambda t, x: (x @ x).cumsum(0),
    "exp": lambda t, x: (x @ x).exp(),
    "pow": lambda t, x: (x @ x) ** 2,
    "nll": lambda t, x: t.nn.functional.nll_loss(x @ x, t.tensor([0, 1, 2])),
    "conv2": lambda t, x: t.nn.Conv2d(1, 2, 2)(t.ones(1, 1, 3, 3)),
    "convt": lambda t, x: t.nn.ConvTranspose1d(1, 2, 2)(t.ones(1, 1, 3)),
    "enc": lambda t, x: t.nn.TransformerEncoderLayer(4, 2)(t.ones(2, 1, 4)),
    "bmm": lambda t, x: t.bmm(x[None], x[None]),
    "matmulop": lambda t, x: x.matmul(x),
    "rmat": lambda t, x: x.__rmatmul__(x),
    "fft": lambda t, x: t.fft.fft((x @ x)[0]),
    "svd": lambda t, x: t.linalg.svdvals(x @ x),
    "trace": lambda t, x: (x @ x).trace(),
    "quant": lambda t, x: (x @ x).quantile(0.5),
    "emb": lambda t, x: t.nn.Embedding(3, 2)(t.tensor([1])),
    "mixed": lambda t, x: t.baddbmm(x[None], x[None].double(), x[None].double()),}
#: PyTorch's kernel of the CPU lacks the dtype.
REFUSED = {("lstm", "float16")}


def operand(t: Any) -> Any:
    return t.arange(9).reshape(3, 3) / 9 - 0.3


def name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def dtype_of(t: Any, call: Callable[[Any, Any], Any], **options: Any) -> str:
    with t.autocast("cpu", **options):
        try:
            return name(call(t, operand(t)).dtype)
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("target", ["bfloat16", "float16"])
@pytest.mark.parametrize("call", list(CALLS))
def test_dtypes(call, target):
    ours, theirs = (dtype_of(t, CALLS[call], dtype=getattr(t, target)) for t in (tl, torch))
    if (call, target) in REFUSED:
        assert theirs == "RuntimeError"
        theirs = target
    assert ours == theirs


def same(scenario: Callable[[Any], Any]) -> Any:
    """Compare what a scenario gives or raises, and its warnings."""
    found = []
    for t in (tl, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = repr(scenario(t))
            except Exception as error:
                # PyTorch lists devices that there are none of here; the class of a device has another module.
                text = str(error).replace("tensor.device.device", "device")
                text = "no such device" if " device type at start" in text else text
                result = f"{type(error).__name__}: {text}"
        said = [(w.category.__name__, str(w.message).partition(" (Triggered")[0]) for w in caught]
        found.append((result.replace("torch", "tensorlike"), [(k, m.replace("torch", "tensorlike")) for k, m in said]))
    assert found[0] == found[1]
    return found[0]


def test_values_and_gradients():
    def scenario(t: Any) -> Any:
        weight = t.nn.Parameter(operand(t))
        with t.autocast("cpu"):
            hidden = (weight @ weight).relu() @ weight
            loss = t.nn.functional.mse_loss(hidden, t.zeros(3, 3))
        loss.backward()
        return name(loss.dtype), name(hidden.dtype), name(weight.grad.dtype), weight.grad.tolist()

    ours, theirs = scenario(tl), scenario(torch)
    assert ours[:3] == theirs[:3]
    for row, expected in zip(ours[3], theirs[3]):
        assert row == pytest.approx(expected, rel=0.02, abs=2e-3)


@pytest.mark.parametrize(
    "scenario",
    [
        lambda t: t.autocast("none"),
        lambda t: t.autocast(3),
        lambda t: t.autocast(t.device("cpu")),
        lambda t: t.autocast("cpu", dtype=t.float64)._enabled,
        lambda t: t.autocast("cpu", dtype=t.float32)._enabled,
        lambda t: t.autocast("cuda")._enabled,
        lambda t: (t.autocast("cpu").fast_dtype, t.autocast("cpu")._enabled, t.autocast("cpu").device),
        lambda t: t.is_autocast_enabled("cpu"),
        lambda t: t.is_autocast_enabled(),
        lambda t: t.is_autocast_enabled("none"),
        lambda t: (t.get_autocast_dtype("cpu"), t.get_autocast_dtype("cuda"), t.is_autocast_cache_enabled()),
        lambda t: (t.is_autocast_cpu_enabled(), t.get_autocast_cpu_dtype()),
        lambda t: t.get_autocast_gpu_dtype(),
        lambda t: (t.amp.is_autocast_available("cpu"), t.amp.is_autocast_available("cuda")),
        lambda t: (t.autocast_increment_nesting(), t.autocast_decrement_nesting(), t.clear_autocast_cache()),
        lambda t: t.amp.custom_fwd(device_type=3),
        lambda t: t.amp.custom_bwd(device_type=None),
        lambda t: t.cpu.amp.autocast()._enabled,
        lambda t: t.cuda.amp.autocast()._enabled,
        lambda t: t.cuda.amp.GradScaler().is_enabled(),
        lambda t: t.cpu.amp.GradScaler().is_enabled(),
        lambda t: t.amp.GradScaler().is_enabled(),
        lambda t: t.cuda.amp.custom_fwd(len) is None,
        lambda t: t.cuda.amp.custom_bwd(len) is None,
        lambda t: t.amp.GradScaler("cpu", growth_factor=1.0),
        lambda t: t.amp.GradScaler("cpu", backoff_factor=1.0),
    ],
)
def test_settings_and_refusals(scenario):
    same(scenario)


def test_nesting():
    def scenario(t: Any) -> Any:
        x, found = operand(t), []
        with t.autocast("cpu"):
            found.append((x @ x).dtype)
            with t.autocast("cpu", enabled=False):
                found += [(x @ x).dtype, t.is_autocast_enabled("cpu")]
                with t.autocast("cpu", dtype=t.float16):
                    found += [(x @ x).dtype, t.get_autocast_dtype("cpu")]
            with t.autocast("cpu", dtype=t.float16):
                found.append((x @ x).dtype)
            found += [(x @ x).dtype, t.get_autocast_dtype("cpu")]
        found += [(x @ x).dtype, t.is_autocast_enabled("cpu")]
        t.set_autocast_enabled("cpu", True)
        found.append((x @ x).dtype)
        t.set_autocast_enabled("cpu", False)
        found.append((x @ x).dtype)
        return found

    same(scenario)


def test_a_decorator_and_a_function():
    def scenario(t: Any) -> Any:
        log: list[Any] = []

        class Double(t.autograd.Function):  # type: ignore[name-defined,misc]
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
            def forward(ctx: Any, x: Any) -> Any:
                log.append((x.dtype, t.is_autocast_enabled("cpu")))
                return x * 2

            @staticmethod
            @t.amp.custom_bwd(device_type="cpu")
            def backward(ctx: Any, grad: Any) -> Any:
                log.append(t.is_autocast_enabled("cpu"))
                return grad * 2

        class Plain(Double):
            @staticmethod
            @t.amp.custom_fwd(device_type="cpu")
            def forward(ctx: Any, x: Any) -> Any:
                log.append((x.dtype, t.is_autocast_enabled("cpu")))
                return x * 2

        @t.autocast("cpu")
        def run(x: Any) -> Any:
            return Double.apply(x @ x), Plain.apply(x @ x)

        for y in run(operand(t).requires_grad_()):
            log.append(y.dtype)
            y.sum().backward()
        return log, run.__name__

    same(scenario)


def scaled_training(t: Any, scales: list[float]) -> Any:
    weight = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([weight], lr=0.1)
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    found: list[Any] = []
    for scale in scales:
        optimizer.zero_grad()
        scaler.scale((weight * scale).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append(([round(v, 5) for v in weight.tolist()], scaler.state_dict()))
    return found


def test_the_scaler_adapts():
    same(lambda t: scaled_training(t, [1.0, 2.0, float("inf"), 1.0, float("nan"), 1.0, 1.0, 1.0]))


def prepared(t: Any) -> tuple[Any, Any, Any]:
    weight = t.nn.Parameter(t.ones(2))
    optimizer, scaler = t.optim.SGD([weight], lr=0.1), t.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale((weight * 2).sum()).backward()
    return weight, optimizer, scaler


def several(t: Any, *methods: str) -> Any:
    weight, optimizer, scaler = prepared(t)
    for method in methods:
        getattr(scaler, method)(*(() if method == "update" else (optimizer,)))
    return weight.tolist(), weight.grad.tolist(), scaler.state_dict()


@pytest.mark.parametrize(
    "scenario",
    [
        lambda t: t.amp.GradScaler("cpu").update(),
        lambda t: t.amp.GradScaler("cpu").step(None),
        lambda t: t.amp.GradScaler("cpu").scale(3),
        lambda t: [type(x).__name__ for x in t.amp.GradScaler("cpu").scale([t.ones(1), (t.ones(1),)])],
        lambda t: several(t, "unscale_", "step", "update"),
        lambda t: several(t, "unscale_", "unscale_"),
        lambda t: several(t, "step", "step"),
        lambda t: several(t, "step", "unscale_"),
        lambda t: several(t, "update"),
        lambda t: t.amp.GradScaler("cpu").load_state_dict({}),
        lambda t: t.amp.GradScaler("cpu", enabled=False).load_state_dict({}),
        lambda t: (t.amp.GradScaler("cpu", enabled=False).state_dict(), t.amp.GradScaler("cpu").state_dict()),
        lambda t: (prepared(t)[2].update(3.0), prepared(t)[2].update(t.tensor(2.0))),
        lambda t: prepared(t)[2].step(t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)),
    ],
)
def test_the_scaler_refuses_and_reports(scenario):
    same(scenario)


@pytest.mark.parametrize("quiet", ["no_grad", "inference_mode"])
def test_casts_that_are_not_recorded_are_not_kept(quiet):
    def scenario(t: Any) -> Any:
        weight = t.nn.Parameter(operand(t))
        with t.autocast("cpu"):
            with getattr(t, quiet)():
                first = weight @ weight
            loss = (weight @ weight).sum()
        loss.backward()
        return first.requires_grad, loss.requires_grad, weight.grad.tolist()

    ours, theirs = scenario(tl), scenario(torch)
    assert ours[:2] == theirs[:2] == (False, True)
    assert ours[2] == [pytest.approx(row, rel=1e-2) for row in theirs[2]]


@pytest.mark.parametrize("inside", [True, False], ids=["forward in a block", "backward in a block"])
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints_recompute_with_autocast_as_it_was(use_reentrant, inside):
    def scenario(t: Any) -> Any:
        x = operand(t).requires_grad_()
        seen = []

        def part(value: Any) -> Any:
            result = value @ value @ value
            seen.append(name(result.dtype))
            return result

        with t.autocast("cpu", enabled=inside):
            y = t.utils.checkpoint.checkpoint(part, x, use_reentrant=use_reentrant)
        with t.autocast("cpu", enabled=not inside):
            y.sum().backward()
        return seen, x.grad.tolist(), t.is_autocast_enabled("cpu")

    ours, theirs = scenario(tl), scenario(torch)
    # PyTorch stops before the end of the function that it runs again without building its graph.
    assert set(ours[0]) == set(theirs[0]) == {"bfloat16" if inside else "float32"}
    assert ours[1] == [pytest.approx(row, rel=2e-2) for row in theirs[1]]
    assert not ours[2]
