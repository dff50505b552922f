"""The audit of types that raise what they like and lie about themselves: findings or one line, never a traceback."""

from __future__ import annotations

import html.parser
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import tensorlike as tl
from tensorlike.__main__ import main
from tensorlike.audit import AuditReport
from tensorlike.audit.html import to_html
from tensorlike.audit.terminal import print_report

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import os, signal, sys, threading, time
import tensorlike as tl


class Own(BaseException):
    pass


class Untold(Exception):
    def __str__(self):
        raise Own("no text")


class Text(str):
    def split(self, *args):
        raise Own("no words")

    startswith = split


class Told(Exception):
    def __str__(self):
        return Text("told")


def answering(answer):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return answer()

    return Duck


def raising(error):
    def answer(*args):
        raise error

    return answer


def threads():
    threading.Thread(target=raising(Own("in a thread"))).start()
    threading.Thread(target=sys.exit).start()


def swallowing():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        pass


own = raising(Own("own"))

RaisesOwn = answering(own)
Exits = answering(raising(SystemExit(7)))
Interrupts = answering(raising(KeyboardInterrupt("pretended")))
Generates = answering(raising(GeneratorExit()))
Stops = answering(raising(StopIteration(3)))
HasNoText = answering(raising(Untold()))
HasOtherText = answering(raising(Told()))
HasOddText = answering(raising(Own("\\ud800 \\x1b[31m \\u2028 [/bold]")))
Closes = answering(lambda: [s.close() for s in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)])
ClosesDescriptors = answering(lambda: [os.close(1), os.close(2)])
Moves = answering(lambda: os.chdir("/"))
Limits = answering(lambda: sys.setrecursionlimit(60))
Profiles = answering(lambda: sys.setprofile(own))
Threads = answering(threads)
Pressed = answering(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60)))
Swallows = answering(swallowing)


def kind(meta=type, bases=(), **names):
    def answer(cls, func, types, args=(), kwargs=None):
        return NotImplemented

    return meta("Kind", bases, {"__torch_function__": classmethod(answer), **names})


def meta(**names):
    return type("Meta", (type,), {name: property(own) if value is property else value for name, value in names.items()})


MetaGetattribute = kind(meta(__getattribute__=own))
MetaGetattr = kind(meta(__getattr__=own))
MetaCall = kind(meta(__call__=own))
MetaRepr = kind(meta(__repr__=own))
MetaName = kind(meta(__name__=property))
MetaMro = kind(meta(__mro__=property, __dict__=property, __bases__=property))
MetaInstancecheck = kind(meta(__instancecheck__=own))
MetaSubclasscheck = kind(meta(__subclasscheck__=own))
MetaEq = kind(meta(__eq__=own, __hash__=own))

Getattribute = kind(__getattribute__=own)
Class = kind(__class__=property(own))
Lies = kind(__class__=property(lambda self: tl.Tensor))
LiesAboutItsType = kind(__class__=property(lambda self: type))
Repr = kind(__repr__=own)
Del = kind(__del__=own)
Init = kind(__init__=own)
New = kind(__new__=own)
NoModule = kind(__module__=3)
Subclass = kind(bases=(tl.Tensor,), __getattribute__=own)


class Descriptor:
    def __get__(self, *args):
        raise Own("own")


class Protocol:
    __torch_function__ = Descriptor()


class FromDense:
    __torch_function__ = classmethod(own)

    @classmethod
    def __tensorlike_from_dense__(cls, tensor):
        raise Own("own")


class ToDense:
    seen = 0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return cls()

    def __tensorlike_to_dense__(self):
        ToDense.seen += 1
        if ToDense.seen > 1:
            raise Own("own")
        return tl.ones(2)


class NotAType:
    __class__ = type


not_a_type = NotAType()


def __getattr__(name):
    if name == "Missing":
        raise Own("no such type")
    raise AttributeError(name)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("attacks")
    (found / "attacks.py").write_text(PROGRAM, encoding="utf-8")
    return found


def audit(folder, target, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    command = [sys.executable, "-W", "error", "-m", "tensorlike", "audit", target, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def audit_here(monkeypatch, capfd):
    """The same in this process, which is as it was afterwards."""

    def run(folder, target, *arguments):
        monkeypatch.chdir(folder)
        for name in {path.stem for path in folder.glob("*.py")}:
            monkeypatch.delitem(sys.modules, name, raising=False)
        state = sys.getrecursionlimit(), signal.getsignal(signal.SIGINT), sys.stdout, sys.stderr, sys.path[:]
        capfd.readouterr()
        status = main(["audit", target, *arguments])
        assert (sys.getrecursionlimit(), signal.getsignal(signal.SIGINT), sys.stdout, sys.stderr, sys.path) == state
        assert os.getcwd() == str(folder)
        return Result(status, *capfd.readouterr())

    return run


#: What does not leave a process as it was.
APART = frozenset(("Closes", "ClosesDescriptors", "Threads", "closes", "replaces", "Del"))


FUNCTIONS = ("--only", "tensorlike.add", "--only", "tensorlike.cat", "--only", "tensorlike.Tensor.reshape")

#: The types whose calls are findings, with what their rows are about.
FINDINGS = {
    "RaisesOwn": "Own: own", "Exits": "SystemExit: 7", "Interrupts": "KeyboardInterrupt: pretended",
    "Generates": "GeneratorExit", "Stops": "StopIteration: 3", "HasNoText": "Untold: <its text raises Own>",
    "HasOtherText": "Told: told", "HasOddText": r"Own: \ud800 \x1b[31m [/bold]", "Closes": None,
    "ClosesDescriptors": None, "Moves": None, "Limits": None, "Profiles": None, "Threads": None, "MetaRepr": None,
    "MetaName": None, "MetaInstancecheck": None, "MetaSubclasscheck": None, "MetaEq": None, "Getattribute": None,
    "Class": None, "Lies": None, "LiesAboutItsType": None, "Repr": None, "Del": None, "NoModule": None, "ToDense": None,
}  # fmt: skip


@pytest.mark.parametrize("name", FINDINGS)
def test_what_single_calls_raise_is_a_finding(folder, name, audit_here):
    report = f"{name}.json"
    files = ("--json", report, "--html", f"{name}.html")
    result = (audit if name in APART else audit_here)(folder, f"attacks.py:{name}", *FUNCTIONS, *files)
    assert (result.returncode, result.stderr) == (0, "")
    rows = json.loads((folder / report).read_text(encoding="utf-8"))["rows"]
    assert rows
    expected = FINDINGS[name]
    if expected is not None:
        kind, _, text = expected.partition(": ")
        assert {row["outcome"] for row in rows} == {"raised"}
        assert {(row["error_type"], row.get("error", "")) for row in rows} == {(kind, text)}
    assert "Audit of" in (folder / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["Closes", "ClosesDescriptors"])
def test_the_report_is_printed_although_the_streams_were_closed(folder, name):
    result = audit(folder, f"attacks.py:{name}", *FUNCTIONS)
    assert (result.returncode, result.stderr) == (0, "")
    assert "calls of 3 functions answered" in result.stdout


REFUSED = {
    "MetaGetattribute": "cannot be asked for its __torch_function__: Own: own",
    "MetaGetattr": "Own: own",
    "MetaCall": "Kind() raises Own: own",
    "MetaMro": "Own: own",
    "Init": "Kind() raises Own: own",
    "New": "Kind() raises Own: own",
    "Subclass": "Own: own",
    "Protocol": "Protocol cannot be asked for its __torch_function__: Own: own",
    "FromDense": "FromDense.__tensorlike_from_dense__ raises Own: own",
    "not_a_type": "attacks.py:not_a_type",
    "Missing": "attacks.py has no Missing",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_audited_is_one_line(folder, name, audit_here):
    result = audit_here(folder, f"attacks.py:{name}", *FUNCTIONS)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("tensorlike audit: ")
    assert result.stderr.count("\n") == 1
    assert REFUSED[name] in result.stderr


MODULES = {
    "own": ("class Own(BaseException): pass\nraise Own('a', 'b')", "Own: ('a', 'b')"),
    "quits": ("raise SystemExit('enough')", "SystemExit: enough"),
    "exits": ("import sys\nsys.exit(0)", "SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "untold": ("class E(Exception):\n def __str__(self): 1/0\nraise E", "E: <its text raises ZeroDivisionError>"),
    "named": (
        "class M(type):\n def __getattribute__(s, n): 1/0\nclass E(Exception, metaclass=M): pass\nraise E('x')",
        "E: x",
    ),
    "lines": ("raise ValueError('one\\ntwo\\x1b[0m')", r"ValueError: one two\x1b[0m"),
    "closes": ("import sys\nsys.stderr.close()\nsys.stdout.close()\nraise ValueError('x')", "ValueError: x"),
    "moves": ("import os\nos.chdir('/')\nraise ValueError('x')", "ValueError: x"),
    "limits": ("import sys\nsys.setrecursionlimit(200)\nraise ValueError('x')", "ValueError: x"),
    "replaces": (
        "import sys\nsys.modules[__name__] = 3\nsys.stdout = sys.stderr = None",
        "replaces:Type cannot be audited",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_raises_is_one_line(tmp_path, name, audit_here):
    text, expected = MODULES[name]
    (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    result = (audit if name in APART else audit_here)(tmp_path, f"{name}:Type")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("tensorlike audit: ")
    assert result.stderr.endswith(f"{expected}\n") or expected in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("name", ["Pressed", "Swallows"])
def test_the_users_interrupt_ends_the_audit(folder, name):
    started = time.monotonic()
    result = audit(folder, f"attacks.py:{name}", *FUNCTIONS)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "tensorlike audit: interrupted\n")
    assert time.monotonic() - started < 60


def test_an_interrupt_in_a_call_of_audit_is_let_through():
    class Interrupting:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tl.overrides.audit(Interrupting, only="tensorlike.add")


# ----------------------------------------------------------------------------------------------------------- injection

ATTACK = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`&lt;\u2028\u2029 {{ 7*7 }} ${7*7} [/bold]]]>-->"
)


class Page(html.parser.HTMLParser):
    """The tags, attributes and scripts of a document."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.scripts, self.texts, self.data = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attributes]

    def handle_data(self, data):
        inside = self.tags and self.tags[-1] == "script" and self.get_starttag_text().startswith("<script")
        is_data = inside and "application/json" in self.get_starttag_text()
        (self.data if is_data else self.scripts if inside else self.texts).append(data)


def report_of(text):
    def answer(cls, func, types, args=(), kwargs=None):
        import warnings

        print(text)
        warnings.warn(text, UserWarning, stacklevel=1)
        if func is tl.add:
            raise type(text, (BaseException,), {})(text)
        return cls()

    kind = type(
        text, (), {"__torch_function__": classmethod(answer), "__repr__": lambda self: text, "__module__": text}
    )
    report = tl.overrides.audit(kind, only=["tensorlike.add", "tensorlike.mul"])
    report.target = text
    return report


def test_reports_hold_no_code_of_the_audited_type():
    pytest.importorskip("jinja2")
    plain, attacked = Page(to_html(report_of("Plain"))), Page(to_html(report_of(ATTACK)))
    # The same tags, the same attributes, the same script: the names differ in texts alone.
    assert attacked.tags == plain.tags
    assert attacked.attributes == plain.attributes
    assert attacked.scripts == plain.scripts
    assert "script" in plain.tags
    text = "".join(attacked.texts)
    assert "<img src=x onerror=alert(2)>" in text
    assert "{{ 7*7 }}" in text
    assert not any(name.startswith("on") for name in attacked.attributes)
    # Rows are data in a script element: no character in them begins or ends a tag, or a line of JavaScript.
    data = "".join(attacked.data).strip()
    assert not set(data) & set("<>&\u2028\u2029")
    assert "<img src=x onerror=alert(2)>" in str(json.loads(data))


def test_json_of_an_attack_is_read_back():
    report = report_of(ATTACK)
    text = report.to_json()
    again = AuditReport.from_json(text)
    assert again.type_name == report.type_name
    assert [row.error for row in again.rows] == [row.error for row in report.rows]
    assert "alert(1)" in report.rows[0].error
    # In one line in every reader: what JSON allows and JavaScript did not is not in it.
    assert "</" not in text
    assert "\u2028" not in text
    assert "\u2029" not in text


def test_the_terminal_gets_no_control_characters(capsys):
    report = report_of("\x1b]0;title\x07\x1b[2J\r\x08\x9b31m")
    print_report(report)
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\x07\r\x08\x9b")
