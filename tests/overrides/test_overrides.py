"""Every overridable function intercepted through every operand; what introspection says about all of them."""

import inspect
import sys
import types

import pytest

import tensorlike as tl
from tensorlike import _C, _overrides, overrides
from tensorlike.dispatch import MISSING
from tensorlike.dispatch.operation import Form, Operation
from tensorlike.dispatch.registry import IGNORED, REGISTRY
from tensorlike.dispatch.signature import MANY, NESTED, POSITIONAL
from tensorlike.dispatch.wrap import public_function
from tensorlike.overrides.ignored import asked
from tests.helpers.ducks import ANSWER, Duck, identical, recorded
from tests.helpers.rows import is_operator, rows

ROWS = {row.full_name: row for row in rows()}
LISTED = {name: row for name, row in ROWS.items() if row.kind != "operator" or row.key is row.function}


class Filler:
    """Stands for an argument that is no operand: nothing may look at it before the types are asked."""


def containers(kind, operand):
    """The ways in which an operand can be handed over."""
    if kind == MANY:
        return [[operand], (operand,), [Filler(), operand]]
    if kind == NESTED:
        return [operand, (0, operand), (slice(None), [1, operand])]
    return [operand]


def calls_with(row, position, value):
    """Argument lists that hold `value` as the operand at `position`: as few, all by position, all by keyword."""
    signature = inspect.signature(row.function)
    names = list(signature.parameters)
    target = row.parameters[position].name
    minimal, full, keywords, variadic = [], [], {}, None
    only_keywords = {}
    for name in names:
        p = signature.parameters[name]
        given = value if name == target else Filler()
        required = p.default is inspect.Parameter.empty
        if p.kind == inspect.Parameter.VAR_POSITIONAL:
            variadic = name
            full.extend((given, given) if name != target else given)
        elif p.kind == inspect.Parameter.VAR_KEYWORD:
            continue
        elif p.kind == inspect.Parameter.KEYWORD_ONLY:
            only_keywords[name] = given
        else:
            full.append(given)
            keywords[name] = given
            if required:
                minimal.append(given)
    kind = signature.parameters[target].kind
    positional = [n for n in names if signature.parameters[n].kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if kind == inspect.Parameter.KEYWORD_ONLY:
        yield tuple(minimal), {target: value}
    elif kind == inspect.Parameter.VAR_POSITIONAL:
        yield tuple(full), {}
    else:
        yield tuple(full[: max(len(minimal), positional.index(target) + 1)]), {}
    yield tuple(full), dict(only_keywords)
    if variadic is None:
        yield (), {**keywords, **only_keywords}
        yield (), dict(reversed([*keywords.items(), *only_keywords.items()]))


@pytest.mark.parametrize("name", [n for n, row in LISTED.items() if not is_operator(row)])
def test_every_function_asks_the_type_of_every_operand(name):
    row = LISTED[name]
    operands = [i for i, p in enumerate(row.parameters) if p.operand]
    assert operands, "no type could ever answer this function"
    duck = Duck()
    called = row.function if row.kind not in ("property", "setter") else row.key
    for position in operands:
        for value in containers(row.parameters[position].operand, duck):
            for args, kwargs in calls_with(row, position, value):
                if row.kind in ("property", "setter") and kwargs:
                    continue
                result, calls = recorded(called, *args, **kwargs)
                what = f"{name}: operand {row.parameters[position].name} in {args}, {kwargs}"
                if row.kind != "setter":
                    assert result is ANSWER, what
                [call] = calls
                assert call.func == row.key, what
                assert call.types == (Duck,), what
                assert identical(call.args, args), what
                assert identical(call.kwargs, kwargs), what


@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if is_operator(row)])
def test_operators_ask_and_report_a_method(name):
    row = ROWS[name]
    duck = Duck()
    filler = 2
    count = sum(p.kind == POSITIONAL and p.default is MISSING for p in row.parameters)
    for position in range(count):
        args = tuple(duck if i == position else filler for i in range(count))
        result, [call] = recorded(row.function, *args)
        assert result is ANSWER
        assert call.func == row.key
        assert call.args == args
    if row.key is not row.function:
        assert row.key in overrides.get_overridable_functions()[tl.Tensor]
    if count > 1:
        assert row.function(tl.ones(1), object()) is NotImplemented


class TestListing:
    def test_namespaces(self):
        found = overrides.get_overridable_functions()
        assert tl in found
        assert tl.Tensor in found
        for namespace, functions in found.items():
            assert isinstance(namespace, (types.ModuleType, type))
            assert functions
            assert len(set(functions)) == len(functions)
        # Functions that other tests have declared stand under their own modules.
        assert next(name for name in found if name.__name__.split(".")[0] == "tensorlike") is tl

    def test_sorted_by_name(self):
        for functions in overrides.get_overridable_functions().values():
            names = [overrides.resolve_name(f) for f in functions]
            assert names == sorted(names)

    def test_names_lead_back_to_the_functions(self):
        for namespace, functions in overrides.get_overridable_functions().items():
            if isinstance(namespace, types.ModuleType) and namespace.__name__.split(".")[0] != "tensorlike":
                continue  # declared by another test
            for function in functions:
                name = overrides.resolve_name(function)
                assert name is not None, function
                found = tl
                for part in name.split(".")[1:]:
                    found = getattr(found, part)
                assert found == function, name
                assert isinstance(namespace, types.ModuleType) == (".Tensor." not in name)

    def test_nothing_private(self):
        for functions in overrides.get_overridable_functions().values():
            for function in functions:
                name = overrides.resolve_name(function)
                parts = name.split(".")
                private = [p for p in parts if p.startswith("_") and not p.endswith("__")]
                assert private in ([], ["_is_view"]) or parts[-1] in ("__get__", "__set__"), name

    def test_nothing_is_both_overridable_and_ignored(self):
        listed = {f for functions in overrides.get_overridable_functions().values() for f in functions}
        assert listed.isdisjoint(overrides.get_ignored_functions())

    def test_ignored_functions_have_reasons(self):
        assert len(overrides.get_ignored_functions()) > 5
        for name, (function, reason) in IGNORED.items():
            assert callable(function), name
            assert len(reason.split()) > 3, name

    def test_functions_attached_to_tensor_later_are_not_listed(self):
        def attached(self):
            return self

        before = overrides.get_overridable_functions()
        tl.Tensor.attached = attached
        try:
            assert overrides.get_overridable_functions() == before
            assert overrides.resolve_name(tl.Tensor.attached) is None
            assert not overrides.is_tensor_method_or_property(tl.Tensor.attached)
            assert attached not in overrides.get_testing_overrides()
        finally:
            del tl.Tensor.attached

    def test_functions_of_other_packages_are_listed_under_their_module(self):
        module = types.ModuleType("somebodys_package")
        sys.modules["somebodys_package"] = module
        try:
            exec(
                "import tensorlike as tl\n"
                "@tl.overrides.overridable\n"
                "def convert(input: tl.Tensor, unit: str = 'm', *, exact=False):\n"
                "    return input\n"
                "@tl.overrides.overridable\n"
                "def _private(input: tl.Tensor):\n"
                "    return input\n",
                module.__dict__,
            )
            assert overrides.get_overridable_functions()[module] == [module.convert]
            assert overrides.resolve_name(module.convert) == "somebodys_package.convert"
            dummy = overrides.get_testing_overrides()[module.convert]
            assert str(inspect.signature(dummy)) == "(input, unit='m', *, exact=False)"
            assert recorded(module.convert, Duck())[0] is ANSWER
            assert recorded(module._private, Duck())[0] is ANSWER
        finally:
            del sys.modules["somebodys_package"], REGISTRY["somebodys_package.convert"]
            del REGISTRY["somebodys_package._private"]
        assert module not in overrides.get_overridable_functions()

    def test_the_result_may_be_changed_by_its_receiver(self):
        overrides.get_overridable_functions()[tl].clear()
        overrides.get_testing_overrides().clear()
        overrides.get_ignored_functions().clear()
        overrides.get_default_nowrap_functions().clear()
        assert overrides.get_overridable_functions()[tl]
        assert overrides.get_testing_overrides()
        assert overrides.get_ignored_functions()
        assert overrides.get_default_nowrap_functions()


class TestTestingOverrides:
    def test_there_is_one_for_every_function(self):
        listed = {f for functions in overrides.get_overridable_functions().values() for f in functions}
        assert set(overrides.get_testing_overrides()) == listed

    @pytest.mark.parametrize("name", ROWS)
    def test_signatures_are_the_functions_own(self, name):
        row = ROWS[name]
        # An operator is listed beside the method that types are asked about.
        function = row.function if row.kind == "operator" else row.key
        if function in asked():
            assert function in overrides.get_ignored_functions()
            return
        dummy = overrides.get_testing_overrides()[function]
        theirs, ours = inspect.signature(row.function), inspect.signature(dummy)
        shown = [(p.name, p.kind) for p in theirs.parameters.values()]
        assert [(p.name, p.kind) for p in ours.parameters.values()] == shown
        for parameter in theirs.parameters.values():
            assert ours.parameters[parameter.name].default is parameter.default
        needed = [p for p in theirs.parameters.values() if p.default is p.empty]
        positional = [0 for p in needed if p.kind == p.POSITIONAL_OR_KEYWORD]
        assert dummy(*positional, **{p.name: 0 for p in needed if p.kind == p.KEYWORD_ONLY}) == -1

    def test_they_are_made_once(self):
        assert overrides.get_testing_overrides()[tl.add] is overrides.get_testing_overrides()[tl.add]


class TestNames:
    @pytest.mark.parametrize(
        "function, name",
        [
            (tl.add, "tensorlike.add"),
            (tl.multiply, "tensorlike.multiply"),
            (tl.Tensor.add, "tensorlike.Tensor.add"),
            (tl.Tensor.mul_, "tensorlike.Tensor.mul_"),
            (tl.Tensor.__mul__, "tensorlike.Tensor.__mul__"),
            (tl.Tensor.shape.__get__, "tensorlike.Tensor.shape.__get__"),
            (tl.Tensor.grad.__set__, "tensorlike.Tensor.grad.__set__"),
            (tl.ones, "tensorlike.ones"),
            (print, None),
            (len, None),
            (lambda: None, None),
            (property(print).__get__, None),
            (3, None),
        ],
    )
    def test_resolve_name(self, function, name):
        assert overrides.resolve_name(function) == name

    def test_what_only_borrows_a_name_is_not_resolved(self):
        def add(input, other):
            return None

        add.__module__, add.__qualname__ = "tensorlike", "add"
        assert overrides.resolve_name(add) is None

    def test_is_tensor_method_or_property(self):
        ask = overrides.is_tensor_method_or_property
        assert ask(tl.Tensor.add)
        assert ask(tl.Tensor.__mul__)
        assert ask(tl.Tensor.shape.__get__)
        assert ask(tl.Tensor.grad.__set__)
        assert not ask(tl.add)
        assert not ask(tl.ones)
        assert not ask(print)

    def test_is_tensor_like(self):
        class Sub(tl.Tensor):
            pass

        class Silent(tl.Tensor):
            __torch_function__ = overrides.disabled_torch_function

        for value in (tl.ones(1), tl.Parameter(tl.ones(1)), Sub([1.0]), Silent([1.0]), Duck()):
            assert overrides.is_tensor_like(value)
        for value in (1, None, "text", [tl.ones(1)], object()):
            assert not overrides.is_tensor_like(value)

    def test_nowrap_functions(self):
        found = overrides.get_default_nowrap_functions()
        assert found == {tl.Tensor._base.__get__, tl.Tensor.grad.__get__, tl.Tensor._grad.__get__}


class TestWrapTorchFunction:
    def test_functions_of_ones_own(self):
        @overrides.wrap_torch_function(lambda a, b=None, *, scale=1: (a, b))
        def mine(a, b=None, *, scale=1):
            """The text."""
            return "nobody was asked"

        assert mine(tl.ones(1), scale=2) == "nobody was asked"
        duck = Duck()
        result, [call] = recorded(mine, 1, b=duck, scale=3)
        assert result is ANSWER
        assert call == (mine, (Duck,), (1,), {"b": duck, "scale": 3})
        assert (mine.__name__, mine.__doc__) == ("mine", "The text.")

    def test_the_handler_may_call_it_again(self):
        class Scaled:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func(1, **(kwargs or {}))

        @overrides.wrap_torch_function(lambda a: (a,))
        def mine(a):
            return a

        assert mine(Scaled()) == 1

    def test_handle_refuses_as_functions_do(self):
        class Refuser:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return NotImplemented

        def mine(a):
            return overrides.handle_torch_function(mine, (a,), a)

        with pytest.raises(TypeError, match="no implementation found for .*mine.*Refuser"):
            mine(Refuser())

    def test_overridable_wants_an_operand(self):
        with pytest.raises(TypeError, match="annotate one, or name the operands"):

            @overrides.overridable
            def mine(a, b):
                return a

    @pytest.mark.parametrize("annotation", ["tl.Tensor", "tl.Tensor | None", "'tl.Tensor'", "'torch.Tensor'"])
    def test_overridable_reads_annotations(self, annotation):
        scope = {"tl": tl}
        exec(f"def mine(a, b: {annotation} = None):\n    return 'nobody'", scope)
        mine = overrides.overridable(scope["mine"])
        assert mine(Duck()) == "nobody"
        assert recorded(mine, 1, Duck())[0] is ANSWER

    @pytest.mark.parametrize("annotation", ["list[tl.Tensor]", "'Sequence[torch.Tensor]'", "tuple[tl.Tensor, ...]"])
    def test_overridable_reads_annotations_of_sequences(self, annotation):
        scope = {"tl": tl}
        exec(f"def mine(a: {annotation}):\n    return 'nobody'", scope)
        mine = overrides.overridable(scope["mine"])
        assert mine([tl.ones(1), 2]) == "nobody"
        assert recorded(mine, [tl.ones(1), Duck()])[0] is ANSWER
        assert recorded(mine, a=(Duck(),))[0] is ANSWER


class TestOtherNames:
    def test_the_older_name_holds_the_same_functions(self):
        for name in _overrides.__all__:
            assert getattr(_overrides, name) is getattr(overrides, name)

    def test_the_names_of_the_compiled_module(self):
        assert _C.DisableTorchFunction is overrides.DisableTorchFunction
        assert _C.DisableTorchFunctionSubclass is overrides.DisableTorchFunctionSubclass
        assert _C._disabled_torch_function_impl is overrides.disabled_torch_function

    def test_everything_in_all_is_there(self):
        assert [name for name in overrides.__all__ if not hasattr(overrides, name)] == []


class TestTheChecksThemselves:
    """A wrapper with a fault must not pass what every function above passed."""

    def check(self, row, monkeypatch):
        monkeypatch.setitem(LISTED, "faulty", row)
        test_every_function_asks_the_type_of_every_operand("faulty")

    def faulty(self, wrapper):
        form = self.form(REGISTRY["tensorlike.add"].parameters)
        form.function, form.key = wrapper, tl.add
        return form

    def form(self, parameters):
        """A form of an operation like `add`."""
        add = REGISTRY["tensorlike.add"]
        operation = Operation("add", "tensorlike", parameters)
        return Form(
            operation, "function", add.implementation, namespace="tensorlike", name="add", parameters=parameters
        )

    def test_a_faithful_wrapper_passes(self, monkeypatch):
        def add(input, other, *, alpha=1, out=None):
            raise AssertionError("the signature alone is wanted")

        def wrapper(*args, **kwargs):
            return tl.add(*args, **kwargs)

        wrapper.__wrapped__ = add
        self.check(self.faulty(wrapper), monkeypatch)

    def test_a_dropped_keyword_is_caught(self, monkeypatch):
        def wrapper(input, other, *, alpha=1, out=None):
            return tl.add(input, other, out=out)

        with pytest.raises(AssertionError):
            self.check(self.faulty(wrapper), monkeypatch)

    def test_positional_made_keyword_is_caught(self, monkeypatch):
        def wrapper(input, other, *, alpha=1, out=None):
            return tl.add(input, other=other, alpha=alpha, out=out)

        with pytest.raises(AssertionError):
            self.check(self.faulty(wrapper), monkeypatch)

    def test_an_operand_that_is_not_looked_at_is_caught(self, monkeypatch):
        row = REGISTRY["tensorlike.add"]
        parameters = tuple(p._replace(operand=None) if p.name == "other" else p for p in row.parameters)
        wrapper = public_function(self.form(parameters), name="add", qualname="add", module="tensorlike", doc=None)
        with pytest.raises((AssertionError, TypeError)):
            self.check(self.faulty(wrapper), monkeypatch)

    def test_a_default_that_replaces_a_value_is_caught(self, monkeypatch):
        def wrapper(input, other, *, alpha=1, out=None):
            return tl.add(input, other, alpha=1, out=out)

        with pytest.raises(AssertionError):
            self.check(self.faulty(wrapper), monkeypatch)
