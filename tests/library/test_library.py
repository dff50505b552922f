"""Operators defined in Python: what `tests/vs_torch/test_library_parity.py` cannot ask, and what is ours alone."""

import copy
import pickle

import pytest

import tensorlike as tl
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.library import blocks, operators
from tensorlike.library.schema import parse_schema
from tensorlike.testing.override_coverage import Recorder


@pytest.fixture
def library():
    made = tl.library.Library("tests_library", "DEF")
    yield made
    made._destroy()


SCHEMAS = [
    "add(Tensor a, Tensor b, *, Scalar alpha=1) -> Tensor",
    "sum.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "write(Tensor(a!) self, Tensor?[] rest) -> Tensor(a!)",
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    "split(Tensor(a -> *) self, int n) -> Tensor(a)[]",
    'pad(Tensor x, str mode="constant", float value=0.10000000000000001) -> (Tensor, Tensor? mask)',
    "ns::of(__torch__.torch.classes.ns.Stack s, Dict(str, Tensor) d, bool[3] m=[True, False, True]) -> ()",
]


@pytest.mark.parametrize("text", SCHEMAS)
def test_a_schema_is_written_as_it_was_read(text):
    assert str(parse_schema(text)) == text


NO_SCHEMAS = [
    "", "f", "f(", "f(Tensor x", "f(Tensor) -> Tensor", "f(Tensor x) -> ", "f(Tensor x) - Tensor", "f(int x=y) -> ()",
    "f(int a=1, int b) -> Tensor", "f(Tensor x) -> Tensor; g", "f(Nope x) -> ()",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_SCHEMAS)
def test_a_text_that_is_no_schema_is_refused(text):
    with pytest.raises(RuntimeError):
        parse_schema(text)


def test_what_a_schema_says_about_memory():
    assert parse_schema("f(Tensor(a!) x, Tensor y) -> ()").written_names == ("x",)
    assert parse_schema("f(Tensor(a) x) -> Tensor(a)").may_alias
    assert not parse_schema("f(Tensor(a) x) -> Tensor").may_alias


def test_operators_are_pickled_and_copied_by_name(library):
    library.define("id(Tensor x) -> Tensor")
    packet = tl.ops.tests_library.id
    assert pickle.loads(pickle.dumps(packet)) is packet
    assert pickle.loads(pickle.dumps(packet.default)) is packet.default
    assert copy.deepcopy(packet) is packet


def test_a_library_takes_its_operators_back():
    made = tl.library.Library("tests_library_gone", "DEF")
    made.define("once(Tensor x) -> Tensor")
    packet = tl.ops.tests_library_gone.once
    assert packet in tl.overrides.get_testing_overrides()
    made._destroy()
    with pytest.raises(AttributeError, match="once"):
        tl.ops.tests_library_gone.once
    assert packet not in tl.overrides.get_testing_overrides()
    tl.library.Library("tests_library_gone", "DEF")._destroy()


def test_a_library_that_ends_leaves_nothing_in_the_tables():
    def sizes():
        return [len(table) for table in (operators.OPERATORS, operators.NAMESPACES, blocks._waiting, REGISTRY)]

    before = sizes()
    made = tl.library.Library("tests_library_ends", "DEF")
    made.define("defined(Tensor x) -> Tensor")
    made.impl("defined", lambda x: x, "CPU")
    made.impl("waiting", lambda x: x, "CPU")
    assert [n - b for n, b in zip(sizes(), before, strict=True)] == [1, 1, 1, 1]
    made._destroy()
    assert sizes() == before
    # Ending it once more takes nothing from the library that has the namespace now.
    again = tl.library.Library("tests_library_ends", "DEF")
    made._destroy()
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace"):
        tl.library.Library("tests_library_ends", "DEF")
    again._destroy()
    assert sizes() == before


def test_types_modes_and_explain_know_an_operator(library):
    library.define("both(Tensor a, Tensor[] rest, float by=1.0) -> Tensor")
    library.impl("both", lambda a, rest, by=1.0: a * by + sum(rest), "CompositeImplicitAutograd")
    both = tl.ops.tests_library.both
    asked = []

    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((func, types))
            return NotImplemented

    with pytest.raises(TypeError, match=r"Duck"):
        both(tl.ones(2), [tl.ones(2), Duck()])
    assert asked == [(both, (Duck,))]

    class Mode(tl.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        assert both(tl.ones(2), [tl.ones(2)], 3.0).tolist() == [4.0, 4.0]
    assert both in asked


def test_gradients_of_lists_of_tensors(library):
    library.define("total(Tensor[] xs, float by) -> Tensor")
    library.impl("total", lambda xs, by: tl.from_numpy(sum(x.detach().numpy() for x in xs) * by), "CPU")

    def backward(ctx, grad):
        assert ctx.needs_input_grad == ([True, False], False)
        return [grad * ctx.by, None], None

    def setup_context(ctx, inputs, output):
        ctx.by = inputs[1]

    tl.library.register_autograd("tests_library::total", backward, setup_context=setup_context)
    x = tl.ones(2, requires_grad=True)
    tl.ops.tests_library.total([x, tl.ones(2)], 5.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_the_audit_of_a_type_covers_an_operator(library):
    library.define("audited(Tensor x) -> Tensor")
    form = tl.ops.tests_library.audited._form
    assert form.full_name == "tensorlike.ops.tests_library.audited"
    assert [p.name for p in form.operands()] == ["x"]
    assert not form.mutates


def test_kernels_of_wrong_results_are_refused(library):
    library.define("pair(Tensor x) -> (Tensor, Tensor)")
    library.impl("pair", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match=r"expected the kernel to return 2 values"):
        tl.ops.tests_library.pair(tl.ones(2))
    library.define("nothing(Tensor x) -> ()")
    library.impl("nothing", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match=r"expected the kernel to return None"):
        tl.ops.tests_library.nothing(tl.ones(2))


def operator_with_every_kind(library):
    library.define(
        "kinds(Tensor x, SymInt n, float f, SymInt[] sizes, str mode, bool flag, Tensor? bias=None) -> Tensor"
    )
    library.impl(
        "kinds", lambda x, n, f, sizes, mode, flag, bias=None: x * n * f if bias is None else x * n + bias, "CPU"
    )
    return tl.ops.tests_library.kinds


def plain(value):
    return value.tensor if isinstance(value, Held) else value


class Held:
    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in (tl.ops.tests_library.kinds, tl.ops.tests_library.kinds.default):
            return NotImplemented
        return cls(func(*map(plain, args), **{name: plain(a) for name, a in (kwargs or {}).items()}))


def test_the_audit_calls_an_operator_with_an_instance_in_each_place(library):
    operator_with_every_kind(library)
    report = tl.overrides.audit(Held, from_dense=Held, to_dense=lambda held: held.tensor, only="ops.tests_library.*")
    assert [(row.operand, row.outcome.label, row.value.value) for row in report.rows] == [
        ("x", "own rule", "equal"),
        ("bias", "own rule", "equal"),
    ]


def test_override_coverage_counts_an_overload_as_its_operator(library):
    recorder = Recorder(Held)
    recorder.install()
    try:
        kinds = operator_with_every_kind(library)  # Defined after counting began.
        kinds.default(Held(tl.ones(2)), 1, 1.0, [1], "", True)
        kinds(Held(tl.ones(2)), 1, 1.0, [1], "", True)
    finally:
        recorder.uninstall()
    assert recorder.counts() == [("tensorlike.ops.tests_library.kinds", "x", "answered", "Held", "", 2)]


def test_names_of_operators(library):
    kinds = operator_with_every_kind(library)
    assert tl.overrides.resolve_name(kinds) == "tensorlike.ops.tests_library.kinds"
    assert tl.overrides.resolve_name(kinds.default) == "tensorlike.ops.tests_library.kinds.default"


def test_kernels_receive_no_keyset(library):
    library.define("keys(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="redispatch"):
        library.impl("keys", lambda keyset, x: x, "CPU", with_keyset=True)


def test_transforms_go_through_an_operator_with_a_formula(library):
    library.define("product(Tensor x, Tensor y) -> Tensor")
    library.impl("product", lambda x, y: tl.from_numpy(x.detach().numpy() * y.detach().numpy()), "CPU")
    tl.library.register_autograd(
        "tests_library::product",
        lambda ctx, grad: (grad * ctx.saved_tensors[1], grad * ctx.saved_tensors[0]),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    product = tl.ops.tests_library.product
    x, y = tl.tensor([1.0, 2.0]), tl.tensor([5.0, 7.0])
    assert tl.func.grad(lambda a: product(a, y).sum())(x).tolist() == [5.0, 7.0]
    assert tl.func.jacrev(product)(x, y).tolist() == [[5.0, 0.0], [0.0, 7.0]]
    assert tl.func.jacfwd(product)(x, y).tolist() == [[5.0, 0.0], [0.0, 7.0]]
    assert tl.func.jvp(product, (x, y), (y, x))[1].tolist() == [26.0, 53.0]
    assert tl.func.hessian(lambda a: product(a, a).sum())(x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    rows = tl.stack([x, y])
    assert tl.vmap(tl.func.grad(lambda a, b: product(a, b).sum()), (0, None))(rows, y).tolist() == [[5.0, 7.0]] * 2


def test_a_size_out_of_its_bounds_is_told(library):
    library.define("positive(Tensor x) -> Tensor")
    library.impl("positive", lambda x: x[x > 0].clone(), "CPU")
    tl.library.register_fake(
        "tests_library::positive", lambda x: x.new_empty([tl.library.get_ctx().new_dynamic_size(max=1)])
    )
    with pytest.raises(tl.library.OpCheckError, match=r"new_dynamic_size\(min=0, max=1\) is 2 here"):
        tl.library.opcheck("tests_library::positive", (tl.ones(2),), test_utils="test_faketensor")
    tl.library.register_fake(
        "tests_library::positive",
        lambda x: x.new_empty([tl.library.get_ctx().new_dynamic_size(), 1]),
        allow_override=True,
    )
    with pytest.raises(tl.library.OpCheckError, match=r"shape"):
        tl.library.opcheck("tests_library::positive", (tl.ones(2),), test_utils="test_faketensor")
