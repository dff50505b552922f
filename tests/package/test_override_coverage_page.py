"""The how-to of override coverage: its command prints what stands below it, it names every option."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import _tensorlike_pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "override-coverage.md"
TEXT = PAGE.read_text(encoding="utf-8")


def listings(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_summary_is_what_the_command_prints(tmp_path):
    kind, tests = listings("python")[0], listings("py")[0]
    (tmp_path / "units.py").write_text(kind)
    (tmp_path / "test_units.py").write_text(tests)
    name, *arguments = shlex.split(listings("sh")[0])
    assert name == "pytest"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(tmp_path))), "COLUMNS": "120"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-p", "_tensorlike_pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split("override coverage =")[1].partition("\n")[2]
    shown = listings("console")[0]
    assert shown.count("\n") == 6
    assert printed.startswith(shown), printed


def test_every_option_is_named():
    class Group:
        names = set()

        def addoption(self, name, **_):
            self.names.add(name)

    class Parser:
        def getgroup(self, *_):
            return Group()

        def addini(self, *_, **__):
            pass

    _tensorlike_pytest.pytest_addoption(Parser())
    named = set(re.findall(r"--override-coverage[a-z-]*", TEXT))
    assert named == Group.names
