"""The layers hold: what import-linter checks in CI, and what it does not look at."""

import ast
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase

import pytest

from tensorlike._above import ABOVE, above
from tools import import_graph
from tools.import_graph import PACKAGE, ROOT

#: Files whose modules are named by data: the table itself, and where things of PyTorch's stand here.
BY_DATA = {"_above.py", "as_torch/naming.py", "serialization/trusted.py"}


@pytest.fixture(scope="module")
def graph():
    return import_graph.imports()


def test_every_room_stands_in_one_layer(graph):
    listed = [name for names in import_graph.layers() for name in names]
    assert sorted(listed) == sorted({import_graph.room(name) for name in graph} - {""})


def test_no_import_points_up(graph):
    height = {name: -index for index, names in enumerate(import_graph.layers()) for name in names}
    up = [
        f"{source} -> {target}"
        for source, targets in graph.items()
        for target in targets
        if import_graph.room(source) and import_graph.room(target)
        if import_graph.room(source) != import_graph.room(target)
        if height[import_graph.room(source)] <= height[import_graph.room(target)]
    ]
    assert not up, "move the code, or ask for the module in tensorlike/_above.py with a reason:\n" + "\n".join(up)


def test_what_the_layers_ignore_is_never_run(graph):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    ignored = {line for each in settings["contracts"] if each["type"] == "layers" for line in each["ignore_imports"]}
    run = []
    for line in ignored:
        pattern, _, target = line.replace(".as_torch.namespaces.", ".").replace("**", "*").partition(" -> ")
        run += [line for name in graph if fnmatchcase(name, pattern) and target in graph[name]]
    assert not run


def test_no_circle_has_more_than_three_files(graph):
    assert [circle for circle in import_graph.circles(graph) if len(circle) > 3] == []


def test_imports_inside_functions_become_fewer():
    # What is left is for the time of import, or for extras: lower the number with each that goes.
    assert len(import_graph.inside_functions()) <= 29


def test_imports_inside_functions_have_reasons():
    lines = [line for path in PACKAGE.rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    silenced = [line for line in lines if re.search(r"noqa:.*PLC0415", line)]
    assert silenced
    assert [line for line in silenced if not re.search(r"PLC0415 - \w", line)] == []


def test_the_package_does_not_grow_by_itself():
    # Lower the number when lines go. A feature may raise it, in the commit that brings it.
    assert 100_000 < import_graph.lines() <= 152_850


def test_circles_are_found():
    assert import_graph.circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}) == [
        ["a", "b", "c"],
        ["d", "e"],
    ]


def test_imports_are_found(graph):
    assert "tensorlike.tensor.shared" in graph["tensorlike.tensor.storage"]  # inside a function
    assert "tensorlike.operations.shape.expanding" in graph["tensorlike.operations.shape.joining"]
    # Under TYPE_CHECKING alone.
    assert "tensorlike.tensor.creation.legacy" not in graph["tensorlike.tensor.tensor"]


def test_the_table_of_imports_that_point_up_is_used():
    used = set()
    for path in PACKAGE.rglob("*.py"):
        used.update(re.findall(r"\babove\(\"([\w.]+)\"\)", path.read_text(encoding="utf-8")))
    assert used == set(ABOVE)
    for name in ABOVE:
        assert above(name).__name__ == f"tensorlike.{name}"
    with pytest.raises(KeyError, match="not in the table"):
        above("nn.functional")


def test_nothing_else_imports_by_a_string():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
                text = ast.unparse(node.args[0]).lstrip("f").strip("'\"")
                if text.startswith("tensorlike.") and name not in BY_DATA:
                    found.append(f"{name}:{node.lineno}: {text}")
    assert not found


def test_the_picture_is_of_today():
    command = [sys.executable, "tools/import_graph.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_pytorchs_modules_are_found_by_one_name_alone():
    program = "import tensorlike as tl, tensorlike.cuda; assert tl.cuda is tensorlike.cuda; print(tl.cuda.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "tensorlike.cuda\n", done.stderr
    program = "import tensorlike.as_torch.namespaces.cuda"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "are imported by their public names" in done.stderr
