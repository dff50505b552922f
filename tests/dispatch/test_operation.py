"""What is known of a function lies on the one object that it carries, and is true."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import tensorlike as tl
from tensorlike.autograd import graph
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import (
    INPLACE,
    INPLACE_VIEW,
    NAMESAKE,
    REFLECTED,
    SPECIAL_CASE,
    Form,
    form_of,
    mutates_of,
)
from tensorlike.dispatch.registry import IGNORED, REGISTRY
from tensorlike.dispatch.signature import POSITIONAL
from tensorlike.overrides.variants import equal, forms_of
from tests.helpers.rows import families, samples
from tests.helpers.values import mapped

F = tl.nn.functional

WRITING = {
    "mul_": lambda x: x.mul_(0),
    "zero_": lambda x: x.zero_(),
    "tl.zero_": lambda x: tl.zero_(x),
    "copy_": lambda x: x.copy_(tl.zeros(2)),
    "fill_": lambda x: x.fill_(0.0),
    "setitem": lambda x: x.__setitem__(0, 0.0),
    "iadd": lambda x: x.__iadd__(1),
    "alias": lambda x: x.multiply_(0),
    "uniform_": lambda x: x.uniform_(),
    "masked_fill_": lambda x: x.masked_fill_(x > 0, 0.0),
    "index_fill_": lambda x: x.index_fill_(0, tl.tensor([0]), 0.0),
    "relu_": lambda x: F.relu_(x.neg_()),
    "relu inplace=True": lambda x: F.relu(x.neg_(), inplace=True),
    "relu inplace by position": lambda x: F.relu(x.neg_(), True),
    "F.elu_": lambda x: F.elu_(x.neg_()),
    "dropout_": lambda x: tl.dropout_(x, 0.5, True),
    "clamp_": lambda x: x.clamp_(0, 0.1),
    "out": lambda x: tl.add(tl.ones(2), 1, out=x),
    "out of several": lambda x: tl.max(tl.zeros(2, 3), 1, out=(x, tl.zeros(2, dtype=tl.int64))),
    "out of a composite": lambda x: tl.hstack((tl.ones(1), tl.ones(1)), out=x),
    "real": lambda x: setattr(x, "real", tl.zeros(2)),
    "init.zeros_": lambda x: tl.nn.init.zeros_(x),
    "running_mean": lambda x: F.batch_norm(tl.randn(4, 2), x, tl.ones(2), training=True),
    "embedding max_norm": lambda x: F.embedding(tl.tensor([0]), x.view(1, 2), max_norm=0.5),
    "by keyword": lambda x: tl.Tensor.add_(self=x, other=1),
}


def users_functions() -> dict[str, Any]:
    """A user's functions that write: one by a name that says so, one by a name that does not."""

    @tl.overridable
    def reset(x: tl.Tensor) -> tl.Tensor:
        return x.zero_()

    @tl.overridable
    def halve_(x: tl.Tensor) -> tl.Tensor:
        return x.mul_(0.5)

    return {"reset": reset, "halve_": halve_}


WRITING |= users_functions()


@pytest.mark.parametrize("form", WRITING)
def test_saved_tensors_are_copied_before_any_form_writes_them(form: str) -> None:
    write: Any = WRITING[form]
    with graph.allow_mutation_on_saved_tensors():
        leaf = tl.tensor([1.0, 2.0], requires_grad=True)
        saved = leaf.clone()
        out = (saved**2).sum()
        before = saved.tolist()
        with tl.no_grad():
            write(saved)
        assert saved.tolist() != before, "the call wrote nothing: the test tests nothing"
        out.backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [2.0, 4.0]


# ------------------------------------------------------------------------------------------ every function carries it


def test_every_public_function_carries_its_operation() -> None:
    for form in REGISTRY.values():
        function: Any = form.function
        assert function.operation is form.operation, form
        assert form in form.operation.forms
        assert form_of(function) is form
        accessor = form.kind in ("property", "setter", "deleter")
        assert form_of(form.key) is (form if accessor else form.reports or form)
    for name, (ignored, _) in IGNORED.items():
        if (form_of(ignored)) is not None:
            assert form_of(ignored).full_name == name  # type: ignore[union-attr]


def test_the_forms_of_one_operation_share_it() -> None:
    assert tl.add.operation is tl.Tensor.add.operation is tl.Tensor.add_.operation is tl.Tensor.__radd__.operation
    # A composite with a method, an alias of a primitive, the two halves of a property.
    assert tl.hsplit.operation is tl.Tensor.hsplit.operation
    assert tl.multiply.operation is tl.mul.operation
    assert tl.Tensor.grad.fget.operation is tl.Tensor.grad.fset.operation
    assert tl.linalg.lu.operation is not tl.lu.operation


def test_a_copy_of_attributes_is_not_taken_for_the_function() -> None:
    @functools.wraps(tl.add)
    def mine(*args: Any) -> Any:
        return tl.mul(*args)

    class Logged(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    asking = tl.overrides.wrap_torch_function(lambda *args: args)(mine)
    assert asking(Logged([2.0]), Logged([3.0])).tolist() == [6.0]
    assert mine.operation is tl.add.operation  # functools.wraps has copied it
    assert form_of(mine) is None
    assert form_of(print) is None
    assert form_of(None) is None


def test_a_users_function_has_every_fact_at_its_default() -> None:
    @tl.overridable
    def add(input: tl.Tensor, other: tl.Tensor) -> tl.Tensor:
        return input - other

    operation = add.operation
    assert operation is not tl.add.operation
    assert operation.composite
    assert not operation.primitive
    assert operation.vjp is operation.jvp is operation.batching is None
    assert not (operation.elementwise)
    assert not (operation.random)
    assert not (operation.view)
    assert not (operation.linear_in)
    assert not form_of(add).mutates  # type: ignore[union-attr]


def test_variants_are_declared_on_both_sides() -> None:
    assert {v.full_name for v in tl.sub.operation.variants} == {"tensorlike.rsub"}
    assert tl.Tensor.__rpow__.operation.variant == (REFLECTED, tl.pow.operation)
    assert tl.relu_.operation.variant == (INPLACE, tl.relu.operation)
    assert tl.true_divide.operation.variant == (SPECIAL_CASE, tl.div.operation)
    found = [form.operation for form in REGISTRY.values() if form.operation.variant is not None]
    assert len(found) > 30
    for operation in found:
        kind, of = operation.variant
        assert operation in of.variants
        assert operation is not of
        if kind == INPLACE:
            assert all(form.inplace for form in operation.forms)


#: Functions of one name and like parameters that are no namesakes, by reason.
DIFFERENT = {
    "one returns the factors and the pivots packed, the other three matrices": "lu",
    "one counts the powers from the other end": "vander",
    "one returns the indices as well": "adaptive_max_pool1d",
    "one draws by the probabilities in its input, or of a given shape; the other fills its tensor": "bernoulli normal",
}


def _agree(one: Form, other: Form) -> bool:
    """Return whether the parameters agree in order, name and default, but for the name of the first."""
    first, second = ({p.name: p for p in f.parameters if not p.name.startswith("_")} for f in (one, other))
    names = [[n for n, p in named.items() if p.kind == POSITIONAL] for named in (first, second)]
    pairs = list(zip(*names, strict=False))
    if not pairs or any(mine != theirs for mine, theirs in pairs[1:]):
        return False
    for named, name in zip((first, second), pairs[0], strict=True):
        del named[name]
    for name in first.keys() & second.keys():
        defaults = first[name].default, second[name].default
        # As `dim` of `softmax`, which is required, and of `nn.functional.softmax`, which may be None.
        if not equal(*defaults) and not (MISSING in defaults and None in defaults):
            return False
    # Parameters of only one of them must be left out in a call of the other.
    return all((first.get(name) or second[name]).default is not MISSING for name in first.keys() ^ second.keys())


def test_functions_of_one_name_and_like_parameters_are_namesakes() -> None:
    # `masked.sum`, of another namespace, is another operation than `sum`.
    spaces = ("tensorlike", "tensorlike.linalg", "tensorlike.special", "tensorlike.nn.functional")
    apart = {name for names in DIFFERENT.values() for name in names.split()}
    seen = 0
    for row in list(REGISTRY.values()):
        if row.namespace != "tensorlike" or row.kind not in ("function", "alias") or row.inplace or row.name in apart:
            continue
        _, forms = forms_of(row)
        for place in (*spaces[1:], "tensorlike.Tensor"):
            other = REGISTRY.get(f"{place}.{row.name}")
            if other is not None and (place == "tensorlike.Tensor" or _agree(row, other)):
                seen += 1
                assert other in forms, f"{other.full_name} computes what {row.full_name} does: variant="
    assert seen > 300
    assert tl.linalg.matmul.operation.variant == (NAMESAKE, tl.matmul.operation)
    assert tl.Tensor.where.operation.variant == (NAMESAKE, tl.where.operation)
    assert tl.Tensor.t_.operation.variant == (INPLACE_VIEW, tl.t.operation)
    assert forms_of(form_of(tl.Tensor.t_))[1] == [form_of(tl.Tensor.t_)]


def test_implementations_of_a_getter_are_none_of_the_setter() -> None:
    for form in REGISTRY.values():
        if form.kind in ("property", "setter"):
            assert forms_of(form) == (form, [form])


# ------------------------------------------------------------------------------------------------ what a call writes


def test_what_conventions_say() -> None:
    def by(name: str, kind: str = "method", *names: str) -> dict[str, str | None]:
        parameters = [p._replace(name=n) for n, p in zip(names or ("self",), REGISTRY["tensorlike.add"].parameters)]
        return dict(mutates_of(kind, name, parameters))

    assert by("add_") == by("__iadd__") == by("__imatmul__") == {"self": None}
    assert by("real", "setter") == by("add", "inplace") == {"self": None}
    for name in ("add", "__add__", "__invert__", "__index__", "__int__", "__init__", "_private", "__class__"):
        assert by(name) == {}
    assert by("relu", "function", "input", "inplace") == {"input": "inplace"}
    assert by("add", "function", "input", "out") == {"out": None}
    assert by("f", "function") == {}
    assert mutates_of("function", "f_", ()) == {}


def test_a_user_says_what_is_written() -> None:
    @tl.overridable(mutates=("y",))
    def swap(x: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
        return y.copy_(x)

    @tl.overridable(mutates=())
    def lambda_(x: tl.Tensor) -> tl.Tensor:
        return x

    assert dict(form_of(swap).mutates) == {"y": None}  # type: ignore[union-attr]
    assert not form_of(lambda_).mutates  # type: ignore[union-attr]
    with pytest.raises(TypeError, match=r"scale: mutates names 'z', which is none of its parameters \(x\)"):

        @tl.overridable(mutates=("z",))
        def scale(x: tl.Tensor) -> tl.Tensor:
            return x


#: In-place forms that leave the elements and the shape alone.
ONLY_FLAGS = {
    "tensorlike.Tensor.requires_grad_": "requires_grad",
    "tensorlike.Tensor.detach_": "the history",
    "tensorlike.Tensor.share_memory_": "where the memory is, which every process shares here",
}


def _content(tensor: Any) -> str:
    return repr((tuple(tensor.shape), tensor.stride(), tensor.tolist()))


@pytest.mark.parametrize("name", families())
def test_samples_write_what_is_declared_and_nothing_else(name: str) -> None:
    found = samples(name)
    dtype = next((d for d in ("float32", "float64") if d in found.dtypes), found.dtypes[0])
    for form in families()[name]:
        names = [p.name for p in form.parameters]
        seen: set[str] = set()
        calls = 0
        for sample in found.generate(dtype):
            args, kwargs = mapped([list(sample.args), sample.kwargs], lambda t: t.detach().clone())
            given = dict(zip(names, args, strict=False)) | kwargs
            tensors = {n: v for n, v in given.items() if isinstance(v, tl.Tensor)}
            before = {n: (_content(t), t._version) for n, t in tensors.items()}
            declared = [id(t) for t in form.written(args, kwargs)]
            try:
                with tl.no_grad():
                    form.function(*args, **kwargs)
            except (RuntimeError, TypeError, IndexError, ValueError):
                continue  # A sample of another form: in place, what is broadcast is refused.
            calls += 1
            for n, t in tensors.items():
                if _content(t) != before[n][0]:
                    assert id(t) in declared, f"{form} wrote {n!r}, which its mutates leave out: {dict(form.mutates)}"
                if (_content(t), t._version) != before[n]:
                    seen.add(n)
        if calls and form.inplace:
            assert (names[0] in seen) != (form.full_name in ONLY_FLAGS), f"{form}: written are {seen}"


# ------------------------------------------------------------------------------------------------------------ schemas


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (tl.add, "tensorlike.add(Tensor input, Tensor | Number other, *, Number alpha=1, Tensor(a!) | None out=None)"
                 " -> Tensor(a!)"),
        (tl.Tensor.add_, "tensorlike.Tensor.add_(Tensor(a!) self, Tensor | Number other, *, Number alpha=1)"
                         " -> Tensor(a!)"),
        (tl.Tensor.transpose, "tensorlike.Tensor.transpose(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"),
        (tl.Tensor.__setitem__, "tensorlike.Tensor.__setitem__(Tensor(a!) self, Indices index, Tensor | Number value)"
                                " -> None"),
        (F.relu, "tensorlike.nn.functional.relu(Tensor(a!) input, bool inplace=False) -> Tensor"),
        (tl.Tensor.permute, "tensorlike.Tensor.permute(Tensor(a) self, Sequence[int] *dims) -> Tensor(a)"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)  # fmt: skip
def test_a_schema_reads_like_pytorchs(function: Any, text: str) -> None:
    assert str(form_of(function).schema) == text  # type: ignore[union-attr]


def test_every_form_has_a_schema() -> None:
    for form in REGISTRY.values():
        schema = form.schema
        assert schema.parameters == form.parameters
        names = [p.name for p in schema.parameters]
        assert {*schema.mutates, *schema.linear_in} <= set(names)
        assert str(schema).startswith(f"{form.full_name}(")
        assert (schema.view_of is not None) or not schema.may_alias
    assert tl.mul.operation.schema == form_of(tl.mul).schema  # type: ignore[union-attr]
    assert tl.mul.operation.schema.elementwise
