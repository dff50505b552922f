"""Protocols of Python, NumPy beside a type, methods and attributes of tensor-like types that are no tensors."""

from __future__ import annotations

import copy
import dataclasses
import operator
import pickle

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.overrides import TensorLike, implements, refuse, rewrap, to_dense


class Metres(TensorLike, unhandled=rewrap):
    def __init__(self, value):
        self.value = tl.as_tensor(value)

    def unwrap(self):
        return self.value

    @classmethod
    def wrap(cls, tensor, like):
        return cls(tensor)


class Keeping(TensorLike, unhandled=rewrap):
    """Has its tensor under the name of an attribute of tensors that can be set."""

    def __init__(self, data):
        self.data = data

    def unwrap(self):
        return self.data

    @classmethod
    def wrap(cls, tensor, like):
        return cls(tensor)


class Dense(TensorLike, unhandled=to_dense):
    def __init__(self, tensor):
        self.tensor = tensor

    def to_dense(self):
        return self.tensor


class Refusing(TensorLike, unhandled=refuse):
    pass


class Tabled(TensorLike):
    pass


class Functions(TensorLike, unhandled=to_dense, methods=False):
    def to_dense(self):
        return tl.ones(2)


PROTOCOLS = {
    "Tensor.__bool__": bool,
    "Tensor.__len__": len,
    "Tensor.unbind": list,
    "Tensor.__contains__": lambda x: 1 in x,
    "Tensor.__int__": int,
    "Tensor.__float__": float,
    "Tensor.__complex__": complex,
    "Tensor.__index__": operator.index,
    "Tensor.__getitem__": lambda x: x[0],
    "Tensor.__setitem__": lambda x: operator.setitem(x, 0, 1),
    "Tensor.__array__": np.asarray,
    "Tensor.__format__": lambda x: f"{x:.1f}",
    "Tensor.__eq__": lambda x: x == 1,
    "Tensor.ne": lambda x: x != tl.ones(1),
}


class TestProtocols:
    def test_comparisons_are_what_they_say(self):
        assert not (Metres(1.0) > 2)
        assert Metres([1.0]) not in [Metres([7.0])]
        lengths = [Metres(3.0), Metres(1.0), Metres(2.0)]
        assert [x.item() for x in sorted(lengths)] == [1.0, 2.0, 3.0]
        assert max(lengths).item() == 3.0
        assert lengths.index(Metres(2.0)) == 2

    @pytest.mark.parametrize("kind", [Refusing, Tabled])
    @pytest.mark.parametrize("function", PROTOCOLS)
    def test_without_an_answer_the_error_names_what_to_define(self, kind, function):
        with pytest.raises(TypeError, match=rf"@implements\(tensorlike\.{function}\)"):
            PROTOCOLS[function](kind())

    def test_a_rule_answers(self):
        class Sure(TensorLike, unhandled=refuse):
            @implements(tl.Tensor.__bool__)
            def __bool__(self):
                return False

            @implements(tl.eq, variants=True)
            def _equal(input, other, *, out=None):
                return Sure()

            @implements(tl.Tensor.__len__)
            def _length(self):
                return 7

        assert not Sure()
        assert bool(Sure() == Sure()) is False
        assert len(Sure()) == 7
        assert Sure() not in [Sure()]

    def test_equality_is_never_identity(self):
        one, other = Refusing(), Refusing()
        for right in (one, other, 1, 1.0, np.float32(1), tl.ones(2), np.ones(2)):
            with pytest.raises(TypeError, match="__eq__"):
                one == right  # noqa: B015
            with pytest.raises(TypeError, match="__eq__"):
                right == one  # noqa: B015
            with pytest.raises(TypeError, match=r"Tensor\.ne"):
                one != right  # noqa: B015
        # As for a tensor.
        assert (one is None) is False
        assert (one != "a") is True
        assert (one == object()) is False

    def test_a_rule_that_refuses_is_not_identity(self):
        class Half(Metres):
            @implements(tl.eq, variants=True)
            def _equal(input, other, *, out=None):
                return NotImplemented

        with pytest.raises(TypeError, match="__eq__"):
            Half(1.0) == Half(1.0)  # noqa: B015

    def test_a_foreign_type_with_a_method_is_asked(self):
        class Foreign:
            def __eq__(self, other):
                return "asked"

        class ForeignType(Foreign):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        assert (Refusing() == Foreign()) == "asked"
        assert (Refusing() == ForeignType()) == "asked"

    def test_hashed_by_identity(self):
        for x in (Refusing(), Metres([1.0, 2.0]), Dense(tl.ones(2))):
            assert {x: 1}[x] == 1
            assert hash(x) == object.__hash__(x)

    @pytest.mark.parametrize("kind", [Metres, Dense])
    def test_a_policy_answers(self, kind):
        x = kind(tl.tensor([1.0, 2.0]))
        first = x[0]
        assert len(x) == 2
        assert 2.0 in x
        assert 3.0 not in x
        assert bool(first == 1)
        assert [float(v) for v in x] == [1.0, 2.0]
        assert (int(first), complex(first)) == (1, 1 + 0j)
        assert f"{first:.2f}" == "1.00"
        assert np.asarray(x).tolist() == [1.0, 2.0]
        with pytest.raises(RuntimeError, match="ambiguous"):
            bool(x)
        with pytest.raises(TypeError, match="0-d"):
            iter(kind(tl.tensor(1.0)))

    def test_definitions_of_the_type_win(self):
        class Mixin:
            def __bool__(self):
                return False

            def __len__(self):
                return 5

            def __add__(self, other):
                return "added"

            def mean(self):
                return "mean"

        class After(Metres, Mixin):
            pass

        class Before(Mixin, Metres):
            pass

        class Beside(TensorLike, Mixin, unhandled=to_dense):
            def to_dense(self):
                return tl.ones(2)

        for x in (After(1.0), Before(1.0), Beside()):
            assert not x
            assert len(x) == 5
            assert x + 1 == "added"
            assert x.mean() == "mean"

    def test_what_python_derives_from_definitions(self):
        class Row(TensorLike, unhandled=refuse):
            def __getitem__(self, index):
                return [4, 5][index]

            def __index__(self):
                return 3

        row = Row()
        assert list(row) == [4, 5]
        assert 5 in row
        assert 6 not in row
        assert (int(row), float(row), complex(row)) == (3, 3.0, 3 + 0j)

    def test_a_subclass_of_tensor_keeps_its_own(self):
        class Sub(TensorLike, tl.Tensor, unhandled=refuse):
            pass

        x = tl.ones(2).as_subclass(Sub)
        assert Sub.__bool__ is tl.Tensor.__bool__
        assert Sub.__iter__ is tl.Tensor.__iter__
        assert not hasattr(Sub, "__array_ufunc__")
        with pytest.raises(TypeError, match="__eq__"):
            x == x  # noqa: B015


class TestNumPy:
    @pytest.mark.parametrize("kind", [Metres, Keeping])
    @pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow", "lt", "ge", "eq", "ne", "mod"])
    def test_arrays_on_either_side(self, kind, name):
        function, array, tensor = getattr(operator, name), np.array([2.0, 3.0]), tl.tensor([1.0, 5.0])
        for result, wanted in (
            (function(array, kind(tensor)), function(tl.from_numpy(array), tensor.double())),
            (function(kind(tensor), array), function(tensor.double(), tl.from_numpy(array))),
        ):
            assert type(result) is kind
            assert tl.equal(result.unwrap(), wanted)

    def test_scalars(self):
        for result in (np.float32(2) * Metres([1.0]), Metres([1.0]) * np.float64(2), tl.tensor(2.0) * Metres([1.0])):
            assert type(result) is Metres
            assert result.value.tolist() == [2.0]
            assert result.dtype == tl.float32

    def test_refused(self):
        for compute in (
            lambda: np.ones(2) * Refusing(),
            lambda: Refusing() * np.ones(2),
            lambda: np.ones(2) > Refusing(),
            lambda: np.float32(2) * Refusing(),
            lambda: [1.0] * Metres([1.0, 2.0]),
            lambda: np.array([None]) * Metres([1.0]),
            lambda: np.sin(Metres([1.0])),
            lambda: np.asarray(Refusing()),
        ):
            with pytest.raises(TypeError):
                compute()

    def test_an_author_decides(self):
        class Own(Metres):
            def __array_ufunc__(self, ufunc, method, *inputs, **options):
                return ufunc.__name__

        class Mixin:
            def __array_ufunc__(self, ufunc, method, *inputs, **options):
                return "mixed"

        class Mixed(Metres, Mixin):
            pass

        assert np.ones(2) * Own([1.0, 2.0]) == "multiply"
        assert np.sin(Mixed(1.0)) == "mixed"


class TestMethods:
    def test_attributes_and_methods(self):
        x = Metres([[1.0, 2.0], [3.0, 4.0]])
        assert x.shape == (2, 2)
        assert x.ndim == x.dim() == 2
        assert x.dtype == tl.float32
        assert x.device.type == "cpu"
        assert type(x.T) is Metres
        assert x.sum().item() == 10.0
        assert x.requires_grad is False
        assert type(x.add_(1)) is Metres
        assert x.value[0, 0].item() == 2.0
        assert type(Dense(tl.ones(2)).sum()) is tl.Tensor

    def test_each_is_asked_of_the_type(self):
        asked = []

        def note(cls, func, types, args, kwargs):
            asked.append(func)
            return rewrap(cls, func, types, args, kwargs)

        class Noting(Metres, unhandled=note):
            pass

        x = Noting([1.0])
        x.sum(0)
        x.shape
        x + 1
        assert asked == [tl.Tensor.sum, tl.Tensor.shape.__get__, tl.Tensor.add]

    def test_hasattr_is_honest(self):
        assert not any(hasattr(kind(), "sum") or "sum" in dir(kind()) for kind in (Refusing, Tabled, Functions))
        for x in (Metres([1.0]), Dense(tl.ones(2))):
            assert hasattr(x, "sum")
            assert "sum" in dir(x)
            assert not hasattr(x, "summ")
            assert not hasattr(x, "_repr_html_")
        assert hasattr(Metres([1.0]), "add_")
        assert not hasattr(Dense(tl.ones(1)), "add_")
        assert "add_" in dir(Metres([1.0]))
        assert "add_" not in dir(Dense(tl.ones(1)))

    def test_functions_only(self):
        x = Functions()
        assert not Functions.__tensor_methods__
        assert Metres.__tensor_methods__
        assert tl.sum(x).item() == 2.0
        assert len(x) == 2
        with pytest.raises(TypeError, match="unsupported operand"):
            x + x

        class Again(Functions, methods=True):
            pass

        assert Again().sum().item() == 2.0
        assert (Again() + 1).tolist() == [2.0, 2.0]

    def test_names_of_the_type_are_its_own(self):
        @dataclasses.dataclass(eq=False)
        class Gaussian(TensorLike, unhandled=rewrap):
            data: tl.Tensor
            mean: float = 3.0

            def unwrap(self):
                return self.data

            @classmethod
            def wrap(cls, tensor, like):
                return cls(tensor, like.mean)

        with pytest.raises(TypeError, match="missing 1 required positional argument: 'data'"):
            Gaussian()
        x = Gaussian(tl.ones(2))
        assert x.mean == 3.0
        assert (x.sum()).mean == 3.0
        assert x.sum().data.item() == 2.0
        x.data = tl.zeros(2)
        assert x.sum().item() == 0.0
        assert dataclasses.replace(x, mean=1.0).mean == 1.0

    def test_attributes_that_can_be_set(self):
        x = Metres([1.0, 2.0])
        x.requires_grad = True
        assert x.value.requires_grad
        x.sum().backward()
        assert type(x.grad) is Metres
        assert x.grad.value.tolist() == [1.0, 1.0]
        x.grad = None
        assert x.grad is None
        assert x.value.grad is None
        assert list(vars(x)) == ["value"]
        kept = Keeping(tl.ones(2))
        kept.data = tl.zeros(2)
        assert kept.sum().item() == 0.0
        assert list(vars(kept)) == ["data"]

    def test_what_a_type_keeps_is_set_anywhere(self):
        class Made(Keeping):
            @classmethod
            def wrap(cls, tensor, like):
                return made(cls, tensor)

            def mark(self):
                self.requires_grad = "marked"

        def made(kind, tensor):
            result = kind.__new__(kind)
            result.data = tensor  # `unwrap` asks for it.
            return result

        x = made(Made, tl.ones(2)) + 1
        assert x.data.tolist() == [2.0, 2.0]
        x.mark()
        assert x.requires_grad == "marked"
        assert sorted(vars(x)) == ["data", "requires_grad"]

    def test_a_dataclass_compares_elements(self):
        @dataclasses.dataclass
        class Amount(TensorLike, unhandled=rewrap):
            value: tl.Tensor

            def unwrap(self):
                return self.value

            @classmethod
            def wrap(cls, tensor, like):
                return cls(tensor)

        @dataclasses.dataclass
        class Plain(TensorLike):
            value: float

        x = Amount(tl.tensor([1.0, 2.0]))
        assert (x == x).value.tolist() == [True, True]
        assert hash(x) == object.__hash__(x)
        assert Plain(1.0) == Plain(1.0)
        assert Plain(1.0) != Plain(2.0)
        assert not (Plain(1.0) != Plain(1.0))  # noqa: SIM202

    def test_in_lists_of_numbers(self):
        assert tl.tensor([Metres(1.0), Metres(2.0)]).tolist() == [1.0, 2.0]
        assert tl.tensor([Metres([1.0, 3.0]), Metres([2.0, 4.0])]).tolist() == [[1.0, 3.0], [2.0, 4.0]]
        with pytest.raises(TypeError, match="__array__"):
            tl.tensor([Refusing()])

    def test_missing_attributes_name_themselves(self):
        class Broken(Metres):
            @property
            def unit(self):
                return self._missing

        with pytest.raises(AttributeError, match="'Broken' object has no attribute '_missing'"):
            Broken(1.0).unit
        empty = Keeping.__new__(Keeping)
        with pytest.raises(AttributeError, match="'Keeping' object has no attribute 'data'"):
            empty.sum()
        with pytest.raises(AttributeError, match="'Metres' object has no attribute 'frobnicate'"):
            Metres(1.0).frobnicate

    def test_copies(self):
        for x in (Metres([1.0, 2.0]), Keeping(tl.tensor([1.0, 2.0]))):
            for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
                assert type(twin) is type(x)
                assert twin.tolist() == [1.0, 2.0]
