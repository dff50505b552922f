"""The results that the stubs of Tensor's methods promise, held to the results at run time.

Every form of the registry with samples is called on a plain subclass, and on a type whose results are plain tensors.
"""

import ast
import functools
import inspect
import warnings
from pathlib import Path

import pytest

import tensorlike as tl
from tests.helpers.rows import families, samples
from tests.helpers.values import mapped

METHODS = Path(tl.__file__).parent / "tensor" / "_methods.pyi"
PREFIX = "Tensor."
#: How many samples of each dtype are called; some forms return tensors for some of their options only.
MOST = 6


class Marked(tl.Tensor):
    pass


def promised(source, name):
    """Return the names in the results of each method and property in a class of a stub, but for results of any type."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.returns is not None:
                    names = {one.id for one in ast.walk(member.returns) if isinstance(one, ast.Name)}
                    # Named results are of Tensor where nothing else is said.
                    said = names & {"Self"} or ({"Tensor"} if names & {"Tensor", "return_types"} else set())
                    found.setdefault(member.name, set()).update(said)
    return found


@functools.cache
def stub(name):
    return promised(METHODS.read_text(), name)


def forms():
    """Yield the methods and properties of Tensor that have samples, each with the name of these."""
    for key, members in families().items():
        for form in members:
            if form.namespace == "tensorlike" and form.name.startswith(PREFIX) and not form.nowrap:
                yield pytest.param(form, key, id=form.name.removeprefix(PREFIX))


def tensors(value, given):
    """Yield the types of the tensors in a result, nested ones too, but for those among the arguments."""
    if isinstance(value, tl.Tensor):
        if not any(value is one for one in given):
            yield type(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item, given)


def results(form, key, convert):
    """Return the types of tensors that calls of a form with converted operands returned, and how many succeeded."""
    found, succeeded = set(), 0
    for dtype in {"float64", *samples(key).dtypes[:2]} & set(samples(key).dtypes):
        for sample in samples(key).generate(dtype)[:MOST]:
            given = []

            def changed(tensor, given=given):
                given.append(convert(tensor))
                return given[-1]

            args, kwargs = mapped([list(sample.args), sample.kwargs], changed)
            if not given or given[0] is not args[0]:
                continue  # No method is called on a number.
            try:
                result = form.function(*args, **kwargs)
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue  # The samples serve other forms too, which take more.
            succeeded += 1
            found.update(tensors(result, [] if convert is marked else given))
    return found, succeeded


def marked(tensor):
    return tensor.detach().clone().as_subclass(Marked)


def parameter(tensor):
    return tl.nn.Parameter(tensor.detach().clone(), requires_grad=False)


def disagreement(name, found, promises):
    """Return what a stub says wrongly of a method whose calls returned tensors of these types, or None."""
    said = promises.get(name)
    if said is None:
        return f"{name} is in no stub"
    if "Self" in said and found != {Marked}:
        return f"{name} says Self and returns {found}"
    if "Tensor" in said and found != {tl.Tensor}:
        return f"{name} says Tensor and returns {found}"
    if not said and found:
        return f"{name} says nothing of tensors and returns {found}"
    return None


@pytest.mark.parametrize("form, key", list(forms()))
def test_methods_keep_the_type_where_their_stub_says_so(form, key):
    name = form.name.removeprefix(PREFIX).removesuffix(".__get__")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, succeeded = results(form, key, marked)
        plain, _ = results(form, key, parameter)
    if not succeeded or form.kind in ("setter", "deleter"):
        pytest.skip("no sample is a call of this form")
    wrong = disagreement(name, found, stub("TensorMethods"))
    assert wrong is None, wrong
    assert plain <= {tl.Tensor}, plain
    if found and not form.inplace:
        assert stub("PlainResults")[name] == {"Tensor"}, name
    else:
        assert name not in stub("PlainResults"), name


def documented(path):
    """Return the docstring of each function and method in a stub, in the last of its overloads."""
    tree = ast.parse(path.read_text())
    scopes = [("", tree), *((f"{node.name}.", node) for node in tree.body if isinstance(node, ast.ClassDef))]
    return {
        prefix + node.name: ast.get_docstring(node)
        for prefix, scope in scopes
        for node in scope.body
        if isinstance(node, ast.FunctionDef) and not any(".setter" in ast.unparse(one) for one in node.decorator_list)
    }


@pytest.mark.parametrize("module", [tl, tl.linalg, tl.fft, tl.special, tl.nn.functional], ids=lambda m: m.__name__)
def test_docstrings_of_functions(module):
    found = documented(Path(module.__file__).with_suffix(".pyi"))
    assert len(found) > 15
    for name, text in found.items():
        assert text == inspect.getdoc(getattr(module, name)), name


@pytest.mark.parametrize("name", ["TensorMethods", "PlainResults"])
def test_docstrings_of_methods(name):
    found = {key.removeprefix(f"{name}."): text for key, text in documented(METHODS).items() if key.startswith(name)}
    assert len(found) > 350
    assert sum(text is None for text in found.values()) < 10
    for method, text in found.items():
        assert text is None or text == inspect.getdoc(getattr(tl.Tensor, method)).rstrip(), method


class TestTheChecksThemselves:
    def test_promised(self):
        source = """
class A:
    def __add__(self, other: Any) -> Any: ...
    @overload
    def exp(self) -> Self: ...
    @overload
    def exp(self, other: Tensor) -> Any: ...
    def split(self) -> tuple[Self, ...]: ...
    def sort(self) -> return_types.sort[Self]: ...
    def max(self) -> return_types.max: ...
class B:
    def exp(self) -> Tensor: ...
"""
        said = {"__add__": set(), "exp": {"Self"}, "split": {"Self"}, "sort": {"Self"}, "max": {"Tensor"}}
        assert promised(source, "A") == said
        assert promised(source, "B") == {"exp": {"Tensor"}}

    @pytest.mark.parametrize("said, found, wrong", [
        ({"Self"}, {Marked}, False), ({"Self"}, {tl.Tensor}, True), ({"Self"}, {Marked, tl.Tensor}, True),
        ({"Self"}, set(), True), ({"Tensor"}, {tl.Tensor}, False), ({"Tensor"}, {Marked}, True),
        (set(), set(), False), (set(), {Marked}, True), ({"Self", "Tensor"}, {Marked}, True),
    ])  # fmt: skip
    def test_disagreement(self, said, found, wrong):
        assert (disagreement("exp", found, {"exp": said}) is not None) == wrong

    def test_a_method_without_a_stub(self):
        assert disagreement("exp", {Marked}, {}) == "exp is in no stub"
