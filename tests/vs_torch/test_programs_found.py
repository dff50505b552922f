"""What random programs found, each as a program that runs in both libraries: see `tests.random_programs`."""

from __future__ import annotations

import pytest

from tests.random_programs.running import Run, compare_program
from tests.random_programs.statements import Statement

PROGRAMS = {
    "einsum saves what gradients need": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = v1 * 1
        v3 = lib.einsum("i,i->", v2, lib.ones(3))
        v2.zero_()
        v3.backward()
        v4 = lib.einsum("i->", v1)
        v4.backward()
        v4.backward()
        v5 = lib.einsum("ij,jk,kl->il", lib.ones(2, 2), lib.ones(2, 2, requires_grad=True) * 1, lib.ones(2, 2))
        v6 = lib.einsum("ii->i", lib.ones(2, 2, requires_grad=True)) * 1
        (v5.sum() * v6.sum()).backward()
    """,
    "einsum saves operands for each other": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = v1 * 1
        v3 = lib.einsum("i,i->", v2, v1)
        v2.zero_()
        v3.backward()
    """,
    "einsum frees what it saved": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = lib.einsum("i,i->", v1, lib.ones(3))
        v2.backward()
        v2.backward()
    """,
    "a number that lerp saved is not freed": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = lib.lerp(v1, lib.ones(3), 0.3).sum() + lib.lerp(lib.ones(3), v1, 0.7).sum()
        v2.backward()
        v2.backward()
        v3 = v1.clone().lerp_(lib.ones(3), 0.25).sum()
        v3.backward()
        v3.backward()
    """,
    "a tensor that lerp saved is freed": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = lib.lerp(v1, lib.ones(3), lib.ones(3)).sum()
        v2.backward()
        v2.backward()
    """,
    "an in-place comparison runs backward twice": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = v1.clone().lt_(v1).sum()
        v2.backward()
        v2.backward()
    """,
    "an in-place comparison through a view is freed": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = v1.clone()
        v2[1:].lt_(v1[1:])
        v3 = v2.sum()
        v3.backward(retain_graph=True)
        v3.backward()
        v3.backward()
    """,
    "an operation through a view that saves nothing is freed": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = v1.clone()
        v2[1:].add_(1)
        v3 = v2.sum()
        v3.backward()
        v3.backward()
    """,
    "a view made under no_grad has no node": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True) * 1
        with lib.no_grad(): v2 = v1[:2]
        v3 = v2 * 2
        v4 = lib.tensor([node is None for node, _ in v3.grad_fn.next_functions])
        (v3.sum() + v1.sum()).backward()
    """,
    "an in-place comparison cuts the history": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = lib.tensor([2.0, 2.0, 2.0], requires_grad=True)
        v3 = v1 * 2
        v3.lt_(v2)
        (v3 * v3).sum().backward()
    """,
    "an in-place comparison with a view": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v3 = v1 * 2
        v4 = v3[1:]
        v4.eq_(v1[1:])
        (v3 * v3).sum().backward()
    """,
    "an in-place comparison requires grad": """
        v1 = lib.ones(3)
        v1.ge_(lib.zeros(3, requires_grad=True))
    """,
    "logical functions write to leaves": """
        v1 = lib.ones(3, requires_grad=True)
        v1.logical_and_(lib.tensor([1.0, 0.0, 1.0]))
        v1.logical_not_()
    """,
    "complex numbers that are not real are true": """
        v1 = lib.tensor([1j, 0j, 1 + 1j])
        v2 = v1.bool()
        v3 = lib.zeros(3, dtype=lib.bool)
        v3[...] = v1
        v4 = lib.zeros(3, dtype=lib.bool)
        v4.copy_(v1)
    """,
    "an infinite gradient of imaginary parts": """
        v1 = lib.zeros(2, dtype=lib.complex64, requires_grad=True)
        v1.imag.log10().sum().backward()
    """,
    "nextafter has a derivative": """
        v1 = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        v2 = lib.tensor([1.0, 3.0, 2.0], requires_grad=True)
        lib.nextafter(v1, v2).backward(lib.tensor([2.0, 3.0, 4.0]))
    """,
    "hardsigmoid of nan": """
        v1 = lib.tensor([nan, 0.0, 5.0, inf], requires_grad=True)
        lib.nn.functional.hardsigmoid(v1).sum().backward()
    """,
    "a number of another dtype at a mask": """
        v1 = lib.zeros(4, dtype=lib.int64)
        v1[lib.tensor([True, False, True, False])] = lib.tensor(2.5)
        v2 = lib.zeros(2, 4, dtype=lib.int64)
        v2[:, lib.tensor([True, False, True, False])] = lib.tensor(3.5)
        v2[lib.tensor([0, 1])] = lib.tensor(2.5)
    """,
    "out= that is an operand of another shape": """
        v1 = lib.ones(1, 2)
        v2 = lib.ones(2, 1, 2)
        v3 = lib.mul(v1, v2, out=v1)
    """,
    "out= that is read, of another shape": """
        v1 = lib.tensor([3.0])
        v2 = lib.take(v1, lib.tensor([0, 0]), out=v1)
        v3 = lib.cat([v1, v1], out=v1)
        v4 = lib.gather(v1, 0, lib.tensor([0, 0]), out=v1)
    """,
    "factories write to what has a history": """
        v1 = lib.ones(3, requires_grad=True) * 2
        v2 = lib.arange(3, out=v1)
    """,
    "in-place sums keep the dtype": """
        v1 = lib.tensor([True, True])
        v1.cumsum_(0)
        v2 = lib.tensor([100, 100], dtype=lib.int8)
        v2.cumprod_(0)
    """,
    "block_diag of numbers": """
        v1 = lib.block_diag(lib.tensor(1.0, dtype=lib.float64), lib.ones(2))
    """,
    "a value that does not fit a mask": """
        v1 = lib.ones(2, 2)
        v1[1, lib.tensor([True, False])] = lib.ones(2, 2)
    """,
    "versions of resize_": """
        v1 = lib.arange(4)
        v1.resize_(2, 2)
    """,
    "differences of nothing": """
        v1 = lib.ones((2, 0), requires_grad=True)
        v2 = v1.diff()
        v3 = lib.tensor([True, False, True]).diff()
        v4 = lib.diff(lib.tensor([1, 4]), 1, -1, lib.tensor([0.5]))
    """,
    "conj_physical of real numbers": """
        v1 = lib.ones(2)
        v2 = v1.conj_physical()
        v3 = lib.conj_physical(v1)
        v1.conj_physical_()
        v4 = lib.tensor([1j, 2.0], requires_grad=True)
        v5 = lib.conj_physical(v4)
        v5.conj_physical_()
        v5.backward(lib.tensor([1j, 2.0]))
    """,
    "trapezoid of few points, of infinities and of bytes": """
        v1 = lib.trapezoid(lib.tensor([1.0, 2.0, inf]))
        v2 = lib.trapezoid(lib.ones((2, 1), dtype=lib.int64))
        v3 = lib.trapezoid(lib.ones((2, 0), dtype=lib.bool))
        v4 = lib.trapezoid(lib.tensor([4, 255, 255], dtype=lib.uint8))
        v5 = lib.cumulative_trapezoid(lib.tensor([1.0, 2.0, 4.0]), dx=2)
        v6 = lib.trapezoid(lib.tensor([1.0, 2.0]), lib.tensor([[0.0, 4.0], [1.0, 1.0]]))
    """,
    "ldexp of a complex number": """
        v1 = lib.ldexp(lib.tensor(1j, dtype=lib.complex128), lib.tensor([1, 200, -3]))
    """,
    "float_power of booleans and integers": """
        v1 = lib.tensor([1.0, 2.0], requires_grad=True)
        v2 = lib.tensor([2, 3], dtype=lib.int32)
        v3 = v1.float_power(lib.tensor([True, False])) + v2.float_power(v1)
        v2.zero_()
        v3.sum().backward()
    """,
    "powers of booleans": """
        v1 = lib.tensor([True, False]) ** True
        v2 = lib.tensor([True, False]) ** False
    """,
    "threshold converts its numbers": """
        v1 = lib.threshold(lib.zeros(2, dtype=lib.uint8), -1, -1)
        v2 = lib.threshold(lib.tensor([2, 3]), 2.7, 1.5)
    """,
    "ravel of elements apart": """
        v1 = lib.ones(2, 2)
        v2 = v1[:, 0].ravel()
        v3 = v1.ravel()
    """,
    "cosine_similarity of short vectors": """
        v1 = lib.tensor([[1e-9, 0.0], [0.0, 0.0]], dtype=lib.float64, requires_grad=True)
        v2 = lib.tensor([[1.0, 2.0]], dtype=lib.float64)
        v3 = lib.nn.functional.cosine_similarity(v1, v2)
        v3.sum().backward()
    """,
    "windows of a tensor without dimensions": """
        v1 = lib.tensor(2.5, requires_grad=True)
        v2 = v1.unfold(0, 0, 1)
        v3 = v1.unfold(0, 1, 1)
        (v2.sum() + v3.sum()).backward()
    """,
    "the order of three equal matrices": """
        v1 = lib.tensor([[1.0, -2.0], [0.5, 1.0]])
        v2 = lib.linalg.multi_dot([v1, v1, lib.tensor([[inf, 0.5], [inf, -1.0]])])
    """,
    "a mean beside a deviation is written to": """
        v1 = lib.tensor([1.0, 2.0, 4.0], requires_grad=True)
        v2 = lib.std_mean(v1)[1]
        v2 += 1
        v2.backward()
    """,
    "booleans as targets": """
        v1 = lib.tensor([1.5, -2.5], requires_grad=True)
        v2 = lib.tensor([True, False])
        v3 = lib.nn.functional.smooth_l1_loss(v1, v2) + lib.nn.functional.mse_loss(v1, v2)
        v4 = lib.nn.functional.huber_loss(v1.detach(), v2)
    """,
    "einsum over one element": """
        v1 = lib.tensor([[True], [False]])
        v2 = lib.einsum('ij,kj->ik', v1, v1)
        v3 = lib.einsum('ij,kj->ik', v1, lib.ones((2, 1)))
    """,
    "writing to a view of all of a tensor": """
        v1 = lib.zeros((2, 1), dtype=lib.int64)
        v2 = v1.expand(2, 1)
        v2.le_(v1)
    """,
    "columns of nonzero": """
        v1 = lib.tensor([[5, -1], [1, 0]]).nonzero()
        v2 = lib.argwhere(lib.zeros((2, 3)))
    """,
    "a leaf of another shape": """
        v1 = lib.tensor(1.75, requires_grad=True)
        v2 = (v1 * 2).detach()
        with lib.no_grad(): v1.unsqueeze_(0)
        (v1 * 3).backward()
    """,
    "a view outside the history of a leaf": """
        v1 = lib.tensor(1.75, requires_grad=True)
        with lib.no_grad(): v2 = v1.view(1)
        v2.backward()
    """,
    "the gradient of scatter_add for a tensor without dimensions": """
        v1 = lib.tensor(-0.25, requires_grad=True)
        v2 = lib.zeros(1).scatter_add(0, lib.tensor([0]), v1)
        v2.backward()
    """,
    "the version goes on after `.data =`": """
        v1 = lib.ones(2, 2)
        v2 = v1.split(1, 0)[0]
        v1.data = v2
        v1 += 1
    """,
    "special functions at their poles": """
        v1 = lib.tensor([-inf, inf, -1.0]).mvlgamma(1)
        v2 = lib.polygamma(1, lib.tensor([-2.0, -1.0, 0.5], dtype=lib.bfloat16))
    """,
    "cosine_similarity of two dtypes": """
        v1 = lib.arange(3, dtype=lib.float64)
        v2 = lib.nn.functional.cosine_similarity(v1, lib.tensor([2.25, -2.25, 0.5]), 0)
    """,
    "cosine_similarity with integers": """
        v1 = lib.tensor([-2.0, -1.75, 1.25], dtype=lib.float64, requires_grad=True)
        v2 = lib.nn.functional.cosine_similarity(v1, lib.tensor([5, 2, 4]), -1)
        v3 = lib.nn.functional.cosine_similarity(lib.tensor([False, True, True]), v1, -1)
        (v2 + v3).backward()
    """,
    "results that are contiguous": """
        v1 = lib.arange(12).reshape(2, 2, 3).permute(1, 2, 0)
        v2 = v1.double().sum(0, keepdim=True)
        v3 = v1.float().mean((0,))
        v4 = lib.trapezoid(v1, dim=0)
        v5 = lib.nn.functional.one_hot(v1[0])
        v6 = v1[0].mvlgamma(1)
        v7 = lib.ones(3, 2).expand(2, 3, 2).double()
    """,
    "truth of bytes as booleans": """
        v1 = lib.tensor([[1, 0], [2, 3]], dtype=lib.uint8)
        v2 = lib.all(v1, -1, out=lib.zeros(2, dtype=lib.bool))
        v3 = lib.any(v1, 0, out=lib.zeros(0, dtype=lib.bool))
    """,
    "numbers in tensors wrap around": """
        v1 = lib.zeros(2, 3, dtype=lib.uint8)
        v1.fill_(lib.tensor(-1.75))
        v1[0] = lib.tensor(300)
        v1[lib.tensor([True, False])] = lib.tensor(-1)
        v1.expand(2, 2, 3).fill_(7)
    """,
    "padding of tensors without elements": """
        v1 = lib.nn.functional.pad(lib.ones(0, 2), (-2, 1, 0, 0))
        v2 = lib.nn.functional.pad(lib.ones(0, 2), (1, 0, 2, 0), value=3.0)
    """,
    "writing to an empty view": """
        v1 = lib.zeros((2, 0), requires_grad=True)
        v2 = v1 * 2
        v2[:1].mul_(3)
        v2[:] *= 2
        v2.sum().backward()
    """,
}


@pytest.mark.parametrize("line", [
    "v2 = v1.sum(dtype=lib.int64)", "v2 = v1.cumsum(0, dtype=lib.int32)", "v2 = v1.prod(0, dtype=lib.bool)",
    "v1.detach().masked_fill_(v1 > 0, lib.tensor(1e60, dtype=lib.float64))",
    "v1.detach().to(lib.uint8).index_fill_(0, lib.tensor([0]), lib.tensor(-1.75))",
    "v1.detach().to(lib.uint8)[v1 > 0] = lib.tensor(300)", "v1.bool().index_fill_(5, lib.tensor([0]), 1j)",
    "v1.detach()[:1].expand(3).fill_(lib.tensor(2.0))", "lib.nn.functional.pad(v1, (1, -4))",
    "lib.nn.functional.pad(v1, (-4, 4))", "lib.index_select(v1.detach(), 0, lib.tensor([0, 1, 2]), out=v1.data)",
    "v1.detach().float_power_(2)", "v2 = lib.threshold(v1.detach(), 1j, 0)", "v2 = lib.threshold(v1.long(), inf, 0)",
])  # fmt: skip
def test_both_refuse(line):
    run = Run()
    assert run.run(Statement("ones", "v1 = lib.ones(3, requires_grad=True)")) is None
    assert isinstance(run.run(Statement("", line)), RuntimeError)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    lines = [line.strip() for line in PROGRAMS[name].strip().splitlines()]
    difference = compare_program(lines)
    assert difference is None, difference


def test_a_difference_is_found():
    assert compare_program(["v1 = lib.__name__"]) is not None
    assert compare_program(["v1 = lib.ones(2)", "v2 = v1 + (lib.__name__ == 'torch')"]) is not None
