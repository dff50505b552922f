"""Tensors of no dimensions in place of numbers, dims and sizes: read as numbers, as in PyTorch."""

import numpy as np
import pytest

import tensorlike as tl

torch = pytest.importorskip("torch")

FORMS = {
    "addmm beta": lambda L, t, v, n, i: L.addmm(t, t, t, beta=n),
    "addbmm alpha": lambda L, t, v, n, i: L.addbmm(t, t[None], t[None], alpha=n),
    "add alpha": lambda L, t, v, n, i: L.add(t, t, alpha=n),
    "norm p": lambda L, t, v, n, i: L.norm(t, n),
    "linalg.norm ord": lambda L, t, v, n, i: L.linalg.norm(v, n),
    "renorm": lambda L, t, v, n, i: L.renorm(t, n, 0, 1.0),
    "softplus beta": lambda L, t, v, n, i: L.nn.functional.softplus(t, n),
    "elu alpha": lambda L, t, v, n, i: L.nn.functional.elu(t, n),
    "leaky": lambda L, t, v, n, i: L.nn.functional.leaky_relu(t, n),
    "hardtanh": lambda L, t, v, n, i: L.nn.functional.hardtanh(t, -n, n),
    "threshold": lambda L, t, v, n, i: L.nn.functional.threshold(t, n, n),
    "margin": lambda L, t, v, n, i: L.nn.functional.triplet_margin_loss(t, t, t, margin=L.tensor(2.0, dtype=L.float64)),
    "clamp": lambda L, t, v, n, i: L.clamp(t, n, n),
    "full": lambda L, t, v, n, i: L.full((2,), n),
    "arange": lambda L, t, v, n, i: L.arange(n),
    "linspace": lambda L, t, v, n, i: L.linspace(n, n, 3),
    "logit eps": lambda L, t, v, n, i: L.logit(t * 0.5, L.tensor(0.1)),
    "cosine eps": lambda L, t, v, n, i: L.nn.functional.cosine_similarity(v, v, 0, n),
    "pdist p": lambda L, t, v, n, i: L.nn.functional.pdist(t, n),
    "cdist p": lambda L, t, v, n, i: L.cdist(t, t, n),
    "huber": lambda L, t, v, n, i: L.nn.functional.huber_loss(v, v, delta=n),
    "smooth_l1": lambda L, t, v, n, i: L.nn.functional.smooth_l1_loss(v, v, beta=n),
    "lerp weight": lambda L, t, v, n, i: L.lerp(v, v + 1, L.tensor(0.25, dtype=L.float64)),
    "cosine margin": lambda L, t, v, n, i: L.cosine_embedding_loss(t, t, v, L.tensor(0.5, dtype=L.float64)),
    "hinge of float64": lambda L, t, v, n, i: L.hinge_embedding_loss(v, v, L.tensor(2.0, dtype=L.float64)),
    "triplet": lambda L, t, v, n, i: L.triplet_margin_loss(t, t, t, L.tensor(2.0, dtype=L.float64)),
    "dropout": lambda L, t, v, n, i: L.nn.functional.dropout(v, n * 0),
    "dropout of all": lambda L, t, v, n, i: L.dropout(v, n / n, True),
    "alpha_dropout": lambda L, t, v, n, i: L.nn.functional.alpha_dropout(v, n * 0, True),
    "Dropout": lambda L, t, v, n, i: L.nn.Dropout(n * 0)(v),
    "movedim": lambda L, t, v, n, i: L.movedim(t, i, i * 0),
    "norm_except_dim": lambda L, t, v, n, i: L.norm_except_dim(t, i * 0 + 2, i),
    "masked norm": lambda L, t, v, n, i: L.masked.norm(t, n, 0),
    "lstsq": lambda L, t, v, n, i: L.linalg.lstsq(t + L.eye(2), t, L.tensor(1e-6, dtype=L.float64)).solution,
    "kl_div reduction": lambda L, t, v, n, i: L.kl_div(v, v, i),
    "grid_sampler": lambda L, t, v, n, i: L.grid_sampler(t[None, None], t[None, None].repeat(1, 1, 1, 1), i, i, False),
    "scatter value": lambda L, t, v, n, i: L.scatter(t, 1, L.tensor([[0]]), value=n),
    "scatter_ value": lambda L, t, v, n, i: t.clone().scatter_(1, L.tensor([[0]]), value=i),
    "roll": lambda L, t, v, n, i: L.roll(v, i),
    "sum dim": lambda L, t, v, n, i: L.sum(t, i),
    "topk": lambda L, t, v, n, i: L.topk(v, i),
    "chunk": lambda L, t, v, n, i: L.chunk(v, i),
    "narrow": lambda L, t, v, n, i: L.narrow(v, 0, 0, i),
    "diff n": lambda L, t, v, n, i: L.diff(v, i),
    "tril": lambda L, t, v, n, i: L.tril(t, i),
    "unfold": lambda L, t, v, n, i: v.unfold(0, i, i),
    "std corr": lambda L, t, v, n, i: L.std(v, correction=i),
    "isclose rtol": lambda L, t, v, n, i: L.isclose(v, v, rtol=n),
    "nan_to_num": lambda L, t, v, n, i: L.nan_to_num(v, n),
    "quantile": lambda L, t, v, n, i: L.quantile(v, n * 0.25),
    "lerp": lambda L, t, v, n, i: L.lerp(v, v, n),
    "masked_fill": lambda L, t, v, n, i: L.masked_fill(v, v > 0, n),
    "celu": lambda L, t, v, n, i: L.nn.functional.celu(v, n),
    "layer_norm eps": lambda L, t, v, n, i: L.nn.functional.layer_norm(v, (2,), eps=n),
    "batch eps": lambda L, t, v, n, i: L.nn.functional.batch_norm(t, v, v, eps=n),
    "histc bins": lambda L, t, v, n, i: L.histc(v, bins=i),
    "scatter": lambda L, t, v, n, i: L.scatter(v, 0, i[None], n),
    "index_fill": lambda L, t, v, n, i: L.index_fill(v, 0, i[None], n),
    "addcmul": lambda L, t, v, n, i: L.addcmul(v, v, v, value=n),
    "addr": lambda L, t, v, n, i: L.addr(t, v, v, beta=n),
    "baddbmm": lambda L, t, v, n, i: L.baddbmm(t[None], t[None], t[None], beta=n),
    "polygamma n": lambda L, t, v, n, i: L.polygamma(i, v),
    "normalize p": lambda L, t, v, n, i: L.nn.functional.normalize(t, n),
    "hinge margin": lambda L, t, v, n, i: L.nn.functional.hinge_embedding_loss(v, v, margin=n),
    "hardshrink": lambda L, t, v, n, i: L.nn.functional.hardshrink(v, n),
    "softshrink": lambda L, t, v, n, i: L.nn.functional.softshrink(v, n),
    "logspace": lambda L, t, v, n, i: L.logspace(n, n, 2),
    "eye": lambda L, t, v, n, i: L.eye(i),
    "zeros": lambda L, t, v, n, i: L.zeros(i, i),
    "rot90": lambda L, t, v, n, i: L.rot90(t, i),
    "cumsum": lambda L, t, v, n, i: L.cumsum(v, i * 0),
    "repeat_i": lambda L, t, v, n, i: L.repeat_interleave(v, i),
    "matrix_power": lambda L, t, v, n, i: L.linalg.matrix_power(t, i),
    "pinv": lambda L, t, v, n, i: L.linalg.pinv(t, rtol=n),
    "vander": lambda L, t, v, n, i: L.vander(v, i),
}


def call(library, form, **options):
    t, v = library.ones(2, 2), library.ones(2)
    result = FORMS[form](library, t, v, library.tensor(2.0, **options), library.tensor(1))
    return result[0] if isinstance(result, (tuple, list)) else result


@pytest.mark.parametrize("form", FORMS)
def test_a_tensor_stands_for_a_number(form):
    expected, found = call(torch, form), call(tl, form)
    assert str(found.dtype).split(".")[1] == str(expected.dtype).split(".")[1]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("form", ["softplus beta", "addmm beta", "elu alpha", "hardshrink"])
def test_not_one_that_requires_grad(form):
    for library in (torch, tl):
        with pytest.raises((TypeError, RuntimeError)):
            call(library, form, requires_grad=True)


@pytest.mark.parametrize("number", [[2.0], [[2.0]]])
def test_nor_one_with_dimensions(number):
    for library in (torch, tl):
        with pytest.raises((TypeError, RuntimeError)):
            library.nn.functional.softplus(library.ones(2), library.tensor(number))


def test_an_int_is_integral():
    for library in (torch, tl):
        with pytest.raises((TypeError, RuntimeError)):
            library.rot90(library.ones(2, 2), library.tensor(1.0))
