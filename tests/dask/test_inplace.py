"""In-place operations bind a chunked tensor anew, unless views would notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl
import tensorlike.dask as td
from tests.dask.cases import nothing_computed


def pair(requires_grad: bool = False) -> tuple[Any, Any]:
    plain = tl.arange(12.0).reshape(4, 3)
    chunks = td.from_tensor(plain.clone(), ((1, 3), (2, 1)))
    return plain.requires_grad_(requires_grad), chunks.requires_grad_(requires_grad)


def put(index: Any, value: Any) -> Callable[[Any], Any]:
    def write(x: Any) -> Any:
        x[index] = value
        return x

    return write


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1), lambda x: x.mul_(x), lambda x: x.sub_(tl.ones(3)), lambda x: x.zero_(),
        lambda x: x.fill_(7), lambda x: x.copy_(tl.ones(3)), lambda x: x.clamp_(2, 5), lambda x: x.t_(),
        lambda x: x.unsqueeze_(0), lambda x: x.masked_fill_(x > 3, -1), lambda x: x.relu_(),
        lambda x: tl.nn.functional.relu(x, inplace=True), lambda x: x.__iadd__(2), lambda x: x.exp_(),
        put(1, 5.0), put((slice(None), 1), 5), put((slice(1, None, 2), slice(0, 2)), tl.tensor([7.0, 8.0])),
        put(..., 1), put((0, 0), tl.tensor(3)), put((-1, slice(None)), tl.arange(3)), put((slice(0, 0),), 9.0),
    ],
)  # fmt: skip
def test_the_tensor_itself(write: Callable[[Any], Any]) -> None:
    plain, chunks = pair()
    before = chunks * 1
    with nothing_computed():
        found = write(chunks)
    expected = write(plain)
    assert found is chunks
    assert chunks._version == 1
    assert tl.equal(found.compute(scheduler="sync"), expected)
    assert tl.equal(before.compute(scheduler="sync"), tl.arange(12.0).reshape(4, 3)), "computed from what it was"


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1), lambda x: x.mul_(3), lambda x: x.zero_(), lambda x: x.clamp_(2, 5), lambda x: x.exp_(),
        put(1, 5.0), put((slice(None), 1), tl.ones(4)), lambda x: x.copy_(x * 2), lambda x: x.t_(),
        lambda x: tl.nn.functional.celu_(x),
    ],
)  # fmt: skip
def test_the_history_goes_on(write: Callable[[Any], Any]) -> None:
    grads = []
    for x in pair(True):
        y = x * 2
        y = write(y) + y
        (y * y).sum().backward()
        grads.append(x.grad.compute(scheduler="sync") if isinstance(x, td.ChunkedTensor) else x.grad)
    assert tl.allclose(*grads)


def test_a_mask_chooses_what_is_written() -> None:
    plain, chunks = pair()
    plain[plain > 4] = -1.0
    chunks[chunks > 4] = -1.0
    assert tl.equal(chunks.compute(scheduler="sync"), plain)


@pytest.mark.parametrize(
    "view", [lambda x: x[0], lambda x: x.T, lambda x: x.detach(), lambda x: x.reshape(12), lambda x: x.unsqueeze(0)]
)
def test_views_would_not_follow(view: Callable[[Any], Any]) -> None:
    _, x = pair()
    y = view(x)
    for one in (x, y):
        with pytest.raises(RuntimeError, match=r"add_\(\) of a tensor in chunks that has views, or is one"):
            one.add_(1)
    del one, y
    x.add_(1)
    z = view(x).clone()
    z.add_(1)


def test_leaves_and_ordinary_tensors() -> None:
    plain, x = pair(True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    with tl.no_grad():
        x.add_(1)
    assert x.is_leaf
    for write in (lambda: plain.detach().add_(x), lambda: plain.detach().copy_(x)):
        with pytest.raises(NotImplementedError, match="an ordinary tensor cannot hold what is not computed yet"):
            write()
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        td.ones(3).add_(td.ones(2, 3))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        td.arange(3).add_(0.5)
    with pytest.raises(IndexError, match="out of bounds"):
        td.ones(3)[3] = 1
    with pytest.raises(NotImplementedError, match="by their order in memory"):
        td.ones(3).resize_(2)
