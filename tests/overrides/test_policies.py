"""Policies for what a type does not implement: refuse, convert to dense, unwrap and wrap again."""

import collections
import threading

import pytest

import tensorlike as tl
from tensorlike.overrides import DisableTorchFunctionSubclass, TensorLike, implements, refuse, rewrap, to_dense

Pair = collections.namedtuple("Pair", "one other")


def _echo():
    # A local function is in no registry, which other tests go through.
    @tl.overridable(operands=("x",))
    def echo(x, tree=None):
        """Return what it was handed."""
        return {"x": x, "tree": tree}

    return echo


echo = _echo()


class Dense(TensorLike, unhandled=to_dense):
    def __init__(self, *values):
        self.values = values

    def to_dense(self):
        return tl.tensor(self.values)


class Wrapper(TensorLike, unhandled=rewrap):
    def __init__(self, tensor, note=None):
        self.tensor, self.note = tensor, note

    def unwrap(self):
        return self.tensor

    @classmethod
    def wrap(cls, tensor, like):
        return cls(tensor, like.note)


class TestPolicies:
    def test_refuse(self):
        class Sub(TensorLike, tl.Tensor, unhandled=refuse):
            @implements(tl.mean)
            def mean_of(*args, **kwargs):
                return "mean"

        x = tl.ones(2).as_subclass(Sub)
        assert tl.mean(x) == "mean"
        with pytest.raises(TypeError, match="no implementation found"):
            x + 1
        with pytest.raises(TypeError, match="no implementation found"):
            tl.cat([tl.ones(1), x])

    def test_policy_is_inherited_and_overridden(self):
        class Refusing(Dense, unhandled=refuse):
            pass

        class Sub(Dense):
            pass

        assert tl.sum(Sub(1.0, 2.0)).item() == 3.0
        with pytest.raises(TypeError, match="no implementation found"):
            tl.sum(Refusing(1.0))

    def test_to_dense_in_lists_and_keywords(self):
        assert tl.cat([Dense(1.0), tl.zeros(1), Dense(2.0)]).tolist() == [1.0, 0.0, 2.0]
        assert tl.add(tl.ones(1), other=Dense(2.0), alpha=2).tolist() == [5.0]
        assert tl.cat(tensors=(Dense(1.0), Dense(2.0))).tolist() == [1.0, 2.0]
        assert tl.zeros(2)[Dense(1),].tolist() == [0.0]

    def test_to_dense_with_out(self):
        out = tl.zeros(1)
        assert tl.add(Dense(1.0), 1, out=out) is out
        assert out.tolist() == [2.0]

    def test_to_dense_refuses_writes_that_would_be_lost(self):
        x = Dense(1.0)
        for call in (
            lambda: tl.add(tl.ones(1), 1, out=x),
            lambda: tl.Tensor.add_(x, 1),
            lambda: tl.nn.functional.relu(x, inplace=True),
            lambda: tl.nn.functional.relu(x, True),
        ):
            with pytest.raises(TypeError, match="no implementation found"):
                call()
        assert tl.ones(1).add_(x).tolist() == [2.0]

    def test_to_dense_using_a_function(self):
        class Sub(TensorLike, unhandled=to_dense.using(lambda x: tl.full((2,), x.value))):
            value = 4.0

        assert tl.stack([Sub(), Sub()]).tolist() == [[4.0, 4.0], [4.0, 4.0]]
        with pytest.raises(TypeError, match="'function' must be callable, got 3"):
            to_dense.using(3)

    def test_to_dense_that_gives_the_type_again(self):
        class Sub(TensorLike, unhandled=to_dense.using(lambda x: x)):
            pass

        with pytest.raises(TypeError, match=r"sum: the function of to_dense.using\(\) .* of type Sub gave Sub again"):
            tl.sum(Sub())

    def test_rewrap_results_nested_ones_too(self):
        x = Wrapper(tl.tensor([[3.0, 1.0]]), "note")
        values, indices = tl.max(x, dim=1)
        assert type(tl.max(x, dim=1)).__name__ == "max"
        assert (values.tensor.tolist(), indices.tensor.tolist()) == ([3.0], [0])
        assert values.note == indices.note == "note"
        parts = tl.split(x, 1, dim=1)
        assert [part.tensor.tolist() for part in parts] == [[[3.0]], [[1.0]]]
        assert tl.cat(tensors=[tl.zeros(1, 2), x]).note == "note"
        assert tl.is_floating_point(x) is True

    def test_rewrap_inplace_and_out_return_the_original(self):
        x, out = Wrapper(tl.ones(2), "x"), Wrapper(tl.zeros(2), "out")
        assert tl.Tensor.add_(x, 1) is x
        assert x.tensor.tolist() == [2.0, 2.0]
        assert tl.add(x, 1, out=out) is out
        assert (out.tensor.tolist(), out.note) == ([3.0, 3.0], "out")
        plain = tl.zeros(2)
        assert tl.add(x, 1, out=plain) is plain
        assert plain.add_(x) is plain
        assert plain.tolist() == [5.0, 5.0]

    def test_rewrap_several_outs(self):
        x = Wrapper(tl.tensor([[3.0, 1.0]]), "x")
        values, indices = Wrapper(tl.zeros(1)), Wrapper(tl.zeros(1, dtype=tl.int64))
        found = tl.max(x, dim=1, out=(values, indices))
        assert found[0] is values
        assert found[1] is indices
        assert values.tensor.tolist() == [3.0]

    def test_classes_that_lack_what_their_policy_needs(self):
        with pytest.raises(TypeError, match=r"rewrap needs unwrap\(self\) and wrap\(cls, tensor, like\)"):
            type("Sub", (TensorLike,), {}, unhandled=rewrap)
        with pytest.raises(TypeError, match=r"Sub: the policy to_dense needs a method to_dense\(self\)"):
            type("Sub", (TensorLike,), {}, unhandled=to_dense)
        with pytest.raises(TypeError, match="'unhandled' must be a policy such as overrides.refuse, got 'refuse'"):
            type("Sub", (TensorLike,), {}, unhandled="refuse")

    @pytest.mark.parametrize(
        "tree",
        [
            lambda x: [x, [x, (x,)]],
            lambda x: {"a": x, "b": {"c": [x]}},
            lambda x: Pair(x, [x]),
            lambda x: collections.OrderedDict(a=x),
            lambda x: collections.defaultdict(list, a=[x]),
        ],
    )
    def test_containers_keep_their_kind(self, tree):
        def leaves(value):
            if isinstance(value, dict):
                return [leaf for item in value.values() for leaf in leaves(item)]
            return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]

        for x in (Dense(1.0), Wrapper(tl.ones(1), "note")):
            given = tree(x)
            before = leaves(given)
            found = echo(x, tree=given)["tree"]
            assert type(found) is type(given)
            wanted = tl.Tensor if isinstance(x, Dense) else Wrapper
            assert [type(leaf) for leaf in leaves(found)] == [wanted] * len(before)
            assert all(a is b for a, b in zip(leaves(given), before, strict=True))
        assert echo(x, tree=collections.defaultdict(list, a=x))["tree"].default_factory is list

    def test_containers_that_hold_none_of_the_type_are_passed_on_as_they_are(self):
        tree = {"a": [1, (2,)]}
        assert echo(Dense(1.0), tree=tree)["tree"] is tree

    def test_rewrap_gives_named_tuples_of_the_library(self):
        x = Wrapper(tl.tensor([3.0, 1.0]), "note")
        found = tl.sort(x)
        assert type(found).__name__ == "sort"
        assert (found.values.tensor.tolist(), found.indices.note) == ([1.0, 3.0], "note")

    def test_in_place_by_keyword(self):
        with pytest.raises(TypeError, match="no implementation found"):
            tl.Tensor.add_(self=Dense(1.0), other=1)
        with pytest.raises(TypeError, match="no implementation found"):
            tl.nn.functional.relu(input=Dense(1.0), inplace=True)
        x = Wrapper(tl.ones(1))
        assert tl.Tensor.add_(self=x, other=1) is x
        assert tl.nn.functional.relu(input=x, inplace=True) is x
        assert x.tensor.tolist() == [2.0]

    def test_setting_items_and_data(self):
        x = Wrapper(tl.zeros(2))
        tl.Tensor.__setitem__(x, 0, Wrapper(tl.tensor(5.0)))
        assert x.tensor.tolist() == [5.0, 0.0]
        tl.Tensor.data.__set__(x, tl.ones(3))
        assert x.tensor.tolist() == [1.0, 1.0, 1.0]
        for call in (lambda: tl.Tensor.__setitem__(Dense(1.0), 0, 1), lambda: tl.Tensor.data.__set__(Dense(1.0), 1)):
            with pytest.raises(TypeError, match="no implementation found"):
                call()

    @pytest.mark.parametrize("dense", [[1.0], None, 2.0, "x"])
    def test_to_dense_must_return_a_tensor(self, dense):
        class Sub(Dense):
            def to_dense(self):
                return dense

        with pytest.raises(TypeError, match=r"tensorlike\.add: to_dense\(\) of Sub must return a tensor, got"):
            tl.add(Sub(1.0), 1)

    def test_unwrap_and_wrap_must_return_something_fit(self):
        class Again(Wrapper):
            def unwrap(self):
                return self

        class Listed(Wrapper):
            def unwrap(self):
                return [1.0]

        class Nothing(Wrapper):
            @classmethod
            def wrap(cls, tensor, like):
                pass

        for kind, message in (
            (Again, r"unwrap\(\) of an operand of type Again gave Again again"),
            (Listed, r"unwrap\(\) of Listed must return a tensor, got list"),
            (Nothing, r"wrap\(\) of Nothing returned None"),
        ):
            with pytest.raises(TypeError, match=message):
                tl.add(kind(tl.ones(1)), 1)

    def test_a_conversion_that_needs_itself(self):
        class Round(Dense):
            def to_dense(self):
                return tl.add(self, 0)

        class Through(Dense):
            def to_dense(self):
                return tl.mean(self)

            @implements(tl.mean)
            def mean_of(input, *args, **kwargs):
                return tl.tensor(3.0)

        with pytest.raises(RecursionError, match=r"add: to_dense\(\) of Round calls it on the operand"):
            tl.sum(Round(1.0))
        assert tl.add(Through(1.0), 1).item() == 4.0

    def test_a_tensor_that_converts_itself(self):
        class Sub(TensorLike, tl.Tensor, unhandled=to_dense):
            def to_dense(self):
                with DisableTorchFunctionSubclass():
                    return self.as_subclass(tl.Tensor)

        assert type(tl.ones(2).as_subclass(Sub) + 1) is tl.Tensor

    def test_errors_of_the_user_pass_and_leave_nothing_behind(self):
        class Sub(Dense):
            broken = True

            def to_dense(self):
                if self.broken:
                    raise KeyError("lost")
                return super().to_dense()

        x = Sub(1.0)
        with pytest.raises(KeyError, match="lost"):
            tl.add(x, 1)
        x.broken = False
        assert tl.add(x, 1).tolist() == [2.0]

    def test_threads_convert_the_same_operand_at_once(self):
        barrier = threading.Barrier(4, timeout=10)

        class Slow(Dense):
            def to_dense(self):
                barrier.wait()
                return super().to_dense()

        x, found = Slow(1.0), []
        threads = [threading.Thread(target=lambda: found.append(tl.add(x, 1).item())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [2.0] * 4

    def test_a_rule_between_a_policy_and_another_type(self):
        class Closed(TensorLike, unhandled=refuse):
            pass

        assert tl.add(Dense(1.0), tl.ones(1)).tolist() == [2.0]
        with pytest.raises(TypeError, match="no implementation found"):
            tl.add(Closed(), Dense(1.0))
