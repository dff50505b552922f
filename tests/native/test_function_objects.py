"""Public functions look and behave like Python functions, with the native core and without."""

import ast
import copy
import doctest
import functools
import gc
import inspect
import pickle
import pydoc
import textwrap
import typing
import weakref

import pytest

import tensorlike as tl
from tensorlike._native import core, function_types
from tensorlike.dispatch.operation import form_of
from tests.helpers.native import python_function
from tests.helpers.rows import rows

FUNCTIONS = [row.function for row in rows() if callable(row.function)]
EXAMPLES = [tl.add, tl.Tensor.add, tl.Tensor.add_, tl.Tensor.__add__, tl.cat, tl.linalg.inv, tl.nn.functional.relu]


@pytest.mark.parametrize("function", EXAMPLES, ids=lambda f: f.__qualname__)
class TestOneFunction:
    def test_its_type(self, function):
        assert isinstance(function, function_types)
        assert (core is None) == inspect.isfunction(function)
        assert inspect.isroutine(function)
        assert callable(function)

    def test_names(self, function):
        assert function.__name__ == function.__qualname__.rpartition(".")[2]
        assert function.__module__.startswith("tensorlike")
        assert repr(function).startswith(f"<function {function.__qualname__} at 0x")
        assert inspect.getdoc(function) == inspect.cleandoc(function.__doc__)

    def test_attributes(self, function):
        assert function._form.function is function
        assert form_of(function) is function._form
        assert function.operation is function._form.operation
        assert function.__wrapped__ is function._form.implementation
        assert {"_form", "operation", "__wrapped__"} <= set(vars(function))

    def test_new_attributes(self, function):
        function.mark = 1
        try:
            assert function.mark == vars(function)["mark"] == 1
        finally:
            del function.mark
        with pytest.raises(AttributeError):
            function.mark

    def test_signature(self, function):
        assert inspect.signature(function) == inspect.signature(function.__wrapped__)
        assert inspect.signature(function).parameters

    def test_source(self, function):
        assert ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert "tensorlike" in inspect.getsourcefile(inspect.unwrap(function))

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle_and_copy_by_name(self, function, protocol):
        if protocol < 4 and "." in function.__qualname__:
            pytest.skip("methods are pickled by their dotted name from protocol 4 on")
        assert pickle.loads(pickle.dumps(function, protocol)) is function
        assert copy.copy(function) is copy.deepcopy(function) is function

    def test_weak_references(self, function):
        assert weakref.ref(function)() is function
        kept = weakref.WeakKeyDictionary({function: 1})
        assert kept[function] == 1

    def test_identity(self, function):
        assert function == function
        assert hash(function) == hash(function)
        assert function in {function}
        assert function != python_function(function) or core is None

    def test_help(self, function):
        text = pydoc.render_doc(function, renderer=pydoc.plaintext)
        assert function.__name__ in text
        assert (inspect.getdoc(function) or "").splitlines()[0] in text

    def test_wraps(self, function):
        @functools.wraps(function)
        def outer(*args, **kwargs):
            return function(*args, **kwargs)

        assert outer.__wrapped__ is function
        assert (outer.__name__, outer.__qualname__, outer.__module__, outer.__doc__) == (
            function.__name__, function.__qualname__, function.__module__, function.__doc__,
        )  # fmt: skip
        assert inspect.signature(outer) == inspect.signature(function)
        assert form_of(outer) is None

    def test_type_hints(self, function):
        assert typing.get_type_hints(function) == {}

    def test_partial(self, function):
        assert functools.partial(function).func is function

    def test_bound_with_descriptors(self, function):
        assert function.__get__(None, tl.Tensor) is function
        x = tl.ones(2)
        bound = function.__get__(x)
        assert inspect.ismethod(bound)
        assert bound.__self__ is x
        assert bound.__func__ is function


class TestMethods:
    def test_bound(self):
        x = tl.ones(2)
        assert inspect.ismethod(x.add)
        assert x.add.__func__ is tl.Tensor.add
        assert x.add.__name__ == "add"
        assert list(inspect.signature(x.add).parameters) == list(inspect.signature(tl.Tensor.add).parameters)[1:]
        assert x.add(1).tolist() == [2.0, 2.0]
        assert list(map(x.add, (1, 2)))[1].tolist() == [3.0, 3.0]

    def test_found_on_the_class(self):
        assert tl.Tensor.__dict__["add"] is tl.Tensor.add

        class Sub(tl.Tensor):
            twice = tl.Tensor.add

        x = tl.ones(2).as_subclass(Sub)
        assert x.twice(x).tolist() == [2.0, 2.0]
        assert "twice" in {a.name for a in inspect.classify_class_attrs(Sub) if a.kind == "method"}

    def test_a_user_s_class_may_hold_a_function(self):
        class Holder:
            def __init__(self, x):
                self._tl_data = x

            total = staticmethod(tl.add)

        assert Holder.total(tl.ones(1), 1).item() == 2.0


class TestAllFunctions:
    def test_are_of_one_kind(self):
        assert len(FUNCTIONS) > 1000
        kinds = {type(f) for f in FUNCTIONS if form_of(f) is not None}
        assert kinds <= {*function_types, type(object().__str__)}

    def test_signatures(self):
        for function in FUNCTIONS:
            assert isinstance(inspect.signature(function), inspect.Signature), function

    def test_doctests_are_found(self):
        found = {t.name for t in doctest.DocTestFinder().find(tl.add, "add", module=False) if t.examples}
        assert found == {"add"}
        found = {t.name for t in doctest.DocTestFinder().find(tl.Tensor, "Tensor", module=tl) if t.examples}
        assert {"Tensor", "Tensor.add", "Tensor.exp"} <= found


class TestUsersFunctions:
    def test_overridable(self):
        @tl.overridable(operands=("x",))
        def scaled(x: tl.Tensor, factor: float = 2.0) -> tl.Tensor:
            """Return it scaled."""
            return x * factor

        assert typing.get_type_hints(scaled)["factor"] is float
        assert str(inspect.signature(scaled)).startswith("(x:")
        assert scaled(tl.ones(1)).item() == 2.0
        assert scaled.__annotations__ is scaled.__wrapped__.__annotations__
        assert scaled.__doc__ == "Return it scaled."

    def test_is_collected(self):
        def make():
            @tl.overridable(operands=("x",))
            def local(x):
                return x

            local(tl.ones(1))
            return weakref.ref(local)

        reference = make()
        gc.collect()
        assert reference() is None


@pytest.mark.skipif(core is None, reason="the native core is off")
class TestOfTheCore:
    def test_only_wraps_functions(self):
        with pytest.raises(TypeError):
            core.Function(len)
        with pytest.raises(TypeError):
            core.Function()

    def test_shares_the_dict(self):
        assert vars(tl.add) is vars(tl.add._tl_python)
        assert tl.add.__globals__ is tl.add._tl_python.__globals__
        with pytest.raises(AttributeError):
            tl.add._tl_python = None

    def test_renaming_reaches_both(self):
        def f():
            return 1

        function = core.Function(f)
        function.__name__, function.__qualname__, function.__doc__ = "g", "a.g", "Words."
        assert (f.__name__, f.__qualname__, f.__doc__) == ("g", "a.g", "Words.")
        assert repr(function).startswith("<function a.g at 0x")
        with pytest.raises(TypeError):
            function.__name__ = 1

    def test_a_function_without_form_raises_what_preparing_raises(self):
        function = core.Function(lambda: 1)
        for _ in range(2):
            with pytest.raises(AttributeError, match="_form"):
                function()
