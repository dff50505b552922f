"""What declarations say for the transforms: where an operation is linear, whether it is random, its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorlike.func

import tensorlike as tl
from tensorlike.dispatch.operation import Operation, form_of, operation_of
from tensorlike.dispatch.registry import IGNORED, REGISTRY
from tensorlike.dispatch.signature import VARIADIC, parameters_of
from tensorlike.tensor.generator import default_generator
from tensorlike.transforms.batched import ExamplesDifferError, rule
from tensorlike.transforms.dual import forward
from tests.helpers.rows import calling, families, samples
from tests.helpers.values import array, assert_arrays, tensors_in, wrapped

FORMS = {name: members[0] for name, members in families().items()}
LINEAR = sorted(name for name, form in FORMS.items() if form.operation.linear_in and not form.inplace)
MAPPED = sorted(name for name, form in FORMS.items() if form.operation.batching is not None)

#: Random functions whose samples hand over the random numbers.
GIVEN = {"tensorlike.nn.functional.fractional_max_pool2d", "tensorlike.nn.functional.fractional_max_pool3d"}


def _linear_operands(form: Any, sample: Any) -> list[int]:
    """Return which tensors of a sample are passed for parameters in which the operation is linear."""
    linear = form.operation.linear_in
    found: list[int] = []
    at = 0

    def passed(name: str, value: Any, first: bool = False) -> None:
        nonlocal at
        count = len(list(tensors_in(value)))
        if (form.operation.parameters[0].name if first else name) in linear:
            found.extend(range(at, at + count))
        at += count

    names = [p.name for p in form.parameters]
    # The rest of the positional ones are of `*tensors`.
    last = next((i for i, p in enumerate(form.parameters) if p.kind == VARIADIC), len(names))
    for index, value in enumerate(sample.args):
        passed(names[min(index, last)], value, index == 0)
    for name, value in sample.kwargs.items():
        passed(name, value, name == names[0])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", LINEAR)
def test_an_operation_is_linear_where_it_says_so(name) -> None:
    form, compared = FORMS[name], 0
    dtypes = [d for d in ("float64", "complex128") if d in samples(name).dtypes] or samples(name).dtypes[:1]
    for dtype in dtypes:
        for sample in samples(name).generate(dtype):
            operands = list(tensors_in([list(sample.args), sample.kwargs]))
            chosen = [i for i in _linear_operands(form, sample) if array(operands[i]).dtype.kind in "fc"]
            if not chosen or sample.kwargs.get("out") is not None:
                continue
            function = calling(form, sample, chosen)
            first = [array(operands[i]) for i in chosen]
            second = [np.asarray(np.sin(a)).astype(a.dtype) for a in first]
            mixed = [np.asarray(2.0 * a - 3.0 * b).astype(a.dtype) for a, b in zip(first, second, strict=True)]
            parts = [list(tensors_in(function(*map(wrapped, values)))) for values in (first, second, mixed)]
            for one, other, both in zip(*parts, strict=True):
                if array(both).dtype.kind not in "fc":
                    continue  # Such as `to(int64)`: there is no tangent.
                near = 1e-9 if np.real(array(both)).dtype.itemsize >= 8 else 2e-2
                wanted = np.asarray(2.0 * array(one) - 3.0 * array(other)).astype(array(both).dtype)
                assert_arrays(array(both), wanted, f"{name}{sample}", near)
                compared += 1
    assert compared


def _switched(form: Any, sample: Any) -> bool:
    """Return whether the declaration says that this call draws."""
    random = form.operation.random
    if not isinstance(random, str):
        return bool(random)
    names = [p.name for p in form.parameters]
    given = dict(zip(names, sample.args, strict=False)) | sample.kwargs
    return bool(given.get(random, next(p.default for p in form.parameters if p.name == random)))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORMS))
def test_an_operation_draws_random_numbers_where_it_says_so(name) -> None:
    form, drew = FORMS[name], False
    for sample in samples(name).generate(samples(name).dtypes[0]):
        if sample.kwargs.get("generator") is not None:
            continue
        operands = list(tensors_in([list(sample.args), sample.kwargs]))
        function = calling(form, sample, range(len(operands)))
        values = [wrapped(array(t).copy()) for t in operands]
        before = tl.manual_seed(0).get_state()
        function(*values)
        changed = not bool((default_generator.get_state() == before).all())
        if form.operation.random is not None:  # A user's way of declaring says nothing.
            assert not changed or _switched(form, sample), f"{name}{sample} draws: declare it with random="
        drew = drew or changed
    if form.operation.random and name not in GIVEN:
        assert drew, "declared as random, and no sample draws"


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPPED)
def test_a_batching_rule_answers_for_a_sample(name, monkeypatch) -> None:
    operation, answered = FORMS[name].operation, 0
    rule = operation.batching

    def counted(*arguments: Any) -> Any:
        nonlocal answered
        result = rule(*arguments)
        answered += result is not NotImplemented
        return result

    monkeypatch.setattr(operation, "batching", counted)
    form = FORMS[name]
    dtype = next((d for d in ("float64", "int64") if d in samples(name).dtypes), samples(name).dtypes[0])
    for sample in samples(name).generate(dtype):
        operands = list(tensors_in([list(sample.args), sample.kwargs]))
        for chosen in ([0], list(range(len(operands)))):
            function = calling(form, sample, chosen)
            stacked = [tl.stack([operands[i]] * 2) for i in chosen]
            try:
                tl.func.vmap(lambda *v, f=function: (f(*v), v[0])[1])(*stacked)
            except ExamplesDifferError:
                answered += 1  # Refusing is the answer of a rule as well.
            except RuntimeError as error:
                if "inside a transform cannot be given other memory" not in str(error):
                    raise
                answered += 1
            if answered:
                return
    raise AssertionError("the rule answers for no sample")


def test_declarations_are_checked() -> None:
    def function(input: tl.Tensor, other: tl.Tensor, p: float = 0.5) -> tl.Tensor: ...

    operation = Operation("example", "here", parameters_of(function))
    for facts, words in (
        ({"linear_in": ("inptu",)}, "linear_in names 'inptu'"),
        ({"linear_in": ("p",)}, "linear_in names 'p'"),
        ({"random": "training"}, "random names 'training'"),
        ({"lineer_in": ("input",)}, "lineer_in"),
        ({"dims": "inward"}, "dims is one of .*, not 'inward'"),
    ):
        with pytest.raises(TypeError, match=words):
            operation.declare(**facts)
    assert operation.linear_in == ()
    assert operation.random is operation.dims.kind is None


@pytest.mark.parametrize("dim", [-2, 1])
@pytest.mark.parametrize(
    "function", [tl.sum, tl.cumsum, tl.softmax, tl.unbind, tl.max, tl.flatten, tl.squeeze, lambda r, d: tl.cat([r], d)]
)
def test_the_batch_is_no_dimension_of_an_example(function, dim) -> None:
    with pytest.raises(IndexError, match=rf"expected to be in range of \[-1, 0\], but got {dim}"):
        tl.func.vmap(lambda row: function(row, dim))(tl.ones(2, 3))


def test_several_quantiles_of_a_batch() -> None:
    x, q = tl.arange(12.0).reshape(2, 3, 2), tl.tensor([0.25, 0.5])
    found = tl.func.vmap(lambda rows: rows.quantile(q, 0))(x)
    assert found.tolist() == [rows.quantile(q, 0).tolist() for rows in x]


def test_a_rule_is_given_to_an_operation_once() -> None:
    def answer(level: Any, form: Any, args: Any, kwargs: Any) -> Any: ...

    operation = Operation("example", "here", ())
    operation.def_jvp(answer)
    operation.def_batching(answer)
    for give in (operation.def_jvp, operation.def_batching):
        with pytest.raises(ValueError, match="already"):
            give(answer)
    for register in (rule, forward):
        with pytest.raises(TypeError, match="is no public function"):
            register(len)(answer)
        with pytest.raises(TypeError, match="is no public function"):
            register("diff")(answer)


def test_a_users_function_claims_nothing() -> None:
    @tl.overridable(operands=("x",))
    def transpose(x):
        return x

    operation = operation_of(transpose)
    assert operation is not operation_of(tl.transpose)
    assert (operation.linear_in, operation.random, operation.jvp, operation.batching) == ((), None, None, None)
    assert operation.differentiable
    assert operation.composite


def test_a_function_that_does_not_say_whether_it_is_random_is_followed() -> None:
    forms = [*REGISTRY.values(), *(form for f, _ in IGNORED.values() if (form := form_of(f)) is not None)]
    silent = [f.full_name for f in forms if f.operation.random is None and f.of_library]
    assert silent
    assert [f.full_name for f in forms if f.operation.random is None and not f.operation.composite] == []


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tl.svd_lowrank(x, 2)[1],
        lambda x: tl.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
        lambda x: tl.nn.init.xavier_normal_(x * 1.0),
    ],
)
def test_what_is_drawn_inside_a_function_is_noticed(call) -> None:
    with pytest.raises(RuntimeError, match="called random operation"):
        tl.func.vmap(call)(tl.ones(2, 3, 3))
    tl.func.vmap(call, randomness="different")(tl.ones(2, 3, 3))
