"""Functions that are called for the first time while the interpreter ends: from `atexit` and from `__del__`.

Import statements fail in `__del__` then, so that no call may need one of what is loaded with the package.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlike

PACKAGE = Path(tensorlike.__file__).parent

START = """
import atexit
import tensorlike as tl
from tensorlike import nn, optim
from tensorlike.nn import functional as F

class Sub(tl.Tensor):
    pass

class Logged(tl.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

def under_a_mode():
    with Logged():
        return x * x

class Double(tl.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def written():
    w = x.clone().requires_grad_()
    y = w * 1
    y[0].mul_(2)
    y.sum().backward()
    return w.grad

x = tl.tensor([1.0, 2.0])
m = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
layer = nn.Linear(2, 2)
"""

CALLS = {
    "softmax": "x.softmax(0)",
    "a sum of rows": "m.sum(0).tolist() == [4, 6]",
    "a product": "(m @ m).tolist() == [[7, 10], [15, 22]]",
    "an operator": "(x + 1).tolist() == [2, 3]",
    "a function": "tl.mul(x, 2).tolist() == [2, 4]",
    "backward": "(x.clone().requires_grad_() ** 2).sum().backward()",
    "backward through a view": "written().tolist() == [2, 1]",
    "a Function": "Double.apply(x.clone().requires_grad_()).sum().backward()",
    "a layer": "F.relu(layer(x)).sum().backward()",
    "a step": "optim.SGD(layer.parameters(), lr=0.1).step()",
    "a subclass": "type(x.as_subclass(Sub) + 1) is Sub",
    "a mode": "under_a_mode().tolist() == [1, 4]",
    "indices": "(x[0].item(), x[tl.tensor([1])].item(), m[:, 1].tolist()) == (1, 2, [2, 4])",
    "factories": "(tl.zeros(2), tl.full((2,), 3.0), tl.linspace(0, 1, 3), tl.tensor([1]), tl.arange(3))",
    "joined": "tl.cat([x, x]).tolist() == tl.stack([x, x]).flatten().tolist()",
    "einsum": "tl.einsum('ij,j->i', m, x).tolist() == [5, 11]",
    "in place": "x.clone().add_(1).tolist() == [2, 3]",
    "a text": "str(x)",
    "a Parameter": "nn.Parameter(x.clone()).requires_grad",
    "NumPy": "(x.numpy(), tl.from_numpy(x.numpy()))",
    "without grad": "tl.no_grad()(lambda: layer(x))()",
    "a convolution": "F.conv1d(x[None, None], tl.ones(1, 1, 1)).tolist() == [[[1, 2]]]",
}

WAYS = {
    "atexit": "atexit.register(compute)",
    "__del__": """
class Late:
    def __del__(self):
        compute()
late = Late()
""",
}


@pytest.mark.parametrize(
    "way, pure",
    [
        ("__del__", ""),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in [("__del__", "1"), ("atexit", ""), ("atexit", "1")]),
    ],
)
def test_first_calls(way, pure):
    """Each in a process that has called nothing: forks of one that has only imported."""
    if not hasattr(os, "fork"):
        pytest.skip("each call is in a child, and there is no fork here")
    program = START + f"""
import os, sys
CALLS = {CALLS!r}
for name, text in CALLS.items():
    if os.fork() == 0:
        break
    os.wait()
else:
    sys.exit()
def compute():
    found = eval(text, globals_kept)
    assert found is not False, found
    print(name, flush=True)
globals_kept = dict(globals())
""" + WAYS[way]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
        env={**os.environ, "TENSORLIKE_PURE": pure, "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines() == list(CALLS)


#: Import statements in functions, of what is loaded with the package, that no call runs.
NOT_IN_CALLS = {"tensorlike._native"}


def _late_imports(module: str, path: Path, loaded: set[str]) -> list[str]:
    """Return the import statements inside of the functions of a module whose module is loaded."""
    found = []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
                name = ".".join(part for part in (base, node.module) if part)
                inner = [f"{name}.{alias.name}" for alias in node.names]
                files = [PACKAGE.parent / f"{each.replace('.', '/')}.py" for each in inner]
                names = inner if any(file.exists() for file in files) else [name]
            else:
                continue
            found += [f"{module}:{node.lineno} {name}" for name in names if name in loaded]
    return found


def test_no_call_imports_what_is_loaded_with_the_package():
    program = (
        "import json, sys, tensorlike\n"
        "print(json.dumps({name: getattr(m, '__file__', None) for name, m in sys.modules.items()}))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    files = json.loads(printed)
    found = []
    for name, file in files.items():
        if name.startswith(("tensorlike.tensor", "tensorlike.autograd", "tensorlike.dispatch")) and file:
            found += _late_imports(name, Path(file), set(files))
    assert [line for line in found if line.partition(":")[0] not in NOT_IN_CALLS] == []


def test_the_search_finds_them(tmp_path):
    file = tmp_path / "module.py"
    lines = ("import a", "def f():", " import os", " from .size import x", " from . import dtypes", " import zzz")
    file.write_text("\n".join(lines))
    loaded = {"os", "tensorlike.tensor.size", "tensorlike.tensor.dtypes"}
    assert [line.split()[1] for line in _late_imports("tensorlike.tensor.module", file, loaded)] == [
        "os", "tensorlike.tensor.size", "tensorlike.tensor.dtypes",
    ]  # fmt: skip
