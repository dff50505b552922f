"""What random programs found, each as a program that runs in both libraries: see `tests.random_programs`."""

from __future__ import annotations

import pytest

from tests.random_programs.running import compare_program

PROGRAMS = {
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
    "writing to an empty view": """
        v1 = lib.zeros((2, 0), requires_grad=True)
        v2 = v1 * 2
        v2[:1].mul_(3)
        v2[:] *= 2
        v2.sum().backward()
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    lines = [line.strip() for line in PROGRAMS[name].strip().splitlines()]
    difference = compare_program(lines)
    assert difference is None, difference


def test_a_difference_is_found():
    assert compare_program(["v1 = lib.__name__"]) is not None
    assert compare_program(["v1 = lib.ones(2)", "v2 = v1 + (lib.__name__ == 'torch')"]) is not None
