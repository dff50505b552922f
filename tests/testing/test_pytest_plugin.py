"""The pytest plugin as a user runs it: `--override-coverage`, the marker and the fixtures."""

import itertools
import json
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

import _tensorlike_pytest
import tensorlike as tl
from tensorlike.testing.coverage_report import TypeCoverage
from tensorlike.testing.override_coverage import Recorder

ROOT = Path(__file__).resolve().parents[2]

UNITS = """
import tensorlike as tl

class Units:
    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is tl.sub:
            return NotImplemented
        if func is tl.div:
            raise ValueError("no division")
        if func in (tl.exp, tl.mul):
            return exp_or_mul(*args)
        def opened(value):
            if isinstance(value, list):
                return [opened(v) for v in value]
            return value.inner if isinstance(value, Units) else value
        return cls(func(*map(opened, args), **{k: opened(v) for k, v in (kwargs or {}).items()}))

def exp_or_mul(*args):
    return Units(tl.ones(2))

class Marked(tl.Tensor):
    pass

class Silent(tl.Tensor):
    __torch_function__ = tl.overrides.disabled_torch_function

class Nothing:
    pass
"""

TESTS = """
import pytest
import tensorlike as tl
from units import Marked, Units

@pytest.mark.parametrize("n", range(6))
def test_units(n):
    one = Units(tl.ones(2))
    tl.add(one, 1)
    tl.add(1, other=one)
    tl.cat([tl.ones(1), one])
    with pytest.raises(TypeError):
        tl.sub(1, one)
    with pytest.raises(ValueError):
        tl.div(one, 1)

def test_marked():
    assert type(Marked([1.0]) * 2) is Marked

@pytest.mark.no_override_coverage
def test_left_out():
    tl.exp(Units(tl.ones(2)))
"""

FIXTURES = """
import pytest
import tensorlike as tl
from units import Marked, Units

def test_trace(override_trace):
    tl.add(Units(tl.ones(2)), 1)
    assert len(override_trace) >= 1
    assert override_trace[0].answered_by == "Units"

def test_overridden(assert_overridden):
    assert_overridden(tl.exp, Units, from_dense=Units)
    assert_overridden(tl.mul, Units, from_dense=Units, operand="other")

def test_handed_on(assert_overridden):
    assert_overridden(tl.add, Units, from_dense=Units)

def test_refused(assert_overridden):
    assert_overridden(tl.sub, Units, from_dense=Units, operand="input")

def test_inherited(assert_overridden):
    assert_overridden(tl.add, Marked)

def test_no_such_operand(assert_overridden):
    with pytest.raises(ValueError, match="no operand 'inptu'"):
        assert_overridden(tl.add, Marked, operand="inptu")

def test_no_such_function(assert_overridden):
    with pytest.raises(TypeError, match="overridable function"):
        assert_overridden(print, Marked)
"""


def write(folder):
    (folder / "units.py").write_text(UNITS)
    (folder / "test_units.py").write_text(TESTS)
    (folder / "broken.py").write_text("raise RuntimeError('not today')")


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    return tmp_path


def environment(folder):
    path = os.pathsep.join((str(ROOT), str(folder)))
    # Whether or not tensorlike is installed: its entry point is not read, and the plugin named instead.
    return {**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}


def run(folder, *arguments, plugin=True):
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers"]
    command += ["-p", "tensorlike.testing.pytest_plugin"] if plugin else []
    command += arguments
    return subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)


def rows(file):
    types = json.loads(file.read_text())["types"]
    return {
        name: {(row["function"], row["operand"]): (row["outcomes"], row["results"]) for row in found["calls"]}
        for name, found in types.items()
    }


EXPECTED = {
    "units:Units": {
        ("tensorlike.add", "input"): ({"answered": 6}, ["Units"]),
        ("tensorlike.add", "other"): ({"answered": 6}, ["Units"]),
        ("tensorlike.cat", "tensors"): ({"answered": 6}, ["Units"]),
        ("tensorlike.sub", "other"): ({"NotImplemented": 6}, []),
        ("tensorlike.div", "input"): ({"raised": 6}, ["ValueError"]),
    },
    "units:Marked": {("tensorlike.Tensor.mul", "self"): ({"answered": 1}, ["Marked"])},
}


def test_counts_report_and_summary(folder):
    pytest.importorskip("jinja2")
    done = run(
        folder, "-v", "--override-coverage=units:Units,Marked", "--override-coverage-json=a.json",
        "--override-coverage-html=a.html", "--override-coverage-context=test", "test_units.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(folder / "a.json") == EXPECTED
    found = json.loads((folder / "a.json").read_text())["types"]["units:Units"]
    assert found["exercised"] == 5
    assert len(found["never"]) == found["operands"] - 5
    assert ["tensorlike.exp", "input"] in found["never"], "the marker is not heeded"
    contexts = {row["function"]: row["contexts"] for row in found["calls"]}
    assert contexts["tensorlike.add"] == {f"test_units.py::test_units[{n}]|run": 1 for n in range(6)}
    table = [line.split() for line in summary(done.stdout)]
    assert table[0] == ["Name", "Functions", "Missed", "Operands", "Missed", "Cover", "Implemented"]
    functions, operands = int(table[2][1]), int(table[2][3])
    assert operands == found["operands"] > functions == found["functions"]
    assert table[2] == [
        "units:Units",
        str(functions),
        str(functions - 4),
        str(operands),
        str(operands - 5),
        "0.2%",
        "20.0%",
    ]
    assert table[3] == [
        "units:Marked",
        str(functions),
        str(functions - 1),
        str(operands),
        str(operands - 1),
        "0.1%",
        "-",
    ]
    assert table[5][:3] == ["TOTAL", str(2 * functions), str(2 * functions - 5)]
    assert "calls: 6 NotImplemented, 18 answered, 6 raised" in done.stdout
    page = (folder / "a.html").read_text(encoding="utf-8")
    Opened(page)
    assert "units:Units" in page
    assert '<td class="name">tensorlike.add</td><td class="name">input</td><td class="number">6</td>' in page
    assert '<td class="code">            <b>raise</b> ValueError(<i>&#34;no division&#34;</i>)</td>' in page
    assert '<li class="name">test_units.py::test_units[0]</li>' in page
    assert not re.search(r"https?:|src=|<link", page), "the page needs something from elsewhere"


def summary(text):
    """The lines of the summary: a table, and what follows it."""
    return re.split(r"^=+ override coverage =+$", text, flags=re.M)[1].strip("\n").splitlines()


def test_the_page_is_accessible(folder):
    """Landmarks, one heading of the first level and none skipped, names for regions, contrast in both schemes."""
    pytest.importorskip("jinja2")
    done = run(folder, "--override-coverage=units:Units", "--override-coverage-html=new/report", "test_units.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {file.name for file in (folder / "new" / "report").iterdir()} == {"index.html", "units.Units.html"}
    page = (folder / "new" / "report" / "units.Units.html").read_text(encoding="utf-8")
    Opened(page)
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert page.count("<main ") == page.count("<header>") == page.count('class="skip" href="#main"') == 1
    identifiers = re.findall(r' id="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'(?:aria-labelledby|href)="#?([^".]+)"', page)) <= set(identifiers)
    # What scrolls can be reached with the keyboard.
    assert page.count('class="wide" role="region" aria-labelledby=') == page.count('tabindex="0"') == 3
    light, dark = {}, {}
    for selector, rules in re.findall(r"(:root[^{]*)\{([^}]*)\}", page):
        scheme = {":root": light, ':root[data-theme="dark"]': dark}.get(selector.strip(), {})
        scheme.update(re.findall(r"--([\w-]+): (#\w{6})", rules))
    assert light.keys() == dark.keys()
    assert light != dark
    inks = ("ink", "soft", "accent", "word", "text", "remark")
    pairs = [(ink, "paper") for ink in (*inks, "green", "red", "amber")]
    pairs += [(ink, "missed-paper") for ink in (*inks, "red")]
    pairs += [(ink, "partial-paper") for ink in (*inks, "amber")]
    for scheme in (light, dark):
        assert {pair: contrast(scheme[pair[0]], scheme[pair[1]]) for pair in pairs if
                contrast(scheme[pair[0]], scheme[pair[1]]) < 4.5} == {}  # fmt: skip


def contrast(one, other):
    """The contrast ratio of WCAG 2."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


class Opened(HTMLParser):
    """Fails for elements that are closed in another order than they were opened."""

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "input", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_workers_of_xdist_are_merged(folder):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    pytest.importorskip("jinja2")
    done = run(
        folder, "-p", "xdist", "-n2", "--override-coverage=units:Units,units:Marked", "--override-coverage-json=a.json",
        "--override-coverage-html=a.html", "--override-coverage-context=test", "test_units.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(folder / "a.json") == EXPECTED
    calls = json.loads((folder / "a.json").read_text())["types"]["units:Units"]["calls"]
    tests = {f"test_units.py::test_units[{n}]|run" for n in range(6)}
    assert {context for row in calls for context in row["contexts"]} == tests
    assert done.stdout.count("= override coverage =") == 1
    page = (folder / "a.html").read_text(encoding="utf-8")
    [taken] = re.findall(r"</b> ValueError\(<i>&#34;no division&#34;</i>\)</td>(.*?)</tr>", page, re.S)
    assert "<summary>1 function, 6 tests</summary>" in taken
    assert '<span class="name">tensorlike.div</span> <span class="soft">× 6</span>' in taken


def test_fail_under_missing_and_only(folder):
    limits = "--override-coverage-fail-under=50,Marked=0.02"
    done = run(folder, "--override-coverage=units:Units,Marked", limits, "test_units.py")
    assert done.returncode == 1, done.stdout
    failures = re.findall("^ERROR: (.*)$", done.stdout, re.M)
    assert [re.sub(r"\d\d ", "NN ", failure) for failure in failures] == [
        "Coverage failure: units:Units: total of 0.NN is less than fail-under=50"
    ]
    only = ("--override-coverage-only=add", "--override-coverage-only=tensorlike.cat", "--override-coverage-only=ex*")
    shown = ("--override-coverage-show-missing", "--override-coverage-fail-under=units:Units=23.07")
    done = run(folder, "--override-coverage=units:Units", *shown, *only, "test_units.py")
    assert done.returncode == 0, done.stdout
    head, _, line, *_ = lines = summary(done.stdout)
    assert head.endswith("Implemented   Missing")
    assert line.split()[:7] == ["units:Units", "6", "4", "13", "10", "23.1%", "0.0%"]
    [at] = [at for at, text in enumerate(lines) if text.startswith("TOTAL")]
    assert " ".join(" ".join(lines[2 : at - 1]).split()).endswith(
        "of what it implements: exp of all: add(out), cat(out), exp, exp2, expand_copy, expm1"
    )
    assert lines[at].split() == ["TOTAL", "6", "4", "13", "10", "23.1%", "0.0%"]


RULES = """
import tensorlike as tl
from tensorlike.overrides import TensorLike, implements

class Rules(TensorLike):
    def __init__(self, inner):
        self.inner = inner

    @implements(tl.sub, variants=True)
    def _(input, other, *, alpha=1, out=None):
        return "difference"

    @implements(tl.exp)
    def _(input, *, out=None):
        return "exponential"
"""


def test_a_suite_over_a_few_rules_reaches_100_percent(folder):
    """What a type implements is covered by calls of any form, whatever else there is; the type is named by its file."""
    package = folder / "kinds" / "inner"
    package.mkdir(parents=True)
    for place in (package.parent, package):
        (place / "__init__.py").write_text("")
    (package / "rules.py").write_text(RULES)
    tests = "import tensorlike as tl\nfrom kinds.inner.rules import Rules\ndef test_it():\n"
    (folder / "test_rules.py").write_text(
        tests + "    assert Rules(1) - tl.ones(1) == 'difference'\n    tl.exp(Rules(1))\n"
    )
    asked = ("--override-coverage=kinds/inner/rules.py:Rules", "--override-coverage-json=a.json")
    options = (*asked, "--override-coverage-show-missing", "--override-coverage-fail-under-implemented=100")
    done = run(folder, *options, "test_rules.py")
    assert done.returncode == 1, done.stdout
    assert "kinds/inner/rules.py:Rules: implemented of 66.66 is less than fail-under-implemented=100" in done.stdout
    assert "of what it implements: sub(other)" in done.stdout
    [covered] = json.loads((folder / "a.json").read_text())["types"].values()
    assert covered["implemented"] == {
        "percent": 66.67, "exercised": 2, "operands": 3, "never": [["tensorlike.sub", "other"]]
    }  # fmt: skip
    # What is missing of everything is told in tens of lines, and all of it with -v.
    table = done.stdout.split("override coverage =")[1].partition("TOTAL")[0]
    assert table.count("\n") < 40
    assert "more of Tensor.*" in table
    done = run(folder, *options, "-v", "test_rules.py")
    assert "more of Tensor.*" not in done.stdout
    assert done.stdout.count("\n") > 100
    with (folder / "test_rules.py").open("a") as file:
        file.write("def test_reflected():\n    assert 1 - Rules(1) == 'difference'\n")
    done = run(folder, *options, "test_rules.py")
    assert done.returncode == 0, done.stdout
    assert "of what it implements: nothing" in done.stdout


def test_what_a_type_implements_is_read_from_its_source():
    handled = {tl.add: None, tl.Tensor.add: None}
    few = (tl.exp,)

    class Named:
        SOME = frozenset((tl.log,))

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is tl.sum:
                return NotImplemented
            if func in handled:
                return handled[func](*args)
            if func in few or func in cls.SOME or func in (tl.neg, tl.abs):
                return tl.cos(*args)
            match func:
                case tl.Tensor.numel:
                    return 1
            return tl.sin(*args) if func == tl.Tensor.shape.__get__ else NotImplemented

    class Inherits(Named):
        pass

    class Hands:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args)

    names = [
        "tensorlike." + name for name in ("Tensor.add", "Tensor.numel", "Tensor.shape.__get__", "abs", "add", "exp")
    ]
    names += ["tensorlike.log", "tensorlike.neg"]
    for kind in (Named, Inherits):
        assert sorted(rule.function for rule in Recorder(kind).rules) == names
    assert Recorder(Hands).rules == []
    assert TypeCoverage("Hands", Recorder(Hands)).implemented_percent is None
    assert all(operand != "out" for rule in Recorder(Named).rules for operand in rule.operands)


BAD_INPUT = [
    (["--override-coverage=units"], "takes FILE_OR_MODULE:TYPE[,TYPE], such as mypackage/units.py:Units, not 'units'"),
    (["--override-coverage=unist.py:Units"], "there is no file unist.py"),
    (["--override-coverage=./units:Units"], "./units is no Python file"),
    (["--override-coverage=unist:Units"], "cannot import unist"),
    (["--override-coverage=units:Unit"], "units:Unit"),
    (["--override-coverage=broken:Units"], "cannot import broken: RuntimeError: not today"),
    (["--override-coverage=units:tl"], "tl in units is a module, not a type"),
    (["--override-coverage=units:exp_or_mul"], "exp_or_mul in units is a function, not a type"),
    (["--override-coverage=units:Nothing"], "has no __torch_function__"),
    (["--override-coverage=units:Silent"], "switches __torch_function__ off"),
    (["--override-coverage=tensorlike:Tensor"], "the plain tensor"),
    (["--override-coverage-json=a.json"], "--override-coverage-json needs --override-coverage="),
    (["--override-coverage-fail-under=3"], "--override-coverage-fail-under needs --override-coverage="),
    (["--override-coverage=units:Units", "--override-coverage-fail-under=101"], "from 0 to 100, not '101'"),
    (["--override-coverage=units:Units", "--override-coverage-fail-under=most"], "from 0 to 100, not 'most'"),
    (["--override-coverage=units:Units", "--override-coverage-fail-under=nan"], "from 0 to 100, not 'nan'"),
    (["--override-coverage=units:Units", "--override-coverage-html=no/a.html"], "there is no folder no"),
    (["--override-coverage=units:Units", "--override-coverage-html="], "--override-coverage-html takes a file"),
    (["--override-coverage=units:Units", "--override-coverage-html=units.py/a"], "cannot write to units.py/a"),
    (
        ["--override-coverage=units:Units", "--override-coverage-fail-under=Unit=3"],
        "names no type 'Unit', only units:Un",
    ),
    (["--override-coverage=units:Units", "--override-coverage-fail-under=Units=x"], "from 0 to 100, not 'x'"),
    (["--override-coverage=units:Units", "--override-coverage-context=tests"], "-context is test, not 'tests'"),
    (["--override-coverage-context=test"], "--override-coverage-context needs --override-coverage="),
    (["--override-coverage-show-missing"], "--override-coverage-show-missing needs --override-coverage="),
    (["--override-coverage=units:Units", "--override-coverage-json="], "--override-coverage-json takes a file"),
    (["--override-coverage=units:Units", "--override-coverage-api=jax"], "is tensorlike or torch, not 'jax'"),
    (["--override-coverage-api=torch"], "--override-coverage-api needs --override-coverage="),
    (["--override-coverage=units:Units", "--override-coverage-only=lnalg.*"], "no function is called 'lnalg.*'"),
]


ALL_OF_THEM = """
import contextlib, io, json, sys
import pytest

found = []
for arguments in json.load(sys.stdin):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        status = pytest.main(["-p", "no:cacheprovider", "-p", "tensorlike.testing.pytest_plugin", *arguments])
    found.append((int(status), text.getvalue()))
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """What pytest says of all bad input, in one process since starting one takes a second."""
    place = tmp_path_factory.mktemp("refused")
    write(place)
    asked = [[*arguments, "test_units.py"] for arguments, _ in BAD_INPUT]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALL_OF_THEM], cwd=place, env=environment(place), input=json.dumps(asked),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(zip(map(repr, BAD_INPUT), json.loads(done.stdout)))


@pytest.mark.parametrize("arguments, words", BAD_INPUT)
def test_bad_input_is_one_line(refused, arguments, words):
    status, text = refused[repr((arguments, words))]
    assert status == pytest.ExitCode.USAGE_ERROR, text
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, lines
    assert lines[0].startswith("ERROR: ")
    assert words in lines[0]


def test_without_pytorch_it_is_one_line(folder):
    (folder / "torch.py").write_text("raise ImportError('hidden')")
    done = run(folder, "--override-coverage=units:Units", "--override-coverage-api=torch", "test_units.py")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    text = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert text == [
        "ERROR: --override-coverage-api=torch needs PyTorch, which is not installed: see https://pytorch.org"
    ]


def test_without_jinja_it_is_one_line(folder):
    (folder / "jinja2.py").write_text("raise ImportError('hidden')")
    done = run(folder, "--override-coverage=units:Units", "--override-coverage-html=a.html", "test_units.py")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    text = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert text == [
        "ERROR: --override-coverage-html needs Jinja2, of the extra 'report': "
        "python3 -m pip install 'tensorlike[report]'"
    ]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_one_line(folder):
    (folder / "a.html").touch(mode=0o400)
    done = run(folder, "--override-coverage=units:Units", "--override-coverage-html=a.html", "test_units.py")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --override-coverage-html: cannot write a.html: permission denied" in done.stdout + done.stderr


def test_a_report_that_cannot_be_written_after_all_fails(folder):
    (folder / "test_units.py").write_text("import os\ndef test_it():\n    os.rmdir('reports')\n")
    (folder / "reports").mkdir()
    done = run(folder, "--override-coverage=units:Units", "--override-coverage-html=reports/a.html", "test_units.py")
    assert done.returncode == 1
    assert "ERROR: cannot write reports/a.html: No such file or directory" in done.stdout


@pytest.mark.parametrize("covered", [(), ("--override-coverage=units:Units,Marked",)])
def test_fixtures(folder, covered):
    """While coverage is on, too: what it puts in a type's place is not taken for the type's own."""
    (folder / "test_fixtures.py").write_text(FIXTURES)
    done = run(folder, "-rA", *covered, "test_fixtures.py")
    outcomes = re.findall(r"^(PASSED|FAILED) test_fixtures.py::(\w+)", done.stdout, re.MULTILINE)
    assert len(outcomes) == 7
    failed = {"test_handed_on", "test_refused", "test_inherited"}
    assert {name for outcome, name in outcomes if outcome == "FAILED"} == failed, done.stdout
    assert "Units does not override tensorlike.add" in done.stdout
    assert "input: the function is called again on plain tensors" in done.stdout
    assert "input: NotImplemented: tensorlike.sub(" in done.stdout
    assert "Marked does not override tensorlike.add" in done.stdout


def test_off_it_imports_nothing_and_changes_nothing(folder):
    (folder / "test_units.py").write_text(
        textwrap.dedent("""
        import sys
        def test_modules():
            heavy = ("override_coverage", "coverage_report", "handler_lines", "suite", "comparison", "samples")
            assert [name for name in heavy if f"tensorlike.testing.{name}" in sys.modules] == []
            assert "tensorlike.audit.run" not in sys.modules
            from units import Units
            assert Units.__torch_function__.__func__.__code__.co_filename.endswith("units.py")
        """)
    )
    done = run(folder, "test_units.py")
    assert done.returncode == 0, done.stdout
    assert "override coverage" not in done.stdout


def test_the_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # One name for both: pytest loads the plugin once, also where `-p` asks for it.
    assert project["entry-points"]["pytest11"] == {"_tensorlike_pytest": "_tensorlike_pytest"}


@pytest.mark.parametrize("asked", [(), ("-n1",), ("--help",), ("--markers",), ("--fixtures",)])
def test_a_run_that_does_not_ask_imports_nothing(tmp_path, asked):
    if asked == ("-n1",):
        pytest.importorskip("xdist")
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
            import sys

            def test_nothing_of_ours_is_here(pytestconfig):
                assert pytestconfig.pluginmanager.get_plugin("_tensorlike_pytest") is not None
                assert pytestconfig.getoption("override_coverage") == []
                assert not {"tensorlike", "numpy"} & set(sys.modules)
        """)
    )
    (tmp_path / "conftest.py").write_text(
        textwrap.dedent("""
            import sys

            def pytest_unconfigure():
                print("imported:", sorted({"tensorlike", "numpy"} & set(sys.modules)))
        """)
    )
    xdist = ("-p", "xdist") if asked == ("-n1",) else ()
    done = run(tmp_path, "-p", "_tensorlike_pytest", *xdist, *asked, plugin=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "imported: []" in done.stdout
    if asked in ((), ("-n1",)):
        assert "1 passed" in done.stdout


def test_the_names_of_the_plugin_are_where_they_were():
    from tensorlike.testing import pytest_plugin

    for name in ("pytest_addoption", "pytest_configure", "assert_overridden", "override_trace"):
        assert getattr(pytest_plugin, name) is getattr(_tensorlike_pytest, name)
        assert name not in dir(pytest_plugin), "pytest would load it twice"
    with pytest.raises(AttributeError, match="no attribute 'pytest_adoption'"):
        _ = pytest_plugin.pytest_adoption


def test_the_plugin_is_loaded_once(folder):
    for names in (("_tensorlike_pytest", "tensorlike.testing.pytest_plugin"), ("_tensorlike_pytest",) * 2):
        loaded = [part for name in names for part in ("-p", name)]
        done = run(folder, *loaded, "--override-coverage=units:Units", "test_units.py", plugin=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("= override coverage =") == 1


class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls.__name__


class Inherits(Duck):
    pass


class Sub(tl.Tensor):
    pass


class TestRecorder:
    def test_the_type_is_as_before_afterwards(self):
        before = [kind.__dict__.get("__torch_function__") for kind in (Duck, Inherits, Sub)]
        recorders = [Recorder(kind) for kind in (Duck, Inherits, Sub)]
        for recorder in recorders:
            recorder.install()
        assert tl.add(Inherits(), 1) == "Inherits"
        assert tl.add(1, Duck()) == "Duck"
        assert type(Sub([1.0]) + 1) is Sub
        for recorder in reversed(recorders):
            recorder.uninstall()
        assert [kind.__dict__.get("__torch_function__") for kind in (Duck, Inherits, Sub)] == before
        tl.add(Duck(), 1)
        assert recorders[0].counts() == [
            ("tensorlike.add", "input", "answered", "str", "", 1),
            ("tensorlike.add", "other", "answered", "str", "", 1),
        ]
        assert recorders[1].counts() == [("tensorlike.add", "input", "answered", "str", "", 1)]
        assert recorders[2].counts() == [("tensorlike.Tensor.add", "self", "answered", "Sub", "", 1)]

    def test_functions_of_ones_own_are_counted_apart(self):
        @tl.overrides.wrap_torch_function(lambda x: (x,))
        def mine(x):
            return x

        recorder = Recorder(Duck)
        recorder.install()
        try:
            mine(Duck())
        finally:
            recorder.uninstall()
        covered = TypeCoverage("Duck", recorder)
        assert covered.exercised == 0
        assert [*covered.others.values()] == [1]

    def test_a_method_that_is_no_classmethod(self):
        class Old:
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return self

        recorder = Recorder(Old)
        recorder.install()
        try:
            old = Old()
            with pytest.warns(DeprecationWarning, match="plain method"):
                assert tl.add(1, old) is old
        finally:
            recorder.uninstall()
        assert recorder.counts() == [("tensorlike.add", "other", "answered", "Old", "", 1)]

    def test_what_is_inherited_answers_as_before(self):
        class Below(Sub):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return super().__torch_function__(func, types, args, kwargs)

        class Named(tl.Tensor):
            __tensor_attributes__ = ("label",)

        class Mode(tl.overrides.TorchFunctionMode):
            asked = 0

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.asked += 1
                return func(*args, **(kwargs or {}))

        def answers():
            sub, named = Sub([3.0, 4.0]).requires_grad_(), Named([1.0])
            named.label = "metres"
            found = [sub + 1, sub.norm(), tl.stack([sub, sub]), sub.detach().add_(1), sub.shape]
            found += [tl.add(sub, Below([1.0, 1.0])), tl.add(sub, tl.ones(2), alpha=2), sub.sum().grad_fn, sub.data]
            with Mode() as mode:
                found.append(sub * 2)
            with pytest.raises(TypeError, match="no implementation"):
                sub + named
            shown = [(type(f), f.tolist() if isinstance(f, tl.Tensor) else str(f)[:9]) for f in found]
            return shown, mode.asked, (named + 1).label

        before = answers()
        recorders = [Recorder(Sub), Recorder(Named)]
        for recorder in recorders:
            recorder.install()
        try:
            assert answers() == before
        finally:
            for recorder in recorders:
                recorder.uninstall()
        assert before[1:] == (1, "metres")
        assert ("tensorlike.add", "input", "answered", "Below", "", 1) in recorders[0].counts()

    def test_it_keeps_no_tensor_alive(self):
        import gc
        import weakref

        recorder = Recorder(Sub)
        recorder.install()
        try:
            one = Sub([1.0])
            watched = [weakref.ref(one), weakref.ref(one * 2)]
            del one
            gc.collect()
            assert [ref() for ref in watched] == [None, None]
        finally:
            recorder.uninstall()

    def test_a_call_costs_little(self):
        class Counting(tl.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return super().__torch_function__(func, types, args, kwargs)

        value = Counting([1.0])

        def frames():
            seen = []
            sys.setprofile(lambda frame, event, arg: seen.append(event) if event in ("call", "c_call") else None)
            try:
                value + value
            finally:
                sys.setprofile(None)
            return len(seen)

        value + value  # The code of a function is written on its first call.
        plain = frames()
        recorder = Recorder(Counting)
        recorder.install()
        try:
            value + value
            # Some ten calls are a microsecond or two, where a test takes some hundred of pytest's own.
            assert frames() - plain <= 20
        finally:
            recorder.uninstall()
