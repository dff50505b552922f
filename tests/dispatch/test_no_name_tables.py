"""No fact about a function is looked up by its name: the code has no string that is the name of an operation.

What counts: every string literal of these folders that equals the name of a public function, with its namespace or
without, but for docstrings, annotations, `__all__` and `__slots__`, and the pieces of f-strings, which are text. A
declaration names what it declares: its decorator may, and errors in the same file. Many names are ordinary words too;
where one stands for something else, `EXCEPTIONS` says for what.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import tensorlike
from tensorlike.dispatch.operation import form_of
from tensorlike.dispatch.registry import IGNORED, REGISTRY
from tensorlike.overrides.introspection import public_rows

PACKAGE = Path(tensorlike.__file__).parent
FILES = sorted(
    path
    for pattern in (
        "audit/*.py",
        "dispatch/**/*.py",
        "autograd/**/*.py",
        "transforms/**/*.py",
        "operations/*.py",
        "overrides/**/*.py",
        "testing/*.py",
        "tensor/**/*.py",
    )
    for path in PACKAGE.glob(pattern)
    if path.parent != PACKAGE / "tensor" / "backends"
)

STATE = "a field of a tensor's state"
CHECK = "a check of the conformance suite, or what it compares"
PARAMETER = "the name of a parameter, or of its type as an annotation spells it"
PROTOCOL = "a protocol of Python or NumPy, which objects of any type are asked for"
QUESTION = "who is asked about a call: a mode or a type"
OTHER_FORMAT = "a key or a word of another format: JSON, Chrome's traces, rich, the names of dtypes and devices"
TEXT = "a word of a message"
OPTION = "an option of the audit"
POLICY = "the policy of that name, or the method of a user's type that it calls"
KIND = "the kind of a form, one that has another name"
DEVICE = "a type of devices"
DTYPE = "a dtype, or a kind of dtypes"
OPERATOR = "an operator of Python, as its data model spells it"

#: The words that occur and name no operation there, by file and by what they are.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "autograd/tensor_base.py": {STATE: "requires_grad grad_dtype retains_grad"},
    "autograd/grad_mode.py": {"an attribute of the context": "inner"},
    "autograd/gradcheck/comparing.py": {TEXT: "real"},
    "autograd/gradcheck/explaining.py": {TEXT: "backward"},
    "autograd/graph_memory.py": {PROTOCOL: "nbytes"},
    "autograd/multi_hooks.py": {"a mode of register_multi_grad_hook": "all any"},
    "autograd/node.py": {"the method of Node that refuses a hook": "register_hook"},
    "autograd/saved.py": {OTHER_FORMAT: "cuda"},
    "dispatch/collect.py": {PARAMETER: "dim bool int float"},
    "dispatch/errors.py": {QUESTION: "mode type"},
    "dispatch/forks.py": {"the module": "numpy"},
    "dispatch/operation.py": {PARAMETER: "dim"},
    "dispatch/options.py": {
        PARAMETER: "mode pin_memory requires_grad bool int float complex",
        PROTOCOL: "__index__ __float__ __complex__",
    },
    "dispatch/tracebacks.py": {"a value of a variable of the environment": "full", "a library": "numpy"},
    "dispatch/tracing.py": {QUESTION: "mode type"},
    "overrides/__init__.py": {POLICY: "to_dense"},
    "audit/api.py": {PARAMETER: "data device dim dtype gradient size bool float int", OTHER_FORMAT: "cpu"},
    "audit/api_torch.py": {PARAMETER: "diagonal dim shape size grad index device tensor values"},
    "audit/answering_code.py": {OTHER_FORMAT: "numpy type"},
    "audit/baseline.py": {OTHER_FORMAT: "type"},
    "audit/cli.py": {POLICY: "to_dense"},
    "audit/continuous.py": {OPTION: "to_dense"},
    "audit/compare.py": {OPTION: "to_dense", OTHER_FORMAT: "type"},
    "audit/making.py": {OPTION: "to_dense", TEXT: "t"},
    "audit/everyday_programs.py": {DEVICE: "cpu", TEXT: "positive"},
    "audit/outcomes.py": {OTHER_FORMAT: "dim"},
    "audit/written.py": {
        OPERATOR: "__abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __getitem__ __gt__ __invert__ __le__ __lshift__ "
        "__lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ "
        "__xor__",
        PROTOCOL: "__array__ __bool__ __complex__ __contains__ __deepcopy__ __float__ __format__ __index__ __int__ "
        "__len__ __repr__ __reversed__",
        PARAMETER: "tensor",
        "a form as code writes it: `for row in x`": "unbind",
    },
    "audit/model.py": {OTHER_FORMAT: "name equal type", TEXT: "dtype shape"},
    "audit/options.py": {OPTION: "to_dense all"},
    "audit/outputs.py": {OTHER_FORMAT: "name new type"},
    "audit/packages.py": {OPTION: "to_dense", TEXT: "type"},
    "audit/repro.py": {PARAMETER: "device dtype layout"},
    "audit/run.py": {KIND: "alias", OPTION: "all"},
    "audit/starting_point.py": {POLICY: "to_dense", PARAMETER: "type", "the module": "numpy"},
    "audit/terminal.py": {OTHER_FORMAT: "fold dim"},
    "audit/arguments.py": {OTHER_FORMAT: "bfloat16"},
    "overrides/methods.py": {
        PROTOCOL: "__array__ __bool__ __complex__ __contains__ __eq__ __float__ __format__ __getitem__ __index__ "
        "__int__ __len__ __ne__ __reversed__ __setitem__"
    },
    "overrides/explain_torch.py": {QUESTION: "mode type"},
    "overrides/policies.py": {POLICY: "to_dense"},
    "overrides/pairwise.py": {"the module": "numpy"},
    "overrides/trace_log.py": {QUESTION: "mode type", OTHER_FORMAT: "name cat"},
    "overrides/trace_torch.py": {QUESTION: "type"},
    "operations/native_general.py": {PARAMETER: "dim dtype bool int float complex", "a rule of `out`": "dtype"},
    "tensor/absent_kinds.py": {
        "the names of properties that are declared together": "is_ipu is_maia is_mkldnn is_mps is_mtia is_nested "
        "is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu"
    },
    "tensor/attributes.py": {DEVICE: "cpu cuda"},
    "tensor/conversion/casting.py": {
        "the names of methods that are declared together": "bfloat16 bool byte cdouble cfloat char complex double "
        "float half int long short __complex__ __float__ __int__",
    },
    "tensor/creation/filled.py": {DEVICE: "cpu", PARAMETER: "device size"},
    "tensor/declarations/declaration.py": {
        "what a formula of a derivative asks for": "grad",
        "a rule of `out`": "dtype",
        "an attribute of a node's class": "name",
        "how much an operation writes": "all",
        PARAMETER: "bool",
    },
    "tensor/device.py": {DEVICE: "cpu cuda", "an attribute of a device": "index type"},
    "tensor/creation/device_context.py": {DEVICE: "cuda", PARAMETER: "device"},
    "tensor/creation/random_arrays.py": {DTYPE: "bfloat16"},
    "tensor/creation/dlpack.py": {DEVICE: "cpu cuda", PARAMETER: "copy", PROTOCOL: "__dlpack__"},
    "tensor/creation/dlpack_capsule.py": {"a field of DLPack's structures": "data dtype ndim tensor"},
    "tensor/dtypes.py": {
        DTYPE: "bfloat16 bool complex float int",
        "an attribute of a dtype": "is_complex is_floating_point is_signed itemsize",
    },
    "tensor/declarations/documentation.py": {KIND: "alias"},
    "tensor/declarations/forms.py": {KIND: "alias", OPERATOR: "add eq ge gt le lt matmul mul ne pow sub"},
    "tensor/declarations/formulas.py": {"a method of tensors that numbers lack": "conj"},
    "tensor/creation/from_data.py": {
        PROTOCOL: "__array__ __dlpack__ __float__ __getitem__ __index__ __len__ dtype shape",
        DEVICE: "cpu",
        DTYPE: "bool",
    },
    "tensor/creation/legacy.py": {PARAMETER: "data device size storage", PROTOCOL: "__getitem__", "the method": "new"},
    "tensor/creation/legacy_types.py": {
        DTYPE: "bfloat16 bool",
        DEVICE: "cpu cuda",
        PARAMETER: "device dtype",
        "the method": "new",
    },
    "tensor/declarations/calls.py": {PARAMETER: "bool dim float int", "a rule of `out`": "dtype"},
    "tensor/declarations/operands.py": {PARAMETER: "float int"},
    "operations/shared.py": {"the module": "numpy"},
    "operations/formula_programs.py": {
        OPERATOR: "add sub rsub mul neg",
        "what a formula of a derivative asks for": "grad",
        "a step of a program, or an argument of one": "fill gradient",
    },
    "tensor/declarations/recording.py": {
        "what a formula of a derivative asks for": "grad",
        "what a recorder saves of an operand": "shape",
        PARAMETER: "dtype",
    },
    "tensor/generator.py": {DEVICE: "cpu cuda"},
    "tensor/history.py": {STATE: "grad_dtype"},
    "tensor/declarations/named_results.py": {PROTOCOL: "__repr__"},
    "tensor/declarations/namespaces.py": {KIND: "alias"},
    "tensor/conversion/printing.py": {
        DTYPE: "bool float", "an option of printing": "full short threshold", TEXT: "tensor"
    },
    "tensor/declarations/promotion_rules.py": {"a rule of promotion": "float real"},
    "tensor/creation/mapped_files.py": {DEVICE: "cpu"},
    "tensor/conversion/protocols.py": {DEVICE: "cpu", TEXT: "tensor"},
    "tensor/declarations/python_forms.py": {KIND: "alias"},
    "tensor/sparse_methods.py": {"the methods declared there": "_indices _nnz _values coalesce indices values"},
    "tensor/creation/sampling.py": {DEVICE: "cpu", PARAMETER: "device mean size std", PROTOCOL: "ndim"},
    "tensor/declarations/runtime.py": {
        "the operator whose error has words of its own": "__invert__",
        "a rule of `out`": "any",
        DTYPE: "bfloat16 bool",
        PROTOCOL: "dtype shape",
    },
    "tensor/serialization.py": {DEVICE: "cpu"},
    "tensor/storage.py": {DEVICE: "cpu cuda", "a key of `__array_interface__`": "data shape"},
    "tensor/creation/strided.py": {DEVICE: "cpu"},
    "testing/comparison.py": {
        CHECK: "shape device dtype stride absolute",
        OTHER_FORMAT: "bfloat16",
        PROTOCOL: "__array__",
    },
    "testing/coverage_html.py": {OTHER_FORMAT: "all name"},
    "testing/creation.py": {OTHER_FORMAT: "cpu bool"},
    "testing/suite.py": {CHECK: "type gradient dtype"},
    "transforms/batching/neural.py": {"how a loss is reduced": "sum mean", PARAMETER: "mode"},
    "transforms/batching/shaping.py": {PARAMETER: "dim size stride storage_offset"},
    "transforms/description.py": {OTHER_FORMAT: "cpu"},
    "transforms/differentiating.py": {"a variable for a type": "T"},
    "transforms/tangents.py": {PROTOCOL: "__setitem__"},
    "transforms/dual.py": {"what a formula of a derivative asks for": "grad"},
    "transforms/forward_mode.py": {PARAMETER: "tensor"},
}


@functools.cache
def names() -> frozenset[str]:
    """The names of the library's functions: `tensorlike.Tensor.shape.__get__`, and each of its ends but `__get__`."""
    public_rows()
    forms = [*REGISTRY.values(), *(function._form for function, _ in IGNORED.values() if form_of(function))]
    found = {form.full_name for form in forms if form.of_library}
    for name in tuple(found):
        name = name.removesuffix(".__get__").removesuffix(".__set__")
        found |= {name, name.removeprefix("tensorlike."), name.rpartition(".")[2]}
    return frozenset(found)


def _no_code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is text or a declaration below `node`, and no code that looks something up."""
    bodies = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, bodies) and node.body and isinstance(node.body[0], ast.Expr):
        yield node.body[0].value
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
        yield from ast.walk(node.returns)
    if isinstance(node, ast.FunctionDef):
        for decorator in node.decorator_list:
            yield from ast.walk(decorator)
    if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if isinstance(node, (ast.Assign, ast.AugAssign)) and any(
        getattr(target, "id", "") in ("__all__", "__slots__") for target in targets
    ):
        yield from ast.walk(node.value)
    if isinstance(node, ast.JoinedStr):
        yield from node.values


def named_in(source: str) -> set[str]:
    """Return the string literals of a source that are the name of an operation."""
    nodes = list(ast.walk(ast.parse(source)))
    declared = {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.decorator_list}
    skipped = {id(inner) for node in nodes for inner in _no_code(node)}
    literals = {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped
    }
    return literals & names() - declared


@pytest.mark.parametrize("file", [str(path.relative_to(PACKAGE).as_posix()) for path in FILES])
def test_no_string_is_the_name_of_an_operation(file: str) -> None:
    found = named_in((PACKAGE / file).read_text(encoding="utf-8"))
    excused = {word for words in EXCEPTIONS.get(file, {}).values() for word in words.split()}
    assert found - excused == set(), "a fact about an operation belongs on the operation: see Note [One operation ...]"
    assert excused - found == set(), "these exceptions are not needed any more"


def test_exceptions_are_of_files_that_are_there() -> None:
    files = {str(path.relative_to(PACKAGE).as_posix()) for path in FILES}
    assert len(files) > 120
    assert set(EXCEPTIONS) <= files


@pytest.mark.parametrize(
    "line",
    ['func.__name__ == "sub"', 'RULES = {"tensorlike.linalg.inv": 1}', 'x = {"Tensor.add_"}', 'getattr(t, "shape")',
     'NAMES = "add", "__rsub__"', 'found = REGISTRY["tensorlike.Tensor.grad.__get__"]'],
)  # fmt: skip
def test_a_name_is_found(line: str) -> None:
    assert named_in(f"def f(t):\n    {line}\n")


@pytest.mark.parametrize(
    "line",
    ['"""sub"""', 'def f(x: "sub") -> "add": ...', 'x: "add" = 1', '__all__ = ["sub"]', 'y = f"{x}add"', 'z = "added"',
     "add = sub.operation"],
)  # fmt: skip
def test_what_is_no_look_up_is_not_found(line: str) -> None:
    assert not named_in(line)
