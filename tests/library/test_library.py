"""Operators defined in Python: what `tests/vs_torch/test_library_parity.py` cannot ask, and what is ours alone."""

import copy
import pickle

import pytest

import tensorlike as tl
from tensorlike.library.schema import parse_schema


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
    "f(Tensor x, Tensor x) -> Tensor", "f(int a=1, int b) -> Tensor", "f(Tensor x) -> Tensor; g", "f(Nope x) -> ()",
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
