"""Two extensions that were built against two versions of the headers, in one process."""

import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import tensorlike as tl
from tensorlike import _native
from tensorlike.utils import cpp_extension
from tests.cpp.building import build, build_folder, in_full, require_compiler

pytestmark = [pytest.mark.slow, in_full]

INCLUDE = Path(cpp_extension.__file__).parent.parent / "include"


def later_headers(folder: Path) -> dict[Path, str]:
    """Return the headers with another name of their binary interface, and classes laid out otherwise: texts by path."""
    counted = "std::atomic<size_t> references_{"
    changes = {
        "config.h": ("_NAMESPACE tensorlike_v1", "_NAMESPACE tensorlike_v2"),
        "tensor_impl.h": (counted, f"double added_[3] = {{}}; {counted}"),
        "core_api.h": ("_API_VERSION 1\n", "_API_VERSION 2\n"),
        "intrusive_ptr.h": (f"mutable {counted}", f"int64_t added_ = 7; mutable {counted}"),
        "autograd.h": ("PyObject* python_ = nullptr;", "double added_[2] = {}; PyObject* python_ = nullptr;"),
    }
    texts = {path.relative_to(INCLUDE): path.read_text() for path in INCLUDE.rglob("*") if path.is_file()}
    for name, (before, after) in changes.items():
        path = Path("tensorlike", name)
        assert texts[path].count(before) == 1, (name, before)
        texts[path] = texts[path].replace(before, after)
    return {folder / path: text for path, text in texts.items()}


@pytest.fixture(scope="module")
def versions():
    require_compiler()
    built = {}
    for version in (1, 2, 3):
        folder = build_folder(f"version{version}")
        # Under the lock of the build: another process may build there, with headers of another state of the tree.
        headers = later_headers(folder / "include") if version == 2 else {}
        includes = [folder / "include"] if headers else []
        built[version] = build("versions", folder, ["-O0", f"-DVERSION={version}"], includes=includes, written=headers)
        tl.ops.load_library(built[version])
    return SimpleNamespace(one=tl.ops.tests_version1, two=tl.ops.tests_version2, files=built)


def test_tensors_and_gradients_pass_between_them(versions):
    one, two = versions.one, versions.two
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    two.twice(one.twice(x)).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    for shape in (x, tl.ones(2, 3).t(), tl.zeros(0, 4)):
        assert one.describe(shape) == two.describe(shape)
    assert one.through(x, "tests_version2::twice").tolist() == [2.0, 4.0]
    assert two.through(x, "tests_version1::twice").tolist() == [2.0, 4.0]
    assert one.is_cuda_there(x) == two.is_cuda_there(x) == tl.cuda.is_available()


def test_a_core_of_another_version_is_none(versions):
    x = tl.ones(2, 3, requires_grad=True)
    assert versions.one.uses_core(x) == (_native.core is not None)
    assert not versions.two.uses_core(x)
    for ops in (versions.one, versions.two):
        assert ops.made(x).requires_grad
        assert ops.made(x).tolist() == [[0.0] * 3] * 2


def test_errors_pass_between_them(versions):
    x = tl.ones(2)
    for caller, called, number in ((versions.one, "tests_version2", 2), (versions.two, "tests_version1", 1)):
        assert caller.caught(x, f"{called}::fails") == f"fails in {number}"
        with pytest.raises(IndexError, match=f"fails in {number}"):
            caller.through(x, f"{called}::fails")


def test_objects_of_the_other_version_are_refused_and_their_methods_work(versions):
    first, second = tl.classes.tests_version1.Counted(5), tl.classes.tests_version2.Counted(6)
    assert (first.get(), second.get()) == (5, 6)
    assert (versions.one.number(first), versions.two.number(second)) == (5, 6)
    for ops, other in ((versions.one, second), (versions.two, first)):
        with pytest.raises((RuntimeError, TypeError), match="Counted"):
            ops.number(other)
    with pytest.raises(RuntimeError, match=r"Expected a value of type .*tests_version1\.Counted"):
        type(first).get(second)


def test_objects_pass_between_extensions_of_the_same_headers(versions):
    following = tl.ops.tests_version3.next(tl.classes.tests_version1.Counted(5))
    assert type(following) is tl.classes.tests_version1.Counted
    assert following.get() == 6


def test_nothing_of_the_headers_is_shared_by_name(versions):
    if shutil.which("nm") is None:
        pytest.skip("nm, which lists symbols, is not there")
    for version in (1, 2):
        path = versions.files[version]
        text = subprocess.run(["nm", "-C", "-D", "--defined-only", path], capture_output=True, text=True, check=True)
        symbols = [line.split(maxsplit=2)[1:] for line in text.stdout.splitlines()]
        assert any(f"tensorlike_v{version}::" in name for _, name in symbols)
        assert not [name for kind, name in symbols if kind == "u"], "symbols that are one for the whole process"
        ours = [
            name
            for _, name in symbols
            if re.match(r"(guard variable for |vtable for |typeinfo (name )?for )?(at|c10|torch|caffe2)::", name)
        ]
        assert not [name for name in ours if f"tensorlike_v{version}" not in name]
        assert not [name for _, name in symbols if f"tensorlike_v{3 - version}" in name]
