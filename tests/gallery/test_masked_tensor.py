"""Missing values: masks of results, reductions against the elements that are there, gradients, and the suite."""

import pickle
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from examples.gallery.masked_tensor import MaskedTensor
from tensorlike.testing import TensorLikeSuite


class TestSuite(TensorLikeSuite):
    functions = ("add", "mul", "div", "maximum", "exp", "tanh", "eq", "where", "sum", "mean", "amax", "amin", "cat",
                 "cumsum", "reshape", "Tensor.add", "Tensor.add_")  # fmt: skip
    gradients = True
    known_gaps = {"mixed:Tensor.add_": "a plain tensor that is written to has no place for what is missing"}

    def make_operand(self, tensor: Any) -> Any:
        return MaskedTensor(tensor, True)

    def to_dense(self, operand: Any) -> Any:
        return operand.held


DATA = np.array([[1.0, 7.0, 3.0], [4.0, 0.5, 2.0]])
MASK = np.array([[True, False, True], [True, False, False]])


@pytest.fixture
def masked() -> MaskedTensor:
    return MaskedTensor(tl.tensor(DATA), tl.tensor(MASK))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_reductions_leave_missing_elements_out(masked: MaskedTensor, name: str, axis: int | None) -> None:
    expected = getattr(np.ma, name)(np.ma.array(DATA, mask=~MASK), axis=axis)
    function = {"max": tl.amax, "min": tl.amin}.get(name) or getattr(tl, name)
    found = function(masked) if axis is None else function(masked, axis)
    assert np.array_equal(found.mask.numpy(), ~np.ma.getmaskarray(np.ma.asarray(expected)))
    np.testing.assert_allclose(found.filled(-1.0).numpy(), np.ma.filled(np.ma.asarray(expected), -1.0))


def test_elementwise_results_are_there_where_all_operands_are(masked: MaskedTensor) -> None:
    other = MaskedTensor([1.0, 1.0, 1.0], [False, True, True])
    assert (masked + other).mask.tolist() == [[False, False, True], [False, False, False]]
    assert (1 - masked).mask.tolist() == MASK.tolist()
    assert tl.where(masked > 2, masked, 0.0).mask.tolist() == MASK.tolist()
    masked += 1
    assert isinstance(masked, MaskedTensor)
    assert masked.filled(0).tolist() == [[2.0, 0.0, 4.0], [5.0, 0.0, 0.0]]


def test_masks_are_arranged_with_their_elements(masked: MaskedTensor) -> None:
    for function in (lambda x: x.t(), lambda x: x[:, ::2], lambda x: tl.roll(x, 1, 1), lambda x: x.reshape(3, 2)):
        result = function(masked)
        assert tl.equal(result.held, function(tl.tensor(DATA)))
        assert tl.equal(result.mask, function(tl.tensor(MASK)))
    joined = tl.cat([masked, tl.zeros(1, 3, dtype=tl.float64)])
    assert joined.mask[2].tolist() == [True] * 3
    first, second = masked.unbind(0)
    assert [first.mask.tolist(), second.mask.tolist()] == MASK.tolist()


def test_integers_have_bounds_of_their_own() -> None:
    x = MaskedTensor(tl.tensor([5, 3]), [True, False])
    assert (tl.amax(x).item(), tl.amin(x).item(), tl.argmax(x).item()) == (5, 5, 0)
    assert tl.amax(x).held.dtype == tl.int64
    with pytest.raises(ValueError, match="the value is missing"):
        x[1].item()
    assert bool(x[0] > 3)
    assert not bool(x[0] > 7)


def test_gradients_reach_the_elements_that_are_there() -> None:
    data = tl.tensor([1.0, 2.0, 9.0], requires_grad=True)
    x = MaskedTensor(data, [True, True, False])
    (x.mean() * 2 + tl.nn.functional.softmax(x, 0).sum()).held.backward()
    assert tl.allclose(data.grad, tl.tensor([1.0, 1.0, 0.0]), atol=1e-6)


def test_functions_without_a_rule_are_refused(masked: MaskedTensor) -> None:
    with pytest.raises(TypeError, match="no implementation found for 'tensorlike.median'"):
        tl.median(masked)
    with pytest.raises(TypeError, match="no implementation found"):
        tl.add(tl.ones(3), masked, out=tl.ones(2, 3))


def test_pickle(masked: MaskedTensor) -> None:
    copied = pickle.loads(pickle.dumps(masked))
    assert (copied.held.tolist(), copied.mask.tolist()) == (DATA.tolist(), MASK.tolist())
