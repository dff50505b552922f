"""Products of matrices: what the registry-driven tests do not look at."""

from __future__ import annotations

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.overrides import TorchFunctionMode
from tests.helpers.gradients import check_gradients

F = tl.nn.functional
ones = tl.ones


def test_half_precision_sums_in_single_precision():
    # Summed in half precision this would stop at 2048, where adding one changes nothing any more.
    x = ones(4096, dtype=tl.float16)
    assert tl.dot(x, x).item() == 4096
    assert (x[None] @ x[:, None]).item() == 4096
    assert F.linear(x, x[None], ones(1, dtype=tl.float16)).dtype is tl.float16
    assert tl.einsum("i,i->", x, x).item() == 4096
    assert tl.addmm(ones(1, 1, dtype=tl.float16), x[None], x[:, None]).item() == 4096


def test_integers_wrap_around():
    assert tl.dot(tl.tensor([16], dtype=tl.uint8), tl.tensor([17], dtype=tl.uint8)).item() == 16


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, float("inf")])
def test_second_derivative_of_cdist(p):
    random = np.random.default_rng(0)
    x, y = (tl.from_numpy(random.uniform(-1, 1, shape)) for shape in ((3, 2), (4, 2)))
    assert check_gradients(lambda a, b: tl.cdist(a, b, p=p), [x, y], second=True)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_equal_rows_have_no_gradient_of_their_distance(p):
    x = ones(2, 3, requires_grad=True)
    tl.cdist(x, ones(1, 3), p=p).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0]] * 2


def test_einsum_chooses_an_order_that_keeps_the_products_small():
    # From left to right the four vectors in front would make 10**10 numbers.
    vectors = [tl.rand(316, dtype=tl.float64) for _ in range(8)]
    found = tl.einsum("i,j,k,l,i,j,k,l->", *vectors)
    expected = np.prod([np.dot(vectors[i].numpy(), vectors[i + 4].numpy()) for i in range(4)])
    assert found.item() == pytest.approx(expected)


def test_einsum_broadcasts_what_the_ellipsis_covers():
    a, b = tl.rand(5, 1, 2, 3, dtype=tl.float64), tl.rand(4, 3, 2, dtype=tl.float64)
    found = tl.einsum("...ij,...jk->...ik", a, b)
    assert found.shape == (5, 4, 2, 2)
    assert np.allclose(found.numpy(), a.numpy() @ b.numpy())
    assert tl.einsum("i...,j->...j", tl.rand(2, 3, 4), ones(5)).shape == (3, 4, 5)


@pytest.mark.parametrize("equation", ["ij->ij", "ij->ji", "ii->i", "ij", "..."])
def test_results_of_einsum_share_no_memory(equation):
    x = tl.rand(3, 3)
    assert not np.may_share_memory(tl.einsum(equation, x).numpy(), x.numpy())


def test_tensordot_with_dims_in_a_tensor():
    a, b = tl.rand(2, 3), tl.rand(3, 4)
    expected = (a @ b).tolist()
    assert tl.tensordot(a, b, dims=tl.tensor(1)).tolist() == expected
    assert tl.tensordot(a, b, dims=tl.tensor([[1], [0]])).tolist() == expected


@pytest.mark.parametrize(
    "call",
    [
        lambda i, a, b, **f: tl.addmm(i, a[0], b[0], **f),
        lambda i, a, b, **f: tl.addmv(i[0], a[0], b[0, :, 0], **f),
        lambda i, a, b, **f: tl.addbmm(i, a, b, **f),
        lambda i, a, b, **f: tl.baddbmm(i[None], a, b, **f),
        lambda i, a, b, **f: tl.addr(i, a[0, :, 0], b[0, 0], **f),
    ],
)
def test_what_is_multiplied_by_zero_is_not_read(call):
    nan, one = tl.full((2, 2), float("nan")), ones(2, 2)
    some, holes = ones(1, 2, 2), tl.full((1, 2, 2), float("nan"))
    assert not bool(call(nan, some, some, beta=0).isnan().any())
    assert bool((call(one, holes, some, alpha=0) == 1).all())
    assert bool(call(nan, some, some).isnan().any())


def test_in_place_sums_of_products_write_to_their_tensor():
    x = ones(2, 2)
    assert x.addmm_(ones(2, 3), ones(3, 2), beta=2) is x
    assert x.tolist() == [[5, 5], [5, 5]]
    with pytest.raises(RuntimeError, match="output with shape"):
        ones(2).addmm_(ones(2, 3), ones(3, 2))


def test_forms_of_addr_have_one_dtype():
    whole, vector = tl.ones(2, 2, dtype=tl.int64), tl.tensor([0.5, 1.0])
    expected = tl.addr(whole, vector, vector)
    found = whole.addr(vector, vector)
    assert found.dtype is expected.dtype is tl.float32
    assert found.tolist() == expected.tolist() == [[1.25, 1.5], [1.5, 2.0]]
    with pytest.raises(RuntimeError, match="can't be cast"):
        whole.addr_(vector, vector)


def test_gradients_of_one_matrix_in_a_batch_of_products():
    x, batch = tl.rand(3, 4, dtype=tl.float64), tl.rand(2, 5, 4, 3, dtype=tl.float64)
    assert check_gradients(tl.matmul, [x, batch], second=True)
    assert check_gradients(tl.matmul, [batch, x], second=True)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 5, 3)])
def test_gradients_of_linear(shape):
    x, weight, bias = (tl.rand(*n, dtype=tl.float64) for n in (shape, (4, 3), (4,)))
    assert check_gradients(F.linear, [x, weight, bias], second=True)
    assert check_gradients(F.linear, [x, weight[0]], second=True)


def test_types_are_asked_about_the_method_for_an_operator():
    class Recorder(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func)
            return func(*args, **(kwargs or {}))

    asked = []
    x = ones(2, 2)
    with Recorder():
        x @ x
        tl.einsum("ij,jk->ik", x, x)
        tl.einsum("ij,jk->ik", [x, x])
    assert asked == [tl.Tensor.matmul, tl.einsum, tl.einsum]


@pytest.mark.parametrize(
    "call",
    [lambda x: tl.einsum("i,i->i", x, x), lambda x: tl.einsum(x, [0], x, [0], [0]), lambda x: tl.einsum("i->i", [x])],
)
def test_subclasses_come_out_of_every_form_of_einsum(call):
    class Marked(tl.Tensor):
        pass

    assert type(call(ones(3).as_subclass(Marked))) is Marked


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: ones(2) @ 2, TypeError, "must be Tensor, not int"),
        (lambda: 2 @ ones(2), TypeError, "must be Tensor, not int"),
        (lambda: ones(()) @ ones(2), RuntimeError, "need to be at least 1D, but they are 0D and 1D"),
        (lambda: ones(2) @ ones(3), RuntimeError, r"inconsistent tensor size, expected tensor \[2\] and src \[3\]"),
        (lambda: ones(2, 3) @ ones(4), RuntimeError, r"size mismatch, got input \(2\), mat \(2x3\), vec \(4\)"),
        (lambda: ones(3) @ ones(4, 5), RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(1x3 and 4x5\)"),
        (lambda: ones(2, 3) @ ones(2, 3), RuntimeError, r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        (lambda: ones(2, 2, 3) @ ones(2, 2, 3), RuntimeError, r"batch2 tensor to be: \[2, 3\] but got: \[2, 2\]\."),
        (lambda: ones(2, 2, 3) @ ones(3, 3, 4), RuntimeError, r"The size of tensor a \(2\) must match .* b \(3\)"),
        (
            lambda: ones(2, 2) @ ones(2, 2, dtype=tl.float64),
            RuntimeError,
            "m1 and m2 .* same dtype, but got: float != double",
        ),
        (
            lambda: ones(2, 2, dtype=tl.bool) @ ones(2, 2, dtype=tl.bool),
            NotImplementedError,
            "not implemented for 'Bool'",
        ),
        (lambda: tl.mm(ones(2), ones(2)), RuntimeError, "self must be a matrix"),
        (lambda: tl.mm(ones(2, 3), ones(3)), RuntimeError, "mat2 must be a matrix"),
        (lambda: tl.bmm(ones(2, 3), ones(2, 3)), RuntimeError, "batch1 must be a 3D tensor"),
        (lambda: tl.mv(ones(2), ones(2)), RuntimeError, r"vector \+ matrix @ vector expected, got 1, 1, 1"),
        (lambda: tl.dot(ones(2, 2), ones(2)), RuntimeError, "1D tensors expected, but got 2D and 1D tensors"),
        (lambda: tl.inner(ones(2), ones(3)), RuntimeError, "the last dimension must match"),
        (lambda: tl.outer(ones(2, 2), ones(3)), RuntimeError, "Expected 1-D argument self, but got 2-D"),
        (lambda: F.linear(ones(2, 3), ones(4, 2)), RuntimeError, r"cannot be multiplied \(2x3 and 2x4\)"),
        (lambda: F.linear(ones(2, 3), ones(4, 3), ones(3)), RuntimeError, r"`bias` of shape \[3\] does not broadcast"),
        (lambda: F.linear(ones(2, 3), ones(4, 3), 2), TypeError, "argument 'bias' .* must be Tensor, not int"),
        (lambda: tl.addmm(ones(3), ones(2, 3), ones(3, 2)), RuntimeError, "The expanded size of the tensor"),
        (lambda: tl.addmm(ones(2), ones(2, 3), ones(3, 2), beta=1j), RuntimeError, "cannot be converted to type float"),
        (
            lambda: tl.addmm(ones(2), ones(2, 3), ones(3, 2), beta="a"),
            TypeError,
            "argument 'beta' must be Number, not str",
        ),
        (lambda: tl.cross(ones(2, 4), ones(2, 4)), RuntimeError, "no dimension of size 3 in input"),
        (lambda: tl.cross(ones(2, 3), ones(3), dim=-1), RuntimeError, "inputs must have the same number of dimensions"),
        (lambda: tl.cdist(ones(2, 3), ones(4, 2)), RuntimeError, "same number of columns. X1: 3 X2: 2"),
        (lambda: tl.cdist(ones(2, 3), ones(4, 3), p=-1), RuntimeError, "only supports non-negative p values"),
        (lambda: tl.cdist(ones(2, 3), ones(4, 3), compute_mode="x"), ValueError, "not a valid value for compute_mode"),
        (lambda: tl.matrix_power(ones(2, 3), 2), RuntimeError, "they are 2 by 3 matrices"),
        (lambda: tl.chain_matmul(), RuntimeError, "Expected one or more matrices"),
        (
            lambda: tl.chain_matmul(ones(2, 3), ones(4, 5)),
            RuntimeError,
            r"shapes \[2, 3\] and \[4, 5\] cannot be multiplied",
        ),
        (
            lambda: tl.tensordot(ones(2, 3), ones(4, 2), 1),
            RuntimeError,
            "first has size 3 in dim 1 and second has size 4",
        ),
        (lambda: tl.tensordot(ones(2, 3), ones(3, 2), dims=-1), RuntimeError, "expects dims >= 0, but got dims=-1"),
        (lambda: tl.tensordot(ones(2, 3), ones(3, 2), ([1, 0], [0])), RuntimeError, "should have same length"),
    ],
)
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "args, error, message",
    [
        ((), ValueError, "must specify the equation string and at least one operand"),
        ((3, ones(2)), TypeError, r"argument 'equation' \(position 1\) must be str, not int"),
        (("ij,jk->ik", ones(2, 3)), RuntimeError, "fewer operands were provided than specified in the equation"),
        (("i", ones(2), ones(2)), RuntimeError, "more operands were provided than specified in the equation"),
        (("i,i", ones(2), 3), TypeError, "expected Tensor as element 1 in argument 1, but got int"),
        (
            ("ijk->i", ones(2, 3)),
            RuntimeError,
            r"number of subscripts in the equation \(3\) does not match the number of",
        ),
        (
            ("ij,jk->ik", ones(2, 3), ones(4, 4)),
            RuntimeError,
            "subscript j has size 4 for operand 1 which does not broadcast",
        ),
        (
            ("ii->i", ones(2, 3)),
            RuntimeError,
            "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2",
        ),
        (
            ("...i,...i", ones(2, 3), ones(4, 3)),
            RuntimeError,
            "dimension 0 covered by ellipsis has size 4 for operand 1",
        ),
        (
            ("ij->ik", ones(2, 3)),
            RuntimeError,
            "output subscript k does not appear in the equation for any input operand",
        ),
        (("ij->ii", ones(2, 3)), RuntimeError, "output subscript i appears more than once in the output"),
        (("i$->i", ones(2, 3)), RuntimeError, "invalid subscript given at index 1 in the equation string"),
        (("ij->1", ones(2, 3)), RuntimeError, "invalid subscript given at index 4 in the equation string"),
        (("i.j->i", ones(2, 3)), RuntimeError, "found '.' for operand 0 that is not part of any ellipsis"),
        (("...i...->i", ones(2, 3)), RuntimeError, "found '.' for operand 0 for which an ellipsis was already found"),
        (("ij->......", ones(2, 3)), RuntimeError, r"found '.' for output but an ellipsis \(...\) was already found"),
        ((ones(2, 3), [0, 52], [0]), ValueError, r"not within the valid range \[0, 52\)"),
        ((ones(2, 3), [0, "a"], [0]), TypeError, "a subscript list holds integers and Ellipsis, not str"),
        (
            ("ij,jk", ones(2, 3), ones(3, 4, dtype=tl.float64)),
            RuntimeError,
            "expected scalar type Float but found Double",
        ),
    ],
)
def test_errors_of_einsum(args, error, message):
    with pytest.raises(error, match=message):
        tl.einsum(*args)
