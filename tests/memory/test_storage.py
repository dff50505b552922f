"""The memory behind tensors: storages, memory formats, what must not overlap, and views made before gradients."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

import tensorlike as tl


def test_tensors_on_the_same_memory_have_the_same_storage():
    x = tl.arange(6.0).view(2, 3)
    storage = x.untyped_storage()
    for view in (x[1], x.t(), x.detach(), x.data, x.view(tl.int32), x.expand(4, 2, 3), x.as_strided((2,), (3,))):
        assert view.untyped_storage() is storage
    assert x.clone().untyped_storage() is not storage
    assert (storage.nbytes(), storage.size(), len(storage), storage.element_size()) == (24, 24, 24, 1)
    assert storage.data_ptr() == x.data_ptr()
    assert storage.tolist() == list(x.numpy().tobytes())
    assert repr(tl.UntypedStorage([1, 2])) == " 1\n 2\n[tensorlike.UntypedStorage(device=cpu) of size 2]"


def test_writing_to_a_storage_writes_to_the_tensor():
    x = tl.zeros(2)
    x.untyped_storage().copy_(tl.tensor([1.0, 2.0]).untyped_storage())
    assert x.tolist() == [1, 2]
    x.untyped_storage()[4:].fill_(0)
    assert x.tolist() == [1, 0]
    x.untyped_storage()[3] = 64
    assert x[0] == 4.0  # 0x40800000
    copy = x.untyped_storage().clone()
    copy.fill_(0)
    assert x[0] == 4.0


@pytest.mark.parametrize(
    "wrong, error, message",
    [
        (lambda s: s[4], IndexError, "out of range for storage of size 4"),
        (lambda s: s["a"], TypeError, "can't index"),
        (lambda s: s[::2], RuntimeError, "step of 1"),
        (lambda s: s.resize_(8), RuntimeError, "fixed size"),
        (lambda s: s.copy_(tl.UntypedStorage(2)), RuntimeError, "size does not match"),
        (lambda s: s.copy_([1]), TypeError, "must be UntypedStorage"),
        (lambda s: tl.UntypedStorage(-1), RuntimeError, "negative"),
    ],
)
def test_errors_of_storages(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(tl.UntypedStorage(4))


def test_a_typed_storage_has_elements():
    with pytest.warns(UserWarning, match="deprecated"):
        storage = tl.arange(4)[1:].storage()
    assert storage.tolist() == [0, 1, 2, 3]
    assert (len(storage), storage.dtype, storage.nbytes(), storage[2]) == (4, tl.int64, 32, 2)
    storage[0] = 9
    assert storage.untyped()[0] == 9
    with pytest.warns(UserWarning, match="deprecated"):
        assert isinstance(storage, tl.ones(1).storage_type())


def test_memory_that_a_user_hands_in_starts_where_the_array_does():
    array = np.arange(6.0)
    x = tl.from_numpy(array[2:])
    assert (x.storage_offset(), x.untyped_storage().nbytes()) == (0, 32)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((5,), (1,))
    x[0] = 9
    assert array[2] == 9
    gaps = tl.from_numpy(array[::2])
    assert (gaps.stride(), gaps.untyped_storage().nbytes()) == ((2,), 40)


def test_arrays_that_tensors_cannot_be():
    with pytest.raises(ValueError, match="negative"):
        tl.from_numpy(np.arange(3)[::-1])
    packed = np.zeros(3, dtype=[("a", "i4"), ("b", "i1")])
    with pytest.raises(ValueError, match="multiple of the element byte size"):
        tl.from_numpy(packed["a"])
    fixed = np.arange(3)
    fixed.flags.writeable = False
    for make in (tl.from_numpy, tl.as_tensor, tl.asarray):
        with pytest.warns(UserWarning, match="not writable"):
            x = make(fixed)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    with pytest.warns(UserWarning, match="not writable"):
        tl.frombuffer(b"1234", dtype=tl.uint8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the memory is shared with forked processes")
def test_shared_memory_is_seen_by_another_process():
    x = tl.zeros(3).share_memory_()
    assert x.is_shared()
    assert x[1:].is_shared()
    assert not tl.zeros(3).is_shared()
    assert x.share_memory_() is x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of a fork while threads run.
        child = os.fork()
    if not child:
        x[0] = 5
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert x.tolist() == [5, 0, 0]


def test_memory_formats():
    x = tl.arange(120.0).view(2, 3, 4, 5)
    last = x.contiguous(memory_format=tl.channels_last)
    assert last.stride() == (60, 1, 15, 3)
    assert last.is_contiguous(memory_format=tl.channels_last)
    assert not last.is_contiguous()
    assert last.contiguous(memory_format=tl.channels_last) is last
    assert last.equal(x)
    kept = (last + 1, last.clone(), last.double(), tl.empty_like(last), tl.rand_like(last))
    assert all(y.stride() == last.stride() for y in kept)
    assert last.to(memory_format=tl.contiguous_format).stride() == x.stride()
    assert tl.zeros_like(last, memory_format=tl.contiguous_format).is_contiguous()
    assert last.dim_order() == (0, 2, 3, 1)
    for call in (x[0].contiguous, x[0].clone, x[0].to):
        with pytest.raises(RuntimeError, match="rank 4"):
            call(memory_format=tl.channels_last)
    with pytest.raises(TypeError, match="memory_format"):
        x.clone(memory_format="channels_last")
    with pytest.raises(TypeError, match="layout"):
        tl.zeros(2, layout="strided")
    with pytest.raises(TypeError, match="cannot create"):
        type(tl.strided)()


def test_made_with_steps():
    assert tl.empty_strided((2, 3), (4, 1)).untyped_storage().nbytes() == 28
    assert tl.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    assert tl.ones(1, dtype=tl.int8).new_empty_strided((2, 2), (1, 2)).dtype is tl.int8
    assert tl.scalar_tensor(2, dtype=tl.int16).dtype is tl.int16
    for wrong in (
        lambda: tl.empty_strided((2,), (1, 2)),
        lambda: tl.empty_strided((2,), (-1,)),
        lambda: tl.empty_permuted((2, 3), (0, 0)),
        lambda: tl.empty_permuted((2, 3), (0, 2)),
        lambda: tl.scalar_tensor(1j),
    ):
        with pytest.raises(RuntimeError):
            wrong()


OVERLAPPING = [
    lambda x: x[1:].add_(x[:-1]),
    lambda x: x[1:].copy_(x[:-1]),
    lambda x: x.__setitem__(slice(1, None), x[:-1]),
    lambda x: tl.exp(x[1:], out=x[:-1]),
    lambda x: x.view(2, 2).add_(x.view(2, 2).t()),
]


@pytest.mark.parametrize("write", OVERLAPPING)
def test_what_is_read_must_not_partly_be_what_is_written(write):
    x = tl.arange(4.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        write(x)
    assert x.tolist() == [0, 1, 2, 3]


def test_memory_that_overlaps_altogether_or_not_at_all_is_fine():
    x = tl.arange(4.0)
    x.mul_(x)
    x[:2].add_(x[2:])
    tl.add(x, 1, out=x)
    assert x.tolist() == [5, 11, 5, 10]


def test_one_place_is_not_written_several_times():
    x = tl.ones(3).expand(2, 3)
    for write in (lambda: x.add_(1), lambda: x.copy_(tl.ones(3)), lambda: tl.add(x, 1, out=x)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write()
    assert x.fill_(2).tolist() == [[2, 2, 2]] * 2


class TestViewsMadeBeforeTheirBaseRequiredGrad:
    def test_they_require_grad_and_their_gradient_is_lost(self):
        x = tl.ones(3)
        view = x[:2]
        x.requires_grad_()
        assert view.requires_grad
        assert view.is_leaf
        (view * 2).sum().backward()
        assert x.grad is None
        assert view.grad is None

    def test_a_modification_gives_them_the_history_of_their_base(self):
        x = tl.ones(3)
        view = x[:2]
        x.requires_grad_()
        with tl.no_grad():
            x.mul_(3)
        (view * 2).sum().backward()
        assert x.grad.tolist() == [2, 2, 0]

    def test_writing_to_them_writes_to_a_leaf(self):
        x = tl.ones(3)
        view = x[:2]
        x.requires_grad_()
        with pytest.raises(RuntimeError, match="view of a leaf"):
            view.mul_(2)
        with pytest.raises(RuntimeError, match="requires grad"):
            view.numpy()

    def test_made_under_no_grad_they_cannot_follow(self):
        x = tl.ones(3, requires_grad=True) * 1
        with tl.no_grad():
            view = x[:2]
        x.mul_(2)
        assert view.requires_grad
        assert repr(view) == "tensor([2., 2.], grad_fn=<Invalid>)"
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            view * 2


def test_gradients_of_another_dtype():
    x = tl.ones(2, requires_grad=True)
    x.grad_dtype = tl.float64
    (x * 2).sum().backward()
    assert x.grad.dtype is tl.float64
    assert x.grad_dtype is tl.float64
    with pytest.raises(RuntimeError, match="already a gradient"):
        x.grad_dtype = tl.float32
    with pytest.raises(RuntimeError, match="leaf"):
        (x * 2).grad_dtype = tl.float32


def test_results_are_contiguous_whatever_the_layout_of_the_operands():
    x = tl.arange(6.0).view(2, 3).t()
    joined = (tl.cat([x, x]), tl.stack([x, x]))
    for y in (x.softmax(0), x.cumsum(0), *joined, x.masked_fill(x > 1, 0), x.amax(1), x.tril()):
        assert y.is_contiguous()
        y.view(-1)
    assert not (x + 1).is_contiguous()


def test_python_functions_on_elements():
    x = tl.arange(4.0)[::2]
    assert x.apply_(lambda v: v + 1).tolist() == [1, 3]
    assert x._base.tolist() == [1, 1, 3, 3]
    assert x.map_(tl.tensor(2.0), lambda a, b: a * b).tolist() == [2, 6]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [6, 18]
    with pytest.raises(TypeError, match="must return a number"):
        x.apply_(str)
    with pytest.raises(TypeError, match="dtype"):
        x.map_(x.double(), lambda a, b: a)


def test_loading_into_a_tensor():
    x, y = tl.zeros(2), tl.ones(2)
    assert x.module_load(y).tolist() == [1, 1] == x.tolist()
    loaded = x.module_load(y, assign=True)
    assert loaded is not y
    assert loaded.data_ptr() == y.data_ptr()
    x.__setstate__((tl.arange(6.0).untyped_storage(), 1, (2, 2), (2, 1)))
    assert x.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="own state"):
        x.__setstate__({"_tl_data": 3})
