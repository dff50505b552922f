"""The lines and branches of `__torch_function__` that calls take, as tracing and the syntax tree tell them."""

import functools
import importlib.util
import re
import sys
import textwrap

import pytest

import tensorlike as tl
from tensorlike.testing.coverage_html import highlighted, write_html
from tensorlike.testing.coverage_report import CoverageReport, HandlerCoverage, TypeCoverage
from tensorlike.testing.handler_lines import handlers_of, line_tracer
from tensorlike.testing.override_coverage import Recorder

SOURCE = '''
import functools
import tensorlike as tl

class Units:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Answer."""
        if func is tl.sub:
            return NotImplemented
        if func is tl.exp or func is tl.mul: return "one line"
        for value in args:
            if not value:
                break
        def opened(value):
            if isinstance(value, list):
                return [opened(v) for v in value]
            return "mine" if isinstance(value, Units) else value
        while func is tl.log:
            func = tl.cat
        match func:
            case tl.add:
                name = "add"
            case tl.cat if args:
                name = "cat"
            case _:
                name = "other"
        try:
            opened(args[0])
        except (ValueError, TypeError):
            raise
        finally:
            name += ""
        if kwargs:
            name += "!"
        return (
            name,
        )

class Below(Units):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)

class Inherits(Units):
    pass

class Marked(tl.Tensor):
    pass

class Held(tl.overrides.TensorLike):
    @tl.overrides.implements(tl.add)
    def added(input, other, *, alpha=1, out=None):
        return "added"

def logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs)
    return call

class Wrapped:
    @classmethod
    @logged
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "inside"

class Answer:
    def __call__(self, func, types, args=(), kwargs=None):
        return "object"

class Object:
    __torch_function__ = Answer()

class Lazy:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return (value
                for value in [1])
'''


@pytest.fixture
def module(tmp_path):
    file = tmp_path / "handlers.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("handlers", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _not_traced():
    if sys.gettrace() is not None and not hasattr(sys, "monitoring"):
        pytest.skip("another tracer runs, which is left alone")


class Watched:
    """Counts the lines of one type's handlers."""

    def __init__(self, kind):
        self.recorder = Recorder(kind)
        self.handlers = self.recorder.handlers()
        self.tracer = line_tracer(self.handlers, lambda function: function.__name__)

    def __enter__(self):
        self.tracer.start()
        self.recorder.lines = self.tracer
        self.recorder.install()
        return self

    def __exit__(self, *_):
        self.recorder.uninstall()
        self.tracer.stop()

    def covered(self, index=0):
        return HandlerCoverage(self.handlers[index], self.tracer.hits(), complete=not self.tracer.blocked)


def at(handler, text):
    """The number of the one line that begins with a text."""
    [line] = [n for n, line in enumerate(handler.source, handler.first_line) if line.strip().startswith(text)]
    return line


def exercise(module):
    with Watched(module.Units) as watched:
        one = module.Units()
        tl.add(one, 1)
        tl.cat([tl.ones(1), one])
        with pytest.raises(TypeError):
            tl.sub(one, 1)
    return watched


def test_lines_and_the_functions_that_took_them(module):
    covered = exercise(module).covered()
    handler = covered.handler
    taken = {
        "if func is tl.sub": {"add", "cat", "sub"},
        "return NotImplemented": {"sub"},
        "for value in args": {"add", "cat"},
        "return [opened(v) for v in value]": {"cat"},
        'return "mine"': {"add", "cat"},
        'name = "add"': {"add"},
        "name,": {"add", "cat"},
    }
    assert {text: set(covered.functions[at(handler, text)]) for text in taken} == taken
    missed = ("break", "func = tl.cat", "case _", 'name = "other"', "except", "raise", 'name += "!"')
    assert covered.missed == [at(handler, text) for text in missed]
    # Neither decorators, the signature nor the docstring are executed by a call.
    assert min(handler.lines) == at(handler, "if func is tl.sub")


def test_branches_and_the_functions_that_took_them(module):
    covered = exercise(module).covered()
    handler = covered.handler
    never = {
        line: [branch.never(outcome) for branch, outcome in covered.missed_ways(line)] for line in covered.functions
    }
    assert {line: words for line, words in never.items() if words} == {
        at(handler, "if func is tl.exp or"): ["the condition was never true"],
        at(handler, "if not value"): ["the condition was never true"],
        at(handler, "while func"): ["the condition was never true"],
        at(handler, "case tl.cat"): ["the pattern always matched"],
        at(handler, "if kwargs"): ["the condition was never true"],
    }
    ways = {(branch.line, way): set(functions) for (branch, way), functions in covered.ways.items()}
    line = at(handler, "if func is tl.sub")
    assert ways[line, True] == {"sub"}
    assert ways[line, False] == {"add", "cat"}
    line = at(handler, "for value")
    assert ways[line, True] == ways[line, False] == {"add", "cat"}
    assert ways[at(handler, "case tl.add"), False] == {"cat"}
    line = at(handler, 'return "mine"')
    assert ways[line, True] == {"add", "cat"}
    assert ways[line, False] == {"cat"}


def test_a_condition_in_one_line_with_its_body(module):
    with Watched(module.Units) as watched:
        tl.mul(module.Units(), 1)
        tl.exp(module.Units())
    covered = watched.covered()
    line = at(covered.handler, "if func is tl.exp or")
    ways = {way: set(functions) for (branch, way), functions in covered.ways.items() if branch.line == line}
    assert ways == {True: {"mul", "exp"}}


def test_a_loop_that_never_ends_and_one_that_is_never_entered(module):
    with Watched(module.Units) as watched:
        tl.add(module.Units(), 0)
    covered = watched.covered()
    line = at(covered.handler, "for value")
    assert [branch.never(way) for branch, way in covered.missed_ways(line)] == ["the loop never ran to its end"]
    with Watched(module.Units) as watched, pytest.raises(IndexError):
        module.Units.__torch_function__(tl.add, (), (), {})
    assert watched.tracer.hits() != []
    covered = watched.covered()
    assert [branch.never(way) for branch, way in covered.missed_ways(line)] == ["the loop was never entered"]


def test_whose_handlers_are_shown(module):
    shown = {kind: [h.name for h in Recorder(getattr(module, kind)).handlers()] for kind in (
        "Units", "Below", "Inherits", "Marked", "Held", "Wrapped", "Object"
    )}  # fmt: skip
    assert shown == {
        "Units": ["Units.__torch_function__"],
        "Below": ["Below.__torch_function__", "Units.__torch_function__"],
        "Inherits": ["Units.__torch_function__"],
        "Marked": [],
        "Held": ["Held.added"],
        "Wrapped": ["Wrapped.__torch_function__"],
        "Object": ["Object.__torch_function__"],
    }
    assert handlers_of(tl.Tensor, [object]) != [], "the library's own type may be asked for by name"


@pytest.mark.parametrize(
    "kind, text, answer",
    [("Held", "return \"added\"", "added"), ("Wrapped", "return \"inside\"", "inside"),
     ("Object", "return \"object\"", "object")],
)  # fmt: skip
def test_handlers_of_other_kinds_are_traced(module, kind, text, answer):
    with Watched(getattr(module, kind)) as watched:
        assert tl.add(getattr(module, kind)(), 1) == answer
    covered = watched.covered()
    assert covered.functions[at(covered.handler, text)] == {"add": 1}
    assert covered.missed == []


def test_super_is_the_same_call(module):
    with Watched(module.Below) as watched:
        tl.cat([module.Below()])
    assert set(watched.covered(0).functions) == set(watched.covered(0).handler.lines)
    above = watched.covered(1)
    assert set(above.functions[at(above.handler, 'name = "cat"')]) == {"cat"}


def test_what_runs_after_the_call_is_of_no_function(module):
    with Watched(module.Lazy) as watched:
        values = tl.add(module.Lazy(), 1)
        assert list(values) == [1]
    functions = watched.covered().functions
    assert "add" in functions[at(watched.handlers[0], "return (value")]
    # Python 3.11 traces for the duration of the call alone.
    assert set().union(*functions.values()) == ({"add", ""} if hasattr(sys, "monitoring") else {"add"})


def test_the_context_and_pausing(module):
    with Watched(module.Units) as watched:
        watched.tracer.context = "one|run"
        tl.cat([module.Units()])
        watched.tracer.paused = True
        tl.add(module.Units(), 1)
    covered = watched.covered()
    assert covered.contexts[at(covered.handler, 'name = "cat"')] == {"one|run"}
    assert at(covered.handler, 'name = "add"') in covered.missed


def test_a_running_tracer_keeps_its_place(module):
    seen = []

    def tracer(frame, event, arg):
        seen.append(frame.f_code.co_name)
        return tracer

    before = sys.gettrace()
    with Watched(module.Units) as watched:
        sys.settrace(tracer)
        try:
            tl.add(module.Units(), 1)
            assert sys.gettrace() is tracer
        finally:
            sys.settrace(before)
    assert "opened" in seen
    covered = watched.covered()
    if hasattr(sys, "monitoring"):
        assert "add" in covered.functions[at(covered.handler, 'name = "add"')]
        assert watched.tracer.blocked == set()
    else:
        assert covered.functions == {}
        assert covered.missed == [], "it is not known which lines were missed"
        [blocked] = watched.tracer.blocked
        assert blocked.endswith("test_a_running_tracer_keeps_its_place.<locals>.tracer")
        report = CoverageReport([TypeCoverage("Units", watched.recorder, handlers=[covered])], [blocked])
        [line] = [line for line in report.lines() if "not traced" in line]
        assert "left alone; run the tests without it, or with Python 3.12 or newer" in line


def test_a_debugger_that_starts_inside_keeps_its_place():
    def debugger(frame, event, arg):
        return None

    class Debugged:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            sys.settrace(debugger)

    before = sys.gettrace()
    with Watched(Debugged):
        try:
            tl.add(Debugged(), 1)
            assert sys.gettrace() is debugger
        finally:
            sys.settrace(before)


def test_nothing_stays_behind(module):
    before = sys.gettrace()
    exercise(module)
    assert sys.gettrace() is before
    if hasattr(sys, "monitoring"):
        assert sys.monitoring.get_tool(3) is None
        assert sys.monitoring.get_local_events(3, module.Units.__torch_function__.__func__.__code__) == 0


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring is new in Python 3.12")
def test_other_tools_of_monitoring_keep_their_numbers(module):
    sys.monitoring.use_tool_id(3, "one")
    try:
        watched = exercise(module)
        assert watched.covered().functions
        sys.monitoring.use_tool_id(4, "another")
        watched = exercise(module)
        assert watched.tracer.blocked == {"sys.monitoring, whose free numbers are taken by one and another"}
        assert [sys.monitoring.get_tool(number) for number in (3, 4)] == ["one", "another"]
    finally:
        for number in (3, 4):
            if sys.monitoring.get_tool(number) is not None:
                sys.monitoring.free_tool_id(number)


def test_without_its_source_lines_count_all_the_same():
    namespace = {}
    exec(
        textwrap.dedent("""
        class Typed:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return 3
        """),
        namespace,
    )
    with Watched(namespace["Typed"]) as watched:
        tl.add(namespace["Typed"](), 1)
    covered = watched.covered()
    assert covered.handler.source == []
    assert covered.missed == covered.handler.branches == []


HIGHLIGHTED = [
    "    @classmethod",
    "    def answer(cls, func, types):  # a < b",
    '        """Of two',
    "        lines.",
    '        """',
    "",
    "        if func is not None and 1.5 < 2:",
    '            return f"{func!r} & {types[0]:>{4}} {{}}"',
]


def test_source_is_highlighted():
    markupsafe = pytest.importorskip("markupsafe")
    found = highlighted(HIGHLIGHTED)
    tags = re.compile(r"</?(?:b|i|em)>")
    assert [markupsafe.Markup(tags.sub("", markup)).unescape() for markup in found] == HIGHLIGHTED
    assert found[1] == "    <b>def</b> answer(cls, func, types):  <em># a &lt; b</em>"
    assert found[3] == "<i>        lines.</i>"
    assert found[6] == (
        "        <b>if</b> func <b>is</b> <b>not</b> <b>None</b> <b>and</b> <i>1.5</i> &lt; <i>2</i>:"
    )
    assert highlighted(["    return (", '  """no end']) == ["    return (", '  """no end']


def test_the_page_of_a_type(module, tmp_path):
    pytest.importorskip("jinja2")
    watched = exercise(module)
    names = ["handlers:Units", "handlers:Marked"]
    types = [
        TypeCoverage(names[0], watched.recorder, handlers=[watched.covered()], only=["add", "sub", "exp"]),
        TypeCoverage(names[1], Recorder(module.Marked), only=["add"]),
    ]
    report = CoverageReport(types)
    write_html(report, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    line = at(watched.handlers[0], "break")
    assert f'<a href="#line-0-0-{line}">{line}</a>' in page
    assert f'<tr id="line-0-0-{line}" class="missed">' in page
    assert "This type has no <code>__torch_function__</code> of its own" in page
    assert '<a href="#type-1">handlers:Marked</a>' in page
    write_html(report, tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert {file.name for file in folder.iterdir()} == {"index.html", "handlers.Units.html", "handlers.Marked.html"}
    assert '<a href="handlers.Units.html">handlers:Units</a>' in (folder / "index.html").read_text(encoding="utf-8")
    assert '<a href="index.html">All types</a>' in (folder / "handlers.Units.html").read_text(encoding="utf-8")


def test_wrappers_of_wrappers_end():
    class Endless:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 1

    function = Endless.__dict__["__torch_function__"].__func__
    function.__wrapped__ = functools.partial(function)
    assert Recorder(Endless).handlers() == []
