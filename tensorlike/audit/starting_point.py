"""`tensorlike new TYPE FILE`: a class with its policies, a test file beside it, and the line for CI."""

from __future__ import annotations

import argparse
import keyword
import os
import shlex
import sys
from typing import NamedTuple

from .errors import AuditError

KINDS = ("rewrap", "to_dense", "refuse", "subclass")

_REWRAP = '''\
"""A tensor-like type.

In CI: {ci}
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike.overrides import TensorLike, implements, rewrap


class {name}(TensorLike, unhandled=rewrap):
    """A tensor with a label, which results keep.

    The policy `rewrap` answers each function that has no implementation below: it
    unwraps the operands, calls the function and wraps what it returns.
    """

    def __init__(self, tensor: tl.Tensor, label: str = "") -> None:
        self.tensor = tensor
        self.label = label

    def __repr__(self) -> str:
        return f"{name}({{self.tensor}}, {{self.label!r}})"

    def unwrap(self) -> tl.Tensor:
        return self.tensor

    @classmethod
    def wrap(cls, tensor: tl.Tensor, like: {name}) -> {name}:
        return cls(tensor, like.label)

    # An implementation of your own: of the function, the method and the operator.
    @implements(tl.neg, variants=True)
    def _neg(input: Any, *, out: Any = None) -> Any:
        if out is not None:
            return rewrap({name}, tl.neg, (), (input,), {{"out": out}})
        return {name}(-input.tensor, input.label)

    # How the audit makes instances and reads them.
    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> {name}:
        return cls(tensor, "label")

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.tensor
'''

_TO_DENSE = '''\
"""A tensor-like type.

In CI: {ci}
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike.overrides import TensorLike, implements, to_dense


class {name}(TensorLike, unhandled=to_dense):
    """A tensor in a form of its own: here a tensor and whether it is negated.

    The policy `to_dense` answers each function that has no implementation below: it
    calls the function with plain tensors, and so are its results.
    """

    def __init__(self, tensor: tl.Tensor, negated: bool = False) -> None:
        self.tensor = tensor
        self.negated = negated

    def __repr__(self) -> str:
        return f"{name}({{self.tensor}}, {{self.negated}})"

    def to_dense(self) -> tl.Tensor:
        return -self.tensor if self.negated else self.tensor

    # An implementation of your own: of the function, the method and the operator.
    @implements(tl.neg, variants=True)
    def _neg(input: Any, *, out: Any = None) -> Any:
        if out is not None:
            return to_dense({name}, tl.neg, (), (input,), {{"out": out}})
        return {name}(input.tensor, not input.negated)

    # How the audit makes instances and reads them.
    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> {name}:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.to_dense()
'''

_REFUSE = '''\
"""A tensor-like type.

In CI: {ci}
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl
from tensorlike.overrides import TensorLike, implements, refuse


class {name}(TensorLike, unhandled=refuse):
    """A tensor that answers the functions it implements and no others.

    The policy `refuse` makes every other call a TypeError that names the function.
    """

    def __init__(self, tensor: tl.Tensor) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"{name}({{self.tensor}})"

    # An implementation of your own: of the function, the method and the operator.
    @implements(tl.neg, variants=True)
    def _neg(input: Any, *, out: Any = None) -> Any:
        if out is not None:
            return NotImplemented
        return {name}(-input.tensor)

    # How the audit makes instances and reads them.
    @classmethod
    def __tensorlike_from_dense__(cls, tensor: tl.Tensor) -> {name}:
        return cls(tensor)

    def __tensorlike_to_dense__(self) -> tl.Tensor:
        return self.tensor
'''

_SUBCLASS = '''\
"""A subclass of Tensor.

In CI: {ci}
"""

from __future__ import annotations

from typing import Any

import tensorlike as tl


class {name}(tl.Tensor):
    """A tensor with a label, which results keep.

    Has every function of Tensor, and needs no __torch_function__: results carry the
    attributes that are declared here.
    """

    __tensor_attributes__ = ("label",)

    label: str

    def __new__(cls, data: Any, label: str = "") -> {name}:
        self = super().__new__(cls, data)
        self.label = label
        return self

    # Decides where operands carry different labels; here, as by default, the first.
    @classmethod
    def __tensor_merge__(cls, name: str, values: list[Any]) -> Any:
        return values[0]
'''

_TORCH_SUBCLASS = '''\
"""A subclass of Tensor.

In CI: {ci}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class {name}(torch.Tensor):
    """Has every function; what the type adds goes around the call of super()."""

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {{}})
'''

_TEST = '''\
"""Tests of {name}."""

from __future__ import annotations

import tensorlike as tl
from tensorlike.testing import TensorLikeSuite

from {module} import {name}


class Test{name}(TensorLikeSuite):
    """The conformance suite: each function, with the type as each of its operands."""

    functions = {functions}
{options}
    def make_operand(self, tensor: tl.Tensor) -> {name}:
        return {name}.__tensorlike_from_dense__(tensor)

    def to_dense(self, operand: {name}) -> tl.Tensor:
        return operand.__tensorlike_to_dense__()
'''

_SUBCLASS_TEST = '''\
"""Tests of {name}."""

from __future__ import annotations

from tensorlike.testing import TensorSubclassSuite

from {module} import {name}


class Test{name}(TensorSubclassSuite):
    """The conformance suite: each function, with the type as each of its operands."""

    tensor_type = {name}
    functions = {functions}
'''

_TORCH_TEST = '''\
"""Tests of {name}."""

from __future__ import annotations

import pytest
from tensorlike.overrides import audit

from {module} import {name}


@pytest.mark.parametrize("function", {functions})
def test_function(function: str) -> None:
    report = audit({name}, only=f"torch.{{function}}", api="torch")
    assert not report.worst()
'''

_FUNCTIONS = '("neg", "add", "mul", "sum", "cat", "Tensor.mul_")'
_OPTIONS = {
    "rewrap": "",
    "to_dense": '    # Results are plain tensors, into which calls cannot write.\n    plain_results = ("*",)\n'
    "    inplace = False\n    out = False\n",
    "refuse": "    inplace = False\n    out = False\n",
}


class StartingPoint(NamedTuple):
    """The files of a starting point by their path, and the command for CI."""

    files: dict[str, str]
    ci: str


def starting_point(name: str, file: str, kind: str = "rewrap", api: str = "tensorlike") -> StartingPoint:
    """Return the files for a type `name` in `file` and for its tests.

    `kind` is a policy, or "subclass" for a subclass of Tensor; with `api="torch"` it is always that of PyTorch's.
    Raises AuditError for names that Python or the files cannot take.
    """
    if api not in ("tensorlike", "torch"):
        raise AuditError(f"--api is 'tensorlike' or 'torch', not {api!r}")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise AuditError(f"a type cannot be called {name!r}: give a name such as UnitTensor")
    if name in ("TensorLike", "TensorLikeSuite", "Tensor", "tl", *KINDS, "implements", "Callable", "Any", "torch"):
        raise AuditError(f"a type called {name!r} would hide the {name} that its file imports: give another name")
    folder, last = os.path.split(file)
    module, end = os.path.splitext(last)
    if end != ".py" or not module.isidentifier() or keyword.iskeyword(module):
        raise AuditError(f"{file!r} is no file that can be imported: give a name such as unit_tensor.py")
    if module in sys.stdlib_module_names or module in ("tensorlike", "torch", "numpy", "pytest"):
        raise AuditError(f"{file!r} would hide the module {module!r} of that name: give another name")
    options = ""
    if api == "torch":
        kind, options = "subclass", " --api torch"
    in_package = os.path.exists(os.path.join(folder, "__init__.py"))
    # A policy that refuses calls has a record of which; the others answer everything.
    complete = kind in ("rewrap", "subclass")
    # Of PyTorch's own functions a few do not answer a subclass that does nothing.
    limit = f"--fail-under {99 if api == 'torch' else 100}" if complete else f"--baseline {module}_audit.json"
    ci = f"tensorlike audit {shlex.quote(file.replace(os.sep, '/'))}:{name}{options} {limit}"
    texts = {"rewrap": _REWRAP, "to_dense": _TO_DENSE, "refuse": _REFUSE, "subclass": _SUBCLASS}
    source = (_TORCH_SUBCLASS if api == "torch" else texts[kind]).format(name=name, ci=ci)
    test = _TORCH_TEST if api == "torch" else _SUBCLASS_TEST if kind == "subclass" else _TEST
    functions = '("neg",)' if kind == "refuse" else _FUNCTIONS
    written = test.format(
        name=name,
        module=f".{module}" if in_package else module,
        functions=functions.replace("(", "[").replace(")", "]") if api == "torch" else functions,
        options=_OPTIONS.get(kind, ""),
    )
    return StartingPoint({file: source, os.path.join(folder, f"test_{module}.py"): written}, ci)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tensorlike new` to a parser."""
    parser.add_argument("type", metavar="TYPE", help="the name of the type, such as UnitTensor")
    parser.add_argument("file", metavar="FILE", help="the file to write it to; its tests are written beside it")
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default="rewrap",
        help="the policy for functions that the type does not implement, or a subclass of Tensor (default: rewrap)",
    )
    parser.add_argument(
        "--api", metavar="{tensorlike,torch}", default="tensorlike", help="torch: a subclass of its Tensor"
    )


def run(options: argparse.Namespace) -> int:
    """Run `tensorlike new` and return its exit status."""
    try:
        start = starting_point(options.type, options.file, options.kind, options.api)
        for path in start.files:
            if os.path.lexists(path):
                raise AuditError(f"{path} exists; it is left as it is")
        for path, text in start.files.items():
            try:
                with open(path, "x", encoding="utf-8") as file:
                    file.write(text)
            except OSError as error:
                raise AuditError(f"cannot write {path}: {error.strerror or error}") from error
    except AuditError as error:
        print(f"tensorlike new: {error}", file=sys.stderr)
        return 2
    source, tests = start.files
    print(f"Wrote {source} and {tests}. Next:\n  python -m pytest {shlex.quote(tests)}")
    if "--baseline" in start.ci:
        once = start.ci.replace("--baseline", "--json")
        print(f"  {once}   # once, and commit the file")
    print(f"In CI:\n  {start.ci}")
    return 0
