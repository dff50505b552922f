"""Random numbers in chunks depend on the seed, the calls before and the chunks alone."""

from __future__ import annotations

from typing import Any

import pytest

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import nothing_computed

MAKERS: dict[str, Any] = {
    "rand": lambda **k: td.rand(50, 4, chunks=(20, 3), **k),
    "randn": lambda **k: td.randn(50, 4, chunks=(20, 3), **k),
    "randint": lambda **k: td.randint(0, 100, (50, 4), chunks=(20, 3), **k),
    "normal": lambda **k: td.normal(1.0, 2.0, (50, 4), chunks=(20, 3), **k),
}
OF_A_TENSOR: dict[str, Any] = {
    "rand_like": tl.rand_like,
    "randn_like": tl.randn_like,
    "randint_like": lambda x: tl.randint_like(x, 3, 50),
    "bernoulli": tl.bernoulli,
    "poisson": lambda x: tl.poisson(x * 50),
    "dropout": lambda x: tl.nn.functional.dropout(x, 0.5),
    "uniform_": lambda x: x.clone().uniform_(2, 3),
    "normal_": lambda x: x.clone().normal_(),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_decides(name: str) -> None:
    make = MAKERS[name]
    tl.manual_seed(7)
    with nothing_computed():
        first, second = make(), make()
    tl.manual_seed(7)
    again = make()
    a, b, c = td.compute(first, second, again, scheduler="sync")
    assert tl.equal(a, c)
    assert not tl.equal(a, b)
    assert len(a.flatten().unique()) > 40, "chunks do not repeat each other"
    for options in ({"scheduler": "threads", "num_workers": 1}, {"scheduler": "threads", "num_workers": 4}):
        assert tl.equal(first.compute(**options), a)
    assert tl.equal(first[30:].compute(scheduler="sync"), a[30:]), "a part has the numbers of the whole"
    found = [make(generator=tl.Generator().manual_seed(3)).compute(scheduler="sync") for _ in range(2)]
    assert tl.equal(*found)
    with pytest.raises(TypeError, match="argument 'generator' must be a Generator"):
        make(generator=3)


@pytest.mark.parametrize("name", OF_A_TENSOR)
def test_like_a_tensor(name: str) -> None:
    x = td.full((50, 4), 0.5, chunks=(20, 3))
    tl.manual_seed(7)
    with nothing_computed():
        first, second = OF_A_TENSOR[name](x), OF_A_TENSOR[name](x)
    tl.manual_seed(7)
    again = OF_A_TENSOR[name](x)
    a, b, c = td.compute(first, second, again, scheduler="sync")
    assert tl.equal(a, c)
    assert not tl.equal(a, b)
    assert tuple(first.shape) == tuple(a.shape) == (50, 4)
    assert first.dtype == a.dtype


def test_distributions() -> None:
    tl.manual_seed(0)
    uniform, normal, kept = td.compute(
        td.rand(20000, chunks=3000), td.normal(3, 2, (20000,), chunks=3000),
        tl.nn.functional.dropout(td.ones(20000, chunks=3000), 0.25), scheduler="sync",
    )  # fmt: skip
    assert abs(float(uniform.mean()) - 0.5) < 0.02
    assert float(uniform.min()) >= 0
    assert float(uniform.max()) < 1
    assert abs(float(normal.mean()) - 3) < 0.1
    assert abs(float(normal.std()) - 2) < 0.1
    assert set(kept.unique().tolist()) == {0.0, float(tl.tensor(1 / 0.75))}
    assert abs(float(kept.mean()) - 1) < 0.05


def test_the_gradient_of_dropout() -> None:
    x = td.ones(100, chunks=30, requires_grad=True)
    y = tl.nn.functional.dropout(x, 0.5)
    y.sum().backward()
    value, grad = td.compute(y, x.grad, scheduler="sync")
    assert tl.equal(value.detach(), grad)
    assert tl.nn.functional.dropout(x, 0.5, training=False) is x
