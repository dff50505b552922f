"""The default implementation: which type results get, what stays as it is, and what a call leaves behind."""

import contextlib
import gc
import sys
import warnings
import weakref

import pytest

import tensorlike as tl
from tensorlike.audit.samples import serving
from tensorlike.dispatch.core import CLEAR, STATE
from tensorlike.overrides.introspection import public_rows
from tests.helpers.ducks import recorder


@pytest.fixture(autouse=True)
def nothing_stays_switched():
    yield
    assert STATE.get() is CLEAR
    assert type(tl.ones(1) + 1) is tl.Tensor


class TestDefault:
    def test_types_propagate_into_nested_results(self):
        class Sub(tl.Tensor):
            pass

        @tl.overrides.overridable(operands=("x",))
        def nested(x):
            plain = x.as_subclass(tl.Tensor)
            return (plain + 1, [plain + 2, (plain + 3, "text", None)], 4)

        first, (second, (third, text, none)), four = nested(Sub([1.0]))
        assert [type(t) for t in (first, second, third)] == [Sub] * 3
        assert (text, none, four) == ("text", None, 4)
        assert [t.item() for t in (first, second, third)] == [2.0, 3.0, 4.0]

    def test_a_type_is_asked_once_about_a_call_that_it_leaves_to_the_default(self):
        asked = []

        class Sub(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                asked.append(func)
                return super().__torch_function__(func, types, args, kwargs)

        def as_sub(value):
            if isinstance(value, list | tuple):
                return type(value)(map(as_sub, value)) if type(value) in (list, tuple) else value
            return value.as_subclass(Sub) if type(value) is tl.Tensor else value

        again, called = [], 0
        for _, form in public_rows():
            found = serving(form)
            for sample in () if found is None else found.samples.generate()[:2]:
                asked.clear()
                with warnings.catch_warnings(), contextlib.suppress(Exception):
                    warnings.simplefilter("ignore")
                    form.key(*as_sub(sample.args), **{k: as_sub(v) for k, v in sample.kwargs.items()})
                called += bool(asked)
                if len(asked) > 1:
                    again.append((form.full_name, asked[1]))
        assert again == []
        assert called > 1000

    def test_named_tuples_stay_named(self):
        class Sub(tl.Tensor):
            pass

        result = tl.sort(Sub([2.0, 1.0]))
        assert type(result.values) is type(result.indices) is Sub
        assert type(result) is type(tl.sort(tl.ones(2)))

    def test_the_most_derived_type_wins(self):
        class Parent(tl.Tensor):
            pass

        class Child(Parent):
            pass

        p, c, t = Parent([1.0]), Child([1.0]), tl.ones(1)
        for result in (p + c, c + p, tl.add(p, c), c + t, t + c):
            assert type(result) is Child
        for result in (p + t, t + p, tl.mul(2.0 * p, t)):
            assert type(result) is Parent

    def test_super_call_equals_the_inherited_implementation(self):
        class Inherits(tl.Tensor):
            pass

        class Calls(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return super().__torch_function__(func, types, args, kwargs)

        for kind in (Inherits, Calls):
            x = tl.tensor([1.0, 2.0]).as_subclass(kind)
            for result in (x + 1, 1 + x, tl.add(x, x), x.mul(2), x.clone(), x.detach()):
                assert type(result) is kind
            assert type(x.shape) is tl.Size
            assert x.mul_(2) is x
            assert x.tolist() == [2.0, 4.0]

    def test_refuses_foreign_types(self):
        class Sub(tl.Tensor):
            pass

        class Duck:
            __torch_function__ = classmethod(lambda *a: NotImplemented)

        assert Sub.__torch_function__(tl.add, (Sub, Duck), (1, 2)) is NotImplemented
        assert tl.Tensor.__torch_function__(tl.add, (Sub,), (tl.ones(1), 2)) is NotImplemented
        assert type(Sub.__torch_function__(tl.add, (tl.Tensor,), (tl.ones(1), 2))) is Sub

    def test_identity_returns_do_not_retag_the_argument(self):
        class Sub(tl.Tensor):
            pass

        plain = tl.ones(2)
        sub = tl.ones(2).as_subclass(Sub)
        assert type(sub.contiguous()) is Sub
        result = Sub.__torch_function__(tl.Tensor.contiguous, (Sub,), (plain,))
        assert type(result) is Sub
        assert type(plain) is tl.Tensor

        @tl.overrides.overridable(operands=("a", "b"))
        def second(a, b):
            return b

        kept = second(sub, plain)
        assert type(kept) is Sub
        assert type(plain) is tl.Tensor
        assert second(plain, sub) is sub

    def test_plain_operands_in_nested_arguments_are_not_retagged(self):
        class Sub(tl.Tensor):
            pass

        @tl.overrides.overridable
        def pick(tensors: "list[tl.Tensor]", at: int = 0):
            return tensors[at]

        plain = tl.ones(1)
        assert type(pick([plain, Sub([1.0])])) is Sub
        assert type(plain) is tl.Tensor

    def test_slots(self):
        class Slotted(tl.Tensor):
            __slots__ = ("unit",)

        x = tl.ones(2).as_subclass(Slotted)
        x.unit = "m"
        for result in (x + 1, tl.add(1.0 * tl.ones(2), x), x.mul(x)):
            assert type(result) is Slotted
        assert (x + 1).tolist() == [2.0, 2.0]
        leaf = tl.ones(2).as_subclass(Slotted).requires_grad_()
        out = leaf * 3
        assert type(out) is Slotted
        [grad] = tl.autograd.grad(out, leaf, tl.ones(2))
        assert grad.tolist() == [3.0, 3.0]

    def test_attributes_do_not_travel_by_themselves(self):
        class Tagged(tl.Tensor):
            tag = "class default"

        x = Tagged([1.0])
        x.tag = "mine"
        assert (x + 1).tag == "class default"

    def test_grad_keeps_its_type(self):
        class Sub(tl.Tensor):
            pass

        x = Sub([1.0, 2.0])
        x.requires_grad = True
        x.grad = tl.ones(2)
        assert type(x.grad) is tl.Tensor
        assert tl.Tensor.grad.__get__ in tl.overrides.get_default_nowrap_functions()
        view = x.detach()[0]
        assert view._base is not None
        assert type(view) is Sub

    def test_results_are_at_their_place_in_the_graph(self):
        class Sub(tl.Tensor):
            pass

        x = tl.ones(2).requires_grad_()
        y = (x.as_subclass(Sub) * 2) * 3
        assert type(y) is Sub
        [grad] = tl.autograd.grad(y, x, tl.ones(2))
        assert grad.tolist() == [6.0, 6.0]

    def test_printing_inside_a_handler_does_not_ask_again(self):
        lines = []

        class Logging(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                lines.append(f"{func.__name__} {args!r}")
                return super().__torch_function__(func, types, args, kwargs)

        x = tl.ones(2).as_subclass(Logging)
        lines.clear()
        x.mul(2)
        assert lines == ["mul (Logging([1., 1.]), 2)"]

    def test_handlers_may_use_other_public_functions_on_plain_tensors(self):
        class Doubling:
            def __init__(self, value):
                self.value = value

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                plain = [a.value if isinstance(a, Doubling) else a for a in args]
                return Doubling(func(*plain, **(kwargs or {})) * 2)

        assert tl.add(Doubling(tl.ones(1)), 1).value.tolist() == [4.0]


class TestLifetime:
    def test_plans_do_not_keep_throw_away_types_for_ever(self):
        from tensorlike.dispatch import core

        for _ in range(core._PLANS_KEPT + 10):
            tl.add(type("Throwaway", (), {"__torch_function__": classmethod(lambda *a: 1)})(), 1)
        assert len(core._PLANS) <= core._PLANS_KEPT

    def test_a_call_keeps_nothing(self):
        class Sub(tl.Tensor):
            pass

        x = tl.ones(2).as_subclass(Sub)
        gc.collect()
        gc.disable()
        try:
            y = x * 2
            gone = weakref.ref(y)
            del y
            assert gone() is None
        finally:
            gc.enable()

    def test_errors_leave_no_frames_behind(self):
        duck = recorder("Duck", NotImplemented)
        d = duck()
        before = sys.getrefcount(d)
        for _ in range(3):
            with pytest.raises(TypeError):
                tl.add(d, 1)
        duck.calls.clear()
        assert sys.getrefcount(d) == before
