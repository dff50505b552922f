"""Programs run with tensorlike as their torch: `tensorlike run`, child processes, pytest."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.as_torch.processes import ROOT, environment, python


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "beside.py").write_text("import torch\nvalue = torch.ones(2).sum().item()\n")
    return tmp_path


def run(folder, text, *arguments, status=0, before=(), cwd=None):
    script = folder / "script.py"
    script.write_text(text)
    return python("-m", "tensorlike", "run", *before, script, *arguments, status=status, cwd=cwd)


class TestScripts:
    def test_it_sees_what_a_script_sees(self, folder):
        text = (
            "import sys, os, beside, torch\n"
            "assert __name__ == '__main__' and __spec__ is None and __file__ == sys.argv[0]\n"
            "assert sys.modules['__main__'].__dict__ is globals()\n"
            "assert sys.path[0] == os.path.dirname(__file__) and os.getcwd() not in sys.path[:1]\n"
            "print(sys.argv[1:], beside.value, torch.__version__)\n"
        )
        assert run(folder, text, "a", "-m", "--gaps", "-h") == "['a', '-m', '--gaps', '-h'] 2.0 2.13.0+tensorlike\n"

    def test_a_module(self, folder):
        (folder / "package").mkdir()
        (folder / "package" / "__init__.py").write_text("")
        (folder / "package" / "part.py").write_text(
            "import sys, torch\nfrom . import __name__ as n\n"
            "print(__name__, n, __spec__.name, sys.argv[1:], torch.nn.ReLU())\n"
        )
        printed = python("-m", "tensorlike", "run", "-m", "package.part", "-m", "x", cwd=folder)
        assert printed == "__main__ package package.part ['-m', 'x'] ReLU()\n"

    def test_a_folder(self, folder):
        (folder / "__main__.py").write_text("import torch, beside\nprint(__name__, beside.value)\n")
        assert python("-m", "tensorlike", "run", folder) == "__main__ 2.0\n"

    def test_classes_of_the_script_are_pickled(self, folder):
        text = (
            "import pickle, torch, atexit\nclass A(torch.nn.Module): pass\n"
            "assert isinstance(pickle.loads(pickle.dumps(A())), A)\n"
            "def last(): assert isinstance(pickle.loads(pickle.dumps(A())), A); print('last')\natexit.register(last)\n"
        )
        assert run(folder, text) == "last\n"

    @pytest.mark.parametrize(
        "text, status",
        [("raise SystemExit(7)", 7), ("import sys; sys.exit('words')", 1), ("1 / 0", 1), ("import os; os._exit(9)", 9)],
    )
    def test_exit_statuses_are_kept(self, folder, text, status):
        run(folder, text, status=status)

    def test_an_interrupt_ends_as_pythons_does(self, folder):
        text = "raise KeyboardInterrupt"
        printed = run(folder, text, status=-2)
        assert printed.endswith("KeyboardInterrupt\n")
        assert printed.count("Traceback") == 1

    def test_a_traceback_shows_the_lines_of_the_script_first(self, folder):
        printed = run(folder, "import torch\n\ndef f():\n    torch.ones(2, dtype=3)\n\nf()\n", status=1)
        lines = printed.splitlines()
        assert lines[:2] == ["Traceback (most recent call last):", f'  File "{folder}/script.py", line 6, in <module>']
        assert lines[-1].startswith("TypeError: ones(): argument 'dtype' must be torch.dtype")
        assert printed.count("Traceback") == 1
        printed = run(folder, "x = (", status=1)
        assert "SyntaxError" in printed
        assert "runner.py" not in printed

    def test_the_hook_for_errors_is_the_scripts(self, folder):
        text = "import sys\nsys.excepthook = lambda kind, value, tb: print('mine', kind.__name__)\n1 / 0\n"
        assert run(folder, text, status=1) == "mine ZeroDivisionError\n"

    def test_a_script_from_a_pipe(self, folder):
        for name in ("-", "/dev/stdin"):
            command = [sys.executable, "-m", "tensorlike", "run", name, "a"]
            text = "import sys, torch; print(__name__, sys.argv, torch.ones(1))"
            done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment(), timeout=120)
            assert done.stdout == f"__main__ [{name!r}, 'a'] tensor([1.])\n", done.stderr

    def test_what_cannot_be_run(self, folder):
        printed = python("-m", "tensorlike", "run", folder, status=1)
        assert printed == f"ImportError: can't find '__main__' module in {str(folder)!r}\n"
        assert "name the script to run" in python("-m", "tensorlike", "run", status=2)
        assert "there is no such file" in python("-m", "tensorlike", "run", folder / "none.py", status=2)
        assert "invalid choice: 'x'" in python("-m", "tensorlike", "run", "--missing", "x", "a.py", status=2)
        assert "usage: python -m tensorlike run" in python("-m", "tensorlike", "run", "--help")
        assert "No module named no_such" in python("-m", "tensorlike", "run", "-m", "no_such", status=1)


class TestChildren:
    def test_processes(self, folder):
        text = (
            "import subprocess, sys, os\n"
            "import torch\n"
            "show = 'import sys, torch; print(torch.__version__, \"tensorlike\" in sys.modules)'\n"
            "print(subprocess.run([sys.executable, '-c', show], capture_output=True, text=True, check=True).stdout)\n"
            # And their children; one that asks for nothing of it pays for nothing.
            "nested = f'import subprocess, sys; subprocess.run([sys.executable, \"-c\", {show!r}], check=True)'\n"
            "print(subprocess.run([sys.executable, '-c', nested], capture_output=True, text=True, check=True).stdout)\n"
            'idle = \'import sys; print("tensorlike" in sys.modules, "numpy" in sys.modules, sys.path)\'\n'
            "print(subprocess.run([sys.executable, '-c', idle], capture_output=True, text=True, check=True).stdout)\n"
            "ask = 'import importlib.metadata as m; print(m.version(\"torch\"))'\n"
            "print(subprocess.run([sys.executable, '-c', ask], capture_output=True, text=True, check=True).stdout)\n"
        )
        lines = run(folder, text).split("\n\n")
        assert lines[:2] == ["2.13.0+tensorlike True"] * 2
        assert lines[2].startswith("False False")
        assert "child_start" not in lines[2]
        assert lines[3] == "2.13.0+tensorlike"

    @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
    def test_multiprocessing(self, folder, method):
        text = (
            "import multiprocessing, torch, warnings\n"
            "class Task:\n    def __init__(self, x): self.x = x\n"
            "def work(task):\n    import torch, torch.nn\n"
            "    return torch.__version__, torch.nn.ReLU()(task.x).sum(), Task(torch.ones(2))\n"
            "if __name__ == '__main__':\n"
            f"    with multiprocessing.get_context('{method}').Pool(1) as pool:\n"
            "        version, found, task = pool.map(work, [Task(torch.ones(3))])[0]\n"
            "        pool.close(); pool.join()\n"
            "    print(version, found, type(task).__name__, task.x)\n"
        )
        assert run(folder, text) == "2.13.0+tensorlike tensor(3.) Task tensor([1., 1.])\n"

    def test_the_sitecustomize_that_is_hidden_runs(self, folder):
        (folder / "sitecustomize.py").write_text("print('customized')\n")
        text = (
            "import os, subprocess, sys, torch\n"
            f"os.environ['PYTHONPATH'] += os.pathsep + {str(folder)!r}\n"
            "print(subprocess.run([sys.executable, '-c', 'import torch, sitecustomize; print(torch.__version__, "
            "sitecustomize.__file__)'], capture_output=True, text=True, check=True).stdout)\n"
        )
        assert run(folder, text) == f"customized\n2.13.0+tensorlike {folder}/sitecustomize.py\n\n"

    def test_the_environment_is_put_back(self, folder):
        text = (
            "import os, tensorlike as tl\nbefore = dict(os.environ)\n"
            "with tl.install_as_torch(missing='placeholder'):\n"
            "    assert os.environ['TENSORLIKE_AS_TORCH'] == 'placeholder'\n"
            "    with tl.install_as_torch(children=False):\n        assert dict(os.environ) == before\n"
            "    assert os.environ['TENSORLIKE_AS_TORCH'] == 'placeholder'\n"
            "assert dict(os.environ) == before\nprint('same')\n"
        )
        script = folder / "script.py"
        script.write_text(text)
        assert python(script) == "same\n"


class TestPytest:
    TEST = (
        "import torch\n\ndef test_it():\n    import tensorlike, subprocess, sys\n"
        "    assert torch.add is tensorlike.add\n"
        "    subprocess.run([sys.executable, '-c', 'import torch; assert torch.__version__ > (2,)'], check=True)\n"
    )

    def pytest(self, folder, *arguments, status=0, ini=""):
        (folder / "test_it.py").write_text(self.TEST)
        (folder / "pytest.ini").write_text("[pytest]\n" + ini)
        return python("-m", "pytest", "-p", "no:cacheprovider", *arguments, cwd=folder, status=status)

    def test_the_plugin(self, folder):
        printed = self.pytest(folder, "-p", "tensorlike.as_torch")
        assert "1 passed" in printed
        assert "torch: tensorlike" in printed

    def test_run_by_the_command(self, folder):
        (folder / "test_it.py").write_text(self.TEST)
        printed = python("-m", "tensorlike", "run", "-m", "pytest", "-p", "no:cacheprovider", cwd=folder)
        assert "1 passed" in printed
        assert "warning" not in printed

    def test_modules_that_are_loaded_during_the_run_are_adapted(self, folder):
        # pytest's own finder loads modules too, of packages with a plugin.
        (folder / "test_it.py").write_text(
            "import pickle, sys, torch\n"
            "def test_it():\n"
            "    assert 'tensorlike.tensor.creation.legacy_types' not in sys.modules\n"
            "    assert pickle.loads(pickle.dumps(torch.ones(2))).sum() == 2\n"
            "    assert torch.FloatStorage.__module__ == 'torch'\n"
        )
        printed = python("-m", "tensorlike", "run", "-m", "pytest", "-p", "no:cacheprovider", cwd=folder)
        assert "1 passed" in printed

    def test_the_option(self, folder):
        plugin = ("-p", "tensorlike.testing.pytest_plugin") if not _is_installed() else ()
        assert "1 passed" in self.pytest(folder, *plugin, ini="tensorlike_as_torch = true\n")
        printed = self.pytest(folder, *plugin, ini="tensorlike_as_torch = placeholder\n")
        assert "missing='placeholder'" in printed
        printed = self.pytest(folder, *plugin, ini="tensorlike_as_torch = perhaps\n", status=4)
        assert "tensorlike_as_torch is true, placeholder or false, not 'perhaps'" in printed

    def test_placeholders_are_listed_at_the_end(self, folder):
        (folder / "test_other.py").write_text("from torch.fx import Tracer\n\ndef test_it():\n    assert Tracer\n")
        printed = (
            self.pytest(folder, "-p", "tensorlike.as_torch", "test_other.py", ini="tensorlike_as_torch = placeholder\n")
            if _is_installed()
            else None
        )
        if printed is not None:
            assert "names of PyTorch that tensorlike lacks" in printed


def _is_installed():
    import importlib.metadata

    return any(e.value == "_tensorlike_pytest" for e in importlib.metadata.entry_points(group="pytest11"))


def test_no_file_is_left_over():
    assert sys.executable
    assert (ROOT / "tensorlike" / "as_torch" / "child_start" / "sitecustomize.py").is_file()
