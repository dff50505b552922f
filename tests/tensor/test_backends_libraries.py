"""SciPy, random numbers and the stand-in itself, behind the backends: see test_backends.py."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest
import scipy.special

from tensorlike.tensor import backends
from tensorlike.tensor.device import device
from tests.helpers import strict_cupy
from tests.helpers.stand_in import assert_same, to_device


class TestSciPy:
    def test_special(self, cuda):
        x = np.linspace(0.1, 3, 7)
        special = backends.backend_of(to_device(x)).special
        assert special is cuda.special
        assert_same(special.erf(to_device(x)), scipy.special.erf(x))
        assert_same(special.polygamma(2, to_device(x)), scipy.special.polygamma(2, x))
        assert_same(special.xlogy(to_device(x), 2.0), scipy.special.xlogy(x, 2.0))

    def test_functions_only_the_host_has(self, cuda):
        x = np.linspace(0.1, 3, 7, dtype=np.float32)
        assert not hasattr(strict_cupy.cupyx.scipy.special, "jv")
        with cuda.device_guard(device("cuda:1")):
            there = to_device(x)
        result = backends.special(there).jv(1.5, there)
        assert backends.device_of(result) is device("cuda:1")
        assert_same(result, scipy.special.jv(1.5, x))
        assert backends.special(there).jv is backends.special(there).jv
        assert backends.special(x) is scipy.special
        with pytest.raises(AttributeError):
            backends.special(there).no_such_function

    def test_linalg(self, cuda):
        import scipy.linalg

        a = np.tril(np.random.default_rng(0).normal(size=(3, 3))) + np.eye(3) * 3
        linalg = backends.scipy_linalg(to_device(a))
        assert backends.scipy_linalg(a) is scipy.linalg
        assert_same(
            linalg.solve_triangular(to_device(a), to_device(a), lower=True),
            scipy.linalg.solve_triangular(a, a, lower=True),
        )
        assert_same(linalg.sqrtm(to_device(a @ a.T)), scipy.linalg.sqrtm(a @ a.T))


class TestRandom:
    def test_generator(self, xp):
        generator = xp.random.default_rng(3)
        again = xp.random.default_rng(3)
        normal = generator.normal(2.0, 3.0, (4000,))
        assert isinstance(normal, strict_cupy.ndarray)
        np.testing.assert_array_equal(normal.get(), again.normal(2.0, 3.0, (4000,)).get())
        assert abs(normal.get().mean() - 2) < 0.2
        assert abs(normal.get().std() - 3) < 0.2
        assert generator.normal(to_device(np.zeros(3))).shape == (3,)
        assert (generator.lognormal(size=(5,)).get() > 0).all()
        assert abs(np.median(generator.standard_cauchy(4000).get())) < 0.1
        assert generator.standard_cauchy().shape == ()
        assert generator.integers(0, 5, size=3).shape == (3,)

    def test_permutations(self, xp):
        generator = xp.random.default_rng(3)
        assert sorted(generator.permutation(9).tolist()) == list(range(9))
        rows = to_device(np.arange(20).reshape(10, 2))
        shuffled = generator.permutation(rows).get()
        assert sorted(shuffled[:, 0].tolist()) == list(range(0, 20, 2))
        assert (shuffled[:, 1] == shuffled[:, 0] + 1).all()
        generator.shuffle(rows)
        assert not (rows.get() == np.arange(20).reshape(10, 2)).all()
        for axis in (0, None):
            permuted = generator.permuted(to_device(np.arange(30).reshape(10, 3)), axis=axis).get()
            assert sorted(permuted.ravel().tolist()) == list(range(30))
        out = xp.zeros((10, 2), dtype=np.int64)
        assert generator.permuted(rows, axis=0, out=out) is out
        assert sorted(out.get()[:, 1].tolist()) == list(range(1, 20, 2))

    def test_absent(self, xp):
        with pytest.raises(AttributeError):
            xp.random.default_rng(0).wald
        with pytest.raises(AttributeError):
            xp.random._private
        assert xp.random.Generator is strict_cupy.Generator


class TestTheStandIn:
    """A stand-in that let through what CuPy refuses would make every test on it worthless."""

    REFUSALS = {
        "conversion": lambda cupy, a, n: np.asarray(a),
        "conversion of a list": lambda cupy, a, n: np.array([a, a]),
        "operator": lambda cupy, a, n: a + n,
        "reflected operator": lambda cupy, a, n: n + a,
        "in place": lambda cupy, a, n: operator.iadd(a, n),
        "in place into NumPy": lambda cupy, a, n: operator.iadd(n, a),
        "comparison": lambda cupy, a, n: a < n,
        "function": lambda cupy, a, n: cupy.add(a, n),
        "function of NumPy's": lambda cupy, a, n: np.add(a, n),
        "function on a NumPy array alone": lambda cupy, a, n: cupy.sum(n),
        "function on a list": lambda cupy, a, n: cupy.add([1.0], a),
        "array function": lambda cupy, a, n: np.concatenate([a, n]),
        "stack": lambda cupy, a, n: cupy.stack([a, n]),
        "where": lambda cupy, a, n: cupy.where(a > 0, a, n),
        "method": lambda cupy, a, n: a.dot(n),
        "out": lambda cupy, a, n: cupy.add(a, a, out=n),
        "where keyword": lambda cupy, a, n: cupy.add(a, a, where=a > 0),
        "initial keyword": lambda cupy, a, n: cupy.max(a, initial=0.0),
        "method keyword": lambda cupy, a, n: a.sum(where=True),
        "index": lambda cupy, a, n: [1, 2, 3][cupy.asarray(1)],
        "hash": lambda cupy, a, n: hash(a),
        "length of a scalar": lambda cupy, a, n: len(cupy.asarray(1.0)),
        "atomic addition": lambda cupy, a, n: cupy.add.at(cupy.zeros(3, np.int64), cupy.asarray([0]), 1),
        "unsafe cast": lambda cupy, a, n: operator.iadd(cupy.zeros(3, np.int64), 1.5),
        "device function of NumPy's": lambda cupy, a, n: np.vecdot(a, a),
    }  # fmt: skip

    @pytest.mark.parametrize("name", REFUSALS)
    def test_refuses(self, cuda, name):
        with pytest.raises(TypeError):
            self.REFUSALS[name](strict_cupy.cupy, strict_cupy.cupy.asarray([1.0, -2.0, 3.0]), np.ones(3))

    def test_words(self, cuda):
        a = strict_cupy.cupy.asarray([1.0])
        with pytest.raises(TypeError, match=r"Implicit conversion to a NumPy array is not allowed. Please use"):
            np.asarray(a)
        with pytest.raises(TypeError, match="Unsupported type <class 'numpy.ndarray'>"):
            a * np.ones(1)
        with pytest.raises(ValueError, match="cannot be used for fill"):
            a[...] = np.ones(1)
        with pytest.raises(NotImplementedError, match=r"`cupy_maximum.reduce` is not supported yet"):
            strict_cupy.cupy.maximum.reduce(a)

    @pytest.mark.parametrize(
        "name", ["errstate", "nditer", "block", "vecdot", "unstack", "asin", "concat", "put_along_axis", "ma", "bool"]
    )
    def test_absent(self, name):
        with pytest.raises(AttributeError):
            getattr(strict_cupy.cupy, name)

    @pytest.mark.parametrize(
        "name", ["__index__", "__contains__", "__array_interface__", "ctypes", "setflags", "resize"]
    )
    def test_absent_from_arrays(self, name):
        assert not hasattr(strict_cupy.cupy.zeros(2), name)
        assert not hasattr(strict_cupy.cupy.zeros(2).flags, "writeable")

    def test_no_scalars(self):
        a = strict_cupy.cupy.asarray([[1.0, 2.0]])
        for result in (a.sum(), a[0, 1], strict_cupy.cupy.max(a), strict_cupy.cupy.exp(1.0), a.mean(), np.exp(a)[0, 0],
                       strict_cupy.cupy.allclose(a, a), strict_cupy.cupy.count_nonzero(a), a.argmax()):  # fmt: skip
            assert type(result) is strict_cupy.ndarray
            assert result.shape == ()
        assert float(a.sum()) == 3
        assert a.max().item() == 2
        assert bool(a[0, 0])

    def test_views_share_memory(self):
        a = strict_cupy.cupy.zeros((2, 3))
        for view in (a[0, 1], a[1:], a.T, a.reshape(6), a.ravel(), a.transpose(1, 0), a[..., None], a.view(np.int64),
                     a.swapaxes(0, 1), a.squeeze(), a.diagonal()):  # fmt: skip
            assert view.base is a
            before = a.data.ptr
            assert before <= view.data.ptr < before + a.nbytes
        a[0, 1][...] = 5.0
        assert a.get()[0, 1] == 5
        assert a[a > 0].base is None
        assert a[strict_cupy.cupy.asarray([0])].base is None
        z = strict_cupy.cupy.zeros(2, np.complex64)
        z.imag[...] = 2.0
        assert z.get().tolist() == [2j, 2j]

    def test_devices_do_not_mix(self, cuda):
        with strict_cupy.Device(1):
            a = strict_cupy.cupy.zeros(3)
            assert (a + 1).device.id == 1
        assert a[1:].device.id == 1
        for call in (lambda: a + 1, lambda: a.sum(), lambda: strict_cupy.cupy.exp(a), lambda: a.__setitem__(0, a[0])):
            with pytest.raises(ValueError, match=r"\(1\) is different from the current device \(0\)"):
                call()
        with pytest.raises(RuntimeError, match="invalid device ordinal"), strict_cupy.Device(2):
            pass

    def test_other_types_get_their_turn(self):
        class Other:
            __array_ufunc__ = None

            def __radd__(self, other):
                return "mine"

        assert strict_cupy.cupy.zeros(1) + Other() == "mine"
        assert not (strict_cupy.cupy.zeros(1) == None).any()  # noqa: E711
        assert (strict_cupy.cupy.zeros(1) != object()).all()

    def test_operators(self):
        n = np.array([5, 3, -2])
        a = strict_cupy.cupy.asarray(n)
        for apply in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
                      operator.and_, operator.or_, operator.xor, operator.lt, operator.le, operator.eq, operator.ne,
                      operator.gt, operator.ge, operator.matmul):  # fmt: skip
            assert_same(apply(a, a), np.asarray(apply(n, n)))
            if apply is not operator.matmul:
                assert_same(apply(a, 2), apply(n, 2))
                assert_same(apply(2, a), apply(2, n))
        for apply in (operator.neg, operator.pos, operator.abs, operator.invert):
            assert_same(apply(a), apply(n))
        assert_same(divmod(a, 2), divmod(n, 2))
        same = a
        a += 1
        assert same is a
        assert a.get().tolist() == [6, 4, -1]

    def test_pickle_and_copy(self):
        a = strict_cupy.cupy.asarray([1.0, 2.0])
        for copied in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), copy.copy(a)):
            assert copied is not a
            assert copied.get().tolist() == [1, 2]
