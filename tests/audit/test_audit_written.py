"""Calls as code writes them, and programs, in the report of an audit."""

import os

import pytest

import tensorlike as tl
from tensorlike.audit import AuditReport, Outcome
from tensorlike.audit.making import api_named, instances_of
from tensorlike.audit.metadata import named
from tensorlike.audit.parallel import available_jobs
from tensorlike.audit.run import Auditor
from tensorlike.audit.sections import extra_rows
from tensorlike.audit.terminal import headline
from tensorlike.audit.written import NAMESPACE, written_forms
from tensorlike.overrides import TensorLike, audit, rewrap


class Marked(tl.Tensor):
    pass


class Duck:
    """Answers every function, and has no methods."""

    def __init__(self, tensor):
        self.tensor = tensor

    @classmethod
    def __tensorlike_from_dense__(cls, tensor):
        return cls(tensor)

    def __tensorlike_to_dense__(self):
        return self.tensor

    unwrap = __tensorlike_to_dense__

    @classmethod
    def wrap(cls, tensor, like):
        return cls(tensor)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return rewrap(cls, func, types, args, kwargs or {})


def rows_of(kind, jobs=0, **options):
    kind, maker = instances_of(kind)
    auditor = Auditor(kind, maker, **options)
    return {row.function: row for row in extra_rows(auditor, jobs, [])}, auditor


def report_of(kind, **options):
    """The report of an audit of a few functions, with all else."""
    auditor = Auditor(*instances_of(kind), **options)
    auditor.functions = [f for f in auditor.functions if f.name.rpartition(".")[2] in ("sum", "add", "exp", "__len__")]
    return auditor.run(available_jobs())


@pytest.fixture(scope="module")
def of_marked():
    return rows_of(Marked)[0]


def test_every_member_of_tensors_is_called_as_code_writes_it(of_marked):
    api = api_named("tensorlike")
    names = {function.name for function, _ in api.members()}
    written = {form.function.name for form in written_forms(api.members())}
    # What Python and NumPy call when they copy and exchange, which programs do.
    left = {name.removeprefix("tensorlike.Tensor.") for name in names - written}
    private = {name for name in left if name.startswith("_") and not name.startswith("__")}
    assert left - private == {
        "__array_wrap__", "__cuda_array_interface__.__get__", "__dlpack__", "__dlpack_device__", "__reduce_ex__",
        "__setstate__",
    }  # fmt: skip
    some = ["x.sum()", "x[index]", "len(x)", "x.T", "float(x)", "bool(x)", "x.add_()"]
    some += ["for row in x", "x + y", "1 + x", "tensor + x", "x += y", "x == y", "value in x", "x[index] = value"]
    some += ["x.grad = value", "-x", "x**y", "1**x", "x @ y", "numpy.asarray(x)"]
    assert set(some) <= of_marked.keys()
    assert all(of_marked[text].passed for text in some)


def test_a_type_without_faults_has_none(of_marked):
    assert [(row.function, row.faults) for row in of_marked.values() if row.called and not row.passed] == []
    assert {row.namespace for row in of_marked.values()} == {NAMESPACE, "programs"}
    assert {row.outcome for row in of_marked.values()} <= {Outcome.OWN, Outcome.INHERITED, Outcome.NOT_CALLED}


def wrong(name):
    def method(self, *args, **kwargs):
        return tl.zeros(7).as_subclass(type(self))

    return type("Wrong", (Marked,), {name: property(method) if name == "T" else method})


@pytest.mark.parametrize(
    "name, texts",
    [
        ("prod", ["x.prod()"]),
        ("T", ["x.T"]),
        ("__getitem__", ["x[index]"]),
        ("__add__", ["x + y"]),
        ("__radd__", ["tensor + x", "1 + x"]),
        ("__iadd__", ["x += y"]),
        ("__neg__", ["-x"]),
        ("__eq__", ["x == y", "tensor == x"]),
        ("__matmul__", ["x @ y"]),
    ],
)
def test_a_wrong_method_is_found_where_the_function_is_right(name, texts):
    """`Tensor.sum(x)` does not reach a method of the type."""
    found, _ = rows_of(wrong(name))
    faulty = {row.function: row for row in found.values() if row.form == "written" and row.called and not row.passed}
    assert set(texts) <= set(faulty)
    # Few other methods are made of it.
    assert len(faulty) <= (8 if name == "__getitem__" else len(texts))
    assert {faulty[text].verdict for text in texts} == {Outcome.WRONG_VALUE}
    assert audit(wrong(name), only=["tensorlike.Tensor.sum", "tensorlike.add"]).coverage == 100.0


def test_what_is_lost_with_the_first_sample_is_not_forgotten_for_a_later_one():
    """An instance of unknown shape is tried with several samples until one is answered, not until one is right."""
    calls = []

    class Closed:
        tag = "a"

        def mul(self, *args, **kwargs):
            calls.append(args)
            result = Closed()
            if len(calls) == 1:
                result.tag = "b"
            return result

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return Closed()

    kind, maker = instances_of(Closed, make=Closed)
    found = {row.function: row for row in extra_rows(Auditor(kind, maker, metadata=named("tag", "metadata")), 0, [])}
    assert found["x.mul()"].verdict is Outcome.ATTRIBUTE_LOST
    assert len(calls) == 1


def test_protocols_of_python_are_judged():
    class Wrong(Marked):
        def __len__(self):
            return 9

        def __float__(self):
            return 9.0

        def __bool__(self):
            raise RuntimeError("no")

        def __iter__(self):
            return iter([])

    found, _ = rows_of(Wrong)
    faulty = {
        row.function: row.verdict for row in found.values() if row.form == "written" and row.called and not row.passed
    }
    expected = dict.fromkeys(("len(x)", "float(x)", "for row in x"), Outcome.WRONG_VALUE)
    assert faulty == {**expected, "bool(x)": Outcome.RAISED}


def test_a_duck_without_methods_is_told_so():
    """It works in no code that is written for tensors; to say that it has none is to be audited by functions alone."""
    found, _ = rows_of(Duck)
    assert found["x.sum()"].outcome is found["x.T"].outcome is Outcome.REFUSED
    assert found["x.sum()"].faults == ["refused: 'Duck' object has no attribute 'sum'"]
    assert found["x[index]"].outcome is found["len(x)"].outcome is found["-x"].outcome is Outcome.REFUSED
    # Without __bool__ Python answers by itself.
    assert found["bool(x)"].verdict is Outcome.WRONG_VALUE
    assert found["tensor + x"].passed
    assert found["x == y"].passed, "of a plain tensor that is asked in turn"
    report = report_of(Duck)
    silent = type("Silent", (Duck,), {"__tensor_methods__": False})
    for kind, options in ((Duck, {"methods": "none"}), (silent, {})):
        functions = report_of(kind, **options)
        assert f"functions only: {kind.__name__} says that it has no methods" in headline(functions)
        assert functions.coverage > report.coverage + 10
        assert not [row for row in functions.rows if row.form == "written"]
        row = functions.row("tensorlike.Tensor.sum", "self")
        assert row.outcome is Outcome.NOT_CALLED
        assert "no methods" in row.reason
        # As the other operand it is met by operators of tensors, whatever it has.
        assert functions.row("tensorlike.Tensor.add", "other").passed
        assert AuditReport.from_json(functions.to_json()).notes == functions.notes


def test_what_is_asked_for_alone_has_no_other_rows():
    report = audit(Marked, only="tensorlike.sin")
    assert {row.form for row in report.rows} == {"function"}


class Ends(Marked):
    def sum(self, *args, **kwargs):
        os._exit(3)


@pytest.mark.skipif(not available_jobs(), reason="workers are forked on Linux alone")
def test_a_method_that_ends_the_process_is_a_row():
    found, _ = rows_of(Ends, jobs=1)
    row = found["x.sum()"]
    assert (row.outcome, row.error) == (Outcome.RAISED, "the process ended, with exit status 3")
    assert found["x.prod()"].passed


def test_each_program_has_a_line(of_marked):
    class Scrambles(TensorLike, Marked):
        def __reversed__(self):
            return self

    _, auditor = rows_of(Scrambles)
    assert auditor.notes == ["31 of 32 programs passed"], "two need a type that can be pickled"
    report = report_of(Scrambles)
    [row] = [row for row in report.programs if row.called and not row.passed]
    assert row.cause == "wrong value: iteration and unpacking"
    assert row.call.startswith("return first, second")
    assert "[4] [0]" in row.difference or "[4]" in row.difference
    assert report.functions == len({row.function for row in report.rows if row.form not in ("written", "program")})
