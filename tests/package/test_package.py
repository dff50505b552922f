"""The package as a whole: what importing it loads, what it ships, and that README.md tells the truth."""

import contextlib
import importlib
import importlib.metadata
import inspect
import io
import pickle
import pkgutil
import pydoc
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import tensorlike as tl

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def modules_after(statement: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_import_loads_numpy_and_nothing_slower() -> None:
    loaded = modules_after("import tensorlike") - modules_after("import numpy")
    # Anything installed, whether or not it was thought of here, would show as a module outside the standard library.
    foreign = {name for name in loaded if name not in sys.stdlib_module_names}
    assert foreign <= {"tensorlike", "typing_extensions"}
    slow = {"argparse", "asyncio", "email", "http", "multiprocessing", "unittest", "xml"}
    assert loaded & slow == set()


def test_samples_do_not_need_an_extra() -> None:
    # The audit, which users run from a plain installation, calls functions with them.
    modules_after(
        "import sys; sys.modules['ml_dtypes'] = sys.modules['rich'] = sys.modules['jinja2'] = None\n"
        "from tensorlike.testing.samples import SAMPLES\n"
        "for samples in SAMPLES.values():\n"
        "    for dtype in samples.dtypes:\n"
        "        dtype == 'bfloat16' or samples.generate(dtype)"
    )


def test_every_name_in_all_is_there() -> None:
    assert len(tl.__all__) == len(set(tl.__all__))
    assert [name for name in tl.__all__ if not hasattr(tl, name)] == []


def test_version() -> None:
    assert tl.__version__ == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{tl.__version__}]" in changelog
    try:
        installed = importlib.metadata.version("tensorlike")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("tensorlike is imported from a checkout and not installed: there is no metadata to compare")
    assert installed == tl.__version__


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this tree."""
    pytest.importorskip("hatchling", reason="building the distributions needs hatchling, of the extra 'test'")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_wheel_holds_the_package_with_its_types_and_nothing_else(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    # 1.69 MB, compressed: 0.98 are Python code, 0.29 its docstrings, 0.06 its comments, 0.15 headers of C++, 0.03
    # stubs, 0.04 the list of files with their checksums, 0.13 the archive's own entries of 860 files. zlib's highest
    # level would save 0.3 percent.
    assert wheel.stat().st_size < 1_700_000
    names = set(zipfile.ZipFile(wheel).namelist())
    metadata = f"tensorlike-{PROJECT['version']}.dist-info/"
    assert [name for name in names if not name.startswith(("tensorlike/", metadata))] == []
    assert {"tensorlike/py.typed", "tensorlike/__init__.pyi", metadata + "licenses/LICENSE"} <= names
    package = ROOT / "tensorlike"
    sources = {path.relative_to(ROOT).as_posix() for path in package.rglob("*.py*") if path.suffix in (".py", ".pyi")}
    assert sources <= names


def test_sdist_holds_what_building_and_testing_need(distributions: Path) -> None:
    [sdist] = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "tensorlike/__init__.py"}
    expected |= {"tests/conftest.py", "examples/digits.py"}
    assert expected <= names
    assert [name for name in names if re.search(r"(^|/)(\.venv|\.git|__pycache__|\.\w+_cache)(/|$)", name)] == []


def text_files() -> list[Path]:
    folders = [ROOT / name for name in (".ci", "benchmarks", "docs", "examples", "tensorlike", "tests", "tools")]
    found = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    suffixes = {".py", ".pyi", ".md", ".toml", ".txt", ".json", ".sh", ".cfg", ""}
    return [path for path in [*ROOT.iterdir(), *found] if path.is_file() and path.suffix in suffixes]


def test_no_file_depends_on_one_machine() -> None:
    # Put together here, so that this file passes its own test.
    folders = "|".join(["work", "root", "tmp", "farm", r"home/\w+", r"Users/\w+"])
    hosts = "|".join(["py" + r"pi\.org", "python" + "hosted", "registry" + r"\.npm"])
    forbidden = re.compile(rf"(?<![\w.])/(?:{folders})/|{hosts}")
    files = text_files()
    assert {ROOT / "README.md", ROOT / ".ci" / "run", Path(__file__).resolve()} <= set(files)
    assert forbidden.search("see /" + "tmp/x")
    assert not forbidden.search("docs/" + "work/x")
    hits = []
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if forbidden.search(line):
                hits.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert hits == []


def readme_command(marker: str) -> str:
    """The one line of the code block after `<!-- marker -->`."""
    [block] = re.findall(rf"^<!-- {marker} -->\n```sh\n(.*?)\n```$", README, re.MULTILINE | re.DOTALL)
    assert "\n" not in block, f"the command after {marker!r} must be one line that can be pasted"
    return block


def test_readme_commands_set_up_a_fresh_machine() -> None:
    for marker in ("run", "test"):
        command = readme_command(marker)
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
        extras = re.findall(r"\.\[([\w,]+)\]", command)
        assert extras, command
        assert {name for group in extras for name in group.split(",")} <= set(PROJECT["optional-dependencies"])
    assert "examples/digits.py" in readme_command("run")
    assert " -m pytest " in readme_command("test")


def test_readme_links_lead_somewhere() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert len(links) > 3
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_readme_quick_start_prints_what_it_says() -> None:
    [code] = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    expected = re.findall(r"^print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(expected) == code.count("\nprint(")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert printed.getvalue().splitlines() == expected


def test_the_modules_of_the_tensor_package_are_found_though_its_name_is_a_function() -> None:
    # In a fresh interpreter: `printing` is imported after the package.
    code = (
        "import tensorlike.tensor.printing as printing, tensorlike.tensor.ops as ops, tensorlike.tensor as function\n"
        "import pydoc, sys, tensorlike as tl\n"
        "assert printing is sys.modules['tensorlike.tensor.printing'] is tl.tensor.printing\n"
        "assert ops is sys.modules['tensorlike.tensor.ops']\n"
        "assert pydoc.locate('tensorlike.tensor.runtime') is sys.modules['tensorlike.tensor.runtime']\n"
        "assert function is tl.tensor and tl.tensor.Tensor is tl.Tensor\n"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    package = sys.modules["tensorlike.tensor"]
    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    assert "runtime" in names
    for name in names:
        module = importlib.import_module(f"tensorlike.tensor.{name}")
        assert getattr(tl.tensor, name) is module


def test_the_function_named_as_a_package_is_a_function_like_others() -> None:
    assert inspect.isroutine(tl.tensor)
    assert (tl.tensor.__name__, tl.tensor.__module__) == ("tensor", "tensorlike")
    assert list(inspect.signature(tl.tensor).parameters) == ["data", "dtype", "device", "requires_grad", "pin_memory"]
    assert tl.tensor.__doc__ is not None
    assert "Return a new tensor with a copy of `data`" in pydoc.render_doc(tl.tensor)
    assert pickle.loads(pickle.dumps(tl.tensor)) is tl.tensor
    seen = []

    class Mode(tl.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Mode():
        assert tl.tensor([1, 2]).tolist() == [1, 2]
    assert seen[0] is tl.tensor
    assert {tl.tensor: 1}[seen[0]] == 1
