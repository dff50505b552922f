"""Names of PyTorch that the Python part and the tests of published extensions import from `torch`."""

import sys

import pytest

import tensorlike as tl
from tensorlike.testing.test_case import TestCase

# ruff: noqa: PT009 (the methods are tested here)


@pytest.fixture(autouse=True)
def without_pytorch(monkeypatch):
    """Forget PyTorch for the test, where another one imported it."""
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        monkeypatch.delitem(sys.modules, name)


def test_backends_are_absent(monkeypatch):
    # `cudnn` is tensorlike's own module, whatever it is called.
    monkeypatch.setattr(tl.backends.cudnn, "benchmark", False)
    with tl.install_as_torch():
        import torch
        import torch.backends.cudnn as cudnn

        cudnn.benchmark = True
        assert not torch.backends.mps.is_available()
        assert not torch.backends.cudnn.is_available()
        assert torch.backends.cudnn.benchmark
        assert not hasattr(torch.backends, "nope")


def test_code_for_the_script_compiler_is_left_as_it_is():
    with tl.install_as_torch():
        import torch
        from torch.jit.annotations import BroadcastingList2

        @torch.jit._overload
        def twice(x: BroadcastingList2[int]) -> list[int]:
            return x * 2

        assert twice([1]) == [1, 1]


def test_helpers_of_tests():
    with tl.install_as_torch():
        from torch.testing._internal.common_utils import TestCase as Served
        from torch.testing._internal.optests import opcheck

    assert Served is TestCase
    assert opcheck is tl.library.opcheck


class Compared(TestCase):
    def test_numbers_are_compared_with_tolerance(self):
        self.assertEqual(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.0 + 1e-6]))
        self.assertEqual(tl.tensor([1.0, 2.0]), [1.0, 2.0])
        self.assertEqual({"a": [1.0]}, {"a": [1.0 + 1e-9]})
        self.assertEqual(0.5, tl.tensor(0.5))
        self.assertEqual("text", "text")
        with pytest.raises(AssertionError):
            self.assertEqual(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 2.1]))
        with pytest.raises(AssertionError):
            self.assertEqual("text", "other")
        with pytest.raises(AssertionError):
            self.assertEqual(tl.tensor([1]), tl.tensor([1.0]))
        self.assertEqual(tl.tensor([1]), tl.tensor([1.0]), exact_dtype=False)

    def test_every_test_draws_the_same_numbers(self):
        drawn = tl.rand(3)
        self.setUp()
        self.assertEqual(drawn, tl.rand(3))


def test_an_operator_that_only_writes_needs_no_fake():
    with tl.library._scoped_library("cpp_served_names", "DEF") as library:
        library.define("fill(Tensor(a!) out) -> ()")
        library.impl("fill", lambda out: out.fill_(1) and None, "CPU")
        fill = tl.ops.cpp_served_names.fill.default
        assert tl.library.opcheck(fill, (tl.zeros(1),))["test_faketensor"] == "SUCCESS"


class ComparedItemByItem(TestCase):
    def test_numbers_of_two_types_and_texts_in_containers(self):
        self.assertEqual(1, 1.0)
        self.assertEqual({"name": "text", "values": [1, None]}, {"name": "text", "values": [1.0, None]})
        for one, other in (({"name": "a", "x": 1}, {"name": "b", "x": 1}), ([1, 2], [1]), ({"a": 1}, {"b": 1})):
            with pytest.raises(AssertionError):
                self.assertEqual(one, other)
        with pytest.raises(AssertionError):
            self.assertEqual([tl.tensor(1)], [tl.tensor(1.0)])
