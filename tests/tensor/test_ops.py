"""Every operation with samples: values, forms, dtypes, gradients, interception, lifetime."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES, Make, SampleInput, Samples
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.signature import VARIADIC
from tensorlike.overrides import TorchFunctionMode
from tensorlike.tensor.promotion import can_cast
from tests.helpers.ducks import ANSWER, Duck, identical, recorded
from tests.helpers.gradients import GradientMismatch, check_gradients
from tests.helpers.rows import calling, cases, families, is_reflected, mutates
from tests.helpers.values import (
    TOLERANCE,
    array,
    assert_arrays,
    assert_same,
    fresh,
    mapped,
    snapshot,
    strided,
    tensors_in,
    wrapped,
)

CASES = cases()

#: What these return is how the elements lie in memory.
ABOUT_MEMORY = {
    "tensorlike.Tensor.stride",
    "tensorlike.Tensor.is_contiguous",
    "tensorlike.as_strided",
    "tensorlike.as_strided_copy",
    "tensorlike.as_strided_scatter",
    "tensorlike.slice_inverse",
    "tensorlike.Tensor.slice_inverse",
    "tensorlike.view_as_complex",
}


def signature_of(row):
    return inspect.signature(row.function)


def call(row, sample, args=None, kwargs=None):
    """Call the function of `row` as a user would who has floating-point errors raise."""
    args = sample.args if args is None else args
    kwargs = sample.kwargs if kwargs is None else kwargs
    tl.manual_seed(0)
    before = np.geterr()
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        held = np.geterr()
        result = row.function(*args, **kwargs)
        assert np.geterr() == held, "the user's np.seterr was changed"
    assert np.geterr() == before
    return result


def fits(row, sample):
    try:
        signature_of(row).bind(*sample.args, **sample.kwargs)
    except TypeError:
        return False
    return True


def in_own_words(row, primary, sample):
    """The sample's arguments as `row` takes them, or None where it lacks a parameter that the sample sets.

    The method of `where(condition, input, other)` is `input.where(condition, other)`: the operand that the method calls
    `self` may stand elsewhere in the function.
    """
    theirs, mine = [p.name for p in primary.parameters], [p.name for p in row.parameters]
    names = dict(zip(mine, mine))
    if mine[0] not in theirs:
        names[mine[0]] = next((n for n in theirs if n not in mine), theirs[0])
    if names[mine[0]] != theirs[0]:
        bound = signature_of(primary).bind(*sample.args, **sample.kwargs).arguments
        if set(bound) != set(names.values()):
            return None
        return SampleInput(*(bound[names[n]] for n in mine))
    kwargs = dict(sample.kwargs)
    if names[mine[0]] in kwargs:
        kwargs[mine[0]] = kwargs.pop(names[mine[0]])
    found = SampleInput(*sample.args, **kwargs)
    return found if fits(row, found) else None


def same(samples, actual, expected, what):
    if samples.deterministic:
        assert_same(actual, expected, what, samples.tolerance)
        return
    ours, theirs = list(tensors_in(actual)), list(tensors_in(expected))
    assert [(array(t).shape, array(t).dtype) for t in ours] == [(array(t).shape, array(t).dtype) for t in theirs], what


def check_forms(samples, primary, members, name, inputs, results):
    """Function, method, aliases, operators, in-place and out= forms do the same."""
    for row in members:
        used = 0
        for given, expected in zip(inputs, results):
            sample = in_own_words(row, primary, given)
            if sample is None:
                continue
            what = f"{row.full_name}{sample}"
            if is_reflected(row):
                # An operator of its own, with the operands in the other order.
                if len(sample.args) != 2 or not isinstance(sample.args[1], tl.Tensor):
                    continue
                try:
                    expected = call(primary, sample, (sample.args[1], sample.args[0]))
                except RuntimeError:  # Shapes that fit in one order only.
                    continue
                same(samples, call(row, sample), expected, what)
            elif mutates(row) and not mutates(primary):
                check_in_place(samples, row, sample, expected, what)
            elif mutates(primary):
                mine = fresh(sample.args)
                same(samples, call(row, sample, mine, fresh(sample.kwargs)), expected, what)
            else:
                same(samples, call(row, sample), expected, what)
                check_spread(samples, row, primary, sample, expected, what)
            used += 1
            if any(p.name == "out" for p in row.parameters) and "out" not in sample.kwargs:
                check_out(samples, row, sample, expected, what)
        assert used or is_reflected(row), f"no sample of {name} fits {row.full_name}"


def check_spread(samples, row, primary, sample, expected, what):
    """`x.permute(2, 0, 1)` is `x.permute((2, 0, 1))`."""
    spread = [p.name for p in row.parameters if p.kind == VARIADIC]
    if spread and len(sample.args) == 2 and isinstance(sample.args[1], (list, tuple)) and sample.args[1]:
        same(samples, row.function(sample.args[0], *sample.args[1], **sample.kwargs), expected, f"{what} spread out")


def check_in_place(samples, row, sample, expected, what):
    args, kwargs = fresh(sample.args), fresh(sample.kwargs)
    kwargs.pop("out", None)
    target = args[0]
    former = array(target).copy()
    if isinstance(expected, tl.Tensor) and row.kind in ("inplace", "operator", "alias"):
        dtype = array(expected).dtype
        # A real part, an absolute value: complex tensors do not take them in.
        narrowed = dtype.kind == "f" and former.dtype.kind == "c"
        if array(expected).shape != former.shape or not can_cast(dtype, former.dtype) or narrowed:
            with pytest.raises(RuntimeError, match=r"\w+\(\)|In-place"):
                row.function(*args, **kwargs)
            assert_arrays(array(target), former, f"{what} wrote although it refused")
            return
    version = target._version
    result = call(row, sample, args, kwargs)
    assert result is target, f"{what} returned another tensor than it wrote to"
    if isinstance(expected, tl.Tensor):
        cast = wrapped(array(expected).astype(former.dtype))
        same(samples, target, cast, what)
    if row.kind in ("inplace", "operator", "alias"):
        assert target._version > version, f"{what} did not count as a modification"


def check_out(samples, row, sample, expected, what):
    if sample.kwargs.get("as_tuple"):
        return  # `nonzero` refuses both together, as PyTorch's does.
    def empty(like, dtype=None):
        return wrapped(np.full(array(like).shape, 7, dtype or array(like).dtype))

    if isinstance(expected, tl.Tensor):
        target = empty(expected)
        before = snapshot([sample.args, sample.kwargs])
        result = call(row, sample, kwargs={**sample.kwargs, "out": target})
        assert result is target, f"{what} with out= returned something else"
        same(samples, target, expected, f"{what} with out=")
        for one, other in zip(snapshot([sample.args, sample.kwargs]), before):
            assert_arrays(one, other, f"{what} with out= changed an input")
        strided_target = strided(empty(expected))
        call(row, sample, kwargs={**sample.kwargs, "out": strided_target})
        same(samples, strided_target, expected, f"{what} with an out= that is not contiguous")
        # PyTorch's exception is compared in tests/vs_torch/test_out_parity.py; these compute in the dtype of `out`.
        takes_any = getattr(row.operation, "out", None) in ("dtype", "any")
        if array(expected).dtype.kind in "fc" and row.kind != "alias" and not takes_any:
            with pytest.raises((RuntimeError, TypeError), match="can't be cast|dtype|type"):
                row.function(*sample.args, **{**sample.kwargs, "out": empty(expected, np.int32)})
    elif isinstance(expected, tuple) and all(isinstance(t, tl.Tensor) for t in expected):
        targets = tuple(empty(t) for t in expected)
        result = call(row, sample, kwargs={**sample.kwargs, "out": targets})
        assert all(a is b for a, b in zip(result, targets)), f"{what} with out= returned something else"
        same(samples, result, expected, f"{what} with out=")


def check_strided(samples, row, inputs, results):
    """Operands that are not contiguous, and dimensions in another order, give the same."""
    if row.full_name in ABOUT_MEMORY:
        return
    for sample, expected in zip(inputs, results):
        args, kwargs = mapped(sample.args, strided), mapped(sample.kwargs, strided)
        try:
            result = call(row, sample, args, kwargs)
        except RuntimeError as error:
            if "contiguous" not in str(error):
                raise
            continue
        same(samples, result, expected, f"{row.full_name}{sample} on strided operands")
        args = mapped(sample.args, lambda t: wrapped(array(t).copy(order="F")))
        try:
            result = call(row, sample, args)
        except RuntimeError as error:  # Views that need the elements to lie side by side say so.
            if "contiguous" not in str(error):
                raise
            continue
        same(samples, result, expected, f"{row.full_name}{sample} on operands in Fortran order")


class Sub(tl.Tensor):
    """A subclass that adds nothing."""


def check_subclass(samples, row, inputs, results):
    """A subclass goes in, the same values of that type come out; the operands keep theirs."""
    for sample, expected in zip(inputs, results):
        operands = list(tensors_in([sample.args, sample.kwargs]))
        if not operands:
            continue
        first = operands[0]
        for change in (lambda t: t.as_subclass(Sub), lambda t, first=first: t.as_subclass(Sub) if t is first else t):
            args, kwargs = mapped(sample.args, change), mapped(sample.kwargs, change)
            if mutates(row):
                args = mapped(args, lambda t: wrapped(array(t).copy()).as_subclass(type(t)))
            result = call(row, sample, args, kwargs)
            what = f"{row.full_name}{sample} on a subclass"
            kinds = {type(t) for t in tensors_in(result)}
            if row.function not in tl.overrides.get_default_nowrap_functions():
                assert kinds <= {Sub}, f"{what} gave {kinds}"
            same(samples, result, expected, what)
        assert all(type(t) is not Sub for t in operands), f"{row.full_name}{sample} changed the type of an operand"


def replaced(value, at, by):
    """`value` with its tensor number `at` replaced."""
    count = -1

    def change(tensor):
        nonlocal count
        count += 1
        return by if count == at else tensor

    return mapped(value, change)


def operand_positions(row, sample):
    """The numbers of those tensors of a sample that stand where types are asked."""
    operands = {p.name for p in row.operands()}
    tensors = list(tensors_in([list(sample.args), sample.kwargs]))
    bound = signature_of(row).bind(*sample.args, **sample.kwargs).arguments
    asked = {id(t) for name, value in bound.items() if name in operands for t in tensors_in(value)}
    return [at for at, tensor in enumerate(tensors) if id(tensor) in asked]


def check_intercepted(row, inputs):
    """A type is asked wherever it stands among the operands, and a mode sees every call, as they were passed."""

    class Sees(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func, types, args, kwargs))
            return ANSWER

    seen = []
    for sample in inputs:
        for at in operand_positions(row, sample):
            args, kwargs = replaced([list(sample.args), sample.kwargs], at, Duck())
            result, calls = recorded(row.function, *args, **kwargs)
            what = f"{row.full_name}{sample} with a duck for tensor {at}"
            assert result is ANSWER, f"{what} was not asked"
            [asked] = calls
            # An operator whose left operand is a plain tensor is reported as its method.
            is_plain = row.plain_form is not None and type(args[0]) is tl.Tensor
            assert asked.func == (row.plain_form.key if is_plain else row.key), what
            assert asked.types == (Duck,), what
            assert identical(asked.args, tuple(args)), what
            assert identical(asked.kwargs, kwargs), what
        seen.clear()
        with Sees():
            result = row.function(*sample.args, **sample.kwargs)
        assert result is ANSWER
        [(func, types, args, kwargs)] = seen
        assert func == row.key
        assert types == ()
        assert identical(args, sample.args), f"{row.full_name}{sample}: a mode saw {args}"
        assert identical(kwargs, sample.kwargs), f"{row.full_name}{sample}: a mode saw {kwargs}"


def check_derivatives(samples, row, inputs, name):
    """First and second gradients, for every operand that may have one, against finite differences."""
    for number, sample in enumerate(inputs):
        operands = list(tensors_in([list(sample.args), sample.kwargs]))
        chosen = [i for i, t in enumerate(operands) if array(t).dtype.kind in "fc" and array(t).dtype.itemsize >= 8]
        chosen = [i for i in chosen if operands[i].requires_grad]
        if not chosen:
            continue
        function = calling(row, sample, chosen)
        points = [operands[i] for i in chosen]
        live = check_gradients(
            function,
            points,
            second=samples.gradgradcheck,
            seed=number,
            what=f"{name}{sample}",
        )
        if live and number == 0 and sum(array(t).size for t in points) <= 8:
            # The library's own checker looks at every entry.
            leaves = [wrapped(array(t).copy()).requires_grad_() for t in points]
            assert tl.autograd.gradcheck(function, tuple(leaves))


def check_reference(samples, row, sample, result):
    args, kwargs = as_numpy([list(sample.args), sample.kwargs])
    with np.errstate(all="ignore"):
        expected = samples.reference(*args, **kwargs)
    what = f"{row.full_name}{sample} against {getattr(samples.reference, '__name__', 'the reference')}"
    # The reference says what the values are; result dtypes are PyTorch's and tested against PyTorch.
    ours = [array(t) for t in tensors_in(result)] or [np.asarray(result)]
    theirs = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    assert len(ours) == len(theirs), what
    for one, other in zip(ours, theirs):
        found = np.asarray(other)
        # NumPy computes with small integers in half precision.
        near = TOLERANCE["float16"] if found.dtype == np.float16 else samples.tolerance
        assert_arrays(one, found.astype(one.dtype), what, near)


def as_numpy(value):
    if isinstance(value, tl.Tensor):
        return array(value)
    if isinstance(value, (list, tuple)):
        return type(value)(as_numpy(item) for item in value)
    if isinstance(value, dict):
        return {key: as_numpy(item) for key, item in value.items()}
    return value.numpy_dtype if isinstance(value, tl.dtype) else value


def check_operation(name, dtype, samples, members):
    primary = members[0]
    inputs = samples.generate(dtype)
    assert inputs, f"{name} has no samples for {dtype}"
    results = []
    for sample in inputs:
        before = snapshot([sample.args, sample.kwargs])
        if mutates(primary):
            results.append(call(primary, sample, fresh(sample.args), fresh(sample.kwargs)))
        else:
            results.append(call(primary, sample))
        for one, other in zip(snapshot([sample.args, sample.kwargs]), before):
            assert_arrays(one, other, f"{name}{sample} changed an input")
        if samples.reference is not None:
            check_reference(samples, primary, sample, results[-1])
    # Views follow their base: keep what a later in-place check may write to apart.
    results = [mapped(r, lambda t: wrapped(array(t).copy())) for r in results]
    check_forms(samples, primary, members[1:], name, inputs, results)
    if any(p.name == "out" for p in primary.parameters):
        for sample, expected in zip(inputs, results):
            check_out(samples, primary, sample, expected, f"{name}{sample}")
    if not mutates(primary):
        check_strided(samples, primary, inputs, results)
    if dtype == samples.dtypes[0]:
        check_subclass(samples, primary, inputs, results)
        for row in members:
            check_intercepted(row, [s for s in (in_own_words(row, primary, i) for i in inputs) if s is not None])
    if dtype in ("float64", "complex128") and samples.gradcheck:
        check_derivatives(samples, primary, samples.generate(dtype, requires_grad=True), name)


@pytest.mark.parametrize("name, dtype", CASES)
def test_operation(name, dtype):
    check_operation(name, dtype, SAMPLES[name], families()[name])


class TestTheChecksThemselves:
    """Throw-away declarations, each with one fault, must not pass."""

    def declare(self, **changes):
        """Declare an operation `faulty`, correct but for `changes`, and return a function that checks it."""
        from tensorlike.tensor.declarations.declare import DECLARATIONS, derivatives, pointwise

        options = {"method": False, "inplace": False, "out": False, "namespace": "faulty_package"}
        options |= {key: changes.pop(key) for key in ("out",) if key in changes}
        kernel = changes.pop("kernel", None)

        def faulty(xp, input: tl.Tensor, other: tl.Tensor) -> tl.Tensor:
            return xp.multiply(input, other) if kernel is None else kernel(xp, input, other)

        faulty.__annotations__ = {"input": "Tensor", "other": "Tensor"}
        function = pointwise(None, **options)(faulty)
        row = REGISTRY.pop("faulty_package.faulty")
        del DECLARATIONS["faulty_package.faulty"]
        formulas = {"input": lambda grad, other: grad * other, "other": lambda grad, input: grad * input}
        derivatives(function, **(formulas | changes.pop("formulas", {})))

        def generate(make):
            yield SampleInput(make(2, 3), make(2, 3))
            yield SampleInput(make(2, 3), make(3))

        found = Samples(
            generate,
            dtypes=("float64",),
            reference=np.multiply,
            gradcheck=True,
            gradgradcheck=True,
            deterministic=True,
            torch_name=None,
            tolerance=None,
            reason="",
        )
        return lambda: check_operation("faulty", "float64", found, [row])

    def test_what_is_right_passes(self):
        self.declare()()
        self.declare(out=True)()

    @pytest.mark.parametrize(
        "formulas",
        [
            {"input": lambda grad, other: grad * other * 2},
            {"input": lambda grad, other: grad * other + 1e-3},
            {"other": lambda grad, other: grad * other},
            {"other": lambda grad: grad},
            {"input": lambda grad, other: (grad * other).detach()},
            {"other": lambda grad, input: grad * input.detach()},
        ],
        ids=["twice", "offset", "wrong operand", "operand left out", "history cut", "history of a factor cut"],
    )
    def test_wrong_derivatives_are_caught(self, formulas):
        with pytest.raises(GradientMismatch):
            self.declare(formulas=formulas)()

    def test_a_missing_derivative_is_caught(self):
        from tensorlike.tensor.declarations.declare import derivatives

        check = self.declare()
        row = check.__closure__
        member = next(c.cell_contents for c in row if hasattr(c.cell_contents, "operation"))
        derivatives(member.function, input=lambda grad, other: grad * other)
        with pytest.raises(GradientMismatch, match="input 1 is missing"):
            check()

    def test_wrong_values_are_caught(self):
        with pytest.raises(AssertionError, match="against multiply"):
            self.declare(kernel=lambda xp, a, b: xp.multiply(a, b) + 1)()

    def test_writing_to_an_operand_is_caught(self):
        def kernel(xp, a, b):
            result = xp.multiply(a, b)
            a *= 2
            return result

        with pytest.raises(AssertionError, match="changed an input"):
            self.declare(kernel=kernel)()

    def test_dependence_on_memory_layout_is_caught(self):
        def kernel(xp, a, b):
            return xp.multiply(a, b) if a.flags.c_contiguous else xp.add(a, b)

        with pytest.raises(AssertionError, match="strided"):
            self.declare(kernel=kernel)()

    def test_warnings_of_numpy_are_caught(self):
        def kernel(xp, a, b):
            warnings.warn("overflow", RuntimeWarning, stacklevel=1)
            return xp.multiply(a, b)

        with pytest.raises((AssertionError, RuntimeWarning)):
            self.declare(kernel=kernel)()


def test_in_place_operators_are_among_the_rows_that_write():
    assert mutates(REGISTRY["tensorlike.Tensor.mul_"])
    assert mutates(REGISTRY["tensorlike.Tensor.__imul__"])
    assert not mutates(REGISTRY["tensorlike.Tensor.__mul__"])
    assert not mutates(REGISTRY["tensorlike.mul"])


def test_samples_are_the_same_each_time():
    make = Make("float64", seed=3)
    again = Make("float64", seed=3)
    assert_same(make(2, 3), again(2, 3), "two runs")
    assert not np.array_equal(array(make(2, 3)), array(again(3, 2)).reshape(2, 3)[::-1])
