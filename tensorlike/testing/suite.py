"""A conformance suite for tensor-like types, in the manner of pandas' base tests for extension arrays.

    class TestUnits(TensorLikeSuite):
        functions = ("add", "mul", "linalg.*")
        known_gaps = {"mul:alpha*": "..."}

        def make_operand(self, tensor):
            return Units(tensor, "m")

        def to_dense(self, operand):
            return operand.magnitude

# Note [When a gap is closed]
A gap covers every test of the functions it matches, and a missing feature rarely fails all of them. So a gap is open,
for one function, as long as one of its tests fails; only when all pass does each of them fail and say so. A test that
passes runs the others itself, so that the outcome does not depend on the process or order of the tests.
"""

from __future__ import annotations

import copy
import fnmatch
import functools
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from tensorlike.audit.arguments import at, difference, lost, mapped, shown_call
from tensorlike.audit.metadata import (
    Metadata,
    attribute_reader,
    carried,
    declared,
    lost_attributes,
    marked,
    same,
    takes_marks,
)
from tensorlike.autograd import grad
from tensorlike.autograd.tensor_base import wrap
from tensorlike.dispatch import DisableTorchFunction
from tensorlike.dispatch.pytree import instances
from tensorlike.dispatch.signature import NESTED
from tensorlike.tensor.tensor import Tensor

from .suite_calls import Case, cases, output_cases, suite_api
from .suite_programs import PROGRAMS, Runner, functions_of

_SHAPES = ((), (3,), (2, 3))

_NO_SAMPLE = "make_operand holds none of the sample inputs"


class _NoSample(Exception):
    """Raised when no sample call can be made with an instance of the type."""


class _Item:
    """One generated test: the check, the function, the operand that is an instance, and the dtype."""

    __slots__ = ("check", "dtype", "function", "operand")

    def __init__(self, check: str, function: str, operand: str, dtype: str) -> None:
        self.check = check
        self.function = function
        self.operand = operand
        self.dtype = dtype

    @property
    def program(self) -> str:
        """The name of the program, where the check is of one."""
        return self.function

    @property
    def id(self) -> str:
        return "-".join(part for part in (self.function, self.operand, self.dtype) if part)


def _short(name: str) -> str:
    return name.removeprefix("tensorlike.")


def _matches(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(_short(name), pattern)


class TensorLikeSuite:
    """Tests for a type with `__torch_function__`: subclass it, define how instances are made, and run pytest.

    The subclass's name begins with `Test`; it defines `make_operand` and `to_dense` and sets the attributes below.
    There is a test for each function and operand position (`mul-input`, `mul-other`: the other operands are plain
    tensors, so that the type is tried on the left and on the right), one with instances everywhere, and tests of
    in-place functions, `out=`, gradients, pickle and deepcopy. Each call must leave its operands as plain tensors are
    left, and its results must carry what the operands carry, as far as `attributes` names it.
    Short programs as users write them (a training step, indexing, sorting a list) are tests too, those that ask the
    type about supported functions alone.

    >>> from tensorlike.testing import TensorLikeSuite
    >>> class Celsius:
    ...     def __init__(self, degrees):
    ...         self.degrees = degrees
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         plain = [a.degrees if isinstance(a, cls) else a for a in args]
    ...         return cls(func(*plain, **(kwargs or {})))
    >>> class TestCelsius(TensorLikeSuite):
    ...     functions = ("add",)
    ...     def make_operand(self, tensor):
    ...         return Celsius(tensor)
    ...     def to_dense(self, operand):
    ...         return operand.degrees
    >>> TestCelsius().test_mixed("tensorlike.add", "other", "float32")

    Source: the base tests for extension arrays of pandas.
    """

    #: Globs of the functions that the type supports, with or without the leading `tensorlike.`, and of exceptions.
    functions: ClassVar[Sequence[str]] = ("*",)
    excluded: ClassVar[Sequence[str]] = ()
    #: The dtypes that instances are made in.
    dtypes: ClassVar[Sequence[str]] = ("float32",)
    #: Globs of functions whose results are no instances of the type by design.
    plain_results: ClassVar[Sequence[str]] = ()
    #: Names of attributes that results share with their operands, and that survive pickle and deepcopy.
    attributes: ClassVar[Sequence[str]] = ()
    #: The features of the type. Gradients flow through `make_operand` and `to_dense`.
    gradients: ClassVar[bool] = False
    inplace: ClassVar[bool] = True
    out: ClassVar[bool] = True
    pickle: ClassVar[bool] = True
    deepcopy: ClassVar[bool] = True
    #: Whether instances have the methods and operators of tensors, and whether programs are run.
    methods: ClassVar[bool] = True
    programs: ClassVar[bool] = True
    #: Glob -> reason. `"linalg.*"` covers every test of these functions, `"out:add"` one kind of test of one function,
    #: `"program:indexing"` one program, `"pickle"` the test of that name. A gap that has been closed, or that matches
    #: nothing, makes tests fail.
    known_gaps: ClassVar[Mapping[str, str]] = {}

    def make_operand(self, tensor: Any) -> Any:
        """Return an instance for a plain tensor, or NotImplemented where the type cannot hold it.

        The instance may hold another value, such as the nearest one that the type can represent: the expected result is
        computed from `to_dense(instance)`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define make_operand(self, tensor): an instance for a plain tensor"
        )

    def to_dense(self, operand: Any) -> Any:
        """Return the value of an instance as a plain tensor."""
        raise NotImplementedError(
            f"{type(self).__name__} must define to_dense(self, operand): the value of an instance as a plain tensor"
        )

    # The generated tests.

    def test_value(self, function: str, operand: str, dtype: str) -> None:
        """The value of a call with an instance as the only tensor, or in one position if both cannot be separated."""
        self._test(_Item("value", function, operand, dtype))

    def test_mixed(self, function: str, operand: str, dtype: str) -> None:
        """The value of a call with an instance in one position and plain tensors in the others."""
        self._test(_Item("mixed", function, operand, dtype))

    def test_all_operands(self, function: str, dtype: str) -> None:
        """The value of a call with instances in every position."""
        self._test(_Item("all_operands", function, "", dtype))

    def test_type(self, function: str, operand: str, dtype: str) -> None:
        """The result is an instance wherever plain tensors give a tensor."""
        self._test(_Item("type", function, operand, dtype))

    def test_in_place(self, function: str, dtype: str) -> None:
        """A function that writes to its first operand leaves the right value there and returns that operand."""
        self._test(_Item("in_place", function, "", dtype))

    def test_out(self, function: str, dtype: str) -> None:
        """`out=` is written to and returned."""
        self._test(_Item("out", function, "", dtype))

    def test_gradient(self, function: str, operand: str, dtype: str) -> None:
        """The gradient of an operand is that of the dense computation."""
        self._test(_Item("gradient", function, operand, dtype))

    def test_round_trip(self, dtype: str) -> None:
        """`to_dense` returns a plain tensor, from which `make_operand` makes an instance of the same value."""
        self._test(_Item("round_trip", "", "", dtype))

    def test_pickle(self, dtype: str) -> None:
        """An instance survives pickle with its type and value."""
        self._test(_Item("pickle", "", "", dtype))

    def test_deepcopy(self, dtype: str) -> None:
        """A deep copy has the type and the value, and memory of its own."""
        self._test(_Item("deepcopy", "", "", dtype))

    def test_program(self, program: str) -> None:
        """A short program as users write it gives what it gives with plain tensors."""
        self._test(_Item("program", program, "", ""))

    def test_known_gaps_match(self) -> None:
        """Every gap covers a test: otherwise it is a typo, or its function is gone."""
        idle = [gap for gap in self.known_gaps if not any(True for _ in self._covered(gap))]
        if idle:
            pytest.fail(
                f"known_gaps: {', '.join(map(repr, idle))} matches none of the tests of {type(self).__name__}; "
                "correct or remove it",
                pytrace=False,
            )

    # Generating the tests.

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each test its functions, operands and dtypes."""
        check = metafunc.function.__name__.removeprefix("test_")
        if check not in _CHECKS or getattr(TensorLikeSuite, metafunc.function.__name__, None) is not metafunc.function:
            return
        names = [name for name in ("function", "operand", "dtype", "program") if name in metafunc.fixturenames]
        items = list(self._items(check))
        if items:
            values = [tuple(getattr(item, name) for name in names) for item in items]
            metafunc.parametrize(names, values, ids=[item.id for item in items])
            return
        switch = _SWITCHES.get(check)
        off = switch is not None and not getattr(self, switch)
        reason = f"{switch} = False" if off else "no supported function has such a test"
        # Skipped, not left out: the author sees the checks that do not apply to the type, and the reasons.
        nothing = pytest.param(*[""] * len(names), marks=pytest.mark.skip(reason=reason))
        metafunc.parametrize(names, [nothing], ids=["none"])

    def _supported(self) -> list[str]:
        for name in ("functions", "excluded", "plain_results", "dtypes"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{type(self).__name__}.{name} is a sequence of strings, not a string: write (...,)")
        return list(_selected(tuple(self.functions), tuple(self.excluded), type(self).__name__))

    def _items(self, check: str) -> Iterator[_Item]:
        switch = _SWITCHES.get(check)
        if switch is not None and not getattr(self, switch):
            return
        if check in ("round_trip", "pickle", "deepcopy"):
            yield from (_Item(check, "", "", dtype) for dtype in self.dtypes)
            return
        if check == "program":
            supported = set(self._supported())
            yield from (_Item(check, name, "", "") for name in PROGRAMS if functions_of(name) <= supported)
            return
        for name in self._supported():
            yield from self._items_of(check, name)

    def _items_of(self, check: str, name: str) -> Iterator[_Item]:
        api = suite_api()
        function = api.table[name]
        written = function.inplace
        for dtype in self.dtypes:
            operands = api.operands(name, dtype)
            if check == "in_place":
                if written and operands and operands[0] == function.parameters[0].name:
                    yield _Item(check, name, "", dtype)
            elif check == "out":
                if operands and any(p.name == "out" for p in function.parameters):
                    yield _Item(check, name, "", dtype)
            elif check == "all_operands":
                if (len(operands) > 1 or any(p.operand == "many" for p in function.parameters)) and (
                    self.inplace or not written
                ):
                    yield _Item(check, name, "", dtype)
            else:
                for operand in operands:
                    target = written and operand == function.parameters[0].name
                    if check in ("value", "mixed") and (check == "mixed") != (len(operands) > 1):
                        continue
                    if check == "type" and (
                        function.nowrap or written or any(_matches(name, g) for g in self.plain_results)
                    ):
                        continue
                    if check == "gradient" and (written or not api.is_differentiable(name, operand, dtype)):
                        continue
                    # Writing is checked by test_in_place.
                    if not target:
                        yield _Item(check, name, operand, dtype)

    # Running the tests.

    def _gap(self, item: _Item) -> str | None:
        name = item.function or item.check
        for gap in self.known_gaps:
            check, colon, pattern = gap.partition(":")
            if (not colon and _matches(name, gap)) or (colon and check == item.check and _matches(name, pattern)):
                return gap
        return None

    def _covered(self, gap: str, function: str | None = None) -> Iterator[_Item]:
        for check in _CHECKS:
            if function in PROGRAMS:
                items = iter([_Item(check, function, "", "")] if check == "program" else [])
            elif function:
                switch = _SWITCHES.get(check)
                switched_off = switch is not None and not getattr(self, switch)
                about_type = check in ("round_trip", "pickle", "deepcopy", "program")
                items = iter(()) if switched_off or about_type else self._items_of(check, function)
            else:
                items = self._items(check)
            yield from (item for item in items if self._gap(item) == gap)

    def _test(self, item: _Item) -> None:
        gap = self._gap(item)
        try:
            self._perform(item)
        except _NoSample as error:
            pytest.skip(str(error))
        except Exception:
            if gap is None:
                raise
            # Strict: a gap without a failing test is a failure, below.
            pytest.xfail(f"known gap {gap!r}: {self.known_gaps[gap]}")
        if gap is not None and not any(self._fails(other) for other in self._covered(gap, item.function or None)):
            what = _short(item.function) if item.function else item.check
            pytest.fail(
                f"the gap {gap!r} ({self.known_gaps[gap]}) is closed for {what}: every test of it passes. "
                f"Remove it from known_gaps of {type(self).__name__}, or narrow it",
                pytrace=False,
            )

    def _fails(self, item: _Item) -> bool:
        try:
            self._perform(item)
        except _NoSample:
            return False
        except Exception:
            return True
        return False

    def _perform(self, item: _Item) -> None:
        perform: Callable[[_Item], None] = getattr(self, f"_check_{item.check}")
        perform(item)

    @functools.cached_property
    def _kind(self) -> type:
        """The type under test, that of the results of make_operand."""
        for shape in ((2, 2), *_SHAPES):
            made = self.make_operand(wrap(np.ones(shape, dtype=np.dtype(self.dtypes[0]))))
            if made is not NotImplemented:
                return type(made)
        raise _NoSample("make_operand answers NotImplemented for ones of every shape")

    def _dense(self, value: object) -> Any:
        return mapped(value, self.to_dense, self._kind)

    def _answers(self, item: _Item) -> Iterator[tuple[Case, Any, Any, str]]:
        """Yield (call, dense result, the type's result, the call in words) for every sample that can be used."""
        api = suite_api()
        function = api.table[item.function]
        tried = False
        for case, _ in cases(item.function, item.operand or None, item.dtype, self.make_operand, self.to_dense):
            try:
                expected = function.key(*case.dense_args, **case.dense_kwargs)
            except Exception:  # The shapes of the type's values do not match: try another sample.
                continue
            tried = True
            words = shown_call(_short(item.function), case.args, case.kwargs, api)
            before = self._carried(case, function)
            actual = self._called(function.key, case, words)
            self._check_left(item, case, words)
            self._check_carried(before, actual, words)
            yield case, expected, actual, words
        if not tried:
            why = _NO_SAMPLE if item.operand else "make_operand holds no sample inputs with several tensors"
            raise _NoSample(f"{why} of {_short(item.function)} in {item.dtype}")

    def _called(self, function: Callable[..., Any], case: Case, words: str) -> Any:
        try:
            return function(*case.args, **case.kwargs)
        except Exception as error:
            error.add_note(f"The call was {words}")
            raise

    def _metadata(self) -> list[Metadata]:
        """Return what instances carry: `attributes`, and those that the type declares."""
        named = [attribute_reader(name, f"{type(self).__name__}.attributes") for name in self.attributes]
        return [*named, *(one for one in declared(self._kind) if one.name not in self.attributes)]

    def _carried(self, case: Case, function: Any) -> list[tuple[Metadata, Any]]:
        """Return what the operand of a call carries; nothing for what results do not take after.

        Where several operands differ, only the type knows what their result carries.
        """
        at_index = any(p.operand == NESTED for p in function.parameters)
        found = instances([case.args, case.kwargs], self._kind)
        if function.nowrap or at_index or not found:
            return []
        every = [dict(carried(instance, self._metadata())) for instance in found]
        return [(one, value) for one, value in every[0].items()
                if all(one in other and same(other[one], value) for other in every)]  # fmt: skip

    def _check_carried(self, before: list[tuple[Metadata, Any]], actual: object, words: str) -> None:
        found = lost_attributes(before, actual, self._kind)
        assert not found, f"{words} loses an attribute: {found}"

    def _check_left(self, item: _Item, case: Case, words: str) -> None:
        """Compare what a call that writes nothing has left in its operands with what it leaves in plain tensors."""
        if suite_api().table[item.function].mutates.keys() - {"out"}:
            return  # test_in_place compares what is written.
        found = difference(
            [case.dense_args, list(case.dense_kwargs.values())],
            self._dense([case.args, list(case.kwargs.values())]),
            suite_api(),
        )
        assert not found, f"{words} changes its operand: afterwards it is {found}"

    def _compare(self, expected: object, actual: object, words: str, values: bool) -> None:
        found = difference(expected, self._dense(actual), suite_api(), values=values)
        assert not found, f"{words} gives {found}"

    def _check_value(self, item: _Item) -> None:
        for case, expected, actual, words in self._answers(item):
            self._compare(expected, actual, words, case.deterministic)

    _check_mixed = _check_value
    _check_all_operands = _check_value

    def _check_type(self, item: _Item) -> None:
        for _, expected, actual, words in self._answers(item):
            if lost(expected, actual, self._kind, Tensor):
                name = self._kind.__name__
                raise AssertionError(f"{words} gives {type(actual).__name__}, where {name} is expected: type lost")

    def _check_in_place(self, item: _Item) -> None:
        first = suite_api().table[item.function].parameters[0].name
        for case, expected, actual, words in self._answers(_Item(item.check, item.function, first, item.dtype)):
            target = at(case.args, case.kwargs, case.place)
            written = at(case.dense_args, case.dense_kwargs, case.place)
            self._compare(written, target, f"{words} writes a wrong value: it", case.deterministic)
            if expected is written:
                assert actual is target, f"{words} returns another object than the one it wrote to"

    def _check_out(self, item: _Item) -> None:
        api = suite_api()
        tried = False
        for case, out, expected in output_cases(item.function, item.dtype, self.make_operand, self.to_dense):
            tried = True
            words = shown_call(_short(item.function), case.args, case.kwargs, api)
            actual = self._called(api.table[item.function].key, case, words)
            self._compare(expected, out, f"{words}: out=", case.deterministic)
            same = all(a is o for a, o in zip(actual, out)) if isinstance(out, tuple) else actual is out
            assert same, f"{words} does not return what was passed as out="
        if not tried:
            raise _NoSample(f"{_NO_SAMPLE} of {_short(item.function)} with out= in {item.dtype}")

    def _check_gradient(self, item: _Item) -> None:
        api = suite_api()
        function = api.table[item.function]
        tried = False
        for case, (leaf, dense_leaf) in cases(
            item.function, item.operand, item.dtype, self.make_operand, self.to_dense, requires_grad=True
        ):
            if not case.deterministic or not leaf.requires_grad:
                continue
            dense = at(case.dense_args, case.dense_kwargs, case.place)
            assert dense.requires_grad, "to_dense(make_operand(tensor)) has no history: gradients do not flow"
            try:
                expected = _gradient(function.key(*case.dense_args, **case.dense_kwargs), dense_leaf)
            except Exception:  # The shapes of the type's values do not match: try another sample.
                continue
            if expected is None:
                continue
            tried = True
            words = f"the gradient of {shown_call(_short(item.function), case.args, case.kwargs, api)}"
            actual = _gradient(self._dense(self._called(function.key, case, words)), leaf)
            assert actual is not None, f"{words}: the result has no history that leads to the operand"
            found = difference(expected, actual, api)
            assert not found, f"{words} is {found}"
        if not tried:
            raise _NoSample(f"no sample call of {_short(item.function)} is differentiable in {item.operand}")

    def _check_program(self, item: _Item) -> None:
        program = PROGRAMS[item.program]
        switches = ("methods", "gradients", "inplace", "pickle", "deepcopy")
        lacks = frozenset(switch for switch in switches if not getattr(self, switch))
        ran = Runner(self._kind, self.make_operand, self.to_dense, suite_api(), lacks=lacks).run(program)
        if ran.reason:
            raise _NoSample(ran.reason)
        if ran.error is not None:
            ran.error.add_note(f"The program was {program.name!r} ({program.title}), at: {ran.line}")
            raise ran.error
        assert not ran.difference, f"the program {program.name!r} ({program.title}) gives {ran.difference}"

    def _instances(self, dtype: str) -> Iterator[Any]:
        made = False
        for shape in ((2, 2), *_SHAPES):
            values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
            instance = self.make_operand(wrap(np.asarray(values.astype(dtype))))
            if instance is not NotImplemented:
                made = True
                yield instance
        if not made:
            raise _NoSample(f"make_operand holds no {dtype} tensor of the shapes tried")

    def _check_round_trip(self, item: _Item) -> None:
        for instance in self._instances(item.dtype):
            dense = self.to_dense(instance)
            assert type(dense) is Tensor, f"to_dense returns a {type(dense).__name__}, not a plain tensor"
            again = self.make_operand(dense)
            if again is not NotImplemented:
                self._compare(dense, again, "make_operand(to_dense(operand))", True)

    def _check_pickle(self, item: _Item) -> None:
        for instance in self._instances(item.dtype):
            self._same_but_apart(instance, pickle.loads(pickle.dumps(instance)), "pickle")

    def _check_deepcopy(self, item: _Item) -> None:
        for instance in self._instances(item.dtype):
            self._same_but_apart(instance, copy.deepcopy(instance), "deepcopy")

    def _same_but_apart(self, instance: object, other: object, what: str) -> None:
        kind = type(instance)
        assert type(other) is kind, f"{what} of a {kind.__name__} gives a {type(other).__name__}: type lost"
        api = suite_api()
        one, two = self.to_dense(instance), self.to_dense(other)
        found = difference(one, two, api)
        assert not found, f"{what} gives {found}"
        assert not np.shares_memory(api.array(one), api.array(two)), f"{what} shares memory with the original"
        self._check_carried(carried(instance, self._metadata()), other, what)


@functools.cache
def _takes_marks(kind: type) -> bool:
    """Return whether the code of a subclass takes the audit's marks for the attributes that it declares."""

    def first_error(use: Callable[[Any], Any]) -> Exception | None:
        try:
            use(Tensor([[2.0, 2.0], [2.0, 2.0]]).as_subclass(kind))
        except Exception as error:
            return error
        return None

    return takes_marks(first_error, Tensor.neg, declared(kind))


class TensorSubclassSuite(TensorLikeSuite):
    """The suite for a subclass of Tensor: set `tensor_type`. The attributes that it declares are compared, too.

    Instances are made with `tensor.as_subclass(tensor_type)`; override `make_operand` to give them their attributes.

    >>> from tensorlike.testing import TensorSubclassSuite
    >>> class Marked(tl.Tensor):
    ...     pass
    >>> class TestMarked(TensorSubclassSuite):
    ...     tensor_type = Marked
    >>> TestMarked().test_type("tensorlike.mul", "other", "float32")

    Source: the base tests for extension arrays of pandas.
    """

    tensor_type: ClassVar[type]
    gradients: ClassVar[bool] = True

    def make_operand(self, tensor: Any) -> Any:
        """Return the tensor as an instance of `tensor_type`."""
        if getattr(type(self), "tensor_type", None) is None:
            raise NotImplementedError(f"{type(self).__name__} must set tensor_type, the subclass of Tensor to test")
        made = tensor.as_subclass(self.tensor_type)
        if _takes_marks(self.tensor_type):
            marked(made, declared(self.tensor_type))
        return made

    def to_dense(self, operand: Any) -> Any:
        """Return the instance as a plain tensor on the same memory, at the same place in the graph."""
        with DisableTorchFunction():
            return operand.as_subclass(Tensor)


#: Every kind of test, and the attribute that switches it off.
_CHECKS = (
    "value", "mixed", "all_operands", "type", "in_place", "out", "gradient", "round_trip", "pickle", "deepcopy",
    "program",
)  # fmt: skip
_SWITCHES = {
    "in_place": "inplace",
    "out": "out",
    "gradient": "gradients",
    "pickle": "pickle",
    "deepcopy": "deepcopy",
    "program": "programs",
}


@functools.cache
def _selected(functions: tuple[str, ...], excluded: tuple[str, ...], suite: str) -> tuple[str, ...]:
    table = suite_api().table
    for glob in (*functions, *excluded):
        if not any(_matches(name, glob) for name in table):
            raise ValueError(f"{suite}: no overridable function matches {glob!r}")
    return tuple(
        name
        for name in table
        if any(_matches(name, glob) for glob in functions) and not any(_matches(name, glob) for glob in excluded)
    )


def _gradient(result: object, leaf: Tensor) -> Any:
    """Return the gradient of a weighted sum of the results for `leaf`, or None if they do not depend on it."""
    found = [t for t in (result if isinstance(result, (list, tuple)) else (result,)) if isinstance(t, Tensor)]
    found = [t for t in found if t.requires_grad]
    if not found:
        return None
    # Different weights for all elements detect a gradient that is right only on average.
    api = suite_api()
    weights = [wrap(_weights(api.array(t))) for t in found]
    return grad(found, [leaf], weights, allow_unused=True)[0]


def _weights(like: Any) -> Any:
    return np.asarray(np.linspace(0.5, 1.5, like.size).reshape(like.shape).astype(like.dtype))
