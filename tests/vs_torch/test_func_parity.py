"""Transforms beside PyTorch's: the same program, written once, run by both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorlike.func
import torch
import torch.func

import tensorlike as tl

_RANDOM = np.random.default_rng(0)
X, W, V = _RANDOM.normal(size=(3, 4)), _RANDOM.normal(size=(4, 2)), _RANDOM.normal(size=4)

Program = Callable[..., Any]


def _wave(x: Any) -> Any:
    return (x.sin() * x.sum()).prod()


def _soft(t: Any, x: Any) -> Any:
    return (t.softmax(x, 0) * x).cumsum(0)


PROGRAMS: dict[str, Program] = {
    "grad": lambda t, f, v: f.grad(lambda x: (x.sin() * x).sum())(v),
    "grad of grad": lambda t, f, v: f.grad(lambda x: f.grad(lambda x: (x.sin() * x).sum())(x).pow(2).sum())(v),
    "grad and value with aux": lambda t, f, v: f.grad_and_value(lambda x: (x.prod(), x * 2), has_aux=True)(v),
    "several argnums": lambda t, f, x, w: f.grad(lambda a, b: (a @ b).prod(), argnums=(0, 1))(x, w),
    "vmap": lambda t, f, x, w: f.vmap(lambda a: a @ w, out_dims=1)(x),
    "vmap in_dims": lambda t, f, x, w: f.vmap(lambda a, b: a * b.sum(), in_dims=(1, None))(x, w),
    "vmap in chunks": lambda t, f, x: f.vmap(lambda a: a.softmax(0), chunk_size=2)(x),
    "vmap of vmap": lambda t, f, x, w: f.vmap(f.vmap(lambda a, b: (a * b).sum(), in_dims=(None, 1)), in_dims=(0, None))(
        x, w
    ),
    "vmap of grad": lambda t, f, x: f.vmap(f.grad(lambda x: (x.sin() * x).sum()))(x),
    "per-sample gradients": lambda t, f, x, w: f.vmap(f.grad(lambda w, x: (x @ w).tanh().sum()), in_dims=(None, 0))(
        w, x
    ),
    "per-sample gradients of a dict": lambda t, f, x, w: f.vmap(
        f.grad(lambda p, x: t.nn.functional.mse_loss(t.nn.functional.linear(x, p["w"].T).relu(), x[:2])),
        in_dims=(None, 0),
    )({"w": w}, x),
    "vjp": lambda t, f, x, w: f.vjp(lambda x, w: x @ w, x, w)[1](t.ones(3, 2, dtype=t.float64)),
    "jvp": lambda t, f, v: f.jvp(lambda x: _soft(t, x), (v,), (v,)),
    "jvp of grad": lambda t, f, v: f.jvp(f.grad(lambda x: _soft(t, x).prod()), (v,), (v,)),
    "grad of jvp": lambda t, f, v: f.grad(lambda x: f.jvp(lambda x: _soft(t, x).prod(), (x,), (v,))[1])(v),
    "jvp of jvp": lambda t, f, v: f.jvp(
        lambda y: f.jvp(lambda x: x.sin() * x**3, (y,), (t.ones_like(y),))[1], (v,), (v,)
    ),
    "jacrev": lambda t, f, v: f.jacrev(lambda x: x.sin() * x.sum())(v),
    "jacfwd": lambda t, f, v: f.jacfwd(lambda x: x.sin() * x.sum())(v),
    "jacrev with aux": lambda t, f, v: f.jacrev(lambda x: (x.sin(), x + 1), has_aux=True)(v),
    "jacfwd with aux": lambda t, f, v: f.jacfwd(lambda x: (x.sin(), x + 1), has_aux=True)(v),
    "jacrev of several outputs": lambda t, f, x, w: f.jacrev(lambda a, b: (a @ b, a.sum()), argnums=(0, 1))(x, w),
    "jacfwd of several outputs": lambda t, f, x, w: f.jacfwd(lambda a, b: (a @ b, a.sum()), argnums=(0, 1))(x, w),
    "hessian": lambda t, f, v: f.hessian(_wave)(v),
    "jacrev of jacfwd": lambda t, f, v: f.jacrev(f.jacfwd(_wave))(v),
    "jacrev of jacrev": lambda t, f, v: f.jacrev(f.jacrev(_wave))(v),
    "jacfwd of jacfwd": lambda t, f, v: f.jacfwd(f.jacfwd(_wave))(v),
    "third derivatives": lambda t, f, v: f.jacfwd(f.jacrev(f.jacfwd(_wave)))(v),
    "vmap of hessian": lambda t, f, x: f.vmap(f.hessian(_wave))(x),
    "vmap of jacrev": lambda t, f, x: f.vmap(f.jacrev(lambda x: x.sin() * x.sum()))(x),
    "vmap of jacfwd": lambda t, f, x: f.vmap(f.jacfwd(lambda x: x.sin() * x.sum()))(x),
    "jacrev of vmap": lambda t, f, x: f.jacrev(f.vmap(lambda a: a.softmax(0)))(x),
    "hessian of a network": lambda t, f, x, w: f.hessian(
        lambda p: t.nn.functional.log_softmax(t.nn.functional.linear(x, p), -1).pow(2).mean()
    )(w.T),
    "jacrev of layer_norm": lambda t, f, w: f.jacrev(lambda p: t.nn.functional.layer_norm(p, (2,)))(w),
    "jacfwd of layer_norm": lambda t, f, w: f.jacfwd(lambda p: t.nn.functional.layer_norm(p, (2,)))(w),
    "jacfwd of inv": lambda t, f, x: f.jacfwd(lambda p: t.linalg.inv(p))(x @ x.T),
    "jacfwd of svdvals": lambda t, f, x: f.jacfwd(lambda p: t.linalg.svdvals(p))(x),
    "vmap of indexing": lambda t, f, x: f.vmap(lambda a: a[1:3] * a[0])(x),
    "vmap of cat": lambda t, f, x: f.vmap(lambda a: t.cat([a, t.ones(2, dtype=t.float64)]))(x),
    "linearize": lambda t, f, v: f.linearize(lambda x: x.sin() * x.sum(), v)[1](v),
}


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


@pytest.mark.filterwarnings("ignore::UserWarning")  # both from torch's own transforms
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_transform(name: str) -> None:
    program = PROGRAMS[name]
    wanted = program.__code__.co_varnames[2 : program.__code__.co_argcount]
    arrays = [{"x": X, "w": W, "v": V}[n] for n in wanted]
    found = _flat(program(tl, tl.func, *[tl.tensor(a) for a in arrays]))
    expected = _flat(program(torch, torch.func, *[torch.tensor(a) for a in arrays]))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("show", [str, repr, "{}".format], ids=["str", "repr", "format"])
def test_print_inside_vmap(show: Callable[[Any], str]) -> None:
    def texts(t: Any) -> list[str]:
        found = []
        t.func.vmap(t.func.vmap(lambda x: found.append(show(x)) or x))(t.ones(2, 2, 1))
        return found

    assert texts(tl) == texts(torch)
