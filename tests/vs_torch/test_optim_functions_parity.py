"""Functions of optimizers, and options that exclude each other, beside PyTorch's."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.optim import _functional as theirs

import tensorlike as tl
from tensorlike.optim import _functional as ours
from tests.helpers.messages import bare

#: Those that take both options.
WITH_BOTH = ("SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "ASGD", "RMSprop", "Rprop")


def raised(call):
    with pytest.raises((AssertionError, RuntimeError)) as caught:
        call()
    return type(caught.value)


@pytest.mark.parametrize("name", WITH_BOTH)
def test_lists_of_tensors_are_not_differentiated(name):
    found = []
    for library in (torch, tl):
        parameter = library.nn.Parameter(library.ones(2))
        optimizer = getattr(library.optim, name)([parameter], foreach=True, differentiable=True)
        parameter.grad = library.ones(2)
        found.append(raised(optimizer.step))
    assert found[0] is found[1] is (RuntimeError if name == "SGD" else AssertionError)


def test_functions_refuse_it_too():
    for library, functions in ((torch, theirs), (tl, ours)):
        x = [library.ones(2)]
        with pytest.raises(AssertionError, match="_foreach ops don't support autograd"):
            functions.adamax(
                x, x, x, x, [library.tensor(1.0)], foreach=True, differentiable=True, eps=1e-8, beta1=0.9, beta2=0.9,
                lr=0.1, weight_decay=0,
            )  # fmt: skip


@pytest.mark.parametrize("maximize", [False, True])
def test_sparse_adam(maximize):
    found = []
    for library, functions in ((torch, theirs), (tl, ours)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            gradient = library.sparse_coo_tensor([[2, 0, 2]], library.arange(6.0).reshape(3, 2), (4, 2))
        rows = library.arange(8.0).reshape(4, 2)
        parameters, means, squares = [rows.clone(), rows + 1], [rows * 0.1, rows], [rows * 0.2, rows + 3]
        steps = [1, 4]
        result = functions.sparse_adam(
            parameters, [gradient, gradient * 2], means, squares, steps, eps=1e-8, beta1=0.9, beta2=0.99, lr=0.1,
            maximize=maximize,
        )  # fmt: skip
        assert result is None
        assert steps == [1, 4]
        found.append([x.tolist() for x in (*parameters, *means, *squares)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other))
    assert set(ours.__all__) == {name for name in dir(theirs) if name in ours.__all__}


@pytest.mark.parametrize("index", [3, -4, 100])
@pytest.mark.parametrize("by_offsets", [False, True])
def test_rows_of_padding_that_are_not_there(index, by_offsets):
    found, messages = [], []
    for library in (torch, tl):
        bags = library.tensor([0, 1]) if by_offsets else library.tensor([[0, 1]])
        offsets = library.tensor([0]) if by_offsets else None
        table = library.ones(3, 2)
        with pytest.raises(RuntimeError) as caught:
            library.nn.functional.embedding_bag(bags, table, offsets, padding_idx=index)
        found.append(bare(caught.value))
        with pytest.raises(AssertionError) as caught:
            library.nn.EmbeddingBag(3, 2, padding_idx=index)
        messages.append(str(caught.value))
        assert library.nn.functional.embedding_bag(bags, table, offsets, padding_idx=-3).shape == (1, 2)
    assert found[0] == found[1]
    assert messages[0] == messages[1]
