"""Results of the native core and of pure Python are the same bits: each value is computed in one way."""

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tests.helpers.native import python_function

pytestmark = pytest.mark.skipif(core is None, reason="the native core is not built, or switched off")

#: Calls of a matrix, one of its shape, one that it can be multiplied by, a row and a column.
CALLS = {
    "sum": (tl.sum, lambda a, w, b, row, column: (a,)),
    "sum of columns": (tl.sum, lambda a, w, b, row, column: (a, 0)),
    "sum of rows": (tl.sum, lambda a, w, b, row, column: (a, 1)),
    "mean": (tl.mean, lambda a, w, b, row, column: (a,)),
    "mean of rows": (tl.mean, lambda a, w, b, row, column: (a, 1)),
    "prod": (tl.prod, lambda a, w, b, row, column: (a,)),
    "softmax": (tl.softmax, lambda a, w, b, row, column: (a, -1)),
    "matrices": (tl.matmul, lambda a, w, b, row, column: (a, b)),
    "matrix and vector": (tl.matmul, lambda a, w, b, row, column: (a, row)),
    "vectors": (tl.matmul, lambda a, w, b, row, column: (row, row)),
    "linear": (tl.nn.functional.linear, lambda a, w, b, row, column: (a, w, column)),
    "add": (tl.add, lambda a, w, b, row, column: (a, w)),
    "with a number": (tl.div, lambda a, w, b, row, column: (a, 3.3)),
    "exp": (tl.exp, lambda a, w, b, row, column: (a,)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_core_and_python_compute_the_same_bits(name, dtype):
    function, operands = CALLS[name]
    python = python_function(function)
    assert python is not function
    random = np.random.default_rng(0)
    for _ in range(100):
        n, m = int(random.integers(1, 9)), int(random.integers(1, 70))
        scale = 10 ** random.uniform(-2, 2)
        shapes = ((n, m), (n, m), (m, n), (m,), (n,))
        given = operands(*[tl.from_numpy((random.standard_normal(s) * scale).astype(dtype)) for s in shapes])
        assert function(*given).numpy().tobytes() == python(*given).numpy().tobytes()
